//! `fs`: reading and changing files, through the doors of the project.

use haft_permission::{Access, Effect, Grant};
use haft_project::{FilesError, Found, IfExists, Opened, Target};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{At, CallWorld, Given, MAX_FILE, nothing, pack};
use crate::error::Refusal;

/// Most entries that a listing of a tree gives.
const MAX_LISTED: usize = 20_000;

#[derive(Deserialize)]
pub(super) struct ReadFile {
    #[serde(flatten)]
    at: At,
    #[serde(rename = "as")]
    form: Option<String>,
}

#[derive(Deserialize)]
pub(super) struct WriteFile {
    #[serde(flatten)]
    at: At,
    #[serde(flatten)]
    given: Given,
    #[serde(default)]
    flag: String,
}

#[derive(Deserialize)]
pub(super) struct List {
    #[serde(flatten)]
    at: At,
    #[serde(default)]
    recursive: bool,
}

#[derive(Deserialize)]
pub(super) struct Remove {
    #[serde(flatten)]
    at: At,
    #[serde(default)]
    recursive: bool,
    #[serde(default)]
    force: bool,
    #[serde(default)]
    folder: bool,
}

#[derive(Deserialize)]
pub(super) struct Pair {
    from: At,
    to: At,
}

#[derive(Deserialize)]
#[serde(untagged)]
pub(super) enum Both {
    Named { from: String, to: String },
    Whole(Pair),
}

#[derive(Deserialize)]
pub(super) struct Truncate {
    #[serde(flatten)]
    at: At,
    #[serde(default)]
    length: usize,
}

impl Both {
    fn names(self) -> (String, String) {
        match self {
            Both::Named { from, to } => (from, to),
            Both::Whole(Pair { from, to }) => (from.name(), to.name()),
        }
    }
}

impl CallWorld<'_> {
    pub(super) async fn read_file(&self, ReadFile { at, form }: ReadFile) -> Result<Value, Refusal> {
        let target = self.existing(&at.name(), "open").await?;
        let bytes = self.bytes(&target).await?;
        if form.as_deref() == Some("text") {
            return Ok(json!({ "text": String::from_utf8_lossy(&bytes) }));
        }
        Ok(json!({ "base64": pack(&bytes) }))
    }

    pub(super) async fn write_file(&self, WriteFile { at, given, flag }: WriteFile) -> Result<Value, Refusal> {
        let target = self.reach(&at.name()).await?;
        let mut bytes = given.bytes()?;
        let grant = self.change(&[&target]).await?;
        let if_exists = match flag.as_str() {
            "wx" | "ax" => IfExists::Fail,
            "a" | "as" if target.found() == Found::File => {
                let old =
                    self.doors.files.read(&grant, &target, MAX_FILE).await.map_err(|error| refusal(&error, "open"))?;
                bytes = [old.clone(), bytes].concat();
                IfExists::ReplaceOnly(old)
            }
            _ => IfExists::Replace,
        };
        self.write(&grant, &target, bytes, if_exists).await
    }

    pub(super) async fn stat(&self, at: At) -> Result<Value, Refusal> {
        let target = self.existing(&at.name(), "stat").await?;
        if target.found() == Found::Folder {
            return Ok(json!({ "kind": "folder", "size": 0, "mtimeMs": 0, "mode": 0o40755 }));
        }
        let grant = self.look(&target).await?;
        let stamp = self.doors.files.stamp(&grant, &target).await.map_err(|error| refusal(&error, "stat"))?;
        let modified = stamp.modified as f64 / 1e6;
        Ok(json!({ "kind": "file", "size": stamp.size, "mtimeMs": modified, "mode": 0o100644 }))
    }

    pub(super) async fn list(&self, List { at, recursive }: List) -> Result<Value, Refusal> {
        let top = self.existing(&at.name(), "scandir").await?;
        if top.found() != Found::Folder {
            return Err(Refusal::coded("ENOTDIR", format!("ENOTDIR: not a directory, scandir '{}'", at.name())));
        }
        let grant = self.look(&top).await?;
        let mut entries = Vec::new();
        let mut open = vec![(top, String::new())];
        while let Some((folder, below)) = open.pop() {
            let listed = self.doors.files.open(&grant, &folder).await;
            let Opened::Folder(listing) = listed.map_err(|error| refusal(&error, "scandir"))? else { continue };
            for entry in listing.entries {
                let name = format!("{below}{}", entry.name);
                if entries.len() >= MAX_LISTED {
                    return Err(Refusal::new(format!(
                        "{} has more than {MAX_LISTED} entries; list less of it",
                        at.name()
                    )));
                }
                if recursive && entry.folder {
                    // A link may lead elsewhere: what is in there is for a question of its own.
                    if let Ok(next) = self.reach(&folder.path().join(&entry.name).display().to_string()).await
                        && !next.by_link()
                    {
                        open.push((next, format!("{name}/")));
                    }
                }
                entries.push(json!({ "name": name, "folder": entry.folder }));
            }
        }
        Ok(entries.into())
    }

    pub(super) async fn make_folder(&self, List { at, recursive }: List) -> Result<Value, Refusal> {
        let target = self.reach(&at.name()).await?;
        if target.found() == Found::Folder {
            let there = || Refusal::coded("EEXIST", format!("EEXIST: file already exists, mkdir '{}'", at.name()));
            return if recursive { Ok(nothing()) } else { Err(there()) };
        }
        let grant = self.change(&[&target]).await?;
        let made = self.doors.files.make_folder(&grant, &target).await;
        made.map(|()| at.name().into()).map_err(|error| refusal(&error, "mkdir"))
    }

    pub(super) async fn remove(&self, Remove { at, recursive, force, folder }: Remove) -> Result<Value, Refusal> {
        let target = match self.existing(&at.name(), "rm").await {
            Err(error) if force && error.code.as_deref() == Some("ENOENT") => return Ok(nothing()),
            found => found?,
        };
        if target.by_link() {
            return Err(Refusal::coded("EACCES", format!("{} is a link; scripts do not remove links", at.name())));
        }
        if target.found() != Found::Folder {
            let grant = self.change(&[&target]).await?;
            let removed = self.doors.files.remove(&grant, &target).await;
            return removed.map(|()| nothing()).map_err(|error| refusal(&error, "unlink"));
        }
        if !recursive && !folder {
            return Err(Refusal::coded(
                "ERR_FS_EISDIR",
                format!("{} is a folder; say recursive to remove it", at.name()),
            ));
        }
        let inside = if recursive { self.tree(&target).await? } else { Vec::new() };
        let mut all: Vec<&Target> = inside.iter().collect();
        all.push(&target);
        let grant = self.change(&all).await?;
        for one in all {
            let removed = match one.found() {
                Found::Folder => self.doors.files.remove_folder(&grant, one).await,
                Found::File | Found::Nothing => self.doors.files.remove(&grant, one).await,
            };
            removed.map_err(|error| refusal(&error, "rm"))?;
        }
        Ok(nothing())
    }

    pub(super) async fn rename(&self, both: Both) -> Result<Value, Refusal> {
        let (from, to) = both.names();
        let (from, to) = (self.existing(&from, "rename").await?, self.reach(&to).await?);
        if from.found() == Found::Folder {
            return Err(Refusal::coded("EISDIR", "scripts rename files alone; make the folder and move what is in it"));
        }
        let grant = self.change(&[&from, &to]).await?;
        let read = self.doors.files.read(&grant, &from, MAX_FILE).await;
        let bytes = read.map_err(|error| refusal(&error, "rename"))?;
        self.write(&grant, &to, bytes, IfExists::Replace).await?;
        let removed = self.doors.files.remove(&grant, &from).await;
        removed.map(|()| nothing()).map_err(|error| refusal(&error, "rename"))
    }

    pub(super) async fn copy(&self, both: Both) -> Result<Value, Refusal> {
        let (from, to) = both.names();
        let (from, to) = (self.existing(&from, "copyfile").await?, self.reach(&to).await?);
        if from.found() == Found::Folder {
            return Err(Refusal::coded("EISDIR", "scripts copy files alone; make the folder and copy what is in it"));
        }
        let bytes = self.bytes(&from).await?;
        let grant = self.change(&[&to]).await?;
        self.write(&grant, &to, bytes, IfExists::Replace).await
    }

    pub(super) async fn truncate(&self, Truncate { at, length }: Truncate) -> Result<Value, Refusal> {
        let target = self.existing(&at.name(), "open").await?;
        let grant = self.change(&[&target]).await?;
        let read = self.doors.files.read(&grant, &target, MAX_FILE).await;
        let mut bytes = read.map_err(|error| refusal(&error, "open"))?;
        bytes.truncate(length);
        self.write(&grant, &target, bytes, IfExists::Replace).await
    }

    pub(super) async fn real(&self, at: At) -> Result<Value, Refusal> {
        let target = self.existing(&at.name(), "realpath").await?;
        Ok(target.path().display().to_string().into())
    }

    /// Where something leads that must be there.
    async fn existing(&self, name: &str, doing: &str) -> Result<Target, Refusal> {
        let target = self.reach(name).await?;
        if target.found() == Found::Nothing {
            let text = format!("ENOENT: no such file or directory, {doing} '{name}'");
            return Err(Refusal::coded("ENOENT", text));
        }
        Ok(target)
    }

    /// Leave to look into it.
    async fn look(&self, target: &Target) -> Result<Grant, Refusal> {
        let access = Access::new("read", target.title()).with(Effect::Read(target.path().to_owned()));
        self.granted(access.show("filepath", target.path().display().to_string())).await
    }

    /// Leave to change all of them.
    async fn change(&self, targets: &[&Target]) -> Result<Grant, Refusal> {
        let mut access = Access::new("edit", "");
        access.patterns = targets.iter().map(|target| target.title().to_owned()).collect();
        access.effects = targets.iter().map(|target| Effect::Write(target.path().to_owned())).collect();
        let shown: Vec<String> = targets.iter().take(100).map(|target| target.path().display().to_string()).collect();
        self.granted(access.show("filepath", shown.join(", "))).await
    }

    async fn bytes(&self, target: &Target) -> Result<Vec<u8>, Refusal> {
        let grant = self.look(target).await?;
        self.doors.files.read(&grant, target, MAX_FILE).await.map_err(|error| refusal(&error, "open"))
    }

    async fn write(
        &self,
        grant: &Grant,
        target: &Target,
        bytes: Vec<u8>,
        if_exists: IfExists,
    ) -> Result<Value, Refusal> {
        let _turn = self.doors.files.lock(target).await;
        let written = self.doors.files.write(grant, target, bytes, if_exists).await;
        let stamp = written.map_err(|error| refusal(&error, "open"))?;
        // The model did not see it, so what it knows of the file is old.
        let _ = stamp;
        Ok(nothing())
    }

    /// All below a folder, the innermost first.
    async fn tree(&self, top: &Target) -> Result<Vec<Target>, Refusal> {
        let grant = self.look(top).await?;
        let mut found = Vec::new();
        let mut open = vec![top.clone()];
        while let Some(folder) = open.pop() {
            let listed = self.doors.files.open(&grant, &folder).await;
            let Opened::Folder(listing) = listed.map_err(|error| refusal(&error, "rm"))? else { continue };
            for entry in listing.entries {
                let next = self.reach(&folder.path().join(&entry.name).display().to_string()).await?;
                if next.by_link() || found.len() >= MAX_LISTED {
                    let text =
                        format!("{} has a link or too much in it; remove it with a command", top.path().display());
                    return Err(Refusal::new(text));
                }
                if next.found() == Found::Folder {
                    open.push(next.clone());
                }
                found.push(next);
            }
        }
        found.reverse();
        Ok(found)
    }
}

/// An error of a door, as Node would call it.
fn refusal(error: &FilesError, doing: &str) -> Refusal {
    let (code, words) = match error {
        FilesError::Missing { .. } => ("ENOENT", "no such file or directory"),
        FilesError::Folder { .. } => ("EISDIR", "illegal operation on a directory"),
        FilesError::NotAFolder { .. } => ("ENOTDIR", "not a directory"),
        FilesError::Exists { .. } => ("EEXIST", "file already exists"),
        FilesError::NotGranted { .. } => ("EACCES", "permission denied"),
        other => return Refusal::coded("EIO", format!("{doing}: {}", haft_tool::with_causes(other))),
    };
    Refusal::coded(code, format!("{code}: {words}, {doing}: {error}"))
}
