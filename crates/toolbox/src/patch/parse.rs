//! Reading a patch. Pure, and lenient where what is meant is beyond doubt.

use std::fmt;

use super::grammar::{Hunk, Patch, Row, Section};

/// Longest text of a patch, in bytes.
pub const MAX_TEXT: usize = 8 * 1024 * 1024;
/// Most files that one patch may name.
pub const MAX_SECTIONS: usize = 500;
/// Most places that one patch may change, in all its files together.
pub const MAX_HUNKS: usize = 5_000;

const BEGIN: &str = "*** Begin Patch";
const END: &str = "*** End Patch";
const END_OF_FILE: &str = "*** End of File";
const ENVIRONMENT: &str = "*** Environment ID:";
const NO_LINE_END: &str = "\\ No newline";
/// What a text begins with that was written with a byte order mark.
const MARK: char = '\u{feff}';

/// Why a text is no patch. The message is for a model: it names the line, from 1, and what to write there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BadPatch {
    /// The line of the text, from 1, where one is to blame.
    pub line: Option<usize>,
    what: String,
}

impl std::error::Error for BadPatch {}

impl fmt::Display for BadPatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(line) = self.line {
            write!(f, "line {line} of the patch: ")?;
        }
        f.write_str(&self.what)
    }
}

fn bad<T>(line: usize, what: impl Into<String>) -> Result<T, BadPatch> {
    Err(BadPatch { line: Some(line), what: what.into() })
}

fn bad_whole<T>(what: impl Into<String>) -> Result<T, BadPatch> {
    Err(BadPatch { line: None, what: what.into() })
}

/// Reads a patch. What stands before its first and behind its last line is overlooked: a shell's here-document, a
/// fence, a sentence. Carriage returns at the end of lines are no part of them.
///
/// # Errors
///
/// [`BadPatch`] for a text that is no patch, that does nothing, or that may be cut off; for anything between the markers
/// that is not understood; and beyond [`MAX_TEXT`], [`MAX_SECTIONS`] and [`MAX_HUNKS`].
pub fn parse(text: &str) -> Result<Patch, BadPatch> {
    if text.len() > MAX_TEXT {
        return bad_whole(format!("the patch has {} bytes, more than {MAX_TEXT}; send it in parts", text.len()));
    }
    let text = text.strip_prefix(MARK).unwrap_or(text);
    let lines: Vec<&str> = text.split('\n').map(|line| line.trim_end_matches('\r')).collect();
    let (begin, end) = markers(&lines)?;
    let mut reader = Reader::default();
    for (index, line) in lines.iter().enumerate().take(end).skip(begin + 1) {
        reader.line(index + 1, line)?;
    }
    reader.close()?;
    if reader.sections.is_empty() {
        return bad_whole("the patch is empty; between its markers write sections such as `*** Update File: {path}`");
    }
    Ok(Patch { sections: reader.sections })
}

/// The indices of the first and the last line.
fn markers(lines: &[&str]) -> Result<(usize, usize), BadPatch> {
    let Some(begin) = lines.iter().position(|line| line.trim() == BEGIN) else {
        return bad_whole(format!("the patch must begin with a line `{BEGIN}` and end with a line `{END}`"));
    };
    let rest = &lines[begin + 1..];
    // With a blank in front it may be a line of a file; without a better one it is the end.
    let plain = rest.iter().position(|line| line.trim_end() == END);
    let Some(end) = plain.or_else(|| rest.iter().position(|line| line.trim() == END)) else {
        return bad_whole(format!(
            "the patch has no line `{END}`, so it may have been cut off; send the whole of it, or less at once"
        ));
    };
    let end = begin + 1 + end;
    if let Some(again) = lines[end..].iter().position(|line| line.trim() == BEGIN) {
        return bad(
            end + again + 1,
            format!("a second patch begins; put all sections between one `{BEGIN}` and `{END}`"),
        );
    }
    Ok((begin, end))
}

/// What a line is that begins with `***`.
enum Header<'a> {
    Add(&'a str),
    Delete(&'a str),
    Update(&'a str),
    Move(&'a str),
    EndOfFile,
    Environment,
    Unknown,
}

impl<'a> Header<'a> {
    /// `None` for a line that is none.
    fn read(line: &'a str) -> Option<Self> {
        type Make<'a> = fn(&'a str) -> Header<'a>;
        let named: [(&str, Make<'a>); 4] = [
            ("*** Add File:", Header::Add),
            ("*** Delete File:", Header::Delete),
            ("*** Update File:", Header::Update),
            ("*** Move to:", Header::Move),
        ];
        let line = line.trim();
        if !line.starts_with("***") {
            return None;
        }
        let known = named.into_iter().find_map(|(start, make)| Some(make(line.strip_prefix(start)?.trim())));
        Some(known.unwrap_or_else(|| match line {
            END_OF_FILE => Header::EndOfFile,
            _ if line.starts_with(ENVIRONMENT) => Header::Environment,
            _ => Header::Unknown,
        }))
    }
}

/// What the lines so far have come to.
#[derive(Default)]
struct Reader {
    sections: Vec<Section>,
    /// The section that is open is the last one.
    place: Place,
    hunk: Hunk,
    /// Where the open hunk begins.
    hunk_line: usize,
    /// Where the open section begins.
    section_line: usize,
    hunks: usize,
    /// Blank lines without a sign in an added file; what comes next says whether they belong to it.
    blank: usize,
    /// The line that may be the first of the two names that a unified diff has above its hunks.
    names: Option<usize>,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// Between sections.
    #[default]
    Between,
    /// In the lines of an added file.
    Added,
    /// Behind the header of a changed file.
    Updated,
    /// In a hunk.
    InHunk,
    /// Behind a hunk that ended with the file.
    BehindHunk,
}

impl Reader {
    fn line(&mut self, number: usize, line: &str) -> Result<(), BadPatch> {
        match self.place {
            Place::Between => match Header::read(line) {
                Some(header) => self.header(number, header, line),
                None if line.trim().is_empty() => Ok(()),
                None => bad(number, format!("{} belongs to no file; begin with {HEADERS}", shown(line))),
            },
            Place::Added => self.added(number, line),
            Place::Updated | Place::InHunk | Place::BehindHunk => self.updated(number, line),
        }
    }

    fn header(&mut self, number: usize, header: Header<'_>, line: &str) -> Result<(), BadPatch> {
        let (section, place) = match header {
            Header::Add(path) => (Section::Add { path: path.to_owned(), lines: Vec::new() }, Place::Added),
            Header::Delete(path) => (Section::Delete { path: path.to_owned() }, Place::Between),
            Header::Update(path) => {
                (Section::Update { path: path.to_owned(), to: None, hunks: Vec::new() }, Place::Updated)
            }
            Header::Move(to) => return self.move_to(number, to),
            Header::EndOfFile => return self.end_of_file(number),
            Header::Environment if self.sections.is_empty() => return Ok(()),
            Header::Environment | Header::Unknown => {
                return bad(number, format!("{} is not known; write {HEADERS}", shown(line)));
            }
        };
        self.close()?;
        if section.path().is_empty() {
            return bad(number, "the path is missing; write it behind the colon");
        }
        if self.sections.len() == MAX_SECTIONS {
            return bad(number, format!("more than {MAX_SECTIONS} files; send the patch in parts"));
        }
        self.sections.push(section);
        self.place = place;
        self.section_line = number;
        Ok(())
    }

    fn move_to(&mut self, number: usize, path: &str) -> Result<(), BadPatch> {
        if path.is_empty() {
            return bad(number, "the new path is missing; write it behind the colon");
        }
        if self.place == Place::Updated
            && let Some(Section::Update { to: to @ None, .. }) = self.sections.last_mut()
        {
            *to = Some(path.to_owned());
            return Ok(());
        }
        bad(number, "`*** Move to:` belongs directly behind `*** Update File:`, and there only once")
    }

    fn end_of_file(&mut self, number: usize) -> Result<(), BadPatch> {
        match self.place {
            Place::InHunk if !self.hunk.rows.is_empty() => {
                self.hunk.at_end = true;
                self.end_hunk()
            }
            // It says nothing that is not known.
            Place::Added | Place::BehindHunk => Ok(()),
            Place::Between | Place::Updated | Place::InHunk => {
                bad(number, format!("`{END_OF_FILE}` belongs behind the lines of a hunk"))
            }
        }
    }

    fn added(&mut self, number: usize, line: &str) -> Result<(), BadPatch> {
        if line.trim().is_empty() {
            self.blank += 1;
            return Ok(());
        }
        let Some(Section::Add { lines, .. }) = self.sections.last_mut() else { return Ok(()) };
        if let Some(content) = line.strip_prefix('+') {
            // A blank line that lost its sign is one of the file; before the first and behind the last it is decoration.
            let inside = if lines.is_empty() { 0 } else { self.blank };
            lines.extend(std::iter::repeat_n(String::new(), inside));
            lines.push(content.to_owned());
            self.blank = 0;
            return Ok(());
        }
        if line.starts_with(NO_LINE_END) {
            return Ok(());
        }
        match Header::read(line) {
            Some(header) => self.header(number, header, line),
            None => bad(number, format!("{} must begin with `+`, as each line of a new file", shown(line))),
        }
    }

    fn updated(&mut self, number: usize, line: &str) -> Result<(), BadPatch> {
        if let Some(text) = line.strip_prefix("@@") {
            return self.place_header(number, Head::read(text));
        }
        if line.starts_with("***") || (self.place != Place::InHunk && line.trim_start().starts_with("***")) {
            // What begins with a blank before the first hunk may be a line of the file.
            match Header::read(line) {
                Some(Header::Unknown) if !line.starts_with("***") => {}
                Some(header) => return self.header(number, header, line),
                None => {}
            }
        }
        let blank = line.trim().is_empty();
        match self.place {
            Place::InHunk => self.row(number, line),
            Place::Updated | Place::BehindHunk if blank => Ok(()),
            Place::Updated => {
                // The hunk needs no header of its own.
                self.begin_hunk(number)?;
                self.row(number, line)
            }
            Place::BehindHunk => {
                bad(number, format!("{} stands behind the end of the file; begin another hunk with `@@`", shown(line)))
            }
            Place::Between | Place::Added => Ok(()),
        }
    }

    fn begin_hunk(&mut self, number: usize) -> Result<(), BadPatch> {
        if self.hunks == MAX_HUNKS {
            return bad(number, format!("more than {MAX_HUNKS} hunks; send the patch in parts"));
        }
        self.hunks += 1;
        self.hunk = Hunk::default();
        self.hunk_line = number;
        self.place = Place::InHunk;
        Ok(())
    }

    fn place_header(&mut self, number: usize, head: Head) -> Result<(), BadPatch> {
        // The names above the first hunk of a unified diff look like a change.
        let names = self.names.take().is_some_and(|line| line + 2 == number);
        if names && matches!(self.hunk.rows.as_slice(), [Row::Remove(_), Row::Add(new)] if new.starts_with("++ ")) {
            self.hunk.rows.clear();
            self.hunk_line = number;
        }
        if self.place != Place::InHunk || !self.hunk.rows.is_empty() {
            if self.place == Place::InHunk {
                self.end_hunk()?;
            }
            self.begin_hunk(number)?;
        }
        match head {
            Head::Numbers(line) => self.hunk.line = line.or(self.hunk.line),
            Head::Above(above) => self.hunk.above.push(above),
        }
        Ok(())
    }

    fn row(&mut self, number: usize, line: &str) -> Result<(), BadPatch> {
        if line.starts_with(NO_LINE_END) {
            return Ok(());
        }
        if self.hunk.rows.is_empty() && self.hunk_line == number && line.starts_with("--- ") {
            self.names = Some(number);
        }
        let row = match line.as_bytes().first() {
            Some(b'+') => Row::Add(line[1..].to_owned()),
            Some(b'-') => Row::Remove(line[1..].to_owned()),
            Some(b' ') => Row::Keep(line[1..].to_owned()),
            // The sign in front was left out: such a line can only be one that stays.
            Some(_) | None => Row::Keep(line.to_owned()),
        };
        self.hunk.rows.push(row);
        Ok(())
    }

    fn end_hunk(&mut self) -> Result<(), BadPatch> {
        let hunk = std::mem::take(&mut self.hunk);
        self.place = Place::BehindHunk;
        if hunk.rows.iter().all(|row| matches!(row, Row::Keep(line) if line.trim().is_empty())) {
            return bad(
                self.hunk_line,
                "the hunk has no lines; write those that go with `-` and those that come with `+`",
            );
        }
        if let Some(Section::Update { hunks, .. }) = self.sections.last_mut() {
            hunks.push(hunk);
        }
        Ok(())
    }

    /// Ends what is open.
    fn close(&mut self) -> Result<(), BadPatch> {
        if self.place == Place::InHunk {
            self.end_hunk()?;
        }
        self.place = Place::Between;
        self.blank = 0;
        if let Some(Section::Update { path, to: None, hunks }) = self.sections.last()
            && hunks.is_empty()
        {
            let hunk = "`@@`, then lines that begin with a blank, `-` or `+`";
            return bad(self.section_line, format!("nothing is changed in {path}; write a hunk: {hunk}"));
        }
        Ok(())
    }
}

const HEADERS: &str = "`*** Add File: {path}`, `*** Update File: {path}` or `*** Delete File: {path}`";

/// What stands behind `@@`.
enum Head {
    /// Nothing, or line numbers as a unified diff has them: the line that the old text is said to begin on.
    Numbers(Option<usize>),
    /// A line of the file above the hunk.
    Above(String),
}

impl Head {
    fn read(text: &str) -> Self {
        let mut text = text.trim();
        if let Some(numbers) = Self::numbers(text) {
            return numbers;
        }
        while let Some(before) = text.strip_suffix("@@") {
            // A sign at the end is one more pair around the line, unless it is a part of its last word.
            if !before.is_empty() && !before.ends_with(char::is_whitespace) {
                break;
            }
            text = before.trim_end();
        }
        if text.is_empty() { Head::Numbers(None) } else { Head::Above(text.to_owned()) }
    }

    /// `-1,4 +1,4 @@ …`, `-1 +1`, or `-1 @@`.
    fn numbers(text: &str) -> Option<Self> {
        let mut words = text.split_whitespace();
        let old = range(words.next()?.strip_prefix('-')?)?;
        let new = match words.next()? {
            "@@" => return Some(Head::Numbers(old)),
            word => range(word.strip_prefix('+')?),
        };
        new?;
        matches!(words.next(), None | Some("@@")).then_some(Head::Numbers(old))
    }
}

/// `line` or `line,count`. The inner `None` is the line 0, which is none.
#[expect(clippy::option_option, reason = "one is that it is no range, the other that it names no line")]
fn range(text: &str) -> Option<Option<usize>> {
    let (line, count) = text.split_once(',').unwrap_or((text, "1"));
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    // A number that no line can have is none, too.
    (digits(line) && digits(count)).then(|| line.parse().ok().filter(|&line| line > 0))
}

/// A line of the patch, quoted for the model.
fn shown(line: &str) -> String {
    const MAX_SHOWN: usize = 80;
    match line.char_indices().nth(MAX_SHOWN) {
        Some((at, _)) => format!("`{}…`", &line[..at]),
        None => format!("`{line}`"),
    }
}

#[cfg(test)]
mod tests;
