//! The gate: looks for a rule, asks a person, remembers "always".

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use haft_protocol::{Ask, AskId, AskedBy, Clock, Event, MessageId, Reply, SessionId};
use tokio::sync::oneshot;

use crate::access::{Access, Denied, Grant};
use crate::approval::{Approval, Approvals, Keeper};
use crate::rule::Action;
use crate::rules::Rules;

/// Most asks that may wait at once in one gate. A further one is denied as if nobody were there.
const MAX_WAITING: usize = 256;
/// Most messages that are remembered because a call of theirs was refused.
const MAX_REFUSED: usize = 64;

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
    /// Set once the keeper's approvals are among those of `state`.
    loaded: OnceLock<()>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    waiting: Vec<Waiting>,
    /// What "always" added. Rules are looked at first, so an approval never undoes a denial.
    approvals: Approvals,
    /// Messages of which a call was refused, and what that means for those beside it that ask later; the newest last.
    refused: VecDeque<(MessageId, Denied)>,
}

struct Waiting {
    ask: Ask,
    opaque: bool,
    /// Which of the patterns only an approval in so many words covers.
    touchy: Vec<bool>,
    answer: oneshot::Sender<Result<(), Denied>>,
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

/// What rules and approvals say about an access.
#[derive(Debug, PartialEq)]
enum Verdict {
    Allow,
    Ask,
    Deny(Denied),
}

impl Gate {
    /// A gate whose questions `answerer` answers. `announce` is called for each ask and each reply; it must not wait.
    pub fn new(clock: Clock, answerer: Answerer, announce: impl Fn(Event) + Send + Sync + 'static) -> Self {
        let announce = Box::new(announce);
        let (keeper, loaded) = (OnceLock::new(), OnceLock::new());
        Self { inner: Arc::new(Inner { clock, answerer, announce, keeper, loaded, state: Mutex::default() }) }
    }

    /// The same gate, whose approvals `keeper` keeps. A second keeper is not taken.
    #[must_use]
    pub fn kept_by(self, keeper: Arc<dyn Keeper>) -> Self {
        let _ = self.inner.keeper.set(keeper);
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
        let mut verdict = judge(&access, rules, &self.lock().approvals);
        if verdict == Verdict::Ask && self.inner.answerer != Answerer::Yes {
            self.load();
            verdict = judge(&access, rules, &self.lock().approvals);
        }
        match (verdict, self.inner.answerer) {
            (Verdict::Ask, Answerer::Yes) if access.in_person => Err(nobody(&access)),
            (Verdict::Ask, Answerer::Yes) => match rules.narrow_denial(&access.permission).filter(|_| access.opaque) {
                // It may be meant for a part of a program that was not taken apart. A yes in advance does not cover
                // such a program: it is to every question and to no denial.
                Some(rule) => Err(Denied::by(Some(rule))),
                None => Ok(Grant::new(&access)),
            },
            (Verdict::Allow, _) => Ok(Grant::new(&access)),
            (Verdict::Deny(denied), _) => Err(denied),
            (Verdict::Ask, Answerer::Nobody) => Err(nobody(&access)),
            (Verdict::Ask, Answerer::Person) => {
                self.wait(asker, rules, &access).await?;
                Ok(Grant::new(&access))
            }
        }
    }

    /// Takes over what the keeper kept, if that was not done before.
    fn load(&self) {
        let Some(keeper) = self.inner.keeper.get() else { return };
        self.inner.loaded.get_or_init(|| {
            let kept = keeper.load();
            let mut state = self.lock();
            kept.into_iter().for_each(|approval| state.approvals.add(approval));
        });
    }

    async fn wait(&self, asker: &Asker, rules: &Rules, access: &Access) -> Result<(), Denied> {
        let touchy: Vec<bool> =
            access.patterns.iter().map(|pattern| rules.is_touchy(&access.permission, pattern)).collect();
        // What the guard names is approved one by one: "always" for `src/a.rs` is a yes to all of `edit`, and one for
        // `.git/config` to that file.
        let always = if touchy.contains(&true) { &access.patterns } else { &access.always };
        let ask = Ask {
            id: self.inner.clock.mint(),
            session_id: asker.session.clone(),
            permission: access.permission.clone(),
            patterns: access.patterns.clone(),
            always: always.clone(),
            metadata: access.metadata.clone(),
            tool: asker.call.clone(),
        };
        let (answer, answered) = oneshot::channel();
        {
            let mut state = self.lock();
            // Calls of one answer run side by side, and which of them asks first is chance.
            let refused = ask.tool.as_ref().and_then(|tool| {
                state.refused.iter().find(|(message, _)| *message == tool.message_id).map(|(_, denied)| denied.clone())
            });
            if let Some(denied) = refused {
                return Err(denied);
            }
            if state.waiting.len() >= MAX_WAITING {
                return Err(nobody(access));
            }
            state.waiting.push(Waiting { ask: ask.clone(), opaque: access.opaque, touchy, answer });
        }
        let _taken_back = TakeBack { gate: self, id: &ask.id };
        (self.inner.announce)(Event::PermissionAsked(Box::new(ask.clone())));
        answered.await.unwrap_or(Err(Denied::Closed))
    }

    /// Answers the ask called `id`, and with it others of the same session that the answer settles: "always" lets
    /// through those it covers wholly, a rejection rejects all, also those of the same message that come later.
    ///
    /// # Errors
    ///
    /// [`NotWaiting`] when it was answered or taken back before.
    pub fn reply(&self, id: &AskId, reply: Reply) -> Result<(), NotWaiting> {
        let answer = match &reply {
            Reply::Once | Reply::Always => Ok(()),
            Reply::Reject { advice: None } => Err(Denied::Rejected),
            Reply::Reject { advice: Some(advice) } => Err(Denied::Advised(advice.clone())),
        };
        // Advice is about the one call it was given for; whoever asked beside it reads it there.
        let beside = match &answer {
            Err(Denied::Advised(_)) => Err(Denied::Along),
            same => same.clone(),
        };
        let mut settled = Vec::new();
        let mut approved = Vec::new();
        {
            let mut state = self.lock();
            let at = state.waiting.iter().position(|waiting| waiting.ask.id == *id);
            let first = state.waiting.remove(at.ok_or_else(|| NotWaiting(id.clone()))?);
            let session = first.ask.session_id.clone();
            if reply == Reply::Always {
                let Ask { permission, always, .. } = &first.ask;
                let approval = |pattern: &String| Approval { permission: permission.clone(), pattern: pattern.clone() };
                approved = always.iter().map(approval).collect();
                approved.iter().cloned().for_each(|approval| state.approvals.add(approval));
            }
            if let (Some(tool), Err(denied)) = (&first.ask.tool, &beside) {
                state.refused.push_back((tool.message_id.clone(), denied.clone()));
                if state.refused.len() > MAX_REFUSED {
                    state.refused.pop_front();
                }
            }
            settled.push((first, answer));
            let State { waiting, approvals, .. } = &mut *state;
            let others = waiting.extract_if(.., |other| {
                other.ask.session_id == session
                    && match reply {
                        Reply::Once => false,
                        Reply::Always => other.is_approved(approvals),
                        Reply::Reject { .. } => true,
                    }
            });
            settled.extend(others.map(|other| (other, beside.clone())));
        }
        if let Some(keeper) = self.inner.keeper.get().filter(|_| !approved.is_empty()) {
            keeper.add(&approved);
        }
        for (waiting, answer) in settled {
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

/// Takes an ask back when the one who asked no longer waits.
struct TakeBack<'a> {
    gate: &'a Gate,
    id: &'a AskId,
}

impl Drop for TakeBack<'_> {
    fn drop(&mut self) {
        self.gate.lock().waiting.retain(|waiting| waiting.ask.id != *self.id);
    }
}

impl Waiting {
    fn is_approved(&self, approvals: &Approvals) -> bool {
        let Ask { permission, patterns, .. } = &self.ask;
        let mut patterns = patterns.iter().zip(&self.touchy);
        patterns.all(|(pattern, touchy)| approvals.cover(permission, pattern, self.opaque, *touchy))
    }
}

fn judge(access: &Access, rules: &Rules, approvals: &Approvals) -> Verdict {
    if access.is_internal() {
        return Verdict::Allow;
    }
    let Access { permission, opaque, .. } = access;
    let mut ask = false;
    for pattern in &access.patterns {
        match rules.decide(permission, pattern, *opaque) {
            (Action::Allow, _) => {}
            (Action::Deny, rule) => return Verdict::Deny(Denied::by(rule)),
            (Action::Ask, _) => {
                let touchy = rules.is_touchy(permission, pattern);
                ask |= !approvals.cover(permission, pattern, *opaque, touchy);
            }
        }
    }
    if ask { Verdict::Ask } else { Verdict::Allow }
}

fn nobody(access: &Access) -> Denied {
    Denied::Nobody { permission: access.permission.clone(), what: access.patterns.join(", ") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Effect, Rule};
    use std::path::Path;

    fn rows(rows: &[(&str, &str, Action)]) -> Vec<Rule> {
        rows.iter().map(|(permission, pattern, action)| Rule::new(permission, pattern, *action)).collect()
    }

    fn rules(list: &[(&str, &str, Action)]) -> Rules {
        Rules::from(rows(list))
    }

    fn asker(clock: &Clock) -> Asker {
        Asker { session: clock.mint(), call: None }
    }

    struct Scene {
        gate: Gate,
        asker: Asker,
        events: Arc<Mutex<Vec<String>>>,
    }

    fn scene(answerer: Answerer) -> Scene {
        let clock = Clock::scripted(1);
        let events = Arc::new(Mutex::new(Vec::new()));
        let log = Arc::clone(&events);
        let gate = Gate::new(clock.clone(), answerer, move |event| {
            let line = match event {
                Event::PermissionAsked(ask) => format!("asked {} {:?}", ask.permission, ask.patterns),
                Event::PermissionReplied { reply, .. } => format!("replied {reply}"),
                other => format!("{other:?}"),
            };
            log.lock().unwrap().push(line);
        });
        Scene { gate, asker: asker(&clock), events }
    }

    impl Scene {
        /// Starts to ask and waits until the gate holds the question.
        async fn start(&self, access: Access) -> tokio::task::JoinHandle<Result<Grant, Denied>> {
            self.start_under(Rules::default(), access).await
        }

        async fn start_under(&self, rules: Rules, access: Access) -> tokio::task::JoinHandle<Result<Grant, Denied>> {
            let before = self.gate.waiting().len();
            let (gate, asker) = (self.gate.clone(), self.asker.clone());
            let task = tokio::spawn(async move { gate.ask(&asker, &rules, access).await });
            while self.gate.waiting().len() == before {
                tokio::task::yield_now().await;
            }
            task
        }

        fn reply(&self, reply: Reply) {
            let first = &self.gate.waiting()[0].id;
            self.gate.reply(first, reply).unwrap();
        }
    }

    #[tokio::test]
    async fn a_rule_decides_without_a_question() {
        let scene = scene(Answerer::Person);
        let allow = rules(&[("*", "*", Action::Allow)]);
        let deny = rules(&[("*", "*", Action::Allow), ("edit", "*.key", Action::Deny)]);
        assert!(scene.gate.ask(&scene.asker, &allow, Access::new("edit", "a.key")).await.is_ok());
        let denied = scene.gate.ask(&scene.asker, &deny, Access::new("edit", "a.key")).await.unwrap_err();
        assert!(denied.may_go_on() && denied.to_string().contains("edit \"*.key\": deny"), "{denied}");
        assert!(scene.events.lock().unwrap().is_empty());
    }

    #[tokio::test]
    async fn with_nobody_there_a_question_is_a_denial_that_says_so() {
        let scene = scene(Answerer::Nobody);
        let denied = scene.gate.ask(&scene.asker, &Rules::default(), Access::new("bash", "ls")).await.unwrap_err();
        assert!(denied.to_string().contains("nobody is there"), "{denied}");
    }

    #[tokio::test]
    async fn a_yes_in_advance_does_not_undo_a_denial() {
        let scene = scene(Answerer::Yes);
        let deny = rules(&[("bash", "*", Action::Deny)]);
        assert!(scene.gate.ask(&scene.asker, &Rules::default(), Access::new("bash", "ls")).await.is_ok());
        assert!(scene.gate.ask(&scene.asker, &deny, Access::new("bash", "ls")).await.is_err());
    }

    #[tokio::test]
    async fn always_is_remembered_and_lets_others_through() {
        let scene = scene(Answerer::Person);
        let first = scene.start(Access::new("edit", "a")).await;
        let second = scene.start(Access::new("edit", "b")).await;
        let other = scene.start(Access::new("bash", "ls")).await;
        scene.reply(Reply::Always);
        assert!(first.await.unwrap().is_ok() && second.await.unwrap().is_ok());
        assert!(scene.gate.ask(&scene.asker, &Rules::default(), Access::new("edit", "c")).await.is_ok());
        assert_eq!(scene.gate.waiting().len(), 1);
        scene.reply(Reply::Once);
        assert!(other.await.unwrap().is_ok());
        let deny = rules(&[("edit", "*", Action::Deny)]);
        assert!(scene.gate.ask(&scene.asker, &deny, Access::new("edit", "c")).await.is_err());
    }

    #[tokio::test]
    async fn advice_is_for_one_and_ends_nothing() {
        let scene = scene(Answerer::Person);
        let first = scene.start(Access::new("edit", "a")).await;
        let second = scene.start(Access::new("edit", "b")).await;
        scene.reply(Reply::Reject { advice: Some("use b".to_owned()) });
        assert_eq!(first.await.unwrap().unwrap_err(), Denied::Advised("use b".to_owned()));
        assert_eq!(second.await.unwrap().unwrap_err(), Denied::Along);
        let events = scene.events.lock().unwrap();
        assert_eq!(*events, ["asked edit [\"a\"]", "asked edit [\"b\"]", "replied reject", "replied reject"]);
    }

    #[tokio::test]
    async fn a_rejection_holds_for_calls_of_the_same_message_that_ask_later() {
        for (advice, want) in [(None, Denied::Rejected), (Some("no".to_owned()), Denied::Along)] {
            let mut scene = scene(Answerer::Person);
            let message: MessageId = Clock::system().mint();
            let call = |id: &str| Some(AskedBy { message_id: message.clone(), call_id: id.to_owned() });
            scene.asker.call = call("1");
            let first = scene.start(Access::new("edit", "a")).await;
            scene.reply(Reply::Reject { advice });
            assert!(first.await.unwrap().is_err());
            scene.asker.call = call("2");
            let late = scene.gate.ask(&scene.asker, &Rules::default(), Access::new("edit", "b")).await;
            assert_eq!(late.unwrap_err(), want);
            // The next answer of the model is asked about again.
            let next = AskedBy { message_id: Clock::system().mint(), call_id: "3".to_owned() };
            scene.asker.call = Some(next);
            let next = scene.start(Access::new("edit", "b")).await;
            scene.reply(Reply::Once);
            assert!(next.await.unwrap().is_ok());
        }
    }

    #[tokio::test]
    async fn a_plain_rejection_rejects_all() {
        let scene = scene(Answerer::Person);
        let first = scene.start(Access::new("edit", "a")).await;
        let second = scene.start(Access::new("edit", "b")).await;
        scene.reply(Reply::Reject { advice: None });
        assert_eq!(first.await.unwrap().unwrap_err(), Denied::Rejected);
        assert_eq!(second.await.unwrap().unwrap_err(), Denied::Rejected);
    }

    #[tokio::test]
    async fn what_only_a_person_can_allow_is_not_allowed_in_advance() {
        let scene = scene(Answerer::Yes);
        let rules = rules(&[("doom_loop", "*", Action::Ask)]);
        let access = Access { in_person: true, ..Access::new("doom_loop", "read") };
        let denied = scene.gate.ask(&scene.asker, &rules, access).await.unwrap_err();
        assert!(matches!(denied, Denied::Nobody { .. }), "{denied}");
    }

    #[tokio::test]
    async fn a_yes_in_advance_does_not_cover_a_program_that_may_hold_what_is_denied() {
        let scene = scene(Answerer::Yes);
        let deny = rules(&[("bash", "*", Action::Allow), ("bash", "rm *", Action::Deny)]);
        let allow = rules(&[("bash", "*", Action::Allow)]);
        let run = |text: &str, opaque: bool| Access { opaque, ..Access::new("bash", text) };
        let denied = scene.gate.ask(&scene.asker, &deny, run("true; rm x", true)).await.unwrap_err();
        assert!(denied.to_string().contains("rm *"), "{denied}");
        assert!(scene.gate.ask(&scene.asker, &deny, run("ls", false)).await.is_ok());
        assert!(scene.gate.ask(&scene.asker, &allow, run("true; rm x", true)).await.is_ok());
    }

    #[tokio::test]
    async fn a_question_nobody_waits_for_is_taken_back() {
        let scene = scene(Answerer::Person);
        let task = scene.start(Access::new("edit", "a")).await;
        let id = scene.gate.waiting()[0].id.clone();
        task.abort();
        assert!(task.await.unwrap_err().is_cancelled());
        assert!(scene.gate.waiting().is_empty());
        assert_eq!(scene.gate.reply(&id, Reply::Once), Err(NotWaiting(id)));
    }

    #[tokio::test]
    async fn too_many_questions_are_denied() {
        let scene = scene(Answerer::Person);
        let mut tasks = Vec::new();
        for n in 0..MAX_WAITING {
            tasks.push(scene.start(Access::new("edit", n.to_string())).await);
        }
        let denied = scene.gate.ask(&scene.asker, &Rules::default(), Access::new("edit", "more")).await.unwrap_err();
        assert!(matches!(denied, Denied::Nobody { .. }));
        tasks.iter().for_each(tokio::task::JoinHandle::abort);
    }

    #[tokio::test]
    async fn a_grant_opens_what_was_asked_and_nothing_else() {
        let scene = scene(Answerer::Yes);
        let access = Access::new("edit", "a")
            .with(Effect::Write("/p/a".into()))
            .with(Effect::Read("/p/dir".into()))
            .with(Effect::Enter("/out".into()))
            .with(Effect::Run { command: "ls".to_owned(), dir: "/p".into() });
        let grant = scene.gate.ask(&scene.asker, &Rules::default(), access).await.unwrap();
        assert!(grant.covers_write(Path::new("/p/a")) && grant.covers_read(Path::new("/p/a")));
        assert!(!grant.covers_write(Path::new("/p/a/b")) && !grant.covers_write(Path::new("/p/dir/x")));
        assert!(grant.covers_read(Path::new("/p/dir/x")) && !grant.covers_read(Path::new("/p/dirx")));
        assert!(grant.covers_enter(Path::new("/out")));
        assert!(!grant.covers_read(Path::new("/out/x")) && !grant.covers_write(Path::new("/out")));
        for other in ["/out/x", "/", "/p/a", "/p/dir"] {
            assert!(!grant.covers_enter(Path::new(other)), "{other}");
        }
        assert!(grant.covers_run("ls", Path::new("/p")) && !grant.covers_run("ls -l", Path::new("/p")));
    }

    #[tokio::test]
    async fn the_programs_own_reads_ask_under_a_built_in_rule() {
        let scene = scene(Answerer::Nobody);
        let deny = rules(&[("*", "*", Action::Deny)]);
        let own = Access::internal(vec![Effect::Read("/p".into())]);
        assert!(scene.gate.ask(&scene.asker, &deny, own).await.is_ok());
        let run = Effect::Run { command: "ls".to_owned(), dir: "/p".into() };
        for more in [Effect::Write("/p/a".into()), Effect::Enter("/out".into()), run] {
            let own = Access::internal(vec![Effect::Read("/p".into())]).with(more);
            assert!(scene.gate.ask(&scene.asker, &deny, own).await.is_err());
        }
    }

    /// What one "always" for `given` lets through afterwards, and what not.
    async fn always(given: Access, covered: &[Access], others: &[Access]) {
        let scene = scene(Answerer::Person);
        let first = scene.start(given).await;
        scene.reply(Reply::Always);
        assert!(first.await.unwrap().is_ok());
        for access in covered {
            assert!(scene.gate.ask(&scene.asker, &Rules::default(), access.clone()).await.is_ok(), "{access:?}");
        }
        for access in others {
            let waits = scene.start(access.clone()).await;
            scene.reply(Reply::Reject { advice: None });
            assert!(waits.await.unwrap().is_err(), "{access:?}");
        }
    }

    #[tokio::test]
    async fn always_goes_no_further_than_its_permission_and_pattern() {
        let folder = |pattern: &str| Access { always: vec![pattern.to_owned()], ..Access::new("outside", pattern) };
        let opaque = |text: &str| Access { opaque: true, ..Access::new("bash", text) };
        let command = |text: &str| Access { always: vec!["git *".to_owned()], ..Access::new("bash", text) };
        let several = Access { patterns: vec!["/a/x".to_owned(), "/b".to_owned()], ..folder("/a/*") };
        always(
            folder("/a/*"),
            &[folder("/a/*"), folder("/a/b/*")],
            &[folder("/ab/*"), folder("/*"), folder("*"), several, Access::new("edit", "/a/*")],
        )
        .await;
        always(command("git status"), &[command("git log")], &[opaque("git log; rm x"), command("gitx")]).await;
        always(Access::new("*", "x"), &[Access::new("*", "y")], &[Access::new("bash", "x")]).await;
        always(Access::new("edit", "x"), &[Access::new("edit", "y")], &[Access::new("edi?", "x")]).await;
        always(Access { always: Vec::new(), ..Access::new("bash", "ls") }, &[], &[Access::new("bash", "ls")]).await;
    }

    /// Remembers what it was given; what it holds at first was kept earlier.
    #[derive(Default)]
    struct Kept {
        approvals: Mutex<Vec<Approval>>,
        loads: Mutex<usize>,
    }

    impl Keeper for Kept {
        fn load(&self) -> Vec<Approval> {
            *self.loads.lock().unwrap() += 1;
            self.approvals.lock().unwrap().clone()
        }

        fn add(&self, approvals: &[Approval]) {
            self.approvals.lock().unwrap().extend_from_slice(approvals);
        }
    }

    fn approval(permission: &str, pattern: &str) -> Approval {
        Approval { permission: permission.to_owned(), pattern: pattern.to_owned() }
    }

    #[tokio::test]
    async fn what_was_kept_counts_and_is_read_only_when_a_question_would_be_put() {
        for answerer in [Answerer::Person, Answerer::Nobody] {
            let kept = Arc::new(Kept::default());
            kept.add(&[approval("bash", "git *"), approval("*", "*")]);
            let scene = scene(answerer);
            let gate = scene.gate.clone().kept_by(Arc::clone(&kept) as Arc<dyn Keeper>);
            let known = rules(&[("bash", "*", Action::Ask), ("read", "*", Action::Allow), ("edit", "*", Action::Deny)]);
            assert!(gate.ask(&scene.asker, &known, Access::new("read", "a")).await.is_ok());
            assert!(gate.ask(&scene.asker, &known, Access::new("edit", "a")).await.is_err());
            assert_eq!(*kept.loads.lock().unwrap(), 0);
            for _ in 0..2 {
                assert!(gate.ask(&scene.asker, &known, Access::new("bash", "git log")).await.is_ok());
            }
            assert_eq!(*kept.loads.lock().unwrap(), 1);
            let deny = rules(&[("bash", "git push *", Action::Deny)]);
            assert!(gate.ask(&scene.asker, &deny, Access::new("bash", "git push")).await.is_err());
        }
    }

    #[tokio::test]
    async fn always_is_given_to_the_keeper_and_once_is_not() {
        let kept = Arc::new(Kept::default());
        let mut scene = scene(Answerer::Person);
        scene.gate = scene.gate.kept_by(Arc::clone(&kept) as Arc<dyn Keeper>);
        for (reply, want) in [(Reply::Once, &[][..]), (Reply::Always, &[approval("bash", "git log *")])] {
            let access = Access { always: vec!["git log *".to_owned()], ..Access::new("bash", "git log -1") };
            let task = scene.start(access).await;
            scene.reply(reply);
            assert!(task.await.unwrap().is_ok());
            assert_eq!(*kept.approvals.lock().unwrap(), want);
        }
    }

    #[tokio::test]
    async fn what_the_guard_names_is_approved_one_by_one() {
        let guard = rows(&[("edit", "*.git/*", Action::Ask)]);
        let ask = || rules(&[("edit", "*", Action::Ask)]).guarded(guard.clone());
        let scene = scene(Answerer::Person);
        let all = scene.start_under(ask(), Access::new("edit", "a.rs")).await;
        let beside = scene.start_under(ask(), Access::new("edit", ".git/hooks/x")).await;
        scene.reply(Reply::Always);
        assert!(all.await.unwrap().is_ok());
        assert!(scene.gate.ask(&scene.asker, &ask(), Access::new("edit", "b.rs")).await.is_ok());
        assert_eq!(scene.gate.waiting()[0].always, [".git/hooks/x"], "not all of edit");
        scene.reply(Reply::Always);
        assert!(beside.await.unwrap().is_ok());
        assert!(scene.gate.ask(&scene.asker, &ask(), Access::new("edit", ".git/hooks/x")).await.is_ok());
        let other = scene.start_under(ask(), Access::new("edit", ".git/config")).await;
        scene.reply(Reply::Reject { advice: None });
        assert!(other.await.unwrap().is_err());
    }
}
