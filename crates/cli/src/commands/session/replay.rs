//! `haft session replay`: a session again, with the recorded answers and real tools, in a copy of its project.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result};
use haft_config::SandboxMode;
use haft_permission::{Action, Answerer, Rule};
use haft_project::Place;
use haft_protocol::{Event, History, Id, Message, MessageId, ModelRef, PartKind, Session as Record, SessionId};
use haft_sandbox::Rung;
use haft_session::replay::{self, Compared, Cue, Deed, Difference, Normal, Playback, Repeatable, Stream};
use haft_session::{Model, Models, NewSession, Prompt, Session, Setup};
use haft_store::Journal;
use serde_json::json;
use tokio::sync::broadcast::Receiver;
use tokio::sync::{mpsc, oneshot};

use crate::args::{Format, Replay};
use crate::commands::run::play;
use crate::commands::session::pack;
use crate::folders::Folders;
use crate::replay::copy::{self, Copied};
use crate::replay::files::{self, Start};
use crate::replay::person::Person;
use crate::report::{Exit, Usage};
use crate::signals::Signals;
use crate::trust::Asking;
use crate::watch::Watch;
use crate::wire::{Ground, clock, journal, place};
use crate::{agents, models, render};

/// Tools of the network: none in a replay.
const FAR: [&str; 4] = ["webfetch", "websearch", "codesearch", "external_directory"];
/// Most tasks of a session that are replayed with it.
const MAX_TASKS: usize = 200;

/// A session with its tasks, as it was recorded.
pub(crate) struct Recorded {
    pub record: Record,
    pub history: History,
    /// Those of its tasks, oldest first.
    pub tasks: Vec<(Record, History)>,
    /// What stood in files that it changed before it did, where a pack brings that along.
    pub start: Option<Vec<(String, Option<String>)>>,
}

impl Recorded {
    /// The session `id` with its tasks.
    pub(crate) async fn read(journal: &Journal, id: &SessionId) -> Result<Self> {
        let unknown = || haft_session::SessionError::Unknown(id.clone());
        let record = journal.session(id).await?.ok_or_else(unknown)?;
        let history = journal.history(id).await?;
        let (mut tasks, mut open) = (Vec::new(), vec![id.clone()]);
        while let Some(id) = open.pop() {
            for child in journal.children(&id, MAX_TASKS).await? {
                if tasks.len() < MAX_TASKS {
                    open.push(child.id.clone());
                    let history = journal.history(&child.id).await?;
                    tasks.push((child, history));
                }
            }
        }
        tasks.sort_by(|one, other| (one.0.time.created, &one.0.id).cmp(&(other.0.time.created, &other.0.id)));
        Ok(Self { record, history, tasks, start: None })
    }

    fn histories(&self) -> impl Iterator<Item = &History> {
        std::iter::once(&self.history).chain(self.tasks.iter().map(|(_, history)| history))
    }
}

pub(crate) async fn run(args: Replay) -> Result<Exit> {
    let folders = Folders::find()?;
    let recorded = match Path::new(&args.session) {
        file if file.is_file() => pack::open(file)?,
        _ => {
            let id =
                SessionId::parse(&args.session).map_err(|error| Usage(format!("{error}, nor the file of a pack")))?;
            Recorded::read(&journal(&folders).await?, &id).await?
        }
    };
    let here = match &args.dir {
        Some(dir) => place(Some(dir))?,
        None if recorded.start.is_some() => place(None)?,
        None => {
            let gone = || {
                format!("the folder {} of the session is gone; name another one with --dir", recorded.record.directory)
            };
            Place::find(recorded.record.directory.as_ref()).with_context(gone)?
        }
    };
    let root = scratch(&folders)?;
    let again = Again { args: &args, folders, here, root: root.clone(), recorded };
    let end = match args.from {
        Some(step) => again.branch(step).await,
        None => again.same().await,
    };
    // A branch is what was wanted; of a replay only what it says.
    if args.from.is_none()
        && !args.keep
        && let Err(error) = std::fs::remove_dir_all(&root)
    {
        tracing::warn!(%error, path = %root.display(), "the copy cannot be removed");
    }
    end
}

/// A new folder for one replay.
fn scratch(folders: &Folders) -> Result<PathBuf> {
    let base = folders.state.join("replays");
    crate::folders::make(&base)?;
    let name = format!("{}-{}", haft_protocol::Clock::system().now_ms(), std::process::id());
    let root = base.canonicalize()?.join(name);
    crate::folders::make(&root)?;
    Ok(root)
}

/// What a replay works with.
struct Again<'a> {
    args: &'a Replay,
    folders: Folders,
    here: Place,
    root: PathBuf,
    recorded: Recorded,
}

/// A copy of the project as it was, and what to say about it.
struct Project {
    place: Place,
    /// Its top, and that of the one it is a copy of.
    tops: (PathBuf, PathBuf),
    notes: Vec<String>,
}

impl Again<'_> {
    /// Copies the project and puts back what the session changed from the message `from` on.
    fn project(&self, from: Option<&MessageId>) -> Result<Project> {
        let top = self.here.worktree.clone().unwrap_or_else(|| self.here.directory.clone());
        let copy = self.root.join("project");
        let Copied { without_repository, .. } = copy::copy(&top, &copy)?;
        let mut notes = Vec::new();
        if without_repository {
            notes.push("the copy has no repository: the project is a work tree of another one".to_owned());
        }
        let was = self.recorded.record.directory.clone();
        let start = match &self.recorded.start {
            Some(start) => Start::packed(start),
            None => Start::kept(&self.folders, self.recorded.histories(), from),
        };
        // Recorded paths are those of the work tree that it ran in.
        let offset = self.here.directory.strip_prefix(&top).unwrap_or(Path::new("")).to_owned();
        let old_top = ancestor(Path::new(&was), &offset);
        notes.extend(start.restore(&old_top, &copy)?);
        notes.push("files that the session did not change are as they are now".to_owned());
        let place = Place::find(&copy.join(&offset))?;
        Ok(Project { place, tops: (copy.canonicalize()?, old_top), notes })
    }

    /// What tools run with in the copy: a cage, no network, nothing outside.
    async fn ground(&self, place: Place) -> Result<Ground> {
        let mut config = Ground::of(self.folders.clone(), self.here.clone(), Asking::Nobody)?.config;
        config.sandbox.mode = SandboxMode::WorkspaceWrite;
        config.sandbox.network = Some(Action::Deny);
        // Keys and sessions are elsewhere than where this copy keeps its own.
        config.sandbox.read_deny.extend([self.folders.data.clone(), self.folders.state.join("log")]);
        config.audit = Some(false);
        let mut folders = self.folders.clone();
        folders.data = self.root.join("data");
        crate::folders::make(&folders.data)?;
        Ground::with(folders, place, config)
    }

    async fn same(self) -> Result<Exit> {
        let Repeatable { history, passed, stop } = replay::repeatable(&self.recorded.history);
        let mut project = self.project(None)?;
        project.notes.extend(passed.into_iter().map(|what| format!("passed over: {what}")));
        project
            .notes
            .extend(stop.map(|why| format!("it is replayed up to message {}: {why}", history.messages().len())));
        let ground = self.ground(project.place.clone()).await?;
        let caged = ground.processes.rung() != Rung::None;
        let mut rules: Vec<Rule> = FAR.into_iter().map(|far| Rule::new(far, "*", Action::Deny)).collect();
        if !caged {
            // Not all of it: a tool that a rule closes altogether is not there, and its calls are none.
            rules.push(Rule::new("bash", "?*", Action::Deny));
            project.notes.push("no command is run: this machine holds no cage (haft doctor says why)".to_owned());
        }
        let journal = Journal::memory();
        let (tell, cues) = mpsc::unbounded_channel();
        let playback = self.playback(&history, &project, tell);
        let model = Model::new(reference(&self.recorded.record), "replay", Arc::new(playback.clone()));
        let mut setup =
            ground.setup(journal.clone(), model.clone(), Answerer::Person, &rules, agents::all(&ground)?)?;
        setup.options.models = Some(Arc::new(Only(model)));
        setup.options.limits = haft_session::TurnLimits::default();
        let denied = self.recorded.histories().flat_map(replay::denied).collect();
        let person = Person::answer(&setup, denied);
        let title = Some(self.recorded.record.title.clone());
        let session = Session::create(setup.clone(), NewSession { title }).await?;
        let stopped = act(&session, &setup, &history, cues, caged, &project).await?;
        person.abort();
        if stopped {
            return Ok(Exit::Interrupted);
        }
        let compared = self.compare(&history, &journal, session.id(), &playback, &project, caged).await?;
        self.tell(&compared, &history, &project)
    }

    fn playback(&self, history: &History, project: &Project, tell: mpsc::UnboundedSender<Heard>) -> Playback {
        let (is, was) = (project.tops.0.display().to_string(), project.tops.1.display().to_string());
        let stream = |record: &Record, history: &History| Stream {
            session: record.id.to_string(),
            begins: first_words(history).replace(&was, &is),
            answers: replay::answers(history)
                .into_iter()
                .map(|(answer, _)| replay::elsewhere(answer, &was, &is))
                .collect(),
        };
        let tasks = self.recorded.tasks.iter().map(|(record, history)| stream(record, history));
        let streams = std::iter::once(stream(&self.recorded.record, history)).chain(tasks).collect();
        let cue: Cue = Arc::new(move |number| {
            let (done, heard) = oneshot::channel();
            // Where nobody listens any more nobody waits either.
            let told = tell.send((number, done));
            Box::pin(async move {
                if told.is_ok() {
                    let _ = heard.await;
                }
            })
        });
        Playback::new(streams, cue)
    }

    async fn compare(
        &self,
        history: &History,
        journal: &Journal,
        id: &SessionId,
        playback: &Playback,
        project: &Project,
        caged: bool,
    ) -> Result<Compared> {
        let name = |path: &Path, name: &str| (path.display().to_string(), name.to_owned());
        let was = Normal {
            names: vec![
                name(&self.folders.outputs(), "OUTPUT"),
                name(&project.tops.1, "PROJECT"),
                name(&self.folders.home, "~"),
            ],
        };
        let is = Normal {
            names: vec![
                name(&self.root.join("data/output"), "OUTPUT"),
                name(&project.tops.0, "PROJECT"),
                name(&self.folders.home, "~"),
            ],
        };
        let mut compared = replay::compare(history, &journal.history(id).await?, (&was, &is));
        let sessions = playback.sessions();
        for (record, history) in &self.recorded.tasks {
            if compared.difference.is_some() {
                break;
            }
            let now = sessions.iter().find(|(was, _)| *was == record.id.as_str());
            // One that was never begun again is told by the call that should have.
            let Some(now) = now.and_then(|(_, now)| SessionId::parse(now).ok()) else { continue };
            let whole = replay::repeatable(history).history;
            let task = replay::compare(&whole, &journal.history(&now).await?, (&was, &is));
            compared.same += task.same;
            compared.skipped.extend(task.skipped);
            compared.difference = task.difference;
        }
        // What commands did is not done where none was run.
        if caged && compared.difference.is_none() && self.recorded.start.is_none() {
            let histories = std::iter::once(history).chain(self.recorded.tasks.iter().map(|(_, history)| history));
            compared.difference = files::difference(&self.folders, histories, &project.tops);
        }
        Ok(compared)
    }

    fn tell(&self, compared: &Compared, history: &History, project: &Project) -> Result<Exit> {
        let Compared { same, skipped, difference } = compared;
        let answers = replay::answers(history).len();
        if self.args.json {
            let told = json!({
                "session": self.recorded.record.id.as_str(),
                "same": difference.is_none(),
                "answers": answers,
                "calls": same,
                "skipped": skipped,
                "notes": project.notes,
                "difference": difference,
                "copy": self.args.keep.then(|| project.tops.0.display().to_string()),
            });
            render::say_json(&told, false)?;
        } else {
            for note in project.notes.iter().chain(skipped) {
                render::complain(&render::clean(&format!("! {note}")));
            }
            match difference {
                None => render::say(&format!("same: {answers} answers, {same} calls with the same result"))?,
                Some(Difference { step, tool, what, line, recorded, replayed }) => {
                    let at = if tool == "file" { what.clone() } else { format!("answer {step}, {what}") };
                    render::say(&render::clean(&format!(
                        "{at}: differs from line {line} on\n- {recorded}\n+ {replayed}"
                    )))?;
                }
            }
            if self.args.keep {
                render::complain(&format!("the copy is kept in {}", project.tops.0.display()));
            }
        }
        Ok(if difference.is_none() { Exit::Done } else { Exit::Failed })
    }

    /// Goes on from before the answer `step` with another model, for real, in the copy.
    async fn branch(self, step: usize) -> Result<Exit> {
        let messages = self.recorded.history.messages();
        let answers: Vec<usize> =
            (0..messages.len()).filter(|at| matches!(messages[*at].info, Message::Assistant(_))).collect();
        let Some(at) = step.checked_sub(1).and_then(|step| answers.get(step)).copied() else {
            return Err(Usage(format!("the session has {} answers; --from counts them from 1", answers.len())).into());
        };
        // The first answer to a prompt is asked for by that prompt.
        let asked = at
            .checked_sub(1)
            .and_then(|before| messages.get(before))
            .filter(|turned| matches!(turned.info, Message::User(_)));
        let kept = if asked.is_some() { at - 1 } else { at };
        let words = asked.map(|turned| first_words(&std::iter::once(turned.clone()).collect()));
        let prompt = match words.filter(|words| !words.trim().is_empty()) {
            Some(words) => Prompt::plain(words),
            None => Prompt::plain("Go on from here."),
        };
        let project = self.project(Some(messages[at].info.id()))?;
        project.notes.iter().for_each(|note| render::complain(&render::clean(&format!("! {note}"))));
        let ground = self.ground(project.place.clone()).await?;
        let recorded = reference(&self.recorded.record);
        let usual = format!("{}/{}", recorded.provider_id, recorded.model_id);
        let named = self.args.model.model.clone().unwrap_or(usual);
        let model = models::find(Some(&named), None, &ground.config).await?;
        let journal = Journal::open(&ground.folders.data.join("haft.db")).await?;
        let id = begin(&journal, &self.recorded, kept, &project.place).await?;
        let answerer = crate::ask::answerer(self.args.auto);
        let setup = ground.setup(journal.clone(), model, answerer, &[], agents::all(&ground)?)?;
        let before = journal.session(&id).await?;
        let watch = Watch { format: Format::Default, thinking: false, before, go_on: false, aside: false };
        let end = play(setup, Some(id.clone()), None, prompt, watch, async |_| Ok(())).await;
        journal.close().await?;
        let data = ground.folders.data.join("haft.db");
        render::complain(&format!(
            "the copy is in {}; what was said: HAFT_DB={} haft session show {id}",
            project.place.directory.display(),
            data.display()
        ));
        end
    }
}

/// Stores the first `kept` messages of a session as one that works in `place`.
async fn begin(journal: &Journal, recorded: &Recorded, kept: usize, place: &Place) -> Result<SessionId> {
    let clock = clock()?;
    let mut info = recorded.record.clone();
    info.directory = place.directory.display().to_string();
    info.revert = None;
    let session_id = info.id.clone();
    let mut events = vec![Event::SessionCreated { session_id: session_id.clone(), info: Box::new(info) }];
    for turned in &recorded.history.messages()[..kept] {
        events.push(Event::MessageUpdated { session_id: session_id.clone(), info: Box::new(turned.info.clone()) });
        for part in &turned.parts {
            let (session_id, part) = (session_id.clone(), Box::new(part.clone()));
            events.push(Event::PartUpdated { session_id, part, time: clock.now_ms() });
        }
    }
    journal.record_all(events).await?;
    Ok(session_id)
}

/// That an answer is about to be played, and who waits to play it.
type Heard = (usize, oneshot::Sender<()>);

/// Does what the person did. Says whether it was stopped.
async fn act(
    session: &Session,
    setup: &Setup,
    history: &History,
    mut cues: mpsc::UnboundedReceiver<Heard>,
    caged: bool,
    project: &Project,
) -> Result<bool> {
    let mut signals = Signals::listen()?;
    let acts = replay::acts(history);
    let (is, was) = (project.tops.0.display().to_string(), project.tops.1.display().to_string());
    let words = |text: &str| text.replace(&was, &is);
    for act in acts.iter().filter(|act| !act.within) {
        let turn = async {
            match &act.deed {
                Deed::Prompt { text, agent } => {
                    let agent = setup.agents.get(agent).unwrap_or_else(|| setup.agents.default_agent());
                    session.prompt(Prompt::plain(words(text)).agent(&agent.name)).await.map(drop)
                }
                Deed::Shell(command) if caged => session.shell(words(command)).await.map(drop),
                Deed::Shell(_) => Ok(()),
            }
        };
        let mut turn = std::pin::pin!(turn);
        loop {
            tokio::select! {
                biased;
                end = &mut turn => {
                    // What a turn that fails differs in is for the comparison to say.
                    if let Err(error) = end {
                        tracing::info!(%error, "a turn of the replay failed");
                    }
                    break;
                }
                Some((number, go_on)) = cues.recv() => {
                    let meanwhile = acts.iter().filter(|act| act.within && act.behind == number + 1);
                    for act in meanwhile {
                        let Deed::Prompt { text, .. } = &act.deed else { continue };
                        let (session, prompt) = (session.clone(), Prompt::plain(words(text)));
                        let mut events = setup.journal.subscribe();
                        // Its turn is the one that runs.
                        drop(tokio::spawn(async move { session.prompt(prompt).await }));
                        stored(&mut events).await;
                    }
                    // A request that was dropped waits for nothing.
                    let _ = go_on.send(());
                }
                () = signals.next() => {
                    session.abort().await;
                    return Ok(true);
                }
            }
        }
    }
    Ok(false)
}

/// Waits until a prompt is stored.
async fn stored(events: &mut Receiver<Event>) {
    loop {
        match events.recv().await {
            Ok(Event::MessageUpdated { info, .. }) if matches!(*info, Message::User(_)) => return,
            // Whoever is behind by that much has missed it.
            Err(_) => return,
            Ok(_) => {}
        }
    }
}

/// Everybody in a replay is played by the same.
struct Only(Model);

impl Models for Only {
    fn find(&self, _name: &str, _variant: Option<&str>) -> Result<Model, String> {
        Ok(self.0.clone())
    }
}

/// The model that the session used.
fn reference(record: &Record) -> ModelRef {
    let model = record.model.as_ref();
    let of = |pick: fn(&haft_protocol::SessionModel) -> &String| {
        model.map_or_else(|| "replay".to_owned(), |model| pick(model).clone())
    };
    ModelRef { provider_id: of(|model| &model.provider_id), model_id: of(|model| &model.id) }
}

/// The first words of a history's first prompt.
fn first_words(history: &History) -> String {
    let parts = history.messages().first().into_iter().flat_map(|turned| &turned.parts);
    let mut words = parts.filter_map(|part| match &part.kind {
        PartKind::Text { text, synthetic: false, .. } => Some(text.clone()),
        _ => None,
    });
    words.next().unwrap_or_default()
}

/// `folder` without the folders of `below` at its end.
fn ancestor(folder: &Path, below: &Path) -> PathBuf {
    folder.ancestors().nth(below.components().count()).unwrap_or(folder).to_owned()
}
