//! The gate: looks for a rule, asks a person, remembers "always".

mod verdict;
mod waiting;

#[cfg(test)]
mod tests;

use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use futures::future::BoxFuture;
use haft_protocol::{Ask, AskId, AskedBy, Clock, Event, Reply, SessionId};
use tokio::sync::{OnceCell, oneshot};

use self::verdict::{Verdict, advised, deny, judge, nobody, of_plugin};
use self::waiting::{Answer, MAX_WAITING, State, TakeBack, Waiting};
use crate::access::{Access, Advice, Denied, Effect, Grant};
use crate::approval::Keeper;
use crate::rules::Rules;
use crate::witness::{By, Matter, Noted, Pen, Witness};

/// One gate for a session and all sessions below it. A handle, cheap to clone.
#[derive(Clone)]
pub struct Gate {
    inner: Arc<Inner>,
}

struct Inner {
    clock: Clock,
    answerer: Answerer,
    announce: Box<dyn Fn(Event) + Send + Sync>,
    keeper: OnceLock<Arc<dyn Keeper>>,
    witness: OnceLock<Arc<dyn Witness>>,
    adviser: OnceLock<Arc<dyn Adviser>>,
    /// Set once the keeper's approvals are among those of `state`.
    loaded: OnceCell<()>,
    state: Mutex<State>,
}

/// Who answers what no rule decides.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answerer {
    /// Somebody who follows the events and calls [`Gate::reply`]. An ask waits for them without a limit.
    Person,
    /// Nobody: an ask is a denial that says so.
    Nobody,
    /// The user said yes to everything in advance. Denials stay.
    Yes,
}

/// Somebody who is heard before a person is asked. It may say no, and it may say yes where that is not kept for persons.
pub trait Adviser: Send + Sync {
    /// What it says to `ask`. Dropping the future stops it.
    fn advise<'a>(&'a self, ask: &'a Ask) -> BoxFuture<'a, Advice>;
}

/// Whose call asks.
#[derive(Debug, Clone)]
pub struct Asker {
    /// The session.
    pub session: SessionId,
    /// The call in it, if it is one.
    pub call: Option<AskedBy>,
}

/// The ask that a reply named does not wait (any more).
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("no permission request {0} is waiting")]
pub struct NotWaiting(pub AskId);

impl Gate {
    /// A gate whose questions `answerer` answers. `announce` is called for each ask and each reply, a
    /// question that is taken back being rejected; it must not wait.
    pub fn new(clock: Clock, answerer: Answerer, announce: impl Fn(Event) + Send + Sync + 'static) -> Self {
        let announce = Box::new(announce);
        let (keeper, witness, adviser) = (OnceLock::new(), OnceLock::new(), OnceLock::new());
        let (loaded, state) = (OnceCell::new(), Mutex::default());
        Self { inner: Arc::new(Inner { clock, answerer, announce, keeper, witness, adviser, loaded, state }) }
    }

    /// The same gate, whose approvals `keeper` keeps. A second keeper is not taken.
    #[must_use]
    pub fn kept_by(self, keeper: Arc<dyn Keeper>) -> Self {
        let _ = self.inner.keeper.set(keeper);
        self
    }

    /// The same gate, whose decisions `witness` writes down, and what is done with its grants. A second one is not
    /// taken.
    #[must_use]
    pub fn witnessed_by(self, witness: Arc<dyn Witness>) -> Self {
        let _ = self.inner.witness.set(witness);
        self
    }

    /// The same gate, where `adviser` is heard before a person is asked. A second one is not taken.
    #[must_use]
    pub fn advised_by(self, adviser: Arc<dyn Adviser>) -> Self {
        let _ = self.inner.adviser.set(adviser);
        self
    }

    /// Waits until `access` is allowed or denied under `rules`. Where they ask, an approval of the same permission
    /// counts, given here or kept from earlier; one never beats a denial.
    ///
    /// Dropping the future takes the question back.
    ///
    /// # Errors
    ///
    /// [`Denied`] by a rule, by the person, because there is nobody to ask, or because the gate was closed.
    pub async fn ask(&self, asker: &Asker, rules: &Rules, access: Access) -> Result<Grant, Denied> {
        let pen = Pen::new(self.inner.witness.get(), asker, access.plugin.clone());
        // The program's own look is no business of anybody's, and of none who audits.
        if access.is_internal() {
            return Ok(Grant::new(&access, pen));
        }
        match self.verdict(asker, rules, &access, &pen).await {
            Verdict::Allow(by) => {
                pen.write(|| Noted::Granted(Matter::of(&access), by));
                if access.effects.iter().any(|effect| !matches!(effect, Effect::Read(_) | Effect::Enter(_))) {
                    pen.kept().await;
                }
                Ok(Grant::new(&access, pen))
            }
            // A person is always asked before it gets here.
            Verdict::Ask => Err(Denied::Closed),
            // Who stopped waiting has been written down as such.
            Verdict::Deny(denied, By::Stopped) => Err(denied),
            Verdict::Deny(denied, by) => {
                pen.write(|| Noted::Denied(Matter::of(&access), by));
                Err(denied)
            }
        }
    }

    async fn verdict(&self, asker: &Asker, rules: &Rules, access: &Access, pen: &Pen) -> Verdict {
        let mut verdict = judge(access, rules, &self.lock().approvals);
        if verdict == Verdict::Ask && self.inner.answerer != Answerer::Yes {
            self.load().await;
            verdict = judge(access, rules, &self.lock().approvals);
        }
        verdict = advised(of_plugin(verdict, access, rules), &access.advice, access, rules);
        // What hooks do is put before no hook: it would ask about itself, and again about that.
        if verdict == Verdict::Ask
            && access.plugin.is_none()
            && let Some(adviser) = self.inner.adviser.get()
        {
            let advice = adviser.advise(&self.put(asker, rules, access).0).await;
            verdict = advised(verdict, &advice, access, rules);
        }
        match (verdict, self.inner.answerer) {
            (Verdict::Ask, Answerer::Yes) if access.in_person => nobody(access).into(),
            (Verdict::Ask, Answerer::Yes) => match rules.narrow_denial(&access.permission).filter(|_| access.opaque) {
                // It may be meant for a part of a program that was not taken apart. A yes in advance does not cover
                // such a program: it is to every question and to no denial.
                Some(rule) => deny(Some(rule)),
                None => Verdict::Allow(By::Advance),
            },
            (Verdict::Ask, Answerer::Nobody) => nobody(access).into(),
            (Verdict::Ask, Answerer::Person) => match self.wait(asker, rules, access, pen).await {
                Ok(by) => Verdict::Allow(by),
                Err(denied) => denied.into(),
            },
            (decided, _) => decided,
        }
    }

    /// Takes over what the keeper kept, if that was not done before.
    async fn load(&self) {
        let Some(keeper) = self.inner.keeper.get() else { return };
        let loading = self.inner.loaded.get_or_init(async || {
            let kept = keeper.load().await;
            let mut state = self.lock();
            kept.into_iter().for_each(|approval| state.approvals.add(approval));
        });
        loading.await;
    }

    /// The question that `access` comes to, and for each of its patterns whether it is touchy.
    fn put(&self, asker: &Asker, rules: &Rules, access: &Access) -> (Ask, Vec<bool>) {
        let touchy: Vec<bool> =
            access.patterns.iter().map(|pattern| rules.is_touchy(&access.permission, pattern)).collect();
        // What the guard names is approved one by one: "always" for `src/a.rs` is a yes to all of `edit`, and one for
        // `.git/config` to that file.
        let always = if touchy.contains(&true) { &access.patterns } else { &access.always };
        // It would hold for the agent, too.
        let always = if access.plugin.is_some() { &Vec::new() } else { always };
        let ask = Ask {
            id: self.inner.clock.mint(),
            session_id: asker.session.clone(),
            permission: access.permission.clone(),
            patterns: access.patterns.clone(),
            always: always.clone(),
            metadata: access.shown(),
            tool: asker.call.clone(),
        };
        (ask, touchy)
    }

    async fn wait(&self, asker: &Asker, rules: &Rules, access: &Access, pen: &Pen) -> Answer {
        let (ask, touchy) = self.put(asker, rules, access);
        let (answer, answered) = oneshot::channel();
        {
            let mut state = self.lock();
            if let Some(denied) = state.refused_beside(&ask) {
                return Err((denied, By::Beside));
            }
            if state.waiting.len() >= MAX_WAITING {
                return Err(nobody(access));
            }
            let plugin = access.plugin.clone();
            state.waiting.push(Waiting { ask: ask.clone(), opaque: access.opaque, plugin, touchy, answer });
        }
        let matter = Matter::of(access);
        let _taken_back = TakeBack { gate: self, id: &ask.id, matter: &matter, pen };
        pen.write(|| Noted::Asked(matter.clone()));
        (self.inner.announce)(Event::PermissionAsked(Box::new(ask.clone())));
        answered.await.unwrap_or(Err((Denied::Closed, By::Stopped)))
    }

    /// Answers the ask called `id`, and with it others of the same session that the answer settles: "always" lets
    /// through those it covers wholly, a rejection rejects all, also those of the same message that come later.
    ///
    /// # Errors
    ///
    /// [`NotWaiting`] when it was answered or taken back before.
    pub fn reply(&self, id: &AskId, reply: Reply) -> Result<(), NotWaiting> {
        let settled = self.lock().settle(id, &reply).ok_or_else(|| NotWaiting(id.clone()))?;
        if let Some(keeper) = self.inner.keeper.get().filter(|_| !settled.approved.is_empty()) {
            keeper.add(&settled.approved);
        }
        for (waiting, answer) in settled.asks {
            (self.inner.announce)(Event::PermissionReplied {
                session_id: waiting.ask.session_id.clone(),
                request_id: waiting.ask.id.clone(),
                reply: reply.word().to_owned(),
            });
            // Whoever asked may have gone meanwhile.
            let _ = waiting.answer.send(answer);
        }
        Ok(())
    }

    /// Whether the ask called `id` still waits for an answer.
    pub fn is_waiting(&self, id: &AskId) -> bool {
        self.lock().waiting.iter().any(|waiting| waiting.ask.id == *id)
    }

    /// The asks that wait, oldest first.
    pub fn waiting(&self) -> Vec<Ask> {
        self.lock().waiting.iter().map(|waiting| waiting.ask.clone()).collect()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // Each use leaves the lists whole, so a panic elsewhere does no harm to them.
        self.inner.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
