//! The second opinion: what another parser sees in the same text.

mod exact;

use std::borrow::Cow;
use std::cell::RefCell;

use tree_sitter::{Language, Node, Parser, Tree};

/// What the second parser found.
#[derive(Debug, Default)]
pub(crate) struct Second<'t> {
    /// It could not make sense of all of it.
    pub(crate) broken: bool,
    /// The deepest that anything stands in anything else.
    pub(crate) nesting: usize,
    /// The commands, in the order of the text.
    pub(crate) commands: Vec<Seen<'t>>,
}

/// One command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Seen<'t> {
    /// Its name as written; empty without one.
    pub(crate) name: &'t str,
    /// Name and arguments as written, without numbers and lone variables.
    pub(crate) words: Vec<&'t str>,
    /// All of it, with its redirections.
    pub(crate) text: &'t str,
}

thread_local! {
    /// Making one costs as much as reading a short text.
    static PARSER: RefCell<Option<Reader>> = const { RefCell::new(None) };
}

struct Reader {
    parser: Parser,
    /// By the number of a node's kind: comparing names is what would take the time.
    kinds: Vec<Kind>,
}

/// What a node of the tree is to us. What stands in one of `Other` is one deeper; chains that the grammar nests and
/// people do not are none of those.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Command,
    /// A word of a command that counts as a level.
    Word,
    /// One that does not.
    ChainedWord,
    Chain,
    Other,
}

fn made() -> Option<Reader> {
    let mut parser = Parser::new();
    let language = Language::from(tree_sitter_bash::LANGUAGE);
    parser.set_language(&language).ok()?;
    let ids = 0..u16::try_from(language.node_kind_count()).ok()?;
    let kinds = ids.map(|id| kind_of(language.node_kind_for_id(id).unwrap_or_default())).collect();
    Some(Reader { parser, kinds })
}

/// Looks at `text`. `None` when the parser itself is not to be had.
pub(crate) fn look(text: &str) -> Option<Second<'_>> {
    exact::read(text).or_else(|| parsed(text))
}

/// What the parser for everything sees.
fn parsed(text: &str) -> Option<Second<'_>> {
    PARSER.with_borrow_mut(|reader| {
        let reader = match reader {
            Some(reader) => reader,
            None => reader.insert(made()?),
        };
        // What is left of a text that could not be read must not be taken up again.
        reader.parser.reset();
        let tree = reader.parser.parse(ascii(text).as_ref(), None)?;
        Some(read(&tree, text, &reader.kinds))
    })
}

fn read<'t>(tree: &Tree, text: &'t str, kinds: &[Kind]) -> Second<'t> {
    let kind = |node: Node<'_>| kinds.get(usize::from(node.kind_id())).copied().unwrap_or(Kind::Other);
    let mut second = Second { broken: tree.root_node().has_error(), ..Second::default() };
    let mut cursor = tree.walk();
    let mut nesting = 0;
    // By hand, not by calls: a hostile text must not reach the end of the stack.
    loop {
        let node = cursor.node();
        if kind(node) == Kind::Command {
            second.commands.push(seen(node, text, &kind));
        }
        if cursor.goto_first_child() {
            nesting += usize::from(matches!(kind(node), Kind::Other | Kind::Word));
            second.nesting = second.nesting.max(nesting);
            continue;
        }
        while !cursor.goto_next_sibling() {
            if !cursor.goto_parent() {
                return second;
            }
            nesting -= usize::from(matches!(kind(cursor.node()), Kind::Other | Kind::Word));
        }
    }
}

/// The same text with a letter for each byte of what is not ASCII. The scanner of the grammar looks characters up in
/// tables that end there, and reads beyond them: a crash. To a shell all of those are letters too.
fn ascii(text: &str) -> Cow<'_, str> {
    if text.is_ascii() {
        return text.into();
    }
    text.bytes().map(|byte| if byte.is_ascii() { char::from(byte) } else { 'x' }).collect::<String>().into()
}

fn kind_of(name: &str) -> Kind {
    match name {
        "command" => Kind::Command,
        "command_name" | "concatenation" | "string" => Kind::ChainedWord,
        "word" | "raw_string" => Kind::Word,
        "program"
        | "list"
        | "pipeline"
        | "redirected_statement"
        | "file_redirect"
        | "heredoc_redirect"
        | "heredoc_body"
        | "do_group"
        | "variable_assignment"
        | "elif_clause"
        | "else_clause"
        | "case_item" => Kind::Chain,
        _ => Kind::Other,
    }
}

fn seen<'t>(node: Node<'_>, text: &'t str, kind: &impl Fn(Node<'_>) -> Kind) -> Seen<'t> {
    let slice = |node: Node<'_>| text.get(node.byte_range()).unwrap_or_default().trim();
    let whole = node.parent().filter(|parent| parent.kind() == "redirected_statement").unwrap_or(node);
    let name = node.child_by_field_name("name").map(slice).unwrap_or_default();
    let mut cursor = node.walk();
    let is_word = |node: &Node<'_>| matches!(kind(*node), Kind::Word | Kind::ChainedWord);
    let words = node.children(&mut cursor).filter(is_word).map(slice).collect();
    Seen { name, words, text: slice(whole) }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn commands<'t>(second: &Second<'t>) -> Vec<(&'t str, &'t str)> {
        second.commands.iter().map(|seen| (seen.name, seen.text)).collect()
    }

    #[track_caller]
    fn same(line: &str) {
        let quick = exact::read(line).map(|second| commands(&second));
        let slow = parsed(line).map(|second| (commands(&second), second.broken));
        assert_eq!(quick.map(|quick| (quick, false)), slow, "{line:?}");
    }

    #[test]
    fn redirections_belong_to_the_text_of_a_command_that_nothing_is_joined_before() {
        for line in [
            "a > f",
            "a && b > f",
            "a > f && b",
            "a | b 2>&1",
            "a 2>&1 | b > f",
            "a; b > f",
            "a & b > f",
            "a || b > f; c | d > g >> h",
            "cd 'a b' && git commit -m \"x; y\" &> log\nls $x *.rs < in &",
        ] {
            same(line);
        }
    }

    #[test]
    fn what_may_be_more_than_it_seems_is_left_to_the_parser_for_everything() {
        for line in [
            "",
            " ",
            ";",
            "a &&",
            "a | | b",
            "a;;b",
            "a |& b",
            "a $(b)",
            "a `b`",
            "(a)",
            "{ a; }",
            "a {b,c}",
            "a # b",
            "! a",
            "if a",
            "time a",
            "x=1 a",
            "x=1",
            "> f a",
            "a > f b",
            "a << E",
            "a <<< b",
            "a >| f",
            "a <> f",
            "a <(b)",
            "a>f",
            "a 2> &1",
            "a >&f",
            "a >&-",
            "a \\",
            "a 'b",
            "a \"b",
            "a \"\\\"\"",
            "a $1",
            "a $",
            "a ${b}",
            "a $b[1]",
            "a [b]",
            "é",
            "a é",
            "a 'é'",
            "a\r",
            "export a",
            "a\0",
            "a ~",
            "a !b",
            "[ a ]",
        ] {
            assert!(exact::read(line).is_none(), "{line:?}");
        }
    }

    proptest! {
        #[test]
        fn both_see_the_same(pieces in prop::collection::vec(prop::sample::select(vec![
            "a", "b1", "2", "'", "\"", " ", " ", " ", ".", "-", "=", ";", "&&", "||", "|", "&", "\n", " 2>&1", " > f",
            " < f", " >> g", " &> h", ">", "<", "$", "$x", "'q q'", "\"d $y\"", "if ", "cd ", "xx ", "(", "*", "?",
            "\\", "!", "#", "@", "~", "%", "+", ":", ",", " a ", " b; ", " c | ", " d && ",
        ]), 1..16)) {
            let text = pieces.concat();
            if let Some(quick) = exact::read(&text) {
                // Where the parser for everything fails, as at `a@`, this one may still know.
                if let Some(slow) = parsed(&text).filter(|slow| !slow.broken) {
                    prop_assert_eq!(commands(&quick), commands(&slow), "{:?}", text);
                }
            }
        }
    }
}
