//! One cell as text: a heading, its lines with their places in the file, what running it gave.

use std::fmt::Write;

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::{Images, output};
use crate::text::{cut_line, ends};

/// Most bytes of the lines of one cell.
const MAX_SOURCE: usize = 28 * 1024;
/// Most attachments of a cell that are named.
const MAX_ATTACHMENTS: usize = 8;

/// Where in the file things are. Asked in the order of the file it counts each line once.
pub(super) struct Places<'a> {
    text: &'a str,
    /// Up to here lines have been counted.
    at: usize,
    line: usize,
}

impl<'a> Places<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self { text, at: 0, line: 1 }
    }

    /// The number of the line, from 1, that `part` of the text begins in.
    fn line(&mut self, part: &str) -> usize {
        let at = (part.as_ptr() as usize).wrapping_sub(self.text.as_ptr() as usize).min(self.text.len());
        if at < self.at {
            (self.at, self.line) = (0, 1);
        }
        self.line += ends::count(&self.text.as_bytes()[self.at..at]);
        self.at = at;
        self.line
    }
}

/// A cell as versions 3 and 4 write it. What has another type than it should is left out, not the cell.
#[derive(Deserialize)]
struct Cell<'a> {
    #[serde(borrow)]
    cell_type: Option<&'a RawValue>,
    /// Its text, in version 3 that of code under another name.
    #[serde(borrow, alias = "input")]
    source: Option<&'a RawValue>,
    #[serde(borrow, alias = "prompt_number")]
    execution_count: Option<&'a RawValue>,
    /// Of a heading in version 3.
    #[serde(borrow)]
    level: Option<&'a RawValue>,
    #[serde(borrow)]
    outputs: Option<&'a RawValue>,
    #[serde(borrow)]
    attachments: Option<&'a RawValue>,
}

/// The cell `json`, which is part of the text that `places` knows.
pub(super) fn render(number: usize, json: &str, places: &mut Places<'_>, images: &mut Images) -> String {
    let begin = places.line(json);
    let Ok(cell) = serde_json::from_str::<Cell<'_>>(json) else {
        return format!("[cell {number}: cannot be read, at line {begin} of the file]\n");
    };
    let kind = match get::<String>(cell.cell_type).as_deref() {
        Some("code") => "code",
        Some("markdown") => "markdown",
        Some("raw") => "raw",
        Some("heading") => "heading",
        Some(_) | None => "of unknown type",
    };
    let level = get::<u64>(cell.level).map(|level| format!(" {level}")).unwrap_or_default();
    let run = get::<u64>(cell.execution_count).map(|count| format!(", run {count}")).unwrap_or_default();
    let lines = cell.source.map(|source| lines(source.get(), places)).unwrap_or_default();
    let place = match (lines.first(), lines.last()) {
        (Some(first), Some(last)) if first.place == last.place => format!("line {} of the file", first.place),
        (Some(first), Some(last)) => format!("lines {}-{} of the file", first.place, last.place),
        (Some(_) | None, _) => format!("empty, at line {begin} of the file"),
    };
    let mut text = format!("[cell {number}: {kind}{level}{run}, {place}]\n");
    let end = text.len() + MAX_SOURCE;
    for (at, line) in lines.iter().enumerate() {
        if text.len() + line.text.len() > end {
            let left = lines.len() - at;
            let _ = writeln!(text, "[{left} more lines of this cell are in the JSON, from line {} on]", line.place);
            break;
        }
        let _ = writeln!(text, "{}: {}", line.place, line.text);
    }
    attachments(cell.attachments, images, &mut text);
    output::render(get::<Vec<&RawValue>>(cell.outputs).unwrap_or_default(), images, &mut text);
    text
}

/// A line of a cell.
struct Line {
    /// The line of the file in which it begins.
    place: usize,
    /// Without its end.
    text: String,
}

/// The lines of a source: one string, or strings that make it up together, mostly one for each line.
fn lines(source: &str, places: &mut Places<'_>) -> Vec<Line> {
    let parts = serde_json::from_str::<Vec<&RawValue>>(source)
        .map_or_else(|_| vec![source], |parts| parts.into_iter().map(RawValue::get).collect());
    let mut lines: Vec<Line> = Vec::new();
    let mut is_open = false;
    for part in parts {
        let Ok(text) = serde_json::from_str::<String>(part) else { continue };
        let place = places.line(part);
        for piece in text.split_inclusive('\n') {
            match lines.last_mut() {
                Some(line) if is_open => line.text.push_str(piece),
                Some(_) | None => lines.push(Line { place, text: piece.to_owned() }),
            }
            is_open = !piece.ends_with('\n');
        }
    }
    for line in &mut lines {
        let bare = line.text.trim_end_matches('\n');
        line.text = cut_line(bare.strip_suffix('\r').unwrap_or(bare)).into_owned();
    }
    lines
}

/// Images that a text shows and brings along.
fn attachments(attachments: Option<&RawValue>, images: &mut Images, text: &mut String) {
    let Some(Value::Object(attachments)) = get::<Value>(attachments) else { return };
    for (name, data) in attachments.iter().take(MAX_ATTACHMENTS) {
        let name: String = name.chars().filter(|c| !c.is_control()).take(80).collect();
        let said = data.as_object().and_then(|data| output::image(data, images));
        let _ = writeln!(text, "[attachment {name}: {}]", said.as_deref().unwrap_or("not shown"));
    }
    if attachments.len() > MAX_ATTACHMENTS {
        let _ = writeln!(text, "[{} more attachments]", attachments.len() - MAX_ATTACHMENTS);
    }
}

/// What `json` is, if it is that.
fn get<'a, T: Deserialize<'a>>(json: Option<&'a RawValue>) -> Option<T> {
    serde_json::from_str(json?.get()).ok()
}
