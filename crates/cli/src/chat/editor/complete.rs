//! What the chat knows to go on with: commands, agents, what servers have to be read, files, and what may stand behind a
//! command.

mod files;
mod fuzzy;
mod paths;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};

use self::files::Files;
use self::fuzzy::ranked;
use super::{Candidate, Completer, Completion, Mode, Then, Typed};
use crate::render::clean;

/// Longest word that is looked for, in bytes.
const MAX_WORD: usize = 256;

/// Most resources of servers that are offered at once: there are files, too.
const MAX_RESOURCES: usize = 20;

/// One name and what is said of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Word {
    pub name: String,
    pub help: String,
    /// Whether something may stand behind it.
    pub goes_on: bool,
}

/// Completes what is typed in a chat. What it knows can be exchanged at any time.
#[derive(Debug)]
pub(crate) struct Complete {
    root: PathBuf,
    home: Option<PathBuf>,
    known: Mutex<Known>,
    files: Files,
}

#[derive(Debug, Default)]
struct Known {
    commands: Vec<Word>,
    agents: Vec<Word>,
    resources: Vec<Word>,
    /// By command.
    arguments: BTreeMap<String, Vec<Word>>,
}

impl Complete {
    /// Knows the files below `root`, which relative names belong to.
    pub(crate) fn new(root: PathBuf) -> Self {
        let home = std::env::home_dir();
        Self { files: Files::below(root.clone()), root, home, known: Mutex::default() }
    }

    /// The commands, by name without the `/`.
    pub(crate) fn commands(&self, words: Vec<Word>) {
        self.known().commands = words;
    }

    /// The agents that can be named with `@`.
    pub(crate) fn agents(&self, words: Vec<Word>) {
        self.known().agents = words;
    }

    /// What servers have to be read that can be named with `@`, each as `SERVER:URI`.
    pub(crate) fn resources(&self, words: Vec<Word>) {
        self.known().resources = words;
    }

    /// What may stand behind `/command`.
    pub(crate) fn arguments(&self, command: &str, words: Vec<Word>) {
        self.known().arguments.insert(command.to_owned(), words);
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        // Each use leaves it whole.
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn command(&self, typed: &str) -> Vec<Candidate> {
        let known = self.known();
        let word = |word: &Word| Candidate {
            insert: format!("/{}", word.name),
            label: String::new(),
            help: word.help.clone(),
            then: if word.goes_on { Then::Space } else { Then::Submit },
        };
        ranked(typed, known.commands.iter().map(|word| word.name.as_str()), false)
            .into_iter()
            .filter_map(|at| known.commands.get(at))
            .map(word)
            .collect()
    }

    fn argument(&self, command: &str, typed: &str) -> Vec<Candidate> {
        let known = self.known();
        let Some(words) = known.arguments.get(command) else { return Vec::new() };
        let candidate = |word: &Word| Candidate {
            insert: word.name.clone(),
            label: String::new(),
            help: word.help.clone(),
            then: if word.goes_on { Then::Space } else { Then::Submit },
        };
        let all = ranked(typed, words.iter().map(|word| word.name.as_str()), false).into_iter();
        all.filter_map(|at| words.get(at)).map(candidate).collect()
    }

    fn mention(&self, typed: &str) -> Vec<Candidate> {
        let mut found = {
            let known = self.known();
            let mut found = mentioned(typed, &known.agents, "agent");
            found.extend(mentioned(typed, &known.resources, "resource").into_iter().take(MAX_RESOURCES));
            found
        };
        let elsewhere = ["/", "~", ".."].iter().any(|start| typed.starts_with(start));
        let names = if elsewhere { self.path(typed) } else { self.files.like(typed) };
        found.extend(names.into_iter().filter(|name| can_be_named(name)).map(|name| file(format!("@{name}"))));
        found
    }

    /// The files that a path, which is typed out, may go on to.
    fn path(&self, typed: &str) -> Vec<String> {
        paths::like(typed, &self.root, self.home.as_deref())
    }
}

impl Completer for Complete {
    fn complete(&self, typed: &Typed) -> Completion {
        let Some(before) = typed.text.get(..typed.cursor) else { return Completion::default() };
        let start = before
            .rfind(char::is_whitespace)
            .map_or(0, |at| at + before.get(at..).and_then(|rest| rest.chars().next()).map_or(1, char::len_utf8));
        let word = before.get(start..).unwrap_or_default();
        if word.len() > MAX_WORD {
            return Completion::default();
        }
        let range = start..typed.cursor;
        if typed.mode == Mode::Prompt
            && let Some(line) = before.strip_prefix('/').filter(|line| !line.contains('\n'))
        {
            return match line.split_once(char::is_whitespace) {
                None if line.contains('/') => Completion::default(),
                None => Completion { range, candidates: self.command(line) },
                Some((command, _)) => Completion { range, candidates: self.argument(command, word) },
            };
        }
        // An `@` behind a letter is part of an address.
        let mention = word.rfind('@').filter(|_| typed.mode == Mode::Prompt).filter(|&at| {
            let letter = |c: char| c.is_alphanumeric() || c == '_';
            word.get(..at).is_some_and(|before| !before.ends_with(letter))
        });
        if let Some(at) = mention {
            let name = word.get(at + 1..).unwrap_or_default();
            // Behind a `#` stand the numbers of lines.
            let candidates = if name.contains('#') { Vec::new() } else { self.mention(name) };
            return Completion { range: start + at..typed.cursor, candidates };
        }
        if word.is_empty() && typed.mode == Mode::Prompt {
            return Completion::default();
        }
        let plain = |name: &String| !name.contains(|c: char| c.is_whitespace() || "'\"\\$`".contains(c));
        let names = self.path(word).into_iter().filter(plain);
        Completion { range, candidates: names.map(file).collect() }
    }
}

/// Those of `words`, each a `kind` of thing, that a mention may go on to.
fn mentioned(typed: &str, words: &[Word], kind: &str) -> Vec<Candidate> {
    let candidate = |word: &Word| Candidate {
        insert: format!("@{}", word.name),
        label: String::new(),
        help: if word.help.is_empty() { kind.to_owned() } else { format!("{kind}: {}", word.help) },
        then: Then::Space,
    };
    let places = ranked(typed, words.iter().map(|word| word.name.as_str()), false).into_iter();
    places.filter_map(|at| words.get(at)).filter(|word| can_be_named(&word.name)).map(candidate).collect()
}

/// Whether a mention can hold such a name, and whoever reads it sees all of it.
fn can_be_named(name: &str) -> bool {
    !name.contains(|c: char| c.is_whitespace() || matches!(c, '`' | ',' | '@' | '#')) && clean(name) == name
}

fn file(insert: String) -> Candidate {
    let then = if insert.ends_with('/') { Then::More } else { Then::Space };
    Candidate { insert, label: String::new(), help: String::new(), then }
}

#[cfg(test)]
mod tests;
