//! Making edits in a text. Pure.

use std::borrow::Cow;

use super::document::{Change, Document};
use super::find::{Found, MAX_PUT, find};
use super::how::How;
use super::nearest::nearest;
use crate::text::lf;

/// Most edits that are made at once.
pub const MAX_EDITS: usize = 200;

/// Most bytes of a content that edits have made larger.
const MAX_RESULT: usize = MAX_PUT;

const MARK: char = '\u{feff}';

/// How many places are named where there are too many.
const MAX_NAMED: usize = 10;

/// A text that is to be replaced by another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Replacement {
    /// What is there now. It need not be exact, but it must mean one place only.
    pub old: String,
    /// What shall be there; taken literally.
    pub new: String,
    /// Whether every place is meant.
    pub all: bool,
}

/// A content with all edits made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Applied {
    /// The whole new content.
    pub content: String,
    /// How many places were changed.
    pub places: usize,
    /// For each edit, how its old text was found.
    pub how: Vec<How>,
}

/// Why no edit was made, and which one could not be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// The number of the edit among those of the call, from 0.
    pub edit: usize,
    /// The reason.
    pub reason: Reason,
}

/// Why an edit was refused.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Reason {
    /// Old and new text are the same, or would leave the text as it is.
    Same,
    /// The old text is empty, which is everywhere and nowhere.
    Empty,
    /// The old text is not there.
    NotFound {
        /// What comes nearest to it, how it differs, and what to do.
        advice: String,
    },
    /// It is there more than once and one place was wanted.
    Several {
        /// How often.
        count: usize,
        /// The lines that the first places begin on, from 1; at most 10.
        lines: Vec<usize>,
        /// How they were found.
        how: How,
    },
    /// What it seems to mean is much longer than it is.
    TooLarge {
        /// The line, from 1, that this begins on.
        line: usize,
    },
    /// There are more than [`MAX_EDITS`].
    TooMany,
    /// It is in so many places, or so much is to be put there, that the content would grow beyond all reason.
    TooMuch {
        /// In how many places it is.
        count: usize,
    },
}

/// Makes `edits` in `content`, each in what the one before left, all of them or none.
///
/// What is there byte for byte is replaced by exactly the new text. Otherwise the old text is looked for with other white
/// space, signs, line numbers or escapes, see [`How`]; then lines that the edit does not change keep their bytes, and new
/// ones are indented as those around them. Line ends are those of the content: what is outside the edits keeps its bytes.
///
/// # Errors
///
/// A [`Refusal`] where an old text means no place or, unless all are wanted, more than one.
pub fn apply(content: &str, edits: &[Replacement]) -> Result<Applied, Refusal> {
    let refuse = |edit, reason| Refusal { edit, reason };
    if edits.len() > MAX_EDITS {
        return Err(refuse(MAX_EDITS, Reason::TooMany));
    }
    let mut document = Document::new(content);
    let (mut places, mut how) = (0, Vec::with_capacity(edits.len()));
    for (number, edit) in edits.iter().enumerate() {
        let found = one(document.text(), edit).map_err(|reason| refuse(number, reason))?;
        places += found.1;
        how.push(found.0);
        document.change(&found.2);
        if document.text().len() > MAX_RESULT.max(content.len()) {
            return Err(refuse(number, Reason::TooMuch { count: found.1 }));
        }
    }
    Ok(Applied { content: document.into_content(), places, how })
}

fn one(text: &str, edit: &Replacement) -> Result<(How, usize, Vec<Change>), Reason> {
    let (old, new): (Cow<'_, str>, Cow<'_, str>) = (lf(&edit.old), lf(&edit.new));
    // A byte order mark is no part of the text.
    let bare = old.strip_prefix(MARK).filter(|_| !text.starts_with(MARK));
    let (old, new) = match bare {
        Some(bare) => (bare.into(), new.strip_prefix(MARK).unwrap_or(&new).to_owned().into()),
        None => (old, new),
    };
    if old == new {
        return Err(Reason::Same);
    }
    if old.is_empty() {
        return Err(Reason::Empty);
    }
    let Some(Found { how, count, places, too_large }) = find(text, &old, &new) else {
        return Err(Reason::NotFound { advice: nearest(text, &old) });
    };
    if count > 1 && !edit.all {
        let starts: Vec<usize> = places.iter().take(MAX_NAMED).map(|place| place.start).collect();
        return Err(Reason::Several { count, lines: lines(text, &starts), how });
    }
    if too_large {
        return Err(Reason::TooLarge { line: lines(text, &[places[0].start])[0] });
    }
    if places.len() < count {
        return Err(Reason::TooMuch { count });
    }
    let (mut changes, mut done, mut made) = (Vec::new(), 0, 0);
    for place in places {
        // What a replacement has used up cannot be replaced again.
        if place.start < done {
            continue;
        }
        done = place.end;
        made += 1;
        changes.extend(place.changes);
    }
    if changes.iter().all(|change| text[change.range.clone()] == change.text) {
        return Err(Reason::Same);
    }
    Ok((how, made, changes))
}

/// The lines, from 1, that these bytes are on.
fn lines(text: &str, starts: &[usize]) -> Vec<usize> {
    let (mut line, mut at) = (1, 0);
    let number = |start: &usize| {
        line += text.as_bytes()[at..*start].iter().filter(|&&byte| byte == b'\n').count();
        at = *start;
        line
    };
    starts.iter().map(number).collect()
}
