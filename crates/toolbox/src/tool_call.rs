//! `tool_call`: stands for a call to a tool whose definition the model was not sent.
//!
//! Whoever runs calls asks [`Registry::meant`](haft_tool::Registry::meant) first, so what runs, is asked for and is kept
//! is the tool that is meant. This one runs only where nobody did.

use std::borrow::Cow;

use haft_tool::{CALL, Call, Output, Tool, ToolError};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};

pub(crate) struct ToolCall;

#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct Input {
    /// The tool.
    name: String,
    /// Its arguments.
    #[serde(default)]
    arguments: Map<String, Value>,
}

impl Tool for ToolCall {
    const NAME: &'static str = CALL;
    const OFFERED: bool = false;
    type Input = Input;

    fn description(&self) -> Cow<'static, str> {
        include_str!("tool_call.md").into()
    }

    async fn run(&self, input: Input, call: &Call) -> Result<Output, ToolError> {
        let Input { name, arguments } = input;
        let meant = call.registry().meant(CALL, json!({ "name": name, "arguments": arguments }));
        let (name, input) = meant.map_err(ToolError::BadInput)?;
        call.run_tool(name, input).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scene::Scene;

    #[tokio::test]
    async fn a_tool_is_called_by_its_name() {
        let scene = Scene::new();
        scene.bench.tools(&scene.registry);
        scene.put("a.txt", "seen\n");
        let read = json!({"name": "read", "arguments": {"filePath": "a.txt"}});
        assert!(scene.run(CALL, read).await.unwrap().text.contains("seen"));
        scene.fails(CALL, json!({"name": "reed"}), "there is no tool called \"reed\"; find what there is").await;
        scene.fails(CALL, json!({"name": CALL}), "cannot call itself").await;
    }
}
