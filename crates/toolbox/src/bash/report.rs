//! What the model reads about a command that has ended. Pure.

use std::time::Duration;

use haft_project::End;
use haft_tool::truncate::{Cut, Limits, tail};

use super::window::Window;

/// Stands for the output of a command that wrote none.
pub(super) const NOTHING: &str = "(no output)";

/// How many of the things left running are named.
const NAMED: usize = 3;

/// Why a command was stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stopped {
    /// It ran longer than this.
    Timeout(Duration),
    /// The user stopped the turn.
    ByUser,
}

/// What a command left running.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Left {
    /// Nothing.
    Nothing,
    /// Something that goes on as this job, under these names.
    Job {
        /// Its id.
        id: String,
        /// Command lines.
        names: Vec<String>,
    },
    /// Something that was ended, because so many jobs run already.
    Ended(usize),
}

/// An output that is too long to be shown whole.
#[derive(Debug)]
pub(crate) struct Long<'a> {
    cut: Cut<'a>,
    /// Lines that were written in all.
    lines: u64,
    /// Bytes that were written in all.
    bytes: u64,
    /// Who else can look through the rest, see [`haft_tool::reader_hint`].
    reader: String,
}

/// Cuts the output down to its end, if it is too long. `reader` then says who else can look through the rest.
pub(crate) fn cut<'a>(
    text: &'a str,
    limits: Limits,
    window: &Window,
    reader: impl FnOnce() -> String,
) -> Option<Long<'a>> {
    let cut = tail(text, limits)?;
    Some(Long { cut, lines: window.lines(), bytes: window.bytes(), reader: reader() })
}

impl Long<'_> {
    /// The end of the output, behind how much it is of the whole and where the rest is; `file` says the latter.
    pub(crate) fn shown(&self, file: Option<&str>) -> String {
        format!("...output truncated...\n\n{}\n\n{}", beginning(self, file), self.cut.kept)
    }
}

/// Everything in one text: the output or its end, where the rest is, how the command ended if not well.
pub(super) fn report(
    text: &str,
    long: Option<&Long<'_>>,
    file: Option<&str>,
    end: End,
    stopped: Option<Stopped>,
    left: &Left,
) -> String {
    let mut report = match long {
        Some(long) => long.shown(file),
        None if text.is_empty() => NOTHING.to_owned(),
        None => text.to_owned(),
    };
    if let Some(how) = badly(end, stopped) {
        if !report.ends_with('\n') {
            report.push('\n');
        }
        report.push_str(&how);
    }
    let notes = notes(stopped, left);
    if !notes.is_empty() {
        report.push_str(&format!("\n\n<shell_metadata>\n{}\n</shell_metadata>", notes.join("\n")));
    }
    report
}

fn beginning(long: &Long<'_>, file: Option<&str>) -> String {
    let Long { cut, lines, bytes, reader } = long;
    let shown = if cut.inside_line {
        format!("Showing the last {} of {bytes} bytes", cut.kept.len())
    } else {
        let shown = cut.lines - usize::from(cut.ends_with_feed);
        format!("Showing the last {shown} of {lines} lines")
    };
    match file {
        Some(file) => format!("{shown}. {file}: grep it, or read it with an offset.{reader}"),
        None => format!("{shown}. The rest could not be kept: ask for less at once."),
    }
}

/// One line about an end that was not a success.
fn badly(end: End, stopped: Option<Stopped>) -> Option<String> {
    match (stopped, end) {
        (Some(_), _) | (None, End { code: Some(0), .. }) => None,
        (None, End { code: Some(code), .. }) => Some(format!("(exit code {code})")),
        (None, End { signal: Some(signal), .. }) => Some(format!("(ended by signal {signal})")),
        (None, End { code: None, signal: None, .. }) => None,
    }
}

fn notes(stopped: Option<Stopped>, left: &Left) -> Vec<String> {
    let stopped = match stopped {
        Some(Stopped::Timeout(limit)) => Some(format!(
            "The command was stopped because it ran longer than {} ms. If it needs more time and does not wait for \
             input, call again with a larger timeout.",
            limit.as_millis()
        )),
        Some(Stopped::ByUser) => Some("The user stopped the command.".to_owned()),
        None => None,
    };
    let left = match left {
        Left::Nothing => None,
        Left::Job { id, names } => Some(format!(
            "What the command left running ({}) goes on as {id}: see job_output, end it with job_kill. It ends with \
             the session. Next time, use background.",
            named(names)
        )),
        Left::Ended(most) => Some(format!(
            "What the command left running was ended, because {most} jobs run already: end one with job_kill."
        )),
    };
    stopped.into_iter().chain(left).collect()
}

/// Few enough of these names for one line.
fn named(names: &[String]) -> String {
    let more = names.len().saturating_sub(NAMED);
    let shown = names.iter().take(NAMED).map(String::as_str).collect::<Vec<_>>().join(", ");
    if more > 0 { format!("{shown} and {more} more") } else { shown }
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};

    const WELL: End = End { code: Some(0), signal: None, left_running: false };

    #[track_caller]
    fn check(text: &str, end: End, stopped: Option<Stopped>, want: Expect) {
        check_left(text, end, stopped, &Left::Nothing, want);
    }

    #[track_caller]
    fn check_left(text: &str, end: End, stopped: Option<Stopped>, left: &Left, want: Expect) {
        let mut window = Window::default();
        window.push(text.as_bytes());
        let long = cut(text, Limits::default(), &window, String::new);
        want.assert_eq(&report(text, long.as_ref(), Some("The whole output is in F"), end, stopped, left));
    }

    #[test]
    fn output_that_fits_is_left_alone() {
        assert_eq!(report("a\nb\n", None, None, WELL, None, &Left::Nothing), "a\nb\n");
        check("", WELL, None, expect!["(no output)"]);
    }

    #[test]
    fn a_bad_end_is_one_line() {
        check(
            "a\n",
            End { code: Some(2), ..WELL },
            None,
            expect![[r#"
            a
            (exit code 2)"#]],
        );
        check(
            "",
            End { code: Some(1), ..WELL },
            None,
            expect![[r#"
            (no output)
            (exit code 1)"#]],
        );
        check(
            "a",
            End { code: None, signal: Some(11), ..WELL },
            None,
            expect![[r#"
            a
            (ended by signal 11)"#]],
        );
    }

    #[test]
    fn what_was_stopped_is_noted() {
        let killed = End { code: None, signal: Some(15), left_running: false };
        check(
            "a\n",
            killed,
            Some(Stopped::Timeout(Duration::from_millis(500))),
            expect![[r#"
            a


            <shell_metadata>
            The command was stopped because it ran longer than 500 ms. If it needs more time and does not wait for input, call again with a larger timeout.
            </shell_metadata>"#]],
        );
        check(
            "",
            killed,
            Some(Stopped::ByUser),
            expect![[r#"
            (no output)

            <shell_metadata>
            The user stopped the command.
            </shell_metadata>"#]],
        );
    }

    #[test]
    fn what_goes_on_is_noted() {
        let names = ["a", "b", "c", "d", "e"].map(str::to_owned).to_vec();
        let left = Left::Job { id: "job_7".to_owned(), names };
        check_left(
            "a\n",
            WELL,
            None,
            &left,
            expect![[r#"
            a


            <shell_metadata>
            What the command left running (a, b, c and 2 more) goes on as job_7: see job_output, end it with job_kill. It ends with the session. Next time, use background.
            </shell_metadata>"#]],
        );
        check_left(
            "",
            End { left_running: true, ..WELL },
            None,
            &Left::Ended(16),
            expect![[r#"
            (no output)

            <shell_metadata>
            What the command left running was ended, because 16 jobs run already: end one with job_kill.
            </shell_metadata>"#]],
        );
    }

    #[test]
    fn a_long_output_is_cut_to_its_end() {
        let text: String = (1..=2500).map(|number| format!("{number}\n")).collect();
        let mut window = Window::default();
        window.push(text.as_bytes());
        let long = cut(&text, Limits::default(), &window, || " Ask R.".to_owned());
        let report = report(&text, long.as_ref(), Some("The whole output is in F"), WELL, None, &Left::Nothing);
        let start = "...output truncated...\n\nShowing the last 1999 of 2500 lines. The whole output is in F: grep it, \
                     or read it with an offset. Ask R.\n\n502\n503\n";
        assert!(report.starts_with(start), "{}", &report[..200]);
        assert!(report.ends_with("\n2500\n"));
    }

    #[test]
    fn one_long_line_is_cut_inside() {
        for text in ["z".repeat(120_000), "z".repeat(120_000) + "\n"] {
            let mut window = Window::default();
            window.push(text.as_bytes());
            let long = cut(&text, Limits::default(), &window, || " Ask R.".to_owned());
            let report = report(&text, long.as_ref(), None, WELL, None, &Left::Nothing);
            assert!(report.contains("Showing the last 51200 of "), "{}", &report[..100]);
            assert!(report.contains("could not be kept") && !report.contains("Ask R"));
            assert!(report.len() > 51_200);
        }
    }
}
