//! Which of several sessions a request belongs to, so that the answers of each are recorded and played apart.

use std::collections::HashMap;

use crate::{Content, Message, Purpose, Request};

/// Most sessions that are told apart; all further ones count as the first.
pub(crate) const MAX_STREAMS: usize = 10_000;

/// The names of sessions. The first one that asks has none; each further one is named by the words that it begins with, so
/// that it has the same name when it is played, whichever of several asks first.
#[derive(Debug, Default)]
pub(crate) struct Streams {
    names: HashMap<Option<String>, Option<String>>,
    /// How many sessions began with the same words.
    same: HashMap<String, usize>,
}

impl Streams {
    /// The name of the session that asks.
    pub(crate) fn of(&mut self, request: &Request) -> Option<String> {
        // What is asked beside a session, such as its title, may come before or after what it asks itself.
        if request.session.is_none() && request.purpose != Purpose::Step {
            return None;
        }
        if let Some(name) = self.names.get(&request.session) {
            return name.clone();
        }
        if self.names.len() >= MAX_STREAMS {
            return None;
        }
        let name = (!self.names.is_empty()).then(|| {
            let begins = format!("{:016x}", digest(first_words(request)));
            let count = self.same.entry(begins.clone()).or_default();
            *count += 1;
            if *count == 1 { begins } else { format!("{begins}-{count}") }
        });
        self.names.insert(request.session.clone(), name.clone());
        name
    }
}

fn first_words(request: &Request) -> &str {
    let first = request.messages.iter().find_map(|message| match &**message {
        Message::User { content } => content.iter().find_map(|content| match content {
            Content::Text { text } => Some(text.as_str()),
            Content::Media { .. } => None,
        }),
        Message::Assistant { .. } | Message::Tools { .. } => None,
    });
    first.unwrap_or_default()
}

/// FNV-1a. It tells words apart and repeats none of them.
fn digest(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(session: usize, words: &str) -> Request {
        let asked = Message::User { content: vec![Content::text(words)] };
        Request { session: Some(format!("ses_{session}")), messages: vec![asked.into()].into(), ..Request::default() }
    }

    #[test]
    fn sessions_are_named_by_their_first_words() {
        let names = |order: [usize; 4]| {
            let words = ["above", "left", "right", "right"];
            let mut streams = Streams::default();
            order.map(|at| streams.of(&request(at, words[at])))
        };
        let [above, left, right, again] = names([0, 1, 2, 3]);
        assert_eq!(above, None);
        assert!(left.is_some() && right.is_some() && left != right);
        assert_eq!(again, right.clone().map(|right| format!("{right}-2")));
        assert_eq!(names([0, 2, 1, 0]), [None, right, left, None], "whichever asks first");
    }

    #[test]
    fn so_many_are_told_apart() {
        let mut streams = Streams::default();
        let named = (0..=MAX_STREAMS).filter(|at| streams.of(&request(*at, &at.to_string())).is_some()).count();
        assert_eq!(named, MAX_STREAMS - 1);
    }
}
