//! What a person decides about, laid out so that no text in it can look like ours. Pure.

use super::spelled;
use super::style::{char_width, width};

/// Most lines of one page; of more, the first and the last are shown, and how many were left out.
const MAX_LINES: usize = 2_000;
/// How many of them are the last.
const LAST: usize = 500;
/// Stands before what did not fit into the line above: at the left edge it might pass for a line of our own.
const GOES_ON: &str = "  ┆ ";
/// Fewest columns that text is broken into.
const NARROWEST: usize = 20;

/// Lines that grow.
pub(crate) struct Page {
    columns: usize,
    lines: Vec<String>,
}

impl Page {
    /// For a terminal of so many columns.
    pub(crate) fn new(columns: usize) -> Self {
        Self { columns: columns.max(NARROWEST), lines: Vec::new() }
    }

    /// Adds foreign `text` as one line of its own behind `indent`, painted by `paint`; what does not fit goes on below.
    pub(crate) fn put(&mut self, indent: &str, text: &str, paint: impl Fn(&str) -> String) {
        let text = spelled(text).replace('\n', " ⏎ ").replace('\t', "    ");
        let mut line = indent.to_owned();
        // In the last column a terminal is undecided about the next line.
        let most = self.columns - 1;
        let mut taken = width(indent);
        for c in text.chars() {
            if taken + char_width(c) > most {
                self.lines.push(paint(&std::mem::replace(&mut line, GOES_ON.to_owned())));
                taken = width(GOES_ON);
            }
            taken += char_width(c);
            line.push(c);
        }
        self.lines.push(paint(&line));
    }

    /// The lines, each with its end, at most so many as a person can be expected to look at.
    pub(crate) fn end(mut self) -> String {
        let over = self.lines.len().saturating_sub(MAX_LINES);
        if over > 0 {
            let from = MAX_LINES - LAST;
            let told = format!("  … {over} lines are not shown here; say no and ask for less at a time to see all …");
            self.lines.splice(from..from + over, [told]);
        }
        self.lines.iter().map(|line| format!("{line}\n")).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(texts: &[&str], want: &str) {
        let mut page = Page::new(20);
        texts.iter().for_each(|text| page.put("  ", text, str::to_owned));
        assert_eq!(page.end(), want);
    }

    #[test]
    fn a_long_line_goes_on_where_it_cannot_be_taken_for_ours() {
        check(&["ls -l"], "  ls -l\n");
        check(&[""], "  \n");
        check(&["0123456789012345678"], "  01234567890123456\n  ┆ 78\n");
        check(&["ls               △ The agent wants"], "  ls               \n  ┆ △ The agent wan\n  ┆ ts\n");
        check(&["漢漢漢漢漢漢漢漢漢"], "  漢漢漢漢漢漢漢漢\n  ┆ 漢\n");
        check(&["a\nb\tc\u{1b}"], "  a ⏎ b    c\\u{1b}\n");
    }

    #[test]
    fn a_page_has_an_end() {
        let mut page = Page::new(80);
        (0..MAX_LINES + 7).for_each(|n| page.put("", &n.to_string(), str::to_owned));
        let text = page.end();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), MAX_LINES + 1);
        assert!(lines[1500].contains("7 lines are not shown"), "{}", lines[1500]);
        assert_eq!((lines[1499], lines[1501], lines[2000]), ("1499", "1507", "2006"));
    }
}
