//! Who answers in a replay: as the person did then.

use std::collections::HashSet;

use haft_permission::Gate;
use haft_protocol::{Ask, Event, Reply};
use haft_session::{Questions, Setup};
use tokio::sync::broadcast::error::RecvError;
use tokio::task::JoinHandle;

/// Answers what a replay asks.
pub(crate) struct Person {
    gate: Gate,
    questions: Questions,
    /// The calls that were denied then.
    denied: HashSet<String>,
}

impl Person {
    /// Answers until it is aborted: no to the calls that were denied then, yes to all others.
    pub(crate) fn answer(setup: &Setup, denied: HashSet<String>) -> JoinHandle<()> {
        let person = Self { gate: setup.gate.clone(), questions: setup.questions.clone(), denied };
        let mut events = setup.journal.subscribe();
        tokio::spawn(async move {
            loop {
                match events.recv().await {
                    Ok(Event::PermissionAsked(ask)) => person.decide(&ask),
                    Ok(Event::QuestionAsked(inquiry)) => drop(person.questions.reject(&inquiry.id)),
                    Ok(_) => {}
                    // What was missed still waits.
                    Err(RecvError::Lagged(_)) => person.gate.waiting().iter().for_each(|ask| person.decide(ask)),
                    Err(RecvError::Closed) => return,
                }
            }
        })
    }

    fn decide(&self, ask: &Ask) {
        let refused = ask.tool.as_ref().is_some_and(|tool| self.denied.contains(&tool.call_id));
        let advice = Some("it was denied when this was recorded".to_owned());
        let reply = if refused { Reply::Reject { advice } } else { Reply::Once };
        // It may have been taken back meanwhile.
        drop(self.gate.reply(&ask.id, reply));
    }
}
