//! What was taken back goes for good, because something new is asked.

use haft_protocol::{Event, History, Message, Part, PartKind, Session as Record, Tokens};

use super::point::Point;

/// The events that remove what is taken back from `point` on, and the record without it: its costs go too, as if it had not
/// been asked.
pub(crate) fn removed(record: &mut Record, history: &History, point: &Point) -> Vec<Event> {
    let session_id = record.id.clone();
    let messages = history.messages();
    let mut events = Vec::new();
    for turned in &messages[point.first_whole()..] {
        if let Message::Assistant(answer) = &turned.info {
            less(record, answer.cost, &answer.tokens);
        }
        let message_id = turned.info.id().clone();
        events.push(Event::MessageRemoved { session_id: session_id.clone(), message_id });
    }
    if let (Some((_, within)), Some(turned)) = (&point.part, messages.get(point.at)) {
        let behind = turned.parts.iter().enumerate().skip(*within);
        for (_, part) in behind.filter(|(within, _)| point.covers(point.at, turned, *within)) {
            if let PartKind::StepFinish { cost, tokens, .. } = &part.kind {
                less(record, *cost, tokens);
            }
            events.push(gone(part));
        }
    }
    // Newest first: what a crash in the middle leaves is a whole beginning.
    events.reverse();
    events
}

/// The event that removes `part`.
pub(crate) fn gone(part: &Part) -> Event {
    Event::PartRemoved {
        session_id: part.session_id.clone(),
        message_id: part.message_id.clone(),
        part_id: part.id.clone(),
    }
}

fn less(record: &mut Record, cost: f64, tokens: &Tokens) {
    record.cost = (record.cost - cost).max(0.0);
    let sum = &mut record.tokens;
    for (all, part) in [
        (&mut sum.input, tokens.input),
        (&mut sum.output, tokens.output),
        (&mut sum.reasoning, tokens.reasoning),
        (&mut sum.cache.read, tokens.cache.read),
        (&mut sum.cache.write, tokens.cache.write),
    ] {
        *all = all.saturating_sub(part);
    }
}
