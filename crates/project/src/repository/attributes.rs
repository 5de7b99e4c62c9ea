//! Which files a repository keeps other than they are in the work tree: converted by a filter, or to other line ends.
//!
//! It says yes where it is not sure: then the file itself is kept.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use ignore::gitignore::{Gitignore, GitignoreBuilder};

use crate::place::pointer;

/// Most files with attributes that are read of one repository. With more, all its files count as converted.
const MAX_FILES: usize = 1000;
/// What stands in a line that converts files. `text` and `eol` alone turn line ends, which changes the size; a content that
/// has another size than the file had is not taken for it.
const CONVERTS: [&str; 5] = ["filter", "working-tree-encoding", "ident", "eol=crlf", "crlf"];

/// The patterns of what is converted.
#[derive(Debug)]
pub(super) struct Attributes {
    all: bool,
    patterns: Option<Gitignore>,
}

impl Attributes {
    /// Reads those of the work tree `top`, whose `.gitattributes` are `files`, and of its `repository`.
    pub(super) fn read<'a>(top: &Path, repository: &Path, files: impl Iterator<Item = &'a [u8]>) -> Self {
        let mut builder = GitignoreBuilder::new("");
        let mut all = says_autocrlf(repository);
        let mut add = |base: &Path, text: &str| {
            for line in text.lines() {
                let line = line.trim();
                let Some((pattern, attributes)) = line.split_once(char::is_whitespace) else { continue };
                let converts = |attribute: &str| {
                    !attribute.starts_with(['-', '!']) && CONVERTS.iter().any(|name| attribute.starts_with(name))
                };
                if line.starts_with('#') || !attributes.split_whitespace().any(converts) {
                    continue;
                }
                // What is quoted, or the name of a set of attributes, is not looked into.
                if pattern.starts_with(['"', '[']) {
                    all = true;
                    continue;
                }
                let base = base.to_str().map(|base| base.trim_matches('/')).unwrap_or_default();
                let anchored = pattern.trim_end_matches('/').contains('/');
                let whole = match (base.is_empty(), anchored) {
                    (true, _) => pattern.to_owned(),
                    (false, true) => format!("/{base}/{}", pattern.trim_start_matches('/')),
                    (false, false) => format!("/{base}/**/{pattern}"),
                };
                all |= builder.add_line(None, &whole).is_err();
            }
        };
        let mut count = 0;
        for name in files {
            count += 1;
            let name = Path::new(OsStr::from_bytes(name));
            if count > MAX_FILES {
                break;
            }
            match pointer(&top.join(name)) {
                Some(text) => add(name.parent().unwrap_or(Path::new("")), &text),
                None => add(Path::new(""), "* filter"),
            }
        }
        // One that is not tracked yet.
        let own = [top.join(".gitattributes"), repository.join("info/attributes")];
        let users = homes().map(|home| home.join("git/attributes"));
        for text in own.into_iter().chain(users).filter_map(|path| pointer(&path)) {
            add(Path::new(""), &text);
        }
        let patterns = builder.build().ok();
        let all = all || count > MAX_FILES || patterns.is_none();
        // Most repositories have none, and every file of a tree is asked for.
        Self { all, patterns: patterns.filter(|patterns| !patterns.is_empty()) }
    }

    /// Whether the file, relative to the top of the work tree, may be kept other than it is.
    pub(super) fn changes(&self, path: &Path) -> bool {
        self.all
            || self
                .patterns
                .as_ref()
                .is_some_and(|patterns| patterns.matched_path_or_any_parents(path, false).is_ignore())
    }
}

/// Whether line ends are converted everywhere.
fn says_autocrlf(repository: &Path) -> bool {
    let home = std::env::home_dir().map(|home| home.join(".gitconfig"));
    let users = homes().map(|home| home.join("git/config"));
    let files = [repository.join("config"), PathBuf::from("/etc/gitconfig")].into_iter().chain(home).chain(users);
    files.filter_map(|path| pointer(&path)).any(|text| {
        text.to_ascii_lowercase()
            .lines()
            .filter_map(|line| {
                line.trim().strip_prefix("autocrlf").map(|value| value.trim_start_matches(['=', ' ', '\t']).to_owned())
            })
            .any(|value| !matches!(value.trim(), "false" | "no" | "off" | "0"))
    })
}

/// The folders of the user's settings.
fn homes() -> impl Iterator<Item = PathBuf> {
    let named = std::env::var_os("XDG_CONFIG_HOME").map(PathBuf::from);
    named.or_else(|| Some(std::env::home_dir()?.join(".config"))).into_iter()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_filter_touches_is_converted() {
        let folder = tempfile::tempdir().unwrap();
        let top = folder.path();
        std::fs::create_dir_all(top.join("sub/deep")).unwrap();
        std::fs::create_dir_all(top.join(".git")).unwrap();
        std::fs::write(
            top.join(".gitattributes"),
            "* text=auto\n*.bin filter=lfs diff=lfs -text\n# *.c filter=x\n/top.txt eol=crlf\n*.no -filter\n",
        )
        .unwrap();
        std::fs::write(top.join("sub/.gitattributes"), "*.enc working-tree-encoding=UTF-16\n").unwrap();
        let files = [&b".gitattributes"[..], b"sub/.gitattributes"];
        let attributes = Attributes::read(top, &top.join(".git"), files.into_iter());
        let row = |path: &str, want: bool| assert_eq!(attributes.changes(Path::new(path)), want, "{path}");
        row("a.bin", true);
        row("x/y/a.bin", true);
        row("a.c", false);
        row("top.txt", true);
        row("x/top.txt", false);
        row("a.no", false);
        row("sub/a.enc", true);
        row("sub/deep/a.enc", true);
        row("a.enc", false);
        std::fs::write(top.join(".git/config"), "[core]\n\tautocrlf = input\n").unwrap();
        assert!(Attributes::read(top, &top.join(".git"), std::iter::empty()).changes(Path::new("a.c")));
    }
}
