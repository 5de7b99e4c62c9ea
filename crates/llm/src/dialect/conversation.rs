//! Bodies of which the conversation is the greatest part: a list whose elements come from one message each.
//!
//! The list is written once, into the body itself. The body is kept, and the next one of the conversation begins with a
//! copy of its elements: a step costs what it adds, and the first request of a long conversation no more than its writing.

use std::cell::{Cell, RefCell};
use std::fmt;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use serde::ser::{Serialize, Serializer};

use crate::kept::{MAX_BYTES, MAX_CONVERSATIONS, fitting};
use crate::quirks::length;
use crate::{Message, Request};

/// The last bodies of a few conversations. Together they are as long as what is kept may be, see [`crate::kept`]; one that
/// is longer is written anew in each request.
///
/// Conversations are told apart by their model and their first message, messages by being the same `Arc`. Each is held
/// here, so that no other message can take its place in memory.
#[derive(Default)]
pub(super) struct Conversations {
    /// The one that was asked about last stands first.
    last: Mutex<Vec<Last>>,
}

/// The body in which a conversation was sent last.
struct Last {
    model: String,
    body: Bytes,
    /// Where the elements begin that come from messages.
    start: usize,
    /// The messages from the first on whose elements are as they will be again, and where these end behind `start`.
    /// Never empty.
    messages: Vec<(Arc<Message>, usize)>,
}

impl fmt::Debug for Conversations {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // They would be conversations.
        f.debug_struct("Conversations").finish_non_exhaustive()
    }
}

impl Conversations {
    /// The body `around` with a conversation in its gap: the elements that `opening` writes, then those that `write` writes
    /// of each message of `request`. `write` is told how many messages come behind one.
    ///
    /// Of a message with `special` or more behind it, `write` must write the same whenever it is asked about the same model.
    pub(super) fn body(
        &self,
        request: &Request,
        special: usize,
        around: &Around,
        opening: impl FnOnce(&mut Elements),
        write: impl Fn(&Message, usize, &mut Elements),
    ) -> Bytes {
        let Some((head, tail)) = around.parts() else { return Bytes::copy_from_slice(&around.bytes) };
        let messages = &*request.messages;
        let usual = messages.len().saturating_sub(special);
        let mut last = self.take(request);
        let same = last.as_ref().map_or(0, |last| {
            let pairs = last.messages.iter().zip(&messages[..usual]);
            pairs.take_while(|((known, _), message)| Arc::ptr_eq(known, message)).count()
        });
        let mut written = last.as_mut().map(|last| std::mem::take(&mut last.messages)).unwrap_or_default();
        written.truncate(same);
        let copied = written.last().map_or(0, |(_, end)| *end);
        let new: usize = messages[same..].iter().map(|message| length(message)).sum();

        let mut elements =
            Elements(Vec::with_capacity(around.bytes.len() + copied + request.system.len() + new * 9 / 8));
        elements.0.extend_from_slice(head);
        elements.0.push(b'[');
        opening(&mut elements);
        let start = elements.0.len();
        if let (Some(last), Some(elements_end)) = (&last, copied.checked_sub(1)) {
            elements.0.extend_from_slice(&last.body[last.start..last.start + elements_end]);
            // Where it was the last of the list, something else stood there.
            elements.0.push(b',');
        }
        for (place, message) in messages.iter().enumerate().skip(same) {
            write(message, messages.len() - place - 1, &mut elements);
            if place < usual {
                written.push((message.clone(), elements.0.len() - start));
            }
        }
        elements.end();
        elements.0.extend_from_slice(tail);
        let body = Bytes::from(elements.0);
        if !written.is_empty() && body.len() <= MAX_BYTES {
            self.put(Last { model: request.model.clone(), body: body.clone(), start, messages: written });
        }
        body
    }

    /// The last body of the conversation of `request`, taken out, so that conversations do not wait for each other.
    fn take(&self, request: &Request) -> Option<Last> {
        let first = request.messages.first()?;
        let mut all = self.lock();
        let is_this = |last: &Last| {
            last.model == request.model && last.messages.first().is_some_and(|(known, _)| Arc::ptr_eq(known, first))
        };
        let place = all.iter().position(is_this)?;
        Some(all.remove(place))
    }

    fn put(&self, last: Last) {
        let mut all = self.lock();
        all.insert(0, last);
        let fitting = fitting(all.iter().map(|last| last.body.len()));
        all.truncate(fitting.min(MAX_CONVERSATIONS));
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Last>> {
        // Nothing under the lock leaves it half done.
        self.last.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How many messages of `request` need not be written again.
    #[cfg(test)]
    pub(super) fn kept(&self, request: &Request) -> usize {
        let last = self.take(request);
        let kept = last.iter().flat_map(|last| last.messages.iter().zip(&request.messages));
        let kept = kept.take_while(|((known, _), message)| Arc::ptr_eq(known, message)).count();
        last.into_iter().for_each(|last| self.put(last));
        kept
    }
}

/// Elements of a list, with a comma behind each.
pub(super) struct Elements(Vec<u8>);

impl Elements {
    pub(super) fn push(&mut self, element: &impl Serialize) {
        let before = self.0.len();
        match serde_json::to_writer(&mut self.0, element) {
            Ok(()) => self.0.push(b','),
            // Names, texts and JSON: nothing that could fail. Half an element would be worse than none.
            Err(_) => self.0.truncate(before),
        }
    }

    fn end(&mut self) {
        match self.0.last_mut() {
            Some(comma @ b',') => *comma = b']',
            _ => self.0.push(b']'),
        }
    }
}

/// Stands in a body for the conversation.
#[derive(Default)]
pub(super) struct Gap {
    out: RefCell<Vec<u8>>,
    at: Cell<Option<usize>>,
}

/// What is written where the gap is.
const NOTHING: &[u8] = b"null";

impl Gap {
    /// `body`, in which this gap stands.
    pub(super) fn around(self, body: impl FnOnce(&Self) -> serde_json::Result<()>) -> Around {
        let written = body(&self);
        let (bytes, at) = (self.out.into_inner(), self.at.into_inner());
        match written {
            Ok(()) => Around { bytes, at },
            // As above.
            Err(_) => Around { bytes: Vec::new(), at: None },
        }
    }
}

impl Serialize for Gap {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.at.set(Some(self.out.borrow().len()));
        serializer.serialize_unit()
    }
}

impl io::Write for &Gap {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.out.borrow_mut().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A body without its conversation.
pub(super) struct Around {
    bytes: Vec<u8>,
    /// Where the gap is; `None` where something else is sent in its place.
    at: Option<usize>,
}

impl Around {
    /// What stands before the gap and behind it.
    fn parts(&self) -> Option<(&[u8], &[u8])> {
        let (head, rest) = self.bytes.split_at_checked(self.at?)?;
        Some((head, rest.strip_prefix(NOTHING)?))
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use serde_json::{Value, json};

    use super::*;
    use crate::Content;

    fn user(text: &str) -> Arc<Message> {
        Arc::new(Message::User { content: vec![Content::text(text)] })
    }

    fn conversation(texts: &[&str]) -> Vec<Arc<Message>> {
        texts.iter().map(|text| user(text)).collect()
    }

    fn text(message: &Message) -> &str {
        let Message::User { content } = message else { return "" };
        match content.as_slice() {
            [Content::Text { text }] => text,
            _ => "",
        }
    }

    /// What the list holds, and the messages that had to be written. Each letter of a message is an element.
    fn sent(all: &Conversations, messages: &[Arc<Message>], special: usize) -> (Value, String) {
        let request = Request { model: "m".to_owned(), messages: messages.to_vec().into(), ..Request::default() };
        let written = RefCell::new(String::new());
        let around = Gap::default().around(|gap| serde_json::to_writer(gap, &(1, gap, 2)));
        let opening = |elements: &mut Elements| elements.push(&"begin");
        let body = all.body(&request, special, &around, opening, |message, behind, elements| {
            written.borrow_mut().push_str(text(message));
            let mark = if behind < special { "!" } else { "" };
            text(message).chars().for_each(|letter| elements.push(&format!("{letter}{mark}")));
        });
        let body: Value = serde_json::from_slice(&body).unwrap();
        assert_eq!((&body[0], &body[2]), (&json!(1), &json!(2)));
        (body[1].clone(), written.into_inner())
    }

    #[track_caller]
    fn check(all: &Conversations, messages: &[Arc<Message>], special: usize, written: &str) {
        let plain = messages.len().saturating_sub(special);
        let letters = messages.iter().enumerate().flat_map(|(place, message)| {
            text(message)
                .chars()
                .map(move |letter| if place < plain { letter.to_string() } else { format!("{letter}!") })
        });
        let want: Vec<String> = ["begin".to_owned()].into_iter().chain(letters).collect();
        assert_eq!(sent(all, messages, special), (json!(want), written.to_owned()));
    }

    #[test]
    fn only_what_is_new_is_written() {
        let (all, mut messages) = (Conversations::default(), conversation(&["ab", "", "c"]));
        check(&all, &[], 0, "");
        check(&all, &messages, 0, "abc");
        check(&all, &messages, 0, "");
        messages.push(user("d"));
        check(&all, &messages, 0, "d");
        // An equal message is not the same one, and what comes behind it stands elsewhere.
        messages[1] = user("");
        check(&all, &messages, 0, "cd");
        messages.truncate(2);
        check(&all, &messages, 0, "");
        // Nothing but messages without elements.
        let silent = conversation(&["", ""]);
        check(&all, &silent, 0, "");
        check(&all, &silent, 0, "");
    }

    #[test]
    fn the_last_ones_may_look_otherwise() {
        let (all, mut messages) = (Conversations::default(), conversation(&["a", "b", "c"]));
        check(&all, &messages, 2, "abc");
        messages.push(user("d"));
        check(&all, &messages, 2, "bcd");
        check(&all, &messages, 9, "abcd");
        check(&all, &messages, 0, "abcd");
        check(&all, &messages, 1, "d");
    }

    #[test]
    fn few_conversations_and_few_bytes_are_kept() {
        let all = Conversations::default();
        let many: Vec<_> = (0..=MAX_CONVERSATIONS).map(|_| conversation(&["a", "b"])).collect();
        for messages in &many {
            check(&all, messages, 0, "ab");
        }
        check(&all, &many[1], 0, "");
        check(&all, &many[0], 0, "ab");
        let words = "x".repeat(MAX_BYTES);
        let long = Request { messages: conversation(&[&words]).into(), ..Request::default() };
        let around = Gap::default().around(|gap| serde_json::to_writer(gap, gap));
        let write = |message: &Message, _: usize, elements: &mut Elements| elements.push(&text(message));
        assert_eq!(all.body(&long, 0, &around, |_| {}, write).len(), MAX_BYTES + 4);
        assert_eq!(all.kept(&long), 0);
        // It drives nothing out.
        check(&all, &many[0], 0, "");
    }

    #[test]
    fn nothing_is_held_beyond_the_last_request() {
        let (all, mut messages) = (Conversations::default(), conversation(&["a", "b"]));
        sent(&all, &messages, 0);
        let gone = Arc::downgrade(&messages.remove(1));
        sent(&all, &messages, 0);
        assert!(gone.upgrade().is_none());
    }

    #[test]
    fn settings_may_send_something_else() {
        let request = Request { messages: conversation(&["a"]).into(), ..Request::default() };
        let around = Gap::default().around(|gap| serde_json::to_writer(gap, &json!({"messages": []})));
        let body = Conversations::default().body(&request, 0, &around, |_| {}, |_, _, _| {});
        assert_eq!(body, r#"{"messages":[]}"#);
    }
}
