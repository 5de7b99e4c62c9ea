//! What was made of the messages of a conversation, kept for its next request.
//!
//! A request begins with the messages of the one before it. What is made of a message alone, its JSON for example, is
//! made once; a step then costs what it adds, and not what came before it.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::{Message, Request};

/// Most conversations that something is kept for. The one that was not asked about for longest goes first.
pub(crate) const MAX_CONVERSATIONS: usize = 16;

/// Most that is kept of all conversations together, in bytes of what was made. The messages themselves, seldom longer,
/// are held with it. What does not fit is made anew in each request.
pub(crate) const MAX_BYTES: usize = 16 * 1024 * 1024;

/// The last requests of a few conversations, and what was made of their messages.
///
/// Conversations are told apart by their model and their first message, messages by being the same `Arc`. Each is held
/// here, so that no other message can take its place in memory.
pub(crate) struct Kept<T> {
    /// The one that was asked about last stands first.
    conversations: Mutex<Vec<Conversation<T>>>,
}

struct Conversation<T> {
    model: String,
    /// In the order of the request. Never empty.
    made: Vec<Made<T>>,
    bytes: usize,
}

struct Made<T> {
    message: Arc<Message>,
    of_it: Arc<T>,
    bytes: usize,
}

impl<T> Made<T> {
    fn new(message: &Arc<Message>, make: impl Fn(&Arc<Message>) -> (Arc<T>, usize)) -> Self {
        let (of_it, bytes) = make(message);
        Self { message: message.clone(), of_it, bytes: bytes.saturating_add(size_of::<Self>()) }
    }
}

impl<T> Default for Kept<T> {
    fn default() -> Self {
        Self { conversations: Mutex::default() }
    }
}

impl<T> fmt::Debug for Kept<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // It would be a conversation.
        f.debug_struct("Kept").finish_non_exhaustive()
    }
}

impl<T> Kept<T> {
    /// What `make` makes of each message of `request`. It is asked only about messages that are not kept, and says
    /// how many bytes it made; it must depend on nothing but the message and the model's name.
    pub(crate) fn of(&self, request: &Request, make: impl Fn(&Arc<Message>) -> (Arc<T>, usize)) -> Vec<Arc<T>> {
        let Some(first) = request.messages.first() else { return Vec::new() };
        // Taken out, so that conversations do not wait for each other.
        let mut made = take(&mut self.lock(), &request.model, first);
        made.truncate(request.messages.len());
        for (place, message) in request.messages.iter().enumerate() {
            let slot = made.get_mut(place);
            if slot.as_ref().is_some_and(|made| Arc::ptr_eq(&made.message, message)) {
                continue;
            }
            let new = Made::new(message, &make);
            match slot {
                Some(slot) => *slot = new,
                None => made.push(new),
            }
        }
        let all = made.iter().map(|made| made.of_it.clone()).collect();
        made.truncate(fitting(made.iter().map(|made| made.bytes)));
        if !made.is_empty() {
            let bytes = made.iter().map(|made| made.bytes).sum();
            put(&mut self.lock(), Conversation { model: request.model.clone(), made, bytes });
        }
        all
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Conversation<T>>> {
        // Nothing under the lock leaves it half done.
        self.conversations.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn take<T>(conversations: &mut Vec<Conversation<T>>, model: &str, first: &Arc<Message>) -> Vec<Made<T>> {
    let is_this = |one: &Conversation<T>| {
        one.model == model && one.made.first().is_some_and(|made| Arc::ptr_eq(&made.message, first))
    };
    let place = conversations.iter().position(is_this);
    place.map(|place| conversations.remove(place).made).unwrap_or_default()
}

fn put<T>(conversations: &mut Vec<Conversation<T>>, conversation: Conversation<T>) {
    conversations.insert(0, conversation);
    let fitting = fitting(conversations.iter().map(|one| one.bytes));
    conversations.truncate(fitting.min(MAX_CONVERSATIONS));
}

/// How many of `sizes`, from the first on, fit into [`MAX_BYTES`].
pub(crate) fn fitting(sizes: impl Iterator<Item = usize>) -> usize {
    let mut left = MAX_BYTES;
    let fits = |size: usize| left.checked_sub(size).map(|rest| left = rest);
    sizes.map_while(fits).count()
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;
    use crate::Content;

    fn user(text: &str) -> Arc<Message> {
        Arc::new(Message::User { content: vec![Content::text(text)] })
    }

    /// Asks about a conversation, and says which of its messages had to be made, by their places.
    fn missed(kept: &Kept<String>, model: &str, messages: &[Arc<Message>], bytes: usize) -> Vec<usize> {
        let request = Request { model: model.to_owned(), messages: messages.to_vec().into(), ..Request::default() };
        let asked = RefCell::new(Vec::new());
        let made = kept.of(&request, |message| {
            asked.borrow_mut().extend(messages.iter().position(|one| Arc::ptr_eq(one, message)));
            (Arc::new(format!("{model} {message:?}")), bytes)
        });
        let want: Vec<_> = messages.iter().map(|message| format!("{model} {message:?}")).collect();
        assert_eq!(made.iter().map(|made| made.to_string()).collect::<Vec<_>>(), want);
        asked.into_inner()
    }

    fn conversation(length: usize) -> Vec<Arc<Message>> {
        (0..length).map(|number| user(&number.to_string())).collect()
    }

    #[test]
    fn only_what_is_new_is_made() {
        let (kept, mut messages) = (Kept::default(), conversation(3));
        assert_eq!(missed(&kept, "m", &[], 1), [0; 0]);
        assert_eq!(missed(&kept, "m", &messages, 1), [0, 1, 2]);
        messages.push(user("more"));
        assert_eq!(missed(&kept, "m", &messages, 1), [3]);
        // An equal message is not the same one.
        messages[1] = user("1");
        assert_eq!(missed(&kept, "m", &messages, 1), [1]);
        messages.truncate(2);
        assert_eq!(missed(&kept, "m", &messages, 1), [0; 0]);
        messages.push(user("other"));
        assert_eq!(missed(&kept, "m", &messages, 1), [2]);
    }

    #[test]
    fn conversations_and_models_do_not_drive_each_other_out() {
        let (kept, one, other) = (Kept::default(), conversation(2), conversation(2));
        for (model, messages) in [("m", &one), ("m", &other), ("n", &one)] {
            assert_eq!(missed(&kept, model, messages, 1), [0, 1]);
        }
        for (model, messages) in [("m", &one), ("m", &other), ("n", &one)] {
            assert_eq!(missed(&kept, model, messages, 1), [0; 0]);
        }
    }

    #[test]
    fn few_conversations_are_kept() {
        let all: Vec<_> = (0..=MAX_CONVERSATIONS).map(|_| conversation(1)).collect();
        let kept = Kept::default();
        for messages in &all {
            assert_eq!(missed(&kept, "m", messages, 1), [0]);
        }
        assert_eq!(missed(&kept, "m", &all[1], 1), [0; 0]);
        assert_eq!(missed(&kept, "m", &all[0], 1), [0]);
        // What was asked about lately stays.
        assert_eq!(missed(&kept, "m", &all[1], 1), [0; 0]);
        assert_eq!(missed(&kept, "m", &all[2], 1), [0]);
    }

    #[test]
    fn few_bytes_are_kept() {
        let (kept, messages, other) = (Kept::default(), conversation(5), conversation(1));
        let third = MAX_BYTES / 3 - size_of::<Made<String>>();
        assert_eq!(missed(&kept, "m", &messages, third), [0, 1, 2, 3, 4]);
        assert_eq!(missed(&kept, "m", &messages, third), [3, 4]);
        // There is no room for both.
        assert_eq!(missed(&kept, "m", &other, third), [0]);
        assert_eq!(missed(&kept, "m", &messages, third), [0, 1, 2, 3, 4]);
        let huge = conversation(1);
        assert_eq!(missed(&kept, "m", &huge, MAX_BYTES + 1), [0]);
        assert_eq!(missed(&kept, "m", &huge, MAX_BYTES + 1), [0]);
        assert_eq!(missed(&kept, "m", &messages, third), [3, 4]);
    }

    #[test]
    fn nothing_is_held_beyond_the_last_request() {
        let (kept, mut messages) = (Kept::default(), conversation(3));
        missed(&kept, "m", &messages, 1);
        let gone = Arc::downgrade(&messages.remove(2));
        missed(&kept, "m", &messages, 1);
        assert!(gone.upgrade().is_none());
    }
}
