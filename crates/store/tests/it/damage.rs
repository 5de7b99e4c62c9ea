//! Files that are not as they should be: what can be read is there again, and what was lost is said.

use std::path::{Path, PathBuf};

use haft_protocol::{Id, Part, PartKind, Session, SessionId};
use haft_store::{Filter, Journal, Remark, Salvaged, StoreError};

use crate::samples::{created, prompt, put, said, session, text, to_do};

const SESSIONS: usize = 40;
const MESSAGES: usize = 6;
const PAGE: usize = 4096;

/// A store of many sessions, closed, and what its parts say.
async fn filled(path: &Path) -> usize {
    let journal = Journal::open(path).await.unwrap();
    for n in 0..SESSIONS {
        let session = session(&format!("ses_{n}"));
        let mut events = vec![created(&session), to_do(&session.id, "mend it")];
        for m in 0..MESSAGES {
            let message = prompt(&session, &format!("msg_{n}x{m}"));
            events.push(said(&message));
            events.push(put(&text(&message, &format!("prt_{n}x{m}"), &words_of(n, m))));
        }
        journal.record_all(events).await.unwrap();
    }
    journal.close().await.unwrap();
    SESSIONS * MESSAGES
}

/// Some are longer than a page.
fn words_of(n: usize, m: usize) -> String {
    format!("{n} {m} ").repeat(if m == 3 { 2000 } else { 20 })
}

fn id(text: &str) -> SessionId {
    Id::parse(text).unwrap()
}

/// How many parts are there and as they were, over all sessions that are listed.
async fn readable(journal: &Journal) -> usize {
    let mut whole = 0;
    for info in journal.sessions(&Filter { limit: 1000, ..Filter::default() }).await.unwrap() {
        let history = journal.history(&info.id).await.unwrap();
        whole += history.messages().iter().flat_map(|turned| &turned.parts).filter(|part| is_whole(part)).count();
    }
    whole
}

fn is_whole(part: &Part) -> bool {
    let names = part.id.as_str().trim_start_matches("prt_").split_once('x').unwrap();
    let (n, m): (usize, usize) = (names.0.parse().unwrap(), names.1.parse().unwrap());
    matches!(&part.kind, PartKind::Text { text, .. } if *text == words_of(n, m))
}

fn salvaged(journal: &Journal) -> Salvaged {
    let found = journal.remarks().iter().find_map(|remark| match remark {
        Remark::Salvaged(salvaged) => Some(salvaged.clone()),
        _ => None,
    });
    found.unwrap_or_else(|| panic!("{:?}", journal.remarks()))
}

fn harm(path: &Path, change: impl FnOnce(&mut Vec<u8>)) {
    let mut bytes = std::fs::read(path).unwrap();
    change(&mut bytes);
    std::fs::write(path, bytes).unwrap();
}

/// The file opens; `lost` parts at most are missing, and the damaged file is kept as it was.
async fn opens(name: &str, change: impl FnOnce(&mut Vec<u8>), lost: usize) -> (tempfile::TempDir, Salvaged) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("haft.db");
    let all = filled(&path).await;
    harm(&path, change);
    let damaged = std::fs::read(&path).unwrap();
    let journal = Journal::open(&path).await.unwrap_or_else(|error| panic!("{name}: {error}"));
    let salvaged = salvaged(&journal);
    assert!(readable(&journal).await >= all - lost, "{name}: {} of {all}, {salvaged:?}", readable(&journal).await);
    assert_eq!(std::fs::read(&salvaged.kept).unwrap(), damaged, "{name}");
    // It takes new ones.
    journal.record(created(&session("ses_new"))).await.unwrap();
    journal.close().await.unwrap();
    let journal = Journal::open(&path).await.unwrap();
    assert!(journal.remarks().is_empty(), "{name}: told once, {:?}", journal.remarks());
    assert!(journal.session(&id("ses_new")).await.unwrap().is_some(), "{name}");
    journal.close().await.unwrap();
    (folder, salvaged)
}

#[tokio::test]
async fn a_header_that_is_lost_loses_nothing_else() {
    let (_folder, salvaged) = opens("header", |bytes| bytes[..100].fill(0x5a), 0).await;
    assert_eq!((salvaged.sessions, salvaged.messages), (SESSIONS as u64, (SESSIONS * MESSAGES) as u64));
    // The whole page with the schema.
    opens("schema", |bytes| bytes[..PAGE].fill(0), 0).await;
}

#[tokio::test]
async fn a_file_that_was_cut_off_keeps_its_beginning() {
    let (_folder, salvaged) =
        opens("half", |bytes| bytes.truncate(bytes.len() / 2 + 77), SESSIONS * MESSAGES / 2 + 60).await;
    assert!(salvaged.lost_pages > 0, "{salvaged:?}");
}

#[tokio::test]
async fn a_page_anywhere_costs_what_was_on_it_at_most() {
    let pages = {
        let folder = tempfile::tempdir().unwrap();
        filled(&folder.path().join("haft.db")).await;
        folder.path().join("haft.db").metadata().unwrap().len() as usize / PAGE
    };
    let mut chance = fastrand::Rng::with_seed(7);
    for _ in 0..20 {
        let page = chance.usize(1..pages);
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("haft.db");
        let all = filled(&path).await;
        let garbage: Vec<u8> = std::iter::repeat_with(|| chance.u8(..)).take(PAGE).collect();
        harm(&path, |bytes| bytes[page * PAGE..][..PAGE].copy_from_slice(&garbage));
        // The first opening may not meet the damage; whoever does marks the file, and the next one mends it.
        let journal = Journal::open(&path).await.unwrap();
        for info in journal.sessions(&Filter { limit: 1000, ..Filter::default() }).await.unwrap_or_default() {
            let _ = journal.history(&info.id).await;
        }
        let _ = journal.record(created(&session("ses_new"))).await;
        let _ = journal.close().await;
        let journal = Journal::open(&path).await.unwrap_or_else(|error| panic!("page {page}: {error}"));
        let found = readable(&journal).await;
        assert!(found + 45 >= all, "page {page}: {found} of {all}, {:?}", journal.remarks());
        journal.close().await.unwrap();
    }
}

#[tokio::test]
async fn records_that_are_lost_leave_their_messages_and_parts() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("haft.db");
    let all = filled(&path).await;
    // As if pages of the tables above were gone; and the schema, so that the file must be salvaged.
    let mut outside = {
        use sqlx::ConnectOptions;
        sqlx::sqlite::SqliteConnectOptions::new().filename(&path).connect().await.unwrap()
    };
    let gone = "PRAGMA foreign_keys = OFF; PRAGMA secure_delete = ON; DELETE FROM session WHERE id = 'ses_1';
                DELETE FROM message WHERE id = 'msg_2x3'; PRAGMA wal_checkpoint(TRUNCATE)";
    sqlx::raw_sql(gone).execute(&mut outside).await.unwrap();
    sqlx::Connection::close(outside).await.unwrap();
    harm(&path, |bytes| bytes[..100].fill(0));
    let journal = Journal::open(&path).await.unwrap();
    let salvaged = salvaged(&journal);
    assert_eq!((salvaged.headless, salvaged.bare), (1, 1), "{salvaged:?}");
    assert_eq!(readable(&journal).await, all);
    let found = journal.session(&id("ses_1")).await.unwrap().unwrap();
    assert!(found.title.contains("found again"), "{found:?}");
    let history = journal.history(&id("ses_2")).await.unwrap();
    assert_eq!(history.messages().len(), MESSAGES);
    let told = journal.remarks()[0].to_string();
    assert!(told.contains("records of sessions") && told.contains("damaged-"), "{told}");
}

/// A store at whose log somebody was at work when the machine lost power.
async fn torn(folder: &Path) -> PathBuf {
    let path = folder.join("haft.db");
    let journal = Journal::open(&path).await.unwrap();
    let session = session("ses_1");
    let message = prompt(&session, "msg_1");
    journal.record_all(vec![created(&session), said(&message), put(&text(&message, "prt_1x1", "x"))]).await.unwrap();
    // Copied while it is open: as a killed process leaves it.
    let copy = folder.join("copy");
    std::fs::create_dir_all(copy.join("locks")).unwrap();
    std::fs::write(copy.join("locks/.migrate"), "").unwrap();
    for name in ["haft.db", "haft.db-wal"] {
        std::fs::copy(folder.join(name), copy.join(name)).unwrap();
    }
    journal.close().await.unwrap();
    copy.join("haft.db")
}

#[tokio::test]
async fn a_log_that_is_whole_is_read_and_one_that_is_not_is_kept_and_told_of() {
    let folder = tempfile::tempdir().unwrap();
    let path = torn(folder.path()).await;
    let journal = Journal::open(&path).await.unwrap();
    assert!(journal.remarks().is_empty(), "{:?}", journal.remarks());
    assert!(journal.session(&id("ses_1")).await.unwrap().is_some());
    journal.close().await.unwrap();

    for (name, change) in [
        ("garbage", (|bytes: &mut Vec<u8>| bytes.fill(0x5a)) as fn(&mut Vec<u8>)),
        ("zeros", |bytes| bytes.fill(0)),
        ("its beginning", |bytes| bytes[..32].fill(1)),
        ("a frame in the middle", |bytes| bytes[32 + 24 + 100..][..64].fill(0xee)),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let path = torn(folder.path()).await;
        harm(&path.with_file_name("haft.db-wal"), change);
        let journal = Journal::open(&path).await.unwrap();
        let kept = journal.remarks().iter().find_map(|remark| match remark {
            Remark::LogLost { kept } => Some(kept.clone()),
            _ => None,
        });
        assert!(kept.is_some_and(|kept| kept.exists()), "{name}: {:?}", journal.remarks());
        journal.record(created(&session("ses_new"))).await.unwrap();
        journal.close().await.unwrap();
    }

    // A frame that is cut off at the end was told to nobody.
    let folder = tempfile::tempdir().unwrap();
    let path = torn(folder.path()).await;
    harm(&path.with_file_name("haft.db-wal"), |bytes| bytes.truncate(bytes.len() - 100));
    let journal = Journal::open(&path).await.unwrap();
    assert!(!journal.remarks().iter().any(|remark| matches!(remark, Remark::LogLost { .. })));
    journal.close().await.unwrap();
}

#[tokio::test]
async fn a_damaged_file_gives_what_its_log_holds() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("haft.db");
    let all = filled(&path).await;
    let journal = Journal::open(&path).await.unwrap();
    journal.record(created(&session("ses_late"))).await.unwrap();
    let copy = folder.path().join("copy");
    std::fs::create_dir(&copy).unwrap();
    for name in ["haft.db", "haft.db-wal"] {
        std::fs::copy(folder.path().join(name), copy.join(name)).unwrap();
    }
    journal.close().await.unwrap();
    let path = copy.join("haft.db");
    // The last page is a leaf of the parts; somebody met the damage and marked the file.
    harm(&path, |bytes| bytes.iter_mut().rev().take(PAGE).for_each(|byte| *byte = 0x5a));
    std::fs::write(copy.join("haft.db.suspect"), "").unwrap();
    let journal = Journal::open(&path).await.unwrap();
    assert_eq!(salvaged(&journal).sessions, SESSIONS as u64 + 1);
    assert!(journal.session(&id("ses_late")).await.unwrap().is_some());
    assert!(readable(&journal).await + 45 >= all);
    assert!(!copy.join("haft.db.suspect").exists());
}

#[tokio::test]
async fn a_store_that_is_empty_all_of_a_sudden_is_told_of() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("haft.db");
    let journal = Journal::open(&path).await.unwrap();
    assert!(journal.remarks().is_empty(), "a first one: {:?}", journal.remarks());
    journal.close().await.unwrap();
    harm(&path, |bytes| bytes.clear());
    let journal = Journal::open(&path).await.unwrap();
    assert!(matches!(journal.remarks(), [Remark::Empty { .. }]), "{:?}", journal.remarks());
    journal.close().await.unwrap();

    // The log was all there was, and somebody took it away.
    let folder = tempfile::tempdir().unwrap();
    let path = torn(folder.path()).await;
    std::fs::remove_file(path.with_file_name("haft.db-wal")).unwrap();
    let journal = Journal::open(&path).await.unwrap();
    assert!(matches!(journal.remarks(), [Remark::Empty { .. }]), "{:?}", journal.remarks());
}

#[tokio::test]
async fn a_damaged_file_is_left_alone_while_somebody_works_in_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("haft.db");
    filled(&path).await;
    let worker = Journal::open(&path).await.unwrap();
    let lease = worker.claim(&id("ses_1")).unwrap();
    worker.close().await.unwrap();
    harm(&path, |bytes| bytes[..100].fill(0x5a));
    let damaged = std::fs::read(&path).unwrap();
    let refused = Journal::open(&path).await.unwrap_err();
    assert!(matches!(refused, StoreError::Damaged { row: None, .. }), "{refused:?}");
    assert_eq!(std::fs::read(&path).unwrap(), damaged);
    drop(lease);
    assert_eq!(salvaged(&Journal::open(&path).await.unwrap()).sessions, SESSIONS as u64);
}

#[tokio::test]
async fn a_swap_that_was_cut_off_is_ended() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("haft.db");
    filled(&path).await;
    // The old one has its other name, and the new one not yet its own; the old log is still there.
    std::fs::rename(&path, folder.path().join("haft.db.new")).unwrap();
    std::fs::write(folder.path().join("haft.db-wal"), "of the old one").unwrap();
    let journal = Journal::open(&path).await.unwrap();
    assert_eq!(readable(&journal).await, SESSIONS * MESSAGES);
}

/// Only for tests: a store that cannot be written, which the superuser can always do, is one whose file is a folder's.
fn is_superuser() -> bool {
    let folder = tempfile::tempdir().unwrap();
    let locked = folder.path().join("locked");
    std::fs::create_dir(&locked).unwrap();
    let mut rights = locked.metadata().unwrap().permissions();
    rights.set_readonly(true);
    std::fs::set_permissions(&locked, rights).unwrap();
    std::fs::write(locked.join("x"), "").is_ok()
}

#[tokio::test]
async fn what_cannot_be_written_can_be_read() {
    if is_superuser() {
        // Nothing is closed to it; `cli` shows the same with a limit on the size of files.
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("haft.db");
    let all = filled(&path).await;
    for place in [path.as_path(), folder.path()] {
        let mut rights = place.metadata().unwrap().permissions();
        rights.set_readonly(true);
        std::fs::set_permissions(place, rights).unwrap();
    }
    let journal = Journal::open(&path).await.unwrap();
    assert!(matches!(journal.remarks(), [Remark::ReadOnly(StoreError::NotWritable { .. })]), "{:?}", journal.remarks());
    assert_eq!(readable(&journal).await, all);
    let refused = journal.record(created(&Session { title: "x".to_owned(), ..session("ses_1") })).await.unwrap_err();
    assert!(matches!(refused, StoreError::NotWritable { .. }), "{refused:?}");
    journal.close().await.unwrap();
}
