//! Requests and the bodies they become.

use std::sync::Arc;

use expect_test::{Expect, expect};
use proptest::prelude::*;
use serde_json::{Map, json};

use super::*;
use crate::dialect::histories::requests;
use crate::{AssistantPart, Content as Shown, Format, Item, Message, ToolChoice, ToolResult};

fn cold(place: Place, request: &Request) -> Vec<u8> {
    bytes("v", place, request, &Written::default())
}

/// One line for each field, and for each content and tool.
#[track_caller]
fn check(request: &Request, want: Expect) {
    let body: Map<String, Value> = serde_json::from_slice(&cold(Place::Own, request)).unwrap();
    let mut lines = String::new();
    for (field, value) in &body {
        match value.as_array() {
            Some(list) => list.iter().for_each(|one| lines.push_str(&format!("{field}: {one}\n"))),
            None => lines.push_str(&format!("{field}: {value}\n")),
        }
    }
    want.assert_eq(&lines);
}

/// Only the contents, as `model` is sent them.
#[track_caller]
fn says(model: &str, place: Place, messages: Vec<Message>, want: Expect) {
    let messages = messages.into_iter().map(Arc::new).collect();
    let request = Request { model: model.to_owned(), messages, ..Request::default() };
    let body: Map<String, Value> = serde_json::from_slice(&cold(place, &request)).unwrap();
    let mut lines = String::new();
    for content in body["contents"].as_array().unwrap() {
        lines.push_str(&format!("{}:\n", content["role"].as_str().unwrap()));
        for part in content["parts"].as_array().unwrap() {
            lines.push_str(&format!("  {part}\n"));
        }
    }
    want.assert_eq(&lines);
}

fn user(text: &str) -> Message {
    Message::User { content: vec![Shown::text(text)] }
}

fn assistant(parts: Vec<AssistantPart>) -> Message {
    Message::Assistant { parts }
}

fn media(mime: &str, name: Option<&str>) -> Shown {
    Shown::Media { mime: mime.to_owned(), data: "AAAA".to_owned(), name: name.map(str::to_owned) }
}

fn text(text: &str) -> AssistantPart {
    AssistantPart::Text { text: text.to_owned(), item: None }
}

fn call(id: &str, arguments: &str, item: Option<Item>) -> AssistantPart {
    AssistantPart::ToolCall { id: id.to_owned(), name: "read".to_owned(), arguments: arguments.to_owned(), item }
}

fn item(vendor: &str, model: &str, value: Value) -> Option<Item> {
    Some(Item { vendor: vendor.to_owned(), model: model.to_owned(), value })
}

fn result(id: &str, content: Vec<Shown>, is_error: bool) -> ToolResult {
    ToolResult { id: id.to_owned(), name: "read".to_owned(), content, is_error }
}

fn tools_said(results: Vec<ToolResult>) -> Message {
    Message::Tools { results }
}

fn spec(name: &str, parameters: Value) -> ToolSpec {
    ToolSpec { name: name.to_owned(), description: format!("Does {name}."), parameters }
}

#[test]
fn a_request_says_everything_once() {
    let request = Request {
        model: "gemini-3-pro".to_owned(),
        system: "Be brief.".to_owned(),
        messages: vec![user("hey").into()].into(),
        tools: vec![
            spec("read", json!({"type": "object", "properties": {"filePath": {"type": "string"}}})),
            spec("now", json!({"type": "object", "properties": {}})),
        ]
        .into(),
        max_output: Some(32_000),
        temperature: Some(1.0),
        top_k: Some(64),
        top_p: Some(0.95),
        extra: json!({
            "thinkingConfig": {"includeThoughts": true, "thinkingLevel": "high"},
            "safetySettings": [{"category": "HARM_CATEGORY_HARASSMENT", "threshold": "BLOCK_NONE"}],
        })
        .as_object()
        .cloned()
        .unwrap(),
        ..Request::default()
    };
    check(
        &request,
        expect![[r#"
        systemInstruction: {"parts":[{"text":"Be brief."}]}
        tools: {"functionDeclarations":[{"name":"read","description":"Does read.","parametersJsonSchema":{"type":"object","properties":{"filePath":{"type":"string"}}}},{"name":"now","description":"Does now."}]}
        toolConfig: {"functionCallingConfig":{"mode":"AUTO"}}
        generationConfig: {"maxOutputTokens":32000,"temperature":1.0,"topK":64,"topP":0.95,"thinkingConfig":{"includeThoughts":true,"thinkingLevel":"high"}}
        contents: {"role":"user","parts":[{"text":"hey"}]}
        safetySettings: {"category":"HARM_CATEGORY_HARASSMENT","threshold":"BLOCK_NONE"}
    "#]],
    );
    let format = Some(Format { name: "f".to_owned(), schema: json!({"type": "object"}) });
    let bare =
        Request { format, tools: Arc::default(), extra: Map::new(), tool_choice: ToolChoice::Required, ..request };
    check(
        &bare,
        expect![[r#"
        systemInstruction: {"parts":[{"text":"Be brief."}]}
        generationConfig: {"maxOutputTokens":32000,"temperature":1.0,"topK":64,"topP":0.95,"responseMimeType":"application/json","responseJsonSchema":{"type":"object"}}
        contents: {"role":"user","parts":[{"text":"hey"}]}
    "#]],
    );
    check(
        &Request { system: String::new(), model: "m".to_owned(), messages: bare.messages, ..Request::default() },
        expect![[r#"
            contents: {"role":"user","parts":[{"text":"hey"}]}
        "#]],
    );
}

#[test]
fn a_tool_without_arguments_has_no_schema() {
    let row = |schema: Value, want: bool| assert_eq!(takes_any(&schema), want, "{schema}");
    row(json!({"type": "object", "properties": {"a": {}}}), true);
    row(json!({"type": "object", "properties": {}}), false);
    row(json!({"type": "object"}), false);
    row(json!({"$ref": "#/$defs/a"}), true);
    row(json!({"anyOf": []}), true);
    row(json!(true), false);
    assert_eq!(tools(&[]), json!([]));
    assert_eq!(
        tools(&[spec("t", json!({}))]),
        json!([{"functionDeclarations": [{"name": "t", "description": "Does t."}]}])
    );
}

#[test]
fn a_model_without_a_system_prompt_hears_it_from_the_user() {
    let system = "Be brief.".to_owned();
    let gemma = Request {
        model: "gemma-3-27b-it".to_owned(),
        system,
        messages: vec![user("hey").into()].into(),
        ..Request::default()
    };
    check(
        &gemma,
        expect![[r#"
        contents: {"role":"user","parts":[{"text":"Be brief."},{"text":"hey"}]}
    "#]],
    );
}

#[test]
fn roles_take_turns_and_the_user_comes_first() {
    says(
        "m",
        Place::Own,
        vec![user("one"), user("two"), assistant(vec![text("a")]), assistant(vec![text("b")]), user("three")],
        expect![[r#"
            user:
              {"text":"one"}
              {"text":"two"}
            model:
              {"text":"a"}
              {"text":"b"}
            user:
              {"text":"three"}
        "#]],
    );
    says(
        "m",
        Place::Own,
        vec![assistant(vec![text("a")]), user("one")],
        expect![[r#"
        user:
          {"text":"(The conversation goes on from here.)"}
        model:
          {"text":"a"}
        user:
          {"text":"one"}
    "#]],
    );
    says(
        "m",
        Place::Own,
        vec![user(" "), assistant(vec![text(" ")]), tools_said(Vec::new()), user("one")],
        expect![[r#"
            user:
              {"text":"one"}
        "#]],
    );
}

#[test]
fn results_follow_their_calls() {
    let long = || {
        vec![
            user("look"),
            assistant(vec![
                text("I look."),
                call("call_1_1", r#"{ "a": 1.0 }"#, None),
                call("fc-2", "{broken", None),
                call("toolu_3", "", None),
            ]),
            tools_said(vec![
                result("call_1_1", vec![Shown::text("1")], false),
                result("fc-2", vec![Shown::text("no"), Shown::text("such")], true),
                result("toolu_3", vec![], false),
            ]),
            user("and?"),
        ]
    };
    says(
        "gemini-2.5-pro",
        Place::Own,
        long(),
        expect![[r#"
        user:
          {"text":"look"}
        model:
          {"text":"I look."}
          {"functionCall":{"name":"read","args":{"a":1.0}}}
          {"functionCall":{"id":"fc-2","name":"read","args":{"invalid_arguments":"{broken"}}}
          {"functionCall":{"id":"toolu_3","name":"read","args":{}}}
        user:
          {"functionResponse":{"name":"read","response":{"name":"read","content":"1"}}}
          {"functionResponse":{"id":"fc-2","name":"read","response":{"name":"read","error":"no\nsuch"}}}
          {"functionResponse":{"id":"toolu_3","name":"read","response":{"name":"read","content":"(no output)"}}}
          {"text":"and?"}
    "#]],
    );
    says(
        "gemini-2.5-pro",
        Place::Vertex,
        long(),
        expect![[r#"
        user:
          {"text":"look"}
        model:
          {"text":"I look."}
          {"functionCall":{"name":"read","args":{"a":1.0}}}
          {"functionCall":{"name":"read","args":{"invalid_arguments":"{broken"}}}
          {"functionCall":{"name":"read","args":{}}}
        user:
          {"functionResponse":{"name":"read","response":{"name":"read","content":"1"}}}
          {"functionResponse":{"name":"read","response":{"name":"read","error":"no\nsuch"}}}
          {"functionResponse":{"name":"read","response":{"name":"read","content":"(no output)"}}}
          {"text":"and?"}
    "#]],
    );
}

#[test]
fn files_are_shown_where_they_can_be() {
    let files = || {
        vec![
            Shown::text("see"),
            media("image/png", None),
            media("application/pdf", Some("a.pdf")),
            media("image/heic", None),
            media("application/zip", None),
        ]
    };
    let empty = Shown::Media { mime: "image/png".to_owned(), data: String::new(), name: None };
    says(
        "m",
        Place::Own,
        vec![Message::User { content: [files(), vec![media("audio/wav", None), empty]].concat() }],
        expect![[r#"
            user:
              {"text":"see"}
              {"inlineData":{"mimeType":"image/png","data":"AAAA"}}
              {"inlineData":{"mimeType":"application/pdf","data":"AAAA"}}
              {"inlineData":{"mimeType":"image/heic","data":"AAAA"}}
              {"text":"ERROR: Cannot read application/zip (this model does not support application/zip input). Inform the user."}
              {"inlineData":{"mimeType":"audio/wav","data":"AAAA"}}
              {"text":"ERROR: Image file is empty or corrupted. Please provide a valid image."}
        "#]],
    );
    let seen = || {
        vec![
            user("look"),
            assistant(vec![
                call("fc-1", "{}", item("v", "gemini-3-pro", json!({"thoughtSignature": "S"}))),
                call("fc-2", "{}", None),
            ]),
            tools_said(vec![result("fc-1", files(), false), result("fc-2", vec![media("image/png", None)], false)]),
        ]
    };
    says(
        "gemini-3-pro",
        Place::Own,
        seen(),
        expect![[r#"
            user:
              {"text":"look"}
            model:
              {"functionCall":{"id":"fc-1","name":"read","args":{}},"thoughtSignature":"S"}
              {"functionCall":{"id":"fc-2","name":"read","args":{}}}
            user:
              {"functionResponse":{"id":"fc-1","name":"read","response":{"name":"read","content":"see\nERROR: Cannot read application/zip (this model does not support application/zip input). Inform the user."},"parts":[{"inlineData":{"mimeType":"image/png","data":"AAAA"}},{"inlineData":{"mimeType":"application/pdf","data":"AAAA"}}]}}
              {"functionResponse":{"id":"fc-2","name":"read","response":{"name":"read","content":"(see the attached file)"},"parts":[{"inlineData":{"mimeType":"image/png","data":"AAAA"}}]}}
              {"text":"A file of the result of read:"}
              {"inlineData":{"mimeType":"image/heic","data":"AAAA"}}
        "#]],
    );
    says(
        "gemini-2.5-pro",
        Place::Own,
        seen(),
        expect![[r#"
            user:
              {"text":"look"}
            model:
              {"functionCall":{"id":"fc-1","name":"read","args":{}}}
              {"functionCall":{"id":"fc-2","name":"read","args":{}}}
            user:
              {"functionResponse":{"id":"fc-1","name":"read","response":{"name":"read","content":"see\nERROR: Cannot read application/zip (this model does not support application/zip input). Inform the user."}}}
              {"functionResponse":{"id":"fc-2","name":"read","response":{"name":"read","content":"(see the attached file)"}}}
              {"text":"A file of the result of read:"}
              {"inlineData":{"mimeType":"image/png","data":"AAAA"}}
              {"text":"A file of the result of read:"}
              {"inlineData":{"mimeType":"application/pdf","data":"AAAA"}}
              {"text":"A file of the result of read:"}
              {"inlineData":{"mimeType":"image/heic","data":"AAAA"}}
              {"text":"A file of the result of read:"}
              {"inlineData":{"mimeType":"image/png","data":"AAAA"}}
        "#]],
    );
}

#[test]
fn calls_of_others_are_signed_for_them() {
    let conversation = || {
        vec![
            user("look"),
            assistant(vec![call("a", "{}", None), call("b", "{}", None)]),
            tools_said(vec![result("a", vec![Shown::text("1")], false), result("b", vec![Shown::text("2")], false)]),
            assistant(vec![
                call("c", "{}", item("v", "gemini-3-pro", json!({"thoughtSignature": "OWN"}))),
                call("d", "{}", None),
            ]),
            tools_said(vec![result("c", vec![Shown::text("3")], false), result("d", vec![Shown::text("4")], false)]),
            assistant(vec![call("e", "{}", item("v", "gemini-2.5-pro", json!({"thoughtSignature": "OLD"})))]),
            tools_said(vec![result("e", vec![Shown::text("5")], false)]),
        ]
    };
    says(
        "gemini-3-pro",
        Place::Own,
        conversation(),
        expect![[r#"
        user:
          {"text":"look"}
        model:
          {"functionCall":{"id":"a","name":"read","args":{}},"thoughtSignature":"skip_thought_signature_validator"}
          {"functionCall":{"id":"b","name":"read","args":{}}}
        user:
          {"functionResponse":{"id":"a","name":"read","response":{"name":"read","content":"1"}}}
          {"functionResponse":{"id":"b","name":"read","response":{"name":"read","content":"2"}}}
        model:
          {"functionCall":{"id":"c","name":"read","args":{}},"thoughtSignature":"OWN"}
          {"functionCall":{"id":"d","name":"read","args":{}}}
        user:
          {"functionResponse":{"id":"c","name":"read","response":{"name":"read","content":"3"}}}
          {"functionResponse":{"id":"d","name":"read","response":{"name":"read","content":"4"}}}
        model:
          {"functionCall":{"id":"e","name":"read","args":{}},"thoughtSignature":"skip_thought_signature_validator"}
        user:
          {"functionResponse":{"id":"e","name":"read","response":{"name":"read","content":"5"}}}
    "#]],
    );
    says(
        "gemini-2.5-pro",
        Place::Own,
        conversation(),
        expect![[r#"
        user:
          {"text":"look"}
        model:
          {"functionCall":{"id":"a","name":"read","args":{}}}
          {"functionCall":{"id":"b","name":"read","args":{}}}
        user:
          {"functionResponse":{"id":"a","name":"read","response":{"name":"read","content":"1"}}}
          {"functionResponse":{"id":"b","name":"read","response":{"name":"read","content":"2"}}}
        model:
          {"functionCall":{"id":"c","name":"read","args":{}}}
          {"functionCall":{"id":"d","name":"read","args":{}}}
        user:
          {"functionResponse":{"id":"c","name":"read","response":{"name":"read","content":"3"}}}
          {"functionResponse":{"id":"d","name":"read","response":{"name":"read","content":"4"}}}
        model:
          {"functionCall":{"id":"e","name":"read","args":{}},"thoughtSignature":"OLD"}
        user:
          {"functionResponse":{"id":"e","name":"read","response":{"name":"read","content":"5"}}}
    "#]],
    );
}

#[test]
fn items_of_another_form_do_no_harm() {
    let reasoning = |text: &str, item| AssistantPart::Reasoning { text: text.to_owned(), item };
    let words = |text: &str, value| AssistantPart::Text { text: text.to_owned(), item: item("v", "m", value) };
    says(
        "m",
        Place::Own,
        vec![
            user("one"),
            assistant(vec![
                reasoning("of nobody", None),
                reasoning("of another dialect", item("v", "m", json!({"signature": "S"}))),
                reasoning("of another model", item("v", "n", json!({"thought": true}))),
                reasoning("own", item("v", "m", json!({"thought": true}))),
                AssistantPart::Vendor { item: item("v", "m", json!({"part": "odd"})).unwrap() },
                AssistantPart::Vendor { item: item("v", "m", json!({"type": "server_tool_use"})).unwrap() },
                words("shorter", json!({"thoughtSignature": "A", "at": 99})),
                words("ü", json!({"thoughtSignature": "B", "at": 1})),
                words("ok", json!({"thoughtSignature": 7, "at": "x"})),
            ]),
        ],
        expect![[r#"
            user:
              {"text":"one"}
            model:
              {"text":"own","thought":true}
              {"text":"shorter","thoughtSignature":"A"}
              {"text":"ü","thoughtSignature":"B"}
              {"text":"ok"}
        "#]],
    );
}

proptest! {
    #[test]
    fn a_body_does_not_depend_on_what_was_asked_before(requests in requests()) {
        let written = Written::default();
        for request in &requests {
            let warm = bytes("v", Place::Own, request, &written);
            prop_assert_eq!(String::from_utf8(warm), String::from_utf8(cold(Place::Own, request)));
        }
    }

    #[test]
    fn a_longer_conversation_begins_with_the_bytes_of_the_shorter_one(requests in requests(), at in any::<proptest::sample::Index>()) {
        let Some(longer) = requests.last().filter(|request| !request.messages.is_empty()) else { return Ok(()) };
        let messages = longer.messages[..=at.index(longer.messages.len())].to_vec();
        let shorter = String::from_utf8(cold(Place::Own, &Request { messages: messages.into(), ..longer.clone() })).unwrap();
        let longer = String::from_utf8(cold(Place::Own, longer)).unwrap();
        let whole = shorter.trim_end_matches(['}', ']']);
        prop_assert!(longer.starts_with(whole), "{}\n{}", whole, longer);
    }

    #[test]
    fn contents_take_turns_and_say_something(requests in requests(), model in proptest::sample::select(vec!["m", "gemini-3-pro", "gemma-3"])) {
        for request in requests {
            let body = cold(Place::Own, &Request { model: model.to_owned(), ..request });
            let body: Value = serde_json::from_slice(&body).unwrap();
            let contents = body["contents"].as_array().unwrap();
            for (at, content) in contents.iter().enumerate() {
                prop_assert_eq!(&content["role"], if at % 2 == 0 { "user" } else { "model" });
                prop_assert!(!content["parts"].as_array().unwrap().is_empty());
                let call = content["parts"].as_array().unwrap().iter().find(|part| part.get("functionCall").is_some());
                let signed = call.is_none_or(|call| call.get("thoughtSignature").is_some());
                prop_assert!(signed || model != "gemini-3-pro");
            }
        }
    }
}
