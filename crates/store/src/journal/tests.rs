use std::collections::HashMap;
use std::sync::Mutex;
use std::time::Duration;

use haft_protocol::{Part, PartId};

use super::*;
use crate::growing::STORE_WITHIN;
use crate::rows::Change;
use crate::samples;

/// A shelf that counts, and that fails while it is told to. The runtime's clock is paused wherever it is used.
#[derive(Clone, Default)]
struct Watched {
    memory: Memory,
    seen: Arc<Mutex<Seen>>,
}

#[derive(Default)]
struct Seen {
    transactions: usize,
    rows: usize,
    failing: HashMap<SessionId, StoreError>,
}

impl Shelf for Watched {
    async fn write(&mut self, changes: &[Change<'_>]) -> Result<(), StoreError> {
        {
            let mut seen = self.seen.lock().unwrap();
            for change in changes {
                if let Change::Grown(part) | Change::Part { part, .. } = change
                    && let Some(error) = seen.failing.get(&part.session_id)
                {
                    return Err(error.clone());
                }
            }
            seen.transactions += 1;
            seen.rows += changes.len();
        }
        self.memory.write(changes).await
    }

    async fn part(&mut self, session: &SessionId, part: &PartId) -> Result<Option<Part>, StoreError> {
        self.memory.part(session, part).await
    }

    async fn close(self) -> Result<(), StoreError> {
        Ok(())
    }
}

impl Watched {
    fn journal(&self) -> Journal {
        let reader = Reader::Memory(self.memory.clone());
        Journal::start(self.clone(), reader, Leases::in_process(), Vec::new())
    }

    fn fail(&self, part: &Part) {
        let full = StoreError::Full { path: "haft.db".into() };
        self.seen.lock().unwrap().failing.insert(part.session_id.clone(), full);
    }

    fn mend(&self) {
        self.seen.lock().unwrap().failing.clear();
    }

    /// Transactions and rows since the last call.
    fn written(&self) -> (usize, usize) {
        let mut seen = self.seen.lock().unwrap();
        (std::mem::take(&mut seen.transactions), std::mem::take(&mut seen.rows))
    }

    /// What somebody sees who opens the store after the process was killed.
    fn stored(&self, part: &Part) -> String {
        shown(self.memory.history(&part.session_id).part(&part.id).unwrap())
    }
}

fn shown(part: &Part) -> String {
    serde_json::to_value(part).unwrap()["text"].as_str().unwrap().to_owned()
}

/// A session with one message and one growing part, all stored.
async fn growing(journal: &Journal, n: usize) -> Part {
    let session = samples::session(&format!("ses_{n}"));
    let message = samples::prompt(&session, "msg_1");
    let part = samples::text(&message, "prt_1", "");
    for event in [samples::created(&session), samples::said(&message), samples::put(&part)] {
        journal.record(event).await.unwrap();
    }
    part
}

#[tokio::test(start_paused = true)]
async fn words_are_stored_within_the_bound_and_not_before() {
    let shelf = Watched::default();
    let journal = shelf.journal();
    let part = growing(&journal, 1).await;
    journal.record(samples::words(&part, "Hel")).await.unwrap();
    tokio::time::advance(STORE_WITHIN - Duration::from_millis(1)).await;
    journal.record(samples::words(&part, "lo")).await.unwrap();
    assert_eq!(shelf.stored(&part), "");
    tokio::time::advance(Duration::from_millis(1)).await;
    // Any answer of the writer comes after what was due.
    journal.record(samples::said(&samples::prompt(&samples::session("ses_1"), "msg_2"))).await.unwrap();
    assert_eq!(shelf.stored(&part), "Hello");
}

#[tokio::test(start_paused = true)]
async fn a_row_is_rewritten_at_most_once_in_the_bound() {
    let shelf = Watched::default();
    let journal = shelf.journal();
    let parts = [growing(&journal, 1).await, growing(&journal, 2).await];
    shelf.written();
    // Ten seconds, a delta of each part every 10 ms.
    for _ in 0..1000 {
        for part in &parts {
            journal.record(samples::words(part, "x")).await.unwrap();
        }
        tokio::time::advance(Duration::from_millis(10)).await;
    }
    journal.close().await.unwrap();
    assert_eq!(shelf.stored(&parts[1]).len(), 1000);
    let (transactions, rows) = shelf.written();
    assert!((30..=40).contains(&transactions), "{transactions} transactions");
    assert_eq!(rows, 2 * transactions);
}

#[tokio::test(start_paused = true)]
async fn the_end_of_a_part_reading_and_closing_do_not_wait_for_the_clock() {
    let shelf = Watched::default();
    let journal = shelf.journal();
    let part = growing(&journal, 1).await;
    journal.record(samples::words(&part, "a")).await.unwrap();
    assert_eq!(shown(journal.history(&part.session_id).await.unwrap().part(&part.id).unwrap()), "a");
    journal.record(samples::words(&part, "b")).await.unwrap();
    let ended = Part {
        kind: samples::text(&samples::prompt(&samples::session("ses_1"), "msg_1"), "prt_1", "ab.").kind,
        ..part.clone()
    };
    journal.record(samples::put(&ended)).await.unwrap();
    assert_eq!(shelf.stored(&part), "ab.");
    // What was held before the end never comes back.
    tokio::time::advance(STORE_WITHIN * 2).await;
    journal.record(samples::words(&part, "c")).await.unwrap();
    journal.close().await.unwrap();
    assert_eq!(shelf.stored(&part), "ab.c");
}

#[tokio::test(start_paused = true)]
async fn beyond_the_bound_words_are_stored_at_once() {
    let shelf = Watched::default();
    let journal = shelf.journal();
    let part = growing(&journal, 1).await;
    shelf.written();
    let megabytes = |n: usize| "x".repeat(n * 1024 * 1024);
    journal.record(samples::words(&part, &megabytes(3))).await.unwrap();
    assert_eq!(shelf.written(), (0, 0));
    // Neither with what is held nor alone.
    journal.record(samples::words(&part, &megabytes(2))).await.unwrap();
    assert_eq!(shelf.written(), (2, 2));
    assert_eq!(shelf.stored(&part).len(), megabytes(5).len());
}

#[tokio::test(start_paused = true)]
async fn words_that_cannot_be_stored_are_kept_and_whoever_adds_to_them_hears_of_it() {
    let shelf = Watched::default();
    let journal = shelf.journal();
    let (part, other) = (growing(&journal, 1).await, growing(&journal, 2).await);
    let mut listener = journal.subscribe();
    journal.record(samples::words(&part, "a")).await.unwrap();
    listener.recv().await.unwrap();

    shelf.fail(&part);
    tokio::time::advance(STORE_WITHIN).await;
    journal.record(samples::words(&other, "fine")).await.unwrap();
    listener.recv().await.unwrap();
    let full = journal.record(samples::words(&part, "b")).await.unwrap_err();
    assert!(matches!(full, StoreError::Full { .. }), "{full}");
    assert!(matches!(journal.history(&part.session_id).await, Err(StoreError::Full { .. })));
    assert!(listener.try_recv().is_err(), "told what was not kept");
    // Another session goes on, in time.
    tokio::time::advance(STORE_WITHIN).await;
    journal.record(samples::words(&other, "!")).await.unwrap();
    assert_eq!(shelf.stored(&other), "fine");

    shelf.mend();
    journal.record(samples::words(&part, "b")).await.unwrap();
    journal.close().await.unwrap();
    assert_eq!(shelf.stored(&part), "ab");
    assert_eq!(shelf.stored(&other), "fine!");
}

#[tokio::test(start_paused = true)]
async fn what_waits_together_is_one_transaction() {
    let shelf = Watched::default();
    let journal = shelf.journal();
    let part = growing(&journal, 1).await;
    shelf.written();
    let message = samples::prompt(&samples::session("ses_1"), "msg_2");
    let (a, b, c) = tokio::join!(
        journal.record(samples::said(&message)),
        journal.record(samples::put(&samples::text(&message, "prt_2", ""))),
        journal.record(samples::put(&part)),
    );
    a.and(b).and(c).unwrap();
    assert_eq!(shelf.written(), (1, 3));
}

#[tokio::test]
async fn a_full_disk_fails_the_call_that_no_longer_fits_and_none_after_there_is_room() {
    let folder = tempfile::tempdir().unwrap();
    let Opened { shelf, reader, .. } = open::open(&folder.path().join("haft.db")).await.unwrap();
    let mut shelf = shelf.unwrap();
    shelf.run("PRAGMA max_page_count = 40").await.unwrap();
    let journal = Journal::start(shelf, Reader::File(Box::new(reader)), Leases::in_process(), Vec::new());
    let first = growing(&journal, 1).await;
    let message = samples::prompt(&samples::session("ses_1"), "msg_1");
    let parts: Vec<_> =
        (0..100).map(|n| samples::text(&message, &format!("prt_large_{n}"), &"x".repeat(20_000))).collect();
    let mut listener = journal.subscribe();
    let mut stored = 0;
    let full = loop {
        match journal.record(samples::put(&parts[stored])).await {
            Ok(()) => stored += 1,
            Err(full) => break full,
        }
    };
    assert!(stored > 0 && matches!(full, StoreError::Full { .. }), "{full:?}");
    let told = std::iter::from_fn(|| listener.try_recv().ok()).count();
    assert_eq!(told, stored);

    let Part { session_id, message_id, id, .. } = parts[0].clone();
    journal.record(Event::PartRemoved { session_id, message_id, part_id: id }).await.unwrap();
    journal.record(samples::put(&parts[stored])).await.unwrap();
    let history = journal.history(&first.session_id).await.unwrap();
    assert_eq!(history.messages()[0].parts.len(), 1 + stored);
    assert_eq!(history.part(&parts[stored].id), Some(&parts[stored]));
}

#[tokio::test]
async fn the_last_handle_writes_what_is_held_back() {
    let shelf = Watched::default();
    let journal = shelf.journal();
    let part = growing(&journal, 1).await;
    journal.record(samples::words(&part, "bye")).await.unwrap();
    let mut listener = journal.subscribe();
    drop(journal);
    // The writer holds the other end until it is done.
    listener.recv().await.unwrap_err();
    assert_eq!(shelf.stored(&part), "bye");
}
