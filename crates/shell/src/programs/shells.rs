//! Shells run by name: `bash -c`, `sh file`.

use crate::analysis::{Dialect, Touching};
use crate::judge::Command;
use crate::text::Arg;
use crate::walk::Walk;

const SHELLS: [&str; 9] = ["bash", "sh", "dash", "zsh", "ksh", "ash", "rbash", "mksh", "posh"];
/// With a language of their own.
const STRANGERS: [&str; 9] = ["fish", "csh", "tcsh", "nu", "pwsh", "powershell", "elvish", "xonsh", "rc"];
/// Those that take a command line as the value of `-c`, besides their own doing.
const TAKERS: [&str; 6] = ["su", "script", "runuser", "flock", "sg", "nix-shell"];

pub(crate) fn is_known(name: &str) -> bool {
    SHELLS.contains(&name) || STRANGERS.contains(&name) || TAKERS.contains(&name) || matches!(name, "ssh" | "watch")
}

/// Looks at a shell. `false`: it is none.
pub(crate) fn run(walk: &mut Walk<'_>, command: Command<'_>) -> bool {
    match command.name {
        name if SHELLS.contains(&name) => shell(walk, command),
        name if STRANGERS.contains(&name) => walk.unknown(&format!("{name} has a language of its own")),
        name if TAKERS.contains(&name) => taker(walk, command),
        "watch" => watch(walk, command),
        "ssh" | "rsh" | "mosh" => {
            walk.out.network = true;
            walk.unknown(&format!("what {} does on another machine cannot be told", command.name));
        }
        _ => return false,
    }
    true
}

fn shell(walk: &mut Walk<'_>, command: Command<'_>) {
    let mut args = command.args.iter();
    while let Some(arg) = args.next() {
        let Some(text) = arg.literal().filter(|_| arg.one && !arg.choice) else {
            return walk.unknown("what the shell runs is not known before the run");
        };
        let long = text.starts_with("--");
        match text.as_str() {
            "--version" | "--help" => return,
            "--login" | "--noprofile" | "--norc" | "--posix" | "--" => {}
            _ if long || text == "-" => return walk.unknown("the options of the shell cannot be told"),
            _ if text.starts_with(['-', '+']) => {
                let flags = &text[1..];
                if flags.contains('c') && flags.chars().all(|flag| "celxuvfhma".contains(flag)) {
                    // More options may stand before the command line.
                    let next = args.find(|arg| !arg.start.starts_with('-') || arg.dynamic);
                    return script(walk, next, dialect(command.name));
                }
                if !flags.chars().all(|flag| "eluxvfhmn".contains(flag)) {
                    return walk.unknown("the options of the shell cannot be told");
                }
            }
            _ => {
                script_file(walk, arg);
                return super::mention_all(walk, args.as_slice());
            }
        }
    }
    walk.unknown("the shell runs what it is given to read");
}

fn script(walk: &mut Walk<'_>, text: Option<&Arg>, dialect: Dialect) {
    match text.and_then(|arg| arg.literal().or_else(|| arg.known()).filter(|_| arg.one && !arg.choice)) {
        Some(text) => walk.script_for(&text, dialect),
        None => walk.unknown("what the shell runs is not known before the run"),
    }
}

/// A file that is run as a script.
pub(crate) fn script_file(walk: &mut Walk<'_>, file: &Arg) {
    let stream = |text: &str| text == "-" || text.starts_with("/dev/") || text.starts_with("/proc/");
    if file.known().is_some_and(|text| stream(&text)) {
        walk.unknown("the shell runs what it is given to read");
    }
    walk.touch(file, Touching::Read);
}

/// `su -c 'rm x'`: what else it does is not told.
fn taker(walk: &mut Walk<'_>, command: Command<'_>) {
    let takes = |arg: &Arg| {
        let text = arg.literal().unwrap_or_default();
        matches!(text.as_str(), "--command" | "--run")
            || (text.starts_with('-') && !text.starts_with("--") && text.ends_with('c'))
    };
    let text = command.args.iter().position(takes).and_then(|at| command.args.get(at + 1));
    if command.name == "flock" {
        return flock(walk, command, text);
    }
    walk.unknown(&format!("{} runs something in a shell of its own", command.name));
    if let Some(text) = text.and_then(Arg::literal) {
        walk.script_for(&text, Dialect::Posix);
    }
    let last = command.args.last().filter(|arg| command.name == "script" && !arg.start.starts_with('-'));
    last.into_iter().for_each(|file| walk.touch(file, Touching::Write));
}

/// `flock file command…`, `flock file -c 'text'`.
fn flock(walk: &mut Walk<'_>, command: Command<'_>, text: Option<&Arg>) {
    let mut at = 0;
    while let Some(arg) = command.args.get(at).filter(|arg| arg.start.starts_with('-')) {
        at += 1 + usize::from(matches!(
            arg.start.as_str(),
            "-w" | "-E" | "--timeout" | "--wait" | "--conflict-exit-code"
        ));
    }
    let Some((file, rest)) = command.args.get(at..).and_then(<[Arg]>::split_first) else { return };
    if file.may_be_option() || rest.first().is_some_and(|arg| arg.may_be_option() && text.is_none()) {
        return walk.unknown("what flock runs behind its options cannot be told");
    }
    if !file.known().is_some_and(|text| text.bytes().all(|byte| byte.is_ascii_digit())) {
        walk.touch(file, Touching::Write);
    }
    match text {
        Some(_) => script(walk, text, Dialect::Posix),
        None if rest.is_empty() => {}
        None => drop(walk.run_by_another(rest, command.stdin)),
    }
}

/// How the shell of this name reads.
fn dialect(name: &str) -> Dialect {
    match name {
        "bash" | "rbash" => Dialect::Bash,
        "zsh" => Dialect::Zsh,
        _ => Dialect::Posix,
    }
}

fn watch(walk: &mut Walk<'_>, command: Command<'_>) {
    let mut args = command.args.iter();
    let mut rest = args.as_slice();
    while let Some(text) = args.next().and_then(Arg::literal) {
        match text.as_str() {
            "-n" | "--interval" => {
                args.next();
            }
            text if text.strip_prefix("-n").is_some_and(|rest| rest.parse::<f64>().is_ok()) => {}
            "-d" | "-t" | "-e" | "-g" | "-b" | "-c" | "-x" | "--differences" | "--no-title" | "--exec" | "--color" => {}
            _ if text.starts_with('-') => return walk.unknown("what runs behind the options of watch cannot be told"),
            _ => break,
        }
        rest = args.as_slice();
    }
    let texts: Option<Vec<String>> = rest.iter().map(|arg| arg.known().filter(|_| arg.one)).collect();
    match texts {
        Some(texts) => walk.script_for(&texts.join(" "), Dialect::Posix),
        None => walk.unknown("what watch runs is not known before the run"),
    }
}
