//! What a command wrote as plain text: what a person would have read on a terminal, line by line. Pure.
//!
//! Escape sequences are left out. A carriage return, a backspace and the sequences that move within a line or erase in
//! it do to the line what they do on a terminal, so that of a progress bar its last state is left. Other control
//! characters become pictures (`␀`), what is no UTF-8 becomes `�`.

/// Longest line that can still be changed, in characters. The beginning of a longer one is settled.
pub(crate) const MAX_LINE: usize = 16 * 1024;
/// How far the place in a line can be moved beyond its end.
const WIDTH: usize = 512;
/// Longest sequence that moves the place or sets colours, in bytes. A longer one is none.
const MAX_SEQUENCE: usize = 64;
/// Longest text for the terminal itself (a title, an address, a picture), in bytes. Of a longer one the rest is shown.
const MAX_HIDDEN: usize = 64 * 1024;

/// Turns bytes into plain text as they come. However they are cut, the text is the same.
#[derive(Debug, Default)]
pub(crate) struct Plain {
    state: State,
    line: Line,
    /// Where in the line the next character goes. It may be behind its end.
    at: usize,
    /// The beginning of a character, 3 bytes at most.
    begun: Vec<u8>,
}

/// The line that is not ended yet.
#[derive(Debug, Default)]
struct Line {
    /// As text, which most lines stay to their end.
    text: String,
    /// In its place once something in the line was changed.
    cells: Option<Vec<char>>,
    /// How many characters there are.
    len: usize,
}

#[derive(Debug, Default)]
enum State {
    #[default]
    Ground,
    /// After an escape character.
    Escape,
    /// In a sequence, with what came of it.
    Sequence(Vec<u8>),
    /// In a text for the terminal itself. `title` ends at a line feed too, `escaped` is after an escape character.
    Hidden { title: bool, escaped: bool, length: usize },
}

impl Plain {
    /// Reads `bytes` and hands settled text to `out`.
    pub(crate) fn push(&mut self, bytes: &[u8], out: &mut impl FnMut(&str)) {
        let mut rest = bytes;
        while let Some(&first) = rest.first() {
            let taken = match self.state {
                State::Ground if self.begun.is_empty() => self.many(rest, out),
                State::Ground | State::Escape | State::Sequence(_) | State::Hidden { .. } => 0,
            };
            if taken == 0 {
                self.byte(first, out);
                rest = &rest[1..];
            } else {
                rest = &rest[taken..];
            }
        }
    }

    /// The line that is not ended yet, as it is now.
    pub(crate) fn line(&self) -> String {
        match &self.line.cells {
            None => self.line.text.clone(),
            Some(cells) => cells.iter().collect(),
        }
    }

    /// The end of all: settles what is left.
    pub(crate) fn finish(&mut self, out: &mut impl FnMut(&str)) {
        if !self.begun.is_empty() {
            self.begun.clear();
            self.print(char::REPLACEMENT_CHARACTER, out);
        }
        self.settle(out);
    }

    /// Takes several bytes at once where they are what most bytes are. Gives how many it took.
    fn many(&mut self, bytes: &[u8], out: &mut impl FnMut(&str)) -> usize {
        if let Some(sequence) = bytes.strip_prefix(b"\x1b[") {
            let length = sequence.iter().take(MAX_SEQUENCE).take_while(|&byte| (b' '..=b'?').contains(byte)).count();
            return match sequence.get(length) {
                Some(&last @ b'@'..=b'~') => {
                    self.sequence(&sequence[..length], last, out);
                    length + 3
                }
                Some(_) | None => 0,
            };
        }
        if self.at != self.line.len {
            return 0;
        }
        let simple = simple(bytes);
        // It is ASCII.
        self.run(std::str::from_utf8(&bytes[..simple]).unwrap_or_default(), out);
        simple
    }

    /// Text of which each character simply goes behind the others, or ends the line.
    fn run(&mut self, text: &str, out: &mut impl FnMut(&str)) {
        let mut rest = text;
        if let Some(feed) = text.rfind('\n') {
            self.settle(out);
            out(&text[..=feed]);
            rest = &text[feed + 1..];
        }
        while self.line.len + rest.len() >= MAX_LINE {
            let (full, more) = rest.split_at(MAX_LINE - self.line.len);
            self.settle(out);
            out(full);
            rest = more;
        }
        self.line.push(rest);
        self.at = self.line.len;
    }

    fn byte(&mut self, byte: u8, out: &mut impl FnMut(&str)) {
        match std::mem::take(&mut self.state) {
            State::Ground => self.ground(byte, out),
            State::Escape => match byte {
                b'[' => self.state = State::Sequence(Vec::new()),
                b']' => self.state = State::Hidden { title: true, escaped: false, length: 0 },
                b'P' | b'X' | b'^' | b'_' => self.state = State::Hidden { title: false, escaped: false, length: 0 },
                b' '..=b'/' | 0x1b => self.state = State::Escape,
                b'0'..=b'~' => {}
                _ => self.ground(byte, out),
            },
            State::Sequence(mut so_far) => match byte {
                b' '..=b'?' if so_far.len() < MAX_SEQUENCE => {
                    so_far.push(byte);
                    self.state = State::Sequence(so_far);
                }
                b'@'..=b'~' => self.sequence(&so_far, byte, out),
                _ => self.ground(byte, out),
            },
            State::Hidden { title, escaped, length } => match byte {
                b'\\' if escaped => {}
                _ if escaped => {
                    self.state = State::Escape;
                    self.byte(byte, out);
                }
                0x07 | 0x18 | 0x1a => {}
                b'\n' if title => self.ground(byte, out),
                _ if length == MAX_HIDDEN => self.ground(byte, out),
                _ => self.state = State::Hidden { title, escaped: byte == 0x1b, length: length + 1 },
            },
        }
    }

    fn ground(&mut self, byte: u8, out: &mut impl FnMut(&str)) {
        match byte {
            _ if byte >= 0x80 || !self.begun.is_empty() => self.wide(byte, out),
            b'\n' => self.feed(out),
            b'\r' => self.at = 0,
            0x08 => self.at = self.at.saturating_sub(1),
            0x1b => self.state = State::Escape,
            // The bell, and a change between alphabets that nobody uses.
            0x07 | 0x0e | 0x0f => {}
            b'\t' | b' '..=b'~' => self.print(char::from(byte), out),
            0x7f => self.print('\u{2421}', out),
            _ => self.print(char::from_u32(0x2400 + u32::from(byte)).unwrap_or(char::REPLACEMENT_CHARACTER), out),
        }
    }

    /// A byte of a character of several.
    fn wide(&mut self, byte: u8, out: &mut impl FnMut(&str)) {
        self.begun.push(byte);
        let wrong = match std::str::from_utf8(&self.begun) {
            Ok(text) => {
                let sign = text.chars().next();
                self.begun.clear();
                // Those up to U+009F are control characters of an older kind.
                if let Some(sign) = sign.filter(|&sign| sign >= '\u{a0}') {
                    self.print(sign, out);
                }
                return;
            }
            Err(error) => error.error_len(),
        };
        let Some(wrong) = wrong else { return };
        let begun = std::mem::take(&mut self.begun);
        self.print(char::REPLACEMENT_CHARACTER, out);
        for &byte in &begun[wrong..] {
            self.byte(byte, out);
        }
    }

    fn sequence(&mut self, so_far: &[u8], last: u8, out: &mut impl FnMut(&str)) {
        let first = so_far.split(|&byte| byte == b';').next().unwrap_or_default();
        let number = std::str::from_utf8(first).ok().and_then(|number| number.parse::<usize>().ok());
        let count = number.unwrap_or(1).max(1);
        match last {
            b'm' => {}
            b'C' => self.go(self.at.saturating_add(count)),
            b'D' => self.go(self.at.saturating_sub(count)),
            b'G' | b'`' => self.go(count - 1),
            b'K' => match number {
                None | Some(0) => self.truncate(),
                Some(1) => self.blank(0, self.at + 1),
                Some(_) => self.line.clear(),
            },
            b'X' => self.blank(self.at, self.at.saturating_add(count)),
            b'P' => {
                let end = self.at.saturating_add(count).min(self.line.len);
                let cells = self.line.cells();
                cells.drain(self.at.min(end)..end);
                self.line.len = cells.len();
            }
            b'J' if number.unwrap_or(0) == 0 => self.truncate(),
            // To other lines: what comes next is not behind what is here.
            b'A' | b'B' | b'E' | b'F' | b'H' | b'J' | b'd' | b'f' if self.line.len > 0 => self.feed(out),
            _ => {}
        }
    }

    fn go(&mut self, to: usize) {
        self.at = to.min(self.line.len.max(WIDTH));
    }

    fn truncate(&mut self) {
        if self.at == 0 {
            self.line.clear();
        } else if self.at < self.line.len {
            self.line.cells().truncate(self.at);
            self.line.len = self.at;
        }
    }

    fn blank(&mut self, from: usize, to: usize) {
        let to = to.min(self.line.len);
        self.line.cells()[from.min(to)..to].fill(' ');
    }

    fn print(&mut self, sign: char, out: &mut impl FnMut(&str)) {
        if self.at < self.line.len {
            self.line.cells()[self.at] = sign;
        } else {
            while self.line.len < self.at {
                self.line.push(" ");
            }
            self.line.push(sign.encode_utf8(&mut [0; 4]));
        }
        self.at += 1;
        if self.line.len >= MAX_LINE {
            self.settle(out);
        }
    }

    fn feed(&mut self, out: &mut impl FnMut(&str)) {
        self.settle(out);
        out("\n");
    }

    /// Hands the line out and begins anew behind it.
    fn settle(&mut self, out: &mut impl FnMut(&str)) {
        if self.line.len > 0 {
            match &self.line.cells {
                None => out(&self.line.text),
                Some(cells) => out(&cells.iter().collect::<String>()),
            }
            self.line.clear();
        }
        self.at = 0;
    }
}

impl Line {
    fn push(&mut self, text: &str) {
        match &mut self.cells {
            None => self.text.push_str(text),
            Some(cells) => cells.extend(text.chars()),
        }
        self.len += if text.is_ascii() { text.len() } else { text.chars().count() };
    }

    /// The characters, to change them.
    fn cells(&mut self) -> &mut Vec<char> {
        self.cells.get_or_insert_with(|| self.text.chars().collect())
    }

    fn clear(&mut self) {
        self.text.clear();
        self.cells = None;
        self.len = 0;
    }
}

/// How many bytes at the beginning of `bytes` are printable ASCII, tabulators and line feeds.
fn simple(bytes: &[u8]) -> usize {
    let plain = |byte: u8| (b' '..=b'~').contains(&byte) | (byte == b'\n') | (byte == b'\t');
    // Block by block, which the compiler turns into a few instructions each.
    let blocks = bytes.chunks_exact(64);
    let whole = blocks.take_while(|block| block.iter().fold(true, |all, &byte| all & plain(byte))).count() * 64;
    whole + bytes[whole..].iter().take_while(|&&byte| plain(byte)).count()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn plain<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> String {
        let (mut plain, mut text) = (Plain::default(), String::new());
        for piece in pieces {
            plain.push(piece, &mut |settled| text.push_str(settled));
            assert!(plain.line.len < MAX_LINE.max(WIDTH) && plain.begun.len() < 4);
        }
        plain.finish(&mut |settled| text.push_str(settled));
        text
    }

    #[track_caller]
    fn check(bytes: impl AsRef<[u8]>, want: &str) {
        let bytes = bytes.as_ref();
        assert_eq!(plain([bytes]), want);
        assert_eq!(plain(bytes.chunks(1)), want, "byte by byte");
    }

    #[test]
    fn text_is_left_alone() {
        check("", "");
        check("a\tb\n\n  c\n", "a\tb\n\n  c\n");
        check("é€😀\n", "é€😀\n");
        check("x".repeat(3 * MAX_LINE + 7) + "\ny", &("x".repeat(3 * MAX_LINE + 7) + "\ny"));
        check("é".repeat(MAX_LINE + 7) + "\n", &("é".repeat(MAX_LINE + 7) + "\n"));
    }

    #[test]
    fn colours_titles_and_addresses_are_left_out() {
        check("\x1b[31mred\x1b[0m\n", "red\n");
        check("\x1b[38;2;1;2;3mred\x1b[m", "red");
        check("\x1b]0;title\x07a\x1b]2;title\x1b\\b", "ab");
        check("\x1b]8;;http://x/\x1b\\here\x1b]8;;\x1b\\!", "here!");
        check("\x1bP1$r0m\x1b\\a\x1b_Gx=1;AAAA\nBBBB\x1b\\b", "ab");
        check("\x1b(Ba\x1b=b\x1b7c\x1bMd", "abcd");
        check("\x1b[?25la\x1b[?2004hb\x1b[>c", "ab");
    }

    #[test]
    fn what_ends_no_sequence_does_not_swallow_what_follows() {
        check("a\x1b", "a");
        check("a\x1b[3", "a");
        check("\x1b[31\nb", "\nb");
        check("\x1b]0;title\nb", "\nb");
        check("\x1b]0;title\x1b[31mb", "b");
        check("\x1bPx\x18b", "b");
        check("\x1b\x1b[31mb", "b");
        check(format!("\x1b[{}x", "1".repeat(MAX_SEQUENCE + 2)), "11x");
        check(format!("\x1bP{}", "1".repeat(MAX_HIDDEN + 3)), "111");
    }

    #[test]
    fn a_line_is_left_in_its_last_state() {
        check("  1%\r 50%\r100%\ndone\n", "100%\ndone\n");
        check("a\r\nb\r\n", "a\nb\n");
        check("long line\rnew\n", "newg line\n");
        check("long line\r\x1b[Knew\n", "new\n");
        check("long line\x1b[2K\rnew\n", "new\n");
        check("50%\r", "50%");
        check("ab\x08c\x08\x08\x08\x08de\n", "de\n");
        check("b\x08bo\x08ol\x08ld\n", "bold\n");
        check("abc\x1b[2Dx\x1b[1Cy\n", "axcy\n");
        check("abc\x1b[1Gx\x1b[6Gy\n", "xbc  y\n");
        check("abc\x1b[2D\x1b[1Kx\n", " xc\n");
        check("abcdef\x1b[5D\x1b[2P\x1b[1X\n", "a ef\n");
        check("prompt> \x1b[J\x1b[Kx\n", "prompt> x\n");
    }

    #[test]
    fn moves_to_other_lines_begin_one() {
        check("\x1b[2J\x1b[Ha\x1b[2;5Hb", "a\nb");
        check("one\ntwo\n\x1b[2Auno\n", "one\ntwo\nuno\n");
    }

    #[test]
    fn other_control_characters_are_pictures() {
        check(b"a\0b\x01\x7f\x07\x0c", "a\u{2400}b\u{2401}\u{2421}\u{240c}");
        check("a\u{9b}31mb\u{85}", "a31mb");
    }

    #[test]
    fn what_is_no_text_is_replaced() {
        check(b"a\xff\x80b", "a\u{fffd}\u{fffd}b");
        check(b"\xe2\x82", "\u{fffd}");
        check(b"\xe2\x82\n\xe2\x1b[1mx", "\u{fffd}\n\u{fffd}x");
        check(b"\xf0\x9f\x98\xf0\x9f\x98\x80", "\u{fffd}\u{1f600}");
        check(b"\xed\xa0\x80", "\u{fffd}\u{fffd}\u{fffd}");
    }

    #[test]
    fn far_moves_cost_little() {
        let far = "\x1b[99999999999999999999Cx\x1b[999999999Cy";
        assert_eq!(plain([far.as_bytes()]), format!(" x{}y", " ".repeat(WIDTH - 2)));
        let turns = "\x1b[999999Gx\r".repeat(10_000);
        assert!(plain([turns.as_bytes()]).len() <= WIDTH + 10_000);
    }

    proptest! {
        #[test]
        fn it_is_the_same_however_it_is_cut(
            words in prop::collection::vec(prop_oneof![
                Just(b"\x1b".to_vec()), Just(b"\x1b[".to_vec()), Just(b"\x1b]".to_vec()), Just(b"\x1bP".to_vec()),
                Just(b"\x1b\\".to_vec()), Just(b"\r".to_vec()), Just(b"\n".to_vec()), Just(b"\x08".to_vec()),
                Just(b"12;3".to_vec()), Just(b"K".to_vec()), Just(b"G".to_vec()), Just("é€".into()),
                Just(vec![b'z'; 5000]), prop::collection::vec(any::<u8>(), 0..6),
            ], 0..40),
            cuts in prop::collection::vec(1_usize..200, 1..20),
        ) {
            let bytes = words.concat();
            let mut pieces = Vec::new();
            let mut rest = &bytes[..];
            for cut in cuts.iter().cycle() {
                if rest.is_empty() {
                    break;
                }
                let (piece, more) = rest.split_at((*cut).min(rest.len()));
                pieces.push(piece);
                rest = more;
            }
            let text = plain([&bytes[..]]);
            prop_assert_eq!(&text, &plain(pieces));
            prop_assert!(!text.contains(|sign: char| sign.is_control() && sign != '\n' && sign != '\t'));
        }
    }
}
