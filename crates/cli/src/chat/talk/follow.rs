//! What happens, told to the person.

use anyhow::Result;
use haft_protocol::{Event, Message, PartKind, Reply, SessionId, Status, Tokens, User};
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::{RecvError, TryRecvError};

use super::{Running, Talk};
use crate::chat::asks::Desk;
use crate::chat::lists;
use crate::chat::status::Window;
use crate::models;

/// How much of what a plug-in says is shown, in characters.
const MAX_TOLD: usize = 200;

impl Talk {
    /// Shows what was told. Whether something else is to be read now.
    pub(super) async fn follow(&mut self, event: Result<Event, RecvError>) -> bool {
        let event = match event {
            Ok(event) => event,
            Err(RecvError::Lagged(_)) => {
                self.catch_up().await;
                return true;
            }
            // The journal ends after the chat.
            Err(RecvError::Closed) => return std::future::pending().await,
        };
        self.show(&event, false);
        if let Event::PermissionAsked(ask) = &event {
            if let (true, Some(setup)) = (self.auto, &self.setup) {
                // One that was taken back meanwhile needs no answer.
                let _ = setup.gate.reply(&ask.id, Reply::Once);
                return false;
            }
            let who = self.who(&ask.session_id).await;
            self.asks.leave(ask.clone(), who);
            return true;
        }
        if let Event::QuestionAsked(inquiry) = &event {
            let who = self.who(&inquiry.session_id).await;
            self.asks.question(inquiry.clone(), who);
            return true;
        }
        if self.follow_status(&event) {
            return true;
        }
        let Some(setup) = &self.setup else { return false };
        self.asks.is_stale(Desk { gate: &setup.gate, questions: &setup.questions })
    }

    /// Follows a turn that nobody here waits for: one that began with the end of a task. Whether it began or ended.
    fn follow_status(&mut self, event: &Event) -> bool {
        let Event::SessionStatus { session_id, status } = event else { return false };
        let is_here = self.session.as_ref().is_some_and(|session| session.id() == session_id);
        if !is_here || !self.turns.is_empty() {
            return false;
        }
        match (status, &self.running) {
            (Status::Busy | Status::Retry { .. }, None) => self.begin(true, false),
            (Status::Idle, Some(Running { is_awaited: false, .. })) => self.finish(),
            (Status::Busy | Status::Retry { .. } | Status::Idle, _) => return false,
        }
        true
    }

    /// Shows one event, and keeps what it says of the session.
    fn show(&mut self, event: &Event, stored: bool) {
        if self.session.as_ref().is_none_or(|session| session.id() != event.session_id()) {
            return;
        }
        if let Event::SessionCreated { info, .. } | Event::SessionUpdated { info, .. } = event {
            self.record = Some(info.clone());
        }
        if let Event::MessageUpdated { info, .. } = event {
            match &**info {
                Message::User(User { agent, model, summary, .. }) => {
                    // One agent let another go on: the person's next words are for that one.
                    let is_followed = self.running.is_some() && self.agent == self.headed.0 && *agent != self.headed.0;
                    if is_followed && self.agents.primaries().any(|primary| primary.name == *agent) {
                        self.agent.clone_from(agent);
                    }
                    self.head(agent, &format!("{}/{}", model.provider_id, model.model_id));
                    if let Some(summary) = summary.as_ref().filter(|summary| summary.body.is_some())
                        && std::mem::take(&mut self.wants_summary)
                    {
                        self.face.note(lists::summary(summary, self.looks.paint));
                    }
                }
                Message::Assistant(answer) => {
                    self.head(&answer.agent, &format!("{}/{}", answer.provider_id, answer.model_id));
                    if answer.tokens != Tokens::default() {
                        self.window = Window::of(&answer.tokens, self.reads());
                    }
                }
            }
        }
        if let Event::PartUpdated { part, .. } = event
            && let PartKind::Text { text, synthetic: false, .. } = &part.kind
            && let Some(plugin) = part.kind.plugin()
        {
            let line = text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
            let told: String = format!("the plug-in {plugin} says: {line}").chars().take(MAX_TOLD).collect();
            self.face.note(vec![self.looks.paint.dim(&lists::one_line(&told))]);
        }
        match stored {
            true => self.face.show_stored(event),
            false => self.face.show(event),
        }
    }

    /// Says who answers, where that is another one than before.
    pub(super) fn head(&mut self, agent: &str, model: &str) {
        let now = (agent.to_owned(), model.to_owned());
        if self.headed != now {
            self.headed = now;
            self.face.head(agent, model);
        }
    }

    /// How many tokens the model that answers reads at once; 0 where that is not known.
    fn reads(&self) -> u64 {
        let Some(setup) = &self.setup else { return 0 };
        if setup.model.name() == self.headed.1 {
            return setup.model.limits.context;
        }
        models::choose(Some(&self.headed.1), &self.ground.config).map_or(0, |model| model.limits.context)
    }

    /// Shows all that was told so far.
    pub(super) async fn catch_all(&mut self, events: &mut Receiver<Event>) {
        loop {
            match events.try_recv() {
                Ok(event) => drop(self.follow(Ok(event)).await),
                Err(TryRecvError::Lagged(_)) => self.catch_up().await,
                Err(TryRecvError::Empty | TryRecvError::Closed) => return,
            }
        }
    }

    /// Shows what was missed while the screen was slower than the model: the store has it all.
    async fn catch_up(&mut self) {
        let (Some(session), Some(setup)) = (self.session.clone(), self.setup.clone()) else { return };
        let began = self.running.as_ref().map_or(u64::MAX, |running| running.began_ms);
        let Ok(history) = self.journal.history(session.id()).await else { return };
        for turned in history.messages().iter().filter(|turned| turned.info.created() >= began) {
            let info = Box::new(turned.info.clone());
            self.show(&Event::MessageUpdated { session_id: session.id().clone(), info }, true);
            for part in &turned.parts {
                let (session_id, part) = (session.id().clone(), Box::new(part.clone()));
                self.show(&Event::PartUpdated { session_id, part, time: setup.clock.now_ms() }, true);
            }
        }
        // Questions are not stored; those that wait were asked before.
        for ask in setup.gate.waiting() {
            let who = self.who(&ask.session_id).await;
            self.asks.leave(Box::new(ask), who);
        }
        for inquiry in setup.questions.waiting() {
            let who = self.who(&inquiry.session_id).await;
            self.asks.question(Box::new(inquiry), who);
        }
    }

    /// The agent of a task, if it is one that asks.
    async fn who(&self, asks: &SessionId) -> Option<String> {
        if self.session.as_ref().is_some_and(|session| session.id() == asks) {
            return None;
        }
        let record = self.journal.session(asks).await.ok().flatten();
        Some(record.and_then(|record| record.agent).unwrap_or_else(|| "of a task".to_owned()))
    }
}
