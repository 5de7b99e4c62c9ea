//! Requests and the bodies they become.

use std::sync::Arc;

use expect_test::{Expect, expect};
use proptest::prelude::*;
use serde_json::{Map, json};

use super::super::blocks::{CITATIONS, REDACTED, SIGNATURE};
use super::*;
use crate::dialect::histories::requests;
use crate::{AssistantPart, Content, Item, Message, ToolChoice, ToolResult};

fn cold(request: &Request) -> Vec<u8> {
    bytes("v", Place::Own, request, &Written::default())
}

/// One line for each field, and for each message and tool.
#[track_caller]
fn check(request: &Request, want: Expect) {
    let body: Map<String, Value> = serde_json::from_slice(&cold(request)).unwrap();
    let mut lines = String::new();
    for (field, value) in &body {
        match value.as_array() {
            Some(list) => list.iter().for_each(|one| lines.push_str(&format!("{field}: {one}\n"))),
            None => lines.push_str(&format!("{field}: {value}\n")),
        }
    }
    want.assert_eq(&lines);
}

/// Only the messages, with `*` for a cache mark.
#[track_caller]
fn says(messages: Vec<Message>, want: Expect) {
    let messages = messages.into_iter().map(Arc::new).collect();
    let request = Request { model: "m".to_owned(), messages, ..Request::default() };
    let body: Map<String, Value> = serde_json::from_slice(&cold(&request)).unwrap();
    let mut lines = String::new();
    for message in body["messages"].as_array().unwrap() {
        lines.push_str(&format!("{}:\n", message["role"].as_str().unwrap()));
        for block in message["content"].as_array().unwrap() {
            let mut block = block.clone();
            let mark = if block.as_object_mut().unwrap().remove("cache_control").is_some() { "*" } else { " " };
            lines.push_str(&format!("{mark} {block}\n"));
        }
    }
    want.assert_eq(&lines);
}

fn user(text: &str) -> Message {
    Message::User { content: vec![Content::text(text)] }
}

fn assistant(parts: Vec<AssistantPart>) -> Message {
    Message::Assistant { parts }
}

fn tools_said(results: Vec<ToolResult>) -> Message {
    Message::Tools { results }
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

fn item(vendor: &str, model: &str, value: Value) -> Item {
    Item { vendor: vendor.to_owned(), model: model.to_owned(), value }
}

fn thought(text: &str, item: Item) -> AssistantPart {
    AssistantPart::Reasoning { text: text.to_owned(), item: Some(item) }
}

fn signed(text: &str) -> AssistantPart {
    thought(text, item("v", "m", json!({SIGNATURE: "SIG"})))
}

fn result(id: &str, content: Vec<Content>) -> ToolResult {
    ToolResult { id: id.to_owned(), name: "read".to_owned(), content, is_error: false }
}

fn full() -> Request {
    Request {
        model: "claude-sonnet-4-5".to_owned(),
        system: "Be brief.".to_owned(),
        messages: vec![user("Hi.").into()].into(),
        tools: vec![ToolSpec {
            name: "read".to_owned(),
            description: "Reads.".to_owned(),
            parameters: json!({"type": "object", "properties": {"b": {}, "a": {}}}),
        }]
        .into(),
        tool_choice: ToolChoice::Required,
        max_output: Some(8000),
        temperature: Some(0.5),
        top_p: None,
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
        model: "claude-sonnet-4-5"
        max_tokens: 8000
        temperature: 0.5
        system: {"type":"text","text":"Be brief.","cache_control":{"type":"ephemeral"}}
        messages: {"role":"user","content":[{"type":"text","text":"Hi.","cache_control":{"type":"ephemeral"}}]}
        tools: {"name":"read","description":"Reads.","input_schema":{"type":"object","properties":{"b":{},"a":{}}}}
        tool_choice: {"type":"any"}
        stream: true
    "#]],
    );
}

#[test]
fn what_is_not_set_is_not_sent_but_for_the_limit() {
    check(
        &Request { model: "m".to_owned(), ..Request::default() },
        expect![[r#"
        model: "m"
        max_tokens: 8192
        stream: true
    "#]],
    );
}

#[test]
fn extra_fields_are_laid_over_and_null_removes() {
    let extra = json!({"thinking": {"type": "enabled", "budgetTokens": 16000}, "tool_choice": null, "stream": false, "metadata": {"user_id": "u"}, "output_config": {"format": {"type": "json_schema"}}});
    check(
        &Request { extra: extra.as_object().unwrap().clone(), ..full() },
        expect![[r#"
        model: "claude-sonnet-4-5"
        max_tokens: 24000
        system: {"type":"text","text":"Be brief.","cache_control":{"type":"ephemeral"}}
        messages: {"role":"user","content":[{"type":"text","text":"Hi.","cache_control":{"type":"ephemeral"}}]}
        tools: {"name":"read","description":"Reads.","input_schema":{"type":"object","properties":{"b":{},"a":{}}}}
        stream: true
        thinking: {"type":"enabled","budget_tokens":16000}
        metadata: {"user_id":"u"}
        output_config: {"format":{"type":"json_schema"}}
    "#]],
    );
}

#[test]
fn equal_requests_are_equal_bytes() {
    assert_eq!(cold(&full()), cold(&full()));
}

#[test]
fn the_tools_are_shown_as_they_are_sent() {
    let shown = tools(&full().tools).to_string();
    let sent = String::from_utf8(cold(&full())).unwrap();
    assert!(sent.contains(&format!("\"tools\":{shown},")), "{shown} is not in {sent}");
}

#[test]
fn the_last_two_messages_carry_a_mark() {
    says(
        vec![user("one")],
        expect![[r#"
        user:
        * {"type":"text","text":"one"}
    "#]],
    );
    says(
        vec![
            user("one"),
            assistant(vec![signed("hm"), text("I look."), call("c1", "{\"b\": 1}")]),
            tools_said(vec![result("c1", vec![Content::text("found")])]),
        ],
        expect![[r#"
            user:
              {"type":"text","text":"one"}
            assistant:
              {"type":"thinking","thinking":"hm","signature":"SIG"}
              {"type":"text","text":"I look."}
            * {"type":"tool_use","id":"c1","name":"read","input":{"b":1}}
            user:
            * {"type":"tool_result","tool_use_id":"c1","content":"found"}
        "#]],
    );
    // A block that can carry none leaves the mark to the one before it, also to that of another message.
    let search = json!({"type": "server_tool_use", "id": "srv_1", "name": "web_search", "input": {}});
    let search = || AssistantPart::Vendor { item: item("v", "m", search.clone()) };
    says(
        vec![
            user("zero"),
            assistant(vec![search()]),
            user("one"),
            user("two"),
            user(" "),
            assistant(vec![text("I look. ")]),
            assistant(vec![search()]),
        ],
        expect![[r#"
            user:
              {"type":"text","text":"zero"}
            assistant:
              {"type":"server_tool_use","id":"srv_1","name":"web_search","input":{}}
            user:
              {"type":"text","text":"one"}
            * {"type":"text","text":"two"}
            assistant:
            * {"type":"text","text":"I look. "}
              {"type":"server_tool_use","id":"srv_1","name":"web_search","input":{}}
        "#]],
    );
    // Only the very end of the conversation must not be blank.
    says(
        vec![user("one"), assistant(vec![text("a ")]), assistant(vec![text("b ")]), assistant(vec![])],
        expect![[r#"
        user:
        * {"type":"text","text":"one"}
        assistant:
          {"type":"text","text":"a "}
        * {"type":"text","text":"b"}
    "#]],
    );
    // The system prompt's and these two: never more than the four that the interface allows.
    let long = (0..9).flat_map(|_| [user("a").into(), assistant(vec![text("b")]).into()]).collect();
    let body = cold(&Request { messages: long, ..full() });
    assert_eq!(String::from_utf8(body).unwrap().matches("cache_control").count(), 3);
}

#[test]
fn roles_take_turns() {
    says(
        vec![
            user("one"),
            user("two"),
            assistant(vec![call("c1", "{}")]),
            tools_said(vec![result("c1", vec![Content::text("found")])]),
            user("three"),
            assistant(vec![text("a")]),
            assistant(vec![text("b")]),
            user("four"),
        ],
        expect![[r#"
            user:
              {"type":"text","text":"one"}
              {"type":"text","text":"two"}
            assistant:
              {"type":"tool_use","id":"c1","name":"read","input":{}}
            user:
              {"type":"tool_result","tool_use_id":"c1","content":"found"}
              {"type":"text","text":"three"}
            assistant:
              {"type":"text","text":"a"}
            * {"type":"text","text":"b"}
            user:
            * {"type":"text","text":"four"}
        "#]],
    );
}

#[test]
fn calls_come_last_and_thoughts_do_not() {
    says(
        vec![
            user("one"),
            assistant(vec![signed("hm"), call("c1", "{}"), text("and"), call("c2", "{}"), signed("so")]),
            tools_said(vec![result("c1", vec![Content::text("1")]), result("c2", vec![Content::text("2")])]),
            assistant(vec![text("done"), signed("too late")]),
            user("two"),
            assistant(vec![signed("only this")]),
            user("three"),
        ],
        expect![[r#"
            user:
              {"type":"text","text":"one"}
            assistant:
              {"type":"thinking","thinking":"hm","signature":"SIG"}
              {"type":"text","text":"and"}
              {"type":"thinking","thinking":"so","signature":"SIG"}
              {"type":"tool_use","id":"c1","name":"read","input":{}}
              {"type":"tool_use","id":"c2","name":"read","input":{}}
            user:
              {"type":"tool_result","tool_use_id":"c1","content":"1"}
              {"type":"tool_result","tool_use_id":"c2","content":"2"}
            assistant:
            * {"type":"text","text":"done"}
            user:
              {"type":"text","text":"two"}
            * {"type":"text","text":"three"}
        "#]],
    );
}

#[test]
fn blank_words_are_left_out() {
    says(
        vec![
            user("one"),
            user(" \n"),
            assistant(vec![text(""), text("  "), call("c1", "{}")]),
            tools_said(vec![result("c1", vec![])]),
            assistant(vec![text("")]),
            assistant(vec![text("half \n")]),
        ],
        expect![[r#"
            user:
              {"type":"text","text":"one"}
            assistant:
              {"type":"tool_use","id":"c1","name":"read","input":{}}
            user:
            * {"type":"tool_result","tool_use_id":"c1","content":""}
            assistant:
            * {"type":"text","text":"half"}
        "#]],
    );
}

#[test]
fn results_show_pictures_and_say_when_they_failed() {
    let failed = |id: &str, content| ToolResult { is_error: true, ..result(id, content) };
    says(
        vec![
            user("one"),
            assistant(vec![call("c1", "{}"), call("c2", "{}"), call("c3", "{}"), call("c4", "{}")]),
            tools_said(vec![
                result("c1", vec![Content::text("a page"), media("image/png", None), media("application/pdf", None)]),
                failed("c2", vec![Content::text("no such file")]),
                failed("c3", vec![]),
                result("c4", vec![media("audio/wav", Some("a.wav"))]),
            ]),
        ],
        expect![[r#"
            user:
              {"type":"text","text":"one"}
            assistant:
              {"type":"tool_use","id":"c1","name":"read","input":{}}
              {"type":"tool_use","id":"c2","name":"read","input":{}}
              {"type":"tool_use","id":"c3","name":"read","input":{}}
            * {"type":"tool_use","id":"c4","name":"read","input":{}}
            user:
              {"type":"tool_result","tool_use_id":"c1","content":[{"type":"text","text":"a page"},{"type":"image","source":{"type":"base64","media_type":"image/png","data":"AAAA"}},{"type":"document","source":{"type":"base64","media_type":"application/pdf","data":"AAAA"}}]}
              {"type":"tool_result","tool_use_id":"c2","content":"no such file","is_error":true}
              {"type":"tool_result","tool_use_id":"c3","content":"(no message)","is_error":true}
            * {"type":"tool_result","tool_use_id":"c4","content":[{"type":"text","text":"ERROR: Cannot read \"a.wav\" (this model does not support audio input). Inform the user."}]}
        "#]],
    );
}

#[test]
fn files_are_shown_or_named() {
    let empty = Content::Media { mime: "image/png".to_owned(), data: String::new(), name: None };
    says(
        vec![Message::User {
            content: vec![
                Content::text("What is it?"),
                media("image/png", Some("a.png")),
                media("application/pdf", Some("a.pdf")),
                media("image/tiff", Some("a.tiff")),
                media("video/mp4", None),
                empty,
            ],
        }],
        expect![[r#"
            user:
              {"type":"text","text":"What is it?"}
              {"type":"image","source":{"type":"base64","media_type":"image/png","data":"AAAA"}}
              {"type":"document","source":{"type":"base64","media_type":"application/pdf","data":"AAAA"},"title":"a.pdf"}
              {"type":"text","text":"ERROR: Cannot read \"a.tiff\" (this model does not support image input). Inform the user."}
              {"type":"text","text":"ERROR: Cannot read video (this model does not support video input). Inform the user."}
            * {"type":"text","text":"ERROR: Image file is empty or corrupted. Please provide a valid image."}
        "#]],
    );
}

#[test]
fn ids_and_arguments_are_such_that_the_vendor_takes_them() {
    says(
        vec![
            user("one"),
            assistant(vec![
                call("call.1:ü", ""),
                call("c2", "{\"path\": \"a"),
                call("c3", "[1]"),
                call("c4", " {\"b\":1,\"a\":2.50}\n"),
            ]),
            tools_said(vec![result("call.1:ü", vec![Content::text("1")])]),
        ],
        expect![[r#"
            user:
              {"type":"text","text":"one"}
            assistant:
              {"type":"tool_use","id":"call_1__","name":"read","input":{}}
              {"type":"tool_use","id":"c2","name":"read","input":{"invalid_arguments":"{\"path\": \"a"}}
              {"type":"tool_use","id":"c3","name":"read","input":{"invalid_arguments":"[1]"}}
            * {"type":"tool_use","id":"c4","name":"read","input":{"b":1,"a":2.5}}
            user:
            * {"type":"tool_result","tool_use_id":"call_1__","content":"1"}
        "#]],
    );
}

#[test]
fn items_go_back_to_whom_they_came_from_unchanged() {
    let search = json!({"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {"query": "x"}});
    let cited = json!({CITATIONS: [{"url": "https://a.example"}]});
    let vendor = |item| AssistantPart::Vendor { item };
    says(
        vec![
            user("one"),
            assistant(vec![
                signed("hm"),
                thought("", item("v", "m", json!({REDACTED: "RU5D"}))),
                vendor(item("v", "m", search.clone())),
                AssistantPart::Text { text: "It says x.".to_owned(), item: Some(item("v", "m", cited.clone())) },
            ]),
            user("two"),
            assistant(vec![
                thought("a", item("other", "m", json!({SIGNATURE: "S"}))),
                thought("b", item("v", "other", json!({SIGNATURE: "S"}))),
                thought("c", item("v", "m", json!("of another dialect"))),
                AssistantPart::Reasoning { text: "d".to_owned(), item: None },
                vendor(item("other", "m", search)),
                vendor(item("v", "m", json!({"field": "reasoning"}))),
                AssistantPart::Text { text: "So.".to_owned(), item: Some(item("v", "other", cited)) },
            ]),
            user("three"),
        ],
        expect![[r#"
            user:
              {"type":"text","text":"one"}
            assistant:
              {"type":"thinking","thinking":"hm","signature":"SIG"}
              {"type":"redacted_thinking","data":"RU5D"}
              {"type":"server_tool_use","id":"s1","name":"web_search","input":{"query":"x"}}
              {"type":"text","text":"It says x.","citations":[{"url":"https://a.example"}]}
            user:
              {"type":"text","text":"two"}
            assistant:
            * {"type":"text","text":"So."}
            user:
            * {"type":"text","text":"three"}
        "#]],
    );
}

proptest! {
    #[test]
    fn a_body_does_not_depend_on_what_was_asked_before(requests in requests()) {
        let written = Written::default();
        for request in &requests {
            let warm = bytes("v", Place::Own, request, &written);
            prop_assert_eq!(String::from_utf8(warm), String::from_utf8(cold(request)));
        }
    }
    #[test]
    fn a_longer_conversation_begins_with_the_bytes_of_the_shorter_one(requests in requests(), at in any::<proptest::sample::Index>()) {
        let Some(longer) = requests.last().filter(|request| !request.messages.is_empty()) else { return Ok(()) };
        let messages = longer.messages[..=at.index(longer.messages.len())].to_vec();
        let shorter = unmarked(&Request { messages: messages.into(), ..longer.clone() });
        // An answer at the end is one that goes on, and loses a blank there.
        if shorter.as_array().and_then(|list| list.last()).is_some_and(|last| last["role"] == "assistant") {
            return Ok(());
        }
        let (shorter, longer) = (shorter.to_string(), unmarked(longer).to_string());
        let whole = shorter.trim_end_matches(['}', ']']);
        prop_assert!(longer.starts_with(whole), "{}\n{}", whole, longer);
    }
}

#[test]
fn elsewhere_the_address_names_the_model_and_the_body_the_version() {
    let request =
        Request { model: "claude-m".to_owned(), messages: vec![user("Hi.").into()].into(), ..Request::default() };
    let row = |place, want: Expect| {
        let body = bytes("v", place, &request, &Written::default());
        want.assert_eq(std::str::from_utf8(&body).unwrap());
    };
    row(
        Place::Vertex,
        expect![[
            r#"{"anthropic_version":"vertex-2023-10-16","max_tokens":32000,"messages":[{"role":"user","content":[{"type":"text","text":"Hi.","cache_control":{"type":"ephemeral"}}]}],"stream":true}"#
        ]],
    );
    row(
        Place::Bedrock,
        expect![[
            r#"{"anthropic_version":"bedrock-2023-05-31","max_tokens":32000,"messages":[{"role":"user","content":[{"type":"text","text":"Hi.","cache_control":{"type":"ephemeral"}}]}]}"#
        ]],
    );
}

/// The messages as they are sent, but for the marks.
fn unmarked(request: &Request) -> Value {
    let body: Value = serde_json::from_slice(&cold(request)).unwrap();
    let text = body["messages"].to_string().replace(r#","cache_control":{"type":"ephemeral"}"#, "");
    serde_json::from_str(&text).unwrap()
}
