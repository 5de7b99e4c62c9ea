//! Showing what happens.

mod clean;
mod console;
mod json;
mod markdown;
mod page;
mod paint;
mod screen;
#[cfg(test)]
mod story;
mod style;
mod terminal;
mod text;
mod tool_line;
mod unseen;
mod usage;
mod whole_lines;
mod words;

use std::io::Write;
use std::time::{Duration, Instant};

pub(crate) use clean::{clean, named, spelled};
pub(crate) use console::{Console, Foot, leave, print_beside};
pub(crate) use json::Json;
pub(crate) use page::Page;
pub(crate) use paint::{Paint, Palette};
pub(crate) use screen::{Raw, errors, errors_are_terminal, mark_pastes, out, out_is_terminal, size};
pub(crate) use style::{char_width, width};
pub(crate) use terminal::Terminal;
pub(crate) use text::Text;
pub(crate) use tool_line::{diff_on, doing as tool_doing, lines as tool_lines};
pub(crate) use usage::spent;
pub(crate) use whole_lines::WholeLines;

use self::markdown::{Look, Markdown};
use haft_protocol::{Event, ToolState};

use crate::report::Output;

/// Somebody who shows events as they come.
pub(crate) trait Render: Send {
    /// Says who is asked: the agent, and the model with whatever else must be known about it.
    fn head(&mut self, _agent: &str, _model: &str) {}

    /// Shows `event`, unless it was shown before.
    fn show(&mut self, event: &Event);

    /// Shows an event made from what is stored, for a listener that fell behind. What it missed may still come as
    /// events afterwards, and is then not shown again.
    fn show_stored(&mut self, event: &Event) {
        self.show(event);
    }

    /// When [`Render::tick`] wants to be called, if nothing happens before; `None` while nothing moves.
    fn due(&self) -> Option<Instant> {
        None
    }

    /// Shows what moves by itself.
    fn tick(&mut self) {}

    /// Takes what is drawn anew off the screen: somebody else is about to write there.
    fn step_aside(&mut self) {}

    /// Prints lines of our own, which may be painted, apart from what the model says.
    fn note(&mut self, _lines: Vec<String>) {}

    /// Keeps still while a question stands on the screen, or no longer. What happens meanwhile is shown afterwards.
    fn hush(&mut self, _still: bool) {}

    /// Prints what is left of a turn: nothing in it grows any more.
    fn rest(&mut self) {}

    /// Shows what comes from now on in this way.
    fn look(&mut self, _looks: Looks) {}
}

/// How much is shown, and how.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Looks {
    /// What the model thinks.
    pub thinking: bool,
    /// More of a call than its headline.
    pub details: bool,
    pub paint: Paint,
}

/// The lines for a call that ended, as many of them as `details` says. One that failed always says why.
fn call_lines(tool: &str, state: &ToolState, details: bool, paint: Paint) -> Vec<String> {
    let mut lines = tool_lines(tool, state, paint);
    if !details && matches!(state, ToolState::Completed { .. }) {
        lines.truncate(1);
    }
    lines
}

/// Prints a line to stderr, without what a terminal would obey: errors repeat what others said. Nobody there to read
/// it is no error.
pub(crate) fn complain(text: &str) {
    print_beside(&format!("{}\n", clean(text)));
}

/// Prints a line to stderr that was painted by us.
pub(crate) fn complain_painted(text: &str) {
    print_beside(&format!("{text}\n"));
}

/// What is told when a summary has taken the place of what came before it.
const COMPACTED: &str = "(what came before was summed up to make room; all of it stays stored)";

/// Says that a request failed and is made again. `tried`: how often it has failed. `left`: how long until the next try.
fn wait(tried: u32, why: &str, left: Duration) -> String {
    let next = tried.saturating_add(1);
    match left.as_millis().div_ceil(1000) {
        0 => format!("try {next}: {why}"),
        seconds => format!("try {next} in {seconds} s: {why}"),
    }
}

/// Prints a line to stdout. On a terminal without what it would obey, else byte for byte.
///
/// # Errors
///
/// When nobody reads it any more.
pub(crate) fn say(text: &str) -> Result<(), Output> {
    let mut out = out();
    writeln!(out, "{text}")?;
    Ok(out.flush()?)
}

/// Prints `value` as JSON on stdout, on one line or, where `wide`, laid out. Characters that a terminal acts on, or that
/// turn its lines around, are escaped, which JSON allows within its texts; nowhere else can they stand.
///
/// # Errors
///
/// When nobody reads it any more.
pub(crate) fn say_json(value: &serde_json::Value, wide: bool) -> Result<(), Output> {
    let text = if wide { format!("{value:#}") } else { value.to_string() };
    say(&escaped(&text))
}

/// JSON whose texts no terminal acts on.
pub(crate) fn escaped(json: &str) -> String {
    let acts = |c: char| matches!(c, '\u{7f}'..='\u{9f}' | '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    let mut escaped = String::with_capacity(json.len());
    for c in json.chars() {
        if acts(c) {
            escaped.push_str(&format!("\\u{:04x}", u32::from(c)));
        } else {
            escaped.push(c);
        }
    }
    escaped
}

/// Whether stdout is a terminal on which lines can be drawn anew.
pub(crate) fn can_draw() -> bool {
    let dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
    !dumb && out_is_terminal()
}

/// An answer of the model as a terminal shows it, or as it is where stdout is none.
pub(crate) fn answer(text: &str, paint: Paint) -> String {
    if !can_draw() {
        return clean(text).into_owned();
    }
    let mut markdown = Markdown::new(Look { columns: terminal::columns(size()), paint });
    markdown.push(text);
    markdown.end().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    #[test]
    fn no_terminal_acts_on_json_and_it_means_the_same() {
        let value = json!({"a\u{9b}31m": "é \u{202e}txt\u{7f}", "b": ["\u{1b}[2J", "\n"]});
        let text = escaped(&value.to_string());
        assert_eq!(text, r#"{"a\u009b31m":"é \u202etxt\u007f","b":["\u001b[2J","\n"]}"#);
        assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), value);
    }
}
