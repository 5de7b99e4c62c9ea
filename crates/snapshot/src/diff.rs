//! How two contents of a file differ, as a unified diff. Pure.

use std::borrow::Cow;
use std::fmt::Write;
use std::time::Instant;

use similar::{Algorithm, ChangeTag, DiffOp, TextDiff};

/// Lines around a change.
const CONTEXT: usize = 3;
/// Where more than this, in bytes, lies between the first line that differs and the last, lines are counted and not compared.
pub const MAX_COMPARED: usize = 1024 * 1024;

/// How two contents differ.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Diff {
    /// A unified diff with a header; empty where one of them is no text, or there is too much to compare.
    pub patch: String,
    /// Lines that are new; 0 where one of them is no text.
    pub additions: u64,
    /// Lines that are gone; 0 where one of them is no text.
    pub deletions: u64,
}

impl Diff {
    /// Compares what `name` held and what it holds. After `until` any difference that is right will do, and not only the
    /// shortest.
    pub fn between(name: &str, old: &[u8], new: &[u8], until: Instant) -> Self {
        let (Some(old), Some(new)) = (text(old), text(new)) else { return Self::default() };
        let (before, after) = (lines(old), lines(new));
        let same = |(old, new): &(&&str, &&str)| old == new;
        let first = before.iter().zip(&after).take_while(same).count();
        let last = before[first..].iter().rev().zip(after[first..].iter().rev()).take_while(same).count();
        let size = |lines: &[&str]| lines[first..lines.len() - last].iter().map(|line| line.len()).sum::<usize>();
        if size(&before).max(size(&after)) > MAX_COMPARED {
            let count = |lines: &[&str]| (lines.len() - first - last) as u64;
            return Self { patch: String::new(), additions: count(&after), deletions: count(&before) };
        }
        let (skip, drop) = (first.saturating_sub(CONTEXT), last.saturating_sub(CONTEXT));
        let (before, after) = (&before[skip..before.len() - drop], &after[skip..after.len() - drop]);
        let diff = TextDiff::configure().algorithm(Algorithm::Myers).deadline(until).diff_slices(before, after);
        let mut made = Self { patch: header(name), additions: 0, deletions: 0 };
        for hunk in diff.grouped_ops(CONTEXT) {
            made.patch.push_str(&head(&hunk, skip));
            for change in hunk.iter().flat_map(|op| diff.iter_changes(op)) {
                made.line(change.tag(), change.value());
            }
        }
        made
    }

    fn line(&mut self, tag: ChangeTag, line: &str) {
        let sign = match tag {
            ChangeTag::Equal => ' ',
            ChangeTag::Insert => '+',
            ChangeTag::Delete => '-',
        };
        self.additions += u64::from(sign == '+');
        self.deletions += u64::from(sign == '-');
        self.patch.push(sign);
        self.patch.push_str(line);
        if !line.ends_with('\n') {
            self.patch.push_str("\n\\ No newline at end of file\n");
        }
    }
}

/// The content as text, if it is some.
fn text(content: &[u8]) -> Option<&str> {
    std::str::from_utf8(content).ok().filter(|text| !text.contains('\0'))
}

/// Lines with their ends. A carriage return alone ends none.
fn lines(text: &str) -> Vec<&str> {
    text.split_inclusive('\n').collect()
}

fn header(name: &str) -> String {
    let named = quoted(name);
    format!("{}--- {named}\n+++ {named}\n", heading(name))
}

/// The lines that begin what is said of the file called `name`.
pub fn heading(name: &str) -> String {
    format!("Index: {}\n{}\n", quoted(name), "=".repeat(67))
}

/// `name` as git writes it where it holds what would be no part of a line, or would not be seen: between quotes.
fn quoted(name: &str) -> Cow<'_, str> {
    if !name.contains(char::is_control) {
        return Cow::Borrowed(name);
    }
    let mut text = String::from("\"");
    for letter in name.chars() {
        match letter {
            '\n' => text.push_str("\\n"),
            '\t' => text.push_str("\\t"),
            '\r' => text.push_str("\\r"),
            '"' | '\\' => text.extend(['\\', letter]),
            letter if letter.is_control() => {
                let mut bytes = [0; 4];
                let escaped = |byte: &u8| format!("\\{byte:03o}");
                text.extend(letter.encode_utf8(&mut bytes).as_bytes().iter().map(escaped));
            }
            letter => text.push(letter),
        }
    }
    text.push('"');
    Cow::Owned(text)
}

/// `skip` lines stand before those that were compared.
fn head(hunk: &[DiffOp], skip: usize) -> String {
    let (Some(first), Some(last)) = (hunk.first(), hunk.last()) else { return String::new() };
    let mut text = String::from("@@");
    let ranges =
        [('-', first.old_range().start, last.old_range().end), ('+', first.new_range().start, last.new_range().end)];
    for (sign, start, end) in ranges {
        // An empty range is named after the line before it.
        let line = skip + start + usize::from(start != end);
        // Writing to a text cannot fail.
        let _ = write!(text, " {sign}{line},{}", end - start);
    }
    text + " @@\n"
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[track_caller]
    fn check(old: &str, new: &str, want: &str) {
        let diff = Diff::between("a", old.as_bytes(), new.as_bytes(), Instant::now() + Duration::from_secs(9));
        let hunks = diff.patch.split_once("+++ a\n").map_or("", |(_, hunks)| hunks);
        assert_eq!(format!("+{} -{}\n{hunks}", diff.additions, diff.deletions), want);
    }

    #[test]
    fn a_name_stays_on_its_line() {
        let row = |name: &str, want: &str| assert_eq!(quoted(name), want);
        row("a b/ä.rs", "a b/ä.rs");
        row("a\nb\t\"c\"", "\"a\\nb\\t\\\"c\\\"\"");
        row("\u{1b}[2J", "\"\\033[2J\"");
        row("\u{9b}", "\"\\302\\233\"");
    }

    #[test]
    fn hunks_are_those_of_other_programs() {
        check("a\nb\n", "a\nc\n", "+1 -1\n@@ -1,2 +1,2 @@\n a\n-b\n+c\n");
        check("", "a\n", "+1 -0\n@@ -0,0 +1,1 @@\n+a\n");
        check("a\n", "", "+0 -1\n@@ -1,1 +0,0 @@\n-a\n");
        check("a", "a\n", "+1 -1\n@@ -1,1 +1,1 @@\n-a\n\\ No newline at end of file\n+a\n");
        check("1\n2\n3\n4\n5\n6\n", "1\n2\n3\n4\n5\nx\n", "+1 -1\n@@ -3,4 +3,4 @@\n 3\n 4\n 5\n-6\n+x\n");
        check("same\n", "same\n", "+0 -0\n");
    }

    #[test]
    fn what_is_no_text_has_no_patch() {
        for binary in [&b"a\0b"[..], b"\xff\xfe"] {
            assert_eq!(Diff::between("a", b"x\n", binary, Instant::now()), Diff::default());
        }
    }

    #[test]
    fn what_is_too_much_is_only_counted() {
        let long = "line\n".repeat(MAX_COMPARED / 5 + 1);
        let diff = Diff::between("a", b"x\n", long.as_bytes(), Instant::now());
        assert_eq!((diff.patch.as_str(), diff.deletions), ("", 1));
        assert_eq!(diff.additions, (MAX_COMPARED / 5 + 1) as u64);
    }
}
