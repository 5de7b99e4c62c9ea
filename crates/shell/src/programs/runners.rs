//! Programs of which some works run a command that stands behind them: `poetry run`, `pnpm exec`.

use crate::judge::{Command, Judged};
use crate::text::Arg;
use crate::walk::Walk;

/// A program, and those of its works that run what follows as it would be run without them.
const RUNNERS: &[(&str, &[&str])] = &[
    ("pnpm", &["exec"]),
    ("yarn", &["exec"]),
    ("bundle", &["exec"]),
    ("poetry", &["run"]),
    ("pipenv", &["run"]),
    ("pdm", &["run"]),
    ("rye", &["run"]),
    ("uv", &["run"]),
    ("hatch", &["run"]),
    ("mise", &["exec", "x"]),
    ("asdf", &["exec"]),
    ("rbenv", &["exec"]),
    ("pyenv", &["exec"]),
    ("nvm", &["exec"]),
    ("dotenv", &["run"]),
    ("conda", &["run"]),
    ("mamba", &["run"]),
    ("micromamba", &["run"]),
    ("pixi", &["run"]),
    ("devbox", &["run"]),
    ("stack", &["exec"]),
    ("cabal", &["exec"]),
    ("opam", &["exec"]),
    ("volta", &["run"]),
    ("fnm", &["exec"]),
    ("rustup", &["run"]),
    ("direnv", &["exec"]),
    ("op", &["run"]),
    ("doppler", &["run"]),
];
/// Works that run a program text, install one for later, or change which program is run later.
const DARK: &[(&str, &[&str])] = &[
    ("bun", &["exec", "repl"]),
    ("deno", &["eval", "repl"]),
    ("npm", &["config", "edit", "explore", "set"]),
    ("yarn", &["config"]),
    ("pnpm", &["config"]),
    ("gh", &["alias", "extension", "ext", "config"]),
    ("glab", &["alias", "config"]),
    ("go", &["env"]),
    ("pip", &["config"]),
];
/// Of those, words behind the work that only look.
const LOOKS: [&str; 5] = ["get", "list", "ls", "view", "GOPATH"];

/// Looks at the work of a program. `false`: it is none of these.
pub(crate) fn run(walk: &mut Walk<'_>, command: Command<'_>, judged: &mut Judged) -> bool {
    let works = |table: &'static [(&str, &[&str])]| {
        table.iter().find(|(name, _)| *name == command.name).map_or(&[][..], |(_, works)| works)
    };
    let (runs, dark) = (works(RUNNERS), works(DARK));
    let word = |arg: &Arg| arg.known().unwrap_or_default();
    let Some(at) = command.args.iter().position(|arg| !arg.start.starts_with('-') || arg.dynamic) else { return false };
    let (before, rest) = command.args.split_at(at);
    let Some((work, behind)) = rest.split_first().map(|(work, behind)| (word(work), behind)) else { return false };
    if dark.contains(&work.as_str()) {
        let next = behind.first().map(word).unwrap_or_default();
        let looks = LOOKS.contains(&next.as_str()) || (command.name == "go" && !behind.iter().any(changes_go));
        if !looks {
            walk.unknown(&format!("{} {work} decides what runs", command.name));
        }
        return false;
    }
    let hidden = !before.is_empty() && rest.iter().any(|arg| runs.contains(&word(arg).as_str()));
    if !runs.contains(&work.as_str()) && !hidden {
        return false;
    }
    let skip = usize::from(behind.first().is_some_and(|arg| word(arg) == "--"));
    // Which of several, before what is run with it.
    let skip = skip + usize::from(matches!(command.name, "rustup" | "direnv"));
    let inner = behind.get(skip..).unwrap_or_default();
    let Some(first) = inner.first().filter(|_| !hidden) else {
        if hidden {
            walk.unknown(&format!("what {} runs behind its options cannot be told", command.name));
        }
        return !hidden;
    };
    if first.may_be_option() {
        walk.unknown(&format!("what {} {work} runs behind its options cannot be told", command.name));
        return false;
    }
    let always = walk.run_by_another(inner, command.stdin).always;
    let which: Vec<&str> = behind.iter().take(skip).map(|arg| arg.raw.as_str()).collect();
    judged.always = always
        .filter(|_| which.is_empty() || which == ["--"])
        .map(|always| format!("{} {work} {always}", command.name));
    true
}

/// Programs that are given what another machine or a container runs: the options with a value before its name, and the
/// works (none: there are no works).
const ELSEWHERE: &[(&str, &str, &[&str])] = &[
    ("ssh", "BbcDEeFIiJLlmOopQRSWw", &[]),
    ("docker", "eulvwpmhac", &["exec", "run", "create"]),
    ("podman", "eulvwpmhac", &["exec", "run", "create"]),
    ("nerdctl", "eulvwpmhac", &["exec", "run", "create"]),
    ("kubectl", "cn", &["exec"]),
    ("oc", "cn", &["exec"]),
];

/// Looks at what another machine or a container would run, for rules about its words. What that does to files is told
/// nowhere.
pub(crate) fn elsewhere(walk: &mut Walk<'_>, command: Command<'_>) {
    let Some((_, valued, works)) = ELSEWHERE.iter().find(|row| row.0 == command.name) else { return };
    let mut rest = command.args;
    if !works.is_empty() {
        let Some(at) = rest.iter().position(|arg| arg.known().is_some_and(|text| works.contains(&text.as_str())))
        else {
            return;
        };
        rest = rest.get(at + 1..).unwrap_or_default();
        walk.unknown(&format!("what {} runs may reach all of this machine", command.name));
    }
    let Some(at) = super::network::operand(rest, valued) else { return };
    let inner = rest.get(at + 1..).unwrap_or_default();
    let skip = usize::from(inner.first().is_some_and(|arg| arg.start == "--"));
    let words: Vec<String> =
        inner.iter().skip(skip).map(|arg| arg.known().unwrap_or_else(|| arg.raw.clone())).collect();
    if words.is_empty() {
        return;
    }
    walk.elsewhere += 1;
    if works.is_empty() {
        walk.script_for(&words.join(" "), crate::analysis::Dialect::Posix);
    } else {
        walk.run_by_another(inner.get(skip..).unwrap_or_default(), false);
    }
    walk.elsewhere -= 1;
}

/// `go env -w GOFLAGS=…`
fn changes_go(arg: &Arg) -> bool {
    arg.dynamic || arg.start.starts_with("-w") || arg.start.starts_with("-u")
}
