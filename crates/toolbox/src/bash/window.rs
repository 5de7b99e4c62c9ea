//! The end of an output of any size, in bounded memory. Pure.

use haft_tool::truncate::PREVIEW_CHARS;

/// How many bytes at the end of the output are remembered at least: more than is ever shown, also when every
/// character of the preview takes four bytes.
pub(super) const SIZE: usize = 4 * PREVIEW_CHARS;

/// Remembers the last 120,000 bytes at least and twice as many at most.
#[derive(Debug, Default)]
pub(super) struct Window {
    bytes: Vec<u8>,
    total: u64,
    feeds: u64,
}

impl Window {
    pub(super) fn push(&mut self, piece: &[u8]) {
        self.total += piece.len() as u64;
        self.feeds += piece.iter().filter(|&&byte| byte == b'\n').count() as u64;
        self.bytes.extend_from_slice(&piece[piece.len().saturating_sub(SIZE)..]);
        // Only now and then, so that each byte is moved at most once.
        if self.bytes.len() >= 2 * SIZE {
            self.bytes.drain(..self.bytes.len() - SIZE);
        }
    }

    /// How many bytes came in all.
    pub(super) fn total(&self) -> u64 {
        self.total
    }

    /// How many line feeds came in all.
    pub(super) fn feeds(&self) -> u64 {
        self.feeds
    }

    /// Whether nothing was forgotten.
    pub(super) fn is_whole(&self) -> bool {
        self.total == self.bytes.len() as u64
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// What is remembered as text; what is no UTF-8 in it is replaced. A character that lost its beginning is left
    /// out.
    pub(super) fn text(&self) -> String {
        let cut = |byte: &&u8| !self.is_whole() && (0x80..0xc0).contains(*byte);
        let skip = self.bytes.iter().take(3).take_while(cut).count();
        String::from_utf8_lossy(&self.bytes[skip..]).into_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_output_is_whole() {
        let mut window = Window::default();
        window.push(b"a\nb");
        window.push("é\n".as_bytes());
        assert_eq!(window.text(), "a\nbé\n");
        assert_eq!((window.total(), window.feeds(), window.is_whole()), (6, 2, true));
    }

    #[test]
    fn a_character_in_two_pieces_is_one() {
        let mut window = Window::default();
        window.push(&"é".as_bytes()[..1]);
        window.push(&"é".as_bytes()[1..]);
        assert_eq!(window.text(), "é");
    }

    #[test]
    fn what_is_no_text_is_made_safe() {
        let mut window = Window::default();
        window.push(b"a\xff\x80b");
        assert_eq!(window.text(), "a\u{fffd}\u{fffd}b");
    }

    #[test]
    fn memory_is_bounded_and_the_end_stays() {
        let mut window = Window::default();
        for number in 0..2_000_000_u32 {
            window.push(format!("{number}\n").as_bytes());
            assert!(window.bytes.len() <= 2 * SIZE);
        }
        window.push(&[b'x'; 10 * SIZE]);
        assert!(window.bytes.len() <= 2 * SIZE && window.bytes.capacity() <= 4 * SIZE);
        assert!(!window.is_whole());
        window.push("é".repeat(SIZE).as_bytes());
        window.push(b"!");
        assert!(window.text().starts_with('é') && window.text().ends_with("é!"));
    }
}
