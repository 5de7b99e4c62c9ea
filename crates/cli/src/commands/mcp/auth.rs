//! `haft mcp auth`: signing in at a server of tools.

use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::Result;
use haft_mcp::oauth::{PATIENCE, SignIn, State, Store};
use serde_json::{Value, json};

use super::account::{accounts, named};
use crate::args::{McpAuth, McpAuthList};
use crate::commands::auth::{Person, Stopped, open};
use crate::folders::Folders;
use crate::render::{self, spelled};
use crate::report::{Exit, Usage};
use crate::wire::Ground;

pub(super) async fn run(args: McpAuth) -> Result<Exit> {
    match args.what {
        Some(McpAuthList::List { json }) => list(json),
        None => sign_in(args.name.as_deref(), args.no_browser).await,
    }
}

async fn sign_in(name: Option<&str>, no_browser: bool) -> Result<Exit> {
    let ground = Ground::at(None)?;
    let account = named(&ground, name)?;
    let store = Store::at(ground.folders.mcp_auth());
    if !account.is_a_persons() {
        haft_mcp::oauth::fetch(&store, &account).await?;
        render::complain(&spelled(&format!("{} gave a token; nobody has to sign in there", account.name)));
        return Ok(Exit::Done);
    }
    let mut person = Person::find()?;
    let done = person.wait(async {
        let sign_in = SignIn::begin(&store, &account, None).await?;
        // Whole on a line of its own, so that a terminal lets it be clicked and copied.
        render::complain(&format!(
            "\nopen this page and sign in at {}:\n  {}",
            spelled(&account.name),
            spelled(sign_in.url())
        ));
        if !no_browser {
            open(sign_in.url());
        }
        render::complain(&format!("waiting for at most {} minutes (Ctrl-C stops) …", PATIENCE.as_secs() / 60));
        sign_in.finish().await
    });
    match done.await {
        Err(error) if error.is::<Stopped>() => {
            render::complain("\nstopped; you are not signed in");
            Ok(Exit::Interrupted)
        }
        done => {
            done??;
            render::complain(&spelled(&format!("signed in at {}; `haft mcp list` tries it", account.name)));
            Ok(Exit::Done)
        }
    }
}

fn list(as_json: bool) -> Result<Exit> {
    let ground = Ground::at(None)?;
    let store = Store::at(ground.folders.mcp_auth());
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs());
    let mut rows = Vec::new();
    for account in accounts(&ground) {
        let kept = store.get(&account.name, &account.url)?;
        let state = kept.map_or(State::NotAuthenticated, |kept| kept.state(now));
        rows.push((account.name, account.url, state));
    }
    // What is kept for servers that are not here, or not there any more.
    for (name, kept) in store.all()? {
        if !rows.iter().any(|(known, url, _)| *known == name && *url == kept.url) {
            rows.push((name, kept.url.clone(), kept.state(now)));
        }
    }
    if as_json {
        let rows = rows.iter().map(|(name, url, state)| json!({ "name": name, "url": url, "state": state.word() }));
        render::say_json(&Value::from_iter(rows), false)?;
        return Ok(Exit::Done);
    }
    let wide = rows.iter().map(|(name, ..)| name.chars().count()).max().unwrap_or_default();
    for (name, url, state) in &rows {
        render::say(&spelled(&format!("{name:wide$}  {:17}  {url}", state.word())))?;
    }
    if rows.is_empty() {
        render::complain("no server in the settings is at an address where one could sign in");
    }
    Ok(Exit::Done)
}

/// `haft mcp logout`: what a server gave is forgotten.
pub(super) fn forget(name: Option<String>) -> Result<Exit> {
    let store = Store::at(Folders::find()?.mcp_auth());
    let mut kept: Vec<String> = store.all()?.into_iter().map(|(name, _)| name).collect();
    let name = match (name, &mut kept[..]) {
        (Some(name), _) => name,
        (None, [only]) => std::mem::take(only),
        (None, []) => return Err(Usage("nothing is stored that could be forgotten".to_owned()).into()),
        (None, _) => return Err(Usage(format!("which one? There is {}", kept.join(", "))).into()),
    };
    if !store.forget(&name)? {
        let there = if kept.is_empty() { "nothing".to_owned() } else { kept.join(", ") };
        return Err(Usage(format!("nothing is stored for {name:?}; there is {there}")).into());
    }
    render::complain(&spelled(&format!("what {name} gave is forgotten; the leave itself is taken back there")));
    Ok(Exit::Done)
}
