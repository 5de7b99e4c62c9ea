//! `haft session delete`, `archive`, `pin` and `rename`.

use std::path::PathBuf;

use anyhow::{Context, Result};
use haft_protocol::{Event, Id, Session as Record, SessionId, ToolState};
use haft_store::Journal;
use serde_json::Value;

use crate::folders::Folders;
use crate::render::{self, clean};
use crate::report::{Exit, Usage};
use crate::wire::{clock, journal};
use crate::{ask, retention};

pub(super) fn parsed(id: &str) -> Result<SessionId> {
    SessionId::parse(id).map_err(|error| Usage(error.to_string()).into())
}

pub(super) async fn run(ids: &[String], yes: bool) -> Result<Exit> {
    let ids = ids.iter().map(|id| parsed(id)).collect::<Result<Vec<_>>>()?;
    let folders = Folders::find()?;
    let journal = journal(&folders).await?;
    let deleted = delete(&ids, yes, &folders, &journal).await;
    journal.close().await?;
    deleted
}

async fn delete(ids: &[SessionId], yes: bool, folders: &Folders, journal: &Journal) -> Result<Exit> {
    let mut families = Vec::new();
    for id in ids {
        families.push(haft_session::family(journal, id).await?);
    }
    if !yes {
        for family in &families {
            render::complain(&line(family));
        }
        let Some(answer) = asked("Remove what was said there for ever? [y/N] ", false)? else {
            return Err(Usage("nobody is there to be asked; --yes removes without asking".to_owned()).into());
        };
        if !answer {
            render::complain("nothing was removed");
            return Ok(Exit::Failed);
        }
    }
    for family in families {
        let Some(first) = family.first() else { continue };
        // One that another one of them had started is gone already.
        if journal.session(&first.id).await?.is_none() {
            continue;
        }
        let mut kept = Vec::new();
        for session in &family {
            kept.extend(kept_outputs(journal, &session.id, folders).await?);
        }
        haft_session::delete(journal, &first.id).await?;
        for file in kept {
            // It may be older than a week and gone.
            let _ = std::fs::remove_file(file);
        }
        render::complain(&format!("removed {}", line(&family)));
    }
    Ok(Exit::Done)
}

fn line(family: &[Record]) -> String {
    let Some(first) = family.first() else { return String::new() };
    let tasks = match family.len() - 1 {
        0 => String::new(),
        1 => " with 1 task".to_owned(),
        more => format!(" with {more} tasks"),
    };
    clean(&format!("{}  {}{tasks}", first.id, first.title)).replace('\n', " ")
}

/// Asks on the terminal; `None` where there is none. `otherwise`: what an empty line says.
pub(super) fn asked(question: &str, otherwise: bool) -> Result<Option<bool>> {
    if ask::answerer(false) != haft_permission::Answerer::Person {
        return Ok(None);
    }
    let line = ask::read_line(question)?.unwrap_or_default();
    Ok(Some(match line.trim().to_lowercase().as_str() {
        "" => otherwise,
        word => matches!(word, "y" | "yes"),
    }))
}

/// The files of whole outputs that a session's calls kept.
async fn kept_outputs(journal: &Journal, id: &SessionId, folders: &Folders) -> Result<Vec<PathBuf>> {
    let outputs = folders.outputs();
    let history = journal.history(id).await?;
    let parts = history.messages().iter().flat_map(|turned| &turned.parts);
    let kept = parts.filter_map(|part| match part.kind.state() {
        Some(ToolState::Completed { metadata, .. }) => {
            // What is stored is not trusted with more than a name in our own folder.
            let path = metadata.get("outputPath").and_then(Value::as_str).map(PathBuf::from)?;
            let name = path.file_name()?.to_str()?.to_owned();
            (path.parent() == Some(&outputs) && name.starts_with("tool_")).then_some(path)
        }
        _ => None,
    });
    Ok(kept.collect())
}

/// Stores the record of `id` as `change` leaves it.
pub(super) async fn change(id: &str, change: impl FnOnce(&mut Record, u64)) -> Result<Exit> {
    let id = parsed(id)?;
    let journal = journal(&Folders::find()?).await?;
    let changed = put(&journal, &id, change).await;
    journal.close().await?;
    changed.map(|()| Exit::Done)
}

async fn put(journal: &Journal, id: &SessionId, change: impl FnOnce(&mut Record, u64)) -> Result<()> {
    // Whoever works on it holds a record of its own, and would write that over ours.
    let _lease = journal.claim(id)?;
    let mut info = journal.session(id).await?.with_context(|| format!("there is no session {id}"))?;
    change(&mut info, clock()?.now_ms());
    journal.record(Event::SessionUpdated { session_id: id.clone(), info: Box::new(info) }).await?;
    Ok(())
}

pub(super) async fn archive(id: &str, undo: bool) -> Result<Exit> {
    change(id, |info, now| info.time.archived = (!undo).then_some(now)).await
}

pub(super) async fn pin(id: &str, undo: bool) -> Result<Exit> {
    change(id, |info, _| retention::pin(info, !undo)).await
}

pub(super) async fn rename(id: &str, title: &str) -> Result<Exit> {
    let title = title.trim();
    if title.is_empty() {
        return Err(Usage("a title has at least one letter".to_owned()).into());
    }
    change(id, |info, now| {
        title.clone_into(&mut info.title);
        info.time.updated = now;
    })
    .await
}
