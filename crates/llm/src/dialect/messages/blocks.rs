//! The conversation as messages and blocks of the wire.

use std::borrow::Cow;

use serde::Serialize;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::dialect::arguments::readable;
use crate::dialect::mark::{EPHEMERAL, MARKED, Mark};
use crate::dialect::media::{EMPTY_IMAGE, unsupported};
use crate::quirks::plain;
use crate::{AssistantPart, Content, Item, Message, Request, ToolResult};

/// The key of an item that holds the signature of a thought.
pub(super) const SIGNATURE: &str = "signature";

/// The key of an item that holds a thought which only the vendor can read.
pub(super) const REDACTED: &str = "redacted";

/// The key of an item that holds what words of an answer rest on.
pub(super) const CITATIONS: &str = "citations";

/// Pictures that the interface takes.
const IMAGES: [&str; 4] = ["image/jpeg", "image/png", "image/gif", "image/webp"];

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Role {
    User,
    Assistant,
}

/// One message. The interface wants the roles to take turns.
#[derive(Serialize)]
pub(super) struct Wire<'a> {
    pub(super) role: Role,
    pub(super) content: Vec<Block<'a>>,
}

#[derive(Serialize)]
#[serde(untagged)]
pub(super) enum Block<'a> {
    Known(Known<'a>),
    /// Given back as it came.
    Vendor(&'a Value),
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum Known<'a> {
    Text {
        text: Cow<'a, str>,
        #[serde(skip_serializing_if = "Option::is_none")]
        citations: Option<&'a Value>,
        #[serde(skip_serializing_if = "Option::is_none")]
        cache_control: Option<Mark>,
    },
    Image {
        source: Source<'a>,
        #[serde(skip_serializing_if = "Option::is_none")]
        cache_control: Option<Mark>,
    },
    Document {
        source: Source<'a>,
        #[serde(skip_serializing_if = "Option::is_none")]
        title: Option<&'a str>,
        #[serde(skip_serializing_if = "Option::is_none")]
        cache_control: Option<Mark>,
    },
    Thinking {
        thinking: &'a str,
        signature: &'a str,
    },
    RedactedThinking {
        data: &'a str,
    },
    ToolUse {
        id: Cow<'a, str>,
        name: &'a str,
        input: Cow<'a, RawValue>,
        #[serde(skip_serializing_if = "Option::is_none")]
        cache_control: Option<Mark>,
    },
    ToolResult {
        tool_use_id: Cow<'a, str>,
        content: Told<'a>,
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        is_error: bool,
        #[serde(skip_serializing_if = "Option::is_none")]
        cache_control: Option<Mark>,
    },
}

/// The bytes of a file.
#[derive(Serialize)]
pub(super) struct Source<'a> {
    r#type: &'static str,
    media_type: &'a str,
    data: &'a str,
}

/// What a result says.
#[derive(Serialize)]
#[serde(untagged)]
pub(super) enum Told<'a> {
    Text(Cow<'a, str>),
    Blocks(Vec<Block<'a>>),
}

/// The messages of a request, with their cache marks.
pub(super) fn messages<'a>(provider: &str, request: &'a Request) -> Vec<Wire<'a>> {
    let mut list: Vec<Wire<'a>> = Vec::new();
    for message in &request.messages {
        let (role, mut content) = match &**message {
            Message::User { content } => (Role::User, content.iter().filter_map(shown).collect()),
            Message::Assistant { parts } => {
                let give_back = |item: &Item| item.vendor == provider && item.model == request.model;
                (Role::Assistant, parts.iter().filter_map(|part| answered(part, give_back)).collect())
            }
            Message::Tools { results } => (Role::User, results.iter().map(result).collect::<Vec<_>>()),
        };
        if role == Role::Assistant {
            arrange(&mut content);
        }
        match list.last_mut() {
            _ if content.is_empty() => {}
            Some(last) if last.role == role => last.content.extend(content),
            _ => list.push(Wire { role, content }),
        }
    }
    finish(&mut list);
    for wire in list.iter_mut().rev().take(MARKED) {
        if let Some(mark) = wire.content.iter_mut().rev().find_map(Block::mark) {
            *mark = Some(EPHEMERAL);
        }
    }
    list
}

/// Calls stand at the end of an answer, and thoughts do not: the interface refuses both the other way round.
fn arrange(content: &mut Vec<Block<'_>>) {
    content.sort_by_key(|block| matches!(block, Block::Known(Known::ToolUse { .. })));
    let is_thought =
        |block: &Block<'_>| matches!(block, Block::Known(Known::Thinking { .. } | Known::RedactedThinking { .. }));
    while content.last().is_some_and(is_thought) {
        content.pop();
    }
}

/// An answer that the model is to go on with must not end in a blank.
fn finish(list: &mut [Wire<'_>]) {
    let last = list.last_mut().filter(|last| last.role == Role::Assistant);
    if let Some(Block::Known(Known::Text { text, .. })) = last.and_then(|last| last.content.last_mut()) {
        let end = text.trim_end().len();
        match text {
            Cow::Borrowed(whole) => *whole = &whole[..end],
            Cow::Owned(whole) => whole.truncate(end),
        }
    }
}

impl Block<'_> {
    /// Where the mark of this block stands, if it can have one.
    fn mark(&mut self) -> Option<&mut Option<Mark>> {
        match self {
            Block::Known(
                Known::Text { cache_control, .. }
                | Known::Image { cache_control, .. }
                | Known::Document { cache_control, .. }
                | Known::ToolUse { cache_control, .. }
                | Known::ToolResult { cache_control, .. },
            ) => Some(cache_control),
            Block::Known(Known::Thinking { .. } | Known::RedactedThinking { .. }) | Block::Vendor(_) => None,
        }
    }
}

fn words<'a>(text: impl Into<Cow<'a, str>>) -> Block<'a> {
    Block::Known(Known::Text { text: text.into(), citations: None, cache_control: None })
}

/// Blank words are refused, so they are left out.
fn shown(content: &Content) -> Option<Block<'_>> {
    Some(match content {
        Content::Text { text } if text.trim().is_empty() => return None,
        Content::Text { text } => words(text),
        Content::Media { mime, data, .. } if mime.starts_with("image/") && data.is_empty() => words(EMPTY_IMAGE),
        Content::Media { mime, data, name } => {
            let source = Source { r#type: "base64", media_type: mime, data };
            match mime.as_str() {
                mime if IMAGES.contains(&mime) => Block::Known(Known::Image { source, cache_control: None }),
                "application/pdf" => {
                    Block::Known(Known::Document { source, title: name.as_deref(), cache_control: None })
                }
                mime => words(unsupported(mime, name.as_deref())),
            }
        }
    })
}

fn answered<'a>(part: &'a AssistantPart, give_back: impl Fn(&Item) -> bool) -> Option<Block<'a>> {
    let mine = |item: &'a Option<Item>| item.as_ref().filter(|item| give_back(item)).map(|item| &item.value);
    Some(match part {
        AssistantPart::Text { text, .. } if text.trim().is_empty() => return None,
        AssistantPart::Text { text, item } => {
            let citations = mine(item).and_then(|value| value.get(CITATIONS));
            Block::Known(Known::Text { text: text.into(), citations, cache_control: None })
        }
        // A thought that nobody signed is refused.
        AssistantPart::Reasoning { text, item } => {
            let value = mine(item)?;
            Block::Known(match (value[SIGNATURE].as_str(), value[REDACTED].as_str()) {
                (Some(signature), _) => Known::Thinking { thinking: text, signature },
                (None, Some(data)) => Known::RedactedThinking { data },
                (None, None) => return None,
            })
        }
        AssistantPart::ToolCall { id, name, arguments, .. } => {
            Block::Known(Known::ToolUse { id: plain(id), name, input: input(arguments), cache_control: None })
        }
        AssistantPart::Vendor { item } => {
            Block::Vendor(Some(&item.value).filter(|value| give_back(item) && value["type"].is_string())?)
        }
    })
}

fn result(result: &ToolResult) -> Block<'_> {
    let ToolResult { id, content, is_error, .. } = result;
    let told = match &content[..] {
        [Content::Text { text }] if !text.trim().is_empty() => Told::Text(text.into()),
        content => Told::Blocks(content.iter().filter_map(shown).collect()),
    };
    let content = match told {
        // An error must say something, and an empty list is refused.
        Told::Blocks(blocks) if blocks.is_empty() => Told::Text(if *is_error { "(no message)" } else { "" }.into()),
        told => told,
    };
    Block::Known(Known::ToolResult { tool_use_id: plain(id), content, is_error: *is_error, cache_control: None })
}

fn input(arguments: &str) -> Cow<'_, RawValue> {
    match readable(arguments) {
        Cow::Borrowed(text) => match serde_json::from_str::<&RawValue>(text.trim()) {
            Ok(raw) => Cow::Borrowed(raw),
            // What is readable is JSON.
            Err(_) => Cow::Borrowed(RawValue::NULL),
        },
        Cow::Owned(text) => RawValue::from_string(text).map_or(Cow::Borrowed(RawValue::NULL), Cow::Owned),
    }
}
