//! Puts the parts together: the only place that knows them all.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow};
use haft_config::{Config, Sources};
use haft_permission::{Answerer, Gate, Rule};
use haft_project::{Files, Place, Processes};
use haft_protocol::{Clock, Event};
use haft_session::{Agent, Model, Setup, Workbench};
use haft_store::Journal;
use haft_tool::Registry;
use haft_toolbox::World;
use tokio::sync::mpsc;

use crate::folders::{self, Folders};
use crate::render;

/// What every command that works in a folder begins with.
pub(crate) struct Ground {
    pub folders: Folders,
    pub place: Place,
    pub config: Config,
}

/// Looks at `dir`, or at the current folder.
pub(crate) fn place(dir: Option<&Path>) -> Result<Place> {
    let here = match dir {
        Some(dir) => dir.to_path_buf(),
        None => std::env::current_dir().context("the current folder does not exist any more; go to another one")?,
    };
    Place::find(&here)
        .with_context(|| format!("cannot work in {}; name a folder that is there with --dir", here.display()))
}

impl Ground {
    /// Looks at `dir`, or at the current folder, and reads the settings that hold there.
    pub(crate) fn at(dir: Option<&Path>) -> Result<Self> {
        Self::of(Folders::find()?, place(dir)?)
    }

    /// Reads the settings that hold in `place`.
    pub(crate) fn of(folders: Folders, place: Place) -> Result<Self> {
        let sources = Sources {
            home: folders.home.clone(),
            config_home: folders.config_home.clone(),
            directory: place.directory.clone(),
            worktree: place.worktree.clone(),
            // What is no text cannot stand in a setting.
            environment: std::env::vars_os()
                .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
                .collect(),
        };
        let config = haft_config::load(&sources)?;
        for warning in &config.warnings {
            render::complain(&format!("warning: {warning}"));
        }
        tracing::info!(directory = %place.directory.display(), settings = ?config.origins, "started");
        Ok(Self { folders, place, config })
    }

    /// The tools there are in this folder.
    pub(crate) fn registry(&self) -> Registry {
        let files = Files::new(self.place.directory.clone(), self.place.worktree.clone());
        let processes = Processes::with_users_shell(self.config.secrets.clone());
        haft_toolbox::builtin(&World { files, processes })
    }

    /// All rules, weakest first: the defaults, the agent's, the user's own.
    pub(crate) fn rules(&self, agent: &Agent) -> Vec<Rule> {
        let mut rules = haft_session::defaults(&self.folders.outputs());
        rules.extend(agent.rules.iter().cloned());
        rules.extend(self.config.rules.iter().cloned());
        rules
    }

    /// Everything a session needs. `extra` rules are laid over all others.
    pub(crate) fn setup(&self, journal: Journal, model: Model, answerer: Answerer, extra: &[Rule]) -> Result<Setup> {
        let (clock, outputs, agent) = (clock()?, self.outputs()?, haft_session::build());
        let mut rules = self.rules(&agent);
        rules.extend_from_slice(extra);
        let teller = journal.clone();
        let gate = Gate::new(clock.clone(), answerer, move |event| teller.announce(event));
        let (registry, place) = (self.registry(), self.place.clone());
        Ok(Setup { journal, clock, gate, registry, rules, agent, place, outputs, model })
    }

    /// The tools without a model, behind the same rules. The receiver gets the questions that `answerer` is to answer.
    pub(crate) fn workbench(&self, answerer: Answerer) -> Result<(Workbench, Gate, mpsc::UnboundedReceiver<Event>)> {
        let (clock, outputs) = (clock()?, self.outputs()?);
        // Bounded by the gate, which holds no more than so many questions.
        let (teller, asked) = mpsc::unbounded_channel();
        let gate = Gate::new(clock.clone(), answerer, move |event| {
            // Without a listener nobody answers, and the call is stopped with the program.
            let _ = teller.send(event);
        });
        let rules = self.rules(&haft_session::build());
        Ok((Workbench::new(self.registry(), gate.clone(), rules, clock, outputs), gate, asked))
    }

    /// The folder of kept outputs, made if needed and cleared of what is too old.
    fn outputs(&self) -> Result<PathBuf> {
        let outputs = self.folders.outputs();
        folders::make(&outputs)?;
        crate::outputs::sweep(&outputs);
        Ok(outputs)
    }
}

/// The journal of this user.
pub(crate) async fn journal(folders: &Folders) -> Result<Journal> {
    match folders.database() {
        Some(path) => Ok(Journal::open(&path).await?),
        None => Ok(Journal::memory()),
    }
}

/// The machine's clock, or the one that `HAFT_CLOCK` (Unix milliseconds) scripts so that equal runs write equal
/// records.
pub(crate) fn clock() -> Result<Clock> {
    match std::env::var("HAFT_CLOCK") {
        Ok(start) => {
            let start = start.parse().map_err(|_| anyhow!("HAFT_CLOCK must be Unix milliseconds, not {start:?}"))?;
            Ok(Clock::scripted(start))
        }
        Err(_) => Ok(Clock::system()),
    }
}
