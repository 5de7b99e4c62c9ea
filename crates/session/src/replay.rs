//! A stored session, run again: the model's answers as they are stored, what the person said, and whether the tools did
//! the same.
//!
//! The history is the recording. It keeps all that a model said, in the order it came, and each session has its own; so
//! nothing is written a second time, nothing more holds secrets, and what is deleted is gone. What it does not keep is how
//! the words came in pieces, and tries that failed: neither changes what is done.
//!
//! All of it is pure but for [`Playback`], which is a [`haft_llm::Provider`], and [`Recording`], which is a
//! [`haft_tool::Hook`].

mod acts;
mod answers;
mod compare;
mod normal;
mod playback;
mod recording;
mod results;
mod streams;

pub use acts::{Act, Deed, acts, words};
pub use answers::{End, answers};
pub use compare::{Compared, Difference, Ways, compare, parting};
pub use normal::Normal;
pub use playback::{Cue, Moment, Playback, Stream};
pub use recording::Recording;
pub use results::Results;
pub use streams::streams;

use haft_protocol::{History, Id, Message, MessageId, PartKind, SessionId, Turned};

/// Whether a model wrote this answer. Commands that a person ran, and tasks that a command was, are kept as answers too.
pub(crate) fn is_models(turned: &Turned) -> bool {
    matches!(turned.info, Message::Assistant(_))
        && !turned.parts.iter().any(|part| {
            // The id of such a call begins with that of a message.
            matches!(&part.kind, PartKind::Tool { call_id, .. } if MessageId::parse(&call_id[..call_id.rfind('_').unwrap_or(0)]).is_ok())
        })
}

/// Whether `turned` is an answer of a model that is counted: no summary, and nothing that a person ran.
pub fn is_answer(turned: &Turned) -> bool {
    matches!(&turned.info, Message::Assistant(answer) if !answer.summary) && is_models(turned)
}

/// The task whose end `turned` tells of, if it does.
fn told_of(turned: &Turned) -> Option<SessionId> {
    turned.parts.iter().find_map(|part| match &part.kind {
        PartKind::Text { synthetic: true, metadata: Some(metadata), .. } => {
            SessionId::parse(metadata.get("task")?.as_str()?).ok()
        }
        _ => None,
    })
}

/// What of a session can be done again.
#[derive(Debug, Clone, Default)]
pub struct Repeatable {
    /// The messages that are played.
    pub history: History,
    /// What is passed over because nothing that is done depends on it, in order.
    pub passed: Vec<String>,
    /// What the history ends before, where it does not reach to the session's end.
    pub stop: Option<String>,
}

/// What of `history` can be done again.
///
/// Summaries are passed over, and so is an answer that a summary was made for because it was too much for its model: they
/// change what a model reads, and what it said to that is recorded. An answer that failed or was stopped fails again at
/// the same place. Only where calls were cut off with it does the replay end, because nobody knows how far they had come.
pub fn repeatable(history: &History) -> Repeatable {
    let mut done = Repeatable::default();
    let mut kept: Vec<&Turned> = Vec::new();
    let mut messages = history.messages().iter().peekable();
    while let Some(turned) = messages.next() {
        let is_summary = match &turned.info {
            Message::Assistant(answer) => answer.summary,
            Message::User(_) => asks_for_summary(turned).is_some(),
        };
        if is_summary {
            if matches!(turned.info, Message::Assistant(_)) {
                done.passed.push(format!("the summary behind message {}: what it left out is kept", kept.len()));
            }
            continue;
        }
        done.stop = stops(turned);
        if done.stop.is_some() {
            break;
        }
        let was_too_long = messages.peek().is_some_and(|next| asks_for_summary(next) == Some(true));
        if was_too_long && failed(turned) {
            done.passed.push(format!("the answer behind message {}: the conversation was too long for it", kept.len()));
            continue;
        }
        kept.push(turned);
    }
    if done.stop.is_some() {
        // A prompt that nobody answers is no turn.
        let whole = kept.iter().rposition(|turned| matches!(turned.info, Message::Assistant(_)));
        kept.truncate(whole.map_or(0, |last| last + 1));
    }
    done.history = kept.into_iter().cloned().collect();
    done
}

/// Whether `turned` asks for a summary, and if so, whether it does because a request was too long.
fn asks_for_summary(turned: &Turned) -> Option<bool> {
    turned.parts.iter().find_map(|part| match &part.kind {
        PartKind::Compaction { overflow, .. } => Some(overflow.unwrap_or(false)),
        _ => None,
    })
}

fn failed(turned: &Turned) -> bool {
    matches!(&turned.info, Message::Assistant(answer) if answer.error.is_some())
}

/// Why nothing can be done again from this message on, if that is so.
fn stops(turned: &Turned) -> Option<String> {
    let Message::Assistant(answer) = &turned.info else { return None };
    let why = answer.error.as_ref()?.message();
    let calls = turned.parts.iter().filter_map(|part| match &part.kind {
        PartKind::Tool { tool, .. } => Some(tool.as_str()),
        _ => None,
    });
    let calls: Vec<&str> = calls.collect();
    let calls = (!calls.is_empty()).then(|| calls.join(", "))?;
    Some(format!("behind it an answer was cut off ({why}) with its calls of {calls}: how far they came is not known"))
}

#[cfg(test)]
mod tests;
