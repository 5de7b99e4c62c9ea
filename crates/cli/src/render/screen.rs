//! Standard output and standard error. Nothing else in the program holds them, so that no text gets to a terminal
//! around this: what a terminal would obey is taken out on the way, whoever wrote it, except the colours of our own.

use std::io::{self, IsTerminal, Stderr, Stdout, Write, stderr, stdout};

use super::clean::passed;

/// How large a terminal is that does not say it.
const USUAL: Size = Size { columns: 80, rows: 24 };

/// The size of a terminal in characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Size {
    pub columns: usize,
    pub rows: usize,
}

/// Standard output: safe on a terminal, byte for byte for a program that reads it.
pub(crate) struct Out {
    inner: Stdout,
    terminal: bool,
}

/// Standard error: always safe, because logs are looked at on terminals.
pub(crate) struct Errors(Stderr);

/// Standard output for whoever draws: as it is. What is drawn has to be made safe line by line, with [`line()`].
pub(crate) struct Raw(Stdout);

/// Standard output.
pub(crate) fn out() -> Out {
    Out { inner: stdout(), terminal: out_is_terminal() }
}

/// Standard error.
pub(crate) fn errors() -> Errors {
    Errors(stderr())
}

/// Standard output for [`Console`](super::Console) alone.
pub(super) fn raw() -> Raw {
    Raw(stdout())
}

/// Writes to standard error as it is: what takes drawn lines away.
pub(super) fn erase(text: &str) -> io::Result<()> {
    stderr().lock().write_all(text.as_bytes())
}

/// Has the terminal say where what is pasted begins and ends, or no more.
pub(crate) fn mark_pastes(on: bool) {
    let mut out = stdout().lock();
    // A terminal that is gone marks nothing.
    let _ = out.write_all(if on { b"\x1b[?2004h" } else { b"\x1b[?2004l" }).and_then(|()| out.flush());
}

/// Writes foreign `text` between two of our own to standard error, at once.
pub(super) fn beside(before: &str, text: &str, after: &str) -> io::Result<()> {
    stderr().lock().write_all(format!("{before}{}{after}", passed(text)).as_bytes())
}

/// `text` as one line that can be drawn.
pub(super) fn line(text: &str) -> String {
    passed(text).replace('\n', " ")
}

/// Whether standard output is a terminal.
pub(crate) fn out_is_terminal() -> bool {
    stdout().is_terminal()
}

/// Whether standard error is a terminal.
pub(crate) fn errors_are_terminal() -> bool {
    stderr().is_terminal()
}

/// The size of the terminal that the program writes to.
pub(crate) fn size() -> Size {
    let asked = rustix::termios::tcgetwinsize(stdout());
    match asked.or_else(|_| rustix::termios::tcgetwinsize(stderr())) {
        Ok(size) if size.ws_col > 0 && size.ws_row > 0 => {
            Size { columns: size.ws_col.into(), rows: size.ws_row.into() }
        }
        _ => USUAL,
    }
}

impl Write for Out {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self.terminal {
            true => through(&mut self.inner, bytes),
            false => self.inner.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

impl Write for Errors {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        through(&mut self.0, bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

impl Write for Raw {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

/// Writes what is safe of `bytes`, all of which are then done with. Whoever writes hands over whole characters.
fn through(inner: &mut impl Write, bytes: &[u8]) -> io::Result<usize> {
    inner.write_all(passed(&String::from_utf8_lossy(bytes)).as_bytes())?;
    Ok(bytes.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_safe_and_done_with() {
        let mut inner = Vec::new();
        let text = "a\u{1b}[2J\u{1b}[1mb\u{1b}[0m\u{9b}\n".as_bytes();
        assert_eq!(through(&mut inner, text).unwrap(), text.len());
        through(&mut inner, b"\xff\x1b]0;x\x07").unwrap();
        assert_eq!(String::from_utf8(inner).unwrap(), "a\u{1b}[1mb\u{1b}[0m\n\u{fffd}");
        assert_eq!(line("a\nb\u{1b}[1A\u{1b}[2mc"), "a b\u{1b}[2mc");
    }
}
