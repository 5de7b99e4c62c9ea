//! Places in a text that a cursor can go to. Pure. All places are bytes.

use unicode_segmentation::{GraphemeCursor, UnicodeSegmentation};

use super::blocks::is_block;

/// The place before the one letter, with all its marks, that ends at `at`.
pub(super) fn left(text: &str, at: usize) -> usize {
    let mut cursor = GraphemeCursor::new(at, text.len(), true);
    let start = cursor.prev_boundary(text, 0).ok().flatten().unwrap_or(0);
    let letter = &text[start..at];
    match letter.char_indices().rev().find(|(_, c)| is_block(*c)) {
        // A block is a letter of its own, whatever stands beside it.
        Some((block, c)) if block + c.len_utf8() < letter.len() => start + block + c.len_utf8(),
        Some((block, _)) => start + block,
        None => start,
    }
}

/// The place behind the one letter that begins at `at`.
pub(super) fn right(text: &str, at: usize) -> usize {
    let Some(letter) = text[at..].graphemes(true).next() else { return text.len() };
    match letter.char_indices().find(|(_, c)| is_block(*c)) {
        Some((0, c)) => at + c.len_utf8(),
        Some((block, _)) => at + block,
        None => at + letter.len(),
    }
}

/// The beginning of the word before `at`.
pub(super) fn word_left(text: &str, at: usize) -> usize {
    back_over(text, back_over(text, at, |c| !is_word(c)), is_word)
}

/// The end of the word behind `at`.
pub(super) fn word_right(text: &str, at: usize) -> usize {
    over(text, over(text, at, |c| !is_word(c)), is_word)
}

/// The beginning of what stands between blanks before `at`.
pub(super) fn blank_left(text: &str, at: usize) -> usize {
    back_over(text, back_over(text, at, char::is_whitespace), |c| !c.is_whitespace())
}

/// The beginning of the line that `at` is in.
pub(super) fn line_start(text: &str, at: usize) -> usize {
    text[..at].rfind('\n').map_or(0, |end| end + 1)
}

/// The end of the line that `at` is in.
pub(super) fn line_end(text: &str, at: usize) -> usize {
    text[at..].find('\n').map_or(text.len(), |end| at + end)
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_' || is_block(c)
}

fn over(text: &str, at: usize, skip: impl Fn(char) -> bool) -> usize {
    text[at..].find(|c| !skip(c)).map_or(text.len(), |end| at + end)
}

fn back_over(text: &str, at: usize, skip: impl Fn(char) -> bool) -> usize {
    let rest = text[..at].trim_end_matches(skip);
    rest.len()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chat::editor::blocks::Blocks;

    /// All the places that `step` goes to from one end of `text`, as the pieces between them.
    fn pieces(text: &str, from: usize, step: fn(&str, usize) -> usize) -> Vec<String> {
        let mut at = from;
        let mut pieces = Vec::new();
        loop {
            let to = step(text, at);
            if to == at {
                return pieces;
            }
            pieces.push(text[at.min(to)..at.max(to)].to_owned());
            at = to;
        }
    }

    #[track_caller]
    fn check(text: &str, want: &[&str]) {
        assert_eq!(pieces(text, 0, right), want, "{text:?} to the right");
        let mut back = pieces(text, text.len(), left);
        back.reverse();
        assert_eq!(back, want, "{text:?} to the left");
    }

    #[test]
    fn a_letter_keeps_its_marks() {
        check("aé漢", &["a", "é", "漢"]);
        check("e\u{301}x", &["e\u{301}", "x"]);
        check("👩\u{200d}💻!", &["👩\u{200d}💻", "!"]);
        check("a\nb", &["a", "\n", "b"]);
        check("", &[]);
    }

    #[test]
    fn a_block_is_one_letter_whatever_stands_beside_it() {
        let block = Blocks::default().add_text("x".to_owned()).unwrap().to_string();
        check(&format!("a{block}b"), &["a", &block, "b"]);
        check(&format!("{block}\u{301}"), &[&block, "\u{301}"]);
        check(&format!("\u{600}{block}"), &["\u{600}", &block]);
    }

    #[test]
    fn words_and_lines_have_two_ends() {
        let text = "one, two_2  漢字\nfour";
        assert_eq!(pieces(text, 0, word_right), ["one", ", two_2", "  漢字", "\nfour"]);
        assert_eq!(pieces(text, text.len(), word_left), ["four", "漢字\n", "two_2  ", "one, "]);
        assert_eq!(pieces(text, text.len(), blank_left), ["four", "漢字\n", "two_2  ", "one, "]);
        let second = text.find('f').unwrap();
        assert_eq!((line_start(text, second + 1), line_end(text, second)), (second, text.len()));
        assert_eq!((line_start(text, 3), line_end(text, 3)), (0, second - 1));
    }
}
