//! A session with a scripted model, the built-in tools on a temporary folder, and a person who answers as told.

use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use expect_test::Expect;
use futures::StreamExt;
use futures::stream::BoxStream;
use haft_llm::{Answer, AssistantPart, Chunk, Content, LlmError, Provider, Purpose, Request, Script, Step};
use haft_permission::{Action, Answerer, Gate, Rule};
use haft_project::{Files, Place, Processes};
use haft_protocol::{Clock, Event, History, Message, ModelRef, Part, PartKind, Reply, ToolState};
use haft_session::{
    Agents, Commands, Draft, Folders, Ground, Limits, Mode, Model, NewSession, Options, Past, Prompt, Questions,
    Session, SessionError, Setup, Snapshots, TurnEnd,
};
use haft_snapshot::Keep;
use haft_store::Journal;
use haft_tool::{Hooks, Registry};
use haft_toolbox::World;
use serde_json::{Value, json};

/// What is played, and where.
pub(crate) struct Scene {
    pub folder: tempfile::TempDir,
    pub answers: Vec<Answer>,
    pub rules: Vec<Rule>,
    pub replies: Vec<Reply>,
    pub extra: Vec<Arc<dyn haft_tool::AnyTool>>,
    pub sources: Vec<Arc<dyn haft_tool::Source>>,
    pub hooks: Hooks,
    pub agents: Vec<Draft>,
    pub options: Options,
    pub cost: Option<haft_session::Cost>,
    pub limits: Limits,
    pub calls_tools: bool,
    /// Whether files are remembered, so that changes to them can be taken back.
    pub remembers: bool,
    pub journal: Journal,
    /// What the model answers in sessions whose first prompt contains a text.
    pub others: Vec<(String, Vec<Answer>)>,
    /// What the person answers to questions.
    pub chosen: Vec<Vec<Vec<String>>>,
    /// Every request the model got.
    pub requests: Arc<Mutex<Vec<Request>>>,
}

/// Stands in calls for the id of the first task that the model was told of: which one that is only the run knows.
pub(crate) const TASK_ID: &str = "TASK_ID";

/// The id of the first task that `request` tells of.
fn task_of(request: &Request) -> Option<String> {
    let results = request.messages.iter().flat_map(|message| match &**message {
        haft_llm::Message::Tools { results } => results.as_slice(),
        haft_llm::Message::User { .. } | haft_llm::Message::Assistant { .. } => &[],
    });
    results.flat_map(|result| &result.content).find_map(|content| {
        let Content::Text { text } = content else { return None };
        let (_, behind) = text.split_once("<task id=\"")?;
        behind.split_once('"').map(|(id, _)| id.to_owned())
    })
}

/// A model that keeps what it was asked.
struct Listening {
    inner: Script,
    others: Vec<(String, Script)>,
    heard: Arc<Mutex<Vec<Request>>>,
}

impl Provider for Listening {
    fn stream(&self, request: Request) -> BoxStream<'static, Result<Chunk, LlmError>> {
        self.heard.lock().unwrap().push(request.clone());
        let task = task_of(&request);
        let words = super::scene::words(&request);
        let first = words.first().map(String::as_str).unwrap_or_default();
        let other = self.others.iter().find(|(text, _)| first.contains(text.as_str()));
        let played = other.map_or(&self.inner, |(_, script)| script).stream(request);
        let Some(id) = task else { return played };
        let named = move |chunk| match chunk {
            Chunk::ToolCall { id: call, name, arguments, item } => {
                Chunk::ToolCall { id: call, name, arguments: arguments.replace(TASK_ID, &id), item }
            }
            other => other,
        };
        played.map(move |chunk| chunk.map(&named)).boxed()
    }

    fn serves(&self, purpose: Purpose) -> bool {
        self.inner.serves(purpose)
    }
}

impl Scene {
    /// A folder with `files`, where everything is allowed.
    pub(crate) fn with(files: &[(&str, &str)]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("outputs")).unwrap();
        std::fs::create_dir(folder.path().join("project")).unwrap();
        for (name, text) in files {
            std::fs::write(folder.path().join("project").join(name), text).unwrap();
        }
        Self {
            folder,
            answers: Vec::new(),
            rules: vec![Rule::new("*", "*", Action::Allow)],
            replies: Vec::new(),
            extra: Vec::new(),
            sources: Vec::new(),
            hooks: Hooks::default(),
            agents: vec![
                Draft { mode: Some(Mode::Primary), ..agent("build") },
                Draft { mode: Some(Mode::Primary), ..agent("plan") },
                Draft { mode: Some(Mode::Subagent), ..agent("explore") },
            ],
            options: Options::default(),
            cost: None,
            limits: Limits::default(),
            calls_tools: true,
            remembers: false,
            journal: Journal::memory(),
            others: Vec::new(),
            chosen: Vec::new(),
            requests: Arc::default(),
        }
    }

    pub(crate) fn project(&self) -> PathBuf {
        self.folder.path().canonicalize().unwrap().join("project")
    }

    /// The model's next answer.
    pub(crate) fn model(&mut self, steps: Vec<Step>) -> &mut Self {
        self.answers.push(Answer::new(steps));
        self
    }

    /// The model's next answer to a request for `purpose`.
    pub(crate) fn serving(&mut self, purpose: Purpose, steps: Vec<Step>) -> &mut Self {
        self.answers.push(Answer::new(steps).serving(purpose));
        self
    }

    /// What the model answers, one after the other, where the first prompt contains `text`.
    pub(crate) fn other(&mut self, text: &str, answers: Vec<Vec<Step>>) -> &mut Self {
        self.others.push((text.to_owned(), answers.into_iter().map(Answer::new).collect()));
        self
    }

    pub(crate) fn rule(&mut self, permission: &str, action: Action) -> &mut Self {
        self.rules.push(Rule::new(permission, "*", action));
        self
    }

    /// What the person says to the next question.
    pub(crate) fn person(&mut self, reply: Reply) -> &mut Self {
        self.replies.push(reply);
        self
    }

    pub(crate) fn setup(&self) -> Setup {
        let place = Place::find(&self.project()).unwrap();
        let clock = Clock::scripted(1_000_000);
        let teller = self.journal.clone();
        let answerer = if self.replies.is_empty() { Answerer::Nobody } else { Answerer::Person };
        let gate = Gate::new(clock.clone(), answerer, move |event| teller.announce(event));
        let gate = gate.advised_by(Arc::new(self.hooks.clone()));
        let teller = self.journal.clone();
        let questions = Questions::new(clock.clone(), !self.chosen.is_empty(), move |event| teller.announce(event));
        let files = Files::new(place.directory.clone(), None);
        let past = self.remembers.then(|| self.past(&files));
        let processes = Processes::new("/bin/sh".into(), Vec::new());
        let processes = match past.clone() {
            Some(past) => processes.recorded(Arc::new(past.snapshots)),
            None => processes,
        };
        let world = World { files, processes };
        let builtin: Registry = haft_toolbox::builtin(&world);
        let registry = self.extra.iter().cloned().fold(builtin, Registry::with_any);
        let registry = registry.with_sources(self.sources.clone()).hooked(self.hooks.clone());
        let inner = Script::new("the scene", self.answers.clone());
        let other = |(text, answers): &(String, Vec<Answer>)| (text.clone(), Script::new(text, answers.clone()));
        let others = self.others.iter().map(other).collect();
        let provider = Arc::new(Listening { inner, others, heard: Arc::clone(&self.requests) });
        let reference = ModelRef { provider_id: "script".to_owned(), model_id: "scene".to_owned() };
        let model = Model::new(reference, "scene", provider);
        let model = Model { limits: self.limits, calls_tools: self.calls_tools, cost: self.cost.clone(), ..model };
        // Asked where there is an agent for titles, and something that it says.
        let small = Some(model.clone());
        Setup {
            journal: self.journal.clone(),
            clock,
            gate,
            questions,
            registry,
            agents: Agents::compose(&Folders::default(), &[], &self.agents, &self.rules, None, Commands::Free).0,
            rules: Vec::new(),
            place,
            outputs: self.folder.path().join("outputs"),
            model,
            options: Options { small, past, ..self.options.clone() },
        }
    }

    /// What remembers `files`, and is told of each change to them from now on.
    pub(crate) fn past(&self, files: &Files) -> Past {
        let (keep, waiting) = (Keep::new(self.folder.path().join("keep")), self.folder.path().join("waiting"));
        let ground = Ground { root: self.project(), ..Ground::default() };
        let snapshots = Snapshots::with_commands(keep, waiting, ground);
        files.record(Arc::new(snapshots.clone()));
        Past { snapshots, files: files.clone() }
    }

    /// Makes the session and a person who answers its questions in order.
    pub(crate) async fn session(&self) -> Session {
        let setup = self.setup();
        let (mut events, gate, questions) = (self.journal.subscribe(), setup.gate.clone(), setup.questions.clone());
        let (mut replies, mut chosen) = (self.replies.clone().into_iter(), self.chosen.clone().into_iter());
        let session = Session::create(setup, NewSession::default()).await.unwrap();
        tokio::spawn(async move {
            while let Ok(event) = events.recv().await {
                if let Event::QuestionAsked(inquiry) = &event
                    && let Some(chosen) = chosen.next()
                {
                    questions.reply(&inquiry.id, chosen).unwrap();
                }
                if let Event::PermissionAsked(ask) = event
                    && let Some(reply) = replies.next()
                {
                    // Another answer may have settled it meanwhile.
                    let _ = gate.reply(&ask.id, reply);
                }
            }
        });
        session
    }

    /// Plays one prompt and compares what then is stored, in words.
    pub(crate) async fn check(&self, want: Expect) {
        let session = self.session().await;
        let end = session.prompt(Prompt::text("go")).await;
        self.compare(&session, end, want).await;
    }

    pub(crate) async fn compare(&self, session: &Session, end: Result<TurnEnd, SessionError>, want: Expect) {
        let history = self.journal.history(session.id()).await.unwrap();
        let end = match end {
            Ok(end) => format!("{end:?}"),
            Err(error) => format!("error: {error}"),
        };
        let got = format!("{}end: {end}\n", transcript(&history));
        want.assert_eq(&got.replace(&self.project().display().to_string(), "PROJECT"));
    }
}

/// An agent of that name, with nothing of its own.
pub(crate) fn agent(name: &str) -> Draft {
    Draft { name: name.to_owned(), ..Draft::default() }
}

/// Waits until something happens in a session.
pub(crate) async fn until(scene: &Scene, session: &Session, happened: impl Fn(&Event) -> bool) {
    let mut events = scene.journal.subscribe();
    // What happened before this listens is in the store.
    let stored = scene.journal.history(session.id()).await.unwrap();
    let old = stored.messages().iter().flat_map(|turned| &turned.parts).any(|part| {
        happened(&Event::PartUpdated { session_id: session.id().clone(), part: Box::new(part.clone()), time: 0 })
    });
    if old {
        return;
    }
    while !happened(&events.recv().await.unwrap()) {}
}

/// The words of a request's messages, each with who says them.
pub(crate) fn words(request: &Request) -> Vec<String> {
    let text = |content: &Content| match content {
        Content::Text { text } => text.clone(),
        Content::Media { mime, .. } => format!("({mime})"),
    };
    let said = |message: &Arc<haft_llm::Message>| match &**message {
        haft_llm::Message::User { content } => {
            format!("user: {}", content.iter().map(text).collect::<Vec<_>>().join(" | "))
        }
        haft_llm::Message::Assistant { parts } => {
            let parts = parts.iter().map(|part| match part {
                AssistantPart::Text { text, .. } => text.clone(),
                AssistantPart::Reasoning { .. } => "(thinks)".to_owned(),
                AssistantPart::ToolCall { name, .. } => format!("({name})"),
                AssistantPart::Vendor { .. } => "(vendor)".to_owned(),
            });
            format!("model: {}", parts.collect::<Vec<_>>().join(" | "))
        }
        haft_llm::Message::Tools { results } => format!("results: {}", results.len()),
    };
    request.messages.iter().map(said).collect()
}

pub(crate) fn call(tool: &str, arguments: Value) -> Step {
    Step::call(tool, &arguments)
}

pub(crate) fn says(text: &str) -> Step {
    Step::text(text)
}

pub(crate) fn edit(from: &str, to: &str) -> Step {
    call("edit", json!({ "filePath": "a.rs", "oldString": from, "newString": to }))
}

/// A history in words, a line for each part.
pub(crate) fn transcript(history: &History) -> String {
    let mut text = String::new();
    for turned in history.messages() {
        let who = match &turned.info {
            Message::User(_) => "user".to_owned(),
            Message::Assistant(answer) => {
                let error = answer.error.as_ref().map(|error| format!(" error: {}", error.name));
                let finish = answer.finish.as_deref().unwrap_or("unfinished");
                let open = if answer.time.completed.is_none() { " OPEN" } else { "" };
                format!("model [{finish}{}{open}]", error.unwrap_or_default())
            }
        };
        text.push_str(&format!("{who}\n"));
        for line in turned.parts.iter().filter_map(line) {
            text.push_str(&format!("  {line}\n"));
        }
    }
    text
}

fn line(part: &Part) -> Option<String> {
    let open = if part.is_open() { " OPEN" } else { "" };
    let first = |text: &str| text.lines().next().unwrap_or_default().to_owned();
    Some(match &part.kind {
        PartKind::Text { text, .. } => format!("text: {text}{open}"),
        PartKind::Reasoning { text, .. } => format!("thinks: {text}{open}"),
        PartKind::Tool { tool, state, .. } => match &**state {
            ToolState::Completed { title, .. } => format!("{tool}: {title}"),
            ToolState::Error { error, .. } => format!("{tool} failed: {}", first(error)),
            ToolState::Pending { .. } | ToolState::Running { .. } => format!("{tool}{open}"),
        },
        PartKind::File { filename, .. } => format!("file: {}", filename.clone().unwrap_or_default()),
        PartKind::Vendor { .. } => "vendor item".to_owned(),
        PartKind::Agent { name, .. } => format!("agent: {name}"),
        PartKind::Retry { attempt, .. } => format!("retry {attempt}"),
        PartKind::Subtask(task) => format!("task for {}", task.agent),
        PartKind::Patch { files, .. } => format!("changed {} files", files.len()),
        PartKind::Compaction { auto, .. } => format!("compaction, auto {auto}"),
        PartKind::StepStart {} | PartKind::StepFinish { .. } => return None,
    })
}
