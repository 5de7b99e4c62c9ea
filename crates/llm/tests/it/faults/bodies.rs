//! Answers that come whole and are not what they should be.

use expect_test::expect;

use super::{check, head, send, whole};
use crate::spoken::Spoken;

const PAGE: &[u8] = b"<!doctype html><html><head><title>Sign in</title></head></html>";

/// An answer with `more` between the first words and the end.
fn with(spoken: &Spoken, more: &[u8]) -> Vec<super::Act> {
    vec![head(spoken), send(spoken.begin.clone()), send((spoken.say)("Hi.")), send(more), send(spoken.end.clone())]
}

#[tokio::test(start_paused = true)]
async fn other_answers() {
    check(
        |_| whole("204 No Content", b""),
        expect![[r#"
        all: error, final: v answered with something that is not an event stream: nothing at all
    "#]],
    )
    .await;
    check(
        |_| whole("200 OK", b""),
        expect![[r#"
        all: error, final: v answered with something that is not an event stream: nothing at all
    "#]],
    )
    .await;
    check(
        |_| whole("200 OK\r\ncontent-type: application/json", b"{\"ok\":true}"),
        expect![[r#"
        all: error, final: v answered with something that is not an event stream: {"ok":true}
    "#]],
    )
    .await;
    check(
        |_| whole("200 OK\r\ncontent-type: application/json", br#"{"error":{"message":"busy","code":503}}"#),
        expect![[r#"
            all: error, again: v failed: busy
        "#]],
    )
    .await;
    check(|_| whole("200 OK\r\ncontent-type: text/html", PAGE), expect![[r#"
        all: error, final: v answered with something that is not a model's answer: a web page (“Sign in”) at SERVER; check baseURL
    "#]]).await;
    check(
        |_| whole("502 Bad Gateway\r\ncontent-type: text/html", PAGE),
        expect![[r#"
        all: error, again: v failed with status 502: a web page (“Sign in”)
    "#]],
    )
    .await;
    check(
        |_| whole("307 Temporary Redirect\r\nlocation: https://me:sk-very-secret@other.example/v2", b""),
        expect![[r#"
            all: error, final: v did not take the request (status 307): SERVER points to https://other.example/v2; set baseURL to the address that answers
        "#]],
    )
    .await;
    check(
        |_| whole("429 Too Many Requests\r\nretry-after: 7", br#"{"error":{"message":"slow"}}"#),
        expect![[r#"
        all: error, again: v limits how often it may be asked: slow
    "#]],
    )
    .await;
    check(
        |_| whole("401 Unauthorized", br#"{"error":{"message":"sk-very-secret is no key"}}"#),
        expect![[r#"
        all: error, final: v rejected the credentials (status 401): … is no key
    "#]],
    )
    .await;
    check(
        |_| whole("400 Bad Request", br#"{"error":{"message":"prompt is too long: 9 > 8"}}"#),
        expect![[r#"
        all: error, final: the conversation is too long for m1: prompt is too long: 9 > 8
    "#]],
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn the_wrong_kind_of_content() {
    let kinds = ["text/plain", "application/json", "application/octet-stream", "nonsense"];
    let at = std::sync::atomic::AtomicUsize::new(0);
    // The kinds take turns, so that each dialect meets some.
    let answers = |spoken: &Spoken| {
        let kind = kinds[at.fetch_add(1, std::sync::atomic::Ordering::SeqCst) % kinds.len()];
        whole(&format!("200 OK\r\ncontent-type: {kind}"), &spoken.answer("Hi."))
    };
    check(
        answers,
        expect![[r#"
        all: Text("Hi.") | 3 in, 2 out | Finish(Stop)
    "#]],
    )
    .await;
    check(
        answers,
        expect![[r#"
        all: Text("Hi.") | 3 in, 2 out | Finish(Stop)
    "#]],
    )
    .await;
    check(
        answers,
        expect![[r#"
        all: Text("Hi.") | 3 in, 2 out | Finish(Stop)
    "#]],
    )
    .await;
    check(
        answers,
        expect![[r#"
        all: Text("Hi.") | 3 in, 2 out | Finish(Stop)
    "#]],
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn trouble_in_the_middle() {
    check(
        |spoken| with(spoken, &spoken.trouble),
        expect![[r#"
            chat: Text("Hi.") | error, again: v failed: busy
            messages: Text("Hi.") | error, again: v failed: Overloaded
            responses: Text("Hi.") | error, again: v failed: busy
            gemini: Text("Hi.") | error, again: v failed: The model is overloaded.
            converse: Text("Hi.") | error, again: v failed: busy
        "#]],
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn events_that_are_cut_or_are_none() {
    check(|spoken| with(spoken, &(spoken.event)(r#"{"type":"content_block_delta","choices":[{"del"#)), expect![[r#"
        all: Text("Hi.") | error, final: v answered with something that is not JSON: {"type":"content_block_delta","choices":[{"del
    "#]])
        .await;
    // The same where the stream ends in the middle of it.
    let cut = |spoken: &Spoken| {
        let mut last = (spoken.say)("never");
        last.truncate(last.len() * 2 / 3);
        vec![head(spoken), send(spoken.begin.clone()), send((spoken.say)("Hi.")), send(last)]
    };
    check(
        cut,
        expect![[r#"
        all: Text("Hi.") | error, again: the answer of v was cut off before its end
    "#]],
    )
    .await;
    check(
        |spoken| with(spoken, &(spoken.event)(r#"null"#)),
        expect![[r#"
        all: Text("Hi.") | 3 in, 2 out | Finish(Stop)
    "#]],
    )
    .await;
    check(
        |spoken| with(spoken, &(spoken.event)(r#"[]"#)),
        expect![[r#"
        all: Text("Hi.") | 3 in, 2 out | Finish(Stop)
    "#]],
    )
    .await;
    check(
        |spoken| with(spoken, &(spoken.event)(r#"7"#)),
        expect![[r#"
        all: Text("Hi.") | 3 in, 2 out | Finish(Stop)
    "#]],
    )
    .await;
    check(
        |spoken| with(spoken, &(spoken.event)(r#""words""#)),
        expect![[r#"
        all: Text("Hi.") | 3 in, 2 out | Finish(Stop)
    "#]],
    )
    .await;
    check(
        |spoken| with(spoken, &(spoken.event)(r#"{}"#)),
        expect![[r#"
        all: Text("Hi.") | 3 in, 2 out | Finish(Stop)
    "#]],
    )
    .await;
    check(
        |spoken| with(spoken, &(spoken.event)(r#"{"type":"never.heard.of","x":1}"#)),
        expect![[r#"
        all: Text("Hi.") | 3 in, 2 out | Finish(Stop)
    "#]],
    )
    .await;
    check(
        |spoken| with(spoken, &(spoken.event)(r#"{"choices":null}"#)),
        expect![[r#"
        all: Text("Hi.") | 3 in, 2 out | Finish(Stop)
    "#]],
    )
    .await;
    check(
        |spoken| with(spoken, b": a comment\n\nid: 7\nretry: 1\n\ndata:\n\n"),
        expect![[r#"
            chat: Text("Hi.") | 3 in, 2 out | Finish(Stop)
            messages: Text("Hi.") | 3 in, 2 out | Finish(Stop)
            responses: Text("Hi.") | 3 in, 2 out | Finish(Stop)
            gemini: Text("Hi.") | 3 in, 2 out | Finish(Stop)
            converse: Text("Hi.") | error, final: v answered with something that is not a stream of events of at most 16 MiB: an event that is larger
        "#]],
    )
    .await;
    check(
        |spoken| with(spoken, &(spoken.event)("\0\u{1}")),
        expect![[r#"
        all: Text("Hi.") | error, final: v answered with something that is not JSON: 
    "#]],
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn events_that_come_twice() {
    let twice = |spoken: &Spoken| {
        let all = [spoken.begin.clone(), (spoken.say)("Hi."), spoken.end.clone()];
        let all = all.into_iter().flat_map(|part| [part.clone(), part]).map(send);
        [head(spoken)].into_iter().chain(all).collect()
    };
    check(
        twice,
        expect![[r#"
        all: Text("Hi.") | Text("Hi.") | 3 in, 2 out | Finish(Stop)
    "#]],
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn nobody_says_what_was_used() {
    let silent = |spoken: &Spoken| {
        vec![head(spoken), send(spoken.begin.clone()), send((spoken.say)("Hi.")), send(spoken.end_unused.clone())]
    };
    check(
        silent,
        expect![[r#"
            chat: Text("Hi.") | Finish(Stop)
            messages: Text("Hi.") | 3 in, 1 out | Finish(Stop)
            responses: Text("Hi.") | Finish(Stop)
            gemini: Text("Hi.") | Finish(Stop)
            converse: Text("Hi.") | Finish(Stop)
        "#]],
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_megabyte_in_one_event() {
    check(
        |spoken| vec![head(spoken), send(spoken.answer(&"long ".repeat(200_000)))],
        expect![[r#"
        all: Text of 1000000 bytes | 3 in, 2 out | Finish(Stop)
    "#]],
    )
    .await;
    let without_end =
        |spoken: &Spoken| vec![head(spoken), send([b"data: ".to_vec(), vec![b'x'; 17 * 1024 * 1024]].concat())];
    check(without_end, expect![[r#"
        all: error, final: v answered with something that is not a stream of events of at most 16 MiB: an event that is larger
    "#]]).await;
}
