//! JSON that is written once and goes into bodies as it is.

use serde::Serialize;
use serde_json::value::{RawValue, to_raw_value};

/// Room in a body for what is neither a message nor the system prompt, in bytes. A guess: tools can be more.
const ROOM: usize = 16 * 1024;

/// `value` as it is written.
pub(super) fn raw(value: &impl Serialize) -> Box<RawValue> {
    // Names, texts and JSON: nothing that could fail.
    to_raw_value(value).unwrap_or_else(|_| RawValue::NULL.to_owned())
}

/// How long pieces are, in bytes.
pub(super) fn length<'a>(pieces: impl IntoIterator<Item = &'a Box<RawValue>>) -> usize {
    pieces.into_iter().map(|piece| piece.get().len()).sum()
}

/// A whole body, of which about `texts` bytes are messages and the system prompt.
pub(super) fn body(body: &impl Serialize, texts: usize) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(texts.saturating_add(ROOM));
    match serde_json::to_writer(&mut bytes, body) {
        Ok(()) => bytes,
        // Nothing that could fail, again; half a body would be worse than none.
        Err(_) => Vec::new(),
    }
}
