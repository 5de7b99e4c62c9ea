//! Requests and the bodies they become.

use std::sync::Arc;

use expect_test::{Expect, expect};
use proptest::prelude::*;
use serde_json::Map;

use super::*;
use crate::dialect::chat::read::{DETAILS, FIELD};
use crate::dialect::histories::requests;
use crate::{AssistantPart, Content, Item, ToolResult};

fn listener(thinking_field: Option<&str>) -> Listener {
    Listener { provider: "v".to_owned(), thinking_field: thinking_field.map(str::to_owned), ..Listener::default() }
}

fn cold(thinking_field: Option<&str>, request: &Request) -> Vec<u8> {
    bytes(&listener(thinking_field), request, &Conversations::default()).into()
}

/// One line for each field, and for each message and tool.
#[track_caller]
fn check(request: &Request, want: Expect) {
    let body: Map<String, Value> = serde_json::from_slice(&cold(None, request)).unwrap();
    let mut lines = String::new();
    for (field, value) in &body {
        match value.as_array() {
            Some(list) => list.iter().for_each(|one| lines.push_str(&format!("{field}: {one}\n"))),
            None => lines.push_str(&format!("{field}: {value}\n")),
        }
    }
    want.assert_eq(&lines);
}

/// Only the messages.
#[track_caller]
fn says(messages: Vec<Message>, want: Expect) {
    let extra = ["model", "stream_options"].map(|name| (name.to_owned(), Value::Null)).into_iter().collect();
    let messages = messages.into_iter().map(Arc::new).collect();
    check(&Request { model: "m".to_owned(), messages, extra, ..Request::default() }, want);
}

fn user(content: Vec<Content>) -> Message {
    Message::User { content }
}

fn media(mime: &str, name: Option<&str>) -> Content {
    Content::Media { mime: mime.to_owned(), data: "AAAA".to_owned(), name: name.map(str::to_owned) }
}

fn text(text: &str) -> AssistantPart {
    AssistantPart::Text { text: text.to_owned(), item: None }
}

fn call(id: &str, arguments: &str) -> AssistantPart {
    AssistantPart::ToolCall { id: id.to_owned(), name: "read".to_owned(), arguments: arguments.to_owned(), item: None }
}

fn thought(text: &str, vendor: &str, model: &str, value: Value) -> AssistantPart {
    let item = Item { vendor: vendor.to_owned(), model: model.to_owned(), value };
    AssistantPart::Reasoning { text: text.to_owned(), item: Some(item) }
}

fn result(id: &str, content: Vec<Content>) -> ToolResult {
    ToolResult { id: id.to_owned(), name: "read".to_owned(), content, is_error: false }
}

fn spec() -> ToolSpec {
    ToolSpec {
        name: "read".to_owned(),
        description: "Reads.".to_owned(),
        parameters: json!({"type": "object", "properties": {"b": {}, "a": {}}}),
    }
}

fn full() -> Request {
    Request {
        model: "m1".to_owned(),
        system: "Be brief.".to_owned(),
        messages: vec![user(vec![Content::text("Hi.")]).into()].into(),
        tools: vec![spec()].into(),
        tool_choice: ToolChoice::Required,
        max_output: Some(8000),
        temperature: Some(0.5),
        top_p: Some(1.0),
        top_k: None,
        format: None,
        session: Some("ses_1".to_owned()),
        extra: Map::new(),
        ..Request::default()
    }
}

#[test]
fn fields_come_in_one_order() {
    check(
        &full(),
        expect![[r#"
            model: "m1"
            max_tokens: 8000
            temperature: 0.5
            top_p: 1.0
            messages: {"role":"system","content":"Be brief."}
            messages: {"role":"user","content":"Hi."}
            tools: {"type":"function","function":{"name":"read","description":"Reads.","parameters":{"type":"object","properties":{"b":{},"a":{}}}}}
            tool_choice: "required"
            stream: true
            stream_options: {"include_usage":true}
        "#]],
    );
}

#[test]
fn what_is_not_set_is_not_sent() {
    let request = Request { tool_choice: ToolChoice::Required, model: "m".to_owned(), ..Request::default() };
    check(
        &request,
        expect![[r#"
            model: "m"
            stream: true
            stream_options: {"include_usage":true}
        "#]],
    );
}

#[test]
fn extra_fields_are_laid_over_and_null_removes() {
    let extra = json!({"temperature": 1, "reasoning_effort": "low", "max_tokens": null, "max_completion_tokens": 9, "tool_choice": null, "stream": false});
    check(
        &Request { extra: extra.as_object().unwrap().clone(), ..full() },
        expect![[r#"
            model: "m1"
            max_completion_tokens: 9
            temperature: 1
            top_p: 1.0
            messages: {"role":"system","content":"Be brief."}
            messages: {"role":"user","content":"Hi."}
            tools: {"type":"function","function":{"name":"read","description":"Reads.","parameters":{"type":"object","properties":{"b":{},"a":{}}}}}
            stream: true
            stream_options: {"include_usage":true}
            reasoning_effort: "low"
        "#]],
    );
}

#[test]
fn equal_requests_are_equal_bytes() {
    assert_eq!(cold(None, &full()), cold(None, &full()));
}

#[test]
fn the_tools_are_shown_as_they_are_sent() {
    let shown = tools(&[spec()]).to_string();
    let sent = String::from_utf8(cold(None, &full())).unwrap();
    assert!(sent.contains(&format!("\"tools\":{shown},")), "{shown} is not in {sent}");
}

#[test]
fn one_text_is_a_string_and_more_are_parts() {
    says(
        vec![
            user(vec![]),
            user(vec![Content::text("a \"b\"")]),
            user(vec![Content::text("What is it?"), media("image/png", None), media("application/pdf", Some("a.pdf"))]),
            user(vec![media("audio/wav", None), media("video/mp4", Some("a.mp4"))]),
        ],
        expect![[r#"
            messages: {"role":"user","content":"a \"b\""}
            messages: {"role":"user","content":[{"type":"text","text":"What is it?"},{"type":"image_url","image_url":{"url":"data:image/png;base64,AAAA"}},{"type":"file","file":{"filename":"a.pdf","file_data":"data:application/pdf;base64,AAAA"}}]}
            messages: {"role":"user","content":[{"type":"input_audio","input_audio":{"data":"AAAA","format":"wav"}},{"type":"text","text":"ERROR: Cannot read \"a.mp4\" (this model does not support video input). Inform the user."}]}
            stream: true
        "#]],
    );
}

#[test]
fn an_answer_is_never_without_content_or_calls() {
    says(
        vec![
            Message::Assistant { parts: vec![text("a"), text("b")] },
            Message::Assistant { parts: vec![text("a"), call("c1", "{\"b\": 1}")] },
            Message::Assistant { parts: vec![call("c1", "{}"), call("c2", "{}")] },
            Message::Assistant { parts: vec![text("")] },
            Message::Assistant { parts: vec![] },
        ],
        expect![[r#"
            messages: {"role":"assistant","content":"ab"}
            messages: {"role":"assistant","content":"a","tool_calls":[{"id":"c1","type":"function","function":{"name":"read","arguments":"{\"b\": 1}"}}]}
            messages: {"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"read","arguments":"{}"}},{"id":"c2","type":"function","function":{"name":"read","arguments":"{}"}}]}
            stream: true
        "#]],
    );
}

#[test]
fn arguments_that_no_server_could_read_are_wrapped() {
    says(
        vec![Message::Assistant {
            parts: vec![call("c1", ""), call("c2", "{\"path\": \"a"), call("c3", "[1]"), call("c4", " {\"a\":1}\n")],
        }],
        expect![[r#"
            messages: {"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"read","arguments":"{}"}},{"id":"c2","type":"function","function":{"name":"read","arguments":"{\"invalid_arguments\":\"{\\\"path\\\": \\\"a\"}"}},{"id":"c3","type":"function","function":{"name":"read","arguments":"{\"invalid_arguments\":\"[1]\"}"}},{"id":"c4","type":"function","function":{"name":"read","arguments":" {\"a\":1}\n"}}]}
            stream: true
        "#]],
    );
}

#[test]
fn thinking_goes_back_to_whom_it_came_from_and_as_it_came() {
    let details = json!([{"type": "reasoning.text", "text": "x", "signature": "S"}]);
    let field = |name: &str| json!({FIELD: name});
    says(
        vec![
            Message::Assistant {
                parts: vec![
                    thought("a", "v", "m", field("reasoning_content")),
                    text("b"),
                    thought("c", "v", "m", field("reasoning_content")),
                ],
            },
            Message::Assistant { parts: vec![thought("a", "v", "m", field("reasoning")), call("c1", "{}")] },
            Message::Assistant {
                parts: vec![thought("x", "v", "m", json!({FIELD: "reasoning_details", DETAILS: details})), text("b")],
            },
            Message::Assistant {
                parts: vec![
                    thought("a", "other", "m", field("reasoning_content")),
                    thought("a", "v", "other", field("reasoning_content")),
                    thought("a", "v", "m", json!("of another dialect")),
                    AssistantPart::Reasoning { text: "a".to_owned(), item: None },
                    text("b"),
                ],
            },
        ],
        expect![[r#"
            messages: {"role":"assistant","content":"b","reasoning_content":"ac"}
            messages: {"role":"assistant","content":null,"reasoning":"a","tool_calls":[{"id":"c1","type":"function","function":{"name":"read","arguments":"{}"}}]}
            messages: {"role":"assistant","content":"b","reasoning_details":[{"type":"reasoning.text","text":"x","signature":"S"}]}
            messages: {"role":"assistant","content":"b"}
            stream: true
        "#]],
    );
}

#[test]
fn media_of_results_are_shown_behind_all_of_them() {
    says(
        vec![Message::Tools {
            results: vec![
                result("c1", vec![Content::text("one"), Content::text("two")]),
                result("c2", vec![media("image/png", None)]),
                result("c3", vec![Content::text("a page"), media("image/jpeg", None), media("image/jpeg", None)]),
                result("c4", vec![]),
            ],
        }],
        expect![[r#"
            messages: {"role":"tool","tool_call_id":"c1","content":"one\ntwo"}
            messages: {"role":"tool","tool_call_id":"c2","content":"(shown in the next message)"}
            messages: {"role":"tool","tool_call_id":"c3","content":"a page"}
            messages: {"role":"tool","tool_call_id":"c4","content":""}
            messages: {"role":"user","content":[{"type":"text","text":"Attached media from tool result (read, call c2):"},{"type":"image_url","image_url":{"url":"data:image/png;base64,AAAA"}},{"type":"text","text":"Attached media from tool result (read, call c3):"},{"type":"image_url","image_url":{"url":"data:image/jpeg;base64,AAAA"}},{"type":"image_url","image_url":{"url":"data:image/jpeg;base64,AAAA"}}]}
            stream: true
        "#]],
    );
}

#[test]
fn the_medium_of_one_result_needs_no_name() {
    says(
        vec![Message::Tools { results: vec![result("c1", vec![Content::text("a page"), media("image/png", None)])] }],
        expect![[r#"
            messages: {"role":"tool","tool_call_id":"c1","content":"a page"}
            messages: {"role":"user","content":[{"type":"text","text":"Attached media from tool result:"},{"type":"image_url","image_url":{"url":"data:image/png;base64,AAAA"}}]}
            stream: true
        "#]],
    );
}

#[test]
fn prefixes_are_marked_for_models_that_are_kept_only_then() {
    let request = Request {
        model: "anthropic/claude-x".to_owned(),
        messages: vec![
            user(vec![Content::text("hey")]).into(),
            Message::Assistant { parts: vec![text("look"), call("c1", "{}")] }.into(),
            Message::Tools { results: vec![result("c1", vec![Content::text("found")])] }.into(),
        ]
        .into(),
        ..full()
    };
    check(
        &request,
        expect![[r#"
        model: "anthropic/claude-x"
        max_tokens: 8000
        temperature: 0.5
        top_p: 1.0
        messages: {"role":"system","content":[{"type":"text","text":"Be brief.","cache_control":{"type":"ephemeral"}}]}
        messages: {"role":"user","content":"hey"}
        messages: {"role":"assistant","content":"look","tool_calls":[{"id":"c1","type":"function","function":{"name":"read","arguments":"{}"}}]}
        messages: {"role":"tool","tool_call_id":"c1","content":"found","cache_control":{"type":"ephemeral"}}
        tools: {"type":"function","function":{"name":"read","description":"Reads.","parameters":{"type":"object","properties":{"b":{},"a":{}}}}}
        tool_choice: "required"
        stream: true
        stream_options: {"include_usage":true}
    "#]],
    );
    check(
        &Request { messages: request.messages[..1].to_vec().into(), ..request },
        expect![[r#"
        model: "anthropic/claude-x"
        max_tokens: 8000
        temperature: 0.5
        top_p: 1.0
        messages: {"role":"system","content":[{"type":"text","text":"Be brief.","cache_control":{"type":"ephemeral"}}]}
        messages: {"role":"user","content":[{"type":"text","text":"hey","cache_control":{"type":"ephemeral"}}]}
        tools: {"type":"function","function":{"name":"read","description":"Reads.","parameters":{"type":"object","properties":{"b":{},"a":{}}}}}
        tool_choice: "required"
        stream: true
        stream_options: {"include_usage":true}
    "#]],
    );
}

#[test]
fn copilot_has_marks_of_its_own() {
    let request = Request {
        model: "claude-x".to_owned(),
        system: "Be brief.".to_owned(),
        messages: vec![
            user(vec![Content::text("hey")]).into(),
            Message::Assistant { parts: vec![text("look"), call("c1", "{}")] }.into(),
            Message::Tools { results: vec![result("c1", vec![Content::text("found")])] }.into(),
        ]
        .into(),
        ..Request::default()
    };
    let says = |model: &str, want: Expect| {
        let request = Request { model: model.to_owned(), ..request.clone() };
        let copilot = Listener { manners: crate::Manners::Copilot, ..listener(None) };
        let body = bytes(&copilot, &request, &Conversations::default());
        let body: Value = serde_json::from_slice(&body).unwrap();
        want.assert_eq(&body["messages"].as_array().unwrap().iter().map(|one| format!("{one}\n")).collect::<String>());
    };
    says(
        "claude-x",
        expect![[r#"
        {"role":"system","content":"Be brief.","copilot_cache_control":{"type":"ephemeral"}}
        {"role":"user","content":"hey"}
        {"role":"assistant","content":"look","tool_calls":[{"id":"c1","type":"function","function":{"name":"read","arguments":"{}"}}]}
        {"role":"tool","tool_call_id":"c1","content":"found","copilot_cache_control":{"type":"ephemeral"}}
    "#]],
    );
    says(
        "gpt-4.1",
        expect![[r#"
        {"role":"system","content":"Be brief."}
        {"role":"user","content":"hey"}
        {"role":"assistant","content":"look","tool_calls":[{"id":"c1","type":"function","function":{"name":"read","arguments":"{}"}}]}
        {"role":"tool","tool_call_id":"c1","content":"found"}
    "#]],
    );
}

#[test]
fn two_messages_of_the_wire_are_marked_and_not_two_of_the_conversation() {
    let results = ["c1", "c2", "c3"].map(|id| result(id, vec![Content::text("found")])).to_vec();
    let model = "claude-x".to_owned();
    check(
        &Request { model, messages: vec![Message::Tools { results }.into()].into(), ..Request::default() },
        expect![[r#"
        model: "claude-x"
        messages: {"role":"tool","tool_call_id":"c1","content":"found"}
        messages: {"role":"tool","tool_call_id":"c2","content":"found","cache_control":{"type":"ephemeral"}}
        messages: {"role":"tool","tool_call_id":"c3","content":"found","cache_control":{"type":"ephemeral"}}
        stream: true
        stream_options: {"include_usage":true}
    "#]],
    );
}

#[test]
fn thinking_goes_into_the_field_that_the_settings_name() {
    let parts = vec![
        AssistantPart::Reasoning { text: "a".to_owned(), item: None },
        text("b"),
        thought("c", "v", "m", json!({FIELD: "reasoning"})),
    ];
    let messages =
        vec![Message::Assistant { parts }.into(), Message::Assistant { parts: vec![call("c1", "{}")] }.into()];
    let request = Request { model: "m".to_owned(), messages: messages.into(), ..Request::default() };
    let body: Value = serde_json::from_slice(&cold(Some("reasoning_content"), &request)).unwrap();
    let lines: String = body["messages"].as_array().unwrap().iter().map(|message| format!("{message}\n")).collect();
    expect![[r#"
        {"role":"assistant","content":"b","reasoning_content":"ac"}
        {"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"read","arguments":"{}"}}],"reasoning_content":""}
    "#]].assert_eq(&lines);
}

#[test]
fn names_of_the_driver_become_names_of_the_wire() {
    let extra =
        json!({"reasoningEffort": "low", "response_format": {"type": "json_schema"}}).as_object().unwrap().clone();
    let request = Request { model: "gpt-5.1".to_owned(), max_output: Some(9), extra, ..Request::default() };
    check(
        &request,
        expect![[r#"
            model: "gpt-5.1"
            max_completion_tokens: 9
            response_format: {"type":"json_schema"}
            stream: true
            stream_options: {"include_usage":true}
            reasoning_effort: "low"
        "#]],
    );
}

proptest! {
    #[test]
    fn a_body_does_not_depend_on_what_was_asked_before(
        requests in requests(),
        field in prop::option::of(Just("reasoning_content")),
    ) {
        let written = Conversations::default();
        for request in &requests {
            let warm = bytes(&listener(field), request, &written);
            prop_assert_eq!(String::from_utf8(warm.into()), String::from_utf8(cold(field, request)));
        }
    }
}

proptest! {
    #[test]
    fn a_longer_conversation_begins_with_the_bytes_of_the_shorter_one(
        requests in requests(),
        field in prop::option::of(Just("reasoning_content")),
        at in any::<prop::sample::Index>(),
    ) {
        // Without marks, which move on with the end.
        for request in requests.iter().filter(|request| request.model == "m") {
            let end = at.index(request.messages.len() + 1);
            let short = Request { messages: request.messages[..end].to_vec().into(), ..request.clone() };
            let until_messages_end = |request: &Request| {
                let body = String::from_utf8(cold(field, request)).unwrap();
                body[..body.find("],\"stream\"").unwrap()].to_owned()
            };
            let (short, long) = (until_messages_end(&short), until_messages_end(request));
            prop_assert!(long.starts_with(&short), "{}\n{}", short, long);
        }
    }
}

#[test]
fn what_may_not_be_called_is_not_offered() {
    let request = Request { tool_choice: ToolChoice::None, ..full() };
    let body: Map<String, Value> = serde_json::from_slice(&cold(None, &request)).unwrap();
    assert!(!request.tools.is_empty() && body.get("tools").is_none() && body.get("tool_choice").is_none());
}

/// The body for `listener`, a line for each field and message.
#[track_caller]
fn heard(listener: &Listener, request: &Request, want: Expect) {
    let body: Map<String, Value> =
        serde_json::from_slice(&bytes(listener, request, &Conversations::default())).unwrap();
    let mut lines = String::new();
    for (field, value) in body.iter().filter(|(field, _)| !matches!(field.as_str(), "model" | "stream")) {
        match value.as_array() {
            Some(list) => list.iter().for_each(|one| lines.push_str(&format!("{field}: {one}\n"))),
            None => lines.push_str(&format!("{field}: {value}\n")),
        }
    }
    want.assert_eq(&lines);
}

fn conversation(model: &str, extra: Value) -> Request {
    Request {
        model: model.to_owned(),
        system: "Be brief.".to_owned(),
        messages: vec![
            user(vec![Content::text("hey"), Content::text("")]).into(),
            Message::Assistant { parts: vec![call("c1", "{}")] }.into(),
            Message::Tools { results: vec![result("c1", vec![Content::text("found")])] }.into(),
        ]
        .into(),
        extra: extra.as_object().unwrap().clone(),
        ..Request::default()
    }
}

#[test]
fn alibaba_reads_marks_on_parts_alone() {
    let listener = Listener { provider: "alibaba-cn".to_owned(), ..Listener::default() };
    heard(
        &listener,
        &conversation("qwen3-coder-plus", json!({})),
        expect![[r#"
        messages: {"role":"system","content":[{"type":"text","text":"Be brief.","cache_control":{"type":"ephemeral"}}]}
        messages: {"role":"user","content":"hey"}
        messages: {"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"read","arguments":"{}"}}]}
        messages: {"role":"tool","tool_call_id":"c1","content":[{"type":"text","text":"found","cache_control":{"type":"ephemeral"}}]}
        stream_options: {"include_usage":true}
    "#]],
    );
}

#[test]
fn what_is_marked_can_be_kept_for_an_hour() {
    heard(
        &listener(None),
        &conversation("claude-x", json!({"cacheTtl": "1h"})),
        expect![[r#"
        messages: {"role":"system","content":[{"type":"text","text":"Be brief.","cache_control":{"type":"ephemeral","ttl":"1h"}}]}
        messages: {"role":"user","content":"hey"}
        messages: {"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"read","arguments":"{}"}}]}
        messages: {"role":"tool","tool_call_id":"c1","content":"found","cache_control":{"type":"ephemeral","ttl":"1h"}}
        stream_options: {"include_usage":true}
    "#]],
    );
}

#[test]
fn mistral_is_sent_no_field_that_it_does_not_know() {
    let listener = Listener { provider: "mistral".to_owned(), ..Listener::default() };
    let request = Request { top_k: Some(20), ..conversation("m", json!({})) };
    heard(
        &listener,
        &request,
        expect![[r#"
        messages: {"role":"system","content":"Be brief."}
        messages: {"role":"user","content":"hey"}
        messages: {"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"read","arguments":"{}"}}]}
        messages: {"role":"tool","tool_call_id":"c1","content":"found"}
    "#]],
    );
}

#[test]
fn deepseek_is_told_in_every_answer_what_was_thought() {
    let listener = Listener { provider: "deepseek".to_owned(), ..Listener::default() };
    heard(
        &listener,
        &conversation("m", json!({})),
        expect![[r#"
        messages: {"role":"system","content":"Be brief."}
        messages: {"role":"user","content":"hey"}
        messages: {"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"read","arguments":"{}"}}],"reasoning_content":""}
        messages: {"role":"tool","tool_call_id":"c1","content":"found"}
        stream_options: {"include_usage":true}
    "#]],
    );
}

#[test]
fn openai_is_held_to_schemas_and_forms() {
    let listener = Listener { provider: "openai".to_owned(), ..Listener::default() };
    let schema = json!({"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"], "additionalProperties": false});
    let held = ToolSpec { name: "held".to_owned(), parameters: schema.clone(), ..spec() };
    let format = Some(Format { name: "answer".to_owned(), schema });
    let request = Request {
        tools: vec![spec(), held].into(),
        format,
        extra: json!({"strict": true}).as_object().unwrap().clone(),
        ..full()
    };
    heard(
        &listener,
        &Request { model: "gpt-5.1".to_owned(), ..request },
        expect![[r#"
        max_completion_tokens: 8000
        messages: {"role":"developer","content":"Be brief."}
        messages: {"role":"user","content":"Hi."}
        tools: {"type":"function","function":{"name":"read","description":"Reads.","parameters":{"type":"object","properties":{"b":{},"a":{}}}}}
        tools: {"type":"function","function":{"name":"held","description":"Reads.","parameters":{"type":"object","properties":{"a":{"type":"string"}},"required":["a"],"additionalProperties":false},"strict":true}}
        tool_choice: "required"
        response_format: {"type":"json_schema","json_schema":{"name":"answer","schema":{"type":"object","properties":{"a":{"type":"string"}},"required":["a"],"additionalProperties":false},"strict":true}}
        stream_options: {"include_usage":true}
    "#]],
    );
}

#[test]
fn who_samples_from_the_likeliest_is_told_of_how_many() {
    let listener = Listener { provider: "openrouter".to_owned(), ..Listener::default() };
    heard(
        &listener,
        &Request { top_k: Some(20), ..Request::default() },
        expect![[r#"
        top_k: 20
        stream_options: {"include_usage":true}
    "#]],
    );
}
