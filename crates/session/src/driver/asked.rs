//! What a person asks for besides prompts: a command line, a summary.

use std::sync::Arc;

use haft_protocol::{Message, PartKind, Status, Turned};
use serde_json::json;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use tracing::Instrument;

use super::{BY_HAND, Driver};
use crate::driver::desk::{Answer, Desk, Inbox};
use crate::error::{SessionError, TurnError};
use crate::hands::SHELL;
use crate::prompt::intake::Taken;
use crate::prompt::{Delivery, title};
use crate::turn::TurnEnd;
use crate::turn::fold::Planned;

impl Driver {
    /// Runs a command that the person typed, and keeps it. No model is asked.
    pub(super) async fn shell(
        &mut self,
        command: String,
        done: Answer,
        desk: &mut Desk,
        inbox: &mut mpsc::Receiver<Inbox>,
    ) {
        let end = self.run_shell(command, desk, inbox).await;
        if end.is_err() {
            self.read_again().await;
        }
        let _ = done.send(end);
        desk.end();
    }

    async fn run_shell(
        &mut self,
        command: String,
        desk: &mut Desk,
        inbox: &mut mpsc::Receiver<Inbox>,
    ) -> Result<TurnEnd, SessionError> {
        let words =
            PartKind::Text { text: BY_HAND.to_owned(), synthetic: true, ignored: false, time: None, metadata: None };
        let taken = Taken {
            id: self.setup.clock.mint(),
            cast: Arc::clone(&self.role.cast),
            title: title(&command),
            parts: vec![words],
            format: None,
            delivery: Delivery::default(),
            command: None,
        };
        let prompt = self.keep_prompt(&taken).await?;
        let first = prompt.clone();
        let by_hand = self.role.calls.by_hand(&self.setup.registry);
        let call = Planned {
            part: self.setup.clock.mint(),
            call: format!("{prompt}_{SHELL}"),
            name: SHELL.to_owned(),
            arguments: json!({ "command": command }).to_string(),
            metadata: None,
        };
        self.status(Status::Busy);
        let cancel = CancellationToken::new();
        let (_arrive, mut arrivals) = mpsc::channel(1);
        let turn = self.begin_turn(prompt.clone(), prompt, &mut arrivals, cancel.clone());
        let end = {
            let mut turn = std::pin::pin!(turn.run_by_hand(by_hand, call).instrument(tracing::info_span!("shell")));
            let mut listening = true;
            loop {
                tokio::select! {
                    end = &mut turn => break end,
                    // Prompts are taken in meanwhile and begin when it has ended.
                    wake = inbox.recv(), if listening => listening = desk.wake(wake, &cancel),
                }
            }
        };
        self.sum_up(&first).await;
        self.status(Status::Idle);
        end.map_err(SessionError::from)
    }

    /// Sums the conversation up because somebody asked for it.
    pub(super) async fn compact(
        &mut self,
        focus: Option<String>,
        done: Answer,
        desk: &mut Desk,
        inbox: &mut mpsc::Receiver<Inbox>,
    ) {
        if self.record.revert.is_some() {
            return drop(done.send(Err(SessionError::TakenBack(self.record.id.clone()))));
        }
        self.status(Status::Busy);
        let end = self.run_compaction(focus, desk, inbox).await;
        self.status(Status::Idle);
        if end.is_err() {
            self.read_again().await;
        }
        let _ = done.send(end.map_err(SessionError::from));
        desk.end();
    }

    async fn run_compaction(
        &mut self,
        focus: Option<String>,
        desk: &mut Desk,
        inbox: &mut mpsc::Receiver<Inbox>,
    ) -> Result<TurnEnd, TurnError> {
        let is_prompt = |turned: &&Turned| matches!(turned.info, Message::User(_));
        let last = self.history.messages().iter().rfind(is_prompt).ok_or(TurnError::NothingToSumUp)?;
        let (last, cancel) = (last.info.id().clone(), CancellationToken::new());
        self.role.equip(&self.setup, &self.memory).await;
        let (_arrive, mut arrivals) = mpsc::channel(1);
        let turn = self.begin_turn(last.clone(), last, &mut arrivals, cancel.clone());
        let mut turn = std::pin::pin!(turn.run_compaction(focus).instrument(tracing::info_span!("compaction")));
        let mut listening = true;
        loop {
            tokio::select! {
                end = &mut turn => return end,
                // Prompts are taken in meanwhile and begin when it has ended.
                wake = inbox.recv(), if listening => listening = desk.wake(wake, &cancel),
            }
        }
    }
}
