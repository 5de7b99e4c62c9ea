//! What was asked is taken back, and brought again, with what was done to files for it.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use haft_llm::Step;
use haft_permission::Asker;
use haft_project::{Planned, Recorder, Standing};
use haft_protocol::{AskedBy, Clock, Event, FileStatus, History, Id, Message, Part, PartKind, Revert, ToolState};
use haft_session::{Fate, Force, NewSession, Prompt, Rewind, Rewound, Session, SessionError, To, Why};
use haft_snapshot::{Change, Hash, State};
use serde_json::json;

use crate::scene::{Scene, call, edit, says};

fn write(path: &str, text: &str) -> Step {
    call("write", json!({ "filePath": path, "content": text }))
}

/// A folder with `a.rs`, where files are remembered.
fn scene() -> Scene {
    Scene { remembers: true, ..Scene::with(&[("a.rs", "one\n")]) }
}

/// Two turns: `one` becomes `two` and a file in a folder is made; then `two` becomes `three`.
async fn two_turns(scene: &mut Scene) -> Session {
    scene.model(vec![edit("one", "two"), write("new/b.txt", "b\n")]).model(vec![says("First.")]);
    scene.model(vec![edit("two", "three")]).model(vec![says("Second.")]);
    let session = scene.session().await;
    for text in ["first", "second"] {
        session.prompt(Prompt::text(text)).await.unwrap();
    }
    session
}

impl Scene {
    /// The project's files and folders, in order, files with their first line.
    fn files(&self) -> String {
        let mut rows = Vec::new();
        let mut folders = vec![self.project()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                let name = path.strip_prefix(self.project()).unwrap().display().to_string();
                if path.is_dir() {
                    rows.push(format!("{name}/"));
                    folders.push(path);
                } else {
                    let text = fs::read_to_string(&path).unwrap();
                    rows.push(format!("{name}={}", text.lines().next().unwrap_or_default()));
                }
            }
        }
        rows.sort();
        rows.join(" ")
    }

    fn put(&self, name: &str, text: &str) {
        fs::write(self.project().join(name), text).unwrap();
    }

    async fn history(&self, session: &Session) -> History {
        self.journal.history(session.id()).await.unwrap()
    }

    async fn reverted(&self, session: &Session) -> Option<Revert> {
        self.journal.session(session.id()).await.unwrap().unwrap().revert
    }
}

/// What became of the files, as `NAME +ADDED -GONE`, `!` for one that was left.
fn told(rewound: &Rewound) -> String {
    let one = |fate: &Fate| {
        let name = fate.path.file_name().unwrap().display().to_string();
        let left = match &fate.left {
            None => "",
            Some(Why::Theirs) => " theirs",
            Some(Why::Doubtful(_)) => " doubtful",
            Some(Why::Uncovered(_)) => " uncovered",
            Some(Why::Failed(_)) => " failed",
        };
        match &fate.diff {
            Some(diff) => format!("{name} +{} -{}{left}", diff.additions, diff.deletions),
            None => format!("{name} stays{left}"),
        }
    };
    rewound.files.iter().map(one).collect::<Vec<_>>().join(", ")
}

#[tokio::test]
async fn back_and_forth_turn_by_turn() {
    let mut scene = scene();
    let session = two_turns(&mut scene).await;
    let done = "a.rs=three new/ new/b.txt=b";
    assert_eq!(scene.files(), done);

    let rewound = session.undo().await.unwrap();
    assert_eq!((told(&rewound).as_str(), rewound.prompts), ("a.rs +1 -1", vec!["second".to_owned()]));
    assert_eq!(scene.files(), "a.rs=two new/ new/b.txt=b");
    let rewound = session.undo().await.unwrap();
    assert_eq!(told(&rewound), "b.txt +0 -1, new +0 -0, a.rs +1 -1");
    assert_eq!(scene.files(), "a.rs=one");
    assert!(matches!(session.undo().await, Err(SessionError::NothingToUndo(_))));
    // All of it is still there.
    assert_eq!(scene.history(&session).await.messages().len(), 6);
    let revert = scene.reverted(&session).await.unwrap();
    assert!(revert.diff.unwrap().contains("-three"), "the whole way back is told");

    let rewound = session.redo().await.unwrap();
    assert_eq!((scene.files().as_str(), rewound.prompts), ("a.rs=two new/ new/b.txt=b", vec!["first".to_owned()]));
    session.redo().await.unwrap();
    assert_eq!(scene.files(), done);
    assert_eq!(scene.reverted(&session).await, None);
    assert!(matches!(session.redo().await, Err(SessionError::NothingToRedo(_))));
}

#[tokio::test]
async fn what_is_only_looked_at_changes_nothing() {
    let mut scene = scene();
    let session = two_turns(&mut scene).await;
    let look = Rewind { only_look: true, ..Rewind::to(To::Back) };
    assert_eq!(told(&session.rewind(look).await.unwrap()), "a.rs +1 -1");
    assert_eq!((scene.files().as_str(), scene.reverted(&session).await), ("a.rs=three new/ new/b.txt=b", None));
}

#[tokio::test]
async fn the_next_prompt_removes_what_was_taken_back_and_what_it_cost() {
    let mut scene = scene();
    scene.cost = Some(haft_session::Cost { input: 1e6, output: 1e6, ..haft_session::Cost::default() });
    let session = two_turns(&mut scene).await;
    let all = scene.journal.session(session.id()).await.unwrap().unwrap();
    session.undo().await.unwrap();
    let mut heard = scene.journal.subscribe();
    session.prompt(Prompt::text("third")).await.unwrap();
    let mut removed = 0;
    while let Ok(event) = heard.try_recv() {
        removed += usize::from(matches!(event, Event::MessageRemoved { .. }));
    }
    assert_eq!(removed, 3);
    let history = scene.history(&session).await;
    let left: f64 = history
        .messages()
        .iter()
        .map(|turned| match &turned.info {
            Message::Assistant(answer) => answer.cost,
            Message::User(_) => 0.0,
        })
        .sum();
    let now = scene.journal.session(session.id()).await.unwrap().unwrap();
    assert!((now.cost - left).abs() < 1e-9 && now.cost <= all.cost, "{} {left} {}", now.cost, all.cost);
    // What the model had been told of the file holds again, so that its answer of the turn before can be done.
    assert_eq!((now.revert, scene.files().as_str()), (None, "a.rs=three new/ new/b.txt=b"));
    // No model reads of it, and the turn before can still be taken back.
    let words = crate::scene::words(scene.requests.lock().unwrap().last().unwrap());
    assert!(!words.iter().any(|said| said.contains("second")), "{words:?}");
    session.undo().await.unwrap();
    session.undo().await.unwrap();
    assert_eq!(scene.files(), "a.rs=one");
}

#[tokio::test]
async fn a_file_that_was_put_back_is_known_as_it_was() {
    let mut scene = scene();
    scene.model(vec![edit("one", "two")]).model(vec![says("First.")]);
    scene.model(vec![edit("two", "three")]).model(vec![says("Second.")]);
    let session = scene.session().await;
    for text in ["first", "second"] {
        session.prompt(Prompt::text(text)).await.unwrap();
    }
    session.undo().await.unwrap();
    assert_eq!(scene.files(), "a.rs=two");
    // The same answer again: the model has read nothing anew.
    session.prompt(Prompt::text("second, once more")).await.unwrap();
    assert_eq!(scene.files(), "a.rs=three");
}

#[tokio::test]
async fn a_content_that_no_message_says_any_more_has_to_be_read() {
    let mut scene = scene();
    let read = || call("read", json!({ "filePath": "a.rs" }));
    scene.model(vec![read()]).model(vec![says("First.")]);
    scene.model(vec![edit("mine", "three")]).model(vec![read()]).model(vec![edit("mine", "three")]);
    scene.model(vec![says("Second.")]);
    let session = scene.session().await;
    session.prompt(Prompt::text("first")).await.unwrap();
    scene.put("a.rs", "mine\n");
    for undone in [false, true] {
        session.prompt(Prompt::text("second")).await.unwrap();
        assert_eq!(scene.files(), "a.rs=three");
        let history = scene.history(&session).await;
        let first = history.messages()[4].parts.iter().find_map(|part| part.kind.state());
        let refused = matches!(first, Some(ToolState::Error { error, .. }) if error.contains("has changed on disk"));
        assert!(refused, "undone before: {undone}: {first:?}");
        session.undo().await.unwrap();
        assert_eq!(scene.files(), "a.rs=mine");
    }
}

#[tokio::test]
async fn what_somebody_changed_since_stays_unless_it_is_forced_and_then_comes_back() {
    let mut scene = scene();
    let session = two_turns(&mut scene).await;
    session.undo().await.unwrap();
    scene.put("a.rs", "mine\n");
    scene.put("new/mine", "mine\n");
    let rewound = session.undo().await.unwrap();
    assert_eq!(told(&rewound), "b.txt +0 -1, new stays, a.rs stays theirs");
    assert_eq!(rewound.notes, ["new/ stays: it holds something else"]);
    assert!(rewound.is_partial());
    assert_eq!(scene.files(), "a.rs=mine new/ new/mine=mine");
    // It can be brought again without the forced file, and forced both ways.
    let force = |to| Rewind { force: Force::Everything, ..Rewind::to(to) };
    session.rewind(force(To::End)).await.unwrap();
    assert_eq!(scene.files(), "a.rs=three new/ new/b.txt=b new/mine=mine");
    scene.put("a.rs", "mine again\n");
    let only = Force::These(vec![scene.project().join("a.rs")]);
    session.rewind(Rewind { force: only, ..Rewind::to(To::Back) }).await.unwrap();
    assert_eq!(scene.files(), "a.rs=two new/ new/b.txt=b new/mine=mine");
    session.redo().await.unwrap();
    assert_eq!(scene.files(), "a.rs=mine again new/ new/b.txt=b new/mine=mine");
}

#[tokio::test]
async fn what_a_task_did_is_taken_back_where_it_was_asked_for() {
    let mut scene = scene();
    scene.agents[2].mode = Some(haft_session::Mode::Subagent);
    let task = json!({ "description": "mend", "prompt": "the task", "subagent_type": "explore" });
    scene.other("the task", vec![vec![edit("two", "three"), write("c.txt", "c\n")], vec![says("Mended.")]]);
    scene.model(vec![edit("one", "two")]);
    scene.model(vec![call("task", task)]);
    scene.model(vec![write("d.txt", "d\n")]).model(vec![says("Done.")]);
    let session = scene.session().await;
    session.prompt(Prompt::text("go")).await.unwrap();
    assert_eq!(scene.files(), "a.rs=three c.txt=c d.txt=d");
    session.undo().await.unwrap();
    assert_eq!(scene.files(), "a.rs=one");
    session.redo().await.unwrap();
    assert_eq!(scene.files(), "a.rs=three c.txt=c d.txt=d");
    // What a copy remembers is its own.
    let clock = haft_protocol::Clock::scripted(9_000_000);
    let copy = Session::fork(&scene.journal, &clock, session.id(), None).await.unwrap();
    let copy = Session::open(scene.setup(), &copy).await.unwrap();
    copy.undo().await.unwrap();
    assert_eq!(scene.files(), "a.rs=one");
}

#[tokio::test]
async fn what_a_task_does_later_is_no_part_of_what_was_taken_back() {
    let mut scene = scene();
    scene.agents[2].mode = Some(haft_session::Mode::Subagent);
    let task = json!({ "description": "mend", "prompt": "the task", "subagent_type": "explore" });
    let later = vec![write("later.txt", "later\n")];
    scene.other("the task", vec![vec![write("c.txt", "c\n")], vec![says("Mended.")], later, vec![says("Done.")]]);
    scene.model(vec![call("task", task)]).model(vec![says("First.")]).model(vec![says("Second.")]);
    let session = scene.session().await;
    session.prompt(Prompt::text("go")).await.unwrap();
    session.undo().await.unwrap();
    let id = scene.journal.children(session.id(), 9).await.unwrap().remove(0).id;
    let setup = haft_session::Setup { clock: Clock::scripted(2_000_000), ..scene.setup() };
    let child = Session::open(setup, &id).await.unwrap();
    child.prompt(Prompt::text("more of it")).await.unwrap();
    drop(child);
    until_free(&scene, &id).await;
    assert_eq!(scene.files(), "a.rs=one later.txt=later");
    // Neither bringing it again nor making it final touches that.
    let look = Session::open(scene.setup(), &id).await.unwrap();
    let is_forth = Rewind { only_look: true, ..Rewind::to(To::Forth) };
    assert_eq!(told(&session.rewind(is_forth).await.unwrap()), "c.txt +1 -0");
    let patches = |history: &History| {
        let parts = history.messages().iter().flat_map(|turned| &turned.parts);
        parts.filter(|part| matches!(part.kind, PartKind::Patch { .. })).count()
    };
    assert_eq!(patches(&scene.history(&look).await), 2);
    session.prompt(Prompt::text("else")).await.unwrap();
    assert_eq!(patches(&scene.history(&look).await), 1);
    assert_eq!(told(&look.undo().await.unwrap()), "later.txt +0 -1");
}

#[tokio::test]
async fn a_part_of_an_answer_can_be_taken_back() {
    let mut scene = scene();
    scene.model(vec![says("Both."), edit("one", "two"), write("b.txt", "b\n")]).model(vec![says("Done.")]);
    let session = scene.session().await;
    session.prompt(Prompt::text("go")).await.unwrap();
    let history = scene.history(&session).await;
    let answer = &history.messages()[1];
    let is_write = |part: &&Part| matches!(&part.kind, PartKind::Tool { tool, .. } if tool == "write");
    let part = answer.parts.iter().find(is_write).unwrap().id.clone();
    session.rewind(Rewind::to(To::Before(answer.info.id().clone(), Some(part.clone())))).await.unwrap();
    assert_eq!(scene.reverted(&session).await.unwrap().part_id, Some(part));
    assert_eq!(scene.files(), "a.rs=two");
    session.undo().await.unwrap();
    assert_eq!(scene.files(), "a.rs=one");
}

#[tokio::test]
async fn what_a_turn_did_to_files_is_told_while_it_lasts() {
    let mut scene = scene();
    let mut heard = scene.journal.subscribe();
    let session = two_turns(&mut scene).await;
    let record = scene.journal.session(session.id()).await.unwrap().unwrap();
    let summary = record.summary.unwrap();
    assert_eq!((summary.additions, summary.deletions, summary.files), (2, 1, 2));
    let history = scene.history(&session).await;
    let diffs: Vec<String> = history
        .messages()
        .iter()
        .filter_map(|turned| match &turned.info {
            Message::User(user) => user.summary.clone(),
            Message::Assistant(_) => None,
        })
        .map(|summary| {
            summary
                .diffs
                .into_iter()
                .map(|diff| format!("{} {:?}", diff.file, diff.status))
                .collect::<Vec<_>>()
                .join(" ")
        })
        .collect();
    assert_eq!(diffs, ["a.rs Modified new/b.txt Added", "a.rs Modified"]);
    let mut last = Vec::new();
    while let Ok(event) = heard.try_recv() {
        if let Event::SessionDiff { diff, .. } = event {
            last = diff;
        }
    }
    assert_eq!(last.len(), 2);
    assert!(last[0].patch.contains("-one\n+three\n"), "{}", last[0].patch);
    assert_eq!(last[1].status, FileStatus::Added);
    session.undo().await.unwrap();
    let record = scene.journal.session(session.id()).await.unwrap().unwrap();
    assert_eq!(record.summary.unwrap().additions, 2);
}

#[tokio::test]
async fn an_undo_that_was_cut_off_is_finished_when_the_session_opens() {
    let mut scene = scene();
    let session = two_turns(&mut scene).await;
    session.undo().await.unwrap();
    let id = session.id().clone();
    let whole = session.rewind(Rewind { only_look: true, ..Rewind::to(To::Back) }).await.unwrap();
    assert_eq!(whole.files.len(), 3);
    session.undo().await.unwrap();
    let after = scene.files();
    drop(session);
    // As a process leaves it that was killed behind the first of the files: all is written down, and some is done.
    let mut record = until_free(&scene, &id).await;
    let mut revert = record.revert.clone().unwrap();
    revert.diff = None;
    record.revert = Some(revert);
    let updated = Event::SessionUpdated { session_id: id.clone(), info: Box::new(record) };
    scene.journal.record(updated).await.unwrap();
    scene.put("a.rs", "three\n");

    let session = Session::open(scene.setup(), &id).await.unwrap();
    assert_eq!(scene.files(), after);
    session.rewind(Rewind::to(To::End)).await.unwrap();
    assert_eq!(scene.files(), "a.rs=three new/ new/b.txt=b");
}

/// Goes back a turn with `session` and closes it; then somebody goes further to the end, or back by force, and is killed when
/// `steps` of `a.rs` are written down and none of them is done. What stands there then is what the last one begins with.
async fn killed_on_the_way(scene: &mut Scene, steps: &[(&str, &str)], to_end: bool) -> Session {
    let session = two_turns(scene).await;
    session.undo().await.unwrap();
    let (id, first) = (session.id().clone(), scene.history(&session).await.messages()[0].info.id().clone());
    drop(session);
    let keep = haft_snapshot::Keep::new(scene.folder.path().join("keep"));
    let mode = 0o777 & scene.project().join("a.rs").metadata().unwrap().permissions().mode();
    let file = |text: &str| {
        let text = format!("{text}\n");
        State::File { content: keep.put(text.as_bytes()).unwrap(), size: text.len() as u64, mode }
    };
    let path = scene.project().join("a.rs");
    let list = steps.iter().map(|(from, to)| Change::new(path.clone(), file(from), file(to)));
    let hash = keep.put_changes(&list.collect::<Vec<_>>()).unwrap();
    let mut record = until_free(scene, &id).await;
    let stands = record.revert.clone().unwrap();
    let message_id = if to_end { stands.message_id.clone() } else { first };
    record.revert = Some(Revert { message_id, snapshot: Some(hash.to_string()), diff: None, to_end, ..stands });
    let updated = Event::SessionUpdated { session_id: id.clone(), info: Box::new(record) };
    scene.journal.record(updated).await.unwrap();
    scene.put("a.rs", &format!("{}\n", steps.last().unwrap().0));
    Session::open(scene.setup(), &id).await.unwrap()
}

#[tokio::test]
async fn a_redo_that_was_cut_off_is_a_redo_when_the_session_opens() {
    let mut scene = scene();
    let session = killed_on_the_way(&mut scene, &[("three", "two"), ("two", "three")], true).await;
    assert_eq!(scene.files(), "a.rs=three new/ new/b.txt=b");
    assert_eq!(scene.reverted(&session).await, None);
    // The turn is there, and can be taken back once more.
    session.undo().await.unwrap();
    assert_eq!(scene.files(), "a.rs=two new/ new/b.txt=b");
}

#[tokio::test]
async fn what_was_forced_away_by_an_undo_that_was_cut_off_comes_back() {
    let mut scene = scene();
    let session = killed_on_the_way(&mut scene, &[("three", "two"), ("mine", "one")], false).await;
    assert_eq!(scene.files(), "a.rs=one new/ new/b.txt=b");
    session.rewind(Rewind::to(To::End)).await.unwrap();
    assert_eq!(scene.files(), "a.rs=mine new/ new/b.txt=b");
}

/// The record of a session, when nobody holds it any more.
async fn until_free(scene: &Scene, id: &haft_protocol::SessionId) -> haft_protocol::Session {
    while scene.journal.claim(id).is_err() {
        tokio::task::yield_now().await;
    }
    scene.journal.session(id).await.unwrap().unwrap()
}

#[tokio::test]
async fn a_stored_session_is_taken_back_without_a_model_and_not_while_another_is_at_work_on_it() {
    let mut scene = scene();
    let session = two_turns(&mut scene).await;
    let setup = scene.setup();
    let past = setup.options.past.clone();
    let id = session.id().clone();
    let (journal, clock, gate) = (&setup.journal, &setup.clock, &setup.gate);
    let rewind = Rewind::to(To::Back);
    let busy = Session::rewind_stored(journal, clock, gate, past.as_ref(), &id, &rewind).await;
    assert!(matches!(busy, Err(SessionError::Store(_))));
    drop(session);
    until_free(&scene, &id).await;
    let rewound = Session::rewind_stored(journal, clock, gate, past.as_ref(), &id, &rewind).await.unwrap();
    assert_eq!((told(&rewound).as_str(), scene.files().as_str()), ("a.rs +1 -1", "a.rs=two new/ new/b.txt=b"));
    // Without what remembers files, only words are taken back, and that is told.
    let rewound = Session::rewind_stored(journal, clock, gate, None, &id, &rewind).await.unwrap();
    let all = "project stays uncovered, a.rs stays uncovered, ";
    assert!(told(&rewound).starts_with(all), "{rewound:?}");
    assert!(rewound.files.iter().all(|fate| matches!(fate.left, Some(Why::Uncovered(_)))), "{rewound:?}");
    assert_eq!(scene.files(), "a.rs=two new/ new/b.txt=b");
    let unknown = haft_protocol::SessionId::parse("ses_none").unwrap();
    let none = Session::rewind_stored(journal, clock, gate, None, &unknown, &rewind).await;
    assert!(matches!(none, Err(SessionError::Unknown(_))));
}

#[tokio::test]
async fn a_copy_takes_todos_along_and_nothing_that_was_taken_back() {
    let mut scene = scene();
    let todos = json!({ "todos": [{ "content": "mend", "status": "pending", "priority": "high" }] });
    scene.model(vec![call("todowrite", todos)]);
    scene.model(vec![says("First.")]).model(vec![says("Second.")]);
    let session = scene.session().await;
    for text in ["first", "second"] {
        session.prompt(Prompt::text(text)).await.unwrap();
    }
    session.undo().await.unwrap();
    let clock = haft_protocol::Clock::scripted(9_000_000);
    let copy = Session::fork(&scene.journal, &clock, session.id(), None).await.unwrap();
    assert_eq!(scene.journal.todos(&copy).await.unwrap().len(), 1);
    let record = scene.journal.session(&copy).await.unwrap().unwrap();
    assert_eq!((record.revert, record.title.as_str()), (None, "first (fork #1)"));
    assert_eq!(scene.journal.history(&copy).await.unwrap().messages().len(), 3);
    // Also a message that is taken back can be gone on from.
    let second = scene.history(&session).await.messages()[3].info.id().clone();
    let copy = Session::fork(&scene.journal, &clock, session.id(), Some(&second)).await.unwrap();
    assert_eq!(scene.journal.history(&copy).await.unwrap().messages().len(), 3);
}

#[tokio::test]
async fn a_file_that_reads_like_a_list_of_changes_tells_undo_nothing() {
    let mut scene = scene();
    let victim = scene.folder.path().join("victim");
    fs::write(&victim, "mine\n").unwrap();
    // The content of `a.rs` says what would remove the victim, and the model knows the hash of what it wrote.
    let mine = State::File { content: Hash::of(b"mine\n"), size: 5, mode: 0o644 };
    let change = Change::new(victim.clone(), State::Absent, mine);
    let hostile = serde_json::to_string(&[change]).unwrap();
    scene.model(vec![write("list", &hostile)]).model(vec![says("Done.")]);
    let session = scene.session().await;
    session.prompt(Prompt::text("go")).await.unwrap();
    let last = scene.history(&session).await.messages().last().unwrap().info.id().clone();
    let kind = PartKind::Patch {
        hash: Hash::of(hostile.as_bytes()).to_string(),
        files: vec!["innocent".to_owned()],
        call_id: None,
        time: None,
    };
    let (id, session_id) = (haft_protocol::Clock::scripted(9_000_000).mint(), session.id().clone());
    let part = Box::new(Part { id, session_id: session_id.clone(), message_id: last, kind });
    let event = Event::PartUpdated { session_id: session_id.clone(), part, time: 1 };
    scene.journal.record(event).await.unwrap();
    drop(session);
    until_free(&scene, &session_id).await;
    let session = Session::open(scene.setup(), &session_id).await.unwrap();
    let all = Rewind { force: Force::Everything, ..Rewind::to(To::Back) };
    assert_eq!(told(&session.rewind(all).await.unwrap()), "list +0 -1, innocent stays uncovered");
    assert_eq!(fs::read_to_string(victim).unwrap(), "mine\n");
}

#[tokio::test]
async fn commands_calls_within_calls_and_the_persons_own_commands_are_taken_back() {
    let mut scene = scene();
    let calls = json!({ "tool_calls": [
        { "tool": "write", "parameters": { "filePath": "b.txt", "content": "b\n" } },
        { "tool": "bash", "parameters": { "command": "rm a.rs; mkdir made; echo c > made/c", "description": "x" } },
    ] });
    scene.model(vec![call("batch", calls)]).model(vec![says("Done.")]);
    let session = scene.session().await;
    session.prompt(Prompt::text("go")).await.unwrap();
    assert_eq!(scene.files(), "b.txt=b made/ made/c=c");
    session.shell("echo mine > made/c; chmod 755 b.txt").await.unwrap();
    assert_eq!(scene.files(), "b.txt=b made/ made/c=mine");
    assert_eq!(told(&session.undo().await.unwrap()), "b.txt +0 -0, c +1 -1");
    assert_eq!(scene.files(), "b.txt=b made/ made/c=c");
    session.undo().await.unwrap();
    assert_eq!(scene.files(), "a.rs=one");
    session.rewind(Rewind::to(To::End)).await.unwrap();
    assert_eq!(scene.files(), "b.txt=b made/ made/c=mine");
}

#[tokio::test]
async fn what_a_call_changes_while_a_command_runs_is_its_own() {
    // The command sees each file that is written, and writes some of them over; the calls end in whatever order they do.
    let mut scene = scene();
    let names: Vec<String> = (0..6).map(|number| format!("w{number}")).collect();
    let command = "for n in 0 1 2 3 4 5; do until test -e w$n; do :; done; echo c > c$n; done; echo over > w5";
    let mut calls = vec![call("bash", json!({ "command": command, "description": "watch" }))];
    calls.extend(names.iter().map(|name| write(name, "tool\n")));
    scene.model(calls).model(vec![says("Done.")]);
    let session = scene.session().await;
    session.prompt(Prompt::text("go")).await.unwrap();
    let after = scene.files();
    let past = scene.setup().options.past.unwrap();
    let history = scene.history(&session).await;
    let mut rows: Vec<String> = Vec::new();
    for part in &history.messages()[1].parts {
        let PartKind::Patch { hash, call_id: Some(id), .. } = &part.kind else { continue };
        let is_call = |part: &&Part| matches!(&part.kind, PartKind::Tool { call_id, .. } if call_id == id);
        let by = answer_tool(history.messages()[1].parts.iter().find(is_call).unwrap());
        let changes = past.snapshots.keep().changes(&hash.parse().unwrap()).unwrap();
        let told = |change: &Change| {
            let how = if change.before == State::Absent { "made" } else { "changed" };
            format!("{by} {how} {}", change.path.file_name().unwrap().display())
        };
        rows.extend(changes.iter().map(told));
    }
    rows.sort();
    let made = (0..6).map(|number| format!("bash made c{number}"));
    let written = names.iter().map(|name| format!("write made {name}"));
    let want: Vec<String> = ["bash changed w5".to_owned()].into_iter().chain(made).chain(written).collect();
    assert_eq!(rows, want);
    assert!(!session.undo().await.unwrap().is_partial());
    assert_eq!(scene.files(), "a.rs=one");
    session.redo().await.unwrap();
    assert_eq!(scene.files(), after);
}

fn answer_tool(part: &Part) -> &str {
    match &part.kind {
        PartKind::Tool { tool, .. } => tool,
        _ => "none",
    }
}

#[tokio::test]
async fn tasks_that_write_one_file_in_turns_are_taken_back_together() {
    let mut scene = scene();
    scene.agents[2].mode = Some(haft_session::Mode::Subagent);
    let command = |text: &str| call("bash", json!({ "command": text, "description": "x" }));
    // Each waits for what the other has written last: one, two, three, four; and what is told last was not written last.
    let wait = |text: &str| format!("until grep -qx {text} a.rs; do :; done");
    let first = vec![
        vec![edit("one", "two")],
        vec![command(&wait("three"))],
        vec![call("read", json!({ "filePath": "a.rs" }))],
        vec![edit("three", "four")],
        vec![says("First.")],
    ];
    let second = vec![
        vec![command(&wait("two"))],
        vec![call("read", json!({ "filePath": "a.rs" }))],
        vec![edit("two", "three")],
        vec![command(&wait("four"))],
        vec![says("Second.")],
    ];
    let task =
        |prompt: &str| call("task", json!({ "description": "mend", "prompt": prompt, "subagent_type": "explore" }));
    scene.other("the first", first).other("the second", second);
    scene.model(vec![task("the first"), task("the second")]).model(vec![says("Done.")]);
    let session = scene.session().await;
    session.prompt(Prompt::text("go")).await.unwrap();
    assert_eq!(scene.files(), "a.rs=four");
    let rewound = session.undo().await.unwrap();
    assert!(!rewound.is_partial(), "{rewound:?}");
    assert_eq!(scene.files(), "a.rs=one");
    session.redo().await.unwrap();
    assert_eq!(scene.files(), "a.rs=four");
    scene.put("a.rs", "mine\n");
    assert!(session.undo().await.unwrap().is_partial());
    assert_eq!(scene.files(), "a.rs=mine");
}

#[tokio::test]
async fn a_folder_in_the_place_of_a_file_and_a_file_in_that_of_a_folder_go_back() {
    let mut scene = scene();
    fs::create_dir_all(scene.project().join("dir/empty")).unwrap();
    scene.put("dir/in", "in\n");
    let command = "rm a.rs; mkdir a.rs; echo x > a.rs/deep; rm -r dir; echo y > dir";
    scene.model(vec![call("bash", json!({ "command": command, "description": "swap" }))]).model(vec![says("Done.")]);
    let before = scene.files();
    let session = scene.session().await;
    session.prompt(Prompt::text("go")).await.unwrap();
    let after = scene.files();
    assert_eq!(after, "a.rs/ a.rs/deep=x dir=y");
    let rewound = session.undo().await.unwrap();
    assert!(!rewound.is_partial(), "{rewound:?}");
    assert_eq!(scene.files(), before);
    session.redo().await.unwrap();
    assert_eq!(scene.files(), after);
}

#[tokio::test]
async fn what_a_command_moved_here_from_where_nobody_looks_stays() {
    let mut scene = scene();
    scene.put(".gitignore", "ignored\n");
    scene.put("ignored", "mine\n");
    fs::create_dir(scene.project().join(".git")).unwrap();
    let Ok(made) = scene.project().join("ignored").metadata().unwrap().created() else {
        eprintln!("this file system does not say when a file was made");
        return;
    };
    // It says it to the tick of a clock.
    while made.elapsed().unwrap() < std::time::Duration::from_millis(50) {
        std::thread::yield_now();
    }
    let command = "mv ignored shown; mv a.rs b.rs; ln b.rs c.rs";
    scene.model(vec![call("bash", json!({ "command": command, "description": "move" }))]).model(vec![says("Done.")]);
    let session = scene.session().await;
    session.prompt(Prompt::text("go")).await.unwrap();
    let rewound = session.undo().await.unwrap();
    let left: Vec<_> = rewound.files.iter().filter(|fate| fate.left.is_some()).map(|fate| fate.file.as_str()).collect();
    assert_eq!(left, ["shown"]);
    assert_eq!(scene.files(), ".git/ .gitignore=ignored a.rs=one shown=mine");
}

#[tokio::test]
async fn what_a_command_makes_beside_new_rules_of_what_is_ignored_is_taken_back() {
    let mut scene = scene();
    scene.put("old.log", "mine\n");
    scene.put(".gitignore", "*.log\n");
    fs::create_dir(scene.project().join(".git")).unwrap();
    let before = scene.files();
    let command =
        "echo target > .gitignore; mkdir src target; echo a > src/main.rs; echo b > Cargo.toml; echo c > target/x";
    scene.model(vec![call("bash", json!({ "command": command, "description": "init" }))]).model(vec![says("Done.")]);
    let session = scene.session().await;
    session.prompt(Prompt::text("go")).await.unwrap();
    let rewound = session.undo().await.unwrap();
    // What was ignored before is not known, and what is ignored now is nobody's.
    let left: Vec<_> = rewound.files.iter().filter(|fate| fate.left.is_some()).map(|fate| fate.file.as_str()).collect();
    assert_eq!(left, ["old.log"]);
    assert_eq!(scene.files(), format!("{before} target/ target/x=c"));
}

#[tokio::test]
async fn a_folder_that_was_moved_away_behind_a_link_comes_back_with_all_in_it() {
    let mut scene = scene();
    fs::create_dir_all(scene.project().join("data/deep/er")).unwrap();
    for name in ["data/in", "data/deep/in", "data/deep/er/in"] {
        scene.put(name, "mine\n");
    }
    let before = scene.files();
    let command = "mv data elsewhere; ln -s elsewhere data";
    scene.model(vec![call("bash", json!({ "command": command, "description": "move" }))]).model(vec![says("Done.")]);
    let session = scene.session().await;
    session.prompt(Prompt::text("go")).await.unwrap();
    let rewound = session.undo().await.unwrap();
    assert!(!rewound.is_partial(), "{rewound:?}");
    assert!(scene.project().join("data").symlink_metadata().unwrap().is_dir());
    assert_eq!(scene.files(), before);
    session.redo().await.unwrap();
    assert_eq!(fs::read_link(scene.project().join("data")).unwrap(), std::path::Path::new("elsewhere"));
    assert_eq!(fs::read_to_string(scene.project().join("elsewhere/deep/er/in")).unwrap(), "mine\n");
}

#[tokio::test]
async fn what_a_command_did_that_was_cut_off_goes_back_where_that_is_forced() {
    let mut scene = scene();
    scene.model(vec![edit("one", "two")]).model(vec![says("Done.")]);
    let session = scene.session().await;
    session.prompt(Prompt::text("go")).await.unwrap();
    let id = session.id().clone();
    drop(session);
    until_free(&scene, &id).await;
    // As a killed process leaves it: a command had begun, and nobody was there when it ended.
    let killed = scene.setup().options.past.unwrap();
    killed.snapshots.before_command(&Asker { session: id.clone(), call: None });
    drop(killed);
    scene.put("a.rs", "three\n");
    scene.put("new.rs", "new\n");

    let session = Session::open(scene.setup(), &id).await.unwrap();
    assert_eq!(told(&session.undo().await.unwrap()), "a.rs stays doubtful, new.rs stays doubtful");
    assert_eq!(scene.files(), "a.rs=three new.rs=new");
    session.redo().await.unwrap();
    let all = Rewind { force: Force::Everything, ..Rewind::to(To::Back) };
    assert_eq!(told(&session.rewind(all).await.unwrap()), "new.rs +0 -1, a.rs +1 -1");
    assert_eq!(scene.files(), "a.rs=one");
    session.redo().await.unwrap();
    assert_eq!(scene.files(), "a.rs=three new.rs=new");
}

#[tokio::test]
async fn what_a_task_did_that_was_killed_is_taken_back_with_the_turn() {
    let mut scene = scene();
    scene.agents[2].mode = Some(haft_session::Mode::Subagent);
    let task = json!({ "description": "mend", "prompt": "the task", "subagent_type": "explore" });
    scene.other("the task", vec![vec![edit("one", "two")], vec![says("Mended.")]]);
    scene.model(vec![call("task", task)]).model(vec![says("Done.")]);
    let session = scene.session().await;
    session.prompt(Prompt::text("go")).await.unwrap();
    let id = session.id().clone();
    let child = scene.journal.children(&id, 9).await.unwrap().remove(0).id;
    drop(session);
    until_free(&scene, &id).await;
    // As a killed process leaves it: the task wrote once more, and no message says so.
    let killed = scene.setup().options.past.unwrap();
    let path = scene.project().join("a.rs");
    let planned = Planned { path: &path, before: Standing::at(&path), after: Some(b"three\n") };
    killed.snapshots.before_files(&Asker { session: child, call: None }, vec![planned]);
    drop(killed);
    scene.put("a.rs", "three\n");

    let session = Session::open(scene.setup(), &id).await.unwrap();
    assert_eq!(told(&session.undo().await.unwrap()), "a.rs +1 -1");
    assert_eq!(scene.files(), "a.rs=one");
    session.redo().await.unwrap();
    assert_eq!(scene.files(), "a.rs=three");
}

#[tokio::test]
async fn what_a_job_does_after_its_turn_counts_and_is_taken_back() {
    let mut scene = scene();
    scene.model(vec![edit("one", "two")]).model(vec![says("First.")]).model(vec![says("Second.")]);
    let setup = scene.setup();
    let jobs = setup.options.past.clone().unwrap().snapshots;
    let session = Session::create(setup, NewSession::default()).await.unwrap();
    session.prompt(Prompt::text("first")).await.unwrap();
    let answer = scene.history(&session).await.messages()[1].clone();
    let call_id = answer.parts.iter().find_map(|part| match &part.kind {
        PartKind::Tool { call_id, .. } => Some(call_id.clone()),
        _ => None,
    });
    let call = Some(AskedBy { message_id: answer.info.id().clone(), call_id: call_id.unwrap() });
    let asker = Asker { session: session.id().clone(), call };
    let late = |name: &str| {
        let job = jobs.before_command(&asker);
        scene.put(name, "late\n");
        jobs.after_command(job, true);
    };
    late("late");
    session.prompt(Prompt::text("second")).await.unwrap();
    let record = scene.journal.session(session.id()).await.unwrap().unwrap();
    assert_eq!(record.summary.map(|summary| (summary.files, summary.additions)), Some((2, 2)));
    // What comes after the last turn is not forgotten either.
    late("later");
    session.undo().await.unwrap();
    session.undo().await.unwrap();
    assert_eq!(scene.files(), "a.rs=one");
}

#[tokio::test]
async fn what_another_session_did_while_a_command_ran_stays() {
    let mut scene = scene();
    scene.model(vec![write("mine", "of the call\n")]).model(vec![says("First.")]);
    scene.other("second", vec![vec![edit("one", "two")], vec![says("Second.")]]);
    let setup = scene.setup();
    let (commands, clock) = (setup.options.past.clone().unwrap().snapshots, setup.clock.clone());
    let session = Session::create(setup, NewSession::default()).await.unwrap();
    session.prompt(Prompt::text("first")).await.unwrap();
    let message_id = scene.history(&session).await.messages()[1].info.id().clone();
    let call = Some(AskedBy { message_id, call_id: "call".to_owned() });
    let command = commands.before_command(&Asker { session: session.id().clone(), call });
    scene.put("b", "of the command\n");
    // Another process, with another session.
    let setup = haft_session::Setup { clock, ..scene.setup() };
    let other = Session::create(setup, NewSession::default()).await.unwrap();
    other.prompt(Prompt::text("second")).await.unwrap();
    commands.after_command(command, true);

    let rewound = session.undo().await.unwrap();
    assert_eq!(told(&rewound), "b +0 -1, mine +0 -1, a.rs stays doubtful");
    let Some(Why::Doubtful(why)) = &rewound.files[2].left else { panic!("{rewound:?}") };
    assert!(why.contains(&other.id().to_string()), "{why}");
    assert_eq!(scene.files(), "a.rs=two");
    // A tool knows what it did itself.
    assert_eq!(told(&other.undo().await.unwrap()), "a.rs +1 -1");
    assert_eq!(scene.files(), "a.rs=one");
}
