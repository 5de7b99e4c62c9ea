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
const DARK: [&str; 10] = [
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
];
/// The value of these is a message, not a path.
const MESSAGES: [&str; 7] = ["-m", "--message", "--grep", "--author", "--date", "-S", "-G"];

/// Looks at `git`. What "always" may cover.
pub(crate) fn run(walk: &mut Walk<'_>, command: Command<'_>, always: Option<String>) -> Option<String> {
    let mut at = 0;
    let mut safe = true;
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
                }
            }
            _ if text.starts_with("--exec-path") || text.starts_with("--config-env") => {
                walk.unknown(&format!("{} decides what git runs", short(&text)));
                return None;
            }
            _ => super::mention(walk, arg),
        }
    }
    let (work, rest) = match command.args.get(at..) {
        Some([work, rest @ ..]) => (work.literal().unwrap_or_default(), rest),
        _ => return always.filter(|_| safe),
    };
    safe &= !runs(walk, &work, rest);
    arguments(walk, &work, rest);
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
            let names: Vec<String> = rest.iter().filter_map(Arg::known).filter(|text| !text.starts_with('-')).collect();
            let reads = rest.iter().any(|arg| arg.known().is_some_and(|text| READS.contains(&text.as_str())));
            let safe = names.first().is_some_and(|name| HARMLESS.contains(&name.to_ascii_lowercase().as_str()));
            if !reads && !safe && names.len() != 1 {
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
                    _ => word.strip_prefix("-x").filter(|inner| !inner.is_empty()).map(str::to_owned),
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
        let short_form = match work {
            "grep" => word.starts_with("-O"),
            "clone" | "ls-remote" => word == "-u",
            _ => false,
        };
        if RUNNERS.iter().any(|row| named(&row)) || short_form || word.starts_with("ext::") {
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

fn arguments(walk: &mut Walk<'_>, work: &str, rest: &[Arg]) {
    let writes = matches!(work, "checkout" | "restore" | "rm" | "mv" | "clean" | "clone" | "init" | "worktree");
    let mut message = false;
    for arg in rest {
        let known = arg.known().unwrap_or_default();
        let value = std::mem::replace(&mut message, MESSAGES.contains(&known.as_str()) || known == "-am");
        let attached = ["--message=", "--grep=", "--author=", "--date="].iter().any(|name| arg.raw.starts_with(name));
        if (value && arg.one) || (attached && (arg.one || !arg.dynamic)) {
            continue;
        }
        if known.starts_with("--output=") || (matches!(work, "archive" | "format-patch") && known.starts_with("-o")) {
            let path = known.split_once('=').map_or_else(|| known.get(2..), |(_, path)| Some(path)).unwrap_or_default();
            walk.touch_path(path, Touching::Write);
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
