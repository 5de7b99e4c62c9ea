//! Programs that run what stands behind their own options: `env`, `sudo`, `timeout`.

mod known;

use self::known::{WRAPPERS, Wrapper};
use crate::analysis::Touching;
use crate::judge::Command;
use crate::state::After;
use crate::text::Arg;
use crate::variables::is_dangerous;
use crate::walk::Walk;
use crate::word::short;

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
    if wrapper.dark {
        walk.unknown(&format!("{} does more than run what stands behind it", command.name));
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
    if wrapper.text {
        // Up to what it takes the words for the commands from.
        let texts = args.iter().map(|arg| arg.known().unwrap_or_default()).take_while(|text| !text.starts_with(":::"));
        let text = texts.collect::<Vec<_>>().join(" ");
        walk.script_for(&text, crate::analysis::Dialect::Bash);
        return None;
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
        } else if options && let Some(file) = written(wrapper, &text) {
            match file {
                "" => {
                    at += 1;
                    command.args.get(at).into_iter().for_each(|file| walk.touch(file, Touching::Write));
                }
                file => walk.touch_path(file, Touching::Write),
            }
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

/// The file that the option names for writing; empty where it is the next word.
fn written<'t>(wrapper: &Wrapper, text: &'t str) -> Option<&'t str> {
    wrapper.writes.iter().find_map(|option| {
        let rest = text.strip_prefix(option)?;
        if option.starts_with("--") {
            rest.strip_prefix('=').or(Some(rest).filter(|rest| rest.is_empty()))
        } else {
            Some(rest)
        }
    })
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
    let letters = text[1..].chars().all(|c| wrapper.flags.contains(&format!("-{c}").as_str()));
    let number = letters || wrapper.names == ["nice"] && text[1..].bytes().all(|byte| byte.is_ascii_digit());
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
