//! A change as people read it: a unified diff. Pure.

use std::time::Duration;

use haft_protocol::Object;
use serde_json::json;
use similar::{Algorithm, ChangeTag, DiffOp, TextDiff};

use crate::beside::beside;
use crate::text::{Text, lf};

/// Lines around a change.
const CONTEXT: usize = 4;
/// Where more than this, in bytes, lies between the first line that differs and the last, it is not compared line by line.
const MAX_COMPARED: usize = 1024 * 1024;
/// How long two texts are compared for the shortest difference; then any that is right will do. Texts made for it would
/// take ten times as long.
const PATIENCE: Duration = Duration::from_secs(2);
/// Texts up to this size together, in bytes, are compared where the caller runs: it takes less than a millisecond or
/// two, whatever is in them.
const COMPARED_AT_ONCE: usize = 16 * 1024;

/// The difference between two texts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Diff {
    /// The unified diff, moved left as far as its lines allow.
    pub(crate) patch: String,
    /// Lines that came.
    pub(crate) additions: usize,
    /// Lines that went.
    pub(crate) deletions: usize,
}

impl Diff {
    /// [`Diff::new`] without holding up whoever else runs on this thread: texts made for it take seconds to compare.
    pub(crate) async fn between(path: &str, old: &str, new: &str) -> Self {
        if old.len() + new.len() <= COMPARED_AT_ONCE {
            return Self::new(path, old, new);
        }
        let (path, old, new) = (path.to_owned(), old.to_owned(), new.to_owned());
        beside(move || Self::new(&path, &old, &new)).await
    }

    /// The same of what files hold; `None` is no file.
    pub(crate) async fn of_bytes(path: &str, old: Option<&[u8]>, new: Option<&[u8]>) -> Self {
        let (path, old, new) = (path.to_owned(), old.map(<[u8]>::to_vec), new.map(<[u8]>::to_vec));
        beside(move || Self::decoded(&path, old.as_deref(), new.as_deref())).await
    }

    /// The same. Takes its time: older encodings take a while to be told.
    pub(crate) fn decoded(path: &str, old: Option<&[u8]>, new: Option<&[u8]>) -> Self {
        let text = |bytes: Option<&[u8]>| {
            let bytes = bytes.unwrap_or_default();
            let text = Text::read(bytes).map_or_else(|| String::from_utf8_lossy(bytes).into_owned(), |text| text.text);
            lf(&text).into_owned()
        };
        Self::new(path, &text(old), &text(new))
    }

    /// Compares `old` and `new`, which are or were the content of the file at `path`.
    ///
    /// Where more than 1 MiB lies between the first change and the last, the patch only says so, and all of those lines
    /// count as changed.
    pub(crate) fn new(path: &str, old: &str, new: &str) -> Self {
        Self::within(PATIENCE, path, old, new)
    }

    fn within(patience: Duration, path: &str, old: &str, new: &str) -> Self {
        let rule = "=".repeat(67);
        let header = format!("Index: {path}\n{rule}\n--- {path}\n+++ {path}\n");
        let (before, after) = (lines(old), lines(new));
        let same = |(old, new): &(&&str, &&str)| old == new;
        let first = before.iter().zip(&after).take_while(same).count();
        let rest = before[first..].iter().rev().zip(after[first..].iter().rev());
        let last = rest.take_while(same).count();
        let size = |lines: &[&str]| lines[first..lines.len() - last].iter().map(|line| line.len()).sum::<usize>();
        if size(&before).max(size(&after)) > MAX_COMPARED {
            let patch = format!("{header}(too large to be compared: {} bytes, then {})\n", old.len(), new.len());
            return Self { patch, additions: after.len() - first - last, deletions: before.len() - first - last };
        }
        let (skip, drop) = (first.saturating_sub(CONTEXT), last.saturating_sub(CONTEXT));
        let (before, after) = (&before[skip..before.len() - drop], &after[skip..after.len() - drop]);
        let diff = TextDiff::configure().algorithm(Algorithm::Myers).timeout(patience).diff_slices(before, after);
        let mut rows = Vec::new();
        let (mut additions, mut deletions) = (0, 0);
        for hunk in diff.grouped_ops(CONTEXT) {
            rows.push(Row::Head(head(&hunk, skip)));
            for change in hunk.iter().flat_map(|op| diff.iter_changes(op)) {
                let sign = match change.tag() {
                    ChangeTag::Equal => ' ',
                    ChangeTag::Insert => '+',
                    ChangeTag::Delete => '-',
                };
                additions += usize::from(sign == '+');
                deletions += usize::from(sign == '-');
                rows.push(Row::Line(sign, change.value()));
            }
        }
        Self { patch: header + &print(&rows), additions, deletions }
    }

    /// What clients draw beside an edited file.
    pub(crate) fn of_file(&self, path: &str) -> Object {
        let value = json!({
            "file": path, "patch": self.patch, "additions": self.additions, "deletions": self.deletions,
        });
        value.as_object().cloned().unwrap_or_default()
    }
}

enum Row<'a> {
    Head(String),
    /// A sign and a line with its end.
    Line(char, &'a str),
}

/// Lines with their ends. A carriage return alone ends none.
fn lines(text: &str) -> Vec<&str> {
    text.split_inclusive('\n').collect()
}

/// `skip` lines stand before those that were compared.
fn head(hunk: &[DiffOp], skip: usize) -> String {
    let (Some(first), Some(last)) = (hunk.first(), hunk.last()) else { return String::new() };
    let range = |start: usize, end: usize| {
        // An empty range is named after the line before it.
        format!("{},{}", skip + if start == end { start } else { start + 1 }, end - start)
    };
    let old = range(first.old_range().start, last.old_range().end);
    let new = range(first.new_range().start, last.new_range().end);
    format!("@@ -{old} +{new} @@\n")
}

fn print(rows: &[Row<'_>]) -> String {
    let indent = |line: &str| line.len() - line.trim_start().len();
    let shared = rows
        .iter()
        .filter_map(|row| match row {
            Row::Line(_, line) if !line.trim().is_empty() => Some(indent(line)),
            Row::Line(..) | Row::Head(_) => None,
        })
        .min()
        .unwrap_or(0);
    let mut text = String::new();
    for row in rows {
        match row {
            Row::Head(head) => text.push_str(head),
            Row::Line(sign, line) => {
                let bare = line.strip_suffix('\n');
                let content = bare.unwrap_or(line);
                // A blank line may be shorter than what is cut.
                let from = shared.min(indent(content));
                text.push(*sign);
                text.push_str(content.get(from..).unwrap_or_default());
                text.push('\n');
                if bare.is_none() {
                    text.push_str("\\ No newline at end of file\n");
                }
            }
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};

    #[track_caller]
    fn check(old: &str, new: &str, want: Expect) {
        let diff = Diff::new("/p/a", old, new);
        let (_, hunks) = diff.patch.split_once("+++ /p/a\n").unwrap();
        want.assert_eq(&format!("+{} -{}\n{hunks}", diff.additions, diff.deletions));
    }

    #[test]
    fn a_patch_says_which_file_it_is_for() {
        let patch = Diff::new("/p/a", "x\n", "x\n").patch;
        assert_eq!(patch, format!("Index: /p/a\n{}\n--- /p/a\n+++ /p/a\n", "=".repeat(67)));
    }

    #[test]
    fn a_new_file() {
        check(
            "",
            "a\nb\n",
            expect![[r#"
                +2 -0
                @@ -0,0 +1,2 @@
                +a
                +b
            "#]],
        );
    }

    #[test]
    fn four_lines_stand_around_a_change_and_near_changes_share_them() {
        check(
            "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12\n13\n14\n15\n16\n17\n18\n19\n20\n",
            "1\n2\n3\n4\n5\nsix\n7\n8\n9\n10\n11\n12\n13\n14\nfifteen\n16\n17\n18\n19\n20\n21\n",
            expect![[r#"
                +3 -2
                @@ -2,19 +2,20 @@
                 2
                 3
                 4
                 5
                -6
                +six
                 7
                 8
                 9
                 10
                 11
                 12
                 13
                 14
                -15
                +fifteen
                 16
                 17
                 18
                 19
                 20
                +21
            "#]],
        );
    }

    #[test]
    fn indentation_that_all_lines_share_is_cut() {
        check(
            "        if a {\n            b\n\n        }\n",
            "        if a {\n            c\n\n        }\n",
            expect![[r#"
                +1 -1
                @@ -1,4 +1,4 @@
                 if a {
                -    b
                +    c
                 
                 }
            "#]],
        );
    }

    #[test]
    fn a_missing_line_end_is_shown() {
        check(
            "a\nb",
            "a\nb\n",
            expect![[r#"
                +1 -1
                @@ -1,2 +1,2 @@
                 a
                -b
                \ No newline at end of file
                +b
            "#]],
        );
    }

    #[test]
    fn lines_with_a_carriage_return_alone_are_one() {
        let patch = Diff::new("/p/a", "a\rb\n", "a\rc\n").patch;
        assert!(patch.ends_with("@@ -1,1 +1,1 @@\n-a\rb\n+a\rc\n"), "{patch:?}");
    }

    #[test]
    fn a_small_change_of_a_large_text_is_compared() {
        let large: String = (0..MAX_COMPARED / 4).map(|at| format!("{at}\n")).collect();
        check(
            &large,
            &large.replace("\n100000\n", "\nnew\n"),
            expect![[r#"
                +1 -1
                @@ -99997,9 +99997,9 @@
                 99996
                 99997
                 99998
                 99999
                -100000
                +new
                 100001
                 100002
                 100003
                 100004
            "#]],
        );
    }

    #[test]
    fn without_patience_the_difference_is_right_and_longer() {
        let text = |step: usize| (0..4000).map(|at| format!("{}\n", at * step % 7)).collect::<String>();
        let (old, new) = (text(2), text(3));
        let (quick, whole) =
            (Diff::within(Duration::ZERO, "a", &old, &new), Diff::within(Duration::MAX, "a", &old, &new));
        assert!(quick.additions >= whole.additions, "{} {}", quick.additions, whole.additions);
        for diff in [quick, whole] {
            let side = |sign: char| -> String {
                let rows = diff.patch.lines().skip(5).filter(|row| row.starts_with([sign, ' ']));
                rows.map(|row| format!("{}\n", &row[1..])).collect()
            };
            assert_eq!((side('-'), side('+')), (old.clone(), new.clone()));
        }
    }

    #[test]
    fn what_is_too_large_is_not_compared() {
        let large = "x\n".repeat(MAX_COMPARED);
        let diff = Diff::new("/p/a", "a\n", &large);
        assert!(diff.patch.ends_with("(too large to be compared: 2 bytes, then 2097152)\n"), "{}", diff.patch);
        assert_eq!((diff.additions, diff.deletions), (MAX_COMPARED, 1));
    }
}
