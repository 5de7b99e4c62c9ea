//! What one simple command does: by its name, each goes to the place that knows it.

use crate::analysis::Touching;
use crate::arity;
use crate::programs::{self, options};
use crate::state::After;
use crate::text::Arg;
use crate::walk::{Top, Walk, is_quiet, shows_variables};
use crate::word::{is_plain, short};
use crate::wrapper;

/// Folders in which the system keeps its programs: there, a path is only another spelling of the name.
const PROGRAM_FOLDERS: [&str; 6] = ["/bin", "/sbin", "/usr/bin", "/usr/sbin", "/usr/local/bin", "/usr/local/sbin"];

/// What came of one command.
pub(crate) struct Judged {
    pub(crate) after: After,
    /// What "always" may cover.
    pub(crate) always: Option<String>,
}

/// A command while it is looked at.
#[derive(Clone, Copy)]
pub(crate) struct Command<'c> {
    /// The name without the folder.
    pub(crate) name: &'c str,
    /// Name and arguments.
    pub(crate) all: &'c [Arg],
    /// The arguments.
    pub(crate) args: &'c [Arg],
    /// It is given something to read by a redirection.
    pub(crate) stdin: bool,
}

impl Walk<'_> {
    /// Looks at a command that stands in a script, as `source`.
    pub(crate) fn judge(&mut self, args: &[Arg], source: String, stdin: bool) -> After {
        let judged = self.one(args, &source, stdin);
        let name = args.first().map(|arg| arg.raw.clone()).unwrap_or_default();
        let top = Top { quiet: is_quiet_with(&name, args), name, source, always: judged.always };
        if self.scripts == 0 {
            self.tops.push(top)
        } else {
            self.inner.push(top)
        }
        judged.after
    }

    /// Looks at a command that another one runs.
    pub(crate) fn run_by_another(&mut self, args: &[Arg], stdin: bool) -> Judged {
        let words: Vec<&str> = args.iter().map(|arg| arg.raw.as_str()).filter(|raw| !raw.is_empty()).collect();
        let source = words.join(" ");
        let judged = self.one(args, &source, stdin);
        let name = args.first().map(|arg| arg.raw.clone()).unwrap_or_default();
        self.inner.push(Top { quiet: is_quiet_with(&name, args), name, source, always: judged.always.clone() });
        judged
    }

    fn one(&mut self, args: &[Arg], source: &str, stdin: bool) -> Judged {
        let same = Judged { after: After::same(self.places.clone()), always: None };
        if !self.add(args, source) {
            return same;
        }
        let name = args.first().filter(|arg| !arg.variable).and_then(Arg::literal);
        // Behind `time`, `--` is part of the word before.
        let name = name.filter(|name| !name.is_empty() && !name.starts_with('-'));
        let Some(name) = name else {
            let raw = args.first().map_or("", |arg| arg.raw.as_str());
            self.unknown(&format!("the command {} is not known before the run", short(raw)));
            return same;
        };
        self.spell(args, &name, source);
        let base = name.rsplit('/').next().unwrap_or_default();
        let command = Command { name: base, all: args, args: args.get(1..).unwrap_or_default(), stdin };
        let before = self.out.unknown.len();
        let mut judged = self.by_name(command);
        if options::run_programs(self, command) || (self.out.unknown.len() > before && options::is_flexible(base)) {
            judged.always = None;
        }
        programs::network::look(self, command);
        programs::runners::elsewhere(self, command);
        judged
    }

    /// Notes the plain spelling of a command that is written in another.
    fn spell(&mut self, args: &[Arg], name: &str, source: &str) {
        if !name.contains('/') && is_plainly(args, source) {
            return;
        }
        let plain =
            |text: &str| !text.is_empty() && text.chars().all(|c| c.is_alphanumeric() || "_./:,@%+=-~".contains(c));
        let folder = name.rsplit_once('/').filter(|(folder, _)| PROGRAM_FOLDERS.contains(folder));
        let mut words = vec![folder.map_or(name, |(_, base)| base).to_owned()];
        for arg in args.iter().skip(1).filter(|arg| !arg.raw.is_empty()) {
            // What stands for something else is no spelling of it: `~`, `$x`.
            let stays = arg.variable || arg.raw.starts_with('~');
            let text = arg.literal().filter(|text| !stays && plain(text));
            words.push(text.unwrap_or_else(|| arg.raw.clone()));
        }
        let plainly = words.join(" ");
        let rest = source.strip_prefix(&plainly);
        let same = rest.is_some_and(|rest| rest.is_empty() || rest.starts_with([' ', '\n']));
        if !same && !is_quiet(&words[0]) && !self.out.spellings.contains(&plainly) {
            self.out.spellings.push(plainly);
        }
    }

    fn by_name(&mut self, command: Command<'_>) -> Judged {
        let words: Vec<&str> = command.all.iter().map(|arg| arg.raw.as_str()).collect();
        let mut judged = Judged { after: After::same(self.places.clone()), always: arity::careful(&words) };
        match command.name {
            "cd" | "chdir" | "pushd" | "popd" => judged.after = programs::builtins::go(self, command),
            _ if wrapper::find(command.name).is_some() => {
                let ran = wrapper::run(self, command);
                judged.always = ran.always;
                if let Some(after) = ran.after.filter(|_| wrapper::stays_here(command.name)) {
                    judged.after = after;
                }
            }
            _ if programs::builtins::run(self, command) => {
                if command.name == "eval" {
                    // What it ran may have gone elsewhere.
                    judged.after = After::same(self.places.clone());
                }
            }
            _ if programs::runners::run(self, command, &mut judged) => {}
            _ if programs::shells::run(self, command) => {}
            "find" | "gfind" => judged.always = programs::find::run(self, command, judged.always),
            "git" => judged.always = programs::git::run(self, command, judged.always),
            "sed" | "gsed" => programs::scripts::sed(self, command),
            "awk" | "gawk" | "mawk" | "nawk" => programs::scripts::awk(self, command),
            "make" | "gmake" => programs::scripts::make(self, command),
            _ if programs::scripts::interpreter(self, command) => {}
            _ if programs::files::run(self, command) => {}
            _ if programs::archives::run(self, command) => {}
            _ if programs::outputs::run(self, command) => {}
            _ if programs::TALKERS.contains(&command.name) => programs::mention_but_messages(self, command.args),
            _ => programs::mention_all(self, command.args),
        }
        judged
    }
}

/// Whether `source` is nothing but the words, with a blank between them, and perhaps more behind.
fn is_plainly(args: &[Arg], source: &str) -> bool {
    let mut rest = source;
    for (at, arg) in args.iter().enumerate() {
        let next = if at == 0 { Some(rest) } else { rest.strip_prefix(' ') };
        match next.and_then(|next| next.strip_prefix(arg.raw.as_str())) {
            Some(behind) if !arg.raw.is_empty() && is_plain(&arg.raw) => rest = behind,
            Some(_) | None => return false,
        }
    }
    rest.is_empty() || rest.starts_with([' ', '\n'])
}

/// Whether no rule is asked about a command called `name` with these words.
fn is_quiet_with(name: &str, all: &[Arg]) -> bool {
    is_quiet(name) && !shows_variables(name, all.get(1..).unwrap_or_default())
}

/// Whether a function of this name would give something that is looked for by name another meaning.
pub(crate) fn is_special(name: &str) -> bool {
    wrapper::find(name).is_some() || programs::is_known(name) || name.contains('/')
}

/// The same command with another list of arguments.
impl Command<'_> {
    /// The arguments as text where they are known.
    pub(crate) fn texts(&self) -> Vec<Option<String>> {
        self.args.iter().map(Arg::known).collect()
    }

    /// Whether one of the arguments is exactly one of `options`.
    pub(crate) fn has(&self, options: &[&str]) -> bool {
        self.texts().iter().flatten().any(|text| options.contains(&text.as_str()))
    }
}

impl Walk<'_> {
    /// Notes every argument as touched.
    pub(crate) fn touch_all(&mut self, args: &[Arg], how: Touching) {
        for arg in args {
            self.touch(arg, how);
        }
    }
}
