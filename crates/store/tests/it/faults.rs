//! Writes that fail: what is not stored is not told, nothing else suffers, and all goes on once the cause is gone.

use haft_protocol::{Event, PartKind, SessionId, Status};
use haft_store::Journal;
use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{AssertSqlSafe, ConnectOptions, Connection};

use crate::samples::{created, prompt, put, said, session, text, to_do, words};

/// Lets every write to `table` fail from now on.
fn fault(table: &str) -> String {
    let trigger = |what: &str| {
        format!("CREATE TRIGGER no_{what} BEFORE {what} ON {table} BEGIN SELECT RAISE(ABORT, 'injected'); END;")
    };
    ["INSERT", "UPDATE", "DELETE"].map(trigger).concat()
}

const LIFT: &str = "DROP TRIGGER no_INSERT; DROP TRIGGER no_UPDATE; DROP TRIGGER no_DELETE;";

/// A file whose writes can be made to fail, from outside.
struct Faulty {
    folder: tempfile::TempDir,
    journal: Journal,
}

impl Faulty {
    async fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let journal = Journal::open(&folder.path().join("haft.db")).await.unwrap();
        Self { folder, journal }
    }

    async fn outside(&self, sql: String) {
        let options = SqliteConnectOptions::new().filename(self.folder.path().join("haft.db"));
        let mut connection = options.connect().await.unwrap();
        sqlx::raw_sql(AssertSqlSafe(sql)).execute(&mut connection).await.unwrap();
        connection.close().await.unwrap();
    }
}

fn busy(id: &SessionId) -> Event {
    Event::SessionStatus { session_id: id.clone(), status: Status::Busy }
}

#[tokio::test]
async fn what_cannot_be_written_is_not_told_and_can_be_recorded_later() {
    let info = session("ses_1");
    let (first, second) = (prompt(&info, "msg_1"), prompt(&info, "msg_2"));
    let part = text(&first, "prt_1", "one");
    let (id, other) = (info.id.clone(), session("ses_2"));
    let renamed = haft_protocol::Session { title: "New".to_owned(), ..info.clone() };
    let removed = |part: &haft_protocol::Part| Event::PartRemoved {
        session_id: part.session_id.clone(),
        message_id: part.message_id.clone(),
        part_id: part.id.clone(),
    };
    let gone = Event::MessageRemoved { session_id: id.clone(), message_id: first.id().clone() };
    let rows = [
        ("session", created(&other)),
        ("session", Event::SessionUpdated { session_id: id.clone(), info: Box::new(renamed) }),
        ("session", Event::SessionDeleted { session_id: id.clone(), info: Box::new(info.clone()) }),
        ("message", said(&first)),
        ("message", said(&second)),
        ("message", gone.clone()),
        ("part", put(&text(&first, "prt_1", "two"))),
        ("part", put(&text(&first, "prt_2", "two"))),
        ("part", removed(&part)),
        // A message takes its parts with it.
        ("part", gone),
        ("todo", to_do(&id, "this")),
    ];
    for (table, event) in rows {
        let faulty = Faulty::new().await;
        let journal = &faulty.journal;
        let stored = vec![created(&info), said(&first), put(&part), to_do(&id, "that")];
        journal.record_all(stored).await.unwrap();
        let before = journal.history(&id).await.unwrap();
        faulty.outside(fault(table)).await;

        let mut told = journal.subscribe();
        let beside = if table == "todo" { put(&part) } else { to_do(&id, "beside") };
        journal.record_all(vec![beside.clone(), event.clone(), busy(&id)]).await.unwrap_err();
        assert_eq!((told.try_recv().unwrap(), told.try_recv().unwrap()), (beside, busy(&id)), "{table}: {event:?}");
        assert!(told.try_recv().is_err(), "{table}: {event:?} was told");
        assert_eq!(journal.history(&id).await.unwrap(), before, "{table}: {event:?}");
        assert_eq!(journal.session(&id).await.unwrap().as_ref(), Some(&info), "{table}: {event:?}");

        faulty.outside(LIFT.to_owned()).await;
        journal.record(event.clone()).await.unwrap();
        assert_eq!(told.try_recv().unwrap(), event);
        let mut after = before;
        after.apply(&event);
        if !matches!(event, Event::SessionDeleted { .. }) {
            assert_eq!(journal.history(&id).await.unwrap(), after, "{event:?}");
        }
    }
}

#[tokio::test]
async fn words_that_cannot_be_written_are_kept_until_they_can() {
    let faulty = Faulty::new().await;
    let journal = &faulty.journal;
    let info = session("ses_1");
    let first = prompt(&info, "msg_1");
    let part = text(&first, "prt_1", "one");
    journal.record_all(vec![created(&info), said(&first), put(&part)]).await.unwrap();
    faulty.outside(fault("part")).await;
    journal.record(words(&part, ", two")).await.unwrap();
    journal.history(&info.id).await.unwrap_err();
    // The session is told so, before it says more that is lost.
    let mut told = journal.subscribe();
    journal.record(words(&part, ", three")).await.unwrap_err();
    assert!(told.try_recv().is_err());

    faulty.outside(LIFT.to_owned()).await;
    journal.record(words(&part, ", four")).await.unwrap();
    let history = journal.history(&info.id).await.unwrap();
    let PartKind::Text { text, .. } = &history.part(&part.id).unwrap().kind else { unreachable!("samples are words") };
    assert_eq!(text, "one, two, four");
}
