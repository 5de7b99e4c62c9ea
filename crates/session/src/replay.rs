//! A stored session, run again: the model's answers as they are stored, what the person said, and whether the tools did
//! the same.
//!
//! The history is the recording. It keeps all that a model said, in the order it came, and each session has its own; so
//! nothing is written a second time, nothing more holds secrets, and what is deleted is gone. What it does not keep is how
//! the words came in pieces, and tries that failed: neither changes what is done.
//!
//! All of it is pure but for [`Playback`], which is a [`haft_llm::Provider`].

mod acts;
mod answers;
mod compare;
mod normal;
mod playback;

pub use acts::{Act, Deed, acts};
pub use answers::{End, answers, elsewhere};
pub use compare::{Compared, Difference, compare, denied, parting};
pub use normal::Normal;
pub use playback::{Cue, Playback, Stream};

use haft_protocol::{History, Id, Message, MessageId, PartKind, Turned};

/// Whether a model wrote this answer. Commands that a person ran, and tasks that a command was, are kept as answers too.
fn is_models(turned: &Turned) -> bool {
    matches!(turned.info, Message::Assistant(_))
        && !turned.parts.iter().any(|part| {
            // The id of such a call begins with that of a message.
            matches!(&part.kind, PartKind::Tool { call_id, .. } if MessageId::parse(&call_id[..call_id.rfind('_').unwrap_or(0)]).is_ok())
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
/// Summaries are passed over: they change what a model reads, and what it said to that is recorded. An answer that failed
/// or was stopped fails again at the same place. Only where calls were cut off with it does the replay end, because nobody
/// knows how far they had come; and at a command that was a task, which no prompt says again.
pub fn repeatable(history: &History) -> Repeatable {
    let mut done = Repeatable::default();
    let mut kept: Vec<&Turned> = Vec::new();
    for turned in history.messages() {
        let is_summary = match &turned.info {
            Message::Assistant(answer) => answer.summary,
            Message::User(_) => turned.parts.iter().any(|part| matches!(part.kind, PartKind::Compaction { .. })),
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

/// Why nothing can be done again from this message on, if that is so.
fn stops(turned: &Turned) -> Option<String> {
    match &turned.info {
        Message::Assistant(answer) => {
            let error = answer.error.as_ref()?;
            let calls = turned.parts.iter().filter_map(|part| match &part.kind {
                PartKind::Tool { tool, .. } => Some(tool.as_str()),
                _ => None,
            });
            let calls: Vec<&str> = calls.collect();
            let why = error.message();
            (!calls.is_empty()).then(|| {
                format!(
                    "behind it an answer was cut off ({why}) with its calls of {}: how far they came is not known",
                    calls.join(", ")
                )
            })
        }
        Message::User(_) => {
            let is_task = |kind: &PartKind| matches!(kind, PartKind::Subtask { .. });
            let is_task = turned.parts.iter().any(|part| is_task(&part.kind));
            is_task.then(|| "behind it a command was a task, and no prompt says that again".to_owned())
        }
    }
}

#[cfg(test)]
mod tests;
