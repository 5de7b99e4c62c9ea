//! `haft session import`.

mod shared;

use std::io::Read;
use std::time::Duration;

use anyhow::{Context, Result, anyhow};
use haft_net::Web;
use haft_project::Place;
use haft_session::Portable;
use haft_store::Journal;

use super::delete::asked;
use crate::args::SessionImport;
use crate::folders::Folders;
use crate::report::{Exit, Usage};
use crate::trust::Asking;
use crate::wire::{Ground, clock, journal, place};
use crate::{pages, render};

/// Largest file that is read, in bytes.
const MAX_FILE: u64 = 512 * 1024 * 1024;
/// Largest answer of an address, in bytes.
const MAX_FETCHED: usize = 64 * 1024 * 1024;
/// How long an address may take.
const TIME: Duration = Duration::from_secs(120);

pub(super) async fn run(args: SessionImport) -> Result<Exit> {
    let name = args.file.display().to_string();
    let here = place(args.dir.as_deref())?;
    let read = match shared::is_address(&name) {
        true => fetched(&name, &here).await,
        false => read(&args),
    };
    let mut session = read.with_context(|| format!("{name} cannot be imported"))?;

    session.info.path = here.relative();
    session.info.directory = here.directory.display().to_string();
    session.info.project_id = here.project_id;
    tell(&session);
    let journal = journal(&Folders::find()?).await?;
    let stored = store(session, &args, &journal).await;
    journal.close().await?;
    stored
}

fn read(args: &SessionImport) -> Result<Portable> {
    let mut text = Vec::new();
    let read = if args.file.as_os_str() == "-" {
        std::io::stdin().lock().take(MAX_FILE + 1).read_to_end(&mut text)?
    } else {
        std::fs::File::open(&args.file)?.take(MAX_FILE + 1).read_to_end(&mut text)?
    };
    if u64::try_from(read).unwrap_or(u64::MAX) > MAX_FILE {
        anyhow::bail!("it is larger than {} MiB", MAX_FILE / 1024 / 1024);
    }
    let value = serde_json::from_slice(&text).context("it is not JSON; Markdown cannot be read back")?;
    Ok(Portable::read(value, clock()?.now_ms())?)
}

/// The session at the address `name`, which the user typed. The settings of this folder say how the network is reached.
async fn fetched(name: &str, here: &Place) -> Result<Portable> {
    let ground = Ground::of(Folders::find()?, here.clone(), Asking::Nobody)?;
    drop(ground);
    let address = shared::address(name);
    let text = tokio::time::timeout(TIME, pages::fetch(&Web::default(), &address, true, MAX_FETCHED)).await;
    let text = text.map_err(|_| anyhow!("{address} took longer than {} s", TIME.as_secs()))?;
    let text = text.map_err(|why| anyhow!(why))?;
    let value = serde_json::from_str(&text).with_context(|| format!("what {address} answers is not JSON"))?;
    Ok(Portable::read(shared::session(value), clock()?.now_ms())?)
}

/// Says what had no place.
fn tell(session: &Portable) {
    for (what, count) in &session.left_out {
        render::complain(&format!("! left out: {what} ({count}×)"));
    }
}

async fn store(session: Portable, args: &SessionImport, journal: &Journal) -> Result<Exit> {
    let id = session.info.id.clone();
    if args.new {
        let new = session.anew(journal, &clock()?).await?.store(journal).await?;
        render::say(&format!("Imported session: {new}"))?;
        return Ok(Exit::Done);
    }
    let lease = journal.claim(&id)?;
    if journal.session(&id).await?.is_some() && !args.yes {
        match asked(&format!("Session {id} is there already. Put this one in its place? [y/N] "), false)? {
            Some(true) => {}
            Some(false) => {
                render::complain("nothing was changed");
                return Ok(Exit::Failed);
            }
            None => {
                let why = format!("session {id} is there already; --yes puts this one in its place, --new beside it");
                return Err(Usage(why).into());
            }
        }
    }
    session.store(journal).await?;
    drop(lease);
    render::say(&format!("Imported session: {id}"))?;
    Ok(Exit::Done)
}
