//! For tests: bodies that arrive in pieces, and what a dialect makes of them.

use std::collections::VecDeque;

use expect_test::Expect;
use proptest::prelude::*;

use super::answering::{Next, Reader};
use crate::sse::Decoder;
use crate::{Chunk, LlmError};

/// What `reader` makes of a body that arrives in `pieces`.
pub(super) fn play<'a>(
    mut reader: impl Reader,
    pieces: impl IntoIterator<Item = &'a [u8]>,
) -> (Vec<Chunk>, Option<LlmError>) {
    let (mut decoder, mut events, mut chunks) = (Decoder::default(), VecDeque::new(), VecDeque::new());
    for piece in pieces {
        decoder.push(piece, &mut events).unwrap();
    }
    events.extend(decoder.end());
    for event in events {
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

/// Compares what was made of a body, a line for each chunk.
#[track_caller]
pub(super) fn same((chunks, error): (Vec<Chunk>, Option<LlmError>), want: Expect) {
    let mut lines: String = chunks.iter().map(|chunk| format!("{chunk:?}\n")).collect();
    if let Some(error) = error {
        lines.push_str(&format!("error: {error}\n"));
    }
    want.assert_eq(&lines);
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
