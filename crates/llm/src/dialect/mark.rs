//! Marks for a vendor's cache.

use serde::Serialize;
use serde_json::{Map, Value};

use crate::steering::CACHE_LIFETIME;

/// A mark: the prefix up to here is worth keeping.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub(super) struct Mark {
    r#type: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    ttl: Option<&'static str>,
}

/// The mark for what is asked about again within minutes.
const EPHEMERAL: Mark = Mark { r#type: "ephemeral", ttl: None };

impl Mark {
    /// The mark that the settings of a model ask for. All marks of a request are alike.
    pub(super) fn of(settings: &Map<String, Value>) -> Self {
        let hour = settings.get(CACHE_LIFETIME).and_then(Value::as_str) == Some("1h");
        Mark { ttl: hour.then_some("1h"), ..EPHEMERAL }
    }
}

/// Messages from the end that carry a mark: the last, and the one before it. Vendors look some blocks back from a mark
/// for what they kept, and so find the end of the request before.
pub(super) const MARKED: usize = 2;

/// What the place of a message in its request asks of it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Place {
    /// Its last block that can carry a mark carries one.
    pub(super) marked: bool,
    /// It is the end of the conversation.
    pub(super) last: bool,
}

/// The messages that their place changes, by their index, from the last on. Messages of one role are one to the vendor,
/// and get one mark together. Of each of `turns` that says anything: its index, its role, and whether it can carry a mark.
pub(super) fn places<R: Copy + PartialEq>(
    turns: impl DoubleEndedIterator<Item = (usize, R, bool)>,
) -> Vec<(usize, Place)> {
    let mut places = Vec::new();
    let (mut current, mut roles, mut marked) = (None, 0, false);
    for (index, role, markable) in turns.rev() {
        let last = current.is_none();
        if current != Some(role) {
            (current, marked) = (Some(role), false);
            roles += 1;
        }
        if roles > MARKED {
            break;
        }
        let place = Place { marked: markable && !marked, last };
        marked |= place.marked;
        if place != Place::default() {
            places.push((index, place));
        }
    }
    places
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_two_of_different_roles_are_marked_once_each() {
        let row = |turns: &[(char, bool)], want: &[(usize, bool, bool)]| {
            let turns = turns.iter().enumerate().map(|(index, &(role, markable))| (index, role, markable));
            let got: Vec<_> =
                places(turns).into_iter().map(|(at, Place { marked, last })| (at, marked, last)).collect();
            assert_eq!(got, want);
        };
        row(&[], &[]);
        row(&[('u', true)], &[(0, true, true)]);
        row(&[('u', true), ('a', true), ('u', true)], &[(2, true, true), (1, true, false)]);
        row(&[('a', true), ('u', true), ('u', true)], &[(2, true, true), (0, true, false)]);
        row(&[('a', true), ('u', true), ('u', false)], &[(2, false, true), (1, true, false), (0, true, false)]);
    }
}
