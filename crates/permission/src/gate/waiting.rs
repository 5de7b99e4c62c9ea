//! The questions that wait for an answer.

use std::collections::VecDeque;

use haft_protocol::{Ask, AskId, Event, MessageId, Reply};
use tokio::sync::oneshot;

use super::Gate;
use crate::access::Denied;
use crate::approval::{Approval, Approvals};
use crate::witness::{By, Matter, Noted, Pen};

/// Most asks that may wait at once in one gate. A further one is denied as if nobody were there.
pub(super) const MAX_WAITING: usize = 256;
/// Most messages that are remembered because a call of theirs was refused.
const MAX_REFUSED: usize = 64;

/// What came of a question, and by whom.
pub(super) type Answer = Result<By, (Denied, By)>;

#[derive(Default)]
pub(super) struct State {
    pub waiting: Vec<Waiting>,
    /// What "always" added. Rules are looked at first, so an approval never undoes a denial.
    pub approvals: Approvals,
    /// Messages of which a call was refused, and what that means for those beside it that ask later; the newest last.
    refused: VecDeque<(MessageId, Denied)>,
}

pub(super) struct Waiting {
    pub ask: Ask,
    pub opaque: bool,
    /// The plug-in that asks in its own name.
    pub plugin: Option<String>,
    /// Which of the patterns only an approval in so many words covers.
    pub touchy: Vec<bool>,
    pub answer: oneshot::Sender<Answer>,
}

/// What a reply does.
pub(super) struct Settled {
    /// The ask that it is for, and those that it settles beside it, each with what comes of it.
    pub asks: Vec<(Waiting, Answer)>,
    /// What is allowed for always from now on.
    pub approved: Vec<Approval>,
}

impl State {
    /// What a refusal beside the call that `ask` is of means for it. Calls of one answer run side by side, and which of
    /// them asks first is chance.
    pub(super) fn refused_beside(&self, ask: &Ask) -> Option<Denied> {
        let tool = ask.tool.as_ref()?;
        let (_, denied) = self.refused.iter().find(|(message, _)| *message == tool.message_id)?;
        Some(denied.clone())
    }

    /// Takes the ask called `id` from the queue, if it still waits.
    fn take_back(&mut self, id: &AskId) -> Option<Waiting> {
        let at = self.waiting.iter().position(|waiting| waiting.ask.id == *id)?;
        Some(self.waiting.remove(at))
    }

    /// Takes the ask called `id` and those that `reply` settles with it from the queue; `None` where it waits no more.
    pub(super) fn settle(&mut self, id: &AskId, reply: &Reply) -> Option<Settled> {
        let first = self.take_back(id)?;
        let Ask { session_id: session, permission, always, .. } = first.ask.clone();
        let mut approved = Vec::new();
        // Advice is about the one call it was given for; whoever asked beside it reads it there.
        let (answer, beside) = match reply {
            Reply::Once => (Ok(By::Person), Ok(By::Approval)),
            Reply::Always => {
                let approval = |pattern: &String| Approval { permission: permission.clone(), pattern: pattern.clone() };
                approved = always.iter().map(approval).collect();
                approved.iter().cloned().for_each(|approval| self.approvals.add(approval));
                (Ok(By::Always(always)), Ok(By::Approval))
            }
            Reply::Reject { advice: None } => {
                (Err((Denied::Rejected, By::Person)), Err((Denied::Rejected, By::Beside)))
            }
            Reply::Reject { advice: Some(advice) } => {
                (Err((Denied::Advised(advice.clone()), By::Person)), Err((Denied::Along, By::Beside)))
            }
        };
        if let (Some(tool), Err((denied, _))) = (&first.ask.tool, &beside) {
            self.refused.push_back((tool.message_id.clone(), denied.clone()));
            if self.refused.len() > MAX_REFUSED {
                self.refused.pop_front();
            }
        }
        let approvals = &self.approvals;
        let others: Vec<Waiting> = self
            .waiting
            .extract_if(.., |other| {
                other.ask.session_id == session
                    && match reply {
                        Reply::Once => false,
                        Reply::Always => other.is_approved(approvals),
                        // A no to a plug-in is none to the agent, and the other way round.
                        Reply::Reject { .. } => other.plugin == first.plugin,
                    }
            })
            .collect();
        let mut asks = vec![(first, answer)];
        asks.extend(others.into_iter().map(|other| (other, beside.clone())));
        Some(Settled { asks, approved })
    }
}

impl Waiting {
    fn is_approved(&self, approvals: &Approvals) -> bool {
        let Ask { permission, patterns, .. } = &self.ask;
        let mut patterns = patterns.iter().zip(&self.touchy);
        patterns.all(|(pattern, touchy)| approvals.cover(permission, pattern, self.opaque, *touchy))
    }
}

/// Takes an ask back when the one who asked no longer waits, and says so.
pub(super) struct TakeBack<'a> {
    pub gate: &'a Gate,
    pub id: &'a AskId,
    pub matter: &'a Matter,
    pub pen: &'a Pen,
}

impl Drop for TakeBack<'_> {
    fn drop(&mut self) {
        let taken_back = self.gate.lock().take_back(self.id);
        if let Some(waiting) = taken_back {
            self.pen.write(|| Noted::Denied(self.matter.clone(), By::Stopped));
            // Clients that show it take it away.
            (self.gate.inner.announce)(Event::PermissionReplied {
                session_id: waiting.ask.session_id,
                request_id: waiting.ask.id,
                reply: Reply::Reject { advice: None }.word().to_owned(),
            });
        }
    }
}
