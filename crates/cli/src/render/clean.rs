//! Making foreign text safe for a terminal. Pure.

use std::borrow::Cow;
use std::iter::Peekable;
use std::str::Chars;

use unicode_width::UnicodeWidthChar;

use super::unseen::{is_ignored, is_joiner, is_obeyed, is_selector, is_unclear};

/// Most marks on one letter that are shown to whoever decides; a heap of them covers the lines around it.
const MAX_MARKS: usize = 4;

/// `text` without what a terminal would obey or a reader would not see: escape sequences, other control characters,
/// characters that turn the direction of writing, and invisible ones. Line breaks and tabs stay, and so does what joins
/// the parts of a letter or of a picture.
pub(crate) fn clean(text: &str) -> Cow<'_, str> {
    strip(text, Keep::Nothing)
}

/// [`clean`] for text that is made safe again when it is written: invisible characters stay, for whoever spells them.
pub(super) fn tamed(text: &str) -> Cow<'_, str> {
    strip(text, Keep::Unseen)
}

/// [`clean`] for text that was painted by us: the colours and styles of our own stay, and no other sequence does. The
/// last thing before a terminal.
pub(super) fn passed(text: &str) -> Cow<'_, str> {
    strip(text, Keep::Painted)
}

/// What of the doubtful stays.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Keep {
    Nothing,
    Unseen,
    Painted,
}

fn strip(text: &str, keep: Keep) -> Cow<'_, str> {
    if !text.chars().any(|c| is_obeyed(c) || is_ignored(c)) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = text.chars().peekable();
    // What was put out last, where something can be joined to it.
    let mut before: Option<char> = None;
    while let Some(c) = rest.next() {
        match c {
            '\u{1b}' => {
                if let Some(codes) = own(rest.clone()).filter(|_| keep == Keep::Painted) {
                    rest.nth(codes.len() + 1);
                    out.push_str(&format!("\u{1b}[{codes}m"));
                } else {
                    skip_escape(&mut rest);
                }
            }
            '\u{2028}' | '\u{2029}' => out.push(' '),
            c if keep == Keep::Unseen && is_ignored(c) => out.push(c),
            c if is_joiner(c) || is_selector(c) => {
                // One after each visible character; more of them would carry what nobody sees.
                if before.take().is_some_and(|before| !before.is_whitespace()) {
                    out.push(c);
                }
            }
            // A program that draws a progress bar starts its line over.
            c if is_obeyed(c) || is_ignored(c) => {}
            c => {
                out.push(c);
                before = Some(c);
            }
        }
    }
    Cow::Owned(out)
}

/// The name of a file in a line that says what becomes of it: spelled out, line breaks and tabs too.
pub(crate) fn named(name: &str) -> String {
    spelled(name).replace('\n', "\\n").replace('\t', "\\t")
}

/// `text` with everything spelled out that a terminal would obey, or that a reader would not see or take for something
/// else: for what a person decides about. Line breaks and tabs stay.
pub(crate) fn spelled(text: &str) -> Cow<'_, str> {
    if text.bytes().all(|byte| matches!(byte, b' '..=b'~' | b'\n' | b'\t')) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut marks = 0;
    for c in text.chars() {
        marks = if c.width() == Some(0) { marks + 1 } else { 0 };
        if is_obeyed(c) || is_ignored(c) || is_unclear(c) || marks > MAX_MARKS {
            out.extend(c.escape_unicode());
        } else {
            out.push(c);
        }
    }
    Cow::Owned(out)
}

/// The codes of one of our own colours and styles, if that is what follows an escape character.
fn own(rest: Peekable<Chars<'_>>) -> Option<String> {
    /// Longest list of codes that we write.
    const LONGEST: usize = 24;
    let mut rest = rest.take(LONGEST + 2);
    if rest.next() != Some('[') {
        return None;
    }
    let mut codes = String::new();
    for c in rest {
        match c {
            '0'..='9' | ';' => codes.push(c),
            'm' => return codes.split(';').all(is_own).then_some(codes),
            _ => return None,
        }
    }
    None
}

/// Plain, bold, dim, italic, underlined, struck, and the colours of the terminal's own palette.
fn is_own(code: &str) -> bool {
    let number = code.parse::<u8>();
    number.is_ok_and(|number| matches!(number, 0..=4 | 9 | 30..=37 | 90..=97))
}

/// Skips what follows an escape character: `[` … a final letter, `]` … up to its end mark, or one character.
fn skip_escape(rest: &mut Peekable<Chars<'_>>) {
    match rest.next_if(|c| !c.is_control()) {
        Some('[') => {
            while rest.next_if(|c| !('\u{40}'..='\u{7e}').contains(c) && !c.is_control()).is_some() {}
            rest.next_if(|c| !c.is_control());
        }
        Some(']' | 'P' | 'X' | '^' | '_') => {
            while let Some(c) = rest.next_if(|&c| c != '\n') {
                if c == '\u{7}' || c == '\u{9c}' || (c == '\u{1b}' && rest.next_if_eq(&'\\').is_some()) {
                    break;
                }
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, want: &str) {
        assert_eq!(clean(text), want);
    }

    #[test]
    fn plain_text_stays() {
        check("a\tb\nc é 漢 🎉", "a\tb\nc é 漢 🎉");
        check(
            "می\u{200c}خواهم 👩\u{200d}💻 ❤\u{fe0f} 1\u{fe0f}\u{20e3} क\u{94d}\u{200d}ष",
            "می\u{200c}خواهم 👩\u{200d}💻 ❤\u{fe0f} 1\u{fe0f}\u{20e3} क\u{94d}\u{200d}ष",
        );
    }

    #[test]
    fn a_terminal_is_told_nothing() {
        check("\u{1b}[31mred\u{1b}[0m", "red");
        check("a\u{1b}]0;title\u{7}b", "ab");
        check("a\u{1b}]52;c;aGk=\u{1b}\\b", "ab");
        check("a\u{1b}]never ended\nb", "a\nb");
        check("a\u{1b}Pq#0\u{1b}\\b", "ab");
        check("50%\r100%\u{8}\u{7}\0", "50%100%");
        check("\u{9b}31mx", "31mx");
        check("\u{1b}", "");
        check("\u{1b}[", "");
        check("a\u{1b}\nb", "a\nb");
        check("\u{1b}\u{1b}[2Jx", "x");
    }

    #[test]
    fn what_nobody_sees_is_not_shown() {
        check("a\u{200b}b\u{2060}c\u{feff}d\u{ad}e\u{3164}f\u{115f}g", "abcdefg");
        check("a\u{e0041}\u{e0042}b", "ab");
        check("a\u{fe0f}\u{fe0f}\u{fe0e}b\u{fe00}\u{e0100}c", "a\u{fe0f}bc");
        check("a\u{200d}\u{200d}b \u{200d}c", "a\u{200d}b c");
        check("one\u{2028}two\u{2029}three", "one two three");
    }

    #[test]
    fn the_direction_of_writing_is_not_turned() {
        check("access\u{202e}txt.exe", "accesstxt.exe");
        check("a\u{61c}b\u{200f}c\u{2067}d", "abcd");
    }

    #[test]
    fn our_own_colours_pass_and_nothing_else_does() {
        let row = |text: &str, want: &str| assert_eq!(passed(text), want, "{text:?}");
        row("\u{1b}[1;91mred\u{1b}[0m\n", "\u{1b}[1;91mred\u{1b}[0m\n");
        for foreign in [
            "8m",
            "38;5;1m",
            "2J",
            "1A",
            "?25l",
            "1;m",
            "m",
            "5m",
            "7m",
            "48;2;0;0;0m",
            "1 m",
            "1;2;3;4;9;31;32;33;34;35;36;37m",
        ] {
            row(&format!("a\u{1b}[{foreign}b"), "ab");
        }
        row("a\u{1b}]8;;http://x\u{7}b\u{1b}]8;;\u{7}", "ab");
        row("a\u{1b}[3\u{1b}[31mb", "a\u{1b}[31mb");
        row("\r\u{8}\u{202e}x", "x");
    }

    #[test]
    fn what_is_decided_about_hides_nothing() {
        let row = |text: &str, want: &str| assert_eq!(spelled(text), want);
        row("ls\n\t-l é 漢", "ls\n\t-l é 漢");
        row("ls \u{1b}]; rm x;\u{7}", r"ls \u{1b}]; rm x;\u{7}");
        row("a\u{202e}b\u{200b}c\r", r"a\u{202e}b\u{200b}c\u{d}");
        row("rm\u{a0}-rf\u{3000}x\u{2003}y\u{2800}", r"rm\u{a0}-rf\u{3000}x\u{2003}y\u{2800}");
        row("a\u{fe0f}b\u{200d}c\u{e0041}d\u{61c}\u{ff}", "a\\u{fe0f}b\\u{200d}c\\u{e0041}d\\u{61c}\u{ff}");
        row("\u{e000}\u{fffe}\u{f0000}", r"\u{e000}\u{fffe}\u{f0000}");
        row("e\u{301}\u{302}\u{303}\u{304}\u{305}", "e\u{301}\u{302}\u{303}\u{304}\\u{305}");
    }

    proptest::proptest! {
        #[test]
        fn nothing_gets_through(text in "(\\PC|[\u{0}-\u{1f}]|\u{1b}\\[[0-9;]{0,4}[A-Za-z]|\u{1b}[\\]P^_X][a-z]{0,3}|[\u{80}-\u{9f}]|[\u{200b}-\u{200f}]|[\u{2028}-\u{202e}]){0,40}") {
            let safe = |text: &str| text.chars().all(|c| !is_obeyed(c) && (!is_ignored(c) || is_joiner(c) || is_selector(c)));
            proptest::prop_assert!(safe(&clean(&text)));
            let passed = passed(&text);
            let mut rest: &str = &passed;
            while let Some(at) = rest.find('\u{1b}') {
                proptest::prop_assert!(safe(&rest[..at]));
                let codes = own(rest[at + 1..].chars().peekable());
                proptest::prop_assert!(codes.is_some());
                rest = &rest[at + 3 + codes.unwrap().len()..];
            }
            proptest::prop_assert!(safe(rest));
            proptest::prop_assert!(spelled(&text).chars().all(|c| !is_obeyed(c) && !is_ignored(c) && !is_unclear(c)));
        }
    }
}
