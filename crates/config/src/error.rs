//! How reading the configuration fails.

use std::fmt;
use std::path::PathBuf;

/// A place in a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// Counted from 1.
    pub line: usize,
    /// In characters, counted from 1.
    pub column: usize,
}

impl Place {
    /// The place of the byte `at` in `text`.
    pub(crate) fn of(text: &str, at: usize) -> Self {
        let before = text.get(..at).unwrap_or(text);
        let line_start = before.rfind('\n').map_or(0, |end| end + 1);
        Self { line: before.matches('\n').count() + 1, column: before[line_start..].chars().count() + 1 }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}, column {}", self.line, self.column)
    }
}

/// Why the configuration cannot be used. Each names the file and what to change in it.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// A file is there but cannot be read.
    #[error("cannot read {origin}: {source}")]
    Unreadable {
        /// The file.
        origin: String,
        /// Why not.
        source: std::io::Error,
    },
    /// A file is no JSON with comments.
    #[error("{origin}, {place}: {message}; {hint}")]
    Syntax {
        /// The file, or the variable.
        origin: String,
        /// Where it stops making sense.
        place: Place,
        /// What is wrong.
        message: String,
        /// What to do about it.
        hint: &'static str,
    },
    /// A value is of the wrong kind.
    #[error("{origin}{}: {key} {message}", at(place.as_ref()))]
    Value {
        /// The file that set it.
        origin: String,
        /// Where in it, if that is known.
        place: Option<Place>,
        /// The key, with dots.
        key: String,
        /// What is wrong.
        message: String,
    },
    /// The header of a Markdown file is no map in YAML.
    #[error("{origin}{}: the header between the two lines --- {message}", at(place.as_ref()))]
    Header {
        /// The file.
        origin: String,
        /// Where in it, if that is known.
        place: Option<Place>,
        /// What is wrong, and what to do about it.
        message: String,
    },
    /// A `{file:…}` names nothing readable.
    #[error("{origin}, {place}: {{file:{named}}} stands for {path}, which cannot be read: {source}")]
    File {
        /// The file that names it.
        origin: String,
        /// Where in it.
        place: Place,
        /// As it is named.
        named: String,
        /// The file.
        path: PathBuf,
        /// Why not.
        source: std::io::Error,
    },
}

impl ConfigError {
    /// The file or the variable that it is about.
    pub fn origin(&self) -> &str {
        match self {
            ConfigError::Unreadable { origin, .. }
            | ConfigError::Syntax { origin, .. }
            | ConfigError::Value { origin, .. }
            | ConfigError::Header { origin, .. }
            | ConfigError::File { origin, .. } => origin,
        }
    }
}

fn at(place: Option<&Place>) -> String {
    place.map(|place| format!(", {place}")).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_and_columns_count_from_one_and_in_characters() {
        let check = |text: &str, at: usize, want: &str| assert_eq!(Place::of(text, at).to_string(), want);
        check("", 0, "line 1, column 1");
        check("ab\ncd", 4, "line 2, column 2");
        check("é=1\n", 3, "line 1, column 3");
        check("ab", 99, "line 1, column 3");
    }
}
