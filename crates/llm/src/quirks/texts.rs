//! Texts that are refused.

use super::Quirks;
use crate::{AssistantPart, Content, Message, ToolResult};

/// What stands for a result that says nothing.
const NOTHING: &str = "(no output)";

/// Takes the NULs out of a text.
pub(super) fn clean(text: &mut String) {
    if text.contains('\0') {
        *text = text.replace('\0', "\u{fffd}");
    }
}

/// Takes the NULs out of all texts.
pub(super) fn without_nul(quirks: &Quirks, message: &Message) -> Option<Message> {
    (quirks.no_nul && texts(message).any(|text| text.contains('\0'))).then_some(())?;
    let mut message = message.clone();
    match &mut message {
        Message::User { content } => content.iter_mut().for_each(clean_content),
        Message::Assistant { parts } => {
            for part in parts {
                match part {
                    AssistantPart::Text { text, .. } | AssistantPart::Reasoning { text, .. } => clean(text),
                    AssistantPart::ToolCall { arguments, .. } => clean(arguments),
                    AssistantPart::Vendor { .. } => {}
                }
            }
        }
        Message::Tools { results } => {
            results.iter_mut().flat_map(|result| &mut result.content).for_each(clean_content);
        }
    }
    Some(message)
}

fn clean_content(content: &mut Content) {
    match content {
        Content::Text { text } => clean(text),
        Content::Media { .. } => {}
    }
}

/// Lets every result say something.
pub(super) fn with_words(quirks: &Quirks, message: &Message) -> Option<Message> {
    let Message::Tools { results } = message else { return None };
    let says = |content: &Content| match content {
        Content::Text { text } => !text.trim().is_empty(),
        Content::Media { .. } => true,
    };
    let silent = |result: &ToolResult| !result.content.iter().any(says);
    (quirks.words_in_results && results.iter().any(silent)).then_some(())?;
    let worded = |result: &ToolResult| match silent(result) {
        true => ToolResult { content: vec![Content::text(NOTHING)], ..result.clone() },
        false => result.clone(),
    };
    Some(Message::Tools { results: results.iter().map(worded).collect() })
}

/// About how long a message is, in bytes.
pub(crate) fn length(message: &Message) -> usize {
    let files = |content: &Content| match content {
        Content::Text { .. } => 0,
        Content::Media { data, .. } => data.len(),
    };
    let media: usize = match message {
        Message::User { content } => content.iter().map(files).sum(),
        Message::Assistant { parts } => parts.len() * size_of::<AssistantPart>(),
        Message::Tools { results } => results.iter().flat_map(|result| &result.content).map(files).sum(),
    };
    media + size_of::<Message>() + texts(message).map(str::len).sum::<usize>()
}

/// The texts of a message.
fn texts(message: &Message) -> Box<dyn Iterator<Item = &str> + '_> {
    fn of(content: &Content) -> Option<&str> {
        match content {
            Content::Text { text } => Some(text),
            Content::Media { .. } => None,
        }
    }
    match message {
        Message::User { content } => Box::new(content.iter().filter_map(of)),
        Message::Assistant { parts } => Box::new(parts.iter().filter_map(|part| match part {
            AssistantPart::Text { text, .. } | AssistantPart::Reasoning { text, .. } => Some(text.as_str()),
            AssistantPart::ToolCall { arguments, .. } => Some(arguments),
            AssistantPart::Vendor { .. } => None,
        })),
        Message::Tools { results } => Box::new(results.iter().flat_map(|result| &result.content).filter_map(of)),
    }
}
