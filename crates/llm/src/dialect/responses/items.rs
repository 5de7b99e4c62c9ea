//! The conversation as items of the wire.

use std::borrow::Cow;

use serde::Serialize;
use serde_json::{Map, Value};

use super::parts::{Part, Told, said, told};
use crate::dialect::arguments::readable;
use crate::dialect::conversation::{Conversations, Elements};
use crate::{AssistantPart, Item, Message};

/// The keys of a vendor's own form of a message, a thought, a call.
pub(super) mod key {
    /// What it is.
    pub(in super::super) const TYPE: &str = "type";
    /// The vendor's id of it.
    pub(in super::super) const ID: &str = "id";
    /// Whether words are said on the way or at the end.
    pub(in super::super) const PHASE: &str = "phase";
    /// What words rest on.
    pub(in super::super) const ANNOTATIONS: &str = "annotations";
    /// Whether the words say that the model will not do it.
    pub(in super::super) const REFUSED: &str = "refused";
}

/// What the conversations before were sent in, once for each way to write them.
#[derive(Debug, Default)]
pub(super) struct Written {
    /// For a vendor who keeps the conversation.
    stored: Conversations,
    /// For one who does not.
    sent: Conversations,
}

impl Written {
    /// Those of a vendor who keeps the conversation, or of one who does not.
    pub(super) fn of(&self, stored: bool) -> &Conversations {
        if stored { &self.stored } else { &self.sent }
    }
}

/// Longest id of a call that the interface takes, in bytes. Ids of other vendors may be longer.
const MAX_ID: usize = 64;

/// `id`, made to fit: what is cut off is told apart by its checksum.
fn call_id(id: &str) -> Cow<'_, str> {
    /// Digits of the checksum.
    const SUM: usize = 16;
    if id.len() <= MAX_ID {
        return id.into();
    }
    let sum = ring::digest::digest(&ring::digest::SHA256, id.as_bytes());
    let sum: String = sum.as_ref()[..SUM / 2].iter().map(|byte| format!("{byte:02x}")).collect();
    let mut start = MAX_ID - SUM - 1;
    while !id.is_char_boundary(start) {
        start -= 1;
    }
    format!("{}_{sum}", &id[..start]).into()
}

/// One item of the wire.
#[derive(Serialize)]
#[serde(untagged)]
enum Wire<'a> {
    Said {
        r#type: &'static str,
        role: &'static str,
        content: Vec<Part<'a>>,
    },
    /// The interface has two forms of an answer: this one, which needs no id, …
    Answered {
        r#type: &'static str,
        role: &'static str,
        content: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        phase: Option<&'a str>,
    },
    /// … and this one, which does.
    Stored {
        r#type: &'static str,
        id: &'a str,
        role: &'static str,
        status: &'static str,
        content: [Answer<'a>; 1],
        #[serde(skip_serializing_if = "Option::is_none")]
        phase: Option<&'a str>,
    },
    Call {
        r#type: &'static str,
        call_id: Cow<'a, str>,
        name: &'a str,
        arguments: Cow<'a, str>,
        /// What else the vendor said of the call.
        #[serde(flatten)]
        more: Map<String, Value>,
    },
    Result {
        r#type: &'static str,
        call_id: Cow<'a, str>,
        output: Told<'a>,
    },
    /// Given back as it came, but for what the vendor refuses.
    Vendor(Map<String, Value>),
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Answer<'a> {
    OutputText { text: &'a str, annotations: Cow<'a, Value> },
    Refusal { refusal: &'a str },
}

impl Wire<'_> {
    fn is_thought(&self) -> bool {
        matches!(self, Wire::Vendor(item) if item.get(key::TYPE).is_some_and(|kind| kind == "reasoning"))
    }
}

/// What the form of a message depends on beside itself.
#[derive(Clone, Copy)]
pub(super) struct Writer<'a> {
    pub(super) provider: &'a str,
    pub(super) model: &'a str,
    /// Whether the vendor keeps the conversation.
    pub(super) stored: bool,
}

impl Writer<'_> {
    /// The items of a message.
    pub(super) fn write(self, message: &Message, elements: &mut Elements) {
        self.wires(message).iter().for_each(|wire| elements.push(wire));
    }

    fn wires<'m>(self, message: &'m Message) -> Vec<Wire<'m>> {
        match message {
            Message::User { content } => vec![Wire::Said { r#type: "message", role: "user", content: said(content) }],
            Message::Assistant { parts } => {
                let mut wires: Vec<_> = parts.iter().filter_map(|part| self.answered(part)).collect();
                // A thought with nothing behind it is refused.
                while wires.last().is_some_and(Wire::is_thought) {
                    wires.pop();
                }
                wires
            }
            Message::Tools { results } => results
                .iter()
                .map(|result| Wire::Result {
                    r#type: "function_call_output",
                    call_id: call_id(&result.id),
                    output: told(&result.content),
                })
                .collect(),
        }
    }

    fn answered<'m>(self, part: &'m AssistantPart) -> Option<Wire<'m>> {
        match part {
            AssistantPart::Text { text, .. } if text.is_empty() => None,
            AssistantPart::Text { text, item } => Some(self.words(text, self.mine(item.as_ref(), "message"))),
            AssistantPart::Reasoning { item, .. } => self.thought(self.mine(item.as_ref(), "reasoning")?),
            AssistantPart::ToolCall { id, name, arguments, item } => {
                let mut more =
                    self.mine(item.as_ref(), "function_call").map(|item| self.kept(item)).unwrap_or_default();
                for ours in [key::TYPE, "call_id", "name", "arguments"] {
                    more.remove(ours);
                }
                let arguments = readable(arguments);
                Some(Wire::Call { r#type: "function_call", call_id: call_id(id), name, arguments, more })
            }
            AssistantPart::Vendor { item } => {
                let fields = item.value.as_object().filter(|_| self.is_mine(item))?;
                fields.get(key::TYPE).filter(|kind| kind.is_string())?;
                Some(Wire::Vendor(self.kept(fields)))
            }
        }
    }

    fn words<'m>(self, text: &'m str, item: Option<&'m Map<String, Value>>) -> Wire<'m> {
        let get = |key: &str| item.and_then(|item| item.get(key));
        let string = |key: &str| get(key).and_then(Value::as_str).filter(|text| !text.is_empty());
        let (r#type, role, phase) = ("message", "assistant", string(key::PHASE));
        let Some(id) = string(key::ID).filter(|_| self.stored) else {
            return Wire::Answered { r#type, role, content: text, phase };
        };
        let content = match get(key::REFUSED) {
            Some(Value::Bool(true)) => Answer::Refusal { refusal: text },
            Some(_) | None => {
                let annotations = get(key::ANNOTATIONS).filter(|list| list.is_array());
                let none = || Cow::Owned(Value::Array(Vec::new()));
                Answer::OutputText { text, annotations: annotations.map_or_else(none, Cow::Borrowed) }
            }
        };
        Wire::Stored { r#type, id, role, status: "completed", content: [content], phase }
    }

    /// A thought is worth giving back where the vendor can read it: encrypted, open, or by its id.
    fn thought<'m>(self, item: &'m Map<String, Value>) -> Option<Wire<'m>> {
        let is_encrypted = item.get("encrypted_content").and_then(Value::as_str).is_some_and(|text| !text.is_empty());
        let is_open = item.get("content").and_then(Value::as_array).is_some_and(|content| !content.is_empty());
        if !(is_encrypted || is_open || self.stored) {
            return None;
        }
        // Servers that think in the open store nothing at all, and want the id for the form's sake.
        let by_id = Self { stored: self.stored || !is_encrypted, ..self };
        let mut fields = by_id.kept(item);
        // Given with every thought, and refused with some.
        fields.remove("status");
        if !is_open {
            fields.remove("content");
        }
        if !fields.get("summary").is_some_and(Value::is_array) {
            fields.insert("summary".to_owned(), Value::Array(Vec::new()));
        }
        Some(Wire::Vendor(fields))
    }

    /// A vendor's item as it is given back. An id of something that is not stored cannot be found, and is refused.
    fn kept(self, item: &Map<String, Value>) -> Map<String, Value> {
        let keeps = |key: &str, value: &Value| !value.is_null() && (self.stored || key != key::ID);
        item.iter().filter(|(key, value)| keeps(key, value)).map(|(key, value)| (key.clone(), value.clone())).collect()
    }

    /// The vendor's own form of a `kind`, if it is of this vendor and this model.
    fn mine<'m>(self, item: Option<&'m Item>, kind: &str) -> Option<&'m Map<String, Value>> {
        let fields = item.filter(|item| self.is_mine(item))?.value.as_object()?;
        fields.get(key::TYPE).filter(|found| *found == kind).map(|_| fields)
    }

    fn is_mine(self, item: &Item) -> bool {
        item.vendor == self.provider && item.model == self.model
    }
}
