//! A page of a text that comes in pieces. Pure; keeps no more in memory than the page.

use encoding_rs::{Decoder, Encoding};
use memchr::memchr2;

use crate::text::{MAX_LINE, cut_line, ends};

/// More bytes of a line than this are never needed: they make up more than [`MAX_LINE`] characters, whatever they are.
const MAX_LINE_BYTES: usize = 4 * MAX_LINE + 4;
/// Most bytes of a page, without line numbers.
const MAX_PAGE: usize = 50 * 1024;
/// Lines that nobody wants are counted in blocks of so many bytes, which stay in the processor's cache meanwhile.
const BLOCK: usize = 64 * 1024;

/// Collects a page. A line ends with a line feed, a carriage return, or both.
pub(super) struct Pager {
    first: usize,
    limit: usize,
    /// Whether lines behind the page are counted.
    count: bool,
    /// Makes UTF-8 of another encoding, and where it puts it.
    decoder: Option<(Decoder, String)>,
    lines: Vec<String>,
    size: usize,
    /// Lines that have ended.
    seen: usize,
    line: Vec<u8>,
    in_line: bool,
    after_return: bool,
    /// The bytes of the page's lines, and whether all of them are UTF-8.
    raw: Vec<u8>,
    is_utf8: bool,
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
    /// The bytes of its lines as they are in the file, at least what is shown of each, where they are no UTF-8.
    pub(super) raw: Option<Vec<u8>>,
    stop: Stop,
}

impl Pager {
    /// A page of `limit` lines from line `first` (from 1) on.
    pub(super) fn new(first: usize, limit: usize, count: bool) -> Self {
        Self {
            first,
            limit,
            count,
            decoder: None,
            lines: Vec::new(),
            size: 0,
            seen: 0,
            line: Vec::new(),
            in_line: false,
            after_return: false,
            raw: Vec::new(),
            is_utf8: true,
            stop: Stop::End,
        }
    }

    /// The same of a text in `encoding`.
    pub(super) fn decoding(self, encoding: &'static Encoding) -> Self {
        Self { decoder: Some((encoding.new_decoder_without_bom_handling(), String::new())), ..self }
    }

    /// Takes the next piece of the text.
    pub(super) fn push(&mut self, piece: &[u8]) -> Wants {
        let Some((mut decoder, mut text)) = self.decoder.take() else { return self.push_decoded(piece) };
        decode(&mut decoder, &mut text, piece, false);
        let wants = self.push_decoded(text.as_bytes());
        self.decoder = Some((decoder, text));
        wants
    }

    fn push_decoded(&mut self, mut piece: &[u8]) -> Wants {
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
            let taken = if self.is_wanted() { self.take(piece) } else { self.skip(piece) };
            if self.stop == Stop::Bytes {
                return Wants::Nothing;
            }
            self.after_return = piece[taken - 1] == b'\r';
            piece = &piece[taken..];
        }
        Wants::More
    }

    /// The page, after the last piece or when nothing more is wanted.
    pub(super) fn finish(mut self) -> Page {
        if let Some((mut decoder, mut text)) = self.decoder.take() {
            decode(&mut decoder, &mut text, b"", true);
            let _ = self.push_decoded(text.as_bytes());
        }
        if self.in_line {
            self.end_line();
        }
        let raw = (!self.is_utf8).then_some(self.raw);
        Page { first: self.first, lines: self.lines, seen: self.seen, raw, stop: self.stop }
    }

    /// Whether the page has all its lines, so that every further line is behind it.
    fn is_full(&self) -> bool {
        self.seen + 1 >= self.first && self.lines.len() == self.limit
    }

    fn is_wanted(&self) -> bool {
        self.seen + 1 >= self.first && self.lines.len() < self.limit && self.stop != Stop::Bytes
    }

    /// Takes what there is of a line of the page, and its end; says how many bytes that are.
    fn take(&mut self, piece: &[u8]) -> usize {
        let end = memchr2(b'\n', b'\r', piece);
        let bytes = &piece[..end.unwrap_or(piece.len())];
        self.in_line = true;
        let room = MAX_LINE_BYTES - self.line.len();
        self.line.extend_from_slice(&bytes[..bytes.len().min(room)]);
        if end.is_some() {
            self.end_line();
        }
        bytes.len() + usize::from(end.is_some())
    }

    /// Counts lines before the page, up to its first one, or behind it; says how many bytes they are.
    fn skip(&mut self, piece: &[u8]) -> usize {
        let block = &piece[..piece.len().min(BLOCK)];
        let (ends, before) = (ends::count(block), self.first.saturating_sub(self.seen + 1));
        let first = if (1..=ends).contains(&before) { ends::after(block, before) } else { None };
        let (ends, taken) = first.map_or((ends, block.len()), |at| (before, at));
        self.seen += ends;
        self.in_line = !matches!(block[taken - 1], b'\n' | b'\r');
        taken
    }

    fn end_line(&mut self) {
        self.in_line = false;
        let wanted = self.is_wanted();
        self.seen += 1;
        if !wanted {
            return;
        }
        self.is_utf8 &= match std::str::from_utf8(&self.line) {
            Ok(_) => true,
            // What is kept of a long line may end within a character.
            Err(error) => error.error_len().is_none() && self.line.len() == MAX_LINE_BYTES,
        };
        let line = String::from_utf8_lossy(&self.line);
        // The very first one may begin with a byte order mark.
        let bare = if self.seen == 1 { line.strip_prefix('\u{feff}').unwrap_or(&line) } else { &line };
        let line = cut_line(bare).into_owned();
        let more = line.len() + usize::from(!self.lines.is_empty());
        if self.size + more > MAX_PAGE {
            self.stop = Stop::Bytes;
        } else {
            self.size += more;
            self.lines.push(line);
            self.raw.extend_from_slice(&self.line);
            self.raw.push(b'\n');
        }
        self.line.clear();
    }
}

/// `piece` as text, in place of what `text` held before.
fn decode(decoder: &mut Decoder, text: &mut String, piece: &[u8], last: bool) {
    text.clear();
    let room = decoder.max_utf8_buffer_length(piece.len()).unwrap_or(piece.len().saturating_mul(3));
    text.reserve(room);
    let _ = decoder.decode_to_string(piece, text, last);
}

impl Page {
    /// The same page with its lines decoded from `encoding`, where they are no UTF-8.
    pub(super) fn decoded(self, encoding: &'static Encoding) -> Self {
        let Some(raw) = &self.raw else { return self };
        let mut pager = Pager::new(1, self.lines.len(), true).decoding(encoding);
        let _ = pager.push(raw);
        let Page { lines, stop, .. } = pager.finish();
        let stop = if stop == Stop::Bytes { stop } else { self.stop };
        Self { lines, stop, raw: None, ..self }
    }

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

    /// The closing remark for the model, about a file of `size` bytes.
    pub(super) fn remark(&self, size: u64) -> String {
        let (first, last, seen) = (self.first, self.last(), self.seen);
        let next = last + 1;
        match self.stop {
            Stop::End => format!("(End of file - total {seen} lines)"),
            Stop::Lines { counted: true } => {
                format!("(Showing lines {first}-{last} of {seen}. Use offset={next} to continue.)")
            }
            Stop::Lines { counted: false } => {
                let size = size.div_ceil(1024 * 1024);
                format!(
                    "(Showing lines {first}-{last}. There are more in this file of {size} MB. Use offset={next} to continue.)"
                )
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
    use crate::text::LINE_CUT;

    /// Pages the text whole and in pieces of every small size: it must make no difference.
    #[track_caller]
    fn check(text: &[u8], first: usize, limit: usize, lines: &[&str], remark: &str) {
        for size in [text.len().max(1), 1, 2, 3] {
            let mut pager = Pager::new(first, limit, true);
            let _ = text.chunks(size).all(|piece| pager.push(piece) == Wants::More);
            let page = pager.finish();
            assert_eq!(page.lines, lines, "pieces of {size}");
            assert_eq!(page.remark(0), remark, "pieces of {size}");
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
    fn lines_before_the_page_are_counted_by_blocks() {
        for end in ["\n", "\r", "\r\n"] {
            let text: String = (1..=30_000).map(|number| format!("line {number}{end}")).collect();
            for first in [2, 7_000, 7_281, 7_282, 29_999] {
                let (one, two) = (format!("line {first}"), format!("line {}", first + 1));
                let remark = match first {
                    29_999 => "(End of file - total 30000 lines)".to_owned(),
                    _ => {
                        format!("(Showing lines {first}-{} of 30000. Use offset={} to continue.)", first + 1, first + 2)
                    }
                };
                check(text.as_bytes(), first, 2, &[&one, &two], &remark);
            }
        }
    }

    #[test]
    fn utf_16_is_paged_as_it_comes() {
        let text: String = (1..=5_000).map(|number| format!("größe {number} 😀\r\n")).collect();
        let bytes: Vec<u8> = format!("\u{feff}{text}").encode_utf16().flat_map(u16::to_be_bytes).collect();
        for size in [bytes.len(), 1, 3, 4096] {
            let mut pager = Pager::new(4_999, 5, true).decoding(encoding_rs::UTF_16BE);
            let _ = bytes.chunks(size).all(|piece| pager.push(piece) == Wants::More);
            let page = pager.finish();
            assert_eq!(page.lines, ["größe 4999 😀", "größe 5000 😀"], "pieces of {size}");
            assert_eq!((page.seen, page.raw), (5_000, None));
        }
        let mut pager = Pager::new(1, 1, true).decoding(encoding_rs::UTF_16BE);
        let _ = pager.push(&bytes);
        assert_eq!(pager.finish().lines, ["größe 1 😀"]);
    }

    #[test]
    fn a_page_that_is_no_utf_8_can_be_decoded() {
        let page = |text: &[u8]| {
            let mut pager = Pager::new(2, 2, false);
            let _ = pager.push(text);
            pager.finish()
        };
        let one = page(b"\xe4\ncaf\xe9\r\nplain\nmore");
        assert_eq!(one.lines, ["caf\u{fffd}", "plain"]);
        let one = one.decoded(encoding_rs::WINDOWS_1252);
        assert_eq!((one.lines.as_slice(), one.is_cut()), (&["café".to_owned(), "plain".to_owned()][..], true));
        // It says nothing about other lines, nor about a line that is cut.
        assert_eq!(page(b"\xe4\none\ntwo\n\xe4").raw, None);
        assert_eq!(page(format!("\n{}", "漢".repeat(9000)).as_bytes()).raw, None);
        let long = [0xe4; 1900].as_slice();
        let grown = page(&[b"\n".as_slice(), long, b"\n", long].concat());
        assert_eq!(grown.decoded(encoding_rs::WINDOWS_1252).lines, ["ä".repeat(1900), "ä".repeat(1900)]);
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
        let want = "(Showing lines 1-1. There are more in this file of 9 MB. Use offset=2 to continue.)";
        assert_eq!(pager.finish().remark(8 * 1024 * 1024 + 1), want);
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
