//! A plug-in that uses sessions in its own name: it makes them, says something in them, and has agents answer.
//!
//! What it begins works for the session whose hook or call it is: what is closed to the agent there stays closed, its tasks'
//! limits hold, and stopping it stops that, too. In a session that is open the agent answers that is at work there.

use std::sync::Arc;
use std::time::Duration;

use haft_permission::{Action, Grant, Rule, Rules};
use haft_protocol::{Event, History, Message, Object, Session as Record, SessionId, SessionModel, SessionRule, Turned};

use crate::agents::cast::{Cast, Casting};
use crate::agents::policy;
use crate::driver::letters::{Letter, MAX_LETTERS, rename};
use crate::error::SessionError;
use crate::prompt::intake::Taken;
use crate::prompt::{Prompt, by};
use crate::roster::{Found, Waits};
use crate::session::{Session, new_record};
use crate::setup::{NewSession, Setup};
use crate::stored::delete;
use crate::task::Crew;
use crate::turn::calls::Calls;
use crate::turn::{TurnEnd, message};

/// How many of a session's last messages are looked at for the answer.
const MAX_BACK: usize = 8;
/// How long a session that is to be removed may take to close.
const MAX_CLOSING: Duration = Duration::from_secs(3);

/// A plug-in, and for whom it does something.
pub struct Guest {
    /// What sessions are given that no other one has begun.
    pub setup: Setup,
    /// Its name.
    pub plugin: String,
    /// The session whose hook or call it is.
    pub of: Option<SessionId>,
    /// Whether the turn of that session waits until it is done.
    pub holds: bool,
}

/// What a plug-in wants said.
pub struct Wanted {
    /// The session.
    pub session: SessionId,
    /// Who is to answer; in an open session it can only be the agent at work there.
    pub agent: Option<String>,
    /// The words.
    pub prompt: Prompt,
    /// Tools that are closed for as long as a session is open that is opened for this.
    pub closed: Vec<String>,
}

impl Guest {
    /// Makes a session, which belongs to `parent` if there is one, and asks nobody. `model`: the model that answers in it.
    ///
    /// # Errors
    ///
    /// When there is no such parent in this project, tasks stand too deep already, or the store fails.
    pub async fn create(
        &self,
        title: Option<String>,
        parent: Option<&SessionId>,
        model: Option<SessionModel>,
    ) -> Result<Record, SessionError> {
        let above = match parent {
            Some(id) => Some(self.known(id).await?),
            None => None,
        };
        if let Some(patron) = self.patron(parent) {
            room(&patron)?;
        }
        let mut record = new_record(&self.setup, NewSession { title }).await?;
        let closed = &self.setup.options.tasks.closed;
        let rules: &[SessionRule] = above.as_ref().and_then(|above| above.permission.as_deref()).unwrap_or_default();
        record.parent_id = parent.cloned();
        record.permission = Some(policy::below(rules, &Rules::default(), closed)).filter(|rules| !rules.is_empty());
        record.model = model.or(record.model);
        record.metadata = Some(by(&self.plugin, Object::new()));
        let (session_id, info) = (record.id.clone(), Box::new(record.clone()));
        self.setup.journal.record(Event::SessionCreated { session_id, info }).await?;
        Ok(record)
    }

    /// Who answers in the session `id` where `wanted` is asked for.
    ///
    /// # Errors
    ///
    /// When there is no such session or agent, or another one is at work in the session, which is open.
    pub async fn agent(&self, id: &SessionId, wanted: Option<&str>) -> Result<String, SessionError> {
        let record = self.known(id).await?;
        let wanted = wanted.filter(|name| !name.is_empty());
        let roster = &self.setup.options.roster;
        // One that closes is opened again.
        if let Some(calls) = roster.session(id).and_then(|_| roster.calls(id)) {
            let at_work = calls.agent();
            return match wanted {
                Some(name) if name != at_work => Err(SessionError::Refused(format!(
                    "the agent {at_work} is at work in session {id}, and a plug-in does not put {name} in its place; make a \
                     session of its own with session.create"
                ))),
                Some(_) | None => Ok(at_work),
            };
        }
        let stored = record.agent.filter(|name| self.setup.agents.get(name).is_some());
        let usual = || self.setup.agents.default_agent().name.clone();
        let name = wanted.map(str::to_owned).or(stored).unwrap_or_else(usual);
        match self.setup.agents.get(&name) {
            Some(_) => Ok(name),
            None => {
                let known: Vec<&str> = self.setup.agents.all().iter().map(|agent| agent.name.as_str()).collect();
                Err(SessionError::NoAgent { name, known: known.join(", ") })
            }
        }
    }

    /// Keeps words in a session behind all that is stored, for the model to read at its next step. Nobody answers them, and
    /// no turn is waited for: one may wait for whoever says them.
    ///
    /// # Errors
    ///
    /// [`SessionError::TakenBack`]; when there is no such session in this project, another process works on it, too many
    /// wait, or the store fails.
    pub async fn note(&self, wanted: &Wanted) -> Result<Turned, SessionError> {
        let (id, Setup { journal, clock, options, .. }) = (&wanted.session, &self.setup);
        let record = self.known(id).await?;
        if record.revert.is_some() {
            return Err(SessionError::TakenBack(id.clone()));
        }
        let letters = options.roster.letters(id);
        let _lease = match &letters {
            Some(letters) if letters.has_room() => None,
            Some(_) => return Err(SessionError::Full { id: id.clone(), waiting: MAX_LETTERS }),
            None => Some(journal.claim(id)?),
        };
        let taken = Taken::note(&self.setup, self.reader(id), &wanted.prompt);
        let events = message(&self.setup, id, &taken, clock.now_ms());
        journal.record_all(events.clone()).await?;
        let mut noted = History::default();
        events.iter().for_each(|event| noted.apply(event));
        if let Some(letters) = letters {
            letters.put(Letter::Noted(events));
        }
        noted.messages().first().cloned().ok_or_else(|| SessionError::Unanswered(id.clone()))
    }

    /// Who reads what is only kept in the session `id`.
    fn reader(&self, id: &SessionId) -> Arc<Cast> {
        let crew = self.setup.options.roster.calls(id).and_then(|calls| calls.crew);
        let usual = || Casting::new(Arc::new(self.setup.clone()), None).usual();
        crew.map_or_else(usual, |crew| Arc::clone(&crew.cast))
    }

    /// Whether an answer of the session `id` could be waited for.
    ///
    /// # Errors
    ///
    /// [`SessionError::Circle`].
    pub fn may_wait(&self, id: &SessionId) -> Result<(), SessionError> {
        self.waits(id).map(drop)
    }

    /// Has an agent answer, and waits until its turn ends; `grant` is the leave for that agent. Dropping the future ends a
    /// session that was opened for it, and so does stopping the session above it, or the one whose turn waits.
    ///
    /// # Errors
    ///
    /// [`SessionError::Circle`], [`SessionError::Stopped`]; as [`Session::open`] and [`Session::prompt`]. A model that fails
    /// is none where its answer says so.
    pub async fn prompt(&self, grant: &Grant, wanted: Wanted) -> Result<Turned, SessionError> {
        let Wanted { session: id, agent, prompt, closed } = wanted;
        let agent = self.agent(&id, agent.as_deref()).await?;
        if !grant.covers_delegate(&agent) {
            return Err(SessionError::Refused(format!("no leave was given to have {agent} answer")));
        }
        let record = self.known(&id).await?;
        let _waits = self.waits(&id)?;
        // As long as any task of a session may take.
        let time = self.setup.options.tasks.each.time.filter(|_| record.plugin().is_some());
        let asked = async {
            let (session, prompt) = self.enter(&record, prompt.agent(agent), &closed).await?;
            session.prompt(prompt).await
        };
        let end = tokio::select! {
            biased;
            () = self.stopped(&record) => return Err(SessionError::Stopped(id)),
            () = after(time) => {
                let why = format!("the answer took {} s, which is the limit of tasks", time.unwrap_or_default().as_secs());
                return Err(SessionError::Refused(why));
            }
            end = asked => end,
        };
        let answer = self.answer(&id).await?;
        match (end, answer) {
            (Ok(TurnEnd::Aborted), _) => Err(SessionError::Stopped(id)),
            (Ok(_), Some(answer)) => Ok(answer),
            (Ok(_), None) => Err(SessionError::Unanswered(id)),
            (Err(SessionError::Turn(_) | SessionError::Along { .. }), Some(answer)) if failed(&answer) => Ok(answer),
            (Err(error), _) => Err(error),
        }
    }

    /// Sums up the conversation in the session `id`; `grant` is the leave for the agent that does.
    ///
    /// # Errors
    ///
    /// As [`Session::compact`].
    pub async fn compact(&self, grant: &Grant, agent: &str, id: &SessionId) -> Result<(), SessionError> {
        if !grant.covers_delegate(agent) {
            return Err(SessionError::Refused(format!("no leave was given to have {agent} sum up")));
        }
        let record = self.known(id).await?;
        let _waits = self.waits(id)?;
        let (session, _) = self.enter(&record, Prompt::default(), &[]).await?;
        tokio::select! {
            biased;
            () = self.stopped(&record) => Err(SessionError::Stopped(id.clone())),
            end = session.compact(None) => end.map(drop),
        }
    }

    /// Gives the session `id` another title. Where the turn of that session waits for this, it has it after its step.
    ///
    /// # Errors
    ///
    /// When there is none in this project, another process works on it, or the store fails.
    pub async fn rename(&self, id: &SessionId, title: String) -> Result<Record, SessionError> {
        let mut record = self.known(id).await?;
        match self.setup.options.roster.session(id) {
            Some(session) if self.holds => drop(session.begin_rename(title.clone()).await?),
            Some(session) => session.rename(title.clone()).await?,
            None => {
                let _lease = self.setup.journal.claim(id)?;
                rename(&self.setup, &mut record, &mut History::default(), title.clone()).await?;
            }
        }
        record.title = title;
        Ok(record)
    }

    /// Stops what the session `id` is at, if it is open here.
    ///
    /// # Errors
    ///
    /// When there is none in this project, or the store fails.
    pub async fn abort(&self, id: &SessionId) -> Result<(), SessionError> {
        self.known(id).await?;
        if let Some(session) = self.setup.options.roster.session(id) {
            session.abort().await;
        }
        Ok(())
    }

    /// Removes the session `id` with those below, which this plug-in must have made. What it is at is stopped.
    ///
    /// # Errors
    ///
    /// When it made no such session, it does not close, or the store fails.
    pub async fn delete(&self, id: &SessionId) -> Result<(), SessionError> {
        if self.known(id).await?.plugin() != Some(self.plugin.as_str()) {
            let why = format!("session {id} was not made by this plug-in, which removes none of others");
            return Err(SessionError::Refused(why));
        }
        self.abort(id).await?;
        let closing = async {
            while let Found::Leaving(left) = self.setup.options.roster.find(id) {
                left.cancelled().await;
            }
        };
        if tokio::time::timeout(MAX_CLOSING, closing).await.is_err() {
            return Err(SessionError::Busy(id.clone()));
        }
        delete::delete(&self.setup.journal, id).await.map(drop)
    }

    /// The record of the session `id`, if it is one of this project.
    ///
    /// # Errors
    ///
    /// [`SessionError::Unknown`]; when the store fails.
    pub async fn known(&self, id: &SessionId) -> Result<Record, SessionError> {
        let record = self.setup.journal.session(id).await?;
        let record = record.filter(|record| record.project_id == self.setup.place.project_id);
        record.ok_or_else(|| SessionError::Unknown(id.clone()))
    }

    /// The session whose turn waits until this is done.
    fn holding(&self) -> Option<&SessionId> {
        self.of.as_ref().filter(|_| self.holds)
    }

    /// Takes note that the turn waits for the session `id`, if one does.
    fn waits(&self, id: &SessionId) -> Result<Option<Waits>, SessionError> {
        let Some(of) = self.holding() else { return Ok(None) };
        let waits = self.setup.options.roster.wait(of, id);
        waits.map(Some).ok_or_else(|| SessionError::Circle(id.clone()))
    }

    /// Completes when the session is stopped whose turn waits for this, or the one that `record` works for.
    async fn stopped(&self, record: &Record) {
        let stop = |id: Option<&SessionId>| id.and_then(|id| self.setup.options.roster.stopped(id)).unwrap_or_default();
        let (waiting, above) = (stop(self.holding()), stop(record.parent_id.as_ref()));
        tokio::select! {
            () = waiting.cancelled() => {}
            () = above.cancelled() => {}
        }
    }

    /// The session of `record`, opened if it is not, and `prompt` as it is put there.
    async fn enter(
        &self,
        record: &Record,
        prompt: Prompt,
        closed: &[String],
    ) -> Result<(Session, Prompt), SessionError> {
        let id = &record.id;
        loop {
            match self.setup.options.roster.find(id) {
                Found::Open(session) => return Ok((session, prompt)),
                Found::Leaving(left) => left.cancelled().await,
                Found::Not => break,
            }
        }
        if record.directory != self.setup.place.directory.display().to_string() {
            let why = format!("session {id} works in {}; start haft there", record.directory);
            return Err(SessionError::Refused(why));
        }
        let patron = self.patron(record.parent_id.as_ref()).filter(|_| record.plugin().is_some());
        let mut setup = match &patron {
            Some((crew, calls)) => crew.setup_below(&calls.rules),
            None => self.setup.clone(),
        };
        if let Some(calls) = self.of.as_ref().and_then(|of| self.setup.options.roster.calls(of)) {
            setup.rules.extend(policy::closed(&calls.rules));
        }
        setup.rules.extend(closed.iter().map(|tool| Rule::new(tool, "*", Action::Deny)));
        let prompt = on_its_model(prompt, record, &setup);
        let session = match patron {
            Some(patron) => {
                room(&patron)?;
                let (crew, _) = patron;
                let kin = crew.kin.below(crew.cast.variant.clone(), setup.options.tasks.each);
                Session::open_below(setup, id, kin, &crew.kin.children).await?.0
            }
            None => Session::open(setup, id).await?,
        };
        Ok((session, prompt))
    }

    /// The open session that one below `parent` works for: the parent, or the one whose hook or call this is.
    fn patron(&self, parent: Option<&SessionId>) -> Option<(Arc<Crew>, Calls)> {
        let open = [parent, self.of.as_ref()].into_iter().flatten();
        let calls = open.filter_map(|id| self.setup.options.roster.calls(id)).next()?;
        Some((calls.crew.clone()?, calls))
    }

    async fn answer(&self, id: &SessionId) -> Result<Option<Turned>, SessionError> {
        let messages = self.setup.journal.messages(id, None, MAX_BACK).await?;
        Ok(messages.into_iter().rfind(|turned| matches!(turned.info, Message::Assistant(_))))
    }
}

/// Completes after `time`, if there is one.
async fn after(time: Option<Duration>) {
    match time {
        Some(time) => tokio::time::sleep(time).await,
        None => std::future::pending().await,
    }
}

/// Whether another session may work for this one.
fn room((crew, calls): &(Arc<Crew>, Calls)) -> Result<(), SessionError> {
    crew.delegates(&calls.rules).map(drop).map_err(|error| SessionError::Refused(error.to_string()))
}

/// `prompt` for the model of its session, where that is not the usual one and the prompt names none.
fn on_its_model(prompt: Prompt, record: &Record, setup: &Setup) -> Prompt {
    let Some(SessionModel { id, provider_id, variant }) = record.model.clone().filter(|_| prompt.model.is_none())
    else {
        return prompt;
    };
    let usual = &setup.model.reference;
    match (&usual.provider_id, &usual.model_id) == (&provider_id, &id) {
        true => prompt,
        false => prompt.model(format!("{provider_id}/{id}"), variant),
    }
}

/// Whether a message is an answer that says why it failed.
fn failed(answer: &Turned) -> bool {
    matches!(&answer.info, Message::Assistant(answer) if answer.error.is_some())
}
