//! The log on a disk.

use std::path::PathBuf;

use haft_permission::{Asker, Done, Noted};
use serde_json::json;
use tempfile::TempDir;

use super::book::{HEAD_NAME, KEPT};
use super::*;

/// A log that was written in several goes, by several processes as it were.
struct Log {
    folder: TempDir,
    max_file: u64,
}

fn entry(text: &str) -> Entry {
    let Value::Object(fields) = json!({ "kind": "effect", "did": text }) else { unreachable!() };
    Entry { time: 7, fields }
}

impl Log {
    fn of(entries: usize) -> Self {
        Self::of_size(entries, u64::MAX)
    }

    fn of_size(entries: usize, max_file: u64) -> Self {
        let log = Self { folder: tempfile::tempdir().unwrap(), max_file };
        (0..entries).for_each(|n| log.add(&format!("thing {n}")));
        log
    }

    fn book(&self) -> Book {
        Book::of_size(self.folder.path(), self.max_file)
    }

    fn add(&self, text: &str) {
        self.book().append(&[entry(text)]).unwrap();
    }

    fn path(&self) -> PathBuf {
        self.book().path()
    }

    fn lines(&self) -> Vec<String> {
        std::fs::read_to_string(self.path()).unwrap().lines().map(str::to_owned).collect()
    }

    fn write(&self, lines: &[String]) {
        std::fs::write(self.path(), lines.iter().map(|line| format!("{line}\n")).collect::<String>()).unwrap();
    }

    fn edit(self, edit: impl FnOnce(&mut Vec<String>)) -> Self {
        let mut lines = self.lines();
        edit(&mut lines);
        self.write(&lines);
        self
    }

    fn report(&self) -> Report {
        verify(self.folder.path()).unwrap()
    }

    #[track_caller]
    fn intact(&self, first: u64, last: u64) {
        let report = self.report();
        assert_eq!((report.faults.as_slice(), report.first, report.last), (&[][..], first, last));
    }

    /// The first fault, as `LINE: WHY`.
    #[track_caller]
    fn broken(&self, want: &str) {
        let report = self.report();
        let fault = report.faults.first().expect("it is broken");
        let line = fault.line.map_or_else(|| "-".to_owned(), |line| line.to_string());
        assert_eq!(format!("{line}: {}", fault.why), want, "{report:?}");
    }
}

#[test]
fn a_log_that_nobody_touched_is_intact() {
    Log::of(0).intact(0, 0);
    // The first line of a file is an entry of its own.
    Log::of(1).intact(1, 2);
    let log = Log::of(20);
    log.intact(1, 21);
    assert_eq!(log.report().entries, 21);
    use std::os::unix::fs::PermissionsExt;
    for name in ["audit.jsonl", HEAD_NAME] {
        let mode = std::fs::metadata(log.folder.path().join(name)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }
}

#[test]
fn what_was_changed_is_named() {
    let log = |edit: fn(&mut Vec<String>)| Log::of(5).edit(edit);
    log(|lines| lines[2] = lines[2].replace("thing 1", "thing x"))
        .broken("3: entry 3 was changed: its hash does not fit");
    log(|lines| drop(lines.remove(2))).broken("3: entry 3 is missing before entry 4");
    log(|lines| drop(lines.drain(1..4))).broken("2: entries 2 to 4 are missing before entry 5");
    log(|lines| lines.swap(2, 3)).broken("3: entry 3 is missing before entry 4");
    log(|lines| lines.insert(3, lines[1].clone())).broken("4: entry 2 stands behind entry 3: moved, or put in twice");
    log(|lines| drop(lines.pop())).broken("-: entry 6 is missing at the end of the log");
    log(|lines| lines.truncate(3)).broken("-: entries 4 to 6 are missing at the end of the log");
    log(Vec::clear).broken("-: entries 1 to 6 are missing at the end of the log");
    log(|lines| drop(lines.remove(0))).broken("-: entry 1 is missing at the beginning");
    log(|lines| lines.insert(2, "{\"kind\":\"ask\"}".to_owned())).broken("3: this is no line of the log");
    log(|lines| lines[5].truncate(20)).broken("6: this is no line of the log");
}

#[test]
fn a_line_that_was_made_anew_with_its_hash_does_not_fit_the_next() {
    let log = Log::of(5).edit(|lines| {
        let before = chain::open(lines[1].as_bytes()).unwrap().link;
        let (line, _) = chain::seal(&before, &entry("another thing"));
        lines[2] = String::from_utf8(line).unwrap().trim_end().to_owned();
    });
    log.broken("4: entry 4 does not follow the entry 3 that stands before it");
    // The last one is held by the head alone.
    let log = Log::of(5).edit(|lines| {
        let before = chain::open(lines[4].as_bytes()).unwrap().link;
        let (line, _) = chain::seal(&before, &entry("another thing"));
        lines[5] = String::from_utf8(line).unwrap().trim_end().to_owned();
    });
    log.broken("-: entry 6 is not the one that was written");
}

#[test]
fn what_was_cut_off_stays_missing_when_it_is_written_on() {
    let log = Log::of(5).edit(|lines| lines.truncate(3));
    log.add("later");
    log.broken("4: entries 4 to 6 are missing before entry 7");
    let log = Log::of(5);
    std::fs::remove_file(log.path()).unwrap();
    log.broken("-: entries 1 to 6 are missing at the end of the log");
    log.add("later");
    log.broken("-: entries 1 to 6 are missing at the beginning");
}

#[test]
fn a_head_that_is_gone_is_told_also_afterwards() {
    let log = Log::of(5);
    std::fs::remove_file(log.folder.path().join(HEAD_NAME)).unwrap();
    log.broken("-: it is gone, so it is not known which entry is the newest");
    log.add("later");
    log.broken("7: audit.head was gone when this entry was written: entries before it may be missing");
    let log = Log::of(5);
    std::fs::write(log.folder.path().join(HEAD_NAME), "{}").unwrap();
    log.broken("-: it cannot be made out, so it is not known which entry is the newest");
}

#[test]
fn a_crash_while_a_line_is_written_is_told_and_breaks_nothing() {
    // A process that ended between the line and the head.
    let log = Log::of(3);
    let head = log.folder.path().join(HEAD_NAME);
    let before = std::fs::read(&head).unwrap();
    log.add("more");
    std::fs::write(&head, before).unwrap();
    log.intact(1, 5);
    log.add("later");
    log.intact(1, 6);
    // One that ended within the line.
    let log = Log::of(3);
    let mut text = std::fs::read(log.path()).unwrap();
    text.extend_from_slice(b"{\"v\":1,\"n\":");
    std::fs::write(log.path(), text).unwrap();
    log.intact(1, 4);
    assert_eq!(log.report().notes.len(), 1);
    log.add("later");
    log.intact(1, 5);
    assert_eq!(log.report().notes[0].why, "a line was cut off by a crash; the next entry says so");
    // Taking away what the crash left is seen as well.
    log.edit(|lines| drop(lines.remove(4))).broken("5: what this entry says was cut off before it is gone");
}

#[test]
fn a_log_has_a_limit_and_says_what_it_forgot() {
    let log = Log::of_size(60, 2_000);
    let files: Vec<bool> = (1..=KEPT + 1).map(|n| log.book().old(n).exists()).collect();
    assert_eq!(files, [true, true, true, false]);
    let report = log.report();
    assert_eq!((report.faults.as_slice(), report.files), (&[][..], 4));
    assert!(report.first > 1 && report.entries == report.last - report.first + 1, "{report:?}");
    let size = std::fs::metadata(log.book().old(1)).unwrap().len();
    assert!((2_000..2_500).contains(&size), "{size}");
    assert_eq!(entries(log.folder.path()).unwrap().len() as u64, report.entries);
    // A file that goes away by another hand is missed.
    std::fs::remove_file(log.book().old(KEPT)).unwrap();
    let why = &log.report().faults[0].why;
    assert!(why.starts_with(&format!("entries {} to ", report.first)) && why.ends_with("at the beginning"), "{why}");
    std::fs::remove_file(log.book().old(1)).unwrap();
    assert!(log.report().faults[0].why.contains("missing before entry"), "{:?}", log.report());
}

#[test]
fn many_write_to_one_log() {
    let log = Log::of_size(0, 20_000);
    std::thread::scope(|scope| {
        for writer in 0..8 {
            let mut book = log.book();
            scope.spawn(move || {
                (0..25).for_each(|n| book.append(&[entry(&format!("{writer} {n}")), entry("x")]).unwrap());
            });
        }
    });
    let report = log.report();
    assert_eq!((report.faults.as_slice(), report.last), (&[][..], 400 + report.files as u64), "{report:?}");
}

#[test]
fn others_cannot_lay_a_log_under() {
    let log = Log::of(1);
    std::fs::remove_file(log.path()).unwrap();
    std::os::unix::fs::symlink("/tmp/elsewhere", log.path()).unwrap();
    assert!(log.book().append(&[entry("x")]).is_err());
    std::fs::remove_file(log.path()).unwrap();
    std::fs::write(log.path(), "").unwrap();
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(log.path(), PermissionsExt::from_mode(0o622)).unwrap();
    assert!(log.book().append(&[entry("x")]).unwrap_err().to_string().contains("others can write"));
}

#[tokio::test]
async fn what_is_noted_is_kept_when_it_is_waited_for() {
    let folder = tempfile::tempdir().unwrap();
    let audit = Audit::in_folder(folder.path(), Clock::scripted(1_000));
    let asker = Asker { session: Clock::scripted(1).mint(), call: None };
    for n in 0..3 {
        let done = Noted::Done(Done::Spoke(format!("host{n}")));
        audit.note(Note { asker: asker.clone(), plugin: None, noted: done });
    }
    audit.kept().await;
    let kept = entries(folder.path()).unwrap();
    let told: Vec<String> = kept.iter().map(|entry| format!("{} {}", entry["time"], entry["host"])).collect();
    assert_eq!(told, ["1000 null", "1000 \"host0\"", "1001 \"host1\"", "1002 \"host2\""]);
    audit.kept().await;
    assert_eq!(verify(folder.path()).unwrap().faults, []);
}

#[tokio::test]
async fn nobody_waits_in_vain() {
    let folder = tempfile::tempdir().unwrap();
    let audit = Audit::in_folder(folder.path(), Clock::scripted(1));
    let asker = Asker { session: Clock::scripted(1).mint(), call: None };
    // Waiting begins at every moment of the writing: the thread and we are never in step.
    for _ in 0..2_000 {
        audit.note(Note { asker: asker.clone(), plugin: None, noted: Noted::Done(Done::Spoke(String::new())) });
        tokio::time::timeout(Duration::from_secs(30), audit.kept()).await.unwrap();
    }
    assert_eq!(verify(folder.path()).unwrap().last, 2_001);
}

#[tokio::test]
async fn what_cannot_be_written_holds_nobody_up_and_is_counted() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    std::fs::write(&data, "no folder").unwrap();
    let audit = Audit::in_folder(&data, Clock::scripted(1));
    let note = || Note {
        asker: Asker { session: Clock::scripted(1).mint(), call: None },
        plugin: None,
        noted: Noted::Done(Done::Spoke("host".to_owned())),
    };
    audit.note(note());
    audit.kept().await;
    std::fs::remove_file(&data).unwrap();
    audit.note(note());
    audit.kept().await;
    let report = verify(&data).unwrap();
    assert_eq!(
        (report.faults.len(), report.notes[0].why.as_str()),
        (0, "1 entries could not be written before this one")
    );
}

#[test]
fn no_more_waits_than_it_may() {
    let folder = tempfile::tempdir().unwrap();
    let audit = Audit::in_folder(folder.path(), Clock::scripted(1));
    // As if the thread were held up.
    audit.shared.lock().started = true;
    let asker = Asker { session: Clock::scripted(1).mint(), call: None };
    for _ in 0..MAX_WAITING + 5 {
        audit.note(Note { asker: asker.clone(), plugin: None, noted: Noted::Done(Done::Spoke(String::new())) });
    }
    let state = audit.shared.lock();
    assert_eq!((state.waiting.len(), state.lost), (MAX_WAITING, 5));
}
