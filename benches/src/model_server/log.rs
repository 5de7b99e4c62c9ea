//! What was asked, and when.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use bytes::Bytes;
use hyper::http::request::Parts;
use serde_json::Value;
use tokio::sync::watch;

use super::{MAX_KEPT, MAX_REQUESTS};

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
    /// The length of the body.
    pub bytes: usize,
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
    kept: Mutex<Kept>,
    count: watch::Sender<usize>,
}

#[derive(Debug, Default)]
struct Kept {
    entries: Vec<Entry>,
    /// The length of all bodies.
    bytes: usize,
}

#[derive(Debug, Clone)]
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
        Self { kept: Mutex::default(), count: watch::Sender::new(0) }
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
        let mut kept = self.kept();
        if kept.entries.len() == MAX_REQUESTS || kept.bytes + entry.body.len() > MAX_KEPT {
            return None;
        }
        kept.bytes += entry.body.len();
        kept.entries.push(entry);
        let count = kept.entries.len();
        drop(kept);
        self.count.send_replace(count);
        Some(count - 1)
    }

    /// Notes that bytes of the answer to request `number` left at `now`.
    pub(super) fn wrote(&self, number: usize, now: Instant) {
        self.kept().entries[number].answered = Some(now);
    }

    pub(super) fn all(&self) -> Vec<Received> {
        // Requests go on meanwhile.
        let entries = self.kept().entries.clone();
        let read = |Entry { method, path, headers, body, received, answered }| {
            let bytes = body.len();
            let body = serde_json::from_slice(&body).unwrap_or_default();
            Received { method, path, headers, body, bytes, received, answered }
        };
        entries.into_iter().map(read).collect()
    }

    pub(super) async fn wait(&self, count: usize) {
        // The sender lives as long as the log, so this only ends when there are enough.
        let _ = self.count.subscribe().wait_for(|there| *there >= count).await;
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
