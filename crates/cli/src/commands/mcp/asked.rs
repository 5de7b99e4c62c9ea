//! What `haft mcp add` was not told, asked of the person at the terminal.

use anyhow::Result;
use haft_vault::Secret;

use crate::args::McpAdd;
use crate::commands::auth::Person;

/// Most variables or headers that are asked for.
const MAX_PAIRS: usize = 50;

/// Whether something is missing that an entry must have.
pub(super) fn is_incomplete(args: &McpAdd) -> bool {
    args.name.is_none() || args.url.is_none() && args.command.is_empty()
}

/// Asks for what is missing in `args`.
///
/// # Errors
///
/// [`Usage`](crate::report::Usage) where nobody is there to be asked, and [`Stopped`](crate::commands::auth::Stopped) where they stop it.
pub(super) async fn complete(args: &mut McpAdd) -> Result<()> {
    let mut person = Person::find()?;
    let instead = "`haft mcp add NAME -- COMMAND` or `haft mcp add NAME --url URL` says all of it";
    person.must_be_there("say which server is meant", instead)?;
    while args.name.as_deref().unwrap_or_default().is_empty() {
        args.name = Some(person.line("What to call it (its tools' names begin with this): ".to_owned()).await?);
    }
    if args.url.is_some() || !args.command.is_empty() {
        return Ok(());
    }
    loop {
        let line = person.line("Its address (https://…), or the command that starts it: ".to_owned()).await?;
        match place(&line) {
            Some(Place::Url(url)) => args.url = Some(url),
            Some(Place::Command(command)) => args.command = command,
            None => continue,
        }
        break;
    }
    let (what, pairs) = match args.url {
        Some(_) => ("A header of each request", &mut args.header),
        None => ("A variable that it needs", &mut args.env),
    };
    while pairs.len() < MAX_PAIRS {
        let line = person.line(format!("{what}, as NAME=VALUE (nothing more: Enter): ")).await?;
        if line.is_empty() {
            break;
        }
        if line.split_once('=').is_some_and(|(name, _)| !name.is_empty()) {
            pairs.push(Secret::from(line));
        }
    }
    Ok(())
}

/// Where a server is.
#[derive(Debug, PartialEq, Eq)]
enum Place {
    Url(String),
    Command(Vec<String>),
}

/// What was typed; `None`: nothing that could be meant.
fn place(line: &str) -> Option<Place> {
    if line.starts_with("http://") || line.starts_with("https://") {
        return (!line.contains(char::is_whitespace)).then(|| Place::Url(line.to_owned()));
    }
    words(line).filter(|words| !words.is_empty()).map(Place::Command)
}

/// The words of a command line: apart by blanks, unless between quotes. Nothing else has a meaning. `None` where a quote is
/// not closed.
fn words(line: &str) -> Option<Vec<String>> {
    let (mut words, mut word, mut quote) = (Vec::new(), None::<String>, None);
    for letter in line.chars() {
        match quote {
            Some(open) if letter == open => quote = None,
            None if letter == '"' || letter == '\'' => {
                quote = Some(letter);
                // Also a word between quotes that is empty is one.
                word.get_or_insert_default();
            }
            None if letter.is_whitespace() => words.extend(word.take()),
            Some(_) | None => word.get_or_insert_default().push(letter),
        }
    }
    words.extend(word);
    quote.is_none().then_some(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_and_a_command_are_told_apart() {
        let command = |words: &[&str]| Some(Place::Command(words.iter().map(|word| (*word).to_owned()).collect()));
        let row = |line: &str, want: Option<Place>| assert_eq!(place(line), want, "{line}");
        row("https://a.example/mcp", Some(Place::Url("https://a.example/mcp".to_owned())));
        row("https://a.example/mcp and more", None);
        row("npx -y 'a b' \"c\"d \"\"", command(&["npx", "-y", "a b", "cd", ""]));
        row("x $(y)", command(&["x", "$(y)"]));
        row("npx 'open", None);
        row("", None);
    }
}
