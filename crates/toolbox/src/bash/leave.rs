//! What a command line needs leave for: the folders outside that it goes to, the files it reads and writes, itself.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::path::{Component, Path, PathBuf};

use haft_permission::{Access, Effect, Grant};
use haft_project::{Files, FilesError, Found, Located, Target};
use haft_shell::{Analysis, Dialect, Surroundings, Touch, Touching, analyse};
use haft_tool::{Call, ToolError};

use crate::reach::reach_all;

/// Most entries of a folder that a pattern such as `src/*` is held against; with more, the command is unknown.
pub(super) const MAX_MATCHES: usize = 1_000;

/// What a command line touches, as the disk has it now.
#[derive(Debug, Default)]
struct Touched {
    /// Folders outside the project, without links.
    outside: BTreeSet<PathBuf>,
    /// What is read, as rules see it.
    reads: BTreeSet<String>,
    /// What is written, as rules see it.
    writes: BTreeSet<String>,
    /// Where something leads could not be found out.
    lost: bool,
}

/// Asks for running `command` in `dir` with `shell`: first for folders outside the project, then for files that rules
/// do not simply allow to be read or written, then for the commands.
///
/// # Errors
///
/// [`ToolError::Denied`].
pub(super) async fn ask(
    files: &Files,
    shell: &Path,
    call: &Call,
    command: &str,
    dir: &Path,
) -> Result<Grant, ToolError> {
    let found = look(command, dir, dialect(shell)).await;
    let mut touched = Touched::default();
    for touch in &found.touches {
        touched.add(files, call, touch).await;
    }
    // For the folder to run in, leave was asked before.
    touched.outside.remove(dir);
    let outside: Vec<PathBuf> = touched.outside.iter().cloned().collect();
    reach_all(call, &outside, command).await?;
    for (permission, titles) in [("read", &touched.reads), ("edit", &touched.writes)] {
        let allowed = call.allowing(permission);
        let patterns: Vec<String> = titles.iter().filter(|title| !allowed(title)).cloned().collect();
        if !patterns.is_empty() {
            let filepath = patterns.join(", ");
            let access = Access { always: named(&patterns), patterns, ..Access::new(permission, "") };
            call.ask(access.show("filepath", filepath).show("command", command)).await?;
        }
    }
    let access = access(command, dir, &found, touched.lost);
    let access = if dir == files.root() { access } else { access.show("workdir", dir.display().to_string()) };
    Ok(call.ask(access).await?)
}

/// What "always" covers of files that a command touches: those files and no others, because the question is about a
/// command. A name that would be a pattern is none of them.
fn named(patterns: &[String]) -> Vec<String> {
    if patterns.iter().any(|title| title.contains(['*', '?', '\\'])) { Vec::new() } else { patterns.to_vec() }
}

/// Looks at the command on a thread of its own, because it may take a while.
async fn look(command: &str, dir: &Path, dialect: Dialect) -> Analysis {
    let (text, dir) = (command.to_owned(), dir.to_owned());
    let home = std::env::var_os("HOME").map(PathBuf::from).filter(|home| home.is_absolute());
    let work = move || {
        let around = Surroundings::new(&dir).dialect(dialect).is_dir(&|path| path.is_dir());
        analyse(&text, &Surroundings { home: home.as_deref(), ..around })
    };
    // A mistake in the analysis must not let a command pass.
    let failed = |_| Analysis { unknown: vec!["it could not be looked into".to_owned()], ..Analysis::default() };
    tokio::task::spawn_blocking(work).await.unwrap_or_else(failed)
}

fn dialect(shell: &Path) -> Dialect {
    match shell.file_name().and_then(OsStr::to_str) {
        Some("bash") => Dialect::Bash,
        Some("zsh") => Dialect::Zsh,
        Some(_) | None => Dialect::Posix,
    }
}

/// Asks for the commands. Of an unknown text the whole is asked for, and its parts, so that a rule against one of them
/// holds; "always" is not offered, because it would cover what is not known.
fn access(command: &str, dir: &Path, found: &Analysis, lost: bool) -> Access {
    let run = Effect::Run { command: command.to_owned(), dir: dir.to_owned() };
    // Of what runs no command nothing would be asked; in expressions and expansions it may show what variables hold.
    let bare = found.patterns.is_empty() && command.contains(['$', '`', '<', '>', '(']);
    let opaque = lost || bare || !found.is_known();
    let mut patterns: Vec<String> = Vec::new();
    let whole = opaque.then(|| command.to_owned());
    for pattern in whole.into_iter().chain(found.patterns.iter().chain(&found.spellings).cloned()) {
        if !patterns.contains(&pattern) {
            patterns.push(pattern);
        }
    }
    let always = if opaque { Vec::new() } else { found.always.clone() };
    let access = Access { patterns, always, opaque, ..Access::new("bash", "") };
    let access = access.with(run).show("command", command);
    if found.is_known() { access } else { access.show("unknown", found.unknown.clone()) }
}

impl Touched {
    async fn add(&mut self, files: &Files, call: &Call, touch: &Touch) {
        let Some(name) = touch.path.to_str() else {
            self.lost = true;
            return;
        };
        for path in [Some(PathBuf::from(name)), physical(files, &touch.path)].into_iter().flatten() {
            match path.to_str().map(|path| files.locate(path)) {
                Some(Ok(located)) => self.place(files, call, touch, located).await,
                // The shell may get further than haft: then a person looks at it.
                Some(Err(_)) | None => self.lost = true,
            }
        }
    }

    async fn place(&mut self, files: &Files, call: &Call, touch: &Touch, located: Located) {
        match located {
            Located::Outside(outside) => {
                self.outside.insert(outside.home().to_owned());
                let whole = touch.rest.is_empty();
                self.note(touch.how, outside.title(), whole && outside.path().exists());
            }
            Located::Inside(target) if touch.rest.is_empty() => {
                self.note(touch.how, target.title(), target.found() != Found::Nothing);
            }
            Located::Inside(target) => self.matches(files, call, touch, &target).await,
        }
    }

    /// Notes what a pattern may stand for.
    async fn matches(&mut self, files: &Files, call: &Call, touch: &Touch, target: &Target) {
        let later = touch.rest.split('/').skip(1);
        // Hidden files deeper down: they are not looked for.
        self.lost |= later.clone().any(|name| name.starts_with('.') && name.contains(['*', '?', '[']));
        if later.clone().next().is_some() {
            // As it is written: rules such as `*.env` cover it.
            self.note(touch.how, &format!("{}{}", target.title(), touch.rest), true);
        }
        let path = touch.path.to_string_lossy();
        let begin = if path.ends_with('/') { "" } else { path.rsplit('/').next().unwrap_or_default() };
        let folder = path.strip_suffix(begin).unwrap_or(&path);
        let Ok(Located::Inside(folder)) = files.locate(folder) else { return };
        let mut found = self.beginning_with(files, call, &folder, begin).await;
        let mut left = MAX_MATCHES.saturating_sub(found.len());
        for name in later {
            let begin = name.split(['*', '?', '[']).next().unwrap_or_default();
            let mut deeper = Vec::new();
            for folder in found.iter().filter_map(|found| inside(found)).filter(|one| one.found() == Found::Folder) {
                if name.is_empty() {
                    deeper.push(Located::Inside(folder.clone()));
                } else if begin == name {
                    deeper.extend(self.locate(files, &folder.path().join(name)));
                } else {
                    deeper.extend(self.beginning_with(files, call, folder, begin).await);
                }
                if deeper.len() > left {
                    self.lost = true;
                    deeper.truncate(left);
                    break;
                }
            }
            left -= deeper.len();
            // What leads out on the way is asked for as it is.
            found.retain(|found| matches!(found, Located::Outside(_)));
            found.extend(deeper);
        }
        for found in found {
            match found {
                Located::Inside(target) => self.note(touch.how, target.title(), target.found() != Found::Nothing),
                // A link that leads out.
                Located::Outside(outside) => {
                    self.outside.insert(outside.home().to_owned());
                    self.note(touch.how, outside.title(), true);
                }
            }
        }
    }

    /// What is in `folder` under a name that begins like this; hidden files only where the beginning says so.
    async fn beginning_with(&mut self, files: &Files, call: &Call, folder: &Target, begin: &str) -> Vec<Located> {
        let listing = match call.ask(Access::internal(vec![Effect::Read(folder.home().to_owned())])).await {
            Ok(grant) => files.list_home(&grant, folder).await,
            Err(_) => return Vec::new(),
        };
        let listing = match listing {
            Ok(listing) => listing,
            Err(FilesError::Missing { .. }) => return Vec::new(),
            Err(_) => {
                self.lost = true;
                return Vec::new();
            }
        };
        let fits = |name: &str| name.starts_with(begin) && (!begin.is_empty() || !name.starts_with('.'));
        let names: Vec<&str> =
            listing.entries.iter().map(|entry| entry.name.as_str()).filter(|name| fits(name)).collect();
        self.lost |= !listing.complete || names.len() > MAX_MATCHES;
        let paths = names.into_iter().take(MAX_MATCHES).map(|name| folder.home().join(name));
        paths.filter_map(|path| self.locate(files, &path)).collect()
    }

    fn locate(&mut self, files: &Files, path: &Path) -> Option<Located> {
        let located = path.to_str().and_then(|path| files.locate(path).ok());
        // The shell may get further than haft.
        self.lost |= located.is_none();
        located
    }

    fn note(&mut self, how: Touching, title: &str, exists: bool) {
        match how {
            // What is not there cannot be read, and may be no path at all.
            Touching::Read | Touching::Mention if exists => {
                self.reads.insert(title.to_owned());
            }
            Touching::Write => {
                self.writes.insert(title.to_owned());
            }
            Touching::Read | Touching::Mention | Touching::Enter => {}
        }
    }
}

fn inside(located: &Located) -> Option<&Target> {
    match located {
        Located::Inside(target) => Some(target),
        Located::Outside(_) => None,
    }
}

/// Where `path` leads when links are followed before `..` is, as the system does; `None` where that is the same.
fn physical(files: &Files, path: &Path) -> Option<PathBuf> {
    if !path.components().any(|component| component == Component::ParentDir) {
        return None;
    }
    let mut done = PathBuf::from("/");
    for component in path.components() {
        match component {
            Component::Normal(name) => done.push(name),
            Component::ParentDir => {
                done = match files.locate(done.to_str()?).ok()? {
                    Located::Inside(target) => target.path().to_owned(),
                    Located::Outside(outside) => outside.path().to_owned(),
                };
                done.pop();
            }
            Component::CurDir | Component::RootDir | Component::Prefix(_) => {}
        }
    }
    Some(done)
}
