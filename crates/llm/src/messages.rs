//! The messages of a request.

use std::ops::Deref;
use std::sync::Arc;

use crate::Message;

/// A conversation, oldest message first. A copy shares the list until one of the two changes: each request of a
/// conversation begins with the messages of the one before, and a long list takes long to copy.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Messages(Arc<Vec<Arc<Message>>>);

impl Messages {
    /// Adds one at the end. Copies the list where it is shared.
    pub fn push(&mut self, message: Arc<Message>) {
        Arc::make_mut(&mut self.0).push(message);
    }

    /// Leaves no more than the first `len`. Copies the list where it is shared and longer.
    pub fn truncate(&mut self, len: usize) {
        if len < self.len() {
            Arc::make_mut(&mut self.0).truncate(len);
        }
    }
}

impl Deref for Messages {
    type Target = [Arc<Message>];

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

impl From<Vec<Arc<Message>>> for Messages {
    fn from(messages: Vec<Arc<Message>>) -> Self {
        Self(Arc::new(messages))
    }
}

impl From<Messages> for Vec<Arc<Message>> {
    fn from(messages: Messages) -> Self {
        Arc::unwrap_or_clone(messages.0)
    }
}

impl FromIterator<Arc<Message>> for Messages {
    fn from_iter<I: IntoIterator<Item = Arc<Message>>>(messages: I) -> Self {
        Self::from(messages.into_iter().collect::<Vec<_>>())
    }
}

impl Extend<Arc<Message>> for Messages {
    fn extend<I: IntoIterator<Item = Arc<Message>>>(&mut self, messages: I) {
        Arc::make_mut(&mut self.0).extend(messages);
    }
}

impl<'a> IntoIterator for &'a Messages {
    type Item = &'a Arc<Message>;
    type IntoIter = std::slice::Iter<'a, Arc<Message>>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message() -> Arc<Message> {
        Arc::new(Message::User { content: Vec::new() })
    }

    #[test]
    fn a_copy_shares_until_one_changes() {
        let mut one = Messages::from(vec![message()]);
        one.extend([message(), message()]);
        let mut other = one.clone();
        assert_eq!(one.as_ptr(), other.as_ptr());
        other.truncate(3);
        assert_eq!(one.as_ptr(), other.as_ptr(), "nothing to leave out");
        other.push(message());
        assert_eq!((one.len(), other.len()), (3, 4));
        other.truncate(1);
        assert_eq!((one.len(), other.len()), (3, 1));
    }
}
