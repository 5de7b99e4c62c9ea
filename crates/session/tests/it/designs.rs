//! Agents that a model designs.

use serde_json::json;

use crate::scene::{Scene, call, says, words};

fn gives(name: &str) -> haft_llm::Step {
    let given = json!({"identifier": name, "whenToUse": "Reviews SQL.", "systemPrompt": " You review SQL.\n"});
    call("StructuredOutput", given)
}

#[tokio::test]
async fn an_agent_is_designed_in_one_answer_with_nothing_but_the_description() {
    let mut scene = Scene::with(&[("AGENTS.md", "Be nice.\n")]);
    scene.model(vec![gives("Bad Name")]).model(vec![gives("build")]).model(vec![gives("sql-reviewer")]);
    let taken = ["build".to_owned(), "plan".to_owned()];
    let design = haft_session::design(scene.setup(), "Reviews @AGENTS.md and SQL", &taken).await.unwrap();
    assert_eq!((design.name.as_str(), design.description.as_str()), ("sql-reviewer", "Reviews SQL."));
    assert_eq!(design.prompt, "You review SQL.");
    let requests = scene.requests.lock().unwrap();
    assert_eq!(requests.len(), 3, "it is told what is wrong");
    let first = &requests[0];
    let tools: Vec<&str> = first.tools.iter().map(|tool| tool.name.as_str()).collect();
    assert_eq!((tools, first.temperature), (vec!["StructuredOutput"], Some(0.3)));
    assert!(words(first)[0].contains("Reviews @AGENTS.md and SQL") && words(first)[0].ends_with("build, plan"));
    assert!(first.system.starts_with("You design agents") && !first.system.contains("Be nice."), "{}", first.system);
}

#[tokio::test]
async fn a_model_that_gives_none_is_an_error() {
    let mut scene = Scene::with(&[]);
    for _ in 0..3 {
        scene.model(vec![says("I would rather talk about it.")]);
    }
    let error = haft_session::design(scene.setup(), "x", &[]).await.unwrap_err().to_string();
    assert!(error.contains("the model gave no answer of the form that was asked for"), "{error}");
}
