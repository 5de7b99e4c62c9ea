//! What was asked, and when.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use bytes::Bytes;
use hyper::http::request::Parts;
use serde_json::Value;
use tokio::sync::watch;

use super::MAX_REQUESTS;

/// One request.
#[derive(Debug, Clone)]
pub struct Received {
    /// For example `POST`.
    pub method: String,
    /// Path and query, for example `/v1/chat/completions`.
    pub path: String,
    /// Names in lower case, in the order in which they came.
    pub headers: Vec<(String, String)>,
    /// The body, or `null` where it is not JSON.
    pub body: Value,
    /// When the whole body had been read.
    pub received: Instant,
    /// When the last byte of the answer so far was handed to the socket.
    pub answered: Option<Instant>,
}

impl Received {
    /// The value of the header called `name`, which is written in lower case.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(header, _)| header == name).map(|(_, value)| value.as_str())
    }
}

/// All requests. Bodies are read as JSON only when somebody looks at them.
#[derive(Debug)]
pub(super) struct Log {
    entries: Mutex<Vec<Entry>>,
    count: watch::Sender<usize>,
}

#[derive(Debug)]
struct Entry {
    method: String,
    path: String,
    headers: Vec<(String, String)>,
    body: Bytes,
    received: Instant,
    answered: Option<Instant>,
}

impl Default for Log {
    fn default() -> Self {
        Self { entries: Mutex::default(), count: watch::Sender::new(0) }
    }
}

impl Log {
    /// Keeps a request and gives its number, or `None` when there is no room.
    pub(super) fn add(&self, head: &Parts, body: Bytes, received: Instant) -> Option<usize> {
        let text = |value: &[u8]| String::from_utf8_lossy(value).into_owned();
        let entry = Entry {
            method: head.method.to_string(),
            path: head.uri.to_string(),
            headers: head.headers.iter().map(|(name, value)| (name.to_string(), text(value.as_bytes()))).collect(),
            body,
            received,
            answered: None,
        };
        let mut entries = self.entries();
        if entries.len() == MAX_REQUESTS {
            return None;
        }
        entries.push(entry);
        let count = entries.len();
        drop(entries);
        self.count.send_replace(count);
        Some(count - 1)
    }

    /// Notes that bytes of the answer to request `number` left at `now`.
    pub(super) fn wrote(&self, number: usize, now: Instant) {
        self.entries()[number].answered = Some(now);
    }

    pub(super) fn all(&self) -> Vec<Received> {
        let read = |entry: &Entry| Received {
            method: entry.method.clone(),
            path: entry.path.clone(),
            headers: entry.headers.clone(),
            body: serde_json::from_slice(&entry.body).unwrap_or_default(),
            received: entry.received,
            answered: entry.answered,
        };
        self.entries().iter().map(read).collect()
    }

    pub(super) async fn wait(&self, count: usize) {
        // The sender lives as long as the log, so this only ends when there are enough.
        let _ = self.count.subscribe().wait_for(|there| *there >= count).await;
    }

    fn entries(&self) -> MutexGuard<'_, Vec<Entry>> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
