//! From text to analysis: the bounds, the two parsers, and what they agree on.

use std::collections::HashSet;
use std::io::Cursor;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use brush_parser::ast::Program;
use brush_parser::{Parser, ParserOptions};

use crate::analysis::{Analysis, Surroundings};
use crate::arity;
use crate::second::{self, Second, Seen};
use crate::walk::{Top, Walk, is_quiet};

/// Longest text that is looked into, in bytes. A longer one is unknown.
pub const MAX_LENGTH: usize = 64 * 1024;
/// Deepest that commands may stand in each other. Beyond it a text is unknown: the parser's time and stack grow with
/// the depth of what does not fit together, not with the length.
pub const MAX_NESTING: usize = 12;
/// Most words in a text that may stand before a command and before each other without an end. Beyond it a text is
/// unknown: each of them takes some of the parser's stack.
pub(crate) const MAX_PREFIXES: usize = 200;
/// Those words.
const PREFIXES: [&str; 3] = ["time", "coproc", "!"];

/// Why a text is unknown that no shell would take.
pub(crate) const NOT_WHOLE: &str = "it is no whole command line";

/// Finds out what `command` would do.
///
/// Takes time in proportion to the length of the text, which is bounded. Never fails: what cannot be told is listed in
/// [`Analysis::unknown`].
pub fn analyse(command: &str, around: &Surroundings<'_>) -> Analysis {
    let home = around.home.map(Path::to_owned);
    let unknown = |why: &str| Analysis { unknown: vec![why.to_owned()], home: home.clone(), ..Analysis::default() };
    let second = match bounded(command) {
        Ok(second) => second,
        Err(why) => return unknown(why),
    };
    // A panic of the first parser is no reason to end the program.
    catch_unwind(AssertUnwindSafe(|| judged(command, around, second)))
        .unwrap_or_else(|_| unknown("the parser cannot cope with it"))
}

fn judged(command: &str, around: &Surroundings<'_>, second: Second<'_>) -> Analysis {
    let tree = tree(command, &second);
    let mut walk = walked(command, around, &tree, HashSet::new());
    if !walk.mistaken.is_empty() {
        // Once more, without believing what turned out wrong.
        let mistaken = std::mem::take(&mut walk.mistaken);
        walk = walked(command, around, &tree, mistaken);
    }
    if !walk.mistaken.is_empty() {
        walk.unknown("what its variables hold is not known before the run");
    }
    let tops = std::mem::take(&mut walk.tops);
    agree(&mut walk, tops, second);
    walk.finish()
}

fn walked<'a>(
    command: &str,
    around: &'a Surroundings<'a>,
    tree: &Result<Program, &'static str>,
    disbelieved: HashSet<String>,
) -> Walk<'a> {
    let mut walk = Walk::new(around);
    walk.disbelieved = disbelieved;
    match tree {
        Ok(program) => walk.main(program, command),
        Err(why) => walk.refuse(why),
    }
    walk
}

/// Whether a number of more than 31 bits stands before a redirection or behind a tilde. The first parser takes for
/// granted that such numbers are smaller, and panics.
fn holds_huge_number(text: &str) -> bool {
    let bytes = text.as_bytes();
    let mut start = 0;
    bytes.chunk_by(|one, next| one.is_ascii_digit() && next.is_ascii_digit()).any(|run| {
        let (before, after) = (&bytes[..start], bytes.get(start + run.len()));
        start += run.len();
        let behind_tilde = before.ends_with(b"~") || before.ends_with(b"~+") || before.ends_with(b"~-");
        let is_huge = || run[0].is_ascii_digit() && str::from_utf8(run).is_ok_and(|run| run.parse::<i32>().is_err());
        (behind_tilde || matches!(after, Some(b'<' | b'>'))) && is_huge()
    })
}

/// The text as the second parser sees it, if it is within the bounds of the first.
fn bounded(text: &str) -> Result<Second<'_>, &'static str> {
    if text.len() > MAX_LENGTH {
        return Err("it is too long to look into");
    }
    if text.contains('\0') {
        return Err("it holds a zero byte");
    }
    if holds_huge_number(text) {
        return Err("it holds a number that no shell can take for a stream or a folder");
    }
    if text.split(|c: char| !c.is_alphanumeric() && c != '!').filter(|word| PREFIXES.contains(word)).count()
        > MAX_PREFIXES
    {
        return Err("it has too many words that stand before commands");
    }
    second::look(text).ok_or("the second parser is not to be had")
}

/// The tree of `text`, which must be within the bounds.
pub(crate) fn tree(text: &str, second: &Second<'_>) -> Result<Program, &'static str> {
    let deep = if second.broken { openers(text) } else { second.nesting };
    if deep > MAX_NESTING {
        return Err("its parts stand too deep in each other");
    }
    Parser::new(Cursor::new(text.as_bytes()), &options()).parse_program().map_err(|_| NOT_WHOLE)
}

/// The tree of a piece of text, such as what stands in `$(…)`.
pub(crate) fn piece(text: &str) -> Result<Program, &'static str> {
    tree(text, &bounded(text)?)
}

/// How bash reads without `shopt`: `!(x)` is a command there and no pattern.
pub(crate) fn options() -> ParserOptions {
    ParserOptions { enable_extended_globbing: false, ..ParserOptions::default() }
}

/// At most how deep anything stands in a text that makes no sense as a whole.
fn openers(text: &str) -> usize {
    const WORDS: [&str; 8] = ["if", "while", "until", "for", "case", "select", "function", "["];
    let marks = text.chars().filter(|c| matches!(c, '(' | '{' | '`' | '[')).count();
    marks + text.split_ascii_whitespace().filter(|word| WORDS.contains(word)).count()
}

/// Lays what the two parsers saw beside each other: a command that only the second one saw makes the text unknown.
fn agree(walk: &mut Walk<'_>, tops: Vec<Top>, second: Second<'_>) {
    if second.broken {
        walk.unknown("it does not parse cleanly");
    }
    let mut tops: Vec<Option<Top>> = tops.into_iter().map(Some).collect();
    // Those before are taken: both see them in nearly the same order.
    let mut taken = 0;
    for seen in second.commands {
        let same = |top: &&mut Option<Top>| top.as_ref().is_some_and(|top| top.name == seen.name);
        while tops.get(taken).is_some_and(Option::is_none) {
            taken += 1;
        }
        match tops.iter_mut().skip(taken).find(same).and_then(Option::take) {
            Some(top) => walk.pattern(top.quiet, seen.text.to_owned(), top.always),
            None => {
                walk.unknown("the two parsers read it differently");
                missed(walk, seen);
            }
        }
    }
    let inner = std::mem::take(&mut walk.inner);
    for top in tops.into_iter().flatten().chain(inner) {
        walk.pattern(top.quiet, top.source, top.always);
    }
}

fn missed(walk: &mut Walk<'_>, seen: Seen<'_>) {
    let always = arity::careful(&seen.words);
    walk.pattern(is_quiet(seen.name), seen.text.to_owned(), always);
}
