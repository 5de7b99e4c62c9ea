//! Makes the call of a record in a session: a scripted model calls, a person answers as they did then.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Context, Result};
use futures::stream::BoxStream;
use haft_config::Sources;
use haft_llm::{Answer, Chunk, LlmError, Provider, Request, Script, Step};
use haft_mcp::client::pins::Remembered;
use haft_mcp::client::settings::{Cage, Local, Settings};
use haft_mcp::client::{self, Servers};
use haft_permission::{Answerer, Gate, Rule};
use haft_project::{Files, Place, Processes};
use haft_protocol::{Clock, Event, History, ModelRef, Object, Part, PartKind, ToolState};
use haft_session::{
    Agents, BUILTIN_AGENTS, Commands, Draft, Folders, Mode, Model, NewSession, Options, Prompt, Questions, Session,
    Setup,
};
use haft_store::Journal;
use haft_tool::{Registry, Switches};
use haft_toolbox::format::Wish;
use haft_toolbox::{AfterEdit, Formatters, Skill, Skills, World, builtin_with};
use serde_json::Value;

use crate::fixture::{Fixture, Ground, rules};
use crate::record::{Asked, Attached, Record, Seen};
use crate::scripts::{Scripts, is_scripted};

/// The names under which rules are told in words.
const PERMISSIONS: &[&str] = &[
    "bash",
    "edit",
    "external_directory",
    "glob",
    "grep",
    "math",
    "my_server_*",
    "read",
    "skill",
    "task",
    "todowrite",
    "webfetch",
];

/// How long the server of tools may take to come up.
const PATIENCE: Duration = Duration::from_secs(20);

/// What every call is made with.
pub(crate) struct Theatre {
    fixture: Fixture,
    ground: Ground,
    scripts: Scripts,
    /// Where the pages are served.
    port: u16,
}

/// What the person was asked, as it comes.
#[derive(Default)]
struct Person {
    asks: Mutex<Vec<Asked>>,
}

/// A model that counts what it is asked.
struct Counting {
    inner: Script,
    count: Arc<Mutex<usize>>,
}

impl Provider for Counting {
    fn stream(&self, request: Request) -> BoxStream<'static, Result<Chunk, LlmError>> {
        *self.count.lock().unwrap_or_else(PoisonError::into_inner) += 1;
        self.inner.stream(request)
    }
}

impl Theatre {
    /// A theatre for calls on `fixture`, where the pages are served on `port`.
    pub(crate) fn new(fixture: Fixture, port: u16) -> Result<Self> {
        let ground = fixture.copy()?;
        Ok(Self { scripts: Scripts::new(ground.project())?, ground, fixture, port })
    }

    /// Makes the call of `record` on the fixture as it was at first.
    pub(crate) async fn play(&self, record: &Record) -> Result<Seen> {
        let ground = &self.ground;
        self.fixture.restore(ground)?;
        if record.fixture == "formatter on edit" {
            // What the call before it had left there.
            std::fs::write(ground.project().join("a.fmt"), "x\n# formatted\n")?;
        }
        let arguments = match &record.args {
            Value::String(text) => ground.place(text, self.port),
            args => ground.place(&args.to_string(), self.port),
        };
        let call = Step::Call { tool: record.tool.clone(), arguments, id: None };
        let done = || Answer::new([Step::text("done")]);
        let count = Arc::new(Mutex::new(0));
        let answers = vec![Answer::new([call]), done(), done(), done()];
        let model = Counting { inner: Script::new("the replay", answers), count: Arc::clone(&count) };
        let journal = Journal::memory();
        let servers = needs_servers(record).then(|| servers(ground, &journal)).transpose()?;
        if let Some(servers) = &servers {
            // Every call is to find it there.
            servers.look(PATIENCE).await;
        }
        let setup = self.setup(record, &journal, Arc::new(model), servers.as_ref()).await?;
        let person = Arc::new(Person::default());
        let (answering, gate, questions) = (Arc::clone(&person), setup.gate.clone(), setup.questions.clone());
        let (reply, answers, mut events) = (record.reply(), record.answers(), journal.subscribe());
        let listening = tokio::spawn(async move {
            while let Ok(event) = events.recv().await {
                match event {
                    Event::PermissionAsked(ask) => {
                        let asked = Asked { permission: ask.permission, patterns: ask.patterns, always: ask.always };
                        answering.asks.lock().unwrap_or_else(PoisonError::into_inner).push(asked);
                        // A stop may have settled it meanwhile.
                        drop(gate.reply(&ask.id, reply.clone()));
                    }
                    Event::QuestionAsked(inquiry) => drop(match &answers {
                        Some(answers) => questions.reply(&inquiry.id, answers.clone()),
                        None => questions.reject(&inquiry.id),
                    }),
                    _ => {}
                }
            }
        });
        let session = Session::create(setup, NewSession::default()).await?;
        session.prompt(Prompt::plain("go").agent(agent(record))).await?;
        listening.abort();
        if let Some(servers) = &servers {
            servers.close().await;
        }
        let history = journal.history(session.id()).await?;
        let mut seen = seen(&history)?;
        seen.asks = std::mem::take(&mut *person.asks.lock().unwrap_or_else(PoisonError::into_inner));
        seen.stopped = *count.lock().unwrap_or_else(PoisonError::into_inner) == 1;
        for name in record.seen().files.into_keys() {
            let bytes = std::fs::read(ground.project().join(&name)).ok();
            seen.files.insert(name, bytes.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()));
        }
        self.unplace(seen)
    }

    /// What the session of the call is made with.
    async fn setup(
        &self,
        record: &Record,
        journal: &Journal,
        provider: Arc<dyn Provider>,
        servers: Option<&Servers>,
    ) -> Result<Setup> {
        let ground = &self.ground;
        let place = Place::find(&ground.project())?;
        let clock = Clock::system();
        let (asks, inquiries) = (journal.clone(), journal.clone());
        let gate = Gate::new(clock.clone(), Answerer::Person, move |event| asks.announce(event));
        let questions = Questions::new(clock.clone(), true, move |event| inquiries.announce(event));
        let files = Files::new(place.directory.clone(), place.worktree.clone());
        let processes = Processes::new("/bin/bash".into(), Vec::new());
        let outputs = ground.base.join("outputs");
        let folders = Folders {
            outputs: outputs.clone(),
            temp: ground.base.join("temp"),
            plans: ground.base.join("plans"),
            skills: Vec::new(),
            secrets: Vec::new(),
            base: place.directory.clone(),
        };
        let world = World { files, processes };
        let mut registry = registry(record, &world, &place);
        let mut sources = servers.map(Servers::sources).unwrap_or_default();
        if is_scripted(record) {
            let (with_programs, of_scripts) = self.scripts.add_to(registry, &world);
            registry = with_programs;
            sources.extend(of_scripts);
        }
        let registry = registry.with_sources(sources);
        // What they have is to be known before the model calls.
        registry.ready(PATIENCE).await;
        let drafts: Vec<Draft> = BUILTIN_AGENTS.iter().map(|(name, text)| draft(name, text)).collect::<Result<_>>()?;
        Ok(Setup {
            journal: journal.clone(),
            clock,
            gate,
            questions,
            registry,
            agents: Agents::compose(&folders, &drafts, &[], &[], None, Commands::Free).0,
            rules: session_rules(record),
            place,
            outputs,
            model: Model::new(
                ModelRef { provider_id: "mock".to_owned(), model_id: model_id(record).to_owned() },
                model_id(record),
                provider,
            ),
            options: Options::default(),
        })
    }

    /// `seen` with the names of the records in it.
    fn unplace(&self, seen: Seen) -> Result<Seen> {
        let plain = |text: &str| self.ground.unplace(text, self.port);
        let list = |list: &[String]| list.iter().map(|text| plain(text)).collect();
        let asks = seen.asks.iter().map(|ask| Asked {
            permission: ask.permission.clone(),
            patterns: list(&ask.patterns),
            always: list(&ask.always),
        });
        let metadata: Object = serde_json::from_str(&plain(&serde_json::to_string(&seen.metadata)?))?;
        Ok(Seen { output: plain(&seen.output), title: plain(&seen.title), asks: asks.collect(), metadata, ..seen })
    }
}

/// Whether the call is of the server of tools.
pub(crate) fn is_served(record: &Record) -> bool {
    let resources = ["list_mcp_resources", "list_mcp_resource_templates", "read_mcp_resource"];
    record.tool.starts_with("my_server_") || resources.contains(&record.tool.as_str())
}

/// Whether the call needs the server of tools: a program may call its tools.
pub(crate) fn needs_servers(record: &Record) -> bool {
    is_served(record) || record.tool == "execute"
}

/// Whether there is what the server of tools is written in.
pub(crate) fn can_serve() -> bool {
    let python = std::process::Command::new("python3").arg("--version").output();
    python.is_ok_and(|output| output.status.success())
}

/// The server of tools that the calls were made to.
fn servers(ground: &Ground, journal: &Journal) -> Result<Servers> {
    let program = ground.base.join("server.py");
    std::fs::write(&program, include_str!("server.py"))?;
    let told = journal.clone();
    let gate = Gate::new(Clock::system(), Answerer::Nobody, move |event| told.announce(event));
    let processes = Processes::new("/bin/bash".into(), Vec::new());
    let world = client::World::new(ground.project(), processes, gate, Arc::new(Remembered::default()));
    let local = Local {
        command: vec!["python3".to_owned(), program.display().to_string()],
        dir: ground.project(),
        environment: Vec::new(),
        cage: Cage::Off,
    };
    let settings = Settings {
        name: "my server".to_owned(),
        enabled: true,
        timeout: Some(Duration::from_secs(3)),
        call_timeout: None,
        sampling: false,
        place: client::settings::Place::Local(local),
    };
    Ok(Servers::new(world, vec![settings]))
}

/// The agent that made the call.
fn agent(record: &Record) -> &str {
    let named = record.fixture.strip_prefix("agent ").unwrap_or("build");
    named.split([' ', ',', ':']).next().unwrap_or("build")
}

/// What the vendor called the model: those of one family patch, the others edit.
fn model_id(record: &Record) -> &'static str {
    let patches = match record.tool.as_str() {
        "apply_patch" => !record.fixture.contains("has edit"),
        _ => record.fixture.contains("gpt-5"),
    };
    if patches { "gpt-5" } else { "m" }
}

/// The tools, with those switched on that the record's flags switched on, and the skills of the project.
fn registry(record: &Record, world: &World, place: &Place) -> Registry {
    let flags = if record.project == "ext+flags" { vec![("plan_exit".to_owned(), true)] } else { Vec::new() };
    let after_edit = AfterEdit { formatters: formatters(record), tell: None };
    let options = haft_toolbox::Options { after_edit, skills: skills(place), ..haft_toolbox::Options::default() };
    builtin_with(world, &options).switched(&Switches(flags))
}

/// The formatter that the fixture's settings have.
fn formatters(record: &Record) -> Formatters {
    if !record.project.starts_with("ext") {
        return Formatters::default();
    }
    let wish = Wish {
        name: "myfmt".to_owned(),
        command: Some(["sh", "-c", "echo '# formatted' >> $FILE"].map(str::to_owned).to_vec()),
        extensions: Some(vec![".fmt".to_owned()]),
        ..Wish::default()
    };
    Formatters::new(vec![wish], true, false).0
}

/// The skills of the project, and one that comes with the program, as the records have one.
fn skills(place: &Place) -> Skills {
    let sources =
        Sources { directory: place.directory.clone(), worktree: place.worktree.clone(), ..Sources::default() };
    let own = Skill { name: "customize-opencode".to_owned(), content: "<SKILL BODY ELIDED>".to_owned(), folder: None };
    let found = haft_config::skills(&sources, &[], &[]).all.into_iter().map(|skill| Skill {
        folder: skill.folder().map(Path::to_owned),
        name: skill.name,
        content: skill.content,
    });
    Skills { all: std::iter::once(own).chain(found).collect(), sample: haft_config::sample }
}

/// The rules that were laid over those of the agent.
fn session_rules(record: &Record) -> Vec<Rule> {
    rules(&record.fixture, PERMISSIONS)
}

/// As `cli` makes one of a text.
fn draft(name: &str, text: &str) -> Result<Draft> {
    let read = haft_config::agent(name, text, name)?;
    let mode = read.mode.map(|mode| match mode {
        haft_config::Mode::Primary => Mode::Primary,
        haft_config::Mode::Subagent => Mode::Subagent,
        haft_config::Mode::All => Mode::All,
    });
    Ok(Draft {
        name: read.name,
        rules: read.rules,
        mode,
        description: read.description,
        prompt: read.prompt,
        ..Draft::default()
    })
}

/// What is stored of the call.
fn seen(history: &History) -> Result<Seen> {
    let parts = history.messages().iter().flat_map(|turned| &turned.parts);
    let called = parts.into_iter().find_map(|part| match &part.kind {
        PartKind::Tool { tool, state, .. } => Some((tool, state)),
        _ => None,
    });
    let (tool, state) = called.context("no call is stored")?;
    let seen = Seen { tool: tool.clone(), ..Seen::default() };
    Ok(match (**state).clone() {
        ToolState::Completed { output, title, metadata, attachments, .. } => {
            let attachments = attachments.iter().filter_map(attached).collect();
            Seen { output, title, metadata, attachments, ..seen }
        }
        ToolState::Error { error, metadata, .. } => {
            Seen { failed: true, output: error, metadata: metadata.unwrap_or_default(), ..seen }
        }
        ToolState::Pending { .. } | ToolState::Running { .. } => anyhow::bail!("the call is stored as open"),
    })
}

fn attached(part: &Part) -> Option<Attached> {
    match &part.kind {
        PartKind::File { mime, url, .. } => Some(Attached { mime: mime.clone(), url: url.clone() }),
        _ => None,
    }
}

/// The records of the file at `path`.
pub(crate) fn read(path: &Path) -> Result<Vec<Record>> {
    let text = std::fs::read_to_string(path).with_context(|| path.display().to_string())?;
    let lines = (1..).zip(text.lines()).filter(|(_, line)| !line.trim().is_empty());
    lines.map(|(number, line)| serde_json::from_str(line).with_context(|| format!("line {number}"))).collect()
}
