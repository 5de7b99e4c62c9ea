//! What is made of what a formatter left. Pure.

use super::run::{Ended, Ran};
use crate::text::on_one_line;

/// Most characters that a model is told of what a formatter said.
const MAX_TOLD: usize = 160;

/// What stands where the file was when a formatter has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Found<'f> {
    /// A file with this content.
    File(&'f [u8]),
    /// Nothing, or what is no file, or too large to be looked at.
    Other,
}

/// What becomes of the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Settled {
    /// It is as it was before the formatter.
    Same,
    /// It is as the formatter left it.
    Tidied,
    /// It goes back to what it was before the formatter.
    PutBack,
}

/// What becomes of a file that held `before` when a formatter began, and is as `found` now that it has `ended`.
pub(super) fn settle(ended: Ended, before: &[u8], found: Found<'_>) -> Settled {
    match (ended, found) {
        (_, Found::File(now)) if now == before => Settled::Same,
        // Nothing is no form of something.
        (Ended::Exit(0), Found::File(now)) if !now.is_empty() || before.iter().all(u8::is_ascii_whitespace) => {
            Settled::Tidied
        }
        (Ended::Exit(_) | Ended::Signal(_) | Ended::NotStarted | Ended::TooLong(_) | Ended::Stopped, _) => {
            Settled::PutBack
        }
    }
}

/// What the model is told of the formatter called `name`; nothing where all went as it should.
pub(super) fn told(name: &str, ran: &Ran, settled: &Settled) -> Option<String> {
    let words = ran.words.lines().find(|line| line.chars().any(char::is_alphanumeric)).unwrap_or_default();
    let shown: String = words.trim().chars().filter(|c| !c.is_control()).take(MAX_TOLD).collect();
    let shown = on_one_line(&shown);
    let said = if shown.is_empty() { String::new() } else { format!(": {shown}") };
    let how = match (ran.end, settled) {
        (Ended::Exit(0), Settled::Same | Settled::Tidied) | (Ended::Stopped, _) => return None,
        (Ended::Exit(0), Settled::PutBack) => "left no file that could be used".to_owned(),
        (Ended::Exit(code), _) => format!("failed (exit code {code}{said})"),
        (Ended::Signal(signal), _) => format!("was ended by signal {signal}{said}"),
        (Ended::NotStarted, _) => format!("could not be started{said}"),
        (Ended::TooLong(time), _) => format!("took longer than {} s and was ended", time.as_secs_f64()),
    };
    let back = if *settled == Settled::PutBack { "; the file is as you wrote it" } else { "" };
    Some(format!("The formatter {name} {how}{back}."))
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONG: Ended = Ended::TooLong(std::time::Duration::from_secs(20));

    #[test]
    fn only_what_a_formatter_made_that_ended_well_stays() {
        let row = |ended, before: &str, now: Option<&str>, want| {
            let found = now.map_or(Found::Other, |now| Found::File(now.as_bytes()));
            assert_eq!(settle(ended, before.as_bytes(), found), want, "{ended:?}: {before:?} to {now:?}");
        };
        row(Ended::Exit(0), "a", Some("a"), Settled::Same);
        row(Ended::Exit(0), "a", Some("b"), Settled::Tidied);
        row(Ended::Exit(0), "a", Some(""), Settled::PutBack);
        row(Ended::Exit(0), " \n", Some(""), Settled::Tidied);
        row(Ended::Exit(0), "a", None, Settled::PutBack);
        row(Ended::Exit(0), "", None, Settled::PutBack);
        row(Ended::Exit(2), "a", Some("a"), Settled::Same);
        row(Ended::Exit(2), "a", Some("half"), Settled::PutBack);
        row(Ended::Signal(9), "a", Some("half"), Settled::PutBack);
        row(LONG, "a", Some("half"), Settled::PutBack);
        row(LONG, "a", Some("a"), Settled::Same);
        row(Ended::Stopped, "a", None, Settled::PutBack);
        row(Ended::NotStarted, "a", Some("a"), Settled::Same);
    }

    #[test]
    fn a_failure_is_a_short_word() {
        let row = |end, words: &str, settled, want: &str| {
            let told = told("f", &Ran { end, words: words.to_owned() }, &settled).unwrap_or_default();
            assert_eq!(told, want);
        };
        row(Ended::Exit(0), "done", Settled::Tidied, "");
        row(Ended::Exit(0), "", Settled::Same, "");
        row(Ended::Stopped, "", Settled::PutBack, "");
        row(
            Ended::Exit(0),
            "",
            Settled::PutBack,
            "The formatter f left no file that could be used; the file is as you wrote it.",
        );
        row(
            Ended::Exit(1),
            "\n---\n a.rs:1: bad\u{1b}[0m\n",
            Settled::Same,
            "The formatter f failed (exit code 1: a.rs:1: bad[0m).",
        );
        row(LONG, "", Settled::Same, "The formatter f took longer than 20 s and was ended.");
        row(Ended::NotStarted, "no", Settled::Same, "The formatter f could not be started: no.");
        let long = told("f", &Ran { end: Ended::Signal(9), words: "x".repeat(9000) }, &Settled::Same).unwrap();
        assert!(long.len() < 250, "{long}");
    }
}
