//! Recorded streams, one file for each oddity, and the same streams cut anywhere.
//!
//! A line of a file is a frame: its name and its payload. `!` before the name makes it a failure.

use std::collections::VecDeque;

use expect_test::{Expect, expect};
use proptest::prelude::*;
use proptest::sample::{Index, select};

use super::*;
use crate::dialect::streams::{same, take};
use crate::eventstream::{Decoder, frames};
use crate::{AssistantPart, Message, Secret};

fn request() -> Request {
    let parts = vec![AssistantPart::Text { text: "before".to_owned(), item: None }];
    let tools = vec![ToolSpec { name: "a.b".to_owned(), description: String::new(), parameters: Value::Null }];
    let messages = vec![Message::Assistant { parts }.into()];
    Request { model: "m1".to_owned(), messages: messages.into(), tools: tools.into(), ..Request::default() }
}

fn reader() -> Reader {
    Reader::new("v", &request(), &[Secret::new("sk-secret-1")])
}

/// What comes of a body that arrives in `pieces`.
fn read<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> (Vec<Chunk>, Option<LlmError>) {
    let (mut decoder, mut events) = (Decoder::default(), VecDeque::new());
    for piece in pieces {
        decoder.push(piece, &mut events).unwrap();
    }
    take(reader(), events)
}

#[track_caller]
fn check(lines: &str, want: Expect) {
    same(read([&frames::stream(lines)[..]]), want);
}

macro_rules! fixture {
    ($name:literal) => {
        include_str!(concat!("../fixtures/converse/", $name, ".frames"))
    };
}

#[test]
fn words_come_as_they_are_written() {
    check(
        fixture!("text"),
        expect![[r#"
        Text("Grüße, ")
        Text("Welt 😀")
        TextEnd { item: None }
        Usage(Usage { total: Some(132), input: 20, output: 12, reasoning: 0, cache_read: 100, cache_write: 0 })
        Finish(Stop)
    "#]],
    );
    check(
        fixture!("empty_deltas"),
        expect![[r#"
        Text("Hi.")
        TextEnd { item: None }
        Usage(Usage { total: Some(132), input: 20, output: 12, reasoning: 0, cache_read: 100, cache_write: 0 })
        Finish(Stop)
    "#]],
    );
}

#[test]
fn thinking_keeps_its_place_and_its_signature() {
    check(
        fixture!("thinking_then_text_then_call"),
        expect![[r#"
        Reasoning("Let me ")
        Reasoning("think.")
        ReasoningEnd { item: Some(Item { vendor: "v", model: "m1", value: Object {"signature": String("U0lHTkFU")} }) }
        Text("I will look.")
        TextEnd { item: None }
        ToolInput { id: "tooluse_a", name: "read", delta: "" }
        ToolInput { id: "tooluse_a", name: "read", delta: "{\"file" }
        ToolInput { id: "tooluse_a", name: "read", delta: "Path\":\"a.rs\"}" }
        ToolCall { id: "tooluse_a", name: "read", arguments: "{\"filePath\":\"a.rs\"}", item: None }
        Usage(Usage { total: Some(132), input: 20, output: 12, reasoning: 0, cache_read: 100, cache_write: 0 })
        Finish(ToolCalls)
    "#]],
    );
    check(
        fixture!("only_a_signature"),
        expect![[r#"
        ReasoningEnd { item: Some(Item { vendor: "v", model: "m1", value: Object {"signature": String("U0lH")} }) }
        Text("So.")
        TextEnd { item: None }
        Usage(Usage { total: Some(132), input: 20, output: 12, reasoning: 0, cache_read: 100, cache_write: 0 })
        Finish(Stop)
    "#]],
    );
    check(
        fixture!("thinking_without_a_signature"),
        expect![[r#"
        Reasoning("Hm.")
        ReasoningEnd { item: None }
        Text("So.")
        TextEnd { item: None }
        Usage(Usage { total: Some(132), input: 20, output: 12, reasoning: 0, cache_read: 100, cache_write: 0 })
        Finish(Stop)
    "#]],
    );
}

#[test]
fn thoughts_that_are_kept_from_us_are_one_piece() {
    check(
        fixture!("redacted_thinking"),
        expect![[r#"
        ReasoningEnd { item: Some(Item { vendor: "v", model: "m1", value: Object {"redacted": String("YWJjZA==")} }) }
        Text("So.")
        TextEnd { item: None }
        Usage(Usage { total: Some(132), input: 20, output: 12, reasoning: 0, cache_read: 100, cache_write: 0 })
        Finish(Stop)
    "#]],
    );
}

#[test]
fn calls_come_in_pieces() {
    check(
        fixture!("calls_one_after_the_other"),
        expect![[r#"
        ToolInput { id: "tooluse_a", name: "ls", delta: "" }
        ToolInput { id: "tooluse_a", name: "ls", delta: "{}" }
        ToolCall { id: "tooluse_a", name: "ls", arguments: "{}", item: None }
        ToolInput { id: "tooluse_b", name: "read", delta: "" }
        ToolInput { id: "tooluse_b", name: "read", delta: "{\"a\"" }
        ToolInput { id: "tooluse_b", name: "read", delta: ":1}" }
        ToolCall { id: "tooluse_b", name: "read", arguments: "{\"a\":1}", item: None }
        Usage(Usage { total: Some(132), input: 20, output: 12, reasoning: 0, cache_read: 100, cache_write: 0 })
        Finish(ToolCalls)
    "#]],
    );
    check(
        fixture!("parallel_calls_interleaved"),
        expect![[r#"
        ToolInput { id: "tooluse_a", name: "ls", delta: "" }
        ToolInput { id: "tooluse_b", name: "ls", delta: "" }
        ToolInput { id: "tooluse_a", name: "ls", delta: "{\"a\":" }
        ToolInput { id: "tooluse_b", name: "ls", delta: "{\"b\":" }
        ToolInput { id: "tooluse_a", name: "ls", delta: "1}" }
        ToolInput { id: "tooluse_b", name: "ls", delta: "2}" }
        ToolCall { id: "tooluse_b", name: "ls", arguments: "{\"b\":2}", item: None }
        ToolCall { id: "tooluse_a", name: "ls", arguments: "{\"a\":1}", item: None }
        Usage(Usage { total: Some(132), input: 20, output: 12, reasoning: 0, cache_read: 100, cache_write: 0 })
        Finish(ToolCalls)
    "#]],
    );
    check(
        fixture!("arguments_never"),
        expect![[r#"
        ToolInput { id: "tooluse_a", name: "ls", delta: "" }
        ToolCall { id: "tooluse_a", name: "ls", arguments: "{}", item: None }
        Usage(Usage { total: Some(132), input: 20, output: 12, reasoning: 0, cache_read: 100, cache_write: 0 })
        Finish(ToolCalls)
    "#]],
    );
    check(
        fixture!("arguments_broken"),
        expect![[r#"
        ToolInput { id: "tooluse_a", name: "ls", delta: "" }
        ToolInput { id: "tooluse_a", name: "ls", delta: "{\"a\": " }
        ToolCall { id: "tooluse_a", name: "ls", arguments: "{\"a\": ", item: None }
        Usage(Usage { total: Some(132), input: 20, output: 12, reasoning: 0, cache_read: 100, cache_write: 0 })
        Finish(ToolCalls)
    "#]],
    );
    check(
        fixture!("arguments_as_an_object"),
        expect![[r#"
        ToolInput { id: "tooluse_a", name: "ls", delta: "" }
        ToolInput { id: "tooluse_a", name: "ls", delta: "{\"a\":1}" }
        ToolCall { id: "tooluse_a", name: "ls", arguments: "{\"a\":1}", item: None }
        Usage(Usage { total: Some(132), input: 20, output: 12, reasoning: 0, cache_read: 100, cache_write: 0 })
        Finish(ToolCalls)
    "#]],
    );
}

#[test]
fn calls_have_ids_of_their_own() {
    check(
        fixture!("calls_with_one_id"),
        expect![[r#"
        ToolInput { id: "tooluse_a", name: "ls", delta: "" }
        ToolInput { id: "tooluse_a", name: "ls", delta: "{}" }
        ToolCall { id: "tooluse_a", name: "ls", arguments: "{}", item: None }
        ToolInput { id: "tooluse_a_2", name: "ls", delta: "" }
        ToolInput { id: "tooluse_a_2", name: "ls", delta: "{}" }
        ToolCall { id: "tooluse_a_2", name: "ls", arguments: "{}", item: None }
        Usage(Usage { total: Some(132), input: 20, output: 12, reasoning: 0, cache_read: 100, cache_write: 0 })
        Finish(ToolCalls)
    "#]],
    );
    check(
        fixture!("calls_without_ids"),
        expect![[r#"
        ToolInput { id: "call_2_1", name: "ls", delta: "" }
        ToolCall { id: "call_2_1", name: "ls", arguments: "{}", item: None }
        Usage(Usage { total: Some(132), input: 20, output: 12, reasoning: 0, cache_read: 100, cache_write: 0 })
        Finish(ToolCalls)
    "#]],
    );
}

#[test]
fn a_tool_that_is_called_otherwise_on_the_wire_is_known_again() {
    let lines = r#"contentBlockStart {"contentBlockIndex":0,"start":{"toolUse":{"name":"a_b","toolUseId":"t"}}}
messageStop {"stopReason":"tool_use"}"#;
    check(
        lines,
        expect![[r#"
        ToolInput { id: "t", name: "a.b", delta: "" }
        ToolCall { id: "t", name: "a.b", arguments: "{}", item: None }
        Finish(ToolCalls)
    "#]],
    );
}

#[test]
fn blocks_end_when_others_begin() {
    check(
        fixture!("blocks_that_never_end"),
        expect![[r#"
        Text("Hi.")
        TextEnd { item: None }
        ToolInput { id: "tooluse_a", name: "ls", delta: "" }
        ToolInput { id: "tooluse_a", name: "ls", delta: "{}" }
        ToolCall { id: "tooluse_a", name: "ls", arguments: "{}", item: None }
        Usage(Usage { total: Some(132), input: 20, output: 12, reasoning: 0, cache_read: 100, cache_write: 0 })
        Finish(ToolCalls)
    "#]],
    );
    check(
        fixture!("words_of_two_blocks_mixed"),
        expect![[r#"
        Text("a")
        TextEnd { item: None }
        Reasoning("b")
        ReasoningEnd { item: None }
        Text("c")
        TextEnd { item: None }
        Usage(Usage { total: Some(132), input: 20, output: 12, reasoning: 0, cache_read: 100, cache_write: 0 })
        Finish(Stop)
    "#]],
    );
}

#[test]
fn counts_come_when_they_like() {
    check(
        fixture!("usage_never"),
        expect![[r#"
        Text("Hi.")
        TextEnd { item: None }
        Finish(Stop)
    "#]],
    );
    check(
        fixture!("usage_before_the_end"),
        expect![[r#"
        Text("Hi.")
        TextEnd { item: None }
        Usage(Usage { total: Some(132), input: 20, output: 12, reasoning: 0, cache_read: 100, cache_write: 0 })
        Finish(Stop)
    "#]],
    );
    check(
        fixture!("usage_without_a_cache"),
        expect![[r#"
        Text("Hi.")
        TextEnd { item: None }
        Usage(Usage { total: Some(5), input: 3, output: 2, reasoning: 0, cache_read: 0, cache_write: 0 })
        Finish(Stop)
    "#]],
    );
}

#[test]
fn what_is_not_known_is_left_out() {
    check(
        fixture!("unknown_events"),
        expect![[r#"
        Text("Hi.")
        TextEnd { item: None }
        Usage(Usage { total: Some(132), input: 20, output: 12, reasoning: 0, cache_read: 100, cache_write: 0 })
        Finish(Stop)
    "#]],
    );
    check(
        fixture!("picture"),
        expect![[r#"
        Text("There.")
        TextEnd { item: None }
        Usage(Usage { total: Some(132), input: 20, output: 12, reasoning: 0, cache_read: 100, cache_write: 0 })
        Finish(Stop)
    "#]],
    );
}

#[test]
fn what_the_vendor_does_itself_is_kept() {
    check(
        fixture!("citations"),
        expect![[r#"
        Text("It is so.")
        TextEnd { item: Some(Item { vendor: "v", model: "m1", value: Object {"citations": Array [Object {"title": String("A"), "location": Object {"documentPage": Object {"documentIndex": Number(0), "start": Number(1), "end": Number(2)}}}]} }) }
        Usage(Usage { total: Some(132), input: 20, output: 12, reasoning: 0, cache_read: 100, cache_write: 0 })
        Finish(Stop)
    "#]],
    );
    check(
        fixture!("tools_of_the_vendor"),
        expect![[r#"
        Vendor(Item { vendor: "v", model: "m1", value: Object {"toolUse": Object {"name": String("nova_grounding"), "toolUseId": String("tooluse_s"), "type": String("server_tool_use"), "input": Object {"q": Number(1)}}} })
        Vendor(Item { vendor: "v", model: "m1", value: Object {"toolResult": Object {"toolUseId": String("tooluse_s"), "type": String("nova_grounding_result"), "status": String("success"), "content": Array [Object {"text": String("found")}]}} })
        Text("So.")
        TextEnd { item: None }
        Usage(Usage { total: Some(132), input: 20, output: 12, reasoning: 0, cache_read: 100, cache_write: 0 })
        Finish(Stop)
    "#]],
    );
}

#[test]
fn failures_in_the_middle_are_told_apart() {
    check(
        fixture!("error_throttling"),
        expect![[r#"
        Text("Hi.")
        error: v limits how often it may be asked: Too many tokens, please wait before trying again.
    "#]],
    );
    check(
        fixture!("error_too_long"),
        expect![[r#"
        error: the conversation is too long for m1: Input is too long for requested model.
    "#]],
    );
    check(
        fixture!("error_invalid"),
        expect![[r#"
        error: v did not take the request: The model returned the following errors: no such thing
    "#]],
    );
    check(
        fixture!("error_unavailable"),
        expect![[r#"
        error: v failed: Bedrock is busy
    "#]],
    );
    check(
        fixture!("error_server"),
        expect![[r#"
        error: v failed: oops
    "#]],
    );
    check(
        fixture!("error_model"),
        expect![[r#"
        error: v failed: out of luck …
    "#]],
    );
    check(
        fixture!("error_timeout"),
        expect![[r#"
        error: v failed: took too long
    "#]],
    );
}

#[test]
fn failures_that_pass_are_worth_another_try() {
    let row = |lines: &str, want: bool| {
        let (_, error) = read([&frames::stream(lines)[..]]);
        assert_eq!(error.unwrap().is_passing(), want, "{lines}");
    };
    row(fixture!("error_throttling"), true);
    row(fixture!("error_unavailable"), true);
    row(fixture!("error_server"), true);
    row(fixture!("error_model"), true);
    row(fixture!("error_timeout"), true);
    row(fixture!("malformed_tool_use"), true);
    row(fixture!("cut_in_a_call"), true);
    row(fixture!("error_too_long"), false);
    row(fixture!("error_invalid"), false);
}

#[test]
fn what_ends_early_is_no_answer() {
    check(
        fixture!("cut_between_events"),
        expect![[r#"
        Text("Hi.")
        TextEnd { item: None }
        error: the answer of v was cut off before its end
    "#]],
    );
    check(
        fixture!("cut_in_a_call"),
        expect![[r#"
        ToolInput { id: "tooluse_a", name: "ls", delta: "" }
        ToolInput { id: "tooluse_a", name: "ls", delta: "{\"a" }
        error: the answer of v was cut off before its end
    "#]],
    );
    check(
        fixture!("nothing"),
        expect![[r#"
        error: the answer of v was cut off before its end
    "#]],
    );
    check(
        fixture!("not_json"),
        expect![[r#"
        error: v answered with something that is not JSON: what?
    "#]],
    );
    check(
        fixture!("malformed_tool_use"),
        expect![[r#"
        ToolInput { id: "tooluse_a", name: "ls", delta: "" }
        ToolInput { id: "tooluse_a", name: "ls", delta: "{" }
        error: v failed: its model wrote something that it could not read (malformed_tool_use)
    "#]],
    );
}

#[test]
fn an_end_has_a_reason() {
    let row = |reason: &str, want: &str| {
        let (chunks, error) = read([&frames::stream(&format!("messageStop {{\"stopReason\":{reason}}}"))[..]]);
        assert_eq!((format!("{chunks:?}"), error.is_none()), (format!("[Finish({want})]"), true), "{reason}");
    };
    row("\"end_turn\"", "Stop");
    row("\"stop_sequence\"", "Stop");
    row("\"max_tokens\"", "Length");
    row("\"model_context_window_exceeded\"", "Length");
    row("\"content_filtered\"", "ContentFilter");
    row("\"guardrail_intervened\"", "ContentFilter");
    // It promises a call and makes none.
    row("\"tool_use\"", "Other(\"tool_use\")");
    row("\"something_new\"", "Other(\"something_new\")");
    row("null", "Unknown");
}

#[test]
fn an_answer_has_limits() {
    let call = |index: usize| {
        let start =
            format!(r#"{{"contentBlockIndex":{index},"start":{{"toolUse":{{"name":"ls","toolUseId":"t{index}"}}}}}}"#);
        format!("contentBlockStart {start}\ncontentBlockStop {{\"contentBlockIndex\":{index}}}\n")
    };
    let calls = |number: usize| read([&frames::stream(&(0..number).map(call).collect::<String>())[..]]).1.unwrap();
    assert_eq!(calls(128).to_string(), "the answer of v was cut off before its end");
    assert_eq!(
        calls(129).to_string(),
        "v answered with something that is not an answer of at most 128 calls: one more"
    );
    let delta =
        |index: usize| format!("contentBlockDelta {{\"contentBlockIndex\":{index},\"delta\":{{\"citation\":{{}}}}}}\n");
    let blocks = |number: usize| read([&frames::stream(&(0..number).map(delta).collect::<String>())[..]]).1.unwrap();
    assert_eq!(blocks(256).to_string(), "the answer of v was cut off before its end");
    let want = "v answered with something that is not an answer of at most 256 blocks at a time: one more";
    assert_eq!(blocks(257).to_string(), want);
}

const BODIES: &[&str] = &[
    fixture!("text"),
    fixture!("thinking_then_text_then_call"),
    fixture!("redacted_thinking"),
    fixture!("parallel_calls_interleaved"),
    fixture!("blocks_that_never_end"),
    fixture!("unknown_events"),
    fixture!("tools_of_the_vendor"),
    fixture!("error_throttling"),
    fixture!("cut_in_a_call"),
    fixture!("nothing"),
];

proptest! {
    #[test]
    fn a_stream_may_be_cut_anywhere(lines in select(BODIES), cuts in prop::collection::vec(any::<Index>(), 0..12)) {
        let bytes = frames::stream(lines);
        let mut places: Vec<_> = cuts.iter().map(|cut| cut.index(bytes.len() + 1)).chain([0, bytes.len()]).collect();
        places.sort_unstable();
        let cut = read(places.windows(2).map(|place| &bytes[place[0]..place[1]]));
        prop_assert_eq!(format!("{cut:?}"), format!("{:?}", read([&bytes[..]])));
    }

    #[test]
    fn a_stream_that_breaks_off_is_told_or_whole(lines in select(BODIES), at in any::<Index>()) {
        let bytes = frames::stream(lines);
        let (chunks, error) = read([&bytes[..at.index(bytes.len() + 1)]]);
        let finished = matches!(chunks.last(), Some(Chunk::Finish(_)));
        prop_assert_ne!(finished, error.is_some());
    }

    #[test]
    fn any_event_is_read_without_harm(name in "[a-zA-Z!]{0,20}", data in ".{0,60}") {
        let _ = read([&frames::event(&name, &data)[..]]);
    }
}
