//! `tool_search`: finds tools whose definitions the model was not sent.

mod rank;

use std::borrow::Cow;

use haft_tool::{Call, Output, SEARCH, Spec, Tool, ToolError};
use schemars::JsonSchema;
use serde::Deserialize;

use rank::{Document, rank};

/// Tools that are shown where the model does not say how many.
const USUAL: usize = 5;
/// Most tools that are shown.
const MOST: usize = 20;
/// Longest description of a tool that is shown, in characters. Servers write what they like.
const MAX_DESCRIPTION: usize = 2_000;
/// Longest schema that is shown, in bytes of JSON; of a longer one only the names of the arguments are.
const MAX_SCHEMA: usize = 8 * 1024;
/// Most names that are shown where nothing fits.
const MAX_NAMES: usize = 100;

pub(crate) struct ToolSearch;

#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct Input {
    /// Words, or a tool's name.
    query: String,
    /// How many, 5 if left out, at most 20.
    limit: Option<usize>,
}

impl Tool for ToolSearch {
    const NAME: &'static str = SEARCH;
    const OFFERED: bool = false;
    type Input = Input;

    fn description(&self) -> Cow<'static, str> {
        include_str!("tool_search.md").into()
    }

    async fn run(&self, input: Input, call: &Call) -> Result<Output, ToolError> {
        let registry = call.registry();
        let held: Vec<(&str, Spec)> = registry.foreign().collect();
        let documents: Vec<Document<'_>> = held.iter().map(|(source, spec)| document(source, spec)).collect();
        let limit = input.limit.unwrap_or(USUAL).clamp(1, MOST);
        let found: Vec<&Spec> =
            rank(&input.query, &documents).into_iter().take(limit).filter_map(|at| Some(&held.get(at)?.1)).collect();
        let title = format!("{} of {} tools", found.len(), held.len());
        let names: Vec<&str> = found.iter().map(|spec| spec.name.as_str()).collect();
        let text = match (held.is_empty(), found.is_empty()) {
            (true, _) => "There are no tools of other programs at the moment.".to_owned(),
            (false, true) => none(&held),
            (false, false) => found.iter().map(|spec| shown(spec)).collect::<Vec<_>>().join("\n\n"),
        };
        Ok(Output::new(title, text).meta("query", input.query.as_str()).meta("tools", names))
    }
}

fn document<'a>(source: &'a str, spec: &'a Spec) -> Document<'a> {
    let arguments = spec.parameters.get("properties").and_then(serde_json::Value::as_object);
    Document {
        name: &spec.name,
        source,
        description: &spec.description,
        arguments: arguments.into_iter().flatten().map(|(name, _)| name.as_str()).collect(),
    }
}

/// A tool as the model reads it.
fn shown(spec: &Spec) -> String {
    let about: String = spec.description.chars().take(MAX_DESCRIPTION).collect();
    let schema = spec.parameters.to_string();
    let schema = if schema.len() <= MAX_SCHEMA {
        schema
    } else {
        let names = document("", spec).arguments.join(", ");
        format!("too long to show; its names: {}", names.chars().take(MAX_DESCRIPTION).collect::<String>())
    };
    format!("{}\n{}\nArguments: {schema}", spec.name, about.trim())
}

/// What there is, where no word fits.
fn none(held: &[(&str, Spec)]) -> String {
    let names: Vec<&str> = held.iter().take(MAX_NAMES).map(|(_, spec)| spec.name.as_str()).collect();
    let more = held.len().saturating_sub(MAX_NAMES);
    let more = if more == 0 { String::new() } else { format!(" and {more} more") };
    format!("No tool fits these words. Search with other ones. There are: {}{more}.", names.join(", "))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use futures::future::BoxFuture;
    use haft_tool::{AnyTool, Registry, Source};
    use serde_json::{Value, json};

    use super::*;
    use crate::scene::Scene;

    struct Foreign(&'static str, &'static str, Value);

    impl AnyTool for Foreign {
        fn spec(&self) -> Spec {
            let parameters = json!({ "type": "object", "properties": self.2 });
            Spec { name: self.0.to_owned(), description: self.1.to_owned(), parameters }
        }

        fn run<'a>(&'a self, _: Value, _: &'a Call) -> BoxFuture<'a, Result<Output, ToolError>> {
            Box::pin(async { Ok(Output::new("done", "done")) })
        }
    }

    struct Server;

    impl Source for Server {
        fn name(&self) -> &str {
            "github"
        }

        fn tools(&self) -> Vec<Arc<dyn AnyTool>> {
            let issue = json!({"title": {"type": "string"}, "repo": {"type": "string"}});
            let wide: serde_json::Map<String, Value> =
                (0..2000).map(|n| (format!("argument_{n}"), json!({"type": "string"}))).collect();
            vec![
                Arc::new(Foreign("github_create_issue", "Open a new issue in a repository.", issue)),
                Arc::new(Foreign("github_list_commits", "Lists the commits of a branch.", json!({}))),
                Arc::new(Foreign("github_wide", "Takes everything.", Value::Object(wide))),
            ]
        }

        fn version(&self) -> u64 {
            0
        }
    }

    fn scene(registry: &Registry) -> Scene {
        let scene = Scene::new();
        scene.bench.tools(&registry.clone().with_sources(vec![Arc::new(Server)]).now().fitted(0));
        scene
    }

    #[tokio::test]
    async fn tools_are_found_by_words_and_shown_whole() {
        let scene = scene(&Scene::new().registry);
        let output = scene.run(SEARCH, json!({"query": "open an issue"})).await.unwrap();
        let first = output.text.split("\n\n").next().unwrap();
        let schema = json!({"type": "object", "properties": {"title": {"type": "string"}, "repo": {"type": "string"}}});
        assert_eq!(first, format!("github_create_issue\nOpen a new issue in a repository.\nArguments: {schema}"));
        assert_eq!(output.metadata["tools"][0], "github_create_issue");
        let output = scene.run(SEARCH, json!({"query": "github", "limit": 0})).await.unwrap();
        assert_eq!(output.title, "1 of 3 tools");
    }

    #[tokio::test]
    async fn what_is_shown_has_bounds() {
        let scene = scene(&Scene::new().registry);
        let output = scene.run(SEARCH, json!({"query": "github_wide", "limit": 1})).await.unwrap();
        assert!(output.text.contains("too long to show; its names: argument_0, argument_1,"), "{}", output.text);
        assert!(output.text.len() < 4_000);
    }

    #[tokio::test]
    async fn where_nothing_fits_the_names_are_told() {
        let scene = scene(&Scene::new().registry);
        let output = scene.run(SEARCH, json!({"query": "weather"})).await.unwrap();
        assert!(output.text.ends_with("There are: github_create_issue, github_list_commits, github_wide."));
        let empty = Scene::new();
        let output = empty.run(SEARCH, json!({"query": "weather"})).await.unwrap();
        assert_eq!(output.text, "There are no tools of other programs at the moment.");
    }
}
