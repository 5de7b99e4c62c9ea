//! `todowrite` and `todoread`: the session's list of things to do.

use std::borrow::Cow;

use haft_permission::Access;
use haft_protocol::Todo;
use haft_tool::{Call, Output, Tool, ToolError};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

/// Most entries of a list.
const MAX_TODOS: usize = 200;
/// Longest entry, in bytes.
const MAX_CONTENT: usize = 2000;
/// Longest word for a status or a priority, in bytes.
const MAX_WORD: usize = 40;

const STATUSES: [&str; 4] = ["pending", "in_progress", "completed", "cancelled"];
const PRIORITIES: [&str; 3] = ["high", "medium", "low"];

pub(crate) struct TodoWrite;

pub(crate) struct TodoRead;

#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct Input {
    /// The whole list.
    todos: Vec<Entry>,
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct Entry {
    /// What is to be done.
    content: String,
    /// `pending`, `in_progress`, `completed` or `cancelled`.
    status: String,
    /// `high`, `medium` or `low`.
    priority: String,
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct Nothing {}

impl Tool for TodoWrite {
    const NAME: &'static str = "todowrite";
    type Input = Input;

    fn description(&self) -> Cow<'static, str> {
        include_str!("todowrite.md").into()
    }

    async fn run(&self, input: Input, call: &Call) -> Result<Output, ToolError> {
        let todos = checked(input.todos)?;
        call.ask(Access::new("todowrite", "*")).await?;
        call.set_todos(todos.clone()).await?;
        Ok(output(&todos))
    }
}

impl Tool for TodoRead {
    const NAME: &'static str = "todoread";
    const OFFERED: bool = false;
    type Input = Nothing;

    fn description(&self) -> Cow<'static, str> {
        include_str!("todoread.md").into()
    }

    async fn run(&self, _input: Nothing, call: &Call) -> Result<Output, ToolError> {
        call.ask(Access::new("todoread", "*")).await?;
        Ok(output(&call.todos().await?))
    }
}

fn output(todos: &[Todo]) -> Output {
    // Cancelled ones count as open, as clients of this tool have always been told.
    let open = todos.iter().filter(|todo| todo.status != "completed").count();
    let list = json!(todos);
    Output::new(format!("{open} todos"), format!("{list:#}")).meta("todos", list).meta("truncated", false)
}

/// The list as it is kept.
fn checked(entries: Vec<Entry>) -> Result<Vec<Todo>, ToolError> {
    if entries.len() > MAX_TODOS {
        let count = entries.len();
        return Err(bad(format!("the list has {count} entries, more than {MAX_TODOS}; put some together")));
    }
    entries
        .into_iter()
        .enumerate()
        .map(|(at, entry)| {
            if entry.content.trim().is_empty() {
                return Err(bad(format!("todos.{at}.content is empty; say what is to be done")));
            }
            if entry.content.len() > MAX_CONTENT {
                return Err(bad(format!("todos.{at}.content is longer than {MAX_CONTENT} bytes; say it shorter")));
            }
            let status = word(&entry.status, &STATUSES, &format!("todos.{at}.status"))?;
            let priority = word(&entry.priority, &PRIORITIES, &format!("todos.{at}.priority"))?;
            Ok(Todo { content: entry.content, status, priority })
        })
        .collect()
}

/// One of the `known` words however it is spelled. Another short one is kept as it is: refusing the whole list for it
/// would help nobody.
fn word(given: &str, known: &[&str], place: &str) -> Result<String, ToolError> {
    let plain = given.trim().to_lowercase().replace([' ', '-'], "_");
    if let Some(known) = known.iter().find(|known| **known == plain) {
        return Ok((*known).to_owned());
    }
    if plain.is_empty() || given.len() > MAX_WORD {
        return Err(bad(format!("{place} must be one of {}", known.join(", "))));
    }
    Ok(given.to_owned())
}

fn bad(problem: String) -> ToolError {
    ToolError::BadInput(format!("{problem}. The list was not changed."))
}

#[cfg(test)]
mod tests {
    use haft_permission::Action;
    use serde_json::Value;

    use super::*;
    use crate::scene::Scene;

    fn todo(content: &str, status: &str, priority: &str) -> Value {
        json!({"content": content, "status": status, "priority": priority})
    }

    #[tokio::test]
    async fn a_list_takes_the_place_of_the_one_before() {
        let scene = Scene::new();
        let first = json!([todo("a", "pending", "high"), todo("b", "completed", "low"), todo("c", "cancelled", "low")]);
        let output = scene.run("todowrite", json!({"todos": first})).await.unwrap();
        assert_eq!((output.title.as_str(), &output.metadata["todos"]), ("2 todos", &first));
        assert!(
            output.text.starts_with("[\n  {\n    \"content\": \"a\",\n    \"status\": \"pending\","),
            "{}",
            output.text
        );
        assert_eq!(scene.run("todoread", json!({})).await.unwrap(), output);
        let output = scene.run("todowrite", json!({"todos": []})).await.unwrap();
        assert_eq!((output.title.as_str(), output.text.as_str()), ("0 todos", "[]"));
        assert_eq!(scene.run("todoread", json!({})).await.unwrap(), output);
        let asked = &scene.asked("todowrite")[0];
        assert_eq!((asked.patterns.as_slice(), asked.always.as_slice()), (&["*".into()][..], &["*".into()][..]));
    }

    #[tokio::test]
    async fn a_list_that_is_refused_changes_nothing() {
        let scene = Scene::new();
        scene.run("todowrite", json!({"todos": [todo("keep", "pending", "low")]})).await.unwrap();
        for bad in [
            json!([todo("", "pending", "low")]),
            json!([todo("a", "", "low")]),
            json!([todo("a", "pending", &"x".repeat(MAX_WORD + 1))]),
            json!([todo(&"x".repeat(MAX_CONTENT + 1), "pending", "low")]),
            json!(vec![todo("a", "pending", "low"); MAX_TODOS + 1]),
            json!([{"content": "a", "status": "pending"}]),
            json!("x"),
        ] {
            let error = scene.run("todowrite", json!({"todos": bad})).await.unwrap_err();
            assert_eq!(error.kind(), "bad_input", "{error}");
        }
        assert!(scene.run("todoread", json!({})).await.unwrap().text.contains("keep"));
        let full = json!(vec![todo(&"x".repeat(MAX_CONTENT), "pending", "low"); MAX_TODOS]);
        assert_eq!(scene.run("todowrite", json!({"todos": full})).await.unwrap().title, "200 todos");
        let none = Scene::with_rules(&[("*", "*", Action::Allow), ("todowrite", "*", Action::Deny)]);
        let denied = none.run("todowrite", json!({"todos": []})).await.unwrap_err();
        assert_eq!(denied.kind(), "denied");
    }

    #[test]
    fn words_are_known_however_they_are_spelled() {
        let row = |given: &str, want: &str| {
            assert_eq!(
                word(given, &STATUSES, "todos.0.status").map_err(|error| error.to_string()),
                Ok(want.to_owned())
            );
        };
        row("pending", "pending");
        row(" In Progress ", "in_progress");
        row("in-progress", "in_progress");
        row("COMPLETED", "completed");
        row("blocked on Tom", "blocked on Tom");
        let error = word(" ", &STATUSES, "todos.0.status").unwrap_err().to_string();
        let want =
            "todos.0.status must be one of pending, in_progress, completed, cancelled. The list was not changed.";
        assert_eq!(error, want);
    }
}
