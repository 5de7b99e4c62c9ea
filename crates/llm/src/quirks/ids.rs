//! Ids of calls that a vendor takes.

use std::borrow::Cow;

use super::Quirks;
use crate::{AssistantPart, Message, ToolResult};

/// What the ids of calls may look like.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Ids {
    /// Like anything.
    #[default]
    Any,
    /// Letters, digits, `_` and `-`.
    Plain,
    /// Exactly nine letters and digits.
    Nine,
}

impl Ids {
    fn fitting(self, id: &str) -> Cow<'_, str> {
        match self {
            Ids::Any => id.into(),
            Ids::Plain => plain(id),
            Ids::Nine => nine(id),
        }
    }

    fn fits(self, id: &str) -> bool {
        matches!(self.fitting(id), Cow::Borrowed(_))
    }
}

/// Gives calls and their results ids that are taken.
pub(super) fn fitting(quirks: &Quirks, message: &Message) -> Option<Message> {
    let ids = quirks.ids;
    match message {
        Message::User { .. } => None,
        Message::Assistant { parts } => {
            let fits = |part: &AssistantPart| !matches!(part, AssistantPart::ToolCall { id, .. } if !ids.fits(id));
            (!parts.iter().all(fits)).then_some(())?;
            let renamed = |part: &AssistantPart| match part {
                AssistantPart::ToolCall { id, name, arguments, item } => AssistantPart::ToolCall {
                    id: ids.fitting(id).into_owned(),
                    name: name.clone(),
                    arguments: arguments.clone(),
                    item: item.clone(),
                },
                other => other.clone(),
            };
            Some(Message::Assistant { parts: parts.iter().map(renamed).collect() })
        }
        Message::Tools { results } => {
            (!results.iter().all(|result| ids.fits(&result.id))).then_some(())?;
            let renamed =
                |result: &ToolResult| ToolResult { id: ids.fitting(&result.id).into_owned(), ..result.clone() };
            Some(Message::Tools { results: results.iter().map(renamed).collect() })
        }
    }
}

/// Letters, digits, `_` and `-`, with `_` for everything else.
pub(crate) fn plain(id: &str) -> Cow<'_, str> {
    let fits = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '_' | '-');
    match id.chars().all(fits) {
        true => id.into(),
        false => id.chars().map(|letter| if fits(letter) { letter } else { '_' }).collect(),
    }
}

/// The first nine letters and digits, filled up with `0`.
fn nine(id: &str) -> Cow<'_, str> {
    const LENGTH: usize = 9;
    match id.len() == LENGTH && id.chars().all(|letter| letter.is_ascii_alphanumeric()) {
        true => id.into(),
        false => {
            let kept = id.chars().filter(char::is_ascii_alphanumeric).chain(std::iter::repeat('0'));
            Cow::Owned(kept.take(LENGTH).collect())
        }
    }
}
