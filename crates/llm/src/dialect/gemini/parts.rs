//! The conversation as contents and parts of the wire.

use std::borrow::Cow;
use std::sync::Arc;

use serde::Serialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::models::is_third;
use crate::dialect::arguments::object;
use crate::dialect::ids::is_made_up;
use crate::dialect::media::{EMPTY_IMAGE, unsupported};
use crate::dialect::written::{length, raw};
use crate::kept::Kept;
use crate::{AssistantPart, Content as Shown, Item, Message, Place, Request, ToolResult};

/// The key of an item that says that its words are a thought of this dialect.
pub(super) const THOUGHT: &str = "thought";

/// The key of an item that holds the signature of a part.
pub(super) const SIGNATURE: &str = "thoughtSignature";

/// The key of an item that says where in its words, in bytes, the part begins that is signed. Those before are a part
/// of their own, without a signature: the vendor wants parts back as they came. Left out: at their beginning.
pub(super) const AT: &str = "at";

/// The key of an item that holds a part which only the vendor knows.
pub(super) const PART: &str = "part";

/// What Gemini 3 takes for the signature of a call that it did not make itself; documented with thought signatures at
/// <https://ai.google.dev/gemini-api/docs/thought-signatures>.
const FOREIGN: &str = "skip_thought_signature_validator";

/// What a conversation begins with that would begin with the model: the interface wants the user first.
const OPENING: &str = "(The conversation goes on from here.)";

/// What stands for the words of a result that has none.
const SILENT: &str = "(no output)";

/// The same for one that is nothing but files.
const ATTACHED: &str = "(see the attached file)";

/// What stands for a tool whose name never came; an empty one is refused.
const NAMELESS: &str = "unknown";

/// Pictures and documents that the interface takes beside sounds and films.
const FILES: [&str; 7] =
    ["image/png", "image/jpeg", "image/webp", "image/heic", "image/heif", "application/pdf", "text/plain"];

/// Of these, what a result can hold.
const IN_RESULTS: [&str; 5] = ["image/png", "image/jpeg", "image/webp", "application/pdf", "text/plain"];

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum Role {
    User,
    Model,
}

/// The JSON of messages of the conversation before.
pub(super) type Written = Kept<Turn>;

/// What one message becomes.
pub(super) struct Turn {
    role: Role,
    /// Empty where nothing of the message can be sent.
    pub(super) parts: Vec<Box<RawValue>>,
}

/// One content of the wire.
#[derive(Serialize)]
pub(super) struct Content<'a> {
    role: Role,
    parts: Vec<&'a RawValue>,
}

#[derive(Default, Serialize)]
#[serde(rename_all = "camelCase")]
struct Part<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<Cow<'a, str>>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    thought: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    inline_data: Option<Blob<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    function_call: Option<Call<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    function_response: Option<Response<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    thought_signature: Option<&'a str>,
}

/// The bytes of a file, in base64.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Blob<'a> {
    mime_type: &'a str,
    data: &'a str,
}

#[derive(Serialize)]
struct Call<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<&'a str>,
    name: &'a str,
    args: Cow<'a, RawValue>,
}

#[derive(Serialize)]
struct Response<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<&'a str>,
    name: &'a str,
    response: Told<'a>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    parts: Vec<Part<'a>>,
}

/// What a result says. Everything but an `error` counts as output.
#[derive(Serialize)]
struct Told<'a> {
    name: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    content: Option<Cow<'a, str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<Cow<'a, str>>,
}

/// The messages of a request, each by itself.
pub(super) fn turns(provider: &str, place: Place, request: &Request, written: &Written) -> Vec<Arc<Turn>> {
    let to = To { provider, place, model: &request.model };
    written.of(request, |message| {
        let turn = to.turn(message);
        let length = length(&turn.parts);
        (Arc::new(turn), length)
    })
}

/// The contents of the wire: those of one role that follow each other are one, and the user, with `opening` if there is
/// one, comes first.
pub(super) fn contents<'a>(turns: &'a [Arc<Turn>], opening: Option<&'a RawValue>) -> Vec<Content<'a>> {
    let mut list: Vec<Content<'a>> = Vec::with_capacity(turns.len() + 1);
    let mut turns = turns.iter().filter(|turn| !turn.parts.is_empty()).peekable();
    let model_first = turns.peek().is_some_and(|turn| turn.role == Role::Model);
    let opening = opening.or_else(|| model_first.then_some(&**GOES_ON));
    list.extend(opening.map(|part| Content { role: Role::User, parts: vec![part] }));
    for turn in turns {
        let parts = turn.parts.iter().map(|part| &**part);
        match list.last_mut() {
            Some(last) if last.role == turn.role => last.parts.extend(parts),
            _ => list.push(Content { role: turn.role, parts: parts.collect() }),
        }
    }
    list
}

/// A part of nothing but words.
pub(super) fn words(text: &str) -> Box<RawValue> {
    raw(&says(text))
}

static GOES_ON: std::sync::LazyLock<Box<RawValue>> = std::sync::LazyLock::new(|| words(OPENING));

/// Whom a conversation goes to.
#[derive(Clone, Copy)]
struct To<'a> {
    provider: &'a str,
    place: Place,
    model: &'a str,
}

impl To<'_> {
    fn turn(self, message: &Message) -> Turn {
        match message {
            Message::User { content } => {
                let parts = content.iter().filter_map(shown).map(|part| raw(&part)).collect();
                Turn { role: Role::User, parts }
            }
            Message::Assistant { parts } => Turn { role: Role::Model, parts: self.answered(parts) },
            Message::Tools { results } => {
                let (mut parts, mut beside) = (Vec::new(), Vec::new());
                for result in results {
                    parts.push(raw(&self.result(result, &mut beside)));
                }
                // As many results as calls are to follow these, so all else comes behind.
                parts.extend(beside.iter().map(raw));
                Turn { role: Role::User, parts }
            }
        }
    }

    /// What `item` holds, if the model that is asked made it.
    fn mine(self, item: Option<&Item>) -> Option<&Value> {
        item.filter(|item| item.vendor == self.provider && item.model == self.model).map(|item| &item.value)
    }

    fn answered(self, parts: &[AssistantPart]) -> Vec<Box<RawValue>> {
        let mut list = Vec::new();
        let mut first_call = true;
        for part in parts {
            match part {
                AssistantPart::Text { text, item } => spoken(text, false, self.mine(item.as_ref()), &mut list),
                AssistantPart::Reasoning { text, item } => {
                    // Thoughts of others are none of this model's.
                    if let Some(value) = self.mine(item.as_ref()).filter(|value| value[THOUGHT] == true) {
                        spoken(text, true, Some(value), &mut list);
                    }
                }
                AssistantPart::ToolCall { id, name, arguments, item } => {
                    let own = self.mine(item.as_ref()).and_then(|value| value[SIGNATURE].as_str());
                    let foreign = (first_call && is_third(self.model)).then_some(FOREIGN);
                    first_call = false;
                    let call = Call { id: self.id(id), name: named(name), args: object(arguments) };
                    let thought_signature = own.or(foreign);
                    list.push(raw(&Part { function_call: Some(call), thought_signature, ..Part::default() }));
                }
                AssistantPart::Vendor { item } => {
                    let part = self.mine(Some(item)).map(|value| &value[PART]);
                    list.extend(part.filter(|part| part.is_object()).map(raw));
                }
            }
        }
        list
    }

    /// The id of a call, if it is to be told: Vertex AI has none, and what was made up here says nothing.
    fn id(self, id: &str) -> Option<&str> {
        match self.place {
            Place::Own | Place::Bedrock => Some(id).filter(|id| !id.is_empty() && !is_made_up(id)),
            Place::Vertex => None,
        }
    }

    /// A result. What it cannot hold is put behind `beside`.
    fn result<'a>(self, result: &'a ToolResult, beside: &mut Vec<Part<'a>>) -> Part<'a> {
        let ToolResult { id, name, content, is_error } = result;
        let name = named(name);
        let (mut texts, mut files, before) = (Vec::new(), Vec::new(), beside.len());
        for content in content {
            match content {
                Shown::Text { text } if text.is_empty() => {}
                Shown::Text { text } => texts.push(Cow::Borrowed(&**text)),
                Shown::Media { .. } => match shown(content) {
                    Some(Part { text: Some(text), .. }) => texts.push(text),
                    Some(file) if is_third(self.model) && fits(content) => files.push(file),
                    Some(file) => {
                        beside.push(says(format!("A file of the result of {name}:")));
                        beside.push(file);
                    }
                    None => {}
                },
            }
        }
        let text = match &mut texts[..] {
            [] if files.is_empty() && beside.len() == before => SILENT.into(),
            [] => ATTACHED.into(),
            [one] => std::mem::take(one),
            many => many.join("\n").into(),
        };
        let (content, error) = if *is_error { (None, Some(text)) } else { (Some(text), None) };
        let response = Told { name, content, error };
        let response = Response { id: self.id(id), name, response, parts: files };
        Part { function_response: Some(response), ..Part::default() }
    }
}

/// Words of the model, in the parts they came in.
fn spoken(text: &str, thought: bool, item: Option<&Value>, list: &mut Vec<Box<RawValue>>) {
    let signature = item.and_then(|value| value[SIGNATURE].as_str());
    let part = |text, thought_signature| {
        raw(&Part { text: Some(Cow::Borrowed(text)), thought, thought_signature, ..Part::default() })
    };
    let Some(signature) = signature else {
        if !text.trim().is_empty() {
            list.push(part(text, None));
        }
        return;
    };
    let at = item.and_then(|value| value[AT].as_u64()).and_then(|at| usize::try_from(at).ok()).unwrap_or(0);
    // Words that were changed since are signed as a whole.
    let (before, signed) = text.split_at_checked(at).unwrap_or(("", text));
    if !before.is_empty() {
        list.push(part(before, None));
    }
    list.push(part(signed, Some(signature)));
}

fn says<'a>(text: impl Into<Cow<'a, str>>) -> Part<'a> {
    Part { text: Some(text.into()), ..Part::default() }
}

/// Blank words are left out: a part must say something.
fn shown(content: &Shown) -> Option<Part<'_>> {
    Some(match content {
        Shown::Text { text } if text.trim().is_empty() => return None,
        Shown::Text { text } => says(text),
        Shown::Media { mime, data, .. } if mime.starts_with("image/") && data.is_empty() => says(EMPTY_IMAGE),
        Shown::Media { mime, data, name } => match FILES.contains(&mime.as_str()) || is_played(mime) {
            true => Part { inline_data: Some(Blob { mime_type: mime, data }), ..Part::default() },
            false => says(unsupported(mime, name.as_deref())),
        },
    })
}

fn is_played(mime: &str) -> bool {
    mime.starts_with("audio/") || mime.starts_with("video/")
}

/// Whether a file can stand in a result.
fn fits(content: &Shown) -> bool {
    matches!(content, Shown::Media { mime, .. } if IN_RESULTS.contains(&mime.as_str()))
}

fn named(name: &str) -> &str {
    if name.is_empty() { NAMELESS } else { name }
}
