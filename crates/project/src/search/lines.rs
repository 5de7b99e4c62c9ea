//! The lines of a file that match.

use std::fs::File;
use std::io::{self, Read};
use std::sync::atomic::{AtomicBool, Ordering};

use grep_matcher::{LineTerminator, Matcher};
use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder, Sink, SinkMatch};

use super::names::{BadPattern, MAX_PATTERN};

/// Most characters of a line that are kept.
const MAX_LINE: usize = 2000;
/// How many characters before a match are kept with it, where the line is longer than [`MAX_LINE`].
const BEFORE: usize = 200;
/// What stands for the rest of a line, on either side.
const CUT: &str = "...";
/// Most bytes of one file that are searched.
pub(super) const MAX_SEARCHED: u64 = 64 * 1024 * 1024;
/// Longest line, in bytes, that is searched; a file with a longer one is searched up to there.
const MAX_HEAP: usize = 16 * 1024 * 1024;
/// Most memory, in bytes, that a compiled pattern may take.
const MAX_COMPILED: usize = 10 * 1024 * 1024;

/// A regular expression over lines. Takes time in proportion to what it searches.
#[derive(Debug, Clone)]
pub struct LinePattern {
    matcher: RegexMatcher,
}

impl LinePattern {
    /// Reads a regular expression as Rust's `regex` has it. It is about one line at a time; `$` matches before both
    /// kinds of line end.
    ///
    /// # Errors
    ///
    /// [`BadPattern`] where it means nothing, wants several lines, or would take too much memory.
    pub fn new(pattern: &str) -> Result<Self, BadPattern> {
        if pattern.is_empty() {
            return Err(BadPattern::new(pattern, "it is empty"));
        }
        if pattern.len() > MAX_PATTERN {
            return Err(BadPattern::new(pattern, "it is longer than 4096 bytes"));
        }
        let mut builder = RegexMatcherBuilder::new();
        // Anchors mean each line, although lines come by the buffer.
        builder.multi_line(true).crlf(true).size_limit(MAX_COMPILED).dfa_size_limit(MAX_COMPILED);
        let built = builder.build(pattern);
        let matcher = built.map_err(|error| BadPattern::new(pattern, why(&error)))?;
        Ok(Self { matcher })
    }
}

fn why(error: &grep_regex::Error) -> String {
    match error.kind() {
        grep_regex::ErrorKind::NotAllowed(_) => "it spans lines, and lines are searched one by one".to_owned(),
        // The lines before the last one show the pattern, not quite as it was given.
        _ => error.to_string().lines().last().unwrap_or_default().trim_start_matches("error: ").to_owned(),
    }
}

/// A line that matches.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// Its number, from 1.
    pub number: u64,
    /// Its text without its end; of a long line a piece around the match.
    pub text: String,
}

/// What was found in one file.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct InFile {
    /// The first lines that match.
    pub(super) lines: Vec<Line>,
    /// How many match in all.
    pub(super) count: usize,
    /// Whether a part at its end was not searched, because it is too large.
    pub(super) cut: bool,
}

/// What searches one file after the other.
pub(super) struct Lines<'a> {
    matcher: RegexMatcher,
    searcher: Searcher,
    max: usize,
    stop: &'a AtomicBool,
}

impl<'a> Lines<'a> {
    /// Keeps up to `max` lines of each file.
    pub(super) fn new(pattern: &LinePattern, max: usize, stop: &'a AtomicBool) -> Self {
        let searcher = SearcherBuilder::new()
            .line_terminator(LineTerminator::crlf())
            .line_number(true)
            .heap_limit(Some(MAX_HEAP))
            .binary_detection(BinaryDetection::quit(0))
            .build();
        Self { matcher: pattern.matcher.clone(), searcher, max, stop }
    }

    /// Searches `file` from where it stands. Nothing is found in a binary file.
    pub(super) fn search(&mut self, file: File) -> InFile {
        self.search_up_to(file, MAX_SEARCHED)
    }

    fn search_up_to(&mut self, file: impl Read, max_bytes: u64) -> InFile {
        let mut reader = Reader { inner: file.take(max_bytes.saturating_add(1)), stop: self.stop, max_bytes };
        let mut found =
            Found { matcher: &self.matcher, max: self.max, stop: self.stop, file: InFile::default(), binary: false };
        let searched = self.searcher.search_reader(&self.matcher, &mut reader, &mut found);
        if found.binary {
            return InFile::default();
        }
        // What it ran into: a line that is too long, or a disk that cannot be read any further.
        let cut = searched.is_err() || reader.inner.limit() == 0;
        InFile { cut, ..found.file }
    }
}

/// Ends where the limit is, and at once when nobody waits any more.
struct Reader<'a, R> {
    inner: io::Take<R>,
    stop: &'a AtomicBool,
    max_bytes: u64,
}

impl<R: Read> Read for Reader<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.stop.load(Ordering::Relaxed) {
            return Ok(0);
        }
        let got = self.inner.read(buffer)?;
        // The byte beyond the limit only tells that there is one.
        let over = self.inner.limit() == 0 && got > 0 && self.max_bytes < u64::MAX;
        Ok(if over { got - 1 } else { got })
    }
}

struct Found<'a> {
    matcher: &'a RegexMatcher,
    max: usize,
    stop: &'a AtomicBool,
    file: InFile,
    binary: bool,
}

impl Sink for Found<'_> {
    type Error = io::Error;

    fn matched(&mut self, _searcher: &Searcher, line: &SinkMatch<'_>) -> Result<bool, io::Error> {
        self.file.count += 1;
        if self.file.lines.len() < self.max {
            let text = piece(line.bytes(), |bytes| self.matcher.find(bytes).ok().flatten().map_or(0, |at| at.start()));
            self.file.lines.push(Line { number: line.line_number().unwrap_or(0), text });
        }
        Ok(!self.stop.load(Ordering::Relaxed))
    }

    fn binary_data(&mut self, _searcher: &Searcher, _at: u64) -> Result<bool, io::Error> {
        self.binary = true;
        Ok(false)
    }
}

/// The line without its end, or so much of it around the match, which `start` finds, as is kept.
fn piece(line: &[u8], start: impl Fn(&[u8]) -> usize) -> String {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    // No character takes more than 4 bytes, so a longer line need not be looked at whole.
    if line.len() <= MAX_LINE {
        return String::from_utf8_lossy(line).into_owned();
    }
    let at = start(line);
    let mut from = if at > MAX_LINE - BEFORE { at.saturating_sub(BEFORE) } else { 0 };
    while from > 0 && line.get(from).is_some_and(|byte| byte & 0xc0 == 0x80) {
        from -= 1;
    }
    let rest = &line[from..line.len().min(from + 4 * MAX_LINE + 4)];
    let text = String::from_utf8_lossy(rest);
    let end = text.char_indices().nth(MAX_LINE).map(|(at, _)| at);
    let before = if from > 0 { CUT } else { "" };
    match end {
        Some(end) => format!("{before}{}{CUT}", &text[..end]),
        None if from + rest.len() < line.len() => format!("{before}{text}{CUT}"),
        None => format!("{before}{text}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn find(pattern: &str, text: &[u8], max: usize, max_bytes: u64) -> InFile {
        let stop = AtomicBool::new(false);
        let pattern = LinePattern::new(pattern).unwrap();
        Lines::new(&pattern, max, &stop).search_up_to(text, max_bytes)
    }

    #[track_caller]
    fn check(pattern: &str, text: &[u8], want: &[(u64, &str)]) {
        let found = find(pattern, text, 9, u64::MAX);
        let got: Vec<(u64, &str)> = found.lines.iter().map(|line| (line.number, line.text.as_str())).collect();
        assert_eq!((got.as_slice(), found.count, found.cut), (want, want.len(), false));
    }

    #[test]
    fn lines_that_match_come_with_their_numbers() {
        check("b", b"a\nb\nab\n", &[(2, "b"), (3, "ab")]);
        check("b$", b"ab\r\nb \nb", &[(1, "ab"), (3, "b")]);
        check("^$", b"a\n\nb", &[(2, "")]);
        check("^b", b"ab\nba\n", &[(2, "ba")]);
        check("A", b"a\n", &[]);
        check("(?i)A", b"a\n", &[(1, "a")]);
        check("\u{e9}", "caf\u{e9}\n".as_bytes(), &[(1, "caf\u{e9}")]);
        check("-n", b"grep -n\n", &[(1, "grep -n")]);
    }

    #[test]
    fn all_matches_are_counted_and_the_first_ones_kept() {
        let found = find("x", b"x\nx\nx\n", 2, u64::MAX);
        assert_eq!((found.lines.len(), found.count), (2, 3));
    }

    #[test]
    fn nothing_is_found_in_a_binary_file_wherever_its_zero_is() {
        check("x", b"x\n\0", &[]);
        let mut late = b"x\n".repeat(200_000);
        late.push(0);
        check("x", &late, &[]);
    }

    #[test]
    fn a_file_of_two_byte_characters_is_text() {
        let wide: Vec<u8> =
            [0xfeff_u16].into_iter().chain("a\nneedle\n".encode_utf16()).flat_map(u16::to_le_bytes).collect();
        check("needle", &wide, &[(2, "needle")]);
    }

    #[test]
    fn a_large_file_is_searched_up_to_the_limit() {
        let text = b"x\nx\nx\nx\n";
        let row = |max_bytes: u64, count: usize, cut: bool| {
            let found = find("x", text, 9, max_bytes);
            assert_eq!((found.count, found.cut), (count, cut), "{max_bytes}");
        };
        row(8, 4, false);
        row(7, 4, true);
        row(4, 2, true);
        row(9, 4, false);
        // One line of more than the searcher may hold.
        let long = vec![b'x'; MAX_HEAP + 1024];
        let found = find("y", &long, 9, u64::MAX);
        assert!(found.cut);
    }

    #[test]
    fn of_a_long_line_the_piece_around_the_match_is_kept() {
        let text = |line: String| find("needle", line.as_bytes(), 1, u64::MAX).lines.remove(0).text;
        assert_eq!(text(format!("needle{}", "x".repeat(MAX_LINE - 6))), format!("needle{}", "x".repeat(MAX_LINE - 6)));
        assert_eq!(text(format!("needle{}", "x".repeat(MAX_LINE))), format!("needle{}...", "x".repeat(MAX_LINE - 6)));
        let late = text(format!("{}needle{}", "x".repeat(9000), "y".repeat(9000)));
        assert_eq!(late, format!("...{}needle{}...", "x".repeat(BEFORE), "y".repeat(MAX_LINE - BEFORE - 6)));
        let end = text(format!("{}needle", "x".repeat(9000)));
        assert_eq!(end, format!("...{}needle", "x".repeat(BEFORE)));
        // Cut between characters, and in characters.
        let wide = text(format!("{}needle", "漢".repeat(9000)));
        assert!(wide.starts_with("...漢") && wide.ends_with("漢needle"), "{wide}");
        let wide = text(format!("needle{}", "漢".repeat(9000)));
        assert_eq!(wide.chars().count(), MAX_LINE + CUT.len());
    }

    #[test]
    fn a_pattern_that_means_nothing_is_refused_with_a_reason() {
        let row = |pattern: &str, want: &str| {
            let error = LinePattern::new(pattern).unwrap_err().to_string();
            assert!(error.contains(want), "{error}");
        };
        row("", "it is empty");
        row("(unclosed", "unclosed group");
        row("a\nb", "it spans lines");
        row("a\\nb", "it spans lines");
        row("(?=a)", "look-around");
        row("\\w{1000}{1000}", "size limit");
        row(&"a".repeat(MAX_PATTERN + 1), "longer than 4096 bytes");
        row(&format!("{}{}", "(".repeat(1000), ")".repeat(1000)), "nest");
    }

    #[test]
    fn a_stop_ends_the_reading() {
        let stop = AtomicBool::new(true);
        let pattern = LinePattern::new("x").unwrap();
        let found = Lines::new(&pattern, 9, &stop).search_up_to(std::io::repeat(b'x'), u64::MAX);
        assert_eq!(found.count, 0);
    }
}
