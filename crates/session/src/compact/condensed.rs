//! Where a summary stands for the conversation before it. Pure.

use std::ops::Range;

use haft_protocol::{Message, Part, PartKind, Turned};

/// A summary, by places in the history.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Condensed {
    /// The first message that is kept word for word; `request` where none is.
    pub tail: usize,
    /// The message that asked for the summary.
    pub request: usize,
    /// The summary.
    pub summary: usize,
}

/// The newest summary in the range `within` of `messages` that is whole. One that failed or was stopped is none.
pub(crate) fn newest(messages: &[Turned], within: Range<usize>) -> Option<Condensed> {
    let summary = within.clone().rev().find(|&at| messages.get(at).is_some_and(is_whole))?;
    let Message::Assistant(answer) = &messages[summary].info else { return None };
    let place = |id: &haft_protocol::MessageId| messages[..summary].iter().rposition(|turned| turned.info.id() == id);
    let request = place(&answer.parent_id)?;
    let tail = messages[request].parts.iter().find_map(tail_of).and_then(place).filter(|&tail| tail < request);
    Some(Condensed { tail: tail.unwrap_or(request), request, summary })
}

impl Condensed {
    /// The summary in the words in which it is shown to the model.
    pub(crate) fn notes(&self, messages: &[Turned]) -> String {
        let kept = if self.tail < self.request { include_str!("../reminders/condensed_kept.md").trim() } else { "" };
        let head = include_str!("../reminders/condensed.md").trim();
        format!("{head}\n\n<notes>\n{}\n</notes>\n{kept}", words(&messages[self.summary].parts)).trim_end().to_owned()
    }
}

/// Whether a message is a summary that is whole.
fn is_whole(turned: &Turned) -> bool {
    match &turned.info {
        Message::Assistant(answer) => answer.summary && answer.error.is_none() && answer.finish.is_some(),
        Message::User(_) => false,
    }
}

/// Whether a message is there for a summary, and no part of the conversation by itself.
pub(crate) fn is_aside(turned: &Turned) -> bool {
    match &turned.info {
        Message::Assistant(answer) => answer.summary,
        Message::User(_) => turned.parts.iter().any(|part| matches!(part.kind, PartKind::Compaction { .. })),
    }
}

/// What an answer says, without its thoughts.
pub(crate) fn words(parts: &[Part]) -> String {
    let texts = parts.iter().filter_map(|part| match &part.kind {
        PartKind::Text { text, ignored: false, .. } if !text.trim().is_empty() => Some(text.trim()),
        _ => None,
    });
    texts.collect::<Vec<_>>().join("\n\n")
}

fn tail_of(part: &Part) -> Option<&haft_protocol::MessageId> {
    let PartKind::Compaction { tail_start_id, .. } = &part.kind else { return None };
    tail_start_id.as_ref()
}
