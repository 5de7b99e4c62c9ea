//! Where commands stand in the text.

use brush_parser::SourceSpan;
use brush_parser::ast::{Command, CommandPrefixOrSuffixItem, IoFileRedirectTarget, IoRedirect, SimpleCommand, Word};

/// From where to where a command is written, in characters.
pub(super) fn extent(command: &Command) -> Option<(usize, usize)> {
    match command {
        Command::Simple(simple) => extent_of(simple),
        Command::Compound(..) | Command::Function(_) | Command::ExtendedTest(..) => None,
    }
}

pub(super) fn extent_of(simple: &SimpleCommand) -> Option<(usize, usize)> {
    let items = simple.prefix.iter().flat_map(|prefix| &prefix.0);
    let items = items.chain(simple.suffix.iter().flat_map(|suffix| &suffix.0));
    let name = simple.word_or_name.iter().filter_map(|word| word.loc.as_ref());
    let spans: Vec<(usize, usize)> = items.flat_map(spans).chain(name.map(ends)).collect();
    Some((spans.iter().map(|span| span.0).min()?, spans.iter().map(|span| span.1).max()?))
}

fn ends(span: &SourceSpan) -> (usize, usize) {
    (span.start.index, span.end.index)
}

fn spans(item: &CommandPrefixOrSuffixItem) -> Vec<(usize, usize)> {
    let word = |word: &Word| word.loc.as_ref().map(ends);
    let found = match item {
        CommandPrefixOrSuffixItem::Word(one) | CommandPrefixOrSuffixItem::AssignmentWord(_, one) => vec![word(one)],
        CommandPrefixOrSuffixItem::ProcessSubstitution(_, shell) => vec![Some(ends(&shell.loc))],
        CommandPrefixOrSuffixItem::IoRedirect(redirect) => match redirect {
            IoRedirect::File(_, _, IoFileRedirectTarget::Filename(one) | IoFileRedirectTarget::Duplicate(one))
            | IoRedirect::HereString(_, one)
            | IoRedirect::OutputAndError(one, _) => vec![word(one)],
            IoRedirect::File(_, _, IoFileRedirectTarget::ProcessSubstitution(_, shell)) => vec![Some(ends(&shell.loc))],
            IoRedirect::File(_, _, IoFileRedirectTarget::Fd(_)) => Vec::new(),
            IoRedirect::HereDocument(_, document) => vec![word(&document.here_end), word(&document.doc)],
        },
    };
    found.into_iter().flatten().collect()
}
