//! `batch`: calls other tools side by side.

use std::borrow::Cow;

use futures::future::join_all;
use haft_tool::{Call, Output, Tool, ToolError};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};

/// Most calls that are made. Further ones fail.
const MAX_CALLS: usize = 25;

pub(crate) struct Batch;

#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct Input {
    tool_calls: Vec<One>,
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct One {
    /// Its name.
    tool: String,
    /// Its arguments.
    parameters: Map<String, Value>,
}

impl Tool for Batch {
    const NAME: &'static str = "batch";
    const OFFERED: bool = false;
    type Input = Input;

    fn description(&self) -> Cow<'static, str> {
        include_str!("batch.md").into()
    }

    async fn run(&self, input: Input, call: &Call) -> Result<Output, ToolError> {
        let calls = input.tool_calls;
        if calls.is_empty() {
            let why = format!("tool_calls must be a list of 1 to {MAX_CALLS} calls. Nothing was called.");
            return Err(ToolError::BadInput(why));
        }
        let (tools, all): (Vec<String>, _) = (calls.iter().map(|one| one.tool.clone()).collect(), calls.len());
        let results = join_all(calls.into_iter().enumerate().map(|(at, one)| one_call(at, one, call))).await;
        let failures: Vec<(usize, String)> = results
            .iter()
            .enumerate()
            .filter_map(|(at, result)| result.as_ref().err().map(|error| (at, error.to_string())))
            .collect();
        // Who refused one of them and nothing else wants all to stop; the call's own part says which it was.
        for result in results {
            if let Err(ToolError::Denied(denied)) = result
                && !denied.may_go_on()
            {
                return Err(ToolError::Denied(denied));
            }
        }
        let succeeded = all - failures.len();
        Ok(Output::new(format!("{succeeded} of {all} calls"), told(&tools, &failures))
            .meta("totalCalls", all)
            .meta("successful", succeeded)
            .meta("failed", failures.len())
            .meta("tools", json!(tools)))
    }
}

async fn one_call(at: usize, one: One, call: &Call) -> Result<(), ToolError> {
    if at >= MAX_CALLS {
        return Err(ToolError::BadInput(format!(
            "not run: a batch makes {MAX_CALLS} calls at most; make this one again"
        )));
    }
    if one.tool.eq_ignore_ascii_case(Batch::NAME) {
        return Err(ToolError::BadInput("not run: a batch within a batch; put its calls into this one".to_owned()));
    }
    call.run_tool(one.tool, Value::Object(one.parameters)).await.map(drop)
}

/// What came of the calls. Their results stand beside this one.
fn told(tools: &[String], failures: &[(usize, String)]) -> String {
    let all = tools.len();
    if failures.is_empty() {
        return format!("All {all} calls succeeded. Each has its own result.");
    }
    let mut text =
        format!("{} of {all} calls succeeded. Each has its own result. Those that failed:", all - failures.len());
    for (at, error) in failures {
        text.push_str(&format!("\n- {} ({}): {error}", at + 1, tools[*at]));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scene::Scene;

    fn scene() -> Scene {
        let scene = Scene::new();
        scene.bench.tools(&scene.registry);
        scene
    }

    fn read(name: &str) -> Value {
        json!({"tool": "read", "parameters": {"filePath": name}})
    }

    #[tokio::test]
    async fn each_call_is_made_and_those_that_fail_are_named() {
        let scene = scene();
        scene.put("a.txt", "a\n");
        let output = scene.run("batch", json!({"tool_calls": [read("a.txt"), read("a.txt")]})).await.unwrap();
        assert_eq!(output.text, "All 2 calls succeeded. Each has its own result.");
        assert_eq!((output.title.as_str(), &output.metadata["failed"]), ("2 of 2 calls", &json!(0)));
        let calls = json!([read("a.txt"), read("none.txt"), {"tool": "reed", "parameters": {}}]);
        let output = scene.run("batch", json!({"tool_calls": calls})).await.unwrap();
        assert!(output.text.starts_with("1 of 3 calls succeeded."), "{}", output.text);
        assert!(output.text.contains("\n- 2 (read): ") && output.text.contains("none.txt"), "{}", output.text);
        assert!(output.text.contains("\n- 3 (reed): there is no tool called \"reed\""), "{}", output.text);
        assert_eq!(output.metadata["tools"], json!(["read", "read", "reed"]));
        assert_eq!((&output.metadata["totalCalls"], &output.metadata["successful"]), (&json!(3), &json!(1)));
    }

    #[tokio::test]
    async fn there_are_bounds() {
        let scene = scene();
        scene.put("a.txt", "a\n");
        scene.fails("batch", json!({"tool_calls": []}), "a list of 1 to 25 calls").await;
        scene.fails("batch", json!({"tool_calls": [{"tool": "read"}]}), "tool_calls.0.parameters is missing").await;
        let many = vec![read("a.txt"); MAX_CALLS + 1];
        let output = scene.run("batch", json!({"tool_calls": many})).await.unwrap();
        assert!(
            output.text.contains("25 of 26 calls") && output.text.contains("- 26 (read): not run"),
            "{}",
            output.text
        );
        let nested = json!([{"tool": "Batch", "parameters": {"tool_calls": [read("a.txt")]}}]);
        let output = scene.run("batch", json!({"tool_calls": nested})).await.unwrap();
        assert!(output.text.contains("- 1 (Batch): not run: a batch within a batch"), "{}", output.text);
    }
}
