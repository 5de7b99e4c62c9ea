//! Steps, calls and answers as they should go.

use std::sync::Arc;

use expect_test::expect;
use futures::future::BoxFuture;
use haft_llm::{AssistantPart, Message, Request, Step};
use haft_permission::Action;
use haft_protocol::Reply;
use haft_session::{Prompt, TurnEnd};
use haft_tool::{AnyTool, Call, Output, Spec, ToolError};
use serde_json::{Value, json};

use crate::scene::{Scene, call, edit, says};

#[tokio::test]
async fn a_model_that_asks_for_nothing_ends_the_turn() {
    let mut scene = Scene::with(&[]);
    scene.model(vec![Step::Reasoning("Hm.".to_owned()), says("Hello.")]);
    scene
        .check(expect![[r#"
        user
          text: go
        model [stop]
          thinks: Hm.
          text: Hello.
        end: Finished("stop")
    "#]])
        .await;
}

#[tokio::test]
async fn calls_are_run_and_their_results_read() {
    let mut scene = Scene::with(&[("a.rs", "fn foo() {}\n")]);
    scene
        .model(vec![
            says("Reading."),
            call("read", json!({"filePath": "a.rs"})),
            call("bash", json!({"command": "echo hi"})),
        ])
        .model(vec![edit("foo", "bar")])
        .model(vec![says("Done.")]);
    scene
        .check(expect![[r#"
        user
          text: go
        model [tool-calls]
          text: Reading.
          read: a.rs
          bash: echo hi
        model [tool-calls]
          edit: a.rs
        model [stop]
          text: Done.
        end: Finished("stop")
    "#]])
        .await;
    assert_eq!(std::fs::read_to_string(scene.project().join("a.rs")).unwrap(), "fn bar() {}\n");
}

#[tokio::test]
async fn a_failing_call_is_the_models_to_read() {
    let mut scene = Scene::with(&[("a.rs", "fn foo() {}\n")]);
    scene
        .model(vec![
            edit("nothing like it", "bar"),
            call("reed", json!({})),
            Step::Call { tool: "read".to_owned(), arguments: "{broken".to_owned(), id: None },
        ])
        .model(vec![says("I see.")]);
    scene.check(expect![[r#"
        user
          text: go
        model [tool-calls]
          edit failed: PROJECT/a.rs does not contain oldString. Nothing like it is there. Read the file again and copy the text exactly.
          invalid: Invalid call
          invalid: Invalid call
        model [stop]
          text: I see.
        end: Finished("stop")
    "#]]).await;
}

#[tokio::test]
async fn a_refusal_with_advice_goes_back_to_the_model() {
    let mut scene = Scene::with(&[("a.rs", "fn foo() {}\n")]);
    scene
        .rule("edit", Action::Ask)
        .model(vec![edit("foo", "bar")])
        .model(vec![says("Fine.")])
        .person(Reply::Reject { advice: Some("keep the name".to_owned()) });
    scene
        .check(expect![[r#"
        user
          text: go
        model [tool-calls]
          edit failed: the user refused this call and says: keep the name
        model [stop]
          text: Fine.
        end: Finished("stop")
    "#]])
        .await;
    assert_eq!(std::fs::read_to_string(scene.project().join("a.rs")).unwrap(), "fn foo() {}\n");
}

#[tokio::test]
async fn a_plain_refusal_ends_the_turn() {
    let mut scene = Scene::with(&[("a.rs", "fn foo() {}\n")]);
    scene
        .rule("edit", Action::Ask)
        .model(vec![edit("foo", "bar"), call("read", json!({"filePath": "a.rs"}))])
        .model(vec![says("never asked")])
        .person(Reply::Reject { advice: None });
    scene
        .check(expect![[r#"
        user
          text: go
        model [tool-calls]
          edit failed: the user refused this call
          read: a.rs
        end: Refused
    "#]])
        .await;
}

#[tokio::test]
async fn always_is_asked_once() {
    let mut scene = Scene::with(&[("a.rs", "fn foo() {}\n")]);
    scene
        .rule("edit", Action::Ask)
        .model(vec![edit("foo", "bar")])
        .model(vec![edit("bar", "baz")])
        .model(vec![says("Done.")])
        .person(Reply::Always);
    scene
        .check(expect![[r#"
        user
          text: go
        model [tool-calls]
          edit: a.rs
        model [tool-calls]
          edit: a.rs
        model [stop]
          text: Done.
        end: Finished("stop")
    "#]])
        .await;
    assert_eq!(std::fs::read_to_string(scene.project().join("a.rs")).unwrap(), "fn baz() {}\n");
}

#[tokio::test]
async fn a_tool_that_panics_fails_by_itself() {
    struct Bomb;
    impl AnyTool for Bomb {
        fn spec(&self) -> Spec {
            Spec { name: "bomb".to_owned(), description: "Goes off.".to_owned(), parameters: json!({"type": "object"}) }
        }
        fn run<'a>(&'a self, _input: Value, _call: &'a Call) -> BoxFuture<'a, Result<Output, ToolError>> {
            Box::pin(async { panic!("boom") })
        }
    }
    let mut scene = Scene::with(&[]);
    scene.extra.push(Arc::new(Bomb));
    scene
        .model(vec![call("bomb", json!({})), call("bash", json!({"command": "true"}))])
        .model(vec![says("Still here.")]);
    scene
        .check(expect![[r#"
        user
          text: go
        model [tool-calls]
          bomb failed: bomb crashed, which is a defect of haft (boom). Try another way
          bash: true
        model [stop]
          text: Still here.
        end: Finished("stop")
    "#]])
        .await;
}

#[tokio::test]
async fn a_longer_history_begins_with_what_the_shorter_one_gave() {
    let mut scene = Scene::with(&[("a.rs", "fn foo() {}\n")]);
    scene
        .model(vec![Step::Reasoning("Hm.".to_owned()), says("One."), call("read", json!({"filePath": "a.rs"}))])
        .model(vec![call("read", json!({"filePath": "none"})), call("reed", json!({}))])
        .model(vec![says("Two.")])
        .model(vec![says("Three.")]);
    let session = scene.session().await;
    session.prompt(Prompt::text("first")).await.unwrap();
    session.prompt(Prompt::text("second")).await.unwrap();
    let requests: Vec<Request> = scene.requests.lock().unwrap().clone();
    assert_eq!(requests.len(), 4);
    for pair in requests.windows(2) {
        assert_eq!((&pair[0].system, &pair[0].tools), (&pair[1].system, &pair[1].tools));
        assert_eq!(*pair[0].messages, pair[1].messages[..pair[0].messages.len()]);
        // And it is made once: a step does not pay again for what came before it.
        let same = pair[0].messages.iter().zip(&pair[1].messages).all(|(before, after)| Arc::ptr_eq(before, after));
        assert!(same, "a message was made again");
    }
}

#[tokio::test]
async fn a_tool_that_is_denied_altogether_is_neither_offered_nor_run() {
    let mut scene = Scene::with(&[]);
    scene.rule("bash", Action::Deny).model(vec![call("bash", json!({"command": "touch x"}))]).model(vec![says("No.")]);
    scene
        .check(expect![[r#"
        user
          text: go
        model [tool-calls]
          invalid: Invalid call
        model [stop]
          text: No.
        end: Finished("stop")
    "#]])
        .await;
    let offered: Vec<String> = scene.requests.lock().unwrap()[0].tools.iter().map(|tool| tool.name.clone()).collect();
    let all = scene.setup().registry.offered("m", |_| true).specs().into_iter().map(|spec| spec.name);
    // Without commands there are no jobs.
    let all: Vec<String> = all.filter(|name| !["bash", "job_kill", "job_output"].contains(&name.as_str())).collect();
    assert_eq!(offered, all);
    assert!(!scene.project().join("x").exists());
}

#[tokio::test]
async fn a_step_without_words_or_calls_ends_the_turn() {
    let mut scene = Scene::with(&[]);
    scene.model(vec![]).model(vec![says("Here I am.")]);
    let session = scene.session().await;
    assert_eq!(session.prompt(Prompt::text("a")).await.unwrap(), TurnEnd::Finished("stop".to_owned()));
    // The empty answer is not part of what the model is sent, and its number is played again.
    session.prompt(Prompt::text("b")).await.unwrap();
    let requests = scene.requests.lock().unwrap();
    assert!(!requests[1].messages.iter().any(|message| {
        matches!(&**message, Message::Assistant { parts } if parts.is_empty() || matches!(&parts[0], AssistantPart::Text { text, .. } if text.is_empty()))
    }));
}
