//! The walk through the tree of the first parser: nothing in it is passed over.

mod extent;
mod simple;
mod touch;

use std::collections::HashSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use brush_parser::ast::{
    AndOr, AndOrList, BinaryPredicate, Command, CompoundCommand, CompoundList, ExtendedTestExpr, Pipeline, Program,
    SeparatorOperator, Word,
};

use self::extent::extent;
use crate::analysis::{Analysis, Dialect, Simple, Surroundings, Touching};
use crate::parse::{NOT_WHOLE, piece};
use crate::state::{After, Places};
use crate::text::{Arg, Text};
use crate::variables::Variables;
use crate::word::{Place, short};

/// Most simple commands that are looked at; beyond that a text is unknown.
pub const MAX_COMMANDS: usize = 1_000;
/// Deepest that scripts may stand in scripts, as in `bash -c "bash -c …"`; beyond that a text is unknown.
pub const MAX_SCRIPTS: usize = 8;
/// Most paths that are listed; beyond that a text is unknown.
const MAX_TOUCHES: usize = 2_000;
/// Most reasons that are listed.
const MAX_REASONS: usize = 12;

/// A command that stands in the text itself, not in a string in it.
#[derive(Debug)]
pub(crate) struct Top {
    /// As it is written.
    pub(crate) name: String,
    pub(crate) source: String,
    /// No rule is asked about it.
    pub(crate) quiet: bool,
    pub(crate) always: Option<String>,
}

/// What is found out so far, and where the walk stands.
pub(crate) struct Walk<'a> {
    pub(crate) around: &'a Surroundings<'a>,
    /// The shell that reads the place that is looked at.
    pub(crate) dialect: Dialect,
    pub(crate) out: Analysis,
    pub(crate) tops: Vec<Top>,
    /// Commands that others run, or that stand in strings.
    pub(crate) inner: Vec<Top>,
    pub(crate) places: Places,
    pub(crate) variables: Variables,
    /// Every folder that was the working folder.
    visited: Places,
    /// How many strings deep: `bash -c`, `eval`.
    pub(crate) scripts: usize,
    /// How many substitutions deep.
    substitutions: usize,
    /// How many commands for other machines and containers are around: what they touch is not here.
    pub(crate) elsewhere: usize,
    /// How many loops, conditions, functions and pipelines are around.
    around_it: usize,
    /// How many loops and functions are around: what stands there may run again.
    again: usize,
    /// Nothing ran yet that could have changed a folder.
    untouched: bool,
    /// Which touches were noted. As texts: to a path, `a/.` and `a/` are the same, and before a pattern they are not.
    touched: HashSet<(Touching, OsString, String)>,
    /// Links that it made: where each stands and where it leads, both without `.` and `..`.
    links: Vec<(PathBuf, PathBuf)>,
    /// Variables whose value is not believed.
    pub(crate) disbelieved: HashSet<String>,
    /// Variables whose value was believed, and should not have been.
    pub(crate) mistaken: HashSet<String>,
}

/// The text that a tree was made of.
#[derive(Clone, Copy)]
pub(crate) struct Source<'t> {
    text: &'t str,
    /// Characters are bytes.
    ascii: bool,
}

impl<'t> Source<'t> {
    fn new(text: &'t str) -> Self {
        Self { text, ascii: text.is_ascii() }
    }

    /// The character at a place.
    fn at(self, place: usize) -> Option<char> {
        if self.ascii {
            self.text.as_bytes().get(place).map(|byte| char::from(*byte))
        } else {
            self.text.chars().nth(place)
        }
    }

    /// What stands from the character `start` to the character `end`.
    fn slice(self, start: usize, end: usize) -> &'t str {
        if self.ascii {
            return self.text.get(start..end.min(self.text.len())).unwrap_or_default().trim();
        }
        let byte = |at: usize| self.text.char_indices().nth(at).map_or(self.text.len(), |(byte, _)| byte);
        self.text.get(byte(start)..byte(end)).unwrap_or_default().trim()
    }
}

impl<'a> Walk<'a> {
    pub(crate) fn new(around: &'a Surroundings<'a>) -> Self {
        Self {
            around,
            dialect: around.dialect,
            out: Analysis { home: around.home.map(Path::to_owned), ..Analysis::default() },
            tops: Vec::new(),
            inner: Vec::new(),
            places: Places::at(around.cwd),
            variables: Variables::default(),
            visited: Places::at(around.cwd),
            scripts: 0,
            substitutions: 0,
            elsewhere: 0,
            around_it: 0,
            again: 0,
            untouched: true,
            touched: HashSet::new(),
            links: Vec::new(),
            disbelieved: HashSet::new(),
            mistaken: HashSet::new(),
        }
    }

    /// Walks the whole text.
    pub(crate) fn main(&mut self, program: &Program, text: &str) {
        self.program(program, Source::new(text));
        self.settle();
    }

    pub(crate) fn finish(self) -> Analysis {
        self.out
    }

    /// Notes why it cannot be told what the text does.
    pub(crate) fn unknown(&mut self, why: &str) {
        if self.out.unknown.len() < MAX_REASONS && !self.out.unknown.iter().any(|known| known == why) {
            self.out.unknown.push(why.to_owned());
        }
    }

    /// Notes why a text has no tree.
    pub(crate) fn refuse(&mut self, why: &str) {
        self.out.broken |= why == NOT_WHOLE;
        self.unknown(why);
    }

    /// Notes that something stands here which other shells read otherwise.
    pub(crate) fn only_bash(&mut self, what: &str) {
        if self.dialect == Dialect::Posix {
            self.unknown(&format!("{what}, which not every shell has"));
        }
    }

    /// Adds what rules are matched against, unless it is `quiet`.
    pub(crate) fn pattern(&mut self, quiet: bool, text: String, always: Option<String>) {
        if quiet {
            return;
        }
        if !self.out.patterns.contains(&text) {
            self.out.patterns.push(text);
        }
        if let Some(always) = always.filter(|always| !self.out.always.contains(always)) {
            self.out.always.push(always);
        }
    }

    /// What was believed of variables must have been true.
    fn settle(&mut self) {
        if let Some(name) = self.variables.miscalculated() {
            self.unknown(&format!("${name} may be worked out as an expression"));
        }
        self.mistaken.extend(self.variables.mistaken());
    }

    fn program(&mut self, program: &Program, source: Source<'_>) {
        for list in &program.complete_commands {
            self.list(list, source);
        }
    }

    /// What stands in `$(…)`, backquotes and the like: it runs in a shell of its own.
    pub(crate) fn substitution(&mut self, text: &str) {
        if self.substitutions >= crate::MAX_NESTING {
            return self.unknown("its parts stand too deep in each other");
        }
        self.substitutions += 1;
        match piece(text) {
            Ok(program) => self.aside(|walk| walk.program(&program, Source::new(text))),
            Err(why) => self.refuse(why),
        }
        self.substitutions -= 1;
    }

    /// A string that a new shell runs, or this one where it stands: `eval`.
    pub(crate) fn script(&mut self, text: &str, here: bool) {
        if self.scripts >= MAX_SCRIPTS {
            return self.unknown("scripts stand too deep in scripts");
        }
        let program = match piece(text) {
            Ok(program) => program,
            Err(why) => return self.refuse(why),
        };
        self.scripts += 1;
        if here {
            self.program(&program, Source::new(text));
        } else {
            let before = std::mem::take(&mut self.variables);
            self.aside(|walk| walk.program(&program, Source::new(text)));
            self.settle();
            self.variables = before;
        }
        self.scripts -= 1;
    }

    /// The same for a shell of its own that reads it as `dialect`.
    pub(crate) fn script_for(&mut self, text: &str, dialect: Dialect) {
        let before = std::mem::replace(&mut self.dialect, dialect);
        self.script(text, false);
        self.dialect = before;
    }

    /// Walks something that runs in a shell of its own, or perhaps not at all.
    fn aside(&mut self, walk: impl FnOnce(&mut Self)) {
        let before = self.places.clone();
        self.around_it += 1;
        walk(self);
        self.around_it -= 1;
        self.places = before;
    }

    fn list(&mut self, list: &CompoundList, source: Source<'_>) {
        for item in &list.0 {
            match item.1 {
                SeparatorOperator::Sequence => self.and_or(&item.0, source),
                SeparatorOperator::Async => self.aside(|walk| walk.and_or(&item.0, source)),
            }
        }
    }

    fn and_or(&mut self, list: &AndOrList, source: Source<'_>) {
        let mut after = self.pipeline(&list.first, source);
        if list.additional.is_empty() {
            self.places = after.either();
            return;
        }
        self.around_it += 1;
        for next in &list.additional {
            after = match next {
                AndOr::And(pipeline) => {
                    self.places = after.done;
                    let next = self.pipeline(pipeline, source);
                    After { done: next.done, failed: after.failed.or(&next.failed) }
                }
                AndOr::Or(pipeline) => {
                    self.places = after.failed;
                    let next = self.pipeline(pipeline, source);
                    After { done: after.done.or(&next.done), failed: next.failed }
                }
            };
        }
        self.around_it -= 1;
        self.places = after.either();
    }

    fn pipeline(&mut self, pipeline: &Pipeline, source: Source<'_>) -> After {
        if pipeline.timed.is_some() && self.scripts == 0 {
            // The other parser takes the word for a command.
            let text = pipeline.seq.first().and_then(extent).map_or("", |(from, to)| source.slice(from, to));
            self.tops.push(Top { name: "time".to_owned(), source: format!("time {text}"), quiet: false, always: None });
        }
        let after = match pipeline.seq.as_slice() {
            [only] => self.command_node(only, source),
            several => {
                for command in several {
                    self.aside(|walk| {
                        walk.command_node(command, source);
                    });
                }
                After::same(self.places.clone())
            }
        };
        if pipeline.bang { After { done: after.failed, failed: after.done } } else { after }
    }

    fn command_node(&mut self, command: &Command, source: Source<'_>) -> After {
        match command {
            Command::Simple(simple) => return self.simple(simple, source),
            Command::Compound(compound, redirects) => {
                if let Some(redirects) = redirects {
                    self.redirects(&redirects.0, source);
                }
                self.compound(compound, source);
            }
            Command::Function(function) => {
                let name = self.word(&function.fname.value, Place::Command);
                match name.literal().filter(|name| !crate::judge::is_special(name)) {
                    Some(_) => {}
                    None => self.unknown(&format!("it gives {} another meaning", short(&function.fname.value))),
                }
                self.again += 1;
                self.aside(|walk| {
                    if let Some(redirects) = &function.body.1 {
                        walk.redirects(&redirects.0, source);
                    }
                    walk.compound(&function.body.0, source);
                });
                self.again -= 1;
            }
            Command::ExtendedTest(test, redirects) => {
                self.only_bash("[[ … ]]");
                if let Some(redirects) = redirects {
                    self.redirects(&redirects.0, source);
                }
                self.test(&test.expr);
            }
        }
        After::same(self.places.clone())
    }

    fn compound(&mut self, compound: &CompoundCommand, source: Source<'_>) {
        match compound {
            CompoundCommand::Arithmetic(arithmetic) => {
                self.only_bash("((…))");
                // A parser that reads `( ( a ) )` so would lose a command.
                let text = source.slice(arithmetic.loc.start.index, arithmetic.loc.end.index);
                if !(text.starts_with("((") && text.ends_with("))")) {
                    self.unknown("brackets that may be an expression or a shell");
                }
                self.arithmetic(&arithmetic.expr.value);
            }
            CompoundCommand::ArithmeticForClause(clause) => {
                self.only_bash("for ((…))");
                for expr in [&clause.initializer, &clause.condition, &clause.updater].into_iter().flatten() {
                    self.arithmetic(&expr.value);
                }
                self.repeated(|walk| walk.list(&clause.body.list, source));
            }
            CompoundCommand::BraceGroup(group) => self.list(&group.list, source),
            CompoundCommand::Subshell(shell) => self.aside(|walk| walk.list(&shell.list, source)),
            CompoundCommand::ForClause(clause) => {
                let values = clause.values.as_deref().and_then(|words| self.values(words));
                self.set(&clause.variable_name);
                self.variables.enter_loop(&clause.variable_name, values);
                self.repeated(|walk| walk.list(&clause.body.list, source));
                self.variables.leave_loop();
            }
            CompoundCommand::CaseClause(clause) => {
                self.word(&clause.value.value, Place::Value);
                let before = self.places.clone();
                let mut after = before.clone();
                self.around_it += 1;
                for case in &clause.cases {
                    for pattern in &case.patterns {
                        self.word(&pattern.value, Place::Value);
                    }
                    // `;&` goes on into the next one, so each may begin where any before it ended.
                    self.places = after.clone();
                    if let Some(list) = &case.cmd {
                        self.list(list, source);
                    }
                    after = after.or(&self.places);
                }
                self.around_it -= 1;
                self.places = after.or(&before);
            }
            CompoundCommand::IfClause(clause) => {
                self.around_it += 1;
                self.list(&clause.condition, source);
                let decided = self.places.clone();
                self.list(&clause.then, source);
                let mut after = decided.clone().or(&self.places);
                let mut before = decided;
                for other in clause.elses.iter().flatten() {
                    self.places = before.clone();
                    if let Some(condition) = &other.condition {
                        self.list(condition, source);
                        before = self.places.clone();
                    }
                    self.list(&other.body, source);
                    after = after.or(&before).or(&self.places);
                }
                self.around_it -= 1;
                self.places = after;
            }
            CompoundCommand::WhileClause(clause) | CompoundCommand::UntilClause(clause) => self.repeated(|walk| {
                walk.list(&clause.0, source);
                walk.list(&clause.1.list, source);
            }),
            CompoundCommand::Coprocess(process) => {
                self.unknown("a coprocess");
                if let Some(name) = &process.name {
                    self.word(&name.value, Place::Command);
                }
                self.aside(|walk| {
                    walk.command_node(&process.body, source);
                });
            }
        }
    }

    /// Walks a loop: it may run never, once, or again.
    fn repeated(&mut self, walk: impl FnOnce(&mut Self)) {
        let before = self.places.clone();
        self.around_it += 1;
        self.again += 1;
        walk(self);
        self.again -= 1;
        self.around_it -= 1;
        self.places = std::mem::replace(&mut self.places, Places::nowhere()).or(&before);
    }

    /// The words of a loop, if all are known.
    fn values(&mut self, words: &[Word]) -> Option<Vec<Text>> {
        let mut values = Some(Vec::new());
        for word in words {
            let arg = self.word(&word.value, Place::Command);
            if !arg.dynamic {
                self.pattern_shows(&arg);
            }
            values = values.filter(|_| !arg.dynamic).map(|mut all: Vec<Text>| {
                all.extend(arg.texts);
                all
            });
        }
        values
    }

    fn test(&mut self, expr: &ExtendedTestExpr) {
        match expr {
            ExtendedTestExpr::And(left, right) | ExtendedTestExpr::Or(left, right) => {
                self.test(left);
                self.test(right);
            }
            ExtendedTestExpr::Not(inner) | ExtendedTestExpr::Parenthesized(inner) => self.test(inner),
            ExtendedTestExpr::UnaryTest(_, word) => {
                let arg = self.word(&word.value, Place::Value);
                self.no_expression(&arg);
            }
            ExtendedTestExpr::BinaryTest(predicate, left, right) => {
                for word in [left, right] {
                    let arg = self.word(&word.value, Place::Value);
                    self.no_expression(&arg);
                    if compares_numbers(predicate) {
                        self.arithmetic(&word.value);
                    }
                }
            }
        }
    }

    /// A word that a builtin may take for the name of a variable with an index, which it would work out.
    pub(crate) fn no_expression(&mut self, arg: &Arg) {
        let holds = |text: &Text| text.string().contains('[') && text.string().contains(['$', '`']);
        if arg.texts.iter().any(holds) {
            self.unknown(&format!("{} may be worked out as an expression", short(&arg.raw)));
        }
    }

    /// Notes a simple command. `false` when there are too many.
    pub(crate) fn add(&mut self, args: &[Arg], source: &str) -> bool {
        if self.out.commands.len() >= MAX_COMMANDS {
            self.unknown("it has too many commands");
            return false;
        }
        let words = args.iter().filter(|arg| !arg.raw.is_empty()).flat_map(Arg::shown).collect();
        self.out.commands.push(Simple { words, source: source.to_owned() });
        true
    }
}

fn compares_numbers(predicate: &BinaryPredicate) -> bool {
    matches!(
        predicate,
        BinaryPredicate::ArithmeticEqualTo
            | BinaryPredicate::ArithmeticNotEqualTo
            | BinaryPredicate::ArithmeticLessThan
            | BinaryPredicate::ArithmeticLessThanOrEqualTo
            | BinaryPredicate::ArithmeticGreaterThan
            | BinaryPredicate::ArithmeticGreaterThanOrEqualTo
    )
}

/// Whether a command of those that set variables shows them instead: with `-p` and the like, or without a name.
pub(crate) fn shows_variables(name: &str, args: &[Arg]) -> bool {
    if !matches!(name, "export" | "declare" | "typeset" | "local" | "readonly") {
        return false;
    }
    let sets = |arg: &Arg| arg.start.starts_with(|c: char| c == '_' || c.is_alphabetic());
    let plain = |arg: &Arg| {
        arg.known().is_some_and(|text| text.starts_with(['-', '+']) && !text.contains(['p', 'f', 'F'])) || sets(arg)
    };
    !args.iter().all(plain) || !args.iter().any(sets)
}

/// Commands that only change folder, look, or set variables: no rule is asked about them.
pub(crate) fn is_quiet(name: &str) -> bool {
    matches!(
        name,
        "cd" | "chdir" | "pushd" | "popd" | "export" | "declare" | "typeset" | "local" | "readonly" | "unset" | "["
    )
}
