//! `haft import-opencode`: OpenCode's sessions and keys are taken over, and stay where they are.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::Result;
use haft_mcp::oauth::Store;
use haft_protocol::Session;
use haft_session::Portable;
use haft_store::{Journal, Listed, Opencode, StoreError};
use serde_json::{Value, json};

use crate::args::ImportOpencode;
use crate::commands::auth;
use crate::folders::Folders;
use crate::render;
use crate::report::{Exit, Usage};
use crate::wire::{clock, journal};

/// Most sessions that could not be taken over and are named.
const MAX_NAMED: usize = 20;

/// What came of it.
#[derive(Default)]
struct Tally {
    taken: u64,
    /// Taken over before, and the same since.
    same: u64,
    /// Went on in haft, or are worked on right now.
    own: u64,
    messages: u64,
    parts: u64,
    failed: Vec<String>,
    left_out: BTreeMap<String, u64>,
}

/// What would be taken over of keys and tokens, by the names of those they are for.
#[derive(Default)]
struct Secrets {
    /// Vendors of models, each with why it is left out, if it is.
    keys: Vec<(String, Option<&'static str>)>,
    /// Servers of tools.
    servers: Vec<String>,
}

pub(crate) async fn run(args: ImportOpencode) -> Result<Exit> {
    let folders = Folders::find()?;
    let data = args.from.clone().unwrap_or_else(|| theirs(&folders));
    let opencode = Opencode::open(&data).await?;
    let keys = data.join("auth.json");
    let tokens = data.join("mcp-auth.json");
    if opencode.is_none() && !keys.exists() && !tokens.exists() {
        let why = format!("there is nothing of OpenCode's in {}; --from DIR names another folder", data.display());
        return Err(Usage(why).into());
    }
    let mut tally = Tally::default();
    if let Some(mut opencode) = opencode {
        let journal = journal(&folders).await?;
        let done = sessions(&mut opencode, &journal, args.dry_run, &mut tally).await;
        opencode.close().await;
        journal.close().await?;
        done?;
    }
    let secrets = Secrets {
        keys: if keys.exists() { auth::look_over(&folders, &keys)? } else { Vec::new() },
        servers: if tokens.exists() { Store::at(folders.mcp_auth()).look_over(&tokens)? } else { Vec::new() },
    };
    tell(&tally, &secrets, &args)?;
    if keys.exists() && !args.dry_run {
        auth::take_over(&folders, &keys)?;
    }
    if tokens.exists() && !args.dry_run {
        for name in Store::at(folders.mcp_auth()).take_over(&tokens)? {
            render::complain(&render::spelled(&format!("{name}: what this server of tools gave is taken over")));
        }
    }
    Ok(if tally.failed.is_empty() { Exit::Done } else { Exit::Failed })
}

/// OpenCode's folder, beside ours.
fn theirs(folders: &Folders) -> PathBuf {
    folders.data.parent().map_or_else(|| folders.data.clone(), Path::to_path_buf).join("opencode")
}

async fn sessions(opencode: &mut Opencode, journal: &Journal, dry: bool, tally: &mut Tally) -> Result<()> {
    for listed in opencode.sessions().await? {
        match one(opencode, &listed, journal, dry, tally).await {
            Ok(()) => {}
            // What stops all of them stops here.
            Err(error) if error.downcast_ref::<StoreError>().is_some_and(is_everybodys) => return Err(error),
            Err(error) => tally.failed.push(format!("{}: {error:#}", listed.id)),
        }
    }
    Ok(())
}

fn is_everybodys(error: &StoreError) -> bool {
    matches!(error, StoreError::Full { .. } | StoreError::NotWritable { .. } | StoreError::Closed)
}

async fn one(opencode: &mut Opencode, listed: &Listed, journal: &Journal, dry: bool, tally: &mut Tally) -> Result<()> {
    // Nobody can be at work on one that is not here.
    let lease = match journal.session(&listed.id).await? {
        None => None,
        Some(_) => match journal.claim(&listed.id) {
            Ok(lease) => Some(lease),
            Err(StoreError::Busy { .. } | StoreError::BusyElsewhere { .. }) => {
                tally.own += 1;
                return Ok(());
            }
            Err(error) => return Err(error.into()),
        },
    };
    let theirs = Portable::read(opencode.session(listed).await?, clock()?.now_ms())?;
    match standing(journal, &theirs).await? {
        Standing::Same => tally.same += 1,
        Standing::Own => tally.own += 1,
        Standing::New => {
            tally.taken += 1;
            tally.messages += u64::try_from(theirs.messages.len()).unwrap_or(u64::MAX);
            let parts: usize = theirs.messages.iter().map(|turned| turned.parts.len()).sum();
            tally.parts += u64::try_from(parts).unwrap_or(u64::MAX);
            for (what, count) in &theirs.left_out {
                *tally.left_out.entry(what.clone()).or_default() += count;
            }
            if !dry {
                theirs.store(journal).await?;
            }
        }
    }
    drop(lease);
    Ok(())
}

/// How a session of theirs stands to ours.
#[derive(Debug, PartialEq, Eq)]
enum Standing {
    /// It is not here yet, or an older state of it is.
    New,
    /// It is here as it is there.
    Same,
    /// It was worked on here.
    Own,
}

async fn standing(journal: &Journal, theirs: &Portable) -> Result<Standing> {
    let Some(ours) = journal.session(&theirs.info.id).await? else { return Ok(Standing::New) };
    let history = journal.history(&theirs.info.id).await?;
    // A message that they do not have was made here.
    let only_ours = history
        .messages()
        .iter()
        .any(|turned| !theirs.messages.iter().any(|other| other.info.id() == turned.info.id()));
    Ok(judged(&ours, &theirs.info, only_ours, history.messages() == theirs.messages.as_slice()))
}

fn judged(ours: &Session, theirs: &Session, only_ours: bool, same_messages: bool) -> Standing {
    if only_ours {
        Standing::Own
    } else if same_messages && ours.time.updated >= theirs.time.updated {
        Standing::Same
    } else {
        Standing::New
    }
}

fn tell(tally: &Tally, secrets: &Secrets, args: &ImportOpencode) -> Result<()> {
    let Tally { taken, same, own, messages, parts, failed, left_out } = tally;
    if args.json {
        let value: Value = json!({
            "dryRun": args.dry_run, "sessions": taken, "messages": messages, "parts": parts,
            "same": same, "own": own, "failed": failed, "leftOut": left_out,
            "keys": secrets.keys.iter().filter(|(_, why)| why.is_none()).map(|(name, _)| name).collect::<Vec<_>>(),
            "keysLeftOut": secrets.keys.iter().filter_map(|(name, why)| Some((name, (*why)?))).collect::<BTreeMap<_, _>>(),
            "servers": secrets.servers,
        });
        render::say_json(&value, true)?;
        return Ok(());
    }
    for (what, count) in left_out {
        render::complain(&format!("! left out: {what} ({count}×)"));
    }
    for failure in failed.iter().take(MAX_NAMED) {
        render::complain(&format!("! not taken over: {failure}"));
    }
    if failed.len() > MAX_NAMED {
        render::complain(&format!("! and {} more", failed.len() - MAX_NAMED));
    }
    let would = if args.dry_run { "would be taken over" } else { "taken over" };
    let mut line = format!("{taken} sessions with {messages} messages and {parts} parts {would}");
    for (count, what) in [(same, "were here already"), (own, "went on here and stay as they are")] {
        if *count > 0 {
            line.push_str(&format!("; {count} {what}"));
        }
    }
    render::say(&line)?;
    // Where they are taken over that is told one by one.
    for line in foretold(secrets).into_iter().filter(|_| args.dry_run) {
        render::say(&render::spelled(&line))?;
    }
    Ok(())
}

/// What would become of keys and tokens, a line each.
fn foretold(secrets: &Secrets) -> Vec<String> {
    let key = |(name, why): &(String, Option<&str>)| match why {
        None => format!("{name}: its key or sign-in would be taken over"),
        Some(why) => format!("{name}: would be left out, {why}"),
    };
    let server = |name: &String| format!("{name}: what this server of tools gave would be taken over");
    secrets.keys.iter().map(key).chain(secrets.servers.iter().map(server)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_worked_on_here_stays() {
        let session = |updated: u64| -> Session {
            let record = json!({
                "id": "ses_1", "slug": "", "projectID": "global", "directory": "/p", "title": "", "version": "",
                "time": {"created": 0, "updated": updated}
            });
            serde_json::from_value(record).unwrap()
        };
        let row = |ours, theirs, only_ours, same, want| {
            assert_eq!(judged(&session(ours), &session(theirs), only_ours, same), want);
        };
        row(1, 1, false, true, Standing::Same);
        row(2, 1, false, true, Standing::Same);
        row(1, 2, false, true, Standing::New);
        row(1, 2, false, false, Standing::New);
        row(1, 1, false, false, Standing::New);
        row(1, 2, true, false, Standing::Own);
        row(3, 2, true, false, Standing::Own);
    }
}
