//! A page of a text that comes in pieces. Pure; keeps no more in memory than the page.

/// Most characters of a line, as UTF-16 counts them.
const MAX_LINE: usize = 2000;
/// What stands for the rest of a line.
const LINE_CUT: &str = "... (line truncated to 2000 chars)";
/// More bytes of a line than this are never needed: they make up more than [`MAX_LINE`] characters, whatever they are.
const MAX_LINE_BYTES: usize = 4 * MAX_LINE + 4;
/// Most bytes of a page, without line numbers.
const MAX_PAGE: usize = 50 * 1024;

/// Collects a page. A line ends with a line feed, a carriage return, or both.
pub(super) struct Pager {
    first: usize,
    limit: usize,
    /// Whether lines behind the page are counted.
    count: bool,
    lines: Vec<String>,
    size: usize,
    /// Lines that have ended.
    seen: usize,
    line: Vec<u8>,
    in_line: bool,
    after_return: bool,
    stop: Stop,
}

/// Whether a pager needs what comes next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wants {
    More,
    Nothing,
}

/// Why a page ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stop {
    /// The text did.
    End,
    /// It has as many lines as were wanted, and there are more.
    Lines {
        /// Whether all lines were counted.
        counted: bool,
    },
    /// The next line made it too large.
    Bytes,
}

/// A page.
#[derive(Debug)]
pub(super) struct Page {
    /// Number of its first line, from 1.
    pub(super) first: usize,
    /// Its lines, without their ends.
    pub(super) lines: Vec<String>,
    /// How many lines were seen in all.
    pub(super) seen: usize,
    stop: Stop,
}

impl Pager {
    /// A page of `limit` lines from line `first` (from 1) on.
    pub(super) fn new(first: usize, limit: usize, count: bool) -> Self {
        Self {
            first,
            limit,
            count,
            lines: Vec::new(),
            size: 0,
            seen: 0,
            line: Vec::new(),
            in_line: false,
            after_return: false,
            stop: Stop::End,
        }
    }

    /// Takes the next piece of the text.
    pub(super) fn push(&mut self, mut piece: &[u8]) -> Wants {
        while let Some(&byte) = piece.first() {
            if std::mem::take(&mut self.after_return) && byte == b'\n' {
                piece = &piece[1..];
                continue;
            }
            if self.is_full() {
                self.stop = Stop::Lines { counted: self.count };
                if !self.count {
                    return Wants::Nothing;
                }
            }
            let end = piece.iter().position(|&byte| matches!(byte, b'\n' | b'\r'));
            self.grow(&piece[..end.unwrap_or(piece.len())]);
            let Some(end) = end else { return Wants::More };
            self.after_return = piece[end] == b'\r';
            piece = &piece[end + 1..];
            self.end_line();
            if self.stop == Stop::Bytes {
                return Wants::Nothing;
            }
        }
        Wants::More
    }

    /// The page, after the last piece or when nothing more is wanted.
    pub(super) fn finish(mut self) -> Page {
        if self.in_line {
            self.end_line();
        }
        Page { first: self.first, lines: self.lines, seen: self.seen, stop: self.stop }
    }

    /// Whether the page has all its lines, so that every further line is behind it.
    fn is_full(&self) -> bool {
        self.seen + 1 >= self.first && self.lines.len() == self.limit
    }

    fn is_wanted(&self) -> bool {
        self.seen + 1 >= self.first && self.lines.len() < self.limit && self.stop != Stop::Bytes
    }

    fn grow(&mut self, bytes: &[u8]) {
        self.in_line = true;
        if self.is_wanted() {
            let room = MAX_LINE_BYTES - self.line.len();
            self.line.extend_from_slice(&bytes[..bytes.len().min(room)]);
        }
    }

    fn end_line(&mut self) {
        self.in_line = false;
        let wanted = self.is_wanted();
        self.seen += 1;
        if !wanted {
            return;
        }
        let line = cut(&String::from_utf8_lossy(&self.line), self.seen == 1);
        self.line.clear();
        let more = line.len() + usize::from(!self.lines.is_empty());
        if self.size + more > MAX_PAGE {
            self.stop = Stop::Bytes;
        } else {
            self.size += more;
            self.lines.push(line);
        }
    }
}

/// A line of at most [`MAX_LINE`] characters. The very first one may begin with a byte order mark.
fn cut(line: &str, very_first: bool) -> String {
    let line = if very_first { line.strip_prefix('\u{feff}').unwrap_or(line) } else { line };
    let mut units = 0;
    for (at, character) in line.char_indices() {
        units += character.len_utf16();
        if units > MAX_LINE {
            return format!("{}{LINE_CUT}", &line[..at]);
        }
    }
    line.to_owned()
}

impl Page {
    /// Number of its last line; one less than the first when it has none.
    pub(super) fn last(&self) -> usize {
        self.first + self.lines.len() - 1
    }

    /// Whether there is more behind it.
    pub(super) fn is_cut(&self) -> bool {
        self.stop != Stop::End
    }

    /// Whether the text ended before it. The first line of an empty text is not behind its end.
    pub(super) fn is_past_the_end(&self) -> bool {
        self.seen < self.first && self.first > 1
    }

    /// The closing remark for the model.
    pub(super) fn remark(&self) -> String {
        let (first, last, seen) = (self.first, self.last(), self.seen);
        let next = last + 1;
        match self.stop {
            Stop::End => format!("(End of file - total {seen} lines)"),
            Stop::Lines { counted: true } => {
                format!("(Showing lines {first}-{last} of {seen}. Use offset={next} to continue.)")
            }
            Stop::Lines { counted: false } => {
                format!("(Showing lines {first}-{last}. Use offset={next} to continue.)")
            }
            Stop::Bytes => {
                format!("(Output capped at 50 KB. Showing lines {first}-{last}. Use offset={next} to continue.)")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Pages the text whole and in pieces of every small size: it must make no difference.
    #[track_caller]
    fn check(text: &[u8], first: usize, limit: usize, lines: &[&str], remark: &str) {
        for size in [text.len().max(1), 1, 2, 3] {
            let mut pager = Pager::new(first, limit, true);
            let _ = text.chunks(size).all(|piece| pager.push(piece) == Wants::More);
            let page = pager.finish();
            assert_eq!(page.lines, lines, "pieces of {size}");
            assert_eq!(page.remark(), remark, "pieces of {size}");
        }
    }

    #[test]
    fn a_text_that_fits() {
        check(b"", 1, 9, &[], "(End of file - total 0 lines)");
        check(b"a", 1, 9, &["a"], "(End of file - total 1 lines)");
        check(b"a\nb\n", 1, 9, &["a", "b"], "(End of file - total 2 lines)");
        check(b"\n\n", 1, 9, &["", ""], "(End of file - total 2 lines)");
    }

    #[test]
    fn every_kind_of_line_end_is_one() {
        check(b"a\r\nb\rc\nd\r\r\ne", 1, 9, &["a", "b", "c", "d", "", "e"], "(End of file - total 6 lines)");
        check(b"a\r\n", 1, 1, &["a"], "(End of file - total 1 lines)");
    }

    #[test]
    fn marks_and_broken_characters() {
        check("\u{feff}a\n\u{feff}b".as_bytes(), 1, 9, &["a", "\u{feff}b"], "(End of file - total 2 lines)");
        check(b"a\xffb", 1, 9, &["a\u{fffd}b"], "(End of file - total 1 lines)");
        check("é\u{2028}漢".as_bytes(), 1, 9, &["é\u{2028}漢"], "(End of file - total 1 lines)");
    }

    #[test]
    fn a_page_in_the_middle() {
        let text = b"1\n2\n3\n4\n5\n";
        check(text, 2, 2, &["2", "3"], "(Showing lines 2-3 of 5. Use offset=4 to continue.)");
        check(text, 4, 2, &["4", "5"], "(End of file - total 5 lines)");
        check(text, 1, 0, &[], "(Showing lines 1-0 of 5. Use offset=1 to continue.)");
        check(text, 6, 2, &[], "(End of file - total 5 lines)");
    }

    #[test]
    fn a_page_behind_the_end_is_told() {
        let past = |text: &[u8], first| {
            let mut pager = Pager::new(first, 9, true);
            pager.push(text);
            pager.finish().is_past_the_end()
        };
        assert!(past(b"a\n", 2) && past(b"", 2));
        assert!(!past(b"a\nb", 2) && !past(b"", 1));
    }

    #[test]
    fn long_lines_are_cut_between_characters() {
        let cut = |unit: &str, times| format!("{}{LINE_CUT}", unit.repeat(times));
        check("w".repeat(2000).as_bytes(), 1, 9, &[&"w".repeat(2000)], "(End of file - total 1 lines)");
        check("w".repeat(2001).as_bytes(), 1, 9, &[&cut("w", 2000)], "(End of file - total 1 lines)");
        check("漢".repeat(9000).as_bytes(), 1, 9, &[&cut("漢", 2000)], "(End of file - total 1 lines)");
        check("😀".repeat(9000).as_bytes(), 1, 9, &[&cut("😀", 1000)], "(End of file - total 1 lines)");
        check(&[b'\xff'; 9000], 1, 9, &[&cut("\u{fffd}", 2000)], "(End of file - total 1 lines)");
    }

    #[test]
    fn a_page_is_never_larger_than_its_limit() {
        let line = format!("{}\n", "b".repeat(1023));
        let text = line.repeat(60);
        let want = vec![line.trim_end(); 50];
        let remark = "(Output capped at 50 KB. Showing lines 1-50. Use offset=51 to continue.)";
        check(text.as_bytes(), 1, 2000, &want, remark);
    }

    #[test]
    fn without_counting_it_stops_where_the_page_does() {
        let mut pager = Pager::new(1, 1, false);
        assert_eq!(pager.push(b"a\n"), Wants::More);
        assert_eq!(pager.push(b"b"), Wants::Nothing);
        assert_eq!(pager.finish().remark(), "(Showing lines 1-1. Use offset=2 to continue.)");
    }

    #[test]
    fn a_huge_line_takes_no_memory() {
        let mut pager = Pager::new(1, 9, true);
        for _ in 0..1000 {
            pager.push(&[b'x'; 10_000]);
            assert!(pager.line.capacity() <= 2 * MAX_LINE_BYTES);
        }
        let mut pager = Pager::new(2, 9, true);
        pager.push(&[b'x'; 10_000]);
        assert_eq!(pager.line.capacity(), 0);
    }
}
