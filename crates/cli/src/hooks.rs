//! What the user's settings have told of what happens: commands in the form of Claude Code, and plug-ins.

use std::collections::VecDeque;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use anyhow::Result;
use haft_hook::settings::CommandHook;
use haft_hook::{Commands, Surroundings, settings};
use haft_permission::{Action, Answerer, Gate, PLUGIN, Rule, Rules};
use haft_protocol::hook::Point;
use haft_protocol::{AskId, Event, FileEvent};
use haft_script::plugin::Plugin;
use haft_store::Journal;
use haft_tool::{Hook, Hooks};
use tokio::sync::broadcast;
use tokio::sync::broadcast::error::RecvError;
use tokio_util::sync::CancellationToken;
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
    let hooks = Hooks::default().under(ground.backstage.stage.stands().clone());
    let hooks = if commands.is_empty() { hooks } else { hooks.with(self::commands(ground, commands)?) };
    Ok(plugins.iter().fold(hooks, |hooks, plugin| hooks.with(plugin.clone())))
}

/// Whether the command line leaves plug-ins out. Set once by `main`.
static PURE: OnceLock<bool> = OnceLock::new();

/// Takes the command line's word.
pub(crate) fn leave_out_plugins(by_flag: bool) {
    // A second word changes nothing.
    let _ = PURE.set(by_flag);
}

/// The plug-ins that hold in `ground`, none of them begun.
pub(crate) fn plugins(ground: &Ground) -> Vec<Arc<Plugin>> {
    let pure = ground.config.flags.pure || PURE.get().copied().unwrap_or(false);
    match ground.scripts().filter(|_| !pure) {
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

/// How long everything that ends may take.
const MAX_END: Duration = Duration::from_secs(2);
/// Most questions of plug-ins that are remembered until they are answered.
const MAX_ASKED: usize = 256;

/// Tells `hooks` that everything ends.
pub(crate) async fn end(hooks: &Hooks) {
    if hooks.listen(Point::Dispose) && tokio::time::timeout(MAX_END, hooks.dispose()).await.is_err() {
        tracing::warn!("plug-ins took too long to end");
    }
}

/// The questions that plug-ins ask in their own name. Who is told of them could ask again for that, without an end.
#[derive(Default)]
struct OfPlugins(VecDeque<AskId>);

impl OfPlugins {
    /// Whether `event` is about one of them.
    fn has(&mut self, event: &Event) -> bool {
        match event {
            Event::PermissionAsked(ask) if ask.metadata.contains_key(PLUGIN) => {
                self.0.truncate(MAX_ASKED - 1);
                self.0.push_front(ask.id.clone());
                true
            }
            Event::PermissionReplied { request_id, .. } => self.0.contains(request_id),
            _ => false,
        }
    }
}

/// Tells hooks of everything that happens, until it is dropped.
pub(crate) struct Following {
    over: CancellationToken,
    task: AbortOnDropHandle<()>,
}

impl Following {
    /// Waits, two seconds at most, until all is told that has happened.
    pub(crate) async fn end(self) {
        self.over.cancel();
        if tokio::time::timeout(MAX_END, self.task).await.is_err() {
            tracing::warn!("plug-ins took too long to hear what happened last");
        }
    }
}

/// Tells `hooks` of everything that happens from now on, in sessions and to `files`. `None`: none of them wants to hear it.
/// When the first thing has happened it is known who listens; from then on files are watched, if `watch` does.
pub(crate) fn follow(
    hooks: &Hooks,
    journal: &Journal,
    files: &broadcast::Sender<FileEvent>,
    watch: Watch,
) -> Option<Following> {
    if !hooks.listen(Point::Event) {
        return None;
    }
    let (hooks, mut events, mut files) = (hooks.clone(), journal.subscribe(), files.subscribe());
    let missed = |missed: u64| tracing::warn!(missed, "hooks are too slow to hear of everything");
    let over = CancellationToken::new();
    let ended = over.clone();
    let task = AbortOnDropHandle::new(tokio::spawn(async move {
        let (mut watch, mut watching, mut own) = (Some(watch), None, OfPlugins::default());
        loop {
            tokio::select! {
                // All that has happened before is told.
                biased;
                event = events.recv() => match event {
                    Ok(event) if own.has(&event) => {}
                    Ok(event) => hooks.event(&event).await,
                    Err(RecvError::Lagged(count)) => missed(count),
                    Err(RecvError::Closed) => return,
                },
                event = files.recv() => match event {
                    Ok(event) => hooks.file_event(&event).await,
                    Err(RecvError::Lagged(count)) => missed(count),
                    Err(RecvError::Closed) => return,
                },
                () = ended.cancelled() => return,
            }
            if let Some(watch) = watch.take() {
                // Held as long as this goes on.
                watching = watch.begin();
            }
            tracing::trace!(watching = watching.is_some(), "told");
        }
    }));
    Some(Following { over, task })
}
