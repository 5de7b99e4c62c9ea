//! Ids: a prefix that says what is named, a time that makes them sort, and enough chance to be unique.
//!
//! `msg_h` + 15 hexadecimal digits + 14 base-62 characters. The digits are `unix_ms * 4096 + counter` in 60 bits, which
//! last until the year 10,900. (OpenCode keeps 48 bits of it, which wrap every 795 days; the `h` sorts ours behind all
//! of its, so that an imported session goes on in order.) Session ids carry the complement of 64 bits without a letter
//! before it, so that a plain sort puts the newest first.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// A string that is not an id of the wanted kind.
#[derive(Debug, PartialEq, Eq)]
pub struct BadId {
    text: String,
    prefix: &'static str,
}

impl fmt::Display for BadId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} is not an id that starts with {}_", self.text, self.prefix)
    }
}

impl std::error::Error for BadId {}

/// What all kinds of id have in common.
pub trait Id: Sized {
    /// The part before the underscore.
    const PREFIX: &'static str;
    /// Whether a plain sort puts the newest first.
    const DESCENDING: bool = false;

    /// Takes `text` as it is, if it starts with the prefix and an underscore.
    ///
    /// # Errors
    ///
    /// [`BadId`] when it does not, or holds anything but letters, digits, `_` and `-`, or is longer than 128 bytes.
    fn parse(text: &str) -> Result<Self, BadId>;

    /// The id as text.
    fn as_str(&self) -> &str;
}

macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident $prefix:literal $descending:literal;)*) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
        // Shared: each part of a long session names its session and its message.
        pub struct $name(Arc<str>);

        impl Id for $name {
            const PREFIX: &'static str = $prefix;
            const DESCENDING: bool = $descending;

            fn parse(text: &str) -> Result<Self, BadId> {
                check(text, $prefix).map(|()| Self(text.into()))
            }

            fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl std::str::FromStr for $name {
            type Err = BadId;

            fn from_str(text: &str) -> Result<Self, BadId> {
                Self::parse(text)
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(&self.0)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                deserializer.deserialize_str(Parsed($name::parse))
            }
        }
    )*};
}

/// Reads an id out of a text, wherever that is kept.
struct Parsed<T>(fn(&str) -> Result<T, BadId>);

impl<T> de::Visitor<'_> for Parsed<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<T, E> {
        (self.0)(text).map_err(E::custom)
    }
}

ids! {
    /// Names a session.
    SessionId "ses" true;
    /// Names a message.
    MessageId "msg" false;
    /// Names a part of a message.
    PartId "prt" false;
    /// Names a request for permission.
    AskId "per" false;
    /// Names a question to a person.
    QuestionId "que" false;
    /// Names an event on a stream.
    EventId "evt" false;
    /// Names a kept tool output.
    OutputId "tool" false;
}

fn check(text: &str, prefix: &'static str) -> Result<(), BadId> {
    let rest = text.strip_prefix(prefix).and_then(|rest| rest.strip_prefix('_'));
    // Ids become file names and parts of commands, so nothing else may stand in them.
    let plain =
        |rest: &str| !rest.is_empty() && rest.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-');
    match rest {
        Some(rest) if text.len() <= 128 && plain(rest) => Ok(()),
        _ => Err(BadId { text: text.chars().take(80).collect(), prefix }),
    }
}

/// The tick at which an ascending id of our own form was made. Ones beyond the year 9,000 are taken for foreign.
pub(crate) fn tick(id: &impl Id) -> Option<u64> {
    let digits = id.as_str().split_once("_h")?.1.get(..15)?;
    let tick = u64::from_str_radix(digits, 16).ok().filter(|_| digits.bytes().all(|b| b.is_ascii_hexdigit()));
    tick.filter(|tick| *tick < 0xe00_0000_0000_0000)
}

/// The text of an id made at tick `tick` (`unix_ms * 4096 + counter`) with `chance` giving numbers below 62.
pub(crate) fn compose<T: Id>(tick: u64, mut chance: impl FnMut() -> usize) -> String {
    const BASE62: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    let prefix = T::PREFIX;
    let mut text = match T::DESCENDING {
        true => format!("{prefix}_{:016x}", !tick),
        false => format!("{prefix}_h{tick:015x}"),
    };
    text.extend((0..14).map(|_| char::from(BASE62[chance() % 62])));
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made<T: Id>(tick: u64) -> String {
        compose::<T>(tick, || 7)
    }

    #[test]
    fn later_messages_sort_after_and_later_sessions_before() {
        assert!(made::<MessageId>(1) < made::<MessageId>(2));
        assert!(made::<MessageId>(0xffff) < made::<MessageId>(0x1_0000));
        assert!(made::<SessionId>(1) > made::<SessionId>(2));
        assert!(made::<MessageId>(1).as_str() > "msg_ffffffffffffzzzzzzzzzzzzzz", "behind all that OpenCode made");
    }

    #[test]
    fn only_the_right_prefix_and_plain_characters_are_taken() {
        let row = |text: &str, good: bool| assert_eq!(SessionId::parse(text).is_ok(), good, "{text:?}");
        row("ses_e003cdf39ffeJES6ATInhuKl0j", true);
        row("ses_my-own_1", true);
        row("msg_e003cdf39ffeJES6ATInhuKl0j", false);
        row("ses_", false);
        row("ses", false);
        row("ses_../../etc/passwd", false);
        row("ses_a b", false);
        row(&format!("ses_{}", "a".repeat(200)), false);
    }

    #[test]
    fn a_bad_id_in_json_is_refused() {
        assert!(serde_json::from_str::<SessionId>("\"msg_1\"").is_err());
    }
}
