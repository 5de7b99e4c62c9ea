//! A text with line feeds alone, that remembers which of them had carriage returns. Pure.

use std::ops::Range;

/// The text of a file while it is edited.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Document {
    text: String,
    /// Where in `text` the line feeds are that have a carriage return before them in the file, in order.
    returns: Vec<usize>,
}

/// What takes the place of a piece of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Change {
    /// The piece, in bytes.
    pub(super) range: Range<usize>,
    /// What comes there, with line feeds alone.
    pub(super) text: String,
}

impl Document {
    pub(super) fn new(content: &str) -> Self {
        let mut returns = Vec::new();
        if !content.contains('\r') {
            return Self { text: content.to_owned(), returns };
        }
        let mut text = String::with_capacity(content.len());
        for piece in content.split_inclusive("\r\n") {
            if let Some(line) = piece.strip_suffix("\r\n") {
                text.push_str(line);
                returns.push(text.len());
                text.push('\n');
            } else {
                text.push_str(piece);
            }
        }
        Self { text, returns }
    }

    /// The text with line feeds alone.
    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// Makes `changes`, which are in order and do not overlap. Line ends outside of them stay; inside, each stays as
    /// long as there are any left, and further ones are as those around them.
    pub(super) fn change(&mut self, changes: &[Change]) {
        let mut text = String::with_capacity(self.text.len());
        let mut returns = Vec::with_capacity(self.returns.len());
        let (mut done, mut kept) = (0, 0);
        let keep = |text: &mut String, returns: &mut Vec<usize>, range: Range<usize>, kept: &mut usize| {
            while let Some(at) = self.returns.get(*kept).filter(|at| **at < range.end) {
                returns.push(at - range.start + text.len());
                *kept += 1;
            }
            text.push_str(&self.text[range]);
        };
        for change in changes {
            keep(&mut text, &mut returns, done..change.range.start, &mut kept);
            if !self.returns.is_empty() {
                let mut old = self.breaks(change.range.clone());
                let mut last = None;
                for (at, _) in change.text.match_indices('\n') {
                    let has = old.next().or(last).unwrap_or_else(|| self.nearby(&change.range));
                    last = Some(has);
                    if has {
                        returns.push(text.len() + at);
                    }
                }
                kept = self.returns.partition_point(|at| *at < change.range.end);
            }
            text.push_str(&change.text);
            done = change.range.end;
        }
        keep(&mut text, &mut returns, done..self.text.len(), &mut kept);
        *self = Self { text, returns };
    }

    /// Whether each of the line feeds in `range` has a carriage return.
    fn breaks(&self, range: Range<usize>) -> impl Iterator<Item = bool> {
        let start = range.start;
        self.text[range].match_indices('\n').map(move |(at, _)| self.returns.binary_search(&(start + at)).is_ok())
    }

    /// Whether the line that goes on after `range` has a carriage return; where it is the last, the one before.
    fn nearby(&self, range: &Range<usize>) -> bool {
        let after = self.text[range.end..].find('\n').map(|at| range.end + at);
        let near = after.or_else(|| self.text[..range.start].rfind('\n'));
        near.is_some_and(|at| self.returns.binary_search(&at).is_ok())
    }

    /// The text with the line ends of the file.
    pub(super) fn into_content(self) -> String {
        if self.returns.is_empty() {
            return self.text;
        }
        let mut content = String::with_capacity(self.text.len() + self.returns.len());
        let mut done = 0;
        for at in self.returns {
            content.push_str(&self.text[done..at]);
            content.push('\r');
            done = at;
        }
        content.push_str(&self.text[done..]);
        content
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[track_caller]
    fn check(content: &str, range: Range<usize>, text: &str, want: &str) {
        let mut document = Document::new(content);
        document.change(&[Change { range, text: text.to_owned() }]);
        assert_eq!(document.into_content(), want);
    }

    #[test]
    fn each_line_keeps_its_end_and_new_ones_follow_their_neighbours() {
        check("a\r\nb\nc\r\n", 2..3, "B", "a\r\nB\nc\r\n");
        check("a\r\nb\nc\r\n", 0..3, "A\nB", "A\r\nB\nc\r\n");
        check("a\r\nb\r\nc\n", 1..1, "\nnew", "a\r\nnew\r\nb\r\nc\n");
        check("a\nb\r\nc\r\n", 3..3, "\nnew", "a\nb\r\nnew\r\nc\r\n");
        check("a\nb\r\nc\r\n", 5..5, "\nx\ny", "a\nb\r\nc\r\nx\r\ny\r\n");
        check("a\r\nb", 0..0, "x\ny\n", "x\r\ny\r\na\r\nb");
        check("a\nb", 0..3, "x", "x");
        check("a\r\r\nb", 0..1, "x", "x\r\r\nb");
        check("a", 1..1, "\nb", "a\nb");
    }

    #[test]
    fn several_changes_at_once() {
        let mut document = Document::new("a\r\nb\nc\r\nd\n");
        let change = |range: Range<usize>, text: &str| Change { range, text: text.to_owned() };
        document.change(&[change(0..1, "A\nA"), change(2..4, ""), change(6..7, "D")]);
        assert_eq!(document.text(), "A\nA\nc\nD\n");
        assert_eq!(document.into_content(), "A\r\nA\r\nc\r\nD\n");
    }

    proptest! {
        #[test]
        fn what_is_not_changed_stays_byte_for_byte(content in "[a\r\n]{0,30}") {
            let mut document = Document::new(&content);
            prop_assert!(document.text().len() + document.returns.len() == content.len());
            document.change(&[]);
            prop_assert_eq!(document.into_content(), content);
        }
    }
}
