//! The store: one file, or a text that stands for it.

use std::collections::BTreeMap;
use std::fmt;
use std::fs::{File, OpenOptions, Permissions};
use std::io::{self, ErrorKind, Read};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::{Map, Value};

use crate::entry::{Entry, MAX_TEXT};
use crate::own;

/// Longest file of keys, in bytes. Settings of an organisation stand in it, too.
pub const MAX_FILE: u64 = 4 * 1024 * 1024;

/// Most entries that a file may get. A person has a handful.
pub const MAX_ENTRIES: usize = 500;

/// Most broken files that are put aside; then somebody has to look.
const MAX_ASIDE: usize = 20;

/// A keyring of the system.
pub trait Keyring: Send + Sync {
    /// The text under `id`, if there is one.
    ///
    /// # Errors
    ///
    /// Text for a person: why the keyring does not answer.
    fn get(&self, id: &str) -> Result<Option<String>, String>;

    /// Puts `text` under `id`.
    ///
    /// # Errors
    ///
    /// As [`Keyring::get`].
    fn put(&self, id: &str, text: &str) -> Result<(), String>;

    /// Forgets what is under `id`. Nothing there is no error.
    ///
    /// # Errors
    ///
    /// As [`Keyring::get`].
    fn remove(&self, id: &str) -> Result<(), String>;
}

/// Why the vault cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum VaultError {
    /// It cannot be read or written, or others have a hand in it.
    #[error("the keys cannot be used")]
    Io(#[source] io::Error),
    /// It is there, and does not say what it should. Nothing is lost.
    #[error("{} cannot be made out ({why}); mend it, or move it away and sign in again", path.display())]
    Broken {
        /// The file.
        path: PathBuf,
        /// In what it is broken; no part of what it holds.
        why: &'static str,
    },
    /// It would grow beyond what it may hold.
    #[error("the keys cannot be stored: {0}")]
    TooMuch(&'static str),
    /// The system's keyring does not do what is asked of it.
    #[error("the system's keyring: {0}; set \"auth\": {{\"store\": \"file\"}} to keep keys in a file")]
    Keyring(String),
}

/// Keys and tokens of a person.
#[derive(Clone)]
pub struct Vault {
    place: Place,
    keyring: Option<Arc<dyn Keyring>>,
    /// Whether what is new goes to the keyring.
    to_keyring: bool,
}

#[derive(Clone)]
enum Place {
    File(PathBuf),
    /// A text that stands for the file; what changes lives as long as this.
    Given(Arc<Mutex<Map<String, Value>>>),
}

/// What there is.
#[derive(Debug, Default)]
pub struct Entries {
    /// By the vendor's id, or the organisation's address.
    pub all: BTreeMap<String, Entry>,
    /// What a person should know about the file.
    pub notice: Option<String>,
}

/// Only one process does what it is for, until it is dropped.
#[derive(Debug)]
pub struct Held(#[expect(dead_code, reason = "the lock lives as long as the open file")] Option<File>);

impl fmt::Debug for Vault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.place {
            Place::File(path) => write!(f, "Vault({})", path.display()),
            Place::Given(_) => f.write_str("Vault(given)"),
        }
    }
}

/// The id as it stands in the file: without the slashes that people put behind an address.
pub fn id(id: &str) -> &str {
    id.trim_end_matches('/')
}

impl Vault {
    /// The file at `path`; neither it nor its folder need be there yet.
    pub fn at(path: PathBuf) -> Self {
        Self { place: Place::File(path), keyring: None, to_keyring: false }
    }

    /// A `text` that stands for the file. What is stored in it is forgotten with this.
    ///
    /// # Errors
    ///
    /// What is wrong with it; no part of what it holds.
    pub fn given(text: &str) -> Result<Self, &'static str> {
        let entries = Arc::new(Mutex::new(object(text)?));
        Ok(Self { place: Place::Given(entries), keyring: None, to_keyring: false })
    }

    /// The same with a `keyring`, which is looked into for entries that point to it. `store`: what is new goes there.
    #[must_use]
    pub fn with_keyring(self, keyring: Arc<dyn Keyring>, store: bool) -> Self {
        Self { keyring: Some(keyring), to_keyring: store, ..self }
    }

    /// The file; `None` where a text stands for it.
    pub fn path(&self) -> Option<&Path> {
        match &self.place {
            Place::File(path) => Some(path),
            Place::Given(_) => None,
        }
    }

    /// All entries as the file has them: those in the keyring are named and not fetched.
    ///
    /// A file that others could read is made the user's alone, and [`Entries::notice`] says so.
    ///
    /// # Errors
    ///
    /// [`VaultError::Io`] and [`VaultError::Broken`]; the file stays as it is.
    pub fn entries(&self) -> Result<Entries, VaultError> {
        let (fields, notice) = self.read()?;
        let all = fields.iter().map(|(name, value)| (id(name).to_owned(), Entry::from_json(value))).collect();
        Ok(Entries { all, notice })
    }

    /// The entry of `name`, from the keyring where it is there.
    ///
    /// # Errors
    ///
    /// Those of [`Vault::entries`], and [`VaultError::Keyring`].
    pub fn get(&self, name: &str) -> Result<Option<Entry>, VaultError> {
        let found = self.entries()?.all.remove(id(name));
        match found {
            Some(Entry::Elsewhere) => self.fetch(id(name)).map(Some),
            found => Ok(found),
        }
    }

    /// Stores `entry` under `name`, in place of what was there. Everything else stays as it is. Gives what a person should
    /// know about it: a file that could not be made out was put aside.
    ///
    /// # Errors
    ///
    /// When it cannot be written, or is larger than it may be.
    pub fn put(&self, name: &str, entry: &Entry) -> Result<Option<String>, VaultError> {
        let name = id(name);
        let short = |text: &&str| text.len() <= MAX_TEXT;
        if name.is_empty() || name.len() > 2048 || !entry.secrets().iter().all(short) {
            return Err(VaultError::TooMuch("the name or the key is empty or longer than any that is known"));
        }
        // What is in the keyring already stays there, also when it is renewed.
        let is_there = || Ok::<_, VaultError>(matches!(self.entries()?.all.get(name), Some(Entry::Elsewhere)));
        let stored = match &self.keyring {
            Some(keyring) if self.to_keyring || is_there()? => {
                keyring.put(name, &entry.to_json().to_string()).map_err(VaultError::Keyring)?;
                Entry::Elsewhere.to_json()
            }
            Some(_) | None => entry.to_json(),
        };
        self.change(|fields| {
            fields.retain(|key, _| id(key) != name || key == name);
            fields.insert(name.to_owned(), stored);
            fields.len() <= MAX_ENTRIES
        })
    }

    /// Forgets `name`; says whether there was something.
    ///
    /// # Errors
    ///
    /// Those of [`Vault::put`].
    pub fn remove(&self, name: &str) -> Result<bool, VaultError> {
        let name = id(name);
        let entries = self.entries()?;
        let Some(entry) = entries.all.get(name) else { return Ok(false) };
        if let (Entry::Elsewhere, Some(keyring)) = (entry, &self.keyring) {
            keyring.remove(name).map_err(VaultError::Keyring)?;
        }
        self.change(|fields| {
            fields.retain(|key, _| id(key) != name);
            true
        })?;
        Ok(true)
    }

    /// Lets this process alone refresh tokens, until the answer is dropped. `None` while another process does.
    ///
    /// # Errors
    ///
    /// When there are no locks where the file is.
    pub fn hold(&self) -> Result<Option<Held>, VaultError> {
        let Place::File(path) = &self.place else { return Ok(Some(Held(None))) };
        let file = beside(path, "refresh.lock").map_err(VaultError::Io)?;
        let held = own::try_lock(&file).map_err(VaultError::Io)?;
        Ok(held.then_some(Held(Some(file))))
    }

    fn fetch(&self, name: &str) -> Result<Entry, VaultError> {
        let none = || VaultError::Keyring(format!("it holds nothing for {name}, or this haft was built without it"));
        let keyring = self.keyring.as_ref().ok_or_else(none)?;
        let text = keyring.get(name).map_err(VaultError::Keyring)?.ok_or_else(none)?;
        let value: Value = serde_json::from_str(&text).map_err(|_| none())?;
        Ok(Entry::from_json(&value))
    }

    fn read(&self) -> Result<(Map<String, Value>, Option<String>), VaultError> {
        match &self.place {
            Place::File(path) => read(path, Loose::Closed),
            Place::Given(entries) => Ok((entries.lock().unwrap_or_else(PoisonError::into_inner).clone(), None)),
        }
    }

    /// Changes the entries. `change` says whether they may stay so.
    fn change(&self, change: impl FnOnce(&mut Map<String, Value>) -> bool) -> Result<Option<String>, VaultError> {
        let path = match &self.place {
            Place::File(path) => path,
            Place::Given(entries) => {
                change(&mut entries.lock().unwrap_or_else(PoisonError::into_inner));
                return Ok(None);
            }
        };
        let lock = beside(path, "lock").map_err(VaultError::Io)?;
        own::lock(&lock).map_err(VaultError::Io)?;
        let (mut fields, notice) = match read(path, Loose::Closed) {
            Err(VaultError::Broken { path, why }) => (Map::new(), Some(put_aside(&path, why)?)),
            read => read?,
        };
        if !change(&mut fields) {
            return Err(VaultError::TooMuch("there are 500 entries already; `haft auth logout` takes some away"));
        }
        let text = format!("{:#}\n", Value::Object(fields));
        if text.len() as u64 > MAX_FILE {
            return Err(VaultError::TooMuch("the file would be longer than 4 MiB"));
        }
        own::replace(path, text.as_bytes()).map_err(|error| {
            VaultError::Io(io::Error::new(error.kind(), format!("cannot write {}: {error}", path.display())))
        })?;
        Ok(notice)
    }
}

/// What a file at `path` holds that another program keeps. Nothing of it is changed.
///
/// # Errors
///
/// [`VaultError::Io`] and [`VaultError::Broken`].
pub fn look(path: &Path) -> Result<BTreeMap<String, Entry>, VaultError> {
    let (fields, _) = read(path, Loose::Left)?;
    Ok(fields.iter().map(|(name, value)| (id(name).to_owned(), Entry::from_json(value))).collect())
}

/// What becomes of a file that others can read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Loose {
    Closed,
    Left,
}

/// A file beside `path` to lock, in a folder that is made if needed.
fn beside(path: &Path, ending: &str) -> io::Result<File> {
    if let Some(folder) = path.parent() {
        own::folder(folder)?;
    }
    own::open(&path.with_extension(ending), OpenOptions::new().create(true).truncate(false).write(true))
}

/// What the file at `path` says, and what a person should know about it.
fn read(path: &Path, loose: Loose) -> Result<(Map<String, Value>, Option<String>), VaultError> {
    let file = match own::open(path, OpenOptions::new().read(true)) {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok((Map::new(), None)),
        Err(error) => return Err(VaultError::Io(error)),
    };
    let broken = |why| VaultError::Broken { path: path.to_path_buf(), why };
    let meta = file.metadata().map_err(VaultError::Io)?;
    let notice = (meta.mode() & 0o077 != 0 && loose == Loose::Closed).then(|| tighten(path, &file));
    if meta.len() > MAX_FILE {
        return Err(broken("it is longer than 4 MiB"));
    }
    let mut text = String::new();
    file.take(MAX_FILE).read_to_string(&mut text).map_err(|_| broken("it is no text"))?;
    Ok((object(&text).map_err(broken)?, notice))
}

fn object(text: &str) -> Result<Map<String, Value>, &'static str> {
    if text.trim().is_empty() {
        return Ok(Map::new());
    }
    match serde_json::from_str(text) {
        Ok(Value::Object(fields)) => Ok(fields),
        Ok(_) => Err("it is no JSON object"),
        // The parser's own words could repeat a part of a key.
        Err(_) => Err("it is no JSON"),
    }
}

/// Makes an open `file` its owner's alone, and says so.
fn tighten(path: &Path, file: &File) -> String {
    let shown = path.display();
    match file.set_permissions(Permissions::from_mode(0o600)) {
        Ok(()) => format!(
            "{shown} could be read by other users of this machine; it is yours alone now. If there are any, get new keys"
        ),
        Err(error) => format!("{shown} can be read by other users of this machine ({error}); run chmod 600 on it"),
    }
}

/// Moves a broken file to a name that is free, so that nothing in it is lost.
fn put_aside(path: &Path, why: &str) -> Result<String, VaultError> {
    let failed = |error: io::Error| VaultError::Io(error);
    for number in 1..=MAX_ASIDE {
        let aside = path.with_extension(format!("json.broken-{number}"));
        // A link to the same file takes no name from another, which a rename would.
        match std::fs::hard_link(path, &aside) {
            Ok(()) => {
                std::fs::remove_file(path).map_err(failed)?;
                let (shown, aside) = (path.display(), aside.display());
                return Ok(format!("{shown} cannot be made out ({why}); it was moved to {aside}"));
            }
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            Err(error) => return Err(failed(error)),
        }
    }
    Err(VaultError::TooMuch("there are 20 broken files beside it; look at them, and move them away"))
}

#[cfg(test)]
mod tests;
