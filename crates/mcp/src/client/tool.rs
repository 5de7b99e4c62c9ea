//! A server's tool as one of ours.

use std::sync::Arc;

use futures::future::BoxFuture;
use haft_permission::{Access, Builtin, Effect};
use haft_tool::{AnyTool, Call, Output, Spec, ToolError, fit};
use serde_json::Value;

use super::convert;
use super::definition::Definition;
use super::server::Server;
use super::settings::Place;

/// What a model reads of a tool whose server says something else about it than when it was let run.
const CHANGED: &str = "The server describes this tool in other words than when the user last let it run. They are not \
                       shown until the user has agreed to them, which calling it asks for.";

/// A server's tool.
pub(super) struct ServerTool {
    server: Arc<Server>,
    definition: Arc<Definition>,
}

impl ServerTool {
    pub(super) fn new(server: Arc<Server>, definition: Arc<Definition>) -> Self {
        Self { server, definition }
    }

    /// Whether it is another one than the user let run.
    fn is_changed(&self) -> bool {
        let pinned = self.server.world.pins.get(&self.server.identity, &self.definition.tool);
        pinned.is_some_and(|pinned| pinned != self.definition.digest)
    }

    async fn leave(&self, call: &Call, input: &Value) -> Result<(), ToolError> {
        let Definition { name, tool, description, digest, .. } = &*self.definition;
        let changed = self.is_changed();
        let mut access = Access::new(name, "*").show("server", self.server.settings.name.as_str());
        access = access.show("arguments", input.clone());
        if let Place::Remote(remote) = &self.server.settings.place
            && let Ok(url) = haft_net::Url::parse(&remote.url)
        {
            access = access.with(Effect::Host(url.host_str().unwrap_or_default().to_owned()));
        }
        call.ask(access).await?;
        if changed {
            // Under another permission: what allows the tool was said of what it was.
            let access = Access::new(super::CHANGED, name).show("server", self.server.settings.name.as_str());
            let access = access.show("tool", tool.as_str()).show("description", description.as_str());
            call.ask(Access { always: Vec::new(), in_person: true, builtin: Builtin::NeverAllows, ..access }).await?;
        }
        if changed || self.server.world.pins.get(&self.server.identity, tool).is_none() {
            let kept = self.server.world.pins.set(&self.server.identity, tool, digest);
            kept.map_err(|why| ToolError::Failed(format!("that the user let {name} run cannot be remembered: {why}")))?;
            if changed {
                self.server.tell_changed();
            }
        }
        Ok(())
    }
}

impl AnyTool for ServerTool {
    fn spec(&self) -> Spec {
        let name = self.definition.name.clone();
        if self.is_changed() {
            return Spec { name, description: CHANGED.to_owned(), parameters: self.definition.bare_parameters() };
        }
        Spec { name, description: self.definition.description.clone(), parameters: self.definition.parameters() }
    }

    fn permission(&self) -> String {
        self.definition.name.clone()
    }

    fn run<'a>(&'a self, input: Value, call: &'a Call) -> BoxFuture<'a, Result<Output, ToolError>> {
        Box::pin(async move {
            let Definition { name, tool, schema, .. } = &*self.definition;
            let input = fit(name, schema, input)?;
            let Value::Object(arguments) = input.clone() else {
                return Err(ToolError::BadInput(format!("the arguments of {name} must be an object")));
            };
            self.leave(call, &input).await?;
            let link = self.server.link().await.map_err(|failure| self.server.away(&failure))?;
            // What it is may only be known now that the server was asked again.
            if let Some(now) = self.server.definition(tool)
                && now.digest != self.definition.digest
            {
                return Err(ToolError::Failed(format!(
                    "the server describes {name} in another way now; call it again if it is still what you want"
                )));
            }
            let (limit, named) = (self.server.settings.to_answer(), &self.server.settings.name);
            let mut result = link.call(tool, arguments.clone(), call, named, limit).await;
            // What was refused for its token was not run.
            if result.is_err() && link.is_worth_another() {
                let link = self.server.link().await.map_err(|failure| self.server.away(&failure))?;
                result = link.call(tool, arguments, call, named, limit).await;
            }
            let result = result?;
            convert::result(&result, &self.server.world.images).await
        })
    }
}
