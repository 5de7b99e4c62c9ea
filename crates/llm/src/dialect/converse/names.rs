//! Names and ids in the letters that the interface takes. Pure.

use std::borrow::Cow;
use std::fmt::Write;

use ring::digest::{SHA256, digest};

use crate::quirks::plain;

/// Longest name of a tool, and longest id of a call, in characters.
const MAX: usize = 64;

/// The name of a tool: letters, digits, `_` and `-`, at least one.
pub(super) fn tool(name: &str) -> Cow<'_, str> {
    if name.is_empty() { "_".into() } else { short(plain(name)) }
}

/// The id of a call, in the letters that all models take.
pub(super) fn call(id: &str) -> Cow<'_, str> {
    tool(id)
}

/// Two that differ behind the limit stay two: the end becomes a sum of the whole.
fn short(name: Cow<'_, str>) -> Cow<'_, str> {
    const SUM: usize = 16;
    if name.len() <= MAX {
        return name;
    }
    let mut short = name.chars().take(MAX - SUM).collect::<String>();
    for byte in digest(&SHA256, name.as_bytes()).as_ref().iter().take(SUM / 2) {
        // Writing to a string cannot fail.
        let _ = write!(short, "{byte:02x}");
    }
    short.into()
}

/// Longest name of a document, in characters, with room for a number behind it.
const MAX_DOCUMENT: usize = 180;

/// The name of a document: letters, digits, single blanks, `-`, parentheses and brackets. Its ending is left out, for
/// the format says it.
pub(super) fn document(name: Option<&str>) -> String {
    let name = name.unwrap_or_default();
    let name = name.rsplit(['/', '\\']).next().unwrap_or_default();
    let stem = name.rsplit_once('.').map_or(name, |(stem, _)| stem);
    let fits = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '-' | '(' | ')' | '[' | ']');
    let words: String = stem.chars().map(|letter| if fits(letter) { letter } else { ' ' }).collect();
    let words: Vec<_> = words.split_whitespace().collect();
    let name: String = words.join(" ").chars().take(MAX_DOCUMENT).collect();
    match name.trim_end() {
        "" => "document".to_owned(),
        name => name.to_owned(),
    }
}

/// `name`, or with a number behind it where `taken` says so.
pub(super) fn unique(name: String, taken: impl Fn(&str) -> bool) -> String {
    let mut free = name.clone();
    let mut number = 1;
    while taken(&free) {
        number += 1;
        free = format!("{name} {number}");
    }
    free
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_tools_fit() {
        let row = |name: &str, want: &str| assert_eq!(tool(name), want, "{name}");
        row("read", "read");
        row("mcp.server/tool", "mcp_server_tool");
        row("grüße", "gr__e");
        row("", "_");
        let (a, b) = (format!("{}a", "x".repeat(80)), format!("{}b", "x".repeat(80)));
        assert_eq!((tool(&a).len(), tool(&b).len()), (64, 64));
        assert_ne!(tool(&a), tool(&b));
        assert_eq!(tool(&"x".repeat(64)), "x".repeat(64));
    }

    #[test]
    fn names_of_documents_fit() {
        let row = |name: Option<&str>, want: &str| assert_eq!(document(name), want);
        row(None, "document");
        row(Some("docs/Report (final) [v2].pdf"), "Report (final) [v2]");
        row(Some("a__b   c.d.pdf"), "a b c d");
        row(Some("Übersicht.pdf"), "bersicht");
        row(Some(".pdf"), "document");
        row(Some("日本語.pdf"), "document");
        row(Some(r"C:\x\plan.docx"), "plan");
        assert_eq!(document(Some(&"y ".repeat(300))).len(), 179);
    }

    #[test]
    fn a_name_that_is_taken_gets_a_number() {
        assert_eq!(unique("a".to_owned(), |_| false), "a");
        assert_eq!(unique("a".to_owned(), |name| ["a", "a 2"].contains(&name)), "a 3");
    }
}
