//! Shells run by name: `bash -c`, `sh file`.

use crate::analysis::Touching;
use crate::judge::Command;
use crate::text::Arg;
use crate::walk::Walk;

const SHELLS: [&str; 9] = ["bash", "sh", "dash", "zsh", "ksh", "ash", "rbash", "mksh", "posh"];
/// With a language of their own.
const STRANGERS: [&str; 9] = ["fish", "csh", "tcsh", "nu", "pwsh", "powershell", "elvish", "xonsh", "rc"];
/// Those that take a command line as the value of `-c`, besides their own doing.
const TAKERS: [&str; 4] = ["su", "script", "runuser", "flock"];

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
                    return script(walk, next);
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

fn script(walk: &mut Walk<'_>, text: Option<&Arg>) {
    match text.and_then(|arg| arg.literal().or_else(|| arg.known()).filter(|_| arg.one && !arg.choice)) {
        Some(text) => walk.script(&text, false),
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
    walk.unknown(&format!("{} runs something in a shell of its own", command.name));
    let at = command
        .args
        .iter()
        .position(|arg| arg.literal().is_some_and(|text| matches!(text.as_str(), "-c" | "--command")));
    if let Some(text) = at.and_then(|at| command.args.get(at + 1)).and_then(Arg::literal) {
        walk.script(&text, false);
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
            "-d" | "-t" | "-e" | "-g" | "-b" | "-c" | "-x" | "--differences" | "--no-title" | "--exec" | "--color" => {}
            _ if text.starts_with('-') => return walk.unknown("what runs behind the options of watch cannot be told"),
            _ => break,
        }
        rest = args.as_slice();
    }
    let texts: Option<Vec<String>> = rest.iter().map(|arg| arg.known().filter(|_| arg.one)).collect();
    match texts {
        Some(texts) => walk.script(&texts.join(" "), false),
        None => walk.unknown("what watch runs is not known before the run"),
    }
}
