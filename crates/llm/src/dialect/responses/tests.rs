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
        include_str!(concat!("../fixtures/responses/", $name, ".sse"))
    };
}

#[test]
fn words_come_as_they_are_written() {
    check(
        fixture!("text"),
        expect![[r#"
        Text("Grüße, ")
        Text("Welt 😀")
        TextEnd { item: Some(Item { vendor: "v", model: "m1", value: Object {"type": String("message"), "id": String("msg_1")} }) }
        Usage(Usage { total: Some(150), input: 20, output: 12, reasoning: 18, cache_read: 100, cache_write: 0 })
        Finish(Stop)
    "#]],
    );
    check(
        fixture!("crlf"),
        expect![[r#"
        Text("Grüße, ")
        Text("Welt 😀")
        TextEnd { item: Some(Item { vendor: "v", model: "m1", value: Object {"type": String("message"), "id": String("msg_1")} }) }
        Usage(Usage { total: Some(150), input: 20, output: 12, reasoning: 18, cache_read: 100, cache_write: 0 })
        Finish(Stop)
    "#]],
    );
    check(
        fixture!("no_blank_line_at_the_end"),
        expect![[r#"
        Text("Hi.")
        TextEnd { item: Some(Item { vendor: "v", model: "m1", value: Object {"type": String("message"), "id": String("msg_1")} }) }
        Usage(Usage { total: Some(150), input: 20, output: 12, reasoning: 18, cache_read: 100, cache_write: 0 })
        Finish(Stop)
    "#]],
    );
    check(
        fixture!("types_as_event_names_alone"),
        expect![[r#"
        Text("Hi.")
        TextEnd { item: Some(Item { vendor: "v", model: "m1", value: Object {"type": String("message"), "id": String("msg_1")} }) }
        Usage(Usage { total: Some(150), input: 20, output: 12, reasoning: 18, cache_read: 100, cache_write: 0 })
        Finish(Stop)
    "#]],
    );
    check(
        fixture!("types_without_event_names"),
        expect![[r#"
        Text("Hi.")
        TextEnd { item: Some(Item { vendor: "v", model: "m1", value: Object {"type": String("message"), "id": String("msg_1")} }) }
        Usage(Usage { total: Some(150), input: 20, output: 12, reasoning: 18, cache_read: 100, cache_write: 0 })
        Finish(Stop)
    "#]],
    );
}

#[test]
fn thinking_keeps_its_place_and_the_form_that_the_vendor_gave_it() {
    check(
        fixture!("thinking_then_text_then_call"),
        expect![[r#"
        Reasoning("Let me ")
        Reasoning("think.")
        ReasoningEnd { item: Some(Item { vendor: "v", model: "m1", value: Object {"id": String("rs_1"), "type": String("reasoning"), "summary": Array [Object {"type": String("summary_text"), "text": String("Let me think.")}], "encrypted_content": String("RU5D")} }) }
        Text("I will look.")
        TextEnd { item: Some(Item { vendor: "v", model: "m1", value: Object {"type": String("message"), "id": String("msg_1"), "phase": String("commentary")} }) }
        ToolInput { id: "call_a", name: "read", delta: "" }
        ToolInput { id: "call_a", name: "read", delta: "{\"file" }
        ToolInput { id: "call_a", name: "read", delta: "Path\":\"a.rs\"}" }
        ToolCall { id: "call_a", name: "read", arguments: "{\"filePath\":\"a.rs\"}", item: Some(Item { vendor: "v", model: "m1", value: Object {"id": String("fc_1"), "type": String("function_call")} }) }
        Usage(Usage { total: Some(150), input: 20, output: 12, reasoning: 18, cache_read: 100, cache_write: 0 })
        Finish(ToolCalls)
    "#]],
    );
    check(
        fixture!("summary_in_several_parts"),
        expect![[r#"
        Reasoning("**First**\n")
        Reasoning("One.")
        Reasoning("\n\n**Second**\n")
        Reasoning("Two.")
        ReasoningEnd { item: Some(Item { vendor: "v", model: "m1", value: Object {"id": String("rs_1"), "type": String("reasoning"), "summary": Array [Object {"type": String("summary_text"), "text": String("**First**\nOne.")}, Object {"type": String("summary_text"), "text": String("**Second**\nTwo.")}], "encrypted_content": String("RU5D")} }) }
        Text("So.")
        TextEnd { item: Some(Item { vendor: "v", model: "m1", value: Object {"type": String("message"), "id": String("msg_1"), "phase": String("final_answer")} }) }
        Usage(Usage { total: Some(150), input: 20, output: 12, reasoning: 18, cache_read: 100, cache_write: 0 })
        Finish(Stop)
    "#]],
    );
    check(
        fixture!("thoughts_kept_from_us"),
        expect![[r#"
        ReasoningEnd { item: Some(Item { vendor: "v", model: "m1", value: Object {"id": String("rs_1"), "type": String("reasoning"), "summary": Array [], "encrypted_content": String("RU5D")} }) }
        Text("Done.")
        TextEnd { item: Some(Item { vendor: "v", model: "m1", value: Object {"type": String("message"), "id": String("msg_1")} }) }
        Usage(Usage { total: Some(150), input: 20, output: 12, reasoning: 18, cache_read: 100, cache_write: 0 })
        Finish(Stop)
    "#]],
    );
    check(
        fixture!("thoughts_in_the_open"),
        expect![[r#"
        Reasoning("Hm")
        Reasoning(".")
        ReasoningEnd { item: Some(Item { vendor: "v", model: "m1", value: Object {"id": String("rs_1"), "type": String("reasoning"), "summary": Array [], "content": Array [Object {"type": String("reasoning_text"), "text": String("Hm.")}], "encrypted_content": Null, "status": Null} }) }
        Text("Yes.")
        TextEnd { item: Some(Item { vendor: "v", model: "m1", value: Object {"type": String("message"), "id": String("msg_1")} }) }
        Usage(Usage { total: Some(150), input: 20, output: 12, reasoning: 18, cache_read: 100, cache_write: 0 })
        Finish(Stop)
    "#]],
    );
    check(
        fixture!("thinking_again_before_each_call"),
        expect![[r#"
        Reasoning("First.")
        ReasoningEnd { item: Some(Item { vendor: "v", model: "m1", value: Object {"id": String("rs_1"), "type": String("reasoning"), "summary": Array [Object {"type": String("summary_text"), "text": String("First.")}], "encrypted_content": String("QQ==")} }) }
        ToolInput { id: "call_a", name: "ls", delta: "" }
        ToolInput { id: "call_a", name: "ls", delta: "{}" }
        ToolCall { id: "call_a", name: "ls", arguments: "{}", item: Some(Item { vendor: "v", model: "m1", value: Object {"id": String("fc_1"), "type": String("function_call")} }) }
        Reasoning("Second.")
        ReasoningEnd { item: Some(Item { vendor: "v", model: "m1", value: Object {"id": String("rs_2"), "type": String("reasoning"), "summary": Array [Object {"type": String("summary_text"), "text": String("Second.")}], "encrypted_content": String("Qg==")} }) }
        ToolInput { id: "call_b", name: "pwd", delta: "" }
        ToolInput { id: "call_b", name: "pwd", delta: "{}" }
        ToolCall { id: "call_b", name: "pwd", arguments: "{}", item: Some(Item { vendor: "v", model: "m1", value: Object {"id": String("fc_2"), "type": String("function_call")} }) }
        Usage(Usage { total: Some(150), input: 20, output: 12, reasoning: 18, cache_read: 100, cache_write: 0 })
        Finish(ToolCalls)
    "#]],
    );
}

#[test]
fn calls_are_told_apart() {
    check(
        fixture!("parallel_calls_interleaved"),
        expect![[r#"
        ToolInput { id: "call_a", name: "read", delta: "" }
        ToolInput { id: "call_b", name: "grep", delta: "" }
        ToolInput { id: "call_a", name: "read", delta: "{\"filePath\":" }
        ToolInput { id: "call_b", name: "grep", delta: "{\"pattern\":\"x\"" }
        ToolInput { id: "call_a", name: "read", delta: "\"a\"}" }
        ToolCall { id: "call_a", name: "read", arguments: "{\"filePath\":\"a\"}", item: Some(Item { vendor: "v", model: "m1", value: Object {"id": String("fc_1"), "type": String("function_call")} }) }
        ToolInput { id: "call_b", name: "grep", delta: "}" }
        ToolCall { id: "call_b", name: "grep", arguments: "{\"pattern\":\"x\"}", item: Some(Item { vendor: "v", model: "m1", value: Object {"id": String("fc_2"), "type": String("function_call")} }) }
        Usage(Usage { total: Some(150), input: 20, output: 12, reasoning: 18, cache_read: 100, cache_write: 0 })
        Finish(ToolCalls)
    "#]],
    );
    check(
        fixture!("ids_of_items_change_with_every_event"),
        expect![[r#"
        Reasoning("Hm.")
        ReasoningEnd { item: Some(Item { vendor: "v", model: "m1", value: Object {"id": String("A3"), "type": String("reasoning"), "summary": Array [Object {"type": String("summary_text"), "text": String("Hm.")}], "encrypted_content": String("RU5D")} }) }
        Text("Hi.")
        TextEnd { item: Some(Item { vendor: "v", model: "m1", value: Object {"type": String("message"), "id": String("B3")} }) }
        ToolInput { id: "call_a", name: "ls", delta: "" }
        ToolInput { id: "call_a", name: "ls", delta: "{}" }
        ToolCall { id: "call_a", name: "ls", arguments: "{}", item: Some(Item { vendor: "v", model: "m1", value: Object {"id": String("C3"), "type": String("function_call")} }) }
        Usage(Usage { total: Some(150), input: 20, output: 12, reasoning: 18, cache_read: 100, cache_write: 0 })
        Finish(ToolCalls)
    "#]],
    );
    check(
        fixture!("index_missing"),
        expect![[r#"
        ToolInput { id: "call_a", name: "read", delta: "" }
        ToolInput { id: "call_b", name: "grep", delta: "" }
        ToolInput { id: "call_b", name: "grep", delta: "{\"pattern\":\"x\"}" }
        ToolInput { id: "call_a", name: "read", delta: "{\"filePath\":\"a\"}" }
        ToolCall { id: "call_a", name: "read", arguments: "{\"filePath\":\"a\"}", item: Some(Item { vendor: "v", model: "m1", value: Object {"id": String("fc_1"), "type": String("function_call")} }) }
        ToolCall { id: "call_b", name: "grep", arguments: "{\"pattern\":\"x\"}", item: Some(Item { vendor: "v", model: "m1", value: Object {"id": String("fc_2"), "type": String("function_call")} }) }
        Usage(Usage { total: Some(150), input: 20, output: 12, reasoning: 18, cache_read: 100, cache_write: 0 })
        Finish(ToolCalls)
    "#]],
    );
    check(
        fixture!("index_and_ids_missing"),
        expect![[r#"
        Text("Hi.")
        TextEnd { item: None }
        ToolInput { id: "call_a", name: "ls", delta: "" }
        ToolInput { id: "call_a", name: "ls", delta: "{}" }
        ToolCall { id: "call_a", name: "ls", arguments: "{}", item: None }
        Usage(Usage { total: Some(150), input: 20, output: 12, reasoning: 18, cache_read: 100, cache_write: 0 })
        Finish(ToolCalls)
    "#]],
    );
    check(
        fixture!("one_index_for_all"),
        expect![[r#"
        Text("a")
        TextEnd { item: Some(Item { vendor: "v", model: "m1", value: Object {"type": String("message"), "id": String("msg_1")} }) }
        ToolInput { id: "call_a", name: "ls", delta: "" }
        ToolInput { id: "call_a", name: "ls", delta: "{}" }
        ToolCall { id: "call_a", name: "ls", arguments: "{}", item: Some(Item { vendor: "v", model: "m1", value: Object {"id": String("fc_1"), "type": String("function_call")} }) }
        ToolInput { id: "call_b", name: "pwd", delta: "" }
        ToolInput { id: "call_b", name: "pwd", delta: "{}" }
        ToolCall { id: "call_b", name: "pwd", arguments: "{}", item: Some(Item { vendor: "v", model: "m1", value: Object {"id": String("fc_2"), "type": String("function_call")} }) }
        Usage(Usage { total: Some(150), input: 20, output: 12, reasoning: 18, cache_read: 100, cache_write: 0 })
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
        Usage(Usage { total: Some(150), input: 20, output: 12, reasoning: 18, cache_read: 100, cache_write: 0 })
        Finish(ToolCalls)
    "#]],
    );
    check(
        fixture!("calls_with_one_id"),
        expect![[r#"
        ToolInput { id: "same", name: "ls", delta: "" }
        ToolInput { id: "same", name: "ls", delta: "{}" }
        ToolCall { id: "same", name: "ls", arguments: "{}", item: Some(Item { vendor: "v", model: "m1", value: Object {"id": String("fc_1"), "type": String("function_call")} }) }
        ToolInput { id: "same_2", name: "pwd", delta: "" }
        ToolInput { id: "same_2", name: "pwd", delta: "{}" }
        ToolCall { id: "same_2", name: "pwd", arguments: "{}", item: Some(Item { vendor: "v", model: "m1", value: Object {"id": String("fc_2"), "type": String("function_call")} }) }
        Usage(Usage { total: Some(150), input: 20, output: 12, reasoning: 18, cache_read: 100, cache_write: 0 })
        Finish(ToolCalls)
    "#]],
    );
    check(
        fixture!("call_id_missing"),
        expect![[r#"
        ToolInput { id: "fc_1", name: "ls", delta: "" }
        ToolCall { id: "fc_1", name: "ls", arguments: "{\"a\":1}", item: Some(Item { vendor: "v", model: "m1", value: Object {"id": String("fc_1"), "type": String("function_call")} }) }
        Usage(Usage { total: Some(150), input: 20, output: 12, reasoning: 18, cache_read: 100, cache_write: 0 })
        Finish(ToolCalls)
    "#]],
    );
    check(
        fixture!("name_late"),
        expect![[r#"
        ToolInput { id: "call_a", name: "ls", delta: "{\"path\":\".\"}" }
        ToolCall { id: "call_a", name: "ls", arguments: "{\"path\":\".\"}", item: Some(Item { vendor: "v", model: "m1", value: Object {"id": String("fc_1"), "type": String("function_call")} }) }
        Usage(Usage { total: Some(150), input: 20, output: 12, reasoning: 18, cache_read: 100, cache_write: 0 })
        Finish(ToolCalls)
    "#]],
    );
    check(
        fixture!("name_never"),
        expect![[r#"
        ToolInput { id: "call_a", name: "", delta: "" }
        ToolCall { id: "call_a", name: "", arguments: "{}", item: Some(Item { vendor: "v", model: "m1", value: Object {"id": String("fc_1"), "type": String("function_call")} }) }
        Usage(Usage { total: Some(150), input: 20, output: 12, reasoning: 18, cache_read: 100, cache_write: 0 })
        Finish(ToolCalls)
    "#]],
    );
}

#[test]
fn arguments_come_in_many_forms() {
    check(
        fixture!("arguments_broken"),
        expect![[r#"
        ToolInput { id: "call_a", name: "ls", delta: "" }
        ToolInput { id: "call_a", name: "ls", delta: "{\"path\": \"a" }
        ToolCall { id: "call_a", name: "ls", arguments: "{\"path\": \"a", item: None }
        Usage(Usage { total: Some(150), input: 20, output: 12, reasoning: 18, cache_read: 100, cache_write: 0 })
        Finish(Length)
    "#]],
    );
    check(
        fixture!("arguments_in_one_piece"),
        expect![[r#"
        ToolInput { id: "call_a", name: "ls", delta: "" }
        ToolCall { id: "call_a", name: "ls", arguments: "{\"path\":\".\"}", item: Some(Item { vendor: "v", model: "m1", value: Object {"id": String("fc_1"), "type": String("function_call")} }) }
        Usage(Usage { total: Some(150), input: 20, output: 12, reasoning: 18, cache_read: 100, cache_write: 0 })
        Finish(ToolCalls)
    "#]],
    );
    check(
        fixture!("arguments_with_the_beginning"),
        expect![[r#"
        ToolInput { id: "call_a", name: "ls", delta: "" }
        ToolCall { id: "call_a", name: "ls", arguments: "{\"path\":\".\"}", item: None }
        Usage(Usage { total: Some(150), input: 20, output: 12, reasoning: 18, cache_read: 100, cache_write: 0 })
        Finish(ToolCalls)
    "#]],
    );
    check(
        fixture!("arguments_as_an_object"),
        expect![[r#"
        ToolInput { id: "call_a", name: "ls", delta: "" }
        ToolCall { id: "call_a", name: "ls", arguments: "{\"path\":\".\"}", item: Some(Item { vendor: "v", model: "m1", value: Object {"id": String("fc_1"), "type": String("function_call")} }) }
        Usage(Usage { total: Some(150), input: 20, output: 12, reasoning: 18, cache_read: 100, cache_write: 0 })
        Finish(ToolCalls)
    "#]],
    );
    check(
        fixture!("arguments_never"),
        expect![[r#"
        ToolInput { id: "call_a", name: "ls", delta: "" }
        ToolCall { id: "call_a", name: "ls", arguments: "{}", item: Some(Item { vendor: "v", model: "m1", value: Object {"id": String("fc_1"), "type": String("function_call")} }) }
        Usage(Usage { total: Some(150), input: 20, output: 12, reasoning: 18, cache_read: 100, cache_write: 0 })
        Finish(ToolCalls)
    "#]],
    );
    check(
        fixture!("call_with_more_to_it"),
        expect![[r#"
        ToolInput { id: "call_a", name: "ls", delta: "" }
        ToolInput { id: "call_a", name: "ls", delta: "{}" }
        ToolCall { id: "call_a", name: "ls", arguments: "{}", item: Some(Item { vendor: "v", model: "m1", value: Object {"id": String("fc_1"), "type": String("function_call"), "namespace": String("files")} }) }
        Usage(Usage { total: Some(150), input: 20, output: 12, reasoning: 18, cache_read: 100, cache_write: 0 })
        Finish(ToolCalls)
    "#]],
    );
    check(
        fixture!("piece_of_a_call_that_never_began"),
        expect![[r#"
        Text("Hi.")
        TextEnd { item: Some(Item { vendor: "v", model: "m1", value: Object {"type": String("message"), "id": String("msg_1")} }) }
        Usage(Usage { total: Some(150), input: 20, output: 12, reasoning: 18, cache_read: 100, cache_write: 0 })
        Finish(Stop)
    "#]],
    );
}

#[test]
fn what_the_vendor_wants_back_is_kept_as_it_is() {
    check(
        fixture!("tools_of_the_vendor"),
        expect![[r#"
        Vendor(Item { vendor: "v", model: "m1", value: Object {"id": String("ws_1"), "type": String("web_search_call"), "status": String("completed"), "action": Object {"type": String("search"), "query": String("x")}} })
        Text("It says x.")
        TextEnd { item: Some(Item { vendor: "v", model: "m1", value: Object {"type": String("message"), "id": String("msg_1"), "annotations": Array [Object {"type": String("url_citation"), "start_index": Number(0), "end_index": Number(5), "url": String("https://a.example"), "title": String("A")}]} }) }
        Usage(Usage { total: Some(150), input: 20, output: 12, reasoning: 18, cache_read: 100, cache_write: 0 })
        Finish(Stop)
    "#]],
    );
    check(
        fixture!("unknown_item"),
        expect![[r#"
        Vendor(Item { vendor: "v", model: "m1", value: Object {"id": String("cmp_1"), "type": String("compaction"), "encrypted_content": String("RU5D"), "rank": Number(1)} })
        Text("Hi.")
        TextEnd { item: Some(Item { vendor: "v", model: "m1", value: Object {"type": String("message"), "id": String("msg_1")} }) }
        Usage(Usage { total: Some(150), input: 20, output: 12, reasoning: 18, cache_read: 100, cache_write: 0 })
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
        TextEnd { item: Some(Item { vendor: "v", model: "m1", value: Object {"type": String("message"), "id": String("msg_1")} }) }
        Usage(Usage { total: Some(150), input: 20, output: 12, reasoning: 18, cache_read: 100, cache_write: 0 })
        Finish(Stop)
    "#]],
    );
    check(
        fixture!("empty_deltas"),
        expect![[r#"
        Usage(Usage { total: Some(150), input: 20, output: 12, reasoning: 18, cache_read: 100, cache_write: 0 })
        Finish(Stop)
    "#]],
    );
}

#[test]
fn a_refusal_is_said_and_told_from_an_answer() {
    check(
        fixture!("refusal"),
        expect![[r#"
        Text("I can’t ")
        Text("do that.")
        TextEnd { item: Some(Item { vendor: "v", model: "m1", value: Object {"type": String("message"), "id": String("msg_1"), "refused": Bool(true)} }) }
        Usage(Usage { total: Some(150), input: 20, output: 12, reasoning: 18, cache_read: 100, cache_write: 0 })
        Finish(ContentFilter)
    "#]],
    );
}

#[test]
fn items_need_not_begin_and_end_in_order() {
    check(
        fixture!("items_that_never_begin"),
        expect![[r#"
        Reasoning("Hm.")
        ReasoningEnd { item: None }
        Text("Hi.")
        TextEnd { item: None }
        Usage(Usage { total: Some(150), input: 20, output: 12, reasoning: 18, cache_read: 100, cache_write: 0 })
        Finish(Stop)
    "#]],
    );
    check(
        fixture!("items_that_never_end"),
        expect![[r#"
        Text("Hi.")
        TextEnd { item: Some(Item { vendor: "v", model: "m1", value: Object {"type": String("message"), "id": String("msg_1")} }) }
        ToolInput { id: "call_a", name: "ls", delta: "" }
        ToolInput { id: "call_a", name: "ls", delta: "{}" }
        ToolCall { id: "call_a", name: "ls", arguments: "{}", item: None }
        Usage(Usage { total: Some(150), input: 20, output: 12, reasoning: 18, cache_read: 100, cache_write: 0 })
        Finish(ToolCalls)
    "#]],
    );
    check(
        fixture!("only_ends_of_items"),
        expect![[r#"
        Reasoning("Hm.")
        Reasoning("\n\nSo.")
        ReasoningEnd { item: Some(Item { vendor: "v", model: "m1", value: Object {"id": String("rs_1"), "type": String("reasoning"), "summary": Array [Object {"type": String("summary_text"), "text": String("Hm.")}, Object {"type": String("summary_text"), "text": String("So.")}], "encrypted_content": String("RU5D")} }) }
        Text("Hi.")
        TextEnd { item: Some(Item { vendor: "v", model: "m1", value: Object {"type": String("message"), "id": String("msg_1"), "phase": String("final_answer")} }) }
        Text("I can’t do that.")
        TextEnd { item: Some(Item { vendor: "v", model: "m1", value: Object {"type": String("message"), "id": String("msg_1"), "refused": Bool(true)} }) }
        ToolInput { id: "call_a", name: "ls", delta: "" }
        ToolCall { id: "call_a", name: "ls", arguments: "{}", item: Some(Item { vendor: "v", model: "m1", value: Object {"id": String("fc_1"), "type": String("function_call")} }) }
        Usage(Usage { total: Some(150), input: 20, output: 12, reasoning: 18, cache_read: 100, cache_write: 0 })
        Finish(ToolCalls)
    "#]],
    );
    check(
        fixture!("all_in_the_last_event"),
        expect![[r#"
        Reasoning("Hm.")
        ReasoningEnd { item: Some(Item { vendor: "v", model: "m1", value: Object {"id": String("rs_1"), "type": String("reasoning"), "summary": Array [Object {"type": String("summary_text"), "text": String("Hm.")}], "encrypted_content": String("RU5D")} }) }
        Text("Hi.")
        TextEnd { item: Some(Item { vendor: "v", model: "m1", value: Object {"type": String("message"), "id": String("msg_1")} }) }
        ToolInput { id: "call_a", name: "ls", delta: "" }
        ToolCall { id: "call_a", name: "ls", arguments: "{}", item: Some(Item { vendor: "v", model: "m1", value: Object {"id": String("fc_1"), "type": String("function_call")} }) }
        Usage(Usage { total: Some(150), input: 20, output: 12, reasoning: 18, cache_read: 100, cache_write: 0 })
        Finish(ToolCalls)
    "#]],
    );
    check(
        fixture!("all_again_in_the_last_event"),
        expect![[r#"
        Text("Hi.")
        TextEnd { item: Some(Item { vendor: "v", model: "m1", value: Object {"type": String("message"), "id": String("msg_1")} }) }
        Usage(Usage { total: Some(150), input: 20, output: 12, reasoning: 18, cache_read: 100, cache_write: 0 })
        Finish(Stop)
    "#]],
    );
    check(
        fixture!("words_of_two_items_mixed"),
        expect![[r#"
        Text("a")
        TextEnd { item: Some(Item { vendor: "v", model: "m1", value: Object {"type": String("message"), "id": String("msg_1"), "phase": String("commentary")} }) }
        Text("b")
        TextEnd { item: Some(Item { vendor: "v", model: "m1", value: Object {"type": String("message"), "id": String("msg_2")} }) }
        Text("c")
        TextEnd { item: Some(Item { vendor: "v", model: "m1", value: Object {"type": String("message"), "id": String("msg_1"), "phase": String("commentary")} }) }
        Usage(Usage { total: Some(150), input: 20, output: 12, reasoning: 18, cache_read: 100, cache_write: 0 })
        Finish(Stop)
    "#]],
    );
    check(
        fixture!("thinking_and_text_mixed"),
        expect![[r#"
        Reasoning("Hm.")
        ReasoningEnd { item: None }
        Text("Hi.")
        TextEnd { item: Some(Item { vendor: "v", model: "m1", value: Object {"type": String("message"), "id": String("msg_1")} }) }
        ReasoningEnd { item: Some(Item { vendor: "v", model: "m1", value: Object {"id": String("rs_1"), "type": String("reasoning"), "summary": Array [Object {"type": String("summary_text"), "text": String("Hm.")}], "encrypted_content": String("RU5D")} }) }
        Usage(Usage { total: Some(150), input: 20, output: 12, reasoning: 18, cache_read: 100, cache_write: 0 })
        Finish(Stop)
    "#]],
    );
}

#[test]
fn what_comes_twice_is_heard_once() {
    check(
        fixture!("events_that_come_twice"),
        expect![[r#"
        Text("no, ")
        Text("no, ")
        Text("no")
        TextEnd { item: Some(Item { vendor: "v", model: "m1", value: Object {"type": String("message"), "id": String("msg_1")} }) }
        ToolInput { id: "call_a", name: "ls", delta: "" }
        ToolInput { id: "call_a", name: "ls", delta: "{\"a\"" }
        ToolInput { id: "call_a", name: "ls", delta: ":1}" }
        ToolCall { id: "call_a", name: "ls", arguments: "{\"a\":1}", item: Some(Item { vendor: "v", model: "m1", value: Object {"id": String("fc_1"), "type": String("function_call")} }) }
        Usage(Usage { total: Some(150), input: 20, output: 12, reasoning: 18, cache_read: 100, cache_write: 0 })
        Finish(ToolCalls)
    "#]],
    );
    check(
        fixture!("numbers_that_do_not_count"),
        expect![[r#"
        Text("no, ")
        Text("no, ")
        Text("no")
        TextEnd { item: Some(Item { vendor: "v", model: "m1", value: Object {"type": String("message"), "id": String("msg_1")} }) }
        Usage(Usage { total: Some(150), input: 20, output: 12, reasoning: 18, cache_read: 100, cache_write: 0 })
        Finish(Stop)
    "#]],
    );
}

#[test]
fn usage_is_counted_in_kinds_that_do_not_overlap() {
    check(
        fixture!("usage_never"),
        expect![[r#"
        Text("Hi.")
        TextEnd { item: Some(Item { vendor: "v", model: "m1", value: Object {"type": String("message"), "id": String("msg_1")} }) }
        Finish(Stop)
    "#]],
    );
    check(
        fixture!("usage_without_details"),
        expect![[r#"
        Text("Hi.")
        TextEnd { item: Some(Item { vendor: "v", model: "m1", value: Object {"type": String("message"), "id": String("msg_1")} }) }
        Usage(Usage { total: None, input: 20, output: 7, reasoning: 0, cache_read: 0, cache_write: 0 })
        Finish(Stop)
    "#]],
    );
    check(
        fixture!("usage_with_cache_writes"),
        expect![[r#"
        Text("Hi.")
        TextEnd { item: Some(Item { vendor: "v", model: "m1", value: Object {"type": String("message"), "id": String("msg_1")} }) }
        Usage(Usage { total: Some(127), input: 30, output: 7, reasoning: 0, cache_read: 50, cache_write: 40 })
        Finish(Stop)
    "#]],
    );
    check(
        fixture!("usage_with_thinking_beside"),
        expect![[r#"
        Text("Hi.")
        TextEnd { item: Some(Item { vendor: "v", model: "m1", value: Object {"type": String("message"), "id": String("msg_1")} }) }
        Usage(Usage { total: Some(32), input: 20, output: 7, reasoning: 5, cache_read: 0, cache_write: 0 })
        Finish(Stop)
    "#]],
    );
    check(
        fixture!("usage_odd"),
        expect![[r#"
        Text("Hi.")
        TextEnd { item: Some(Item { vendor: "v", model: "m1", value: Object {"type": String("message"), "id": String("msg_1")} }) }
        Finish(Stop)
    "#]],
    );
}

#[test]
fn an_answer_ends_for_a_reason() {
    check(
        fixture!("finish_length"),
        expect![[r#"
        Text("Hi")
        TextEnd { item: Some(Item { vendor: "v", model: "m1", value: Object {"type": String("message"), "id": String("msg_1")} }) }
        Usage(Usage { total: Some(150), input: 20, output: 12, reasoning: 18, cache_read: 100, cache_write: 0 })
        Finish(Length)
    "#]],
    );
    check(
        fixture!("finish_filter"),
        expect![[r#"
        Text("Hi")
        TextEnd { item: Some(Item { vendor: "v", model: "m1", value: Object {"type": String("message"), "id": String("msg_1")} }) }
        Usage(Usage { total: Some(150), input: 20, output: 12, reasoning: 18, cache_read: 100, cache_write: 0 })
        Finish(ContentFilter)
    "#]],
    );
    check(
        fixture!("finish_incomplete_without_a_reason"),
        expect![[r#"
        Text("Hi")
        TextEnd { item: Some(Item { vendor: "v", model: "m1", value: Object {"type": String("message"), "id": String("msg_1")} }) }
        Usage(Usage { total: Some(150), input: 20, output: 12, reasoning: 18, cache_read: 100, cache_write: 0 })
        Finish(Other("incomplete"))
    "#]],
    );
    check(
        fixture!("finish_unknown_word"),
        expect![[r#"
        Text("Hi")
        TextEnd { item: Some(Item { vendor: "v", model: "m1", value: Object {"type": String("message"), "id": String("msg_1")} }) }
        Usage(Usage { total: Some(150), input: 20, output: 12, reasoning: 18, cache_read: 100, cache_write: 0 })
        Finish(Other("boredom"))
    "#]],
    );
    check(
        fixture!("finish_cancelled"),
        expect![[r#"
        Text("Hi")
        TextEnd { item: Some(Item { vendor: "v", model: "m1", value: Object {"type": String("message"), "id": String("msg_1")} }) }
        Usage(Usage { total: Some(150), input: 20, output: 12, reasoning: 18, cache_read: 100, cache_write: 0 })
        Finish(Other("cancelled"))
    "#]],
    );
    check(
        fixture!("finish_missing"),
        expect![[r#"
        Text("Hi.")
        TextEnd { item: Some(Item { vendor: "v", model: "m1", value: Object {"type": String("message"), "id": String("msg_1")} }) }
        Finish(Unknown)
    "#]],
    );
    check(
        fixture!("finish_without_a_response"),
        expect![[r#"
        Text("Hi.")
        TextEnd { item: Some(Item { vendor: "v", model: "m1", value: Object {"type": String("message"), "id": String("msg_1")} }) }
        Finish(Stop)
    "#]],
    );
    check(
        fixture!("length_in_thought"),
        expect![[r#"
        Reasoning("Hm")
        ReasoningEnd { item: None }
        Usage(Usage { total: Some(150), input: 20, output: 12, reasoning: 18, cache_read: 100, cache_write: 0 })
        Finish(Length)
    "#]],
    );
}

#[test]
fn an_answer_that_is_cut_off_is_an_error() {
    check(
        fixture!("cut_between_events"),
        expect![[r#"
        Text("Hi.")
        TextEnd { item: Some(Item { vendor: "v", model: "m1", value: Object {"type": String("message"), "id": String("msg_1")} }) }
        error: the answer of v was cut off before its end
    "#]],
    );
    check(
        fixture!("cut_in_an_event"),
        expect![[r#"
        Text("Hi.")
        error: the answer of v was cut off before its end
    "#]],
    );
    check(
        fixture!("cut_in_a_call"),
        expect![[r#"
        ToolInput { id: "call_a", name: "ls", delta: "" }
        ToolInput { id: "call_a", name: "ls", delta: "{\"pa" }
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
fn a_failure_is_told_by_its_kind() {
    check(
        fixture!("failed_server"),
        expect![[r#"
        Text("Hi")
        error: v failed: The server had an error while processing your request.
    "#]],
    );
    check(
        fixture!("failed_rate_limit"),
        expect![[r#"
        Text("Hi")
        error: v limits how often it may be asked: Rate limit reached for m1 on tokens per min (TPM): Limit 30000, Used 22999, Requested 12528. Please try again in 11.054s.
    "#]],
    );
    check(
        fixture!("failed_too_long"),
        expect![[r#"
        Text("Hi")
        error: the conversation is too long for m1: Your input exceeds the context window of this model. Please adjust your input and try again.
    "#]],
    );
    check(
        fixture!("failed_quota"),
        expect![[r#"
        Text("Hi")
        error: v says that the quota is used up: You exceeded your current quota, please check your plan and billing details.
    "#]],
    );
    check(
        fixture!("failed_prompt"),
        expect![[r#"
        Text("Hi")
        error: v did not take the request: Invalid prompt: your prompt was flagged as potentially violating our usage policy.
    "#]],
    );
    check(
        fixture!("failed_overloaded"),
        expect![[r#"
        Text("Hi")
        error: v failed: Our servers are currently overloaded. Please try again later.
    "#]],
    );
    check(
        fixture!("failed_without_a_reason"),
        expect![[r#"
        error: v failed: it gave no reason
    "#]],
    );
    check(
        fixture!("error_event"),
        expect![[r#"
        error: v failed: busy
    "#]],
    );
    check(
        fixture!("error_event_nested"),
        expect![[r#"
        error: v rejected the credentials: key … is no good
    "#]],
    );
    check(
        fixture!("error_only_by_name"),
        expect![[r#"
        error: v failed: Overloaded
    "#]],
    );
    check(
        fixture!("error_without_a_type"),
        expect![[r#"
        error: v limits how often it may be asked: Too Many Requests
    "#]],
    );
    check(
        fixture!("error_as_text"),
        expect![[r#"
        error: v answered with something that is not JSON: gateway timeout
    "#]],
    );
    check(
        fixture!("not_json"),
        expect![[r#"
        error: v answered with something that is not JSON: <html>oops …
    "#]],
    );
}

const ALL: &[&str] = &[
    fixture!("text"),
    fixture!("crlf"),
    fixture!("no_blank_line_at_the_end"),
    fixture!("types_as_event_names_alone"),
    fixture!("types_without_event_names"),
    fixture!("thinking_then_text_then_call"),
    fixture!("summary_in_several_parts"),
    fixture!("thoughts_kept_from_us"),
    fixture!("thoughts_in_the_open"),
    fixture!("thinking_again_before_each_call"),
    fixture!("parallel_calls_interleaved"),
    fixture!("ids_of_items_change_with_every_event"),
    fixture!("index_missing"),
    fixture!("index_and_ids_missing"),
    fixture!("one_index_for_all"),
    fixture!("calls_without_ids"),
    fixture!("calls_with_one_id"),
    fixture!("call_id_missing"),
    fixture!("name_late"),
    fixture!("name_never"),
    fixture!("arguments_broken"),
    fixture!("arguments_in_one_piece"),
    fixture!("arguments_with_the_beginning"),
    fixture!("arguments_as_an_object"),
    fixture!("arguments_never"),
    fixture!("call_with_more_to_it"),
    fixture!("piece_of_a_call_that_never_began"),
    fixture!("tools_of_the_vendor"),
    fixture!("unknown_item"),
    fixture!("unknown_events"),
    fixture!("empty_deltas"),
    fixture!("refusal"),
    fixture!("items_that_never_begin"),
    fixture!("items_that_never_end"),
    fixture!("only_ends_of_items"),
    fixture!("all_in_the_last_event"),
    fixture!("all_again_in_the_last_event"),
    fixture!("words_of_two_items_mixed"),
    fixture!("thinking_and_text_mixed"),
    fixture!("events_that_come_twice"),
    fixture!("numbers_that_do_not_count"),
    fixture!("usage_never"),
    fixture!("usage_without_details"),
    fixture!("usage_with_cache_writes"),
    fixture!("usage_with_thinking_beside"),
    fixture!("usage_odd"),
    fixture!("finish_length"),
    fixture!("finish_filter"),
    fixture!("finish_incomplete_without_a_reason"),
    fixture!("finish_unknown_word"),
    fixture!("finish_cancelled"),
    fixture!("finish_missing"),
    fixture!("finish_without_a_response"),
    fixture!("length_in_thought"),
    fixture!("cut_between_events"),
    fixture!("cut_in_an_event"),
    fixture!("cut_in_a_call"),
    fixture!("nothing"),
    fixture!("failed_server"),
    fixture!("failed_rate_limit"),
    fixture!("failed_too_long"),
    fixture!("failed_quota"),
    fixture!("failed_prompt"),
    fixture!("failed_overloaded"),
    fixture!("failed_without_a_reason"),
    fixture!("error_event"),
    fixture!("error_event_nested"),
    fixture!("error_only_by_name"),
    fixture!("error_without_a_type"),
    fixture!("error_as_text"),
    fixture!("not_json"),
];

#[test]
fn every_fixture_is_cut_up() {
    complete("responses", ALL);
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
    fn foreign_events_do_no_harm(
        kinds in proptest::collection::vec((0usize..12, prop::option::of(0u64..3), 0usize..3), 0..24),
    ) {
        // Known events in any order, about any item: it ends in a finish, and what begins ends once.
        let items = [
            r#""type":"message","content":[{"type":"output_text","text":"m"}]"#,
            r#""type":"reasoning","summary":[{"type":"summary_text","text":"r"}],"encrypted_content":"E""#,
            r#""type":"function_call","call_id":"c","name":"n","arguments":"{}""#,
            r#""type":"x""#,
        ];
        let says = ["output_text", "refusal", "reasoning_summary_text", "function_call_arguments"];
        let mut body = String::new();
        for (kind, index, id) in kinds {
            let place = index.map(|index| format!(r#""output_index":{index},"#)).unwrap_or_default();
            let id = ["", "a", "b"][id];
            let event = match kind {
                0..4 => format!(r#"{{{place}"type":"response.output_item.added","item":{{"id":"{id}",{}}}}}"#, items[kind]),
                4..8 => format!(r#"{{{place}"type":"response.output_item.done","item":{{"id":"{id}",{}}}}}"#, items[kind - 4]),
                _ => format!(r#"{{{place}"type":"response.{}.delta","item_id":"{id}","delta":"d"}}"#, says[kind - 8]),
            };
            body.push_str(&format!("data: {event}\n\n"));
        }
        body.push_str("data: {\"type\":\"response.completed\",\"response\":{}}\n\n");
        let (chunks, error) = read([body.as_bytes()]);
        prop_assert!(error.is_none() && matches!(chunks.last(), Some(Chunk::Finish(_))));
        let mut begun = std::collections::HashSet::new();
        let mut ended = std::collections::HashSet::new();
        let mut open = None;
        for chunk in &chunks {
            match chunk {
                Chunk::ToolInput { id, .. } => {
                    prop_assert!(!ended.contains(id), "{id} goes on");
                    begun.insert(id.clone());
                }
                Chunk::ToolCall { id, .. } => prop_assert!(ended.insert(id.clone()), "{id} ends twice"),
                Chunk::Text(_) => prop_assert!(open.replace("text") != Some("thought")),
                Chunk::Reasoning(_) => prop_assert!(open.replace("thought") != Some("text")),
                Chunk::TextEnd { .. } => prop_assert_eq!(open.take(), Some("text")),
                Chunk::ReasoningEnd { .. } => prop_assert!(open.take() != Some("text")),
                Chunk::Vendor(_) | Chunk::Usage(_) | Chunk::Finish(_) => {}
            }
        }
        prop_assert_eq!(open, None);
        prop_assert_eq!(begun, ended);
    }

    #[test]
    fn foreign_bytes_do_no_harm(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let (chunks, error) = read([&bytes[..]]);
        prop_assert!(error.is_some() || matches!(chunks.last(), Some(Chunk::Finish(_))));
    }
}

const END: &str = "data: {\"type\":\"response.completed\",\"response\":{}}\n\n";

#[test]
fn more_calls_than_any_answer_has_are_an_error() {
    let call = |at: usize| {
        format!(
            "data: {{\"type\":\"response.output_item.done\",\"output_index\":{at},\"item\":{{\"type\":\"function_call\",\"call_id\":\"c{at}\",\"name\":\"ls\"}}}}\n\n"
        )
    };
    let body = |calls: usize| (0..calls).map(call).collect::<String>() + END;
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
fn more_open_items_than_any_answer_has_are_an_error() {
    let body = |items: usize| {
        let begin = |at| {
            format!(
                "data: {{\"type\":\"response.output_item.added\",\"output_index\":{at},\"item\":{{\"type\":\"x\"}}}}\n\n"
            )
        };
        (0..items).map(begin).collect::<String>() + END
    };
    let (chunks, error) = read([body(256).as_bytes()]);
    assert!(error.is_none() && chunks.len() == 1, "{error:?} {chunks:?}");
    let (_, error) = read([body(257).as_bytes()]);
    assert!(matches!(error, Some(LlmError::Malformed { .. })), "{error:?}");
}

#[test]
fn an_answer_has_a_bound() {
    let piece = "x".repeat(8 * 1024 * 1024);
    let endless = |event: String| {
        let event = format!("data: {event}\n\n");
        let (_, error) = read(std::iter::repeat_n(event.as_bytes(), 9));
        assert!(matches!(error, Some(LlmError::Malformed { .. })), "{error:?}");
    };
    endless(format!(r#"{{"type":"response.output_text.delta","output_index":0,"delta":"{piece}"}}"#));
    endless(format!(r#"{{"type":"response.output_item.added","output_index":0,"item":{{"type":"x","x":"{piece}"}}}}"#));
    endless(format!(r#"{{"type":"response.output_item.done","output_index":0,"item":{{"type":"x","x":"{piece}"}}}}"#));
    endless(format!(r#"{{"type":"response.function_call_arguments.done","output_index":0,"arguments":"{piece}"}}"#));
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
    let text = format!("{server:?} {:?}", Responses::new(&server).unwrap());
    for secret in ["pass", "query", "own-key", "header-key"] {
        assert!(!text.contains(secret), "{secret} in {text}");
    }
}

#[test]
fn a_message_is_written_once() {
    let base_url = "http://127.0.0.1:9/v1".to_owned();
    let provider = Responses::new(&Server { provider: "v".to_owned(), base_url, ..Server::default() }).unwrap();
    let request = request();
    drop(provider.clone().stream(request.clone()));
    assert_eq!(provider.written.of(false).kept(&request), request.messages.len());
}
