//! Simple commands: their words, assignments and redirections.

use brush_parser::ast::{
    Assignment, AssignmentName, AssignmentValue, CommandPrefixOrSuffixItem, IoFileRedirectKind, IoFileRedirectTarget,
    IoRedirect, SimpleCommand, Word,
};

use super::extent::extent_of;
use super::{Source, Walk, is_quiet};
use crate::analysis::Touching;
use crate::state::After;
use crate::text::Arg;
use crate::variables::is_dangerous;
use crate::word::{Place, Tildes, short};

impl Walk<'_> {
    pub(super) fn simple(&mut self, simple: &SimpleCommand, source: Source<'_>) -> After {
        let mut args = Vec::new();
        let prefix = simple.prefix.iter().flat_map(|prefix| &prefix.0);
        let suffix = simple.suffix.iter().flat_map(|suffix| &suffix.0);
        let alone = simple.word_or_name.is_none();
        let mut stdin = false;
        for item in prefix {
            self.item(item, alone, source, &mut args, &mut stdin);
        }
        if let Some(name) = simple.word_or_name.as_ref().filter(|name| !self.names_stream(name, source)) {
            args.push(self.word(&name.value, Place::Command));
        }
        for item in suffix {
            self.item(item, false, source, &mut args, &mut stdin);
        }
        if args.is_empty() {
            return After::same(self.places.clone());
        }
        let text = extent_of(simple).map_or_else(String::new, |(from, to)| source.slice(from, to).to_owned());
        let after = self.judge(&args, text, stdin);
        self.untouched &= args.first().and_then(Arg::literal).is_some_and(|name| is_quiet(&name) || name == "echo");
        after
    }

    fn item(
        &mut self,
        item: &CommandPrefixOrSuffixItem,
        alone: bool,
        source: Source<'_>,
        args: &mut Vec<Arg>,
        stdin: &mut bool,
    ) {
        match item {
            CommandPrefixOrSuffixItem::IoRedirect(redirect) => {
                *stdin |= matches!(
                    redirect,
                    IoRedirect::HereDocument(None | Some(0), _)
                        | IoRedirect::HereString(None | Some(0), _)
                        | IoRedirect::File(
                            None | Some(0),
                            IoFileRedirectKind::Read | IoFileRedirectKind::DuplicateInput,
                            _
                        )
                );
                self.redirect(redirect, source);
            }
            CommandPrefixOrSuffixItem::Word(word) => {
                if !self.names_stream(word, source) {
                    args.push(self.word(&word.value, Place::Command));
                }
            }
            CommandPrefixOrSuffixItem::AssignmentWord(assignment, word) => {
                // Behind a name it is an argument like any other, and a variable for those that set some.
                self.assignment(assignment, alone && args.is_empty());
                if !args.is_empty() {
                    let arg = self.word(&word.value, Place::Command);
                    args.push(arg);
                }
            }
            CommandPrefixOrSuffixItem::ProcessSubstitution(_, shell) => {
                self.only_bash("a process substitution");
                self.aside(|walk| walk.list(&shell.list, source));
                let (start, end) = (shell.loc.start.index, shell.loc.end.index);
                let raw = source.slice(start, end);
                let alone = |c: Option<char>| c.is_none_or(|c| c.is_whitespace() || "<>;|&()".contains(c));
                // The parser takes `a<(b)c` for three words.
                let before = start.checked_sub(if raw.starts_with('(') { 2 } else { 1 });
                if !(alone(before.and_then(|at| source.at(at))) && alone(source.at(end))) {
                    self.unknown("a process substitution inside a word");
                }
                args.push(Arg { raw: raw.to_owned(), ..Arg::plain("/dev/fd/63") });
            }
        }
    }

    /// Whether the word is the variable of a redirection, `{fd}> file`, which the parser takes for a word: the name in
    /// braces right before the sign.
    fn names_stream(&mut self, word: &Word, source: Source<'_>) -> bool {
        let Some(name) = word.value.strip_prefix('{').and_then(|rest| rest.strip_suffix('}')) else { return false };
        let before_sign =
            word.loc.as_ref().is_some_and(|loc| source.at(loc.end.index).is_some_and(|c| "<>".contains(c)));
        if !before_sign || !name.starts_with(|c: char| c == '_' || c.is_ascii_alphabetic()) {
            return false;
        }
        self.only_bash("{name}>");
        if !name.chars().all(|c| c == '_' || c.is_ascii_alphanumeric()) {
            self.unknown(&format!("what {} stands for cannot be told", short(&word.value)));
        }
        self.set(name);
        true
    }

    fn assignment(&mut self, assignment: &Assignment, alone: bool) {
        let name = match &assignment.name {
            AssignmentName::VariableName(name) => name,
            AssignmentName::ArrayElementName(name, index) => {
                self.arithmetic(index);
                name
            }
        };
        match &assignment.value {
            AssignmentValue::Scalar(word) => {
                let mut value = self.word(&word.value, Place::Value);
                self.tildes(&mut value, Tildes::Value);
                self.set_to(name, &value);
                let text = value.texts.first().filter(|_| !value.dynamic && value.texts.len() == 1);
                let plain = matches!(&assignment.name, AssignmentName::VariableName(_)) && !assignment.append;
                if let Some(text) = text.filter(|_| plain && alone && self.around_it == 0) {
                    // No pattern is worked out behind `=`: it would be later, where the variable is used bare.
                    self.variables.constant(name, text.clone());
                }
            }
            AssignmentValue::Array(items) => {
                self.only_bash("an array");
                for (index, value) in items {
                    if let Some(index) = index {
                        self.arithmetic(&index.value);
                    }
                    self.word(&value.value, Place::Command);
                }
                self.set(name);
            }
        }
    }

    fn set_to(&mut self, name: &str, value: &Arg) {
        let raw = value.raw.as_str();
        let number = value.literal().is_some_and(|text| text.parse::<i64>().is_ok())
            || (raw.starts_with("$((") && raw.ends_with("))"));
        self.variables.note(name, number);
        self.warn(name);
    }

    /// Notes that a variable is set to anything.
    pub(crate) fn set(&mut self, name: &str) {
        self.assigned(name);
        self.warn(name);
    }

    pub(crate) fn assigned(&mut self, name: &str) {
        self.variables.note(name, false);
    }

    fn warn(&mut self, name: &str) {
        if is_dangerous(name) {
            self.unknown(&format!("{name} decides what other commands do"));
        }
    }

    pub(super) fn redirects(&mut self, redirects: &[IoRedirect], source: Source<'_>) {
        for redirect in redirects {
            self.redirect(redirect, source);
        }
    }

    fn redirect(&mut self, redirect: &IoRedirect, source: Source<'_>) {
        match redirect {
            IoRedirect::File(_, kind, target) => self.redirect_file(kind, target, source),
            IoRedirect::HereDocument(_, document) => {
                if document.requires_expansion {
                    self.word(&document.doc.value, Place::Body);
                }
            }
            IoRedirect::HereString(_, word) => {
                self.only_bash("<<<");
                self.word(&word.value, Place::Value);
            }
            IoRedirect::OutputAndError(word, _) => {
                self.only_bash("&>");
                let arg = self.word(&word.value, Place::Value);
                self.touch(&arg, Touching::Write);
            }
        }
    }

    fn redirect_file(&mut self, kind: &IoFileRedirectKind, target: &IoFileRedirectTarget, source: Source<'_>) {
        let how = match kind {
            IoFileRedirectKind::Read | IoFileRedirectKind::DuplicateInput => Touching::Read,
            IoFileRedirectKind::Write
            | IoFileRedirectKind::Append
            | IoFileRedirectKind::ReadAndWrite
            | IoFileRedirectKind::Clobber
            | IoFileRedirectKind::DuplicateOutput => Touching::Write,
        };
        match target {
            IoFileRedirectTarget::Fd(_) => {}
            IoFileRedirectTarget::Filename(word) => {
                let arg = self.word(&word.value, Place::Value);
                self.touch(&arg, how);
            }
            IoFileRedirectTarget::Duplicate(word) => {
                let arg = self.word(&word.value, Place::Value);
                if word.value.starts_with('-') && word.value.len() > 1 {
                    // The sign ends behind the dash there, and the rest is a word of the command.
                    self.unknown(&format!("what {} becomes is not known before the run", short(&word.value)));
                }
                let number = |text: &str| text.trim_end_matches('-').bytes().all(|byte| byte.is_ascii_digit());
                if !arg.literal().is_some_and(|text| number(&text)) {
                    self.only_bash(">&");
                    // Bash reads what it has become once more, as it would a word that was written so.
                    let again = |c: char| "$`\\'\"~*?[<>".contains(c);
                    if !arg.dynamic && arg.texts.iter().any(|text| text.string().contains(again)) {
                        self.unknown(&format!("what {} becomes is not known before the run", short(&word.value)));
                    }
                    self.touch(&arg, how);
                }
            }
            IoFileRedirectTarget::ProcessSubstitution(_, shell) => {
                self.only_bash("a process substitution");
                self.aside(|walk| walk.list(&shell.list, source));
            }
        }
    }
}
