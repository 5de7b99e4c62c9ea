//! The events of an answer, as they come, and the signs of life in between.

use std::collections::VecDeque;
use std::time::Duration;

use reqwest::Response;
use reqwest::header::{CONTENT_TYPE, HeaderMap};
use tokio::time::Instant;

use super::Endpoint;
use crate::patience::Patience;
use crate::server::Limit;
use crate::sse::{self, Event};
use crate::{LlmError, eventstream};

/// How long the end of a body is waited for once the answer is complete. Reading it keeps the connection for the next
/// request; servers that do not end it lose nothing but that.
const LINGER: Duration = Duration::from_millis(20);

/// Most bytes of one answer, unpacked: the wrapping of the longest answer that is kept, many times over.
const MAX_ANSWER: usize = 1024 * 1024 * 1024;

/// So many bytes are a sign of life though they end no line: a large event over a slow line, and not one that drips.
const MANY: usize = 4096;

/// How events are told apart in the bytes of an answer, with what has come of the next one.
#[derive(Debug)]
pub(super) enum Framing {
    /// Lines of text.
    Text(sse::Decoder),
    /// Amazon's frames.
    Binary(eventstream::Decoder),
    /// It is not said.
    Unknown,
}

impl Framing {
    pub(super) fn of(headers: &HeaderMap) -> Self {
        let kind = headers.get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
        let is = |name: &str| kind.trim_start().get(..name.len()).is_some_and(|kind| kind.eq_ignore_ascii_case(name));
        if is("text/event-stream") {
            Self::Text(sse::Decoder::default())
        } else if is(eventstream::CONTENT_TYPE) {
            Self::Binary(eventstream::Decoder::default())
        } else {
            Self::Unknown
        }
    }

    /// By the bytes that an answer begins with.
    pub(super) fn of_bytes(bytes: &[u8]) -> Self {
        let start = bytes.trim_ascii_start();
        let fields = [&b":"[..], b"data:", b"event:", b"id:", b"retry:"];
        if fields.into_iter().any(|field| start.starts_with(field)) {
            Self::Text(sse::Decoder::default())
        // The length of a frame; no text begins so.
        } else if bytes.first() == Some(&0) {
            Self::Binary(eventstream::Decoder::default())
        } else {
            Self::Unknown
        }
    }

    fn push(&mut self, bytes: &[u8], events: &mut VecDeque<Event>) -> Result<(), &'static str> {
        match self {
            Self::Text(decoder) => decoder.push(bytes, events).map_err(|_| "an event that is larger"),
            Self::Binary(decoder) => decoder.push(bytes, events).map_err(|broken| match broken {
                eventstream::Broken::TooLong => "an event that is larger",
                eventstream::Broken::Damaged => "bytes that are no event, or were changed on their way",
            }),
            Self::Unknown => Ok(()),
        }
    }

    fn end(&mut self) -> Option<Event> {
        match self {
            Self::Text(decoder) => decoder.end(),
            Self::Binary(_) | Self::Unknown => None,
        }
    }
}

/// The events of an answer. Dropping them closes the connection.
#[derive(Debug)]
pub(crate) struct Events {
    endpoint: Endpoint,
    /// `None` once it has ended.
    pub(super) response: Option<Response>,
    pub(super) decoder: Framing,
    /// The events of the bytes that came last.
    ready: VecDeque<Event>,
    /// What was wrong behind them.
    pub(super) wrong: Option<LlmError>,
    pub(super) pulse: Pulse,
}

/// Whether an answer still goes on: when it last gave a sign of life, and how much has come.
#[derive(Debug)]
pub(super) struct Pulse {
    patience: Patience,
    since: Instant,
    /// Bytes since then.
    pending: usize,
    /// Bytes of the whole answer.
    total: usize,
    begun: bool,
}

impl Pulse {
    fn new(patience: Patience) -> Self {
        Self { patience, since: Instant::now(), pending: 0, total: 0, begun: false }
    }

    pub(super) async fn wait<T>(&self, work: impl Future<Output = T>) -> Result<T, LlmError> {
        let limit = if self.begun { Limit::Idle } else { self.patience.first() };
        self.patience.wait(limit, self.since, work).await
    }

    /// Takes note of `bytes`. Whether that is not too many by now.
    fn felt(&mut self, bytes: &[u8]) -> bool {
        self.total = self.total.saturating_add(bytes.len());
        self.pending += bytes.len();
        if self.pending >= MANY || bytes.iter().any(|byte| matches!(byte, b'\n' | b'\r')) {
            self.lives();
        }
        self.total <= MAX_ANSWER
    }

    /// Takes note of a sign of life.
    fn lives(&mut self) {
        (self.since, self.pending, self.begun) = (Instant::now(), 0, true);
    }
}

impl Events {
    pub(super) fn new(endpoint: Endpoint, decoder: Framing, patience: Patience) -> Self {
        Self { endpoint, response: None, decoder, ready: VecDeque::new(), wrong: None, pulse: Pulse::new(patience) }
    }

    /// The next event, or `None` at the end.
    pub(crate) async fn next(&mut self) -> Result<Option<Event>, LlmError> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                return Ok(Some(event));
            }
            if let Some(wrong) = self.wrong.take() {
                return Err(wrong);
            }
            let Some(response) = &mut self.response else { return Ok(None) };
            let came = match self.pulse.wait(response.chunk()).await {
                Ok(came) => came,
                Err(error) => {
                    self.response = None;
                    return Err(error);
                }
            };
            match came {
                Ok(Some(bytes)) => self.take(&bytes),
                Ok(None) => {
                    self.response = None;
                    self.ready.extend(self.decoder.end());
                }
                Err(error) => {
                    self.response = None;
                    return Err(self.endpoint.broken(error));
                }
            }
        }
    }

    pub(super) fn take(&mut self, bytes: &[u8]) {
        if !self.pulse.felt(bytes) {
            return self.give_up(self.endpoint.malformed("an answer of at most 1 GiB", "more than that"));
        }
        let before = self.ready.len();
        let taken = self.decoder.push(bytes, &mut self.ready);
        // Frames have no lines.
        if self.ready.len() > before {
            self.pulse.lives();
        }
        if let Err(found) = taken {
            self.give_up(self.endpoint.malformed("a stream of events of at most 16 MiB", found));
        }
    }

    /// Reads no more. What came before is handed out first.
    fn give_up(&mut self, wrong: LlmError) {
        (self.response, self.wrong) = (None, Some(wrong));
    }

    /// Reads what little is left behind the last event, so that the connection can be used again.
    pub(crate) async fn linger(self) {
        if let Some(mut response) = self.response {
            let rest = async { while let Ok(Some(_)) = response.chunk().await {} };
            // Who does not end in time loses the connection, nothing else.
            let _ = tokio::time::timeout(LINGER, rest).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Deadlines;

    #[tokio::test(start_paused = true)]
    async fn a_line_or_many_bytes_are_a_sign_of_life_and_a_few_are_none() {
        let mut pulse = Pulse::new(Patience::begin("v", Deadlines::default()));
        let began = pulse.since;
        let mut row = |bytes: &[u8], want: bool| {
            let before = pulse.since;
            assert!(pulse.felt(bytes));
            assert_eq!(pulse.since > before, want, "{} bytes", bytes.len());
        };
        let second = || tokio::time::advance(Duration::from_secs(1));
        second().await;
        row(b"data: {", false);
        second().await;
        row(b"}\n", true);
        second().await;
        row(&[b'x'; MANY - 1], false);
        second().await;
        row(b"x", true);
        assert!(pulse.begun && pulse.since > began);
        pulse.total = MAX_ANSWER - 1;
        assert!(pulse.felt(b"x") && !pulse.felt(b"x"));
    }
}
