//! Answers in a form that was asked for.

use expect_test::expect;
use haft_llm::{Step, ToolChoice};
use haft_protocol::{Message, OutputFormat};
use haft_session::{Prompt, SessionError, TurnEnd, TurnError, TurnLimits};
use serde_json::{Value, json};

use crate::scene::{Scene, call, says, words};

fn person(retries: Option<u32>) -> OutputFormat {
    let schema = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "properties": {"name": {"type": "string"}, "age": {"type": "integer"}},
        "required": ["name", "age"],
    });
    OutputFormat::JsonSchema { schema, retry_count: retries }
}

fn give(value: Value) -> Vec<Step> {
    vec![call("StructuredOutput", value)]
}

/// Asks for a person, and says how it ended, what came, and what went wrong on the last message.
async fn ask(scene: &Scene, retries: Option<u32>) -> (Result<TurnEnd, SessionError>, Option<Value>, Option<String>) {
    let session = scene.session().await;
    let end = session.prompt(Prompt::text("who?").format(person(retries))).await;
    let history = scene.journal.history(session.id()).await.unwrap();
    let answer = history.messages().iter().rev().find_map(|turned| match &turned.info {
        Message::Assistant(answer) => Some(answer),
        Message::User(_) => None,
    });
    let last = answer.unwrap();
    assert!(last.time.completed.is_some());
    (end, last.structured.as_deref().cloned(), last.error.as_ref().map(|error| error.name.clone()))
}

#[tokio::test]
async fn the_answer_is_what_the_model_calls_the_tool_with() {
    let mut scene = Scene::with(&[("a.rs", "fn a() {}\n")]);
    scene.model(vec![call("read", json!({"filePath": "a.rs"}))]);
    scene.model(give(json!({"name": "Ann", "age": 3}))).model(vec![says("never")]);
    let (end, given, error) = ask(&scene, None).await;
    assert_eq!(end.unwrap(), TurnEnd::Finished("stop".to_owned()));
    assert_eq!((given, error), (Some(json!({"name": "Ann", "age": 3})), None));
    let requests = scene.requests.lock().unwrap();
    assert_eq!(requests.len(), 2);
    for request in &*requests {
        assert_eq!(request.tool_choice, ToolChoice::Required);
        let (own, others) = request.tools.split_last().unwrap();
        assert_eq!(own.name, "StructuredOutput");
        assert!(own.parameters.get("$schema").is_none() && others.iter().any(|tool| tool.name == "read"));
        assert!(request.system.contains("calling StructuredOutput") && request.format.is_none());
    }
}

#[tokio::test]
async fn a_model_that_does_not_keep_the_form_is_told_what_is_wrong() {
    let mut scene = Scene::with(&[]);
    scene.model(give(json!({"name": "Ann"}))).model(vec![says("Ann is three.")]);
    scene.model(give(json!({"name": "Ann", "age": 3})));
    let session = scene.session().await;
    let end = session.prompt(Prompt::text("who?").format(person(None))).await;
    scene
        .compare(
            &session,
            end,
            expect![[r#"
                user
                  text: who?
                model [tool-calls]
                  StructuredOutput failed: it does not have the form that is wanted:
                model [stop]
                  text: Ann is three.
                user
                  text: Answer by calling StructuredOutput: the answer is no JSON: expected value at line 1 column 1.
                model [tool-calls]
                  StructuredOutput: Structured Output
                end: Finished("stop")
            "#]],
        )
        .await;
}

#[tokio::test]
async fn words_that_have_the_form_are_the_answer_too() {
    let mut scene = Scene::with(&[]);
    scene.model(vec![says("```json\n{\"name\": \"Ann\", \"age\": 3}\n```")]);
    let (end, given, _) = ask(&scene, None).await;
    assert_eq!(end.unwrap(), TurnEnd::Finished("stop".to_owned()));
    assert_eq!(given, Some(json!({"name": "Ann", "age": 3})));
}

#[tokio::test]
async fn it_is_asked_again_as_often_as_was_said() {
    for (retries, requests) in [(None, 3), (Some(0), 1), (Some(4), 5)] {
        let mut scene = Scene::with(&[]);
        for age in 0..9 {
            scene.model(give(json!({"age": age.to_string()})));
        }
        let (end, given, error) = ask(&scene, retries).await;
        let Err(SessionError::Turn(TurnError::Form { why, retries: tried })) = end else { panic!("{end:?}") };
        assert!(why.contains("/age") && why.contains("\"name\" is a required property"), "{why}");
        assert_eq!((tried + 1, given, error.as_deref()), (requests, None, Some("StructuredOutputError")));
        assert_eq!(scene.requests.lock().unwrap().len(), requests as usize, "{retries:?}");
    }
}

#[tokio::test]
async fn arguments_that_are_no_json_count_as_a_try() {
    let mut scene = Scene::with(&[]);
    let broken = Step::Call { tool: "StructuredOutput".to_owned(), arguments: "[1, {".to_owned(), id: None };
    scene.model(vec![broken.clone()]).model(vec![broken]).model(vec![says("never")]);
    let (end, ..) = ask(&scene, Some(1)).await;
    assert!(matches!(end, Err(SessionError::Turn(TurnError::Form { retries: 1, .. }))), "{end:?}");
}

#[tokio::test]
async fn in_the_last_step_nothing_else_can_be_called() {
    let mut scene = Scene::with(&[]);
    scene.options.limits = TurnLimits { steps: Some(2), cost: None };
    scene.model(vec![call("bash", json!({"command": "true"}))]);
    scene.model([vec![call("bash", json!({"command": "touch x"}))], give(json!({"name": "Ann", "age": 3}))].concat());
    let (end, given, _) = ask(&scene, None).await;
    assert_eq!(end.unwrap(), TurnEnd::Finished("stop".to_owned()));
    assert_eq!(given, Some(json!({"name": "Ann", "age": 3})));
    assert!(!scene.project().join("x").exists());
    let requests = scene.requests.lock().unwrap();
    assert_eq!(requests[1].tools.len(), 1);
}

#[tokio::test]
async fn a_model_without_tools_is_held_to_the_form_by_its_vendor() {
    let mut scene = Scene::with(&[]);
    scene.calls_tools = false;
    scene.model(vec![says("Ann")]).model(vec![says("{\"name\": \"Ann\", \"age\": 3}")]);
    let (end, given, _) = ask(&scene, None).await;
    assert_eq!(end.unwrap(), TurnEnd::Finished("stop".to_owned()));
    assert_eq!(given, Some(json!({"name": "Ann", "age": 3})));
    let requests = scene.requests.lock().unwrap();
    let format = requests[0].format.as_ref().unwrap();
    assert_eq!(format.schema["required"], json!(["name", "age"]));
    assert!(requests[0].tools.iter().all(|tool| tool.name != "StructuredOutput"));
    let told = words(&requests[1]).pop().unwrap();
    assert!(told.starts_with("user: Answer with one JSON value"), "{told}");
}

#[tokio::test]
async fn the_next_prompt_asks_for_words_again_and_what_was_asked_is_kept() {
    let mut scene = Scene::with(&[]);
    scene.model(give(json!({"name": "Ann", "age": 3}))).model(vec![says("You are welcome.")]);
    let session = scene.session().await;
    session.prompt(Prompt::text("who?").format(person(Some(1)))).await.unwrap();
    session.prompt(Prompt::text("thanks")).await.unwrap();
    {
        let requests = scene.requests.lock().unwrap();
        assert_eq!(requests[1].tool_choice, ToolChoice::Auto);
        assert!(requests[1].tools.iter().all(|tool| tool.name != "StructuredOutput"));
    }
    let history = scene.journal.history(session.id()).await.unwrap();
    let Message::User(asked) = &history.messages()[0].info else { panic!("a prompt") };
    assert_eq!(asked.format, Some(person(Some(1))));
}

#[tokio::test]
async fn what_is_no_schema_is_refused_before_anything_is_stored() {
    let scene = Scene::with(&[]);
    let session = scene.session().await;
    let format = OutputFormat::JsonSchema { schema: json!({"type": "objekt"}), retry_count: None };
    let error = session.prompt(Prompt::text("who?").format(format)).await.unwrap_err().to_string();
    assert!(error.contains("the form of the answer: it is no JSON Schema"), "{error}");
    assert!(scene.journal.history(session.id()).await.unwrap().messages().is_empty());
}
