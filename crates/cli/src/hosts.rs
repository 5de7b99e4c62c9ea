//! An installed Node or Bun for scripts that the engine cannot run: with what it is started here.

use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use haft_config::SandboxMode;
use haft_permission::{Action, Answerer, Asker, Gate, Rule, Rules};
use haft_protocol::Clock;
use haft_script::{Hosting, MAX_HOSTS};
use tokio::sync::Semaphore;

use crate::scripts::STRIP;
use crate::wire::Ground;

/// Room for hosts in this process.
static ROOM: OnceLock<Arc<Semaphore>> = OnceLock::new();

/// What hosts are started with in the place of `ground`. None is started.
pub(crate) fn of(ground: &Ground) -> Arc<Hosting> {
    let (config, processes) = (&ground.config, &ground.processes);
    let gate = Gate::new(Clock::system(), Answerer::Nobody, |_| {});
    let gate = match ground.audit() {
        Ok(Some(audit)) => gate.witnessed_by(Arc::new(audit)),
        Ok(None) | Err(_) => gate,
    };
    // Where some files may not be edited none is changed through a host: it cannot be asked file by file.
    let held = |rule: &Rule| rule.action != Action::Allow && matches!(rule.permission.as_str(), "*" | "edit");
    let edits = !config.rules.iter().any(held);
    let program = std::env::current_exe().unwrap_or_default();
    // Only folders that cannot be a project's: what a project holds is no program of the user's.
    let project = ground.place.worktree.as_ref().unwrap_or(&ground.place.directory);
    let path = std::env::var_os("PATH").unwrap_or_default();
    let path: Vec<PathBuf> =
        std::env::split_paths(&path).filter(|folder| folder.is_absolute() && !folder.starts_with(project)).collect();
    Arc::new(Hosting {
        processes: processes.clone(),
        stage: ground.backstage.stage.clone(),
        gate,
        asker: Asker { session: Clock::system().mint(), call: None },
        rules: Rules::default().builtin([Rule::new("bash", "*", Action::Allow)]),
        directory: ground.place.directory.clone(),
        changes: edits && config.sandbox.mode != SandboxMode::ReadOnly,
        network: config.sandbox.network == Some(Action::Allow),
        path,
        folder: ground.folders.cache.join("host"),
        strip: vec![program.display().to_string(), STRIP.to_owned()],
        needs_cage: config.sandbox.mode != SandboxMode::Off,
        room: Arc::clone(ROOM.get_or_init(|| Arc::new(Semaphore::new(MAX_HOSTS)))),
    })
}
