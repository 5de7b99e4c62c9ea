//! `haft auth logout`: what is stored for a vendor is forgotten.

use anyhow::Result;
use haft_vault::Entry;

use super::person::{Choosable, Person};
use crate::folders::Folders;
use crate::keys;
use crate::render::{self, spelled};
use crate::report::{Exit, Usage};

pub(super) async fn run(vendor: Option<String>) -> Result<Exit> {
    let folders = Folders::find()?;
    if let Some((name, _)) = keys::given() {
        return Err(Usage(format!("{name} stands for the stored keys; take the key out of it")).into());
    }
    let vault = keys::vault(&folders)?;
    let mut stored = vault.entries()?.all;
    if stored.is_empty() {
        return Err(Usage("nothing is stored that could be forgotten".to_owned()).into());
    }
    let vendor = match vendor {
        Some(vendor) => haft_vault::id(&vendor).to_owned(),
        None => {
            let ids: Vec<String> = stored.keys().cloned().collect();
            let mut person = Person::find()?;
            person.must_be_there("choose", &format!("name one of {}", ids.join(", ")))?;
            let options: Vec<_> = ids.iter().map(|id| Choosable { id: id.clone(), label: id.clone() }).collect();
            ids[person.choose("Forget what is stored for which?", &options).await?].clone()
        }
    };
    let Some(entry) = stored.remove(&vendor) else {
        let ids: Vec<String> = stored.into_keys().collect();
        return Err(Usage(format!("nothing is stored for {vendor:?}; there is {}", ids.join(", "))).into());
    };
    vault.remove(&vendor)?;
    render::complain(&spelled(&format!("what was stored for {vendor} is forgotten{}", elsewhere(&vendor, &entry))));
    Ok(Exit::Done)
}

/// Where the leave itself is taken back, which forgetting does not do.
fn elsewhere(vendor: &str, entry: &Entry) -> &'static str {
    match (vendor, entry) {
        ("github-copilot", Entry::OAuth(_)) => {
            "; the leave itself is taken back at https://github.com/settings/applications"
        }
        ("openai", Entry::OAuth(_)) => "; the leave itself is taken back in ChatGPT's settings, under security",
        (_, Entry::OAuth(_)) => "; the leave itself is taken back at the vendor",
        (_, Entry::Api(_) | Entry::WellKnown(_) | Entry::Elsewhere | Entry::Other(_)) => "",
    }
}
