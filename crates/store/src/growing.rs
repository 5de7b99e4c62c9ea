//! Words that were told and are not stored yet: which parts, since when, and how many at most.

use std::time::Duration;

use haft_protocol::{Part, PartId, PartKind, SessionId};
use tokio::time::Instant;

/// How long words may be told without being stored.
pub(crate) const STORE_WITHIN: Duration = Duration::from_millis(250);
const MAX_PARTS: usize = 64;
const MAX_BYTES: usize = 4 * 1024 * 1024;

/// The parts that grow. Every one in here has words that its row has not.
#[derive(Debug, Default)]
pub(crate) struct Growing {
    held: Vec<Held>,
}

#[derive(Debug)]
pub(crate) struct Held {
    pub(crate) part: Part,
    since: Instant,
    /// Storing it failed. The clock does not try again; whoever records, reads or closes next does, and hears of it.
    stuck: bool,
}

impl Growing {
    /// When something must be stored, if anything waits for the clock.
    pub(crate) fn due(&self) -> Option<Instant> {
        self.held.iter().filter(|held| !held.stuck).map(|held| held.since + STORE_WITHIN).min()
    }

    /// Whether storing something of `session` failed before.
    pub(crate) fn is_stuck(&self, session: &SessionId) -> bool {
        self.held.iter().any(|held| held.stuck && held.part.session_id == *session)
    }

    /// Whether `bytes` more words fit, in a part that is here already.
    pub(crate) fn has_room(&self, bytes: usize) -> bool {
        self.bytes() + bytes <= MAX_BYTES
    }

    /// Adds `words` to the part, if it is here.
    pub(crate) fn grow(&mut self, session: &SessionId, part: &PartId, words: &str) -> bool {
        let held = self.held.iter_mut().find(|held| held.is(session, part));
        held.map(|held| held.part.grow(words)).is_some()
    }

    /// Whether `part`, which is not here, may be.
    pub(crate) fn has_room_for(&self, part: &Part) -> bool {
        self.held.len() < MAX_PARTS && self.has_room(words_in(part))
    }

    /// Holds a part back from now on. The caller made sure that there is room.
    pub(crate) fn hold(&mut self, part: Part, now: Instant) {
        debug_assert!(self.has_room_for(&part));
        self.held.push(Held { part, since: now, stuck: false });
    }

    /// Drops a part whose row is newer than what is held.
    pub(crate) fn forget(&mut self, session: &SessionId, part: &PartId) {
        self.held.retain(|held| !held.is(session, part));
    }

    /// Takes out what is to be stored now: that of one session, or all.
    pub(crate) fn take(&mut self, whose: Option<&SessionId>) -> Vec<Held> {
        self.held.extract_if(.., |held| whose.is_none_or(|session| held.part.session_id == *session)).collect()
    }

    /// Puts back what could not be stored.
    pub(crate) fn put_back(&mut self, held: Held) {
        self.held.push(Held { stuck: true, ..held });
    }

    fn bytes(&self) -> usize {
        // At most `MAX_PARTS` of them: cheaper than keeping a sum true.
        self.held.iter().map(|held| words_in(&held.part)).sum()
    }
}

impl Held {
    fn is(&self, session: &SessionId, part: &PartId) -> bool {
        self.part.id == *part && self.part.session_id == *session
    }
}

fn words_in(part: &Part) -> usize {
    match &part.kind {
        PartKind::Text { text, .. } | PartKind::Reasoning { text, .. } => text.len(),
        PartKind::File { .. }
        | PartKind::Tool { .. }
        | PartKind::Vendor { .. }
        | PartKind::Agent { .. }
        | PartKind::Subtask { .. }
        | PartKind::Patch { .. }
        | PartKind::Compaction { .. }
        | PartKind::Retry { .. }
        | PartKind::StepStart {}
        | PartKind::StepFinish { .. } => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples;

    fn part(n: usize, bytes: usize) -> Part {
        let session = samples::session("ses_1");
        samples::text(&samples::prompt(&session, "msg_1"), &format!("prt_{n}"), &"x".repeat(bytes))
    }

    #[test]
    fn no_more_parts_than_the_bound() {
        let (mut growing, now) = (Growing::default(), Instant::now());
        for n in 0..MAX_PARTS {
            assert!(growing.has_room_for(&part(n, 1)));
            growing.hold(part(n, 1), now);
        }
        assert!(!growing.has_room_for(&part(MAX_PARTS, 1)));
        assert_eq!(growing.take(None).len(), MAX_PARTS);
        assert!(growing.has_room_for(&part(MAX_PARTS, 1)));
    }

    #[test]
    fn no_more_bytes_than_the_bound() {
        let (mut growing, now) = (Growing::default(), Instant::now());
        growing.hold(part(1, MAX_BYTES - 10), now);
        assert!(growing.has_room(10) && growing.has_room_for(&part(2, 10)));
        assert!(!growing.has_room(11) && !growing.has_room_for(&part(2, 11)));
    }

    #[test]
    fn due_when_the_oldest_words_are() {
        let (mut growing, start) = (Growing::default(), Instant::now());
        assert_eq!(growing.due(), None);
        growing.hold(part(2, 1), start + Duration::from_millis(100));
        growing.hold(part(1, 1), start);
        assert_eq!(growing.due(), Some(start + STORE_WITHIN));
    }

    #[test]
    fn what_is_stuck_no_longer_waits_for_the_clock() {
        let (mut growing, start) = (Growing::default(), Instant::now());
        growing.hold(part(1, 1), start);
        for held in growing.take(None) {
            growing.put_back(held);
        }
        assert_eq!(growing.due(), None);
        let stuck = &part(1, 1).session_id;
        assert!(growing.is_stuck(stuck) && !growing.is_stuck(&samples::session("ses_2").id));
        assert!(growing.grow(stuck, &part(1, 1).id, "y"));
        growing.forget(stuck, &part(1, 1).id);
        assert!(growing.take(None).is_empty());
    }
}
