//! Patterns over the names of files. Pure.

use std::path::Path;

use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};
use ignore::overrides::{Override, OverrideBuilder};

/// Longest pattern, in bytes.
pub(super) const MAX_PATTERN: usize = 4096;

/// A pattern that means nothing.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{pattern:?} is no pattern that can be searched for: {why}")]
pub struct BadPattern {
    /// The pattern, its beginning if it is long.
    pub pattern: String,
    /// What is wrong with it.
    pub why: String,
}

impl BadPattern {
    pub(super) fn new(pattern: &str, why: impl Into<String>) -> Self {
        const SHOWN: usize = 200;
        Self { pattern: pattern.chars().take(SHOWN).collect(), why: why.into() }
    }
}

/// Which files are wanted, by their names below a folder.
///
/// `*` and `?` stay within a name, `**` crosses folders, `{a,b}` and `[ab]` are choices. A pattern without a slash is
/// about the name alone, at any depth; one with a slash begins at the folder. A leading `!` means all others.
#[derive(Debug, Clone)]
pub struct Names {
    globs: Override,
}

impl Names {
    /// The files below `folder` that `pattern` names. It may begin with the path of the folder itself; nothing at all
    /// names every file.
    ///
    /// # Errors
    ///
    /// [`BadPattern`] for unclosed brackets and the like, and for what leads out of the folder.
    pub fn new(folder: &Path, pattern: &str) -> Result<Self, BadPattern> {
        let bad = |why: &str| BadPattern::new(pattern, why);
        if pattern.len() > MAX_PATTERN {
            return Err(bad("it is longer than 4096 bytes"));
        }
        let (not, bare) = match pattern.strip_prefix('!') {
            Some(rest) => ("!", rest),
            None => ("", pattern),
        };
        let below = folder.to_str().and_then(|folder| bare.strip_prefix(folder)).filter(|rest| rest.starts_with('/'));
        let bare = below.unwrap_or(bare);
        let bare = bare.strip_prefix("./").unwrap_or(bare);
        if bare.split('/').any(|name| name == "..") {
            return Err(bad("it leads out of the folder; name another folder as path instead"));
        }
        let mut builder = OverrideBuilder::new(folder);
        if !bare.is_empty() {
            // A folder means all that is in it, and a leading # is no comment here.
            let all = if bare.ends_with('/') { "**" } else { "" };
            let plain = if not.is_empty() && bare.starts_with('#') { "\\" } else { "" };
            builder.add(&format!("{not}{plain}{bare}{all}")).map_err(|error| bad(&why(&error)))?;
        }
        let globs = builder.build().map_err(|error| bad(&why(&error)))?;
        Ok(Self { globs })
    }

    /// Whether the file at `path` is one of them.
    pub(super) fn take(&self, path: &Path) -> bool {
        match self.globs.matched(path, false) {
            Match::Whitelist(_) => true,
            Match::Ignore(_) => false,
            Match::None => self.globs.num_whitelists() == 0,
        }
    }
}

/// What the library says of a glob, without the glob.
fn why(error: &ignore::Error) -> String {
    match error {
        ignore::Error::Glob { err, .. } => err.clone(),
        other => other.to_string(),
    }
}

/// What is left out below `folder`: patterns as `.gitignore` has them.
///
/// # Errors
///
/// [`BadPattern`].
pub(super) fn left_out(folder: &Path, patterns: &[String]) -> Result<Gitignore, BadPattern> {
    let mut builder = GitignoreBuilder::new(folder);
    for pattern in patterns {
        let bad = |error: ignore::Error| BadPattern::new(pattern, why(&error));
        if pattern.len() > MAX_PATTERN {
            return Err(BadPattern::new(pattern, "it is longer than 4096 bytes"));
        }
        builder.add_line(None, pattern).map_err(bad)?;
    }
    builder.build().map_err(|error| BadPattern::new(&patterns.join(" "), why(&error)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(pattern: &str, taken: &[&str], not: &[&str]) {
        let names = Names::new(Path::new("/p"), pattern).unwrap();
        for (paths, want) in [(taken, true), (not, false)] {
            for path in paths {
                assert_eq!(names.take(&Path::new("/p").join(path)), want, "{pattern:?} on {path:?}");
            }
        }
    }

    #[test]
    fn a_name_is_meant_at_any_depth_and_a_path_from_the_folder_on() {
        check("*.md", &["a.md", "x/y/a.md"], &["a.mdx", "md"]);
        check("src/*", &["src/a"], &["src/x/a", "x/src/a", "src"]);
        check("src/**", &["src/a", "src/x/a"], &["x/src/a"]);
        check("**/*.ts", &["a.ts", "x/y/b.ts"], &["a.tsx"]);
        check("/a", &["a"], &["x/a"]);
        check("./src/*.rs", &["src/a.rs"], &["x/src/a.rs"]);
        check("src/", &["src/a", "src/x/a"], &["a"]);
        check("", &["a", "x/.y"], &[]);
    }

    #[test]
    fn choices_classes_and_the_path_of_the_folder() {
        check("*.{md,py}", &["a.md", "x/a.py"], &["a.rs"]);
        check("[ab].rs", &["a.rs", "b.rs"], &["c.rs"]);
        check("a?c", &["abc"], &["ac", "a/c"]);
        check("/p/src/*", &["src/a"], &["a"]);
        check("/pother/*", &[], &["other/a", "a"]);
        check("#a", &[], &["b"]);
    }

    #[test]
    fn all_others() {
        check("!*.md", &["a.rs", "x/b"], &["a.md", "x/a.md"]);
        check("!", &["a"], &[]);
    }

    #[test]
    fn what_means_nothing_is_refused_with_a_reason() {
        let row = |pattern: &str, want: &str| {
            let error = Names::new(Path::new("/p"), pattern).unwrap_err().to_string();
            assert!(error.contains(want), "{error}");
        };
        row("[", "unclosed character class");
        row("{a", "unclosed alternate");
        row("../x", "leads out of the folder");
        row("a/../../x", "leads out of the folder");
        row(&"a".repeat(MAX_PATTERN + 1), "longer than 4096 bytes");
        assert!(Names::new(Path::new("/p"), &"a".repeat(MAX_PATTERN)).is_ok());
        assert!(left_out(Path::new("/p"), &["[".to_owned()]).is_ok());
        assert!(left_out(Path::new("/p"), &["{a".to_owned()]).is_err());
    }
}
