//! Brings a database up to date: forward only, all steps or none, after a backup.

use std::fs::{File, TryLockError};
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use sqlx::{AssertSqlSafe, SqliteConnection};

use crate::StoreError;
use crate::lease::lock_folder;
use crate::open::{make_folder, private};

/// Every format there ever was, each as the step from the one before. Append only: a step that was released is never
/// changed. Foreign keys are off while a step runs and are checked after it.
pub(crate) const MIGRATIONS: &[&str] = &[
    include_str!("migrations/0001_sessions.sql"),
    include_str!("migrations/0002_todos.sql"),
    include_str!("migrations/0003_children.sql"),
    include_str!("migrations/0004_revisions.sql"),
];

/// Says "haft" in the file's header, so that another program's database is not taken for ours.
const APPLICATION: i64 = 0x6861_6674;
const RETRY_AFTER: Duration = Duration::from_millis(20);
const MAX_TRIES: u32 = 1500;

/// Takes every step of `steps` that the database has not seen. A new one gets the journal `mode`, `WAL` or `TRUNCATE`.
/// Says whether it was a new one.
pub(crate) async fn migrate(
    connection: &mut SqliteConnection,
    path: &Path,
    steps: &[&'static str],
    mode: &str,
) -> Result<bool, StoreError> {
    let known = u32::try_from(steps.len()).unwrap_or(u32::MAX);
    // The usual case costs one statement and no lock.
    if found(connection, path, known).await? == known {
        return Ok(false);
    }
    let _alone = alone(path, MIGRATING).await?;
    // Somebody may have been faster.
    let from = found(connection, path, known).await?;
    match from {
        found if found == known => return Ok(false),
        // Stays with the file, and is refused while anybody else has it open: one more reason to be alone.
        0 if mode == "WAL" => run(connection, path, "PRAGMA journal_mode = WAL").await?,
        0 => run(connection, path, "PRAGMA journal_mode = TRUNCATE").await?,
        found => back_up(connection, path, found).await?,
    }
    run(connection, path, "PRAGMA foreign_keys = OFF").await?;
    run(connection, path, "BEGIN IMMEDIATE").await?;
    let taken = match take(connection, path, steps).await {
        Ok(()) => run(connection, path, "COMMIT").await,
        failed => failed,
    };
    if taken.is_err() {
        // Fails when SQLite did it already.
        let _ = run(connection, path, "ROLLBACK").await;
    }
    run(connection, path, "PRAGMA foreign_keys = ON").await?;
    taken.map(|()| from == 0)
}

/// Whether it is a database of haft in a format that can be read.
pub(crate) async fn is_known(connection: &mut SqliteConnection, path: &Path, steps: &[&'static str]) -> bool {
    let known = u32::try_from(steps.len()).unwrap_or(u32::MAX);
    matches!(found(connection, path, known).await, Ok(format) if format > 0)
}

/// The format of the file: the number of steps it has seen, at most `known`.
async fn found(connection: &mut SqliteConnection, path: &Path, known: u32) -> Result<u32, StoreError> {
    let header = "SELECT (SELECT user_version FROM pragma_user_version),
                         (SELECT application_id FROM pragma_application_id),
                         EXISTS (SELECT 1 FROM sqlite_schema)";
    let header = sqlx::query_as(header).fetch_one(connection).await;
    let (found, application, tables): (i64, i64, bool) = header.map_err(|error| StoreError::sql(path, error))?;
    match (application, u32::try_from(found)) {
        (APPLICATION, Ok(found)) if found > known => Err(StoreError::Newer { path: path.to_owned(), found, known }),
        (APPLICATION, Ok(found)) => Ok(found),
        (0, Ok(0)) if !tables => Ok(0),
        _ => Err(StoreError::Damaged {
            path: path.to_owned(),
            row: None,
            source: Arc::new(io::Error::other("it belongs to another program")),
        }),
    }
}

async fn take(connection: &mut SqliteConnection, path: &Path, steps: &[&'static str]) -> Result<(), StoreError> {
    let known = u32::try_from(steps.len()).unwrap_or(u32::MAX);
    let from = found(connection, path, known).await?;
    for step in steps.iter().skip(usize::try_from(from).unwrap_or(usize::MAX)) {
        run(connection, path, step).await?;
    }
    let broken = sqlx::query("PRAGMA foreign_key_check").fetch_optional(&mut *connection).await;
    if broken.map_err(|error| StoreError::sql(path, error))?.is_some() {
        let source = Arc::new(io::Error::other("the new format left rows without what they belong to"));
        return Err(StoreError::Other { path: path.to_owned(), source });
    }
    let header = format!("PRAGMA user_version = {known}; PRAGMA application_id = {APPLICATION}");
    let done = sqlx::raw_sql(AssertSqlSafe(header)).execute(connection).await;
    done.map(drop).map_err(|error| StoreError::sql(path, error))
}

/// Copies the database to `haft.db.v1.bak` or the like, with what is still in the log.
async fn back_up(connection: &mut SqliteConnection, path: &Path, found: u32) -> Result<(), StoreError> {
    let backup = path.with_added_extension(format!("v{found}.bak"));
    // SQLite writes into an empty file, whose mode is ours. An earlier one is from a migration that failed.
    private().create(true).truncate(true).open(&backup).map_err(|error| StoreError::io(&backup, error))?;
    let copied = sqlx::query("VACUUM INTO ?1").bind(backup.to_string_lossy().into_owned()).execute(connection).await;
    copied.map(drop).map_err(|error| StoreError::sql(&backup, error))
}

/// The lock of whoever makes or migrates a database. It stays, so it says that haft was at work here.
pub(crate) const MIGRATING: &str = ".migrate";

/// Waits until no other process holds the lock called `name` of this folder.
pub(crate) async fn alone(path: &Path, name: &str) -> Result<File, StoreError> {
    let folder = lock_folder(path);
    make_folder(&folder)?;
    let lock = folder.join(name);
    let file = private().create(true).truncate(false).open(&lock).map_err(|error| StoreError::io(&lock, error))?;
    for _ in 0..MAX_TRIES {
        match file.try_lock() {
            Ok(()) => return Ok(file),
            Err(TryLockError::WouldBlock) => tokio::time::sleep(RETRY_AFTER).await,
            Err(TryLockError::Error(error)) => return Err(StoreError::io(&lock, error)),
        }
    }
    Err(StoreError::Locked { path: path.to_owned() })
}

async fn run(connection: &mut SqliteConnection, path: &Path, sql: &'static str) -> Result<(), StoreError> {
    sqlx::raw_sql(sql).execute(connection).await.map(drop).map_err(|error| StoreError::sql(path, error))
}

#[cfg(test)]
mod tests {
    use sqlx::sqlite::SqliteConnectOptions;
    use sqlx::{ConnectOptions, Connection};

    use super::*;

    const FIRST: &str = "CREATE TABLE cup (id INTEGER PRIMARY KEY) STRICT;
                         CREATE TABLE tea (cup INTEGER NOT NULL REFERENCES cup (id) ON DELETE CASCADE) STRICT;";
    const MORE: &str = "ALTER TABLE cup ADD COLUMN handle TEXT NOT NULL DEFAULT 'haft';";
    // With foreign keys on, dropping the old table would empty the one that refers to it.
    const REBUILD: &str = "CREATE TABLE new (id INTEGER PRIMARY KEY, handle TEXT NOT NULL) STRICT;
                           INSERT INTO new SELECT id, handle FROM cup; DROP TABLE cup;
                           ALTER TABLE new RENAME TO cup;";
    const LOSES_CUPS: &str = "DELETE FROM cup;";

    async fn connect(path: &Path) -> SqliteConnection {
        SqliteConnectOptions::new().filename(path).create_if_missing(true).connect().await.unwrap()
    }

    /// A database of the first format with one full cup.
    async fn old(path: &Path) -> SqliteConnection {
        let mut connection = connect(path).await;
        migrate(&mut connection, path, &[FIRST], "WAL").await.unwrap();
        run(&mut connection, path, "INSERT INTO cup VALUES (1); INSERT INTO tea VALUES (1);").await.unwrap();
        connection
    }

    async fn count(connection: &mut SqliteConnection, sql: &'static str) -> i64 {
        sqlx::query_scalar(sql).fetch_one(connection).await.unwrap()
    }

    #[tokio::test]
    async fn an_older_database_is_brought_up_to_date_after_a_backup() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("haft.db");
        let mut connection = old(&path).await;
        let backup = folder.path().join("haft.db.v1.bak");
        assert!(!backup.exists());

        let steps = [FIRST, MORE, REBUILD];
        migrate(&mut connection, &path, &steps, "WAL").await.unwrap();
        assert_eq!(count(&mut connection, "SELECT count(*) FROM cup WHERE handle = 'haft'").await, 1);
        assert_eq!(count(&mut connection, "SELECT count(*) FROM tea").await, 1);
        assert_eq!(count(&mut connection, "SELECT foreign_keys FROM pragma_foreign_keys").await, 1);
        assert_eq!(found(&mut connection, &path, 3).await.unwrap(), 3);

        let mut backup = connect(&backup).await;
        assert_eq!(found(&mut backup, &path, 1).await.unwrap(), 1);
        assert_eq!(count(&mut backup, "SELECT count(*) FROM cup, tea").await, 1);
        assert_eq!(count(&mut backup, "SELECT count(*) FROM pragma_table_info('cup')").await, 1);
    }

    #[tokio::test]
    async fn a_step_that_fails_takes_back_all_steps() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("haft.db");
        let mut connection = old(&path).await;
        for bad in ["SELECT nonsense", LOSES_CUPS] {
            migrate(&mut connection, &path, &[FIRST, MORE, bad], "WAL").await.unwrap_err();
            assert_eq!(found(&mut connection, &path, 3).await.unwrap(), 1, "{bad}");
            assert_eq!(count(&mut connection, "SELECT count(*) FROM pragma_table_info('cup')").await, 1, "{bad}");
            assert_eq!(count(&mut connection, "SELECT count(*) FROM cup, tea").await, 1, "{bad}");
        }
        // The backup of the failed tries does not stand in the way.
        migrate(&mut connection, &path, &[FIRST, MORE], "WAL").await.unwrap();
    }

    /// What a process that died leaves of the database at `path`: its files as they are, without its memory of them.
    fn left_behind(path: &Path) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for end in ["", "-wal"] {
            let name = format!("haft.db{end}");
            std::fs::copy(path.with_file_name(&name), folder.path().join(&name)).unwrap();
        }
        folder
    }

    #[tokio::test]
    async fn a_crash_in_the_middle_leaves_the_old_format_and_the_next_start_ends_it() {
        let steps = [FIRST, MORE, REBUILD];
        for done in 1..=steps.len() {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("haft.db");
            let mut connection = old(&path).await;
            // As a migration does it. What it changed goes to the disk at once, as it would where there is much of it.
            run(&mut connection, &path, "PRAGMA foreign_keys = OFF; PRAGMA cache_size = 1; PRAGMA cache_spill = 1")
                .await
                .unwrap();
            run(&mut connection, &path, "BEGIN IMMEDIATE").await.unwrap();
            for step in &steps[1..done] {
                run(&mut connection, &path, step).await.unwrap();
            }
            run(&mut connection, &path, "CREATE TABLE much (x); INSERT INTO much VALUES (zeroblob(1000000))")
                .await
                .unwrap();
            let crashed = left_behind(&path);
            let (at, log) = (crashed.path().join("haft.db"), crashed.path().join("haft.db-wal"));
            assert!(log.metadata().unwrap().len() > 1_000_000, "nothing reached the disk");
            // And a backup that was not written to its end.
            std::fs::write(crashed.path().join("haft.db.v1.bak"), "SQLite format 3").unwrap();

            let mut after = connect(&at).await;
            assert_eq!(found(&mut after, &at, 3).await.unwrap(), 1, "after {done} steps");
            assert_eq!(count(&mut after, "SELECT count(*) FROM cup, tea").await, 1);
            migrate(&mut after, &at, &steps, "WAL").await.unwrap();
            assert_eq!(found(&mut after, &at, 3).await.unwrap(), 3);
            assert_eq!(count(&mut after, "SELECT count(*) FROM cup, tea WHERE handle = 'haft'").await, 1);
            let mut backup = connect(&crashed.path().join("haft.db.v1.bak")).await;
            assert_eq!(count(&mut backup, "SELECT count(*) FROM cup, tea").await, 1);
        }
    }

    #[tokio::test]
    async fn a_newer_database_is_refused_and_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("haft.db");
        let mut connection = old(&path).await;
        migrate(&mut connection, &path, &[FIRST, MORE], "WAL").await.unwrap();
        connection.close().await.unwrap();
        let before = std::fs::read(&path).unwrap();

        let mut connection = connect(&path).await;
        let refused = migrate(&mut connection, &path, &[FIRST], "WAL").await.unwrap_err();
        assert!(matches!(refused, StoreError::Newer { found: 2, known: 1, .. }), "{refused}");
        connection.close().await.unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), before);
    }

    #[tokio::test]
    async fn a_database_of_another_program_is_refused() {
        for sql in ["CREATE TABLE theirs (x)", "PRAGMA user_version = 1", "PRAGMA application_id = -7"] {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("haft.db");
            let mut connection = connect(&path).await;
            run(&mut connection, &path, sql).await.unwrap();
            let refused = migrate(&mut connection, &path, &[FIRST], "WAL").await.unwrap_err();
            assert!(matches!(refused, StoreError::Damaged { row: None, .. }), "{sql}: {refused}");
        }
    }
}
