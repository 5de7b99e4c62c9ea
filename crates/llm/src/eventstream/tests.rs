use expect_test::{Expect, expect};
use proptest::prelude::*;

use super::frames::{chunk, frame};
use super::*;

fn decode<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> Result<Vec<Event>, Broken> {
    let (mut decoder, mut events) = (Decoder::default(), Vec::new());
    for piece in pieces {
        decoder.push(piece, &mut events)?;
    }
    Ok(events)
}

#[track_caller]
fn check(bytes: &[u8], want: Expect) {
    let events = decode([bytes]).unwrap();
    let lines: String = events.iter().map(|event| format!("{:?} {}\n", event.name, event.data)).collect();
    want.assert_eq(&lines);
}

/// The checksum of the format: CRC-32 as in ISO 3309, bit by bit.
fn checksum(bytes: &[u8]) -> u32 {
    let step = |sum: u32| if sum & 1 == 1 { (sum >> 1) ^ 0xEDB8_8320 } else { sum >> 1 };
    !bytes.iter().fold(u32::MAX, |sum, byte| (0..8).fold(sum ^ u32::from(*byte), |sum, _| step(sum)))
}

/// A frame whose checksums are right, whatever else it is.
fn sealed(headers: &[u8], payload: &[u8], claimed: u32) -> Vec<u8> {
    let mut bytes = Vec::new();
    bytes.extend_from_slice(&((MIN_FRAME + headers.len() + payload.len()) as u32).to_be_bytes());
    bytes.extend_from_slice(&claimed.to_be_bytes());
    bytes.extend_from_slice(&checksum(&bytes).to_be_bytes());
    bytes.extend_from_slice(headers);
    bytes.extend_from_slice(payload);
    bytes.extend_from_slice(&checksum(&bytes).to_be_bytes());
    bytes
}

#[test]
fn frames_become_events() {
    let mut bytes = frames::event("messageStart", r#"{"role":"assistant"}"#);
    bytes.extend(chunk("{\"type\":\"ping\"}"));
    bytes.extend(frame(&[(":event-type", "odd")], "no kind"));
    check(
        &bytes,
        expect![[r#"
            "messageStart" {"role":"assistant"}
            "" {"type":"ping"}
            "odd" no kind
        "#]],
    );
}

#[test]
fn the_bytes_are_those_of_the_format() {
    // The example of the protocol's own documents: one header, `content-type`.
    let known = b"\x00\x00\x00\x3d\x00\x00\x00\x20\x07\xfd\x83\x96\x0ccontent-type\x07\x00\x10application/json{'foo':'bar'}\x8d\x9c\x08\xb1";
    check(
        known,
        expect![[r#"
        "" {'foo':'bar'}
    "#]],
    );
}

#[test]
fn failures_have_one_form() {
    let mut bytes = frames::event("!throttlingException", r#"{"message":"Too many tokens"}"#);
    bytes.extend(frames::event(
        "!modelStreamErrorException",
        r#"{"message":"failed","originalStatusCode":503,"originalMessage":"busy"}"#,
    ));
    bytes.extend(frames::event("!internalServerException", "no json"));
    let error = [(":message-type", "error"), (":error-code", "InternalError"), (":error-message", "why")];
    bytes.extend(frame(&error, ""));
    bytes.extend(frame(&[(":message-type", "exception")], ""));
    check(
        &bytes,
        expect![[r#"
            "error" {"error":{"type":"throttlingException","message":"Too many tokens","status":null}}
            "error" {"error":{"type":"modelStreamErrorException","message":"busy","status":503}}
            "error" {"error":{"type":"internalServerException","message":"internalServerException","status":null}}
            "error" {"error":{"type":"InternalError","message":"why","status":null}}
            "error" {"error":{"type":null,"message":"no reason given","status":null}}
        "#]],
    );
}

#[test]
fn what_is_unknown_is_left_out_or_handed_on() {
    let mut bytes = frame(&[(":message-type", "greeting")], "hello");
    bytes.extend(frames::event("chunk", r#"{"bytes":"not base64!"}"#));
    bytes.extend(frames::event("chunk", r#"{"other":1}"#));
    // A kind that is no text is none.
    bytes.extend(sealed(b"\x0d:message-type\x00", b"{}", 15));
    check(
        &bytes,
        expect![[r#"
            "" {"bytes":"not base64!"}
            "" {"other":1}
            "" {}
        "#]],
    );
}

#[test]
fn what_is_no_frame_is_told() {
    let good = frames::event("messageStop", "{}");
    let at = |place: usize| {
        let mut bytes = good.clone();
        bytes[place] ^= 1;
        decode([&bytes[..]])
    };
    // The headers' length, the first checksum, a header, the payload, the last checksum.
    for place in [7, 8, 20, good.len() - 5, good.len() - 1] {
        assert_eq!(at(place), Err(Broken::Damaged), "{place}");
    }
    assert_eq!(decode([&[0, 0, 0, 15][..]]), Err(Broken::Damaged));
    assert_eq!(decode([&b"data: {}\n\n"[..]]), Err(Broken::TooLong));
    // Half a frame is not a wrong one, but says nothing.
    assert_eq!(decode([&good[..good.len() - 1]]), Ok(Vec::new()));
    assert_eq!(decode([]), Ok(Vec::new()));
}

#[test]
fn a_frame_has_a_limit() {
    let length = |length: usize| decode([&(length as u32).to_be_bytes()[..]]);
    assert_eq!(length(MAX_EVENT), Ok(Vec::new()));
    assert_eq!(length(MAX_EVENT + 1), Err(Broken::TooLong));
}

proptest! {
    #[test]
    fn it_does_not_matter_where_a_stream_is_cut(cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..12)) {
        let bytes: Vec<u8> = ["a", "bb", "!c"].into_iter().flat_map(|name| frames::event(name, "{\"é\":1}")).collect();
        let mut places: Vec<_> = cuts.iter().map(|cut| cut.index(bytes.len() + 1)).chain([0, bytes.len()]).collect();
        places.sort_unstable();
        let pieces = places.windows(2).map(|place| &bytes[place[0]..place[1]]);
        prop_assert_eq!(decode(pieces), decode([&bytes[..]]));
    }

    #[test]
    fn any_bytes_are_read_without_harm(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = decode([&bytes[..]]);
    }

    #[test]
    fn any_headers_are_read_without_harm(
        headers in prop::collection::vec(any::<u8>(), 0..40),
        payload in prop::collection::vec(any::<u8>(), 0..8),
        off in 0_u32..60,
    ) {
        let claimed = if off < 40 { headers.len() as u32 } else { off };
        let _ = decode([&sealed(&headers, &payload, claimed)[..]]);
    }
}
