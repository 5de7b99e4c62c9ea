//! Scenes at a gate.

use std::path::Path;

use futures::future::BoxFuture;
use haft_protocol::MessageId;

use super::*;
use crate::{Action, Approval, Builtin, Note, PLUGIN, Rule};

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
    assert_eq!(*scene.events.lock().unwrap(), ["asked edit [\"a\"]", "replied reject"]);
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
    fn load(&self) -> BoxFuture<'_, Vec<Approval>> {
        *self.loads.lock().unwrap() += 1;
        Box::pin(std::future::ready(self.approvals.lock().unwrap().clone()))
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

/// Writes everything down in a word or two.
#[derive(Default)]
struct Book(Mutex<Vec<String>>);

impl crate::Witness for Book {
    fn note(&self, note: Note) {
        let words = match note.noted {
            Noted::Asked(matter) => format!("asked {}", matter.patterns.join(" ")),
            Noted::Granted(matter, by) => format!("granted {} {by:?}", matter.patterns.join(" ")),
            Noted::Denied(matter, by) => format!("denied {} {by:?}", matter.patterns.join(" ")),
            Noted::Done(done) => format!("done {done:?}"),
        };
        self.0.lock().unwrap().push(words);
    }

    fn kept(&self) -> futures::future::BoxFuture<'_, ()> {
        self.0.lock().unwrap().push("kept".to_owned());
        Box::pin(std::future::ready(()))
    }
}

fn witnessed(answerer: Answerer) -> (Scene, Arc<Book>) {
    let book = Arc::new(Book::default());
    let mut scene = scene(answerer);
    scene.gate = scene.gate.witnessed_by(Arc::clone(&book) as Arc<dyn crate::Witness>);
    (scene, book)
}

impl Book {
    #[track_caller]
    fn check(&self, want: &[&str]) {
        assert_eq!(std::mem::take(&mut *self.0.lock().unwrap()), want);
    }
}

#[tokio::test]
async fn each_decision_is_written_down_with_who_made_it() {
    let known = rules(&[("read", "*", Action::Allow), ("edit", "*.key", Action::Deny), ("edit", "*", Action::Ask)]);
    let deny = rules(&[("edit", "*.key", Action::Deny)]);
    let (scene, book) = witnessed(Answerer::Nobody);
    assert!(scene.gate.ask(&scene.asker, &known, Access::new("read", "a")).await.is_ok());
    assert!(scene.gate.ask(&scene.asker, &deny, Access::new("edit", "a.key")).await.is_err());
    assert!(scene.gate.ask(&scene.asker, &known, Access::new("edit", "a")).await.is_err());
    assert!(scene.gate.ask(&scene.asker, &deny, Access::internal(vec![Effect::Read("/p".into())])).await.is_ok());
    book.check(&[
        "granted a Rules([\"read \\\"*\\\": allow\"])",
        "denied a.key Rules([\"edit \\\"*.key\\\": deny\"])",
        "denied a Nobody",
    ]);
    let (scene, book) = witnessed(Answerer::Yes);
    assert!(scene.gate.ask(&scene.asker, &known, Access::new("edit", "a")).await.is_ok());
    book.check(&["granted a Advance"]);
}

#[tokio::test]
async fn what_a_person_says_is_written_down_for_all_that_it_settles() {
    let (scene, book) = witnessed(Answerer::Person);
    let first = scene.start(Access::new("edit", "a")).await;
    let second = scene.start(Access::new("edit", "b")).await;
    book.check(&["asked a", "asked b"]);
    scene.reply(Reply::Always);
    assert!(first.await.unwrap().is_ok());
    assert!(second.await.unwrap().is_ok());
    book.check(&["granted a Always([\"*\"])", "granted b Approval"]);
    assert!(scene.gate.ask(&scene.asker, &Rules::default(), Access::new("edit", "c")).await.is_ok());
    book.check(&["granted c Approval"]);
    let task = scene.start(Access::new("bash", "ls")).await;
    task.abort();
    assert!(task.await.unwrap_err().is_cancelled());
    book.check(&["asked ls", "denied ls Stopped"]);
    let (first, second) = (scene.start(Access::new("bash", "a")).await, scene.start(Access::new("bash", "b")).await);
    scene.reply(Reply::Reject { advice: None });
    assert!(first.await.unwrap().is_err());
    assert!(second.await.unwrap().is_err());
    book.check(&["asked a", "asked b", "denied a Person", "denied b Beside"]);
}

#[tokio::test]
async fn what_changes_something_is_kept_before_it_is_granted() {
    let (scene, book) = witnessed(Answerer::Yes);
    let write = Access::new("edit", "a").with(Effect::Write("/p/a".into()));
    let grant = scene.gate.ask(&scene.asker, &Rules::default(), write).await.unwrap();
    grant.note(crate::Done::Wrote("/p/a".into()));
    let pen = grant.pen();
    drop(grant);
    pen.note(crate::Done::Ended { command: "ls".to_owned(), exit: Some(0) });
    book.check(&["granted a Advance", "kept", "done Wrote(\"/p/a\")", "done Ended { command: \"ls\", exit: Some(0) }"]);
    let read = Access::new("read", "a").with(Effect::Read("/p/a".into()));
    assert!(scene.gate.ask(&scene.asker, &Rules::default(), read).await.is_ok());
    book.check(&["granted a Advance"]);
}

#[tokio::test]
async fn built_in_rules_count_for_less_where_the_access_says_so() {
    let row = async |rules: Rules, builtin: Builtin, want: bool| {
        let scene = scene(Answerer::Nobody);
        let access = Access { builtin, opaque: true, ..Access::new("bash", "ls &&") };
        assert_eq!(scene.gate.ask(&scene.asker, &rules, access).await.is_ok(), want, "{rules:?} {builtin:?}");
    };
    let all = |action| rows(&[("*", "*", action)]);
    let built = |action| Rules::default().builtin(all(action));
    let (allow, ask, deny) = (Action::Allow, Action::Ask, Action::Deny);
    for (builtin, allowed, asked) in
        [(Builtin::Counts, true, false), (Builtin::NeverAllows, false, false), (Builtin::NeverAsks, true, true)]
    {
        row(built(allow), builtin, allowed).await;
        row(built(ask), builtin, asked).await;
        row(built(deny), builtin, false).await;
        row(Rules::default(), builtin, false).await;
        row(built(ask).own(all(allow)), builtin, true).await;
        row(built(allow).own(all(ask)), builtin, false).await;
        row(built(allow).guarded(all(ask)), builtin, asked).await;
    }
    row(built(allow).own(rows(&[("bash", "rm *", deny)])), Builtin::NeverAllows, false).await;
    row(built(allow).bounded(all(ask)), Builtin::NeverAsks, false).await;
}

#[tokio::test]
async fn a_question_says_what_a_yes_opens() {
    let scene = scene(Answerer::Person);
    let shown = async |access: Access| {
        let task = scene.start(access).await;
        let effects = scene.gate.waiting()[0].metadata.get("effects").cloned();
        scene.reply(Reply::Once);
        assert!(task.await.unwrap().is_ok());
        effects
    };
    let effects = [
        Effect::Read("/p/a".into()),
        Effect::Write("/p/b".into()),
        Effect::Enter("/out".into()),
        Effect::Run { command: "ls".to_owned(), dir: "/p".into() },
        Effect::Delegate("explore".to_owned()),
        Effect::Change("/p".into()),
        Effect::Network,
        Effect::Host("a.b".to_owned()),
    ];
    let access = effects.into_iter().fold(Access::new("bash", "x"), Access::with);
    let want = serde_json::json!([
        "reads /p/a",
        "changes /p/b",
        "goes outside the project: /out",
        "runs in /p: ls",
        "hands a task to explore",
        "may change /p",
        "uses the network",
        "speaks to a.b",
    ]);
    assert_eq!(shown(access.clone()).await, Some(want));
    assert_eq!(shown(access.show("effects", vec!["lists files"])).await, Some(serde_json::json!(["lists files"])));
    assert_eq!(shown(Access::new("todowrite", "*")).await, None);
}

fn by_plugin(permission: &str, pattern: &str) -> Access {
    Access { plugin: Some("/home/me/.config/haft/plugin/notify.ts".to_owned()), ..Access::new(permission, pattern) }
}

#[tokio::test]
async fn rules_about_a_plugin_save_it_a_question_and_nothing_else() {
    async fn check(rows: &[(&str, &str, Action)], access: Access, want: bool) {
        let scene = scene(Answerer::Nobody);
        let got = scene.gate.ask(&scene.asker, &rules(rows), access.clone()).await.is_ok();
        assert_eq!(got, want, "{rows:?} {access:?}");
    }
    let (allow, ask, deny) = (Action::Allow, Action::Ask, Action::Deny);
    let run = || by_plugin("bash", "ls");
    check(&[], run(), false).await;
    check(&[("bash", "*", allow)], run(), true).await;
    // By its name, by the whole path, or by a pattern; not by what is for others.
    check(&[("plugin", "notify", allow)], run(), true).await;
    check(&[("plugin", "*/notify.ts", allow)], run(), true).await;
    check(&[("plugin", "other", allow)], run(), false).await;
    let package = || Access { plugin: Some("@me/notify.js@1.2.3".to_owned()), ..Access::new("bash", "ls") };
    check(&[("plugin", "@me/notify.js", allow)], package(), true).await;
    check(&[("plugin", "@me/notify.js@1.2.3", allow)], package(), true).await;
    check(&[("plugin", "notify", allow)], package(), false).await;
    check(&[("plugin", "notify", allow)], Access::new("bash", "ls"), false).await;
    // The last one counts; a denial of what is done stays one, and so does a question for a person alone.
    check(&[("plugin", "*", allow), ("plugin", "notify", ask)], run(), false).await;
    check(&[("plugin", "*", deny), ("plugin", "notify", allow)], run(), true).await;
    check(&[("bash", "*", deny), ("plugin", "notify", allow)], run(), false).await;
    check(&[("bash", "*", allow), ("plugin", "notify", deny)], run(), false).await;
    check(&[("bash", "*", allow), ("plugin", "notify", ask)], run(), false).await;
    check(&[("plugin", "notify", allow)], Access { in_person: true, ..run() }, false).await;
    check(&[("bash", "rm *", deny), ("plugin", "notify", allow)], Access { opaque: true, ..run() }, false).await;
}

#[tokio::test]
async fn a_no_to_a_plugin_is_none_to_the_agent() {
    struct Never;
    impl Adviser for Never {
        fn advise<'a>(&'a self, ask: &'a Ask) -> BoxFuture<'a, Advice> {
            assert!(!ask.metadata.contains_key(PLUGIN), "a hook was heard about what a hook does");
            Box::pin(async { Advice::None })
        }
    }
    let mut scene = scene(Answerer::Person);
    scene.gate = scene.gate.advised_by(Arc::new(Never));
    let theirs = scene.start(by_plugin("bash", "notify-send")).await;
    let ours = scene.start(Access::new("edit", "a.rs")).await;
    let asked = scene.gate.waiting();
    assert!(asked[0].metadata["plugin"].as_str().unwrap().ends_with("notify.ts") && asked[0].always.is_empty());
    assert!(!asked[1].metadata.contains_key(PLUGIN));
    scene.reply(Reply::Reject { advice: None });
    assert!(theirs.await.unwrap().is_err());
    scene.reply(Reply::Once);
    assert!(ours.await.unwrap().is_ok());
}
