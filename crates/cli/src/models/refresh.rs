//! A newer list of models, from an address that the user named.

use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use anyhow::{Context, Result};
use haft_config::Config;
use haft_llm::catalogue::{Catalogue, Change, changes, fetch};

use super::world::{catalogue, fetched};
use crate::folders::{self, Folders};
use crate::report::Usage;

/// Most names that one line of a message has.
const MOST: usize = 5;

/// Fetches the list of models from the configured address, looks whether it is one, and keeps it. What is broken leaves
/// everything as it was.
///
/// # Errors
///
/// When no address is configured, nobody answers there, or what is answered is no list of models.
pub(crate) async fn refresh(config: &Config, folders: &Folders) -> Result<String> {
    if config.flags.no_models_fetch {
        return Err(
            Usage("HAFT_DISABLE_MODELS_FETCH is set; without it the list of models can be fetched".to_owned()).into()
        );
    }
    let address = config.flags.models_url.as_deref().or(config.catalogue_url.as_deref()).ok_or_else(|| {
        let example = "\"catalogue\": {\"url\": \"https://models.dev\"}";
        Usage(format!("no address is configured; say {example} in haft.json, or set HAFT_MODELS_URL"))
    })?;
    let told = "the list of models stays as it was";
    let published = fetch(address).await.with_context(|| told.to_owned())?;
    let packed =
        Catalogue::pack(&published).with_context(|| format!("{told}: {address} answers with something else"))?;
    let new = Catalogue::open(packed.clone().into()).with_context(|| told.to_owned())?;
    let change = changes(catalogue(), &new);
    folders::make(&folders.cache)?;
    write(&fetched(folders), &packed)?;
    let older = new.newest() < Catalogue::built_in().newest();
    Ok(words(&change, &new, older))
}

/// Whole or not at all, for this user alone.
fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    let new = path.with_extension(format!("pack.{}", std::process::id()));
    let written = (|| {
        match std::fs::remove_file(&new) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error),
            Ok(()) | Err(_) => {}
        }
        let mut file = std::fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&new)?;
        file.write_all(bytes)?;
        file.sync_all()?;
        std::fs::rename(&new, path)
    })();
    written.with_context(|| format!("cannot write {}", path.display()))
}

/// What changed, for a person.
fn words(change: &Change, new: &Catalogue, older: bool) -> String {
    let models: usize = new.vendors().iter().map(|vendor| vendor.count).sum();
    let vendors = new.vendors().iter().filter(|vendor| vendor.count > 0).count();
    let mut lines = vec![format!("{models} models of {vendors} vendors")];
    let mut line = |names: &[String], what: &str| match names {
        [] => {}
        names => {
            let more = names.len().saturating_sub(MOST);
            let more = if more > 0 { format!(" and {more} more") } else { String::new() };
            let first = names.iter().take(MOST).cloned().collect::<Vec<_>>().join(", ");
            lines.push(format!("  {what}: {first}{more}"));
        }
    };
    line(&change.new_vendors, "new vendors");
    line(&change.lost_vendors, "vendors that are gone");
    line(&change.new, "new models");
    line(&change.lost, "models that are gone");
    line(&change.prices, "other prices");
    if change.other > 0 {
        lines.push(format!("  otherwise changed: {}", change.other));
    }
    if lines.len() == 1 {
        lines.push("  nothing has changed".to_owned());
    }
    if older {
        lines.push("  it is older than the list in this haft, which is used instead".to_owned());
    }
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_changed_is_told_in_few_words() {
        let names = |count: usize| (0..count).map(|at| format!("v/m{at}")).collect::<Vec<_>>();
        let list = r#"{"v": {"npm": "x", "models": {"a": {"id": "a"}, "b": {"id": "b"}}}}"#;
        let new = Catalogue::open(Catalogue::pack(list.as_bytes()).unwrap().into()).unwrap();
        let change = Change { new: names(7), prices: names(1), other: 3, ..Change::default() };
        let want = "2 models of 1 vendors\n  new models: v/m0, v/m1, v/m2, v/m3, v/m4 and 2 more\n  other prices: v/m0\n  \
                    otherwise changed: 3";
        assert_eq!(words(&change, &new, false), want);
        assert!(
            words(&Change::default(), &new, true)
                .ends_with("nothing has changed\n  it is older than the list in this haft, which is used instead")
        );
    }
}
