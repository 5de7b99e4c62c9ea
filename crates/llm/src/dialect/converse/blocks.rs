//! The conversation as messages and blocks of the wire.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::sync::{Arc, LazyLock};

use serde::Serialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::family::Family;
use super::files::{Document, File, Kind, Source, kind};
use super::names;
use super::options::Point;
use crate::dialect::arguments::readable;
use crate::dialect::mark;
use crate::dialect::media::{EMPTY_IMAGE, unsupported};
use crate::dialect::written::{length, raw};
use crate::kept::Kept;
use crate::{AssistantPart, Content, Item, Message, Request, ToolResult};

/// The key of an item that holds the signature of a thought.
pub(super) const SIGNATURE: &str = "signature";

/// The key of an item that holds a thought which only the vendor can read.
pub(super) const REDACTED: &str = "redacted";

/// The key of an item that holds what words of an answer rest on.
pub(super) const CITATIONS: &str = "citations";

/// The kinds of blocks of the vendor's own that are given back.
pub(super) const VENDOR: [&str; 2] = ["toolUse", "toolResult"];

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum Role {
    User,
    Assistant,
}

/// The JSON of messages of the conversations before, as they are when others follow, without marks. What a message
/// becomes depends on the model's maker, too, so there is one for each that matters.
#[derive(Debug, Default)]
pub(super) struct Written {
    with_status: Kept<Turn>,
    without: Kept<Turn>,
}

/// What one message becomes.
pub(super) struct Turn {
    role: Role,
    /// Empty where nothing of the message can be sent.
    pub(super) blocks: Vec<Box<RawValue>>,
    /// The names of the documents in it.
    documents: Vec<String>,
    /// What stands at its end.
    end: End,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    Result,
    Other,
}

/// One message of the wire. The interface wants the roles to take turns, and the user to begin.
#[derive(Serialize)]
pub(super) struct Wire<'a> {
    role: Role,
    content: Vec<&'a RawValue>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
enum Block<'a> {
    Text(Cow<'a, str>),
    Image(File<'a>),
    Document(Document<'a>),
    Video(File<'a>),
    Audio(File<'a>),
    #[serde(rename_all = "camelCase")]
    ToolUse {
        tool_use_id: Cow<'a, str>,
        name: Cow<'a, str>,
        input: Cow<'a, RawValue>,
    },
    #[serde(rename_all = "camelCase")]
    ToolResult {
        tool_use_id: Cow<'a, str>,
        content: Vec<Block<'a>>,
        #[serde(skip_serializing_if = "Option::is_none")]
        status: Option<&'static str>,
    },
    ReasoningContent(Thought<'a>),
    CitationsContent {
        content: [Cited<'a>; 1],
        citations: &'a Value,
    },
    CachePoint(&'a Value),
    /// Given back as it came.
    #[serde(untagged)]
    Vendor(&'a Value),
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
enum Thought<'a> {
    ReasoningText { text: &'a str, signature: &'a str },
    RedactedContent(&'a str),
}

#[derive(Serialize)]
struct Cited<'a> {
    text: &'a str,
}

/// What the place of a message in its request asks of it.
#[derive(Default)]
struct Place<'a> {
    /// It ends in this mark.
    mark: Option<&'a Value>,
    /// It is the end of the conversation.
    last: bool,
    /// The names of documents before it.
    taken: HashSet<String>,
}

/// The messages of a request, each by itself, with their cache marks.
pub(super) fn turns(
    provider: &str,
    request: &Request,
    family: Family,
    point: Option<&Point>,
    written: &Written,
) -> Vec<Arc<Turn>> {
    let write = |message: &Message, place| turn(message, provider, &request.model, family, place);
    let kept = if family.knows_status() { &written.with_status } else { &written.without };
    let mut turns = kept.of(request, |message| {
        let turn = write(message, Place::default());
        let length = length(&turn.blocks);
        (Arc::new(turn), length)
    });
    let mut taken = rename(&mut turns, |index, taken| {
        Arc::new(write(&request.messages[index], Place { taken, ..Place::default() }))
    });
    let sent = turns.iter().enumerate().filter(|(_, turn)| !turn.blocks.is_empty());
    let markable = |turn: &Turn| point.is_some() && (turn.end == End::Other || family.marks_results());
    for (index, mark::Place { marked, last }) in
        mark::places(sent.map(|(index, turn)| (index, turn.role, markable(turn))))
    {
        let taken = taken.remove(&index).unwrap_or_default();
        let mark = point.filter(|_| marked).map(|point| &point.0);
        turns[index] = Arc::new(write(&request.messages[index], Place { mark, last, taken }));
    }
    turns
}

/// Writes those messages anew whose documents are called like others before them, and says what those are called.
fn rename(
    turns: &mut [Arc<Turn>],
    write: impl Fn(usize, HashSet<String>) -> Arc<Turn>,
) -> HashMap<usize, HashSet<String>> {
    let (mut names, mut taken) = (HashSet::new(), HashMap::new());
    for (index, turn) in turns.iter_mut().enumerate() {
        if turn.documents.iter().any(|name| names.contains(name)) {
            *turn = write(index, names.clone());
            taken.insert(index, names.clone());
        }
        names.extend(turn.documents.iter().cloned());
    }
    taken
}

/// The messages of the wire: those of one role that follow each other are one.
pub(super) fn messages(turns: &[Arc<Turn>]) -> Vec<Wire<'_>> {
    /// Begins a conversation of which only the model's words are left.
    static BEGIN: LazyLock<Box<RawValue>> = LazyLock::new(|| raw(&Block::Text("(The conversation goes on.)".into())));
    let mut list: Vec<Wire<'_>> = Vec::with_capacity(turns.len() + 1);
    for turn in turns.iter().filter(|turn| !turn.blocks.is_empty()) {
        let blocks = turn.blocks.iter().map(|block| &**block);
        if list.is_empty() && turn.role == Role::Assistant {
            list.push(Wire { role: Role::User, content: vec![&BEGIN] });
        }
        match list.last_mut() {
            Some(last) if last.role == turn.role => last.content.extend(blocks),
            _ => list.push(Wire { role: turn.role, content: blocks.collect() }),
        }
    }
    list
}

fn turn(message: &Message, provider: &str, model: &str, family: Family, place: Place<'_>) -> Turn {
    let mut named = Named { taken: place.taken, own: Vec::new() };
    let (role, mut blocks): (_, Vec<_>) = match message {
        Message::User { content } => (Role::User, said(content, &mut named)),
        Message::Assistant { parts } => {
            let give_back = |item: &Item| item.vendor == provider && item.model == model;
            (Role::Assistant, parts.iter().filter_map(|part| answered(part, give_back)).collect())
        }
        Message::Tools { results } => (Role::User, results.iter().map(|one| result(one, family, &mut named)).collect()),
    };
    if role == Role::Assistant {
        arrange(&mut blocks);
        if place.last {
            finish(&mut blocks);
        }
    }
    let end = match blocks.last() {
        Some(Block::ToolResult { .. }) => End::Result,
        Some(_) | None => End::Other,
    };
    if !blocks.is_empty() {
        blocks.extend(place.mark.map(Block::CachePoint));
    }
    Turn { role, blocks: blocks.iter().map(raw).collect(), documents: named.own, end }
}

/// The names of documents, none of which may come twice in a request.
struct Named {
    taken: HashSet<String>,
    own: Vec<String>,
}

impl Named {
    fn take(&mut self, name: Option<&str>) -> String {
        let name = names::unique(names::document(name), |name| {
            self.taken.contains(name) || self.own.iter().any(|own| own == name)
        });
        self.own.push(name.clone());
        name
    }
}

/// Calls stand at the end of an answer, and thoughts do not: Claude refuses both the other way round.
fn arrange(content: &mut Vec<Block<'_>>) {
    content.sort_by_key(|block| matches!(block, Block::ToolUse { .. }));
    while matches!(content.last(), Some(Block::ReasoningContent(_))) {
        content.pop();
    }
}

/// An answer that the model is to go on with must not end in a blank.
fn finish(blocks: &mut [Block<'_>]) {
    if let Some(Block::Text(text)) = blocks.last_mut() {
        let end = text.trim_end().len();
        match text {
            Cow::Borrowed(whole) => *whole = &whole[..end],
            Cow::Owned(whole) => whole.truncate(end),
        }
    }
}

/// What the user says. A document wants words beside it.
fn said<'a>(content: &'a [Content], named: &mut Named) -> Vec<Block<'a>> {
    let mut blocks: Vec<_> = content.iter().filter_map(|content| shown(content, true, named)).collect();
    let has = |wanted: fn(&Block<'_>) -> bool| blocks.iter().any(wanted);
    if has(|block| matches!(block, Block::Document(_))) && !has(|block| matches!(block, Block::Text(_))) {
        blocks.push(Block::Text("Here is the document.".into()));
    }
    blocks
}

/// Blank words are refused, so they are left out. Sounds go with words of the user only.
fn shown<'a>(content: &'a Content, sounds: bool, named: &mut Named) -> Option<Block<'a>> {
    Some(match content {
        Content::Text { text } if text.trim().is_empty() => return None,
        Content::Text { text } => Block::Text(text.into()),
        Content::Media { mime, data, .. } if mime.starts_with("image/") && data.is_empty() => {
            Block::Text(EMPTY_IMAGE.into())
        }
        Content::Media { mime, data, name } => {
            let source = Source { bytes: data };
            match kind(mime).filter(|_| !data.is_empty()) {
                Some(Kind::Image(format)) => Block::Image(File { format, source }),
                Some(Kind::Document(format)) => {
                    Block::Document(Document { format, name: named.take(name.as_deref()), source })
                }
                Some(Kind::Video(format)) => Block::Video(File { format, source }),
                Some(Kind::Audio(format)) if sounds => Block::Audio(File { format, source }),
                Some(Kind::Audio(_)) | None => Block::Text(unsupported(mime, name.as_deref()).into()),
            }
        }
    })
}

fn answered<'a>(part: &'a AssistantPart, give_back: impl Fn(&Item) -> bool) -> Option<Block<'a>> {
    let mine = |item: &'a Option<Item>| item.as_ref().filter(|item| give_back(item)).map(|item| &item.value);
    Some(match part {
        AssistantPart::Text { text, .. } if text.trim().is_empty() => return None,
        AssistantPart::Text { text, item } => match mine(item).and_then(|value| value.get(CITATIONS)) {
            Some(citations) => Block::CitationsContent { content: [Cited { text }], citations },
            None => Block::Text(text.into()),
        },
        AssistantPart::Reasoning { text, item } => {
            let value = mine(item)?;
            Block::ReasoningContent(match (value[SIGNATURE].as_str(), value[REDACTED].as_str()) {
                (Some(signature), _) => Thought::ReasoningText { text, signature },
                (None, Some(data)) => Thought::RedactedContent(data),
                (None, None) => return None,
            })
        }
        AssistantPart::ToolCall { id, name, arguments, .. } => {
            Block::ToolUse { tool_use_id: names::call(id), name: names::tool(name), input: input(arguments) }
        }
        AssistantPart::Vendor { item } => {
            let known = |value: &Value| VENDOR.iter().any(|kind| value.get(kind).is_some());
            Block::Vendor(Some(&item.value).filter(|value| give_back(item) && known(value))?)
        }
    })
}

fn result<'a>(result: &'a ToolResult, family: Family, named: &mut Named) -> Block<'a> {
    let ToolResult { id, content, is_error, .. } = result;
    let mut content: Vec<_> = content.iter().filter_map(|content| shown(content, false, named)).collect();
    if content.is_empty() {
        content.push(Block::Text(if *is_error { "(no message)" } else { "(no output)" }.into()));
    }
    let status = (*is_error && family.knows_status()).then_some("error");
    Block::ToolResult { tool_use_id: names::call(id), content, status }
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
