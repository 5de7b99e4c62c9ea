//! `haft run`: one prompt, headless.

use std::io::{IsTerminal, Read};
use std::time::Duration;

use anyhow::{Context, Result};
use haft_permission::Answerer;
use haft_protocol::{Id, Session as Record, SessionId};
use haft_session::{NewSession, Prompt, Session, Setup, TurnEnd};
use haft_store::{Filter, Journal};
use tokio_util::sync::CancellationToken;

use crate::args::Run;
use crate::report::{Exit, Usage};
use crate::watch::{Watch, interrupted};
use crate::wire::{Ground, journal};
use crate::{ask, models, render};

/// How long standard input may keep silent before the user is told what is waited for.
const PATIENCE: Duration = Duration::from_secs(2);
/// Most bytes of standard input that become part of a prompt.
const MAX_STDIN: u64 = 4 * 1024 * 1024;

pub(crate) async fn run(args: Run) -> Result<Exit> {
    let ground = Ground::at(args.dir.as_deref())?;
    let model = models::choose(args.model.model.as_deref(), &ground.config, args.record.as_deref())?;
    let text = message(&args.message).await?;
    if text.trim().is_empty() && args.file.is_empty() {
        return Err(Usage("there is no prompt; write it behind `haft run`, or pipe it in".to_owned()).into());
    }
    let journal = journal(&ground.folders).await?;
    let answerer = match (args.auto, ask::somebody_is_there()) {
        (true, _) => Answerer::Yes,
        (false, true) => Answerer::Person,
        (false, false) => Answerer::Nobody,
    };
    let resumed = resumed(&args, &ground, &journal).await?;
    let place = resumed.as_ref().map(|record| haft_project::Place::find(record.directory.as_ref()));
    let ground = match (place, &resumed) {
        // A session goes on where it was, wherever it is called from.
        (Some(Ok(place)), _) if place != ground.place => Ground::at(Some(&place.directory))?,
        (Some(Err(error)), Some(record)) => {
            let told = format!("the folder {} of session {} is gone", record.directory, record.id);
            return Err(anyhow::Error::new(error).context(told));
        }
        _ => ground,
    };
    let setup = ground.setup(journal.clone(), model, answerer, &[])?;
    let files = args.file.iter().map(|file| std::path::absolute(file).unwrap_or_else(|_| file.clone())).collect();
    let watch = Watch { format: args.format, thinking: args.thinking, before: resumed.clone(), go_on: true };
    let title = args.title.clone();
    let end = play(setup, resumed.map(|record| record.id), title, Prompt { text, files }, watch).await;
    // What is told is stored; this writes what was still growing.
    journal.close().await?;
    end
}

/// Opens or makes the session, asks, shows what happens, and waits for the end.
pub(crate) async fn play(
    setup: Setup,
    id: Option<SessionId>,
    title: Option<String>,
    prompt: Prompt,
    watch: Watch,
) -> Result<Exit> {
    let screen = watch.over(&setup);
    let session = match id {
        Some(id) => Session::open(setup, &id).await?,
        None => Session::create(setup, NewSession { title }).await?,
    };
    let (over, stopped) = (CancellationToken::new(), CancellationToken::new());
    let screen = tokio::spawn(screen.follow(session.id().clone(), over.clone(), stopped.clone()));

    let end = {
        let mut turn = std::pin::pin!(session.prompt(prompt));
        let mut signals = std::pin::pin!(interrupted()?);
        loop {
            tokio::select! {
                end = &mut turn => break end,
                () = &mut signals, if !stopped.is_cancelled() => {
                    stopped.cancel();
                    session.abort().await;
                }
            }
        }
    };
    over.cancel();
    let shown = screen.await.context("showing the run failed")?;
    match end {
        Ok(TurnEnd::Finished(_) | TurnEnd::Refused) => {
            shown?;
            Ok(Exit::Done)
        }
        Ok(TurnEnd::Aborted) => {
            let id = session.id().as_str();
            render::complain(&format!("stopped; what was said and done is kept: haft run --session {id} \"go on\""));
            Ok(Exit::Interrupted)
        }
        Err(error) => Err(error.into()),
    }
}

/// The session to go on with, if one is wanted.
async fn resumed(args: &Run, ground: &Ground, journal: &Journal) -> Result<Option<Record>> {
    if let Some(id) = &args.session {
        let id = SessionId::parse(id).map_err(|error| Usage(error.to_string()))?;
        let record = journal.session(&id).await?;
        let unknown = || haft_session::SessionError::Unknown(id);
        return Ok(Some(record.ok_or_else(unknown)?));
    }
    if !args.r#continue {
        return Ok(None);
    }
    let directory = ground.place.directory.display().to_string();
    let filter = Filter { directory: Some(directory.clone()), roots: true, limit: 1 };
    let newest = journal.sessions(&filter).await?.into_iter().next();
    let none = || Usage(format!("there is no session of {directory} to go on with; leave out --continue"));
    Ok(Some(newest.ok_or_else(none)?))
}

/// The words given, then what comes on standard input.
async fn message(words: &[String]) -> Result<String> {
    let mut text = words.join(" ");
    let stdin = std::io::stdin();
    if stdin.is_terminal() || is_device() {
        return Ok(text);
    }
    let mut reading = std::pin::pin!(tokio::task::spawn_blocking(move || {
        let mut piped = Vec::new();
        stdin.lock().take(MAX_STDIN + 1).read_to_end(&mut piped).map(|_| piped)
    }));
    let piped = match tokio::time::timeout(PATIENCE, &mut reading).await {
        Ok(piped) => piped,
        Err(_) => {
            render::complain("waiting for the end of standard input (close it, or redirect it from /dev/null) …");
            reading.await
        }
    };
    let piped = piped.context("reading standard input crashed")?.context("cannot read standard input")?;
    if piped.len() as u64 > MAX_STDIN {
        return Err(Usage("standard input is longer than 4 MiB; put it into a file and name that".to_owned()).into());
    }
    let piped = String::from_utf8(piped).map_err(|_| Usage("standard input is not UTF-8 text".to_owned()))?;
    if !piped.trim().is_empty() {
        if !text.is_empty() {
            text.push('\n');
        }
        text.push_str(piped.trim_end());
    }
    Ok(text)
}

/// Whether standard input is something like /dev/null, or nothing at all.
fn is_device() -> bool {
    let kind = rustix::fs::fstat(std::io::stdin()).map(|stat| rustix::fs::FileType::from_raw_mode(stat.st_mode));
    matches!(kind, Err(_) | Ok(rustix::fs::FileType::CharacterDevice))
}
