//! Which names are protected, and which folders are looked into. Pure.

use std::borrow::Cow;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path};

use super::lists::{ANYWHERE, MADE, PACKAGES};

/// What kind of folder a name stands in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ground {
    /// Any.
    Plain,
    /// One in which git keeps a repository, or what belongs to one work tree of it.
    Git,
    /// `info` of such a one.
    Info,
    /// `modules` of such a one, or a folder there that is no repository itself.
    Modules,
    /// `worktrees` of such a one.
    Worktrees,
    /// `rebase-merge` of such a one.
    Rebase,
    /// One for what package managers fetch. Nobody opens those folders in an editor, and packages bring their authors'
    /// editor settings along; repositories count here as everywhere.
    Packages,
}

/// What is protected about it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    /// All of it.
    Settings,
    /// A folder of programs that git runs.
    Hooks,
    /// A repository's settings: some of them run programs, some do not.
    Config,
    /// Says where git keeps a repository, or its common part.
    Pointer,
    /// What is left to do of a rebase, where some lines run programs.
    Todo,
}

/// What is done about a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    Protected(Kind),
    /// A folder that is looked into.
    Into(Ground),
    /// Nothing.
    Passed,
}

/// What is done about the thing called `name` in a folder of the kind `ground`. Large and small letters are the same, as
/// they are on many disks.
pub(super) fn judge(ground: Ground, name: &[u8], folder: bool) -> Verdict {
    let into = |ground| if folder { Verdict::Into(ground) } else { Verdict::Passed };
    match ground {
        Ground::Plain => plain(name, folder),
        Ground::Packages => match &*small(name) {
            b".git" | b"git~1" => git(folder),
            _ => into(Ground::Packages),
        },
        Ground::Git => match &*small(name) {
            b"hooks" => Verdict::Protected(Kind::Hooks),
            b"config" | b"config.worktree" => Verdict::Protected(Kind::Config),
            b"commondir" => Verdict::Protected(Kind::Pointer),
            b"modules" => into(Ground::Modules),
            b"worktrees" => into(Ground::Worktrees),
            b"info" => into(Ground::Info),
            b"rebase-merge" => into(Ground::Rebase),
            // Many, and git reads nothing but data there.
            b"objects" | b"refs" | b"logs" | b"lfs" => Verdict::Passed,
            _ => into(Ground::Plain),
        },
        Ground::Info if *small(name) == *b"attributes" => Verdict::Protected(Kind::Settings),
        Ground::Rebase if *small(name) == *b"git-rebase-todo" => Verdict::Protected(Kind::Todo),
        Ground::Info | Ground::Rebase => Verdict::Passed,
        Ground::Modules => into(Ground::Modules),
        Ground::Worktrees => into(Ground::Git),
    }
}

fn plain(name: &[u8], folder: bool) -> Verdict {
    let passed = match folder {
        true if has(&PACKAGES, name) => return Verdict::Into(Ground::Packages),
        true => Verdict::Into(Ground::Plain),
        false => Verdict::Passed,
    };
    // Nearly all names end here.
    let first = name.first().copied().unwrap_or_default();
    let special = matches!(first, b'.' | b'_' | b'g' | b'G' | b'h' | b'H' | b'o' | b'O' | b'm' | b'M' | b'c' | b'C');
    if !special && first.is_ascii() && name.last() != Some(&b'e') && name.last() != Some(&b'E') {
        return passed;
    }
    let name = small(name);
    match &*name {
        // The second is what it is called on some of Windows' disks.
        b".git" | b"git~1" => git(folder),
        name if has(&ANYWHERE, name) => Verdict::Protected(Kind::Settings),
        name if name.starts_with(b"haft.json") || name.starts_with(b"opencode.json") => {
            Verdict::Protected(Kind::Settings)
        }
        name if name.ends_with(b".code-workspace") => Verdict::Protected(Kind::Settings),
        _ => passed,
    }
}

fn git(folder: bool) -> Verdict {
    if folder { Verdict::Into(Ground::Git) } else { Verdict::Protected(Kind::Pointer) }
}

fn has(list: &[&str], name: &[u8]) -> bool {
    list.iter().any(|known| known.as_bytes().eq_ignore_ascii_case(name))
}

/// Whether `path`, relative to a root, lies in a folder that is removed and made again as a whole, as everyday work does:
/// it must not be in the way of that.
pub(super) fn passes(path: &Path) -> bool {
    let above = path.parent().into_iter().flat_map(Path::components);
    above.into_iter().any(|name| {
        let name = name.as_os_str().as_bytes();
        has(&PACKAGES, name) || has(&MADE, name)
    })
}

/// The name as a disk compares it that knows neither capitals nor, as those of Macs, signs without a width.
fn small(name: &[u8]) -> Cow<'_, [u8]> {
    if name.is_ascii() {
        return if name.iter().any(u8::is_ascii_uppercase) { name.to_ascii_lowercase().into() } else { name.into() };
    }
    let Ok(text) = std::str::from_utf8(name) else { return name.into() };
    let unseen = |sign: &char| matches!(sign, '\u{200c}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{206a}'..='\u{206f}' | '\u{feff}');
    let seen = text.chars().filter(|sign| !unseen(sign));
    // By way of capitals, because a long s has no other small letter.
    let small: String = seen.flat_map(char::to_uppercase).flat_map(char::to_lowercase).collect();
    small.into_bytes().into()
}

/// Which of the names that make a folder a repository are in it.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Marks {
    head: bool,
    objects: bool,
    refs: bool,
    common: bool,
}

impl Marks {
    pub(super) fn note(&mut self, name: &[u8]) {
        match name.len() {
            4 if name.eq_ignore_ascii_case(b"head") => self.head = true,
            4 if name.eq_ignore_ascii_case(b"refs") => self.refs = true,
            7 if name.eq_ignore_ascii_case(b"objects") => self.objects = true,
            9 if name.eq_ignore_ascii_case(b"commondir") => self.common = true,
            _ => {}
        }
    }

    /// Whether git would take the folder for a repository, whatever it is called.
    pub(super) fn is_repository(self) -> bool {
        self.head && (self.common || (self.objects && self.refs))
    }
}

/// What is done about the folder at `path`, which leave was given for, as far as the names in it tell.
pub(super) fn at(path: &Path) -> Verdict {
    let names = path.components().filter_map(|component| match component {
        Component::Normal(name) => Some(name),
        Component::Prefix(_) | Component::RootDir | Component::CurDir | Component::ParentDir => None,
    });
    let mut verdict = Verdict::Into(Ground::Plain);
    for name in names {
        match verdict {
            Verdict::Into(ground) => verdict = judge(ground, OsStr::as_bytes(name), true),
            // What is below is of the same kind.
            Verdict::Protected(_) | Verdict::Passed => return verdict,
        }
    }
    // Whoever works on a package works on a project.
    if verdict == Verdict::Into(Ground::Packages) { Verdict::Into(Ground::Plain) } else { verdict }
}

#[cfg(test)]
mod tests {
    use super::super::lists::AT_HOME;
    use super::*;

    /// What is done about a file at `path`, or a folder if it ends in a slash.
    fn verdict(path: &str) -> Verdict {
        let folder = path.ends_with('/');
        let path = Path::new(path.trim_end_matches('/'));
        let name = path.file_name().unwrap().as_bytes();
        let mut above = Verdict::Into(Ground::Plain);
        for name in path.parent().unwrap().components() {
            if let Verdict::Into(ground) = above {
                above = judge(ground, name.as_os_str().as_bytes(), true);
            }
        }
        match above {
            Verdict::Into(ground) => judge(ground, name, folder),
            above => above,
        }
    }

    #[track_caller]
    fn check(paths: &[&str], want: Verdict) {
        for path in paths {
            assert_eq!(verdict(path), want, "{path}");
        }
    }

    #[test]
    fn what_git_runs_or_follows_is_protected_at_any_depth() {
        let tops = ["", "sub/", "a/b/c/", "target/x/", "node_modules/y/", ".git/strange/"];
        for top in tops {
            let row = |below: &str, kind| assert_eq!(verdict(&format!("{top}{below}")), Verdict::Protected(kind));
            row(".git", Kind::Pointer);
            row(".git/config", Kind::Config);
            row(".git/config.worktree", Kind::Config);
            row(".git/hooks", Kind::Hooks);
            row(".git/hooks/pre-commit", Kind::Hooks);
            row(".git/commondir", Kind::Pointer);
            row(".git/info/attributes", Kind::Settings);
            row(".git/rebase-merge/git-rebase-todo", Kind::Todo);
            row(".git/worktrees/side/config.worktree", Kind::Config);
            row(".git/worktrees/side/commondir", Kind::Pointer);
        }
    }

    #[test]
    fn capitals_and_signs_without_a_width_make_no_difference() {
        check(&[".GIT/Config", ".Git/CONFIG", "git~1/config", "GIT~1/config"], Verdict::Protected(Kind::Config));
        check(&[".g\u{200c}it/config", "\u{feff}.git/con\u{200d}fig"], Verdict::Protected(Kind::Config));
        check(&[".VSCode/", ".v\u{17f}code/", ".HAFT/x", "OpenCode.JSONC"], Verdict::Protected(Kind::Settings));
        check(&[".\u{212a}iro/", "\u{200c}haft.json"], Verdict::Protected(Kind::Settings));
        assert_eq!(judge(Ground::Plain, b".git\xff", true), Verdict::Into(Ground::Plain));
    }

    #[test]
    fn settings_of_programs_that_run_things_are_protected() {
        check(
            &[".haft/", ".haft/agent/x.md", ".opencode/tool/x.ts", "sub/haft.json"],
            Verdict::Protected(Kind::Settings),
        );
        check(
            &["opencode.json", "opencode.jsonc", "haft.jsonc", "x.code-workspace"],
            Verdict::Protected(Kind::Settings),
        );
        check(&[".vscode/tasks.json", ".idea/", ".zed/", ".envrc", "a/.envrc"], Verdict::Protected(Kind::Settings));
        check(&[".claude/", ".mcp.json", ".codex/", ".cursor/", ".gemini/"], Verdict::Protected(Kind::Settings));
        check(&[".bashrc", "dotfiles/.zshrc", ".profile", ".gitconfig"], Verdict::Protected(Kind::Settings));
        check(&[".husky/pre-commit", "mise.toml", ".exrc", ".dir-locals.el"], Verdict::Protected(Kind::Settings));
    }

    #[test]
    fn every_name_of_the_lists_is_written_small_and_found() {
        for name in ANYWHERE {
            assert_eq!(name, name.to_lowercase());
            assert_eq!(judge(Ground::Plain, name.as_bytes(), false), Verdict::Protected(Kind::Settings), "{name}");
        }
        assert!(AT_HOME.iter().all(|path| Path::new(path).is_relative() && !path.ends_with('/')));
    }

    #[test]
    fn the_rest_is_free() {
        let free = [
            "src/main.rs",
            ".gitignore",
            ".gitattributes",
            ".gitmodules",
            ".github/workflows/ci.yml",
            "Makefile",
            "package.json",
            ".env",
            ".editorconfig",
            "config",
            "hooks/pre-commit",
            "git/hooks/x",
            "haft/config",
            "code-workspace.md",
        ];
        check(&free, Verdict::Passed);
        check(&[".git/HEAD", ".git/index", ".git/ORIG_HEAD", ".git/packed-refs"], Verdict::Passed);
        check(&[".git/objects/", ".git/refs/", ".git/logs/", ".git/info/exclude"], Verdict::Passed);
        check(&["src/", ".config/", ".git/strange/"], Verdict::Into(Ground::Plain));
        check(&[".git/rebase-merge/done", ".git/rebase-merge/x/"], Verdict::Passed);
        check(&[".git/modules/", ".git/modules/a/b/"], Verdict::Into(Ground::Modules));
        check(&[".git/", "x/.git/", ".git/worktrees/side/"], Verdict::Into(Ground::Git));
    }

    #[test]
    fn in_packages_only_repositories_count() {
        check(&["node_modules/x/.git/config", "a/vendor/y/.git/config"], Verdict::Protected(Kind::Config));
        check(&["node_modules/x/.git", ".venv/.git"], Verdict::Protected(Kind::Pointer));
        check(&["node_modules/x/.vscode/"], Verdict::Into(Ground::Packages));
        check(&["node_modules/x/.envrc", "Node_Modules/.bashrc"], Verdict::Passed);
        assert!(passes(Path::new("target/x/.git/config")) && passes(Path::new("p/node_modules/.git")));
        assert!(!passes(Path::new("src/.git/config")) && !passes(Path::new("p/target")));
    }

    #[test]
    fn a_root_is_what_its_names_say() {
        let row = |path: &str, want| assert_eq!(at(Path::new(path)), want, "{path}");
        row("/home/u/p", Verdict::Into(Ground::Plain));
        row("/home/u/p/node_modules/x", Verdict::Into(Ground::Plain));
        row("/home/u/p/.git", Verdict::Into(Ground::Git));
        row("/home/u/p/.git/worktrees/x", Verdict::Into(Ground::Git));
        row("/home/u/p/.git/hooks", Verdict::Protected(Kind::Hooks));
        row("/home/u/p/.vscode/x", Verdict::Protected(Kind::Settings));
        row("/home/u/p/.git/objects", Verdict::Passed);
    }

    #[test]
    fn a_repository_is_known_by_what_is_in_it() {
        let row = |names: &[&str], want| {
            let mut marks = Marks::default();
            names.iter().for_each(|name| marks.note(name.as_bytes()));
            assert_eq!(marks.is_repository(), want, "{names:?}");
        };
        row(&["HEAD", "objects", "refs"], true);
        row(&["head", "OBJECTS", "refs", "config"], true);
        row(&["HEAD", "commondir"], true);
        row(&["HEAD", "objects"], false);
        row(&["objects", "refs"], false);
    }
}
