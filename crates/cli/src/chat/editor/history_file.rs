//! The history on disk: `prompt-history.jsonl` in the state folder, an object a line, OpenCode's format. Every chat of the
//! user adds to it.

use std::fs::{File, OpenOptions};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::PathBuf;

use anyhow::{Context, Result};
use haft_vault::own;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::Mode;
use super::history::{Entry, History, MAX_ENTRIES, Pasted};
use crate::{folders, own_file};

/// Longest file that is read, in bytes; of a longer one the end.
const MAX_FILE: u64 = 4 * 1024 * 1024;

/// Longest entry that is kept, in bytes; a longer one can be had back in the chat that it was typed in alone.
const MAX_ENTRY: usize = 64 * 1024;

/// A file of this length is written anew, with the newest entries.
const FULL: u64 = MAX_FILE / 2;

/// Where the history is kept.
#[derive(Debug, Clone)]
pub(super) struct HistoryFile(PathBuf);

/// One line of the file.
#[derive(Debug, Serialize, Deserialize)]
struct Stored {
    input: String,
    #[serde(default)]
    parts: Vec<Value>,
    #[serde(default)]
    mode: Option<String>,
}

impl HistoryFile {
    /// The file in `folder`, which need not be there yet.
    pub(super) fn within(folder: &std::path::Path) -> Self {
        Self(folder.join("prompt-history.jsonl"))
    }

    /// What is in it. Whatever is wrong with the file, the rest is there: nothing depends on it.
    pub(super) fn read(&self) -> History {
        let mut history = History::default();
        if let Ok(text) = self.text() {
            text.lines().filter_map(understood).for_each(|entry| history.add(entry));
        }
        history
    }

    fn text(&self) -> Result<String> {
        let mut file = own_file::open(&self.0, OpenOptions::new().read(true))?;
        let length = file.metadata()?.len();
        file.seek(SeekFrom::Start(length.saturating_sub(MAX_FILE)))?;
        let mut bytes = Vec::new();
        file.take(MAX_FILE).read_to_end(&mut bytes)?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// Adds an entry, unless it had better not be kept.
    ///
    /// # Errors
    ///
    /// When the file cannot be written, or is not the user's alone.
    pub(super) fn add(&self, entry: &Entry) -> Result<()> {
        if is_private(entry) || entry.bytes() > MAX_ENTRY {
            return Ok(());
        }
        let _lock = self.lock()?;
        let mut file = own_file::open(&self.0, OpenOptions::new().create(true).append(true).read(true))?;
        let shown = self.0.display();
        let mut line = line(entry);
        // What a crash cut off is a line of its own, which nobody understands.
        if file.metadata()?.len() > 0 {
            file.seek(SeekFrom::End(-1))?;
            let mut last = [0];
            file.read_exact(&mut last)?;
            if last != *b"\n" {
                line.insert(0, '\n');
            }
        }
        file.write_all(line.as_bytes()).with_context(|| format!("cannot write {shown}"))?;
        if file.metadata()?.len() > FULL {
            self.shorten().with_context(|| format!("cannot shorten {shown}"))?;
        }
        Ok(())
    }

    /// Writes the file anew, with the newest half of what it may hold. Whoever calls this holds the lock.
    fn shorten(&self) -> Result<()> {
        let text = self.text()?;
        let mut kept: Vec<&str> = Vec::new();
        let mut bytes = 0;
        for line in text.lines().rev().filter(|line| understood(line).is_some()).take(MAX_ENTRIES) {
            bytes += line.len() + 1;
            if bytes as u64 > FULL / 2 {
                break;
            }
            kept.push(line);
        }
        kept.reverse();
        kept.push("");
        Ok(own::replace(&self.0, kept.join("\n").as_bytes())?)
    }

    fn lock(&self) -> Result<File> {
        let path = self.0.with_extension("lock");
        if let Some(folder) = path.parent() {
            folders::make(folder)?;
        }
        let file = own_file::open(&path, OpenOptions::new().create(true).truncate(false).write(true))?;
        own_file::lock(&file).with_context(|| format!("cannot lock {}", path.display()))?;
        Ok(file)
    }
}

/// The line that stores `entry`.
fn line(entry: &Entry) -> String {
    let mut from = 0;
    let mut parts = Vec::new();
    for Pasted { label, text } in &entry.pasted {
        let Some(at) = entry.text.get(from..).and_then(|rest| rest.find(label.as_str())) else { continue };
        let (start, end) = (from + at, from + at + label.len());
        parts.push(
            json!({"type": "text", "text": text, "source": {"text": {"start": start, "end": end, "value": label}}}),
        );
        from = end;
    }
    let mode = if entry.mode == Mode::Shell { "shell" } else { "normal" };
    let stored = Stored { input: entry.text.clone(), parts, mode: Some(mode.to_owned()) };
    let mut line = serde_json::to_string(&stored).unwrap_or_default();
    line.push('\n');
    line
}

/// The entry that a line stores; `None` for a damaged one.
fn understood(line: &str) -> Option<Entry> {
    let stored: Stored = serde_json::from_str(line).ok()?;
    let pasted = |part: &Value| {
        let label = part["source"]["text"]["value"].as_str().filter(|label| !label.is_empty())?.to_owned();
        Some(Pasted { label, text: part["text"].as_str()?.to_owned() })
    };
    let pasted = stored.parts.iter().filter_map(pasted).collect();
    let mode = if stored.mode.as_deref() == Some("shell") { Mode::Shell } else { Mode::Prompt };
    (!stored.input.is_empty()).then_some(Entry { mode, text: stored.input, pasted })
}

/// Whether an entry had better not be kept: one that begins with a blank, as shells have it, and a command line that
/// seems to hold a key.
fn is_private(entry: &Entry) -> bool {
    entry.text.starts_with(' ') || entry.mode == Mode::Shell && holds_key(&entry.text)
}

/// Whether something in a command line looks like a key: a long word without a meaning, or what is given to something
/// that is called one.
fn holds_key(line: &str) -> bool {
    const NAMES: [&str; 8] = ["key", "token", "secret", "passw", "passwd", "pwd", "credential", "bearer"];
    const STARTS: [&str; 9] = ["sk-", "sk_", "pk_", "ghp_", "gho_", "github_pat_", "xox", "akia", "glpat-"];
    let mut named = false;
    for word in line.split(|c: char| c.is_whitespace() || "'\"`;|&()<>".contains(c)) {
        let lower = word.to_lowercase();
        let (name, value) = lower.split_once(['=', ':']).unwrap_or(("", &lower));
        let names = |text: &str| NAMES.iter().any(|part| text.contains(part));
        let meant = named || names(name);
        if !value.is_empty() && meant && !value.starts_with('$') && !value.starts_with('-') {
            return true;
        }
        if STARTS.iter().any(|start| value.starts_with(start) && value.len() > start.len() + 8) || is_noise(value) {
            return true;
        }
        named = names(&lower) && (lower.starts_with('-') || lower.ends_with([':', '=']) || lower == "bearer");
    }
    false
}

/// Whether a word is long and of letters and digits in no order that a person would write.
fn is_noise(word: &str) -> bool {
    let count = |fits: fn(&char) -> bool| word.chars().filter(fits).count();
    let letters_and_digits = count(char::is_ascii_alphanumeric);
    let changes = word.chars().zip(word.chars().skip(1)).filter(|(one, other)| {
        one.is_ascii_digit() && other.is_ascii_alphabetic() || one.is_ascii_alphabetic() && other.is_ascii_digit()
    });
    word.len() >= 24 && letters_and_digits + 4 >= word.len() && changes.count() >= 5 && !word.contains('/')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(mode: Mode, text: &str) -> Entry {
        Entry { mode, text: text.to_owned(), pasted: Vec::new() }
    }

    fn texts(history: &History) -> Vec<&str> {
        (0..history.len()).map(|at| history.get(at).unwrap().text.as_str()).collect()
    }

    #[test]
    fn what_is_added_is_there_for_the_next_chat() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let file = HistoryFile::within(&folder.path().join("state"));
        assert_eq!(file.read().len(), 0);
        let pasted = Pasted { label: "[Pasted ~3 lines]".to_owned(), text: "1\n2\n3".to_owned() };
        let long = Entry { pasted: vec![pasted], ..entry(Mode::Prompt, "see [Pasted ~3 lines]") };
        file.add(&long).unwrap();
        file.add(&entry(Mode::Shell, "ls")).unwrap();
        file.add(&entry(Mode::Prompt, " not this")).unwrap();
        file.add(&entry(Mode::Prompt, &"x".repeat(MAX_ENTRY + 1))).unwrap();
        let history = file.read();
        assert_eq!((history.len(), history.get(0), history.get(1)), (2, Some(&long), Some(&entry(Mode::Shell, "ls"))));
        assert_eq!(std::fs::metadata(&file.0).unwrap().permissions().mode() & 0o777, 0o600);
    }

    #[test]
    fn damaged_lines_are_left_out_and_stay_alone() {
        let folder = tempfile::tempdir().unwrap();
        let file = HistoryFile::within(folder.path());
        file.add(&entry(Mode::Prompt, "one")).unwrap();
        let mut raw = OpenOptions::new().append(true).open(&file.0).unwrap();
        raw.write_all(b"[]\n{\"input\":7}\n\xff\xfe\n{\"input\":\"foreign\"}\n{\"input\":\"cut o").unwrap();
        file.add(&entry(Mode::Prompt, "two")).unwrap();
        assert_eq!(texts(&file.read()), ["one", "foreign", "two"]);
    }

    #[test]
    fn several_chats_add_to_one_file() {
        let folder = tempfile::tempdir().unwrap();
        let file = HistoryFile::within(folder.path());
        std::thread::scope(|scope| {
            for chat in 0..4 {
                let file = &file;
                scope.spawn(move || {
                    (0..20).for_each(|n| file.add(&entry(Mode::Prompt, &format!("{chat} says {n}"))).unwrap());
                });
            }
        });
        assert_eq!(file.read().len(), 80);
    }

    #[test]
    fn a_full_file_is_shortened_to_the_newest() {
        let folder = tempfile::tempdir().unwrap();
        let file = HistoryFile::within(folder.path());
        let long = "x".repeat(MAX_ENTRY - 10);
        (0..40).for_each(|n| file.add(&entry(Mode::Prompt, &format!("{n} {long}"))).unwrap());
        assert!(std::fs::metadata(&file.0).unwrap().len() <= FULL);
        let history = file.read();
        assert!(texts(&history).last().unwrap().starts_with("39 "));
        assert!(history.len() >= 8);
    }

    #[test]
    fn command_lines_with_keys_are_not_kept() {
        let check = |line: &str, want: bool| assert_eq!(is_private(&entry(Mode::Shell, line)), want, "{line}");
        for line in [
            "export OPENAI_API_KEY=abc",
            "curl -H 'Authorization: Bearer abc'",
            "tool --token abc",
            "tool --password=abc",
            "echo sk-abcdefghijkl",
            "echo ghp_0123456789",
            "echo a1b2c3d4e5f6a1b2c3d4e5f6a1b2c3d4",
        ] {
            check(line, true);
        }
        for line in [
            "ls -l",
            "cargo test -p haft-cli tokens",
            "git log --oneline",
            "export OPENAI_API_KEY=$KEY",
            "cat src/keys.rs",
            "cat target/debug/deps/haft-0123456789abcdef.d",
            "rg 'a_very_long_name_that_is_no_key_at_all'",
        ] {
            check(line, false);
        }
        assert!(!is_private(&entry(Mode::Prompt, "why does --token abc fail")));
    }
}
