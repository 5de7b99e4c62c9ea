//! Where a session can be taken back to. Pure.

use std::cmp::Ordering;

use haft_protocol::{History, Message, MessageId, Part, PartId, PartKind, Revert, ToolState, Turned};

use super::To;
use crate::driver::BY_HAND;

/// The place from which on everything is taken back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Point {
    /// The message.
    pub message: MessageId,
    /// Its place in the history.
    pub at: usize,
    /// The first of its parts that is taken back, and its place, where the message begins before.
    pub part: Option<(PartId, usize)>,
}

/// Why there is no such place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum NoPoint {
    /// Nothing was asked before, or nothing was taken back.
    Nothing,
    /// There is no such message.
    Message(MessageId),
    /// There is no such part of it.
    Part(PartId),
}

impl Point {
    /// The place that `revert` names; `None` where its message is gone.
    pub(crate) fn of(revert: &Revert, history: &History) -> Option<Self> {
        let messages = history.messages();
        let at = place(messages, &revert.message_id)?;
        let part = revert.part_id.as_ref().and_then(|id| {
            let within = messages[at].parts.iter().position(|part| part.id == *id)?;
            Some((id.clone(), within))
        });
        Some(Self { message: revert.message_id.clone(), at, part })
    }

    /// Before the message `id`; `None` where there is no such message.
    pub(crate) fn whole(history: &History, id: &MessageId) -> Option<Self> {
        Some(Self { message: id.clone(), at: place(history.messages(), id)?, part: None })
    }

    /// Where the turn of the message `id` begins, seen from where the session `stands`: before it, there, or behind it, where
    /// all is taken back. `None` where there is no such message.
    pub(crate) fn lies(stands: Option<&Self>, history: &History, id: &MessageId) -> Option<Ordering> {
        let messages = history.messages();
        let at = place(messages, id)?;
        let begins = (0..=at).rev().find(|&at| is_turn(&messages[at])).unwrap_or(at);
        Some(begins.cmp(&stands.map_or(messages.len(), |point| point.at)))
    }

    /// Whether this part of the message at `at` is taken back, which stands at `within` there. What a call changed goes with
    /// the call.
    pub(crate) fn covers(&self, at: usize, turned: &Turned, within: usize) -> bool {
        match &self.part {
            Some((_, from)) if at == self.at => cause(turned, within) >= *from,
            Some(_) => at > self.at,
            None => at >= self.at,
        }
    }

    /// The first message that is taken back as a whole.
    pub(crate) fn first_whole(&self) -> usize {
        self.at + usize::from(self.part.is_some())
    }
}

/// Where `to` leads from where the session stands; `None` where nothing is taken back any more.
pub(crate) fn find(history: &History, stands: Option<&Point>, to: &To) -> Result<Option<Point>, NoPoint> {
    let messages = history.messages();
    let whole = |at: usize| Point { message: messages[at].info.id().clone(), at, part: None };
    match to {
        To::Back => {
            // Where a part of a turn is taken back, the rest of it comes next.
            let end = stands.map_or(messages.len(), |point| point.at);
            (0..end).rev().find(|&at| is_turn(&messages[at])).map(|at| Some(whole(at))).ok_or(NoPoint::Nothing)
        }
        To::Forth => {
            let stands = stands.ok_or(NoPoint::Nothing)?;
            Ok((stands.at + 1..messages.len()).find(|&at| is_turn(&messages[at])).map(whole))
        }
        To::End => stands.map(|_| None).ok_or(NoPoint::Nothing),
        To::Before(message, part) => {
            let at = place(messages, message).ok_or_else(|| NoPoint::Message(message.clone()))?;
            let parts = &messages[at].parts;
            let within = match part {
                None => None,
                Some(id) => {
                    let within =
                        parts.iter().position(|part| part.id == *id).ok_or_else(|| NoPoint::Part(id.clone()))?;
                    // What stands before the first thing that was said is nothing that could be kept.
                    parts[..within].iter().any(is_said).then(|| (id.clone(), within))
                }
            };
            if within.is_some() {
                return Ok(Some(Point { message: message.clone(), at, part: within }));
            }
            let begins = (0..=at).rev().find(|&at| is_turn(&messages[at]));
            Ok(Some(whole(begins.unwrap_or(at))))
        }
    }
}

/// The place of what led to the part at `within`: for what a call changed, that of the call.
fn cause(turned: &Turned, within: usize) -> usize {
    let Some(PartKind::Patch { call_id: Some(call), .. }) = turned.parts.get(within).map(|part| &part.kind) else {
        return within;
    };
    let is_call = |part: &Part| matches!(&part.kind, PartKind::Tool { call_id, .. } if call_id == call);
    turned.parts.iter().position(is_call).unwrap_or(within)
}

fn place(messages: &[Turned], id: &MessageId) -> Option<usize> {
    messages.iter().rposition(|turned| turned.info.id() == id)
}

/// Whether a message is what a person asked, and not a word that the program put in by itself.
fn is_turn(turned: &Turned) -> bool {
    let by_person = |part: &Part| match &part.kind {
        PartKind::Text { text, synthetic, .. } => !synthetic || text == BY_HAND,
        PartKind::Compaction { auto, .. } => !auto,
        PartKind::File { .. } | PartKind::Agent { .. } | PartKind::Subtask { .. } => true,
        PartKind::Reasoning { .. }
        | PartKind::Tool { .. }
        | PartKind::Vendor { .. }
        | PartKind::Patch { .. }
        | PartKind::Retry { .. }
        | PartKind::StepStart {}
        | PartKind::StepFinish { .. } => false,
    };
    // What a plug-in says belongs to what the person had asked before.
    let is_prompt = matches!(turned.info, Message::User(_)) && turned.plugin().is_none();
    is_prompt && turned.parts.iter().any(by_person)
}

fn is_said(part: &Part) -> bool {
    match &part.kind {
        PartKind::StepStart {} | PartKind::StepFinish { .. } | PartKind::Retry { .. } | PartKind::Patch { .. } => false,
        PartKind::Text { .. }
        | PartKind::Reasoning { .. }
        | PartKind::File { .. }
        | PartKind::Tool { .. }
        | PartKind::Vendor { .. }
        | PartKind::Agent { .. }
        | PartKind::Subtask { .. }
        | PartKind::Compaction { .. } => true,
    }
}

/// What the person had asked in the message at `at`, as they would type it in a chat; `None` where a program wrote it.
pub(crate) fn words(messages: &[Turned], at: usize) -> Option<String> {
    let turned = messages.get(at).filter(|turned| is_turn(turned))?;
    let said = turned.parts.iter().filter_map(|part| match &part.kind {
        PartKind::Text { text, synthetic: false, .. } => Some(text.as_str()),
        _ => None,
    });
    let said = said.collect::<Vec<_>>().join("\n");
    if !said.is_empty() {
        return Some(said);
    }
    let meant = turned.parts.iter().find_map(|part| match &part.kind {
        PartKind::Compaction { focus, .. } => Some(with("/compact", focus.as_deref())),
        PartKind::Subtask(task) => {
            Some(task.command.as_ref().map_or_else(|| task.prompt.clone(), |command| format!("/{command}")))
        }
        PartKind::File { filename: Some(name), .. } => Some(format!("@{name}")),
        PartKind::Text { text, .. } if text == BY_HAND => Some(by_hand(messages.get(at + 1))),
        _ => None,
    });
    Some(meant.unwrap_or_default())
}

fn with(command: &str, rest: Option<&str>) -> String {
    rest.map_or_else(|| command.to_owned(), |rest| format!("{command} {rest}"))
}

/// A command line that the person ran, which the message behind theirs holds.
fn by_hand(answer: Option<&Turned>) -> String {
    let command = answer.iter().flat_map(|turned| &turned.parts).find_map(|part| match &part.kind {
        PartKind::Tool { state, .. } => match &**state {
            ToolState::Running { input, .. } | ToolState::Completed { input, .. } | ToolState::Error { input, .. } => {
                input.get("command")?.as_str()
            }
            ToolState::Pending { .. } => None,
        },
        _ => None,
    });
    format!("!{}", command.unwrap_or_default())
}

#[cfg(test)]
mod tests;
