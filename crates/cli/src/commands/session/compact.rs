//! `haft session compact`: sums a session up, so that it can go on.

use std::path::Path;

use anyhow::{Context, Result};
use haft_permission::Answerer;
use haft_protocol::{Message, PartKind, Session as Record, SessionId};
use haft_session::{Session, TurnEnd};
use haft_store::Journal;

use super::find;
use crate::folders::Folders;
use crate::render::{self, Paint};
use crate::report::{Exit, InSession};
use crate::signals::Signals;
use crate::trust::Asking;
use crate::wire::{Ground, journal, place};
use crate::{agents, models};

pub(super) async fn run(
    id: Option<&str>,
    focus: Option<String>,
    model: Option<&str>,
    dir: Option<&Path>,
) -> Result<Exit> {
    let folders = Folders::find()?;
    let journal = journal(&folders).await?;
    let end = match find(id, dir, &journal).await {
        Ok(record) => compact(record, focus, model, folders, &journal).await,
        Err(error) => Err(error),
    };
    let closed = journal.close().await;
    let end = end?;
    closed?;
    Ok(end)
}

async fn compact(
    record: Record,
    focus: Option<String>,
    model: Option<&str>,
    folders: Folders,
    journal: &Journal,
) -> Result<Exit> {
    // It is summed up where it was, wherever that is asked from.
    let ground = Ground::of(folders, place(Some(record.directory.as_ref()))?, Asking::Nobody)?.heard().await?;
    let kept = record.model.as_ref().map(|kept| (format!("{}/{}", kept.provider_id, kept.id), kept.variant.clone()));
    let (kept, variant) = kept.filter(|_| model.is_none()).unzip();
    let model = models::find(model.or(kept.as_deref()), variant.flatten().as_deref(), &ground.config).await;
    let model = model.context("the session's model cannot be asked; name another one with --model")?;
    let setup = ground.setup(journal.clone(), model, Answerer::Nobody, &[], agents::all(&ground)?)?;
    let session = Session::open(setup, &record.id).await?;
    let mut signals = Signals::listen()?;
    let end = {
        let mut work = std::pin::pin!(session.compact(focus.filter(|focus| !focus.trim().is_empty())));
        loop {
            tokio::select! {
                biased;
                end = &mut work => break end,
                () = signals.next() => session.abort().await,
            }
        }
    };
    match end {
        Ok(TurnEnd::Aborted) => {
            render::complain("stopped; the session is as it was");
            Ok(Exit::Interrupted)
        }
        Ok(_) => {
            render::say(&render::answer(&summary(&record.id, journal).await?, Paint::new(render::out_is_terminal())))?;
            render::complain("the session goes on with this; what was said before stays stored");
            Ok(Exit::Done)
        }
        Err(source) => Err(InSession { id: record.id, source }.into()),
    }
}

/// The words of the newest summary.
async fn summary(id: &SessionId, journal: &Journal) -> Result<String> {
    let history = journal.history(id).await?;
    let is_summary = |info: &Message| matches!(info, Message::Assistant(answer) if answer.summary);
    let last = history.messages().iter().rfind(|turned| is_summary(&turned.info));
    let words = last.into_iter().flat_map(|turned| &turned.parts).filter_map(|part| match &part.kind {
        PartKind::Text { text, .. } => Some(text.trim()),
        _ => None,
    });
    Ok(words.collect::<Vec<_>>().join("\n\n"))
}
