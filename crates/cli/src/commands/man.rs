//! `haft man`: manual pages, made from the help texts.

use anyhow::Result;
use clap::CommandFactory;
use clap_mangen::Man;

use crate::args::{self, Cli};
use crate::render;
use crate::report::{Exit, Output, Usage};

pub(crate) fn run(args: args::Man) -> Result<Exit> {
    let mut page = Vec::new();
    Man::new(page_of(&args.command)?).render(&mut page).map_err(Output)?;
    render::say(String::from_utf8_lossy(&page).trim_end())?;
    Ok(Exit::Done)
}

/// The command called `words`, named as its page is.
fn page_of(words: &[String]) -> Result<clap::Command, Usage> {
    let mut command = Cli::command();
    // Brings what holds for all commands down to each of them.
    command.build();
    let mut name = "haft".to_owned();
    for word in words {
        let below = command.find_subcommand(word).cloned();
        command =
            below.ok_or_else(|| Usage(format!("`{name}` has no command {word:?}; `{name} --help` lists them")))?;
        name = format!("{name} {word}");
    }
    let shown = name.clone();
    // A page has room for everything; of what the short help hides it would print the name alone.
    let command = command.mut_args(|arg| arg.hide_short_help(false));
    Ok(command.display_name(name.replace(' ', "-")).bin_name(shown))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn page(words: &[&str]) -> String {
        let words: Vec<String> = words.iter().map(|&word| word.to_owned()).collect();
        let mut page = Vec::new();
        Man::new(page_of(&words).unwrap()).render(&mut page).unwrap();
        String::from_utf8(page).unwrap()
    }

    #[test]
    fn each_command_has_a_page_of_its_own() {
        assert!(page(&[]).contains(".TH haft 1") && page(&[]).contains("haft\\-run(1)"));
        let call = page(&["tool", "call"]);
        for shown in [".TH haft-tool-call 1", "\\fBhaft tool call\\fR", "\\-\\-jsonl", "Tell on stderr"] {
            assert!(call.contains(shown), "{shown:?} is not in: {call}");
        }
    }

    #[test]
    fn a_page_of_nothing_is_wrong_usage() {
        let words = ["tool".to_owned(), "cal".to_owned()];
        assert!(page_of(&words).unwrap_err().0.contains("`haft tool` has no command \"cal\""));
    }
}
