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

/// `name` as one segment of a path: what means something there is escaped, but for `@`.
pub(super) fn segment(name: &str) -> String {
    let mut segment = String::with_capacity(name.len());
    for byte in name.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'@' => segment.push(byte.into()),
            _ => segment.push_str(&format!("%{byte:02X}")),
        }
    }
    // These two would be steps, escaped or not.
    if matches!(name, "." | "..") { segment.replace('.', "_") } else { segment }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_one_segment() {
        let row = |name: &str, want: &str| assert_eq!(segment(name), want);
        row("claude-sonnet-4-5@20250929", "claude-sonnet-4-5@20250929");
        row("anthropic.claude-3:0", "anthropic.claude-3%3A0");
        row("a/../b?c#d e", "a%2F..%2Fb%3Fc%23d%20e");
        row("ü", "%C3%BC");
        row("..", "__");
    }
}
