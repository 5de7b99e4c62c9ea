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
mod tests {
    use std::borrow::Cow;

    use super::*;

    struct Shown<const AT: usize>;

    #[derive(serde::Deserialize, schemars::JsonSchema)]
    #[expect(dead_code, reason = "only its schema is looked at")]
    struct Some2 {
        /// Must be.
        path: String,
        /// May be.
        depth: Option<u32>,
    }

    struct Looks;

    impl Tool for Looks {
        const NAME: &'static str = "look";
        const SMALL: Option<crate::Small> = Some(crate::Small { description: "Looks.", arguments: &["path"] });
        type Input = Some2;

        fn description(&self) -> Cow<'static, str> {
            "Looks for a long time, and says so.".into()
        }

        fn suits(&self, model: &str) -> bool {
            model != "reader"
        }

        async fn run(&self, _input: Some2, _call: &Call) -> Result<Output, ToolError> {
            Ok(Output::new("done", "looked"))
        }
    }

    #[test]
    fn a_weak_model_is_told_of_few_tools_in_few_words() {
        let all = registry().with(Looks);
        let small = all.offered("reader", |_| true).small();
        assert_eq!(told(&small), "look");
        let spec = small.spec("look").unwrap();
        assert_eq!(spec.description, "Looks.");
        assert_eq!(spec.parameters["properties"].as_object().unwrap().keys().collect::<Vec<_>>(), ["path"]);
        assert_eq!(spec.parameters["required"], serde_json::json!(["path"]));
        // All others can be called, in all words for whoever asks.
        assert_eq!(small.find("write"), Ok("write"));
        assert_eq!(all.spec("look").unwrap().parameters["properties"].as_object().unwrap().len(), 2);
        // What the user wants is offered as it is; what is not allowed is not there.
        let on = Switches(vec![("list".to_owned(), true)]);
        assert_eq!(told(&all.switched(&on).offered("any", |_| true).small()), "list look");
        assert_eq!(told(&all.offered("any", |permission| permission != "look").small()), "");
    }

    const NAMES: [(&str, &[&str], bool); 3] =
        [("list", &["ls"], false), ("read", &["view"], true), ("write", &[], true)];

    #[derive(serde::Deserialize, schemars::JsonSchema)]
    struct Nothing {}

    impl<const AT: usize> Tool for Shown<AT> {
        const NAME: &'static str = NAMES[AT].0;
        const ALIASES: &'static [&'static str] = NAMES[AT].1;
        const OFFERED: bool = NAMES[AT].2;
        type Input = Nothing;

        fn description(&self) -> Cow<'static, str> {
            "A tool.".into()
        }

        fn suits(&self, model: &str) -> bool {
            model != "reader" || Self::NAME != "write"
        }

        async fn run(&self, _input: Nothing, _call: &Call) -> Result<Output, ToolError> {
            Ok(Output::new("done", Self::NAME))
        }
    }

    fn registry() -> Registry {
        Registry::default().with(Shown::<0>).with(Shown::<1>).with(Shown::<2>)
    }

    fn told(registry: &Registry) -> String {
        registry.specs().into_iter().map(|spec| spec.name).collect::<Vec<_>>().join(" ")
    }

    #[tokio::test]
    async fn what_is_logged_during_a_call_says_which_call_it_is() {
        let folder = tempfile::tempdir().unwrap();
        let call = crate::fake::FakeHost::allowing_all(folder.path()).call();
        let log = folder.path().join("log");
        let file = Arc::new(std::fs::File::create(&log).unwrap());
        // Where there is one subscriber alone, a test beside this one that logs first decides for its own thread, where
        // there is none, whether anything is logged at all.
        let _other = tracing::Dispatch::new(tracing_subscriber::fmt().with_writer(std::io::sink).finish());
        let _here = tracing::subscriber::set_default(tracing_subscriber::fmt().with_writer(file).finish());
        registry().run("read", serde_json::json!({}), &call).await.unwrap();
        let log = std::fs::read_to_string(log).unwrap();
        let Call { session, message, id, .. } = &call;
        let span = format!("tool{{tool.name=\"read\" session.id={session} message.id={message} tool.call_id={id}}}");
        assert!(log.contains(&span) && log.contains("tool ended"), "{log}");
    }

    #[test]
    fn some_tools_are_known_and_not_offered() {
        let registry = registry();
        assert_eq!(told(&registry), "read write");
        assert_eq!(registry.find("list"), Ok("list"));
        assert!(registry.spec("list").is_some());
        assert_eq!(told(&registry.offered("any", |_| true)), "read write");
    }

    #[test]
    fn between_two_that_a_name_may_mean_nobody_chooses() {
        struct Named(&'static str);
        impl AnyTool for Named {
            fn spec(&self) -> Spec {
                Spec { name: self.0.to_owned(), description: String::new(), parameters: Value::Null }
            }
            fn run<'a>(&'a self, _: Value, _: &'a Call) -> futures::future::BoxFuture<'a, Result<Output, ToolError>> {
                Box::pin(async { Err(ToolError::Cancelled) })
            }
        }
        let registry = Registry::default().with_any(Arc::new(Named("a_bc"))).with_any(Arc::new(Named("ab_c")));
        assert_eq!(registry.find("ab_c"), Ok("ab_c"));
        assert_eq!(registry.find("AB_C"), Ok("ab_c"));
        assert!(registry.find("abc").is_err());
    }

    #[test]
    fn what_does_not_suit_a_model_is_served_all_the_same() {
        let all = registry();
        let registry = all.offered("reader", |_| true);
        assert_eq!(told(&registry), "read");
        assert_eq!(registry.find("write"), Ok("write"));
        // Switched on or not: the model would do worse with it.
        let on = Switches(vec![("write".to_owned(), true)]);
        assert_eq!(told(&all.switched(&on).offered("reader", |_| true)), "read");
        let error = registry.find("none").unwrap_err();
        assert!(error.ends_with("Call one of: read"), "{error}");
    }

    #[test]
    fn what_is_not_allowed_is_gone_whoever_the_model_is() {
        for model in ["any", "reader"] {
            let registry = registry().offered(model, |permission| permission != "write");
            assert_eq!(registry.names().collect::<Vec<_>>().join(" "), "list read", "{model}");
            assert!(registry.find("write").is_err(), "{model}");
        }
    }

    #[test]
    fn a_switch_offers_a_tool_or_takes_it_away() {
        #[track_caller]
        fn check(switches: &[(&str, bool)], told_of: &str, known: &str) {
            let switches = Switches(switches.iter().map(|(name, on)| ((*name).to_owned(), *on)).collect());
            let registry = registry().switched(&switches);
            assert_eq!(
                (told(&registry).as_str(), registry.names().collect::<Vec<_>>().join(" ").as_str()),
                (told_of, known)
            );
        }
        check(&[], "read write", "list read write");
        check(&[("list", true)], "list read write", "list read write");
        check(&[("write", false)], "read", "list read");
        check(&[("*", false), ("read", true)], "read", "read");
        check(&[("read", true), ("*", false)], "", "");
        check(&[("other", false)], "read write", "list read write");
    }

    #[test]
    fn a_tool_is_found_by_its_other_names_and_in_any_case() {
        let registry = registry();
        for (asked, want) in [("read", "read"), ("view", "read"), ("READ", "read"), ("View", "read"), ("ls", "list")] {
            assert_eq!(registry.find(asked), Ok(want), "{asked}");
        }
        for (asked, want) in [
            ("functions.read", "read"),
            ("functions.read:0", "read"),
            ("default_api:write", "write"),
            ("tools/Read", "read"),
            ("wri-te", "write"),
            ("WRITE_", "write"),
        ] {
            assert_eq!(registry.find(asked), Ok(want), "{asked}");
        }
        // Another server's tool is not ours of that name.
        for asked in ["other.read", "functions.", "functions.reads", "read:0", "", "_", "functions.functions.read"] {
            assert!(registry.find(asked).is_err(), "{asked}");
        }
        let error = registry.find("reads").unwrap_err();
        assert_eq!(error, "there is no tool called \"reads\". Call one of: read, write");
        assert!(registry.find(&"x".repeat(10_000)).unwrap_err().len() < 200);
        // What is gone is gone under each of its names.
        let off = Switches(vec![("read".to_owned(), false)]);
        assert!(registry.switched(&off).find("view").is_err());
    }
}
