//! Closing what a crash left open. Pure.

use haft_protocol::{Event, Failure, Message, Part, PartKind, Session, SessionId, ToolSpan, ToolState, Turned};
use serde_json::Value;

/// What a model reads of a call that it asked for, but that was not begun.
const NOT_RUN: &str = "this call was not run: everything stopped before its turn came";

/// What a model reads of a call that was cut off.
const CUT_OFF: &str = "this call was cut off before it ended, and what it had done until then is not \
    known. Look at the state of things before you do it again";

/// The events that close everything open in `messages`, at `now` (Unix milliseconds).
///
/// After them no part grows, no call runs and no message is unfinished, so any model can be sent them.
pub(crate) fn close_all(session: &Session, messages: &[Turned], now: u64, why: &Failure) -> Vec<Event> {
    let mut events = Vec::new();
    for turned in messages {
        events.extend(turned.parts.iter().filter_map(|part| closed_part(part, now)).map(|part| updated(part, now)));
        if let Message::Assistant(assistant) = &turned.info
            && assistant.time.completed.is_none()
        {
            let mut assistant = assistant.clone();
            assistant.time.completed = Some(now);
            // A step whose answer is complete is whole but for its calls, and those say so themselves.
            if assistant.finish.is_none() {
                assistant.error = Some(Box::new(why.clone()));
            }
            events.push(Event::MessageUpdated {
                session_id: session.id.clone(),
                info: Box::new(Message::Assistant(assistant)),
            });
        }
    }
    events
}

/// When the first of the calls began that may have left something open elsewhere, in Unix milliseconds: those that are
/// at work in `messages`, and those of the last one that were cut off.
pub(crate) fn open_since(messages: &[Turned]) -> Option<u64> {
    let last = messages.last().map(|turned| turned.info.id());
    let parts = messages.iter().flat_map(|turned| &turned.parts);
    let starts = parts.filter_map(|part| match part.kind.state()? {
        ToolState::Running { time, .. } => Some(time.start),
        // Who was stopped closes its own calls, and does not wait for ever for what these began.
        ToolState::Error { metadata: Some(metadata), time, .. }
            if Some(&part.message_id) == last && metadata.contains_key("interrupted") =>
        {
            Some(time.start)
        }
        ToolState::Pending { .. } | ToolState::Completed { .. } | ToolState::Error { .. } => None,
    });
    starts.min()
}

fn updated(part: Part, time: u64) -> Event {
    let session_id: SessionId = part.session_id.clone();
    Event::PartUpdated { session_id, part: Box::new(part), time }
}

/// `part` as it is when it is over, or `None` if it is over already.
pub(crate) fn closed_part(part: &Part, now: u64) -> Option<Part> {
    if !part.is_open() {
        return None;
    }
    let mut part = part.clone();
    match &mut part.kind {
        PartKind::Text { time: Some(time), .. } | PartKind::Reasoning { time, .. } => time.end = Some(now),
        PartKind::Tool { state, .. } => **state = cut_off(state, now),
        PartKind::Text { time: None, .. }
        | PartKind::File { .. }
        | PartKind::Vendor { .. }
        | PartKind::Agent { .. }
        | PartKind::Subtask { .. }
        | PartKind::Patch { .. }
        | PartKind::Compaction { .. }
        | PartKind::Retry { .. }
        | PartKind::StepStart {}
        | PartKind::StepFinish { .. } => {}
    }
    Some(part)
}

/// The state of a call that did not get to its end.
pub(crate) fn cut_off(state: &ToolState, now: u64) -> ToolState {
    let (input, metadata, start, error) = match state {
        ToolState::Pending { raw, .. } => (serde_json::from_str(raw).unwrap_or(Value::Null), None, now, NOT_RUN),
        ToolState::Running { input, metadata, time, .. } => (input.clone(), metadata.clone(), time.start, CUT_OFF),
        ToolState::Completed { .. } | ToolState::Error { .. } => return state.clone(),
    };
    let mut metadata = metadata.unwrap_or_default();
    metadata.insert("interrupted".to_owned(), true.into());
    let input = if input.is_null() { Value::Object(haft_protocol::Object::new()) } else { input };
    ToolState::Error {
        input,
        error: error.to_owned(),
        metadata: Some(metadata),
        time: ToolSpan { start, end: now, compacted: None },
    }
}
