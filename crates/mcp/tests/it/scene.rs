//! A server of our own in a scratch folder, and calls of its tools.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use haft_mcp::client::cache::Cache;
use haft_mcp::client::pins::Remembered;
use haft_mcp::client::server::HEALTH;
use haft_mcp::client::settings::{Cage, Local, Place, Settings};
use haft_mcp::client::{Servers, World};
use haft_permission::{Answerer, Gate};
use haft_project::Processes;
use haft_protocol::Clock;
use haft_tool::fake::FakeHost;
use haft_tool::{Output, Registry};
use serde_json::Value;

/// What plays a server.
const PROGRAM: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/server.py");
/// Long enough for any machine.
const PATIENCE: Duration = Duration::from_secs(60);

pub(crate) struct Scene {
    pub folder: tempfile::TempDir,
    pub host: FakeHost,
    pub pins: Arc<Remembered>,
}

impl Scene {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let host = FakeHost::allowing_all(folder.path());
        Self { folder, host, pins: Arc::default() }
    }

    pub(crate) fn dir(&self) -> PathBuf {
        self.folder.path().canonicalize().unwrap()
    }

    /// A server that behaves like `mode`.
    pub(crate) fn settings(&self, name: &str, mode: &str) -> Settings {
        let log = self.dir().join("log").display().to_string();
        let local = Local {
            command: ["python3", PROGRAM, mode, &log].map(str::to_owned).into(),
            dir: self.dir(),
            environment: vec![("GIVEN".to_owned(), haft_vault::Secret::new("1"))],
            cage: Cage::On { changes: true, network: true },
        };
        let (timeout, call_timeout) = (Some(PATIENCE), None);
        Settings {
            name: name.to_owned(),
            enabled: true,
            timeout,
            call_timeout,
            sampling: false,
            place: Place::Local(local),
        }
    }

    pub(crate) fn servers(&self, settings: Vec<Settings>) -> Servers {
        self.looking_after(settings, HEALTH)
    }

    /// The same, where idle ones are asked so often whether they are still there.
    pub(crate) fn looking_after(&self, settings: Vec<Settings>, health: Duration) -> Servers {
        let gate = Gate::new(Clock::system(), Answerer::Nobody, |_| {});
        let processes = Processes::new("/bin/sh".into(), Vec::new());
        let mut world = World::new(self.dir(), processes, gate, self.pins.clone());
        world.health = health;
        world.cache = Some(Cache::in_folder(self.dir().join("cache")));
        Servers::new(world, settings)
    }

    /// The tools of `servers`, once they are known.
    pub(crate) async fn tools(&self, servers: &Servers) -> Registry {
        let registry = Registry::default().with_sources(servers.sources());
        registry.ready(PATIENCE).await;
        registry.now()
    }

    /// What a call comes to.
    pub(crate) async fn call(&self, tools: &Registry, name: &str, input: Value) -> Result<Output, String> {
        tools.run(name, input, &self.host.call()).await.map_err(|error| error.to_string())
    }

    /// The server called `my server`, and its tools.
    pub(crate) async fn good(&self) -> (Servers, Registry) {
        let servers = self.servers(vec![self.settings("my server", "good")]);
        let tools = self.tools(&servers).await;
        (servers, tools)
    }
}
