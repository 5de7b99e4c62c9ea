//! One message of the wire, and what it is made of.

use std::borrow::Cow;
use std::fmt;

use serde::Serialize as Derive;
use serde::ser::{Serialize, Serializer};

use super::answer::Answer;
use super::taste::Marks;
use crate::dialect::mark::Mark;
use crate::dialect::media::{EMPTY_IMAGE, attached, unsupported};
use crate::{Content, ToolResult};

/// A message, by whose it is.
#[derive(Derive)]
#[serde(tag = "role", rename_all = "lowercase")]
pub(super) enum Wire<'a> {
    System {
        content: Said<'a>,
        #[serde(skip_serializing_if = "Option::is_none")]
        copilot_cache_control: Option<Mark>,
    },
    /// The system, as thinking models of OpenAI hear it.
    Developer {
        content: Said<'a>,
    },
    User {
        content: Said<'a>,
        #[serde(skip_serializing_if = "Option::is_none")]
        copilot_cache_control: Option<Mark>,
    },
    Assistant(Answer<'a>),
    Tool {
        tool_call_id: &'a str,
        content: Said<'a>,
        #[serde(skip_serializing_if = "Option::is_none")]
        cache_control: Option<Mark>,
        #[serde(skip_serializing_if = "Option::is_none")]
        copilot_cache_control: Option<Mark>,
    },
}

impl Wire<'_> {
    pub(super) fn mark(&mut self, marks: Marks, mark: Mark) {
        match (self, marks) {
            // An answer is followed by what carries a mark itself; a developer's words are kept unasked.
            (Wire::Assistant(_) | Wire::Developer { .. }, _) | (_, Marks::None) => {}
            (
                Wire::System { copilot_cache_control, .. }
                | Wire::User { copilot_cache_control, .. }
                | Wire::Tool { copilot_cache_control, .. },
                Marks::Copilot,
            ) => *copilot_cache_control = Some(mark),
            (Wire::Tool { cache_control, .. }, Marks::Parts) => *cache_control = Some(mark),
            (
                Wire::System { content, .. } | Wire::User { content, .. } | Wire::Tool { content, .. },
                Marks::Parts | Marks::AllParts,
            ) => content.mark(mark),
        }
    }
}

/// The words and files of a message.
#[derive(Derive)]
#[serde(untagged)]
pub(super) enum Said<'a> {
    Text(Cow<'a, str>),
    Parts(Vec<Part<'a>>),
}

impl Said<'_> {
    /// Puts a mark on the last part; only a part can carry one.
    fn mark(&mut self, mark: Mark) {
        // An empty one with a mark is refused.
        if let Said::Text(text) = self
            && !text.is_empty()
        {
            *self = Said::Parts(vec![Kind::Text { text: std::mem::take(text) }.into()]);
        }
        if let Said::Parts(parts) = self
            && let Some(last) = parts.last_mut()
        {
            last.cache_control = Some(mark);
        }
    }
}

#[derive(Derive)]
pub(super) struct Part<'a> {
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
pub(super) enum Kind<'a> {
    Text { text: Cow<'a, str> },
    ImageUrl { image_url: ImageUrl<'a> },
    InputAudio { input_audio: Audio<'a> },
    File { file: File<'a> },
}

#[derive(Derive)]
pub(super) struct ImageUrl<'a> {
    url: DataUrl<'a>,
}

#[derive(Derive)]
pub(super) struct Audio<'a> {
    data: &'a str,
    format: &'static str,
}

#[derive(Derive)]
pub(super) struct File<'a> {
    filename: &'a str,
    file_data: DataUrl<'a>,
}

/// Written into the body without a copy of the picture in between.
pub(super) struct DataUrl<'a> {
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

/// One text is sent as a string, which every server reads; not all of them read parts. Words that are none are left
/// out, and with them a message that has no others: many servers refuse both.
pub(super) fn said(content: &[Content]) -> Option<Said<'_>> {
    let says = |content: &&Content| match content {
        Content::Text { text } => !text.is_empty(),
        Content::Media { .. } => true,
    };
    let said: Vec<&Content> = content.iter().filter(says).collect();
    match said.as_slice() {
        [] => None,
        [Content::Text { text }] => Some(Said::Text(text.into())),
        said => Some(Said::Parts(said.iter().map(|content| part(content)).collect())),
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

/// The words of a result.
pub(super) fn told(result: &ToolResult) -> Wire<'_> {
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
    let content = Said::Text(content);
    Wire::Tool { tool_call_id: &result.id, content, cache_control: None, copilot_cache_control: None }
}

/// The media of results, which only a message of the user can hold, and only behind all results.
pub(super) fn shown(results: &[ToolResult]) -> Option<Wire<'_>> {
    let is_media = |content: &&Content| matches!(content, Content::Media { .. });
    let showing: Vec<_> = results.iter().filter(|result| result.content.iter().any(|one| is_media(&one))).collect();
    let mut parts = Vec::new();
    for ToolResult { id, name, content, .. } in &showing {
        parts.push(Kind::Text { text: attached(showing.len() == 1, name, id).into() }.into());
        parts.extend(content.iter().filter(is_media).map(part));
    }
    (!parts.is_empty()).then_some(Wire::User { content: Said::Parts(parts), copilot_cache_control: None })
}

/// Puts `more` behind what there is.
pub(super) fn append<'a>(all: &mut Option<Cow<'a, str>>, more: &'a str) {
    match all {
        Some(all) => all.to_mut().push_str(more),
        None => *all = Some(more.into()),
    }
}
