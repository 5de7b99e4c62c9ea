//! `task`: gives work to another agent.

use std::borrow::Cow;

use haft_permission::{Access, Effect};
use haft_tool::{Call, Delegate, Output, Task as Work, TaskEnd, TaskResult, Tool, ToolError};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

/// Longest description, in bytes: it becomes a title.
const MAX_DESCRIPTION: usize = 400;
/// Longest prompt, in bytes.
const MAX_PROMPT: usize = 256 * 1024;

pub(crate) struct Task;

#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct Input {
    /// The work in three to five words.
    description: String,
    /// All that the agent is told.
    prompt: String,
    /// The agent.
    subagent_type: String,
    /// The id of an earlier task, to go on with it.
    task_id: Option<String>,
    /// An older name of `task_id`.
    #[schemars(skip)]
    session_id: Option<String>,
    #[schemars(skip)]
    command: Option<String>,
    /// Go on meanwhile; you are told when it has ended.
    background: Option<bool>,
    /// Work in a git work tree of its own; what changes there is merged back at the end.
    worktree: Option<bool>,
    /// A JSON Schema for the report, to get JSON.
    schema: Option<Map<String, Value>>,
}

/// What is said when a task goes on by itself.
const GOES_ON: &str = "It goes on in the background. You are told when it has ended: do not wait for it, do not ask how \
    far it is, and do not do its work yourself.";

impl Tool for Task {
    const NAME: &'static str = "task";
    type Input = Input;

    fn description(&self) -> Cow<'static, str> {
        include_str!("task.md").into()
    }

    async fn run(&self, input: Input, call: &Call) -> Result<Output, ToolError> {
        let Input {
            description,
            prompt,
            subagent_type: agent,
            task_id,
            session_id,
            command,
            background,
            worktree,
            schema,
        } = input;
        let resume = task_id.or(session_id).filter(|id| !id.is_empty());
        // Without words it is a question about an earlier one.
        if (prompt.trim().is_empty() && resume.is_none()) || prompt.len() > MAX_PROMPT {
            return Err(bad(&format!("prompt must say what to do, in at most {MAX_PROMPT} bytes")));
        }
        if description.len() > MAX_DESCRIPTION {
            return Err(bad(&format!("description must be a few words, at most {MAX_DESCRIPTION} bytes")));
        }
        known(&agent, &call.delegates()?)?;
        let access = Access::new("task", &agent).with(Effect::Delegate(agent.clone()));
        let access = access.show("description", description.as_str()).show("subagent_type", agent.as_str());
        let access = if worktree == Some(true) { access.show("worktree", true) } else { access };
        let grant = call.ask(access).await?;
        let work = Work {
            description: description.clone(),
            prompt,
            agent,
            resume,
            command,
            background: background.unwrap_or(false),
            worktree: worktree.unwrap_or(false),
            form: schema.map(Value::Object),
        };
        let result = call.delegate(&grant, work).await?;
        let goes_on = (result.end == TaskEnd::Running).then_some(GOES_ON);
        let text = result.framed(goes_on);
        let TaskResult { metadata, .. } = result;
        Ok(Output { title: description, text, metadata, ..Output::default() })
    }
}

/// Checks that `agent` is one of those that take tasks.
fn known(agent: &str, delegates: &[Delegate]) -> Result<(), ToolError> {
    if delegates.iter().any(|delegate| delegate.name == agent) {
        return Ok(());
    }
    let told = delegates.iter().filter(|delegate| delegate.told);
    let names: Vec<&str> = told.map(|delegate| delegate.name.as_str()).collect();
    Err(match names.as_slice() {
        [] => ToolError::Failed("there is no agent that takes tasks from you; do the work yourself".to_owned()),
        names => bad(&format!("no agent called {agent:?} takes tasks; subagent_type is one of {}", names.join(", "))),
    })
}

fn bad(problem: &str) -> ToolError {
    ToolError::BadInput(format!("{problem}. No task was begun."))
}

#[cfg(test)]
mod tests {
    use haft_permission::Action;
    use serde_json::{Value, json};

    use super::*;
    use crate::scene::Scene;

    fn input(more: Value) -> Value {
        let mut input = json!({"description": "look", "prompt": "Look around.", "subagent_type": "explore"});
        input.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        input
    }

    #[tokio::test]
    async fn the_report_comes_in_its_frame() {
        let scene = Scene::new();
        scene.bench.delegates(&["explore", "general"]);
        scene.bench.task_ends(Ok("All quiet."));
        let output = scene.run("task", input(json!({"command": "scan"}))).await.unwrap();
        let id = output.metadata["sessionId"].as_str().unwrap();
        let want =
            format!("<task id=\"{id}\" state=\"completed\">\n<task_result>\nAll quiet.\n</task_result>\n</task>");
        assert_eq!((output.title.as_str(), output.text), ("look", want));
        let asked = &scene.asked("task")[0];
        assert_eq!((asked.patterns.as_slice(), asked.always.as_slice()), (&["explore".into()][..], &["*".into()][..]));
        assert_eq!(json!(asked.metadata), json!({"description": "look", "subagent_type": "explore"}));
        let tasks = scene.bench.tasks();
        assert_eq!((tasks[0].prompt.as_str(), tasks[0].command.as_deref()), ("Look around.", Some("scan")));
        assert_eq!(tasks[0].resume, None);
    }

    #[tokio::test]
    async fn an_earlier_task_has_two_names() {
        let scene = Scene::new();
        scene.bench.delegates(&["explore"]);
        for more in [json!({"task_id": "ses_1"}), json!({"session_id": "ses_1"}), json!({"task_id": ""})] {
            scene.run("task", input(more)).await.unwrap();
        }
        let resumed: Vec<_> = scene.bench.tasks().into_iter().map(|task| task.resume).collect();
        assert_eq!(resumed, [Some("ses_1".to_owned()), Some("ses_1".to_owned()), None]);
    }

    #[tokio::test]
    async fn a_task_may_go_on_by_itself_and_report_in_a_form() {
        let scene = Scene::new();
        scene.bench.delegates(&["explore"]);
        let form = json!({"type": "object"});
        let output = scene.run("task", input(json!({"background": true, "schema": form}))).await.unwrap();
        assert!(output.text.contains("state=\"running\">\n<summary>It goes on in the background."), "{}", output.text);
        let asked = scene.run("task", input(json!({"prompt": "", "task_id": "ses_1"}))).await.unwrap();
        assert!(asked.text.contains("state=\"completed\">\n<task_result>"), "{}", asked.text);
        let tasks = scene.bench.tasks();
        assert_eq!((tasks[0].background, &tasks[0].form), (true, &Some(form)));
        assert_eq!((tasks[1].background, &tasks[1].form), (false, &None));
    }

    #[tokio::test]
    async fn what_cannot_be_given_to_anybody_says_why() {
        let scene = Scene::new();
        scene.fails("task", input(json!({})), "no agent takes tasks here").await;
        scene.bench.delegates(&[".build", "explore", "general"]);
        let nobody = input(json!({"subagent_type": "nope"}));
        scene
            .fails("task", nobody, "no agent called \"nope\" takes tasks; subagent_type is one of explore, general")
            .await;
        scene.fails("task", input(json!({"prompt": " "})), "prompt must say what to do").await;
        scene.fails("task", input(json!({"prompt": "x".repeat(MAX_PROMPT + 1)})), "at most 262144 bytes").await;
        scene.fails("task", input(json!({"description": "x".repeat(MAX_DESCRIPTION + 1)})), "at most 400 bytes").await;
        scene.fails("task", json!({"prompt": "p", "description": "d"}), "subagent_type is missing").await;
        assert!(scene.bench.tasks().is_empty() && scene.asked("task").is_empty());
        scene.bench.task_ends(Err("it broke"));
        scene.fails("task", input(json!({})), "it broke").await;
    }

    #[tokio::test]
    async fn without_leave_no_task_begins() {
        let scene = Scene::with_rules(&[("*", "*", Action::Allow), ("task", "gen*", Action::Deny)]);
        scene.bench.delegates(&["explore", "general"]);
        let error = scene.run("task", input(json!({"subagent_type": "general"}))).await.unwrap_err();
        assert_eq!(error.kind(), "denied");
        assert!(scene.bench.tasks().is_empty());
    }
}
