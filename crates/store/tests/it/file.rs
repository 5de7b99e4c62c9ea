//! The file: where it is, who may read it, what happens when it is not as it should be.

use std::path::Path;
use std::time::Duration;

use haft_protocol::{Part, PartKind};
use haft_store::{Filter, Journal, StoreError};
use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{ConnectOptions, Connection, SqliteConnection};

use crate::samples::{created, prompt, put, said, session, text, to_do, words};

/// Somebody else who has the file open.
async fn outside(path: &Path) -> SqliteConnection {
    SqliteConnectOptions::new().filename(path).create_if_missing(true).connect().await.unwrap()
}

async fn sql(path: &Path, sql: &'static str) {
    let mut connection = outside(path).await;
    sqlx::raw_sql(sql).execute(&mut connection).await.unwrap();
    connection.close().await.unwrap();
}

async fn begin(journal: &Journal, id: &str) -> Part {
    let session = session(id);
    let message = prompt(&session, "msg_1");
    let part = text(&message, "prt_1", "");
    for event in [created(&session), said(&message), put(&part)] {
        journal.record(event).await.unwrap();
    }
    part
}

async fn read(journal: &Journal, part: &Part) -> String {
    let history = journal.history(&part.session_id).await.unwrap();
    let PartKind::Text { text, .. } = &history.part(&part.id).unwrap().kind else { unreachable!("samples are words") };
    text.clone()
}

#[tokio::test]
async fn a_session_is_there_again_after_closing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("haft.db");
    let journal = Journal::open(&path).await.unwrap();
    let part = begin(&journal, "ses_1").await;
    assert_eq!(read(&journal, &part).await, "");
    journal.record(words(&part, "held back")).await.unwrap();
    journal.close().await.unwrap();
    assert!(!folder.path().join("haft.db-wal").exists(), "closed, and the log is still there");

    let journal = Journal::open(&path).await.unwrap();
    assert_eq!(read(&journal, &part).await, "held back");
    journal.record(words(&part, ", and on")).await.unwrap();
    assert_eq!(read(&journal, &part).await, "held back, and on");
}

#[cfg(unix)]
#[tokio::test]
async fn only_the_user_can_read_what_is_made() {
    use std::os::unix::fs::PermissionsExt;

    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("share/haft/haft.db");
    let journal = Journal::open(&path).await.unwrap();
    let part = begin(&journal, "ses_1").await;
    let _lease = journal.claim(&part.session_id).unwrap();
    let mode = |name: &str| folder.path().join(name).metadata().unwrap().permissions().mode() & 0o777;
    for made in ["share", "share/haft", "share/haft/locks"] {
        assert_eq!(mode(made), 0o700, "{made}");
    }
    for made in ["haft.db", "haft.db-wal", "haft.db-shm", "locks/ses_1"] {
        assert_eq!(mode(&format!("share/haft/{made}")), 0o600, "{made}");
    }
}

#[tokio::test]
async fn a_place_that_cannot_be_made_is_named() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("a_file"), "").unwrap();
    let refused = Journal::open(&folder.path().join("a_file/haft.db")).await.unwrap_err();
    assert!(matches!(refused, StoreError::NotWritable { .. }), "{refused:?}");
    let message = refused.to_string();
    assert!(
        message.contains("a_file") && message.contains("HAFT_DB") && message.contains("XDG_DATA_HOME"),
        "{message}"
    );

    let refused = Journal::open(folder.path()).await.unwrap_err();
    assert!(matches!(refused, StoreError::NotWritable { .. }), "{refused:?}");
}

#[tokio::test]
async fn a_file_that_is_no_database_is_refused_and_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("haft.db");
    let letter = "Dear diary, this is not a database at all. ".repeat(50);
    std::fs::write(&path, &letter).unwrap();
    let refused = Journal::open(&path).await.unwrap_err();
    assert!(matches!(refused, StoreError::Damaged { row: None, .. }), "{refused:?}");
    assert_eq!(std::fs::read_to_string(&path).unwrap(), letter);
}

#[tokio::test]
async fn a_database_of_a_newer_haft_is_refused_and_loses_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("haft.db");
    let journal = Journal::open(&path).await.unwrap();
    let part = begin(&journal, "ses_1").await;
    journal.close().await.unwrap();

    sql(&path, "PRAGMA user_version = 999").await;
    let refused = Journal::open(&path).await.unwrap_err();
    assert!(matches!(refused, StoreError::Newer { found: 999, .. }), "{refused:?}");
    assert!(refused.to_string().contains("upgrade haft"), "{refused}");

    sql(&path, "PRAGMA user_version = 4").await;
    assert_eq!(read(&Journal::open(&path).await.unwrap(), &part).await, "");
}

#[tokio::test]
async fn a_row_that_cannot_be_read_is_stood_for_and_harms_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("haft.db");
    let journal = Journal::open(&path).await.unwrap();
    let (hurt, whole) = (begin(&journal, "ses_hurt").await, begin(&journal, "ses_whole").await);
    let message = prompt(&session("ses_hurt"), "msg_1");
    let after = text(&message, "prt_2", "still here");
    journal.record(put(&after)).await.unwrap();
    let damaged = |error: StoreError, want: &str| {
        assert!(matches!(&error, StoreError::Damaged { row: Some(row), .. } if row == want), "{error:?}");
        assert!(error.to_string().contains(want), "{error}");
    };

    // Broken JSON, and bytes that are no text at all.
    for broken in ["'{\"id\":'", "CAST(x'ff0a09fe' AS TEXT)", "'{}'"] {
        let update = format!("UPDATE part SET data = {broken} WHERE id = 'prt_1' AND session_id = 'ses_hurt'");
        sqlx::raw_sql(sqlx::AssertSqlSafe(update)).execute(&mut outside(&path).await).await.unwrap();
        let history = journal.history(&hurt.session_id).await.unwrap();
        let lost = history.part(&hurt.id).unwrap();
        let PartKind::Text { text, ignored: true, synthetic: true, .. } = &lost.kind else { panic!("{lost:?}") };
        assert!(text.contains("part prt_1"), "{text}");
        assert_eq!(history.part(&after.id), Some(&after), "{broken}");
        damaged(journal.record(words(&hurt, "x")).await.unwrap_err(), "part prt_1");
    }
    sql(&path, "UPDATE message SET data = '{}' WHERE session_id = 'ses_hurt'").await;
    let history = journal.history(&hurt.session_id).await.unwrap();
    let haft_protocol::Message::Assistant(lost) = &history.messages()[0].info else { panic!("{history:?}") };
    assert!(lost.error.as_ref().unwrap().message().contains("message msg_1"), "{lost:?}");
    assert_eq!(history.part(&after.id), Some(&after));
    sql(&path, "UPDATE session SET data = '' WHERE id = 'ses_hurt'").await;
    damaged(journal.session(&hurt.session_id).await.unwrap_err(), "session ses_hurt");

    let listed = journal.sessions(&Filter::default()).await.unwrap();
    assert_eq!(listed.iter().map(|info| &info.id).collect::<Vec<_>>(), [&whole.session_id]);
    journal.record(words(&whole, "goes on")).await.unwrap();
    assert_eq!(read(&journal, &whole).await, "goes on");
}

#[tokio::test]
async fn a_part_is_known_by_its_names_however_its_record_is_written() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("haft.db");
    let journal = Journal::open(&path).await.unwrap();
    let part = begin(&journal, "ses_1").await;
    let row = async |record: &str, want: &str| {
        let update = sqlx::query("UPDATE part SET data = ?1").bind(record);
        update.execute(&mut outside(&path).await).await.unwrap();
        let read = read(&journal, &part).await;
        assert!(read.starts_with(want), "{record}: {read}");
    };
    let rest = r#""type":"text","text":"words""#;
    let names = r#""id":"prt_1","sessionID":"ses_1","messageID":"msg_1""#;
    row(&format!("{{{names},{rest}}}"), "words").await;
    row(&format!("{{{rest},{names}}}"), "words").await;
    row(&format!("{{ {names} , {rest} }}"), "words").await;
    row(&format!("{{{names}}}"), "[Something stood here that cannot be read any more").await;
    for (name, other) in [("prt_1", "prt_2"), ("ses_1", "ses_12"), ("msg_1", "msg_")] {
        let names = names.replace(name, other);
        let want = "[Something stood here that cannot be read any more: it says that it is another]";
        row(&format!("{{{names},{rest}}}"), want).await;
        row(&format!("{{{rest},{names}}}"), want).await;
    }
}

#[tokio::test]
async fn numbers_that_lie_far_apart_are_no_further_to_walk() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("haft.db");
    let journal = Journal::open(&path).await.unwrap();
    let first = begin(&journal, "ses_1").await;
    let message = prompt(&session("ses_1"), "msg_2");
    let last = text(&message, "prt_2", "far off");
    journal.record_all(vec![said(&message), put(&last)]).await.unwrap();
    for far in ["4611686018427387904", "9223372036854775807"] {
        let update = format!("UPDATE message SET seq = {far} WHERE id = 'msg_2'");
        sqlx::raw_sql(sqlx::AssertSqlSafe(update)).execute(&mut outside(&path).await).await.unwrap();
        let history = journal.history(&first.session_id).await.unwrap();
        let parts: Vec<&Part> = history.messages().iter().flat_map(|turned| &turned.parts).collect();
        assert_eq!(parts, [&first, &last], "{far}");
    }
}

#[tokio::test]
async fn two_journals_on_one_file_see_what_the_other_stored() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("haft.db");
    let (writer, watcher) = (Journal::open(&path).await.unwrap(), Journal::open(&path).await.unwrap());
    let part = begin(&writer, "ses_1").await;
    assert_eq!(read(&watcher, &part).await, "");
    begin(&watcher, "ses_2").await;
    assert_eq!(writer.sessions(&Filter::default()).await.unwrap().len(), 2);

    let _lease = writer.claim(&part.session_id).unwrap();
    assert!(matches!(watcher.claim(&part.session_id), Err(StoreError::Busy { .. })));

    // Nothing asks for them, so it is the clock that stores them.
    writer.record(words(&part, "growing")).await.unwrap();
    let stored = async { while read(&watcher, &part).await != "growing" {} };
    tokio::time::timeout(Duration::from_secs(60), stored).await.expect("words are stored without being asked for");
}

#[tokio::test]
async fn a_part_that_somebody_else_took_away_does_not_come_back() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("haft.db");
    let journal = Journal::open(&path).await.unwrap();
    let part = begin(&journal, "ses_1").await;
    journal.record(words(&part, "x")).await.unwrap();
    sql(&path, "DELETE FROM session").await;
    assert!(journal.history(&part.session_id).await.unwrap().messages().is_empty());
    let missing = journal.record(words(&part, "y")).await.unwrap_err();
    assert!(matches!(missing, StoreError::Missing { .. }), "{missing:?}");
    journal.close().await.unwrap();
}

#[tokio::test]
async fn a_thousand_deltas_are_a_handful_of_row_writes() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("haft.db");
    let journal = Journal::open(&path).await.unwrap();
    let part = begin(&journal, "ses_1").await;
    sql(
        &path,
        "CREATE TABLE written (n INTEGER NOT NULL); INSERT INTO written VALUES (0);
         CREATE TRIGGER counted AFTER UPDATE ON part BEGIN UPDATE written SET n = n + 1; END;",
    )
    .await;
    let started = std::time::Instant::now();
    for _ in 0..1000 {
        journal.record(words(&part, "word ")).await.unwrap();
    }
    assert_eq!(read(&journal, &part).await.len(), 5000);
    let written: i64 = sqlx::query_scalar("SELECT n FROM written").fetch_one(&mut outside(&path).await).await.unwrap();
    // One for each started quarter of a second, and one for reading: as many as a slow machine needs.
    let bound = started.elapsed().as_millis() / 250 + 2;
    assert!(written >= 1 && u128::try_from(written).unwrap() <= bound, "{written} rows, at most {bound}");
}

/// The steps to every format that there was, as they were released.
const FORMATS: [&str; 4] = [
    include_str!("../../src/migrations/0001_sessions.sql"),
    include_str!("../../src/migrations/0002_todos.sql"),
    include_str!("../../src/migrations/0003_children.sql"),
    include_str!("../../src/migrations/0004_revisions.sql"),
];

#[tokio::test]
async fn a_database_of_every_older_format_is_brought_up_to_date_and_loses_nothing() {
    for format in 1..FORMATS.len() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("haft.db");
        let info = session("ses_1");
        let message = prompt(&info, "msg_1");
        let part = text(&message, "prt_1", "old words");
        {
            let mut old = outside(&path).await;
            for step in &FORMATS[..format] {
                sqlx::raw_sql(*step).execute(&mut old).await.unwrap();
            }
            let header = format!("PRAGMA user_version = {format}; PRAGMA application_id = 1751213684");
            sqlx::raw_sql(sqlx::AssertSqlSafe(header)).execute(&mut old).await.unwrap();
            let insert = "
                INSERT INTO session (id, directory, time_created, time_updated, data) VALUES ('ses_1', '/project', 0, 0, ?1);
                INSERT INTO message (session_id, id, seq, time_created, data) VALUES ('ses_1', 'msg_1', 1, 0, ?2);
                INSERT INTO part (session_id, message_id, id, seq, time_created, data)
                VALUES ('ses_1', 'msg_1', 'prt_1', 1, 0, ?3)";
            let row = sqlx::query(insert).bind(serde_json::to_string(&info).unwrap());
            let row = row.bind(serde_json::to_string(&message).unwrap()).bind(serde_json::to_string(&part).unwrap());
            row.execute(&mut old).await.unwrap();
            old.close().await.unwrap();
        }
        let journal = Journal::open(&path).await.unwrap();
        assert!(journal.remarks().is_empty(), "{:?}", journal.remarks());
        assert_eq!(journal.session(&info.id).await.unwrap(), Some(info.clone()));
        assert_eq!(read(&journal, &part).await, "old words");
        assert_eq!(journal.todos(&info.id).await.unwrap(), []);
        journal.record(to_do(&info.id, "one")).await.unwrap();
        journal.record(words(&part, " and new ones")).await.unwrap();
        journal.close().await.unwrap();
        let journal = Journal::open(&path).await.unwrap();
        assert_eq!(journal.todos(&info.id).await.unwrap()[0].content, "one");
        assert_eq!(read(&journal, &part).await, "old words and new ones");
        // What was there before, in its own format.
        let backup = outside(&folder.path().join(format!("haft.db.v{format}.bak"))).await;
        let count = sqlx::query_scalar::<_, i64>("SELECT user_version FROM pragma_user_version");
        assert_eq!(count.fetch_one(&mut { backup }).await.unwrap(), i64::try_from(format).unwrap());
    }
}
