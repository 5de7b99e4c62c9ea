//! What a project wants left alone: its `.gitignore`, `.ignore` and `.rgignore` files, and the user's own list for all
//! projects.
//!
//! The files are a project's, thus anything: a pipe that never ends, a link to a device, a gigabyte. They are opened
//! like every file, and only so much of them counts.

use std::fs::File;
use std::io::Read;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::Arc;

use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};
use rustix::fs::{FileType, fstat};

use crate::door::{self, kind};
use crate::files::READ;
use crate::stamp::ContentHash;

/// Most bytes of one such file that count.
const MAX_BYTES: u64 = 64 * 1024;
/// Most lines of one such file that count.
const MAX_LINES: usize = 2000;

/// What is left alone in a folder and below it, with all that the folders above say. Cheap to clone.
#[derive(Debug, Clone)]
pub(crate) struct Ignored {
    level: Arc<Level>,
}

#[derive(Debug)]
struct Level {
    above: Option<Arc<Level>>,
    /// `.rgignore` here.
    search: Option<Gitignore>,
    /// `.ignore` here.
    own: Option<Gitignore>,
    /// `.gitignore` here.
    git: Option<Gitignore>,
    /// `.git/info/exclude`, where a repository begins here.
    exclude: Option<Gitignore>,
    /// A repository begins here: what `.gitignore` files above it say is not about it.
    top: bool,
    /// The user's list for all repositories.
    everywhere: Arc<Gitignore>,
}

impl Ignored {
    /// What is ignored around the top of a project.
    pub(crate) fn around(top: &Path) -> Self {
        Self::everywhere(top)
    }

    /// Nothing but what the user named for all projects. Paths that list names begin at `base`.
    pub(super) fn everywhere(base: &Path) -> Self {
        let (everywhere, _) = GitignoreBuilder::new(base).build_global();
        let everywhere = Arc::new(everywhere);
        let level = Level { above: None, search: None, own: None, git: None, exclude: None, top: false, everywhere };
        Self { level: Arc::new(level) }
    }

    /// The same with what the open folder `dir` at `path` says. `has` tells which names are in it.
    pub(crate) fn below(&self, path: &Path, dir: &OwnedFd, has: Has) -> Self {
        if !has.any() {
            return self.clone();
        }
        let read = |wanted: bool, name: &str| wanted.then(|| rules(path, dir, Path::new(name))).flatten();
        let level = Level {
            above: Some(Arc::clone(&self.level)),
            search: read(has.rgignore, ".rgignore"),
            own: read(has.ignore, ".ignore"),
            git: read(has.gitignore, ".gitignore"),
            exclude: has.git.then(|| exclude(path, dir)).flatten(),
            top: has.git,
            everywhere: Arc::clone(&self.level.everywhere),
        };
        Self { level: Arc::new(level) }
    }

    /// Whether the file or folder at `path` is to be left alone. The nearest file that speaks of it counts;
    /// `.rgignore` has the word before `.ignore`, that before `.gitignore`, and that before the others.
    pub(crate) fn holds(&self, path: &Path, is_folder: bool) -> bool {
        let levels = || std::iter::successors(Some(&*self.level), |level| level.above.as_deref());
        let say = |rules: Option<&Gitignore>| match rules.map(|rules| rules.matched(path, is_folder)) {
            Some(Match::Ignore(_)) => Some(true),
            Some(Match::Whitelist(_)) => Some(false),
            Some(Match::None) | None => None,
        };
        let repository = || {
            let mut outside = false;
            levels().take_while(move |level| !std::mem::replace(&mut outside, level.top))
        };
        levels()
            .find_map(|level| say(level.search.as_ref()))
            .or_else(|| levels().find_map(|level| say(level.own.as_ref())))
            .or_else(|| repository().find_map(|level| say(level.git.as_ref())))
            .or_else(|| repository().find_map(|level| say(level.exclude.as_ref())))
            .or_else(|| say(Some(&self.level.everywhere)))
            .unwrap_or(false)
    }
}

/// Which of the names that matter are in a folder.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Has {
    pub(super) rgignore: bool,
    pub(super) ignore: bool,
    pub(super) gitignore: bool,
    pub(super) git: bool,
}

impl Has {
    /// The names that [`Has::note`] knows.
    pub(crate) const NAMES: [&'static str; 4] = [".rgignore", ".ignore", ".gitignore", ".git"];

    /// A print of the files that say what is ignored in the open folder `dir`: another one where they say something else.
    pub(crate) fn print(self, dir: &OwnedFd) -> u64 {
        let files = [(self.rgignore, ".rgignore"), (self.ignore, ".ignore"), (self.gitignore, ".gitignore")];
        let mut print = ContentHash::new();
        for (_, name) in files.iter().filter(|(there, _)| *there) {
            print.add(name.as_bytes());
            print.add(&content(dir, Path::new(name)).unwrap_or_default());
        }
        print.value()
    }

    fn any(self) -> bool {
        self.rgignore || self.ignore || self.gitignore || self.git
    }

    pub(crate) fn note(&mut self, name: &[u8]) {
        match name {
            b".rgignore" => self.rgignore = true,
            b".ignore" => self.ignore = true,
            b".gitignore" => self.gitignore = true,
            b".git" => self.git = true,
            _ => {}
        }
    }
}

/// The rules in the plain file `name` of `dir`, about what is below `path`.
fn rules(path: &Path, dir: &OwnedFd, name: &Path) -> Option<Gitignore> {
    parse(path, &content(dir, name)?)
}

/// As much of a plain file as counts.
fn content(dir: &OwnedFd, name: &Path) -> Option<Vec<u8>> {
    let fd = door::step(dir, name, READ).ok()?;
    if kind(&fstat(&fd).ok()?) != FileType::RegularFile {
        return None;
    }
    let mut bytes = Vec::new();
    File::from(fd).take(MAX_BYTES).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}

fn exclude(path: &Path, dir: &OwnedFd) -> Option<Gitignore> {
    // An added work tree has a file there, and its list is elsewhere: what it keeps private is listed, no more.
    let git = door::step(dir, Path::new(".git"), door::FOLDER).ok()?;
    let info = door::step(&git, Path::new("info"), door::FOLDER).ok()?;
    rules(path, &info, Path::new("exclude"))
}

/// The rules of a file. A line that is no pattern says nothing.
fn parse(path: &Path, bytes: &[u8]) -> Option<Gitignore> {
    let text = String::from_utf8_lossy(bytes);
    let mut builder = GitignoreBuilder::new(path);
    for line in text.strip_prefix('\u{feff}').unwrap_or(&text).lines().take(MAX_LINES) {
        let _ = builder.add_line(None, line);
    }
    builder.build().ok().filter(|rules| !rules.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn so_much_of_a_file_counts_and_no_more() {
        let path = Path::new("/p");
        let lines = |count: usize| (0..count).map(|number| format!("name{number}\n")).collect::<String>();
        let says = |rules: &Gitignore, name: &str| rules.matched(path.join(name), false).is_ignore();
        let rules = parse(path, lines(MAX_LINES + 1).as_bytes()).unwrap();
        assert!(says(&rules, &format!("name{}", MAX_LINES - 1)));
        assert!(!says(&rules, &format!("name{MAX_LINES}")));
        let folder = tempfile::tempdir().unwrap();
        let dir = door::open(&folder.path().canonicalize().unwrap(), door::FOLDER).unwrap();
        let long = format!("#{}\nlast\n", "x".repeat(usize::try_from(MAX_BYTES).unwrap() - 2));
        std::fs::write(folder.path().join("long"), &long).unwrap();
        assert!(super::rules(path, &dir, Path::new("long")).is_none());
        std::fs::write(folder.path().join("long"), &long[10..]).unwrap();
        assert!(says(&super::rules(path, &dir, Path::new("long")).unwrap(), "last"));
    }

    #[test]
    fn what_is_no_pattern_says_nothing() {
        let rules = parse(Path::new("/p"), b"\xef\xbb\xbfa\n{x\n\xff\nb\r\n").unwrap();
        assert!(rules.matched("/p/a", false).is_ignore());
        assert!(rules.matched("/p/b", false).is_ignore());
        assert!(rules.matched("/p/c", false).is_none());
        assert!(parse(Path::new("/p"), b"# nothing\n").is_none());
    }
}
