//! Files that a model cannot be shown.

use super::Quirks;
use crate::dialect::media;
use crate::{Content, Message, ToolResult};

/// The kinds of files a model can be shown.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Accepts {
    /// Pictures.
    pub image: bool,
    /// PDF documents.
    pub pdf: bool,
    /// Sounds.
    pub audio: bool,
    /// Films.
    pub video: bool,
}

impl Accepts {
    /// The words that stand for a file which the model cannot be shown.
    fn refusal(self, content: &Content) -> Option<Content> {
        let Content::Media { mime, name, .. } = content else { return None };
        let accepted = match media::kind(mime) {
            Some("image") => self.image,
            Some("pdf") => self.pdf,
            Some("audio") => self.audio,
            Some("video") => self.video,
            // The dialect knows what it can carry.
            Some(_) | None => true,
        };
        (!accepted).then(|| Content::text(media::unsupported(mime, name.as_deref())))
    }

    fn shows(self, contents: &[Content]) -> bool {
        contents.iter().all(|content| self.refusal(content).is_none())
    }

    fn told(self, contents: &[Content]) -> Vec<Content> {
        contents.iter().map(|content| self.refusal(content).unwrap_or_else(|| content.clone())).collect()
    }
}

/// Puts words in for files that the model cannot be shown.
pub(super) fn refused(quirks: &Quirks, message: &Message) -> Option<Message> {
    let accepts = quirks.accepts?;
    match message {
        Message::User { content } => {
            (!accepts.shows(content)).then(|| Message::User { content: accepts.told(content) })
        }
        Message::Assistant { .. } => None,
        Message::Tools { results } => {
            (!results.iter().all(|result| accepts.shows(&result.content))).then_some(())?;
            let told = |result: &ToolResult| ToolResult { content: accepts.told(&result.content), ..result.clone() };
            Some(Message::Tools { results: results.iter().map(told).collect() })
        }
    }
}
