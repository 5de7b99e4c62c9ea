//! haft as a client: servers that the user has set up, and their tools, prompts and resources.
//!
//! A [`Servers`] knows them all. None is spoken to before something of it is needed: what a server had is kept from one
//! run to the next ([`cache`]), and asked for again whenever it is spoken to. One that fails is in nobody's way.
//!
//! Nothing that a server says is taken on trust: names are made harmless ([`naming`]), descriptions and schemas have
//! bounds ([`definition`]), a tool that is described in other words than when it was first let run is asked about again
//! ([`pins`]), arguments are checked, answers are cut, and a program runs in a cage.

pub mod cache;
mod connect;
pub mod convert;
pub mod definition;
mod elicit;
mod http;
pub mod link;
pub mod naming;
pub mod pins;
mod resources;
mod said;
pub mod sampling;
mod search;
pub mod server;
pub mod settings;
mod sse;
pub mod status;
pub mod stdio;
mod tool;
mod traffic;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use futures::future::join_all;
use haft_permission::{Action, Asker, Gate, Rule, Rules};
use haft_project::Processes;
use haft_protocol::Clock;
use haft_tool::Source;
use haft_tool::image::ImageLimits;
use serde_json::{Map, Value};

use self::cache::{Cache, Catalogue, Prompt, Resource};
use self::naming::clean;
use self::pins::Pins;
use self::resources::Resources;
pub use self::search::{Codesearch, Search, Websearch};
use self::server::{Server, ServerSource};
use self::settings::Settings;
use self::status::Status;

/// The permission under which servers are started.
pub const PERMISSION: &str = "mcp";
/// The permission under which one agrees to a tool that is described in other words than before.
pub const CHANGED: &str = "mcp_changed";
/// Longest prompt that a server makes, in bytes.
pub const MAX_PROMPT: usize = 256 * 1024;

/// What servers are given of the world.
pub struct World {
    /// What starts programs.
    pub processes: Processes,
    /// What writes down that they were started.
    gate: Gate,
    asker: Asker,
    rules: Rules,
    /// The folder that is worked in, as an address.
    root: String,
    /// Where it is kept what servers had; nowhere where left out.
    pub cache: Option<Cache>,
    /// Where it is kept what tools were let run.
    pub pins: Arc<dyn Pins>,
    /// What images may be.
    pub images: ImageLimits,
    /// How often one that is idle is asked whether it is still there; [`HEALTH`](server::HEALTH).
    pub health: Duration,
    /// Where it is kept what servers gave when the user signed in; nobody signs in where left out.
    pub tokens: Option<crate::oauth::Store>,
}

impl World {
    /// Servers for work in `directory`, an absolute folder. `gate` writes down what is started.
    pub fn new(directory: PathBuf, processes: Processes, gate: Gate, pins: Arc<dyn Pins>) -> Self {
        // The session is nobody's: servers belong to all of them.
        let asker = Asker { session: Clock::system().mint(), call: None };
        // Whoever puts a server into the settings, or trusts a project that does, has said yes.
        let rules = Rules::default().builtin([Rule::new(PERMISSION, "*", Action::Allow)]);
        let root = haft_net::Url::from_file_path(&directory).map(String::from).unwrap_or_default();
        let (images, health) = (ImageLimits::default(), server::HEALTH);
        Self { processes, gate, asker, rules, root, cache: None, pins, images, health, tokens: None }
    }
}

/// All servers that are set up. A handle, cheap to clone; programs end with the last one.
#[derive(Clone)]
pub struct Servers(Arc<All>);

struct All(Vec<Arc<Server>>);

impl Drop for All {
    fn drop(&mut self) {
        // What was begun holds its server.
        self.0.iter().for_each(|server| server.give_up());
    }
}

/// How a server is doing, for a person.
#[derive(Debug, Clone)]
pub struct Standing {
    /// What it is called.
    pub name: String,
    /// Where it is: its command line or its address.
    pub at: String,
    /// How it is doing.
    pub status: Status,
    /// What it says about how to use it, as far as it is known.
    pub instructions: Option<String>,
    /// Whether it has resources, likewise.
    pub resources: bool,
    /// The names of its tools, as far as they are known.
    pub tools: Vec<String>,
    /// The names of its prompts, likewise.
    pub prompts: Vec<String>,
}

impl Servers {
    /// The servers of `settings`. Reads what is kept of them; starts and asks nobody.
    pub fn new(world: World, settings: Vec<Settings>) -> Self {
        let world = Arc::new(world);
        Self(Arc::new(All(settings.into_iter().map(|one| Server::new(one, Arc::clone(&world))).collect())))
    }

    /// The one called `name` alone.
    pub fn only(&self, name: &str) -> Option<Self> {
        let server = self.0.0.iter().find(|server| server.settings.name == name)?;
        Some(Self(Arc::new(All(vec![Arc::clone(server)]))))
    }

    /// Whether one of that name is used.
    pub fn has(&self, name: &str) -> bool {
        self.0.0.iter().any(|server| server.settings.enabled && server.settings.name == name)
    }

    /// The first.
    fn first(&self) -> Option<&Arc<Server>> {
        self.0.0.first()
    }

    /// Their tools, and those for their resources.
    pub fn sources(&self) -> Vec<Arc<dyn Source>> {
        let all = &self.0.0;
        let source = |server: &Arc<Server>| -> Arc<dyn Source> {
            Arc::new(ServerSource { server: Arc::clone(server), _servers: self.clone() })
        };
        let mut sources: Vec<Arc<dyn Source>> =
            all.iter().filter(|server| server.settings.enabled).map(source).collect();
        if !sources.is_empty() {
            sources.push(Arc::new(Resources(all.clone())));
        }
        sources
    }

    /// How each is doing. Asks nobody.
    pub fn standing(&self) -> Vec<Standing> {
        let standing = |server: &Arc<Server>| {
            let catalogue = server.catalogue().unwrap_or_default();
            Standing {
                name: server.settings.name.clone(),
                at: clean(&server.settings.at()),
                status: server.status(),
                instructions: catalogue.instructions.clone(),
                resources: catalogue.resources.is_some(),
                tools: catalogue.tools.iter().map(|tool| tool.name.clone()).collect(),
                prompts: catalogue.prompts.iter().map(|prompt| prompt.name.clone()).collect(),
            }
        };
        self.0.0.iter().map(standing).collect()
    }

    /// Speaks to all of them at once, and says how each is doing. One that is still being connected after `limit` is
    /// said to be.
    pub async fn look(&self, limit: Duration) -> Vec<Standing> {
        let all = join_all(self.0.0.iter().map(|server| server.link()));
        // What came of it is in their states.
        let _ = tokio::time::timeout(limit, all).await;
        self.standing()
    }

    /// What servers say about how to use them, as a block of a system prompt that begins with a blank line. Servers
    /// none of whose tools `allowed` lets pass, and those that say nothing, are left out; empty where that leaves none.
    pub fn instructions(&self, allowed: impl Fn(&str) -> bool) -> String {
        let mut blocks = String::new();
        for server in &self.0.0 {
            let Some(catalogue) = server.catalogue() else { continue };
            let Some(said) = &catalogue.instructions else { continue };
            let closed = !catalogue.tools.is_empty() && !catalogue.tools.iter().any(|tool| allowed(&tool.name));
            if !server.settings.enabled || closed {
                continue;
            }
            blocks.push_str(&block(&server.settings.name, said));
        }
        if blocks.is_empty() { blocks } else { format!("\n\n<mcp_instructions>\n{blocks}</mcp_instructions>") }
    }

    /// The prompts that are known.
    pub fn prompts(&self) -> Vec<Prompt> {
        self.0.0.iter().filter_map(|server| server.catalogue()).flat_map(|one| one.prompts.clone()).collect()
    }

    /// The resources that are known, each by the name of its server and its address, with what it is.
    pub fn resources(&self) -> Vec<(String, Resource)> {
        let used = self.0.0.iter().filter(|server| server.settings.enabled);
        let known = used.filter_map(|server| Some((&server.settings.name, server.catalogue()?)));
        let of = |(name, catalogue): (&String, Arc<Catalogue>)| {
            let all = catalogue.resources.iter().flatten();
            all.map(|one| (name.clone(), one.clone())).collect::<Vec<_>>()
        };
        known.flat_map(of).collect()
    }

    /// What the prompt that is called `name` here says, filled in with `arguments`, which stand for those that it names
    /// in their order; the last takes those that are left.
    ///
    /// # Errors
    ///
    /// A text for a person: there is none of that name, or its server does not give it.
    pub async fn prompt(&self, name: &str, arguments: &[String]) -> Result<String, String> {
        let found = self.0.0.iter().find_map(|server| {
            let catalogue = server.catalogue()?;
            let prompt = catalogue.prompts.iter().find(|prompt| prompt.name == name)?.clone();
            Some((server, prompt))
        });
        let Some((server, prompt)) = found else { return Err(format!("no MCP server has a prompt called {name}")) };
        let named = &server.settings.name;
        let why = |why: String| format!("the MCP server {named:?} does not give the prompt {name}: {why}");
        let link = server.link().await.map_err(|failure| why(failure.to_string()))?;
        let filled = fill(&prompt.arguments, arguments);
        let answer = link.prompt(&prompt.prompt, filled, server.settings.to_answer()).await.map_err(why)?;
        let mut text = words_of(&answer);
        text.truncate(text.floor_char_boundary(MAX_PROMPT));
        if text.trim().is_empty() { Err(why("it has no words".to_owned())) } else { Ok(text) }
    }

    /// Ends all connections, and the programs. Takes a few seconds at most.
    pub async fn close(&self) {
        join_all(self.0.0.iter().map(|server| server.close())).await;
    }
}

/// What one server says, as a block.
fn block(name: &str, said: &str) -> String {
    let name = clean(name).replace('&', "&amp;").replace('"', "&quot;").replace('<', "&lt;");
    // So that no server ends its own block and begins another's.
    let said = said.replace("</", "< /");
    let lines: Vec<String> = said.lines().map(|line| format!("    {line}\n")).collect();
    format!("  <server name=\"{name}\">\n{}  </server>\n", lines.concat())
}

/// `values` under the names of a prompt's arguments.
fn fill(names: &[String], values: &[String]) -> Map<String, Value> {
    let last = names.len().saturating_sub(1);
    let value = |at: usize| match at == last {
        true => Some(values.get(at..)?.join(" ")).filter(|rest| !rest.is_empty()),
        false => values.get(at).cloned(),
    };
    let named = names.iter().enumerate().filter_map(|(at, name)| Some((name.clone(), value(at)?.into())));
    named.collect()
}

/// The words of a prompt's messages.
fn words_of(answer: &Value) -> String {
    let messages = answer["messages"].as_array().into_iter().flatten();
    let texts = messages.filter_map(|message| match &message["content"] {
        content if content["type"] == "text" => content["text"].as_str(),
        content if content["type"] == "resource" => content["resource"]["text"].as_str(),
        _ => None,
    });
    texts.map(clean).collect::<Vec<_>>().join("\n")
}
