//! Commands: prompts with a name and places to fill in. Expanding one is pure; running what it asks for is not done
//! here.

mod quoting;

/// Longest prompt that a command may become before its shell commands are run, in bytes.
pub(crate) const MAX_EXPANDED: usize = 256 * 1024;
/// Most shell commands in one template.
pub(crate) const MAX_SHELL: usize = 16;

/// A prompt that is called by its name.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Command {
    /// What stands behind the `/`.
    pub name: String,
    /// The prompt, with places to fill in: see [`expand`].
    pub template: String,
    /// What it does, for people.
    pub description: Option<String>,
    /// The agent that answers. `None`: the one that is asked anyway.
    pub agent: Option<String>,
    /// The model that answers, as `vendor/model`. `None`: the agent's, or the one that is asked anyway.
    pub model: Option<String>,
    /// Which named set of the model's options.
    pub variant: Option<String>,
    /// Whether it is work for another agent, in a session of its own. `None`: if [`Command::agent`] is a sub-agent.
    pub subtask: Option<bool>,
    /// Whether [`Prompts`](crate::Prompts) has its words, and not [`Command::template`].
    pub foreign: bool,
    /// Whether its template is only words: nothing is filled in, nothing run and nothing shown that it names. Arguments
    /// follow it.
    pub literal: bool,
}

/// A piece of an expanded command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Piece {
    /// Words.
    Text(String),
    /// A command line whose output stands here.
    Shell(String),
    /// A command line that arguments do not fit into, so it is not run.
    Unsafe(String),
}

impl Command {
    /// Its prompt with `arguments`; see [`expand`].
    pub fn expand(&self, arguments: &str) -> Vec<Piece> {
        if !self.literal {
            return expand(&self.template, arguments);
        }
        let behind = if arguments.trim().is_empty() { String::new() } else { format!("\n\n{arguments}") };
        vec![Piece::Text(format!("{}{behind}", self.template))]
    }
}

/// The commands that are always there: `init` and `review`.
pub fn builtin() -> Vec<Command> {
    let command = |name: &str, template: &str, description: &str| Command {
        name: name.to_owned(),
        template: template.trim().to_owned(),
        description: Some(description.to_owned()),
        ..Command::default()
    };
    vec![
        command("init", include_str!("../commands/init.md"), "write or renew AGENTS.md for this project"),
        Command {
            subtask: Some(true),
            ..command(
                "review",
                include_str!("../commands/review.md"),
                "review changes: uncommitted, a commit, a branch",
            )
        },
    ]
}

/// Fills `arguments` into `template`.
///
/// `$1`, `$2`, … are the arguments one by one, and the highest number of the template takes all that are left;
/// `$ARGUMENTS` is all of them as they were written. Where the template has no place for arguments they follow it. A
/// command line between `` !` `` and `` ` `` in the *template* is to be run; in arguments it is only text, and so is
/// a `$1` in them. What is filled into a command line is a word of it and nothing else, whatever stands in it.
pub fn expand(template: &str, arguments: &str) -> Vec<Piece> {
    let given = split(arguments);
    let highest = placeholders(template).max();
    let mut pieces = Vec::new();
    for piece in pieces_of(template) {
        pieces.push(match piece {
            Piece::Text(text) => Piece::Text(fill(&text, &given, arguments, highest)),
            Piece::Shell(line) => quoting::fill(&line, &given, highest).map_or(Piece::Unsafe(line), Piece::Shell),
            piece @ Piece::Unsafe(_) => piece,
        });
    }
    if highest.is_none() && !template.contains(ALL) && !arguments.trim().is_empty() {
        pieces.push(Piece::Text(format!("\n\n{arguments}")));
    }
    pieces
}

/// The name and the arguments of a text that calls a command: `/name` and what follows.
pub(crate) fn called(text: &str) -> Option<(&str, &str)> {
    let rest = text.trim_start().strip_prefix('/')?;
    let end = rest.find(char::is_whitespace).unwrap_or(rest.len());
    let (name, arguments) = rest.split_at(end);
    (!name.is_empty()).then(|| (name, arguments.trim()))
}

const ALL: &str = "$ARGUMENTS";

/// A place in a text, and what is before the next one.
enum Place<'a> {
    /// Words.
    Text(&'a str),
    /// All arguments.
    All,
    /// The argument of this number, from 1.
    One(usize),
}

/// `text` taken apart at its places.
fn places(text: &str) -> Vec<Place<'_>> {
    let mut places = Vec::new();
    let (mut rest, mut from) = (text, 0);
    while let Some(at) = rest.get(from..).and_then(|behind| behind.find('$')).map(|at| at + from) {
        let (before, here) = rest.split_at(at);
        let digits = here.bytes().skip(1).take_while(u8::is_ascii_digit).count();
        let number = here.get(1..=digits).and_then(|digits| digits.parse::<usize>().ok()).filter(|number| *number > 0);
        let (place, behind) = match (here.strip_prefix(ALL), number) {
            (Some(behind), _) => (Place::All, behind),
            (None, Some(number)) => (Place::One(number), here.get(digits + 1..).unwrap_or_default()),
            (None, None) => {
                from = at + 1;
                continue;
            }
        };
        places.extend([Place::Text(before), place]);
        (rest, from) = (behind, 0);
    }
    places.push(Place::Text(rest));
    places
}

/// The arguments that stand at the place `number`: the highest of a template takes all that are left.
fn at(given: &[String], number: usize, highest: Option<usize>) -> &[String] {
    let from = given.get(number - 1..).unwrap_or_default();
    if Some(number) == highest { from } else { from.get(..1).unwrap_or_default() }
}

/// Splits arguments at blanks; quotes hold words together and are taken off, and so does `[Image 1]`.
pub(crate) fn split(arguments: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut rest = arguments;
    while let Some(next) = rest.chars().next() {
        let end = match next {
            '"' | '\'' => rest[1..].find(next).map(|at| at + 2),
            '[' => image(rest),
            _ => None,
        };
        if let Some(end) = end {
            let word = &rest[..end];
            let held = word.strip_prefix(next).and_then(|word| word.strip_suffix(next));
            words.push(held.filter(|_| next != '[').unwrap_or(word).to_owned());
            rest = &rest[end..];
        } else if next.is_whitespace() || matches!(next, '"' | '\'') {
            rest = &rest[next.len_utf8()..];
        } else {
            let end = rest.find(|c: char| c.is_whitespace() || matches!(c, '"' | '\'')).unwrap_or(rest.len());
            words.push(rest[..end].to_owned());
            rest = &rest[end..];
        }
    }
    words
}

/// The end of the `[Image 12]` that `text` begins with.
fn image(text: &str) -> Option<usize> {
    let end = text.find(']')? + 1;
    let inside = &text[1..end - 1];
    let (word, number) = inside.split_once(char::is_whitespace)?;
    let number = number.trim();
    let is_one = word.eq_ignore_ascii_case("image") && !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit());
    is_one.then_some(end)
}

/// The template as words and command lines, with nothing filled in.
fn pieces_of(template: &str) -> Vec<Piece> {
    let mut pieces = Vec::new();
    let mut rest = template;
    while let Some((before, behind)) = rest.split_once("!`") {
        let Some((line, after)) = behind.split_once('`').filter(|(line, _)| !line.trim().is_empty()) else { break };
        pieces.push(Piece::Text(before.to_owned()));
        pieces.push(Piece::Shell(line.to_owned()));
        rest = after;
    }
    pieces.push(Piece::Text(rest.to_owned()));
    pieces
}

/// The numbers behind `$` in `text`.
fn placeholders(text: &str) -> impl Iterator<Item = usize> {
    text.split('$').skip(1).filter_map(|behind| {
        let end = behind.bytes().take_while(u8::is_ascii_digit).count();
        behind[..end].parse::<usize>().ok().filter(|number| *number > 0)
    })
}

fn fill(text: &str, given: &[String], arguments: &str, highest: Option<usize>) -> String {
    let words = places(text).into_iter().map(|place| match place {
        Place::Text(text) => text.to_owned(),
        Place::All => arguments.to_owned(),
        Place::One(number) => at(given, number, highest).join(" "),
    });
    words.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Expands, and writes command lines between angles.
    #[track_caller]
    fn check(template: &str, arguments: &str, want: &str) {
        let pieces = expand(template, arguments).into_iter();
        let got: String = pieces
            .map(|piece| match piece {
                Piece::Text(text) => text,
                Piece::Shell(line) => format!("<{line}>"),
                Piece::Unsafe(line) => format!("(not run: {line})"),
            })
            .collect();
        assert_eq!(got, want, "{template:?} with {arguments:?}");
    }

    #[test]
    fn the_highest_number_takes_the_rest() {
        check("$1 -> $2", "alpha \"b c\" d e", "alpha -> b c d e");
        check("$2, then $1", "a b c", "b c, then a");
        check("$1", "a 'b  c' d", "a b  c d");
        check("$1 $3", "a b", "a ");
        check("$1$1", "x y", "x yx y");
    }

    #[test]
    fn all_arguments_are_as_they_were_written() {
        check("Do $ARGUMENTS.", "a  \"b c\"", "Do a  \"b c\".");
        check("$1: $ARGUMENTS", "a b", "a b: a b");
    }

    #[test]
    fn arguments_without_a_place_follow() {
        check("Review it.", "now", "Review it.\n\nnow");
        check("Review it.", "  ", "Review it.");
        check("It costs $0 or $x.", "", "It costs $0 or $x.");
    }

    #[test]
    fn command_lines_of_the_template_are_run_and_others_are_not() {
        check("Log:\n!`git log -3`\nand !`git diff $1`", "main", "Log:\n<git log -3>\nand <git diff main>");
        check("Say $ARGUMENTS", "!`rm -rf x`", "Say !`rm -rf x`");
        check("not closed !`a", "", "not closed !`a");
        check("empty !`` here", "", "empty !`` here");
    }

    #[test]
    fn an_argument_in_a_command_line_is_a_word_of_it() {
        check("!`git log $1`", "'main; rm -rf x'", "<git log 'main; rm -rf x'>");
        check("!`git log $ARGUMENTS`", "-3 a.rs \"$(id)\"", "<git log -3 a.rs '$(id)'>");
        check("!`grep \"$1\" $2`", "'$HOME\"' b.rs c.rs", "<grep \"\\$HOME\\\"\" b.rs c.rs>");
        check("!`ls $1`", "", "<ls >");
        // Where nobody sees at a glance what quotes mean, only plain words are filled in.
        check("!`cat <<EOF\n$1\nEOF`", "plain", "<cat <<EOF\nplain\nEOF>");
        check("!`cat <<EOF\n$1\nEOF`", "'$(id)'", "(not run: cat <<EOF\n$1\nEOF)");
        check("!`echo \"$(date $1)\"`", "';id'", "(not run: echo \"$(date $1)\")");
    }

    #[test]
    fn a_literal_template_is_only_words() {
        let template = "Cost: $1, !`rm -rf x`, $ARGUMENTS".to_owned();
        let command = Command { template: template.clone(), literal: true, ..Command::default() };
        assert_eq!(command.expand(" "), [Piece::Text(template.clone())]);
        assert_eq!(command.expand("now"), [Piece::Text(format!("{template}\n\nnow"))]);
    }

    #[test]
    fn arguments_are_filled_in_once() {
        check("$1 and $2", "'$2' x", "$2 and x");
        check("$1", "$ARGUMENTS", "$ARGUMENTS");
    }

    #[test]
    fn pictures_and_quotes_hold_together() {
        let row = |arguments: &str, want: &[&str]| assert_eq!(split(arguments), want, "{arguments:?}");
        row("[Image 1] b [Image  x]", &["[Image 1]", "b", "[Image", "x]"]);
        row("\"a b\"c 'd", &["a b", "c", "d"]);
        row("", &[]);
        row("日本 \"語 字\"", &["日本", "語 字"]);
        row("'say \"hi\"' \"it's\"", &["say \"hi\"", "it's"]);
    }

    #[test]
    fn a_call_begins_with_a_slash() {
        let row = |text: &str, want: Option<(&str, &str)>| assert_eq!(called(text), want, "{text:?}");
        row("/init", Some(("init", "")));
        row("/fix  the bug\nnow", Some(("fix", "the bug\nnow")));
        row("/ no", None);
        row("no /init", None);
        row("/usr/bin is full", Some(("usr/bin", "is full")));
    }

    #[test]
    fn what_is_built_in_has_words_and_fits() {
        for command in builtin() {
            assert!(command.template.len() > 200 && command.template.len() < 4000, "{}", command.name);
            assert!(command.template.contains("$ARGUMENTS"), "{}", command.name);
        }
    }
}
