//! What a journal does, wherever it keeps things: every test runs against the file and against its twin in memory.

use haft_protocol::{Event, History, Id, Part, PartId, PartKind, Session, SessionId, SessionTime, Status, Turned};
use haft_store::{Filter, Journal, StoreError};
use tokio::sync::broadcast::error::{RecvError, TryRecvError};

use crate::samples::{created, prompt, put, said, session, text, to_do, words};

async fn on_both(test: impl AsyncFn(&Journal)) {
    test(&Journal::memory()).await;
    let folder = tempfile::tempdir().unwrap();
    let journal = Journal::open(&folder.path().join("haft.db")).await.unwrap();
    test(&journal).await;
}

async fn record(journal: &Journal, events: impl IntoIterator<Item = Event>) {
    for event in events {
        journal.record(event).await.unwrap();
    }
}

/// A session with one message and one growing part.
async fn begin(journal: &Journal, id: &str) -> Part {
    let session = session(id);
    let message = prompt(&session, "msg_1");
    let part = text(&message, "prt_1", "");
    record(journal, [created(&session), said(&message), put(&part)]).await;
    part
}

fn outline(history: &History) -> String {
    let mut lines = String::new();
    for message in history.messages() {
        lines += message.info.id().as_str();
        for part in &message.parts {
            let PartKind::Text { text, .. } = &part.kind else { unreachable!("samples are words") };
            lines += &format!(" {}={text}", part.id);
        }
        lines += "\n";
    }
    lines
}

fn removed(part: &Part) -> Event {
    let Part { session_id, message_id, id, .. } = part.clone();
    Event::PartRemoved { session_id, message_id, part_id: id }
}

fn busy(id: &SessionId) -> Event {
    Event::SessionStatus { session_id: id.clone(), status: Status::Busy }
}

#[tokio::test]
async fn what_is_recorded_is_read_back_in_the_order_it_came() {
    on_both(async |journal| {
        let mut info = session("ses_1");
        // The ids sort the other way, and all times are the same.
        let (second, first) = (prompt(&info, "msg_a"), prompt(&info, "msg_b"));
        let (late, early) = (text(&first, "prt_a", "2"), text(&first, "prt_b", "1"));
        record(journal, [created(&info), said(&first), put(&early), said(&second), put(&late)]).await;
        // A change keeps the place.
        record(journal, [said(&first), put(&text(&first, "prt_b", "one"))]).await;
        info.title = "renamed".to_owned();
        record(journal, [Event::SessionUpdated { session_id: info.id.clone(), info: Box::new(info.clone()) }]).await;

        assert_eq!(journal.session(&info.id).await.unwrap(), Some(info.clone()));
        let history = journal.history(&info.id).await.unwrap();
        assert_eq!(outline(&history), "msg_b prt_b=one prt_a=2\nmsg_a\n");
    })
    .await;
}

#[tokio::test]
async fn a_long_session_is_whole_whatever_its_ids_are() {
    on_both(async |journal| {
        let info = session("ses_1");
        // Ids that do not sort as the messages came, other messages between them, and no part, one or more.
        let message = |n: usize| prompt(&info, &format!("msg_{}", n * 389 % 1000));
        let parts = |n: usize| (0..n % 3).map(move |m| (n, m));
        let part = |(n, m): (usize, usize)| text(&message(n), &format!("prt_{}x{n}", m + 1), &format!("{n}.{m}"));
        let mut events = vec![created(&info)];
        for n in 0..1000 {
            events.push(said(&message(n)));
            events.extend(parts(n).map(part).map(|part| put(&part)));
        }
        journal.record_all(events).await.unwrap();
        let is_gone = |n: usize| (300..610).contains(&n) || n.is_multiple_of(7);
        let gone = (0..1000).filter(|n| is_gone(*n)).map(|n| message(n).id().clone());
        let session_id = &info.id;
        let gone = gone.map(|message_id| Event::MessageRemoved { session_id: session_id.clone(), message_id });
        journal.record_all(gone.collect()).await.unwrap();

        let left = (0..1000).filter(|n| !is_gone(*n));
        let want = left.map(|n| Turned { info: message(n), parts: parts(n).map(part).collect() });
        let want: Vec<Turned> = want.collect();
        assert_eq!(journal.history(&info.id).await.unwrap().messages(), want);
        for (before, limit) in [(want.len(), 1), (want.len(), 90), (500, 300), (40, 200), (1, 1), (0, 5)] {
            let page =
                journal.messages(&info.id, want.get(before).map(|turned| turned.info.id()), limit).await.unwrap();
            assert_eq!(page, want[before.saturating_sub(limit)..before], "{limit} before {before}");
        }
    })
    .await;
}

#[tokio::test]
async fn following_the_events_gives_the_same_history_as_reading_it() {
    on_both(async |journal| {
        let mut listener = journal.subscribe();
        let part = begin(journal, "ses_1").await;
        let mut other = part.clone();
        other.id = PartId::parse("prt_2").unwrap();
        record(journal, [words(&part, "a"), put(&other), words(&other, "b"), words(&part, "c")]).await;
        record(journal, [removed(&other), put(&other), removed(&part), put(&part), words(&part, "d")]).await;

        let mut followed = History::default();
        while let Ok(event) = listener.try_recv() {
            followed.apply(&event);
        }
        assert_eq!(outline(&followed), "msg_1 prt_2= prt_1=d\n");
        assert_eq!(journal.history(&part.session_id).await.unwrap(), followed);
    })
    .await;
}

#[tokio::test]
async fn sessions_do_not_see_each_other_even_with_equal_ids() {
    on_both(async |journal| {
        let (one, two) = (begin(journal, "ses_1").await, begin(journal, "ses_2").await);
        record(journal, [words(&one, "one"), words(&two, "two")]).await;
        assert_eq!(outline(&journal.history(&one.session_id).await.unwrap()), "msg_1 prt_1=one\n");
        record(journal, [removed(&one)]).await;
        assert_eq!(outline(&journal.history(&two.session_id).await.unwrap()), "msg_1 prt_1=two\n");
    })
    .await;
}

#[tokio::test]
async fn an_unknown_session_has_no_record_and_an_empty_history() {
    on_both(async |journal| {
        let id = session("ses_nobody").id;
        assert_eq!(journal.session(&id).await.unwrap(), None);
        assert_eq!(journal.history(&id).await.unwrap(), History::default());
    })
    .await;
}

#[tokio::test]
async fn what_builds_on_nothing_is_neither_stored_nor_told() {
    on_both(async |journal| {
        let info = session("ses_1");
        let message = prompt(&info, "msg_1");
        let part = text(&message, "prt_1", "");
        let mut listener = journal.subscribe();
        let missing = async |event: Event, want: &str| {
            let error = journal.record(event).await.unwrap_err();
            assert!(matches!(&error, StoreError::Missing { row } if row == want), "{error}");
        };
        missing(said(&message), "session ses_1").await;
        record(journal, [created(&info)]).await;
        missing(put(&part), "message msg_1").await;
        missing(words(&part, "lost"), "part prt_1").await;
        record(journal, [said(&message), put(&part), removed(&part), removed(&part)]).await;
        missing(words(&part, "late"), "part prt_1").await;

        let told = std::iter::from_fn(|| listener.try_recv().ok()).count();
        assert_eq!(told, 5);
        assert_eq!(outline(&journal.history(&info.id).await.unwrap()), "msg_1\n");
    })
    .await;
}

#[tokio::test]
async fn of_events_that_wait_together_only_the_bad_one_fails() {
    on_both(async |journal| {
        let part = begin(journal, "ses_1").await;
        let info = session("ses_1");
        let (good, orphan) = (prompt(&info, "msg_2"), prompt(&session("ses_nobody"), "msg_3"));
        let new = text(&good, "prt_2", "new ");
        let (first, bad, old, second, last) = tokio::join!(
            journal.record(said(&good)),
            journal.record(said(&orphan)),
            journal.record(words(&part, "words")),
            journal.record(put(&new)),
            // Builds on what waits before it.
            journal.record(words(&new, "words")),
        );
        first.and(old).and(second).and(last).unwrap();
        assert!(matches!(bad, Err(StoreError::Missing { .. })));
        assert_eq!(outline(&journal.history(&info.id).await.unwrap()), "msg_1 prt_1=words\nmsg_2 prt_2=new words\n");
    })
    .await;
}

#[tokio::test]
async fn everything_is_told_in_the_order_it_was_recorded() {
    on_both(async |journal| {
        let part = begin(journal, "ses_1").await;
        let events = [
            words(&part, "a"),
            busy(&part.session_id),
            put(&text(&prompt(&session("ses_1"), "msg_1"), "prt_2", "")),
            words(&part, "b"),
            removed(&part),
            busy(&part.session_id),
        ];
        let mut listener = journal.subscribe();
        record(journal, events.clone()).await;
        journal.announce(busy(&part.session_id));
        for event in events.into_iter().chain([busy(&part.session_id)]) {
            assert_eq!(listener.try_recv().unwrap(), event);
        }
        assert_eq!(listener.try_recv(), Err(TryRecvError::Empty));
    })
    .await;
}

#[tokio::test]
async fn what_is_told_can_be_read_at_once() {
    on_both(async |journal| {
        let mut listener = journal.subscribe();
        let write = async {
            let part = begin(journal, "ses_1").await;
            record(journal, (0..50).map(|n| words(&part, &n.to_string()))).await;
        };
        let follow = async {
            let mut followed = History::default();
            for _ in 0..53 {
                let event = listener.recv().await.unwrap();
                followed.apply(&event);
                let stored = journal.history(event.session_id()).await.unwrap();
                assert!(outline(&stored).trim().starts_with(outline(&followed).trim()), "told before it was kept");
            }
        };
        tokio::join!(write, follow);
    })
    .await;
}

#[tokio::test]
async fn many_at_once_lose_nothing_and_keep_the_order_of_telling() {
    on_both(async |journal| {
        let info = session("ses_1");
        record(journal, [created(&info)]).await;
        let mut listener = journal.subscribe();
        let mut tasks = tokio::task::JoinSet::new();
        for task in 0..20 {
            let (journal, info) = (journal.clone(), info.clone());
            tasks.spawn(async move {
                for n in 0..20 {
                    journal.record(said(&prompt(&info, &format!("msg_{task}_{n}")))).await.unwrap();
                }
            });
        }
        tasks.join_all().await;
        let mut followed = History::default();
        while let Ok(event) = listener.try_recv() {
            followed.apply(&event);
        }
        assert_eq!(followed.messages().len(), 400);
        assert_eq!(journal.history(&info.id).await.unwrap(), followed);
    })
    .await;
}

#[tokio::test]
async fn a_listener_too_far_behind_is_told_so_and_nobody_waits_for_it() {
    on_both(async |journal| {
        let id = session("ses_1").id;
        let mut slow = journal.subscribe();
        for _ in 0..4096 + 4 {
            journal.announce(busy(&id));
        }
        assert_eq!(slow.recv().await, Err(RecvError::Lagged(4)));
        assert_eq!(slow.recv().await, Ok(busy(&id)));
    })
    .await;
}

#[tokio::test]
async fn sessions_are_listed_latest_change_first() {
    on_both(async |journal| {
        let add = async |id: &str, directory: &str, parent: Option<&str>, updated: u64| {
            let info = Session {
                directory: directory.to_owned(),
                parent_id: parent.map(|parent| Id::parse(parent).unwrap()),
                time: SessionTime { created: 1, updated, ..SessionTime::default() },
                ..session(id)
            };
            record(journal, [created(&info)]).await;
        };
        add("ses_a", "/one", None, 10).await;
        add("ses_b", "/two", None, 30).await;
        add("ses_c", "/one", Some("ses_a"), 20).await;
        add("ses_d", "/one", None, 5).await;
        // Changed again: now before all others, with a tie.
        add("ses_d", "/one", None, 30).await;

        let check = async |filter: Filter, want: &str| {
            let found = journal.sessions(&filter).await.unwrap();
            let ids: Vec<_> = found.iter().map(|info| info.id.as_str()).collect();
            assert_eq!(ids.join(" "), want, "{filter:?}");
        };
        let one = Some("/one".to_owned());
        check(Filter::default(), "ses_b ses_d ses_c ses_a").await;
        check(Filter { directory: one.clone(), ..Filter::default() }, "ses_d ses_c ses_a").await;
        check(Filter { directory: one, roots: true, ..Filter::default() }, "ses_d ses_a").await;
        check(Filter { roots: true, limit: 2, ..Filter::default() }, "ses_b ses_d").await;
        check(Filter { directory: Some("/o".to_owned()), ..Filter::default() }, "").await;
        check(Filter { limit: 0, ..Filter::default() }, "").await;
        check(Filter { limit: usize::MAX, ..Filter::default() }, "ses_b ses_d ses_c ses_a").await;
    })
    .await;
}

#[tokio::test]
async fn a_list_stops_at_100_unless_more_are_wanted() {
    on_both(async |journal| {
        record(journal, (0..101).map(|n| created(&session(&format!("ses_{n}"))))).await;
        assert_eq!(journal.sessions(&Filter::default()).await.unwrap().len(), 100);
        assert_eq!(journal.sessions(&Filter { limit: 101, ..Filter::default() }).await.unwrap().len(), 101);
    })
    .await;
}

#[tokio::test]
async fn a_session_has_one_owner() {
    on_both(async |journal| {
        let (one, two) = (session("ses_1").id, session("ses_2").id);
        let lease = journal.claim(&one).unwrap();
        let refused = journal.clone().claim(&one).unwrap_err();
        let me = std::process::id();
        assert!(matches!(&refused, StoreError::Busy { session, holder: Some(pid) } if *session == one && *pid == me));
        let _other = journal.claim(&two).unwrap();
        drop(lease);
        let _again = journal.claim(&one).unwrap();
    })
    .await;
}

#[tokio::test]
async fn after_closing_every_handle_says_so() {
    on_both(async |journal| {
        let part = begin(journal, "ses_1").await;
        let clone = journal.clone();
        let (recorded, first, second) =
            tokio::join!(journal.record(words(&part, "in time")), journal.close(), clone.close());
        recorded.and(first).and(second).unwrap();
        clone.close().await.unwrap();
        assert!(matches!(clone.record(words(&part, "late")).await, Err(StoreError::Closed)));
        assert!(matches!(clone.session(&part.session_id).await, Err(StoreError::Closed)));
        assert!(matches!(clone.sessions(&Filter::default()).await, Err(StoreError::Closed)));
        assert!(matches!(clone.history(&part.session_id).await, Err(StoreError::Closed)));
    })
    .await;
}

#[tokio::test]
async fn a_list_of_things_to_do_is_stored_before_it_is_told() {
    on_both(async |journal| {
        let info = session("ses_1");
        let error = journal.record(to_do(&info.id, "too early")).await.unwrap_err();
        assert!(matches!(&error, StoreError::Missing { row } if row == "session ses_1"), "{error}");
        record(journal, [created(&info)]).await;
        assert_eq!(journal.todos(&info.id).await.unwrap(), []);
        let mut listener = journal.subscribe();
        record(journal, [to_do(&info.id, "one"), to_do(&info.id, "two")]).await;
        let list = journal.todos(&info.id).await.unwrap();
        assert_eq!(list.iter().map(|todo| todo.content.as_str()).collect::<Vec<_>>(), ["two"]);
        assert_eq!(listener.try_recv().unwrap(), to_do(&info.id, "one"));
    })
    .await;
}

#[tokio::test]
async fn events_recorded_together_are_told_in_order_and_the_first_failure_is_heard() {
    on_both(async |journal| {
        let info = session("ses_1");
        let (message, orphan) = (prompt(&info, "msg_1"), prompt(&session("ses_nobody"), "msg_2"));
        let part = text(&message, "prt_1", "");
        let mut listener = journal.subscribe();
        let together = vec![created(&info), said(&message), put(&part), words(&part, "a"), words(&part, "b")];
        journal.record_all(together.clone()).await.unwrap();
        for event in together {
            assert_eq!(listener.try_recv().unwrap(), event);
        }
        let error = journal.record_all(vec![said(&orphan), words(&part, "c")]).await.unwrap_err();
        assert!(matches!(&error, StoreError::Missing { row } if row == "session ses_nobody"), "{error}");
        assert_eq!(listener.try_recv().unwrap(), words(&part, "c"));
        assert_eq!(outline(&journal.history(&info.id).await.unwrap()), "msg_1 prt_1=abc\n");
        journal.record_all(Vec::new()).await.unwrap();
    })
    .await;
}

#[tokio::test]
async fn the_tasks_of_a_session_are_found_the_newest_first() {
    on_both(async |journal| {
        let task = |id: &str, parent: &str, made: u64| Session {
            parent_id: Some(Id::parse(parent).unwrap()),
            time: SessionTime { created: made, updated: 100 - made, ..SessionTime::default() },
            ..session(id)
        };
        let made = [session("ses_root"), task("ses_b", "ses_root", 1), task("ses_a", "ses_root", 2)];
        record(journal, made.iter().map(created)).await;
        record(journal, [created(&task("ses_below", "ses_a", 3)), created(&session("ses_other"))]).await;
        let check = async |parent: &str, limit: usize, want: &str| {
            let found = journal.children(&Id::parse(parent).unwrap(), limit).await.unwrap();
            let ids: Vec<&str> = found.iter().map(|info| info.id.as_str()).collect();
            assert_eq!(ids.join(" "), want, "{parent}");
        };
        check("ses_root", 9, "ses_a ses_b").await;
        check("ses_root", 1, "ses_a").await;
        check("ses_a", 9, "ses_below").await;
        check("ses_other", 9, "").await;
        check("ses_nobody", 9, "").await;
    })
    .await;
}
