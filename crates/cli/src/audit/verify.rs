//! Whether the log is as it was written.

use std::cmp::Ordering;
use std::fs::File;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::book::{Book, Head, KEPT, open, read_head, whole};
use super::chain::{self, Bad, Link};
use crate::own_file;

/// Most faults that are told; how many more there are is counted.
const MAX_TOLD: usize = 20;

/// What was found.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Report {
    /// How many entries are as they were written.
    pub entries: u64,
    /// The numbers of the oldest and the newest of them.
    pub first: u64,
    pub last: u64,
    pub files: usize,
    /// What is broken.
    pub faults: Vec<Fault>,
    /// Further faults that are not told.
    pub more: usize,
    /// What is odd and does no harm.
    pub notes: Vec<Fault>,
}

/// One thing that is not as it should be.
#[derive(Debug, PartialEq)]
pub(crate) struct Fault {
    pub file: PathBuf,
    /// From 1; `None` where it is about the whole file.
    pub line: Option<usize>,
    pub why: String,
}

/// Looks at every line of the log in `folder`.
///
/// # Errors
///
/// When a file cannot be read, or another process writes and does not end.
pub(crate) fn verify(folder: &Path) -> io::Result<Report> {
    let book = Book::in_folder(folder);
    // Held while the files are read, so that nobody writes or moves them meanwhile.
    let head_file = match open(&book.head_path(), false) {
        Ok(file) => Some(file),
        Err(error) if error.kind() == ErrorKind::NotFound => None,
        Err(error) => return Err(error),
    };
    head_file.as_ref().map_or(Ok(()), own_file::lock)?;
    let head = head_file.as_ref().map_or(Ok(None), read_head)?;
    let paths = (1..=KEPT).rev().map(|n| book.old(n)).chain([book.path()]);
    let mut files = Vec::new();
    for path in paths {
        match open(&path, false).and_then(|file: File| whole(&file)) {
            Ok(text) => files.push((path, text)),
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
    }
    let head = Found { path: book.head_path(), there: head_file.is_some(), head };
    Ok(check(&files, &head))
}

/// The entries of the log in `folder`, oldest first, as far as they can be read.
///
/// # Errors
///
/// When a file cannot be read.
pub(crate) fn entries(folder: &Path) -> io::Result<Vec<Value>> {
    let book = Book::in_folder(folder);
    let mut all = Vec::new();
    for path in (1..=KEPT).rev().map(|n| book.old(n)).chain([book.path()]) {
        let text = match open(&path, false).and_then(|file| whole(&file)) {
            Ok(text) => text,
            Err(error) if error.kind() == ErrorKind::NotFound => continue,
            Err(error) => return Err(error),
        };
        all.extend(text.split(|byte| *byte == b'\n').filter_map(|line| Some(chain::open(line).ok()?.value)));
    }
    Ok(all)
}

/// The file that says where the chain is.
struct Found {
    path: PathBuf,
    there: bool,
    /// `None` where it says nothing that can be made out.
    head: Option<Head>,
}

/// What is wrong with `files`, oldest first. Pure.
fn check(files: &[(PathBuf, Vec<u8>)], head: &Found) -> Report {
    let report = Report { files: files.len(), ..Report::default() };
    let mut walk = Walk { report, at: None, head: head.head.as_ref(), met: false, oldest: None, claimed: None };
    for (path, text) in files {
        walk.file(path, text);
    }
    let oldest = files.first().map_or(head.path.as_path(), |(path, _)| path.as_path());
    walk.beginning(oldest);
    walk.end(head);
    walk.report
}

struct Walk<'a> {
    report: Report,
    /// The entry that was read last; `None` before the first one.
    at: Option<Link>,
    head: Option<&'a Head>,
    /// Whether the entry that the head names was there.
    met: bool,
    /// The number of the oldest entry, and the hash before it.
    oldest: Option<(u64, String)>,
    /// The same as the newest file says it.
    claimed: Option<(u64, String)>,
}

impl Walk<'_> {
    fn file(&mut self, path: &Path, text: &[u8]) {
        let mut lines: Vec<&[u8]> = text.split(|byte| *byte == b'\n').collect();
        // What follows the last line end.
        let rest = lines.pop().unwrap_or_default();
        let mut torn: Option<(usize, usize)> = None;
        for (at, line) in lines.iter().enumerate().map(|(at, line)| (at + 1, *line)) {
            match chain::open(line) {
                Ok(line) => {
                    let said = line.value["torn"].as_u64();
                    match torn.take() {
                        Some((torn_at, length)) if said == Some(length as u64) => {
                            self.note(
                                path,
                                torn_at,
                                "a line was cut off by a crash; the next entry says so".to_owned(),
                            );
                        }
                        Some((torn_at, _)) => self.fault(path, Some(torn_at), "this is no line of the log".to_owned()),
                        None if said.is_some() => {
                            self.fault(path, Some(at), "what this entry says was cut off before it is gone".to_owned());
                        }
                        None => {}
                    }
                    self.entry(path, at, line);
                }
                Err((Bad::Changed, claimed)) => {
                    self.fault(
                        path,
                        Some(at),
                        format!("{} was changed: its hash does not fit", entry(claimed.as_ref())),
                    );
                    self.at = claimed.or(self.at.take());
                }
                Err((Bad::Torn, _)) => {
                    if let Some((torn_at, _)) = torn.replace((at, line.len())) {
                        self.fault(path, Some(torn_at), "this is no line of the log".to_owned());
                    }
                }
            }
        }
        if let Some((torn_at, _)) = torn {
            self.fault(path, Some(torn_at), "this is no line of the log".to_owned());
        }
        if !rest.is_empty() {
            let why = "the last line was cut off, by a crash if it is the newest";
            self.note(path, lines.len() + 1, why.to_owned());
        }
    }

    fn entry(&mut self, path: &Path, at: usize, line: chain::Line) {
        let (link, prev) = (line.link, line.prev);
        match &self.at {
            None => {
                self.report.first = link.n;
                self.oldest = Some((link.n, prev));
            }
            Some(before) if link.n == before.n + 1 && prev == before.hash => {}
            Some(before) if link.n > before.n + 1 => {
                let why = format!("{} missing before entry {}", entries_are(before.n + 1, link.n - 1), link.n);
                self.fault(path, Some(at), why);
            }
            Some(before) if link.n <= before.n => {
                let why = format!("entry {} stands behind entry {}: moved, or put in twice", link.n, before.n);
                self.fault(path, Some(at), why);
            }
            Some(before) => {
                let why = format!("entry {} does not follow the entry {} that stands before it", link.n, before.n);
                self.fault(path, Some(at), why);
            }
        }
        let value = &line.value;
        if value["kind"] == "file" {
            self.claimed = value["first"].as_u64().zip(value["before"].as_str().map(str::to_owned));
        }
        if value["headless"] == true {
            let why = "audit.head was gone when this entry was written: entries before it may be missing";
            self.fault(path, Some(at), why.to_owned());
        }
        if let Some(lost) = value["lost"].as_u64() {
            self.note(path, at, format!("{lost} entries could not be written before this one"));
        }
        self.met |= self.head.is_some_and(|head| head.link == link);
        self.report.entries += 1;
        self.report.last = self.report.last.max(link.n);
        self.at = Some(link);
    }

    /// Whether the oldest entry is the one that has to be.
    fn beginning(&mut self, path: &Path) {
        let Some((n, before)) = &self.oldest else { return };
        let (first, hash) = self.claimed.get_or_insert_with(|| (1, Link::start().hash));
        let why = match n.cmp(first) {
            Ordering::Equal if *before == *hash => return,
            Ordering::Greater => format!("{} missing at the beginning", entries_are(*first, n - 1)),
            Ordering::Equal | Ordering::Less => "it does not begin with the entry that has to be the oldest".to_owned(),
        };
        self.fault(path, None, why);
    }

    /// Whether the newest entry is the one that has to be.
    fn end(&mut self, head: &Found) {
        let last = self.at.as_ref().map_or(0, |link| link.n);
        let why = match &head.head {
            None if self.report.files == 0 && !head.there => return,
            None if last == 0 => return,
            None if head.there => "it cannot be made out, so it is not known which entry is the newest".to_owned(),
            None => "it is gone, so it is not known which entry is the newest".to_owned(),
            Some(Head { link, .. }) if link.n > last => {
                format!("{} missing at the end of the log", entries_are(last + 1, link.n))
            }
            Some(Head { link, .. }) if link.n > 0 && !self.met => {
                format!("entry {} is not the one that was written", link.n)
            }
            Some(_) => return,
        };
        self.fault(&head.path, None, why);
    }

    fn fault(&mut self, file: &Path, line: Option<usize>, why: String) {
        if self.report.faults.len() == MAX_TOLD {
            self.report.more += 1;
            return;
        }
        self.report.faults.push(Fault { file: file.to_owned(), line, why });
    }

    fn note(&mut self, file: &Path, line: usize, why: String) {
        if self.report.notes.len() < MAX_TOLD {
            self.report.notes.push(Fault { file: file.to_owned(), line: Some(line), why });
        }
    }
}

fn entry(link: Option<&Link>) -> String {
    link.map_or_else(|| "an entry".to_owned(), |link| format!("entry {}", link.n))
}

fn entries_are(from: u64, to: u64) -> String {
    if from == to { format!("entry {from} is") } else { format!("entries {from} to {to} are") }
}
