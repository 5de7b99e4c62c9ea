//! `haft skill update`: fetches the skills of addresses, and shows what is not what it was before it is used.

use anyhow::Result;
use haft_permission::Answerer;

use crate::report::Exit;
use crate::skills::remote::{self, Change, Found, Remote};
use crate::wire::Ground;
use crate::{ask, render};

/// Longest description that is shown, in characters.
const MAX_SHOWN: usize = 100;

pub(super) async fn run(ground: &Ground, yes: bool) -> Result<Exit> {
    let addresses = match remote::addresses(&ground.config) {
        Ok(addresses) => addresses,
        Err(why) => {
            render::complain(&format!("error: {why}"));
            return Ok(Exit::Failed);
        }
    };
    if addresses.is_empty() {
        render::complain("skills.urls of the settings names no address, so there is nothing to fetch");
        return Ok(Exit::Done);
    }
    let remote = Remote::of(&ground.folders);
    let mut exit = Exit::Done;
    for address in addresses {
        let url = shown(&address.url);
        let found = match remote.look(address, &ground.place).await {
            Ok(found) => found,
            Err(why) => {
                render::complain(&shown(&format!("error: {}: {why}; what was fetched before stays", address.url)));
                exit = Exit::Failed;
                continue;
            }
        };
        for why in found.left_out() {
            render::complain(&shown(&format!("warning: {}: left out: {why}", address.url)));
        }
        let lines = match &found.change {
            None => described(&found),
            Some(change) if change.is_none() => {
                // What was lost of it comes back.
                remote.take(&found)?;
                render::say(&format!("{url}: as it was, {} skills", found.skills().count()))?;
                continue;
            }
            Some(change) => changed(change, &found),
        };
        render::say(&format!("{url}:\n{lines}"))?;
        // What nobody has looked at yet takes nothing's place: whoever wrote the address and came here wants it.
        if found.change.is_some() && !yes && !answered()? {
            render::complain(&format!("{url}: what was fetched before stays"));
            exit = Exit::Denied;
            continue;
        }
        remote.take(&found)?;
    }
    Ok(exit)
}

/// Whether the person wants what is new.
fn answered() -> Result<bool> {
    if ask::answerer(false) != Answerer::Person {
        render::complain("nobody is there to answer; look at it, and say --yes");
        return Ok(false);
    }
    let line = ask::read_line("  [y] use it as it is now  [n] keep what there was: ")?;
    Ok(line.is_some_and(|line| matches!(line.trim().to_lowercase().as_str(), "y" | "yes")))
}

/// All skills of `found`.
fn described(found: &Found) -> String {
    found.skills().map(|skill| line("new", skill)).collect::<Vec<_>>().join("\n")
}

fn changed(change: &Change, found: &Found) -> String {
    let new = found.skills().filter(|(name, ..)| change.new.iter().any(|new| new == name));
    let new = new.map(|skill| line("new", skill));
    let changed = change.changed.iter().map(|(name, files)| shown(&format!("  changed  {name}: {}", files.join(", "))));
    let gone = change.gone.iter().map(|name| shown(&format!("  gone     {name}")));
    new.chain(changed).chain(gone).collect::<Vec<_>>().join("\n")
}

fn line(word: &str, (name, description, files, bytes): (&str, Option<&str>, usize, usize)) -> String {
    let description = description.unwrap_or("(no description)").split_whitespace().collect::<Vec<_>>().join(" ");
    let short: String = description.chars().take(MAX_SHOWN).collect();
    let dots = if short.len() < description.len() { "…" } else { "" };
    let kib = bytes.div_ceil(1024);
    shown(&format!("  {word:7}  {name}: {short}{dots} ({files} files, {kib} KiB)"))
}

/// Words of others, on one line.
fn shown(text: &str) -> String {
    render::spelled(&text.replace(['\n', '\r'], " ")).into_owned()
}
