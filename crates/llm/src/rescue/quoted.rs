//! Whether a call was only read out: it stands in what the model was shown. Pure.

use std::cmp::Reverse;
use std::sync::Arc;

use crate::{Content, Message};

/// Whether all lines of `call` stand word for word in one text that `messages` showed the model. Who reads out a file,
/// a page or an output with a call in it does not make that call.
pub(super) fn is_quoted(call: &str, messages: &[Arc<Message>]) -> bool {
    let mut lines: Vec<&str> = call.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    // The longest is the one that is least likely to stand there by chance.
    lines.sort_by_key(|line| Reverse(line.len()));
    let shows = |content: &Content| match content {
        Content::Text { text } => lines.iter().all(|line| text.contains(line)),
        Content::Media { .. } => false,
    };
    !lines.is_empty()
        && messages.iter().any(|message| match &**message {
            Message::User { content } => content.iter().any(shows),
            Message::Tools { results } => results.iter().any(|result| result.content.iter().any(shows)),
            Message::Assistant { .. } => false,
        })
}
