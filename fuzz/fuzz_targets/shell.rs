//! The analysis of command lines: ends on any text, and what it calls known can be shown whole to a person.
#![no_main]

use std::path::Path;

use haft_shell::{Dialect, MAX_COMMANDS, MAX_LENGTH, Surroundings, analyse};
use libfuzzer_sys::fuzz_target;

// A parser's panic that is caught is an answer: without this the fuzzer's own hook would end the program first.
fuzz_target!(init: drop(std::panic::take_hook()), |text: &str| {
    for dialect in [Dialect::Bash, Dialect::Zsh, Dialect::Posix] {
        let around = Surroundings::new(Path::new("/home/user/project")).home(Path::new("/home/user")).dialect(dialect);
        let found = analyse(text, &around);
        assert!(found.commands.len() <= MAX_COMMANDS, "{} commands", found.commands.len());
        assert!(text.len() <= MAX_LENGTH || !found.is_known(), "what is not read whole cannot be known");
        // Rules are matched against patterns: without any, a command would pass unseen.
        assert!(!found.patterns.is_empty() || only_moves(&found) || !found.is_known(), "{found:?}");
        for touched in found.reads().into_iter().chain(found.writes()) {
            assert!(touched.is_absolute(), "{}", touched.display());
        }
        assert_eq!(analyse(text, &around), found, "the same text, the same answer");
    }
});

/// Whether nothing is run but what changes the shell itself, its folder or its variables, which asks for nothing.
fn only_moves(found: &haft_shell::Analysis) -> bool {
    found.commands.iter().all(|command| {
        matches!(
            command.words.first().map(String::as_str),
            None | Some(
                "cd" | "chdir"
                    | "popd"
                    | "pushd"
                    | "export"
                    | "declare"
                    | "typeset"
                    | "local"
                    | "readonly"
                    | "unset"
                    | "["
            )
        )
    })
}
