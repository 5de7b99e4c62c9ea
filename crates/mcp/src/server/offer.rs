//! What a server has for one client.

use futures::future::BoxFuture;
use rmcp::ErrorData;
use rmcp::model::{
    CallToolResult, CompleteRequestParams, GetPromptResult, InitializeResult, JsonObject, Prompt, Resource,
    ResourceContents, ResourceTemplate, Tool,
};
use tokio::sync::watch;

use super::Client;

/// What a server has for one client, in the protocol's own words. Only tools must be there; what is left out is not
/// offered, as long as [`Offer::about`] does not promise it.
pub trait Offer: Send + Sync + 'static {
    /// Who this is, what it can do, and what the client's model should know of it.
    fn about(&self) -> InitializeResult;

    /// The tools, in an order that stays.
    fn tools(&self) -> Vec<Tool>;

    /// Counts up whenever there are other tools; `None` where there always are the same. Clients are told so.
    fn changed(&self) -> Option<watch::Receiver<u64>> {
        None
    }

    /// Runs a tool. What goes wrong in it is a result that says so; an error is for a request that is none.
    ///
    /// [`Client::cancelled`] fires when the client wants it stopped; the future is then still waited for.
    fn call<'a>(
        &'a self,
        name: &'a str,
        arguments: JsonObject,
        client: Client,
    ) -> BoxFuture<'a, Result<CallToolResult, ErrorData>>;

    /// The resources that can be named.
    fn resources(&self) -> Vec<Resource> {
        Vec::new()
    }

    /// Patterns of the addresses of further ones.
    fn templates(&self) -> Vec<ResourceTemplate> {
        Vec::new()
    }

    /// The resource at `uri`; `None` where there is none.
    fn read(&self, _uri: &str) -> Option<ResourceContents> {
        None
    }

    /// The prompts.
    fn prompts(&self) -> Vec<Prompt> {
        Vec::new()
    }

    /// The prompt called `name`, filled in; `None` where there is none.
    fn prompt(&self, _name: &str, _arguments: &JsonObject) -> Option<GetPromptResult> {
        None
    }

    /// How an argument may go on, best first; at most a hundred are told.
    fn complete(&self, _wanted: &CompleteRequestParams) -> Vec<String> {
        Vec::new()
    }
}
