//! What a run tells, for tests.

use haft_protocol::{
    Assistant, Clock, Event, Message, MessageId, MessageTime, Object, Part, PartId, PartKind, Paths, SessionId, Span,
    Tokens, ToolSpan, ToolState,
};

/// The events of two answers: one with a call, and the final one.
pub(super) fn story() -> (SessionId, Vec<Event>) {
    let clock = Clock::scripted(1);
    let session: SessionId = clock.mint();
    let mut events = Vec::new();
    let answer = |events: &mut Vec<Event>| -> MessageId {
        let id: MessageId = clock.mint();
        let info = Message::Assistant(Assistant {
            id: id.clone(),
            session_id: session.clone(),
            parent_id: clock.mint(),
            time: MessageTime::default(),
            model_id: String::new(),
            provider_id: String::new(),
            mode: String::new(),
            agent: String::new(),
            path: Paths { cwd: String::new(), root: String::new() },
            cost: 0.0,
            tokens: Tokens::default(),
            finish: None,
            error: None,
            structured: None,
            summary: false,
            variant: None,
        });
        events.push(Event::MessageUpdated { session_id: session.clone(), info: Box::new(info) });
        id
    };
    let part = |message: &MessageId, id: &PartId, kind: PartKind| Event::PartUpdated {
        session_id: session.clone(),
        part: Box::new(Part { id: id.clone(), session_id: session.clone(), message_id: message.clone(), kind }),
        time: 1,
    };
    let text = |text: &str, end: Option<u64>| PartKind::Text {
        text: text.to_owned(),
        synthetic: false,
        ignored: false,
        time: Some(Span { start: 1, end }),
        metadata: None,
    };
    let delta = |message: &MessageId, id: &PartId, delta: &str| Event::PartDelta {
        session_id: session.clone(),
        message_id: message.clone(),
        part_id: id.clone(),
        field: "text".to_owned(),
        delta: delta.to_owned(),
    };
    let (first, words, tool): (_, PartId, PartId) = (answer(&mut events), clock.mint(), clock.mint());
    events.push(part(&first, &clock.mint(), PartKind::StepStart {}));
    events.push(part(&first, &words, text("", None)));
    events.extend(["Let me ", "look."].map(|words_| delta(&first, &words, words_)));
    events.push(part(&first, &words, text("Let me look.", Some(2))));
    let state = ToolState::Completed {
        input: serde_json::json!({}),
        output: String::new(),
        title: "a.rs".to_owned(),
        metadata: Object::new(),
        time: ToolSpan::default(),
        attachments: Vec::new(),
    };
    let call =
        PartKind::Tool { call_id: "c".to_owned(), tool: "read".to_owned(), state: Box::new(state), metadata: None };
    events.push(part(&first, &tool, call));
    let (second, last): (_, PartId) = (answer(&mut events), clock.mint());
    events.push(part(&second, &clock.mint(), PartKind::StepStart {}));
    events.push(part(&second, &last, text("", None)));
    events.push(delta(&second, &last, "All is well.\n"));
    events.push(part(&second, &last, text("All is well.\n", Some(3))));
    (session, events)
}
