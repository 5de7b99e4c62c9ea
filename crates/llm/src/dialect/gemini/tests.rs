//! Recorded streams, one file for each oddity, and the same streams cut anywhere.

use std::time::Duration;

use expect_test::{Expect, expect};
use proptest::prelude::*;

use super::*;
use crate::dialect::streams::{complete, cut, play, request, same, small_pieces};
use crate::{AssistantPart, Key, Message, Secret};

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
        include_str!(concat!("../fixtures/gemini/", $name, ".sse"))
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
        Usage(Usage { total: Some(142), input: 20, output: 12, reasoning: 10, cache_read: 100, cache_write: 0 })
        Finish(Stop)
    "#]],
    );
    check(
        fixture!("line_feeds_alone"),
        expect![[r#"
        Text("Grüße, ")
        Text("Welt 😀")
        TextEnd { item: None }
        Usage(Usage { total: Some(142), input: 20, output: 12, reasoning: 10, cache_read: 100, cache_write: 0 })
        Finish(Stop)
    "#]],
    );
    check(
        fixture!("no_blank_line_at_the_end"),
        expect![[r#"
        Text("Hi.")
        TextEnd { item: None }
        Usage(Usage { total: Some(142), input: 20, output: 12, reasoning: 10, cache_read: 100, cache_write: 0 })
        Finish(Stop)
    "#]],
    );
    check(
        fixture!("done_behind"),
        expect![[r#"
        Text("Hi.")
        TextEnd { item: None }
        Usage(Usage { total: Some(142), input: 20, output: 12, reasoning: 10, cache_read: 100, cache_write: 0 })
        Finish(Stop)
    "#]],
    );
    check(
        fixture!("finish_alone"),
        expect![[r#"
        Text("Hi.")
        TextEnd { item: None }
        Usage(Usage { total: Some(142), input: 20, output: 12, reasoning: 10, cache_read: 100, cache_write: 0 })
        Finish(Stop)
    "#]],
    );
    check(
        fixture!("answers_in_a_list"),
        expect![[r#"
        Text("Hi.")
        Text(" There.")
        TextEnd { item: None }
        Usage(Usage { total: Some(142), input: 20, output: 12, reasoning: 10, cache_read: 100, cache_write: 0 })
        Finish(Stop)
    "#]],
    );
}

#[test]
fn thinking_words_and_calls_keep_their_order() {
    check(
        fixture!("thinking_then_text_then_call"),
        expect![[r#"
        Reasoning("**Plan**\n\n")
        Reasoning("Look first.")
        ReasoningEnd { item: Some(Item { vendor: "v", model: "m1", value: Object {"thought": Bool(true)} }) }
        Text("I will ")
        Text("look.")
        TextEnd { item: None }
        ToolInput { id: "call_2_1", name: "read", delta: "{\"filePath\": \"a.rs\", \"lines\": [1, 2]}" }
        ToolCall { id: "call_2_1", name: "read", arguments: "{\"filePath\": \"a.rs\", \"lines\": [1, 2]}", item: Some(Item { vendor: "v", model: "m1", value: Object {"thoughtSignature": String("U0lHTkFU")} }) }
        Usage(Usage { total: Some(142), input: 20, output: 12, reasoning: 10, cache_read: 100, cache_write: 0 })
        Finish(ToolCalls)
    "#]],
    );
    check(
        fixture!("text_behind_a_call"),
        expect![[r#"
        ToolInput { id: "call_2_1", name: "ls", delta: "{}" }
        ToolCall { id: "call_2_1", name: "ls", arguments: "{}", item: None }
        Text("Done.")
        TextEnd { item: None }
        Usage(Usage { total: Some(142), input: 20, output: 12, reasoning: 10, cache_read: 100, cache_write: 0 })
        Finish(ToolCalls)
    "#]],
    );
}

#[test]
fn a_signature_stays_with_its_part() {
    check(
        fixture!("signature_with_the_last_words"),
        expect![[r#"
        Text("So ")
        Text("it is.")
        TextEnd { item: Some(Item { vendor: "v", model: "m1", value: Object {"thoughtSignature": String("U0lH"), "at": Number(3)} }) }
        Usage(Usage { total: Some(142), input: 20, output: 12, reasoning: 10, cache_read: 100, cache_write: 0 })
        Finish(Stop)
    "#]],
    );
    check(
        fixture!("signature_with_all_words"),
        expect![[r#"
        Text("So it is.")
        TextEnd { item: Some(Item { vendor: "v", model: "m1", value: Object {"thoughtSignature": String("U0lH")} }) }
        Usage(Usage { total: Some(142), input: 20, output: 12, reasoning: 10, cache_read: 100, cache_write: 0 })
        Finish(Stop)
    "#]],
    );
    check(
        fixture!("signature_on_empty_words"),
        expect![[r#"
        Text("So it is.")
        TextEnd { item: Some(Item { vendor: "v", model: "m1", value: Object {"thoughtSignature": String("U0lH"), "at": Number(9)} }) }
        Usage(Usage { total: Some(142), input: 20, output: 12, reasoning: 10, cache_read: 100, cache_write: 0 })
        Finish(Stop)
    "#]],
    );
    check(
        fixture!("signature_alone"),
        expect![[r#"
        Text("So it is.")
        TextEnd { item: Some(Item { vendor: "v", model: "m1", value: Object {"thoughtSignature": String("U0lH"), "at": Number(9)} }) }
        Usage(Usage { total: Some(142), input: 20, output: 12, reasoning: 10, cache_read: 100, cache_write: 0 })
        Finish(Stop)
    "#]],
    );
    check(
        fixture!("signature_behind_a_call"),
        expect![[r#"
        ToolInput { id: "call_2_1", name: "ls", delta: "{}" }
        ToolCall { id: "call_2_1", name: "ls", arguments: "{}", item: None }
        Vendor(Item { vendor: "v", model: "m1", value: Object {"part": Object {"text": String(""), "thoughtSignature": String("U0lH")}} })
        Usage(Usage { total: Some(142), input: 20, output: 12, reasoning: 10, cache_read: 100, cache_write: 0 })
        Finish(ToolCalls)
    "#]],
    );
    check(
        fixture!("signature_of_a_thought"),
        expect![[r#"
        Reasoning("Hm. ")
        Reasoning("Yes.")
        ReasoningEnd { item: Some(Item { vendor: "v", model: "m1", value: Object {"thought": Bool(true), "thoughtSignature": String("VEg="), "at": Number(4)} }) }
        Text("So.")
        TextEnd { item: None }
        Usage(Usage { total: Some(142), input: 20, output: 12, reasoning: 10, cache_read: 100, cache_write: 0 })
        Finish(Stop)
    "#]],
    );
    check(
        fixture!("signature_of_an_empty_thought"),
        expect![[r#"
        Vendor(Item { vendor: "v", model: "m1", value: Object {"part": Object {"text": String(""), "thoughtSignature": String("VEg="), "thought": Bool(true)}} })
        Text("So.")
        TextEnd { item: None }
        Usage(Usage { total: Some(142), input: 20, output: 12, reasoning: 10, cache_read: 100, cache_write: 0 })
        Finish(Stop)
    "#]],
    );
    check(
        fixture!("words_behind_a_signature"),
        expect![[r#"
        Text("One.")
        TextEnd { item: Some(Item { vendor: "v", model: "m1", value: Object {"thoughtSignature": String("QQ==")} }) }
        Text("Two.")
        TextEnd { item: Some(Item { vendor: "v", model: "m1", value: Object {"thoughtSignature": String("Qg==")} }) }
        Usage(Usage { total: Some(142), input: 20, output: 12, reasoning: 10, cache_read: 100, cache_write: 0 })
        Finish(Stop)
    "#]],
    );
}

#[test]
fn calls_come_in_one_piece() {
    check(
        fixture!("parallel_calls_in_one_piece"),
        expect![[r#"
        ToolInput { id: "call_2_1", name: "read", delta: "{\"filePath\": \"ü.rs\"}" }
        ToolCall { id: "call_2_1", name: "read", arguments: "{\"filePath\": \"ü.rs\"}", item: Some(Item { vendor: "v", model: "m1", value: Object {"thoughtSignature": String("U0lH")} }) }
        ToolInput { id: "call_2_2", name: "read", delta: "{\"filePath\": \"b.rs\"}" }
        ToolCall { id: "call_2_2", name: "read", arguments: "{\"filePath\": \"b.rs\"}", item: None }
        ToolInput { id: "call_2_3", name: "ls", delta: "{}" }
        ToolCall { id: "call_2_3", name: "ls", arguments: "{}", item: None }
        Usage(Usage { total: Some(142), input: 20, output: 12, reasoning: 10, cache_read: 100, cache_write: 0 })
        Finish(ToolCalls)
    "#]],
    );
    check(
        fixture!("parallel_calls_in_several_pieces"),
        expect![[r#"
        ToolInput { id: "call_2_1", name: "read", delta: "{\"filePath\": \"a.rs\"}" }
        ToolCall { id: "call_2_1", name: "read", arguments: "{\"filePath\": \"a.rs\"}", item: Some(Item { vendor: "v", model: "m1", value: Object {"thoughtSignature": String("U0lH")} }) }
        ToolInput { id: "call_2_2", name: "read", delta: "{\"filePath\": \"b.rs\"}" }
        ToolCall { id: "call_2_2", name: "read", arguments: "{\"filePath\": \"b.rs\"}", item: None }
        Usage(Usage { total: Some(142), input: 20, output: 12, reasoning: 10, cache_read: 100, cache_write: 0 })
        Finish(ToolCalls)
    "#]],
    );
    check(
        fixture!("calls_with_ids"),
        expect![[r#"
        ToolInput { id: "fc-1", name: "ls", delta: "{}" }
        ToolCall { id: "fc-1", name: "ls", arguments: "{}", item: None }
        ToolInput { id: "fc-2", name: "ls", delta: "{}" }
        ToolCall { id: "fc-2", name: "ls", arguments: "{}", item: None }
        Usage(Usage { total: Some(142), input: 20, output: 12, reasoning: 10, cache_read: 100, cache_write: 0 })
        Finish(ToolCalls)
    "#]],
    );
    check(
        fixture!("calls_with_one_id"),
        expect![[r#"
        ToolInput { id: "fc-1", name: "ls", delta: "{}" }
        ToolCall { id: "fc-1", name: "ls", arguments: "{}", item: None }
        ToolInput { id: "fc-1_2", name: "ls", delta: "{}" }
        ToolCall { id: "fc-1_2", name: "ls", arguments: "{}", item: None }
        Usage(Usage { total: Some(142), input: 20, output: 12, reasoning: 10, cache_read: 100, cache_write: 0 })
        Finish(ToolCalls)
    "#]],
    );
    check(
        fixture!("call_without_arguments"),
        expect![[r#"
        ToolInput { id: "call_2_1", name: "ls", delta: "{}" }
        ToolCall { id: "call_2_1", name: "ls", arguments: "{}", item: None }
        ToolInput { id: "call_2_2", name: "ls", delta: "{}" }
        ToolCall { id: "call_2_2", name: "ls", arguments: "{}", item: None }
        Usage(Usage { total: Some(142), input: 20, output: 12, reasoning: 10, cache_read: 100, cache_write: 0 })
        Finish(ToolCalls)
    "#]],
    );
    check(
        fixture!("arguments_as_they_are_written"),
        expect![[r#"
        ToolInput { id: "call_2_1", name: "write", delta: "{\"b\": 1.0, \"a\": 12345678901234567890, \"a\": \"\\u00fc\"}" }
        ToolCall { id: "call_2_1", name: "write", arguments: "{\"b\": 1.0, \"a\": 12345678901234567890, \"a\": \"\\u00fc\"}", item: None }
        Finish(ToolCalls)
    "#]],
    );
    check(
        fixture!("arguments_as_text"),
        expect![[r#"
        ToolInput { id: "call_2_1", name: "ls", delta: "{\"path\":\".\"}" }
        ToolCall { id: "call_2_1", name: "ls", arguments: "{\"path\":\".\"}", item: None }
        ToolInput { id: "call_2_2", name: "ls", delta: "{broken" }
        ToolCall { id: "call_2_2", name: "ls", arguments: "{broken", item: None }
        Usage(Usage { total: Some(142), input: 20, output: 12, reasoning: 10, cache_read: 100, cache_write: 0 })
        Finish(ToolCalls)
    "#]],
    );
    check(
        fixture!("name_never"),
        expect![[r#"
        ToolInput { id: "call_2_1", name: "", delta: "{\"a\": 1}" }
        ToolCall { id: "call_2_1", name: "", arguments: "{\"a\": 1}", item: None }
        Usage(Usage { total: Some(142), input: 20, output: 12, reasoning: 10, cache_read: 100, cache_write: 0 })
        Finish(ToolCalls)
    "#]],
    );
    check(
        fixture!("call_of_an_unknown_form"),
        expect![[r#"
        Text("Hi.")
        TextEnd { item: None }
        Usage(Usage { total: Some(142), input: 20, output: 12, reasoning: 10, cache_read: 100, cache_write: 0 })
        Finish(Stop)
    "#]],
    );
}

#[test]
fn parts_that_only_the_vendor_knows_are_kept() {
    check(
        fixture!("code_of_the_vendor"),
        expect![[r#"
        Text("Let me see.")
        TextEnd { item: None }
        Vendor(Item { vendor: "v", model: "m1", value: Object {"part": Object {"executableCode": Object {"language": String("PYTHON"), "code": String("print(1)")}, "thoughtSignature": String("Q09E")}} })
        Vendor(Item { vendor: "v", model: "m1", value: Object {"part": Object {"codeExecutionResult": Object {"outcome": String("OUTCOME_OK"), "output": String("1\n")}}} })
        Text("One.")
        TextEnd { item: None }
        Usage(Usage { total: Some(142), input: 20, output: 12, reasoning: 10, cache_read: 100, cache_write: 0 })
        Finish(Stop)
    "#]],
    );
    check(
        fixture!("picture"),
        expect![[r#"
        Vendor(Item { vendor: "v", model: "m1", value: Object {"part": Object {"inlineData": Object {"mimeType": String("image/png"), "data": String("AAAA")}, "thoughtSignature": String("SU1H")}} })
        Usage(Usage { total: Some(142), input: 20, output: 12, reasoning: 10, cache_read: 100, cache_write: 0 })
        Finish(Stop)
    "#]],
    );
    check(
        fixture!("unknown_part"),
        expect![[r#"
        Vendor(Item { vendor: "v", model: "m1", value: Object {"part": Object {"hologram": Object {"data": String("x")}}} })
        Text("Hi.")
        TextEnd { item: None }
        Usage(Usage { total: Some(142), input: 20, output: 12, reasoning: 10, cache_read: 100, cache_write: 0 })
        Finish(Stop)
    "#]],
    );
}

#[test]
fn what_says_nothing_does_no_harm() {
    check(
        fixture!("parts_that_say_nothing"),
        expect![[r#"
        Text("Hi.")
        TextEnd { item: None }
        Usage(Usage { total: Some(142), input: 20, output: 12, reasoning: 10, cache_read: 100, cache_write: 0 })
        Finish(Stop)
    "#]],
    );
    check(
        fixture!("unknown_events"),
        expect![[r#"
        Text("Hi.")
        TextEnd { item: None }
        Usage(Usage { total: Some(142), input: 20, output: 12, reasoning: 10, cache_read: 100, cache_write: 0 })
        Finish(Stop)
    "#]],
    );
    check(
        fixture!("two_answers"),
        expect![[r#"
        Text("Hi.")
        TextEnd { item: None }
        Finish(Stop)
    "#]],
    );
}

#[test]
fn usage_comes_with_each_piece_and_the_last_counts() {
    check(
        fixture!("usage_never"),
        expect![[r#"
        Text("Hi.")
        TextEnd { item: None }
        Finish(Stop)
    "#]],
    );
    check(
        fixture!("usage_only_in_the_first"),
        expect![[r#"
        Text("Hi.")
        TextEnd { item: None }
        Usage(Usage { total: Some(142), input: 20, output: 12, reasoning: 10, cache_read: 100, cache_write: 0 })
        Finish(Stop)
    "#]],
    );
    check(
        fixture!("usage_of_tools"),
        expect![[r#"
        Text("Hi.")
        TextEnd { item: None }
        Usage(Usage { total: Some(52), input: 50, output: 2, reasoning: 0, cache_read: 0, cache_write: 0 })
        Finish(Stop)
    "#]],
    );
    check(
        fixture!("usage_that_cannot_be"),
        expect![[r#"
        Text("Hi.")
        TextEnd { item: None }
        Usage(Usage { total: None, input: 0, output: 2, reasoning: 0, cache_read: 30, cache_write: 0 })
        Finish(Stop)
    "#]],
    );
}

#[test]
fn the_reason_of_the_end_is_told() {
    check(
        fixture!("finish_max_tokens"),
        expect![[r#"
        Text("So")
        TextEnd { item: None }
        Usage(Usage { total: Some(142), input: 20, output: 12, reasoning: 10, cache_read: 100, cache_write: 0 })
        Finish(Length)
    "#]],
    );
    check(
        fixture!("finish_continuation"),
        expect![[r#"
        Text("So")
        TextEnd { item: None }
        Usage(Usage { total: Some(142), input: 20, output: 12, reasoning: 10, cache_read: 100, cache_write: 0 })
        Finish(Length)
    "#]],
    );
    check(
        fixture!("finish_safety"),
        expect![[r#"
        Text("So")
        TextEnd { item: None }
        Usage(Usage { total: Some(142), input: 20, output: 12, reasoning: 10, cache_read: 100, cache_write: 0 })
        Finish(ContentFilter)
    "#]],
    );
    check(
        fixture!("finish_recitation"),
        expect![[r#"
        Text("So")
        TextEnd { item: None }
        Usage(Usage { total: Some(142), input: 20, output: 12, reasoning: 10, cache_read: 100, cache_write: 0 })
        Finish(ContentFilter)
    "#]],
    );
    check(
        fixture!("finish_prohibited"),
        expect![[r#"
        Text("So")
        TextEnd { item: None }
        Usage(Usage { total: Some(142), input: 20, output: 12, reasoning: 10, cache_read: 100, cache_write: 0 })
        Finish(ContentFilter)
    "#]],
    );
    check(
        fixture!("finish_other"),
        expect![[r#"
        Text("So")
        TextEnd { item: None }
        Usage(Usage { total: Some(142), input: 20, output: 12, reasoning: 10, cache_read: 100, cache_write: 0 })
        Finish(Other("OTHER"))
    "#]],
    );
    check(
        fixture!("finish_unexpected_call"),
        expect![[r#"
        Text("So")
        TextEnd { item: None }
        Usage(Usage { total: Some(142), input: 20, output: 12, reasoning: 10, cache_read: 100, cache_write: 0 })
        Finish(Other("UNEXPECTED_TOOL_CALL"))
    "#]],
    );
    check(
        fixture!("finish_unspecified"),
        expect![[r#"
        Text("So")
        TextEnd { item: None }
        Usage(Usage { total: Some(142), input: 20, output: 12, reasoning: 10, cache_read: 100, cache_write: 0 })
        Finish(Unknown)
    "#]],
    );
    check(
        fixture!("finish_unspecified_with_a_call"),
        expect![[r#"
        ToolInput { id: "call_2_1", name: "ls", delta: "{}" }
        ToolCall { id: "call_2_1", name: "ls", arguments: "{}", item: None }
        Usage(Usage { total: Some(142), input: 20, output: 12, reasoning: 10, cache_read: 100, cache_write: 0 })
        Finish(ToolCalls)
    "#]],
    );
    check(
        fixture!("finish_function_call"),
        expect![[r#"
        ToolInput { id: "call_2_1", name: "ls", delta: "{\"path\":\"ü\"}" }
        ToolCall { id: "call_2_1", name: "ls", arguments: "{\"path\":\"ü\"}", item: None }
        Usage(Usage { total: Some(5), input: 3, output: 2, reasoning: 0, cache_read: 0, cache_write: 0 })
        Finish(ToolCalls)
    "#]],
    );
    check(
        fixture!("finish_unknown_word"),
        expect![[r#"
        Text("So")
        TextEnd { item: None }
        Usage(Usage { total: Some(142), input: 20, output: 12, reasoning: 10, cache_read: 100, cache_write: 0 })
        Finish(Other("TIRED"))
    "#]],
    );
    check(
        fixture!("prompt_blocked"),
        expect![[r#"
        Usage(Usage { total: Some(20), input: 20, output: 0, reasoning: 0, cache_read: 0, cache_write: 0 })
        Finish(ContentFilter)
    "#]],
    );
    check(
        fixture!("prompt_rated"),
        expect![[r#"
        Text("Hi.")
        TextEnd { item: None }
        Usage(Usage { total: Some(142), input: 20, output: 12, reasoning: 10, cache_read: 100, cache_write: 0 })
        Finish(Stop)
    "#]],
    );
}

#[test]
fn a_call_that_cannot_be_read_is_worth_another_try() {
    check(
        fixture!("finish_malformed_call"),
        expect![[r#"
            Text("So")
            TextEnd { item: None }
            Usage(Usage { total: Some(142), input: 20, output: 12, reasoning: 10, cache_read: 100, cache_write: 0 })
            error: v failed: the model wrote a call that cannot be read: Malformed function call: print(default_api.read(key='…'))
        "#]],
    );
    check(
        fixture!("finish_malformed_call_beside_a_call"),
        expect![[r#"
        ToolInput { id: "call_2_1", name: "ls", delta: "{}" }
        ToolCall { id: "call_2_1", name: "ls", arguments: "{}", item: None }
        Usage(Usage { total: Some(142), input: 20, output: 12, reasoning: 10, cache_read: 100, cache_write: 0 })
        Finish(ToolCalls)
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
        fixture!("cut_behind_a_call"),
        expect![[r#"
        ToolInput { id: "call_2_1", name: "ls", delta: "{}" }
        ToolCall { id: "call_2_1", name: "ls", arguments: "{}", item: None }
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
        fixture!("error_without_data"),
        expect![[r#"
        Text("So")
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
        error: v failed: The model is overloaded. Please try again later.
    "#]],
    );
    check(
        fixture!("error_in_a_list"),
        expect![[r#"
        error: v failed: An internal error has occurred.
    "#]],
    );
    check(
        fixture!("error_with_a_wait"),
        expect![[r#"
        error: v limits how often it may be asked: You exceeded your current quota.
    "#]],
    );
    check(
        fixture!("error_of_the_day"),
        expect![[r#"
        error: v says that the quota is used up: You exceeded your current quota.
    "#]],
    );
    check(
        fixture!("error_auth"),
        expect![[r#"
        error: v rejected the credentials: API key not valid. Please pass a valid API key.
    "#]],
    );
    check(
        fixture!("error_too_long"),
        expect![[r#"
        error: the conversation is too long for m1: The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).
    "#]],
    );
    check(
        fixture!("error_invalid"),
        expect![[r#"
        error: v did not take the request: Please use a valid role: user, model.
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

#[test]
fn a_named_wait_is_waited() {
    let error = |body: &str| read([body.as_bytes()]).1.unwrap();
    let wait = error(fixture!("error_with_a_wait")).retry_after(1, 0.0);
    assert_eq!(wait, Some(Duration::from_millis(34_070)));
    assert_eq!(error(fixture!("error_of_the_day")).retry_after(1, 0.0), None);
    assert!(error(fixture!("finish_malformed_call")).is_passing());
    assert!(error(fixture!("error_without_data")).is_passing());
}

/// What comes of a body and goes back to `model` of `vendor` in the next request: the parts of the model.
fn given_back(body: &str, vendor: &str, model: &str) -> Value {
    let (chunks, error) = read([body.as_bytes()]);
    assert!(error.is_none(), "{error:?}");
    let (mut parts, mut words) = (Vec::new(), String::new());
    for chunk in chunks {
        match chunk {
            Chunk::Text(text) | Chunk::Reasoning(text) => words.push_str(&text),
            Chunk::TextEnd { item } => parts.push(AssistantPart::Text { text: std::mem::take(&mut words), item }),
            Chunk::ReasoningEnd { item } => {
                parts.push(AssistantPart::Reasoning { text: std::mem::take(&mut words), item });
            }
            Chunk::ToolCall { id, name, arguments, item } => {
                parts.push(AssistantPart::ToolCall { id, name, arguments, item });
            }
            Chunk::Vendor(item) => parts.push(AssistantPart::Vendor { item }),
            Chunk::ToolInput { .. } | Chunk::Usage(_) | Chunk::Finish(_) => {}
        }
    }
    let (model, messages) = (model.to_owned(), vec![Message::Assistant { parts }.into()]);
    let body = body::bytes(
        vendor,
        Place::Own,
        &Request { model, messages: messages.into(), ..Request::default() },
        &Arc::default(),
    );
    let body: Value = serde_json::from_slice(&body).unwrap();
    body["contents"][1]["parts"].clone()
}

/// The parts of a recorded stream, empty words without a signature left out, words that follow each other put together.
fn sent(body: &str) -> Value {
    let mut all: Vec<Value> = Vec::new();
    for line in body.lines().filter_map(|line| line.strip_prefix("data: ")) {
        let event: Value = serde_json::from_str(line).unwrap();
        for part in event["candidates"][0]["content"]["parts"].as_array().into_iter().flatten() {
            let bare = |part: &Value| part["text"].is_string() && part.get("thoughtSignature").is_none();
            match all.last_mut() {
                _ if bare(part) && part["text"] == "" => {}
                Some(last) if bare(last) && bare(part) && last["thought"] == part["thought"] => {
                    let text = format!("{}{}", last["text"].as_str().unwrap(), part["text"].as_str().unwrap());
                    last["text"] = text.into();
                }
                _ => all.push(part.clone()),
            }
        }
    }
    all.into()
}

#[test]
fn an_answer_goes_back_as_it_came_to_whom_it_came_from() {
    for body in [
        fixture!("thinking_then_text_then_call"),
        fixture!("signature_with_the_last_words"),
        fixture!("signature_with_all_words"),
        fixture!("signature_on_empty_words"),
        fixture!("signature_behind_a_call"),
        fixture!("signature_of_a_thought"),
        fixture!("signature_of_an_empty_thought"),
        fixture!("words_behind_a_signature"),
        fixture!("parallel_calls_in_one_piece"),
        fixture!("calls_with_ids"),
        fixture!("code_of_the_vendor"),
        fixture!("picture"),
        fixture!("unknown_part"),
    ] {
        assert_eq!(given_back(body, "v", "m1"), sent(body));
        for (vendor, model) in [("w", "m1"), ("v", "m2")] {
            let others = given_back(body, vendor, model).to_string();
            for own in ["thought", "executableCode", "inlineData", "hologram"] {
                assert!(!others.contains(own), "{own} in {others}");
            }
        }
    }
}

/// Every fixture, so that one that no test names is cut up all the same.
const ALL: &[&str] = &[
    fixture!("text"),
    fixture!("line_feeds_alone"),
    fixture!("no_blank_line_at_the_end"),
    fixture!("done_behind"),
    fixture!("finish_alone"),
    fixture!("answers_in_a_list"),
    fixture!("thinking_then_text_then_call"),
    fixture!("text_behind_a_call"),
    fixture!("signature_with_the_last_words"),
    fixture!("signature_with_all_words"),
    fixture!("signature_on_empty_words"),
    fixture!("signature_alone"),
    fixture!("signature_behind_a_call"),
    fixture!("signature_of_a_thought"),
    fixture!("signature_of_an_empty_thought"),
    fixture!("words_behind_a_signature"),
    fixture!("parallel_calls_in_one_piece"),
    fixture!("parallel_calls_in_several_pieces"),
    fixture!("calls_with_ids"),
    fixture!("calls_with_one_id"),
    fixture!("call_without_arguments"),
    fixture!("arguments_as_they_are_written"),
    fixture!("arguments_as_text"),
    fixture!("name_never"),
    fixture!("call_of_an_unknown_form"),
    fixture!("code_of_the_vendor"),
    fixture!("picture"),
    fixture!("unknown_part"),
    fixture!("parts_that_say_nothing"),
    fixture!("unknown_events"),
    fixture!("two_answers"),
    fixture!("usage_never"),
    fixture!("usage_only_in_the_first"),
    fixture!("usage_of_tools"),
    fixture!("usage_that_cannot_be"),
    fixture!("finish_max_tokens"),
    fixture!("finish_continuation"),
    fixture!("finish_safety"),
    fixture!("finish_recitation"),
    fixture!("finish_prohibited"),
    fixture!("finish_other"),
    fixture!("finish_unexpected_call"),
    fixture!("finish_unspecified"),
    fixture!("finish_unspecified_with_a_call"),
    fixture!("finish_function_call"),
    fixture!("finish_unknown_word"),
    fixture!("prompt_blocked"),
    fixture!("prompt_rated"),
    fixture!("finish_malformed_call"),
    fixture!("finish_malformed_call_beside_a_call"),
    fixture!("cut_between_events"),
    fixture!("cut_in_an_event"),
    fixture!("cut_behind_a_call"),
    fixture!("nothing"),
    fixture!("error_without_data"),
    fixture!("error_overloaded"),
    fixture!("error_in_a_list"),
    fixture!("error_with_a_wait"),
    fixture!("error_of_the_day"),
    fixture!("error_auth"),
    fixture!("error_too_long"),
    fixture!("error_invalid"),
    fixture!("error_as_text"),
    fixture!("not_json"),
];

#[test]
fn every_fixture_is_cut_up() {
    complete("gemini", ALL);
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
    fn parts_in_any_order_make_whole_blocks(kinds in proptest::collection::vec(0usize..10, 0..20)) {
        let parts = [
            r#"{"text":"a"}"#, r#"{"text":""}"#, r#"{"text":"b","thoughtSignature":"S"}"#, r#"{"text":"","thoughtSignature":"S"}"#,
            r#"{"text":"t","thought":true}"#, r#"{"text":"","thought":true,"thoughtSignature":"S"}"#, r#"{"thoughtSignature":"S"}"#,
            r#"{"functionCall":{"name":"ls","args":{}}}"#, r#"{"x":1}"#, r#"{"text":7}"#,
        ];
        let body: String = kinds.iter().map(|kind| {
            format!("data: {{\"candidates\":[{{\"content\":{{\"parts\":[{}]}}}}]}}\r\n\r\n", parts[*kind])
        }).collect();
        let (chunks, error) = read([body.as_bytes(), b"data: {\"candidates\":[{\"finishReason\":\"STOP\"}]}\n\n"]);
        prop_assert!(error.is_none() && matches!(chunks.last(), Some(Chunk::Finish(_))));
        // A block ends before anything else comes.
        let mut open = None;
        for chunk in &chunks {
            match chunk {
                Chunk::Text(text) => {
                    prop_assert!(!text.is_empty() && open != Some(true));
                    open = Some(false);
                }
                Chunk::Reasoning(text) => {
                    prop_assert!(!text.is_empty() && open != Some(false));
                    open = Some(true);
                }
                Chunk::TextEnd { .. } => prop_assert_eq!(open.take(), Some(false)),
                Chunk::ReasoningEnd { .. } => prop_assert_eq!(open.take(), Some(true)),
                Chunk::ToolInput { .. } | Chunk::ToolCall { .. } | Chunk::Vendor(_) | Chunk::Usage(_) | Chunk::Finish(_) => {
                    prop_assert_eq!(open, None);
                }
            }
        }
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
            "data: {{\"candidates\":[{{\"content\":{{\"parts\":[{{\"functionCall\":{{\"name\":\"n{at}\"}}}}]}}}}]}}\n\n"
        )
    };
    let end = "data: {\"candidates\":[{\"finishReason\":\"STOP\"}]}\n\n";
    let body = |calls: usize| (0..calls).map(call).collect::<String>() + end;
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
fn an_answer_has_a_bound() {
    let event = format!(
        "data: {{\"candidates\":[{{\"content\":{{\"parts\":[{{\"text\":\"{}\"}}]}}}}]}}\n\n",
        "x".repeat(8 * 1024 * 1024)
    );
    let (_, error) = read(std::iter::repeat_n(event.as_bytes(), 9));
    assert!(matches!(error, Some(LlmError::Malformed { .. })), "{error:?}");
}

#[test]
fn a_model_is_asked_by_its_name() {
    let row = |model: &str, want: &str| assert_eq!(path(model), format!("{want}:streamGenerateContent?alt=sse"));
    row("gemini-3-pro", "models/gemini-3-pro");
    row("tunedModels/mine", "tunedModels/mine");
    row("models/gemini-2.5-pro", "models/gemini-2.5-pro");
    row("a?b#c", "models/a%3Fb%23c");
    row("../x", "__/x");
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
    let text = format!("{server:?} {:?}", Gemini::new(&server).unwrap());
    for secret in ["pass", "query", "own-key", "header-key"] {
        assert!(!text.contains(secret), "{secret} in {text}");
    }
}

#[test]
fn a_message_is_written_once() {
    let base_url = "http://127.0.0.1:9/v1".to_owned();
    let provider = Gemini::new(&Server { provider: "v".to_owned(), base_url, ..Server::default() }).unwrap();
    let request = request();
    drop(provider.clone().stream(request.clone()));
    let written = provider.written.of(&request, |message| panic!("{message:?} is not kept"));
    assert_eq!(written.len(), request.messages.len());
}
