//! What is known before, and what is found out.

use std::path::{Path, PathBuf};

use crate::path::normal;

/// Which shell will read the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Dialect {
    /// `bash`.
    #[default]
    Bash,
    /// `zsh`, where some words mean more than in bash: those are unknown.
    Zsh,
    /// `sh`, `dash`, `ksh` and the like, where what only bash has may mean something else: that is unknown.
    Posix,
}

/// What the command line meets.
#[derive(Clone, Copy)]
pub struct Surroundings<'a> {
    /// The folder it starts in, absolute.
    pub cwd: &'a Path,
    /// What `~` and `$HOME` stand for. Without it they are unknown.
    pub home: Option<&'a Path>,
    /// The shell.
    pub dialect: Dialect,
    /// Whether a path is a folder now. Only used to tell that a `cd` cannot fail.
    pub is_dir: &'a dyn Fn(&Path) -> bool,
}

impl<'a> Surroundings<'a> {
    /// Bash in `cwd`, without a home folder and without a disk.
    pub fn new(cwd: &'a Path) -> Self {
        Self { cwd, home: None, dialect: Dialect::Bash, is_dir: &|_| false }
    }

    /// The same with a home folder.
    #[must_use]
    pub fn home(self, home: &'a Path) -> Self {
        Self { home: Some(home), ..self }
    }

    /// The same for another shell.
    #[must_use]
    pub fn dialect(self, dialect: Dialect) -> Self {
        Self { dialect, ..self }
    }

    /// The same with a way to tell folders.
    #[must_use]
    pub fn is_dir(self, is_dir: &'a dyn Fn(&Path) -> bool) -> Self {
        Self { is_dir, ..self }
    }
}

/// One simple command, wherever it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Simple {
    /// Its name and arguments, without quotes where they are literal, as written where they are not.
    pub words: Vec<String>,
    /// How it is written.
    pub source: String,
}

/// What happens to a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Touching {
    /// It is read, listed or run.
    Read,
    /// It is written, made, changed or removed.
    Write,
    /// Anything that begins like it may be written, without being named: a folder that an archive is unpacked to.
    Fill,
    /// It becomes the working folder.
    Enter,
    /// It stands among the arguments of a program that may do anything with it.
    Mention,
}

/// A path that a command line touches.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Touch {
    /// How.
    pub how: Touching,
    /// Absolute, otherwise as written: `..` is still in it, so that links can be followed as the system will.
    pub path: PathBuf,
    /// What follows `path` as a pattern, such as `*.rs`: everything that begins like `path` may be touched. Empty where
    /// `path` is all.
    pub rest: String,
}

/// What a command line would do.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Analysis {
    /// Its simple commands, also those that others run.
    pub commands: Vec<Simple>,
    /// What rules are matched against: the commands as they are written, without those that only change folder or
    /// set variables.
    pub patterns: Vec<String>,
    /// The same commands in plain spelling, where `patterns` has them in another: no quotes, no assignments before, one
    /// blank between words. A rule against a command must not be got round with these.
    pub spellings: Vec<String>,
    /// What "always" may safely cover.
    pub always: Vec<String>,
    /// The paths it touches, in order, without doubles.
    pub touches: Vec<Touch>,
    /// Whether it is seen to need the network. The machine itself counts: what listens there is another program.
    pub network: bool,
    /// The machines it certainly talks to, without user and port, in the order of the text. With [`Self::network`] and
    /// none here it is not known which; there may be others besides these.
    pub hosts: Vec<String>,
    /// It is no whole command line: quotes, brackets or key words do not fit together. Then it is unknown too.
    pub broken: bool,
    /// Why it cannot be told what it does; empty if it can.
    pub unknown: Vec<String>,
    /// What `~` was taken for, so that [`Self::in_words`] can write it.
    pub home: Option<PathBuf>,
}

impl Analysis {
    /// Whether everything it does is told by the other fields.
    pub fn is_known(&self) -> bool {
        self.unknown.is_empty()
    }

    /// What is read or mentioned, without `.` and `..`.
    pub fn reads(&self) -> Vec<PathBuf> {
        self.paths(&[Touching::Read, Touching::Mention])
    }

    /// What is written, without `.` and `..`.
    pub fn writes(&self) -> Vec<PathBuf> {
        self.paths(&[Touching::Write])
    }

    /// The folders outside of `inside` that are touched, as far as the text tells: links are not followed. `is_dir`
    /// says whether a path is a folder; of what is none the folder above counts.
    pub fn outside(&self, inside: &[&Path], is_dir: &dyn Fn(&Path) -> bool) -> Vec<PathBuf> {
        let mut found = Vec::new();
        for touch in &self.touches {
            let path = normal(&touch.path);
            if inside.iter().any(|base| path.starts_with(base)) {
                continue;
            }
            let whole =
                is_dir(&path) && (touch.rest.is_empty() || touch.path.as_os_str().as_encoded_bytes().ends_with(b"/"));
            let folder = if whole { path } else { path.parent().map(Path::to_owned).unwrap_or(path) };
            if !found.contains(&folder) {
                found.push(folder);
            }
        }
        found
    }

    fn paths(&self, how: &[Touching]) -> Vec<PathBuf> {
        let mut paths: Vec<PathBuf> = Vec::new();
        for touch in self.touches.iter().filter(|touch| how.contains(&touch.how)) {
            let path = normal(&touch.path);
            if !paths.contains(&path) {
                paths.push(path);
            }
        }
        paths
    }
}
