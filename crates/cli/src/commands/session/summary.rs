//! `haft session summary`: what turns came to, in words.

use std::path::Path;

use anyhow::{Context, Result};
use haft_permission::Answerer;
use haft_protocol::{Id, Message, MessageId, Session as Record, TurnSummary};
use haft_session::{Session, SessionError, begins_turn};
use haft_store::Journal;
use serde_json::json;

use super::find;
use crate::folders::Folders;
use crate::render::{self, Paint};
use crate::report::{Exit, InSession};
use crate::signals::Signals;
use crate::trust::Asking;
use crate::wire::{Ground, journal, place};
use crate::{agents, chat, models};

/// What is asked for.
pub(super) struct Wanted {
    /// Every turn, not the last one alone.
    pub all: bool,
    pub json: bool,
    pub model: Option<String>,
}

pub(super) async fn run(id: Option<&str>, wanted: Wanted, dir: Option<&Path>) -> Result<Exit> {
    let folders = Folders::find()?;
    let journal = journal(&folders).await?;
    let end = match find(id, dir, &journal).await {
        Ok(record) => summaries(record, &wanted, folders, &journal).await,
        Err(error) => Err(error),
    };
    let closed = journal.close().await;
    let end = end?;
    closed?;
    Ok(end)
}

async fn summaries(record: Record, wanted: &Wanted, folders: Folders, journal: &Journal) -> Result<Exit> {
    let ground = Ground::of(folders, place(Some(record.directory.as_ref()))?, Asking::Nobody)?.heard().await?;
    let kept = record.model.as_ref().map(|kept| format!("{}/{}", kept.provider_id, kept.id));
    let model = models::find(wanted.model.as_deref().or(kept.as_deref()), None, &ground.config).await;
    let model = model.context("the session's model cannot be asked; name another one with --model")?;
    let mut setup = ground.setup(journal.clone(), model, Answerer::Nobody, &[], agents::all(&ground)?)?;
    if wanted.model.is_some() {
        setup.options.small = Some(setup.model.clone());
    }
    let session = Session::open(setup, &record.id).await?;
    let mut signals = Signals::listen()?;
    for (prompt, known) in turns(&record, wanted.all, journal).await? {
        let summary = match known {
            Some(known) => known,
            None => {
                let mut work = std::pin::pin!(session.describe(Some(prompt.clone())));
                let mut stopped = false;
                let said = loop {
                    tokio::select! {
                        biased;
                        said = &mut work => break said,
                        () = signals.next() => {
                            stopped = true;
                            session.abort().await;
                        }
                    }
                };
                match said {
                    Ok(summary) => summary,
                    Err(_) if stopped => return Ok(Exit::Interrupted),
                    Err(source) => return Err(InSession { id: record.id, source }.into()),
                }
            }
        };
        tell(&prompt, &summary, wanted.json)?;
    }
    Ok(Exit::Done)
}

/// The prompts whose turns are to be summed up, oldest first, each with what is known of it already. The last one alone
/// is summed up anew.
async fn turns(record: &Record, all: bool, journal: &Journal) -> Result<Vec<(MessageId, Option<TurnSummary>)>> {
    let history = journal.history(&record.id).await?;
    let (shown, _) = haft_session::shown(record, &history);
    let prompts = shown.iter().filter(|turned| begins_turn(turned)).filter_map(|turned| match &turned.info {
        Message::User(user) => {
            Some((user.id.clone(), user.summary.clone().filter(|summary| all && summary.body.is_some())))
        }
        Message::Assistant(_) => None,
    });
    let prompts: Vec<_> = prompts.collect();
    let first = if all { 0 } else { prompts.len().saturating_sub(1) };
    let turns: Vec<_> = prompts.into_iter().skip(first).collect();
    if turns.is_empty() {
        let nothing = haft_session::TurnError::NothingToSumUp;
        return Err(InSession { id: record.id.clone(), source: SessionError::Turn(nothing) }.into());
    }
    Ok(turns)
}

fn tell(prompt: &MessageId, summary: &TurnSummary, json: bool) -> Result<()> {
    if json {
        let TurnSummary { title, body, .. } = summary;
        render::say_json(&json!({ "messageID": prompt.as_str(), "title": title, "body": body }), false)?;
    } else {
        let paint = Paint::new(render::out_is_terminal());
        render::say(&chat::summary(summary, paint).join("\n"))?;
    }
    Ok(())
}
