//! `execute`: a short program with the permitted tools as functions. What they give stays out of the conversation unless the
//! program returns it.

use std::borrow::Cow;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use futures::future::BoxFuture;
use haft_tool::{Call, Output, Tool, ToolError};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::effects::{CallWorld, Doors};
use crate::engine::Engine;
use crate::error::{Refusal, ScriptError};
use crate::script::{Source, Sources, World};

/// Longest program, in bytes.
const MAX_CODE: usize = 256 * 1024;
/// Most calls of tools in one program.
const MAX_CALLS: usize = 500;

/// The tool.
pub struct Execute {
    engine: Engine,
    doors: Doors,
}

/// Its arguments.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct Input {
    /// The program.
    code: String,
}

impl Execute {
    /// Programs in `engine`; the tools that they call go through their own doors.
    pub fn new(engine: Engine, doors: Doors) -> Self {
        Self { engine, doors }
    }
}

/// A program imports nothing.
struct Nothing;

impl Sources for Nothing {
    fn resolve(&self, _: &str, name: &str) -> Result<String, String> {
        Err(format!("a program cannot import {name:?}; call a tool"))
    }

    fn source(&self, path: &str) -> Result<Source, String> {
        Err(format!("a program cannot import {path:?}; call a tool"))
    }
}

/// Calls of tools, and nothing else.
struct ToolsAlone<'a> {
    world: CallWorld<'a>,
    calls: Mutex<Vec<Value>>,
}

impl ToolsAlone<'_> {
    fn calls(&self) -> Vec<Value> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Notes a call, and where; `None` where there were too many.
    fn note(&self, params: &Value) -> Option<usize> {
        let mut calls = self.calls.lock().unwrap_or_else(PoisonError::into_inner);
        if calls.len() == MAX_CALLS {
            return None;
        }
        calls.push(json!({ "tool": params["name"], "status": "running", "input": params["input"] }));
        Some(calls.len() - 1)
    }

    fn end(&self, at: usize, status: &str) {
        let mut calls = self.calls.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(call) = calls.get_mut(at) {
            call["status"] = status.into();
        }
    }
}

impl World for ToolsAlone<'_> {
    fn perform<'a>(&'a self, effect: &'a str, params: Value) -> BoxFuture<'a, Result<Value, Refusal>> {
        Box::pin(async move {
            if effect != "tool" {
                return Err(Refusal::coded(
                    "EACCES",
                    "a program has no files, network or commands of its own; call a tool",
                ));
            }
            if params["name"] == Execute::NAME {
                return Err(Refusal::new("a program cannot run another one"));
            }
            let Some(at) = self.note(&params) else {
                return Err(Refusal::new(format!("{MAX_CALLS} calls are the most for one program")));
            };
            let done = self.world.perform(effect, params).await;
            self.end(at, if done.is_ok() { "completed" } else { "error" });
            done
        })
    }

    fn told(&self, what: &str, params: Value) {
        self.world.told(what, params);
    }
}

impl Tool for Execute {
    const NAME: &'static str = "execute";
    const OFFERED: bool = false;
    type Input = Input;

    fn description(&self) -> Cow<'static, str> {
        include_str!("execute.md").into()
    }

    async fn run(&self, input: Input, call: &Call) -> Result<Output, ToolError> {
        if input.code.len() > MAX_CODE {
            return Err(ToolError::BadInput(format!(
                "code has {} bytes; at most {MAX_CODE} can be run",
                input.code.len()
            )));
        }
        let registry = call.registry();
        let tools: Vec<&str> = registry.names().filter(|name| *name != Self::NAME).collect();
        let script = self.engine.script(Arc::new(Nothing)).await.map_err(failed)?;
        let world = ToolsAlone { world: CallWorld::new(&self.doors, call, Self::NAME), calls: Mutex::default() };
        let params = json!({ "code": input.code, "tools": tools });
        let done = script.run("program", params, &world, Some(&call.cancel)).await;
        if let Some(denied) = world.world.denied() {
            return Err(denied);
        }
        if call.cancel.is_cancelled() && done.is_err() {
            return Err(ToolError::Cancelled);
        }
        let done = done.map_err(failed)?;
        Ok(shown(&done).meta("toolCalls", world.calls()))
    }
}

/// What the model reads of a program that ended well.
fn shown(done: &Value) -> Output {
    let value = done.get("value").unwrap_or(&Value::Null);
    let mut output = match done.get("nothing").and_then(Value::as_bool) {
        Some(true) => Output::new("", ""),
        Some(false) | None if value.is_null() => Output::new("", "null"),
        Some(false) | None => Output::of_value("", value),
    };
    let logs: Vec<&str> =
        done.get("logs").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str).collect();
    if !logs.is_empty() {
        let before = if output.text.is_empty() { "" } else { "\n\n" };
        output.text.push_str(&format!("{before}Logs:\n{}", logs.join("\n")));
    }
    if output.text.is_empty() {
        output.text.push_str("The program ended and returned nothing");
    }
    output
}

fn failed(error: ScriptError) -> ToolError {
    match error {
        ScriptError::Thrown { message, places, .. } => {
            let at = places.first().and_then(|place| Path::new(place).file_name()?.to_str()).unwrap_or_default();
            let at = if at.is_empty() || message.contains(at) { String::new() } else { format!(" (at {at})") };
            ToolError::Failed(format!("Uncaught: {message}{at}"))
        }
        other => ToolError::Failed(haft_tool::with_causes(&other)),
    }
}
