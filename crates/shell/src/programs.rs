//! What is known of single programs.

pub(crate) mod archives;
pub(crate) mod builtins;
pub(crate) mod copies;
pub(crate) mod files;
pub(crate) mod find;
pub(crate) mod git;
pub(crate) mod hosts;
pub(crate) mod network;
pub(crate) mod options;
pub(crate) mod outputs;
pub(crate) mod runners;
pub(crate) mod scripts;
pub(crate) mod shells;
pub(crate) mod works;

use crate::analysis::Touching;
use crate::text::Arg;
use crate::walk::Walk;
use crate::word::short;

/// Whether anything here looks for a program of this name.
pub(crate) fn is_known(name: &str) -> bool {
    matches!(name, "cd" | "chdir" | "pushd" | "popd" | "git" | "find" | "sed" | "awk" | "make")
        || builtins::is_known(name)
        || shells::is_known(name)
        || scripts::is_known(name)
        || files::is_known(name)
        || outputs::is_known(name)
        || options::is_flexible(name)
}

/// Looks through the arguments of a program of which nothing is known: what looks like a path may be touched.
pub(crate) fn mention_all(walk: &mut Walk<'_>, args: &[Arg]) {
    let mut written = false;
    for arg in args {
        let before = walk.out.touches.len();
        mention(walk, arg);
        let known = arg.known().unwrap_or_default();
        let (attached, next) = names_output(&known);
        if std::mem::replace(&mut written, next) || attached {
            for touch in walk.out.touches.iter_mut().skip(before) {
                touch.how = Touching::Write;
            }
        }
        if let Some(rest) = known.strip_prefix("-o").filter(|rest| rest.contains('/')) {
            walk.touch_path(rest, Touching::Write);
        }
    }
}

/// Whether an option of a program of which nothing is known seems to name a file that it writes: in the same word, or
/// in the next.
fn names_output(text: &str) -> (bool, bool) {
    const LONG: [&str; 7] = ["--out", "--log-file", "--dump-header", "--cookie-jar", "--trace", "--save", "--write"];
    if text.starts_with("--") {
        let is = LONG.iter().any(|long| text.starts_with(long));
        return (is && text.contains('='), is && !text.contains('='));
    }
    // `-o x`, `-sSo x`
    let group = text.strip_prefix('-').filter(|rest| !rest.is_empty() && rest.chars().all(char::is_alphabetic));
    (false, group.is_some_and(|rest| rest.ends_with(['o', 'O'])))
}

/// Programs that are given messages, which may say anything.
pub(crate) const TALKERS: [&str; 7] = ["gh", "glab", "hub", "jj", "hg", "svn", "tea"];
/// Their options whose value is a message.
const MESSAGES: [&str; 9] = ["-m", "--message", "-b", "--body", "-t", "--title", "-n", "--notes", "--description"];

/// The same, without the messages.
pub(crate) fn mention_but_messages(walk: &mut Walk<'_>, args: &[Arg]) {
    let mut message = false;
    for arg in args {
        let known = arg.known().unwrap_or_default();
        let value = std::mem::replace(&mut message, MESSAGES.contains(&known.as_str()));
        let named = arg.start.split_once('=').is_some_and(|(name, _)| MESSAGES.contains(&name));
        if !((value || named) && arg.one) {
            mention(walk, arg);
        }
    }
}

/// The same for one argument.
pub(crate) fn mention(walk: &mut Walk<'_>, arg: &Arg) {
    if arg.dynamic {
        return walk.unknown(&format!("what {} becomes is not known before the run", short(&arg.raw)));
    }
    for text in &arg.texts {
        let glob = text.glob_at().is_some();
        let whole = text.string();
        if glob && !whole.starts_with('-') {
            walk.touch(&Arg { texts: vec![text.clone()], ..arg.clone() }, Touching::Mention);
            continue;
        }
        for path in paths(&whole) {
            walk.touch_path(path, Touching::Mention);
        }
    }
}

/// The parts of an argument that look like paths.
fn paths(text: &str) -> Vec<&str> {
    let value = match (text.strip_prefix("--"), text.strip_prefix('-')) {
        (Some(long), _) => long.split_once('=').map(|(_, value)| value),
        // `-I/usr/include`, `-C..`, `-d@.env`
        (None, Some(short)) => {
            let rest = short.char_indices().nth(1).map_or("", |(at, _)| &short[at..]);
            Some(rest.strip_prefix('=').unwrap_or(rest)).filter(|rest| rest.starts_with(['/', '~', '.', '@']))
        }
        (None, None) => Some(text),
    };
    let Some(value) = value else { return Vec::new() };
    let value = value.split_once('=').map_or(value, |(_, value)| value);
    let value = value.strip_prefix('@').unwrap_or(value);
    if let Some(file) = value.strip_prefix("file://") {
        return vec![file];
    }
    if value.contains("://") {
        return Vec::new();
    }
    let parts: Vec<&str> = if value.contains(":/") { value.split(':').collect() } else { vec![value] };
    parts.into_iter().filter(|part| part.starts_with(['/', '~', '.']) || part.contains(['/', '.'])).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_found_in_arguments() {
        let rows: &[(&str, &[&str])] = &[
            ("build", &[]),
            ("-v", &[]),
            ("--release", &[]),
            ("/etc/passwd", &["/etc/passwd"]),
            ("src/a", &["src/a"]),
            (".env", &[".env"]),
            ("a.rs", &["a.rs"]),
            ("--file=/etc/x", &["/etc/x"]),
            ("-I/usr/include", &["/usr/include"]),
            ("-C..", &[".."]),
            ("of=/tmp/x", &["/tmp/x"]),
            ("@/etc/x", &["/etc/x"]),
            ("https://a/b", &[]),
            ("/a:/b", &["/a", "/b"]),
            ("--set=a=/b", &["/b"]),
        ];
        for (text, want) in rows {
            assert_eq!(paths(text), *want, "{text}");
        }
    }
}
