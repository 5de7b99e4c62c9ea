//! The tools there are, and what happens once around each of them.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use haft_permission::{Advice, matches};
use haft_protocol::hook::{Point, ToolCalled, ToolResult};
use serde_json::Value;
use tracing::Instrument;

use crate::decode::bare;
use crate::source::{Said, Sources};
use crate::tool::Erased;
use crate::truncate::Limits;
use crate::{AnyTool, Call, Hooks, Output, Source, Spec, Tool, ToolError, keep};

/// The name under which a call is kept that could not be matched to a tool or whose arguments were no JSON.
pub const INVALID: &str = "invalid";

/// Most characters of a name that nobody knows which an answer repeats.
const MAX_NAME: usize = 100;

/// Which tools the user switched on and off, by name or by a pattern over names (`*` and `?`); the last that fits
/// counts.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Switches(pub Vec<(String, bool)>);

impl Switches {
    /// What they say about the tool called `name`; `None` where they do not speak of it.
    pub fn say(&self, name: &str) -> Option<bool> {
        self.0.iter().rev().find(|(pattern, _)| matches(pattern, name)).map(|(_, on)| *on)
    }
}

/// Tools by name. Cheap to clone.
///
/// A tool is *offered* if models are told of it ([`Registry::specs`]), and *known* if it can be called. Some are known
/// without being offered: they would cost every request a definition that few need.
///
/// It is a value: what its [`Source`]s have is only in it once [`Registry::now`] has looked at them.
#[derive(Clone, Default)]
pub struct Registry {
    limits: Limits,
    // Sorted by name: the definitions a model is sent must not change their order, or its cache is lost.
    pub(crate) tools: Arc<BTreeMap<String, Entry>>,
    /// What the user switched off, and an agent may have again.
    off: Arc<BTreeMap<String, Entry>>,
    switches: Arc<Switches>,
    sources: Option<Arc<Sources>>,
    /// The names of sources of which nobody knows yet what tools they have.
    pub(crate) pending: Arc<[String]>,
    hooks: Hooks,
}

#[derive(Clone)]
pub(crate) struct Entry {
    tool: Arc<dyn AnyTool>,
    /// What it said of itself, if that need not be asked again.
    said: Option<Arc<Said>>,
    permission: Arc<str>,
    pub(crate) offered: bool,
    /// The user wants it offered.
    pub(crate) wanted: bool,
    /// Whether it is told of in few words.
    small: bool,
    /// Where it comes from, if it is not built in.
    pub(crate) source: Option<Arc<str>>,
    /// It would be offered, were it not for the size of its definition.
    pub(crate) held: bool,
    /// What its description ends with.
    pub(crate) note: Option<Arc<str>>,
}

impl Entry {
    fn new(tool: Arc<dyn AnyTool>, source: Option<Arc<str>>) -> Self {
        let (permission, offered) = (tool.permission().into(), tool.offered());
        Self { tool, said: None, permission, offered, wanted: false, small: false, source, held: false, note: None }
    }

    pub(crate) fn spec(&self) -> Spec {
        let short = if self.small { self.tool.small() } else { None };
        let said = || self.said.as_ref().map_or_else(|| self.tool.spec(), |said| said.spec.clone());
        let mut spec = short.unwrap_or_else(said);
        if let Some(note) = &self.note {
            spec.description = format!("{}\n\n{note}", spec.description);
        }
        spec
    }

    /// About how many tokens its definition takes in a request.
    pub(crate) fn tokens(&self) -> usize {
        match &self.said {
            Some(said) if !self.small && self.note.is_none() => said.tokens(),
            Some(_) | None => self.spec().tokens(),
        }
    }
}

impl Registry {
    /// The same, where outputs are cut to `limits`.
    #[must_use]
    pub fn limited(self, limits: Limits) -> Self {
        Self { limits, ..self }
    }

    /// The same, where `hooks` are called around every tool.
    #[must_use]
    pub fn hooked(self, hooks: Hooks) -> Self {
        Self { hooks, ..self }
    }

    /// The hooks that are called around every tool.
    pub fn hooks(&self) -> &Hooks {
        &self.hooks
    }

    /// The same with `tool`. One of the same name is replaced.
    #[must_use]
    pub fn with<T: Tool>(self, tool: T) -> Self {
        self.with_any(Arc::new(Erased(tool)))
    }

    /// The same with a tool whose types are erased. One of the same name is replaced.
    #[must_use]
    pub fn with_any(mut self, tool: Arc<dyn AnyTool>) -> Self {
        let name = tool.spec().name;
        if Arc::make_mut(&mut self.tools).insert(name.clone(), Entry::new(tool, None)).is_some() {
            tracing::warn!(tool.name = name, "a tool was replaced by another of the same name");
        }
        self
    }

    /// The same with the tools of `sources`, as they come and go. Of two tools of one name that of the first counts.
    #[must_use]
    pub fn with_sources(mut self, sources: Vec<Arc<dyn Source>>) -> Self {
        let mut all = self.sources.take().map(|sources| sources.all.clone()).unwrap_or_default();
        all.extend(sources);
        self.sources = (!all.is_empty()).then(|| Arc::new(Sources::new(all)));
        self
    }

    /// Waits until all sources know what tools they have, at most for `limit`.
    ///
    /// Dropping the future does not stop what they do for it.
    pub async fn ready(&self, limit: Duration) {
        if let Some(sources) = &self.sources {
            sources.ready(limit).await;
        }
    }

    /// What there is now: the same with the tools that its sources have at this moment, under the same switches, and
    /// without the sources. Takes microseconds where nothing has changed.
    #[must_use]
    pub fn now(&self) -> Self {
        let Some(sources) = &self.sources else { return self.clone() };
        let found = sources.look(&self.known());
        let mut now = Self { sources: None, pending: sources.pending().into(), ..self.clone() };
        for one in found.iter() {
            let entry = Entry::new(Arc::clone(&one.tool), Some(Arc::clone(&one.source)));
            now.put(one.name.clone(), Entry { said: Some(Arc::clone(&one.said)), ..entry });
        }
        now
    }

    /// Those that are not of its sources, switched off or not.
    fn known(&self) -> BTreeMap<String, ()> {
        self.tools.keys().chain(self.off.keys()).map(|name| (name.clone(), ())).collect()
    }

    /// Puts `entry` where the user's switches want it.
    fn put(&mut self, name: String, entry: Entry) {
        let (on, off) = (Arc::make_mut(&mut self.tools), Arc::make_mut(&mut self.off));
        on.remove(&name);
        off.remove(&name);
        match self.switches.say(&name) {
            Some(false) => off.insert(name, entry),
            Some(true) => on.insert(name, Entry { offered: true, wanted: true, ..entry }),
            None => on.insert(name, entry),
        };
    }

    /// The same under the user's switches: what is switched on is offered, what is switched off is not even known.
    #[must_use]
    pub fn switched(&self, switches: &Switches) -> Self {
        let mut switched = Self { switches: Arc::new(switches.clone()), ..self.clone() };
        for (name, entry) in &*self.tools {
            switched.put(name.clone(), entry.clone());
        }
        switched
    }

    /// The same with those of the tools that are switched off that `wanted` names: an agent may have what others have
    /// not.
    #[must_use]
    pub fn again(&self, wanted: impl Fn(&str) -> bool) -> Self {
        let back = self.off.iter().filter(|(name, _)| wanted(name));
        let back: Vec<_> = back.map(|(name, entry)| (name.clone(), entry.clone())).collect();
        let mut again = self.clone();
        if !back.is_empty() {
            let off = Arc::make_mut(&mut again.off);
            back.iter().for_each(|(name, _)| drop(off.remove(name)));
            Arc::make_mut(&mut again.tools).extend(back);
        }
        again
    }

    /// The same for `model`, where `allowed` lets permissions pass. A tool whose permission does not pass is as good as
    /// not there; one that does not suit the model is not offered to it, and served if it is called all the same.
    #[must_use]
    pub fn offered(&self, model: &str, allowed: impl Fn(&str) -> bool) -> Self {
        let kept = self.tools.iter().filter(|(_, entry)| allowed(&entry.permission));
        let fitting = |entry: &Entry| Entry { offered: entry.offered && entry.tool.suits(model), ..entry.clone() };
        let tools = kept.map(|(name, entry)| (name.clone(), fitting(entry))).collect();
        Self { tools: Arc::new(tools), ..self.clone() }
    }

    /// The same for a model that gets lost among many tools and long texts: it is told of few of them, in few words, and
    /// of those that the user switched on.
    #[must_use]
    pub fn small(&self) -> Self {
        let few = |entry: &Entry| {
            let small = entry.tool.small().is_some();
            let offered = small || (entry.offered && entry.wanted);
            // Those of sources it can still look for.
            let held = entry.held || (entry.source.is_some() && entry.offered && !offered);
            Entry { offered, small, held, ..entry.clone() }
        };
        let tools = self.tools.iter().map(|(name, entry)| (name.clone(), few(entry))).collect();
        Self { tools: Arc::new(tools), ..self.clone() }
    }

    /// What a model is told: the tools that are offered, sorted by name.
    pub fn specs(&self) -> Vec<Spec> {
        self.tools.values().filter(|entry| entry.offered).map(Entry::spec).collect()
    }

    /// The spec of the tool called `name`, offered or not.
    pub fn spec(&self, name: &str) -> Option<Spec> {
        self.tools.get(name).map(Entry::spec)
    }

    /// The permission that the tool called `name` asks under.
    pub fn permission(&self, name: &str) -> Option<String> {
        self.tools.get(name).map(|entry| entry.tool.permission())
    }

    /// The names of all tools that can be called, sorted.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.tools.keys().map(String::as_str)
    }

    /// The tool that a model means by `asked`: the one of that name, else the one that is also called so, else the only
    /// one that differs from it in case, underscores and hyphens alone, or in the prefix that some models put before all
    /// names (`functions.read`).
    ///
    /// # Errors
    ///
    /// A text for the model that lists the tools it is offered.
    pub fn find(&self, asked: &str) -> Result<&str, String> {
        let exact = self.tools.get_key_value(asked);
        let also = || self.tools.iter().find(|(_, entry)| entry.tool.aliases().contains(&asked));
        // Between two that it may mean nobody chooses.
        let only = |same: &dyn Fn(&str) -> bool| {
            let fits = |name: &str, tool: &dyn AnyTool| same(name) || tool.aliases().iter().any(|name| same(name));
            let mut fitting = self.tools.iter().filter(|(name, entry)| fits(name, &*entry.tool));
            fitting.next().filter(|_| fitting.next().is_none())
        };
        let cased = || only(&|name| name.eq_ignore_ascii_case(asked));
        let wanted = bare(plain(asked));
        let loose = || only(&|name| bare(name) == wanted);
        match exact.or_else(also).or_else(cased).or_else(loose) {
            Some((name, _)) => Ok(name),
            None => {
                let offered = self.tools.iter().filter(|(_, entry)| entry.offered);
                let names: Vec<&str> = offered.map(|(name, _)| name.as_str()).collect();
                let asked: String = asked.chars().take(MAX_NAME).collect();
                Err(format!("there is no tool called {asked:?}. Call one of: {}", names.join(", ")))
            }
        }
    }

    /// Runs the tool called `name` with the arguments `input`, and cuts its output to size. The hooks are called around it.
    ///
    /// # Errors
    ///
    /// What the tool says, what hooks say that do not let it run, or [`ToolError::BadInput`] when there is none of that
    /// name.
    pub async fn run(&self, name: &str, input: Value, call: &Call) -> Result<Output, ToolError> {
        let Some(Entry { tool, .. }) = self.tools.get(name) else {
            return Err(ToolError::BadInput(format!("there is no tool called {name:?}")));
        };
        let span = tracing::info_span!(
            "tool",
            tool.name = name,
            session.id = %call.session,
            message.id = %call.message,
            tool.call_id = %call.id,
        );
        let started = std::time::Instant::now();
        let result = self.run_hooked(name, tool.as_ref(), input, call).instrument(span.clone()).await;
        let result = result.map_err(|error| keep::cut_error(error, self.limits));
        let failed = result.as_ref().err().map(ToolError::kind);
        span.in_scope(|| tracing::info!(ms = started.elapsed().as_millis() as u64, failed, "tool ended"));
        result
    }
}

impl Registry {
    /// Runs `tool` between the hooks that are called before and after it.
    async fn run_hooked(&self, name: &str, tool: &dyn AnyTool, input: Value, call: &Call) -> Result<Output, ToolError> {
        let (session_id, call_id) = (call.session.clone(), call.id.to_string());
        let mut called = ToolCalled { tool: name.to_owned(), session_id, call_id, args: None };
        let (input, advice) = match self.hooks.listen(Point::ToolBefore) {
            true => {
                let (changed, advice) = self.hooks.tool_before(&called, input.clone()).await?;
                if changed != input {
                    call.arguments_changed(&changed);
                }
                (changed, advice)
            }
            false => (input, Advice::None),
        };
        called.args = self.hooks.listen(Point::ToolAfter).then(|| input.clone());
        let output = tool.run(input, &call.hooked(&self.hooks, advice)).await?;
        let output = keep::cut_to_size(output, self.limits, call).await;
        if called.args.is_none() {
            return Ok(output);
        }
        let Output { title, text, metadata, attachments } = output;
        let result = ToolResult { title, output: text, metadata };
        let ToolResult { title, output: text, metadata } = self.hooks.tool_after(&called, result).await?;
        Ok(keep::cut_again(Output { title, text, metadata, attachments }, self.limits))
    }
}

/// `asked` without the prefix under which some models know all tools, and without the count behind it.
fn plain(asked: &str) -> &str {
    const NAMESPACES: [&str; 4] = ["functions", "default_api", "tools", "tool"];
    let Some((namespace, name)) = asked.split_once(['.', ':', '/']) else { return asked };
    if !NAMESPACES.contains(&namespace) {
        return asked;
    }
    match name.split_once(':') {
        Some((name, count)) if count.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => name,
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

#[cfg(test)]
mod tests;
