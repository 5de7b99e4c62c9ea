//! How an old text was found, and what one of its places is. Pure.

use std::ops::Range;

/// What was overlooked to find the place that was meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum How {
    /// Nothing: it is there byte for byte, but for line ends.
    Exact,
    /// White space at the end of lines.
    LineEnds,
    /// Indentation.
    Indentation,
    /// How much white space there is between words.
    Spaces,
    /// Which of several signs stands for the same: quotes, dashes, spaces, how accents are put together.
    Signs,
    /// Blank lines at both ends of the old text.
    BlankEdges,
    /// Blank lines within.
    BlankLines,
    /// The numbers of lines in front of them.
    LineNumbers,
    /// A Markdown fence around the old text.
    Fence,
    /// Backslashes in front of line breaks, tabs or quotes.
    Escapes,
    /// Words that differ in a few lines.
    Words,
}

impl How {
    /// What was overlooked, in words; `None` where nothing was.
    pub fn overlooked(self) -> Option<&'static str> {
        Some(match self {
            Self::Exact => return None,
            Self::LineEnds => "white space at line ends",
            Self::Indentation => "indentation",
            Self::Spaces => "white space",
            Self::Signs => "other forms of the same signs",
            Self::BlankEdges => "blank lines around it",
            Self::BlankLines => "blank lines",
            Self::LineNumbers => "line numbers",
            Self::Fence => "a code fence",
            Self::Escapes => "backslashes",
            Self::Words => "a word that differs",
        })
    }
}

/// Where the lines of an old text are in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Place {
    /// For each line where it is, without its end; `None` for blank ones that the file does not have.
    pub(super) rows: Vec<Option<Range<usize>>>,
    /// Whether the first row begins within a line of the file.
    pub(super) cut_first: bool,
    /// Whether the last row ends within one.
    pub(super) cut_last: bool,
}

impl Place {
    /// From the first row to the last.
    pub(super) fn range(&self) -> Range<usize> {
        let mut rows = self.rows.iter().flatten();
        let first = rows.next();
        let last = rows.next_back().or(first);
        first.map_or(0, |row| row.start)..last.map_or(0, |row| row.end)
    }
}
