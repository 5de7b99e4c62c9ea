//! Asking the person at the terminal for leave.

use std::io::{IsTerminal, Write};

use haft_permission::Gate;
use haft_protocol::{Ask, Reply};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::render::{Paint, clean, diff_lines};

/// Longest answer, in bytes; a terminal gives no longer lines.
const MAX_LINE: usize = 4096;

/// Whether somebody is there to ask: both the keyboard and the screen are a terminal's.
pub(crate) fn somebody_is_there() -> bool {
    std::io::stdin().is_terminal() && std::io::stderr().is_terminal()
}

/// Shows `ask`, waits for a line and passes the answer on. Gives up when `stop` fires.
pub(crate) async fn answer(ask: &Ask, gate: &Gate, stop: &CancellationToken) {
    // An answer to another question may have settled this one.
    if !gate.is_waiting(&ask.id) {
        return;
    }
    let shown = question(ask, Paint::new(true));
    let read = tokio::task::spawn_blocking(move || {
        let mut screen = std::io::stderr().lock();
        write!(screen, "{shown}").and_then(|()| screen.flush())?;
        drop(screen);
        read_line()
    });
    let line = tokio::select! {
        line = read => line.ok().and_then(Result::ok).flatten(),
        () = stop.cancelled() => return,
    };
    // An ask that was taken back meanwhile needs no answer.
    let _ = gate.reply(&ask.id, understood(line.as_deref(), !ask.always.is_empty()));
}

/// Reads a line that was typed after the question was there to read; `None` where the terminal is gone.
fn read_line() -> std::io::Result<Option<String>> {
    let stdin = std::io::stdin();
    // What was typed or pasted before cannot be meant for this question. Where nothing can be flushed, nothing waits.
    let _ = rustix::termios::tcflush(&stdin, rustix::termios::QueueSelector::IFlush);
    let mut line = vec![0; MAX_LINE];
    // Not through the standard buffer, which would keep the rest of a paste for the next question.
    let read = rustix::io::read(&stdin, &mut line)?;
    line.truncate(read);
    Ok((read > 0).then(|| String::from_utf8_lossy(&line).into_owned()))
}

/// What a line means. Whatever is not clearly a yes is a no.
fn understood(line: Option<&str>, always: bool) -> Reply {
    let Some(line) = line.map(str::trim) else { return Reply::Reject { advice: None } };
    match line.to_lowercase().as_str() {
        "y" | "yes" => Reply::Once,
        "a" | "always" if always => Reply::Always,
        "" | "n" | "no" | "a" | "always" => Reply::Reject { advice: None },
        _ => Reply::Reject { advice: Some(line.to_owned()) },
    }
}

fn question(ask: &Ask, paint: Paint) -> String {
    let shown = |key: &str| ask.metadata.get(key).and_then(Value::as_str);
    let wish = match ask.permission.as_str() {
        "bash" => "run a command",
        "edit" => "change a file",
        "read" => "read a file that may hold secrets",
        "external_directory" => "go outside the project",
        other => other,
    };
    let mut text = format!("\n{}\n", paint.yellow(&format!("△ The agent wants to {}", clean(wish))));
    match (shown("diff"), shown("command")) {
        (Some(diff), _) => {
            text.push_str(&format!("  {}\n", clean(&ask.patterns.join(", "))));
            text.push_str(&diff_lines(diff, paint).join("\n"));
            text.push('\n');
        }
        (None, Some(command)) => {
            for line in clean(command).lines() {
                text.push_str(&format!("  {line}\n"));
            }
            if ask.permission != "bash" {
                text.push_str(&format!("  in {}\n", clean(&ask.patterns.join(", "))));
            }
        }
        (None, None) => {
            let patterns = ask.patterns.join(", ");
            text.push_str(&format!("  {}\n", clean(shown("filepath").unwrap_or(&patterns))));
        }
    }
    let always = match ask.always.as_slice() {
        [] => String::new(),
        always => format!("  [a] yes, and from now on: {} {}", ask.permission, clean(&always.join(", "))),
    };
    text.push_str(&format!("  [y] yes, once{always}  [n] no  or say what to do instead: "));
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(line: Option<&str>, always: bool, want: Reply) {
        assert_eq!(understood(line, always), want, "{line:?}");
    }

    #[test]
    fn whatever_is_not_clearly_a_yes_is_a_no() {
        let no = Reply::Reject { advice: None };
        check(Some("y\n"), true, Reply::Once);
        check(Some(" YES \n"), true, Reply::Once);
        check(Some("a\n"), true, Reply::Always);
        check(Some("a\n"), false, no.clone());
        check(Some("\n"), true, no.clone());
        check(Some("n\n"), true, no.clone());
        check(None, true, no);
        check(Some("use b.rs\n"), true, Reply::Reject { advice: Some("use b.rs".to_owned()) });
    }
}
