//! A door for tests from outside: the bytes of an answer in, what a dialect makes of them out. Pure.

use std::collections::VecDeque;

use super::answering::{Next, Reader};
use super::{chat, converse, gemini, letters, messages, responses};
use crate::catalogue::Dialect;
use crate::sse::{Decoder, Event};
use crate::{Chunk, LlmError, Request, eventstream};

/// What `dialect` makes of an answer whose bytes come in `pieces`: chunks, and the error behind them, if it ends with
/// one. Events are read in the form of server-sent ones, whatever the dialect's own, unless the first byte is a nought:
/// then they are Amazon's frames.
pub fn read_any<'a>(dialect: Dialect, pieces: impl IntoIterator<Item = &'a [u8]>) -> (Vec<Chunk>, Option<LlmError>) {
    let (mut text, mut binary) = (Decoder::default(), eventstream::Decoder::default());
    let (mut events, mut is_binary, mut broken) = (VecDeque::new(), None, false);
    for piece in pieces.into_iter().filter(|piece| !piece.is_empty()) {
        broken = match *is_binary.get_or_insert(piece[0] == 0) {
            true => binary.push(piece, &mut events).is_err(),
            false => text.push(piece, &mut events).is_err(),
        };
        if broken {
            break;
        }
    }
    if !broken {
        events.extend(text.end());
    }
    let (chunks, error) = made(dialect, events);
    // What was said before holds; that more was to come is not the reason.
    let error = match error {
        Some(LlmError::CutOff { provider }) if broken => {
            let excerpt = "an event that is larger, or none".to_owned();
            Some(LlmError::Malformed { provider, wanted: "a stream of small events", excerpt })
        }
        error => error,
    };
    (chunks, error)
}

fn made(dialect: Dialect, events: VecDeque<Event>) -> (Vec<Chunk>, Option<LlmError>) {
    let request = Request { model: "m".to_owned(), ..Request::default() };
    match dialect {
        Dialect::Chat => take(chat::Reader::new("v", &request, &[]), events),
        Dialect::Responses => take(responses::Reader::new("v", &request, &[]), events),
        Dialect::Messages => take(messages::Reader::new("v", &request, &[]), events),
        Dialect::Gemini => take(gemini::Reader::new("v", &request, &[]), events),
        Dialect::Converse => take(converse::Reader::new("v", &request, &[]), events),
    }
}

/// What `reader` makes of the events of a whole answer.
pub(super) fn take(mut reader: impl Reader, events: impl IntoIterator<Item = Event>) -> (Vec<Chunk>, Option<LlmError>) {
    let mut chunks = VecDeque::new();
    for mut event in events {
        letters::mend(&mut event.data);
        match reader.push(&event, &mut chunks) {
            Ok(Next::More) => {}
            Ok(Next::End) => break,
            Err(error) => return (chunks.into(), Some(error)),
        }
    }
    let end = reader.end();
    let (last, error) = end.map_or_else(|error| (VecDeque::new(), Some(error)), |last| (last, None));
    (chunks.into_iter().chain(last).collect(), error)
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;
    use std::fs;

    use proptest::prelude::*;
    use proptest::sample::{Index, select};

    use super::*;
    use crate::eventstream::frames;

    const ALL: [Dialect; 5] =
        [Dialect::Chat, Dialect::Responses, Dialect::Messages, Dialect::Gemini, Dialect::Converse];

    /// Every answer that was ever recorded, of all dialects.
    fn recorded() -> Vec<Vec<u8>> {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/src/dialect/fixtures");
        let mut bodies = Vec::new();
        for folder in fs::read_dir(folder).unwrap().map(|folder| folder.unwrap().path()).filter(|path| path.is_dir()) {
            let files = fs::read_dir(folder).unwrap().map(|file| file.unwrap().path());
            bodies.extend(files.filter(|file| file.is_file()).map(|file| fs::read(file).unwrap()));
        }
        bodies.sort_unstable();
        assert!(bodies.len() > 100, "{}", bodies.len());
        let frames: Vec<_> = bodies.iter().filter_map(|body| framed(std::str::from_utf8(body).ok()?)).collect();
        assert!(frames.len() > 20, "{}", frames.len());
        bodies.extend(frames);
        bodies
    }

    /// The frames that `lines` stand for, if they stand for some.
    fn framed(lines: &str) -> Option<Vec<u8>> {
        (lines.starts_with("messageStart ") || lines.starts_with('!')).then(|| frames::stream(lines))
    }

    /// A recorded answer with pieces of others in it, and a few bytes changed.
    fn mixed() -> impl Strategy<Value = Vec<u8>> {
        let place = any::<Index>;
        let piece = (select(recorded()), place(), place(), place());
        let change = (place(), any::<u8>());
        let pieces = prop::collection::vec(piece, 0..3);
        (select(recorded()), pieces, prop::collection::vec(change, 0..4)).prop_map(|(mut body, pieces, changes)| {
            for (other, start, end, at) in pieces {
                let (start, end) = (start.index(other.len() + 1), end.index(other.len() + 1));
                let at = at.index(body.len() + 1);
                body.splice(at..at, other[start.min(end)..start.max(end)].iter().copied());
            }
            for (at, byte) in changes {
                if !body.is_empty() {
                    let at = at.index(body.len());
                    body[at] = byte;
                }
            }
            body
        })
    }

    /// What holds of every answer.
    fn hold(dialect: Dialect, body: &[u8]) -> Result<(), TestCaseError> {
        let (chunks, error) = read_any(dialect, [body]);
        let ends = chunks.iter().filter(|chunk| matches!(chunk, Chunk::Finish(_))).count();
        prop_assert_eq!(ends, usize::from(error.is_none()), "{:?}: {:?}", dialect, chunks);
        prop_assert!(error.is_some() || matches!(chunks.last(), Some(Chunk::Finish(_))));
        let mut ended = HashSet::new();
        let mut usages = 0;
        for chunk in &chunks {
            match chunk {
                Chunk::Text(text) | Chunk::Reasoning(text) => prop_assert!(!text.is_empty()),
                Chunk::ToolInput { id, .. } => prop_assert!(!ended.contains(id), "{id} goes on behind its end"),
                Chunk::ToolCall { id, .. } => prop_assert!(ended.insert(id), "{id} ends twice"),
                Chunk::Usage(_) => usages += 1,
                Chunk::TextEnd { .. } | Chunk::ReasoningEnd { .. } | Chunk::Vendor(_) | Chunk::Finish(_) => {}
            }
        }
        prop_assert!(usages <= 1);
        for size in [1, 7] {
            prop_assert_eq!(
                format!("{:?}", read_any(dialect, body.chunks(size))),
                format!("{:?}", (&chunks, &error)),
                "{:?} in pieces of {}",
                dialect,
                size
            );
        }
        Ok(())
    }

    #[test]
    fn no_dialect_is_harmed_by_the_answers_of_another() {
        for body in recorded() {
            for dialect in ALL {
                hold(dialect, &body).unwrap();
            }
        }
    }

    proptest! {
        #[test]
        fn no_bytes_do_harm(body in mixed(), dialect in select(&ALL[..])) {
            hold(dialect, &body)?;
        }
    }
}
