//! What a command line touches, as the disk has it now.

use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};

use haft_permission::{Access, Effect};
use haft_project::{Files, FilesError, Found, Located, Target};
use haft_shell::{Touch, Touching};
use haft_tool::Call;

/// Most entries of a folder that a pattern such as `src/*` is held against; with more, the command is unknown.
pub(super) const MAX_MATCHES: usize = 1_000;

/// What a command line touches.
#[derive(Debug, Default)]
pub(super) struct Touched {
    /// Folders outside the project, without links, and what in them is to be changed: a file that is there, else the
    /// folder.
    pub(super) outside: BTreeMap<PathBuf, Vec<PathBuf>>,
    /// What is read, as rules see it, and where it is.
    pub(super) reads: BTreeMap<String, PathBuf>,
    /// What is written, as rules see it, and where it is.
    pub(super) writes: BTreeMap<String, PathBuf>,
    /// The same of what is written without being named: it is in a folder that something is unpacked to.
    pub(super) filled: BTreeMap<String, PathBuf>,
    /// Where something leads could not be found out.
    pub(super) lost: bool,
}

impl Touched {
    pub(super) async fn add(&mut self, files: &Files, call: &Call, touch: &Touch) {
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
                self.go_out(touch.how, outside.home(), outside.path());
                let whole = touch.rest.is_empty();
                self.note(touch.how, outside.title(), outside.path(), whole && outside.path().exists());
            }
            Located::Inside(target) if touch.rest.is_empty() => {
                self.note(touch.how, target.title(), target.path(), target.found() != Found::Nothing);
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
            self.note(touch.how, &format!("{}{}", target.title(), touch.rest), target.path(), true);
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
                Located::Inside(target) => {
                    self.note(touch.how, target.title(), target.path(), target.found() != Found::Nothing)
                }
                // A link that leads out.
                Located::Outside(outside) => {
                    self.go_out(touch.how, outside.home(), outside.path());
                    self.note(touch.how, outside.title(), outside.path(), true);
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

    /// Notes that `path` in the folder `home` outside is touched.
    fn go_out(&mut self, how: Touching, home: &Path, path: &Path) {
        let changed = self.outside.entry(home.to_owned()).or_default();
        match how {
            // What is made anew needs its folder.
            Touching::Write | Touching::Fill => changed.push(if path.exists() { path } else { home }.to_owned()),
            Touching::Read | Touching::Mention | Touching::Enter => {}
        }
    }

    fn note(&mut self, how: Touching, title: &str, path: &Path, exists: bool) {
        match how {
            // What is not there cannot be read, and may be no path at all.
            Touching::Read | Touching::Mention if exists => {
                self.reads.insert(title.to_owned(), path.to_owned());
            }
            Touching::Write => {
                self.writes.insert(title.to_owned(), path.to_owned());
            }
            Touching::Fill => {
                self.filled.insert(title.to_owned(), path.to_owned());
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
