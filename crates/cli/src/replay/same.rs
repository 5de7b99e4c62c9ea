//! The same again: the recorded answers, real tools, and whether these did the same.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use haft_permission::{Action, Answerer, Rule};
use haft_project::Place;
use haft_protocol::{History, Id, SessionId};
use haft_sandbox::Rung;
use haft_session::replay::{self, Act, Compared, Normal, Playback, Recording, Repeatable, Results, Ways};
use haft_session::{Model, Models, NewSession, Session, Setup};
use haft_store::Journal;
use haft_tool::Registry;
use serde_json::Value;

use crate::agents;
use crate::folders::Folders;
use crate::replay::act::{Actor, commands, cues, is_unanswered};
use crate::replay::files;
use crate::replay::person::Person;
use crate::replay::project::{Project, Servers, ground};
use crate::replay::recorded::Recorded;

/// Tools of the network: what they gave is given again.
const FAR: [&str; 3] = ["webfetch", "websearch", "codesearch"];
/// Longest that the project's own tools are waited for.
const PATIENCE: Duration = Duration::from_secs(30);

/// How a replay went.
pub(crate) struct Played {
    pub compared: Compared,
    /// How many answers were played.
    pub answers: usize,
    pub notes: Vec<String>,
    /// The copy that it was played in.
    pub copy: PathBuf,
}

/// Plays `recorded` in a copy of the project that `here` is in, below `root`. `None`: it was stopped.
///
/// # Errors
///
/// When the project cannot be copied, or nothing can be run in the copy.
pub(crate) async fn play(recorded: &Recorded, here: &Place, folders: &Folders, root: &Path) -> Result<Option<Played>> {
    let mut project = Project::copied(recorded, here, folders, root, None)?;
    let script = Script::of(recorded, &project);
    project.notes.append(&mut script.notes());
    let (cue, cues) = cues();
    let stage = Stage::set(&script, cue, recorded, &mut project, here, folders, root).await?;
    let words = |text: &str| text.replace(&script.names.0, &script.names.1);
    let mut setup = stage.setup.clone();
    setup.options.commands.extend(commands(&script.acts, &words));
    let person = Person::answer(&setup, Arc::clone(&script.results));
    let title = Some(recorded.record.title.clone());
    let session = Session::create(setup.clone(), NewSession { title }).await?;
    stage.playback.begin(session.id().as_str());
    let actor = Actor {
        session: session.clone(),
        setup: &setup,
        playback: stage.playback.clone(),
        history: &script.own.history,
        caged: stage.caged,
        words: &words,
    };
    let stopped = actor.act(&script.acts, cues).await?;
    person.abort();
    if stopped {
        return Ok(None);
    }
    let mut compared = Compared::default();
    let passes = |tool: &str, input: &Value| stage.passes.why(tool, input);
    let ways = ways(recorded, &project, folders, root, &passes);
    for (was, is) in script.histories(&setup.journal, session.id(), &stage.playback).await? {
        let one = replay::compare(was, &is, &ways);
        compared.same += one.same;
        compared.skipped.extend(one.skipped);
        compared.difference = compared.difference.or(one.difference);
        if compared.difference.is_some() {
            break;
        }
    }
    // What commands did is not done where none was run.
    if stage.caged && compared.difference.is_none() && recorded.start.is_none() {
        compared.difference = files::difference(folders, script.all(), &project.tops);
    }
    let answers = replay::answers(&script.own.history).len();
    Ok(Some(Played { compared, answers, notes: project.notes, copy: project.tops.0 }))
}

/// What is played.
struct Script {
    own: Repeatable,
    tasks: Vec<(SessionId, Repeatable)>,
    acts: Vec<Act>,
    results: Arc<Results>,
    /// What the project's folder was called, and is called now.
    names: (String, String),
}

impl Script {
    fn of(recorded: &Recorded, project: &Project) -> Self {
        let own = replay::repeatable(&recorded.history);
        let task =
            |(record, history): &(haft_protocol::Session, History)| (record.id.clone(), replay::repeatable(history));
        let names = project.names();
        let results = Arc::new(Results::of(recorded.histories(), &names.0, &names.1));
        let acts = replay::acts(&own.history);
        Self { tasks: recorded.tasks.iter().map(task).collect(), acts, results, names, own }
    }

    /// What of the session is not played.
    fn notes(&self) -> Vec<String> {
        let Repeatable { history, passed, stop } = &self.own;
        let unanswered = self.acts.iter().filter(|act| is_unanswered(act)).count();
        let unanswered = (unanswered > 0).then(|| format!("passed over: {unanswered} prompts that nobody answered"));
        let passed = passed.iter().map(|what| format!("passed over: {what}"));
        let count = history.messages().len();
        let stop = stop.iter().map(|why| format!("it is replayed up to message {count}: {why}"));
        passed.chain(unanswered).chain(stop).collect()
    }

    fn all(&self) -> impl Iterator<Item = &History> {
        std::iter::once(&self.own.history).chain(self.tasks.iter().map(|(_, task)| &task.history))
    }

    fn playback(&self, own: &SessionId, cue: replay::Cue) -> Playback {
        let tasks: Vec<(&SessionId, &History)> = self.tasks.iter().map(|(id, task)| (id, &task.history)).collect();
        Playback::new(replay::streams((own, &self.own.history), &tasks, &self.names.0, &self.names.1), cue)
    }

    /// Each history with what it is now. A task that was never begun again is told by the call that should have.
    async fn histories(
        &self,
        journal: &Journal,
        now: &SessionId,
        playback: &Playback,
    ) -> Result<Vec<(&History, History)>> {
        let mut pairs = vec![(&self.own.history, journal.history(now).await?)];
        let sessions = playback.sessions();
        for (id, task) in &self.tasks {
            let now = sessions.iter().find(|(was, _)| was == id.as_str());
            let Some(now) = now.and_then(|(_, now)| SessionId::parse(now).ok()) else { continue };
            pairs.push((&task.history, journal.history(&now).await?));
        }
        Ok(pairs)
    }
}

/// What a replay runs in.
struct Stage {
    setup: Setup,
    playback: Playback,
    caged: bool,
    passes: Passes,
}

impl Stage {
    async fn set(
        script: &Script,
        cue: replay::Cue,
        recorded: &Recorded,
        project: &mut Project,
        here: &Place,
        folders: &Folders,
        root: &Path,
    ) -> Result<Self> {
        let playback = script.playback(&recorded.record.id, cue);
        let recording = Recording::new(playback.clone(), Arc::clone(&script.results));
        let ground = ground(here, project.place.clone(), folders, root, Servers::Silent)?;
        let ground = ground.hooked(|hooks| recording.before(hooks));
        let caged = ground.processes.rung() != Rung::None;
        let called = script.results.tools();
        let closed = FAR.into_iter().filter(|far| !called.contains(far)).chain(["external_directory"]);
        let mut rules: Vec<Rule> = closed.map(|far| Rule::new(far, "*", Action::Deny)).collect();
        if !caged {
            // Not all of it: a tool that a rule closes altogether is not there, and its calls are none.
            rules.push(Rule::new("bash", "?*", Action::Deny));
            project.notes.push("no command is run: this machine holds no cage (haft doctor says why)".to_owned());
        }
        let model = Model::new(recorded.model(), "replay", Arc::new(playback.clone()));
        let agents = agents::all(&ground)?;
        let mut setup = ground.setup(Journal::memory(), model.clone(), Answerer::Person, &rules, agents)?;
        setup.registry.ready(PATIENCE).await;
        let given = given(&called, &setup.registry.now());
        if !given.is_empty() {
            let names = given.iter().map(String::as_str).collect::<Vec<_>>().join(", ");
            project.notes.push(format!("not called again, their recorded results are given: {names}"));
        }
        setup.registry = script.results.tellers(&given).into_iter().fold(setup.registry, Registry::with_any);
        setup.options.models = Some(Arc::new(Only(model)));
        setup.options.limits = haft_session::TurnLimits::default();
        // Where nobody was woken no answer is recorded.
        setup.options.tasks.wake = true;
        Ok(Self { setup, playback, caged, passes: Passes { given, caged } })
    }
}

/// Those of the tools `called` whose recorded results are given: those of the network, and those that are not there.
fn given(called: &BTreeSet<&str>, known: &Registry) -> BTreeSet<String> {
    let there: BTreeSet<&str> = known.names().collect();
    let is_given = |tool: &&&str| FAR.contains(*tool) || !there.contains(*tool);
    called.iter().filter(is_given).map(|tool| (*tool).to_owned()).collect()
}

/// Which results are not compared.
struct Passes {
    given: BTreeSet<String>,
    caged: bool,
}

impl Passes {
    /// Why the result of `tool` with these arguments says nothing about the project, if it does not.
    fn why(&self, tool: &str, input: &Value) -> Option<&'static str> {
        let is_empty = |key: &str| input.get(key).and_then(Value::as_str).is_none_or(|text| text.trim().is_empty());
        match tool {
            tool if self.given.contains(tool) => Some("it was not called again, and its recorded result was given"),
            "bash" if !self.caged => Some("no command is run without a cage"),
            "job_output" | "job_kill" => Some("it depends on when it was asked"),
            "task" if is_empty("prompt") => Some("it depends on when it was asked"),
            haft_tool::SEARCH => Some("it depends on the tools of servers"),
            _ => None,
        }
    }
}

/// How the two runs are made comparable.
fn ways<'a>(
    recorded: &Recorded,
    project: &Project,
    folders: &Folders,
    root: &Path,
    passes: &'a (dyn Fn(&str, &Value) -> Option<&'static str> + Sync),
) -> Ways<'a> {
    let name = |path: &Path, name: &str| (path.display().to_string(), name.to_owned());
    let trees = |trees: &Path| name(&trees.canonicalize().unwrap_or(trees.to_owned()), "TREES");
    let mut was = vec![name(&recorded.outputs, "OUTPUT"), name(&project.tops.1, "PROJECT"), name(&folders.home, "~")];
    was.splice(0..0, recorded.trees.as_deref().map(trees));
    let copied = Folders { state: root.join("state"), ..folders.clone() };
    let is = vec![
        trees(&copied.sandboxes(&project.tops.0)),
        name(&root.join("data/output"), "OUTPUT"),
        name(&project.tops.0, "PROJECT"),
        // Hooks and tools in files are those of the project itself.
        name(&project.tops.1, "PROJECT"),
        name(&folders.home, "~"),
    ];
    Ways { was: Normal { names: was }, is: Normal { names: is }, passes }
}

/// Everybody in a replay is played by the same.
struct Only(Model);

impl Models for Only {
    fn find(&self, _name: &str, _variant: Option<&str>) -> Result<Model, String> {
        Ok(self.0.clone())
    }
}
