//! A [`Request`] as the bytes of a chat completion request.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use serde::Serialize as Derive;
use serde::ser::{Serialize, SerializeSeq, Serializer};
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::options::{Sampling, named};
use super::read::{DETAILS, FIELD};
use crate::dialect::arguments::readable;
use crate::dialect::fields::Fields;
use crate::dialect::mark::{EPHEMERAL, MARKED, Mark};
use crate::dialect::media::{EMPTY_IMAGE, unsupported};
use crate::dialect::written::{body, length, raw};
use crate::kept::Kept;
use crate::{AssistantPart, Content, Item, Message, Request, ToolChoice, ToolResult, ToolSpec};

/// The tools array exactly as it is sent.
pub fn tools(specs: &[ToolSpec]) -> Value {
    // Names, texts and JSON: nothing that could fail.
    serde_json::to_value(Tools(specs)).unwrap_or_default()
}

/// The JSON of messages of the conversation before, each as its messages of the wire, without marks.
pub(super) type Written = Kept<Vec<Box<RawValue>>>;

/// The body. Equal requests give equal bytes, whatever is in `written`, which must be used with one provider and one
/// `thinking_field` only.
pub(super) fn bytes(provider: &str, thinking_field: Option<&str>, request: &Request, written: &Written) -> Vec<u8> {
    let conversation = Conversation::of(Writer { provider, model: &request.model, thinking_field }, request, written);
    let texts = request.system.len() + conversation.messages.iter().map(|wires| length(&**wires)).sum::<usize>();
    body(&Body { request, conversation }, texts)
}

struct Body<'a> {
    request: &'a Request,
    conversation: Conversation<'a>,
}

impl Serialize for Body<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let request = self.request;
        let (extra, sampling) = (named(&request.extra), Sampling::of(request));
        let mut fields = Fields::new(serializer.serialize_map(None)?, &extra);
        fields.field("model", Some(&request.model))?;
        fields.field("max_tokens", sampling.max_tokens)?;
        fields.field("max_completion_tokens", sampling.max_completion_tokens)?;
        fields.field("temperature", sampling.temperature)?;
        fields.field("top_p", sampling.top_p)?;
        fields.field("messages", Some(&self.conversation))?;
        // Not every server heeds "none", but nobody calls what was not offered.
        let offers = !request.tools.is_empty() && request.tool_choice != ToolChoice::None;
        let offered = offers.then_some(Tools(&request.tools));
        let chosen = offered.as_ref().map(|_| choice(request.tool_choice));
        fields.field("tools", offered)?;
        fields.field("tool_choice", chosen)?;
        fields.fixed("stream", true)?;
        fields.field("stream_options", Some(json!({"include_usage": true})))?;
        fields.rest()
    }
}

fn choice(choice: ToolChoice) -> &'static str {
    match choice {
        ToolChoice::Auto => "auto",
        ToolChoice::Required => "required",
        ToolChoice::None => "none",
    }
}

struct Tools<'a>(&'a [ToolSpec]);

impl Serialize for Tools<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Derive)]
        struct Tool<'a> {
            r#type: &'static str,
            function: Function<'a>,
        }
        #[derive(Derive)]
        struct Function<'a> {
            name: &'a str,
            description: &'a str,
            parameters: &'a Value,
        }
        serializer.collect_seq(self.0.iter().map(|ToolSpec { name, description, parameters }| Tool {
            r#type: "function",
            function: Function { name, description, parameters },
        }))
    }
}

/// The messages of the wire.
struct Conversation<'a> {
    system: Option<Wire<'a>>,
    messages: Vec<Arc<Vec<Box<RawValue>>>>,
}

impl<'a> Conversation<'a> {
    fn of(writer: Writer<'_>, request: &'a Request, written: &Written) -> Self {
        let mut messages = written.of(request, |message| {
            let wires = writer.written(message, 0);
            let length = length(&wires);
            (Arc::new(wires), length)
        });
        let system = Some(Wire::System { content: Said::Text(&request.system) });
        let mut system = system.filter(|_| !request.system.is_empty());
        if wants_marks(&request.model) {
            system.iter_mut().for_each(Wire::mark);
            let mut left = MARKED;
            for (wires, message) in messages.iter_mut().zip(&request.messages).rev() {
                let marks = left.min(wires.len());
                if marks > 0 {
                    *wires = Arc::new(writer.written(message, marks));
                }
                left -= marks;
                if left == 0 {
                    break;
                }
            }
        }
        Self { system, messages }
    }
}

impl Serialize for Conversation<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut list = serializer.serialize_seq(None)?;
        if let Some(system) = &self.system {
            list.serialize_element(system)?;
        }
        for wire in self.messages.iter().flat_map(|wires| wires.iter()) {
            list.serialize_element(wire)?;
        }
        list.end()
    }
}

/// What the form of a message depends on beside itself.
#[derive(Clone, Copy)]
struct Writer<'a> {
    provider: &'a str,
    model: &'a str,
    thinking_field: Option<&'a str>,
}

impl Writer<'_> {
    /// A message as messages of the wire, with marks on the last `marks` of them.
    fn written(self, message: &Message, marks: usize) -> Vec<Box<RawValue>> {
        let mut wires = self.wires(message);
        wires.iter_mut().rev().take(marks).for_each(Wire::mark);
        wires.iter().map(raw).collect()
    }

    fn wires<'m>(self, message: &'m Message) -> Vec<Wire<'m>>
    where
        Self: 'm,
    {
        match message {
            Message::User { content } => vec![Wire::User { content: said(content) }],
            Message::Assistant { parts } => {
                vec![Wire::Assistant(Answer::of(parts, self.provider, self.model, self.thinking_field))]
            }
            Message::Tools { results } => results.iter().map(told).chain(shown(results)).collect(),
        }
    }
}

/// Whether a gateway hands the marks on: it keeps a prefix of these models only where one stands.
fn wants_marks(model: &str) -> bool {
    model.to_lowercase().contains("claude")
}

#[derive(Derive)]
#[serde(tag = "role", rename_all = "lowercase")]
enum Wire<'a> {
    System {
        content: Said<'a>,
    },
    User {
        content: Said<'a>,
    },
    Assistant(Answer<'a>),
    Tool {
        tool_call_id: &'a str,
        content: Cow<'a, str>,
        #[serde(skip_serializing_if = "Option::is_none")]
        cache_control: Option<Mark>,
    },
}

impl Wire<'_> {
    fn mark(&mut self) {
        match self {
            Wire::System { content } | Wire::User { content } => content.mark(),
            Wire::Tool { cache_control, .. } => *cache_control = Some(EPHEMERAL),
            // An answer is followed by what carries a mark itself.
            Wire::Assistant(_) => {}
        }
    }
}

#[derive(Derive)]
#[serde(untagged)]
enum Said<'a> {
    Text(&'a str),
    Parts(Vec<Part<'a>>),
}

impl Said<'_> {
    /// Puts a mark on the last part; only a part can carry one.
    fn mark(&mut self) {
        // An empty one with a mark is refused.
        if let Said::Text(text) = self
            && !text.is_empty()
        {
            *self = Said::Parts(vec![Kind::Text { text: (*text).into() }.into()]);
        }
        if let Said::Parts(parts) = self
            && let Some(last) = parts.last_mut()
        {
            last.cache_control = Some(EPHEMERAL);
        }
    }
}

#[derive(Derive)]
struct Part<'a> {
    #[serde(flatten)]
    kind: Kind<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cache_control: Option<Mark>,
}

impl<'a> From<Kind<'a>> for Part<'a> {
    fn from(kind: Kind<'a>) -> Self {
        Self { kind, cache_control: None }
    }
}

#[derive(Derive)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Kind<'a> {
    Text { text: Cow<'a, str> },
    ImageUrl { image_url: ImageUrl<'a> },
    InputAudio { input_audio: Audio<'a> },
    File { file: File<'a> },
}

#[derive(Derive)]
struct ImageUrl<'a> {
    url: DataUrl<'a>,
}

#[derive(Derive)]
struct Audio<'a> {
    data: &'a str,
    format: &'static str,
}

#[derive(Derive)]
struct File<'a> {
    filename: &'a str,
    file_data: DataUrl<'a>,
}

/// Written into the body without a copy of the picture in between.
struct DataUrl<'a> {
    mime: &'a str,
    data: &'a str,
}

impl fmt::Display for DataUrl<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "data:{};base64,{}", self.mime, self.data)
    }
}

impl Serialize for DataUrl<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// One text is sent as a string, which every server reads; not all of them read parts.
fn said(content: &[Content]) -> Said<'_> {
    match content {
        [] => Said::Text(""),
        [Content::Text { text }] => Said::Text(text),
        content => Said::Parts(content.iter().map(part).collect()),
    }
}

fn part(content: &Content) -> Part<'_> {
    kind(content).into()
}

fn kind(content: &Content) -> Kind<'_> {
    let (mime, data, name) = match content {
        Content::Text { text } => return Kind::Text { text: text.into() },
        Content::Media { mime, data, name } => (mime.as_str(), data.as_str(), name.as_deref()),
    };
    match mime {
        "application/pdf" => {
            let filename = name.unwrap_or("document.pdf");
            Kind::File { file: File { filename, file_data: DataUrl { mime, data } } }
        }
        "audio/wav" | "audio/x-wav" => Kind::InputAudio { input_audio: Audio { data, format: "wav" } },
        "audio/mpeg" | "audio/mp3" => Kind::InputAudio { input_audio: Audio { data, format: "mp3" } },
        _ if mime.starts_with("image/") && data.is_empty() => Kind::Text { text: EMPTY_IMAGE.into() },
        _ if mime.starts_with("image/") => Kind::ImageUrl { image_url: ImageUrl { url: DataUrl { mime, data } } },
        // Left out without a word, it would be looked for.
        _ => Kind::Text { text: unsupported(mime, name).into() },
    }
}

#[derive(Derive)]
struct Answer<'a> {
    /// `null` beside calls; servers want the key. Never `null` alone.
    content: Option<Cow<'a, str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning_content: Option<Cow<'a, str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning: Option<Cow<'a, str>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    reasoning_details: Vec<&'a Value>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tool_calls: Vec<Call<'a>>,
    /// All thinking, under the name that the settings give.
    #[serde(flatten)]
    thinking: Option<Thinking<'a>>,
}

struct Thinking<'a> {
    field: &'a str,
    text: Cow<'a, str>,
}

impl Serialize for Thinking<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map([(self.field, &self.text)])
    }
}

#[derive(Derive)]
struct Call<'a> {
    id: &'a str,
    r#type: &'static str,
    function: Called<'a>,
}

#[derive(Derive)]
struct Called<'a> {
    name: &'a str,
    arguments: Cow<'a, str>,
}

impl<'a> Answer<'a> {
    fn of(parts: &'a [AssistantPart], provider: &str, model: &str, thinking_field: Option<&'a str>) -> Self {
        let mut text = None;
        let mut answer = Self {
            content: None,
            reasoning_content: None,
            reasoning: None,
            reasoning_details: Vec::new(),
            tool_calls: Vec::new(),
            thinking: thinking_field.map(|field| Thinking { field, text: "".into() }),
        };
        for part in parts {
            if let (AssistantPart::Reasoning { text, .. }, Some(thinking)) = (part, &mut answer.thinking) {
                thinking.text.to_mut().push_str(text);
            }
            match part {
                AssistantPart::Text { text: more, .. } => append(&mut text, more),
                AssistantPart::Reasoning { text, item: Some(item) }
                    if thinking_field.is_none() && item.vendor == provider && item.model == model =>
                {
                    answer.give_back(text, item);
                }
                AssistantPart::ToolCall { id, name, arguments, .. } => {
                    let function = Called { name, arguments: readable(arguments) };
                    answer.tool_calls.push(Call { id, r#type: "function", function });
                }
                // Thinking of somebody else, and items that this dialect does not make.
                AssistantPart::Reasoning { .. } | AssistantPart::Vendor { .. } => {}
            }
        }
        answer.content = text.filter(|text| !text.is_empty());
        if answer.content.is_none() && answer.tool_calls.is_empty() {
            answer.content = Some("".into());
        }
        answer
    }

    fn give_back(&mut self, text: &'a str, item: &'a Item) {
        match item.value[FIELD].as_str() {
            Some("reasoning_content") => append(&mut self.reasoning_content, text),
            Some("reasoning") => append(&mut self.reasoning, text),
            Some("reasoning_details") => {
                self.reasoning_details.extend(item.value[DETAILS].as_array().into_iter().flatten())
            }
            _ => {}
        }
    }
}

fn append<'a>(all: &mut Option<Cow<'a, str>>, more: &'a str) {
    match all {
        Some(all) => all.to_mut().push_str(more),
        None => *all = Some(more.into()),
    }
}

/// The words of a result.
fn told(result: &ToolResult) -> Wire<'_> {
    let mut text = None;
    for content in &result.content {
        if let Content::Text { text: more } = content {
            if text.is_some() {
                append(&mut text, "\n");
            }
            append(&mut text, more);
        }
    }
    let media = result.content.iter().any(|content| matches!(content, Content::Media { .. }));
    let content = text.unwrap_or(if media { "(shown in the next message)".into() } else { "".into() });
    Wire::Tool { tool_call_id: &result.id, content, cache_control: None }
}

/// The media of results, which only a message of the user can hold, and only behind all results.
fn shown(results: &[ToolResult]) -> Option<Wire<'_>> {
    let is_media = |content: &&Content| matches!(content, Content::Media { .. });
    let showing: Vec<_> = results.iter().filter(|result| result.content.iter().any(|one| is_media(&one))).collect();
    let mut parts = Vec::new();
    for ToolResult { id, name, content, .. } in &showing {
        let label = match showing.len() {
            1 => "Attached media from tool result:".into(),
            _ => format!("Attached media from tool result ({name}, call {id}):").into(),
        };
        parts.push(Kind::Text { text: label }.into());
        parts.extend(content.iter().filter(is_media).map(part));
    }
    (!parts.is_empty()).then_some(Wire::User { content: Said::Parts(parts) })
}

#[cfg(test)]
mod tests;
