//! Programs that run what stands behind their own options: `env`, `sudo`, `timeout`.

use crate::judge::Command;
use crate::state::After;
use crate::text::Arg;
use crate::variables::is_dangerous;
use crate::walk::Walk;
use crate::word::short;

/// How the arguments of such a program are told from the command it runs.
pub(crate) struct Wrapper {
    names: &'static [&'static str],
    /// Options without a value.
    flags: &'static [&'static str],
    /// Options whose value is the next word, or stands behind them.
    valued: &'static [&'static str],
    /// How many words stand before the command.
    operands: usize,
    /// `NAME=value` may stand before the command.
    assignments: bool,
    /// "always" may cover it together with the beginning of what it runs.
    always: bool,
    /// The command gets further arguments that are not known.
    more: bool,
    /// With these options there is no command.
    about: &'static [&'static str],
}

const NONE: Wrapper = Wrapper {
    names: &[],
    flags: &[],
    valued: &[],
    operands: 0,
    assignments: false,
    always: true,
    more: false,
    about: &["--help", "--version"],
};

const WRAPPERS: &[Wrapper] = &[
    Wrapper {
        names: &["env", "genv"],
        flags: &["-i", "-", "-0", "-v", "--ignore-environment", "--null", "--debug"],
        valued: &["-u", "--unset"],
        assignments: true,
        ..NONE
    },
    Wrapper {
        names: &["sudo"],
        flags: &["-E", "-n", "-k", "-H", "-b", "-P", "-S", "--preserve-env", "--non-interactive", "--set-home"],
        valued: &["-u", "-g", "-p", "-h", "-C", "-r", "-t", "-T", "--user", "--group", "--prompt", "--host"],
        assignments: true,
        always: false,
        about: &["--help", "--version", "-V", "-l", "--list", "-v", "--validate", "-K"],
        ..NONE
    },
    Wrapper { names: &["doas"], flags: &["-n", "-L"], valued: &["-u"], always: false, ..NONE },
    Wrapper { names: &["nohup", "busybox", "toybox"], ..NONE },
    Wrapper { names: &["setsid"], flags: &["-c", "-f", "-w", "--ctty", "--fork", "--wait"], ..NONE },
    Wrapper {
        names: &["timeout", "gtimeout"],
        flags: &["-v", "-f", "-p", "--preserve-status", "--foreground", "--verbose"],
        valued: &["-k", "-s", "--kill-after", "--signal"],
        operands: 1,
        ..NONE
    },
    Wrapper {
        names: &["time", "gtime"],
        flags: &["-p", "-v", "-q", "-a", "--portability", "--verbose", "--quiet", "--append"],
        valued: &["-f", "--format"],
        ..NONE
    },
    Wrapper { names: &["nice"], valued: &["-n", "--adjustment"], ..NONE },
    Wrapper { names: &["ionice"], flags: &["-t", "--ignore"], valued: &["-c", "-n", "--class", "--classdata"], ..NONE },
    Wrapper { names: &["stdbuf"], valued: &["-i", "-o", "-e", "--input", "--output", "--error"], ..NONE },
    Wrapper { names: &["command"], flags: &["-p"], about: &["-v", "-V", "-pv", "-pV"], ..NONE },
    // All but the first are words of zsh.
    Wrapper { names: &["builtin", "noglob", "nocorrect", "-"], ..NONE },
    Wrapper { names: &["exec"], flags: &["-c", "-l", "-cl"], valued: &["-a"], ..NONE },
    Wrapper {
        names: &["xargs", "gxargs"],
        flags: &["-0", "-r", "-t", "-p", "-x", "-o", "--null", "--no-run-if-empty", "--verbose", "--exit", "-i", "-l"],
        valued: &[
            "-n",
            "-P",
            "-I",
            "-L",
            "-s",
            "-d",
            "-E",
            "--max-args",
            "--max-procs",
            "--replace",
            "--max-lines",
            "--max-chars",
            "--delimiter",
            "--eof",
        ],
        more: true,
        ..NONE
    },
];

pub(crate) fn find(name: &str) -> Option<&'static Wrapper> {
    WRAPPERS.iter().find(|wrapper| wrapper.names.contains(&name))
}

/// What came of what a wrapper runs.
#[derive(Default)]
pub(crate) struct Ran {
    /// What "always" may cover.
    pub(crate) always: Option<String>,
    /// Where the working folder is afterwards, if it were run by this shell.
    pub(crate) after: Option<After>,
}

/// Whether what stands behind `name` is run by this very shell, so that it may change the folder.
pub(crate) fn stays_here(name: &str) -> bool {
    matches!(name, "command" | "builtin" | "noglob" | "nocorrect" | "-")
}

/// Looks at what the wrapper runs.
pub(crate) fn run(walk: &mut Walk<'_>, command: Command<'_>) -> Ran {
    find(command.name).and_then(|wrapper| run_behind(walk, wrapper, command)).unwrap_or_default()
}

/// `None`: it runs nothing, or it cannot be told what.
fn run_behind(walk: &mut Walk<'_>, wrapper: &Wrapper, command: Command<'_>) -> Option<Ran> {
    if command.args.first().and_then(Arg::literal).is_some_and(|first| wrapper.about.contains(&first.as_str())) {
        return None;
    }
    let start = start(walk, wrapper, command)?;
    let mut args = command.args.get(start..).unwrap_or_default().to_vec();
    if args.is_empty() {
        return None;
    }
    if wrapper.more {
        let replaces =
            |arg: &Arg| arg.start.starts_with("-I") || arg.start.starts_with("-i") || arg.start.starts_with("--rep");
        if command.args.iter().take(start).any(replaces) {
            // What is read takes the place of words, also in the middle of a script.
            walk.unknown("what xargs puts into the command is not known before the run");
        }
        args.push(Arg { dynamic: true, ..Arg::default() });
    }
    let judged = walk.run_by_another(&args, command.stdin);
    let ran = Ran { always: None, after: Some(judged.after) };
    let Some(always) = judged.always.filter(|_| wrapper.always) else { return Some(ran) };
    let before = command.all.iter().take(1 + start).map(|arg| arg.raw.as_str());
    let all: Vec<&str> = before.chain([always.as_str()]).collect();
    let beginning = all.join(" ");
    // As a pattern, one of these in what stands before would cover other commands too.
    let plain = !beginning.trim_end_matches('*').contains(['*', '?', '\\', '$', '`']);
    Some(Ran { always: plain.then_some(beginning), ..ran })
}

/// Where the command begins among the arguments. `None`: it cannot be told.
fn start(walk: &mut Walk<'_>, wrapper: &Wrapper, command: Command<'_>) -> Option<usize> {
    let (mut at, mut operands, mut options) = (0, wrapper.operands, true);
    while let Some(arg) = command.args.get(at) {
        let Some(text) = arg.literal().filter(|_| arg.one && !arg.choice) else {
            if operands > 0 && arg.one && !arg.may_be_option() {
                (operands, options, at) = (operands - 1, false, at + 1);
                continue;
            }
            // A name that is not known is told where the command itself is looked at.
            return if operands > 0 || arg.may_be_option() { lost(walk, arg) } else { Some(at) };
        };
        if options && text == "--" {
            options = false;
            at += 1;
        } else if options && text.starts_with('-') && (text != "-" || wrapper.flags.contains(&"-")) {
            at += option(wrapper, &text).or_else(|| lost(walk, arg))?;
        } else if wrapper.assignments && is_assignment(&text) {
            let name = text.split('=').next().unwrap_or_default();
            if is_dangerous(name) {
                walk.unknown(&format!("{name} decides what other commands do"));
            }
            (options, at) = (false, at + 1);
        } else if operands > 0 {
            (operands, options, at) = (operands - 1, false, at + 1);
        } else {
            break;
        }
    }
    Some(at)
}

/// How many words an option takes. `None`: it is not known.
fn option(wrapper: &Wrapper, text: &str) -> Option<usize> {
    if wrapper.flags.contains(&text) {
        return Some(1);
    }
    if wrapper.valued.contains(&text) {
        return Some(2);
    }
    if let Some((name, _)) = text.split_once('=').filter(|(name, _)| name.starts_with("--")) {
        return wrapper.valued.contains(&name).then_some(1);
    }
    // `-n5`, `-oL`, and `nice -5`.
    let short = text.get(..2).filter(|_| !text.starts_with("--"))?;
    let number = wrapper.names == ["nice"] && text[1..].bytes().all(|byte| byte.is_ascii_digit());
    (number || wrapper.valued.contains(&short)).then_some(1)
}

fn lost(walk: &mut Walk<'_>, arg: &Arg) -> Option<usize> {
    walk.unknown(&format!("what runs behind {} cannot be told", short(&arg.raw)));
    None
}

fn is_assignment(text: &str) -> bool {
    let Some((name, _)) = text.split_once('=') else { return false };
    !name.is_empty() && !name.contains('/') && !name.starts_with('-')
}
