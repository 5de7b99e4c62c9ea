//! `git`: its works, and the ways in which it runs other programs.

use crate::analysis::Touching;
use crate::judge::Command;
use crate::programs::options::is_abbreviation;
use crate::text::Arg;
use crate::walk::Walk;
use crate::word::short;

/// Settings that only change what is shown, or who is named.
const HARMLESS: [&str; 8] = [
    "user.name",
    "user.email",
    "color.ui",
    "core.quotepath",
    "core.autocrlf",
    "advice.detachedhead",
    "init.defaultbranch",
    "commit.gpgsign",
];
/// Options, with the works they belong to, that run a program, or name one that the other side runs.
const RUNNERS: [(&str, &[&str]); 7] = [
    ("--upload-pack", &["fetch", "pull", "clone", "ls-remote", "fetch-pack", "archive"]),
    ("--receive-pack", &["push", "send-pack"]),
    ("--exec", &["push", "archive", "send-pack", "fetch-pack"]),
    ("--extcmd", &["difftool"]),
    ("--open-files-in-pager", &["grep"]),
    ("--ext-diff", &["diff", "log", "show"]),
    ("--textconv", &["diff", "log", "show", "cat-file"]),
];
/// Works that do more than can be told from their arguments.
const DARK: [&str; 27] = [
    "filter-branch",
    "difftool",
    "mergetool",
    "instaweb",
    "daemon",
    "send-email",
    "credential",
    "fast-import",
    "upload-pack",
    "gui",
    "citool",
    "hook",
    "shell",
    "web--browse",
    "remote-ext",
    "remote-fd",
    "credential-store",
    "credential-cache",
    "cvsserver",
    "http-backend",
    "imap-send",
    "fsmonitor--daemon",
    "for-each-repo",
    "p4",
    "svn",
    "archimport",
    "cvsimport",
];
/// Works that write what their options and arguments name.
const WRITERS: [&str; 20] = [
    "checkout",
    "restore",
    "rm",
    "mv",
    "clean",
    "clone",
    "init",
    "worktree",
    "submodule",
    "bundle",
    "merge-file",
    "checkout-index",
    "interpret-trailers",
    "mailinfo",
    "mailsplit",
    "bugreport",
    "diagnose",
    "index-pack",
    "pack-objects",
    "read-tree",
];
/// Works that change nothing in the repository or the folder that they work on.
const READERS: [&str; 36] = [
    "status",
    "log",
    "diff",
    "show",
    "rev-parse",
    "rev-list",
    "ls-files",
    "ls-tree",
    "ls-remote",
    "blame",
    "annotate",
    "grep",
    "describe",
    "cat-file",
    "shortlog",
    "reflog",
    "for-each-ref",
    "show-ref",
    "name-rev",
    "merge-base",
    "cherry",
    "count-objects",
    "check-ignore",
    "check-attr",
    "diff-tree",
    "diff-files",
    "diff-index",
    "whatchanged",
    "var",
    "version",
    "help",
    "range-diff",
    "fsck",
    "verify-commit",
    "verify-tag",
    "archive",
];
/// Works of which every word behind the options is a path that is written.
const PATHS: [&str; 4] = ["restore", "rm", "mv", "clean"];
/// Their options with a value, and those of the works that make a folder.
const VALUED: [&str; 18] = [
    "-s",
    "--source",
    "-e",
    "--exclude",
    "--pathspec-from-file",
    "-b",
    "-B",
    "--branch",
    "-o",
    "--origin",
    "--depth",
    "--reference",
    "-j",
    "--jobs",
    "--separate-git-dir",
    "--object-format",
    "--filter",
    "--reason",
];
/// Letters of works before which the options of a group have no value, and the letter that runs what stands behind it.
const CLUSTERS: [(&str, char); 4] = [("grep", 'O'), ("rebase", 'x'), ("clone", 'u'), ("ls-remote", 'u')];
/// The value of these is a message, not a path.
const MESSAGES: [&str; 7] = ["-m", "--message", "--grep", "--author", "--date", "-S", "-G"];

/// Looks at `git`. What "always" may cover.
pub(crate) fn run(walk: &mut Walk<'_>, command: Command<'_>, always: Option<String>) -> Option<String> {
    let mut at = 0;
    let mut safe = true;
    let before = walk.places.clone();
    let mut folders: Vec<Arg> = Vec::new();
    while let Some(arg) = command.args.get(at) {
        let Some(text) = arg.literal().filter(|_| arg.one && !arg.choice) else {
            walk.unknown(&format!("what git does with {} is not known before the run", short(&arg.raw)));
            return None;
        };
        if !text.starts_with('-') {
            break;
        }
        at += 1;
        let next = command.args.get(at);
        match text.as_str() {
            "-C" => {
                at += 1;
                if let Some(folder) = next {
                    walk.touch(folder, Touching::Enter);
                    super::mention(walk, folder);
                    folders.push(folder.clone());
                    walk.start_in(folder);
                }
            }
            "-c" => {
                at += 1;
                let setting = next.and_then(Arg::known).unwrap_or_default();
                safe &= setting_is_safe(walk, &setting);
            }
            "--git-dir" | "--work-tree" | "--namespace" | "--super-prefix" => {
                at += 1;
                if let Some(folder) = next {
                    super::mention(walk, folder);
                    walk.touch(folder, Touching::Read);
                    folders.push(folder.clone());
                }
            }
            _ if text.starts_with("--exec-path") || text.starts_with("--config-env") => {
                walk.unknown(&format!("{} decides what git runs", short(&text)));
                return None;
            }
            _ => {
                super::mention(walk, arg);
                if let Some((_, value)) = text.split_once('=').filter(|_| text.starts_with("--")) {
                    folders.push(Arg::plain(value));
                }
            }
        }
    }
    let (work, rest) = match command.args.get(at..) {
        Some([work, rest @ ..]) => (work.literal().unwrap_or_default(), rest),
        _ => {
            walk.places = before;
            return always.filter(|_| safe);
        }
    };
    safe &= !runs(walk, &work, rest);
    arguments(walk, &work, rest);
    paths(walk, &work, rest);
    walk.places = before;
    if !READERS.contains(&work.as_str()) {
        // It changes what is in the folder that is named, without naming it.
        folders.iter().for_each(|folder| walk.touch(folder, Touching::Write));
    }
    always.filter(|_| safe)
}

/// Whether `name=value` changes nothing that runs.
fn setting_is_safe(walk: &mut Walk<'_>, setting: &str) -> bool {
    let name = setting.split('=').next().unwrap_or_default().to_ascii_lowercase();
    let shows =
        matches!(setting, "core.pager=cat" | "core.pager=" | "core.fsmonitor=false" | "core.hooksPath=/dev/null");
    let fine = shows || HARMLESS.contains(&name.as_str()) || name.starts_with("color.");
    if !fine {
        walk.unknown(&format!("the setting {} may decide what git runs", short(setting)));
        // `-c alias.x='!command'`
        if let Some((_, command)) = setting.split_once("=!") {
            walk.script(command, false);
        }
    }
    fine
}

/// Whether the work runs something that its arguments name.
fn runs(walk: &mut Walk<'_>, work: &str, rest: &[Arg]) -> bool {
    let text = |at: usize| rest.get(at).and_then(Arg::known).unwrap_or_default();
    match work {
        "config" => {
            const READS: [&str; 10] = [
                "--get",
                "--get-all",
                "--get-regexp",
                "--list",
                "-l",
                "list",
                "get",
                "--get-urlmatch",
                "--show-origin",
                "--unset",
            ];
            const PLACES: [&str; 5] = ["--local", "--global", "--system", "--worktree", "--null"];
            let known: Option<Vec<String>> = rest.iter().map(Arg::known).collect();
            let words: Vec<&str> = known.iter().flatten().map(String::as_str).collect();
            // Only in the first place such a word says what is done; later it may be a value.
            let words: Vec<&str> = words.into_iter().skip_while(|word| PLACES.contains(word)).collect();
            let named = |name: &str| HARMLESS.contains(&name.to_ascii_lowercase().as_str());
            let harmless = known.is_some()
                && match words.as_slice() {
                    [] => true,
                    [word, ..] if READS.contains(word) => true,
                    [name] => !name.starts_with('-'),
                    [name, value] => named(name) && !value.starts_with('-'),
                    [_, _, ..] => false,
                };
            if !harmless {
                walk.unknown("a setting may decide what git runs later");
                return true;
            }
        }
        "rebase" => {
            for (at, arg) in rest.iter().enumerate() {
                let word = arg.known().unwrap_or_default();
                let inner = match word.split_once('=') {
                    Some((name, value)) if is_abbreviation(name, "--exec") => Some(value.to_owned()),
                    _ if word == "-x" || is_abbreviation(&word, "--exec") => Some(text(at + 1)),
                    _ => {
                        grouped(&word, 'x').map(|inner| if inner.is_empty() { text(at + 1) } else { inner.to_owned() })
                    }
                };
                if let Some(inner) = inner {
                    walk.script(&inner, false);
                    return true;
                }
            }
        }
        "bisect" if text(0) == "run" => {
            walk.run_by_another(rest.get(1..).unwrap_or_default(), false);
            return true;
        }
        "submodule" if rest.iter().any(|arg| arg.known().is_some_and(|text| text == "foreach")) => {
            let at = rest.iter().position(|arg| arg.known().is_some_and(|text| text == "foreach")).unwrap_or(0);
            let words: Option<Vec<String>> = rest
                .get(at + 1..)
                .unwrap_or_default()
                .iter()
                .map(Arg::known)
                .filter(|text| text.as_deref() != Some("--recursive"))
                .collect();
            match words {
                Some(words) => walk.script(&words.join(" "), false),
                None => walk.unknown("what git submodule runs is not known before the run"),
            }
            // In other folders.
            walk.unknown("git submodule runs it in folders that are not known");
            return true;
        }
        _ if DARK.contains(&work) => {
            walk.unknown(&format!("what git {work} does cannot be told"));
            return true;
        }
        _ => {}
    }
    for arg in rest {
        let word = arg.known().unwrap_or_default();
        let name = word.split('=').next().unwrap_or_default();
        let named = |row: &&(&str, &[&str])| row.1.contains(&work) && is_abbreviation(name, row.0);
        let short_form = CLUSTERS.iter().any(|(name, letter)| *name == work && grouped(&word, *letter).is_some());
        let reaches_out = work == "apply" && is_abbreviation(name, "--unsafe-paths");
        if RUNNERS.iter().any(|row| named(&row)) || short_form || reaches_out || word.starts_with("ext::") {
            walk.unknown(&format!("{} names a program that git runs", short(&word)));
            return true;
        }
        if work == "clone" && (word == "-c" || name == "--config" || name == "--template") {
            walk.unknown("a setting may decide what git runs");
            return true;
        }
    }
    false
}

/// The paths of works that write what they are given, also where a word does not look like a path.
fn paths(walk: &mut Walk<'_>, work: &str, rest: &[Arg]) {
    let mut words: Vec<Arg> = Vec::new();
    let mut behind = false;
    let mut args = rest.iter();
    while let Some(arg) = args.next() {
        let text = arg.known().unwrap_or_else(|| arg.start.clone());
        if !behind && text == "--" {
            behind = true;
            if work == "checkout" {
                words.clear();
            }
        } else if behind || !text.starts_with('-') {
            words.push(arg.clone());
        } else if VALUED.contains(&text.as_str()) {
            args.next();
        }
    }
    let written = match work {
        "checkout" if behind => words,
        _ if PATHS.contains(&work) => {
            if work == "clean" && words.is_empty() {
                words.push(Arg::plain("."));
            }
            words
        }
        "init" => words,
        "worktree" if words.first().is_some_and(|word| word.start == "add") => {
            words.into_iter().skip(1).take(1).collect()
        }
        "worktree" => words.into_iter().skip(1).collect(),
        "clone" if words.len() > 1 => words.split_off(1),
        "clone" => {
            let place = words.first().and_then(Arg::known).unwrap_or_default();
            let name =
                place.trim_end_matches('/').trim_end_matches(".git").rsplit(['/', ':']).next().unwrap_or_default();
            vec![Arg::plain(name)]
        }
        _ => Vec::new(),
    };
    written.iter().for_each(|path| walk.touch(path, Touching::Write));
}

fn arguments(walk: &mut Walk<'_>, work: &str, rest: &[Arg]) {
    let writes = WRITERS.contains(&work);
    let mut message = false;
    let mut written = false;
    for arg in rest {
        let known = arg.known().unwrap_or_default();
        let value = std::mem::replace(&mut message, MESSAGES.contains(&known.as_str()) || known == "-am");
        let attached = ["--message=", "--grep=", "--author=", "--date="].iter().any(|name| arg.raw.starts_with(name));
        if (value && arg.one) || (attached && (arg.one || !arg.dynamic)) {
            continue;
        }
        if std::mem::take(&mut written) {
            walk.touch(arg, Touching::Write);
            continue;
        }
        if let Some(path) = output(work, &known) {
            match path {
                "" => written = true,
                path => walk.touch_path(path, Touching::Write),
            }
            continue;
        }
        let before = walk.out.touches.len();
        super::mention(walk, arg);
        if writes {
            for touch in walk.out.touches.iter_mut().skip(before) {
                touch.how = Touching::Write;
            }
        }
    }
}

/// What stands behind the option `letter`, alone or last in a group of such without a value.
fn grouped(word: &str, letter: char) -> Option<&str> {
    let letters = word.strip_prefix('-').filter(|rest| !rest.starts_with('-'))?;
    let (before, behind) = letters.split_once(letter)?;
    // Behind one of these the rest of the word is its value.
    (!before.contains(['e', 'f', 'A', 'B', 'C', 'm', 'b', 'o', 'c', 'j', 's', 'X', 'S'])).then_some(behind)
}

/// The value of an option that names what is written; empty where it is the next word.
fn output<'w>(work: &str, word: &'w str) -> Option<&'w str> {
    let (name, value) = word.split_once('=').map_or((word, ""), |(name, value)| (name, value));
    const LONG: [&str; 5] =
        ["--output", "--output-directory", "--export-marks", "--index-output", "--separate-git-dir"];
    if name.len() > 4 && LONG.iter().any(|long| is_abbreviation(name, long)) {
        return Some(value);
    }
    let takes = matches!(work, "archive" | "format-patch" | "bugreport" | "diagnose" | "index-pack" | "mailsplit");
    if takes { grouped(word, 'o').filter(|_| word.starts_with("-o")) } else { None }
}
