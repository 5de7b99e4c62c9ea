//! Programs that call tools: this process again, asked to run them.

use std::path::Path;
use std::sync::Arc;

use futures::future::BoxFuture;
use haft_permission::Grant;
use haft_project::{Command, Place, Target};
use haft_script::{Doors, Engine, Execute, Facts, Launch, Ways};
use haft_tool::{Call, ToolError};
use haft_toolbox::World;

/// What this process is asked with to run scripts.
const ASKED: &str = "--run-scripts";

/// Runs scripts, if this process was started for that; says whether it was.
pub(crate) fn served() -> bool {
    let asked = std::env::args().nth(1).is_some_and(|argument| argument == ASKED);
    if asked {
        haft_script::serve();
    }
    asked
}

/// The tool that runs programs in `place`.
pub(crate) fn execute(world: &World, place: &Place) -> Execute {
    let program = std::env::current_exe().unwrap_or_default();
    let directory: &Path = &place.directory;
    let facts = Facts { directory: directory.to_owned(), ..Facts::default() };
    let engine = Engine::new(Launch { program, args: vec![ASKED.into()] }, facts);
    let (files, processes) = (world.files.clone(), world.processes.clone());
    Execute::new(engine, Doors { files, processes, web: haft_net::Web::default(), ways: Arc::new(ToolsAlone) })
}

/// A program has no way to files and commands but tools.
struct ToolsAlone;

impl Ways for ToolsAlone {
    fn reach<'a>(&'a self, _call: &'a Call, _path: &'a str) -> BoxFuture<'a, Result<Target, ToolError>> {
        Box::pin(std::future::ready(Err(ToolError::Failed("no files here".to_owned()))))
    }

    fn run<'a>(
        &'a self,
        _call: &'a Call,
        _command: &'a str,
        _dir: &'a str,
    ) -> BoxFuture<'a, Result<(Grant, Command), ToolError>> {
        Box::pin(std::future::ready(Err(ToolError::Failed("no commands here".to_owned()))))
    }
}
