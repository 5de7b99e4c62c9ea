//! What a program that ended left open in the tasks of a session: closed when that session is opened again.

use haft_protocol::{
    Event, Failure, History, Message, MessageTime, Object, Part, Session as Record, SessionId, Turned, User,
};
use haft_tool::{TaskEnd, TaskResult};

use crate::error::SessionError;
use crate::kin::{MAX_CHILDREN, MAX_DEPTH};
use crate::setup::Setup;
use crate::stored::recover::{close_all, open_since};
use crate::task::background::{Notice, unreported};
use crate::task::work::said;
use crate::turn::record_all;

/// What a message keeps of a program that ended in the middle of it.
pub(crate) const CUT_OFF: &str = "haft was stopped while this was written";

/// Closes what the end of the program left open in the tasks of a session, which began no earlier than its calls that
/// are open or were cut off last. A task that somebody is at work on is left to them.
pub(crate) async fn close_below(setup: &Setup, id: &SessionId, messages: &[Turned]) -> Result<(), SessionError> {
    let Some(since) = open_since(messages) else { return Ok(()) };
    let mut levels = vec![(id.clone(), 0)];
    while let Some((id, level)) = levels.pop() {
        let children = setup.journal.children(&id, MAX_CHILDREN).await?;
        for child in children.into_iter().filter(|child| child.time.updated >= since) {
            let Ok(_lease) = setup.journal.claim(&child.id) else { continue };
            let mut history = setup.journal.history(&child.id).await?;
            if let Some(past) = &setup.options.past {
                past.settle(&setup.journal, &setup.clock, &child.id, &mut history).await?;
            }
            let why = Failure::aborted(CUT_OFF);
            let open = close_all(&child, history.messages(), setup.clock.now_ms(), &why);
            setup.journal.record_all(open).await?;
            levels.extend((level < MAX_DEPTH).then_some((child.id, level + 1)));
        }
    }
    Ok(())
}

/// Closes the tasks that went on by themselves when the program ended, and keeps for the model what they had by then.
pub(crate) async fn report_cut_off(setup: &Setup, record: &Record, history: &mut History) -> Result<(), SessionError> {
    for (id, about) in unreported(history.messages()) {
        let (Some(child), Ok(_lease)) = (setup.journal.session(&id).await?, setup.journal.claim(&id)) else { continue };
        let mut below = setup.journal.history(&id).await?;
        if let Some(past) = &setup.options.past {
            past.settle(&setup.journal, &setup.clock, &id, &mut below).await?;
        }
        let why = Failure::aborted(CUT_OFF);
        setup.journal.record_all(close_all(&child, below.messages(), setup.clock.now_ms(), &why)).await?;
        let said = said(setup, &id).await;
        // It may have come to its end, and only the word of it was lost.
        let end = if said.is_whole { TaskEnd::Complete } else { TaskEnd::CutOff };
        let result = TaskResult { session: id.clone(), end, text: said.text, metadata: Object::new() };
        let notice = Notice::of(id, &about, Ok(result));
        let Some(user) = history.messages().iter().rev().find_map(|turned| match &turned.info {
            Message::User(user) => Some(user.clone()),
            Message::Assistant(_) => None,
        }) else {
            continue;
        };
        // As the last prompt: who answers next is not decided here.
        let now = setup.clock.now_ms();
        let user = User {
            id: setup.clock.mint(),
            time: MessageTime { created: now, completed: None },
            format: None,
            summary: None,
            system: None,
            ..user
        };
        let part = Part {
            id: setup.clock.mint(),
            session_id: record.id.clone(),
            message_id: user.id.clone(),
            kind: notice.part(),
        };
        let (session_id, info) = (record.id.clone(), Box::new(Message::User(user)));
        let told = Event::MessageUpdated { session_id: session_id.clone(), info };
        let words = Event::PartUpdated { session_id, part: Box::new(part), time: now };
        record_all(setup, history, vec![told, words]).await?;
    }
    Ok(())
}
