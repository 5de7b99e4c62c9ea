//! Calls within calls, agents that hand over, and sessions cut off with their tasks.

use expect_test::expect;
use haft_llm::Step;
use haft_permission::{Action, Rule};
use haft_protocol::{Event, Message, Reply, ToolState};
use haft_session::{Prompt, Session, TurnEnd};
use haft_store::Journal;
use serde_json::{Value, json};

use crate::scene::{Scene, call, says, transcript, words};

fn batch(calls: Value) -> Step {
    call("batch", json!({ "tool_calls": calls }))
}

fn read(name: &str) -> Value {
    json!({"tool": "read", "parameters": {"filePath": name}})
}

#[tokio::test]
async fn calls_of_a_batch_are_calls_of_their_own() {
    let mut scene = Scene::with(&[("a.rs", "fn foo() {}\n")]);
    let calls = json!([read("a.rs"), read("none.rs"), {"tool": "bash", "parameters": {"command": "echo hi"}},
        {"tool": "reed", "parameters": {}}]);
    scene.model(vec![batch(calls)]).model(vec![says("Two of four.")]);
    scene
        .check(expect![[r#"
            user
              text: go
            model [tool-calls]
              batch: 2 of 4 calls
              read: a.rs
              read failed: PROJECT/none.rs does not exist. List its folder, or search for the name.
              bash: echo hi
              invalid: Invalid call
            model [stop]
              text: Two of four.
            end: Finished("stop")
        "#]])
        .await;
    let requests = scene.requests.lock().unwrap();
    assert_eq!(words(&requests[1])[2], "results: 5", "each call has one result");
    assert!(!requests[0].tools.iter().any(|tool| tool.name == "batch"), "few need it");
}

#[tokio::test]
async fn calls_of_a_batch_ask_like_others() {
    let mut scene = Scene::with(&[]);
    let run = |command: &str| json!({"tool": "bash", "parameters": {"command": command}});
    scene.rule("bash", Action::Ask).person(Reply::Reject { advice: None });
    scene.model(vec![batch(json!([run("touch a"), run("touch b")]))]).model(vec![says("never asked")]);
    let session = scene.session().await;
    assert_eq!(session.prompt(Prompt::text("go")).await.unwrap(), TurnEnd::Refused);
    assert!(!scene.project().join("a").exists() && !scene.project().join("b").exists());
    let history = scene.journal.history(session.id()).await.unwrap();
    let text = transcript(&history);
    assert_eq!(text.matches("bash failed: the user refused this call").count(), 2, "{text}");
    assert!(history.messages().iter().flat_map(|turned| &turned.parts).all(|part| !part.is_open()));
}

#[tokio::test]
async fn a_batch_makes_no_batches_whatever_it_calls_them() {
    let mut scene = Scene::with(&[("a.rs", "")]);
    let inner = |name: &str| json!({"tool": name, "parameters": {"tool_calls": [read("a.rs")]}});
    let names = ["batch", "Batch", "bat_ch", "functions.batch", "tools:BATCH"];
    scene.model(vec![batch(names.map(inner).into_iter().collect())]).model(vec![says("No.")]);
    let session = scene.session().await;
    session.prompt(Prompt::text("go")).await.unwrap();
    let text = transcript(&scene.journal.history(session.id()).await.unwrap());
    assert!(!text.contains("read: a.rs"), "{text}");
    assert!(text.contains("batch: 0 of 1 calls"), "{text}");
}

#[tokio::test]
async fn a_stop_closes_the_calls_of_a_batch() {
    let mut scene = Scene::with(&[]);
    let hang = "echo begun; trap 'echo ended; exit' TERM; while :; do sleep 0.01; done";
    scene.model(vec![batch(json!([{"tool": "bash", "parameters": {"command": hang}}]))]);
    let session = scene.session().await;
    let (end, ()) = tokio::join!(session.prompt(Prompt::text("go")), async {
        crate::scene::until(&scene, &session, crate::ends::runs).await;
        session.abort().await;
    });
    assert_eq!(end.unwrap(), TurnEnd::Aborted);
    let history = scene.journal.history(session.id()).await.unwrap();
    assert!(history.messages().iter().flat_map(|turned| &turned.parts).all(|part| !part.is_open()));
    assert!(transcript(&history).contains(&format!("bash: {hang}")), "it ended by itself");
}

#[tokio::test]
async fn a_batch_does_not_hide_that_a_model_goes_in_circles() {
    let mut scene = Scene::with(&[("a.rs", "")]);
    scene.rules.push(Rule::new("doom_loop", "*", Action::Ask));
    scene.model(vec![batch(json!([read("a.rs"), read("a.rs"), read("a.rs")]))]).model(vec![says("Hm.")]);
    let session = scene.session().await;
    session.prompt(Prompt::text("go")).await.unwrap();
    let text = transcript(&scene.journal.history(session.id()).await.unwrap());
    assert_eq!(text.matches("read failed: not run: this is the same call").count(), 1, "{text}");
    assert!(text.contains("batch: 2 of 3 calls"), "{text}");
}

#[tokio::test]
async fn a_plan_that_is_agreed_to_is_carried_out_by_the_other_agent() {
    let mut scene = Scene::with(&[]);
    scene.chosen.push(vec![vec!["Yes".to_owned()]]);
    scene.model(vec![call("plan_exit", json!({}))]).model(vec![says("Carried out.")]);
    let session = scene.session().await;
    let end = session.prompt(Prompt::text("plan it").agent("plan")).await;
    scene
        .compare(
            &session,
            end,
            expect![[r#"
                user
                  text: plan it
                model [tool-calls]
                  plan_exit: The build agent goes on
                user
                  text: The user agreed to the plan. You may change files now: carry it out.
                model [stop]
                  text: Carried out.
                end: Finished("stop")
            "#]],
        )
        .await;
    let history = scene.journal.history(session.id()).await.unwrap();
    let agents: Vec<String> = history.messages().iter().map(|turned| agent_of(&turned.info)).collect();
    assert_eq!(agents, ["plan", "plan", "build", "build"]);
    let requests = scene.requests.lock().unwrap().clone();
    assert!(words(&requests[1])[3].contains("Plan mode has ended"), "{:?}", words(&requests[1]));
    let record = scene.journal.session(session.id()).await.unwrap().unwrap();
    assert_eq!(record.agent.as_deref(), Some("build"));
}

#[tokio::test]
async fn a_wish_for_a_plan_names_its_file() {
    let mut scene = Scene::with(&[]);
    scene.chosen.push(vec![vec!["Yes".to_owned()]]);
    scene.model(vec![call("plan_enter", json!({}))]).model(vec![says("Planned.")]);
    let session = scene.session().await;
    session.prompt(Prompt::text("a large thing")).await.unwrap();
    let record = scene.journal.session(session.id()).await.unwrap().unwrap();
    let history = scene.journal.history(session.id()).await.unwrap();
    let path = format!(".haft/plans/{}-{}.md", record.time.created, record.slug);
    assert!(transcript(&history).contains(&format!("write it to {path};")), "{}", transcript(&history));
    assert_eq!(agent_of(&history.messages().last().unwrap().info), "plan");
}

#[tokio::test]
async fn a_plan_that_is_not_agreed_to_ends_the_turn() {
    let mut scene = Scene::with(&[]);
    scene.chosen.push(vec![vec!["No".to_owned()]]);
    scene.model(vec![call("plan_exit", json!({}))]).model(vec![says("Still planning.")]);
    let session = scene.session().await;
    let end = session.prompt(Prompt::text("plan it").agent("plan")).await.unwrap();
    assert_eq!(end, TurnEnd::Refused);
    session.prompt(Prompt::text("go on").agent("plan")).await.unwrap();
    let history = scene.journal.history(session.id()).await.unwrap();
    assert_eq!(agent_of(&history.messages().last().unwrap().info), "plan");
    assert!(transcript(&history).contains("plan_exit failed: the user dismissed this question"));
}

fn agent_of(message: &Message) -> String {
    match message {
        Message::User(user) => user.agent.clone(),
        Message::Assistant(answer) => answer.agent.clone(),
    }
}

#[tokio::test]
async fn whatever_a_crash_leaves_of_a_task_is_closed_with_its_session() {
    let mut scene = Scene::with(&[("a.rs", "fn foo() {}\n")]);
    let task = json!({"description": "look", "prompt": "Please look.", "subagent_type": "explore"});
    scene.model(vec![call("task", task), batch(json!([read("a.rs")]))]).model(vec![says("Done.")]);
    let look = vec![says("Looking."), call("read", json!({"filePath": "a.rs"}))];
    scene.other("Please look", vec![look, vec![says("Seen.")]]);
    let mut heard = scene.journal.subscribe();
    let session = scene.session().await;
    session.prompt(Prompt::text("go")).await.unwrap();
    let id = session.id().clone();
    let mut events: Vec<Event> = Vec::new();
    while let Ok(event) = heard.try_recv() {
        events.push(event);
    }
    let mut with_open_tasks = 0;
    for cut in 1..=events.len() {
        let journal = Journal::memory();
        for event in &events[..cut] {
            journal.record(event.clone()).await.unwrap();
        }
        let left = Scene { journal: journal.clone(), ..Scene::with(&[]) };
        let open = async || {
            let mut open = 0;
            for child in journal.children(&id, 9).await.unwrap() {
                let history = journal.history(&child.id).await.unwrap();
                let unfinished = |message: &Message| match message {
                    Message::User(_) => false,
                    Message::Assistant(answer) => answer.time.completed.is_none(),
                };
                let messages = history.messages().iter();
                open += messages
                    .filter(|turned| unfinished(&turned.info) || turned.parts.iter().any(|part| part.is_open()))
                    .count();
            }
            open
        };
        with_open_tasks += usize::from(open().await > 0);
        let opened = Session::open(left.setup(), &id).await.unwrap();
        assert_eq!(open().await, 0, "cut at {cut}: a task is open");
        let history = journal.history(&id).await.unwrap();
        let parts = history.messages().iter().flat_map(|turned| &turned.parts);
        assert!(
            parts.clone().all(|part| !part.is_open() && !matches!(part.kind.state(), Some(ToolState::Running { .. }))),
            "cut at {cut}"
        );
        drop(opened);
    }
    assert!(with_open_tasks > 5, "{with_open_tasks}");
}

#[tokio::test]
async fn a_task_that_outlives_its_stopped_session_is_closed_with_it() {
    let mut scene = Scene::with(&[]);
    let task = json!({"description": "hang", "prompt": "Please hang.", "subagent_type": "explore"});
    scene.model(vec![call("task", task)]);
    let hang = "echo begun; trap 'exit' TERM; while :; do sleep 0.01; done";
    scene.other("Please hang", vec![vec![call("bash", json!({"command": hang}))]]);
    let mut heard = scene.journal.subscribe();
    let session = scene.session().await;
    let (end, ()) = tokio::join!(session.prompt(Prompt::text("go")), async {
        let below = |event: &Event| event.session_id() != session.id() && crate::ends::runs(event);
        crate::scene::until(&scene, &session, below).await;
        session.abort().await;
    });
    assert_eq!(end.unwrap(), TurnEnd::Aborted);
    // The program ended before the task did: of the task, nothing was stored any more.
    let journal = Journal::memory();
    let mut runs = false;
    while let Ok(event) = heard.try_recv() {
        let below = event.session_id() != session.id();
        if !(below && runs) {
            journal.record(event.clone()).await.unwrap();
        }
        runs |= below && crate::ends::runs(&event);
    }
    let child = journal.children(session.id(), 9).await.unwrap().remove(0);
    let open = async || {
        let history = journal.history(&child.id).await.unwrap();
        history.messages().iter().flat_map(|turned| &turned.parts).any(|part| part.is_open())
    };
    assert!(open().await);
    let left = Scene { journal: journal.clone(), ..Scene::with(&[]) };
    let _opened = Session::open(left.setup(), session.id()).await.unwrap();
    assert!(!open().await);
}
