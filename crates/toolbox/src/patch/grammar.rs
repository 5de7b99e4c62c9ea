//! A patch as values, and how it is written down.

use std::fmt;

/// Changes of files, in the order in which they are to be made. [`fmt::Display`] writes the patch so that
/// [`parse`](super::parse) reads the same from it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Patch {
    /// What is done to one file each. A file may come more than once.
    pub sections: Vec<Section>,
}

/// What is done to one file. Paths are as the patch has them, without blanks around them, and never empty.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Section {
    /// A file that holds these lines and no others.
    Add {
        /// Where.
        path: String,
        /// Without line ends.
        lines: Vec<String>,
    },
    /// A file that goes.
    Delete {
        /// Where.
        path: String,
    },
    /// A file that is changed, moved, or both.
    Update {
        /// Where it is.
        path: String,
        /// Where it goes.
        to: Option<String>,
        /// In the order of the file; none only where the file is moved.
        hunks: Vec<Hunk>,
    },
}

/// One place of a file, and what changes there.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Hunk {
    /// Lines that stand somewhere above the place, outermost first.
    pub above: Vec<String>,
    /// The line that the place is said to begin on, from 1.
    pub line: Option<usize>,
    /// What is there and what changes, at least one.
    pub rows: Vec<Row>,
    /// Whether the place is the end of the file.
    pub at_end: bool,
}

/// A line of a hunk, without its end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Row {
    /// It is there and stays.
    Keep(String),
    /// It is there and goes.
    Remove(String),
    /// It comes.
    Add(String),
}

impl Section {
    /// The file that it is about, as the patch names it.
    pub fn path(&self) -> &str {
        match self {
            Self::Add { path, .. } | Self::Delete { path } | Self::Update { path, .. } => path,
        }
    }
}

impl Hunk {
    /// The lines that must be there.
    pub(super) fn old(&self) -> impl DoubleEndedIterator<Item = &str> {
        self.rows.iter().filter_map(Row::old)
    }
}

impl Row {
    /// The line of the file that it stands for, if it stands for one.
    pub(super) fn old(&self) -> Option<&str> {
        match self {
            Self::Keep(line) | Self::Remove(line) => Some(line),
            Self::Add(_) => None,
        }
    }

    /// The line that comes, if one does.
    pub(super) fn added(&self) -> Option<&str> {
        match self {
            Self::Add(line) => Some(line),
            Self::Keep(_) | Self::Remove(_) => None,
        }
    }
}

impl fmt::Display for Patch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "*** Begin Patch")?;
        for section in &self.sections {
            write!(f, "{section}")?;
        }
        writeln!(f, "*** End Patch")
    }
}

impl fmt::Display for Section {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Add { path, lines } => {
                writeln!(f, "*** Add File: {path}")?;
                lines.iter().try_for_each(|line| writeln!(f, "+{line}"))
            }
            Self::Delete { path } => writeln!(f, "*** Delete File: {path}"),
            Self::Update { path, to, hunks } => {
                writeln!(f, "*** Update File: {path}")?;
                if let Some(to) = to {
                    writeln!(f, "*** Move to: {to}")?;
                }
                hunks.iter().try_for_each(|hunk| write!(f, "{hunk}"))
            }
        }
    }
}

impl fmt::Display for Hunk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(line) = self.line {
            writeln!(f, "@@ -{line} @@")?;
        } else if self.above.is_empty() {
            writeln!(f, "@@")?;
        }
        for above in &self.above {
            writeln!(f, "@@ {above}")?;
        }
        for row in &self.rows {
            match row {
                Row::Keep(line) => writeln!(f, " {line}")?,
                Row::Remove(line) => writeln!(f, "-{line}")?,
                Row::Add(line) => writeln!(f, "+{line}")?,
            }
        }
        if self.at_end { writeln!(f, "*** End of File") } else { Ok(()) }
    }
}
