//! What begins with `/` in a chat: the table of its own commands, and what a line means. Pure.

use crate::render::spelled;

/// How alike a name must be to be what somebody meant, from 0 to 1.
const ALIKE: f64 = 0.5;
/// Longest name that is repeated in a message, in characters.
const MAX_NAME: usize = 40;

/// What the chat itself does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Deed {
    Agents,
    Auto,
    Compact,
    Connect,
    Details,
    Diff,
    Editor,
    Exit,
    Export,
    Fork,
    Help,
    Models,
    New,
    Queue,
    Redo,
    Rename,
    Sessions,
    Share,
    Status,
    Summary,
    Theme,
    Thinking,
    Todos,
    Undo,
}

/// A command of the chat's own.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Own {
    pub deed: Deed,
    pub name: &'static str,
    /// Other names of it.
    pub also: &'static [&'static str],
    /// What may stand behind it.
    pub arguments: &'static str,
    pub help: &'static str,
    /// Whether it may be given while a turn runs.
    pub anytime: bool,
}

/// The chat's own commands, by name.
pub(crate) const OWN: &[Own] = &[
    own(Deed::Agents, "agents", &["agent"], "[NAME]", "the agents, or choose who answers", true),
    own(Deed::Auto, "auto", &["yolo"], "[on|off]", "say yes to everything that no rule denies", true),
    own(Deed::Compact, "compact", &["summarize"], "[FOCUS]", "sum up what was said so far, and go on with that", false),
    own(Deed::Connect, "connect", &[], "[VENDOR]", "sign in to a vendor of models, or store a key", false),
    own(Deed::Details, "details", &[], "[on|off]", "show what tools did, or only that they did it", true),
    own(Deed::Diff, "diff", &[], "[last]", "what this session changed in files, or only your last prompt", true),
    own(Deed::Editor, "editor", &[], "", "write the next prompt in $VISUAL or $EDITOR", true),
    own(Deed::Exit, "exit", &["quit", "q"], "", "leave; the session is kept", true),
    own(Deed::Export, "export", &[], "[FILE]", "write the session into a new file, as JSON or .md", true),
    own(Deed::Fork, "fork", &[], "", "go on in a copy, and leave this session as it is", false),
    own(Deed::Help, "help", &["?"], "", "the commands and keys", true),
    own(Deed::Models, "models", &["model"], "[NAME|NUMBER] [VARIANT]", "the models, or choose one", true),
    own(Deed::New, "new", &["clear"], "", "begin a new session", false),
    own(Deed::Queue, "queue", &["later"], "WORDS", "say it once the turn that runs has ended", true),
    own(Deed::Redo, "redo", &[], "", "bring again what was taken back, files included", false),
    own(Deed::Rename, "rename", &["title"], "TITLE", "give this session another title", false),
    own(
        Deed::Sessions,
        "sessions",
        &["resume", "continue"],
        "[NUMBER|ID]",
        "earlier sessions, or go on with one",
        false,
    ),
    own(Deed::Share, "share", &["unshare"], "", "why nothing is shared", true),
    own(Deed::Status, "status", &["cost"], "", "what this session is, has used and has cost", true),
    own(Deed::Summary, "summary", &[], "", "have a small model say what your last prompt came to", false),
    own(
        Deed::Theme,
        "theme",
        &["themes"],
        "[auto|dark|light|none]",
        "colours: your terminal's own, for a dark or a light background, none",
        true,
    ),
    own(Deed::Thinking, "thinking", &[], "[on|off]", "show what the model thinks", true),
    own(Deed::Todos, "todos", &["todo"], "", "the agent's list of things to do", true),
    own(Deed::Undo, "undo", &[], "", "take your last prompt back, and what was done to files for it", false),
];

const fn own(
    deed: Deed,
    name: &'static str,
    also: &'static [&'static str],
    arguments: &'static str,
    help: &'static str,
    anytime: bool,
) -> Own {
    Own { deed, name, also, arguments, help, anytime }
}

/// What a line is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Meant<'a> {
    /// For the agent: words, or a command that is a prompt.
    Words,
    /// For the chat, with these arguments.
    Deed(&'static str, Deed, &'a str),
    /// A command that there is none of.
    Unknown(&'a str),
}

/// What `text` is where the commands `prompts` are prompts; `is_there` says whether a path is. A prompt's name goes
/// before one of the chat's own, but for those by which a person gets out.
pub(crate) fn meant<'a>(text: &'a str, prompts: &[String], is_there: impl Fn(&str) -> bool) -> Meant<'a> {
    let Some(rest) = text.strip_prefix('/') else { return Meant::Words };
    let (name, arguments) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
    if rest.trim().is_empty() {
        return Meant::Unknown("");
    }
    // `/ ` and a comment of C begin no command.
    if name.is_empty() || name.starts_with(['/', '*']) {
        return Meant::Words;
    }
    let own = OWN.iter().find(|own| own.name == name || own.also.contains(&name));
    let is_prompt = prompts.iter().any(|prompt| prompt == name);
    match own {
        Some(own) if !is_prompt || matches!(own.deed, Deed::Exit | Deed::Help) => {
            Meant::Deed(own.name, own.deed, arguments.trim())
        }
        _ if is_prompt => Meant::Words,
        _ if is_there(&format!("/{name}")) || name.contains('/') => Meant::Words,
        _ => Meant::Unknown(name),
    }
}

/// What to say of a command that there is none of: nothing was sent.
pub(crate) fn unknown(name: &str, prompts: &[String]) -> String {
    if name.is_empty() {
        return "a command has a name behind its /. Nothing was sent. /help lists all".to_owned();
    }
    let own = OWN.iter().flat_map(|own| std::iter::once(own.name).chain(own.also.iter().copied()));
    let all = own.chain(prompts.iter().map(String::as_str));
    let alike = |known: &str| strsim::normalized_damerau_levenshtein(name, known);
    let likest = all.filter(|known| alike(known) >= ALIKE || known.starts_with(name));
    let likest = likest.max_by(|one, other| alike(one).total_cmp(&alike(other)));
    let meant = likest.map_or_else(|| ".".to_owned(), |known| format!("; did you mean /{known}?"));
    let short: String = name.chars().take(MAX_NAME).collect();
    format!("there is no command /{}{meant} Nothing was sent. /help lists all", spelled(&short))
}

/// What an argument switches: on, off, or over from `now`.
pub(crate) fn switched(argument: &str, now: bool) -> Option<bool> {
    match argument {
        "" => Some(!now),
        "on" | "yes" | "true" => Some(true),
        "off" | "no" | "false" => Some(false),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn prompts() -> Vec<String> {
        ["init", "review", "new", "exit"].map(str::to_owned).to_vec()
    }

    #[track_caller]
    fn check(text: &str, want: Meant<'_>) {
        assert_eq!(meant(text, &prompts(), |path| path == "/etc"), want, "{text:?}");
    }

    #[test]
    fn a_line_is_words_a_command_or_a_slip() {
        check("fix it", Meant::Words);
        check("is /help a command?", Meant::Words);
        check("/help", Meant::Deed("help", Deed::Help, ""));
        check("/q", Meant::Deed("exit", Deed::Exit, ""));
        check("/models  a/b   high ", Meant::Deed("models", Deed::Models, "a/b   high"));
        check("/init the tests", Meant::Words);
        check("/hlep me", Meant::Unknown("hlep"));
        check("/", Meant::Unknown(""));
        check("/ \n", Meant::Unknown(""));
    }

    #[test]
    fn a_path_is_no_command() {
        for path in ["/etc", "/etc why?", "/home/me/a.rs is broken", "/ what is there?", "// a comment", "/* so */"] {
            check(path, Meant::Words);
        }
    }

    #[test]
    fn a_prompt_may_have_the_name_of_a_command_but_nobody_is_locked_in() {
        check("/new", Meant::Words);
        check("/exit", Meant::Deed("exit", Deed::Exit, ""));
    }

    #[test]
    fn a_slip_is_answered_with_what_comes_near() {
        let row = |name: &str, want: &str| assert_eq!(unknown(name, &prompts()), want);
        row("modles", "there is no command /modles; did you mean /models? Nothing was sent. /help lists all");
        row("ses", "there is no command /ses; did you mean /sessions? Nothing was sent. /help lists all");
        row("revew", "there is no command /revew; did you mean /review? Nothing was sent. /help lists all");
        row("", "a command has a name behind its /. Nothing was sent. /help lists all");
        row("xyzzy", "there is no command /xyzzy. Nothing was sent. /help lists all");
        row("\u{1b}[2J", "there is no command /\\u{1b}[2J. Nothing was sent. /help lists all");
    }

    #[test]
    fn names_are_there_once_and_in_order() {
        let mut all: Vec<&str> =
            OWN.iter().flat_map(|own| std::iter::once(own.name).chain(own.also.iter().copied())).collect();
        let many = all.len();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), many);
        assert!(OWN.is_sorted_by_key(|own| own.name));
        assert!(OWN.iter().all(|own| !own.help.is_empty() && !own.help.ends_with('.')));
    }

    #[test]
    fn a_switch_says_on_off_or_turns_over() {
        let row = |argument: &str, now: bool, want: Option<bool>| assert_eq!(switched(argument, now), want);
        row("", false, Some(true));
        row("", true, Some(false));
        row("on", true, Some(true));
        row("off", true, Some(false));
        row("maybe", true, None);
    }
}
