//! Connections that break, and bytes that are no HTTP.

use std::io::Write;

use expect_test::expect;
use flate2::Compression;
use flate2::write::GzEncoder;

use super::{Act, begun, check, head, send};
use crate::spoken::Spoken;

fn zipped(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn zipped_head(spoken: &Spoken) -> Act {
    send(format!("HTTP/1.1 200 OK\r\ncontent-type: {}\r\ncontent-encoding: gzip\r\n\r\n", spoken.content_type))
}

fn chunked_head(spoken: &Spoken) -> Act {
    send(format!("HTTP/1.1 200 OK\r\ncontent-type: {}\r\ntransfer-encoding: chunked\r\n\r\n", spoken.content_type))
}

#[tokio::test(start_paused = true)]
async fn closed() {
    check(
        |_| vec![],
        expect![[r#"
            all: error, again: the connection to v at SERVER failed
        "#]],
    )
    .await;
    check(
        |spoken| vec![head(spoken)],
        expect![[r#"
        all: error, again: the answer of v was cut off before its end
    "#]],
    )
    .await;
    check(
        begun,
        expect![[r#"
        all: Text("Hi.") | error, again: the answer of v was cut off before its end
    "#]],
    )
    .await;
    let promised = |spoken: &Spoken| {
        let answer = spoken.answer("Hi.");
        let length = answer.len() + 9;
        let head =
            format!("HTTP/1.1 200 OK\r\ncontent-type: {}\r\ncontent-length: {length}\r\n\r\n", spoken.content_type);
        vec![send(head), send(answer)]
    };
    check(
        promised,
        expect![[r#"
        all: Text("Hi.") | 3 in, 2 out | Finish(Stop)
    "#]],
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn broken() {
    check(
        |_| vec![Act::Reset],
        expect![[r#"
            all: error, again: the connection to v at SERVER failed
        "#]],
    )
    .await;
    check(
        |spoken| vec![head(spoken), Act::Reset],
        expect![[r#"
        all: error, again: the answer of v was cut off before its end
    "#]],
    )
    .await;
    check(
        |spoken| [begun(spoken), vec![Act::Reset]].concat(),
        expect![[r#"
        all: Text("Hi.") | error, again: the answer of v was cut off before its end
    "#]],
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn bytes_that_are_no_http() {
    check(
        |_| vec![send("SSH-2.0-OpenSSH_9.9\r\n")],
        expect![[r#"
            all: error, final: v at SERVER cannot be reached: what answers there does not speak HTTP (invalid HTTP version parsed); check the address, and its port
        "#]],
    )
    .await;
    check(
        |_| vec![send("\x15\x03\x01\0\x02\x02\x16")],
        expect![[r#"
            all: error, final: v at SERVER cannot be reached: what answers there does not speak HTTP (invalid HTTP version parsed); check the address, and its port
        "#]],
    )
    .await;
    check(
        |_| {
            vec![
                send("HTTP/1.1 200 OK\r\n"),
                Act::Forever(b"x-more: and more\r\n".repeat(64), std::time::Duration::ZERO),
            ]
        },
        expect![[r#"
            all: error, final: v at SERVER cannot be reached: what answers there does not speak HTTP (message head is too large); check the address, and its port
        "#]],
    )
    .await;
    let garbage = |spoken: &Spoken| {
        let first = [spoken.begin.clone(), (spoken.say)("Hi.")].concat();
        vec![chunked_head(spoken), send(format!("{:x}\r\n", first.len())), send(first), send("\r\nzz\r\nwhat?\r\n")]
    };
    check(
        garbage,
        expect![[r#"
        all: Text("Hi.") | error, again: the answer of v was cut off before its end
    "#]],
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn framing_of_other_kinds() {
    let old = |spoken: &Spoken| {
        vec![
            send(format!("HTTP/1.0 200 OK\r\ncontent-type: {}\r\n\r\n", spoken.content_type)),
            send(spoken.answer("Hi.")),
        ]
    };
    check(
        old,
        expect![[r#"
        all: Text("Hi.") | 3 in, 2 out | Finish(Stop)
    "#]],
    )
    .await;
    let bytewise = |spoken: &Spoken| {
        let chunks: Vec<u8> =
            spoken.answer("Hi.").iter().flat_map(|byte| [b"1\r\n", &[*byte][..], b"\r\n"].concat()).collect();
        vec![chunked_head(spoken), send(chunks), send("0\r\n\r\n")]
    };
    check(
        bytewise,
        expect![[r#"
        all: Text("Hi.") | 3 in, 2 out | Finish(Stop)
    "#]],
    )
    .await;
    check(
        |spoken| vec![zipped_head(spoken), send(zipped(&spoken.answer("Hi.")))],
        expect![[r#"
        all: Text("Hi.") | 3 in, 2 out | Finish(Stop)
    "#]],
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn packed_bytes_that_are_broken_or_swell() {
    let broken = |spoken: &Spoken| {
        let mut bytes = zipped(&spoken.answer("Hi."));
        bytes.truncate(bytes.len() / 2);
        vec![zipped_head(spoken), send(bytes)]
    };
    check(
        broken,
        expect![[r#"
        all: error, again: the answer of v was cut off before its end
    "#]],
    )
    .await;
    check(
        |spoken| vec![zipped_head(spoken), send("this is not packed")],
        expect![[r#"
        all: error, again: the answer of v was cut off before its end
    "#]],
    )
    .await;
    let swells = |spoken: &Spoken| vec![zipped_head(spoken), send(zipped(&vec![b'a'; 17 * 1024 * 1024]))];
    check(swells, expect![[r#"
        all: error, final: v answered with something that is not a stream of events of at most 16 MiB: an event that is larger
    "#]]).await;
}
