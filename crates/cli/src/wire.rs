//! Puts the parts together: the only place that knows them all.

mod options;
mod tools;

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use anyhow::{Context, Result, anyhow};
use haft_config::{Config, Secrets, Sources, Trust};
use haft_mcp::client::Servers;
use haft_permission::{Answerer, Gate, Rule};
use haft_project::{Caging, Files, Place, Processes, named_shell};
use haft_protocol::hook::Point;
use haft_protocol::{Clock, Event, FileEvent};
use haft_script::Engine;
use haft_script::plugin::{Opened, Plugin};
use haft_session::{Agent, Agents, Commands, Model, Options, Past, Questions, Setup, Snapshots, Workbench};
use haft_store::Journal;
use haft_tool::{Hooks, Registry, Solo};
use haft_toolbox::{Formatters, World};
use tokio::sync::{broadcast, mpsc};

use crate::approvals::{Approvals, Home, Keeping};
use crate::audit::Audit;
use crate::backstage::{Backstage, House};
use crate::files::Watch;
use crate::folders::{self, Folders};
use crate::keys::keys;
use crate::skills::Found;
use crate::trust::{self, Asking};
use crate::{agents, cages, formatters, hooks, models, network, render, scripts, servers, signed_in, snapshots};

/// The variable that holds the token of `haft mcp serve --http`.
pub(crate) const MCP_TOKEN: &str = "HAFT_MCP_TOKEN";

/// How many changes of files wait for a slow listener; then the oldest are dropped.
const MAX_HEARD: usize = 1024;

/// What every command that works in a folder begins with.
pub(crate) struct Ground {
    pub folders: Folders,
    pub place: Place,
    pub config: Config,
    /// What runs commands here.
    pub processes: Processes,
    /// What keeps what files were, unless the settings say not to.
    pub snapshots: Option<Snapshots>,
    /// Servers of further tools, once somebody needs to know them.
    pub servers: OnceLock<Servers>,
    skills: OnceLock<Found>,
    formatters: OnceLock<Formatters>,
    /// What happens to files.
    pub heard: broadcast::Sender<FileEvent>,
    /// What runs tools and plug-ins in files: one process for all.
    scripts: OnceLock<Option<Engine>>,
    /// The user's plug-ins. None is begun before it is needed.
    plugins: Vec<Arc<Plugin>>,
    /// Who is told what happens, and may change or stop it.
    hooks: Hooks,
    /// What plug-ins are given.
    pub backstage: Arc<Backstage>,
    /// Tells them of what nobody waits for.
    following: Mutex<Option<hooks::Following>>,
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

/// Where the settings that hold in `place` are looked for.
pub(crate) fn sources(folders: &Folders, place: &Place) -> Sources {
    let organisations = keys().variables().map(|(name, token)| (name.to_owned(), token.to_owned()));
    Sources {
        home: folders.home.clone(),
        config_home: folders.config_home.clone(),
        directory: place.directory.clone(),
        worktree: place.worktree.clone(),
        environment: organisations.chain(environment()).collect(),
        managed: Sources::MANAGED.map(PathBuf::from).to_vec(),
        organisation: keys().settings(),
        vendors: models::reachable(),
        plugged: Vec::new(),
    }
}

/// The environment, as far as it is text: what is none cannot stand in a setting.
pub(crate) fn environment() -> impl Iterator<Item = (String, String)> {
    std::env::vars_os().filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
}

impl Ground {
    /// Looks at `dir`, or at the current folder, and reads the settings that hold there.
    pub(crate) fn at(dir: Option<&Path>) -> Result<Self> {
        Self::of(Folders::find()?, place(dir)?, Asking::Nobody)
    }

    /// Reads the settings that hold in `place`; `asking` says who is asked whether its project is trusted.
    pub(crate) fn of(folders: Folders, place: Place, asking: Asking) -> Result<Self> {
        let mut config = trust::load(&folders, &place, &sources(&folders, &place), asking)?;
        config.warnings.extend(cages::unknown_presets(&config));
        for warning in &config.warnings {
            render::complain(&format!("warning: {warning}"));
        }
        tracing::info!(directory = %place.directory.display(), settings = ?config.origins, "started");
        Self::with(folders, place, config)
    }

    /// These settings in `place`.
    ///
    /// # Errors
    ///
    /// When the environment forces a way to hold cages that there is none of.
    pub(crate) fn with(folders: Folders, place: Place, config: Config) -> Result<Self> {
        let processes = processes(&config, cages::caging(&folders, &place, &config)?);
        // Whoever needs to know how commands are held waits less later.
        processes.look_ahead();
        let snapshots = snapshots::of(&folders, &place, &config);
        let ground = Self { snapshots, ..Self::plain(folders, place, config, processes) };
        let plugins = hooks::plugins(&ground);
        let hooks = hooks::of(&ground, &plugins)?;
        Ok(Self { hooks, plugins, ..ground })
    }

    /// The same with nothing but commands that `processes` runs: nothing is kept of what they change, and nobody is told.
    pub(crate) fn plain(folders: Folders, place: Place, config: Config, processes: Processes) -> Self {
        let backstage = Arc::new(Backstage::new(&folders, &place, config.trusted));
        Self {
            folders,
            place,
            config,
            processes,
            snapshots: None,
            servers: OnceLock::new(),
            skills: OnceLock::new(),
            formatters: OnceLock::new(),
            heard: broadcast::Sender::new(MAX_HEARD),
            scripts: OnceLock::new(),
            plugins: Vec::new(),
            hooks: Hooks::default(),
            backstage,
            following: Mutex::default(),
        }
    }

    /// The same with what `change` makes of its hooks.
    pub(crate) fn hooked(self, change: impl FnOnce(Hooks) -> Hooks) -> Self {
        Self { hooks: change(self.hooks.clone()), ..self }
    }

    /// The servers of further tools that the settings name. None is started here.
    pub(crate) fn servers(&self) -> Servers {
        self.servers.get_or_init(|| servers::of(self)).clone()
    }

    /// What runs scripts. Nothing is started before the first one; `None` where this program cannot be found again.
    pub(crate) fn scripts(&self) -> Option<Engine> {
        self.scripts.get_or_init(|| scripts::engine(self)).clone()
    }

    /// What tidies files that tools wrote.
    pub(crate) fn formatters(&self) -> &Formatters {
        self.formatters.get_or_init(|| formatters::of(self))
    }

    /// Who is told what happens.
    pub(crate) fn hooks(&self) -> &Hooks {
        &self.hooks
    }

    /// How commands run here. The first time it may take a while to know.
    pub(crate) fn commands_run(&self) -> Commands {
        match self.processes.mode() {
            Some(_) => Commands::Caged { network: self.config.sandbox.network },
            None => Commands::Free,
        }
    }

    /// The agent called `name`, or the one that answers where none is named, with all its rules.
    ///
    /// # Errors
    ///
    /// When there is none of that name.
    pub(crate) fn agent(&self, name: Option<&str>) -> Result<Agent> {
        Ok(agents::named(&agents::all(self)?, name)?.clone())
    }

    /// The skills there are here.
    pub(crate) fn skills(&self) -> &Found {
        self.skills.get_or_init(|| Found::at(&self.folders, &self.place, &self.config))
    }

    /// A gate that remembers what is allowed for always in this project, also after the program has ended.
    fn gate(
        &self,
        clock: &Clock,
        answerer: Answerer,
        announce: impl Fn(Event) + Send + Sync + 'static,
    ) -> Result<Gate> {
        let mut gate = Gate::new(clock.clone(), answerer, announce).advised_by(Arc::new(self.hooks.clone()));
        if let Some(audit) = self.audit()? {
            gate = gate.witnessed_by(Arc::new(audit));
        }
        Ok(match Home::of(&self.place) {
            Some(home) => {
                let approvals = Approvals::in_folder(&self.folders.data);
                gate.kept_by(Arc::new(Keeping::new(approvals, home, clock.clone())))
            }
            None => gate,
        })
    }

    /// Lets plug-ins do what `gate` allows, under the rules of the agent that answers where none is named. What they change
    /// is kept for nobody: undo is for what the agent does.
    fn open_stage(&self, gate: &Gate, answerer: Answerer, extra: &[Rule]) -> Result<()> {
        if self.plugins.is_empty() && !scripts::any_tools(self) {
            return Ok(());
        }
        // Where no question can be put there is nobody, but a yes in advance is one all the same.
        let silent = if answerer == Answerer::Yes { Answerer::Yes } else { Answerer::Nobody };
        let silent = self.gate(&self::clock()?, silent, |_| {})?;
        let rules = self.agent(None)?.rules.own(extra.iter().cloned());
        let outputs = self.folders.outputs();
        let solo = |gate: &Gate| Solo::new(Registry::default(), gate.clone(), rules.clone(), outputs.clone());
        let doors = scripts::doors(&World { files: self.files(), processes: self.processes.clone() });
        self.backstage.stage.open(Opened { doors, asking: solo(gate), silent: solo(&silent) });
        Ok(())
    }

    /// The plug-ins, which may do what nobody has to be asked for.
    ///
    /// # Errors
    ///
    /// When there is no record to write to.
    pub(crate) fn plugins(&self) -> Result<&[Arc<Plugin>]> {
        let gate = self.gate(&self::clock()?, Answerer::Nobody, |_| {})?;
        self.open_stage(&gate, Answerer::Nobody, &[])?;
        Ok(&self.plugins)
    }

    /// The same with the settings that plug-ins would have, as far as they may, and with what they know of vendors.
    ///
    /// # Errors
    ///
    /// When the settings cannot be read any more.
    pub(crate) async fn heard(self) -> Result<Self> {
        if self.plugins.is_empty() {
            return Ok(self);
        }
        let mut ground = self.configured().await?;
        ground.plugins()?;
        signed_in::apply(&ground.plugins, &mut ground.config).await;
        Ok(ground)
    }

    /// Where the settings are looked for that hold here, with what plug-ins would have them say.
    ///
    /// # Errors
    ///
    /// When the settings cannot be read any more.
    pub(crate) async fn plugged(&self) -> Result<Sources> {
        let sources = sources(&self.folders, &self.place);
        if !self.hooks.listen(Point::Config) {
            return Ok(sources);
        }
        // Before there is a session nobody is asked.
        self.plugins()?;
        let shown = haft_config::show(&sources, Secrets::Hidden, self.trust())?.config;
        let said = haft_config::changes(&shown, &self.hooks.config(shown.clone()).await);
        let is_nothing = said.as_object().is_none_or(serde_json::Map::is_empty);
        let plugged = if is_nothing { Vec::new() } else { vec![("a plug-in's hook `config`".to_owned(), said)] };
        Ok(Sources { plugged, ..sources })
    }

    /// Whether what a project says counts, as it was settled when the settings were read.
    pub(crate) fn trust(&self) -> Trust<'static> {
        if self.config.trusted { Trust::Given } else { Trust::Withheld }
    }

    async fn configured(self) -> Result<Self> {
        let sources = self.plugged().await?;
        if sources.plugged.is_empty() {
            return Ok(self);
        }
        let mut config = haft_config::load(&sources, self.trust())?;
        network::follow(&mut config);
        for warning in config.warnings.iter().filter(|warning| !self.config.warnings.contains(warning)) {
            render::complain(&format!("warning: {warning}"));
        }
        // Which plug-ins there are, and which commands are hooks, was settled before.
        config.stakes = self.config.stakes.clone();
        let processes = processes(&config, cages::caging(&self.folders, &self.place, &config)?);
        Ok(Self { config, processes, ..self })
    }

    /// Ends what plug-ins have begun, and tells them what happened last, and that everything ends. Two seconds at most for
    /// each.
    pub(crate) async fn dispose(&self) {
        self.backstage.close().await;
        let following = self.following.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(following) = following {
            following.end().await;
        }
        hooks::end(&self.hooks).await;
        self.backstage.moves_out();
    }

    /// Who writes down what happens at the gate, if it is to be.
    pub(crate) fn audit(&self) -> Result<Option<Audit>> {
        if self.config.audit == Some(false) {
            return Ok(None);
        }
        // A clock of its own, so that a scripted one tells the session the same with and without.
        Ok(Some(Audit::in_folder(&self.folders.data, self::clock()?)))
    }

    /// Everything a session needs. `extra` rules are laid over those of all `agents`.
    pub(crate) fn setup(
        &self,
        journal: Journal,
        model: Model,
        answerer: Answerer,
        extra: &[Rule],
        agents: Agents,
    ) -> Result<Setup> {
        let (clock, outputs) = (clock()?, self.outputs()?);
        let options = Options { small: models::for_titles(&model, &self.config), ..self.options() };
        let rules = extra.to_vec();
        *self.following.lock().unwrap_or_else(PoisonError::into_inner) =
            hooks::follow(&self.hooks, &journal, &self.heard, Watch::of(self, &self.plugins));
        let teller = journal.clone();
        let gate = self.gate(&clock, answerer, move |event| teller.announce(event))?;
        self.open_stage(&gate, answerer, extra)?;
        let (registry, place) = (self.registry(), self.place.clone());
        let (teller, attended) = (journal.clone(), answerer == Answerer::Person);
        let questions = Questions::new(clock.clone(), attended, move |event| teller.announce(event));
        let setup = Setup { journal, clock, gate, questions, registry, agents, rules, place, outputs, model, options };
        if !self.plugins.is_empty() {
            let house = House { setup: setup.clone(), config: self.config.clone(), servers: self.servers() };
            self.backstage.moves_into(house);
        }
        Ok(setup)
    }

    /// The tools without a model, behind the same rules. The receiver gets the questions that `answerer` is to answer.
    pub(crate) fn workbench(&self, answerer: Answerer, agent: Option<&str>) -> Result<Bench> {
        // Bounded by the gate, which holds no more than so many questions.
        let (teller, asked) = mpsc::unbounded_channel();
        // Without a listener nobody answers, and the call is stopped with the program.
        let tell = move |event| drop(teller.send(event));
        let (bench, gate, questions) = self.workbench_telling(answerer, agent, tell)?;
        Ok(Bench { bench, gate, questions, asked })
    }

    /// The same, where `tell` is called with each question that `answerer` is to answer. It must not wait.
    pub(crate) fn workbench_telling(
        &self,
        answerer: Answerer,
        agent: Option<&str>,
        tell: impl Fn(Event) + Clone + Send + Sync + 'static,
    ) -> Result<(Workbench, Gate, Questions)> {
        let (clock, outputs) = (clock()?, self.outputs()?);
        let gate = self.gate(&clock, answerer, tell.clone())?;
        self.open_stage(&gate, answerer, &[])?;
        let questions = Questions::new(clock.clone(), answerer == Answerer::Person, tell);
        let rules = self.agent(agent)?.rules;
        // No session remembers what is done here, so nothing could be taken back, and what was kept for that would pile up.
        let registry = self.tools(self.files(), self.processes.clone());
        let bench = Workbench::new(registry, gate.clone(), questions.clone(), rules, clock, outputs);
        Ok((bench, gate, questions))
    }

    /// The folder of kept outputs, made if needed and cleared of what is too old.
    fn outputs(&self) -> Result<PathBuf> {
        let outputs = self.folders.outputs();
        folders::make(&outputs)?;
        crate::outputs::sweep(&outputs);
        crate::scratch::sweep(self.folders.scratch());
        if let Some(snapshots) = &self.snapshots {
            snapshots::sweep(snapshots, &self.config);
        }
        Ok(outputs)
    }
}

/// What is remembered of the files in `place`, if anything is. Broken settings are not in the way of taking back.
pub(crate) fn past(folders: &Folders, place: &Place) -> Option<Past> {
    let files = Files::new(place.directory.clone(), place.worktree.clone());
    snapshots::of(folders, place, &lenient(folders, place)).map(|snapshots| Past { snapshots, files })
}

/// The gate for what a person does with their own hands in `place`: it notes that, and asks nothing.
pub(crate) fn hand(folders: &Folders, place: &Place) -> Result<Gate> {
    let gate = Gate::new(clock()?, Answerer::Nobody, |_| {});
    if lenient(folders, place).audit == Some(false) {
        return Ok(gate);
    }
    Ok(gate.witnessed_by(Arc::new(Audit::in_folder(&folders.data, clock()?))))
}

/// The settings in `place`, as far as they can be read.
fn lenient(folders: &Folders, place: &Place) -> Config {
    trust::load(folders, place, &sources(folders, place), Asking::Nobody).unwrap_or_default()
}

/// Tools without a model, and who is asked about their calls.
pub(crate) struct Bench {
    pub bench: Workbench,
    pub gate: Gate,
    pub questions: Questions,
    /// What `gate` and `questions` ask.
    pub asked: mpsc::UnboundedReceiver<Event>,
}

/// What runs commands, in cages as `caging` says.
pub(crate) fn processes(config: &Config, caging: Option<Caging>) -> Processes {
    let processes = match shell(config) {
        Some(shell) => Processes::new(shell, secrets(config)),
        None => Processes::with_users_shell(secrets(config)),
    };
    match caging {
        Some(caging) => processes.caged(caging),
        None => processes,
    }
}

/// The shell that the settings name.
fn shell(config: &Config) -> Option<PathBuf> {
    let named = config.shell.as_deref()?;
    let shell = named_shell(named, std::env::var_os("PATH").as_deref(), Path::is_file);
    if shell.is_none() {
        render::complain(&format!(
            "warning: \"shell\": {named:?} is not there or has a language of its own; name bash, zsh or sh, or its path"
        ));
    }
    shell
}

/// Names of the variables that hold keys, and that no command needs to see.
fn secrets(config: &Config) -> Vec<String> {
    let environment: Vec<_> = environment().collect();
    let stored = keys().names(environment.iter().map(|(name, value)| (name.as_str(), value.as_str())));
    let own = [MCP_TOKEN.to_owned()];
    config.secrets.iter().cloned().chain(own).chain(models::key_variables()).chain(stored).collect()
}

/// The journal of this user.
pub(crate) async fn journal(folders: &Folders) -> Result<Journal> {
    match folders.database() {
        Some(path) => {
            let journal = Journal::open(&path).await?;
            for remark in journal.remarks() {
                tracing::warn!(%remark, "the store");
                render::complain(&format!("! {remark}"));
            }
            Ok(journal)
        }
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
