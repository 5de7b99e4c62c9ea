//! Breaking lines of styled words at the edge of the screen. Pure.

use super::super::style::{Line, Span, Style, add, char_width, width};

/// `line` broken between words so that no line is wider than `columns`. A word that is wider by itself is broken
/// where the line ends.
pub(super) fn wrapped(line: &[Span], columns: usize) -> Vec<Line> {
    let mut wrap = Wrap { columns: columns.max(2), lines: Vec::new(), line: Line::new(), taken: 0, word: Line::new() };
    let mut blank: Option<Style> = None;
    for span in line {
        for c in span.text.chars() {
            if c == ' ' || c == '\t' {
                wrap.end_word(blank.take());
                blank = blank.or(Some(span.style));
                continue;
            }
            // Scripts without blanks may break before and after each sign.
            let wide = char_width(c) > 1;
            if wide && !wrap.word.is_empty() {
                wrap.end_word(blank.take());
            }
            let mut buffer = [0; 4];
            add(&mut wrap.word, c.encode_utf8(&mut buffer), span.style);
            if wide {
                wrap.end_word(blank.take());
            }
        }
    }
    wrap.end_word(blank);
    wrap.lines.push(wrap.line);
    wrap.lines
}

struct Wrap {
    columns: usize,
    lines: Vec<Line>,
    line: Line,
    /// Columns that `line` takes.
    taken: usize,
    /// The word that grows, behind `line`.
    word: Line,
}

impl Wrap {
    /// Puts the word into the line, or into the next one, with the `blank` that stood before it.
    fn end_word(&mut self, blank: Option<Style>) {
        if self.word.is_empty() {
            return;
        }
        let word = std::mem::take(&mut self.word);
        let wide: usize = word.iter().map(|span| width(&span.text)).sum();
        let gap = usize::from(blank.is_some() && self.taken > 0);
        if self.taken > 0 && self.taken + gap + wide > self.columns {
            self.next_line();
        } else if gap > 0 {
            add(&mut self.line, " ", blank.unwrap_or_default());
            self.taken += 1;
        }
        for span in word {
            for c in span.text.chars() {
                if self.taken > 0 && self.taken + char_width(c) > self.columns {
                    self.next_line();
                }
                let mut buffer = [0; 4];
                add(&mut self.line, c.encode_utf8(&mut buffer), span.style);
                self.taken += char_width(c);
            }
        }
    }

    fn next_line(&mut self) {
        self.lines.push(std::mem::take(&mut self.line));
        self.taken = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, columns: usize, want: &[&str]) {
        let lines = wrapped(&[Span::plain(text)], columns);
        let lines: Vec<String> =
            lines.iter().map(|line| line.iter().map(|span| span.text.as_str()).collect()).collect();
        assert_eq!(lines, want, "{text:?} in {columns} columns");
    }

    #[test]
    fn lines_break_between_words() {
        check("one two three", 20, &["one two three"]);
        check("one two three", 7, &["one two", "three"]);
        check("one  two", 4, &["one", "two"]);
        check("", 4, &[""]);
    }

    #[test]
    fn a_word_that_is_too_long_is_broken() {
        check("a abcdefgh b", 3, &["a", "abc", "def", "gh", "b"]);
        check("abc", 0, &["ab", "c"]);
    }

    #[test]
    fn wide_signs_are_counted_and_may_break_anywhere() {
        check("漢字漢字", 4, &["漢字", "漢字"]);
        check("ab漢字", 5, &["ab漢", "字"]);
        check("e\u{301}e\u{301} x", 2, &["e\u{301}e\u{301}", "x"]);
    }

    #[test]
    fn a_word_of_several_styles_stays_whole() {
        let bold = Style { bold: true, ..Style::default() };
        let line = [Span::plain("aa b"), Span::new("cc", bold)];
        assert_eq!(wrapped(&line, 5), [vec![Span::plain("aa")], vec![Span::plain("b"), Span::new("cc", bold)]]);
    }
}
