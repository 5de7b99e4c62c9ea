//! How to work here, as the project and its user wrote it down: which files say so, and what they say.
//!
//! They are read when a turn begins, and again only where one changed, so the system prompt stays the same bytes.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use futures::future::{BoxFuture, join_all};
use globset::{GlobBuilder, GlobMatcher};
use haft_permission::{Access, Asker, Done, Effect, Gate, Grant};
use haft_project::{Files, Located, Opened, Place, Target};
use haft_tool::{Marks, Stamp};

/// Names of instruction files, best first. All files of the first name that is found are taken, and none of the
/// others.
const NAMES: [&str; 3] = ["AGENTS.md", "CLAUDE.md", "CONTEXT.md"];
/// Most files that are told.
const MAX_FILES: usize = 32;
/// Most bytes of one file; what is behind them is left out, and said to be.
const MAX_BYTES: usize = 48 * 1024;
/// Most bytes of all files together.
const MAX_ALL: usize = 192 * 1024;
/// Most addresses that are read.
const MAX_PAGES: usize = 8;
/// Most names that are looked at for the patterns of one session.
const MAX_LOOKED: usize = 10_000;

/// Where instructions are looked for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct InstructionFiles {
    /// The user's own files, absolute, best first. The first one that is there is told.
    pub global: Vec<PathBuf>,
    /// Further files that settings name.
    pub named: Vec<Named>,
    /// Whether those of the project itself are left out.
    pub without_project: bool,
    /// Whether `CLAUDE.md` is no instruction file.
    pub without_claude: bool,
    /// The user's home, which `~` means.
    pub home: Option<PathBuf>,
}

/// Files that a setting names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Named {
    /// A path or a pattern (`*`, `?`, `**`, `{a,b}`): absolute, below `~/`, or looked for in the working folder and
    /// those above it up to the top of the work tree. Or an address (`https://…`), which is read through
    /// [`Options::pages`](crate::Options).
    pub pattern: String,
    /// Whether the user wrote it. A project's own settings open nothing outside the project.
    pub by_user: bool,
}

/// The instructions as they were last read.
#[derive(Debug, Default)]
pub(crate) struct Instructions {
    read: BTreeMap<PathBuf, Read>,
    /// In the order they are told.
    told: Vec<PathBuf>,
    /// What the addresses say that settings name. They are read once: `None` until then.
    pages: Option<Vec<(String, String)>>,
}

/// Reads what addresses say.
pub trait Pages: Send + Sync {
    /// The text at `url`, of at most `limit` bytes. `by_user`: the user wrote the address, so it may lead anywhere;
    /// otherwise to the public internet alone. Takes seconds at most; dropping the future ends it.
    ///
    /// # Errors
    ///
    /// A text for people that says why there is none.
    fn read<'a>(&'a self, url: &'a str, by_user: bool, limit: usize) -> BoxFuture<'a, Result<String, String>>;
}

#[derive(Debug, Clone)]
struct Read {
    stamp: Stamp,
    /// `None`: it cannot be read, which was said once.
    text: Option<String>,
}

/// A file that may be told.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Candidate {
    path: PathBuf,
    stamp: Stamp,
    /// Whether it may lie outside the project.
    outside: bool,
}

impl Instructions {
    /// Looks which files there are now and reads those that changed. Returns whether anything did.
    pub(crate) async fn refresh(
        &mut self,
        wanted: &InstructionFiles,
        pages: Option<&dyn Pages>,
        place: &Place,
        gate: &Gate,
        asker: &Asker,
    ) -> bool {
        let (looked, here) = (wanted.clone(), place.clone());
        let found = tokio::task::spawn_blocking(move || find(&looked, &here));
        // A crash while looking is as good as finding nothing new.
        let Ok(found) = found.await else { return false };
        let files = Files::new(place.directory.clone(), place.worktree.clone());
        let mut read = BTreeMap::new();
        let mut told = Vec::new();
        let mut changed = false;
        let mut room = MAX_ALL;
        for candidate in found {
            let Candidate { path, stamp, .. } = &candidate;
            let known = self.read.get(path).filter(|known| known.stamp == *stamp).cloned();
            let now = match known {
                Some(known) => known,
                None => {
                    changed = true;
                    let text = text(&files, gate, asker, &candidate).await;
                    if let Err(why) = &text {
                        tracing::warn!(path = %path.display(), why, "an instruction file is left out");
                    }
                    Read { stamp: *stamp, text: text.ok() }
                }
            };
            let size = now.text.as_ref().map_or(0, String::len);
            read.insert(path.clone(), now);
            if size > room {
                tracing::warn!(path = %path.display(), "an instruction file is left out: there are too many");
                continue;
            }
            room -= size;
            told.push(path.clone());
        }
        changed |= told != self.told;
        (self.read, self.told) = (read, told);
        if self.pages.is_none() {
            let pages = fetched(wanted, pages, gate, asker, room).await;
            changed |= !pages.is_empty();
            self.pages = Some(pages);
        }
        changed
    }

    /// The words for the system prompt; empty when there are none. The files they are from count as told.
    pub(crate) fn text(&self, marks: &Marks) -> String {
        let mut all = String::new();
        for path in &self.told {
            let Some(text) = self.read.get(path).and_then(|read| read.text.as_deref()) else { continue };
            marks.tell(path, None);
            all.push_str(&format!("\n\nInstructions from: {}\n{}", path.display(), text.trim()));
        }
        for (url, text) in self.pages.iter().flatten() {
            all.push_str(&format!("\n\nInstructions from: {url}\n{}", text.trim()));
        }
        all
    }
}

fn is_address(pattern: &str) -> bool {
    pattern.starts_with("http://") || pattern.starts_with("https://")
}

/// What the addresses say that settings name, side by side, each once, as far as there is `room` for them in bytes.
async fn fetched(
    wanted: &InstructionFiles,
    pages: Option<&dyn Pages>,
    gate: &Gate,
    asker: &Asker,
    mut room: usize,
) -> Vec<(String, String)> {
    let Some(pages) = pages else { return Vec::new() };
    let mut named: Vec<&Named> = wanted.named.iter().filter(|named| is_address(&named.pattern)).collect();
    let mut seen = BTreeSet::new();
    named.retain(|named| seen.insert(&named.pattern));
    named.truncate(MAX_PAGES);
    let read = named.into_iter().map(async |Named { pattern: url, by_user }| {
        // Whoever named it gave the leave; the record says that it was used.
        let access = Access::new("webfetch", url).with(Effect::Host(host(url).to_owned()));
        let leave = gate.ask(asker, &crate::turn::calls::everything(), access).await;
        let grant = leave.map_err(|denied| denied.to_string());
        let text = match grant {
            Ok(grant) => {
                grant.note(Done::Spoke(host(url).to_owned()));
                pages.read(url, *by_user, MAX_BYTES).await
            }
            Err(why) => Err(why),
        };
        (url.clone(), text)
    });
    let mut told = Vec::new();
    for (url, text) in join_all(read).await {
        match text {
            Ok(text) if text.len() <= room => {
                room -= text.len();
                told.push((url, text));
            }
            Ok(_) => tracing::warn!(url, "instructions from an address are left out: there are too many"),
            Err(why) => tracing::warn!(url, why, "instructions from an address are left out"),
        }
    }
    told
}

/// The host of an address, with its port.
fn host(url: &str) -> &str {
    let behind = url.split_once("://").map_or(url, |(_, behind)| behind);
    let host = behind.split(['/', '?', '#']).next().unwrap_or(behind);
    host.rsplit_once('@').map_or(host, |(_, host)| host)
}

/// The files there are, in the order they are told, each once.
fn find(wanted: &InstructionFiles, place: &Place) -> Vec<Candidate> {
    let mut found = Vec::new();
    let mut add = |path: PathBuf, outside: bool| -> bool {
        let Some(candidate) = candidate(path, outside) else { return false };
        if found.len() < MAX_FILES && found.iter().all(|known: &Candidate| known.path != candidate.path) {
            found.push(candidate);
        }
        true
    };
    for path in &wanted.global {
        if add(path.clone(), true) {
            break;
        }
    }
    let folders = folders(place);
    if !wanted.without_project {
        for name in NAMES.into_iter().filter(|name| !(wanted.without_claude && *name == "CLAUDE.md")) {
            let mut any = false;
            for folder in &folders {
                any |= add(folder.join(name), false);
            }
            if any {
                break;
            }
        }
    }
    let mut looked = 0;
    for Named { pattern, by_user } in &wanted.named {
        if is_address(pattern) {
            continue;
        }
        for path in named(pattern, &folders, wanted.home.as_deref(), &mut looked) {
            add(path, *by_user);
        }
    }
    found
}

/// The working folder, then those above it up to the top of the work tree.
fn folders(place: &Place) -> Vec<PathBuf> {
    let top = place.worktree.as_deref().unwrap_or(&place.directory);
    let inside = |folder: &&Path| folder.starts_with(top);
    place.directory.ancestors().take_while(inside).map(Path::to_path_buf).collect()
}

fn candidate(path: PathBuf, outside: bool) -> Option<Candidate> {
    let meta = std::fs::metadata(&path).ok().filter(Metadata::is_file)?;
    let modified = i128::from(meta.mtime()) * 1_000_000_000 + i128::from(meta.mtime_nsec());
    let stamp = Stamp { size: meta.len(), modified, inode: meta.ino(), content: None };
    Some(Candidate { stamp, path, outside })
}

/// The paths that a setting means, sorted within each folder.
fn named(pattern: &str, folders: &[PathBuf], home: Option<&Path>, looked: &mut usize) -> Vec<PathBuf> {
    let (bases, relative): (Vec<PathBuf>, &str) = if let Some(below) = pattern.strip_prefix("~/") {
        (home.map(Path::to_path_buf).into_iter().collect(), below)
    } else if let Some(below) = pattern.strip_prefix('/') {
        (vec![PathBuf::from("/")], below)
    } else {
        (folders.to_vec(), pattern)
    };
    let parts: Vec<&str> = relative.split('/').filter(|part| !part.is_empty() && *part != ".").collect();
    let mut found = Vec::new();
    for base in bases {
        walk(base, &parts, looked, &mut found);
    }
    found
}

/// Follows the parts of a pattern, through no links to folders where it stands for many.
fn walk(at: PathBuf, parts: &[&str], looked: &mut usize, found: &mut Vec<PathBuf>) {
    let Some((part, rest)) = parts.split_first() else {
        return found.push(at);
    };
    if !part.contains(['*', '?', '[', '{']) {
        return walk(at.join(part), rest, looked, found);
    }
    let deep = *part == "**";
    if deep {
        walk(at.clone(), rest, looked, found);
    }
    let Ok(entries) = std::fs::read_dir(&at) else { return };
    let mut entries: Vec<(PathBuf, bool)> = entries
        .take(MAX_LOOKED.saturating_sub(*looked))
        .filter_map(Result::ok)
        .map(|entry| (entry.path(), entry.file_type().is_ok_and(|kind| kind.is_dir())))
        .collect();
    *looked += entries.len();
    entries.sort();
    let matcher = matcher(part);
    for (path, folder) in entries {
        let name = path.file_name().unwrap_or_default();
        if deep {
            // What is not the project's own text is not looked through.
            if folder && !matches!(name.to_str(), Some(".git" | "node_modules" | "target")) {
                walk(path, parts, looked, found);
            }
        } else if matcher.as_ref().is_some_and(|matcher| matcher.is_match(Path::new(name)))
            && (folder || rest.is_empty())
        {
            walk(path, rest, looked, found);
        }
    }
}

fn matcher(part: &str) -> Option<GlobMatcher> {
    let glob = GlobBuilder::new(part).literal_separator(true).build();
    glob.inspect_err(|error| tracing::warn!(%error, "a pattern of `instructions` is none"))
        .ok()
        .map(|glob| glob.compile_matcher())
}

/// Reads a file, through the same door as everybody else.
async fn text(files: &Files, gate: &Gate, asker: &Asker, candidate: &Candidate) -> Result<String, String> {
    let name = candidate.path.display().to_string();
    let target = match files.locate(&name).map_err(|error| error.to_string())? {
        Located::Inside(target) => target,
        Located::Outside(_) if !candidate.outside => {
            return Err("it leads out of the project, which only the user's own settings may".to_owned());
        }
        Located::Outside(outside) => {
            let enter = Effect::Enter(outside.home().to_owned());
            let grant = leave(gate, asker, "external_directory", &name, enter).await?;
            outside.enter(&grant).map_err(|error| error.to_string())?
        }
    };
    let grant = leave(gate, asker, "read", &name, Effect::Read(target.path().to_owned())).await?;
    beginning(files, &grant, &target).await
}

/// Leave under a rule that is built in: that these files are told is what they are for.
async fn leave(gate: &Gate, asker: &Asker, permission: &str, name: &str, effect: Effect) -> Result<Grant, String> {
    let access = Access::new(permission, name).with(effect);
    gate.ask(asker, &crate::turn::calls::everything(), access).await.map_err(|denied| denied.to_string())
}

async fn beginning(files: &Files, grant: &Grant, target: &Target) -> Result<String, String> {
    let told = |error: haft_project::FilesError| haft_tool::with_causes(&error);
    let Opened::File(mut reading) = files.open(grant, target).await.map_err(told)? else {
        return Err("it is a folder".to_owned());
    };
    let mut bytes = Vec::new();
    while bytes.len() <= MAX_BYTES
        && let Some(piece) = reading.next().await.map_err(told)?
    {
        bytes.extend_from_slice(&piece);
    }
    let whole = bytes.len() <= MAX_BYTES;
    bytes.truncate(MAX_BYTES);
    let text = String::from_utf8_lossy(&bytes);
    let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
    if text.contains('\0') {
        return Err("it is no text".to_owned());
    }
    let text = text.trim_end_matches('\u{fffd}');
    Ok(if whole { text.to_owned() } else { format!("{text}\n(cut here; read the file for the rest)") })
}

#[cfg(test)]
mod tests;
