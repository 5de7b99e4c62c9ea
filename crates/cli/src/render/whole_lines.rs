//! Lines that are written when they are complete, for whoever listens to them: a screen reader speaks each write.

use std::io::{self, Write};

/// Longest line that waits for its end, in bytes.
const MAX_LINE: usize = 64 * 1024;

/// Passes whole lines on to `W`. What is left when it is dropped is a line, too.
pub(crate) struct WholeLines<W: Write> {
    inner: W,
    begun: Vec<u8>,
}

impl<W: Write> WholeLines<W> {
    /// Nothing is begun yet.
    pub(crate) fn new(inner: W) -> Self {
        Self { inner, begun: Vec::new() }
    }
}

impl<W: Write> Write for WholeLines<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.begun.extend_from_slice(bytes);
        let whole = match self.begun.iter().rposition(|&byte| byte == b'\n') {
            Some(end) => end + 1,
            // Somewhere between two characters.
            None if self.begun.len() >= MAX_LINE => between(&self.begun),
            None => return Ok(bytes.len()),
        };
        self.inner.write_all(&self.begun[..whole])?;
        self.begun.drain(..whole);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

/// The last place in `bytes` where a character ends.
fn between(bytes: &[u8]) -> usize {
    match str::from_utf8(bytes) {
        Ok(_) => bytes.len(),
        Err(error) if error.valid_up_to() > 0 => error.valid_up_to(),
        Err(_) => bytes.len(),
    }
}

impl<W: Write> Drop for WholeLines<W> {
    fn drop(&mut self) {
        // Nobody is left to hear of a failure.
        let _ = self.inner.write_all(&self.begun).and_then(|()| self.inner.flush());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::{Arc, Mutex};

    /// Keeps each write.
    #[derive(Clone, Default)]
    struct Writes(Arc<Mutex<Vec<String>>>);

    impl Write for Writes {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            if !bytes.is_empty() {
                self.0.lock().unwrap().push(String::from_utf8(bytes.to_vec()).unwrap());
            }
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[track_caller]
    fn check(pieces: &[&str], want: &[&str]) {
        let writes = Writes::default();
        let mut lines = WholeLines::new(writes.clone());
        for piece in pieces {
            lines.write_all(piece.as_bytes()).unwrap();
            lines.flush().unwrap();
        }
        drop(lines);
        assert_eq!(*writes.0.lock().unwrap(), want);
    }

    #[test]
    fn a_line_is_written_when_it_is_whole() {
        check(&["Half ", "a sentence.\nAnd ", "one", " more\n"], &["Half a sentence.\n", "And one more\n"]);
        check(&["a\nb\nc"], &["a\nb\n", "c"]);
        check(&[], &[]);
    }

    #[test]
    fn a_line_without_an_end_does_not_wait_for_ever() {
        let long = "é".repeat(MAX_LINE / 2);
        check(&["x", &long[..long.len() - 2], "é", "y"], &[&format!("x{long}"), "y"]);
    }
}
