//! Files and hunks, and where these belong.

use super::*;
use crate::patch::parse;
use crate::patch::{Patch, Section};

fn hunks(body: &str) -> Vec<Hunk> {
    let Patch { mut sections } = parse(&format!("*** Begin Patch\n*** Update File: a\n{body}\n*** End Patch")).unwrap();
    match sections.pop() {
        Some(Section::Update { hunks, .. }) => hunks,
        other => panic!("{other:?}"),
    }
}

fn find(file: &str, body: &str) -> Result<Vec<usize>, Refusal> {
    let lines: Vec<&str> = file.lines().collect();
    let placed = place(&lines, &hunks(body))?;
    Ok(placed.into_iter().map(|placed| placed.at + 1).collect())
}

/// The lines, from 1, on which the hunks begin.
#[track_caller]
fn check(file: &str, body: &str, want: &[usize]) {
    assert_eq!(find(file, body), Ok(want.to_vec()), "{body}");
}

#[track_caller]
fn refused(file: &str, body: &str, want: &str) {
    let error = find(file, body).expect_err(want).to_string();
    assert!(error.contains(want), "{error}");
}

#[test]
fn the_only_place_is_found_at_the_strictest_level() {
    check("a\nb\nc", "@@\n-b\n c", &[2]);
    check("  a\na", "@@\n-a", &[2]);
    check("  a\na  ", "@@\n-a", &[2]);
    check("\u{201c}x\u{201d} \u{2026}\n", "@@\n-\"x\" ...", &[1]);
    check("\tcaf\u{e9}", "@@\n-cafe\u{301}", &[1]);
    refused("a\nb", "@@\n-A", "hunk 1: its lines are not in the file");
}

#[test]
fn one_of_several_places_is_not_taken() {
    refused("a\nb\na\nb", "@@\n-a\n+z", "hunk 1 fits in several places, on lines 1, 3");
    refused("a\na", "@@\n-a", "on lines 1, 2.");
    refused(&"a\n".repeat(30), "@@\n-a", "on lines 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, ….");
    refused("  a\n a", "@@\n-a", "on lines 1, 2");
    refused("x\na\ny\na", "@@\n-x\n@@\n-a", "hunk 2 fits in several places, on lines 2, 4");
}

#[test]
fn order_makes_some_places_certain() {
    check("a\nb\na\nb", "@@\n-a\n@@\n-a", &[1, 3]);
    check("a\nx\na", "@@\n-x\n@@\n-a", &[2, 3]);
    check("a\nx\na", "@@\n-a\n@@\n-x", &[1, 2]);
    check("a\nb\nc\na", "@@\n-a\n b\n@@\n-c\n@@\n-a", &[1, 3, 4]);
    // Between two others there is only one.
    check("a\nx\na\ny\na", "@@\n-x\n@@\n-a\n@@\n-y", &[2, 3, 4]);
}

#[test]
fn hunks_out_of_order_are_refused() {
    refused("a\nb\nc\nd", "@@\n-d\n@@\n-a", "hunk 2: its lines are on line 1, above the end of the hunk before it");
    refused("a\nb\nc", "@@\n-a\n b\n@@\n b\n-c", "hunk 2: its lines are on line 2, above the end");
    refused("f\n1\ng\n2", "@@ g\n-2\n@@ f\n-1", "hunk 2: `@@ f` is on line 1, not below the hunk before it");
}

#[test]
fn a_line_above_says_which_place() {
    let file = "class A:\n  def f:\n    x\n  def g:\n    x\nclass B:\n  def f:\n    x\n";
    check(file, "@@ def g:\n-    x", &[5]);
    check(file, "@@ class B:\n-    x", &[8]);
    check(file, "@@ class B:\n@@ def f:\n-    x", &[8]);
    refused(file, "@@ def f:\n-    x", "on lines 3, 8");
    refused(file, "@@ class A:\n-    x", "on lines 3, 5");
    check(file, "@@ class A:\n@@ def f:\n-    x", &[3]);
    check(file, "@@ def f:\n-    x\n@@ def f:\n-    x", &[3, 8]);
    refused(file, "@@ def h:\n-    x", "no line of the file is `def h:`, which `@@` names");
    refused(file, "@@ class A\n-    x", "The nearest is line 1: `class A:`. Behind `@@` write a whole line");
    refused(file, "@@ class B:\n-    y", "its lines are not in the file");
    refused("x\nf\ny", "@@ f\n-x", "its lines are on line 1, and not below line 2, where `@@` puts them");
}

#[test]
fn lines_that_only_come_need_a_line_above_or_go_to_the_end() {
    check("a\nb", "@@\n+x", &[3]);
    check("", "@@\n+x", &[1]);
    check("a\nb", "@@ a\n+x", &[2]);
    check("a\nb", "@@ a\n+x\n*** End of File", &[3]);
    refused("a\nb\na", "@@ a\n+x", "on lines 2, 4");
    check("a\nb", "@@\n+x\n@@\n-a", &[3, 1]);
}

#[test]
fn the_end_of_the_file_is_a_place() {
    check("x\ny\nx", "@@\n-x\n*** End of File", &[3]);
    check("x\ny\nx\n", "@@\n-x\n@@\n-x\n*** End of File", &[1, 3]);
    // Where it is not there it is looked for elsewhere.
    check("x\ny", "@@\n-x\n*** End of File", &[1]);
    refused("x\nx\ny", "@@\n-x\n*** End of File", "on lines 1, 2");
}

#[test]
fn a_line_number_decides_between_places_that_fit() {
    check("a\nb\na", "@@ -3 @@\n-a", &[3]);
    check("a\nb\na", "@@ -3,1 +3,0 @@\n-a", &[3]);
    refused("a\nb\na", "@@ -2 @@\n-a", "on lines 1, 3");
    refused("a\nb\na", "@@ -9 @@\n-a", "on lines 1, 3");
    // It is no more than that.
    check("a\nb\nc", "@@ -9 @@\n-b", &[2]);
    check("  a\na", "@@ -1 @@\n-a", &[2]);
}

#[test]
fn blank_lines_at_the_ends_may_be_decoration() {
    check("a\nb", "@@\n-b\n \n", &[2]);
    check("a\nb", "@@\n\n\n-b\n\n\n", &[2]);
    check("a\n\nb\na", "@@\n-a\n\n", &[1]);
    refused("a\nb", "@@\n a\n\n-b", "not in the file");
}

#[test]
fn the_work_is_bounded() {
    let file = ["a"; 40];
    let hunks_of = |count: usize| hunks(&format!("@@\n{}-b", "-a\n".repeat(count)));
    let mut longer = file.to_vec();
    longer.push("b");
    let error = place_within(&longer, &hunks_of(20), 300).unwrap_err();
    assert!(error.to_string().contains("cannot be found in reasonable time"), "{error}");
    assert_eq!(place_within(&longer, &hunks_of(20), 3000).unwrap()[0].at, 20);
    assert_eq!(variants(&hunks(&format!("@@\n-a{}", "\n ".repeat(50)))[0].rows).len(), MAX_VARIANTS);
}
