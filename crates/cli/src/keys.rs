//! The keys that are kept for this user, and what follows from them for a run.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use anyhow::{Context as _, Result};
use haft_llm::auth::{Context, Credential, Places, credential};
use haft_vault::{Entry, Vault, WellKnown};

use crate::folders::Folders;
use crate::render;
use crate::report::Usage;

/// The file, in the folder of data.
pub(crate) const FILE: &str = "auth.json";

/// The field of what is stored that names the plug-in whose sign-in stored it.
pub(crate) const PLUGIN: &str = "plugin";

/// The variables whose text stands for the file, the first one that is set.
pub(crate) const GIVEN: [&str; 2] = ["HAFT_AUTH_CONTENT", "OPENCODE_AUTH_CONTENT"];

/// Shortest stored secret by which a variable is known to hold it, too. A shorter one stands in much that is none.
const MIN_SECRET: usize = 8;

/// The keys of this user.
pub(crate) struct Keys {
    /// `None` where there is none that can be used.
    vault: Option<Vault>,
    entries: BTreeMap<String, Entry>,
    /// Those that were asked for: whoever asks again gets the same, with the tokens that were got meanwhile.
    made: Mutex<BTreeMap<String, Option<Credential>>>,
}

/// Opens the keys: the text of a variable, else the file.
///
/// # Errors
///
/// When the variable's text is none. The error repeats nothing of it.
pub(crate) fn vault(folders: &Folders) -> Result<Vault> {
    match given() {
        Some((name, text)) => Vault::given(&text).map_err(|why| anyhow::anyhow!("{name} cannot be made out: {why}")),
        None => Ok(ring(Vault::at(folders.data.join(FILE)), false)),
    }
}

/// The same for storing what is new, in the place that the settings name.
///
/// # Errors
///
/// [`Usage`] when they name the keyring, and this program was built without it.
pub(crate) fn storing(vault: Vault, config: &haft_config::Config) -> Result<Vault> {
    match (config.keys_in_keyring, cfg!(feature = "keyring")) {
        (false, _) => Ok(vault),
        (true, true) => Ok(ring(vault, true)),
        (true, false) => {
            let text = "\"auth\": {\"store\": \"keyring\"} wants a haft that is built with it (cargo install --features keyring); \
                        take the setting out to keep keys in a file";
            Err(Usage(text.to_owned()).into())
        }
    }
}

#[cfg(feature = "keyring")]
fn ring(vault: Vault, store: bool) -> Vault {
    vault.with_keyring(std::sync::Arc::new(crate::keyring::System), store)
}

#[cfg(not(feature = "keyring"))]
fn ring(vault: Vault, _store: bool) -> Vault {
    vault
}

/// The variable that stands for the file, and its text.
pub(crate) fn given() -> Option<(&'static str, String)> {
    GIVEN.into_iter().find_map(|name| Some((name, std::env::var(name).ok().filter(|text| !text.is_empty())?)))
}

/// What signing in needs of the world.
///
/// # Errors
///
/// When a variable names a server in the place of others that is not on this machine.
pub(crate) fn context() -> Result<Context> {
    let variable = std::env::var(Places::VARIABLE).ok();
    Ok(Context::new(Places::from_variable(variable.as_deref())?)?)
}

/// The keys as they were when they were first asked for. What is wrong with them is told once, and they do not count.
pub(crate) fn keys() -> &'static Keys {
    let mut kept = lock();
    // Whoever reads them holds them until the program ends; a person signs in a few times at most while it runs.
    kept.get_or_insert_with(|| {
        let opened = Keys::open().unwrap_or_else(|error| {
            render::complain(&format!("warning: {error:#}"));
            Keys { vault: None, entries: BTreeMap::new(), made: Mutex::default() }
        });
        Box::leak(Box::new(opened))
    })
}

/// Lets the next one who asks read the keys again: somebody signed in.
pub(crate) fn read_again() {
    *lock() = None;
}

fn lock() -> MutexGuard<'static, Option<&'static Keys>> {
    static KEYS: Mutex<Option<&'static Keys>> = Mutex::new(None);
    // Each use leaves it whole, so a panic elsewhere does no harm to it.
    KEYS.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Keys {
    fn open() -> Result<Self> {
        let vault = vault(&Folders::find()?)?;
        let found = vault.entries().context("no stored key is used")?;
        if let Some(notice) = found.notice {
            render::complain(&format!("warning: {notice}"));
        }
        Ok(Self { vault: Some(vault), entries: found.all, made: Mutex::default() })
    }

    /// What is stored for `vendor`, as the key of a request. What cannot be used is told of once.
    pub(crate) fn credential(&self, vendor: &str) -> Option<Credential> {
        let (entry, vault) = (self.entries.get(vendor)?, self.vault.as_ref()?);
        let mut made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        let make = || {
            let made = context().and_then(|context| Ok(credential(vendor, entry, vault, &context)?));
            made.unwrap_or_else(|error| {
                render::complain(&format!("warning: {error:#}"));
                None
            })
        };
        made.entry(vendor.to_owned()).or_insert_with(make).clone()
    }

    /// What the sign-in of the plug-in called `plugin` stored for `vendor`. What came otherwise is none of its business.
    pub(crate) fn by_plugin(&self, vendor: &str, plugin: &str) -> Option<Entry> {
        let entry = match self.entries.get(vendor)? {
            Entry::Elsewhere => self.vault.as_ref()?.get(vendor).ok()??,
            entry => entry.clone(),
        };
        let more = match &entry {
            Entry::Api(api) => &api.more,
            Entry::OAuth(oauth) => &oauth.more,
            Entry::WellKnown(_) | Entry::Elsewhere | Entry::Other(_) => return None,
        };
        (more.get(PLUGIN).and_then(serde_json::Value::as_str) == Some(plugin)).then_some(entry)
    }

    fn organisations(&self) -> impl Iterator<Item = (&str, &WellKnown)> {
        self.entries.iter().filter_map(|(url, entry)| match entry {
            Entry::WellKnown(known) => Some((url.as_str(), known)),
            Entry::Api(_) | Entry::OAuth(_) | Entry::Elsewhere | Entry::Other(_) => None,
        })
    }

    /// The variables of organisations, and their tokens. What the environment itself says counts more.
    pub(crate) fn variables(&self) -> impl Iterator<Item = (&str, &str)> {
        let known = self.organisations().map(|(_, known)| (known.key.as_str(), known.token.as_str()));
        known.filter(|(name, token)| haft_llm::auth::organisation::is_variable(name) && !token.is_empty())
    }

    /// All secrets that are stored.
    pub(crate) fn secrets(&self) -> impl Iterator<Item = &str> {
        self.entries.values().flat_map(Entry::secrets)
    }

    /// The settings of organisations: where each came from, and its text.
    pub(crate) fn settings(&self) -> Vec<(String, String)> {
        let all =
            self.organisations().filter_map(|(url, known)| Some((url.to_owned(), known.config.as_ref()?.to_string())));
        all.collect()
    }

    /// Names of variables that hold a key: those that stand for the file, those of organisations, and those of
    /// `environment` in which something stored stands.
    pub(crate) fn names<'a>(&self, environment: impl Iterator<Item = (&'a str, &'a str)>) -> Vec<String> {
        let secrets: Vec<&str> =
            self.entries.values().flat_map(Entry::secrets).filter(|text| text.len() >= MIN_SECRET).collect();
        let holds = environment.filter(|(_, value)| secrets.iter().any(|secret| value.contains(secret)));
        let held = holds.map(|(name, _)| name.to_owned());
        let fixed = GIVEN.into_iter().chain([haft_llm::auth::sap::VARIABLE]).map(str::to_owned);
        fixed.chain(self.variables().map(|(name, _)| name.to_owned())).chain(held).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn keys(entries: serde_json::Value) -> Keys {
        let vault = Vault::given(&entries.to_string()).unwrap();
        let entries = vault.entries().unwrap().all;
        Keys { vault: Some(vault), entries, made: Mutex::default() }
    }

    #[test]
    fn what_is_stored_has_its_place_in_a_run() {
        let keys = keys(json!({
            "anthropic": {"type": "api", "key": "sk-stored-key"},
            "https://org.example": {"type": "wellknown", "key": "ORG_TOKEN", "token": "org-token", "config": {"model": "a/b"}},
            "https://odd.example": {"type": "wellknown", "key": "LD_PRELOAD", "token": "x"},
            "later": {"type": "passkey"}
        }));
        assert_eq!(keys.variables().collect::<Vec<_>>(), [("ORG_TOKEN", "org-token")]);
        assert_eq!(keys.settings(), [("https://org.example".to_owned(), r#"{"model":"a/b"}"#.to_owned())]);
        assert!(keys.credential("anthropic").is_some() && keys.credential("later").is_none());
        let environment = [("A", "x sk-stored-key"), ("B", "other"), ("C", "org-token"), ("D", "x")];
        let names = keys.names(environment.into_iter());
        assert_eq!(names, ["HAFT_AUTH_CONTENT", "OPENCODE_AUTH_CONTENT", "AICORE_SERVICE_KEY", "ORG_TOKEN", "A", "C"]);
    }
}
