//! Turns: begun with what the person said, and told when they have ended.

use std::time::Instant;

use anyhow::Result;
use haft_session::{Delivery, SessionError, TurnEnd};

use super::{Running, Talk};
use crate::chat::editor::Draft;
use crate::chat::lists;
use crate::chat::status::{self, Turn};
use crate::commands::run::unusual;
use crate::models::{self, NO_MODEL_YET};
use crate::render::clean;
use crate::report::{describe, describe_within};

impl Talk {
    /// Says it to the agent.
    pub(in crate::chat) async fn say(&mut self, draft: Draft) {
        let session = match self.session().await {
            Ok(session) => session,
            Err(error) if self.setup.is_none() && self.chosen.name.is_none() => {
                tracing::info!(error = format!("{error:#}"), "no model");
                return self.face.note(NO_MODEL_YET.lines().map(str::to_owned).collect());
            }
            Err(error) => return self.complain(&describe(&error)),
        };
        let delivery = if draft.later { Delivery::Queue } else { Delivery::Steer };
        let mut prompt = match haft_session::Prompt::with_files(draft.text, draft.files).await {
            Ok(prompt) => prompt.agent(&self.agent).delivery(delivery),
            Err(error) => return self.complain(&describe(&error.into())),
        };
        if let Some(name) = self.chosen.name.clone().filter(|_| self.chosen.is_named) {
            prompt = prompt.model(name, self.chosen.variant.clone());
        }
        if self.running.is_some() {
            let told = match draft.later {
                true => "queued: it is read once this turn has ended",
                false => {
                    "queued: it is read after the step that runs; Ctrl-Q or /queue instead of Enter: after the turn"
                }
            };
            self.face.note(vec![self.looks.paint.dim(told)]);
        }
        self.start(async move { session.prompt(prompt).await });
    }

    /// Runs a command line that the person typed.
    pub(super) async fn shell(&mut self, line: String) {
        if self.running.is_some() {
            return self.complain("a turn runs; wait for its end, or stop it with Ctrl-C, and run the command then");
        }
        match self.session().await {
            Ok(session) => {
                self.begin(false, true);
                self.turns.spawn(async move { session.shell(line).await });
            }
            Err(error) => self.complain(&describe(&error)),
        }
    }

    /// Runs `turn`, which asks a model.
    pub(in crate::chat) fn start(
        &mut self,
        turn: impl Future<Output = Result<TurnEnd, SessionError>> + Send + 'static,
    ) {
        self.begin(true, true);
        self.turns.spawn(turn);
    }

    pub(super) fn begin(&mut self, asks_model: bool, is_awaited: bool) {
        let before = self.record.as_ref().map(|record| (record.tokens, record.cost)).unwrap_or_default();
        let began_ms = self.setup.as_ref().map_or(0, |setup| setup.clock.now_ms());
        let (began, notes) = (Instant::now(), Vec::new());
        self.running.get_or_insert(Running { began, began_ms, before, asks_model, is_awaited, notes });
    }

    /// Whether something runs, which is then said.
    pub(in crate::chat) fn is_busy(&mut self, name: &str) -> bool {
        let busy = self.running.is_some();
        if busy {
            self.complain(&format!("a turn runs; wait for its end, or stop it with Ctrl-C, and say /{name} then"));
        }
        busy
    }

    /// One who waited for a turn was told of its end.
    pub(super) async fn ended(&mut self, end: Result<Result<TurnEnd, SessionError>, tokio::task::JoinError>) {
        let note = match end {
            Ok(Ok(end)) => {
                self.failed = false;
                told(&end)
            }
            Ok(Err(error)) => {
                self.failed = true;
                Some(self.looks.paint.red(&clean(&describe_within(error))))
            }
            Err(error) => {
                self.failed = true;
                Some(self.looks.paint.red(&format!("error: the turn crashed: {error}; what is stored is kept")))
            }
        };
        let Some(running) = &mut self.running else { return };
        if let Some(note) = note.filter(|note| !running.notes.contains(note)) {
            running.notes.push(note);
        }
        if self.turns.is_empty() {
            self.finish();
            // Servers may have been spoken to for the first time.
            self.tell_offered();
        }
    }

    /// Says what there is to say at the end of a turn.
    pub(super) fn finish(&mut self) {
        let Some(running) = self.running.take() else { return };
        self.face.rest();
        let mut lines: Vec<String> =
            running.notes.iter().flat_map(|note| note.lines().map(str::to_owned).collect::<Vec<_>>()).collect();
        if running.asks_model {
            let (tokens, cost) = self.record.as_ref().map(|record| (record.tokens, record.cost)).unwrap_or_default();
            let turn = Turn {
                agent: self.headed.0.clone(),
                model: self.headed.1.clone(),
                took: running.began.elapsed(),
                tokens: status::since(&running.before.0, &tokens),
                cost: cost - running.before.1,
                window: self.window,
            };
            lines.push(self.looks.paint.dim(&lists::one_line(&status::line(&turn))));
        }
        self.face.note(lines);
        if let (true, Some(setup)) = (self.chosen.is_named && !self.failed, &self.setup) {
            models::remember(&setup.model.reference, &self.ground.folders);
        }
    }
}

/// What a person should know about how a turn ended.
fn told(end: &TurnEnd) -> Option<String> {
    match end {
        TurnEnd::Finished(reason) => unusual(reason).map(str::to_owned),
        TurnEnd::Limit { steps } => {
            Some(format!("stopped after {steps} steps, which is the limit; say `continue` to go on"))
        }
        TurnEnd::Circles { tool } => Some(format!("stopped: the model made the same call of {tool} over and over")),
        TurnEnd::Refused => Some("stopped, because you refused a call; say what you want instead to go on".to_owned()),
        TurnEnd::Aborted => Some("stopped; what was said and done is kept".to_owned()),
    }
}
