//! What the shell does itself.

use crate::analysis::Touching;
use crate::judge::Command;
use crate::state::After;
use crate::text::Arg;
use crate::walk::Walk;
use crate::word::short;

/// Those that set the variables they are given the names of.
const SETTERS: [&str; 10] =
    ["export", "declare", "typeset", "local", "readonly", "read", "mapfile", "readarray", "getopts", "unset"];

/// Those that change how later commands are read or found.
const CHANGERS: [&str; 20] = [
    "alias", "unalias", "enable", "hash", "bind", "complete", "compgen", "compopt", "fc", "history", "coproc",
    "emulate", "zmodload", "autoload", "setopt", "unsetopt", "disable", "repeat", "sched", "zargs",
];

/// Those that take no path and run nothing, whatever they are given.
const TALKERS: [&str; 41] = [
    "echo", "true", "false", ":", "sleep", "seq", "expr", "basename", "dirname", "date", "whoami", "id", "pwd",
    "uname", "hostname", "kill", "exit", "return", "break", "continue", "shift", "wait", "jobs", "fg", "bg", "disown",
    "type", "which", "nproc", "tty", "umask", "ulimit", "times", "logout", "dirs", "groups", "tr", "factor", "uptime",
    "printenv", "yes",
];

/// Options of `set -o` and `shopt` that change what is reported, not what is run.
const MODES: [&str; 10] = [
    "errexit",
    "nounset",
    "pipefail",
    "xtrace",
    "verbose",
    "noclobber",
    "nullglob",
    "failglob",
    "inherit_errexit",
    "lastpipe",
];

pub(crate) fn is_known(name: &str) -> bool {
    SETTERS.contains(&name)
        || CHANGERS.contains(&name)
        || TALKERS.contains(&name)
        || matches!(name, "eval" | "." | "source" | "trap" | "set" | "shopt" | "let" | "printf" | "test" | "[")
}

/// Looks at a builtin. `false`: it is none of those here.
pub(crate) fn run(walk: &mut Walk<'_>, command: Command<'_>) -> bool {
    match command.name {
        "eval" => eval(walk, command.args),
        "." | "source" => source(walk, command.args),
        "trap" => trap(walk, command.args),
        "set" => set(walk, command.args),
        "shopt" => shopt(walk, command),
        "let" => {
            for arg in command.args {
                walk.arithmetic(&arg.literal().unwrap_or_else(|| arg.raw.clone()));
            }
        }
        "printf" => {
            no_expressions(walk, command.args);
            patterns(walk, command.args);
            if command.args.first().is_some_and(|arg| arg.dynamic || arg.start.starts_with("-v")) {
                set_names(walk, command.args.get(1..2).unwrap_or_default());
            }
        }
        "test" | "[" => no_expressions(walk, command.args),
        name if SETTERS.contains(&name) => {
            no_expressions(walk, command.args);
            set_names(walk, command.args);
            if name == "read" {
                // Without a name it sets this one.
                walk.set("REPLY");
            }
            let refers = |arg: &Arg| arg.start.starts_with('-') && arg.start.contains('n');
            if matches!(name, "declare" | "typeset" | "local") && command.args.iter().any(refers) {
                walk.unknown("a variable that stands for another");
            }
            if matches!(name, "mapfile" | "readarray") && command.args.iter().any(|arg| arg.start.starts_with("-C")) {
                walk.unknown("mapfile -C runs what it is given");
            }
        }
        name if CHANGERS.contains(&name) => walk.unknown(&format!("{name} changes what later commands mean")),
        name if TALKERS.contains(&name) => patterns(walk, command.args),
        _ => return false,
    }
    true
}

/// `cd`, `pushd`, `popd`.
pub(crate) fn go(walk: &mut Walk<'_>, command: Command<'_>) -> After {
    let mut operands = command.args.iter().filter(|arg| {
        let text = arg.known().unwrap_or_default();
        !(matches!(text.as_str(), "-L" | "-P" | "-e" | "-@" | "--" | "-n"))
    });
    let first = operands.next();
    let turns = |arg: &Arg| arg.start.starts_with(['+', '-']) && arg.start != "-";
    match (command.name, first) {
        ("popd", None) => walk.back(),
        ("cd" | "chdir", None) => match walk.around.home.and_then(|home| home.to_str()) {
            Some(home) => enter(walk, &Arg::plain(home)),
            None => walk.lose(),
        },
        (_, None) => walk.back(),
        (_, Some(arg)) if arg.start == "-" && !arg.dynamic && walk.has_moved() => walk.back(),
        (_, Some(arg)) if turns(arg) || arg.start == "-" || operands.next().is_some() => walk.lose(),
        (_, Some(arg)) => enter(walk, arg),
    }
}

fn enter(walk: &mut Walk<'_>, arg: &Arg) -> After {
    let Some(folder) = arg.literal().filter(|_| !arg.choice) else {
        walk.touch(arg, Touching::Enter);
        walk.unknown(&format!("the folder {} is not known before the run", short(&arg.raw)));
        return walk.lose();
    };
    walk.touch(arg, Touching::Enter);
    if folder.is_empty() { After::same(walk.places.clone()) } else { walk.enter(&folder) }
}

fn eval(walk: &mut Walk<'_>, args: &[Arg]) {
    let texts: Option<Vec<String>> = args.iter().map(|arg| arg.known().filter(|_| arg.one)).collect();
    match texts {
        Some(texts) => walk.script(&texts.join(" "), true),
        None => walk.unknown("what eval runs is not known before the run"),
    }
}

fn source(walk: &mut Walk<'_>, args: &[Arg]) {
    if let Some(file) = args.first() {
        super::shells::script_file(walk, file);
    }
    // It may set any variable, and give any name another meaning.
    walk.variables.any_set = true;
}

fn trap(walk: &mut Walk<'_>, args: &[Arg]) {
    let first =
        args.iter().find(|arg| arg.known().is_none_or(|text| !matches!(text.as_str(), "-p" | "-l" | "-P" | "--")));
    let Some(first) = first else { return };
    match first.literal().filter(|_| first.one && !first.choice) {
        Some(text) if text.is_empty() || text == "-" || args.len() == 1 => {}
        // It runs at any time, from any folder the text went to.
        Some(text) => {
            let last = |arg: &Arg| arg.literal().is_some_and(|name| matches!(name.as_str(), "EXIT" | "0"));
            let behind = args.iter().skip_while(|arg| !std::ptr::eq(*arg, first)).skip(1);
            if !behind.clone().all(last) {
                // In the middle, and what it sets is set here.
                walk.variables.any_set = true;
            }
            walk.script(&text, false);
        }
        None => walk.unknown("what trap runs is not known before the run"),
    }
}

fn set(walk: &mut Walk<'_>, args: &[Arg]) {
    let mut args = args.iter();
    while let Some(arg) = args.next() {
        let Some(text) = arg.literal().filter(|_| arg.one) else {
            if arg.may_be_option() {
                walk.unknown("set with options that are not known before the run");
            }
            return;
        };
        // What follows are arguments for the script.
        let Some(flags) = text.strip_prefix(['-', '+']).filter(|flags| !flags.is_empty() && *flags != "-") else {
            return;
        };
        if !flags.chars().all(|flag| "euxvCfohb".contains(flag)) {
            walk.unknown(&format!("set {} changes what later commands mean", short(&text)));
        }
        if flags.contains('o') && !args.next().and_then(Arg::literal).is_none_or(|mode| MODES.contains(&mode.as_str()))
        {
            walk.unknown("set -o changes what later commands mean");
        }
    }
}

fn shopt(walk: &mut Walk<'_>, command: Command<'_>) {
    let fine = |text: &String| text.starts_with('-') && !text.contains('o') || MODES.contains(&text.as_str());
    if !command.texts().iter().all(|text| text.as_ref().is_some_and(fine)) {
        walk.unknown("shopt changes what later commands mean");
    }
}

/// Patterns are worked out before anything runs, and show what is there.
fn patterns(walk: &mut Walk<'_>, args: &[Arg]) {
    for arg in args.iter().filter(|arg| !arg.dynamic) {
        walk.pattern_shows(arg);
    }
}

fn no_expressions(walk: &mut Walk<'_>, args: &[Arg]) {
    for arg in args {
        walk.no_expression(arg);
    }
}

/// The names before `=` are set, or the whole words.
fn set_names(walk: &mut Walk<'_>, args: &[Arg]) {
    for arg in args {
        if arg.start.starts_with(['-', '+']) && !arg.dynamic {
            continue;
        }
        // A name that is known has its end in the part that is.
        let name: String = arg.start.chars().take_while(|c| *c == '_' || c.is_ascii_alphanumeric()).collect();
        if name.len() == arg.start.len() && arg.dynamic || arg.choice || arg.texts.len() > 1 {
            walk.variables.any_set = true;
            walk.unknown(&format!("which variable {} names is not known before the run", short(&arg.raw)));
        } else {
            walk.set(&name);
        }
    }
}
