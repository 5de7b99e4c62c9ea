//! Skills that are listed at addresses (`skills.urls`): fetched when the person says so and never by themselves, kept, and
//! used only as long as they are what was fetched.

mod fetch;
mod index;
mod pins;
mod shelf;

use std::path::{Path, PathBuf};

use anyhow::Result;
use haft_config::{Config, SkillAddress};
use haft_net::Web;
use haft_project::Place;

use self::fetch::Got;
pub(crate) use self::pins::Change;
use self::pins::{Pin, Pins};
use self::shelf::Shelf;
use crate::folders::Folders;
use crate::own_file::OwnFile;

/// Most addresses that are looked at.
const MAX_ADDRESSES: usize = 16;

/// What was fetched, and where it is kept.
#[derive(Debug, Clone)]
pub(crate) struct Remote {
    pins: OwnFile<Pins>,
    shelf: Shelf,
}

/// What is kept of addresses.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Kept {
    /// The folders of skills.
    pub folders: Vec<PathBuf>,
    /// Why there are not more, with what to do.
    pub problems: Vec<String>,
}

/// What stands at an address now.
#[derive(Debug)]
pub(crate) struct Found {
    pin: Pin,
    got: Got,
    /// What is new, as far as something was fetched before.
    pub change: Option<Change>,
}

/// The addresses that the settings name.
///
/// # Errors
///
/// When there are more than [`MAX_ADDRESSES`].
pub(crate) fn addresses(config: &Config) -> Result<&[SkillAddress], String> {
    match config.skill_urls.len() {
        count if count > MAX_ADDRESSES => {
            Err(format!("skills.urls names {count} addresses; {MAX_ADDRESSES} is the most"))
        }
        _ => Ok(&config.skill_urls),
    }
}

impl Remote {
    pub(crate) fn of(folders: &Folders) -> Self {
        let pins = OwnFile::at(folders.data.join(pins::FILE));
        Self { pins, shelf: Shelf::at(folders.cache.join("skills")) }
    }

    /// What is kept of `addresses`, as it was fetched. Goes nowhere.
    pub(crate) fn kept(&self, addresses: &[SkillAddress]) -> Kept {
        let mut kept = Kept::default();
        if addresses.is_empty() {
            return kept;
        }
        let pins = match self.pins.read() {
            Ok(pins) => pins,
            Err(error) => {
                kept.problems.push(format!("skills of addresses are not used: {error:#}"));
                return kept;
            }
        };
        for address in addresses {
            let Some(pin) = pins.get(&address.url) else {
                let url = &address.url;
                kept.problems.push(format!("the skills at {url} were not fetched yet; `haft skill update` does that"));
                continue;
            };
            for skill in &pin.skills {
                match self.shelf.find(pin, skill) {
                    Ok(folder) => kept.folders.push(folder),
                    Err(why) => kept.problems.push(format!("{why}; `haft skill update` fetches it again")),
                }
            }
        }
        kept
    }

    /// Fetches what stands at `address` now, and keeps nothing of it. Dropping the future ends it.
    ///
    /// # Errors
    ///
    /// Why there is nothing, with what to do.
    pub(crate) async fn look(&self, address: &SkillAddress, place: &Place) -> Result<Found, String> {
        let project = place.worktree.as_ref().unwrap_or(&place.directory);
        let by_user = !Path::new(&address.origin).starts_with(project);
        let got = fetch::fetch(&Web::default(), &address.url, by_user).await;
        let got = got.map_err(|why| format!("{why}; skills.urls of {} names it", address.origin))?;
        let pin = got.pin(&address.url);
        let pins = self.pins.read().map_err(|error| format!("{error:#}"))?;
        let change = pins.get(&address.url).map(|before| pin.since(before));
        Ok(Found { pin, got, change })
    }

    /// Keeps what was found in the place of what was there before.
    ///
    /// # Errors
    ///
    /// When it cannot be written. What was there before is used on, then.
    pub(crate) fn take(&self, found: &Found) -> Result<()> {
        self.shelf.put(&found.pin, &found.got)?;
        let mut before = None;
        self.pins.change(|pins| before = pins.put(found.pin.clone()))?;
        self.shelf.sweep(&found.pin, before.as_ref());
        Ok(())
    }
}

impl Found {
    /// The skills, each with what it says of itself, how many files it has, and their bytes.
    pub(crate) fn skills(&self) -> impl Iterator<Item = (&str, Option<&str>, usize, usize)> {
        self.got.skills.iter().map(|skill| {
            let bytes = skill.files.iter().map(|(_, bytes)| bytes.len()).sum();
            (skill.name.as_str(), skill.description.as_deref(), skill.files.len(), bytes)
        })
    }

    /// What is left out, and why.
    pub(crate) fn left_out(&self) -> &[String] {
        &self.got.left_out
    }
}
