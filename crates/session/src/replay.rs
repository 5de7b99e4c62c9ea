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

/// The history up to the first thing that cannot be done again, and what that is: somebody stopped an answer, it failed,
/// or what came before was summed up.
pub fn repeatable(history: &History) -> (History, Option<String>) {
    let stop = history.messages().iter().enumerate().find_map(|(at, turned)| {
        let why = match &turned.info {
            Message::Assistant(answer) => {
                let error = answer.error.as_ref();
                error.map(|error| format!("the answer behind it did not get to its end ({})", error.message()))
            }
            Message::User(_) => turned.parts.iter().find_map(|part| match &part.kind {
                PartKind::Compaction { .. } => Some("behind it the conversation was summed up".to_owned()),
                PartKind::Subtask { .. } => Some("behind it a command was a task".to_owned()),
                _ => None,
            }),
        };
        Some((at, why?))
    });
    match stop {
        None => (history.clone(), None),
        Some((at, why)) => {
            // A prompt that nobody answered is no turn.
            let before = &history.messages()[..at];
            let whole = before.iter().rposition(|turned| matches!(turned.info, Message::Assistant(_)));
            (before[..whole.map_or(0, |last| last + 1)].iter().cloned().collect(), Some(why))
        }
    }
}
