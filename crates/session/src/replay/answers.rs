//! From stored messages back to what the model said.

use haft_llm::{Answer, Beat, Chunk, FailKind, Failing, Finish, Purpose, Usage};
use haft_protocol::{History, Message, PartKind, Tokens, ToolState, Turned};
use haft_tool::INVALID;
use serde_json::Value;

use super::is_models;
use crate::turn::fold::item;

/// Why a vendor ends an answer that it goes on with: see [`Finish::pauses`].
const PAUSED: &str = "pause_turn";

/// How an answer ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// The model waited for the results of its calls.
    Calls,
    /// It had said all.
    Done,
}

/// The answers that a model gave in `history`, in order, each with how it ended.
pub fn answers(history: &History) -> Vec<(Answer, End)> {
    let messages = history.messages();
    let next = |at: usize| messages.get(at + 1).is_some_and(|next| goes_on(&messages[at], next));
    let own = (0..messages.len()).filter(|&at| is_models(&messages[at]));
    own.map(|at| answer(&messages[at], next(at))).collect()
}

/// Whether `next` goes on with `turned` without a word in between, as it does where a vendor paused.
fn goes_on(turned: &Turned, next: &Turned) -> bool {
    match (&turned.info, &next.info) {
        (Message::Assistant(one), Message::Assistant(other)) => is_models(next) && one.parent_id == other.parent_id,
        _ => false,
    }
}

fn answer(turned: &Turned, goes_on: bool) -> (Answer, End) {
    let (mut chunks, mut calls, mut usage) = (Vec::new(), Vec::new(), None);
    for part in &turned.parts {
        match &part.kind {
            PartKind::Text { text, synthetic: false, metadata, .. } => {
                chunks.extend((!text.is_empty()).then(|| Chunk::Text(text.clone())));
                chunks.push(Chunk::TextEnd { item: item(metadata.as_deref()) });
            }
            PartKind::Reasoning { text, metadata, .. } => {
                chunks.extend((!text.is_empty()).then(|| Chunk::Reasoning(text.clone())));
                chunks.push(Chunk::ReasoningEnd { item: item(metadata.as_deref()) });
            }
            // What a batch or a program made has its calls' numbers in front.
            PartKind::Tool { call_id, tool, state, metadata } if made_by(call_id, turned).is_none() => {
                calls.push(Chunk::ToolCall {
                    id: call_id.clone(),
                    name: tool.clone(),
                    arguments: arguments(tool, state),
                    item: item(metadata.as_deref()),
                });
            }
            PartKind::Vendor { metadata } => chunks.extend(item(Some(metadata)).map(Chunk::Vendor)),
            PartKind::StepFinish { tokens, .. } => usage = Some(used(tokens)),
            PartKind::Text { .. }
            | PartKind::Tool { .. }
            | PartKind::File { .. }
            | PartKind::Agent { .. }
            | PartKind::Subtask { .. }
            | PartKind::Patch { .. }
            | PartKind::Compaction { .. }
            | PartKind::Retry { .. }
            | PartKind::StepStart {} => {}
        }
    }
    let failed = match &turned.info {
        Message::Assistant(answer) => answer.error.as_ref(),
        Message::User(_) => None,
    };
    if let Some(error) = failed {
        // What it said before counts no more than then; and as it is nobody tries again.
        let failing = Failing::new(FailKind::Rejected, error.message());
        let beats = chunks.into_iter().map(Beat::Chunk).chain([Beat::Fail(failing)]).collect();
        return (Answer { beats, ..Answer::default() }, End::Done);
    }
    let end = if calls.is_empty() { End::Done } else { End::Calls };
    let finish = match &turned.info {
        Message::Assistant(_) if goes_on && end == End::Done => Finish::Other(PAUSED.to_owned()),
        Message::Assistant(answer) => finish(answer.finish.as_deref(), end),
        Message::User(_) => Finish::Unknown,
    };
    chunks.extend(calls);
    chunks.extend(usage.map(Chunk::Usage));
    chunks.push(Chunk::Finish(finish));
    let is_summary = matches!(&turned.info, Message::Assistant(answer) if answer.summary);
    let purpose = if is_summary { Purpose::Compaction } else { Purpose::Step };
    (Answer { beats: chunks.into_iter().map(Beat::Chunk).collect(), purpose, ..Answer::default() }, end)
}

/// `answer` with the folder `was` called `is` in the arguments of its calls.
pub(super) fn elsewhere(answer: Answer, was: &str, is: &str) -> Answer {
    let moved = |beat| match beat {
        Beat::Chunk(Chunk::ToolCall { id, name, arguments, item }) => {
            let arguments = if was.is_empty() { arguments } else { arguments.replace(was, is) };
            Beat::Chunk(Chunk::ToolCall { id, name, arguments, item })
        }
        other => other,
    };
    Answer { beats: answer.beats.into_iter().map(moved).collect(), ..answer }
}

/// The call of the same answer that made this one, if one did.
pub(super) fn made_by<'a>(call: &'a str, turned: &Turned) -> Option<&'a str> {
    let (number, by) = call.strip_prefix('i')?.split_once('_')?;
    let is_number = !number.is_empty() && number.bytes().all(|digit| digit.is_ascii_digit());
    let is_call = |part: &haft_protocol::Part| matches!(&part.kind, PartKind::Tool { call_id, .. } if call_id == by);
    (is_number && turned.parts.iter().any(is_call)).then_some(by)
}

/// The arguments as JSON text. What was no call is played as one that is none: it was never run, and is not now.
fn arguments(tool: &str, state: &ToolState) -> String {
    let input = match state {
        ToolState::Pending { raw, .. } => return raw.clone(),
        ToolState::Running { input, .. } | ToolState::Completed { input, .. } | ToolState::Error { input, .. } => input,
    };
    if tool == INVALID || input.is_null() {
        Value::Object(haft_protocol::Object::new()).to_string()
    } else {
        input.to_string()
    }
}

fn used(tokens: &Tokens) -> Usage {
    Usage {
        total: tokens.total,
        input: tokens.input,
        output: tokens.output,
        reasoning: tokens.reasoning,
        cache_read: tokens.cache.read,
        cache_write: tokens.cache.write,
    }
}

fn finish(word: Option<&str>, end: End) -> Finish {
    match word {
        Some("length") => Finish::Length,
        Some("content-filter") => Finish::ContentFilter,
        Some("unknown") => Finish::Unknown,
        Some("stop" | "tool-calls" | "other") | Some(_) | None => match end {
            End::Calls => Finish::ToolCalls,
            End::Done => Finish::Stop,
        },
    }
}
