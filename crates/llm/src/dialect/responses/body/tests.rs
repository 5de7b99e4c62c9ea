//! Requests and the bodies they become.

use std::sync::Arc;

use expect_test::{Expect, expect};
use proptest::prelude::*;
use serde_json::{Map, json};

use super::*;
use crate::dialect::histories::requests;
use crate::{AssistantPart, Content, Format, Item, ToolChoice, ToolResult};

fn cold(request: &Request) -> Vec<u8> {
    bytes("v", Manners::Plain, request, &Written::default()).into()
}

/// One line for each field, and for each item and tool.
#[track_caller]
fn check_as(manners: Manners, request: &Request, want: Expect) {
    let body: Map<String, Value> = serde_json::from_slice(&bytes("v", manners, request, &Written::default())).unwrap();
    let mut lines = String::new();
    for (field, value) in &body {
        match value.as_array() {
            Some(list) => list.iter().for_each(|one| lines.push_str(&format!("{field}: {one}\n"))),
            None => lines.push_str(&format!("{field}: {value}\n")),
        }
    }
    want.assert_eq(&lines);
}

#[track_caller]
fn check(request: &Request, want: Expect) {
    check_as(Manners::Plain, request, want);
}

/// Only the items.
#[track_caller]
fn says(messages: Vec<Message>, want: Expect) {
    says_with(json!({}), messages, want);
}

#[track_caller]
fn says_with(extra: Value, messages: Vec<Message>, want: Expect) {
    let messages = messages.into_iter().map(Arc::new).collect();
    let extra = extra.as_object().unwrap().clone();
    let request = Request { model: "m".to_owned(), messages, extra, ..Request::default() };
    let body: Map<String, Value> = serde_json::from_slice(&cold(&request)).unwrap();
    let lines: String = body["input"].as_array().unwrap().iter().map(|item| format!("{item}\n")).collect();
    want.assert_eq(&lines);
}

fn user(text: &str) -> Message {
    Message::User { content: vec![Content::text(text)] }
}

fn media(mime: &str, name: Option<&str>) -> Content {
    Content::Media { mime: mime.to_owned(), data: "AAAA".to_owned(), name: name.map(str::to_owned) }
}

fn item(vendor: &str, model: &str, value: Value) -> Item {
    Item { vendor: vendor.to_owned(), model: model.to_owned(), value }
}

fn mine(value: Value) -> Option<Item> {
    Some(item("v", "m", value))
}

fn text(text: &str, item: Option<Item>) -> AssistantPart {
    AssistantPart::Text { text: text.to_owned(), item }
}

fn thought(text: &str, item: Option<Item>) -> AssistantPart {
    AssistantPart::Reasoning { text: text.to_owned(), item }
}

fn call(id: &str, arguments: &str, item: Option<Item>) -> AssistantPart {
    AssistantPart::ToolCall { id: id.to_owned(), name: "read".to_owned(), arguments: arguments.to_owned(), item }
}

fn result(id: &str, content: Vec<Content>) -> Message {
    let result = ToolResult { id: id.to_owned(), name: "read".to_owned(), content, is_error: false };
    Message::Tools { results: vec![result] }
}

/// As a vendor gives one.
fn encrypted() -> Value {
    json!({
        "id": "rs_1",
        "type": "reasoning",
        "summary": [{"type": "summary_text", "text": "One."}, {"type": "summary_text", "text": "Two."}],
        "encrypted_content": "RU5D",
        "content": [],
        "status": null,
    })
}

/// A whole turn, as it is kept.
fn turn() -> Vec<Message> {
    let parts = vec![
        thought("One.\n\nTwo.", mine(encrypted())),
        text("I look.", mine(json!({"type": "message", "id": "msg_1", "phase": "commentary"}))),
        call(
            "call_a",
            r#"{"filePath":"a"}"#,
            mine(json!({"type": "function_call", "id": "fc_1", "namespace": "files"})),
        ),
    ];
    vec![user("Hi."), Message::Assistant { parts }, result("call_a", vec![Content::text("text of a")])]
}

fn full() -> Request {
    let options = json!({"reasoningEffort": "medium", "reasoningSummary": "auto", "textVerbosity": "low"});
    Request {
        model: "gpt-5.2".to_owned(),
        system: "Be brief.".to_owned(),
        messages: vec![user("Hi.").into()].into(),
        tools: vec![ToolSpec {
            name: "read".to_owned(),
            description: "Reads.".to_owned(),
            parameters: json!({"type": "object", "properties": {"b": {}, "a": {}}}),
        }]
        .into(),
        tool_choice: ToolChoice::Auto,
        max_output: Some(32_000),
        temperature: Some(0.5),
        top_p: None,
        top_k: Some(4),
        format: None,
        session: Some("ses_1".to_owned()),
        extra: options.as_object().unwrap().clone(),
        ..Request::default()
    }
}

#[test]
fn a_model_is_held_to_the_schemas_that_it_can_be_held_to() {
    let row = |extra: Value, want: [bool; 2]| {
        let mut request = full();
        let closed = json!({"type": "object", "properties": {}, "required": [], "additionalProperties": false});
        let held = ToolSpec { name: "held".to_owned(), parameters: closed, ..request.tools[0].clone() };
        Arc::make_mut(&mut request.tools).push(held);
        request.extra = extra.as_object().unwrap().clone();
        let body: Value =
            serde_json::from_slice(&bytes("openai", Manners::Plain, &request, &Written::default())).unwrap();
        assert_eq!([0, 1].map(|at| body["tools"][at]["strict"] == true), want, "{extra}");
    };
    row(json!({}), [false, false]);
    row(json!({"strict": true}), [false, true]);
    row(json!({"strict": "true"}), [false, false]);
}

#[test]
fn fields_come_in_one_order() {
    check(
        &full(),
        expect![[r#"
        model: "gpt-5.2"
        input: {"type":"message","role":"developer","content":"Be brief."}
        input: {"type":"message","role":"user","content":[{"type":"input_text","text":"Hi."}]}
        max_output_tokens: 32000
        text: {"verbosity":"low"}
        store: false
        include: "reasoning.encrypted_content"
        prompt_cache_key: "ses_1"
        reasoning: {"effort":"medium","summary":"auto"}
        tools: {"type":"function","name":"read","description":"Reads.","parameters":{"type":"object","properties":{"b":{},"a":{}}},"strict":false}
        tool_choice: "auto"
        stream: true
    "#]],
    );
}

#[test]
fn what_is_not_set_is_not_sent() {
    check(
        &Request { model: "m".to_owned(), ..Request::default() },
        expect![[r#"
        model: "m"
        store: false
        stream: true
    "#]],
    );
}

#[test]
fn a_subscription_is_asked_with_instructions() {
    let mut request = full();
    request.extra.insert("max_output_tokens".to_owned(), Value::Null);
    check_as(
        Manners::ChatGpt,
        &request,
        expect![[r#"
        model: "gpt-5.2"
        instructions: "Be brief."
        input: {"type":"message","role":"user","content":[{"type":"input_text","text":"Hi."}]}
        text: {"verbosity":"low"}
        store: false
        include: "reasoning.encrypted_content"
        prompt_cache_key: "ses_1"
        reasoning: {"effort":"medium","summary":"auto"}
        tools: {"type":"function","name":"read","description":"Reads.","parameters":{"type":"object","properties":{"b":{},"a":{}}},"strict":false}
        tool_choice: "auto"
        stream: true
    "#]],
    );
    // Also without any: the endpoint wants the field.
    let request = Request { model: "m".to_owned(), ..Request::default() };
    check_as(
        Manners::ChatGpt,
        &request,
        expect![[r#"
        model: "m"
        instructions: ""
        store: false
        stream: true
    "#]],
    );
}

#[test]
fn settings_are_laid_over() {
    let mut request = full();
    request.tools = Arc::default();
    request.format = Some(Format { name: "answer".to_owned(), schema: json!({"type": "object"}) });
    let extra = json!({
        "store": true,
        "prompt_cache_key": null,
        "reasoning": {"effort": "high"},
        "max_output_tokens": 5,
        "stream": false,
        "service_tier": "flex",
    });
    request.extra = extra.as_object().unwrap().clone();
    check(
        &request,
        expect![[r#"
        model: "gpt-5.2"
        input: {"type":"message","role":"developer","content":"Be brief."}
        input: {"type":"message","role":"user","content":[{"type":"input_text","text":"Hi."}]}
        max_output_tokens: 5
        text: {"format":{"type":"json_schema","name":"answer","schema":{"type":"object"},"strict":false}}
        store: true
        reasoning: {"effort":"high"}
        stream: true
        service_tier: "flex"
    "#]],
    );
}

#[test]
fn a_model_may_be_told_to_call_or_not_to() {
    let row = |choice, want: &str| {
        let body: Value = serde_json::from_slice(&cold(&Request { tool_choice: choice, ..full() })).unwrap();
        assert_eq!((&body["tool_choice"], body["tools"].as_array().map(Vec::len)), (&json!(want), Some(1)));
    };
    row(ToolChoice::Auto, "auto");
    row(ToolChoice::Required, "required");
    row(ToolChoice::None, "none");
}

#[test]
fn a_turn_goes_back_without_the_ids_of_what_is_not_stored() {
    says(
        turn(),
        expect![[r#"
        {"type":"message","role":"user","content":[{"type":"input_text","text":"Hi."}]}
        {"type":"reasoning","summary":[{"type":"summary_text","text":"One."},{"type":"summary_text","text":"Two."}],"encrypted_content":"RU5D"}
        {"type":"message","role":"assistant","content":"I look.","phase":"commentary"}
        {"type":"function_call","call_id":"call_a","name":"read","arguments":"{\"filePath\":\"a\"}","namespace":"files"}
        {"type":"function_call_output","call_id":"call_a","output":"text of a"}
    "#]],
    );
}

#[test]
fn a_turn_that_is_stored_goes_back_as_it_came() {
    says_with(
        json!({"store": true}),
        turn(),
        expect![[r#"
        {"type":"message","role":"user","content":[{"type":"input_text","text":"Hi."}]}
        {"id":"rs_1","type":"reasoning","summary":[{"type":"summary_text","text":"One."},{"type":"summary_text","text":"Two."}],"encrypted_content":"RU5D"}
        {"type":"message","id":"msg_1","role":"assistant","status":"completed","content":[{"type":"output_text","text":"I look.","annotations":[]}],"phase":"commentary"}
        {"type":"function_call","call_id":"call_a","name":"read","arguments":"{\"filePath\":\"a\"}","namespace":"files","id":"fc_1"}
        {"type":"function_call_output","call_id":"call_a","output":"text of a"}
    "#]],
    );
    let cited =
        json!({"type": "message", "id": "msg_1", "annotations": [{"type": "file_path", "file_id": "f", "index": 0}]});
    let refused = json!({"type": "message", "id": "msg_2", "refused": true});
    let parts = vec![text("See.", mine(cited)), text("No.", mine(refused))];
    says_with(
        json!({"store": true}),
        vec![Message::Assistant { parts }],
        expect![[r#"
        {"type":"message","id":"msg_1","role":"assistant","status":"completed","content":[{"type":"output_text","text":"See.","annotations":[{"type":"file_path","file_id":"f","index":0}]}]}
        {"type":"message","id":"msg_2","role":"assistant","status":"completed","content":[{"type":"refusal","refusal":"No."}]}
    "#]],
    );
}

#[test]
fn only_who_made_a_thought_gets_it_back() {
    let foreign = |vendor, model| {
        let item = |value| Some(item(vendor, model, value));
        let parts = vec![
            thought("One.", item(encrypted())),
            AssistantPart::Vendor { item: item(json!({"type": "web_search_call", "id": "ws_1"})).unwrap() },
            text("I look.", item(json!({"type": "message", "id": "msg_1", "phase": "commentary"}))),
            call("call_a", "{}", item(json!({"type": "function_call", "namespace": "files"}))),
        ];
        vec![Message::Assistant { parts }]
    };
    says(
        foreign("v", "m"),
        expect![[r#"
        {"type":"reasoning","summary":[{"type":"summary_text","text":"One."},{"type":"summary_text","text":"Two."}],"encrypted_content":"RU5D"}
        {"type":"web_search_call"}
        {"type":"message","role":"assistant","content":"I look.","phase":"commentary"}
        {"type":"function_call","call_id":"call_a","name":"read","arguments":"{}","namespace":"files"}
    "#]],
    );
    says(
        foreign("w", "m"),
        expect![[r#"
        {"type":"message","role":"assistant","content":"I look."}
        {"type":"function_call","call_id":"call_a","name":"read","arguments":"{}"}
    "#]],
    );
    says(
        foreign("v", "other"),
        expect![[r#"
        {"type":"message","role":"assistant","content":"I look."}
        {"type":"function_call","call_id":"call_a","name":"read","arguments":"{}"}
    "#]],
    );
}

#[test]
fn a_thought_goes_back_if_it_can_be_read() {
    let said = |value: Value| vec![Message::Assistant { parts: vec![thought("Hm.", mine(value)), text("So.", None)] }];
    // Known only by an id of what was not stored.
    says(
        said(json!({"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "Hm."}]})),
        expect![[r#"
        {"type":"message","role":"assistant","content":"So."}
    "#]],
    );
    // In the open.
    let open = json!({"type": "reasoning", "id": "rs_1", "content": [{"type": "reasoning_text", "text": "Hm."}], "encrypted_content": null});
    says(
        said(open),
        expect![[r#"
        {"type":"reasoning","id":"rs_1","content":[{"type":"reasoning_text","text":"Hm."}],"summary":[]}
        {"type":"message","role":"assistant","content":"So."}
    "#]],
    );
    // With nothing behind it.
    says(
        vec![user("Hi."), Message::Assistant { parts: vec![thought("Hm.", mine(encrypted()))] }],
        expect![[r#"
        {"type":"message","role":"user","content":[{"type":"input_text","text":"Hi."}]}
    "#]],
    );
    // What other dialects keep.
    says(
        said(json!({"signature": "SIG"})),
        expect![[r#"
        {"type":"message","role":"assistant","content":"So."}
    "#]],
    );
}

#[test]
fn items_of_the_vendor_go_back_as_they_came() {
    let vendor = |value| AssistantPart::Vendor { item: item("v", "m", value) };
    let parts = vec![
        vendor(
            json!({"type": "web_search_call", "id": "ws_1", "status": "completed", "action": {"type": "search", "query": "x"}}),
        ),
        vendor(json!({"type": "compaction", "id": "cmp_1", "encrypted_content": "RU5D"})),
        // Of another dialect, or nothing known.
        vendor(json!({"odd": 1})),
        vendor(json!("odd")),
        vendor(json!({"type": 7})),
    ];
    says(
        vec![Message::Assistant { parts }],
        expect![[r#"
        {"type":"web_search_call","status":"completed","action":{"type":"search","query":"x"}}
        {"type":"compaction","encrypted_content":"RU5D"}
    "#]],
    );
}

#[test]
fn files_are_shown_where_they_belong() {
    let all = || {
        vec![
            Content::text("look"),
            media("image/png", Some("a.png")),
            media("application/pdf", Some("a.pdf")),
            media("application/pdf", None),
            media("audio/wav", None),
            Content::Media { mime: "image/png".to_owned(), data: String::new(), name: None },
        ]
    };
    says(
        vec![Message::User { content: all() }, result("call_a", all())],
        expect![[r#"
        {"type":"message","role":"user","content":[{"type":"input_text","text":"look"},{"type":"input_image","image_url":"data:image/png;base64,AAAA","detail":"auto"},{"type":"input_file","filename":"a.pdf","file_data":"data:application/pdf;base64,AAAA"},{"type":"input_file","filename":"document.pdf","file_data":"data:application/pdf;base64,AAAA"},{"type":"input_text","text":"ERROR: Cannot read audio (this model does not support audio input). Inform the user."},{"type":"input_text","text":"ERROR: Image file is empty or corrupted. Please provide a valid image."}]}
        {"type":"function_call_output","call_id":"call_a","output":[{"type":"input_text","text":"look"},{"type":"input_image","image_url":"data:image/png;base64,AAAA","detail":"auto"},{"type":"input_file","filename":"a.pdf","file_data":"data:application/pdf;base64,AAAA"},{"type":"input_file","filename":"document.pdf","file_data":"data:application/pdf;base64,AAAA"},{"type":"input_text","text":"ERROR: Cannot read audio (this model does not support audio input). Inform the user."},{"type":"input_text","text":"ERROR: Image file is empty or corrupted. Please provide a valid image."}]}
    "#]],
    );
}

#[test]
fn results_are_words_where_that_is_all() {
    let messages = vec![
        result("call_a", vec![]),
        result("call_b", vec![Content::text("one"), Content::text("two")]),
        result("call_c", vec![media("image/png", None)]),
    ];
    says(
        messages,
        expect![[r#"
        {"type":"function_call_output","call_id":"call_a","output":""}
        {"type":"function_call_output","call_id":"call_b","output":"one\ntwo"}
        {"type":"function_call_output","call_id":"call_c","output":[{"type":"input_image","image_url":"data:image/png;base64,AAAA","detail":"auto"}]}
    "#]],
    );
}

#[test]
fn empty_words_are_left_out_of_answers() {
    let parts = vec![text("", None), text(" ", None)];
    says(
        vec![Message::User { content: vec![] }, Message::Assistant { parts }],
        expect![[r#"
        {"type":"message","role":"user","content":[{"type":"input_text","text":""}]}
        {"type":"message","role":"assistant","content":" "}
    "#]],
    );
}

#[test]
fn broken_arguments_do_not_break_the_next_request() {
    let parts = vec![call("call_a", "{\"a", None), call("call_b", "", None)];
    says(
        vec![Message::Assistant { parts }],
        expect![[r#"
        {"type":"function_call","call_id":"call_a","name":"read","arguments":"{\"invalid_arguments\":\"{\\\"a\"}"}
        {"type":"function_call","call_id":"call_b","name":"read","arguments":"{}"}
    "#]],
    );
}

#[test]
fn ids_of_calls_are_made_to_fit() {
    let fits = |id: &str| -> String {
        let parts = vec![call(id, "{}", None)];
        let messages = vec![Message::Assistant { parts }.into(), result(id, vec![]).into()];
        let request = Request { model: "m".to_owned(), messages: messages.into(), ..Request::default() };
        let body: Value = serde_json::from_slice(&cold(&request)).unwrap();
        // The result goes with the call.
        assert_eq!(body["input"][0]["call_id"], body["input"][1]["call_id"]);
        body["input"][0]["call_id"].as_str().unwrap().to_owned()
    };
    assert_eq!(fits("call_a"), "call_a");
    let long = "x".repeat(64);
    assert_eq!(fits(&long), long);
    let (one, other) = (fits(&format!("{long}a")), fits(&format!("{long}b")));
    assert_eq!((one.len(), other.len()), (64, 64));
    assert!(one != other && one.starts_with("xxx") && one.is_ascii());
    assert!(fits(&"é".repeat(40)).len() <= 64);
}

#[test]
fn tools_are_those_of_the_body() {
    let request = full();
    let body: Value = serde_json::from_slice(&cold(&request)).unwrap();
    assert_eq!(body["tools"], tools(&request.tools));
}

proptest! {
    #[test]
    fn a_body_does_not_depend_on_what_was_asked_before(requests in requests()) {
        let written = Written::default();
        for (number, mut request) in requests.into_iter().enumerate() {
            // Now and then it is stored.
            if number % 3 == 2 {
                request.extra.insert("store".to_owned(), true.into());
            }
            prop_assert_eq!(bytes("v", Manners::Plain, &request, &written), cold(&request));
        }
    }

    #[test]
    fn a_longer_conversation_begins_with_the_shorter_one(requests in requests()) {
        for request in requests {
            let items = |request: &Request| -> Vec<Value> {
                let body: Value = serde_json::from_slice(&cold(request)).unwrap();
                body["input"].as_array().unwrap().clone()
            };
            let whole = items(&request);
            for length in 0..request.messages.len() {
                let shorter = Request { messages: request.messages[..length].to_vec().into(), ..request.clone() };
                prop_assert!(whole.starts_with(&items(&shorter)));
            }
        }
    }
}
