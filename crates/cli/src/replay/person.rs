//! Who answers in a replay: as the person did then.

use std::sync::Arc;

use haft_permission::Gate;
use haft_protocol::{Answers, Ask, Event, Inquiry, Reply};
use haft_session::replay::Results;
use haft_session::{Questions, Setup};
use tokio::sync::broadcast::error::RecvError;
use tokio::task::JoinHandle;

/// Answers what a replay asks.
pub(crate) struct Person {
    gate: Gate,
    questions: Questions,
    /// What came of the calls then.
    results: Arc<Results>,
}

impl Person {
    /// Answers until it is aborted: yes to every call, because those that were denied then are not made again, and to
    /// questions what was answered.
    pub(crate) fn answer(setup: &Setup, results: Arc<Results>) -> JoinHandle<()> {
        let person = Self { gate: setup.gate.clone(), questions: setup.questions.clone(), results };
        let mut events = setup.journal.subscribe();
        tokio::spawn(async move {
            loop {
                match events.recv().await {
                    Ok(Event::PermissionAsked(ask)) => person.agree(&ask),
                    Ok(Event::QuestionAsked(inquiry)) => person.reply(&inquiry),
                    Ok(_) => {}
                    // What was missed still waits.
                    Err(RecvError::Lagged(_)) => {
                        person.gate.waiting().iter().for_each(|ask| person.agree(ask));
                        person.questions.waiting().iter().for_each(|inquiry| person.reply(inquiry));
                    }
                    Err(RecvError::Closed) => return,
                }
            }
        })
    }

    fn agree(&self, ask: &Ask) {
        // It may have been taken back meanwhile.
        drop(self.gate.reply(&ask.id, Reply::Once));
    }

    fn reply(&self, inquiry: &Inquiry) {
        let kept = inquiry.tool.as_ref().and_then(|tool| self.results.answers(&tool.call_id));
        drop(self.questions.reply(&inquiry.id, kept.unwrap_or_else(|| first_choices(inquiry))));
    }
}

/// The answers to questions by which a tool only makes sure, and which it does not keep: it went on then.
fn first_choices(inquiry: &Inquiry) -> Answers {
    let first = |question: &haft_protocol::Question| question.options.first().map(|choice| choice.label.clone());
    inquiry.questions.iter().map(|question| first(question).into_iter().collect()).collect()
}
