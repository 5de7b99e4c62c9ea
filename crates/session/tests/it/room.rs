//! What fits into a model's context, and what does not.

use haft_protocol::Message;
use haft_session::{Limits, Prompt, SessionError, TurnEnd, TurnError};

use serde_json::json;

use crate::scene::{Scene, call, edit, says};

#[tokio::test]
async fn a_request_that_cannot_fit_is_not_sent_and_says_its_numbers() {
    let mut scene = Scene::with(&[]);
    scene.limits = Limits { context: 10_000, input: 0, output: 4_000 };
    scene.model(vec![says("Fine.")]).model(vec![says("never")]);
    let session = scene.session().await;
    assert_eq!(session.prompt(Prompt::text("go")).await.unwrap(), TurnEnd::Finished("stop".to_owned()));
    let error = session.prompt(Prompt::text("long ".repeat(20_000))).await.unwrap_err();
    let SessionError::Turn(TurnError::TooLarge { estimate, limit, .. }) = &error else { panic!("{error}") };
    assert_eq!(*limit, 10_000);
    assert!((27_778..28_000).contains(&estimate.messages), "{estimate:?}");
    assert!(estimate.system > 100 && estimate.tools > 1_000, "{estimate:?}");
    let text = error.to_string();
    for told in ["script/scene reads at most 10000", &format!("conversation {}", estimate.messages)] {
        assert!(text.contains(told), "{text}");
    }
    assert_eq!(scene.requests.lock().unwrap().len(), 1);
    let history = scene.journal.history(session.id()).await.unwrap();
    let Some(Message::Assistant(last)) = history.messages().last().map(|turned| &turned.info) else { panic!("none") };
    assert_eq!(last.error.as_ref().unwrap().name, "ContextOverflowError");
}

#[tokio::test]
async fn the_answer_gets_what_the_request_leaves() {
    let mut scene = Scene::with(&[]);
    scene.limits = Limits { context: 32_000, input: 0, output: 30_000 };
    scene.model(vec![says("One.")]).model(vec![says("Two.")]);
    let session = scene.session().await;
    session.prompt(Prompt::text("go")).await.unwrap();
    session.prompt(Prompt::text("x".repeat(36_000))).await.unwrap();
    let requests = scene.requests.lock().unwrap();
    let asked: Vec<u64> = requests.iter().map(|request| request.max_output.unwrap()).collect();
    let sizes: Vec<u64> = requests.iter().map(|request| haft_session::Estimate::of(request).total()).collect();
    assert_eq!([asked[0] + sizes[0], asked[1] + sizes[1]], [32_000, 32_000], "{asked:?} {sizes:?}");
    assert!(asked[0] > 25_000 && asked[1] < asked[0] - 9_999, "{asked:?}");
}

#[tokio::test]
async fn what_was_sent_once_is_sent_the_same_again() {
    let mut scene = Scene::with(&[("a.rs", "fn a() {}\n")]);
    scene.model(vec![says("Reading."), call("read", json!({"filePath": "a.rs"}))]);
    scene.model(vec![edit("fn a", "fn b"), call("reed", json!({}))]);
    scene.model(vec![says("Done.")]).model(vec![says("Again.")]);
    let session = scene.session().await;
    session.prompt(Prompt::text("go")).await.unwrap();
    session.prompt(Prompt::text("again")).await.unwrap();
    let requests = scene.requests.lock().unwrap();
    assert_eq!(requests.len(), 4);
    for two in requests.windows(2) {
        assert_eq!((&two[0].system, &two[0].tools), (&two[1].system, &two[1].tools));
        assert_eq!(two[0].messages[..], two[1].messages[..two[0].messages.len()]);
        assert!(two[1].messages.len() > two[0].messages.len());
    }
}
