//! `haft auth login --import-opencode`: OpenCode's keys are taken over, and stay where they are.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use haft_vault::{Entry, Vault};

use super::login::store;
use crate::folders::Folders;
use crate::keys;
use crate::render::{self, spelled};
use crate::report::{Exit, Usage};

/// Where OpenCode keeps its keys.
pub(super) fn theirs(folders: &Folders) -> PathBuf {
    let data = folders.data.parent().map_or_else(|| folders.data.clone(), std::path::Path::to_path_buf);
    data.join("opencode/auth.json")
}

pub(super) fn run(folders: &Folders, vault: &Vault, force: bool) -> Result<Exit> {
    let path = theirs(folders);
    if !path.exists() {
        return Err(Usage(format!("OpenCode keeps no keys here: there is no {}", path.display())).into());
    }
    take(vault, &path, force)
}

/// Takes over the keys in the file `path` of OpenCode's; those that are stored already stay.
pub(crate) fn take_over(folders: &Folders, path: &Path) -> Result<()> {
    take(&keys::vault(folders)?, path, false).map(drop)
}

/// The names of the keys in the file `path` of OpenCode's, each with why it would be left out, if so. Nothing is stored.
pub(crate) fn look_over(folders: &Folders, path: &Path) -> Result<Vec<(String, Option<&'static str>)>> {
    let found = haft_vault::look(path).context("OpenCode's keys cannot be looked at")?;
    let mine = keys::vault(folders)?.entries()?.all;
    Ok(found.iter().map(|(id, entry)| (id.clone(), judged(id, entry, mine.get(id), false).err())).collect())
}

fn take(vault: &Vault, path: &Path, force: bool) -> Result<Exit> {
    let found = haft_vault::look(path).context("OpenCode's keys were not taken over")?;
    let mine = vault.entries()?.all;
    let mut taken = 0;
    for (id, entry) in &found {
        match judged(id, entry, mine.get(id), force) {
            Ok(()) => {
                store(vault, id, entry)?;
                taken += 1;
                render::complain(&spelled(&format!("{id}: taken over")));
            }
            Err(why) => render::complain(&spelled(&format!("{id}: left out, {why}"))),
        }
    }
    render::complain(&format!("{taken} of {} taken over; `haft auth list` shows what is stored", found.len()));
    Ok(Exit::Done)
}

/// Whether OpenCode's `entry` is taken over, where `mine` is stored already; else why not.
fn judged(id: &str, entry: &Entry, mine: Option<&Entry>, force: bool) -> Result<(), &'static str> {
    match entry {
        Entry::Elsewhere | Entry::Other(_) => return Err("it is of a kind that haft does not know"),
        Entry::WellKnown(_) => return Err("haft keeps its settings, too: `haft auth login` with its address"),
        Entry::OAuth(_) if id == "anthropic" => {
            return Err("Anthropic lets only its own programs sign in so; use an API key");
        }
        // GitHub's is good in both places for ever.
        Entry::OAuth(_) if id != "github-copilot" => {
            return Err("each new token takes the old one from the other program; sign in with `haft auth login`");
        }
        Entry::OAuth(_) | Entry::Api(_) => {}
    }
    match mine {
        Some(mine) if mine == entry => Err("it is stored already"),
        Some(_) if !force => Err("another one is stored already; --force replaces it"),
        Some(_) | None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn only_what_is_good_in_both_programs_is_taken_over() {
        let oauth = || Entry::from_json(&json!({"type": "oauth", "refresh": "r", "access": "a", "expires": 0}));
        let row = |id: &str, entry: Entry, mine: Option<Entry>, force: bool, want: bool| {
            assert_eq!(judged(id, &entry, mine.as_ref(), force).is_ok(), want, "{id} {entry:?} {mine:?} {force}");
        };
        row("groq", Entry::key("k"), None, false, true);
        row("groq", Entry::key("k"), Some(Entry::key("k")), true, false);
        row("groq", Entry::key("k"), Some(Entry::key("other")), false, false);
        row("groq", Entry::key("k"), Some(Entry::key("other")), true, true);
        row("github-copilot", oauth(), None, false, true);
        row("openai", oauth(), None, true, false);
        row("anthropic", oauth(), None, true, false);
        row(
            "https://org.example",
            Entry::from_json(&json!({"type": "wellknown", "key": "N", "token": "t"})),
            None,
            true,
            false,
        );
        row("x", Entry::from_json(&json!({"type": "passkey"})), None, true, false);
    }
}
