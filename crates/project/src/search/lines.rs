//! The lines of a file that match.

use std::io::{self, Read};
use std::sync::atomic::{AtomicBool, Ordering};

use grep_matcher::{LineTerminator, Matcher};
use grep_regex::RegexMatcher;
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder, Sink, SinkContext, SinkContextKind, SinkMatch};

use super::pattern::LinePattern;

/// Most characters of a line that are kept.
const MAX_LINE: usize = 2000;
/// How many characters before a match are kept with it, where the line is longer than [`MAX_LINE`].
const BEFORE: usize = 200;
/// What stands for the rest of a line, on either side.
const CUT: &str = "...";
/// Most bytes of one file that are searched.
pub(super) const MAX_SEARCHED: u64 = 4 * 1024 * 1024 * 1024;
/// Longest line, in bytes, that is searched; a file with a longer one is searched up to there. Where a pattern may match
/// several lines, also how much of a file is searched.
const MAX_HEAP: usize = 16 * 1024 * 1024;
/// Files up to this size, in bytes, are searched in one piece: cheaper than by the buffer, and not so large that they
/// push everything else out of the processor's cache.
const ONE_PIECE: usize = 256 * 1024;
/// Most lines of one match that are kept.
const MAX_SPAN: usize = 50;

/// What is wanted of the files with matches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Want {
    /// The lines that match.
    Lines {
        /// How many lines before and after each of them come with it.
        context: usize,
    },
    /// How many lines match in each.
    Counts,
    /// That there is one: the first ends the search of a file.
    Names,
}

/// What a line has to do with a match.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// It matches; of a match of several lines, the first one.
    Match,
    /// It goes on with the match of the line before.
    More,
    /// It is near one that matches.
    Near,
}

/// A line of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// Its number, from 1.
    pub number: u64,
    /// Its text without its end; of a long line a piece around the match.
    pub text: String,
    /// Why it is here.
    pub role: Role,
}

/// What was found in one file.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct InFile {
    /// The first lines that match, with those around them.
    pub(super) lines: Vec<Line>,
    /// How many matches these are.
    pub(super) kept: usize,
    /// How many there are in all.
    pub(super) count: usize,
    /// Whether a part at its end was not searched, because it is too large.
    pub(super) cut: bool,
}

/// What searches one file after the other.
pub(super) struct Lines<'a> {
    matcher: RegexMatcher,
    searcher: Searcher,
    spans: bool,
    want: Want,
    max: usize,
    stop: &'a AtomicBool,
    /// Where a file goes that is searched in one piece. Invariant: longer than [`ONE_PIECE`], so that a file of that
    /// size is seen to end.
    buffer: Vec<u8>,
}

impl<'a> Lines<'a> {
    /// Keeps up to `max` matches of each file.
    pub(super) fn new(pattern: &LinePattern, want: Want, max: usize, stop: &'a AtomicBool) -> Self {
        let context = match want {
            Want::Lines { context } => context,
            Want::Counts | Want::Names => 0,
        };
        let searcher = SearcherBuilder::new()
            .line_terminator(LineTerminator::crlf())
            .line_number(true)
            .before_context(context)
            .after_context(context)
            .multi_line(pattern.spans())
            .heap_limit(Some(MAX_HEAP))
            .binary_detection(BinaryDetection::quit(0))
            .build();
        let (matcher, spans) = (pattern.matcher.clone(), pattern.spans());
        Self { matcher, searcher, spans, want, max, stop, buffer: vec![0; ONE_PIECE + 1] }
    }

    /// Searches `file` from where it stands; `size` says how long it was, in bytes. Nothing is found in a binary file.
    pub(super) fn search(&mut self, file: impl Read, size: u64) -> InFile {
        self.search_up_to(file, size, MAX_SEARCHED)
    }

    fn search_up_to(&mut self, mut file: impl Read, size: u64, max_bytes: u64) -> InFile {
        let size = usize::try_from(size.min(max_bytes)).unwrap_or(usize::MAX);
        if self.spans {
            return self.whole(file, max_bytes);
        }
        if size > ONE_PIECE || size as u64 == max_bytes {
            return self.stream(file, max_bytes);
        }
        let mut buffer = std::mem::take(&mut self.buffer);
        // Asking for one more byte than there should be tells the end without another look.
        let found = match fill(&mut file, &mut buffer[..=size]) {
            Ok(got) if got <= size => self.in_memory(&buffer[..got]),
            // It has grown, or is one of those that do not tell their size.
            Ok(got) => self.stream(buffer[..got].chain(file), max_bytes),
            Err(_) => InFile { cut: true, ..InFile::default() },
        };
        self.buffer = buffer;
        found
    }

    /// Searches a file that may match over several lines, which takes all of it in memory.
    fn whole(&mut self, file: impl Read, max_bytes: u64) -> InFile {
        let most = max_bytes.min(MAX_HEAP as u64);
        let mut text = Vec::new();
        let read = Reader { inner: file.take(most + 1), stop: self.stop, max_bytes: u64::MAX }.read_to_end(&mut text);
        let cut = read.is_err() || text.len() as u64 > most;
        text.truncate(usize::try_from(most).unwrap_or(usize::MAX));
        let found = self.in_memory(&text);
        InFile { cut: cut || found.cut, ..found }
    }

    /// Searches a whole file.
    fn in_memory(&mut self, text: &[u8]) -> InFile {
        let text = match text {
            [0xff, 0xfe, ..] | [0xfe, 0xff, ..] => return self.stream(text, u64::MAX),
            [0xef, 0xbb, 0xbf, rest @ ..] => rest,
            other => other,
        };
        // Most files do not match, and need nothing else to be done. Where the end of a line cannot be matched by
        // accident, the whole text can be asked at once.
        let by_line = self.matcher.line_terminator().is_some();
        if by_line && matches!(self.matcher.find_candidate_line(text), Ok(None)) || text.contains(&0) {
            return InFile::default();
        }
        let Self { matcher, searcher, .. } = self;
        let mut found = Found::new(matcher, self.want, self.max, self.stop);
        let searched = searcher.search_slice(&*matcher, text, &mut found);
        found.end(searched.is_err())
    }

    /// Searches a file by the buffer.
    fn stream(&mut self, file: impl Read, max_bytes: u64) -> InFile {
        let mut reader = Reader { inner: file.take(max_bytes.saturating_add(1)), stop: self.stop, max_bytes };
        let Self { matcher, searcher, .. } = self;
        let mut found = Found::new(matcher, self.want, self.max, self.stop);
        let searched = searcher.search_reader(&*matcher, &mut reader, &mut found);
        // What it ran into: a line that is too long, or a disk that cannot be read any further.
        found.end(searched.is_err() || reader.inner.limit() == 0)
    }
}

/// Reads until the buffer is full or nothing comes any more. One that is not full after the first look is taken to be
/// at its end when it holds all but the last byte.
fn fill(file: &mut impl Read, buffer: &mut [u8]) -> io::Result<usize> {
    let mut got = 0;
    while got < buffer.len() {
        match file.read(&mut buffer[got..]) {
            Ok(0) => break,
            Ok(more) => got += more,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        }
        if got + 1 == buffer.len() && got > 0 {
            break;
        }
    }
    Ok(got)
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
    want: Want,
    max: usize,
    stop: &'a AtomicBool,
    file: InFile,
    binary: bool,
}

impl<'a> Found<'a> {
    fn new(matcher: &'a RegexMatcher, want: Want, max: usize, stop: &'a AtomicBool) -> Self {
        Self { matcher, want, max, stop, file: InFile::default(), binary: false }
    }

    /// What was found, unless the file turned out to be no text.
    fn end(self, cut: bool) -> InFile {
        if self.binary { InFile::default() } else { InFile { cut, ..self.file } }
    }

    fn keep(&mut self, found: &SinkMatch<'_>) {
        self.file.kept += 1;
        let number = found.line_number().unwrap_or(0);
        for (at, line) in (0..).zip(found.lines().take(MAX_SPAN)) {
            let start = |bytes: &[u8]| self.matcher.find(bytes).ok().flatten().map_or(0, |at| at.start());
            let role = if at == 0 { Role::Match } else { Role::More };
            self.file.lines.push(Line { number: number + at, text: piece(line, start), role });
        }
    }
}

impl Sink for Found<'_> {
    type Error = io::Error;

    fn matched(&mut self, _searcher: &Searcher, found: &SinkMatch<'_>) -> Result<bool, io::Error> {
        self.file.count += 1;
        let go_on = match self.want {
            Want::Lines { .. } => {
                if self.file.kept < self.max {
                    self.keep(found);
                }
                true
            }
            Want::Counts => true,
            Want::Names => false,
        };
        Ok(go_on && !self.stop.load(Ordering::Relaxed))
    }

    fn context(&mut self, _searcher: &Searcher, line: &SinkContext<'_>) -> Result<bool, io::Error> {
        let number = line.line_number().unwrap_or(0);
        let wanted = match line.kind() {
            SinkContextKind::Before | SinkContextKind::Other => self.file.kept < self.max,
            // Also what follows the last match that is kept, but not those that are only counted.
            SinkContextKind::After => self.file.lines.last().is_some_and(|last| last.number + 1 == number),
        };
        if wanted {
            self.file.lines.push(Line { number, text: piece(line.bytes(), |_| 0), role: Role::Near });
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

    const ALL: Want = Want::Lines { context: 0 };

    fn find(pattern: &str, text: &[u8], want: Want, max: usize, max_bytes: u64) -> InFile {
        let stop = AtomicBool::new(false);
        let pattern = LinePattern::new(pattern).unwrap();
        let search = |size: u64| Lines::new(&pattern, want, max, &stop).search_up_to(text, size, max_bytes);
        // What a file says of its size only tells how to go about it.
        let found = search(text.len() as u64);
        for other in [0, text.len() as u64 / 2, text.len() as u64 + 9, u64::MAX] {
            assert_eq!(search(other), found, "as if it had {other} bytes");
        }
        found
    }

    #[track_caller]
    fn check(pattern: &str, text: &[u8], want: &[(u64, &str)]) {
        let found = find(pattern, text, ALL, 9, u64::MAX);
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
        check(r"\Ab", b"b\nb\n", &[(1, "b"), (2, "b")]);
        check("^b", b"\xef\xbb\xbfb\nb", &[(1, "b"), (2, "b")]);
        check("x", b"", &[]);
    }

    #[test]
    fn all_matches_are_counted_and_the_first_ones_kept() {
        let found = find("x", b"x\nx\nx\n", ALL, 2, u64::MAX);
        assert_eq!((found.lines.len(), found.kept, found.count), (2, 2, 3));
        let found = find("x", b"x\nx\nx\n", Want::Counts, 2, u64::MAX);
        assert_eq!((found.lines.len(), found.kept, found.count), (0, 0, 3));
        let found = find("x", b"x\nx\nx\n", Want::Names, 2, u64::MAX);
        assert_eq!((found.lines.len(), found.kept, found.count), (0, 0, 1));
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
            let found = find("x", text, ALL, 9, max_bytes);
            assert_eq!((found.count, found.cut), (count, cut), "{max_bytes}");
        };
        row(8, 4, false);
        row(7, 4, true);
        row(4, 2, true);
        row(9, 4, false);
        // One line of more than the searcher may hold.
        let long = vec![b'x'; MAX_HEAP + 1024];
        let found = find("y", &long, ALL, 9, u64::MAX);
        assert!(found.cut);
    }

    #[test]
    fn of_a_long_line_the_piece_around_the_match_is_kept() {
        let text = |line: String| find("needle", line.as_bytes(), ALL, 1, u64::MAX).lines.remove(0).text;
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

    /// Lines by their numbers: `3` matches, `3+` goes on with a match, `3-` is near one.
    fn roles(found: &InFile) -> String {
        let sign = |role| match role {
            Role::Match => "",
            Role::More => "+",
            Role::Near => "-",
        };
        found.lines.iter().map(|line| format!("{}{}", line.number, sign(line.role))).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn lines_around_a_match_come_with_it() {
        let row = |context: usize, max: usize, text: &str, want: &str, count: usize| {
            let found = find("x", text.as_bytes(), Want::Lines { context }, max, u64::MAX);
            assert_eq!(
                (roles(&found).as_str(), found.count),
                (want, count),
                "{text:?}, {context} around, at most {max}"
            );
        };
        row(0, 9, "1\nx\n3\n", "2", 1);
        row(1, 9, "1\n2\nx\n4\n5\n", "2- 3 4-", 1);
        row(2, 9, "x\n2", "1 2-", 1);
        row(1, 9, "x\n2\nx\n4\n5\n6\nx", "1 2- 3 4- 6- 7", 3);
        // Of those that are only counted nothing is kept, not even what is around them.
        row(1, 1, "x\n2\n3\nx\n5\n", "1 2-", 2);
        row(1, 1, "x\nx\n3\n", "1", 2);
        row(2, 1, "x\n2\nx\n4\n", "1 2-", 2);
    }

    #[test]
    fn a_match_of_several_lines_has_all_of_them() {
        let row = |pattern: &str, text: &str, want: &str, count: usize| {
            let found = find(pattern, text.as_bytes(), Want::Lines { context: 1 }, 9, u64::MAX);
            assert_eq!((roles(&found).as_str(), found.count), (want, count), "{pattern} in {text:?}");
        };
        row(r"a\nb", "0\na\nb\n3\n", "1- 2 3+ 4-", 1);
        row(r"(?s)a.*c", "a\nb\nc", "1 2+ 3+", 1);
        row(r"a[\s\S]*?c", "a\nc\n3\n4\na\n\nc\n", "1 2+ 3- 4- 5 6+ 7+", 2);
        row(r"^b$\n", "a\nb\nbc\n", "1- 2 3-", 1);
        let long = format!("a\n{}c", "b\n".repeat(100));
        let found = find("(?s)a.*c", long.as_bytes(), ALL, 9, u64::MAX);
        assert_eq!((found.lines.len(), found.count), (MAX_SPAN, 1));
        assert_eq!(find("(?s)a.*c", b"a\nc\0", ALL, 9, u64::MAX), InFile::default());
        let wide: Vec<u8> =
            [0xfeff_u16].into_iter().chain("a\nb\n".encode_utf16()).flat_map(u16::to_le_bytes).collect();
        assert_eq!(find(r"a\nb", &wide, ALL, 9, u64::MAX).count, 1);
    }

    #[test]
    fn what_takes_a_whole_file_is_searched_as_far_as_it_may_be_in_memory() {
        let mut text = b"a\nb\n".to_vec();
        text.resize(MAX_HEAP, b'x');
        let row = |text: &[u8], cut: bool| {
            let stop = AtomicBool::new(false);
            let found = Lines::new(&LinePattern::new(r"a\nb").unwrap(), ALL, 9, &stop).search(text, text.len() as u64);
            assert_eq!((found.count, found.cut), (1, cut), "{}", text.len());
        };
        row(&text, false);
        text.push(b'x');
        row(&text, true);
    }

    /// A file that never ends. Somebody stops waiting when it is looked at for the third time.
    struct Endless<'a> {
        stop: &'a AtomicBool,
        looks: &'a mut usize,
    }

    impl Read for Endless<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            *self.looks += 1;
            if *self.looks == 3 {
                self.stop.store(true, Ordering::Relaxed);
            }
            buffer.iter_mut().zip(b"x\n".iter().cycle()).for_each(|(to, from)| *to = *from);
            Ok(buffer.len())
        }
    }

    #[test]
    fn a_stop_ends_the_search_of_a_file_at_the_next_piece() {
        for (pattern, size) in [("y", 0), ("y", u64::MAX), ("x", u64::MAX), (r"a\nb", u64::MAX)] {
            let (stop, mut looks) = (AtomicBool::new(false), 0);
            let pattern = LinePattern::new(pattern).unwrap();
            let file = Endless { stop: &stop, looks: &mut looks };
            Lines::new(&pattern, ALL, 9, &stop).search(file, size);
            assert!(looks <= 3, "{looks} looks for {pattern:?}");
        }
    }
}
