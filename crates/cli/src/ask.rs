//! Asking the person at the terminal for leave.

use std::fs::File;
use std::io::{IsTerminal, Write};

use haft_permission::{Answerer, Gate};
use haft_protocol::{Ask, Reply};
use rustix::termios::{QueueSelector, tcflush};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::render::{Paint, complain, diff_lines, spelled};

/// Longest answer, in bytes; a terminal gives no longer lines.
const MAX_LINE: usize = 4096;

/// Who answers what no rule decides; `auto` is a yes in advance.
pub(crate) fn answerer(auto: bool) -> Answerer {
    match (auto, somebody_is_there()) {
        (true, _) => Answerer::Yes,
        (false, true) => Answerer::Person,
        (false, false) => Answerer::Nobody,
    }
}

/// Whether somebody is there to ask: there is a screen, and a keyboard that belongs to it. Standard input may be a
/// pipe that holds the prompt.
fn somebody_is_there() -> bool {
    std::io::stderr().is_terminal() && keyboard().is_ok()
}

/// The keyboard of the terminal that this program was started from.
fn keyboard() -> std::io::Result<File> {
    File::open("/dev/tty")
}

/// Shows `ask`, waits for an answer and passes it on. Gives up when `stop` fires. `who`: the agent that asks, where that
/// is not the one that the person talks to.
pub(crate) async fn answer(ask: &Ask, who: Option<&str>, gate: &Gate, stop: &CancellationToken) {
    // An answer to another question may have settled this one.
    if !gate.is_waiting(&ask.id) {
        return;
    }
    let always = !ask.always.is_empty();
    let mut shown = question(ask, who, Paint::new(true));
    let reply = loop {
        let read = tokio::task::spawn_blocking(move || read_line(&shown));
        let line = tokio::select! {
            line = read => line.ok().and_then(Result::ok).flatten(),
            () = stop.cancelled() => {
                complain("");
                return;
            }
        };
        let Some(line) = line else {
            // Ctrl-D leaves the cursor where it was.
            complain("");
            break Reply::Reject { advice: None };
        };
        match understood(&line, always) {
            Some(reply) => break reply,
            None => shown = choices(ask),
        }
    };
    // An ask that was taken back meanwhile needs no answer.
    let _ = gate.reply(&ask.id, reply);
}

/// Shows a question and reads a line that was typed after it was there to read. `None` where the terminal is gone or
/// the person closed it.
pub(crate) fn read_line(shown: &str) -> std::io::Result<Option<String>> {
    let keyboard = keyboard()?;
    // What was typed or pasted before cannot be meant for this question.
    tcflush(&keyboard, QueueSelector::IFlush)?;
    let mut screen = std::io::stderr().lock();
    write!(screen, "{shown}").and_then(|()| screen.flush())?;
    drop(screen);
    let mut line = vec![0; MAX_LINE];
    let read = rustix::io::read(&keyboard, &mut line)?;
    line.truncate(read);
    Ok((read > 0).then(|| String::from_utf8_lossy(&line).into_owned()))
}

/// What a line means, or `None` if that is not clear and must be asked again.
fn understood(line: &str, always: bool) -> Option<Reply> {
    let line = line.trim();
    match line.to_lowercase().as_str() {
        "y" | "yes" => Some(Reply::Once),
        "a" | "always" if always => Some(Reply::Always),
        "n" | "no" => Some(Reply::Reject { advice: None }),
        // A slip of the finger, or a key that is no letter, is no advice.
        other if other.chars().count() < 2 || other == "always" || other.contains(char::is_control) => None,
        _ => Some(Reply::Reject { advice: Some(line.to_owned()) }),
    }
}

fn question(ask: &Ask, who: Option<&str>, paint: Paint) -> String {
    let shown = |key: &str| ask.metadata.get(key).and_then(Value::as_str);
    let wish = match ask.permission.as_str() {
        "bash" => match shown("command").map_or(1, |command| command.lines().count()) {
            0 | 1 => "run a command".to_owned(),
            lines => format!("run a command of {lines} lines"),
        },
        "edit" => "change a file".to_owned(),
        "read" => "read a file".to_owned(),
        "external_directory" => "go outside the project".to_owned(),
        "task" => "give a task to another agent".to_owned(),
        "glob" | "grep" | "list" => "search files".to_owned(),
        "doom_loop" => "make the same call once more, after it made it over and over".to_owned(),
        "webfetch" => "fetch a web page".to_owned(),
        "webfetch_private" => "fetch from this machine or a private network".to_owned(),
        other => one_line(other),
    };
    let patterns = ask.patterns.join(", ");
    let mut text = format!("\n{}\n", paint.yellow(&format!("△ {} wants to {wish}", asker(who))));
    let mut line = |line: &str| text.push_str(&format!("  {}\n", one_line(line)));
    match (shown("diff"), shown("command")) {
        (Some(diff), _) => {
            line(&patterns);
            text.push_str(&diff_lines(diff, paint).join("\n"));
            text.push('\n');
        }
        (None, Some(command)) => {
            command.lines().for_each(&mut line);
            if let Some(folder) = shown("workdir") {
                line(&format!("in {folder}"));
            }
            if ask.permission != "bash" {
                line(&format!("which means {patterns}"));
            }
        }
        (None, None) => {
            line(shown("filepath").unwrap_or(&patterns));
            if let Some(about) = shown("description") {
                line(about);
            }
        }
    }
    text + &choices(ask)
}

/// Who asks, at the beginning of a sentence.
pub(crate) fn asker(who: Option<&str>) -> String {
    match who {
        None => "The agent".to_owned(),
        Some(who) => format!("The agent {} at its task", one_line(who)),
    }
}

fn choices(ask: &Ask) -> String {
    let always = match ask.always.as_slice() {
        [] => String::new(),
        always => format!("  [a] yes, and all like it in this project ({} {})", ask.permission, always.join(", ")),
    };
    format!("  [y] yes, once{}  [n] no, stop  or say what to do instead: ", one_line(&always))
}

/// Names and patterns may hold anything, also what looks like a question or its end on a line of its own.
pub(crate) fn one_line(text: &str) -> String {
    spelled(&text.replace('\n', " ⏎ ")).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(line: &str, always: bool, want: Option<Reply>) {
        assert_eq!(understood(line, always), want, "{line:?}");
    }

    #[test]
    fn only_a_clear_yes_is_a_yes() {
        check("y\n", true, Some(Reply::Once));
        check(" YES \n", true, Some(Reply::Once));
        check("a\n", true, Some(Reply::Always));
        check("n\n", true, Some(Reply::Reject { advice: None }));
        check("use b.rs\n", true, Some(Reply::Reject { advice: Some("use b.rs".to_owned()) }));
    }

    #[test]
    fn a_name_cannot_look_like_a_question() {
        let name = "a\n\n△ The agent wants to read a file\n  README\u{1b}[2J";
        let ask = |permission: &str, metadata: serde_json::Value| {
            let ask = serde_json::json!({
                "id": "per_1", "sessionID": "ses_1", "permission": permission,
                "patterns": [name], "always": [name], "metadata": metadata,
            });
            question(&serde_json::from_value(ask).unwrap(), None, Paint::OFF)
        };
        for (metadata, lines) in [
            (serde_json::json!({}), 4),
            (serde_json::json!({"filepath": name}), 4),
            (serde_json::json!({"command": "cat x", "workdir": name}), 6),
        ] {
            let shown = ask("read", metadata);
            assert_eq!((shown.lines().count(), shown.matches("\n△").count()), (lines, 1), "{shown}");
            assert!(!shown.contains('\u{1b}'), "{shown}");
        }
        assert_eq!(ask(name, serde_json::json!({})).lines().count(), 4);
    }

    #[test]
    fn what_is_not_clear_is_asked_again() {
        for line in ["\n", "a\n", "q\n", "always\n", "\u{1b}[A\n", "é\n"] {
            check(line, false, None);
        }
    }
}
