//! A [`Request`] as the bytes of a chat completion request.

use std::borrow::Cow;
use std::fmt;

use serde::ser::{Serialize, SerializeMap, SerializeSeq, Serializer};
use serde::{Serialize as Derive, de::IgnoredAny};
use serde_json::{Map, Value, json};

use super::read::{DETAILS, FIELD};
use crate::{AssistantPart, Content, Item, Message, Request, ToolChoice, ToolResult, ToolSpec};

/// The tools array exactly as it is sent.
pub fn tools(specs: &[ToolSpec]) -> Value {
    // Names, texts and JSON: nothing that could fail.
    serde_json::to_value(Tools(specs)).unwrap_or_default()
}

/// The body, written in one pass. Equal requests give equal bytes.
pub(super) fn bytes(provider: &str, request: &Request) -> Vec<u8> {
    serde_json::to_vec(&Body { provider, request }).unwrap_or_default()
}

struct Body<'a> {
    provider: &'a str,
    request: &'a Request,
}

impl Serialize for Body<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let request = self.request;
        let mut body = Fields { map: serializer.serialize_map(None)?, over: &request.extra, written: Vec::new() };
        body.field("model", Some(&request.model))?;
        body.field("max_tokens", request.max_output)?;
        body.field("temperature", request.temperature)?;
        body.field("top_p", request.top_p)?;
        body.field("messages", Some(Messages(self)))?;
        let offered = Some(Tools(&request.tools)).filter(|tools| !tools.0.is_empty());
        let chosen = offered.as_ref().map(|_| choice(request.tool_choice));
        body.field("tools", offered)?;
        body.field("tool_choice", chosen)?;
        body.fixed("stream", true)?;
        body.field("stream_options", Some(json!({"include_usage": true})))?;
        body.rest()
    }
}

/// The fields of the body. `over` may replace one, remove it with `null`, and add others.
struct Fields<'a, M> {
    map: M,
    over: &'a Map<String, Value>,
    written: Vec<&'static str>,
}

impl<M: SerializeMap> Fields<'_, M> {
    fn field(&mut self, name: &'static str, ours: Option<impl Serialize>) -> Result<(), M::Error> {
        self.written.push(name);
        match (self.over.get(name), ours) {
            (Some(Value::Null), _) | (None, None) => Ok(()),
            (Some(theirs), _) => self.map.serialize_entry(name, theirs),
            (None, Some(ours)) => self.map.serialize_entry(name, &ours),
        }
    }

    /// A field that stays as it is: nothing but a stream can be read.
    fn fixed(&mut self, name: &'static str, ours: impl Serialize) -> Result<(), M::Error> {
        self.written.push(name);
        self.map.serialize_entry(name, &ours)
    }

    fn rest(mut self) -> Result<M::Ok, M::Error> {
        for (name, value) in self.over {
            if !value.is_null() && !self.written.contains(&name.as_str()) {
                self.map.serialize_entry(name, value)?;
            }
        }
        self.map.end()
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

struct Messages<'a>(&'a Body<'a>);

impl Serialize for Messages<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Body { provider, request } = self.0;
        let mut list = serializer.serialize_seq(None)?;
        if !request.system.is_empty() {
            list.serialize_element(&Wire::System { content: &request.system })?;
        }
        for message in &request.messages {
            match &**message {
                Message::User { content } => list.serialize_element(&Wire::User { content: said(content) })?,
                Message::Assistant { parts } => {
                    list.serialize_element(&Wire::Assistant(Answer::of(parts, provider, &request.model)))?;
                }
                Message::Tools { results } => {
                    for result in results {
                        list.serialize_element(&told(result))?;
                    }
                    if let Some(shown) = shown(results) {
                        list.serialize_element(&shown)?;
                    }
                }
            }
        }
        list.end()
    }
}

#[derive(Derive)]
#[serde(tag = "role", rename_all = "lowercase")]
enum Wire<'a> {
    System { content: &'a str },
    User { content: Said<'a> },
    Assistant(Answer<'a>),
    Tool { tool_call_id: &'a str, content: Cow<'a, str> },
}

#[derive(Derive)]
#[serde(untagged)]
enum Said<'a> {
    Text(&'a str),
    Parts(Vec<Part<'a>>),
}

#[derive(Derive)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Part<'a> {
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
    let (mime, data, name) = match content {
        Content::Text { text } => return Part::Text { text: text.into() },
        Content::Media { mime, data, name } => (mime.as_str(), data.as_str(), name.as_deref()),
    };
    match mime {
        "application/pdf" => {
            let filename = name.unwrap_or("document.pdf");
            Part::File { file: File { filename, file_data: DataUrl { mime, data } } }
        }
        "audio/wav" | "audio/x-wav" => Part::InputAudio { input_audio: Audio { data, format: "wav" } },
        "audio/mpeg" | "audio/mp3" => Part::InputAudio { input_audio: Audio { data, format: "mp3" } },
        _ if mime.starts_with("image/") => Part::ImageUrl { image_url: ImageUrl { url: DataUrl { mime, data } } },
        // Left out without a word, it would be looked for.
        _ => {
            Part::Text { text: format!("[{}: {mime} cannot be shown to this model]", name.unwrap_or("a file")).into() }
        }
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
    fn of(parts: &'a [AssistantPart], provider: &str, model: &str) -> Self {
        let mut text = None;
        let mut answer = Self {
            content: None,
            reasoning_content: None,
            reasoning: None,
            reasoning_details: Vec::new(),
            tool_calls: Vec::new(),
        };
        for part in parts {
            match part {
                AssistantPart::Text { text: more, .. } => append(&mut text, more),
                AssistantPart::Reasoning { text, item: Some(item) }
                    if item.vendor == provider && item.model == model =>
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

/// Arguments that a server can read. Many of them parse those of the history, and fail on broken ones for ever after;
/// the model still sees what it wrote.
fn readable(arguments: &str) -> Cow<'_, str> {
    if arguments.trim().is_empty() {
        return "{}".into();
    }
    if arguments.trim_start().starts_with('{') && serde_json::from_str::<IgnoredAny>(arguments).is_ok() {
        return arguments.into();
    }
    json!({"invalid_arguments": arguments}).to_string().into()
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
    Wire::Tool { tool_call_id: &result.id, content }
}

/// The media of results, which only a message of the user can hold, and only behind all results.
fn shown(results: &[ToolResult]) -> Option<Wire<'_>> {
    let mut parts = Vec::new();
    for ToolResult { id, name, content, .. } in results {
        let mut media = content.iter().filter(|content| matches!(content, Content::Media { .. })).peekable();
        if media.peek().is_some() {
            parts.push(Part::Text { text: format!("Shown by {name} (call {id}):").into() });
            parts.extend(media.map(part));
        }
    }
    (!parts.is_empty()).then_some(Wire::User { content: Said::Parts(parts) })
}

#[cfg(test)]
mod tests;
