//! Server-sent events out of bytes that may be cut anywhere. Pure.
//!
//! Our own, because the library for it reads a long line again from its start whenever more of it comes, has no limit
//! on one, and panics at a byte order mark. A test holds the two against each other.

use std::mem;

/// Longest event, in bytes.
pub(crate) const MAX_EVENT: usize = 16 * 1024 * 1024;

/// One event. Ids and retry times mean nothing in an answer, and are not kept.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Event {
    /// Its type. Empty where none is given.
    pub(crate) name: String,
    /// Its data lines, with line feeds between them.
    pub(crate) data: String,
    /// The stream ended without a blank line behind it, so it may not be whole.
    pub(crate) open: bool,
}

/// An event is longer than [`MAX_EVENT`].
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct TooLong;

/// The bytes so far, as far as they are not an event yet.
#[derive(Debug, Default)]
pub(crate) struct Decoder {
    /// The line that has not ended.
    line: Vec<u8>,
    event: Event,
    has_data: bool,
    /// The byte before was a carriage return: a line feed that follows belongs to it.
    after_return: bool,
    /// The first line is behind us, and with it the byte order mark.
    started: bool,
}

impl Decoder {
    /// Takes `bytes` and puts the events that they complete behind those in `events`.
    pub(crate) fn push(&mut self, mut bytes: &[u8], events: &mut impl Extend<Event>) -> Result<(), TooLong> {
        if mem::take(&mut self.after_return) && bytes.first() == Some(&b'\n') {
            bytes = &bytes[1..];
        }
        while let Some(end) = bytes.iter().position(|byte| matches!(byte, b'\n' | b'\r')) {
            self.grow(&bytes[..end])?;
            let line = mem::take(&mut self.line);
            events.extend(self.line(&line));
            // The buffer serves the next line too.
            self.line = line;
            self.line.clear();

            let returned = bytes[end] == b'\r';
            bytes = &bytes[end + 1..];
            if returned && bytes.first() == Some(&b'\n') {
                bytes = &bytes[1..];
            } else {
                self.after_return = returned && bytes.is_empty();
            }
        }
        self.grow(bytes)
    }

    /// The event that the end of the stream completes: some servers leave out the last blank line.
    pub(crate) fn end(&mut self) -> Option<Event> {
        let line = mem::take(&mut self.line);
        let event = self.line(&line).or_else(|| self.line(b""))?;
        Some(Event { open: true, ..event })
    }

    fn grow(&mut self, bytes: &[u8]) -> Result<(), TooLong> {
        if self.line.len() + self.event.data.len() + bytes.len() > MAX_EVENT {
            return Err(TooLong);
        }
        self.line.extend_from_slice(bytes);
        Ok(())
    }

    /// Takes a line without its end. A blank one completes an event.
    fn line(&mut self, line: &[u8]) -> Option<Event> {
        let line = match line.strip_prefix(b"\xEF\xBB\xBF") {
            Some(rest) if !self.started => rest,
            _ => line,
        };
        self.started = true;
        if line.is_empty() {
            let event = mem::take(&mut self.event);
            return mem::take(&mut self.has_data).then_some(event);
        }
        let (field, value) = match line.iter().position(|&byte| byte == b':') {
            Some(colon) => (&line[..colon], &line[colon + 1..]),
            None => (line, &b""[..]),
        };
        let value = String::from_utf8_lossy(value.strip_prefix(b" ").unwrap_or(value));
        match field {
            b"data" => {
                if mem::replace(&mut self.has_data, true) {
                    self.event.data.push('\n');
                }
                self.event.data.push_str(&value);
            }
            b"event" => self.event.name = value.into_owned(),
            // Comments, ids, retry times, and what is not known.
            _ => {}
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use eventsource_stream::Eventsource;
    use expect_test::{Expect, expect};
    use futures::executor::block_on;
    use futures::{StreamExt, stream};
    use proptest::prelude::*;

    use super::*;

    fn decode<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> Vec<Event> {
        let (mut decoder, mut events) = (Decoder::default(), Vec::new());
        for piece in pieces {
            decoder.push(piece, &mut events).unwrap();
        }
        events.extend(decoder.end());
        events
    }

    #[track_caller]
    fn check(text: &str, want: Expect) {
        let events = decode([text.as_bytes()]);
        let lines: String = events.iter().map(|event| format!("{:?} {:?}\n", event.name, event.data)).collect();
        want.assert_eq(&lines);
    }

    #[test]
    fn fields_and_line_ends() {
        check(
            "data: a\n\ndata:b\r\n\r\ndata:  c\r\r",
            expect![[r#"
                "" "a"
                "" "b"
                "" " c"
            "#]],
        );
        check(
            "event: ping\nid: 7\nretry: 3\n: comment\nother: x\ndata: a\ndata\ndata: b\n\n",
            expect![[r#"
                "ping" "a\n\nb"
            "#]],
        );
        check(
            "\u{feff}data: a\n\n\n\nevent: empty\n\ndata: b\n\n",
            expect![[r#"
                "" "a"
                "" "b"
            "#]],
        );
    }

    #[test]
    fn the_last_event_needs_no_blank_line() {
        check(
            "data: a\n\ndata: b\n",
            expect![[r#"
                "" "a"
                "" "b"
            "#]],
        );
        check(
            "data: b",
            expect![[r#"
                "" "b"
            "#]],
        );
    }

    #[test]
    fn an_event_without_end_is_given_up() {
        let block = vec![b'x'; 1024 * 1024];
        let mut decoder = Decoder::default();
        let mut events = Vec::new();
        assert_eq!((0..16).find(|_| decoder.push(&block, &mut events).is_err()), None);
        assert_eq!(decoder.push(b"x", &mut events), Err(TooLong));

        let mut line = b"data: ".to_vec();
        line.extend_from_slice(&block);
        line.push(b'\n');
        let mut decoder = Decoder::default();
        assert!((0..17).any(|_| decoder.push(&line, &mut events).is_err()), "many data lines have no limit");
    }

    fn any_stream() -> impl Strategy<Value = String> {
        let piece = prop_oneof![
            Just("data: "),
            Just("data"),
            Just("event:"),
            Just("id: 1"),
            Just(":"),
            Just(" "),
            Just("\n"),
            Just("\r\n"),
            Just("\r"),
            Just("\n\n"),
            Just("ü"),
            Just("😀"),
            Just("a"),
            Just("\u{feff}"),
        ];
        proptest::collection::vec(piece, 0..40).prop_map(|pieces| pieces.concat())
    }

    proptest! {
        #[test]
        fn cuts_change_nothing(text in any_stream(), cuts in proptest::collection::vec(1usize..8, 1..20)) {
            let mut rest = text.as_bytes();
            let mut pieces = Vec::new();
            for cut in cuts.iter().cycle() {
                if rest.is_empty() {
                    break;
                }
                let (piece, more) = rest.split_at((*cut).min(rest.len()));
                pieces.push(piece);
                rest = more;
            }
            prop_assert_eq!(decode(pieces), decode([text.as_bytes()]));
        }

        #[test]
        fn the_library_reads_the_same(text in any_stream()) {
            // The library leaves out a last event without a blank line, and panics at a mark at the start.
            let text = format!("{}\n\n\n", text.trim_start_matches('\u{feff}'));
            let library = stream::iter([Ok::<_, std::convert::Infallible>(text.as_bytes())]).eventsource();
            let library: Vec<_> = block_on(library.map(|event| event.unwrap()).collect());
            let library: Vec<_> = library
                .into_iter()
                .map(|event| Event { name: if event.event == "message" { String::new() } else { event.event }, data: event.data, open: false })
                .collect();
            prop_assert_eq!(decode([text.as_bytes()]), library);
        }
    }
}
