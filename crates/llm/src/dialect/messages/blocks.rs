//! The conversation as messages and blocks of the wire.

use std::borrow::Cow;
use std::sync::Arc;

use serde::Serialize;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::dialect::arguments::readable;
use crate::dialect::mark::{Mark, Place, places};
use crate::dialect::media::{EMPTY_IMAGE, unsupported};
use crate::dialect::written::{length, raw};
use crate::kept::Kept;
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
enum Role {
    User,
    Assistant,
}

/// The JSON of messages of the conversation before, as they are when others follow, without marks.
pub(super) type Written = Kept<Turn>;

/// What one message becomes.
pub(super) struct Turn {
    role: Role,
    /// Empty where nothing of the message can be sent.
    pub(super) blocks: Vec<Box<RawValue>>,
    /// Whether one of them can carry a mark.
    markable: bool,
}

/// One message of the wire. The interface wants the roles to take turns.
#[derive(Serialize)]
pub(super) struct Wire<'a> {
    role: Role,
    content: Vec<&'a RawValue>,
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

/// The messages of a request, each by itself, with their cache marks.
pub(super) fn turns(provider: &str, request: &Request, written: &Written) -> Vec<Arc<Turn>> {
    let mark = Mark::of(&request.extra);
    let write = |message: &Message, place| turn(message, provider, &request.model, place, mark);
    let mut turns = written.of(request, |message| {
        let turn = write(message, Place::default());
        let length = length(&turn.blocks);
        (Arc::new(turn), length)
    });
    let sent = turns.iter().enumerate().filter(|(_, turn)| !turn.blocks.is_empty());
    for (index, place) in places(sent.map(|(index, turn)| (index, turn.role, turn.markable))) {
        turns[index] = Arc::new(write(&request.messages[index], place));
    }
    turns
}

/// The messages of the wire: those of one role that follow each other are one.
pub(super) fn messages(turns: &[Arc<Turn>]) -> Vec<Wire<'_>> {
    let mut list: Vec<Wire<'_>> = Vec::with_capacity(turns.len());
    for turn in turns.iter().filter(|turn| !turn.blocks.is_empty()) {
        let blocks = turn.blocks.iter().map(|block| &**block);
        match list.last_mut() {
            Some(last) if last.role == turn.role => last.content.extend(blocks),
            _ => list.push(Wire { role: turn.role, content: blocks.collect() }),
        }
    }
    list
}

fn turn(message: &Message, provider: &str, model: &str, place: Place, kind: Mark) -> Turn {
    let (role, mut blocks) = match message {
        Message::User { content } => (Role::User, content.iter().filter_map(shown).collect()),
        Message::Assistant { parts } => {
            let give_back = |item: &Item| item.vendor == provider && item.model == model;
            (Role::Assistant, parts.iter().filter_map(|part| answered(part, give_back)).collect())
        }
        Message::Tools { results } => (Role::User, results.iter().map(result).collect::<Vec<_>>()),
    };
    if role == Role::Assistant {
        arrange(&mut blocks);
        if place.last {
            finish(&mut blocks);
        }
    }
    let mark = blocks.iter_mut().rev().find_map(Block::mark);
    let markable = mark.is_some();
    if let Some(mark) = mark.filter(|_| place.marked) {
        *mark = Some(kind);
    }
    Turn { role, blocks: blocks.iter().map(raw).collect(), markable }
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
fn finish(blocks: &mut [Block<'_>]) {
    if let Some(Block::Known(Known::Text { text, .. })) = blocks.last_mut() {
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
