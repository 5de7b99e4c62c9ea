//! `execute`: a short program with the permitted tools as functions. What they give stays out of the conversation unless the
//! program returns it.

use std::borrow::Cow;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use futures::future::BoxFuture;
use haft_protocol::Object;
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
/// How many bytes of JSON the arguments of its calls may take in the list that is shown of them. Each call is kept with all
/// of its own elsewhere; here those that no longer fit are left out.
const MAX_SHOWN: usize = 64 * 1024;

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
    call: &'a Call,
    calls: Mutex<Calls>,
}

/// What a program has called so far.
#[derive(Default)]
struct Calls {
    list: Vec<Value>,
    /// Bytes of the arguments in it.
    shown: usize,
}

impl Calls {
    /// Notes a call, and where; `None` where there were too many.
    fn begin(&mut self, params: &Value) -> Option<usize> {
        if self.list.len() == MAX_CALLS {
            return None;
        }
        let mut call = json!({ "tool": params["name"], "status": "running" });
        let len = params["input"].to_string().len();
        if self.shown + len <= MAX_SHOWN {
            self.shown += len;
            call["input"] = params["input"].clone();
        }
        self.list.push(call);
        Some(self.list.len() - 1)
    }

    fn end(&mut self, at: usize, status: &str) {
        if let Some(call) = self.list.get_mut(at) {
            call["status"] = status.into();
        }
    }

    fn metadata(&self) -> Object {
        Object::from_iter([("toolCalls".to_owned(), self.list.clone().into())])
    }
}

impl ToolsAlone<'_> {
    /// Does `change` to what was called, and shows it. It stays with the call however the program ends.
    fn change<T>(&self, change: impl FnOnce(&mut Calls) -> T) -> T {
        let mut calls = self.calls.lock().unwrap_or_else(PoisonError::into_inner);
        let changed = change(&mut calls);
        self.call.progress(Execute::NAME, calls.metadata());
        changed
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
            let Some(at) = self.change(|calls| calls.begin(&params)) else {
                return Err(Refusal::new(format!("{MAX_CALLS} calls are the most for one program")));
            };
            let done = self.world.perform(effect, params).await;
            self.change(|calls| calls.end(at, if done.is_ok() { "completed" } else { "error" }));
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
        let world = ToolsAlone { world: CallWorld::new(&self.doors, call, Self::NAME), call, calls: Mutex::default() };
        let params = json!({ "code": input.code, "tools": tools });
        let done = script.run("program", params, &world, Some(&call.cancel)).await;
        if let Some(denied) = world.world.denied() {
            return Err(denied);
        }
        if call.cancel.is_cancelled() && done.is_err() {
            return Err(ToolError::Cancelled);
        }
        let done = done.map_err(failed)?;
        let metadata = world.change(|calls| calls.metadata());
        Ok(Output { metadata, ..shown(&done) })
    }
}

/// What the model reads of a program that ended well.
fn shown(done: &Value) -> Output {
    let value = done.get("value").unwrap_or(&Value::Null);
    let mut output = match done.get("nothing").and_then(Value::as_bool) {
        Some(true) => Output::new(Execute::NAME, ""),
        Some(false) | None if value.is_null() => Output::new(Execute::NAME, "null"),
        Some(false) | None => Output::of_value(Execute::NAME, value),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_program_called_is_shown_within_bounds() {
        let mut calls = Calls::default();
        let long = json!({ "name": "write", "input": { "content": "x".repeat(MAX_SHOWN / 2) } });
        let short = json!({ "name": "read", "input": { "filePath": "a" } });
        for params in [&long, &long, &short] {
            let at = calls.begin(params).unwrap();
            calls.end(at, if at == 0 { "error" } else { "completed" });
        }
        let list = json!([
            { "tool": "write", "status": "error", "input": long["input"] },
            { "tool": "write", "status": "completed" },
            { "tool": "read", "status": "completed", "input": { "filePath": "a" } },
        ]);
        assert_eq!(calls.metadata()["toolCalls"], list);
        assert!((3..MAX_CALLS).all(|at| calls.begin(&short) == Some(at)));
        assert_eq!(calls.begin(&short), None);
    }
}
