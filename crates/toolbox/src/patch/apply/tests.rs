//! Texts and hunks, and what becomes of them.

use super::*;
use crate::patch::{Patch, Section, parse};

pub(super) fn hunks(body: &str) -> Vec<Hunk> {
    let Patch { mut sections } = parse(&format!("*** Begin Patch\n*** Update File: a\n{body}\n*** End Patch")).unwrap();
    match sections.pop() {
        Some(Section::Update { hunks, .. }) => hunks,
        other => panic!("{other:?}"),
    }
}

#[track_caller]
fn check(text: &str, body: &str, want: &str) {
    assert_eq!(apply(text, &hunks(body)).as_deref(), Ok(want));
}

#[test]
fn lines_come_and_go() {
    check("a\nb\nc\n", "@@\n a\n-b\n+B\n+BB\n c", "a\nB\nBB\nc\n");
    check("a\nb\n", "@@\n-a\n-b", "");
    check("", "@@\n+x", "x\n");
    check("a\nb\nc\nd\n", "@@\n-a\n@@\n-c\n+C\n@@\n+e", "b\nC\nd\ne\n");
    check("a\nb\nc\n", "@@ b\n+x", "a\nb\nx\nc\n");
    check("a\nb\n", "@@\n+x\n@@\n-a\n+A", "A\nb\nx\n");
    check("a\n", "@@\n-a\n+$& \\1 $1", "$& \\1 $1\n");
    check("a\n", "@@\n-a\n+a", "a\n");
}

#[test]
fn lines_that_stay_keep_their_bytes() {
    check("x  \nold\n\ty\n", "@@\n x\n-old\n+new\n y", "x  \nnew\n\ty\n");
    check("it\u{2019}s\u{a0}so\nold\n", "@@\n it's so\n-old\n+it's", "it\u{2019}s\u{a0}so\nit's\n");
    check("\u{b}a\rb\nc\n", "@@\n-c\n+d", "\u{b}a\rb\nd\n");
}

#[test]
fn line_ends_are_those_of_the_lines_beside() {
    check("a\r\nb\r\nc\r\n", "@@\n a\n-b\n+B\n+BB", "a\r\nB\r\nBB\r\nc\r\n");
    check("a\r\nb\r\n", "@@\r\n-a\r\n+A\r", "A\r\nb\r\n");
    check("a\nb\n", "@@\r\n-a\r\n+A\r", "A\nb\n");
    check("a\r\nb\nc\n", "@@\n-a\n+A", "A\r\nb\nc\n");
    check("a\r\nb\nc\n", "@@\n-b\n+B", "a\r\nB\nc\n");
    check("a\r\nb\nc\n", "@@\n+0\n a", "0\r\na\r\nb\nc\n");
    check("a\r\nb\r\n", "@@\n+c", "a\r\nb\r\nc\r\n");
    check("a\r\nb", "@@\n+c", "a\r\nb\r\nc\r\n");
    check("a\r\n", "@@\n-a\n+b", "b\r\n");
}

#[test]
fn the_end_of_the_text_stays_unless_its_last_line_changes() {
    check("a\nb", "@@\n-a\n+A\n b", "A\nb");
    check("a\nb", "@@\n-b\n+B", "a\nB\n");
    check("a\nb", "@@\n+c", "a\nb\nc\n");
    check("a\nb", "@@\n-b", "a\n");
    check("a\n\n\n", "@@\n-a\n+b", "b\n\n\n");
}

#[test]
fn new_lines_are_indented_as_the_file() {
    check("func f() {\n\treturn 1\n}\n", "@@ func f() {\n-    return 1\n+    return 2", "func f() {\n\treturn 2\n}\n");
    check("  if a {\n    b\n  }\n", "@@\n if a {\n-  b\n+  c\n+    d\n }", "  if a {\n    c\n      d\n  }\n");
    check("    a\n    b\n", "@@\n a\n+    new\n b", "    a\n    new\n    b\n");
    // What has lost its indentation altogether cannot say where new lines belong.
    check("    a\n        b\nc\n", "@@\n a\n b\n+new\n c", "    a\n        b\nnew\nc\n");
    check("    a\n        b\nc\n", "@@\n a\n-b\n+new\n c", "    a\n        new\nc\n");
}
