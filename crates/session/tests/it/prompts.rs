//! Prompts that come while a turn runs, and who answers them.

use std::sync::Arc;

use expect_test::expect;
use futures::future::BoxFuture;
use haft_llm::{Content, FailKind, Failing, Message as Sent, Step};
use haft_permission::{Action, Rule};
use haft_protocol::{Event, Failure, Status};
use haft_session::{Delivery, Draft, Mode, Prompt, Session, SessionError, TurnEnd};
use haft_tool::{AnyTool, Call, Output, Spec, ToolError};
use serde_json::{Value, json};

use crate::ends::runs;
use crate::scene::{Scene, agent, call, says, until, words};

/// A command that runs until there is a file `go`.
fn waits() -> Step {
    call("bash", json!({"command": "echo begun; while ! [ -e go ]; do sleep 0.01; done"}))
}

/// Waits until a message with these words is stored.
async fn stored(scene: &Scene, session: &Session, words: &str) {
    let has = |event: &Event| {
        matches!(event, Event::PartUpdated { part, .. }
        if matches!(&part.kind, haft_protocol::PartKind::Text { text, .. } if text == words))
    };
    until(scene, session, has).await;
}

fn go(scene: &Scene) {
    std::fs::write(scene.project().join("go"), "").unwrap();
}

#[tokio::test]
async fn a_prompt_that_comes_meanwhile_steers_the_turn() {
    let mut scene = Scene::with(&[]);
    scene.model(vec![waits()]).model(vec![call("bash", json!({"command": "echo two"}))]).model(vec![says("Both.")]);
    scene.model(vec![says("Third.")]);
    let session = scene.session().await;
    let (first, second, ()) = tokio::join!(
        session.prompt(Prompt::text("one")),
        async {
            until(&scene, &session, runs).await;
            session.prompt(Prompt::text("and two")).await
        },
        async {
            stored(&scene, &session, "and two").await;
            go(&scene);
        }
    );
    assert_eq!(second.unwrap(), TurnEnd::Finished("stop".to_owned()));
    scene
        .compare(
            &session,
            first,
            expect![[r#"
                user
                  text: one
                model [tool-calls]
                  bash: echo begun; while ! [ -e go ]; do sleep 0.01; done
                user
                  text: and two
                model [tool-calls]
                  bash: echo two
                model [stop]
                  text: Both.
                end: Finished("stop")
            "#]],
        )
        .await;
    session.prompt(Prompt::text("three")).await.unwrap();
    let requests = scene.requests.lock().unwrap().clone();
    expect![[r#"
        [
            "user: one",
            "model: (bash)",
            "results: 1",
            "user: <system-reminder>\nThe user wrote this while you were at work. Take it into account, and go on with what is still to be done.\n\nand two\n</system-reminder>",
            "model: (bash)",
            "results: 1",
            "model: Both.",
            "user: three",
        ]
    "#]]
    .assert_debug_eq(&words(&requests[3]));
    for pair in requests.windows(2) {
        assert_eq!(*pair[0].messages, pair[1].messages[..pair[0].messages.len()], "what was sent stays as it was");
    }
}

#[tokio::test]
async fn a_prompt_may_wait_for_the_end_of_the_turn() {
    let mut scene = Scene::with(&[]);
    scene.model(vec![waits()]).model(vec![says("First.")]).model(vec![says("Second.")]).model(vec![says("Third.")]);
    let session = scene.session().await;
    let queued = |words: &str| session.prompt(Prompt::text(words).delivery(Delivery::Queue));
    let (first, (second, third, ())) = tokio::join!(session.prompt(Prompt::text("one")), async {
        until(&scene, &session, runs).await;
        tokio::join!(biased; queued("two"), queued("three"), async {
            // Behind both of them in the inbox, so that they are taken in when it has its answer.
            assert!(matches!(session.shell("true").await, Err(SessionError::Busy(_))));
            go(&scene);
        })
    });
    assert_eq!(
        (second.unwrap(), third.unwrap()),
        (TurnEnd::Finished("stop".to_owned()), TurnEnd::Finished("stop".to_owned()))
    );
    let transcript = crate::scene::transcript(&scene.journal.history(session.id()).await.unwrap());
    assert_eq!(first.unwrap(), TurnEnd::Finished("stop".to_owned()));
    expect![[r#"
        user
          text: one
        model [tool-calls]
          bash: echo begun; while ! [ -e go ]; do sleep 0.01; done
        model [stop]
          text: First.
        user
          text: two
        model [stop]
          text: Second.
        user
          text: three
        model [stop]
          text: Third.
    "#]]
    .assert_eq(&transcript);
}

#[tokio::test]
async fn a_stop_forgets_the_prompts_that_wait_for_the_end_of_the_turn() {
    let mut scene = Scene::with(&[]);
    scene.model(vec![waits()]).model(vec![says("never asked")]);
    let session = scene.session().await;
    let (first, (second, ())) = tokio::join!(session.prompt(Prompt::text("one")), async {
        until(&scene, &session, runs).await;
        // One behind the other in the inbox: a stop that came first would not be about it.
        tokio::join!(biased; session.prompt(Prompt::text("two").delivery(Delivery::Queue)), async {
            assert!(matches!(session.shell("true").await, Err(SessionError::Busy(_))));
            session.abort().await;
        })
    });
    assert_eq!((first.unwrap(), second.unwrap()), (TurnEnd::Aborted, TurnEnd::Aborted));
    assert_eq!(scene.journal.history(session.id()).await.unwrap().messages().len(), 2);
}

#[tokio::test]
async fn a_prompt_that_comes_with_the_last_words_is_answered_next() {
    let mut scene = Scene::with(&[]);
    scene.model(vec![says("First"), Step::Wait(std::time::Duration::from_millis(50)), says(" answer.")]);
    scene.model(vec![says("Second.")]);
    let session = scene.session().await;
    let (first, second) = tokio::join!(session.prompt(Prompt::text("one")), async {
        until(&scene, &session, |event| matches!(event, Event::PartDelta { .. })).await;
        session.prompt(Prompt::text("two")).await
    });
    second.unwrap();
    scene
        .compare(
            &session,
            first,
            expect![[r#"
                user
                  text: one
                model [stop]
                  text: First answer.
                user
                  text: two
                model [stop]
                  text: Second.
                end: Finished("stop")
            "#]],
        )
        .await;
    let requests = scene.requests.lock().unwrap();
    assert_eq!(words(&requests[1]), ["user: one", "model: First answer.", "user: two"]);
}

#[tokio::test]
async fn a_stop_ends_the_wait_of_all_and_loses_nothing_that_is_stored() {
    let mut scene = Scene::with(&[]);
    scene.model(vec![waits()]).model(vec![says("All of it.")]);
    let session = scene.session().await;
    let (first, second, ()) = tokio::join!(
        session.prompt(Prompt::text("one")),
        async {
            until(&scene, &session, runs).await;
            session.prompt(Prompt::text("two")).await
        },
        async {
            stored(&scene, &session, "two").await;
            session.abort().await;
        }
    );
    assert_eq!((first.unwrap(), second.unwrap()), (TurnEnd::Aborted, TurnEnd::Aborted));
    session.prompt(Prompt::text("three")).await.unwrap();
    let requests = scene.requests.lock().unwrap();
    assert_eq!(words(&requests[1]), ["user: one", "model: (bash)", "results: 1", "user: two", "user: three"]);
}

/// A tool that does not end by itself, also when it is told to.
struct Stubborn;

impl AnyTool for Stubborn {
    fn spec(&self) -> Spec {
        Spec { name: "stubborn".to_owned(), description: "Stays.".to_owned(), parameters: json!({"type": "object"}) }
    }
    fn run<'a>(&'a self, _input: Value, call: &'a Call) -> BoxFuture<'a, Result<Output, ToolError>> {
        let so_far = json!({"output": "one of two\n"});
        call.progress("begun", so_far.as_object().cloned().unwrap_or_default());
        Box::pin(std::future::pending())
    }
}

#[tokio::test(start_paused = true)]
async fn a_prompt_behind_a_stop_is_answered() {
    let mut scene = Scene::with(&[]);
    scene.extra.push(Arc::new(Stubborn));
    scene.model(vec![call("stubborn", json!({}))]).model(vec![says("Instead.")]);
    let session = scene.session().await;
    let mut events = scene.journal.subscribe();
    let (first, second) = tokio::join!(session.prompt(Prompt::text("one")), async {
        until(&scene, &session, runs).await;
        session.abort().await;
        session.prompt(Prompt::text("two")).await
    });
    assert_eq!((first.unwrap(), second.unwrap()), (TurnEnd::Aborted, TurnEnd::Finished("stop".to_owned())));
    let requests = scene.requests.lock().unwrap();
    assert_eq!(words(&requests[1]), ["user: one", "model: (stubborn)", "results: 1", "user: two"]);
    let Sent::Tools { results } = &*requests[1].messages[2] else { panic!("{:?}", requests[1].messages) };
    let [Content::Text { text }] = &results[0].content[..] else { panic!("{results:?}") };
    assert!(results[0].is_error && text.starts_with("one of two\n\nthis call was cut off"), "{text}");
    let mut told = Vec::new();
    while let Ok(event) = events.try_recv() {
        if let Event::SessionError { error, .. } = event {
            told.push(error.name);
        }
    }
    assert_eq!(told, [Failure::ABORTED], "the stop is told once, and the turn behind it is none");
}

#[tokio::test(start_paused = true)]
async fn another_try_asks_the_same_and_a_prompt_that_came_meanwhile_is_answered_once() {
    let mut scene = Scene::with(&[]);
    let fails = Failing { after_ms: Some(3_600_000), ..Failing::new(FailKind::Server, "busy") };
    scene.model(vec![Step::Fail(fails)]).model(vec![says("One.")]).model(vec![says("Two.")]);
    let session = scene.session().await;
    let mut events = scene.journal.subscribe();
    let (first, second) = tokio::join!(session.prompt(Prompt::text("one")), async {
        while !matches!(events.recv().await.unwrap(), Event::SessionStatus { status: Status::Retry { .. }, .. }) {}
        session.prompt(Prompt::text("two")).await
    });
    let finished = TurnEnd::Finished("stop".to_owned());
    assert_eq!((first.unwrap(), second.unwrap()), (finished.clone(), finished));
    let requests = scene.requests.lock().unwrap();
    assert_eq!(requests.len(), 3);
    assert_eq!(requests[0], requests[1]);
    assert_eq!(words(&requests[2]), ["user: one", "model: One.", "user: two"]);
}

#[tokio::test]
async fn no_more_prompts_wait_than_may() {
    let mut scene = Scene::with(&[]);
    scene.model(vec![says("Busy."), Step::Hang]);
    let session = scene.session().await;
    let others = async {
        until(&scene, &session, |event| matches!(event, Event::PartDelta { .. })).await;
        let mut waiting = tokio::task::JoinSet::new();
        for n in 2..=16 {
            let session = session.clone();
            waiting.spawn(async move { session.prompt(Prompt::text(format!("prompt {n}"))).await });
        }
        stored(&scene, &session, "prompt 16").await;
        while scene.journal.history(session.id()).await.unwrap().messages().len() < 17 {
            tokio::task::yield_now().await;
        }
        let error = session.prompt(Prompt::text("one too many")).await.unwrap_err();
        assert!(matches!(error, SessionError::Full { waiting: 16, .. }), "{error}");
        assert!(matches!(session.shell("true").await, Err(SessionError::Busy(_))));
        session.abort().await;
        waiting.join_all().await
    };
    let (first, others) = tokio::join!(session.prompt(Prompt::text("one")), others);
    assert_eq!(first.unwrap(), TurnEnd::Aborted);
    assert!(others.into_iter().all(|end| end.unwrap() == TurnEnd::Aborted));
    let history = scene.journal.history(session.id()).await.unwrap();
    assert_eq!(history.messages().len(), 17, "16 prompts and an answer");
}

#[tokio::test]
async fn a_prompt_for_another_agent_takes_over_after_the_step() {
    let mut scene = Scene::with(&[]);
    scene.agents.push(Draft {
        mode: Some(Mode::Primary),
        prompt: Some("You only talk.".to_owned()),
        rules: vec![Rule::new("bash", "*", Action::Deny)],
        ..agent("talker")
    });
    scene.model(vec![waits()]).model(vec![says("I am the talker.")]);
    let session = scene.session().await;
    let (first, second, ()) = tokio::join!(
        session.prompt(Prompt::text("one")),
        async {
            until(&scene, &session, runs).await;
            session.prompt(Prompt::text("two").agent("talker")).await
        },
        async {
            stored(&scene, &session, "two").await;
            go(&scene);
        }
    );
    assert_eq!(second.unwrap(), TurnEnd::Finished("stop".to_owned()));
    scene
        .compare(
            &session,
            first,
            expect![[r#"
                user
                  text: one
                model [tool-calls]
                  bash: echo begun; while ! [ -e go ]; do sleep 0.01; done
                user
                  text: two
                model [stop]
                  text: I am the talker.
                end: Finished("stop")
            "#]],
        )
        .await;
    let requests = scene.requests.lock().unwrap().clone();
    assert!(requests[0].tools.iter().any(|tool| tool.name == "bash"));
    assert!(!requests[1].tools.iter().any(|tool| tool.name == "bash"));
    assert!(requests[1].system.starts_with("You only talk."));
    let record = scene.journal.session(session.id()).await.unwrap().unwrap();
    assert_eq!(record.agent.as_deref(), Some("talker"));
}

#[tokio::test]
async fn plan_is_reminded_with_each_prompt_and_build_once_it_is_over() {
    let mut scene = Scene::with(&[]);
    scene.model(vec![says("A plan.")]).model(vec![says("A better one.")]).model(vec![says("Done.")]);
    scene.model(vec![says("More.")]);
    let session = scene.session().await;
    for (text, agent) in [("one", "plan"), ("two", "plan"), ("three", "build"), ("four", "build")] {
        session.prompt(Prompt::text(text).agent(agent)).await.unwrap();
    }
    let requests = scene.requests.lock().unwrap().clone();
    let said = words(&requests[3]);
    let reminders: Vec<usize> = said.iter().map(|words| words.matches("<system-reminder>").count()).collect();
    assert_eq!(reminders, [1, 0, 1, 0, 1, 0, 0], "{said:#?}");
    for pair in requests.windows(2) {
        assert_eq!(*pair[0].messages, pair[1].messages[..pair[0].messages.len()]);
    }
    let stored = scene.journal.history(session.id()).await.unwrap();
    assert!(stored.messages().iter().all(|turned| {
        turned.parts.iter().all(|part| !serde_json::to_string(part).unwrap().contains("system-reminder"))
    }));
}

#[tokio::test]
async fn who_is_not_there_cannot_be_asked() {
    let scene = Scene::with(&[]);
    let session = scene.session().await;
    let error = session.prompt(Prompt::text("x").agent("nobody")).await.unwrap_err();
    assert_eq!(error.to_string(), "there is no agent \"nobody\"; those there are: build, plan");
    let error = session.prompt(Prompt::text("x").model("v/m", None)).await.unwrap_err();
    assert!(matches!(error, SessionError::NoModel { .. }), "{error}");
    let error = session.prompt(Prompt::command("nothing", "")).await.unwrap_err();
    assert_eq!(error.to_string(), "there is no command \"nothing\"; those there are: init, review");
    assert!(scene.journal.history(session.id()).await.unwrap().messages().is_empty());
}
