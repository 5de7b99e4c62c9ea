//! A tool of a script: what it says of itself, and its calls.

use std::sync::Arc;

use futures::future::BoxFuture;
use haft_permission::{Access, Grant};
use haft_protocol::SessionId;
use haft_tool::{AnyTool, Attachment, Call, Output, Spec, TellModel, ToolError, bad_arguments, foreign};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::Extras;
use crate::effects::{CallWorld, Doors, NoWorld};
use crate::error::{Refusal, ScriptError};
use crate::host::Right;
use crate::script::{Script, World};

/// Longest description of a tool that a model is given, in bytes.
const MAX_DESCRIPTION: usize = 8 * 1024;
/// Largest schema of a tool's arguments, in bytes of JSON.
const MAX_SCHEMA: usize = 64 * 1024;

/// Most bytes of metadata, as JSON, that are kept with a call, and shown while it runs.
pub(crate) const MAX_METADATA: usize = 256 * 1024;
/// Most files that a call gives back, and the longest of them as a data URL, in bytes.
const MAX_ATTACHMENTS: usize = 16;
const MAX_ATTACHED: usize = 16 * 1024 * 1024;

/// What is known of a tool without loading its file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Described {
    /// What models call it.
    pub name: String,
    /// Under which name the file exports it.
    pub export: String,
    /// What models read.
    pub description: String,
    /// Its arguments, as JSON Schema.
    pub parameters: Value,
}

/// A script in which there are tools.
pub(crate) struct At {
    pub(crate) script: Script,
    pub(crate) handle: u64,
    /// What it may change by itself: nothing, but in some hosts.
    pub(crate) right: Right,
}

impl At {
    /// What the tool at `path` says of itself; `None` where there is no tool, or none that models can be told of.
    pub(crate) async fn describe(&self, path: &[&str], name: String, export: &str) -> Option<Described> {
        let params = json!({ "handle": self.handle, "path": path });
        let found = match self.script.run("describe", params, &NoWorld, None).await {
            Ok(Value::Null) => return None,
            Ok(found) => found,
            Err(error) => {
                tracing::warn!(tool.name = name, %error, "a tool is left out");
                return None;
            }
        };
        let parameters = found.get("parameters").cloned().unwrap_or_default();
        if parameters.to_string().len() > MAX_SCHEMA || jsonschema::validator_for(&parameters).is_err() {
            tracing::warn!(
                tool.name = name,
                "a tool is left out: its arguments are no JSON Schema, or too large a one"
            );
            return None;
        }
        let mut description = found.get("description").and_then(Value::as_str).unwrap_or_default().to_owned();
        description.truncate(description.floor_char_boundary(MAX_DESCRIPTION));
        Some(Described { name, export: export.to_owned(), description, parameters })
    }
}

/// Where a tool is found, each time that it is called.
pub(crate) trait Home: Send + Sync {
    /// Its script as it is now, loaded, for who has `right`.
    fn loaded(&self, right: Right) -> BoxFuture<'_, Result<Arc<At>, ScriptError>>;
    /// The way to the tool from what was loaded.
    fn path(&self) -> Vec<&str>;
    /// What the file calls `client`, where it has one.
    fn client<'a>(&'a self, _params: Value, _world: &'a dyn World) -> BoxFuture<'a, Result<Value, Refusal>> {
        Box::pin(async { Err(Refusal::coded("ENOSYS", "client is for plug-ins, and not there in a tool's file")) })
    }
}

/// The world of a call, with the client of its home.
struct AtHome<'a> {
    home: &'a dyn Home,
    inner: CallWorld<'a>,
}

impl World for AtHome<'_> {
    fn perform<'a>(&'a self, effect: &'a str, params: Value) -> BoxFuture<'a, Result<Value, Refusal>> {
        match effect {
            "remote" => self.home.client(params, &self.inner),
            effect => self.inner.perform(effect, params),
        }
    }

    fn told(&self, what: &str, params: Value) {
        self.inner.told(what, params);
    }

    fn leave(&self, access: Access) -> BoxFuture<'_, Result<Grant, Refusal>> {
        self.inner.leave(access)
    }

    fn session(&self) -> Option<&SessionId> {
        self.inner.session()
    }

    fn holds_turn(&self) -> bool {
        self.inner.holds_turn()
    }
}

/// A tool of a script.
pub(crate) struct ScriptTool {
    described: Described,
    home: Box<dyn Home>,
    doors: Doors,
    extras: Arc<Extras>,
    validator: Option<jsonschema::Validator>,
}

impl ScriptTool {
    pub(crate) fn new(described: Described, home: Box<dyn Home>, doors: Doors, extras: Arc<Extras>) -> Self {
        let validator = jsonschema::validator_for(&described.parameters).ok();
        Self { described, home, doors, extras, validator }
    }

    /// All that is wrong with the arguments.
    fn check(&self, input: &Value) -> Result<(), ToolError> {
        let Some(validator) = &self.validator else { return Ok(()) };
        let problems: Vec<String> = validator
            .iter_errors(input)
            .take(20)
            .map(|error| {
                let at = error.instance_path().to_string();
                if at.is_empty() {
                    error.to_string()
                } else {
                    format!("{}: {error}", at.trim_start_matches('/').replace('/', "."))
                }
            })
            .collect();
        self.refused(&problems)
    }

    fn refused(&self, problems: &[String]) -> Result<(), ToolError> {
        if problems.is_empty() {
            return Ok(());
        }
        Err(bad_arguments(&self.described.name, problems))
    }

    /// The same, where what its host changes by itself is kept like what a command changes.
    async fn kept(&self, input: Value, call: &Call, grant: &Grant) -> Result<Output, ToolError> {
        let name = &self.described.name;
        let right = Right::of(call.general("edit"));
        let loaded = self.home.loaded(right).await.map_err(|error| failed(name, &error))?;
        if loaded.right == Right::Reads {
            return self.call(&loaded, input, call).await;
        }
        let looked = self.doors.processes.looked_around(grant).await.tell_model()?;
        let done = self.call(&loaded, input, call).await;
        loaded.script.settle().await;
        if let Some(looked) = looked {
            looked.end().await;
        }
        done
    }

    async fn call(&self, loaded: &At, input: Value, call: &Call) -> Result<Output, ToolError> {
        let name = &self.described.name;
        let files = &self.doors.files;
        let message = call.message.to_string();
        let context = json!({
            "sessionID": call.session.to_string(), "messageID": message, "callID": call.id.0, "agent": call.agent(),
            "directory": files.root(), "worktree": files.worktree(), "messages": [], "extra": self.extras.of(&message),
        });
        let params = json!({
            "handle": loaded.handle, "path": self.home.path(), "input": input, "context": context,
        });
        let world = AtHome { home: &*self.home, inner: CallWorld::new(&self.doors, call, name) };
        let done = loaded.script.run("tool", params, &world, Some(&call.cancel)).await;
        if let Some(denied) = world.inner.denied() {
            return Err(denied);
        }
        if call.cancel.is_cancelled() && done.is_err() {
            return Err(ToolError::Cancelled);
        }
        let done = done.map_err(|error| failed(name, &error))?;
        if let Some(problems) = done.get("invalid").and_then(Value::as_array) {
            let problems: Vec<String> = problems.iter().filter_map(Value::as_str).map(str::to_owned).collect();
            self.refused(&problems)?;
        }
        if let Some(extra) = done.get("extra") {
            self.extras.keep(&message, extra.clone());
        }
        output(name, done.get("result").unwrap_or(&Value::Null))
    }
}

fn failed(name: &str, error: &ScriptError) -> ToolError {
    match error {
        // What it threw is its own word for the model.
        ScriptError::Thrown { .. } => ToolError::Failed(error.to_string()),
        other => ToolError::Failed(format!("{name}: {}", haft_tool::with_causes(other))),
    }
}

/// What a tool gave back, in our form.
fn output(name: &str, result: &Value) -> Result<Output, ToolError> {
    let Some(object) = result.as_object().filter(|object| object.contains_key("output")) else {
        return Ok(Output::of_value("", result));
    };
    let title = object.get("title").and_then(Value::as_str).unwrap_or_default();
    let mut output = Output::of_value(title, object.get("output").unwrap_or(&Value::Null));
    if let Some(metadata) = object.get("metadata").and_then(Value::as_object) {
        output.metadata = foreign(metadata.clone(), MAX_METADATA);
    }
    for one in object.get("attachments").and_then(Value::as_array).into_iter().flatten() {
        let text = |key: &str| one.get(key).and_then(Value::as_str);
        let (Some(mime), Some(url)) = (text("mime"), text("url").filter(|url| url.starts_with("data:"))) else {
            let text = format!("{name} gave an attachment back that is no file: it needs mime, and url as a data URL");
            return Err(ToolError::Failed(text));
        };
        if output.attachments.len() == MAX_ATTACHMENTS || url.len() > MAX_ATTACHED {
            let text = format!(
                "{name} gave more back than a call may: {MAX_ATTACHMENTS} files of {MAX_ATTACHED} bytes each, as data URLs"
            );
            return Err(ToolError::Failed(text));
        }
        output.attachments.push(Attachment {
            mime: mime.to_owned(),
            filename: text("filename").map(str::to_owned),
            url: url.to_owned(),
        });
    }
    Ok(output)
}

impl AnyTool for ScriptTool {
    fn spec(&self) -> Spec {
        let Described { name, description, parameters, .. } = self.described.clone();
        Spec { name, description, parameters }
    }

    fn run<'a>(&'a self, input: Value, call: &'a Call) -> BoxFuture<'a, Result<Output, ToolError>> {
        Box::pin(async move {
            let input = if input.is_null() { json!({}) } else { input };
            self.check(&input)?;
            // Allowed unless a rule of the user's says otherwise.
            let grant = call.ask(Access::new(&self.described.name, "*")).await?;
            self.kept(input, call, &grant).await
        })
    }
}
