//! From the chunks of one answer to the events that keep it. Pure, but for the clock it is given.

use std::collections::HashMap;

use haft_llm::{Chunk, Finish, Item, Usage};
use haft_protocol::{Clock, Event, MessageId, Object, Part, PartId, PartKind, SessionId, Span, ToolState};

/// Folds one answer. [`Fold::push`] takes each chunk, [`Fold::close`] ends what is open, however the answer ended.
pub(crate) struct Fold {
    clock: Clock,
    session: SessionId,
    message: MessageId,
    open: Option<Open>,
    /// The part of each call that was begun, by the call's id.
    begun: HashMap<String, PartId>,
    calls: Vec<Planned>,
    usage: Usage,
    finish: Option<Finish>,
    worked: bool,
}

/// A call that the model asks for.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Planned {
    pub part: PartId,
    pub call: String,
    pub name: String,
    pub arguments: String,
    pub metadata: Option<Object>,
}

/// A block of words that grows.
struct Open {
    id: PartId,
    thinking: bool,
    text: String,
    start: u64,
}

/// What an answer came to.
pub(crate) struct Folded {
    pub calls: Vec<Planned>,
    pub usage: Usage,
    pub finish: Option<Finish>,
    /// Whether the vendor's own tools ran.
    pub worked: bool,
}

impl Fold {
    pub(crate) fn new(clock: Clock, session: SessionId, message: MessageId) -> Self {
        Self {
            clock,
            session,
            message,
            open: None,
            begun: HashMap::new(),
            calls: Vec::new(),
            usage: Usage::default(),
            finish: None,
            worked: false,
        }
    }

    /// The events that `chunk` makes.
    pub(crate) fn push(&mut self, chunk: Chunk) -> Vec<Event> {
        let mut events = Vec::new();
        match chunk {
            Chunk::Text(delta) => self.grow(false, delta, &mut events),
            Chunk::Reasoning(delta) => self.grow(true, delta, &mut events),
            Chunk::TextEnd { item } => self.end(false, item, &mut events),
            Chunk::ReasoningEnd { item } => self.end(true, item, &mut events),
            Chunk::ToolInput { id, name, delta: _ } => {
                if !self.begun.contains_key(&id) {
                    let part = self.begin_call(&id, &mut events);
                    events.push(self.call_event(part, &id, &name, String::new(), None));
                }
            }
            Chunk::ToolCall { id, name, arguments, item } => {
                let part = match self.begun.get(&id) {
                    Some(part) => part.clone(),
                    None => self.begin_call(&id, &mut events),
                };
                let metadata = item.map(kept);
                events.push(self.call_event(part.clone(), &id, &name, arguments.clone(), metadata.clone()));
                self.calls.push(Planned { part, call: id, name, arguments, metadata });
            }
            Chunk::Vendor(item) => {
                self.worked |= item.is_work();
                self.close_open(None, &mut events);
                let kind = PartKind::Vendor { metadata: kept(item) };
                events.push(self.part_event(self.clock.mint(), kind));
            }
            Chunk::Usage(usage) => self.usage = usage,
            Chunk::Finish(finish) => {
                self.close_open(None, &mut events);
                self.finish = Some(finish);
            }
        }
        events
    }

    /// Ends what is open. To be called once, after the last chunk or when no more will come.
    pub(crate) fn close(mut self) -> (Vec<Event>, Folded) {
        let mut events = Vec::new();
        self.close_open(None, &mut events);
        (events, Folded { calls: self.calls, usage: self.usage, finish: self.finish, worked: self.worked })
    }

    fn grow(&mut self, thinking: bool, delta: String, events: &mut Vec<Event>) {
        if self.open.as_ref().is_some_and(|open| open.thinking != thinking) {
            self.close_open(None, events);
        }
        if self.open.is_none() {
            let open = Open { id: self.clock.mint(), thinking, text: String::new(), start: self.clock.now_ms() };
            events.push(self.part_event(open.id.clone(), words(&open, None, None)));
            self.open = Some(open);
        }
        let Some(open) = &mut self.open else { return };
        open.text.push_str(&delta);
        events.push(Event::PartDelta {
            session_id: self.session.clone(),
            message_id: self.message.clone(),
            part_id: open.id.clone(),
            field: "text".to_owned(),
            delta,
        });
    }

    fn end(&mut self, thinking: bool, item: Option<Item>, events: &mut Vec<Event>) {
        if self.open.as_ref().is_some_and(|open| open.thinking == thinking) {
            return self.close_open(item, events);
        }
        // The vendor's item may come without a word, when it keeps its thoughts to itself.
        if item.is_some() {
            self.close_open(None, events);
            self.open = Some(Open { id: self.clock.mint(), thinking, text: String::new(), start: self.clock.now_ms() });
            self.close_open(item, events);
        }
    }

    fn close_open(&mut self, item: Option<Item>, events: &mut Vec<Event>) {
        let Some(open) = self.open.take() else { return };
        let kind = words(&open, Some(self.clock.now_ms()), item.map(kept));
        events.push(self.part_event(open.id, kind));
    }

    fn begin_call(&mut self, id: &str, events: &mut Vec<Event>) -> PartId {
        self.close_open(None, events);
        let part: PartId = self.clock.mint();
        self.begun.insert(id.to_owned(), part.clone());
        part
    }

    fn call_event(&self, part: PartId, id: &str, name: &str, raw: String, metadata: Option<Object>) -> Event {
        let state = ToolState::Pending { input: Object::new(), raw };
        let (state, metadata) = (Box::new(state), metadata.map(Box::new));
        self.part_event(part, PartKind::Tool { call_id: id.to_owned(), tool: name.to_owned(), state, metadata })
    }

    fn part_event(&self, id: PartId, kind: PartKind) -> Event {
        let part = Part { id, session_id: self.session.clone(), message_id: self.message.clone(), kind };
        Event::PartUpdated { session_id: self.session.clone(), part: Box::new(part), time: self.clock.now_ms() }
    }
}

fn words(open: &Open, end: Option<u64>, metadata: Option<Object>) -> PartKind {
    let (text, time) = (open.text.clone(), Span { start: open.start, end });
    let metadata = metadata.map(Box::new);
    match open.thinking {
        true => PartKind::Reasoning { text, time, metadata },
        false => PartKind::Text { text, synthetic: false, ignored: false, time: Some(time), metadata },
    }
}

/// An item as a part keeps it; [`item`] is the way back.
fn kept(item: Item) -> Object {
    let mut object = Object::new();
    object.insert("vendor".to_owned(), item.vendor.into());
    object.insert("model".to_owned(), item.model.into());
    object.insert("value".to_owned(), item.value);
    object
}

/// The item that a part kept, if it kept one.
pub(crate) fn item(metadata: Option<&Object>) -> Option<Item> {
    let metadata = metadata?;
    Some(Item {
        vendor: metadata.get("vendor")?.as_str()?.to_owned(),
        model: metadata.get("model")?.as_str()?.to_owned(),
        value: metadata.get("value")?.clone(),
    })
}

/// `chunks` with words that follow each other put together: what came at once is told and stored at once.
pub(crate) fn merged(chunks: Vec<Chunk>) -> Vec<Chunk> {
    let mut merged: Vec<Chunk> = Vec::new();
    for chunk in chunks {
        match (merged.last_mut(), chunk) {
            (Some(Chunk::Text(words)), Chunk::Text(more)) | (Some(Chunk::Reasoning(words)), Chunk::Reasoning(more)) => {
                words.push_str(&more);
            }
            (_, chunk) => merged.push(chunk),
        }
    }
    merged
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};
    use haft_protocol::{History, Message, MessageTime, ModelRef, User};
    use serde_json::json;

    /// Folds `chunks` and prints what the history then holds, and each event in a word.
    #[track_caller]
    fn check(chunks: Vec<Chunk>, want: Expect) {
        let clock = Clock::scripted(1_000);
        let (session, message): (SessionId, MessageId) = (clock.mint(), clock.mint());
        let mut history = History::default();
        history.apply(&Event::MessageUpdated {
            session_id: session.clone(),
            info: Box::new(Message::User(User {
                id: message.clone(),
                session_id: session.clone(),
                time: MessageTime::default(),
                agent: String::new(),
                model: ModelRef { provider_id: String::new(), model_id: String::new() },
                variant: None,
                format: None,
                summary: None,
                system: None,
            })),
        });
        let mut fold = Fold::new(clock, session, message.clone());
        let mut log = String::new();
        let mut apply = |events: Vec<Event>| {
            for event in events {
                log.push_str(match &event {
                    Event::PartUpdated { part, .. } if part.is_open() => "open ",
                    Event::PartUpdated { .. } => "done ",
                    Event::PartDelta { .. } => "+ ",
                    _ => "? ",
                });
                history.apply(&event);
            }
        };
        for chunk in chunks {
            apply(fold.push(chunk));
        }
        let (events, folded) = fold.close();
        apply(events);
        let mut got = format!("{}\n", log.trim_end());
        for part in &history.message(&message).unwrap().parts {
            let mut value = serde_json::to_value(part).unwrap();
            for key in ["id", "sessionID", "messageID", "time"] {
                value.as_object_mut().unwrap().remove(key);
            }
            got.push_str(&format!("{value}\n"));
        }
        got.push_str(&format!("calls {} finish {:?}", folded.calls.len(), folded.finish));
        want.assert_eq(&got);
    }

    fn text(text: &str) -> Chunk {
        Chunk::Text(text.to_owned())
    }

    fn thought(text: &str) -> Chunk {
        Chunk::Reasoning(text.to_owned())
    }

    fn signed(value: &str) -> Option<Item> {
        Some(Item { vendor: "v".to_owned(), model: "m".to_owned(), value: json!(value) })
    }

    fn call(id: &str, arguments: &str) -> Chunk {
        Chunk::ToolCall { id: id.to_owned(), name: "read".to_owned(), arguments: arguments.to_owned(), item: None }
    }

    #[test]
    fn blocks_keep_their_order_and_their_items() {
        check(
            vec![
                thought("hm"),
                thought("m"),
                Chunk::ReasoningEnd { item: signed("s1") },
                text("a"),
                Chunk::TextEnd { item: None },
                text("b"),
                Chunk::ReasoningEnd { item: signed("silent") },
                Chunk::Vendor(signed("opaque").unwrap()),
                call("c", "{}"),
                Chunk::Finish(Finish::ToolCalls),
            ],
            expect![[r#"
                open + + done open + done open + done done done open
                {"metadata":{"vendor":"v","model":"m","value":"s1"},"type":"reasoning","text":"hmm"}
                {"type":"text","text":"a"}
                {"type":"text","text":"b"}
                {"metadata":{"vendor":"v","model":"m","value":"silent"},"type":"reasoning","text":""}
                {"metadata":{"vendor":"v","model":"m","value":"opaque"},"type":"vendor"}
                {"state":{"status":"pending","input":{},"raw":"{}"},"tool":"read","callID":"c","type":"tool"}
                calls 1 finish Some(ToolCalls)"#]],
        );
    }

    #[test]
    fn a_call_is_announced_once_and_completed_once() {
        let input = |id: &str, delta: &str| Chunk::ToolInput {
            id: id.to_owned(),
            name: "read".to_owned(),
            delta: delta.to_owned(),
        };
        check(
            vec![
                text("go"),
                input("a", ""),
                input("b", "{"),
                input("a", "{\"x\":"),
                input("b", "}"),
                call("a", "{\"x\":1}"),
                call("b", "{}"),
                Chunk::Finish(Finish::ToolCalls),
            ],
            expect![[r#"
                open + done open open open open
                {"type":"text","text":"go"}
                {"state":{"status":"pending","input":{},"raw":"{\"x\":1}"},"tool":"read","callID":"a","type":"tool"}
                {"state":{"status":"pending","input":{},"raw":"{}"},"tool":"read","callID":"b","type":"tool"}
                calls 2 finish Some(ToolCalls)"#]],
        );
    }

    #[test]
    fn an_answer_that_breaks_off_is_closed() {
        check(
            vec![text("half a sen")],
            expect![[r#"
            open + done
            {"type":"text","text":"half a sen"}
            calls 0 finish None"#]],
        );
    }
}
