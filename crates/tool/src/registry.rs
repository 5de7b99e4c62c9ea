//! The tools there are, and what happens once around each of them.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;
use tracing::Instrument;

use crate::tool::Erased;
use crate::{AnyTool, Call, Output, Spec, Tool, ToolError, keep};

/// The name under which a call is kept that could not be matched to a tool or whose arguments were no JSON.
pub const INVALID: &str = "invalid";

/// Tools by name. Cheap to clone.
#[derive(Clone, Default)]
pub struct Registry {
    // Sorted by name: the definitions a model is sent must not change their order, or its cache is lost.
    tools: Arc<BTreeMap<String, Arc<dyn AnyTool>>>,
}

impl Registry {
    /// The same with `tool`. One of the same name is replaced.
    #[must_use]
    pub fn with<T: Tool>(self, tool: T) -> Self {
        self.with_any(Arc::new(Erased(tool)))
    }

    /// The same with a tool whose types are erased. One of the same name is replaced.
    #[must_use]
    pub fn with_any(mut self, tool: Arc<dyn AnyTool>) -> Self {
        let name = tool.spec().name;
        if Arc::make_mut(&mut self.tools).insert(name.clone(), tool).is_some() {
            tracing::warn!(tool.name = name, "a tool was replaced by another of the same name");
        }
        self
    }

    /// The tools that suit `model` and whose permissions `allowed` lets pass. The others are as good as not there.
    #[must_use]
    pub fn offered(&self, model: &str, allowed: impl Fn(&str) -> bool) -> Self {
        let kept = self.tools.iter().filter(|(_, tool)| tool.suits(model) && allowed(&tool.permission()));
        Self { tools: Arc::new(kept.map(|(name, tool)| (name.clone(), Arc::clone(tool))).collect()) }
    }

    /// What a model is told about these tools, sorted by name.
    pub fn specs(&self) -> Vec<Spec> {
        self.tools.values().map(|tool| tool.spec()).collect()
    }

    /// The spec of the tool called `name`.
    pub fn spec(&self, name: &str) -> Option<Spec> {
        self.tools.get(name).map(|tool| tool.spec())
    }

    /// The names of all tools, sorted.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.tools.keys().map(String::as_str)
    }

    /// The tool that a model means by `asked`: the one of that name, else the one that differs in case alone.
    ///
    /// # Errors
    ///
    /// A text for the model that lists the tools there are.
    pub fn find(&self, asked: &str) -> Result<&str, String> {
        let exact = self.tools.get_key_value(asked);
        let loose = || self.tools.iter().find(|(name, _)| name.eq_ignore_ascii_case(asked));
        match exact.or_else(loose) {
            Some((name, _)) => Ok(name),
            None => {
                let names: Vec<&str> = self.names().collect();
                Err(format!("there is no tool called {asked:?}. Call one of: {}", names.join(", ")))
            }
        }
    }

    /// Runs the tool called `name` with the arguments `input`, and cuts its output to size.
    ///
    /// # Errors
    ///
    /// What the tool says, or [`ToolError::BadInput`] when there is none of that name.
    pub async fn run(&self, name: &str, input: Value, call: &Call) -> Result<Output, ToolError> {
        let tool =
            self.tools.get(name).ok_or_else(|| ToolError::BadInput(format!("there is no tool called {name:?}")))?;
        let span = tracing::info_span!(
            "tool",
            tool.name = name,
            session.id = %call.session,
            message.id = %call.message,
            tool.call_id = %call.id,
        );
        let started = std::time::Instant::now();
        let result = tool.run(input, call).instrument(span.clone()).await;
        let result = match result {
            Ok(output) => Ok(keep::cut_to_size(output, call).await),
            Err(error) => Err(error),
        };
        let failed = result.as_ref().err().map(ToolError::kind);
        span.in_scope(|| tracing::info!(ms = started.elapsed().as_millis() as u64, failed, "tool ended"));
        result
    }
}

/// Reads the arguments text of a call.
///
/// Nothing at all counts as no arguments.
///
/// # Errors
///
/// A text for the model that says where the JSON breaks.
pub fn parse_arguments(tool: &str, text: &str) -> Result<Value, String> {
    if text.trim().is_empty() {
        return Ok(Value::Object(serde_json::Map::new()));
    }
    serde_json::from_str(text).map_err(|error| {
        format!("the arguments for {tool} are not valid JSON ({error}). Send one JSON object and nothing else")
    })
}
