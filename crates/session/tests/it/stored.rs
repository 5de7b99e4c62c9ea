//! What stays: lists of things to do, copies of sessions, instructions.

use expect_test::expect;
use haft_llm::Message as Sent;
use haft_protocol::{Message, Todo, ToolState};
use haft_session::{Prompt, Session, SessionError};
use serde_json::json;

use crate::ends::runs;
use crate::scene::{Scene, call, says, transcript, until, words};

#[tokio::test]
async fn a_list_of_things_to_do_is_there_again_after_opening() {
    let mut scene = Scene::with(&[]);
    let todo = json!({"content": "mend it", "status": "in_progress", "priority": "high"});
    scene.model(vec![call("todowrite", json!({"todos": [todo]}))]).model(vec![says("Listed.")]);
    scene.model(vec![call("todoread", json!({}))]).model(vec![says("Read.")]);
    let session = scene.session().await;
    session.prompt(Prompt::text("list")).await.unwrap();
    let id = session.id().clone();
    let todos = scene.journal.todos(&id).await.unwrap();
    let (status, priority) = ("in_progress".to_owned(), "high".to_owned());
    assert_eq!(todos, [Todo { content: "mend it".to_owned(), status, priority }]);
    drop(session);
    while scene.journal.claim(&id).is_err() {
        tokio::task::yield_now().await;
    }
    let session = Session::open(scene.setup(), &id).await.unwrap();
    session.prompt(Prompt::text("read")).await.unwrap();
    let requests = scene.requests.lock().unwrap();
    let last = requests.last().unwrap();
    let Sent::Tools { results } = &*last.messages[last.messages.len() - 1] else { panic!("{:?}", last.messages) };
    assert!(format!("{results:?}").contains("mend it"), "{results:?}");
}

#[tokio::test]
async fn a_copy_goes_its_own_way() {
    let mut scene = Scene::with(&[("a.rs", "x")]);
    scene.model(vec![call("read", json!({"filePath": "a.rs"}))]).model(vec![says("One.")]).model(vec![says("Two.")]);
    scene.model(vec![says("Other.")]);
    let session = scene.session().await;
    session.prompt(Prompt::text("first")).await.unwrap();
    session.prompt(Prompt::text("second")).await.unwrap();
    let from = scene.journal.history(session.id()).await.unwrap();
    let clock = scene.setup().clock;
    let whole = Session::fork(&scene.journal, &clock, session.id(), None).await.unwrap();
    let copy = scene.journal.history(&whole).await.unwrap();
    assert_eq!(transcript(&copy), transcript(&from));
    let mut before = None;
    for (old, new) in from.messages().iter().zip(copy.messages()) {
        assert!(old.info.id() != new.info.id() && *new.info.session_id() == whole);
        if let Message::Assistant(answer) = &new.info {
            assert_eq!(Some(&answer.parent_id), before.as_ref());
        } else {
            before = Some(new.info.id().clone());
        }
        for (one, other) in old.parts.iter().zip(&new.parts) {
            assert!(one.id != other.id && other.message_id == *new.info.id() && other.session_id == whole);
        }
    }
    let record = scene.journal.session(&whole).await.unwrap().unwrap();
    assert_eq!((record.title.as_str(), record.cost, record.parent_id), ("first (fork #1)", 0.0, None));

    let second = from.messages()[3].info.id();
    let part = Session::fork(&scene.journal, &clock, &whole, Some(second)).await;
    assert!(matches!(part, Err(SessionError::NoMessage { .. })), "the copy has ids of its own");
    let part = Session::fork(&scene.journal, &clock, session.id(), Some(second)).await.unwrap();
    let other = Session::open(scene.setup(), &part).await.unwrap();
    other.prompt(Prompt::text("instead")).await.unwrap();
    let sent = words(scene.requests.lock().unwrap().last().unwrap());
    assert_eq!(sent, ["user: first", "model: (read)", "results: 1", "model: One.", "user: instead"]);
    assert_eq!(
        transcript(&scene.journal.history(session.id()).await.unwrap()),
        transcript(&from),
        "the first is as it was"
    );
}

#[tokio::test]
async fn instructions_stand_in_the_system_prompt_and_change_between_turns_alone() {
    let mut scene = Scene::with(&[("AGENTS.md", "Speak French.")]);
    let rewrite = json!({"command": "printf 'Speak German.' > AGENTS.md"});
    scene
        .model(vec![call("bash", rewrite)])
        .model(vec![says("Oui.")])
        .model(vec![says("Ja.")])
        .model(vec![says("Ja!")]);
    let session = scene.session().await;
    for text in ["one", "two", "three"] {
        session.prompt(Prompt::text(text)).await.unwrap();
    }
    let requests = scene.requests.lock().unwrap();
    let systems: Vec<&str> = requests.iter().map(|request| request.system.as_str()).collect();
    assert!(systems[0].ends_with("AGENTS.md\nSpeak French."), "{}", systems[0]);
    assert_eq!(systems[0], systems[1]);
    assert!(systems[2].ends_with("Speak German."), "{}", systems[2]);
    assert_eq!(systems[2], systems[3]);
}

#[tokio::test]
async fn what_was_told_before_is_not_told_again_after_opening() {
    let mut scene = Scene::with(&[]);
    let sub = scene.project().join("sub");
    std::fs::create_dir(&sub).unwrap();
    std::fs::write(sub.join("AGENTS.md"), "Mind the gap.").unwrap();
    std::fs::write(sub.join("a.rs"), "x").unwrap();
    let read = || call("read", json!({"filePath": "sub/a.rs"}));
    scene.model(vec![read()]).model(vec![says("One.")]).model(vec![read()]).model(vec![says("Two.")]);
    let session = scene.session().await;
    session.prompt(Prompt::text("one")).await.unwrap();
    let id = session.id().clone();
    drop(session);
    while scene.journal.claim(&id).is_err() {
        tokio::task::yield_now().await;
    }
    let session = Session::open(scene.setup(), &id).await.unwrap();
    session.prompt(Prompt::text("two")).await.unwrap();
    let history = scene.journal.history(&id).await.unwrap();
    let told = history.messages().iter().flat_map(|turned| &turned.parts);
    let told: Vec<bool> = told
        .filter_map(|part| match part.kind.state() {
            Some(ToolState::Completed { output, .. }) => Some(output.contains("Mind the gap.")),
            _ => None,
        })
        .collect();
    assert_eq!(told, [true, false]);
}

#[tokio::test]
async fn nothing_runs_in_a_copy_of_a_session_at_work() {
    let mut scene = Scene::with(&[]);
    scene.model(vec![call("bash", json!({"command": "echo begun; while :; do sleep 0.01; done"}))]);
    let session = scene.session().await;
    let (end, copy) = tokio::join!(session.prompt(Prompt::text("go")), async {
        until(&scene, &session, runs).await;
        let copy = Session::fork(&scene.journal, &scene.setup().clock, session.id(), None).await.unwrap();
        session.abort().await;
        scene.journal.history(&copy).await.unwrap()
    });
    end.unwrap();
    expect![[r#"
        user
          text: go
        model [tool-calls]
          bash failed: this call was cut off before it ended, and what it had done until then is not known. Look at the state of things before you do it again
    "#]]
    .assert_eq(&transcript(&copy));
}
