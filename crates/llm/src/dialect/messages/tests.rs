//! Recorded streams, one file for each oddity, and the same streams cut anywhere.

use expect_test::{Expect, expect};
use proptest::prelude::*;

use super::*;
use crate::dialect::streams::{complete, cut, play, request, same, small_pieces};
use crate::{Key, Secret};

/// What comes of a body that arrives in `pieces`.
fn read<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> (Vec<Chunk>, Option<LlmError>) {
    play(Reader::new("v", &request(), &[Secret::new("sk-secret-1")]), pieces)
}

#[track_caller]
fn check(body: &str, want: Expect) {
    same(read([body.as_bytes()]), want);
}

macro_rules! fixture {
    ($name:literal) => {
        include_str!(concat!("../fixtures/messages/", $name, ".sse"))
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
        Usage(Usage { total: None, input: 20, output: 12, reasoning: 0, cache_read: 100, cache_write: 0 })
        Finish(Stop)
    "#]],
    );
    check(
        fixture!("crlf"),
        expect![[r#"
        Text("Grüße, ")
        Text("Welt 😀")
        TextEnd { item: None }
        Usage(Usage { total: None, input: 20, output: 12, reasoning: 0, cache_read: 100, cache_write: 0 })
        Finish(Stop)
    "#]],
    );
    check(
        fixture!("no_blank_line_at_the_end"),
        expect![[r#"
        Text("Hi.")
        TextEnd { item: None }
        Usage(Usage { total: None, input: 20, output: 12, reasoning: 0, cache_read: 100, cache_write: 0 })
        Finish(Stop)
    "#]],
    );
    check(
        fixture!("message_stop_missing"),
        expect![[r#"
        Text("Hi.")
        TextEnd { item: None }
        Usage(Usage { total: None, input: 20, output: 12, reasoning: 0, cache_read: 100, cache_write: 0 })
        Finish(Stop)
    "#]],
    );
    check(
        fixture!("types_without_event_names"),
        expect![[r#"
        Text("Hi.")
        TextEnd { item: None }
        Usage(Usage { total: None, input: 20, output: 12, reasoning: 0, cache_read: 100, cache_write: 0 })
        Finish(Stop)
    "#]],
    );
    check(
        fixture!("index_missing"),
        expect![[r#"
        Text("Hi.")
        TextEnd { item: None }
        Usage(Usage { total: None, input: 20, output: 12, reasoning: 0, cache_read: 100, cache_write: 0 })
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
        ToolInput { id: "toolu_a", name: "read", delta: "" }
        ToolInput { id: "toolu_a", name: "read", delta: "{\"file" }
        ToolInput { id: "toolu_a", name: "read", delta: "Path\":\"a.rs\"}" }
        ToolCall { id: "toolu_a", name: "read", arguments: "{\"filePath\":\"a.rs\"}", item: None }
        Usage(Usage { total: None, input: 20, output: 12, reasoning: 0, cache_read: 100, cache_write: 0 })
        Finish(ToolCalls)
    "#]],
    );
    check(
        fixture!("thinking_again_before_each_call"),
        expect![[r#"
        Reasoning("First.")
        ReasoningEnd { item: Some(Item { vendor: "v", model: "m1", value: Object {"signature": String("QQ==")} }) }
        Text("So.")
        TextEnd { item: None }
        Reasoning("Second.")
        ReasoningEnd { item: Some(Item { vendor: "v", model: "m1", value: Object {"signature": String("Qg==")} }) }
        ToolInput { id: "toolu_a", name: "ls", delta: "" }
        ToolInput { id: "toolu_a", name: "ls", delta: "{}" }
        ToolCall { id: "toolu_a", name: "ls", arguments: "{}", item: None }
        Usage(Usage { total: None, input: 20, output: 12, reasoning: 0, cache_read: 100, cache_write: 0 })
        Finish(ToolCalls)
    "#]],
    );
    check(
        fixture!("redacted_thinking"),
        expect![[r#"
        Reasoning("Hm.")
        ReasoningEnd { item: Some(Item { vendor: "v", model: "m1", value: Object {"signature": String("QQ==")} }) }
        ReasoningEnd { item: Some(Item { vendor: "v", model: "m1", value: Object {"redacted": String("RU5D")} }) }
        Text("Done.")
        TextEnd { item: None }
        Usage(Usage { total: None, input: 20, output: 12, reasoning: 0, cache_read: 100, cache_write: 0 })
        Finish(Stop)
    "#]],
    );
    check(
        fixture!("only_a_signature"),
        expect![[r#"
        ReasoningEnd { item: Some(Item { vendor: "v", model: "m1", value: Object {"signature": String("QQ==")} }) }
        Text("Done.")
        TextEnd { item: None }
        Usage(Usage { total: None, input: 20, output: 12, reasoning: 0, cache_read: 100, cache_write: 0 })
        Finish(Stop)
    "#]],
    );
    check(
        fixture!("thinking_without_a_signature"),
        expect![[r#"
        Reasoning("Hm")
        Reasoning(".")
        ReasoningEnd { item: None }
        Text("Yes.")
        TextEnd { item: None }
        Usage(Usage { total: None, input: 20, output: 12, reasoning: 0, cache_read: 100, cache_write: 0 })
        Finish(Stop)
    "#]],
    );
}

#[test]
fn calls_are_told_apart() {
    check(
        fixture!("parallel_calls_interleaved"),
        expect![[r#"
        ToolInput { id: "toolu_a", name: "read", delta: "" }
        ToolInput { id: "toolu_b", name: "grep", delta: "" }
        ToolInput { id: "toolu_a", name: "read", delta: "{\"filePath\":" }
        ToolInput { id: "toolu_b", name: "grep", delta: "{\"pattern\":\"x\"" }
        ToolInput { id: "toolu_a", name: "read", delta: "\"a\"}" }
        ToolCall { id: "toolu_a", name: "read", arguments: "{\"filePath\":\"a\"}", item: None }
        ToolInput { id: "toolu_b", name: "grep", delta: "}" }
        ToolCall { id: "toolu_b", name: "grep", arguments: "{\"pattern\":\"x\"}", item: None }
        Usage(Usage { total: None, input: 20, output: 12, reasoning: 0, cache_read: 100, cache_write: 0 })
        Finish(ToolCalls)
    "#]],
    );
    check(
        fixture!("calls_one_after_the_other"),
        expect![[r#"
        ToolInput { id: "toolu_a", name: "read", delta: "" }
        ToolInput { id: "toolu_a", name: "read", delta: "{\"filePath\":\"a\"}" }
        ToolCall { id: "toolu_a", name: "read", arguments: "{\"filePath\":\"a\"}", item: None }
        ToolInput { id: "toolu_b", name: "read", delta: "" }
        ToolInput { id: "toolu_b", name: "read", delta: "{\"filePath\":\"b\"}" }
        ToolCall { id: "toolu_b", name: "read", arguments: "{\"filePath\":\"b\"}", item: None }
        Usage(Usage { total: None, input: 20, output: 12, reasoning: 0, cache_read: 100, cache_write: 0 })
        Finish(ToolCalls)
    "#]],
    );
    check(
        fixture!("calls_without_ids"),
        expect![[r#"
        ToolInput { id: "call_2_1", name: "ls", delta: "" }
        ToolInput { id: "call_2_1", name: "ls", delta: "{}" }
        ToolCall { id: "call_2_1", name: "ls", arguments: "{}", item: None }
        ToolInput { id: "call_2_2", name: "pwd", delta: "" }
        ToolInput { id: "call_2_2", name: "pwd", delta: "{}" }
        ToolCall { id: "call_2_2", name: "pwd", arguments: "{}", item: None }
        Usage(Usage { total: None, input: 20, output: 12, reasoning: 0, cache_read: 100, cache_write: 0 })
        Finish(ToolCalls)
    "#]],
    );
    check(
        fixture!("calls_with_one_id"),
        expect![[r#"
        ToolInput { id: "same", name: "ls", delta: "" }
        ToolInput { id: "same", name: "ls", delta: "{}" }
        ToolCall { id: "same", name: "ls", arguments: "{}", item: None }
        ToolInput { id: "same_2", name: "pwd", delta: "" }
        ToolInput { id: "same_2", name: "pwd", delta: "{}" }
        ToolCall { id: "same_2", name: "pwd", arguments: "{}", item: None }
        Usage(Usage { total: None, input: 20, output: 12, reasoning: 0, cache_read: 100, cache_write: 0 })
        Finish(ToolCalls)
    "#]],
    );
}

#[test]
fn arguments_come_in_many_forms() {
    check(
        fixture!("arguments_broken"),
        expect![[r#"
        ToolInput { id: "toolu_a", name: "ls", delta: "" }
        ToolInput { id: "toolu_a", name: "ls", delta: "{\"path\": \"a" }
        ToolCall { id: "toolu_a", name: "ls", arguments: "{\"path\": \"a", item: None }
        Usage(Usage { total: None, input: 20, output: 12, reasoning: 0, cache_read: 100, cache_write: 0 })
        Finish(Length)
    "#]],
    );
    check(
        fixture!("arguments_with_the_beginning"),
        expect![[r#"
        ToolInput { id: "toolu_a", name: "ls", delta: "" }
        ToolCall { id: "toolu_a", name: "ls", arguments: "{\"path\":\".\"}", item: None }
        Usage(Usage { total: None, input: 20, output: 12, reasoning: 0, cache_read: 100, cache_write: 0 })
        Finish(ToolCalls)
    "#]],
    );
    check(
        fixture!("arguments_never"),
        expect![[r#"
        ToolInput { id: "toolu_a", name: "ls", delta: "" }
        ToolCall { id: "toolu_a", name: "ls", arguments: "{}", item: None }
        Usage(Usage { total: None, input: 20, output: 12, reasoning: 0, cache_read: 100, cache_write: 0 })
        Finish(ToolCalls)
    "#]],
    );
}

#[test]
fn what_the_vendor_wants_back_is_kept_as_it_is() {
    check(
        fixture!("tools_of_the_vendor"),
        expect![[r#"
        Text("I search.")
        TextEnd { item: None }
        Vendor(Item { vendor: "v", model: "m1", value: Object {"type": String("server_tool_use"), "id": String("srvtoolu_1"), "name": String("web_search"), "input": Object {"query": String("x")}} })
        Vendor(Item { vendor: "v", model: "m1", value: Object {"type": String("web_search_tool_result"), "tool_use_id": String("srvtoolu_1"), "content": Array [Object {"type": String("web_search_result"), "url": String("https://a.example"), "title": String("A"), "encrypted_content": String("RU5D"), "page_age": Null}]} })
        Text("It says x.")
        TextEnd { item: Some(Item { vendor: "v", model: "m1", value: Object {"citations": Array [Object {"type": String("web_search_result_location"), "url": String("https://a.example"), "cited_text": String("x"), "encrypted_index": String("SQ==")}]} }) }
        Usage(Usage { total: None, input: 20, output: 12, reasoning: 0, cache_read: 100, cache_write: 0 })
        Finish(Stop)
    "#]],
    );
    check(
        fixture!("unknown_block"),
        expect![[r#"
        Vendor(Item { vendor: "v", model: "m1", value: Object {"type": String("compaction"), "content": String("So far so good"), "rank": Number(1)} })
        Text("Hi.")
        TextEnd { item: None }
        Usage(Usage { total: None, input: 20, output: 12, reasoning: 0, cache_read: 100, cache_write: 0 })
        Finish(Stop)
    "#]],
    );
}

#[test]
fn what_says_nothing_opens_nothing() {
    check(
        fixture!("unknown_events"),
        expect![[r#"
        Text("Hi.")
        TextEnd { item: None }
        Usage(Usage { total: None, input: 20, output: 12, reasoning: 0, cache_read: 100, cache_write: 0 })
        Finish(Stop)
    "#]],
    );
    check(
        fixture!("empty_deltas"),
        expect![[r#"
        Usage(Usage { total: None, input: 20, output: 12, reasoning: 0, cache_read: 100, cache_write: 0 })
        Finish(Stop)
    "#]],
    );
}

#[test]
fn blocks_need_not_begin_and_end_in_order() {
    check(
        fixture!("blocks_that_never_begin"),
        expect![[r#"
        Reasoning("Hm.")
        ReasoningEnd { item: None }
        Text("Hi.")
        TextEnd { item: None }
        Usage(Usage { total: None, input: 20, output: 12, reasoning: 0, cache_read: 100, cache_write: 0 })
        Finish(Stop)
    "#]],
    );
    check(
        fixture!("blocks_that_never_end"),
        expect![[r#"
        Text("Hi.")
        TextEnd { item: None }
        ToolInput { id: "toolu_a", name: "ls", delta: "" }
        ToolInput { id: "toolu_a", name: "ls", delta: "{}" }
        ToolCall { id: "toolu_a", name: "ls", arguments: "{}", item: None }
        Usage(Usage { total: None, input: 20, output: 12, reasoning: 0, cache_read: 100, cache_write: 0 })
        Finish(ToolCalls)
    "#]],
    );
    check(
        fixture!("words_of_two_blocks_mixed"),
        expect![[r#"
        Text("a")
        TextEnd { item: None }
        Text("b")
        TextEnd { item: None }
        Text("c")
        TextEnd { item: None }
        Usage(Usage { total: None, input: 20, output: 12, reasoning: 0, cache_read: 100, cache_write: 0 })
        Finish(Stop)
    "#]],
    );
}

#[test]
fn usage_is_told_once_wherever_it_stands() {
    check(
        fixture!("usage_only_at_the_end"),
        expect![[r#"
        Text("Hi.")
        TextEnd { item: None }
        Usage(Usage { total: None, input: 700, output: 50, reasoning: 0, cache_read: 200, cache_write: 100 })
        Finish(Stop)
    "#]],
    );
    check(
        fixture!("usage_with_noughts_at_the_end"),
        expect![[r#"
        Text("Hi.")
        TextEnd { item: None }
        Usage(Usage { total: None, input: 9, output: 3, reasoning: 0, cache_read: 0, cache_write: 0 })
        Finish(Stop)
    "#]],
    );
    check(
        fixture!("usage_with_noughts_at_the_beginning"),
        expect![[r#"
        Text("Hi.")
        TextEnd { item: None }
        Usage(Usage { total: None, input: 9, output: 3, reasoning: 0, cache_read: 0, cache_write: 0 })
        Finish(Stop)
    "#]],
    );
    check(
        fixture!("usage_never"),
        expect![[r#"
        Text("Hi.")
        TextEnd { item: None }
        Finish(Stop)
    "#]],
    );
}

#[test]
fn every_end_has_its_word() {
    check(
        fixture!("finish_max_tokens"),
        expect![[r#"
        Text("So")
        TextEnd { item: None }
        Finish(Length)
    "#]],
    );
    check(
        fixture!("finish_context_window"),
        expect![[r#"
        Text("So")
        TextEnd { item: None }
        Finish(Length)
    "#]],
    );
    check(
        fixture!("finish_refusal"),
        expect![[r#"
        Text("So")
        TextEnd { item: None }
        Finish(ContentFilter)
    "#]],
    );
    check(
        fixture!("finish_pause"),
        expect![[r#"
        Text("So")
        TextEnd { item: None }
        Finish(Other("pause_turn"))
    "#]],
    );
    check(
        fixture!("finish_stop_sequence"),
        expect![[r#"
        Text("So")
        TextEnd { item: None }
        Finish(Stop)
    "#]],
    );
    check(
        fixture!("finish_unknown_word"),
        expect![[r#"
        Text("So")
        TextEnd { item: None }
        Finish(Other("tired"))
    "#]],
    );
    check(
        fixture!("finish_missing"),
        expect![[r#"
        Text("So")
        TextEnd { item: None }
        Finish(Unknown)
    "#]],
    );
    check(
        fixture!("finish_stop_with_a_call"),
        expect![[r#"
        ToolInput { id: "toolu_a", name: "ls", delta: "" }
        ToolInput { id: "toolu_a", name: "ls", delta: "{}" }
        ToolCall { id: "toolu_a", name: "ls", arguments: "{}", item: None }
        Finish(ToolCalls)
    "#]],
    );
    check(
        fixture!("finish_tool_use_without_a_call"),
        expect![[r#"
        Text("So")
        TextEnd { item: None }
        Finish(Other("tool_use"))
    "#]],
    );
}

#[test]
fn a_cut_is_no_end() {
    check(
        fixture!("cut_between_events"),
        expect![[r#"
        Text("So")
        error: the answer of v was cut off before its end
    "#]],
    );
    check(
        fixture!("cut_in_an_event"),
        expect![[r#"
        Text("So")
        error: the answer of v was cut off before its end
    "#]],
    );
    check(
        fixture!("cut_in_a_call"),
        expect![[r#"
        ToolInput { id: "toolu_a", name: "write", delta: "" }
        ToolInput { id: "toolu_a", name: "write", delta: "{\"content\":\"half" }
        error: the answer of v was cut off before its end
    "#]],
    );
    check(
        fixture!("nothing"),
        expect![[r#"
        error: the answer of v was cut off before its end
    "#]],
    );
}

#[test]
fn an_error_ends_the_answer() {
    check(
        fixture!("error_overloaded"),
        expect![[r#"
        Text("So")
        error: v failed: Overloaded
    "#]],
    );
    check(
        fixture!("error_rate_limit"),
        expect![[r#"
        error: v limits how often it may be asked: This request would exceed your rate limit
    "#]],
    );
    check(
        fixture!("error_server"),
        expect![[r#"
        error: v failed: Internal server error
    "#]],
    );
    check(
        fixture!("error_timeout"),
        expect![[r#"
        error: v failed: The request took too long
    "#]],
    );
    check(
        fixture!("error_too_long"),
        expect![[r#"
        error: the conversation is too long for m1: prompt is too long: 210000 tokens > 200000 maximum
    "#]],
    );
    check(
        fixture!("error_invalid"),
        expect![[r#"
        error: v did not take the request: messages: at least one message is required
    "#]],
    );
    check(
        fixture!("error_auth"),
        expect![[r#"
        error: v rejected the credentials: invalid x-api-key …
    "#]],
    );
    check(
        fixture!("error_billing"),
        expect![[r#"
        error: v says that the quota is used up: Your credit balance is too low
    "#]],
    );
    check(
        fixture!("error_without_a_name"),
        expect![[r#"
        error: v failed: Overloaded
    "#]],
    );
    check(
        fixture!("error_as_text"),
        expect![[r#"
        error: v failed: upstream connect error
    "#]],
    );
    check(
        fixture!("not_json"),
        expect![[r#"
        Text("So")
        error: v answered with something that is not JSON: Internal Server Error
    "#]],
    );
}

/// Every fixture, so that one that no test names is cut up all the same.
const ALL: &[&str] = &[
    fixture!("text"),
    fixture!("crlf"),
    fixture!("no_blank_line_at_the_end"),
    fixture!("message_stop_missing"),
    fixture!("types_without_event_names"),
    fixture!("index_missing"),
    fixture!("thinking_then_text_then_call"),
    fixture!("thinking_again_before_each_call"),
    fixture!("redacted_thinking"),
    fixture!("only_a_signature"),
    fixture!("thinking_without_a_signature"),
    fixture!("parallel_calls_interleaved"),
    fixture!("calls_one_after_the_other"),
    fixture!("calls_without_ids"),
    fixture!("calls_with_one_id"),
    fixture!("arguments_broken"),
    fixture!("arguments_with_the_beginning"),
    fixture!("arguments_never"),
    fixture!("tools_of_the_vendor"),
    fixture!("unknown_block"),
    fixture!("unknown_events"),
    fixture!("empty_deltas"),
    fixture!("blocks_that_never_begin"),
    fixture!("blocks_that_never_end"),
    fixture!("words_of_two_blocks_mixed"),
    fixture!("usage_only_at_the_end"),
    fixture!("usage_with_noughts_at_the_end"),
    fixture!("usage_with_noughts_at_the_beginning"),
    fixture!("usage_never"),
    fixture!("finish_max_tokens"),
    fixture!("finish_context_window"),
    fixture!("finish_refusal"),
    fixture!("finish_pause"),
    fixture!("finish_stop_sequence"),
    fixture!("finish_unknown_word"),
    fixture!("finish_missing"),
    fixture!("finish_stop_with_a_call"),
    fixture!("finish_tool_use_without_a_call"),
    fixture!("cut_between_events"),
    fixture!("cut_in_an_event"),
    fixture!("cut_in_a_call"),
    fixture!("nothing"),
    fixture!("error_overloaded"),
    fixture!("error_rate_limit"),
    fixture!("error_server"),
    fixture!("error_timeout"),
    fixture!("error_too_long"),
    fixture!("error_invalid"),
    fixture!("error_auth"),
    fixture!("error_billing"),
    fixture!("error_without_a_name"),
    fixture!("error_as_text"),
    fixture!("not_json"),
];

#[test]
fn every_fixture_is_cut_up() {
    complete("messages", ALL);
}

#[test]
fn pieces_of_one_three_and_seven_bytes_change_nothing() {
    small_pieces(ALL, read);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]
    #[test]
    fn cuts_anywhere_change_nothing((whole, pieces) in cut(ALL)) {
        prop_assert_eq!(format!("{:?}", read(pieces)), format!("{:?}", read([whole])));
    }

    #[test]
    fn foreign_events_do_no_harm(kinds in proptest::collection::vec((0usize..8, 0u64..3, any::<bool>()), 0..20)) {
        // Known events in any order and on any index: it ends in a finish or in an error, and each block ends once.
        let blocks = [r#"{"type":"text","text":"a"}"#, r#"{"type":"thinking","thinking":"t","signature":"S"}"#, r#"{"type":"tool_use","id":"i","name":"n","input":{}}"#, r#"{"type":"x"}"#];
        let deltas = [r#"{"text":"b"}"#, r#"{"thinking":"u"}"#, r#"{"partial_json":"{"}"#, r#"{"signature":"Z"}"#];
        let mut body = String::new();
        for (kind, index, begins) in kinds {
            let event = match (kind, begins) {
                (0..4, true) => format!(r#"{{"type":"content_block_start","index":{index},"content_block":{}}}"#, blocks[kind]),
                (0..4, false) => format!(r#"{{"type":"content_block_delta","index":{index},"delta":{}}}"#, deltas[kind]),
                _ => format!(r#"{{"type":"content_block_stop","index":{index}}}"#),
            };
            body.push_str(&format!("data: {event}\n\n"));
        }
        body.push_str("data: {\"type\":\"message_stop\"}\n\n");
        let (chunks, error) = read([body.as_bytes()]);
        prop_assert!(error.is_none() && matches!(chunks.last(), Some(Chunk::Finish(_))));
        let begun = chunks.iter().filter(|chunk| matches!(chunk, Chunk::ToolInput { delta, .. } if delta.is_empty())).count();
        let ended = chunks.iter().filter(|chunk| matches!(chunk, Chunk::ToolCall { .. })).count();
        prop_assert_eq!(begun, ended);
    }

    #[test]
    fn foreign_bytes_do_no_harm(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let (chunks, error) = read([&bytes[..]]);
        prop_assert!(error.is_some() || matches!(chunks.last(), Some(Chunk::Finish(_))));
    }
}

#[test]
fn more_calls_than_any_answer_has_are_an_error() {
    let call = |at: usize| {
        format!(
            "data: {{\"type\":\"content_block_start\",\"index\":{at},\"content_block\":{{\"type\":\"tool_use\",\"id\":\"c{at}\",\"name\":\"ls\",\"input\":{{}}}}}}\n\n"
        )
    };
    let body = |calls: usize| (0..calls).map(call).collect::<String>() + "data: {\"type\":\"message_stop\"}\n\n";
    let (chunks, error) = read([body(128).as_bytes()]);
    assert!(error.is_none());
    assert_eq!(chunks.iter().filter(|chunk| matches!(chunk, Chunk::ToolCall { .. })).count(), 128);
    let (_, error) = read([body(129).as_bytes()]);
    assert_eq!(
        error.unwrap().to_string(),
        "v answered with something that is not an answer of at most 128 calls: one more"
    );
}

#[test]
fn more_open_blocks_than_any_answer_has_are_an_error() {
    let body = |blocks: usize| {
        let begin = |at| {
            format!(
                "data: {{\"type\":\"content_block_start\",\"index\":{at},\"content_block\":{{\"type\":\"x\"}}}}\n\n"
            )
        };
        (0..blocks).map(begin).collect::<String>() + "data: {\"type\":\"message_stop\"}\n\n"
    };
    let (chunks, error) = read([body(256).as_bytes()]);
    assert!(error.is_none() && chunks.len() == 257, "{error:?}");
    let (_, error) = read([body(257).as_bytes()]);
    assert!(matches!(error, Some(LlmError::Malformed { .. })), "{error:?}");
}

#[test]
fn an_answer_has_a_bound() {
    let piece = "x".repeat(8 * 1024 * 1024);
    let begins =
        |block: &str| format!("data: {{\"type\":\"content_block_start\",\"index\":0,\"content_block\":{block}}}\n\n");
    let begin = begins(r#"{"type":"text","text":""}"#);
    let delta = format!(r#"{{"text":"{piece}"}}"#);
    let event = format!("data: {{\"type\":\"content_block_delta\",\"index\":0,\"delta\":{delta}}}\n\n");
    let (_, error) = read([begin.as_bytes()].into_iter().chain(std::iter::repeat_n(event.as_bytes(), 9)));
    assert!(matches!(error, Some(LlmError::Malformed { .. })), "{error:?}");
    let begin = begins(&format!(r#"{{"type":"x","x":"{piece}"}}"#));
    let (_, error) = read(std::iter::repeat_n(begin.as_bytes(), 9));
    assert!(matches!(error, Some(LlmError::Malformed { .. })), "{error:?}");
}

#[test]
fn only_the_vendor_itself_is_asked_for_what_is_not_in_the_version() {
    let row = |base: &str, want| assert_eq!(is_anthropic(base), want, "{base}");
    row("https://api.anthropic.com/v1", true);
    row("https://api.anthropic.com:443", true);
    row("https://anthropic.com.evil.example/v1", false);
    row("https://notanthropic.com/v1", false);
    row("https://api.minimax.io/anthropic/v1", false);
    row("no address", false);
}

#[test]
fn nothing_secret_shows_in_the_configuration() {
    let server = Server {
        provider: "v".to_owned(),
        base_url: "https://me:pass@api.example/v1?key=query".to_owned(),
        key: Some(Key::Plain(Secret::new("own-key"))),
        headers: vec![("x-other".to_owned(), "header-key".to_owned())],
        ..Server::default()
    };
    let text = format!("{server:?} {:?}", Messages::new(&server).unwrap());
    for secret in ["pass", "query", "own-key", "header-key"] {
        assert!(!text.contains(secret), "{secret} in {text}");
    }
}

#[test]
fn a_pause_is_told_from_other_ends() {
    let pauses = |body: &str| {
        let (chunks, error) = read([body.as_bytes()]);
        assert!(error.is_none(), "{error:?}");
        matches!(chunks.last(), Some(Chunk::Finish(finish)) if finish.pauses())
    };
    assert!(pauses(fixture!("finish_pause")));
    assert!(!pauses(fixture!("finish_unknown_word")));
    assert!(!pauses(fixture!("text")));
}

#[test]
fn a_message_is_written_once() {
    let base_url = "http://127.0.0.1:9/v1".to_owned();
    let provider = Messages::new(&Server { provider: "v".to_owned(), base_url, ..Server::default() }).unwrap();
    let request = request();
    drop(provider.clone().stream(request.clone()));
    let written = provider.written.of(&request, |message| panic!("{message:?} is not kept"));
    assert_eq!(written.len(), request.messages.len());
}

#[test]
fn what_is_asked_for_beyond_the_version_is_joined() {
    let row = |wanted: Option<&str>, headers: &[(&str, &str)], want: &[(&str, &str)]| {
        let owned = |pairs: &[(&str, &str)]| -> Vec<(String, String)> {
            pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
        };
        assert_eq!(joined(wanted, &owned(headers)), owned(want));
    };
    row(Some("a,b"), &[("x", "1")], &[("x", "1"), ("anthropic-beta", "a,b")]);
    let both = [("Anthropic-Beta", "c, a"), ("x", "1"), ("anthropic-beta", "d")];
    row(Some("a,b"), &both, &[("x", "1"), ("anthropic-beta", "a,b,c,d")]);
    row(None, &[("anthropic-beta", "c")], &[("anthropic-beta", "c")]);
    row(None, &[("x", "1")], &[("x", "1")]);
}
