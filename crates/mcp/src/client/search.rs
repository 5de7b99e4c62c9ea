//! Searching the web and code, as a server of the settings does it: two thin tools over one connection.

use std::borrow::Cow;
use std::sync::Arc;

use haft_permission::{Access, Effect};
use haft_tool::{Call, Output, Tool, ToolError};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::convert;
use super::server::Server;
use super::settings::{Place, Settings};
use super::{Servers, World};

/// Results where nothing is said.
const RESULTS: u32 = 8;
/// Tokens of code where nothing is said, and the bounds.
const TOKENS: (u32, u32, u32) = (1_000, 5_000, 50_000);
/// How long a search of the web may take.
const WEB: std::time::Duration = std::time::Duration::from_secs(25);
/// How long a search of code may take.
const CODE: std::time::Duration = std::time::Duration::from_secs(30);

/// A server that searches.
#[derive(Clone)]
pub struct Search {
    server: Arc<Server>,
    _servers: Servers,
}

/// The tool `websearch`.
pub struct Websearch(Search);

/// The tool `codesearch`.
pub struct Codesearch(Search);

impl Search {
    /// By the server of `settings`, which is to have the tools `web_search_exa` and `get_code_context_exa`. Nobody is
    /// asked before the first search.
    pub fn new(world: World, settings: Settings) -> Option<Self> {
        let servers = Servers::new(world, vec![settings]);
        let server = Arc::clone(servers.first()?);
        Some(Self { server, _servers: servers })
    }

    /// The tool that searches the web.
    pub fn web(&self) -> Websearch {
        Websearch(self.clone())
    }

    /// The tool that searches code.
    pub fn code(&self) -> Codesearch {
        Codesearch(self.clone())
    }

    async fn ask(
        &self,
        call: &Call,
        permission: &str,
        query: &str,
        tool: &str,
        arguments: Map<String, Value>,
        limit: std::time::Duration,
    ) -> Result<Output, ToolError> {
        let mut access = Access { metadata: arguments.clone(), ..Access::new(permission, query) };
        if let Place::Remote(remote) = &self.server.settings.place
            && let Ok(url) = haft_net::Url::parse(&remote.url)
        {
            access = access.with(Effect::Host(url.host_str().unwrap_or_default().to_owned()));
        }
        call.ask(access).await?;
        let link = self.server.link().await.map_err(|failure| self.server.away(&failure))?;
        let result = link.call(tool, arguments, call, &self.server.settings.name, limit).await?;
        let mut output = convert::result(&result, &self.server.world.images).await?;
        if output.text.trim().is_empty() {
            output.text = "Nothing was found. Try other words.".to_owned();
        }
        output.title = query.to_owned();
        Ok(output)
    }
}

/// How pages are looked at.
#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Livecrawl {
    Fallback,
    Preferred,
}

/// How thoroughly.
#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Depth {
    Auto,
    Fast,
    Deep,
}

/// The arguments of `websearch`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WebInput {
    /// What to search for.
    query: String,
    /// How many results; 8 if left out.
    num_results: Option<u32>,
    /// Whether pages are fetched anew: only where they are not known, or if possible.
    livecrawl: Option<Livecrawl>,
    /// How thoroughly.
    #[serde(rename = "type")]
    depth: Option<Depth>,
    /// Most characters of text from the results.
    context_max_characters: Option<u32>,
}

impl Tool for Websearch {
    const NAME: &'static str = "websearch";
    type Input = WebInput;

    fn description(&self) -> Cow<'static, str> {
        include_str!("websearch.md").into()
    }

    async fn run(&self, input: WebInput, call: &Call) -> Result<Output, ToolError> {
        let livecrawl = match input.livecrawl {
            Some(Livecrawl::Preferred) => "preferred",
            Some(Livecrawl::Fallback) | None => "fallback",
        };
        let depth = match input.depth {
            Some(Depth::Fast) => "fast",
            Some(Depth::Deep) => "deep",
            Some(Depth::Auto) | None => "auto",
        };
        let mut arguments = Map::new();
        arguments.insert("query".to_owned(), json!(input.query));
        arguments.insert("type".to_owned(), json!(depth));
        arguments.insert("numResults".to_owned(), json!(input.num_results.unwrap_or(RESULTS).clamp(1, 100)));
        arguments.insert("livecrawl".to_owned(), json!(livecrawl));
        if let Some(most) = input.context_max_characters {
            arguments.insert("contextMaxCharacters".to_owned(), json!(most));
        }
        self.0.ask(call, Self::NAME, &input.query, "web_search_exa", arguments, WEB).await
    }
}

/// The arguments of `codesearch`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CodeInput {
    /// What to search for: a library, an API, what is to be done with it.
    query: String,
    /// How much text, in tokens, 1000 to 50000; 5000 if left out.
    tokens_num: Option<u32>,
}

impl Tool for Codesearch {
    const NAME: &'static str = "codesearch";
    const OFFERED: bool = false;
    type Input = CodeInput;

    fn description(&self) -> Cow<'static, str> {
        include_str!("codesearch.md").into()
    }

    async fn run(&self, input: CodeInput, call: &Call) -> Result<Output, ToolError> {
        let (least, usual, most) = TOKENS;
        let tokens = input.tokens_num.unwrap_or(usual);
        if !(least..=most).contains(&tokens) {
            return Err(ToolError::BadInput(format!("tokensNum must be {least} to {most}, not {tokens}")));
        }
        let mut arguments = Map::new();
        arguments.insert("query".to_owned(), json!(input.query));
        arguments.insert("tokensNum".to_owned(), json!(tokens));
        self.0.ask(call, Self::NAME, &input.query, "get_code_context_exa", arguments, CODE).await
    }
}
