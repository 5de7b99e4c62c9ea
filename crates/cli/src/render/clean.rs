//! Making foreign text safe for a terminal. Pure.

use std::borrow::Cow;

/// `text` without what a terminal would obey: escape sequences, other control characters, and characters that turn
/// the direction of writing. Line breaks and tabs stay.
pub(crate) fn clean(text: &str) -> Cow<'_, str> {
    if !text.chars().any(is_harmful) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        match c {
            '\u{1b}' => skip_escape(&mut rest),
            // A program that draws a progress bar starts its line over.
            '\r' => {}
            c if is_harmful(c) => {}
            c => out.push(c),
        }
    }
    Cow::Owned(out)
}

/// `text` with everything spelled out that a terminal would obey or a reader would not see: for what a person decides
/// about. Line breaks and tabs stay.
pub(crate) fn spelled(text: &str) -> Cow<'_, str> {
    if !text.chars().any(is_hidden) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match is_hidden(c) {
            true => out.extend(c.escape_unicode()),
            false => out.push(c),
        }
    }
    Cow::Owned(out)
}

fn is_hidden(c: char) -> bool {
    let unseen = matches!(c,
        '\u{ad}' | '\u{200b}'..='\u{200d}' | '\u{2028}' | '\u{2029}' | '\u{2060}'..='\u{2064}' | '\u{feff}'
        | '\u{e0000}'..='\u{e007f}');
    is_harmful(c) || unseen
}

fn is_harmful(c: char) -> bool {
    let turns = matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{200e}' | '\u{200f}');
    turns || (c.is_control() && c != '\n' && c != '\t')
}

/// Skips what follows an escape character: `[` … a final letter, `]` … up to its end mark, or one character.
fn skip_escape(rest: &mut std::iter::Peekable<std::str::Chars<'_>>) {
    match rest.next() {
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
    }

    #[test]
    fn what_is_decided_about_hides_nothing() {
        let row = |text: &str, want: &str| assert_eq!(spelled(text), want);
        row("ls\n\t-l é 漢", "ls\n\t-l é 漢");
        row("ls \u{1b}]; rm x;\u{7}", r"ls \u{1b}]; rm x;\u{7}");
        row("a\u{202e}b\u{200b}c\r", r"a\u{202e}b\u{200b}c\u{d}");
    }

    #[test]
    fn the_direction_of_writing_is_not_turned() {
        check("access\u{202e}txt.exe", "accesstxt.exe");
    }
}
