//! What is done beside the turns: titles, what turns came to in words, the end.

use haft_protocol::{MessageId, TurnSummary};
use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::{Driver, GRACE_OF_HOOKS, SETTLE};
use crate::beside::gist::{Gist, Written, written};
use crate::beside::title::{Titled, found};
use crate::driver::desk::{Desk, Inbox};
use crate::driver::letters;
use crate::error::SessionError;
use crate::turn::hooked::of;

impl Driver {
    /// Waits a little for what is done beside the turns, and tells hooks that the session is closed.
    pub(super) async fn settle(&mut self, done: oneshot::Sender<()>) {
        self.ended().await;
        let until = Instant::now() + SETTLE;
        while self.titling.is_some() || self.gist.is_some() {
            tokio::select! {
                titled = found(&mut self.titling) => self.entitle(titled).await,
                written = written(&mut self.gist) => self.describe(written).await,
                () = tokio::time::sleep_until(until) => break,
            }
        }
        (self.titling, self.gist) = (None, None);
        let _ = done.send(());
    }

    /// Tells hooks that the session is closed, once.
    pub(super) async fn ended(&mut self) {
        if std::mem::replace(&mut self.told_of_end, true) || self.memory.kin.depth > 0 {
            return;
        }
        let (hooks, of) = (self.setup.registry.hooks(), of(&self.record.id, None));
        if tokio::time::timeout(GRACE_OF_HOOKS, hooks.session_end(&of)).await.is_err() {
            tracing::warn!("hooks took too long to hear that the session is closed, and were stopped");
        }
    }

    /// Keeps a title that was found. Without it the session has the one that it began with.
    pub(super) async fn entitle(&mut self, titled: Titled) {
        let Self { setup, record, history, memory, .. } = self;
        if let Err(error) = titled.keep(setup, record, history, &memory.kin).await {
            tracing::warn!(error = %haft_tool::with_causes(&error), "the title is not kept");
        }
    }

    /// Keeps the title that somebody gave.
    pub(super) async fn rename(&mut self, title: String) -> Result<(), SessionError> {
        Ok(letters::rename(&self.setup, &mut self.record, &mut self.history, title).await?)
    }

    /// Has what a turn came to said in words, because somebody asked for it.
    pub(super) async fn describe_turn(
        &mut self,
        prompt: Option<&MessageId>,
        desk: &mut Desk,
        inbox: &mut mpsc::Receiver<Inbox>,
    ) -> Result<TurnSummary, SessionError> {
        // One that is being written by itself would say the same.
        self.gist = None;
        let Self { setup, record, history, memory, .. } = self;
        let mut gist = Some(Gist::asked(setup, record, history, prompt, &memory.kin)?);
        let (cancel, mut listening) = (CancellationToken::new(), true);
        let written = loop {
            tokio::select! {
                written = written(&mut gist) => break written,
                () = cancel.cancelled() => return Err(SessionError::NoSummary("it was stopped".to_owned())),
                // Prompts are taken in meanwhile and begin when it has ended.
                wake = inbox.recv(), if listening => listening = desk.wake(wake, &cancel),
            }
        };
        let kept = written.keep(setup, record, history, &memory.kin).await?;
        kept.ok_or_else(|| SessionError::NoSummary("the model said nothing; the log says why".to_owned()))
    }

    /// Keeps what was written on a turn. Without it nothing is amiss.
    pub(super) async fn describe(&mut self, written: Written) {
        let Self { setup, record, history, memory, .. } = self;
        if let Err(error) = written.keep(setup, record, history, &memory.kin).await {
            tracing::warn!(error = %haft_tool::with_causes(&error), "what a turn came to is not kept");
        }
    }
}
