//! For tests: frames as Amazon sends them.

use aws_smithy_eventstream::frame::write_message_to;
use aws_smithy_types::event_stream::{Header, HeaderValue, Message};
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use serde_json::json;

/// A frame with these headers, all of them texts.
pub(crate) fn frame(headers: &[(&str, &str)], payload: &str) -> Vec<u8> {
    let header =
        |&(name, value): &(&str, &str)| Header::new(name.to_owned(), HeaderValue::String(value.to_owned().into()));
    let headers = headers.iter().map(header).collect();
    let mut bytes = Vec::new();
    write_message_to(&Message::new_from_parts(headers, payload.as_bytes().to_vec()), &mut bytes).unwrap();
    bytes
}

/// The frame of an event, or with a `!` before its name, of a failure.
pub(crate) fn event(name: &str, payload: &str) -> Vec<u8> {
    let json = (":content-type", "application/json");
    match name.strip_prefix('!') {
        Some(name) => frame(&[(":exception-type", name), json, (":message-type", "exception")], payload),
        None => frame(&[(":event-type", name), json, (":message-type", "event")], payload),
    }
}

/// The frame of somebody else's event.
pub(crate) fn chunk(inner: &str) -> Vec<u8> {
    event("chunk", &json!({"bytes": BASE64_STANDARD.encode(inner), "p": "abcd"}).to_string())
}

/// A whole stream from lines `NAME PAYLOAD`, as fixtures spell it. Lines that begin with `#` are comments, one that
/// begins with `~` is bytes in hexadecimal.
pub(crate) fn stream(lines: &str) -> Vec<u8> {
    let lines = lines.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines
        .flat_map(|line| match line.strip_prefix('~') {
            Some(bytes) => {
                let digits: Vec<char> = bytes.chars().filter(|digit| !digit.is_whitespace()).collect();
                digits.chunks(2).map(|two| u8::from_str_radix(&two.iter().collect::<String>(), 16).unwrap()).collect()
            }
            None => {
                let (name, payload) = line.split_once(' ').unwrap_or((line, "{}"));
                event(name, payload)
            }
        })
        .collect()
}
