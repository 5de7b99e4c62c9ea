//! Where tools come from that come and go: servers of other programs, folders of scripts.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use futures::FutureExt;
use futures::future::{BoxFuture, join_all};

use crate::{AnyTool, Spec};

/// Most tools of all sources together. Further ones are left out.
pub const MAX_SOURCE_TOOLS: usize = 4096;
/// Longest name of a source's tool, in bytes: what vendors take.
pub const MAX_TOOL_NAME: usize = 128;

/// Tools that come and go.
///
/// A [`Registry`](crate::Registry) looks at its sources before each step of a session. What a model was *sent* stays
/// as it was for the session, so that its cache holds; what can be *called* follows the source.
pub trait Source: Send + Sync {
    /// What people know it by, such as the server's name in the settings.
    fn name(&self) -> &str;

    /// The tools that it has now. Never waits: it is asked before each step.
    ///
    /// Names have letters, digits, `_` and `-`, at most [`MAX_TOOL_NAME`] of them; others are left out.
    fn tools(&self) -> Vec<Arc<dyn AnyTool>>;

    /// A number that is another one whenever [`Source::tools`] is.
    fn version(&self) -> u64;

    /// Waits until it is known what tools it has, or that it will not be known soon, as where a server cannot be
    /// reached. At once where the definitions were kept from before. Whoever waits says for how long; dropping the
    /// future must not stop the work.
    fn ready(&self) -> BoxFuture<'_, ()> {
        Box::pin(std::future::ready(()))
    }

    /// Whether its tools may stand in the place of built-in ones of the same name: only where the user put them there
    /// for that, as a file of their own. Else such a tool is left out, so that no server takes a call meant for
    /// another.
    fn replaces(&self) -> bool {
        false
    }
}

/// The sources of a registry, and what they had when they were last looked at.
#[derive(Default)]
pub(crate) struct Sources {
    pub(crate) all: Vec<Arc<dyn Source>>,
    last: Mutex<Option<Look>>,
}

/// The versions of the sources, and what they had.
type Look = (Vec<u64>, Arc<[Found]>);

/// A tool of a source.
#[derive(Clone)]
pub(crate) struct Found {
    pub name: String,
    pub tool: Arc<dyn AnyTool>,
    /// What it said of itself: many of them are asked for it again and again.
    pub said: Arc<Said>,
    /// The source's name.
    pub source: Arc<str>,
}

/// What a tool said of itself when its source was looked at.
pub(crate) struct Said {
    pub spec: Spec,
    tokens: OnceLock<usize>,
}

impl Said {
    fn new(spec: Spec) -> Arc<Self> {
        Arc::new(Self { spec, tokens: OnceLock::new() })
    }

    /// About how many tokens that takes in a request.
    pub(crate) fn tokens(&self) -> usize {
        *self.tokens.get_or_init(|| self.spec.tokens())
    }
}

impl Sources {
    pub(crate) fn new(all: Vec<Arc<dyn Source>>) -> Self {
        Self { all, last: Mutex::default() }
    }

    /// The tools that the sources have now, in their order. `taken` are names that are not theirs to give.
    pub(crate) fn look<T>(&self, taken: &BTreeMap<String, T>) -> Arc<[Found]> {
        let versions: Vec<u64> = self.all.iter().map(|source| source.version()).collect();
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        match &*last {
            Some((seen, found)) if *seen == versions => Arc::clone(found),
            // What is amiss is said once for each change, as it is found.
            _ => {
                let found: Arc<[Found]> = self.gather(taken).into();
                *last = Some((versions, Arc::clone(&found)));
                found
            }
        }
    }

    fn gather<T>(&self, taken: &BTreeMap<String, T>) -> Vec<Found> {
        let mut found: Vec<Found> = Vec::new();
        let mut seen = BTreeSet::new();
        for source in &self.all {
            let origin: Arc<str> = source.name().into();
            for tool in source.tools() {
                let spec = tool.spec();
                let name = spec.name.clone();
                let why = if found.len() >= MAX_SOURCE_TOOLS {
                    "there are too many tools"
                } else if !is_name(&name) {
                    "its name is none that models can call"
                } else if taken.contains_key(&name) && !source.replaces() {
                    "its name is that of a built-in tool"
                } else if !seen.insert(name.clone()) {
                    "another tool has the same name"
                } else {
                    if taken.contains_key(&name) {
                        tracing::warn!(tool.name = name, source = &*origin, "a built-in tool is replaced");
                    }
                    found.push(Found { name, tool, said: Said::new(spec), source: Arc::clone(&origin) });
                    continue;
                };
                let name: String = name.chars().take(MAX_TOOL_NAME).collect();
                tracing::warn!(tool.name = name, source = &*origin, why, "a tool is left out");
            }
        }
        found
    }

    /// The names of those that are not ready.
    pub(crate) fn pending(&self) -> Vec<String> {
        let pending = self.all.iter().filter(|source| source.ready().now_or_never().is_none());
        pending.map(|source| source.name().to_owned()).collect()
    }

    /// Waits until all are ready, at most for `limit`.
    pub(crate) async fn ready(&self, limit: Duration) {
        let all = join_all(self.all.iter().map(|source| source.ready()));
        // Those that are late are told of by another way than the list.
        let _ = tokio::time::timeout(limit, all).await;
    }
}

fn is_name(name: &str) -> bool {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    !name.is_empty() && name.len() <= MAX_TOOL_NAME && name.bytes().all(fits)
}

#[cfg(test)]
pub(crate) mod tests {
    use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

    use serde_json::{Value, json};

    use super::*;
    use crate::fake::FakeHost;
    use crate::{Call, Output, Registry, Spec, Switches, ToolError};

    /// A tool that says where it is from.
    pub(crate) struct Named(pub String, pub &'static str);

    impl AnyTool for Named {
        fn spec(&self) -> Spec {
            let parameters = json!({"type": "object", "properties": {"text": {"type": "string"}}});
            Spec { name: self.0.clone(), description: format!("A tool of {}.", self.1), parameters }
        }

        fn run<'a>(&'a self, _: Value, _: &'a Call) -> BoxFuture<'a, Result<Output, ToolError>> {
            Box::pin(async { Ok(Output::new("done", self.1)) })
        }
    }

    /// A source whose tools a test changes.
    pub(crate) struct Server {
        pub name: &'static str,
        pub tools: Mutex<Vec<String>>,
        pub version: AtomicU64,
        pub is_ready: AtomicBool,
        pub replaces: bool,
    }

    impl Server {
        pub(crate) fn new(name: &'static str, tools: &[&str]) -> Arc<Self> {
            Arc::new(Self {
                name,
                tools: Mutex::new(tools.iter().map(|name| (*name).to_owned()).collect()),
                version: AtomicU64::default(),
                is_ready: AtomicBool::new(true),
                replaces: false,
            })
        }

        pub(crate) fn has(&self, tools: &[&str]) {
            *self.tools.lock().unwrap() = tools.iter().map(|name| (*name).to_owned()).collect();
            self.version.fetch_add(1, Ordering::Relaxed);
        }
    }

    impl Source for Server {
        fn name(&self) -> &str {
            self.name
        }

        fn tools(&self) -> Vec<Arc<dyn AnyTool>> {
            let names = self.tools.lock().unwrap().clone();
            names.into_iter().map(|name| Arc::new(Named(name, self.name)) as Arc<dyn AnyTool>).collect()
        }

        fn version(&self) -> u64 {
            self.version.load(Ordering::Relaxed)
        }

        fn ready(&self) -> BoxFuture<'_, ()> {
            match self.is_ready.load(Ordering::Relaxed) {
                true => Box::pin(std::future::ready(())),
                false => Box::pin(std::future::pending()),
            }
        }

        fn replaces(&self) -> bool {
            self.replaces
        }
    }

    pub(crate) fn base() -> Registry {
        Registry::default().with_any(Arc::new(Named("read".to_owned(), "haft")))
    }

    fn names(registry: &Registry) -> String {
        registry.names().collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn what_is_known_follows_its_sources() {
        let server = Server::new("s", &["s_a", "s_b"]);
        let registry = base().with_sources(vec![server.clone()]);
        assert_eq!(names(&registry), "read");
        let then = registry.now();
        assert_eq!(names(&then), "read s_a s_b");
        server.has(&["s_b", "s_c"]);
        assert_eq!(names(&registry.now()), "read s_b s_c");
        // A view is a value.
        assert_eq!(names(&then), "read s_a s_b");
        server.has(&[]);
        assert_eq!(names(&registry.now()), "read");
    }

    #[tokio::test]
    async fn no_source_takes_the_name_of_a_built_in_tool_unless_it_may() {
        let host = FakeHost::allowing_all(std::path::Path::new("/nowhere"));
        let who = async |registry: &Registry| registry.now().run("read", json!({}), &host.call()).await.unwrap().text;
        let server = Server::new("s", &["read", "s_a"]);
        let registry = base().with_sources(vec![server]);
        assert_eq!((who(&registry).await.as_str(), names(&registry.now()).as_str()), ("haft", "read s_a"));
        let own = Server { replaces: true, ..Arc::into_inner(Server::new("own", &["read"])).unwrap() };
        let registry = base().with_sources(vec![Arc::new(own)]);
        assert_eq!(who(&registry).await, "own");
        // One that is switched off is no gap for another to stand in.
        let off = Switches(vec![("read".to_owned(), false)]);
        let registry = base().switched(&off).with_sources(vec![Server::new("s", &["read"])]);
        assert_eq!(names(&registry.now()), "");
        assert_eq!(who(&registry.again(|_| true)).await, "haft");
    }

    #[test]
    fn of_two_tools_of_one_name_the_first_counts_and_names_that_no_model_can_call_are_left_out() {
        let long = "x".repeat(MAX_TOOL_NAME + 1);
        let first = Server::new("one", &["a", "b c", "", &long, "d.e", "naïve", &long[1..]]);
        let registry = base().with_sources(vec![first, Server::new("two", &["a", "b"])]).now();
        assert_eq!(names(&registry), format!("a b read {}", &long[1..]));
        assert_eq!(registry.spec("a").unwrap().description, "A tool of one.");
        let many: Vec<String> = (0..=MAX_SOURCE_TOOLS).map(|n| format!("t{n}")).collect();
        let many: Vec<&str> = many.iter().map(String::as_str).collect();
        assert_eq!(base().with_sources(vec![Server::new("s", &many)]).now().names().count(), MAX_SOURCE_TOOLS + 1);
    }

    #[test]
    fn switches_hold_for_tools_that_come_later_and_an_agent_may_have_them_again() {
        let switches = Switches(vec![("s_*".to_owned(), false), ("s_b".to_owned(), true)]);
        let server = Server::new("s", &[]);
        let registry = base().switched(&switches).with_sources(vec![server.clone()]);
        server.has(&["s_a", "s_b"]);
        assert_eq!(names(&registry.now()), "read s_b");
        assert_eq!(names(&registry.now().again(|name| name == "s_a")), "read s_a s_b");
        assert_eq!(names(&registry.now().again(|_| false)), "read s_b");
    }

    #[tokio::test]
    async fn whoever_waits_does_so_no_longer_than_they_say() {
        let server = Server::new("slow", &[]);
        let registry = base().with_sources(vec![server.clone()]);
        registry.ready(Duration::MAX).await;
        server.is_ready.store(false, Ordering::Relaxed);
        // It would be for ever.
        registry.ready(Duration::from_millis(1)).await;
        assert_eq!(*registry.now().pending, ["slow".to_owned()]);
    }
}
