//! The second opinion: what another parser sees in the same text.

use tree_sitter::{Node, Parser, TreeCursor};

/// What the second parser found.
#[derive(Debug, Default)]
pub(crate) struct Second {
    /// It could not make sense of all of it.
    pub(crate) broken: bool,
    /// The deepest that anything stands in anything else.
    pub(crate) nesting: usize,
    /// The commands, in the order of the text.
    pub(crate) commands: Vec<Seen>,
}

/// One command.
#[derive(Debug, Clone)]
pub(crate) struct Seen {
    /// Its name as written; empty without one.
    pub(crate) name: String,
    /// Name and arguments as written, without numbers and lone variables.
    pub(crate) words: Vec<String>,
    /// All of it, with its redirections.
    pub(crate) text: String,
}

/// Looks at `text`. `None` when the parser itself is not to be had.
pub(crate) fn look(text: &str) -> Option<Second> {
    let mut parser = Parser::new();
    parser.set_language(&tree_sitter_bash::LANGUAGE.into()).ok()?;
    let tree = parser.parse(ascii(text), None)?;
    let mut second = Second { broken: tree.root_node().has_error(), ..Second::default() };
    let mut cursor = tree.walk();
    let mut nesting = 0;
    // By hand, not by calls: a hostile text must not reach the end of the stack.
    loop {
        let node = cursor.node();
        if node.kind() == "command" {
            second.commands.push(seen(node, text));
        }
        if cursor.goto_first_child() {
            nesting += usize::from(nests(node));
            second.nesting = second.nesting.max(nesting);
            continue;
        }
        while !cursor.goto_next_sibling() {
            if !up(&mut cursor, &mut nesting) {
                return Some(second);
            }
        }
    }
}

/// The same text with a letter for each byte of what is not ASCII. The scanner of the grammar looks characters up in
/// tables that end there, and reads beyond them: a crash. To a shell all of those are letters too.
fn ascii(text: &str) -> String {
    text.bytes().map(|byte| if byte.is_ascii() { char::from(byte) } else { 'x' }).collect()
}

/// Goes to the parent; `false` at the top.
fn up(cursor: &mut TreeCursor<'_>, nesting: &mut usize) -> bool {
    if !cursor.goto_parent() {
        return false;
    }
    *nesting -= usize::from(nests(cursor.node()));
    true
}

/// Whether what stands in `node` is one deeper. Chains that the grammar nests and people do not are left out.
fn nests(node: Node<'_>) -> bool {
    !matches!(
        node.kind(),
        "program"
            | "command"
            | "command_name"
            | "list"
            | "pipeline"
            | "redirected_statement"
            | "file_redirect"
            | "heredoc_redirect"
            | "heredoc_body"
            | "concatenation"
            | "string"
            | "do_group"
            | "variable_assignment"
            | "elif_clause"
            | "else_clause"
            | "case_item"
    )
}

fn seen(node: Node<'_>, text: &str) -> Seen {
    let slice = |node: Node<'_>| text.get(node.byte_range()).unwrap_or_default().trim().to_owned();
    let whole = node.parent().filter(|parent| parent.kind() == "redirected_statement").unwrap_or(node);
    let name = node.child_by_field_name("name").map(slice).unwrap_or_default();
    let mut cursor = node.walk();
    let is_word =
        |node: &Node<'_>| matches!(node.kind(), "command_name" | "word" | "string" | "raw_string" | "concatenation");
    let words = node.children(&mut cursor).filter(is_word).map(slice).collect();
    Seen { name, words, text: slice(whole) }
}
