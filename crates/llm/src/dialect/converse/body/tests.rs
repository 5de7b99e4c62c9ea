use std::sync::Arc;

use expect_test::{Expect, expect};
use proptest::prelude::*;

use super::*;
use crate::dialect::histories::requests;
use crate::{AssistantPart, Content, Format, Item, Message, ToolChoice, ToolResult, ToolSpec};

const CLAUDE: &str = "us.anthropic.claude-sonnet-4-5-20250929-v1:0";
const NOVA: &str = "us.amazon.nova-pro-v1:0";
const LLAMA: &str = "us.meta.llama3-3-70b-instruct-v1:0";

fn body_of(request: &Request) -> Value {
    serde_json::from_slice(&bytes("v", request, &Written::default())).unwrap()
}

/// Compares a body, a line for each message and field.
#[track_caller]
fn check(request: Request, want: Expect) {
    let Value::Object(mut body) = body_of(&request) else { panic!("no object") };
    let messages = body.remove("messages").unwrap();
    let fields = body.iter().map(|(name, value)| format!("{name}: {value}\n"));
    let messages = messages.as_array().unwrap().iter().map(|message| {
        let blocks: Vec<_> = message["content"].as_array().unwrap().iter().map(Value::to_string).collect();
        format!("{}: {}\n", message["role"].as_str().unwrap(), blocks.join("\n    "))
    });
    want.assert_eq(&fields.chain(messages).collect::<String>());
}

fn user(text: &str) -> Message {
    Message::User { content: vec![Content::text(text)] }
}

fn text(text: &str) -> AssistantPart {
    AssistantPart::Text { text: text.to_owned(), item: None }
}

fn call(id: &str) -> AssistantPart {
    let (name, arguments) = ("read".to_owned(), r#"{"path":"a.rs"}"#.to_owned());
    AssistantPart::ToolCall { id: id.to_owned(), name, arguments, item: None }
}

fn result(id: &str, content: Vec<Content>, is_error: bool) -> ToolResult {
    ToolResult { id: id.to_owned(), name: "read".to_owned(), content, is_error }
}

fn media(mime: &str, data: &str, name: Option<&str>) -> Content {
    Content::Media { mime: mime.to_owned(), data: data.to_owned(), name: name.map(str::to_owned) }
}

fn thought(words: &str, model: &str, value: Value) -> AssistantPart {
    let item = Some(Item { vendor: "v".to_owned(), model: model.to_owned(), value });
    AssistantPart::Reasoning { text: words.to_owned(), item }
}

fn request(model: &str, messages: Vec<Message>) -> Request {
    let messages = messages.into_iter().map(Arc::new).collect();
    Request { model: model.to_owned(), messages, ..Request::default() }
}

fn read() -> ToolSpec {
    let parameters = json!({"$schema": "s", "type": "object", "properties": {"path": {"type": "string"}}});
    ToolSpec { name: "read".to_owned(), description: "Reads.".to_owned(), parameters }
}

/// A conversation with one step of work behind it.
fn work(model: &str) -> Request {
    let answer = Message::Assistant {
        parts: vec![
            thought("Let me see.", model, json!({"signature": "SIG"})),
            text("I look."),
            call("tooluse_a"),
            call("tooluse_b"),
        ],
    };
    let results = vec![
        result("tooluse_a", vec![Content::text("fn main() {}"), media("image/png", "AAAA", None)], false),
        result("tooluse_b", vec![Content::text("no such file")], true),
    ];
    let request = request(model, vec![user("Look."), answer, Message::Tools { results }]);
    Request { system: "Be brief.".to_owned(), tools: vec![read()].into(), max_output: Some(1000), ..request }
}

#[test]
fn a_conversation_with_claude() {
    check(
        work(CLAUDE),
        expect![[r#"
        inferenceConfig: {"maxTokens":1000}
        toolConfig: {"tools":[{"toolSpec":{"name":"read","description":"Reads.","inputSchema":{"json":{"$schema":"s","type":"object","properties":{"path":{"type":"string"}}}}}},{"cachePoint":{"type":"default"}}]}
        system: [{"text":"Be brief."},{"cachePoint":{"type":"default"}}]
        user: {"text":"Look."}
        assistant: {"reasoningContent":{"reasoningText":{"text":"Let me see.","signature":"SIG"}}}
            {"text":"I look."}
            {"toolUse":{"toolUseId":"tooluse_a","name":"read","input":{"path":"a.rs"}}}
            {"toolUse":{"toolUseId":"tooluse_b","name":"read","input":{"path":"a.rs"}}}
            {"cachePoint":{"type":"default"}}
        user: {"toolResult":{"toolUseId":"tooluse_a","content":[{"text":"fn main() {}"},{"image":{"format":"png","source":{"bytes":"AAAA"}}}]}}
            {"toolResult":{"toolUseId":"tooluse_b","content":[{"text":"no such file"}],"status":"error"}}
            {"cachePoint":{"type":"default"}}
    "#]],
    );
}

#[test]
fn a_conversation_with_nova() {
    check(
        work(NOVA),
        expect![[r#"
        inferenceConfig: {"maxTokens":1000}
        toolConfig: {"tools":[{"toolSpec":{"name":"read","description":"Reads.","inputSchema":{"json":{"type":"object","properties":{"path":{"type":"string"}}}}}}]}
        system: [{"text":"Be brief."},{"cachePoint":{"type":"default"}}]
        user: {"text":"Look."}
        assistant: {"reasoningContent":{"reasoningText":{"text":"Let me see.","signature":"SIG"}}}
            {"text":"I look."}
            {"toolUse":{"toolUseId":"tooluse_a","name":"read","input":{"path":"a.rs"}}}
            {"toolUse":{"toolUseId":"tooluse_b","name":"read","input":{"path":"a.rs"}}}
            {"cachePoint":{"type":"default"}}
        user: {"toolResult":{"toolUseId":"tooluse_a","content":[{"text":"fn main() {}"},{"image":{"format":"png","source":{"bytes":"AAAA"}}}]}}
            {"toolResult":{"toolUseId":"tooluse_b","content":[{"text":"no such file"}],"status":"error"}}
    "#]],
    );
}

#[test]
fn a_conversation_with_a_model_without_a_cache() {
    check(
        work(LLAMA),
        expect![[r#"
        inferenceConfig: {"maxTokens":1000}
        toolConfig: {"tools":[{"toolSpec":{"name":"read","description":"Reads.","inputSchema":{"json":{"$schema":"s","type":"object","properties":{"path":{"type":"string"}}}}}}]}
        system: [{"text":"Be brief."}]
        user: {"text":"Look."}
        assistant: {"reasoningContent":{"reasoningText":{"text":"Let me see.","signature":"SIG"}}}
            {"text":"I look."}
            {"toolUse":{"toolUseId":"tooluse_a","name":"read","input":{"path":"a.rs"}}}
            {"toolUse":{"toolUseId":"tooluse_b","name":"read","input":{"path":"a.rs"}}}
        user: {"toolResult":{"toolUseId":"tooluse_a","content":[{"text":"fn main() {}"},{"image":{"format":"png","source":{"bytes":"AAAA"}}}]}}
            {"toolResult":{"toolUseId":"tooluse_b","content":[{"text":"no such file"}]}}
    "#]],
    );
}

#[test]
fn marks_stand_at_the_end_of_the_last_two_turns() {
    let mut request = work(CLAUDE);
    let done = Message::Assistant { parts: vec![text("Done. \n")] };
    request.messages.extend([user("And now?"), done].map(Arc::new));
    check(
        request,
        expect![[r#"
        inferenceConfig: {"maxTokens":1000}
        toolConfig: {"tools":[{"toolSpec":{"name":"read","description":"Reads.","inputSchema":{"json":{"$schema":"s","type":"object","properties":{"path":{"type":"string"}}}}}},{"cachePoint":{"type":"default"}}]}
        system: [{"text":"Be brief."},{"cachePoint":{"type":"default"}}]
        user: {"text":"Look."}
        assistant: {"reasoningContent":{"reasoningText":{"text":"Let me see.","signature":"SIG"}}}
            {"text":"I look."}
            {"toolUse":{"toolUseId":"tooluse_a","name":"read","input":{"path":"a.rs"}}}
            {"toolUse":{"toolUseId":"tooluse_b","name":"read","input":{"path":"a.rs"}}}
        user: {"toolResult":{"toolUseId":"tooluse_a","content":[{"text":"fn main() {}"},{"image":{"format":"png","source":{"bytes":"AAAA"}}}]}}
            {"toolResult":{"toolUseId":"tooluse_b","content":[{"text":"no such file"}],"status":"error"}}
            {"text":"And now?"}
            {"cachePoint":{"type":"default"}}
        assistant: {"text":"Done."}
            {"cachePoint":{"type":"default"}}
    "#]],
    );
}

#[test]
fn blank_words_and_foreign_thoughts_are_left_out() {
    let parts = vec![
        thought("other model", "m0", json!({"signature": "SIG"})),
        AssistantPart::Reasoning { text: "unsigned".to_owned(), item: None },
        thought("", CLAUDE, json!({"redacted": "RED"})),
        text(" "),
        call("a"),
        text("said after a call"),
        thought("at the end", CLAUDE, json!({"signature": "SIG"})),
    ];
    let empty = Message::Assistant { parts: vec![text("\n")] };
    let messages = vec![user("Hi."), empty, user(""), Message::Assistant { parts }];
    check(
        Request { tools: vec![read()].into(), ..request(CLAUDE, messages) },
        expect![[r#"
        toolConfig: {"tools":[{"toolSpec":{"name":"read","description":"Reads.","inputSchema":{"json":{"$schema":"s","type":"object","properties":{"path":{"type":"string"}}}}}},{"cachePoint":{"type":"default"}}]}
        user: {"text":"Hi."}
            {"cachePoint":{"type":"default"}}
        assistant: {"reasoningContent":{"redactedContent":"RED"}}
            {"text":"said after a call"}
            {"reasoningContent":{"reasoningText":{"text":"at the end","signature":"SIG"}}}
            {"toolUse":{"toolUseId":"a","name":"read","input":{"path":"a.rs"}}}
            {"cachePoint":{"type":"default"}}
    "#]],
    );
}

#[test]
fn the_user_begins_and_roles_take_turns() {
    let answer = |words: &str| Message::Assistant { parts: vec![text(words)] };
    check(
        request(LLAMA, vec![answer("Hello."), answer("There."), user("a"), user("b")]),
        expect![[r#"
        user: {"text":"(The conversation goes on.)"}
        assistant: {"text":"Hello."}
            {"text":"There."}
        user: {"text":"a"}
            {"text":"b"}
    "#]],
    );
}

#[test]
fn files_are_blocks_of_their_kinds() {
    let content = vec![
        media("image/jpeg", "AAAA", Some("a.jpg")),
        media("image/png", "", Some("empty.png")),
        media("image/bmp", "AAAA", Some("b.bmp")),
        media("application/pdf", "AAAA", Some("x/Report_2.pdf")),
        media("application/pdf", "BBBB", Some("Report 2.pdf")),
        media("video/mp4", "AAAA", None),
        media("audio/wav", "AAAA", None),
    ];
    let again = Message::Tools {
        results: vec![result(
            "a",
            vec![media("application/pdf", "CCCC", Some("Report-2.pdf")), media("audio/wav", "AAAA", None)],
            false,
        )],
    };
    let same = || media("application/pdf", "AAAA", Some("Report 2.pdf"));
    let same = Message::User { content: vec![same(), media("application/pdf", "AAAA", Some("Report 2 3.pdf"))] };
    check(
        request(LLAMA, vec![Message::User { content }, again, same]),
        expect![[r#"
            toolConfig: {"tools":[{"toolSpec":{"name":"read","description":"Cannot be called any more.","inputSchema":{"json":{"type":"object","properties":{}}}}}]}
            user: {"image":{"format":"jpeg","source":{"bytes":"AAAA"}}}
                {"text":"ERROR: Image file is empty or corrupted. Please provide a valid image."}
                {"text":"ERROR: Cannot read \"b.bmp\" (this model does not support image input). Inform the user."}
                {"document":{"format":"pdf","name":"Report 2","source":{"bytes":"AAAA"}}}
                {"document":{"format":"pdf","name":"Report 2 2","source":{"bytes":"BBBB"}}}
                {"video":{"format":"mp4","source":{"bytes":"AAAA"}}}
                {"audio":{"format":"wav","source":{"bytes":"AAAA"}}}
                {"toolResult":{"toolUseId":"a","content":[{"document":{"format":"pdf","name":"Report-2","source":{"bytes":"CCCC"}}},{"text":"ERROR: Cannot read audio (this model does not support audio input). Inform the user."}]}}
                {"document":{"format":"pdf","name":"Report 2 3","source":{"bytes":"AAAA"}}}
                {"document":{"format":"pdf","name":"Report 2 3 2","source":{"bytes":"AAAA"}}}
                {"text":"Here is the document."}
        "#]],
    );
}

#[test]
fn a_document_alone_gets_words() {
    let content = vec![media("text/csv", "AAAA", None)];
    check(
        request(LLAMA, vec![Message::User { content }]),
        expect![[r#"
        user: {"document":{"format":"csv","name":"document","source":{"bytes":"AAAA"}}}
            {"text":"Here is the document."}
    "#]],
    );
}

#[test]
fn results_say_something() {
    let results = vec![result("a", vec![], false), result("b", vec![Content::text(" ")], true)];
    check(
        request(NOVA, vec![user("Hi."), Message::Tools { results }]),
        expect![[r#"
        toolConfig: {"tools":[{"toolSpec":{"name":"read","description":"Cannot be called any more.","inputSchema":{"json":{"type":"object","properties":{}}}}}]}
        user: {"text":"Hi."}
            {"cachePoint":{"type":"default"}}
            {"toolResult":{"toolUseId":"a","content":[{"text":"(no output)"}]}}
            {"toolResult":{"toolUseId":"b","content":[{"text":"(no message)"}],"status":"error"}}
    "#]],
    );
}

#[test]
fn without_tools_their_names_stand_in() {
    let asked = Request { tools: Arc::default(), ..work(CLAUDE) };
    check(
        asked,
        expect![[r#"
        inferenceConfig: {"maxTokens":1000}
        additionalModelRequestFields: {"tool_choice":{"type":"none"}}
        toolConfig: {"tools":[{"toolSpec":{"name":"read","description":"Cannot be called any more.","inputSchema":{"json":{"type":"object","properties":{}}}}}]}
        system: [{"text":"Be brief."},{"cachePoint":{"type":"default"}}]
        user: {"text":"Look."}
        assistant: {"reasoningContent":{"reasoningText":{"text":"Let me see.","signature":"SIG"}}}
            {"text":"I look."}
            {"toolUse":{"toolUseId":"tooluse_a","name":"read","input":{"path":"a.rs"}}}
            {"toolUse":{"toolUseId":"tooluse_b","name":"read","input":{"path":"a.rs"}}}
            {"cachePoint":{"type":"default"}}
        user: {"toolResult":{"toolUseId":"tooluse_a","content":[{"text":"fn main() {}"},{"image":{"format":"png","source":{"bytes":"AAAA"}}}]}}
            {"toolResult":{"toolUseId":"tooluse_b","content":[{"text":"no such file"}],"status":"error"}}
            {"cachePoint":{"type":"default"}}
    "#]],
    );
}

#[test]
fn where_none_may_be_called_they_are_left_out_if_that_is_possible() {
    let none = |request: Request| {
        let body = body_of(&Request { tool_choice: ToolChoice::None, ..request });
        body.get("toolConfig").is_some()
    };
    let fresh = |model: &str| Request { tools: vec![read()].into(), ..request(model, vec![user("Hi.")]) };
    assert!(none(work(LLAMA)) && none(work(CLAUDE)) && none(fresh(CLAUDE)));
    assert!(!none(fresh(LLAMA)));
}

#[test]
fn a_form_is_asked_for_where_a_model_can_be_held_to_one() {
    let format = Some(Format { name: "answer".to_owned(), schema: json!({"type": "object"}) });
    let asked = |model: &str| Request { format: format.clone(), ..request(model, vec![user("Hi.")]) };
    check(
        asked(CLAUDE),
        expect![[r#"
        outputConfig: {"textFormat":{"type":"json_schema","structure":{"jsonSchema":{"name":"answer","schema":"{\"type\":\"object\"}"}}}}
        user: {"text":"Hi."}
            {"cachePoint":{"type":"default"}}
    "#]],
    );
    assert_eq!(body_of(&asked(NOVA)).get("outputConfig"), None);
}

#[test]
fn what_the_vendor_wants_back_is_given_back() {
    let item = |value: Value| Item { vendor: "v".to_owned(), model: NOVA.to_owned(), value };
    let used = json!({"toolUse": {"toolUseId": "s", "name": "nova_grounding", "type": "server_tool_use", "input": {}}});
    let parts = vec![
        AssistantPart::Vendor { item: item(used) },
        AssistantPart::Vendor { item: item(json!({"type": "of another dialect"})) },
        AssistantPart::Text { text: "So.".to_owned(), item: Some(item(json!({"citations": [{"title": "A"}]}))) },
        text("Yes."),
    ];
    check(
        request(NOVA, vec![user("Hi."), Message::Assistant { parts }]),
        expect![[r#"
        user: {"text":"Hi."}
            {"cachePoint":{"type":"default"}}
        assistant: {"toolUse":{"toolUseId":"s","name":"nova_grounding","type":"server_tool_use","input":{}}}
            {"citationsContent":{"content":[{"text":"So."}],"citations":[{"title":"A"}]}}
            {"text":"Yes."}
            {"cachePoint":{"type":"default"}}
    "#]],
    );
}

#[test]
fn settings_are_laid_over() {
    let extra = json!({"toolConfig": {"tools": [{"systemTool": {"name": "nova_grounding"}}]}, "performanceConfig": {"latency": "optimized"}});
    let asked = Request { extra: extra.as_object().unwrap().clone(), ..request(NOVA, vec![user("Hi.")]) };
    check(
        asked,
        expect![[r#"
        toolConfig: {"tools":[{"systemTool":{"name":"nova_grounding"}}]}
        performanceConfig: {"latency":"optimized"}
        user: {"text":"Hi."}
            {"cachePoint":{"type":"default"}}
    "#]],
    );
}

#[test]
fn ids_and_arguments_are_made_readable() {
    let broken = |id: &str, arguments: &str| AssistantPart::ToolCall {
        id: id.to_owned(),
        name: "mcp.x/y".to_owned(),
        arguments: arguments.to_owned(),
        item: None,
    };
    let parts = vec![broken("a.1", "{broken"), broken("b:2", ""), broken("c", " {\"z\": 1, \"a\": 2} ")];
    let results = ["a.1", "b:2", "c"].map(|id| result(id, vec![Content::text("ok")], false)).to_vec();
    check(
        request(LLAMA, vec![user("Hi."), Message::Assistant { parts }, Message::Tools { results }]),
        expect![[r#"
        toolConfig: {"tools":[{"toolSpec":{"name":"mcp_x_y","description":"Cannot be called any more.","inputSchema":{"json":{"type":"object","properties":{}}}}},{"toolSpec":{"name":"read","description":"Cannot be called any more.","inputSchema":{"json":{"type":"object","properties":{}}}}}]}
        user: {"text":"Hi."}
        assistant: {"toolUse":{"toolUseId":"a_1","name":"mcp_x_y","input":{"invalid_arguments":"{broken"}}}
            {"toolUse":{"toolUseId":"b_2","name":"mcp_x_y","input":{}}}
            {"toolUse":{"toolUseId":"c","name":"mcp_x_y","input":{"z":1,"a":2}}}
        user: {"toolResult":{"toolUseId":"a_1","content":[{"text":"ok"}]}}
            {"toolResult":{"toolUseId":"b_2","content":[{"text":"ok"}]}}
            {"toolResult":{"toolUseId":"c","content":[{"text":"ok"}]}}
    "#]],
    );
}

/// What a body says before its last two messages, without the marks.
fn unmarked(value: &mut Value) {
    match value {
        Value::Array(list) => {
            list.retain(|value| value.get("cachePoint").is_none());
            list.iter_mut().for_each(unmarked);
        }
        Value::Object(fields) => fields.values_mut().for_each(unmarked),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

#[test]
fn the_next_request_begins_like_the_last() {
    let mut first = work(CLAUDE);
    let mut bodies = Vec::new();
    for more in ["one", "two", "three"] {
        let mut body = body_of(&first);
        unmarked(&mut body);
        bodies.push(body.to_string());
        let next = [Message::Assistant { parts: vec![text(more)] }, user(more)];
        first.messages.extend(next.map(Arc::new));
    }
    for pair in bodies.windows(2) {
        // The last message and the body end alike; what follows goes between.
        let begin = pair[0].trim_end_matches("]}]}");
        assert!(pair[1].starts_with(begin), "{pair:#?}");
    }
}

#[test]
fn at_most_four_marks_are_sent() {
    let mut asked = work(CLAUDE);
    for number in 0..10 {
        asked.messages.extend(work(CLAUDE).messages.iter().cloned());
        let body = body_of(&asked).to_string();
        assert_eq!(body.matches("cachePoint").count(), 4, "{number}");
    }
}

proptest! {
    #[test]
    fn a_body_does_not_depend_on_those_before_it(requests in requests()) {
        let written = Written::default();
        for request in requests {
            let alone = bytes("v", &request, &Written::default());
            prop_assert_eq!(bytes("v", &request, &written), alone);
        }
    }

    #[test]
    fn whatever_was_said_becomes_a_request_that_is_taken(requests in requests()) {
        for request in requests {
            let body = body_of(&request);
            let mut names = std::collections::HashSet::new();
            let mut role = "assistant";
            for message in body["messages"].as_array().unwrap() {
                prop_assert_ne!(message["role"].as_str().unwrap(), role);
                role = message["role"].as_str().unwrap();
                let blocks = message["content"].as_array().unwrap();
                prop_assert!(!blocks.is_empty());
                let inner = blocks.iter().flat_map(|block| block["toolResult"]["content"].as_array().into_iter().flatten());
                for block in blocks.iter().chain(inner) {
                    prop_assert_ne!(block["text"].as_str().map(str::trim), Some(""));
                    if let Some(name) = block["document"]["name"].as_str() {
                        prop_assert!(names.insert(name.to_owned()), "{} comes twice", name);
                    }
                    if let Some(input) = block["toolUse"].get("input") {
                        prop_assert!(input.is_object());
                    }
                }
            }
        }
    }
}
