//! Where a name leads: the true path behind it, and whether that is inside the project.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::ErrorKind;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Component, Path, PathBuf};

use haft_permission::Grant;

use crate::{FilesError, MAX_ENTRIES};

/// Most links that one name may lead through, as in the Linux kernel.
const MAX_LINKS: usize = 40;

/// Where a name leads. [`Files::locate`](crate::Files::locate) finds it out; nothing is open yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Located {
    /// Beneath the working folder or the worktree, or one of them.
    Inside(Target),
    /// Anywhere else.
    Outside(Outside),
}

/// Something outside the project. It becomes a [`Target`] with leave for the folder it is in, and not otherwise.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outside {
    target: Target,
}

impl Outside {
    /// The true path, as [`Target::path`].
    pub fn path(&self) -> &Path {
        self.target.path()
    }

    /// The true path as people and rules see it, as [`Target::title`].
    pub fn title(&self) -> &str {
        self.target.title()
    }

    /// The folder that leave is needed for: the one it is in, or itself if it is a folder.
    pub fn home(&self) -> &Path {
        self.target.home()
    }

    /// Goes there, with a grant for [`Effect::Enter`](haft_permission::Effect::Enter) of exactly [`Outside::home`].
    ///
    /// # Errors
    ///
    /// [`FilesError::NotGranted`].
    pub fn enter(self, grant: &Grant) -> Result<Target, FilesError> {
        let Target { home, .. } = &self.target;
        if grant.covers_enter(home) { Ok(self.target) } else { Err(FilesError::NotGranted { path: home.clone() }) }
    }
}

/// What the doors of [`Files`](crate::Files) are told to open.
// Invariant: nobody else has one of a path outside the project than who had leave to go there. So there is no other
// way to make one, and its fields are private.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    path: PathBuf,
    title: String,
    home: PathBuf,
    found: Found,
    by_link: bool,
}

/// What a name leads to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Found {
    /// Nothing yet, or nothing that can be looked at.
    Nothing,
    /// A folder.
    Folder,
    /// A file, or something else that is no folder.
    File,
}

impl Target {
    /// The true path: absolute, without links as of when it was located. It need not exist.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The true path as people and rules see it: relative to the worktree, or to the working folder where there is no
    /// worktree. It starts with `../` outside, and is empty for the base itself.
    pub fn title(&self) -> &str {
        &self.title
    }

    /// The folder that it is in; for a folder, itself. What is inside the project has its home there too.
    pub fn home(&self) -> &Path {
        &self.home
    }

    /// What was there when it was located. A hint for asking: the door looks again.
    pub fn found(&self) -> Found {
        self.found
    }

    /// Whether the name itself was a link when it was located, and not just a folder on the way: to remove the target
    /// is then not to remove what was named.
    pub fn by_link(&self) -> bool {
        self.by_link
    }
}

/// The folders that make up "inside the project".
#[derive(Debug)]
pub(crate) struct Bounds {
    /// The working folder: absolute, without links.
    pub(crate) root: PathBuf,
    /// The folder under version control, unless it is `/`: a project without one does not own the whole disk.
    worktree: Option<PathBuf>,
    /// The folder of the work trees in which the project's tasks work apart.
    sandboxes: Option<PathBuf>,
}

impl Bounds {
    /// Both folders as their true paths, as far as they can be found out.
    pub(crate) fn new(root: &Path, worktree: Option<&Path>) -> Self {
        let truly = |path: &Path| {
            let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
            follow(&absolute).unwrap_or(absolute)
        };
        let worktree = worktree.map(truly).filter(|path| path.parent().is_some());
        Self { root: truly(root), worktree, sandboxes: None }
    }

    /// What is below `folder` is inside, too.
    pub(crate) fn with_sandboxes(self, folder: &Path) -> Self {
        let folder = std::path::absolute(folder).ok().and_then(|folder| follow(&folder).ok());
        Self { sandboxes: folder, ..self }
    }

    /// The folder under version control, or the working folder.
    pub(crate) fn worktree(&self) -> &Path {
        self.worktree.as_deref().unwrap_or(&self.root)
    }

    /// Resolves `name` against the working folder. `..` is taken off as it is written, before links are followed.
    pub(crate) fn locate(&self, name: &str) -> Result<Located, FilesError> {
        if name.contains('\0') {
            return Err(FilesError::BadName { name: name.to_owned(), why: "it holds a zero byte" });
        }
        let named = normal(&self.root.join(name));
        let path = follow(&named)?;
        let by_link = path != named && fs::symlink_metadata(&named).is_ok_and(|meta| meta.is_symlink());
        let title = self.title(&path);
        let found = match fs::symlink_metadata(&path) {
            Ok(meta) if meta.is_dir() => Found::Folder,
            Ok(_) => Found::File,
            Err(_) => Found::Nothing,
        };
        let inside = self.holds(&path);
        let above = match found {
            Found::Folder => None,
            // A working folder that is gone is its own home: the one above it is outside.
            Found::Nothing | Found::File => path.parent().filter(|above| !inside || self.holds(above)),
        };
        let home = above.unwrap_or(&path).to_owned();
        let target = Target { path, title, home, found, by_link };
        Ok(if inside { Located::Inside(target) } else { Located::Outside(Outside { target }) })
    }

    /// The true path `path` as people and rules see it, as [`Target::title`].
    pub(crate) fn title(&self, path: &Path) -> String {
        relative(self.worktree.as_deref().unwrap_or(&self.root), path)
    }

    /// The topmost folder of the project that `path` is in, if it is inside.
    pub(crate) fn top_above(&self, path: &Path) -> Option<&Path> {
        let tops = [self.worktree.as_deref(), Some(self.root.as_path()), self.sandboxes.as_deref()];
        tops.into_iter().flatten().find(|top| path.starts_with(top))
    }

    fn holds(&self, path: &Path) -> bool {
        self.top_above(path).is_some()
    }
}

/// An absolute `path` without `.` and `..`.
fn normal(path: &Path) -> PathBuf {
    let mut done = PathBuf::from("/");
    for component in path.components() {
        match component {
            Component::Normal(name) => done.push(name),
            Component::ParentDir => {
                done.pop();
            }
            Component::CurDir | Component::RootDir | Component::Prefix(_) => {}
        }
    }
    done
}

/// The true path of `path`: every link in it followed, also one whose end does not exist.
fn follow(path: &Path) -> Result<PathBuf, FilesError> {
    let mut done = PathBuf::from("/");
    let mut rest = names(path);
    let mut links = 0;
    while let Some(name) = rest.pop() {
        if name == ".." {
            done.pop();
            continue;
        }
        done.push(&name);
        let link = match fs::symlink_metadata(&done) {
            Ok(meta) if meta.is_symlink() => fs::read_link(&done),
            Ok(meta) => {
                if let Some(name) = spelled(&done, &meta) {
                    done.set_file_name(name);
                }
                continue;
            }
            // What is not there has no links in it either.
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => continue,
            Err(error) => Err(error),
        };
        let link = link.map_err(|error| FilesError::io(&done, "look at", error))?;
        links += 1;
        if links > MAX_LINKS {
            let name = path.display().to_string();
            return Err(FilesError::BadName { name, why: "it leads through too many links, or round in a circle" });
        }
        if link.is_absolute() {
            done = PathBuf::from("/");
        } else {
            done.pop();
        }
        rest.append(&mut names(&link));
    }
    Ok(done)
}

/// How the last name of `path` is written on a disk that knows no capitals, where that differs: rules go by the name, and
/// `.ENV` must not be another file than `.env`. `None` on all other disks.
pub(crate) fn spelled(path: &Path, meta: &fs::Metadata) -> Option<OsString> {
    let name = path.file_name()?.as_bytes();
    let other: Vec<u8> = name
        .iter()
        .map(|byte| if byte.is_ascii_lowercase() { byte.to_ascii_uppercase() } else { byte.to_ascii_lowercase() })
        .collect();
    let is_same = |other: &fs::Metadata| (other.dev(), other.ino()) == (meta.dev(), meta.ino());
    if other == name
        || !fs::symlink_metadata(path.with_file_name(OsStr::from_bytes(&other))).is_ok_and(|meta| is_same(&meta))
    {
        return None;
    }
    let entries = fs::read_dir(path.parent()?).ok()?.take(MAX_ENTRIES).flatten();
    listed_as(name, entries.map(|entry| entry.file_name()))
}

/// Which of the names in a folder `name` is, where it is none of them exactly.
fn listed_as(name: &[u8], names: impl Iterator<Item = OsString>) -> Option<OsString> {
    let alike: Vec<OsString> = names.filter(|entry| entry.as_bytes().eq_ignore_ascii_case(name)).collect();
    // Two names of one file, on a disk that tells them apart.
    let exact = alike.iter().any(|entry| entry.as_bytes() == name);
    alike.into_iter().next().filter(|_| !exact)
}

/// The names in `path`, last one first, `..` among them.
fn names(path: &Path) -> Vec<OsString> {
    let name = |component| match component {
        Component::Normal(name) => Some(OsString::from(name)),
        Component::ParentDir => Some("..".into()),
        Component::CurDir | Component::RootDir | Component::Prefix(_) => None,
    };
    path.components().rev().filter_map(name).collect()
}

/// How to get from the folder `base` to `path`, both absolute and normal.
fn relative(base: &Path, path: &Path) -> String {
    // What is below it, which most are, and a search asks for each file.
    let below = path.as_os_str().as_bytes().strip_prefix(base.as_os_str().as_bytes());
    if let Some(below) = below.and_then(|below| below.strip_prefix(b"/")) {
        return String::from_utf8_lossy(below).into_owned();
    }
    let common = base.components().zip(path.components()).take_while(|(a, b)| a == b).count();
    let ups = base.components().skip(common).map(|_| Component::ParentDir);
    ups.chain(path.components().skip(common)).collect::<PathBuf>().display().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    /// `base/project` with links to all sides, and `base/outside`. The working folder is `base/project/src`.
    fn scene() -> (tempfile::TempDir, Bounds) {
        let base = tempfile::tempdir().unwrap();
        let at = |name: &str| base.path().join(name);
        fs::create_dir_all(at("project/src")).unwrap();
        fs::create_dir_all(at("outside")).unwrap();
        fs::write(at("project/src/a.rs"), "").unwrap();
        fs::write(at("outside/secret"), "").unwrap();
        symlink("src", at("project/in")).unwrap();
        symlink("../outside", at("project/out")).unwrap();
        symlink(at("outside/secret"), at("project/file")).unwrap();
        symlink("../outside/new", at("project/dangling")).unwrap();
        symlink("round", at("project/round")).unwrap();
        symlink("a", at("project/b")).unwrap();
        symlink("b", at("project/a")).unwrap();
        let bounds = Bounds::new(&at("project/src"), Some(&at("project")));
        (base, bounds)
    }

    /// The target, and whether it is inside.
    #[track_caller]
    fn locate(bounds: &Bounds, name: &str) -> (Target, bool) {
        match bounds.locate(name).unwrap() {
            Located::Inside(target) => (target, true),
            Located::Outside(Outside { target }) => (target, false),
        }
    }

    #[track_caller]
    fn check(name: &str, want: &str, inside: bool) {
        let (_base, bounds) = scene();
        let (got, is_inside) = locate(&bounds, name);
        assert_eq!((got.title(), is_inside), (want, inside), "{name}");
        assert!(got.path.ends_with(want.trim_start_matches("../")), "{name}: {}", got.path.display());
    }

    #[test]
    fn names_are_relative_to_the_working_folder_and_titles_to_the_worktree() {
        check("a.rs", "src/a.rs", true);
        check("./x//new.rs", "src/x/new.rs", true);
        check("", "src", true);
        check("..", "", true);
        check("../README.md", "README.md", true);
        check("~/x", "src/~/x", true);
        check("$HOME", "src/$HOME", true);
    }

    #[test]
    fn what_is_outside_is_said_to_be() {
        check("../../outside/secret", "../outside/secret", false);
        check("../../projectx", "../projectx", false);
        check("x/../../../outside", "../outside", false);
        let (_base, bounds) = scene();
        assert!(!locate(&bounds, "/etc/passwd").1);
        assert_eq!(locate(&bounds, &"../".repeat(50)).0.path, Path::new("/"));
    }

    #[test]
    fn links_are_followed_to_where_they_lead() {
        check("../in/a.rs", "src/a.rs", true);
        check("../out/secret", "../outside/secret", false);
        check("../out", "../outside", false);
        check("../file", "../outside/secret", false);
    }

    #[test]
    fn a_link_to_nothing_leads_to_that_nothing() {
        check("../dangling", "../outside/new", false);
        check("../out/deep/er/new", "../outside/deep/er/new", false);
    }

    #[test]
    fn circles_and_zero_bytes_are_refused() {
        let (_base, bounds) = scene();
        for name in ["../round", "../a", "../b/x", "a\0b"] {
            assert!(matches!(bounds.locate(name), Err(FilesError::BadName { .. })), "{name:?}");
        }
    }

    #[test]
    fn what_is_there_is_noted() {
        let (_base, bounds) = scene();
        for (name, want) in [("a.rs", Found::File), ("../in", Found::Folder), ("none", Found::Nothing)] {
            assert_eq!(locate(&bounds, name).0.found, want, "{name}");
        }
    }

    #[test]
    fn the_home_of_a_thing_is_its_folder_and_never_beyond_the_border() {
        let (base, bounds) = scene();
        let base = fs::canonicalize(base.path()).unwrap();
        let row = |name: &str, want: &str| assert_eq!(locate(&bounds, name).0.home(), base.join(want), "{name}");
        row("a.rs", "project/src");
        row("none", "project/src");
        row("../in", "project/src");
        row("../none", "project");
        row("..", "project");
        row("../out", "outside");
        row("../file", "outside");
        row("../../outside/none/x", "outside/none");
        fs::remove_dir_all(base.join("project")).unwrap();
        row("", "project");
        row("..", "project");
        row("../..", "");
    }

    #[test]
    fn forty_links_are_followed_and_no_more() {
        let (base, bounds) = scene();
        let link = |number: usize| base.path().join(format!("project/src/l{number}"));
        symlink("a.rs", link(1)).unwrap();
        for number in 2..=MAX_LINKS + 1 {
            symlink(link(number - 1), link(number)).unwrap();
        }
        assert_eq!(locate(&bounds, &format!("l{MAX_LINKS}")).0.title(), "src/a.rs");
        let error = bounds.locate(&format!("l{}", MAX_LINKS + 1)).unwrap_err();
        assert!(error.to_string().contains("too many links"), "{error}");
    }

    #[test]
    fn a_name_is_as_the_folder_lists_it() {
        let row = |name: &str, listed: &[&str], want: Option<&str>| {
            let got = listed_as(name.as_bytes(), listed.iter().map(|name| OsString::from(*name)));
            assert_eq!(got, want.map(OsString::from), "{name} in {listed:?}");
        };
        row(".ENV", &["a", ".env", "b"], Some(".env"));
        row(".ENV", &[".env", ".ENV"], None);
        row(".env", &["a", ".env"], None);
        row("x", &[], None);
    }

    #[test]
    fn a_file_on_the_way_is_no_error_yet() {
        check("a.rs/b", "src/a.rs/b", true);
    }

    #[test]
    fn the_root_of_the_disk_is_no_worktree() {
        let base = tempfile::tempdir().unwrap();
        let bounds = Bounds::new(base.path(), Some(Path::new("/")));
        assert!(!locate(&bounds, "/etc/passwd").1);
        let (target, inside) = locate(&bounds, "a");
        assert_eq!((target.title(), inside), ("a", true));
    }

    #[test]
    fn a_project_that_is_itself_reached_by_a_link_is_still_one() {
        let base = tempfile::tempdir().unwrap();
        fs::create_dir(base.path().join("real")).unwrap();
        symlink("real", base.path().join("link")).unwrap();
        let bounds = Bounds::new(&base.path().join("link"), None);
        let by_link = locate(&bounds, base.path().join("link/a").to_str().unwrap());
        let by_name = locate(&bounds, base.path().join("real/a").to_str().unwrap());
        assert_eq!(by_link, by_name);
        assert!(by_link.1);
    }
}
