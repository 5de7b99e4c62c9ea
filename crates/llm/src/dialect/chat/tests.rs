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
        include_str!(concat!("../fixtures/chat/", $name, ".sse"))
    };
}

#[test]
fn half_a_letter_costs_no_event() {
    check(
        fixture!("halves_of_letters"),
        expect![[r#"
        Reasoning("😀 �")
        ReasoningEnd { item: Some(Item { vendor: "v", model: "m1", value: Object {"field": String("reasoning_content")} }) }
        Text("ok �")
        Text("� end")
        TextEnd { item: None }
        Finish(Stop)
    "#]],
    );
}

#[test]
fn words_come_as_they_are_written() {
    check(
        fixture!("text"),
        expect![[r#"
            Text("Grüße, ")
            Text("Welt 😀")
            TextEnd { item: None }
            Usage(Usage { total: Some(150), input: 20, output: 10, reasoning: 20, cache_read: 100, cache_write: 0 })
            Finish(Stop)
        "#]],
    );
    check(
        fixture!("crlf"),
        expect![[r#"
            Text("Grüße, ")
            Text("Welt 😀")
            TextEnd { item: None }
            Usage(Usage { total: Some(150), input: 20, output: 10, reasoning: 20, cache_read: 100, cache_write: 0 })
            Finish(Stop)
        "#]],
    );
    check(
        fixture!("no_blank_line_at_the_end"),
        expect![[r#"
            Text("Hi.")
            TextEnd { item: None }
            Finish(Stop)
        "#]],
    );
    check(
        fixture!("refusal"),
        expect![[r#"
            Text("I can't ")
            Text("do that.")
            TextEnd { item: None }
            Finish(Stop)
        "#]],
    );
}

#[test]
fn thinking_keeps_its_place_and_its_item() {
    check(
        fixture!("thinking_then_text_then_call"),
        expect![[r#"
            Reasoning("Let me ")
            Reasoning("think.")
            ReasoningEnd { item: Some(Item { vendor: "v", model: "m1", value: Object {"field": String("reasoning_content")} }) }
            Text("I will look.")
            TextEnd { item: None }
            ToolInput { id: "call_a", name: "read", delta: "" }
            ToolInput { id: "call_a", name: "read", delta: "{\"file" }
            ToolInput { id: "call_a", name: "read", delta: "Path\":\"a.rs\"}" }
            ToolCall { id: "call_a", name: "read", arguments: "{\"filePath\":\"a.rs\"}", item: None }
            Usage(Usage { total: Some(13), input: 9, output: 4, reasoning: 0, cache_read: 0, cache_write: 0 })
            Finish(ToolCalls)
        "#]],
    );
    check(
        fixture!("reasoning_field"),
        expect![[r#"
            Reasoning("Hm.")
            ReasoningEnd { item: Some(Item { vendor: "v", model: "m1", value: Object {"field": String("reasoning")} }) }
            Text("Yes.")
            TextEnd { item: None }
            Reasoning("Wait.")
            ReasoningEnd { item: Some(Item { vendor: "v", model: "m1", value: Object {"field": String("reasoning")} }) }
            Text("No.")
            TextEnd { item: None }
            Finish(Stop)
        "#]],
    );
    check(
        fixture!("reasoning_details"),
        expect![[r#"
            Reasoning("First")
            Reasoning(" second")
            ReasoningEnd { item: Some(Item { vendor: "v", model: "m1", value: Object {"field": String("reasoning_details"), "details": Array [Object {"type": String("reasoning.text"), "text": String("First second"), "format": String("x-v1"), "index": Number(0), "signature": String("U0lH")}, Object {"type": String("reasoning.encrypted"), "data": String("RU5D"), "id": String("rs_1"), "format": String("x-v1"), "index": Number(1)}]} }) }
            Text("Done.")
            TextEnd { item: None }
            Finish(Stop)
        "#]],
    );
    check(
        fixture!("only_encrypted_details"),
        expect![[r#"
            ReasoningEnd { item: Some(Item { vendor: "v", model: "m1", value: Object {"field": String("reasoning_details"), "details": Array [Object {"type": String("reasoning.encrypted"), "data": String("RU5D"), "index": Number(0)}]} }) }
            Text("Done.")
            TextEnd { item: None }
            Finish(Stop)
        "#]],
    );
    check(
        fixture!("parts_instead_of_a_string"),
        expect![[r#"
            Reasoning("Hm.")
            ReasoningEnd { item: None }
            Text("Yes.")
            TextEnd { item: None }
            Finish(Stop)
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
            ToolInput { id: "call_b", name: "grep", delta: "}" }
            ToolCall { id: "call_a", name: "read", arguments: "{\"filePath\":\"a\"}", item: None }
            ToolCall { id: "call_b", name: "grep", arguments: "{\"pattern\":\"x\"}", item: None }
            Finish(ToolCalls)
        "#]],
    );
    check(
        fixture!("calls_without_ids"),
        expect![[r#"
            ToolInput { id: "call_2_1", name: "ls", delta: "{}" }
            ToolInput { id: "call_2_2", name: "pwd", delta: "{}" }
            ToolCall { id: "call_2_1", name: "ls", arguments: "{}", item: None }
            ToolCall { id: "call_2_2", name: "pwd", arguments: "{}", item: None }
            Finish(ToolCalls)
        "#]],
    );
    check(
        fixture!("calls_with_one_id"),
        expect![[r#"
            ToolInput { id: "same", name: "ls", delta: "{}" }
            ToolInput { id: "same_2", name: "pwd", delta: "{}" }
            ToolCall { id: "same", name: "ls", arguments: "{}", item: None }
            ToolCall { id: "same_2", name: "pwd", arguments: "{}", item: None }
            Finish(ToolCalls)
        "#]],
    );
    check(
        fixture!("calls_with_one_index"),
        expect![[r#"
            ToolInput { id: "a1", name: "ls", delta: "{}" }
            ToolInput { id: "a2", name: "pwd", delta: "{}" }
            ToolCall { id: "a1", name: "ls", arguments: "{}", item: None }
            ToolCall { id: "a2", name: "pwd", arguments: "{}", item: None }
            Finish(ToolCalls)
        "#]],
    );
    check(
        fixture!("calls_without_index"),
        expect![[r#"
            ToolInput { id: "a1", name: "ls", delta: "{\"path\":" }
            ToolInput { id: "a1", name: "ls", delta: "\".\"}" }
            ToolInput { id: "a2", name: "pwd", delta: "{}" }
            ToolInput { id: "call_2_3", name: "id", delta: "{" }
            ToolInput { id: "call_2_3", name: "id", delta: "}" }
            ToolCall { id: "a1", name: "ls", arguments: "{\"path\":\".\"}", item: None }
            ToolCall { id: "a2", name: "pwd", arguments: "{}", item: None }
            ToolCall { id: "call_2_3", name: "id", arguments: "{}", item: None }
            Finish(ToolCalls)
        "#]],
    );
    check(
        fixture!("a_fresh_id_with_every_piece"),
        expect![[r#"
            ToolInput { id: "r1", name: "ls", delta: "{\"path\"" }
            ToolInput { id: "r1", name: "ls", delta: ":\".\"}" }
            ToolCall { id: "r1", name: "ls", arguments: "{\"path\":\".\"}", item: None }
            Finish(ToolCalls)
        "#]],
    );
}

#[test]
fn names_and_arguments_come_in_many_forms() {
    check(
        fixture!("name_late_and_repeated"),
        expect![[r#"
            ToolInput { id: "c1", name: "ls", delta: "{\"a\":1" }
            ToolInput { id: "c1", name: "ls", delta: "}" }
            ToolCall { id: "c1", name: "ls", arguments: "{\"a\":1}", item: None }
            Finish(ToolCalls)
        "#]],
    );
    check(
        fixture!("name_never"),
        expect![[r#"
            ToolInput { id: "c1", name: "", delta: "{}" }
            ToolCall { id: "c1", name: "", arguments: "{}", item: None }
            Finish(ToolCalls)
        "#]],
    );
    check(
        fixture!("arguments_as_an_object"),
        expect![[r#"
            ToolInput { id: "c1", name: "ls", delta: "{\"b\":1,\"a\":2}" }
            ToolCall { id: "c1", name: "ls", arguments: "{\"b\":1,\"a\":2}", item: None }
            Finish(ToolCalls)
        "#]],
    );
    check(
        fixture!("arguments_broken"),
        expect![[r#"
            ToolInput { id: "c1", name: "ls", delta: "{\"path\": \"a" }
            ToolCall { id: "c1", name: "ls", arguments: "{\"path\": \"a", item: None }
            Finish(Length)
        "#]],
    );
}

#[test]
fn what_says_nothing_opens_nothing() {
    check(
        fixture!("empty_deltas"),
        expect![[r#"
            Finish(Stop)
        "#]],
    );
    check(
        fixture!("comments_and_unknown"),
        expect![[r#"
            Text("Hi.")
            TextEnd { item: None }
            Finish(Stop)
        "#]],
    );
}

#[test]
fn usage_is_told_once_in_kinds_that_do_not_overlap() {
    check(
        fixture!("usage_in_several_chunks"),
        expect![[r#"
            Text("Hi.")
            TextEnd { item: None }
            Usage(Usage { total: None, input: 6, output: 3, reasoning: 0, cache_read: 4, cache_write: 0 })
            Finish(Stop)
        "#]],
    );
    check(
        fixture!("usage_null_and_none"),
        expect![[r#"
            Text("Hi.")
            TextEnd { item: None }
            Finish(Stop)
        "#]],
    );
    check(
        fixture!("usage_with_thinking_beside"),
        expect![[r#"
            Text("Hi.")
            TextEnd { item: None }
            Usage(Usage { total: Some(20), input: 3, output: 3, reasoning: 7, cache_read: 2, cache_write: 5 })
            Finish(Stop)
        "#]],
    );
}

#[test]
fn every_end_has_its_word() {
    check(
        fixture!("finish_length"),
        expect![[r#"
            Text("So")
            TextEnd { item: None }
            Finish(Length)
        "#]],
    );
    check(
        fixture!("finish_filter"),
        expect![[r#"
            Text("So")
            TextEnd { item: None }
            Finish(ContentFilter)
        "#]],
    );
    check(
        fixture!("finish_function_call"),
        expect![[r#"
            ToolInput { id: "c1", name: "ls", delta: "{}" }
            ToolCall { id: "c1", name: "ls", arguments: "{}", item: None }
            Finish(ToolCalls)
        "#]],
    );
    check(
        fixture!("finish_calls_without_a_call"),
        expect![[r#"
            Text("So")
            TextEnd { item: None }
            Finish(Other("tool_calls"))
        "#]],
    );
    check(
        fixture!("finish_unknown_word"),
        expect![[r#"
            Text("So")
            TextEnd { item: None }
            Finish(Other("insufficient_system_resource"))
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
        fixture!("done_missing"),
        expect![[r#"
            Text("So")
            TextEnd { item: None }
            Finish(Stop)
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
            ToolInput { id: "c1", name: "write", delta: "{\"content\":\"half" }
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
            error: v failed: The server is overloaded
        "#]],
    );
    check(
        fixture!("error_rate_limit"),
        expect![[r#"
            error: v limits how often it may be asked: Rate limit reached
        "#]],
    );
    check(
        fixture!("error_too_long"),
        expect![[r#"
            error: the conversation is too long for m1: This model's maximum context length is 8192 tokens
        "#]],
    );
    check(
        fixture!("error_quota"),
        expect![[r#"
            error: v says that the quota is used up: You exceeded your current quota
        "#]],
    );
    check(
        fixture!("error_auth"),
        expect![[r#"
            error: v rejected the credentials: Incorrect API key provided: …
        "#]],
    );
    check(
        fixture!("error_number_in_choices"),
        expect![[r#"
            error: v failed: Provider disconnected
        "#]],
    );
    check(
        fixture!("error_event"),
        expect![[r#"
            error: v failed: broken pipe
        "#]],
    );
    check(
        fixture!("error_as_text"),
        expect![[r#"
            error: v did not take the request: out of memory
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
    fixture!("halves_of_letters"),
    fixture!("text"),
    fixture!("crlf"),
    fixture!("no_blank_line_at_the_end"),
    fixture!("refusal"),
    fixture!("thinking_then_text_then_call"),
    fixture!("reasoning_field"),
    fixture!("reasoning_details"),
    fixture!("only_encrypted_details"),
    fixture!("parts_instead_of_a_string"),
    fixture!("parallel_calls_interleaved"),
    fixture!("calls_without_ids"),
    fixture!("calls_with_one_id"),
    fixture!("calls_with_one_index"),
    fixture!("calls_without_index"),
    fixture!("a_fresh_id_with_every_piece"),
    fixture!("name_late_and_repeated"),
    fixture!("name_never"),
    fixture!("arguments_as_an_object"),
    fixture!("arguments_broken"),
    fixture!("empty_deltas"),
    fixture!("comments_and_unknown"),
    fixture!("usage_in_several_chunks"),
    fixture!("usage_null_and_none"),
    fixture!("usage_with_thinking_beside"),
    fixture!("finish_length"),
    fixture!("finish_filter"),
    fixture!("finish_function_call"),
    fixture!("finish_calls_without_a_call"),
    fixture!("finish_unknown_word"),
    fixture!("finish_missing"),
    fixture!("done_missing"),
    fixture!("cut_between_events"),
    fixture!("cut_in_an_event"),
    fixture!("cut_in_a_call"),
    fixture!("nothing"),
    fixture!("error_overloaded"),
    fixture!("error_rate_limit"),
    fixture!("error_too_long"),
    fixture!("error_quota"),
    fixture!("error_auth"),
    fixture!("error_number_in_choices"),
    fixture!("error_event"),
    fixture!("error_as_text"),
    fixture!("not_json"),
];

#[test]
fn every_fixture_is_cut_up() {
    complete("chat", ALL);
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
    fn foreign_bytes_do_no_harm(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        // Whatever it says, it ends in a finish or in an error.
        let (chunks, error) = read([&bytes[..]]);
        prop_assert!(error.is_some() || matches!(chunks.last(), Some(Chunk::Finish(_))));
    }
}

#[test]
fn more_calls_than_any_answer_has_are_an_error() {
    let call = |at: usize| {
        format!(
            r#"data: {{"choices":[{{"delta":{{"tool_calls":[{{"index":{at},"id":"c{at}","function":{{"name":"ls","arguments":"{{}}"}}}}]}}}}]}}"#
        )
    };
    let body = |calls: usize| (0..calls).map(|at| call(at) + "\n\n").collect::<String>() + "data: [DONE]\n\n";
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
    let piece = "x".repeat(8 * 1024 * 1024);
    for delta in [
        format!(r#"{{"content":"{piece}"}}"#),
        format!(r#"{{"content":[{{"type":"text","text":"{piece}"}}]}}"#),
        format!(r#"{{"refusal":"{piece}"}}"#),
        format!(r#"{{"reasoning_content":"{piece}"}}"#),
        format!(r#"{{"reasoning_details":[{{"type":"x","data":"{piece}"}}]}}"#),
        format!(r#"{{"tool_calls":[{{"index":0,"function":{{"name":"ls","arguments":"{piece}"}}}}]}}"#),
        format!(r#"{{"tool_calls":[{{"index":0,"id":"{piece}"}}]}}"#),
    ] {
        let event = format!("data: {{\"choices\":[{{\"delta\":{delta}}}]}}\n\n");
        let (chunks, error) = read(std::iter::repeat_n(event.as_bytes(), 9));
        assert!(matches!(error, Some(LlmError::Malformed { .. })), "{} {error:?}", &delta[..30]);
        assert!(chunks.len() <= 8);
    }
}

#[test]
fn nothing_secret_shows_in_the_configuration() {
    let server = Server {
        provider: "v".to_owned(),
        base_url: "https://me:pass@api.example/v1?key=query".to_owned(),
        key: Some(Key::Plain(Secret::new("bearer-key"))),
        headers: vec![("x-other".to_owned(), "header-key".to_owned())],
        ..Server::default()
    };
    let text = format!("{server:?} {:?}", Chat::new(&server, ChatManners::default()).unwrap());
    for secret in ["pass", "query", "bearer-key", "header-key"] {
        assert!(!text.contains(secret), "{secret} in {text}");
    }
}

#[test]
fn a_message_is_written_once() {
    let base_url = "http://127.0.0.1:9/v1".to_owned();
    let server = Server { provider: "v".to_owned(), base_url, ..Server::default() };
    let provider = Chat::new(&server, ChatManners::default()).unwrap();
    let request = request();
    drop(provider.clone().stream(request.clone()));
    assert_eq!(provider.written.kept(&request), request.messages.len());
}
