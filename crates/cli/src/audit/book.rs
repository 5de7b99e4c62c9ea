//! The files of the log: one that grows, a few full ones, and a small one that says where the chain is.

use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, ErrorKind, Read, Write};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};

use super::chain::{self, Entry, Link};
use crate::{folders, own_file};

/// Size at which a new file is begun, in bytes.
const MAX_FILE: u64 = 16 * 1024 * 1024;
/// Files that are full and kept beside the one that grows.
pub(super) const KEPT: usize = 3;
/// The file that says where the chain is.
pub(super) const HEAD_NAME: &str = "audit.head";
/// Bytes of the file that says where the chain is, always the same.
const HEAD: usize = 256;
/// How often the small file is opened anew, because somebody took it away.
const TRIES: usize = 3;

/// The log in a folder. Several processes may write to it at the same time.
#[derive(Debug)]
pub(super) struct Book {
    folder: PathBuf,
    max_file: u64,
    head: Option<File>,
    log: Option<File>,
}

/// Where the chain is, as the small file says it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Head {
    pub link: Link,
    /// Bytes of the file that grows.
    pub size: u64,
}

/// What is found at the end of the file that grows.
struct End {
    link: Link,
    /// Bytes of a line that was not finished.
    torn: usize,
    /// The small file was not there, or could not be made out, though there were entries.
    headless: bool,
    size: u64,
}

/// The oldest entry that is kept.
struct Oldest {
    n: u64,
    /// The hash before it.
    before: String,
}

impl Book {
    pub(super) fn in_folder(folder: &Path) -> Self {
        Self { folder: folder.to_owned(), max_file: MAX_FILE, head: None, log: None }
    }

    #[cfg(test)]
    pub(super) fn of_size(folder: &Path, max_file: u64) -> Self {
        Self { folder: folder.to_owned(), max_file, head: None, log: None }
    }

    /// The file that grows.
    pub(super) fn path(&self) -> PathBuf {
        self.folder.join("audit.jsonl")
    }

    /// The full one that was the growing one `n` files ago.
    pub(super) fn old(&self, n: usize) -> PathBuf {
        self.folder.join(format!("audit.jsonl.{n}"))
    }

    /// The file that says where the chain is; whoever writes holds a lock on it.
    pub(super) fn head_path(&self) -> PathBuf {
        self.folder.join(HEAD_NAME)
    }

    /// Adds `entries`, in one write unless a file becomes full.
    ///
    /// # Errors
    ///
    /// When the files cannot be written, belong to others, or another process holds them for too long.
    pub(super) fn append(&mut self, entries: &[Entry]) -> io::Result<()> {
        let head = self.locked_head()?;
        let written = self.append_locked(&head, entries);
        head.unlock()?;
        self.head = Some(head);
        written
    }

    /// The small file, locked, and still the one that others lock.
    fn locked_head(&mut self) -> io::Result<File> {
        for _ in 0..TRIES {
            let head = match self.head.take() {
                Some(head) => head,
                None => {
                    folders::make(&self.folder).map_err(|error| io::Error::other(format!("{error:#}")))?;
                    open(&self.head_path(), true)?
                }
            };
            own_file::lock(&head)?;
            if same(&head, &self.head_path()) {
                return Ok(head);
            }
        }
        Err(io::Error::other(format!("{} is taken away again and again", self.head_path().display())))
    }

    fn append_locked(&mut self, head: &File, entries: &[Entry]) -> io::Result<()> {
        // Another process may have begun a new file.
        let mut log = match self.log.take().filter(|log| same(log, &self.path())) {
            Some(log) => log,
            None => open(&self.path(), true)?,
        };
        let mut end = self.end(head, &log)?;
        let mut oldest = None;
        if end.size >= self.max_file {
            oldest = self.rotate()?;
            log = open(&self.path(), true)?;
            // What was cut off stands at the end of a file that is full.
            (end.size, end.torn) = (0, 0);
        }
        let mut bytes = Vec::new();
        if end.torn > 0 && end.size > 0 {
            bytes.push(b'\n');
        }
        let first = (end.size == 0).then(|| self.beginning(oldest, entries.first().map_or(0, |entry| entry.time)));
        for entry in first.iter().chain(entries) {
            let mut entry = std::borrow::Cow::Borrowed(entry);
            // What is odd about the place where it goes on is said by the first one there.
            for (key, value) in end.odd() {
                entry.to_mut().fields.insert(key.to_owned(), value);
            }
            let (line, link) = chain::seal(&end.link, &entry);
            bytes.extend_from_slice(&line);
            end.link = link;
        }
        log.write_all(&bytes)?;
        let size = end.size + bytes.len() as u64;
        self.log = Some(log);
        write_head(head, &Head { link: end.link, size })
    }

    /// The first entry of a file says which is the oldest entry that is kept: what stood before it was removed because
    /// there is a limit, and by nobody.
    fn beginning(&self, oldest: Option<Oldest>, time: u64) -> Entry {
        let oldest = oldest.or_else(|| (1..=KEPT).rev().find_map(|n| Oldest::of(&self.old(n))));
        let Oldest { n, before } = oldest.unwrap_or(Oldest { n: 1, before: Link::start().hash });
        let fields = [("kind", json!("file")), ("first", n.into()), ("before", before.into())];
        Entry { time, fields: fields.into_iter().map(|(key, value)| (key.to_owned(), value)).collect() }
    }

    /// Where the chain is. The small file says it, unless the process that wrote last was ended in between.
    fn end(&self, head_file: &File, log: &File) -> io::Result<End> {
        let size = log.metadata()?.len();
        let head = read_head(head_file)?;
        if let Some(head) = &head
            && head.size == size
        {
            return Ok(End { link: head.link.clone(), torn: 0, headless: false, size });
        }
        let text = whole(log)?;
        let torn = text.iter().rev().take_while(|byte| **byte != b'\n').count();
        let last =
            last_link(&text).or_else(|| whole(&open(&self.old(1), false).ok()?).ok().and_then(|t| last_link(&t)));
        // What was cut off at the end is not made good: the chain goes on from where it was.
        let (link, headless) = match (head, last) {
            (Some(head), Some(last)) if last.n > head.link.n => (last, false),
            (Some(head), _) => (head.link, false),
            (None, last) => {
                let headless = last.is_some();
                (last.unwrap_or_else(Link::start), headless)
            }
        };
        if headless || link == Link::start() {
            // From now on the small file is there before there is an entry.
            write_head(head_file, &Head { link: link.clone(), size: 0 })?;
        }
        Ok(End { link, torn, headless, size })
    }

    /// Makes room for a new file. Returns the oldest entry that is kept then, as far as it is known.
    fn rotate(&self) -> io::Result<Option<Oldest>> {
        let gone = self.old(KEPT).exists();
        let oldest = match gone {
            true => Oldest::of(&self.old(KEPT - 1)),
            false => Oldest::claimed(&self.path()),
        };
        for n in (1..KEPT).rev() {
            rename(&self.old(n), &self.old(n + 1))?;
        }
        rename(&self.path(), &self.old(1))?;
        Ok(oldest)
    }
}

/// Opens a file of the log, to read it alone or, with `make`, to write it too.
pub(super) fn open(path: &Path, make: bool) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true);
    // The head is written at its beginning; what is appended goes to the end by itself.
    let options = match (make, path.extension().is_some_and(|extension| extension == "head")) {
        (false, _) => &mut options,
        (true, true) => options.write(true).create(true).truncate(false),
        (true, false) => options.append(true).create(true),
    };
    own_file::open(path, options)
}

/// Whether `path` still leads to `file`.
fn same(file: &File, path: &Path) -> bool {
    let (Ok(ours), Ok(theirs)) = (file.metadata(), std::fs::symlink_metadata(path)) else { return false };
    (ours.dev(), ours.ino()) == (theirs.dev(), theirs.ino())
}

fn rename(from: &Path, to: &Path) -> io::Result<()> {
    match std::fs::rename(from, to) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
        // The first rotations have nothing to move yet.
        Ok(()) | Err(_) => Ok(()),
    }
}

/// All of a file of the log; one that is far larger than any of ours is read as far as ours go.
pub(super) fn whole(file: &File) -> io::Result<Vec<u8>> {
    let mut text = Vec::new();
    // A last batch of entries may go beyond the limit.
    let mut at = 0;
    let most = usize::try_from(2 * MAX_FILE).unwrap_or(usize::MAX);
    text.resize(usize::try_from(file.metadata()?.len()).unwrap_or(usize::MAX).min(most), 0);
    while at < text.len() {
        match file.read_at(&mut text[at..], at as u64)? {
            0 => break,
            read => at += read,
        }
    }
    text.truncate(at);
    Ok(text)
}

fn last_link(text: &[u8]) -> Option<Link> {
    text.split(|byte| *byte == b'\n').rev().find_map(|line| chain::open(line).ok()).map(|line| line.link)
}

impl End {
    /// What was odd, once.
    fn odd(&mut self) -> impl Iterator<Item = (&'static str, Value)> + use<> {
        let torn = Some(std::mem::take(&mut self.torn)).filter(|torn| *torn > 0).map(|torn| ("torn", torn.into()));
        let headless = std::mem::take(&mut self.headless).then(|| ("headless", true.into()));
        torn.into_iter().chain(headless)
    }
}

impl Oldest {
    /// The first entry of a file.
    fn of(path: &Path) -> Option<Self> {
        let line = first_line(path)?;
        Some(Self { n: line.link.n, before: line.prev })
    }

    /// The one that the first entry of a file names.
    fn claimed(path: &Path) -> Option<Self> {
        let line = first_line(path)?;
        Some(Self { n: line.value["first"].as_u64()?, before: line.value["before"].as_str()?.to_owned() })
    }
}

fn first_line(path: &Path) -> Option<chain::Line> {
    let mut text = Vec::new();
    let file = open(path, false).ok()?;
    io::BufReader::new(file.take(MAX_FILE)).read_until(b'\n', &mut text).ok()?;
    chain::open(text.strip_suffix(b"\n")?).ok()
}

/// What the small file says; `None` where it is new or says nothing that can be made out.
pub(super) fn read_head(file: &File) -> io::Result<Option<Head>> {
    let mut bytes = [0; HEAD];
    let read = file.read_at(&mut bytes, 0)?;
    let value: Option<Map<String, Value>> = serde_json::from_slice(&bytes[..read]).ok();
    let head = value.and_then(|value| {
        let link = Link { n: value.get("n")?.as_u64()?, hash: value.get("hash")?.as_str()?.to_owned() };
        Some(Head { link, size: value.get("size")?.as_u64()? })
    });
    Ok(head)
}

fn write_head(file: &File, head: &Head) -> io::Result<()> {
    let text = json!({ "v": 1, "n": head.link.n, "hash": head.link.hash, "size": head.size }).to_string();
    // Always as long, so that it is written in one go over what stood there.
    file.write_all_at(format!("{text:<width$}\n", width = HEAD - 1).as_bytes(), 0)
}
