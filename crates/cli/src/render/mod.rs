//! Showing what happens.

mod clean;
mod json;
mod paint;
mod text;
mod tool_line;

use std::io::Write;

pub(crate) use clean::{clean, spelled};
pub(crate) use json::Json;
pub(crate) use paint::Paint;
pub(crate) use text::Text;
pub(crate) use tool_line::{diff_lines, lines as tool_lines};

use haft_protocol::Event;

use crate::report::Output;

/// Somebody who shows events as they come.
pub(crate) trait Render: Send {
    /// Shows `event`, unless it was shown before.
    fn show(&mut self, event: &Event);

    /// Shows an event made from what is stored, for a listener that fell behind. What it missed may still come as
    /// events afterwards, and is then not shown again.
    fn show_stored(&mut self, event: &Event) {
        self.show(event);
    }
}

/// Prints a line to stderr, without what a terminal would obey: errors repeat what others said. Nobody there to read
/// it is no error.
pub(crate) fn complain(text: &str) {
    let _ = writeln!(std::io::stderr().lock(), "{}", clean(text));
}

/// Prints a line to stdout.
///
/// # Errors
///
/// When nobody reads it any more.
pub(crate) fn say(text: &str) -> Result<(), Output> {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{text}")?;
    Ok(out.flush()?)
}
