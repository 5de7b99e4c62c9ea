//! A server with what the MCP conformance suite wants to find, behind the same code as `haft mcp serve`.
//!
//! ```text
//! cargo run -p haft-mcp --example conformance_server -- 127.0.0.1:8901
//! ```
//!
//! It says on standard output where it listens. What can be a tool of the registry is one; what needs the client in the
//! middle of a call in the protocol's own words (raw forms, its model, its log) speaks to it directly.

mod direct;
mod fixtures;
mod tools;

use std::io::Write;

use futures::future::BoxFuture;
use haft_mcp::rmcp::ErrorData;
use haft_mcp::rmcp::model::{
    CallToolResult, CompleteRequestParams, GetPromptResult, Implementation, InitializeResult, JsonObject, Prompt,
    Resource, ResourceContents, ResourceTemplate, ServerCapabilities, Tool,
};
use haft_mcp::server::{Client, Offer, content, http};
use haft_tool::fake::FakeHost;
use haft_tool::{Registry, ToolError};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

/// What one client is offered.
struct Fixtures {
    registry: Registry,
    outputs: tempfile::TempDir,
}

impl Offer for Fixtures {
    #[expect(deprecated, reason = "the suite looks for it")]
    fn about(&self) -> InitializeResult {
        let can = ServerCapabilities::builder()
            .enable_tools()
            .enable_prompts()
            .enable_resources()
            .enable_resources_subscribe()
            .enable_logging()
            .enable_completions();
        InitializeResult::new(can.build()).with_server_info(Implementation::new("conformance_server", "1"))
    }

    fn tools(&self) -> Vec<Tool> {
        let registered = self.registry.specs();
        registered.iter().map(|spec| content::definition(spec, "read")).chain(direct::tools()).collect()
    }

    fn call<'a>(
        &'a self,
        name: &'a str,
        arguments: JsonObject,
        client: Client,
    ) -> BoxFuture<'a, Result<CallToolResult, ErrorData>> {
        Box::pin(async move {
            if let Some(result) = direct::call(name, &arguments, &client).await {
                return Ok(result);
            }
            let call = FakeHost::allowing_all(self.outputs.path()).call();
            let came = match self.registry.find(name) {
                Ok(name) => self.registry.run(name, Value::Object(arguments), &call).await,
                Err(why) => Err(ToolError::BadInput(why)),
            };
            Ok(content::result(came))
        })
    }

    fn resources(&self) -> Vec<Resource> {
        fixtures::resources()
    }

    fn templates(&self) -> Vec<ResourceTemplate> {
        fixtures::templates()
    }

    fn read(&self, uri: &str) -> Option<ResourceContents> {
        fixtures::read(uri)
    }

    fn prompts(&self) -> Vec<Prompt> {
        fixtures::prompts()
    }

    fn prompt(&self, name: &str, arguments: &JsonObject) -> Option<GetPromptResult> {
        fixtures::prompt(name, arguments)
    }

    fn complete(&self, wanted: &CompleteRequestParams) -> Vec<String> {
        let known = ["paris", "park", "party", "testValue1"];
        known.into_iter().filter(|value| value.starts_with(&wanted.argument.value)).map(str::to_owned).collect()
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> std::io::Result<()> {
    let address = std::env::args().nth(1).unwrap_or_else(|| "127.0.0.1:0".to_owned());
    let listener = tokio::net::TcpListener::bind(address).await?;
    let mut out = std::io::stdout();
    writeln!(out, "http://{}{}", listener.local_addr()?, http::PATH)?;
    out.flush()?;
    let offer = || Ok(Fixtures { registry: tools::registry(), outputs: tempfile::tempdir()? });
    http::serve(listener, None, offer, CancellationToken::new()).await
}
