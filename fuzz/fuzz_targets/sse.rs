//! Server-sent events: the same events however the bytes are cut.
#![no_main]

use libfuzzer_sys::fuzz_target;

#[path = "../../crates/llm/src/sse.rs"]
#[allow(dead_code, reason = "the target uses a part of it")]
mod sse;

use sse::{Decoder, Event};

fn decode<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> Vec<Event> {
    let (mut decoder, mut events) = (Decoder::default(), Vec::new());
    for piece in pieces {
        // An event as long as that does not fit into an input.
        decoder.push(piece, &mut events).unwrap();
    }
    events.extend(decoder.end());
    events
}

fuzz_target!(|bytes: &[u8]| {
    let whole = decode([bytes]);
    for size in [1, 2, 3, 7] {
        assert_eq!(decode(bytes.chunks(size)), whole, "in pieces of {size}");
    }
    for event in &whole {
        assert!(!event.name.contains(['\n', '\r']), "{event:?}");
    }
});
