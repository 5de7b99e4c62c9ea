//! What servers had when they were last asked, so that nobody waits for them at the start.

use std::fs::OpenOptions;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use haft_vault::own;
use serde::{Deserialize, Serialize};

use super::definition::Definition;

/// How long it counts what a server had.
pub const MAX_AGE: Duration = Duration::from_secs(7 * 24 * 60 * 60);
/// Longest file, in bytes.
const MAX_FILE: u64 = 16 * 1024 * 1024;
/// Most files that are kept; the oldest go first.
pub const MAX_FILES: usize = 100;
/// Changes with what is in a file.
const VERSION: u64 = 2;

/// What a server has, as far as it is told before the first call.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Catalogue {
    /// Its tools, in its order.
    pub tools: Vec<Definition>,
    /// What it says about how to use it, within bounds.
    pub instructions: Option<String>,
    /// Its prompts.
    pub prompts: Vec<Prompt>,
    /// Its resources, as many as are kept; `None` where it has none to give.
    pub resources: Option<Vec<Resource>>,
}

/// A resource of a server.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Resource {
    /// Its address.
    pub uri: String,
    /// What it is, in a line.
    pub about: String,
}

/// A prompt of a server.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Prompt {
    /// What the command for it is called.
    pub name: String,
    /// What the server calls it.
    pub prompt: String,
    /// What it is for.
    pub description: String,
    /// The names of its arguments, in their order.
    pub arguments: Vec<String>,
}

#[derive(Serialize, Deserialize)]
struct Kept {
    version: u64,
    catalogue: Catalogue,
}

/// The folder of what servers had.
#[derive(Debug, Clone)]
pub struct Cache {
    folder: PathBuf,
}

impl Cache {
    /// In `folder`, which need not be there.
    pub fn in_folder(folder: PathBuf) -> Self {
        Self { folder }
    }

    /// What the server that is where `identity` says had, if that still counts.
    pub fn get(&self, identity: &str) -> Option<Catalogue> {
        let file = own::open(&self.path(identity), OpenOptions::new().read(true)).ok()?;
        let meta = file.metadata().ok()?;
        let age = SystemTime::now().duration_since(meta.modified().ok()?).unwrap_or_default();
        if age > MAX_AGE || meta.len() > MAX_FILE {
            return None;
        }
        let mut text = String::new();
        file.take(MAX_FILE).read_to_string(&mut text).ok()?;
        let kept: Kept = serde_json::from_str(&text).ok()?;
        (kept.version == VERSION).then_some(kept.catalogue)
    }

    /// Keeps what it has. What cannot be kept is asked for again.
    pub fn put(&self, identity: &str, catalogue: &Catalogue) {
        let kept = Kept { version: VERSION, catalogue: catalogue.clone() };
        let write = || -> std::io::Result<()> {
            own::folder(&self.folder)?;
            own::replace(&self.path(identity), &serde_json::to_vec(&kept)?)
        };
        if let Err(error) = write() {
            tracing::warn!(%error, "what a server has cannot be kept");
        }
        sweep(&self.folder);
    }

    /// Forgets it.
    pub fn forget(&self, identity: &str) {
        // One that is not there is forgotten already.
        let _ = std::fs::remove_file(self.path(identity));
    }

    fn path(&self, identity: &str) -> PathBuf {
        self.folder.join(format!("{identity}.json"))
    }
}

/// Removes the oldest files beyond [`MAX_FILES`].
fn sweep(folder: &Path) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    let mut files: Vec<(SystemTime, PathBuf)> =
        entries.flatten().filter_map(|entry| Some((entry.metadata().ok()?.modified().ok()?, entry.path()))).collect();
    files.sort();
    let beyond = files.len().saturating_sub(MAX_FILES);
    for (_, path) in files.into_iter().take(beyond) {
        let _ = std::fs::remove_file(path);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn catalogue(name: &str) -> Catalogue {
        let tool = Definition::of("s", &json!({"name": name, "description": "d", "inputSchema": {"b": 1, "a": 2}}));
        let prompt =
            Prompt { name: "s:p".into(), prompt: "p".into(), description: String::new(), arguments: vec!["x".into()] };
        let resources = Some(vec![Resource { uri: "x://a".into(), about: "A".into() }]);
        Catalogue { tools: vec![tool.unwrap()], instructions: Some("i".into()), prompts: vec![prompt], resources }
    }

    #[test]
    fn what_was_kept_comes_back_as_it_was() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::in_folder(folder.path().join("mcp"));
        assert_eq!(cache.get("one"), None);
        cache.put("one", &catalogue("t"));
        assert_eq!(cache.get("one"), Some(catalogue("t")));
        assert_eq!(cache.get("other"), None);
        cache.forget("one");
        assert_eq!(cache.get("one"), None);
    }

    #[test]
    fn what_is_old_broken_or_of_another_haft_does_not_count() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::in_folder(folder.path().to_owned());
        cache.put("old", &catalogue("t"));
        let file = std::fs::File::options().write(true).open(cache.path("old")).unwrap();
        file.set_modified(SystemTime::now() - MAX_AGE - Duration::from_secs(60)).unwrap();
        assert_eq!(cache.get("old"), None);
        own::replace(&cache.path("broken"), b"{").unwrap();
        assert_eq!(cache.get("broken"), None);
        let other = json!({"version": VERSION + 1, "catalogue": Catalogue::default()}).to_string();
        own::replace(&cache.path("new"), other.as_bytes()).unwrap();
        assert_eq!(cache.get("new"), None);
    }

    #[test]
    fn not_more_is_kept_than_may_be() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::in_folder(folder.path().to_owned());
        for at in 0..MAX_FILES + 5 {
            cache.put(&at.to_string(), &Catalogue::default());
        }
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), MAX_FILES);
    }
}
