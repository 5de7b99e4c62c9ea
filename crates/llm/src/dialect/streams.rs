//! For tests: bodies that arrive in pieces, and what a dialect makes of them.

use std::collections::VecDeque;

use expect_test::Expect;
use proptest::prelude::*;

use super::answering::Reader;
pub(super) use super::door::take;
use crate::sse::Decoder;
use crate::{AssistantPart, Chunk, LlmError, Message, Request};

/// What the recorded answers answer: the second one of a conversation.
pub(super) fn request() -> Request {
    let parts = vec![AssistantPart::Text { text: "before".to_owned(), item: None }];
    Request { model: "m1".to_owned(), messages: vec![Message::Assistant { parts }.into()].into(), ..Request::default() }
}

/// What `reader` makes of a body that arrives in `pieces`.
pub(super) fn play<'a>(
    reader: impl Reader,
    pieces: impl IntoIterator<Item = &'a [u8]>,
) -> (Vec<Chunk>, Option<LlmError>) {
    let (mut decoder, mut events) = (Decoder::default(), VecDeque::new());
    for piece in pieces {
        decoder.push(piece, &mut events).unwrap();
    }
    events.extend(decoder.end());
    take(reader, events)
}

/// Compares what was made of a body, a line for each chunk.
#[track_caller]
pub(super) fn same((chunks, error): (Vec<Chunk>, Option<LlmError>), want: Expect) {
    let mut lines: String = chunks.iter().map(|chunk| format!("{chunk:?}\n")).collect();
    if let Some(error) = error {
        lines.push_str(&format!("error: {error}\n"));
    }
    want.assert_eq(&lines);
}

/// Fails unless `bodies` are all that is recorded of `dialect`.
#[track_caller]
pub(super) fn complete(dialect: &str, bodies: &[&str]) {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src/dialect/fixtures").join(dialect);
    assert_eq!(std::fs::read_dir(folder).unwrap().count(), bodies.len());
}

/// Fails unless `read` makes the same of each of `bodies` whole and in pieces of 1, 3 and 7 bytes.
#[track_caller]
pub(super) fn small_pieces(
    bodies: &'static [&'static str],
    read: impl Fn(Vec<&'static [u8]>) -> (Vec<Chunk>, Option<LlmError>),
) {
    for body in bodies {
        let whole = format!("{:?}", read(vec![body.as_bytes()]));
        for size in [1, 3, 7] {
            let pieces = body.as_bytes().chunks(size).collect();
            assert_eq!(format!("{:?}", read(pieces)), whole, "{size} bytes of {body}");
        }
    }
}

/// Each of `bodies` cut into pieces anywhere.
pub(super) fn cut(bodies: &'static [&'static str]) -> impl Strategy<Value = (&'static [u8], Vec<&'static [u8]>)> {
    let cuts = proptest::collection::vec(any::<proptest::sample::Index>(), 0..12);
    (proptest::sample::select(bodies), cuts).prop_map(|(body, cuts)| {
        let bytes = body.as_bytes();
        let cuts = cuts.into_iter().map(|cut| cut.index(bytes.len() + 1));
        let mut places: Vec<_> = cuts.chain([0, bytes.len()]).collect();
        places.sort_unstable();
        (bytes, places.windows(2).map(|place| &bytes[place[0]..place[1]]).collect())
    })
}
