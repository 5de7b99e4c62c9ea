//! Turns that do not go to their end: broken streams, stops, questions nobody answers.

use expect_test::expect;
use haft_llm::{FailKind, Failing, Step};
use haft_permission::Action;
use haft_protocol::{Event, Reply, Session as Record, ToolState};
use haft_session::{Prompt, Session, SessionError, TurnEnd};
use serde_json::json;

use crate::scene::{Scene, call, says, until};

#[tokio::test]
async fn a_stream_that_breaks_leaves_a_session_that_goes_on() {
    let mut scene = Scene::with(&[]);
    let broken = Step::Fail(Failing::new(FailKind::Rejected, "no"));
    scene.model(vec![says("Half"), call("bash", json!({"command": "touch x"})), broken]).model(vec![says("Whole.")]);
    let session = scene.session().await;
    let end = session.prompt(Prompt::text("go")).await;
    scene
        .compare(
            &session,
            end,
            expect![[r#"
        user
          text: go
        model [unfinished error: APIError]
          text: Half
          bash failed: this call was not run: everything stopped before its turn came
        end: error: script did not take the request: no
    "#]],
        )
        .await;
    assert!(!scene.project().join("x").exists(), "no call of a broken answer is run");
    let end = session.prompt(Prompt::text("go on")).await;
    scene
        .compare(
            &session,
            end,
            expect![[r#"
        user
          text: go
        model [unfinished error: APIError]
          text: Half
          bash failed: this call was not run: everything stopped before its turn came
        user
          text: go on
        model [stop]
          text: Whole.
        end: Finished("stop")
    "#]],
        )
        .await;
    let requests = scene.requests.lock().unwrap();
    assert_eq!(requests[1].messages.len(), 2, "a failed answer is not part of the conversation");
}

pub(crate) fn runs(event: &Event) -> bool {
    matches!(event, Event::PartUpdated { part, .. }
        if matches!(part.kind.state(), Some(ToolState::Running { metadata: Some(_), .. })))
}

#[tokio::test]
async fn a_stop_ends_the_running_command() {
    let mut scene = Scene::with(&[]);
    let command = "echo begun; trap 'echo ended; exit' TERM; while :; do sleep 0.01; done";
    scene.model(vec![call("bash", json!({"command": command}))]).model(vec![says("never asked")]);
    let session = scene.session().await;
    let (end, ()) = tokio::join!(session.prompt(Prompt::text("go")), async {
        until(&scene, &session, runs).await;
        session.abort().await;
    });
    scene
        .compare(
            &session,
            end,
            expect![[r#"
        user
          text: go
        model [tool-calls error: MessageAbortedError]
          bash: echo begun; trap 'echo ended; exit' TERM; while :; do sleep 0.01; done
        end: Aborted
    "#]],
        )
        .await;
}

#[tokio::test]
async fn a_stop_ends_the_stream() {
    let mut scene = Scene::with(&[]);
    scene.model(vec![says("Half a"), Step::Hang]).model(vec![says("Whole.")]);
    let session = scene.session().await;
    let (end, ()) = tokio::join!(session.prompt(Prompt::text("go")), async {
        until(&scene, &session, |event| matches!(event, Event::PartDelta { .. })).await;
        session.abort().await;
    });
    assert_eq!(end.unwrap(), TurnEnd::Aborted);
    let end = session.prompt(Prompt::text("go on")).await;
    assert_eq!(end.unwrap(), TurnEnd::Finished("stop".to_owned()));
}

#[tokio::test]
async fn a_stop_takes_an_open_question_back() {
    let mut scene = Scene::with(&[]);
    // A person is there, but says nothing to this question.
    scene
        .rule("bash", Action::Ask)
        .person(Reply::Once)
        .model(vec![call("bash", json!({"command": "true"})), call("bash", json!({"command": "touch x"}))]);
    let setup = scene.setup();
    let gate = setup.gate.clone();
    let session = Session::create(setup, haft_session::NewSession::default()).await.unwrap();
    let mut events = scene.journal.subscribe();
    let (end, ()) = tokio::join!(session.prompt(Prompt::text("go")), async {
        while gate.waiting().len() < 2 {
            events.recv().await.unwrap();
        }
        session.abort().await;
    });
    assert!(gate.waiting().is_empty());
    scene
        .compare(
            &session,
            end,
            expect![[r#"
        user
          text: go
        model [tool-calls error: MessageAbortedError]
          bash failed: the call was stopped before anybody answered
          bash failed: the call was stopped before anybody answered
        end: Aborted
    "#]],
        )
        .await;
    assert!(!scene.project().join("x").exists());
}

#[tokio::test]
async fn the_turn_stops_with_the_last_handle() {
    let mut scene = Scene::with(&[]);
    scene.model(vec![says("Talking."), Step::Hang]);
    let session = scene.session().await;
    let id = session.id().clone();
    {
        let mut turn = std::pin::pin!(session.prompt(Prompt::text("go")));
        tokio::select! {
            _ = &mut turn => panic!("it hangs"),
            () = until(&scene, &session, |event| matches!(event, Event::PartDelta { .. })) => {}
        }
    }
    drop(session);
    // The lease is free again once the task has closed everything and ended.
    while scene.journal.claim(&id).is_err() {
        tokio::task::yield_now().await;
    }
    let history = scene.journal.history(&id).await.unwrap();
    assert!(history.messages().iter().flat_map(|turned| &turned.parts).all(|part| !part.is_open()));
}

#[tokio::test]
async fn a_session_has_one_owner() {
    let mut scene = Scene::with(&[]);
    scene.model(vec![says("Hello.")]);
    let session = scene.session().await;
    let second = Session::open(scene.setup(), session.id()).await;
    assert!(matches!(second, Err(SessionError::Store(haft_store::StoreError::Busy { .. }))));
}

#[tokio::test]
async fn a_store_that_fails_ends_the_turn_with_its_reason() {
    let mut scene = Scene::with(&[]);
    scene.model(vec![says("Hello."), Step::Hang]);
    let session = scene.session().await;
    scene.journal.close().await.unwrap();
    let error = session.prompt(Prompt::text("go")).await.unwrap_err();
    assert!(matches!(error, SessionError::Turn(haft_session::TurnError::Store(_)) | SessionError::Store(_)), "{error}");
}

#[tokio::test]
async fn what_was_used_is_booked_on_the_session() {
    let mut scene = Scene::with(&[]);
    let usage =
        haft_llm::Usage { input: 100, output: 10, reasoning: 5, cache_read: 50, cache_write: 1, total: Some(166) };
    scene
        .model(vec![call("bash", json!({"command": "true"})), Step::Usage(usage)])
        .model(vec![says("Done."), Step::Usage(usage)]);
    let session = scene.session().await;
    session.prompt(Prompt::text("go")).await.unwrap();
    let record: Record = scene.journal.session(session.id()).await.unwrap().unwrap();
    assert_eq!(
        serde_json::to_value(record.tokens).unwrap(),
        json!({"input": 200, "output": 20, "reasoning": 10, "cache": {"read": 100, "write": 2}})
    );
}
