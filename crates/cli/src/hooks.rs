//! What the user's settings have told of what happens: commands in the form of Claude Code, and plug-ins.

use std::sync::Arc;

use anyhow::Result;
use haft_hook::settings::CommandHook;
use haft_hook::{Commands, Surroundings, settings};
use haft_permission::{Action, Answerer, Gate, Rule, Rules};
use haft_protocol::FileEvent;
use haft_protocol::hook::Point;
use haft_script::plugin::Plugin;
use haft_store::Journal;
use haft_tool::{Hook, Hooks};
use tokio::sync::broadcast;
use tokio::sync::broadcast::error::RecvError;
use tokio_util::task::AbortOnDropHandle;

use crate::files::Watch;
use crate::wire::{Ground, clock};
use crate::{render, scripts};

/// The hooks that hold in `ground`, those of `plugins` last.
///
/// # Errors
///
/// When the record of what runs cannot be kept.
pub(crate) fn of(ground: &Ground, plugins: &[Arc<Plugin>]) -> Result<Hooks> {
    let (commands, warnings) = settings::read(&ground.config.hooks);
    for warning in warnings {
        render::complain(&format!("warning: {warning}"));
    }
    let hooks = Hooks::default();
    let hooks = if commands.is_empty() { hooks } else { hooks.with(self::commands(ground, commands)?) };
    Ok(plugins.iter().fold(hooks, |hooks, plugin| hooks.with(plugin.clone())))
}

/// The plug-ins that hold in `ground`, none of them begun.
pub(crate) fn plugins(ground: &Ground) -> Vec<Arc<Plugin>> {
    match ground.scripts().filter(|_| !ground.config.flags.pure) {
        Some(engine) => scripts::plugins(ground, &engine),
        None => Vec::new(),
    }
}

/// The commands of the settings.
fn commands(ground: &Ground, commands: Vec<CommandHook>) -> Result<Arc<dyn Hook>> {
    let around = Surroundings {
        processes: ground.processes.clone(),
        gate: own_gate(ground)?,
        // Who may have commands run was settled when the settings were read.
        rules: Rules::from(vec![Rule::new("*", "*", Action::Allow)]),
        dir: ground.place.directory.clone(),
        tell: Box::new(|text| render::complain(&format!("hook: {text}"))),
    };
    Ok(Arc::new(Commands::new(commands, around)))
}

/// A gate that asks nobody, and notes what passes.
fn own_gate(ground: &Ground) -> Result<Gate> {
    let gate = Gate::new(clock()?, Answerer::Nobody, |_| {});
    Ok(match ground.audit()? {
        Some(audit) => gate.witnessed_by(Arc::new(audit)),
        None => gate,
    })
}

/// Tells `hooks` of everything that happens, in sessions and to `files`, until this is dropped. `None`: none of them wants
/// to hear it. When the first thing has happened it is known who listens; from then on files are watched, if `watch` does.
pub(crate) fn follow(
    hooks: &Hooks,
    journal: &Journal,
    files: &broadcast::Sender<FileEvent>,
    watch: Watch,
) -> Option<AbortOnDropHandle<()>> {
    if !hooks.listen(Point::Event) {
        return None;
    }
    let (hooks, mut events, mut files) = (hooks.clone(), journal.subscribe(), files.subscribe());
    let missed = |missed: u64| tracing::warn!(missed, "hooks are too slow to hear of everything");
    Some(AbortOnDropHandle::new(tokio::spawn(async move {
        let (mut watch, mut watching) = (Some(watch), None);
        loop {
            tokio::select! {
                event = events.recv() => match event {
                    Ok(event) => hooks.event(&event).await,
                    Err(RecvError::Lagged(count)) => missed(count),
                    Err(RecvError::Closed) => return,
                },
                event = files.recv() => match event {
                    Ok(event) => hooks.file_event(&event).await,
                    Err(RecvError::Lagged(count)) => missed(count),
                    Err(RecvError::Closed) => return,
                },
            }
            if let Some(watch) = watch.take() {
                // Held as long as this goes on.
                watching = watch.begin();
            }
            tracing::trace!(watching = watching.is_some(), "told");
        }
    })))
}
