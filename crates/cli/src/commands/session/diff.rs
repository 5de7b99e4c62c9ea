//! `haft session diff`: what a session, or one turn of it, has done to files.

use anyhow::{Context, Result};
use haft_protocol::{FileDiff, History, Message};
use haft_session::Session;
use serde_json::json;

use crate::args::Diff;
use crate::folders::Folders;
use crate::render::{self, Paint, clean, named};
use crate::report::Exit;
use crate::wire::{journal, past};

pub(crate) async fn run(args: Diff) -> Result<Exit> {
    let folders = Folders::find()?;
    let journal = journal(&folders).await?;
    let record = super::find(args.id.as_deref(), args.dir.as_deref(), &journal).await?;
    let turn = match &args.turn {
        Some(message) => Some(super::undo::message(message)?),
        None if args.last => {
            let history = journal.history(&record.id).await?;
            Some(last(&history).context("nothing was asked in this session yet")?.id().clone())
        }
        None => None,
    };
    let place = super::undo::folder(&record)?;
    let past =
        past(&folders, &place).context("nothing is remembered of files here: `snapshot` is false in the settings")?;
    let diffs = Session::diffs(&journal, &past, &record.id, turn.as_ref()).await?;
    if args.json {
        render::say_json(&json!(diffs), false)?;
        return Ok(Exit::Done);
    }
    if diffs.is_empty() {
        render::complain("no files were changed");
    }
    let paint = Paint::new(render::out_is_terminal());
    for line in diffs.iter().flat_map(|diff| lines(diff, paint)) {
        render::say(&line)?;
    }
    Ok(Exit::Done)
}

/// The last message of the session; its turn is the last one.
fn last(history: &History) -> Option<&Message> {
    history.messages().last().map(|turned| &turned.info)
}

fn lines(diff: &FileDiff, paint: Paint) -> Vec<String> {
    if diff.patch.is_empty() {
        let (file, FileDiff { status, additions, deletions, .. }) = (named(&diff.file), diff);
        return vec![format!("{file} ({status:?}: +{additions} -{deletions}, not shown)")];
    }
    let painted = |line: &str| {
        let line = clean(line);
        match line.as_bytes().first() {
            _ if line.starts_with("+++") || line.starts_with("---") || line.starts_with("Index:") => paint.bold(&line),
            Some(b'+') => paint.green(&line),
            Some(b'-') => paint.red(&line),
            Some(b'@') => paint.cyan(&line),
            _ => line.into_owned(),
        }
    };
    diff.patch.lines().map(painted).collect()
}
