//! Reads scenarios and recordings: JSON Lines whose first line says which of them the file is.

mod recording;
mod scenario;

use std::fs::File;
use std::io::Read;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::answer::Answer;
pub(crate) use recording::{Line, RequestLine, Timed};

/// Largest scenario or recording that is read, in bytes, and largest recording that is written.
pub const MAX_BYTES: u64 = 64 * 1024 * 1024;

/// The version that this program writes, and the only one that it reads.
const VERSION: u64 = 1;

/// A scenario or a recording cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum ScriptError {
    /// The file cannot be read.
    #[error("cannot read {path}")]
    Io {
        /// The file.
        path: String,
        /// Why.
        #[source]
        source: std::io::Error,
    },
    /// The file is larger than [`MAX_BYTES`].
    #[error("{path} is larger than {} MiB", MAX_BYTES / 1024 / 1024)]
    TooLarge {
        /// The file.
        path: String,
    },
    /// A line is wrong.
    #[error("{path}, line {line}: {message}")]
    Line {
        /// The file.
        path: String,
        /// Which line, counted from 1.
        line: usize,
        /// What is wrong with it.
        message: String,
    },
}

/// Reads the scenario at `path`.
///
/// # Errors
///
/// [`ScriptError`], which names the file, the line, what is wrong and what is allowed.
pub fn read_scenario(path: &Path) -> Result<Vec<Answer>, ScriptError> {
    parse_scenario(&path.display().to_string(), &read(path)?)
}

/// Reads a scenario from `text`. `name` stands in errors.
///
/// # Errors
///
/// As [`read_scenario`].
pub fn parse_scenario(name: &str, text: &str) -> Result<Vec<Answer>, ScriptError> {
    let mut answers = Vec::new();
    for (line, text) in body(name, text, Kind::Scenario)? {
        answers.push(scenario::answer(text, answers.len() + 1).map_err(|message| at(name, line, message))?);
    }
    Ok(answers)
}

/// Reads the recording at `path`. A last line that was cut off is left out.
///
/// # Errors
///
/// As [`read_scenario`].
pub fn read_recording(path: &Path) -> Result<Vec<Answer>, ScriptError> {
    parse_recording(&path.display().to_string(), &read(path)?)
}

/// Reads a recording from `text`. `name` stands in errors.
///
/// # Errors
///
/// As [`read_scenario`].
pub fn parse_recording(name: &str, text: &str) -> Result<Vec<Answer>, ScriptError> {
    // A process that was killed while it wrote leaves a line without an end, which is not whole.
    let whole = text.rfind('\n').map_or("", |end| &text[..end]);
    let mut reader = recording::Reader::default();
    for (line, text) in body(name, whole, Kind::Recording)? {
        reader.push(text).map_err(|message| at(name, line, message))?;
    }
    Ok(reader.answers())
}

/// The first line of a file.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Header {
    haft: Kind,
    version: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    model: Option<String>,
}

impl Header {
    /// The first line of a recording of `model`.
    pub(crate) fn recording(model: &str) -> Self {
        Self { haft: Kind::Recording, version: VERSION, model: Some(model.to_owned()) }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Kind {
    Scenario,
    Recording,
}

impl Kind {
    fn word(self) -> &'static str {
        match self {
            Kind::Scenario => "scenario",
            Kind::Recording => "recording",
        }
    }
}

/// The lines behind the header, with their numbers. Blank ones are skipped.
fn body<'a>(name: &str, text: &'a str, want: Kind) -> Result<impl Iterator<Item = (usize, &'a str)>, ScriptError> {
    let mut lines =
        text.lines().enumerate().map(|(at, line)| (at + 1, line)).filter(|(_, line)| !line.trim().is_empty());
    let (line, first) = lines.next().unwrap_or((1, ""));
    check_header(first, want).map_err(|message| at(name, line, message))?;
    Ok(lines)
}

fn check_header(line: &str, want: Kind) -> Result<(), String> {
    let word = want.word();
    let Ok(header) = serde_json::from_str::<Header>(line) else {
        return Err(format!(r#"a {word} begins with {{"haft":"{word}","version":{VERSION}}}"#));
    };
    if header.haft != want {
        return Err(format!("this is a {}, where a {word} is wanted", header.haft.word()));
    }
    if header.version != VERSION {
        return Err(format!("version {} is not known; this haft reads version {VERSION}", header.version));
    }
    Ok(())
}

fn at(name: &str, line: usize, message: String) -> ScriptError {
    ScriptError::Line { path: name.to_owned(), line, message }
}

fn read(path: &Path) -> Result<String, ScriptError> {
    let name = || path.display().to_string();
    let io = |source| ScriptError::Io { path: name(), source };
    let mut bytes = Vec::new();
    // One byte more than allowed tells a file that is too large, also where its length is not known.
    File::open(path).and_then(|file| file.take(MAX_BYTES + 1).read_to_end(&mut bytes)).map_err(io)?;
    if bytes.len() as u64 > MAX_BYTES {
        return Err(ScriptError::TooLarge { path: name() });
    }
    // A recording may be cut inside a letter. Elsewhere a broken letter shows up in the text, not as a failure.
    Ok(String::from_utf8(bytes).unwrap_or_else(|broken| String::from_utf8_lossy(broken.as_bytes()).into_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(read: Result<Vec<Answer>, ScriptError>, want: &str) {
        assert_eq!(read.unwrap_err().to_string(), want);
    }

    #[test]
    fn the_first_line_must_say_what_the_file_is() {
        let begins = r#"a.jsonl, line 1: a scenario begins with {"haft":"scenario","version":1}"#;
        check(parse_scenario("a.jsonl", ""), begins);
        check(parse_scenario("a.jsonl", r#"{"answer":[]}"#), begins);
        check(
            parse_scenario("a.jsonl", "\n{\"haft\":\"recording\",\"version\":1}"),
            "a.jsonl, line 2: this is a recording, where a scenario is wanted",
        );
        check(
            parse_recording("a.jsonl", "{\"haft\":\"recording\",\"version\":2}\n"),
            "a.jsonl, line 1: version 2 is not known; this haft reads version 1",
        );
    }

    #[test]
    fn a_missing_file_and_one_that_is_too_large_are_named() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.jsonl");
        check(read_scenario(&path), &format!("cannot read {}", path.display()));
        File::create(&path).unwrap().set_len(MAX_BYTES + 1).unwrap();
        check(read_scenario(&path), &format!("{} is larger than 64 MiB", path.display()));
    }
}
