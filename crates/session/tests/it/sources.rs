//! Tools that come and go, and what a model is sent of them.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use expect_test::expect;
use futures::future::BoxFuture;
use haft_permission::Action;
use haft_session::{NewSession, Prompt, Session};
use haft_tool::{AnyTool, Call, Output, Source, Spec, ToolError};
use serde_json::{Value, json};

use crate::scene::{Scene, call, says};

/// A server whose tools a test changes.
#[derive(Default)]
struct Server {
    tools: Mutex<Vec<String>>,
    version: AtomicU64,
}

struct Foreign(String);

impl AnyTool for Foreign {
    fn spec(&self) -> Spec {
        let text = json!({"type": "string", "description": "What this is about, in a few words of the usual length."});
        let parameters = json!({"type": "object", "properties": {"text": text}, "required": ["text"]});
        let description = format!("Does {} for whoever asks, and says what came of it in a sentence or two.", self.0);
        Spec { name: self.0.clone(), description, parameters }
    }

    fn run<'a>(&'a self, input: Value, call: &'a Call) -> BoxFuture<'a, Result<Output, ToolError>> {
        Box::pin(async move {
            call.ask(haft_permission::Access::new(&self.0, "*")).await?;
            Ok(Output::new(format!("{} was called", self.0), input["text"].as_str().unwrap_or("nothing")))
        })
    }
}

impl Server {
    fn with(tools: impl IntoIterator<Item = String>) -> Arc<Self> {
        let server = Arc::new(Self::default());
        server.has(tools);
        server
    }

    fn has(&self, tools: impl IntoIterator<Item = String>) {
        *self.tools.lock().unwrap() = tools.into_iter().collect();
        self.version.fetch_add(1, Ordering::Relaxed);
    }
}

impl Source for Server {
    fn name(&self) -> &str {
        "srv"
    }

    fn tools(&self) -> Vec<Arc<dyn AnyTool>> {
        let names = self.tools.lock().unwrap().clone();
        names.into_iter().map(|name| Arc::new(Foreign(name)) as Arc<dyn AnyTool>).collect()
    }

    fn version(&self) -> u64 {
        self.version.load(Ordering::Relaxed)
    }
}

/// The names of the tools that the model was sent with its `at`th request.
fn sent(scene: &Scene, at: usize) -> Vec<String> {
    let requests = scene.requests.lock().unwrap();
    requests[at].tools.iter().map(|tool| tool.name.clone()).collect()
}

/// About how many tokens the definitions of a request are.
fn tokens(scene: &Scene, at: usize) -> usize {
    let requests = scene.requests.lock().unwrap();
    let size = |tool: &haft_llm::ToolSpec| {
        json!({"name": tool.name, "description": tool.description, "parameters": tool.parameters}).to_string().len()
    };
    haft_tool::tokens(requests[at].tools.iter().map(size).sum())
}

async fn ask(scene: &Scene) {
    let session = scene.session().await;
    session.prompt(Prompt::text("go")).await.unwrap();
}

#[tokio::test]
async fn a_hundred_tools_over_the_budget_cost_a_few_hundred_tokens() {
    let mut scene = Scene::with(&[]);
    scene.model(vec![says("Done.")]);
    ask(&scene).await;
    let without = tokens(&scene, 0);

    let mut scene = Scene::with(&[]);
    scene.sources = vec![Server::with((0..100).map(|n| format!("srv_tool_{n}")))];
    scene.model(vec![says("Done.")]);
    ask(&scene).await;
    let more = tokens(&scene, 0) - without;
    assert!(more <= 500, "{more} tokens more");
    let sent = sent(&scene, 0);
    assert!(sent.contains(&"tool_search".to_owned()) && sent.contains(&"tool_call".to_owned()), "{sent:?}");
}

#[tokio::test]
async fn what_is_not_sent_is_found_and_called_as_what_it_is() {
    let mut scene = Scene::with(&[]);
    scene.options.tools_budget = Some(1);
    scene.sources = vec![Server::with(["srv_weather".to_owned(), "srv_mail".to_owned()])];
    scene.rule("srv_mail", Action::Deny);
    scene.model(vec![call("tool_search", json!({"query": "weather"}))]);
    scene.model(vec![call("tool_call", json!({"name": "srv_weather", "arguments": {"text": "rain"}}))]);
    scene.model(vec![call("tool_call", json!({"name": "srv_mail", "arguments": {"text": "x"}}))]);
    scene.model(vec![call("srv_weather", json!({"text": "sun"})), call("tool_call", json!({}))]);
    scene.model(vec![says("Done.")]);
    scene
        .check(expect![[r#"
            user
              text: go
            model [tool-calls]
              tool_search: 1 of 1 tools
            model [tool-calls]
              srv_weather: srv_weather was called
            model [tool-calls]
              invalid: Invalid call
            model [tool-calls]
              srv_weather: srv_weather was called
              invalid: Invalid call
            model [stop]
              text: Done.
            end: Finished("stop")
        "#]])
        .await;
}

#[tokio::test]
async fn what_was_sent_stays_while_the_tools_change() {
    let mut scene = Scene::with(&[]);
    let server = Server::with(["srv_a".to_owned()]);
    scene.sources = vec![server.clone()];
    scene.model(vec![says("One.")]);
    scene.model(vec![call("srv_b", json!({"text": "x"})), call("srv_a", json!({"text": "x"}))]);
    scene.model(vec![says("Two.")]);
    let session = scene.session().await;
    session.prompt(Prompt::text("one")).await.unwrap();
    server.has(["srv_b".to_owned()]);
    let end = session.prompt(Prompt::text("two")).await;
    assert_eq!(sent(&scene, 0), sent(&scene, 1));
    assert!(sent(&scene, 0).contains(&"srv_a".to_owned()));
    scene
        .compare(
            &session,
            end,
            expect![[r#"
                user
                  text: one
                model [stop]
                  text: One.
                user
                  text: two
                model [tool-calls]
                  srv_b: srv_b was called
                  invalid: Invalid call
                model [stop]
                  text: Two.
                end: Finished("stop")
            "#]],
        )
        .await;
    // Another session is sent what there is by then.
    let other = Session::create(scene.setup(), NewSession::default()).await.unwrap();
    other.prompt(Prompt::text("three")).await.unwrap();
    assert!(scene.requests.lock().unwrap().last().unwrap().tools.iter().any(|tool| tool.name == "srv_b"));
}
