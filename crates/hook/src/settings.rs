//! The key `hooks` as settings spell it. Pure.

use std::time::Duration;

use regex::Regex;
use serde_json::Value;

use crate::names::theirs;

/// Most commands that may be listed; what is more is left out.
pub const MAX_COMMANDS: usize = 200;
/// How long a command may run where its entry does not say, and longest that an entry may say.
pub const TIMEOUT: Duration = Duration::from_secs(60);
/// See [`TIMEOUT`].
pub const MAX_TIMEOUT: Duration = Duration::from_secs(600);

/// When a command runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Moment {
    /// Before a tool runs.
    PreToolUse,
    /// After a tool ran.
    PostToolUse,
    /// Before a prompt is stored.
    UserPromptSubmit,
    /// When a turn is about to end.
    Stop,
    /// When a turn of a task is about to end.
    SubagentStop,
    /// When a session is opened.
    SessionStart,
    /// When a session is closed.
    SessionEnd,
    /// Before a conversation is summed up.
    PreCompact,
    /// When a person is waited for.
    Notification,
}

impl Moment {
    /// All of them.
    pub const ALL: [Self; 9] = [
        Self::PreToolUse,
        Self::PostToolUse,
        Self::UserPromptSubmit,
        Self::Stop,
        Self::SubagentStop,
        Self::SessionStart,
        Self::SessionEnd,
        Self::PreCompact,
        Self::Notification,
    ];

    /// How settings spell it.
    pub fn name(self) -> &'static str {
        match self {
            Self::PreToolUse => "PreToolUse",
            Self::PostToolUse => "PostToolUse",
            Self::UserPromptSubmit => "UserPromptSubmit",
            Self::Stop => "Stop",
            Self::SubagentStop => "SubagentStop",
            Self::SessionStart => "SessionStart",
            Self::SessionEnd => "SessionEnd",
            Self::PreCompact => "PreCompact",
            Self::Notification => "Notification",
        }
    }

    fn of(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|moment| moment.name() == name)
    }
}

/// What a command is for: the tools, or the kinds of what happens, that its matcher names.
#[derive(Debug, Clone)]
pub enum Matcher {
    /// All.
    All,
    /// Those whose whole name this matches.
    Names(Regex),
}

impl Matcher {
    fn of(text: &str) -> Result<Self, String> {
        if text.is_empty() || text == "*" {
            return Ok(Self::All);
        }
        let regex = Regex::new(&format!("^(?:{text})$"));
        regex.map(Self::Names).map_err(|_| format!("the matcher {text:?} is no regular expression"))
    }

    /// Whether it fits something called `name` here. Tools may be named as here or as Claude Code calls them.
    pub fn fits(&self, name: &str) -> bool {
        match self {
            Self::All => true,
            Self::Names(regex) => {
                regex.is_match(name) || theirs(name).is_some_and(|names| names.iter().any(|name| regex.is_match(name)))
            }
        }
    }
}

/// A command that runs at some moment.
#[derive(Debug, Clone)]
pub struct CommandHook {
    /// When.
    pub moment: Moment,
    /// For what.
    pub matcher: Matcher,
    /// The command line.
    pub command: String,
    /// How long it may run.
    pub timeout: Duration,
    /// Whether it may use the network.
    pub network: bool,
}

/// Reads `hooks`. Also returns what a person should know: what cannot be read is left out, and nothing else.
pub fn read(hooks: &Value) -> (Vec<CommandHook>, Vec<String>) {
    let (mut read, mut warnings) = (Vec::new(), Vec::new());
    for (name, groups) in hooks.as_object().into_iter().flatten() {
        let Some(moment) = Moment::of(name) else {
            let known: Vec<&str> = Moment::ALL.into_iter().map(Moment::name).collect();
            warnings.push(format!("hooks.{name} is left out: it is none of {}", known.join(", ")));
            continue;
        };
        let Some(groups) = groups.as_array() else {
            warnings.push(format!("hooks.{name} is left out: it has to be a list of {{\"matcher\", \"hooks\"}}"));
            continue;
        };
        for (at, group) in groups.iter().enumerate() {
            if let Err(why) = self::group(moment, group, &mut read) {
                warnings.push(format!("hooks.{name}[{at}] is left out: {why}"));
            }
        }
    }
    if read.len() > MAX_COMMANDS {
        warnings.push(format!("hooks: only the first {MAX_COMMANDS} of {} commands count", read.len()));
        read.truncate(MAX_COMMANDS);
    }
    (read, warnings)
}

fn group(moment: Moment, group: &Value, read: &mut Vec<CommandHook>) -> Result<(), String> {
    let matcher = Matcher::of(group.get("matcher").and_then(Value::as_str).unwrap_or_default())?;
    let hooks = group.get("hooks").and_then(Value::as_array).ok_or("it has no list `hooks`")?;
    let mut of_group = Vec::new();
    for hook in hooks {
        let kind = hook.get("type").and_then(Value::as_str).unwrap_or("command");
        if kind != "command" {
            return Err(format!("haft runs hooks of the type \"command\", and this one is {kind:?}"));
        }
        let command = hook.get("command").and_then(Value::as_str).filter(|command| !command.trim().is_empty());
        let command = command.ok_or("a hook in it has no `command`")?.to_owned();
        let timeout = match hook.get("timeout") {
            None => TIMEOUT,
            Some(seconds) => {
                let seconds = seconds.as_f64().filter(|seconds| *seconds > 0.0);
                let seconds = seconds.ok_or("`timeout` is no number of seconds above 0")?;
                Duration::from_secs_f64(seconds.min(MAX_TIMEOUT.as_secs_f64()))
            }
        };
        let network = hook.get("network").and_then(Value::as_bool).unwrap_or_default();
        of_group.push(CommandHook { moment, matcher: matcher.clone(), command, timeout, network });
    }
    read.extend(of_group);
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn matchers_know_tools_by_both_names() {
        let row = |matcher: &str, name: &str, want: bool| {
            assert_eq!(Matcher::of(matcher).unwrap().fits(name), want, "{matcher} {name}");
        };
        row("", "bash", true);
        row("*", "anything", true);
        row("Bash", "bash", true);
        row("bash", "bash", true);
        row("Bash", "read", false);
        row("Edit|Write", "write", true);
        row("Edit|Write", "edit", true);
        row("Edit|MultiEdit|Write", "apply_patch", true);
        row("Notebook.*", "edit", true);
        row("mcp__memory__.*", "memory_create", false);
        row("memory_.*", "memory_create", true);
        row("Ba", "bash", false);
        row("startup|resume", "resume", true);
        assert!(Matcher::of("(").is_err());
    }

    #[test]
    fn what_cannot_be_read_is_named_and_left_out() {
        let (read, warnings) = read(&json!({
            "PreToolUse": [
                { "matcher": "Bash", "hooks": [{ "type": "command", "command": "a", "timeout": 0.5, "network": true }] },
                { "matcher": "(", "hooks": [] },
                { "hooks": [{ "type": "prompt", "prompt": "p" }] },
                { "hooks": [{ "command": "b" }, { "command": "c", "timeout": 100_000 }] },
                { "hooks": [{ "command": "d", "timeout": -1 }] },
                {},
            ],
            "Stop": {},
            "Never": [],
        }));
        let short: Vec<_> = read.iter().map(|hook| (&*hook.command, hook.timeout, hook.network)).collect();
        assert_eq!(short, [("a", Duration::from_millis(500), true), ("b", TIMEOUT, false), ("c", MAX_TIMEOUT, false),]);
        let begins: Vec<_> = warnings.iter().filter_map(|warning| warning.split(" is left out").next()).collect();
        assert_eq!(
            begins,
            [
                "hooks.PreToolUse[1]",
                "hooks.PreToolUse[2]",
                "hooks.PreToolUse[4]",
                "hooks.PreToolUse[5]",
                "hooks.Stop",
                "hooks.Never"
            ]
        );
    }

    #[test]
    fn there_are_not_more_than_may_be() {
        let many: Vec<_> = (0..=MAX_COMMANDS).map(|at| json!({ "command": format!("c{at}") })).collect();
        let (read, warnings) = read(&json!({ "Stop": [{ "hooks": many }] }));
        assert_eq!((read.len(), warnings.len()), (MAX_COMMANDS, 1));
    }
}
