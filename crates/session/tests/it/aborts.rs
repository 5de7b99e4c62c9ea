//! A stop at every point of a turn: whatever was going on, nothing stays open and the session goes on.

use haft_llm::{FailKind, Failing, Step};
use haft_permission::Action;
use haft_protocol::{Event, Id, Message, Reply};
use haft_session::{NewSession, Prompt, Session, TurnEnd, assemble};
use serde_json::json;

use crate::crash::fault;
use crate::scene::{Scene, call, edit, says};

/// A turn with all that a turn can be at: thoughts, words, calls side by side, a question of leave, another try, a
/// question of the agent's, tasks side by side and one in the background, a command.
fn busy() -> Scene {
    let mut scene = Scene::with(&[("a.rs", "fn foo() {}\n")]);
    scene.rule("edit", Action::Ask).person(Reply::Once);
    scene.chosen.push(vec![vec!["Red".to_owned()]]);
    let question = json!({"questions": [{
        "question": "Which?", "header": "Which", "options": [{"label": "Red", "description": "It is red."}],
    }]});
    let task = |about: &str, background: bool| {
        let prompt = format!("Please {about}.");
        let input =
            json!({"description": about, "prompt": prompt, "subagent_type": "explore", "background": background});
        call("task", input)
    };
    let todo = json!({"todos": [{"content": "it", "status": "pending", "priority": "high"}]});
    let fails = Failing { after_ms: Some(50), ..Failing::new(FailKind::Server, "no") };
    scene
        .model(vec![
            Step::Reasoning("Hm.".to_owned()),
            says("Reading."),
            call("read", json!({"filePath": "a.rs"})),
            call("todowrite", todo),
        ])
        .model(vec![edit("foo", "bar")])
        .model(vec![says("Half an"), Step::Fail(fails)])
        .model(vec![call("question", question)])
        .model(vec![task("go left", false), task("go right", false), task("go on", true)])
        .model(vec![call("bash", json!({"command": "echo done"}))])
        .model(vec![says("Done.")]);
    for side in ["left", "right", "on"] {
        let read = call("read", json!({"filePath": "a.rs"}));
        scene.other(&format!("go {side}"), vec![vec![says("Going."), read], vec![says("Went.")]]);
    }
    scene
}

/// Plays the turn and stops it when it has told `at` events. Returns how many it told.
async fn stopped(at: usize) -> usize {
    let scene = busy();
    let mut events = scene.journal.subscribe();
    let session = scene.session().await;
    let id = session.id().clone();
    let mut count = 0;
    let end = {
        let mut turn = std::pin::pin!(session.prompt(Prompt::text("go")));
        loop {
            tokio::select! {
                biased;
                end = &mut turn => break end.unwrap(),
                event = events.recv() => {
                    event.unwrap();
                    count += 1;
                    if count == at {
                        session.abort().await;
                    }
                }
            }
        }
    };
    let expected = matches!(&end, TurnEnd::Aborted) || matches!(&end, TurnEnd::Finished(reason) if reason == "stop");
    assert!(expected, "at {at}: {end:?}");
    session.rest().await.unwrap();
    // The session and all below it are whole.
    let children = scene.journal.children(&id, 9).await.unwrap();
    for id in children.iter().map(|child| &child.id).chain([&id]) {
        let history = scene.journal.history(id).await.unwrap();
        for turned in history.messages() {
            assert!(turned.parts.iter().all(|part| !part.is_open()), "at {at}: something is open in {id}");
            if let Message::Assistant(answer) = &turned.info {
                assert!(answer.time.completed.is_some(), "at {at}: an answer is open in {id}");
            }
        }
        assert_eq!(fault(&assemble("", &history, &[], &scene.setup().model)), None, "at {at}: {id}");
    }
    for child in &children {
        assert!(scene.journal.claim(&child.id).is_ok(), "at {at}: {} is at work", child.id);
    }
    drop(session);
    while scene.journal.claim(&id).is_err() {
        tokio::task::yield_now().await;
    }
    // And it goes on, with the same history.
    let mut later = Scene { journal: scene.journal.clone(), ..Scene::with(&[]) };
    later.answers = (0..9).map(|_| haft_llm::Answer::new([says("Going on.")])).collect();
    let setup = later.setup();
    assert!(setup.gate.waiting().is_empty());
    let session = Session::open(setup, &id).await.unwrap();
    assert_eq!(session.prompt(Prompt::text("go on")).await.unwrap(), TurnEnd::Finished("stop".to_owned()), "at {at}");
    let last = later.requests.lock().unwrap().pop().unwrap();
    assert_eq!(fault(&last), None, "at {at}, going on");
    count
}

#[tokio::test(start_paused = true)]
async fn a_turn_can_be_stopped_at_every_point() {
    let whole = stopped(usize::MAX).await;
    assert!(whole > 150, "{whole} events");
    for at in 1..=whole {
        stopped(at).await;
    }
}

#[tokio::test]
async fn a_stop_takes_every_question_back() {
    for question in [false, true] {
        let mut scene = busy();
        // Somebody is there, and says nothing.
        scene.answers.drain(..if question { 3 } else { 1 });
        let setup = scene.setup();
        let (gate, questions) = (setup.gate.clone(), setup.questions.clone());
        let session = Session::create(setup, NewSession::default()).await.unwrap();
        let (mut events, mut told) = (scene.journal.subscribe(), scene.journal.subscribe());
        let (end, ()) = tokio::join!(session.prompt(Prompt::text("go")), async {
            while gate.waiting().is_empty() && questions.waiting().is_empty() {
                events.recv().await.unwrap();
            }
            session.abort().await;
        });
        assert_eq!(end.unwrap(), TurnEnd::Aborted);
        assert!(gate.waiting().is_empty() && questions.waiting().is_empty());
        // Clients that show a question hear that it is gone.
        let mut open = std::collections::BTreeSet::new();
        let mut asked = 0;
        while let Ok(event) = told.try_recv() {
            match event {
                Event::PermissionAsked(ask) => asked += usize::from(open.insert(ask.id.to_string())),
                Event::QuestionAsked(inquiry) => asked += usize::from(open.insert(inquiry.id.to_string())),
                Event::PermissionReplied { request_id, reply, .. } => {
                    assert!(reply == "reject" && open.remove(request_id.as_str()), "{request_id} {reply}");
                }
                Event::QuestionRejected { request_id, .. } => assert!(open.remove(request_id.as_str()), "{request_id}"),
                _ => {}
            }
        }
        assert!(asked > 0 && open.is_empty(), "{open:?}");
    }
}
