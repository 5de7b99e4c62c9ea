//! The tools that list and read what servers have to be read.

use std::sync::Arc;

use futures::future::{BoxFuture, join_all};
use haft_permission::Access;
use haft_tool::{AnyTool, Call, Output, Source, Spec, ToolError, fit};
use serde_json::{Map, Value, json};

use super::convert::{self, Parts};
use super::link::List;
use super::naming::clean;
use super::server::Server;
use super::status::Status;

/// What the source of these tools is called.
const NAME: &str = "mcp resources";

/// The tools for resources, where a server has any.
pub(super) struct Resources(pub Vec<Arc<Server>>);

impl Source for Resources {
    fn name(&self) -> &str {
        NAME
    }

    fn tools(&self) -> Vec<Arc<dyn AnyTool>> {
        if !self.0.iter().any(|server| has_resources(server)) {
            return Vec::new();
        }
        let tool = |kind: Kind| -> Arc<dyn AnyTool> { Arc::new(Tool { servers: self.0.clone(), kind }) };
        [Kind::List, Kind::Templates, Kind::Read].map(tool).into()
    }

    fn version(&self) -> u64 {
        u64::from(self.0.iter().any(|server| has_resources(server)))
    }
}

fn has_resources(server: &Server) -> bool {
    server.catalogue().is_some_and(|catalogue| catalogue.resources.is_some())
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    List,
    Templates,
    Read,
}

struct Tool {
    servers: Vec<Arc<Server>>,
    kind: Kind,
}

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Kind::List => "list_mcp_resources",
            Kind::Templates => "list_mcp_resource_templates",
            Kind::Read => "read_mcp_resource",
        }
    }

    fn description(self) -> &'static str {
        match self {
            Kind::List => {
                "Lists what MCP servers have to be read: files, records, pages. Read one with read_mcp_resource."
            }
            Kind::Templates => "Lists patterns of addresses that MCP servers can be asked to read.",
            Kind::Read => "Reads a resource of an MCP server.",
        }
    }

    fn parameters(self) -> Value {
        let server = |about: &str| json!({"type": "string", "description": about});
        let (properties, required) = match self {
            Kind::List | Kind::Templates => (json!({"server": server("Only those of this server")}), json!([])),
            Kind::Read => {
                let uri =
                    json!({"type": "string", "description": "Its address, as a list gave it or made from a pattern"});
                (json!({"server": server("The server that has it"), "uri": uri}), json!(["server", "uri"]))
            }
        };
        json!({"type": "object", "properties": properties, "required": required})
    }
}

impl AnyTool for Tool {
    fn spec(&self) -> Spec {
        Spec {
            name: self.kind.name().to_owned(),
            description: self.kind.description().to_owned(),
            parameters: self.kind.parameters(),
        }
    }

    fn permission(&self) -> String {
        "read".to_owned()
    }

    fn run<'a>(&'a self, input: Value, call: &'a Call) -> BoxFuture<'a, Result<Output, ToolError>> {
        Box::pin(async move {
            // Without `uri` there is one thing to say.
            if self.kind == Kind::Read && input["server"].is_string() && input["uri"].as_str().is_none_or(str::is_empty)
            {
                return Err(ToolError::BadInput("uri is required".to_owned()));
            }
            let input = fit(self.kind.name(), &self.kind.parameters(), input)?;
            let server = input["server"].as_str().filter(|server| !server.is_empty());
            match self.kind {
                Kind::List => self.list(call, server, List::Resources).await,
                Kind::Templates => self.list(call, server, List::Templates).await,
                Kind::Read => {
                    self.read(call, server.unwrap_or_default(), input["uri"].as_str().unwrap_or_default()).await
                }
            }
        })
    }
}

impl Tool {
    async fn list(&self, call: &Call, server: Option<&str>, list: List) -> Result<Output, ToolError> {
        let with: Vec<&Arc<Server>> = self.servers.iter().filter(|server| has_resources(server)).collect();
        let asked: Vec<&Arc<Server>> = match server {
            None => with,
            Some(name) => match with.iter().find(|server| server.settings.name == name) {
                Some(server) => vec![*server],
                None => {
                    let names: Vec<&str> = with.iter().map(|server| server.settings.name.as_str()).collect();
                    return Err(ToolError::Failed(format!(
                        "MCP server {name:?} does not support resources. Available resource servers: {}",
                        names.join(", ")
                    )));
                }
            },
        };
        for server in &asked {
            ask(call, &server.settings.name, None).await?;
        }
        let lists = join_all(asked.iter().map(|server| items(server, list))).await;
        let (mut all, mut failed) = (Vec::new(), Vec::new());
        for (server, items) in asked.iter().zip(lists) {
            let name = server.settings.name.as_str();
            match items {
                Ok(items) => all.extend(items.into_iter().map(|item| ordered(item, name))),
                Err(why) => failed.push(format!("{name}: {why}")),
            }
        }
        if all.is_empty() && !failed.is_empty() {
            return Err(ToolError::Failed(failed.join("\n")));
        }
        let (title, key) = match list {
            List::Templates => ("MCP resource templates", "resourceTemplates"),
            List::Tools | List::Prompts | List::Resources => ("MCP resources", "resources"),
        };
        let names: Vec<&str> = asked.iter().map(|server| server.settings.name.as_str()).collect();
        let count = all.len();
        let mut text = clean(&format!("{:#}", json!({ key: all })));
        if !failed.is_empty() {
            text = format!("{text}\n\nNot reached: {}", failed.join("; "));
        }
        Ok(Output::new(title, text).meta("count", count).meta("servers", names))
    }

    async fn read(&self, call: &Call, name: &str, uri: &str) -> Result<Output, ToolError> {
        let known = |server: &&Arc<Server>| server.settings.name == name && server.status() != Status::Disabled;
        let Some(server) = self.servers.iter().find(known) else {
            return Err(ToolError::Failed(format!("MCP server {name:?} is not connected")));
        };
        ask(call, name, Some(uri)).await?;
        let link = server.link().await.map_err(|failure| server.away(&failure))?;
        let answer = link.read(uri, server.settings.to_answer()).await.map_err(ToolError::Failed)?;
        let contents = answer["contents"].as_array().map(Vec::as_slice).unwrap_or_default();
        let mut parts = Parts::default();
        for content in contents {
            match content["text"].as_str() {
                Some(text) => parts.texts.push(text_of(content, text)),
                None => convert::resource(content, &mut parts),
            }
        }
        if contents.is_empty() {
            parts.texts.push(format!("MCP resource {uri} from {name} returned no contents."));
        }
        let output = convert::output(&format!("MCP resource: {}", clean(uri)), parts, &server.world.images).await;
        let attachments = output.attachments.len();
        Ok(output
            .meta("server", name)
            .meta("uri", uri)
            .meta("contents", contents.len())
            .meta("attachments", attachments))
    }
}

/// A content that is text, with what it is.
fn text_of(content: &Value, text: &str) -> String {
    let line = |label: &str, key: &str| content[key].as_str().map(|value| format!("{label}: {}\n", clean(value)));
    let mut said = line("Resource", "uri").unwrap_or_default();
    said.push_str(&line("MIME", "mimeType").unwrap_or_default());
    said.push_str(&clean(text));
    said
}

async fn ask(call: &Call, server: &str, uri: Option<&str>) -> Result<(), ToolError> {
    let all = format!("mcp:{server}:*");
    let mut access = Access::new("read", uri.map_or_else(|| all.clone(), |uri| format!("mcp:{server}:{uri}")));
    access.always = vec![all];
    access = access.show("server", server);
    if let Some(uri) = uri {
        access = access.show("uri", uri);
    }
    call.ask(access).await?;
    Ok(())
}

async fn items(server: &Arc<Server>, list: List) -> Result<Vec<Value>, String> {
    let link = server.link().await.map_err(|failure| failure.to_string())?;
    link.list(list, server.settings.to_list()).await
}

/// `item` of `server` with what matters first.
fn ordered(item: Value, server: &str) -> Value {
    let Value::Object(mut fields) = item else { return item };
    let mut ordered = Map::new();
    for key in ["name", "uri", "uriTemplate", "title", "description", "mimeType"] {
        // The order of what is left does not matter.
        if let Some(value) = fields.swap_remove(key) {
            ordered.insert(key.to_owned(), value);
        }
    }
    ordered.extend(fields);
    ordered.insert("server".to_owned(), server.into());
    Value::Object(ordered)
}
