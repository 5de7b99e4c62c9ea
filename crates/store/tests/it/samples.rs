//! Small records to store.

use haft_protocol::{
    Event, Id, Message, MessageTime, ModelRef, Part, PartKind, Session, SessionTime, Span, Tokens, User,
};

/// A session that was last changed when it was made, at the epoch.
pub(crate) fn session(id: &str) -> Session {
    Session {
        id: Id::parse(id).unwrap(),
        permission: None,
        slug: "calm-lathe".to_owned(),
        project_id: "global".to_owned(),
        directory: "/project".to_owned(),
        path: String::new(),
        parent_id: None,
        title: id.to_owned(),
        agent: None,
        model: None,
        version: "0.1.0".to_owned(),
        cost: 0.0,
        tokens: Tokens::default(),
        metadata: None,
        summary: None,
        share: None,
        revert: None,
        time: SessionTime::default(),
    }
}

/// A prompt in `session`.
pub(crate) fn prompt(session: &Session, id: &str) -> Message {
    Message::User(User {
        id: Id::parse(id).unwrap(),
        session_id: session.id.clone(),
        time: MessageTime::default(),
        agent: "build".to_owned(),
        model: ModelRef { provider_id: "v".to_owned(), model_id: "m".to_owned() },
        variant: None,
        format: None,
        summary: None,
        system: None,
    })
}

/// Words in `message` that grow.
pub(crate) fn text(message: &Message, id: &str, text: &str) -> Part {
    Part {
        id: Id::parse(id).unwrap(),
        session_id: message.session_id().clone(),
        message_id: message.id().clone(),
        kind: PartKind::Text {
            text: text.to_owned(),
            synthetic: false,
            ignored: false,
            time: Some(Span { start: 1, end: None }),
            metadata: None,
        },
    }
}

pub(crate) fn created(session: &Session) -> Event {
    Event::SessionCreated { session_id: session.id.clone(), info: Box::new(session.clone()) }
}

pub(crate) fn said(message: &Message) -> Event {
    Event::MessageUpdated { session_id: message.session_id().clone(), info: Box::new(message.clone()) }
}

pub(crate) fn put(part: &Part) -> Event {
    Event::PartUpdated { session_id: part.session_id.clone(), part: Box::new(part.clone()), time: 1 }
}

pub(crate) fn words(part: &Part, delta: &str) -> Event {
    Event::PartDelta {
        session_id: part.session_id.clone(),
        message_id: part.message_id.clone(),
        part_id: part.id.clone(),
        field: "text".to_owned(),
        delta: delta.to_owned(),
    }
}

/// A list of one thing to do.
pub(crate) fn to_do(session: &haft_protocol::SessionId, content: &str) -> Event {
    let (status, priority) = ("pending".to_owned(), "high".to_owned());
    let todos = vec![haft_protocol::Todo { content: content.to_owned(), status, priority }];
    Event::TodoUpdated { session_id: session.clone(), todos }
}
