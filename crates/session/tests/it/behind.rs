//! Tasks that go on behind their session's back.

use expect_test::expect;
use haft_llm::Step;
use haft_permission::Action;
use haft_protocol::{Event, Reply, ToolState};
use haft_session::{NewSession, Prompt, Session, TurnEnd};
use serde_json::json;

use crate::scene::{Scene, TASK_ID, call, says, transcript};

fn behind(about: &str) -> Step {
    let prompt = format!("Please {about}.");
    call("task", json!({"description": about, "prompt": prompt, "subagent_type": "explore", "background": true}))
}

/// A scene whose task asks before it does anything.
fn held(answers: Vec<Vec<Step>>) -> Scene {
    let mut scene = Scene::with(&[("a.rs", "one\n")]);
    scene.rule("bash", Action::Ask).person(Reply::Once);
    for answer in answers {
        scene.model(answer);
    }
    let touch = call("bash", json!({"command": "touch done"}));
    scene.other("Please look", vec![vec![says("Begun."), touch], vec![says("It is done.")]]);
    scene
}

/// The words of a session without the ids of others.
async fn words(scene: &Scene, session: &Session) -> String {
    let text = transcript(&scene.journal.history(session.id()).await.unwrap());
    let child = scene.journal.children(session.id(), 1).await.unwrap().remove(0);
    text.replace(&child.id.to_string(), "TASK")
}

/// Answers the question of the task as soon as it is there.
async fn answer(scene: &Scene, gate: &haft_permission::Gate) {
    let mut events = scene.journal.subscribe();
    while gate.waiting().is_empty() {
        events.recv().await.unwrap();
    }
    gate.waiting().iter().for_each(|ask| gate.reply(&ask.id, Reply::Once).unwrap());
}

#[tokio::test]
async fn a_task_goes_on_behind_the_turn_and_its_end_is_kept_for_the_next_one() {
    let mut scene = held(vec![vec![behind("look")], vec![says("Meanwhile.")], vec![says("Read it.")]]);
    scene.person(Reply::Once);
    let setup = scene.setup();
    let gate = setup.gate.clone();
    let session = Session::create(setup, NewSession::default()).await.unwrap();
    assert_eq!(session.prompt(Prompt::text("go")).await.unwrap(), TurnEnd::Finished("stop".to_owned()));
    assert!(!scene.project().join("done").exists(), "the turn did not wait for it");
    answer(&scene, &gate).await;
    assert_eq!(session.rest().await.unwrap(), None, "nobody is woken");
    assert!(scene.project().join("done").exists());
    session.prompt(Prompt::text("and?")).await.unwrap();
    expect![[r#"
        user
          text: go
        model [tool-calls]
          task: look
        model [stop]
          text: Meanwhile.
        user
          text: <task id="TASK" state="completed">
        <summary>The background task "look" has ended.</summary>
        <task_result>
        It is done.
        </task_result>
        </task>
        user
          text: and?
        model [stop]
          text: Read it.
    "#]]
    .assert_eq(&words(&scene, &session).await);
    let requests = scene.requests.lock().unwrap();
    let last = crate::scene::words(requests.last().unwrap()).join("\n");
    assert!(last.contains("It is done."), "{last}");
}

#[tokio::test]
async fn where_it_is_wanted_the_end_of_a_task_begins_a_turn() {
    let mut scene = held(vec![vec![behind("look")], vec![says("Meanwhile.")], vec![says("So it is done.")]]);
    scene.options.tasks.wake = true;
    let setup = scene.setup();
    let gate = setup.gate.clone();
    let session = Session::create(setup, NewSession::default()).await.unwrap();
    session.prompt(Prompt::text("go")).await.unwrap();
    let (rest, ()) = tokio::join!(session.rest(), answer(&scene, &gate));
    assert_eq!(rest.unwrap(), Some(TurnEnd::Finished("stop".to_owned())));
    let text = words(&scene, &session).await;
    assert!(text.ends_with("</task>\nmodel [stop]\n  text: So it is done.\n"), "{text}");
    // What was told once is not told again.
    assert_eq!(session.rest().await.unwrap(), None);
}

#[tokio::test]
async fn a_turn_at_work_reads_of_the_end_at_its_next_step() {
    let wait = call("bash", json!({"command": "until test -e done; do sleep 0.01; done; sleep 0.1"}));
    let mut scene = held(vec![vec![behind("look")], vec![wait], vec![says("I see.")]]);
    // The one that waits is allowed at once, the other as it comes.
    scene.person(Reply::Once);
    let session = scene.session().await;
    session.prompt(Prompt::text("go")).await.unwrap();
    let text = words(&scene, &session).await;
    assert!(text.contains("</task>\nmodel [stop]\n  text: I see."), "{text}");
    assert_eq!(scene.requests.lock().unwrap().len(), 5);
}

#[tokio::test]
async fn a_stop_ends_it_and_wakes_nobody() {
    let mut scene = held(vec![vec![behind("look")], vec![says("Meanwhile.")]]);
    scene.options.tasks.wake = true;
    let setup = scene.setup();
    let gate = setup.gate.clone();
    let session = Session::create(setup, NewSession::default()).await.unwrap();
    session.prompt(Prompt::text("go")).await.unwrap();
    let mut events = scene.journal.subscribe();
    while gate.waiting().is_empty() {
        events.recv().await.unwrap();
    }
    session.abort().await;
    assert_eq!(session.rest().await.unwrap(), None);
    assert!(gate.waiting().is_empty() && !scene.project().join("done").exists());
    let text = words(&scene, &session).await;
    assert!(text.contains("state=\"interrupted\">\n<summary>The background task \"look\" was cut off."), "{text}");
    assert!(text.contains("Begun."), "what it had is kept: {text}");
    assert_eq!(scene.requests.lock().unwrap().len(), 3);
}

#[tokio::test]
async fn it_ends_with_its_session() {
    let scene = held(vec![vec![behind("look")], vec![says("Meanwhile.")]]);
    let setup = scene.setup();
    let gate = setup.gate.clone();
    let session = Session::create(setup, NewSession::default()).await.unwrap();
    session.prompt(Prompt::text("go")).await.unwrap();
    let mut events = scene.journal.subscribe();
    while gate.waiting().is_empty() {
        events.recv().await.unwrap();
    }
    let id = session.id().clone();
    let child = scene.journal.children(&id, 1).await.unwrap().remove(0).id;
    drop(session);
    while scene.journal.claim(&id).is_err() {
        tokio::task::yield_now().await;
    }
    // Whoever holds the session finds nothing at work below it.
    let _free = scene.journal.claim(&child).unwrap();
    assert!(gate.waiting().is_empty());
}

#[tokio::test]
async fn what_a_crash_cut_off_is_told_when_the_session_is_opened_again() {
    let scene = held(vec![vec![behind("look")], vec![says("Meanwhile.")]]);
    let setup = scene.setup();
    let gate = setup.gate.clone();
    let session = Session::create(setup, NewSession::default()).await.unwrap();
    session.prompt(Prompt::text("go")).await.unwrap();
    let mut events = scene.journal.subscribe();
    while gate.waiting().is_empty() {
        events.recv().await.unwrap();
    }
    // What a crash leaves: all that is stored by now, and nobody who holds it.
    let left = Scene { journal: haft_store::Journal::memory(), ..held(vec![vec![says("")]; 3]) };
    let child = scene.journal.children(session.id(), 1).await.unwrap().remove(0);
    for id in [session.id(), &child.id] {
        let info = Box::new(scene.journal.session(id).await.unwrap().unwrap());
        let mut events = vec![Event::SessionCreated { session_id: id.clone(), info }];
        for turned in scene.journal.history(id).await.unwrap().messages() {
            let info = Box::new(turned.info.clone());
            events.push(Event::MessageUpdated { session_id: id.clone(), info });
            events.extend(turned.parts.iter().map(|part| Event::PartUpdated {
                session_id: id.clone(),
                part: Box::new(part.clone()),
                time: 0,
            }));
        }
        left.journal.record_all(events).await.unwrap();
    }
    let again = Session::open(left.setup(), session.id()).await.unwrap();
    let text = words(&left, &again).await;
    assert!(text.ends_with("was cut off.</summary>\n<task_result>\nBegun.\n</task_result>\n</task>\n"), "{text}");
    let below = transcript(&left.journal.history(&child.id).await.unwrap());
    assert!(!below.contains("OPEN"), "{below}");
    // It is told once.
    drop(again);
    while left.journal.claim(session.id()).is_err() {
        tokio::task::yield_now().await;
    }
    let again = Session::open(left.setup(), session.id()).await.unwrap();
    assert_eq!(words(&left, &again).await, text);
}

/// The outputs of the calls of a session, in their order.
async fn outputs(scene: &Scene, session: &Session) -> Vec<String> {
    let history = scene.journal.history(session.id()).await.unwrap();
    let parts = history.messages().iter().flat_map(|turned| &turned.parts);
    let output = |part: &haft_protocol::Part| match part.kind.state()? {
        ToolState::Completed { output, .. } => Some(output.clone()),
        ToolState::Error { error, .. } => Some(error.clone()),
        ToolState::Pending { .. } | ToolState::Running { .. } => None,
    };
    parts.filter_map(output).collect()
}

#[tokio::test]
async fn a_task_at_work_can_be_asked_about_and_told_more() {
    let reach = |id: &str, prompt: &str| {
        call("task", json!({"description": "ask", "prompt": prompt, "subagent_type": "explore", "task_id": id}))
    };
    let calls = vec![reach(TASK_ID, ""), reach(TASK_ID, "And look again."), reach("ses_none", "")];
    let mut scene = held(vec![vec![behind("look")], calls, vec![says("Meanwhile.")], vec![says("I see.")]]);
    scene.others[0].1.push(haft_llm::Answer::new(vec![says("Looked again.")]));
    let setup = scene.setup();
    let gate = setup.gate.clone();
    let session = Session::create(setup, NewSession::default()).await.unwrap();
    session.prompt(Prompt::text("go")).await.unwrap();
    answer(&scene, &gate).await;
    session.rest().await.unwrap();
    let id = scene.journal.children(session.id(), 1).await.unwrap().remove(0).id;
    let told = outputs(&scene, &session).await;
    for told in &told[1..3] {
        assert!(told.contains(&format!("<task id=\"{id}\" state=\"running\">")), "{told}");
    }
    assert!(told[3].contains("there is no such task to ask about"), "{}", told[3]);
    let below = transcript(&scene.journal.history(&id).await.unwrap());
    assert!(below.contains("text: And look again.") && below.contains("text: It is done."), "{below}");
    let text = words(&scene, &session).await;
    assert!(text.contains("state=\"completed\">"), "{text}");
}

#[tokio::test]
async fn a_task_leaves_nothing_behind_itself() {
    let mut scene = Scene::with(&[]);
    scene.options.tasks.depth = 2;
    let rules = vec![haft_permission::Rule::new("task", "*", Action::Allow)];
    scene.agents[2].rules = rules;
    let task = call("task", json!({"description": "dig", "prompt": "Please dig.", "subagent_type": "explore"}));
    scene.model(vec![task]).model(vec![says("Done.")]);
    scene.other("Please dig", vec![vec![behind("bore")], vec![says("No.")]]);
    let session = scene.session().await;
    session.prompt(Prompt::text("go")).await.unwrap();
    let child = scene.journal.children(session.id(), 1).await.unwrap().remove(0).id;
    let text = transcript(&scene.journal.history(&child).await.unwrap());
    assert!(text.contains("nothing may go on behind it; leave `background` out"), "{text}");
    assert!(scene.journal.children(&child, 9).await.unwrap().is_empty());
}
