//! One agent doing one scene once.

use anyhow::Result;
use serde_json::Value;
use tokio::runtime::Runtime;

use crate::agent::Agent;
use crate::child::{self, Ran};
use crate::home::Home;
use crate::model_server::{ModelServer, Received};
use crate::scene::Scene;
use crate::stats::ms;

/// What was seen.
#[derive(Debug, Clone)]
pub struct Sample {
    /// What the program took.
    pub ran: Ran,
    /// For each step but the last, the milliseconds from the last byte of the model's answer to the whole of the next
    /// request.
    pub steps: Vec<f64>,
    /// Bytes of each request's body.
    pub sizes: Vec<usize>,
    /// The body of the first request.
    pub first: Option<Value>,
}

impl Sample {
    /// Lets `agent` do `scene` in `home`, with a model of its own that is served by `runtime`.
    ///
    /// # Errors
    ///
    /// When the agent fails or does not do what it was asked; the message says what it did instead.
    pub fn take(runtime: &Runtime, agent: &Agent, home: &Home, scene: Scene) -> Result<Self> {
        let server = runtime.block_on(ModelServer::start(scene.answers(agent.kind)))?;
        home.use_model(agent, server.url())?;
        for (name, text) in scene.files() {
            home.write(&name, &text)?;
        }
        let mut command = home.command(agent);
        match scene {
            Scene::Version => command.arg("--version"),
            Scene::Answer | Scene::Calls | Scene::Burst | Scene::Stream | Scene::Long => {
                command.args(agent.kind.prompt("Do as you are told."))
            }
        };
        let ran = child::run(&mut command, &home.folder().join("printed"), scene.deadline())?;
        let requests = about_work(server.requests());
        scene.check(&requests.iter().map(|request| &request.body).collect::<Vec<_>>())?;
        let steps = requests.windows(2).filter_map(|pair| Some(ms(pair[1].received - pair[0].answered?)));
        Ok(Self {
            ran,
            steps: steps.collect(),
            sizes: requests.iter().map(|request| request.bytes).collect(),
            first: requests.into_iter().next().map(|request| request.body),
        })
    }
}

/// The requests that offer tools. What else an agent asks, such as for a title or for a list of models, goes on beside
/// the work.
fn about_work(requests: Vec<Received>) -> Vec<Received> {
    let offers = |request: &Received| request.body["tools"].as_array().is_some_and(|tools| !tools.is_empty());
    requests.into_iter().filter(offers).collect()
}
