//! `haft session import`.

use std::io::Read;

use anyhow::{Context, Result};
use haft_session::Portable;
use haft_store::Journal;

use super::delete::asked;
use crate::args::SessionImport;
use crate::folders::Folders;
use crate::render;
use crate::report::{Exit, Usage};
use crate::wire::{clock, journal, place};

/// Largest file that is read, in bytes.
const MAX_FILE: u64 = 512 * 1024 * 1024;

pub(super) async fn run(args: SessionImport) -> Result<Exit> {
    let name = args.file.display().to_string();
    if name.starts_with("http://") || name.starts_with("https://") {
        return Err(Usage(format!("haft imports files; get {name} with another program first")).into());
    }
    let mut session = read(&args).with_context(|| format!("{name} cannot be imported"))?;
    let here = place(args.dir.as_deref())?;

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
    Ok(Portable::read(value)?)
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
        match asked(&format!("Session {id} is there already. Put this one in its place? [y/N] "))? {
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
