//! Patterns over the names of files. Pure.

use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};
use ignore::overrides::{Override, OverrideBuilder};

use super::bad::BadPattern;

/// Longest pattern, in bytes.
pub(super) const MAX_PATTERN: usize = 4096;

/// Which files are wanted, by their names below a folder.
///
/// `*` and `?` stay within a name, `**` crosses folders, `{a,b}` and `[ab]` are choices. A pattern without a slash is
/// about the name alone, at any depth; one with a slash begins at the folder. A leading `!` means all others. A
/// backslash takes the meaning off the sign behind it.
#[derive(Debug, Clone)]
pub struct Names {
    globs: Override,
    /// How the path of each of them must end in one of these ways: far cheaper to look at than the patterns. Empty
    /// where nothing of the kind can be said.
    tails: Vec<String>,
}

impl Names {
    /// The files below `folder` that `pattern` names. It may begin with the path of the folder itself; nothing at all
    /// names every file.
    ///
    /// # Errors
    ///
    /// [`BadPattern`] for unclosed brackets and the like, and for what leads out of the folder.
    pub fn new(folder: &Path, pattern: &str) -> Result<Self, BadPattern> {
        Self::of(folder, pattern, &[pattern])
    }

    /// The files below `folder` that one of the patterns in `list` names, which commas separate; of those with a
    /// leading `!` none. The last one that speaks of a file counts.
    ///
    /// # Errors
    ///
    /// Those of [`Names::new`].
    pub fn list(folder: &Path, list: &str) -> Result<Self, BadPattern> {
        Self::of(folder, list, &split(list))
    }

    fn of(folder: &Path, whole: &str, patterns: &[&str]) -> Result<Self, BadPattern> {
        if whole.len() > MAX_PATTERN {
            return Err(BadPattern::new(whole, "it is longer than 4096 bytes"));
        }
        let mut builder = OverrideBuilder::new(folder);
        for pattern in patterns {
            if let Some(glob) = glob(folder, pattern)? {
                builder.add(&glob).map_err(|error| bad(pattern, &error))?;
            }
        }
        let globs = builder.build().map_err(|error| bad(whole, &error))?;
        let tails: Option<Vec<String>> = patterns.iter().map(|pattern| tail(pattern)).collect();
        Ok(Self { globs, tails: tails.unwrap_or_default() })
    }

    /// Whether the file at `path` is one of them.
    pub(super) fn take(&self, path: &Path) -> bool {
        let bytes = path.as_os_str().as_bytes();
        if !self.tails.is_empty() && !self.tails.iter().any(|tail| bytes.ends_with(tail.as_bytes())) {
            return false;
        }
        match self.globs.matched(path, false) {
            Match::Whitelist(_) => true,
            Match::Ignore(_) => false,
            Match::None => self.globs.num_whitelists() == 0,
        }
    }
}

/// `pattern` as the library takes it; `None` where it names every file.
fn glob(folder: &Path, pattern: &str) -> Result<Option<String>, BadPattern> {
    let (not, bare) = match pattern.strip_prefix('!') {
        Some(rest) => ("!", rest),
        None => ("", pattern),
    };
    let below = folder.to_str().and_then(|folder| bare.strip_prefix(folder)).filter(|rest| rest.starts_with('/'));
    let bare = below.unwrap_or(bare);
    let bare = bare.strip_prefix("./").unwrap_or(bare);
    if bare.split('/').any(|name| name == "..") {
        let at = pattern.find("..").unwrap_or(0);
        return Err(
            BadPattern::at(pattern, at, "it leads out of the folder").advise("Name another folder as path instead")
        );
    }
    if bare.is_empty() {
        return Ok(None);
    }
    // A folder means all that is in it, and a leading # is no comment here.
    let all = if bare.ends_with('/') { "**" } else { "" };
    let plain = if not.is_empty() && bare.starts_with('#') { "\\" } else { "" };
    Ok(Some(format!("{not}{plain}{bare}{all}")))
}

/// What the path of every file that `pattern` names ends with; `None` where that may be anything.
fn tail(pattern: &str) -> Option<String> {
    // The library leaves out blanks at the end.
    let pattern = pattern.trim_end();
    let tail = pattern.rsplit(['*', '?', '[', ']', '{', '}', '\\', '/', '!']).next()?;
    let plain = !pattern.starts_with('!') && !tail.is_empty();
    plain.then(|| tail.to_owned())
}

/// The patterns in a list. Commas in braces and brackets, and those behind a backslash, belong to a pattern.
fn split(list: &str) -> Vec<&str> {
    let (mut parts, mut start) = (Vec::new(), 0);
    let (mut braces, mut class, mut plain) = (0_usize, false, false);
    for (at, c) in list.char_indices() {
        match c {
            _ if plain => plain = false,
            '\\' => plain = true,
            '[' if !class => class = true,
            ']' => class = false,
            '{' if !class => braces += 1,
            '}' if !class => braces = braces.saturating_sub(1),
            ',' if !class && braces == 0 => parts.push(&list[std::mem::replace(&mut start, at + 1)..at]),
            _ => {}
        }
    }
    parts.push(&list[start..]);
    parts.into_iter().map(str::trim).filter(|part| !part.is_empty()).collect()
}

/// What the library says of a glob, with the place.
fn bad(pattern: &str, error: &ignore::Error) -> BadPattern {
    let why = match error {
        ignore::Error::Glob { err, .. } => err.clone(),
        other => other.to_string(),
    };
    match place(pattern) {
        Some(at) => BadPattern::at(pattern, at, why).advise("A backslash before [ ] { } * ? means the sign itself"),
        None => BadPattern::new(pattern, why),
    }
}

/// Where in a glob that means nothing a bracket is left open or closes nothing, in bytes; the library does not say.
fn place(pattern: &str) -> Option<usize> {
    let mut braces = Vec::new();
    let mut chars = pattern.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        match c {
            // One at the end leaves nothing that it could be about.
            '\\' if chars.next().is_none() => return Some(at),
            '{' => braces.push(at),
            '}' if braces.pop().is_none() => return Some(at),
            '[' => {
                // The first sign of a class belongs to it, also a closing bracket.
                chars.next_if(|(_, c)| matches!(c, '!' | '^'));
                let (mut first, mut before) = (true, None);
                loop {
                    let Some((_, c)) = chars.next() else { return Some(at) };
                    if c == ']' && !first {
                        break;
                    }
                    if c == '-'
                        && let (Some(low), Some((_, high))) = (before, chars.peek().copied())
                        && high != ']'
                        && low > high
                    {
                        return Some(at);
                    }
                    (first, before) = (false, Some(c));
                }
            }
            _ => {}
        }
    }
    braces.first().copied()
}

/// What is left out below `folder`: patterns as `.gitignore` has them.
///
/// # Errors
///
/// [`BadPattern`].
pub(super) fn left_out(folder: &Path, patterns: &[String]) -> Result<Gitignore, BadPattern> {
    let mut builder = GitignoreBuilder::new(folder);
    for pattern in patterns {
        if pattern.len() > MAX_PATTERN {
            return Err(BadPattern::new(pattern, "it is longer than 4096 bytes"));
        }
        builder.add_line(None, pattern).map_err(|error| bad(pattern, &error))?;
    }
    builder.build().map_err(|error| BadPattern::new(&patterns.join(" "), error.to_string()))
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
    fn the_end_of_a_path_tells_most_that_are_not_meant() {
        let row = |pattern: &str, want: Option<&str>| assert_eq!(tail(pattern).as_deref(), want, "{pattern:?}");
        row("**/*_x.toml", Some("_x.toml"));
        row("*.rs ", Some(".rs"));
        row("src/main.rs", Some("main.rs"));
        row("a\\.b", Some(".b"));
        for pattern in ["", "*", "src/", "*.{a,b}", "a?", "[ab]", "!*.rs", "a/**"] {
            row(pattern, None);
        }
        check("*.rs ", &["a.rs"], &["a.rs.txt"]);
        check_list("*.rs,Makefile", &["a.rs", "x/Makefile"], &["xMakefile", "a"]);
        check_list("*.rs,src/**", &["a.rs", "src/b"], &["c"]);
    }

    #[test]
    fn a_backslash_means_the_sign_itself() {
        check(r"app/\[id\]/*.ts", &["app/[id]/a.ts"], &["app/i/a.ts"]);
        check("app/[id]/*.ts", &["app/i/a.ts"], &["app/[id]/a.ts"]);
    }

    #[track_caller]
    fn check_list(list: &str, taken: &[&str], not: &[&str]) {
        let names = Names::list(Path::new("/p"), list).unwrap();
        for (paths, want) in [(taken, true), (not, false)] {
            for path in paths {
                assert_eq!(names.take(&Path::new("/p").join(path)), want, "{list:?} on {path:?}");
            }
        }
    }

    #[test]
    fn a_list_names_what_one_of_its_patterns_does() {
        check_list("*.ts,*.tsx", &["a.ts", "x/b.tsx"], &["a.rs"]);
        check_list("*.{ts,tsx} , src/*", &["a.ts", "src/a"], &["a.rs"]);
        check_list("*.ts,!*.d.ts", &["a.ts"], &["a.d.ts", "b.rs"]);
        check_list("!*.md, !*.txt", &["a.rs"], &["a.md", "b.txt"]);
        check_list("[,a].rs,", &["a.rs", ",.rs"], &["b.rs"]);
        check_list("a\\,b", &["a,b"], &["a", "b"]);
        check_list(" , ", &["a"], &[]);
    }

    #[test]
    fn what_means_nothing_is_refused_with_place_and_reason() {
        let row = |pattern: &str, at: Option<usize>, want: &str| {
            let error = Names::new(Path::new("/p"), pattern).unwrap_err();
            assert_eq!(error.at, at, "{pattern}");
            assert!(error.to_string().contains(want), "{error}");
        };
        row("[", Some(1), "unclosed character class");
        row("src/[ab", Some(5), "A backslash before [");
        row("src/[]", Some(5), "unclosed character class");
        row("a{b{c}", Some(2), "unclosed alternate");
        row("é{a", Some(2), "unclosed alternate");
        row("a}", Some(2), "unopened alternate");
        row("x[z-a]", Some(2), "invalid range");
        row("../x", Some(1), "leads out of the folder");
        row("a/../../x", Some(3), "Name another folder as path");
        row(&"a".repeat(MAX_PATTERN + 1), None, "longer than 4096 bytes");
        assert!(Names::new(Path::new("/p"), &"a".repeat(MAX_PATTERN)).is_ok());
        assert!(left_out(Path::new("/p"), &["[".to_owned()]).is_ok());
        assert_eq!(left_out(Path::new("/p"), &["x{a".to_owned()]).unwrap_err().at, Some(2));
        let error = Names::list(Path::new("/p"), "*.rs, x{a").unwrap_err();
        assert_eq!((error.pattern.as_str(), error.at), ("x{a", Some(2)));
    }
}
