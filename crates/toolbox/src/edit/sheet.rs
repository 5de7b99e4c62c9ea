//! Texts as lines. Pure.

use std::ops::Range;

/// The lines of an old or a new text, without their ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Sheet<'a> {
    pub(super) lines: Vec<&'a str>,
    /// Whether the last line has an end.
    pub(super) ended: bool,
}

impl<'a> Sheet<'a> {
    pub(super) fn of(text: &'a str) -> Self {
        let mut lines: Vec<&str> = text.split('\n').collect();
        let ended = lines.len() > 1 && lines.last() == Some(&"");
        if ended {
            lines.pop();
        }
        if text.is_empty() {
            lines.clear();
        }
        Self { lines, ended }
    }
}

/// The old text of an edit and the new one, as lines that go together: where the old one does not end its last line,
/// an end of the new one's begins another line.
pub(super) fn pair<'a>(old: &'a str, new: &'a str) -> (Sheet<'a>, Sheet<'a>) {
    let (old, mut new) = (Sheet::of(old), Sheet::of(new));
    if !old.ended && (new.ended || new.lines.is_empty()) {
        new.lines.push("");
    }
    (old, new)
}

/// The lines of a file and where they are in it.
#[derive(Debug)]
pub(super) struct Lines<'a> {
    pub(super) text: &'a str,
    starts: Vec<usize>,
}

impl<'a> Lines<'a> {
    pub(super) fn of(text: &'a str) -> Self {
        let mut starts = Vec::with_capacity(text.len() / 32 + 1);
        let mut next = 0;
        while next < text.len() {
            starts.push(next);
            next = text[next..].find('\n').map_or(text.len(), |at| next + at + 1);
        }
        Self { text, starts }
    }

    pub(super) fn len(&self) -> usize {
        self.starts.len()
    }

    /// Where line `at` is, without its end.
    pub(super) fn range(&self, at: usize) -> Range<usize> {
        let start = self.starts[at];
        let end = self.starts.get(at + 1).copied().unwrap_or(self.text.len());
        start..if self.text[start..end].ends_with('\n') { end - 1 } else { end }
    }

    pub(super) fn get(&self, at: usize) -> &'a str {
        &self.text[self.range(at)]
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &'a str> {
        (0..self.len()).map(|at| self.get(at))
    }

    /// The line that byte `at` is on, from 0.
    pub(super) fn at(&self, at: usize) -> usize {
        self.starts.partition_point(|start| *start <= at).saturating_sub(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_have_lines() {
        let cut = |text| {
            let Sheet { lines, ended } = Sheet::of(text);
            (lines, ended)
        };
        assert_eq!(cut("a\nb"), (vec!["a", "b"], false));
        assert_eq!(cut("a\n\n"), (vec!["a", ""], true));
        assert_eq!(cut("\n"), (vec![""], true));
        assert_eq!(cut(""), (vec![], false));
        assert_eq!(pair("a", "b\n").1.lines, ["b", ""]);
        assert_eq!(pair("a\n", "b\n").1.lines, ["b"]);
        assert_eq!(pair("a", "").1.lines, [""]);
        assert!(pair("a\n", "").1.lines.is_empty());
    }

    #[test]
    fn lines_are_where_they_are() {
        let lines = Lines::of("a\n\nbc");
        assert_eq!(lines.iter().collect::<Vec<_>>(), ["a", "", "bc"]);
        assert_eq!((0..5).map(|at| lines.at(at)).collect::<Vec<_>>(), [0, 0, 1, 2, 2]);
        assert_eq!(lines.range(2), 3..5);
        assert_eq!((Lines::of("").len(), Lines::of("\n").len()), (0, 1));
    }
}
