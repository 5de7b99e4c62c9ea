//! Does what was done in a session, at the same points of it.

use anyhow::Result;
use haft_protocol::{Event, History, Id, Message, Part, PartKind, SessionId, Status, ToolState};
use haft_session::replay::{Act, Cue, Deed, Moment, Playback};
use haft_session::{Command, Prompt, Session, Setup};
use haft_tool::TaskEnd;
use tokio::sync::broadcast::Receiver;
use tokio::sync::{mpsc, oneshot};

use crate::signals::Signals;

/// That an answer is about to be played, and who waits to play it.
type Heard = (usize, oneshot::Sender<()>);

/// What waits for an answer of the session to be played.
pub(crate) struct Cues(mpsc::UnboundedReceiver<Heard>);

/// A cue for a playback, and where it is heard.
pub(crate) fn cues() -> (Cue, Cues) {
    // Bounded by the session, which asks for one answer after the other.
    let (tell, heard) = mpsc::unbounded_channel();
    let cue: Cue = std::sync::Arc::new(move |number| {
        let (done, heard) = oneshot::channel();
        // Where nobody listens any more nobody waits either.
        let told = tell.send((number, done));
        Box::pin(async move {
            if told.is_ok() {
                let _ = heard.await;
            }
        })
    });
    (cue, Cues(heard))
}

/// Commands that come to the tasks that commands were.
pub(crate) fn commands<'a>(acts: &'a [Act], words: &'a dyn Fn(&str) -> String) -> impl Iterator<Item = Command> + 'a {
    acts.iter().filter_map(move |act| match &act.deed {
        Deed::Task { command, .. } => Some(Command { template: words(&command.template), ..(**command).clone() }),
        Deed::Prompt { .. } | Deed::Shell(_) | Deed::Ended(_) => None,
    })
}

/// Whoever does it.
pub(crate) struct Actor<'a> {
    pub session: Session,
    pub setup: &'a Setup,
    pub playback: Playback,
    /// What was recorded.
    pub history: &'a History,
    /// Whether command lines may run.
    pub caged: bool,
    /// A text with the names that things have now.
    pub words: &'a (dyn Fn(&str) -> String + Sync),
}

impl Actor<'_> {
    /// Does all of `acts`. Says whether it was stopped.
    pub(crate) async fn act(&self, acts: &[Act], mut cues: Cues) -> Result<bool> {
        let mut signals = Signals::listen()?;
        // Where nobody answered nothing was done.
        let said = acts.iter().filter(|act| !act.within && !is_unanswered(act));
        for act in said {
            self.playback.turn(act.behind, act.until);
            let mut turn = std::pin::pin!(self.deed(act));
            loop {
                tokio::select! {
                    biased;
                    () = &mut turn => break,
                    Some((number, go_on)) = cues.0.recv() => {
                        for act in acts.iter().filter(|act| act.within && act.behind == number + 1) {
                            self.meanwhile(act).await;
                        }
                        // A request that was dropped waits for nothing.
                        let _ = go_on.send(());
                    }
                    () = signals.next() => {
                        self.session.abort().await;
                        return Ok(true);
                    }
                }
            }
        }
        Ok(false)
    }

    /// Does one thing, and waits for the end of the turn that it began. What a turn that fails differs in is for the
    /// comparison to say.
    async fn deed(&self, act: &Act) {
        let end = match &act.deed {
            Deed::Prompt { text, agent, format } => {
                let prompt = Prompt::plain((self.words)(text)).agent(self.agent(agent));
                let prompt = match format {
                    Some(format) => prompt.format(format.clone()),
                    None => prompt,
                };
                self.session.prompt(prompt).await
            }
            Deed::Task { command, agent } => {
                let prompt = Prompt::plain("").calls(command.name.as_str()).agent(self.agent(agent));
                self.session.prompt(prompt).await
            }
            Deed::Shell(command) if self.caged => self.session.shell((self.words)(command)).await,
            Deed::Shell(_) => return,
            Deed::Ended(tasks) => return self.woken(tasks, act.behind).await,
        };
        if let Err(error) = end {
            tracing::info!(%error, "a turn of the replay failed");
        }
    }

    /// Does what was done while a turn ran: its turn is the one that runs.
    async fn meanwhile(&self, act: &Act) {
        match &act.deed {
            Deed::Prompt { text, .. } => {
                let (session, prompt) = (self.session.clone(), Prompt::plain((self.words)(text)));
                let mut events = self.setup.journal.subscribe();
                drop(tokio::spawn(async move { session.prompt(prompt).await }));
                happened(&mut events, is_prompt).await;
            }
            Deed::Ended(tasks) => drop(self.end(tasks, act.behind).await),
            Deed::Task { .. } | Deed::Shell(_) => {}
        }
    }

    /// Lets `tasks` come to their ends, as many as there are; their ids now.
    async fn end(&self, tasks: &[SessionId], behind: usize) -> Vec<SessionId> {
        let mut now = Vec::new();
        for task in tasks {
            now.extend(self.now(task).await);
        }
        self.playback.reach(Moment::told(behind));
        for task in &now {
            self.session.ended(task).await;
        }
        now
    }

    /// The same where no turn runs: waits until the session was told of them, and for the end of the turn that begins
    /// with it.
    async fn woken(&self, tasks: &[SessionId], behind: usize) {
        let mut events = self.setup.journal.subscribe();
        let (mut wakes, mut open) = (false, self.end(tasks, behind).await);
        if open.is_empty() {
            return;
        }
        let told = |event: &Event| {
            if let Some((task, state)) = notice(event) {
                open.retain(|id| *id != task);
                wakes = state != TaskEnd::CutOff.word();
            }
            open.is_empty()
        };
        happened(&mut events, told).await;
        if wakes {
            let own = self.session.id();
            let is_idle = |event: &Event| matches!(event, Event::SessionStatus { session_id, status: Status::Idle } if session_id == own);
            happened(&mut events, is_idle).await;
        }
    }

    /// What the task that was recorded as `task` is called now, if it was begun in the background again.
    async fn now(&self, task: &SessionId) -> Option<SessionId> {
        let again = self.setup.journal.history(self.session.id()).await.ok()?;
        let parts = |history: &History| -> Vec<Part> {
            history.messages().iter().flat_map(|turned| turned.parts.iter().cloned()).collect()
        };
        let own = parts(self.history);
        let begun = own.iter().filter_map(background).find(|(_, id)| id == task)?;
        parts(&again).iter().filter_map(background).find(|(call, _)| *call == begun.0).map(|(_, id)| id)
    }

    fn agent(&self, name: &str) -> String {
        let agents = &self.setup.agents;
        agents.get(name).unwrap_or_else(|| agents.default_agent()).name.clone()
    }
}

/// Whether `act` is a prompt that came to nothing: its words stand in the history, and that is all.
pub(crate) fn is_unanswered(act: &Act) -> bool {
    matches!(act.deed, Deed::Prompt { .. }) && !act.within && act.until == act.behind
}

/// The call that left a task to itself, and the task.
fn background(part: &Part) -> Option<(String, SessionId)> {
    let PartKind::Tool { call_id, state, .. } = &part.kind else { return None };
    let ToolState::Completed { metadata, .. } = &**state else { return None };
    metadata.get("background").filter(|behind| **behind == true)?;
    let id = SessionId::parse(metadata.get("sessionId")?.as_str()?).ok()?;
    Some((call_id.clone(), id))
}

/// The task whose end `event` tells of, and how far it came.
fn notice(event: &Event) -> Option<(SessionId, String)> {
    let Event::PartUpdated { part, .. } = event else { return None };
    let PartKind::Text { synthetic: true, metadata: Some(metadata), .. } = &part.kind else { return None };
    let id = SessionId::parse(metadata.get("task")?.as_str()?).ok()?;
    Some((id, metadata.get("state")?.as_str()?.to_owned()))
}

fn is_prompt(event: &Event) -> bool {
    matches!(event, Event::MessageUpdated { info, .. } if matches!(**info, Message::User(_)))
}

/// Waits until something happens. Whoever is too far behind has missed it.
async fn happened(events: &mut Receiver<Event>, mut is_it: impl FnMut(&Event) -> bool) {
    while let Ok(event) = events.recv().await {
        if is_it(&event) {
            return;
        }
    }
}
