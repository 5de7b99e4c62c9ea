//! Conversations at random, for the promise that a body does not depend on what was asked before.

use std::sync::Arc;

use proptest::prelude::*;
use proptest::sample::{Index, select};
use serde_json::{Value, json};

use crate::{AssistantPart, Content, Item, Message, Request, ToolResult};

/// How many conversations take turns.
const CONVERSATIONS: usize = 3;

/// What happens to a conversation before its next request.
#[derive(Debug, Clone)]
enum Change {
    None,
    Longer(Vec<Message>),
    Shorter(Index),
    Replaced(Index, Message),
    Inserted(Index, Message),
    Removed(Index),
    /// Equal messages, of which none is the same.
    Copied,
}

/// Requests in the order they are made: conversations that grow for the most part and share a provider, asked of two
/// models.
pub(crate) fn requests() -> impl Strategy<Value = Vec<Request>> {
    let model = prop_oneof![4 => Just("m"), 1 => Just("claude-m")];
    let system = prop_oneof![3 => Just("Be brief."), 1 => Just("")];
    prop::collection::vec((0..CONVERSATIONS, change(), model, system), 1..12).prop_map(|steps| {
        let mut conversations = vec![Vec::new(); CONVERSATIONS];
        let request = |(number, change, model, system): (usize, Change, &str, &str)| {
            let messages: &mut Vec<Arc<Message>> = &mut conversations[number];
            change.apply(messages);
            let messages = messages.clone();
            Request {
                model: model.to_owned(),
                system: system.to_owned(),
                messages: messages.into(),
                ..Request::default()
            }
        };
        steps.into_iter().map(request).collect()
    })
}

impl Change {
    fn apply(self, messages: &mut Vec<Arc<Message>>) {
        let length = messages.len();
        match self {
            Change::None => {}
            Change::Longer(more) => messages.extend(more.into_iter().map(Arc::new)),
            Change::Shorter(to) => messages.truncate(to.index(length + 1)),
            Change::Replaced(at, with) if length > 0 => messages[at.index(length)] = Arc::new(with),
            Change::Inserted(at, one) => messages.insert(at.index(length + 1), Arc::new(one)),
            Change::Removed(at) if length > 0 => drop(messages.remove(at.index(length))),
            Change::Replaced(..) | Change::Removed(_) => {}
            Change::Copied => messages.iter_mut().for_each(|message| *message = Arc::new((**message).clone())),
        }
    }
}

fn change() -> impl Strategy<Value = Change> {
    let index = any::<Index>;
    prop_oneof![
        1 => Just(Change::None),
        6 => prop::collection::vec(message(), 1..5).prop_map(Change::Longer),
        1 => index().prop_map(Change::Shorter),
        1 => (index(), message()).prop_map(|(at, with)| Change::Replaced(at, with)),
        1 => (index(), message()).prop_map(|(at, one)| Change::Inserted(at, one)),
        1 => index().prop_map(Change::Removed),
        1 => Just(Change::Copied),
    ]
}

fn message() -> impl Strategy<Value = Message> {
    prop_oneof![
        contents().prop_map(|content| Message::User { content }),
        prop::collection::vec(part(), 0..4).prop_map(|parts| Message::Assistant { parts }),
        prop::collection::vec(result(), 0..4).prop_map(|results| Message::Tools { results }),
    ]
}

fn contents() -> impl Strategy<Value = Vec<Content>> {
    let mime = select(vec!["image/png", "image/bmp", "application/pdf", "audio/wav", "text/plain"]);
    let name = prop::option::of(text());
    let media = (mime, select(vec!["AAAA", ""]), name).prop_map(|(mime, data, name)| Content::Media {
        mime: mime.to_owned(),
        data: data.to_owned(),
        name,
    });
    prop::collection::vec(prop_oneof![3 => text().prop_map(Content::text), 1 => media], 0..3)
}

fn part() -> impl Strategy<Value = AssistantPart> {
    let item = || prop::option::of(item());
    let arguments = select(vec![r#"{"a": "b"}"#, " {} ", "", "{broken", "[1]"]);
    prop_oneof![
        (text(), item()).prop_map(|(text, item)| AssistantPart::Text { text, item }),
        (text(), item()).prop_map(|(text, item)| AssistantPart::Reasoning { text, item }),
        (id(), arguments, item()).prop_map(|(id, arguments, item)| AssistantPart::ToolCall {
            id,
            name: "read".to_owned(),
            arguments: arguments.to_owned(),
            item,
        }),
        self::item().prop_map(|item| AssistantPart::Vendor { item }),
    ]
}

fn result() -> impl Strategy<Value = ToolResult> {
    (id(), contents(), any::<bool>()).prop_map(|(id, content, is_error)| ToolResult {
        id,
        name: "read".to_owned(),
        content,
        is_error,
    })
}

fn item() -> impl Strategy<Value = Item> {
    let (vendors, models) = (select(vec!["v", "v", "w"]), select(vec!["m", "m", "claude-m"]));
    (vendors, models, select(values())).prop_map(|(vendor, model, value)| Item {
        vendor: vendor.to_owned(),
        model: model.to_owned(),
        value,
    })
}

/// What the dialects keep in items, and what none of them does.
fn values() -> Vec<Value> {
    vec![
        json!({"field": "reasoning_content"}),
        json!({"field": "reasoning"}),
        json!({"field": "reasoning_details", "details": [{"type": "reasoning.text", "text": "Hm."}]}),
        json!({"signature": "SIG"}),
        json!({"redacted": "RED"}),
        json!({"citations": [{"cited_text": "é"}]}),
        json!({"type": "server_tool_use", "id": "srv_1", "input": {}}),
        json!({"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "RU5D"}),
        json!({"type": "message", "id": "msg_1", "phase": "commentary"}),
        json!({"type": "function_call", "id": "fc_1", "namespace": "files"}),
        json!("odd"),
    ]
}

fn text() -> impl Strategy<Value = String> {
    let texts = vec!["", " \n", "word", "é \"quoted\" \\ \u{1} \u{2028}", "a blank behind it \n "];
    select(texts).prop_map(str::to_owned)
}

fn id() -> impl Strategy<Value = String> {
    select(vec!["call_1", "call.2", "abcdefgh1"]).prop_map(str::to_owned)
}
