//! `haft run`: one prompt, headless.

mod shape;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result};
use haft_config::SandboxMode;
use haft_permission::{Answerer, Rule};
use haft_project::Place;
use haft_protocol::{Id, ModelRef, Session as Record, SessionId, Tokens};
use haft_sandbox::Rung;
use haft_session::{Agent, Model, NewSession, Prompt, Session, SessionError, Setup, TurnEnd};
use haft_store::{Filter, Journal};
use tokio_util::sync::CancellationToken;

use crate::args::{Format, Run};
use crate::folders::Folders;
use crate::report::{Exit, InSession, Usage};
use crate::signals::Signals;
use crate::trust::Asking;
use crate::watch::Watch;
use crate::wire::{Ground, journal, place};
use crate::{agents, ask, models, render, stdin};

/// Most sessions that are looked at to find one in which something was said.
const MAX_EMPTY: usize = 20;
/// How long servers are waited for whose prompt may be the command that is called.
const PATIENCE: Duration = Duration::from_secs(10);
/// Most bytes of standard input that become part of a prompt.
const MAX_STDIN: u64 = 4 * 1024 * 1024;

pub(crate) async fn run(args: Run) -> Result<Exit> {
    let (folders, here) = (Folders::find()?, place(args.dir.as_deref())?);
    let journal = journal(&folders).await?;
    let end = run_in(args, folders, here, &journal).await;
    // What is told is stored; this writes what was still growing.
    let closed = journal.close().await;
    let end = end?;
    closed?;
    Ok(end)
}

async fn run_in(args: Run, folders: Folders, here: Place, journal: &Journal) -> Result<Exit> {
    let mut resumed = resumed(args.session.as_deref(), args.r#continue, &here, journal).await?;
    if let Some(record) = resumed.as_ref().filter(|_| args.dir.is_some()) {
        is_of(record, &here)?;
    }
    if let Some(record) = resumed.as_ref().filter(|_| !args.fork) {
        crate::commands::session::follow::offer(journal, record).await?;
    }
    // A session goes on where it was, wherever it is called from.
    let answerer = ask::answerer(args.auto);
    let asking = if answerer == Answerer::Person { Asking::Person } else { Asking::Nobody };
    let ground = Ground::of(folders, resumed.as_ref().map_or(Ok(here), folder)?, asking)?.heard().await?;
    let (retention, now) = (ground.config.retention, crate::wire::clock()?.now_ms());
    crate::retention::apply(journal, retention, resumed.as_ref(), &ground.folders.data, now).await;
    let words = if args.command.is_some() {
        args.message.iter().map(|word| whole(word)).collect()
    } else {
        args.message.clone()
    };
    let text = message(&words).await?;
    if text.trim().is_empty() && args.file.is_empty() && args.command.is_none() {
        return Err(Usage("there is no prompt; write it behind `haft run`, or pipe it in".to_owned()).into());
    }
    let mut known = known_commands(&ground);
    if called(&args, &text).is_some_and(|name| name.contains(':') && !known.contains(name)) {
        // A server's prompts are known once it was spoken to.
        ground.servers().look(PATIENCE).await;
        known = known_commands(&ground);
    }
    check_command(&args, &text, &known)?;
    let form = args.output_schema.as_deref().map(shape::read).transpose()?;
    let mut prompt = Prompt::with_files(text, args.file.iter().map(|file| absolute(file)).collect()).await?;
    if let Some(command) = &args.command {
        prompt = prompt.calls(command.strip_prefix('/').unwrap_or(command));
    }
    if let Some(form) = form.clone() {
        prompt = prompt.format(form);
    }
    let mut setup = {
        let agents = agents::all(&ground)?;
        let agent = agents::choose(&agents, args.agent.as_deref());
        agents::warn_of_open_plan(&agent);
        let model = model(&args, resumed.as_ref(), &agent, &ground).await?;
        tell_of_unreadable(&model, &args.file, &ground);
        prompt = prompt.agent(agent.name);
        if ground.config.sandbox.mode != SandboxMode::Off && ground.processes.rung() == Rung::None {
            render::complain("! this machine holds no cage, so each command asks; haft doctor says why");
        }
        ground.setup(journal.clone(), model, answerer, &rules(answerer), agents)?
    };
    limit(&args, &mut setup);
    // Nobody is there afterwards to whom the end of a task could be told.
    setup.options.tasks.wake = true;
    if let Some(chosen) = chosen(&args, &setup.model) {
        prompt = prompt.model(chosen, args.variant.clone());
    }
    if let Some(path) = &args.record {
        models::record(&mut setup, path)?;
    }
    if let Some(record) = resumed.as_mut().filter(|_| args.fork) {
        let copy = Session::fork(journal, &setup.clock, &record.id, None).await?;
        let unknown = || haft_session::SessionError::Unknown(copy.clone());
        *record = journal.session(&copy).await?.ok_or_else(unknown)?;
    }
    let watch = Watch {
        format: args.format,
        thinking: args.thinking,
        before: resumed.clone(),
        go_on: true,
        aside: form.is_some(),
    };
    let id = resumed.map(|record| record.id);
    let asked = named(&args).map(|_| setup.model.reference.clone());
    let end = play(setup, id, args.title, prompt, watch, |session| async move {
        match (&form, args.format) {
            (Some(_), Format::Default) => shape::say(journal, &session).await,
            (Some(_), Format::Json) | (None, Format::Default | Format::Json) => Ok(()),
        }
    });
    let end = end.await;
    if let (Ok(Exit::Done), Some(asked)) = (&end, &asked) {
        models::remember(asked, &ground.folders);
    }
    if let Some(path) = &args.record {
        models::drop_empty(path);
    }
    ground.dispose().await;
    end
}

/// Lays the limits of this run over those of the settings.
fn limit(args: &Run, setup: &mut Setup) {
    let limits = &mut setup.options.limits;
    limits.steps = args.max_steps.or(limits.steps);
    limits.cost = args.max_cost.or(limits.cost);
    if args.max_cost.is_some() && setup.model.cost.is_none() {
        render::complain(&format!(
            "! what {} costs is not known, so --max-cost cannot hold it; write its prices into `cost` of its settings",
            setup.model.name()
        ));
    }
}

/// `file` as seen from the current folder.
pub(crate) fn absolute(file: &Path) -> PathBuf {
    std::path::absolute(file).unwrap_or_else(|_| file.to_owned())
}

/// The model that the person named.
fn named(args: &Run) -> Option<&str> {
    args.model.model.as_deref().filter(|named| !named.is_empty())
}

/// The model that the person chose, by its name or by a variant of it. It stays, whatever model an agent has of its own.
fn chosen(args: &Run, model: &Model) -> Option<String> {
    let ModelRef { provider_id, model_id } = &model.reference;
    (named(args).is_some() || args.variant.is_some()).then(|| format!("{provider_id}/{model_id}"))
}

/// Says which of `files` the model will only hear of.
fn tell_of_unreadable(model: &Model, files: &[PathBuf], ground: &Ground) {
    for file in models::unreadable(model, files, &ground.config) {
        let ModelRef { provider_id, model_id } = &model.reference;
        render::complain(&format!(
            "! {provider_id}/{model_id} is not said to read {}, so it is only told that there is one; if it can, say \
             \"modalities\": {{\"input\": [\"text\", \"image\", \"pdf\"]}} in its settings",
            file.display()
        ));
    }
}

/// The model that answers: the one that is named, else the session's, else the agent's own, else the configured one.
async fn model(args: &Run, resumed: Option<&Record>, agent: &Agent, ground: &Ground) -> Result<Model> {
    let (named, config) = (named(args), &ground.config);
    let kept = resumed.and_then(|record| record.model.as_ref());
    let kept = kept.map(|model| format!("{}/{}", model.provider_id, model.id));
    let found = models::find(named.or(kept.as_deref()).or(agent.model.as_deref()), args.variant.as_deref(), config);
    found.await.map_err(|error| match &kept {
        Some(kept) if named.is_none() => {
            error.context(format!("this session was run with {kept}; name another model with --model"))
        }
        _ => error,
    })
}

/// The command that is called, or that the words of the prompt look like.
fn called<'a>(args: &'a Run, text: &'a str) -> Option<&'a str> {
    match args.command.as_deref() {
        Some(name) => Some(name.strip_prefix('/').unwrap_or(name)),
        None => text.strip_prefix('/').and_then(|rest| rest.split_whitespace().next()),
    }
}

/// The names of the commands there are.
fn known_commands(ground: &Ground) -> BTreeSet<String> {
    let builtin = haft_session::builtin_commands();
    let prompts = ground.servers().prompts().into_iter().map(|prompt| prompt.name);
    ground.commands().into_iter().chain(builtin).map(|command| command.name).chain(prompts).collect()
}

/// Says what would be taken for words although it looks like a command, before a session is made for it.
fn check_command(args: &Run, text: &str, known: &BTreeSet<String>) -> Result<()> {
    let list = || known.iter().map(|name| format!("/{name}")).collect::<Vec<_>>().join(", ");
    if let Some(name) = called(args, text).filter(|_| args.command.is_some()) {
        if !known.contains(name) {
            return Err(Usage(format!("there is no command /{name}; those there are: {}", list())).into());
        }
        return Ok(());
    }
    let first = text.strip_prefix('/').and_then(|rest| rest.split_whitespace().next()).unwrap_or_default();
    // A path is no command.
    let meant = !first.is_empty() && !text.starts_with("/ ") && !Path::new("/").join(first).exists();
    if meant && !known.contains(first) && !first.contains(['.', ':']) {
        render::complain(&format!(
            "! there is no command /{first}, so these are words to the model; commands: {}",
            list()
        ));
    }
    Ok(())
}

/// The rules of one prompt: perhaps nobody is there to be asked in the middle, or to switch modes.
pub(crate) fn rules(answerer: Answerer) -> Vec<Rule> {
    match answerer {
        Answerer::Person => Vec::new(),
        Answerer::Yes | Answerer::Nobody => haft_session::one_shot(),
    }
}

/// The folder of a stored session.
pub(crate) fn folder(record: &Record) -> Result<Place> {
    let gone = || format!("the folder {} of session {} is gone", record.directory, record.id);
    Place::find(record.directory.as_ref()).with_context(gone)
}

/// Opens or makes the session, asks, shows what happens, and waits for the end. `finished` is done when the model had
/// said all.
pub(crate) async fn play<Told: Future<Output = Result<()>>>(
    setup: Setup,
    id: Option<SessionId>,
    title: Option<String>,
    prompt: Prompt,
    watch: Watch,
    finished: impl FnOnce(SessionId) -> Told,
) -> Result<Exit> {
    let screen = watch.screen(&setup);
    let session = match id {
        Some(id) => Session::open(setup, &id).await?,
        None => Session::create(setup, NewSession { title }).await?,
    };
    let (over, stopped) = (CancellationToken::new(), CancellationToken::new());
    let mut screen = tokio::spawn(screen.follow(session.id().clone(), over.clone(), stopped.clone()));
    let mut signals = Signals::listen()?;
    let end = {
        let mut turn = std::pin::pin!(to_rest(&session, prompt));
        loop {
            tokio::select! {
                // The prompt must be on its way before anything can stop it.
                biased;
                end = &mut turn => break end,
                () = signals.next() => {
                    // Asked twice: at once. The next opening closes what is then left open.
                    if stopped.is_cancelled() {
                        return Ok(Exit::Interrupted);
                    }
                    stopped.cancel();
                    session.abort().await;
                }
            }
        }
    };
    over.cancel();
    let shown = tokio::select! {
        shown = &mut screen => shown.context("showing the run failed")?,
        () = signals.next() => return Ok(Exit::Interrupted),
    };
    match end {
        Ok(TurnEnd::Finished(reason)) => {
            if let Some(note) = unusual(&reason) {
                render::complain(note);
            }
            shown?;
            finished(session.id().clone()).await?;
            session.settle().await;
            Ok(Exit::Done)
        }
        Ok(TurnEnd::Limit { steps }) => {
            render::complain(&format!("stopped after {steps} steps, which is the limit; say `continue` to go on"));
            shown?;
            Ok(Exit::Done)
        }
        Ok(TurnEnd::Circles { tool }) => {
            render::complain(&format!(
                "stopped: the model made the same call of {tool} over and over, and nobody is here to allow that; say what \
                 it should do instead, or allow doom_loop in the settings"
            ));
            shown?;
            Ok(Exit::Failed)
        }
        Ok(TurnEnd::Refused) => {
            render::complain("stopped, because you refused a call; say what you want instead to go on");
            shown?;
            Ok(Exit::Done)
        }
        Ok(TurnEnd::Aborted) => {
            render::complain("stopped; what was said and done is kept");
            Ok(Exit::Interrupted)
        }
        Err(source) => Err(InSession { id: session.id().clone(), source }.into()),
    }
}

/// Asks, and waits for the tasks that go on behind the turn too. Returns how the last turn ended.
async fn to_rest(session: &Session, prompt: Prompt) -> Result<TurnEnd, SessionError> {
    match session.prompt(prompt).await? {
        end @ TurnEnd::Finished(_) => Ok(session.rest().await?.unwrap_or(end)),
        end @ (TurnEnd::Limit { .. } | TurnEnd::Circles { .. } | TurnEnd::Refused | TurnEnd::Aborted) => Ok(end),
    }
}

/// What a person should know about an answer that ended for `reason`, in the words of messages.
pub(crate) fn unusual(reason: &str) -> Option<&'static str> {
    match reason {
        "stop" => None,
        "length" => Some("the answer was cut: it reached the limit of what the model may write (`limit.output`)"),
        "content-filter" => Some("the answer was cut: the vendor withheld the rest"),
        _ => Some("the model stopped without saying why; the answer may not be whole"),
    }
}

/// The session to go on with, if one is wanted: the one called `id`, or the `newest` of this folder.
pub(crate) async fn resumed(id: Option<&str>, newest: bool, here: &Place, journal: &Journal) -> Result<Option<Record>> {
    if let Some(id) = id {
        let id = SessionId::parse(id).map_err(|error| Usage(error.to_string()))?;
        let record = journal.session(&id).await?;
        let unknown = || haft_session::SessionError::Unknown(id);
        return Ok(Some(record.ok_or_else(unknown)?));
    }
    if !newest {
        return Ok(None);
    }
    let directory = here.directory.display().to_string();
    let filter = Filter { directory: Some(directory.clone()), roots: true, limit: MAX_EMPTY, ..Filter::default() };
    // What a plug-in began is not what the person goes on with.
    for record in journal.sessions(&filter).await?.into_iter().filter(|record| record.plugin().is_none()) {
        // Nothing was ever said in a session whose first prompt could not be taken.
        let used = record.tokens != Tokens::default();
        if used || !journal.history(&record.id).await?.messages().is_empty() {
            return Ok(Some(record));
        }
    }
    Err(Usage(format!("there is no session of {directory} to go on with; leave out --continue")).into())
}

/// Refuses to go on with a session in another folder than its own.
pub(crate) fn is_of(record: &Record, here: &Place) -> Result<(), Usage> {
    let own = Path::new(&record.directory);
    if own.canonicalize().is_ok_and(|own| own == here.directory) || own == here.directory {
        return Ok(());
    }
    let (own, here) = (&record.directory, here.directory.display());
    Err(Usage(format!(
        "session {} works in {own}, not in {here}; leave out --dir to go on with it there, or name no session to begin one in {here}",
        record.id
    )))
}

/// `word` as an argument of a command, which is one again where the command takes its arguments apart.
fn whole(word: &str) -> String {
    let is_one = !word.is_empty() && !word.contains(|c: char| c.is_whitespace() || matches!(c, '"' | '\''));
    match (is_one, word.contains('"'), word.contains('\'')) {
        // With both kinds of quotes within there is none to put around it.
        (true, _, _) | (false, true, true) => word.to_owned(),
        (false, false, _) => format!("\"{word}\""),
        (false, true, false) => format!("'{word}'"),
    }
}

/// The words given, then what comes on standard input.
async fn message(words: &[String]) -> Result<String> {
    let mut text = words.join(" ");
    let piped = stdin::read(MAX_STDIN).await?;
    if !piped.trim().is_empty() {
        if !text.is_empty() {
            text.push('\n');
        }
        text.push_str(piped.trim_end());
    }
    Ok(text)
}
