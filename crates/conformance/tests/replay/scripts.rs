//! The tools and the plug-in in TypeScript that the calls were made to, and programs.

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::{Context, Result};
use futures::future::BoxFuture;
use haft_permission::Grant;
use haft_project::{Command, Target};
use haft_script::plugin::{Found, Grounds, Limits, Moment, NoClient, Plugin, Stage};
use haft_script::{
    Bounds, Cache, Doors, Engine, Execute, Facts, Imported, Launch, NoWorld, PluginTools, ToolFiles, Ways,
};
use haft_tool::{Call, Hooks, Registry, Source, ToolError};
use haft_toolbox::World;
use serde_json::Value;
use tempfile::TempDir;

use crate::record::Record;

/// What this program is asked with to run scripts.
const ASKED: &str = "--run-scripts";
/// The files, by where they are in a configuration folder.
const FILES: [(&str, &str); 3] = [
    ("tool/hello.ts", include_str!("ext/hello.ts")),
    ("tools/math.ts", include_str!("ext/math.ts")),
    ("plugin/p.ts", include_str!("ext/p.ts")),
];

/// Runs scripts, if this program was started for that.
pub(crate) fn serve_if_asked() -> Option<ExitCode> {
    std::env::args().nth(1).filter(|asked| asked == ASKED)?;
    haft_script::serve();
    Some(ExitCode::SUCCESS)
}

/// Whether what comes of the call depends on scripts.
pub(crate) fn is_scripted(record: &Record) -> bool {
    let tools = ["hello", "math_add", "math_boom", "math_long", "plug_tool", "execute"];
    tools.contains(&record.tool.as_str()) || record.args["command"].as_str().is_some_and(|line| line.contains("$PLUG"))
}

/// The files, and what runs them.
pub(crate) struct Scripts {
    folder: TempDir,
    /// The project.
    directory: PathBuf,
    engine: Engine,
}

impl Scripts {
    /// The files for the project in `directory`. Nothing runs yet.
    pub(crate) fn new(directory: PathBuf) -> Result<Self> {
        let folder = tempfile::tempdir()?;
        for (name, text) in FILES {
            let path = folder.path().join(name);
            std::fs::create_dir_all(path.parent().context("no folder")?)?;
            std::fs::write(path, text)?;
        }
        let launch = Launch { program: std::env::current_exe()?, args: vec![ASKED.into()] };
        let engine = Engine::new(launch, Facts { directory: directory.clone(), ..Facts::default() });
        Ok(Self { folder, directory, engine })
    }

    /// `registry` with what the files hold and with programs. Needs a Tokio runtime.
    pub(crate) fn add_to(&self, registry: Registry, world: &World) -> (Registry, Vec<Arc<dyn Source>>) {
        let (files, processes) = (world.files.clone(), world.processes.clone());
        let doors = Doors { files, processes, web: haft_net::Web::default(), ways: Arc::new(BuiltIn(world.clone())) };
        let anything: Arc<dyn Bounds> = Arc::new(Anything);
        let bounds = anything.clone();
        let grounds = Grounds {
            engine: self.engine.clone(),
            host: None,
            bounds: anything,
            stage: Arc::new(Nowhere),
            client: Arc::new(NoClient),
            directory: self.directory.clone(),
            worktree: self.directory.clone(),
            project: "global".to_owned(),
            tell: Arc::new(complain),
            limits: Limits::default(),
        };
        let found = Found { name: "p".to_owned(), file: self.folder.path().join("plugin/p.ts"), options: Value::Null };
        let plugin = Arc::new(Plugin::new(found, grounds));
        let tools = ToolFiles::new(
            vec![self.folder.path().to_owned()],
            self.engine.clone(),
            None,
            doors.clone(),
            Box::new(move |_| bounds.clone()),
            Cache::new(self.folder.path().join("cache")),
            Arc::new(complain),
        );
        let of_plugins = PluginTools::new(vec![plugin.clone()], doors.clone());
        let registry = registry.with(Execute::new(self.engine.clone(), doors)).hooked(Hooks::default().with(plugin));
        (registry, vec![Arc::new(tools), Arc::new(of_plugins)])
    }
}

/// What does not work is seen in what comes of the call.
fn complain(text: &str) {
    use std::io::Write;
    // Nobody may read it.
    let _ = writeln!(std::io::stderr(), "{text}");
}

/// Every file may be imported: they are ours.
struct Anything;

impl Bounds for Anything {
    fn check(&self, _: &Imported<'_>) -> Result<(), String> {
        Ok(())
    }

    fn folders(&self) -> Vec<PathBuf> {
        Vec::new()
    }
}

/// The plug-in asks for nothing.
struct Nowhere;

impl Stage for Nowhere {
    fn enter(&self, _: &str, _: &Moment) -> Arc<dyn haft_script::World> {
        Arc::new(NoWorld)
    }
}

/// Leave as the built-in tools ask for it.
struct BuiltIn(World);

impl Ways for BuiltIn {
    fn reach<'a>(&'a self, call: &'a Call, path: &'a str) -> BoxFuture<'a, Result<Target, ToolError>> {
        Box::pin(haft_toolbox::reach(&self.0.files, call, path))
    }

    fn run<'a>(
        &'a self,
        call: &'a Call,
        command: &'a str,
        dir: &'a str,
    ) -> BoxFuture<'a, Result<(Grant, Command), ToolError>> {
        Box::pin(haft_toolbox::leave_to_run(&self.0, call, command, dir))
    }
}
