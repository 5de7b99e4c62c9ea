//! How many tokens a request takes, before it is sent. Pure.
//!
//! Exact counts need each vendor's own tables; a count before sending has to be near, and cheap. 3.6 bytes for a token is
//! a little less than code in English has with today's vocabularies, so the count is rather too high than too low.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use haft_llm::{AssistantPart, Content, Message, Request, ToolSpec};

/// What a message takes beside its words: its role and the marks around it.
const AROUND: u64 = 4;
/// Most tokens of a picture: vendors make larger ones smaller first (Anthropic documents 1,600, OpenAI 1,445 for high
/// detail).
pub(crate) const MAX_PICTURE: u64 = 1_600;
/// Pixels for a token of a picture, as Anthropic documents it.
const PIXELS: u64 = 750;
/// How much of a picture's base64 text is looked at for its size, in bytes, a multiple of 4.
const HEAD: usize = 64 * 1024;
/// Tokens of a page of a PDF, which vendors take as a text and a picture.
const PAGE: u64 = 2_000;
/// Bytes of a PDF that are taken for a page.
const PAGE_BYTES: u64 = 100_000;
/// Most pages that vendors take.
const MAX_PAGES: u64 = 100;
/// Bytes of a sound or a film for a token: 16 kB and 32 tokens a second.
const SOUND_BYTES: u64 = 500;

/// About how many tokens a request takes, by what takes them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Estimate {
    /// The system prompt.
    pub system: u64,
    /// The definitions of tools.
    pub tools: u64,
    /// The conversation.
    pub messages: u64,
}

impl Estimate {
    /// What `request` takes.
    pub fn of(request: &Request) -> Self {
        Self {
            messages: request.messages.iter().map(|one| message(one)).sum(),
            ..Self::around(&request.system, &request.tools)
        }
    }

    /// The same without messages.
    pub(crate) fn around(system: &str, tools: &[ToolSpec]) -> Self {
        let defined = |tool: &ToolSpec| {
            // The words around name, description and schema, as in chat completions.
            const FRAME: usize = 70;
            tool.name.len() + tool.description.len() + tool.parameters.to_string().len() + FRAME
        };
        Self { system: tokens(system.len()), tools: tokens(tools.iter().map(defined).sum()), messages: 0 }
    }

    /// All of it.
    pub fn total(&self) -> u64 {
        self.system.saturating_add(self.tools).saturating_add(self.messages)
    }
}

/// The tokens of `bytes` of text: 3.6 bytes each, rounded up.
pub fn tokens(bytes: usize) -> u64 {
    (bytes as u64).saturating_mul(10).div_ceil(36)
}

/// The tokens of one message.
pub(crate) fn message(message: &Message) -> u64 {
    let inside: u64 = match message {
        Message::User { content } => content.iter().map(shown).sum(),
        Message::Assistant { parts } => parts.iter().map(said).sum(),
        Message::Tools { results } => {
            let all = results.iter().map(|result| {
                let words: u64 = result.content.iter().map(shown).sum();
                words.saturating_add(tokens(result.id.len())).saturating_add(AROUND)
            });
            all.sum()
        }
    };
    inside.saturating_add(AROUND)
}

fn said(part: &AssistantPart) -> u64 {
    match part {
        // What a vendor adds to words is either no words (a signature) or the same ones again.
        AssistantPart::Text { text, .. } | AssistantPart::Reasoning { text, .. } => tokens(text.len()),
        AssistantPart::ToolCall { id, name, arguments, .. } => {
            tokens(id.len() + name.len() + arguments.len()).saturating_add(AROUND)
        }
        AssistantPart::Vendor { item } => tokens(item.value.to_string().len()),
    }
}

fn shown(content: &Content) -> u64 {
    let (mime, data) = match content {
        Content::Text { text } => return tokens(text.len()),
        Content::Media { mime, data, .. } => (mime.as_str(), data.as_str()),
    };
    let bytes = data.len() as u64 / 4 * 3;
    match mime {
        _ if mime.starts_with("image/") => picture(data),
        "application/pdf" => bytes.div_ceil(PAGE_BYTES).clamp(1, MAX_PAGES) * PAGE,
        _ => bytes / SOUND_BYTES + 1,
    }
}

/// The tokens of a picture, by its width and height.
fn picture(data: &str) -> u64 {
    let head = data.get(..data.len().min(HEAD)).unwrap_or_default();
    let size = STANDARD.decode(head).ok().and_then(|bytes| haft_tool::image::size(&bytes));
    size.map_or(MAX_PICTURE, |(width, height)| {
        (u64::from(width) * u64::from(height)).div_ceil(PIXELS).clamp(1, MAX_PICTURE)
    })
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use haft_llm::{Item, ToolResult};
    use serde_json::json;

    use super::*;

    /// The beginning of a GIF of that size, up to its first pixel, without padding behind it.
    fn gif(width: u16, height: u16) -> String {
        let size = [width.to_le_bytes(), height.to_le_bytes()].concat();
        let mut bytes = [&b"GIF89a"[..], &size, &[0x80, 0, 0], &[0; 6], &[0x2c, 0, 0, 0, 0], &size].concat();
        bytes.extend([0, 2, 0, 0x3b]);
        bytes.resize(bytes.len().next_multiple_of(3), 0);
        STANDARD.encode(bytes)
    }

    fn media(mime: &str, data: String) -> Content {
        Content::Media { mime: mime.to_owned(), data, name: None }
    }

    #[test]
    fn a_token_is_3_6_bytes_rounded_up() {
        for (bytes, want) in [(0, 0), (1, 1), (36, 10), (37, 11)] {
            assert_eq!(tokens(bytes), want, "{bytes}");
        }
    }

    #[test]
    fn pictures_count_by_their_size_and_not_by_their_bytes() {
        let row = |content: Content, want| assert_eq!(shown(&content), want);
        row(media("image/gif", gif(750, 100)), 100);
        row(media("image/gif", gif(1, 1)), 1);
        row(media("image/gif", gif(8_000, 8_000)), MAX_PICTURE);
        row(media("image/png", "no picture".to_owned()), MAX_PICTURE);
        row(media("image/png", String::new()), MAX_PICTURE);
        // Where only its beginning is looked at.
        row(media("image/gif", gif(750, 100) + &"A".repeat(4 * HEAD)), 100);
        row(media("image/png", "é".repeat(HEAD)), MAX_PICTURE);
    }

    #[test]
    fn documents_count_by_pages_that_are_guessed() {
        let row = |bytes: usize, want| assert_eq!(shown(&media("application/pdf", "A".repeat(bytes / 3 * 4))), want);
        row(0, 2_000);
        row(300_000, 6_000);
        row(90_000_000, 200_000);
    }

    #[test]
    fn all_that_is_sent_counts() {
        let call =
            AssistantPart::ToolCall { id: "a".repeat(6), name: "b".repeat(12), arguments: "c".repeat(18), item: None };
        let item = Item { vendor: "v".to_owned(), model: "m".to_owned(), value: json!("d".repeat(34)) };
        let parts =
            vec![AssistantPart::Text { text: "e".repeat(36), item: None }, call, AssistantPart::Vendor { item }];
        let content = vec![Content::text("f".repeat(36))];
        let results = vec![ToolResult { id: "a".repeat(36), name: String::new(), content, is_error: false }];
        let parameters = json!({});
        let tool = ToolSpec { name: "g".repeat(36), description: "h".repeat(36), parameters };
        let request = Request {
            system: "i".repeat(72),
            messages: vec![Arc::new(Message::Assistant { parts }), Arc::new(Message::Tools { results })].into(),
            tools: vec![tool].into(),
            ..Request::default()
        };
        let got = Estimate::of(&request);
        assert_eq!(got, Estimate { system: 20, tools: 40, messages: 10 + 14 + 10 + 4 + 20 + 4 + 4 });
        assert_eq!(got.total(), 126);
    }
}
