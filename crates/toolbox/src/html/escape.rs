//! Writing words so that Markdown takes none of their signs for its own. Pure.
//!
//! Only what would be taken so is escaped: the reader is a model, and `snake\_case` would come back in its code.

use super::lines::Lines;

/// Longest fence around code. Code with more backticks in a row is nobody's code.
pub(super) const MAX_FENCE: usize = 100;

/// Where words stand.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) in_link: bool,
    pub(super) in_heading: bool,
}

/// Whether `sign`, which comes after what `lines` holds and before `rest`, needs a backslash.
pub(super) fn must_escape(sign: char, rest: &str, lines: &Lines, place: Place) -> bool {
    let before = lines.before();
    let next = rest.chars().next();
    let blank = |c: Option<char>| c.is_none_or(char::is_whitespace);
    let word = |c: Option<char>| c.is_some_and(char::is_alphanumeric);
    let first = before.is_none();
    match sign {
        '`' => true,
        '\\' => next.is_none_or(|next| next.is_ascii_punctuation()),
        '*' => first || !(blank(before) && blank(next)),
        '_' => !(word(before) && word(next)) && (first || !(blank(before) && blank(next))),
        '~' => next == Some('~') || before == Some('~'),
        '<' => next.is_some_and(|next| next.is_ascii_alphabetic() || "/!?".contains(next)),
        '&' => is_entity(rest),
        '[' | ']' => place.in_link,
        '(' | ':' => before == Some(']'),
        '|' => lines.is_cell(),
        '#' => (first || place.in_heading && blank(before)) && (blank(next) || next == Some('#')),
        '>' => first,
        '+' => first && blank(next),
        '-' | '=' => first && (blank(next) || next == Some(sign)),
        '.' | ')' => blank(next) && is_number(lines.line()),
        _ => false,
    }
}

/// Whether `rest`, what follows a `&`, makes it an entity.
fn is_entity(rest: &str) -> bool {
    let name = rest.split_once(';').map(|(name, _)| name).unwrap_or_default();
    let body = name.strip_prefix('#').unwrap_or(name);
    !body.is_empty() && name.len() <= 32 && body.bytes().all(|byte| byte.is_ascii_alphanumeric())
}

/// Whether a line with nothing but `line` in it would begin a numbered item.
fn is_number(line: &str) -> bool {
    !line.is_empty() && line.len() <= 9 && line.bytes().all(|byte| byte.is_ascii_digit())
}

/// Signs that nobody sees and that no text needs, among them those that hide words from people and not from models.
pub(super) fn is_invisible(sign: char) -> bool {
    let control = sign.is_control() && !matches!(sign, '\t' | '\n' | '\u{c}' | '\r' | '\u{85}');
    control || matches!(sign, '\u{ad}' | '\u{200b}' | '\u{2060}' | '\u{feff}' | '\u{e0000}'..='\u{e007f}')
}

/// Text in a span of code, its fence longer than every run of backticks in it.
pub(super) fn code_span(code: &str) -> String {
    let fence = "`".repeat(longest_run(code, '`').min(MAX_FENCE - 1) + 1);
    let pad = if code.starts_with('`') || code.ends_with('`') { " " } else { "" };
    format!("{fence}{pad}{code}{pad}{fence}")
}

/// The longest run of `sign` in `text`.
pub(super) fn longest_run(text: &str, sign: char) -> usize {
    let (mut longest, mut run) = (0, 0);
    for c in text.chars() {
        run = if c == sign { run + 1 } else { 0 };
        longest = longest.max(run);
    }
    longest
}

/// An address as it stands in the round brackets of a link.
pub(super) fn address(url: &str) -> String {
    let balanced = {
        let (mut depth, mut fine) = (0_i64, true);
        for c in url.chars() {
            depth += i64::from(c == '(') - i64::from(c == ')');
            fine &= depth >= 0;
        }
        fine && depth == 0
    };
    let mut text = String::with_capacity(url.len());
    for c in url.chars() {
        match c {
            '(' if !balanced => text.push_str("%28"),
            ')' if !balanced => text.push_str("%29"),
            ' ' => text.push_str("%20"),
            '<' => text.push_str("%3C"),
            '>' => text.push_str("%3E"),
            '\\' => text.push_str("%5C"),
            '|' => text.push_str("%7C"),
            c if c.is_control() || c.is_whitespace() => {}
            c => text.push(c),
        }
    }
    text
}

/// What stands for a picture, on one line.
pub(super) fn label(text: &str) -> String {
    let mut label = String::new();
    for sign in text.split_whitespace().collect::<Vec<_>>().join(" ").chars().filter(|&c| !is_invisible(c)) {
        if matches!(sign, '[' | ']' | '\\' | '`' | '|' | '<') {
            label.push('\\');
        }
        label.push(sign);
    }
    label
}

/// The title of a link with its quotes and what stands before them; nothing where there is none.
pub(super) fn title(title: Option<&str>) -> String {
    let words: Vec<&str> = title.unwrap_or_default().split_whitespace().collect();
    if words.is_empty() {
        return String::new();
    }
    let words: String = words.join(" ").chars().filter(|&c| !is_invisible(c)).collect();
    format!(" \"{}\"", words.replace('\\', "\\\\").replace('"', "\\\"").replace('|', "\\|"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fences_are_longer_than_what_they_hold() {
        for (code, want) in [("a", "`a`"), ("a`b", "``a`b``"), ("`", "`` ` ``"), ("``x", "``` ``x ```")] {
            assert_eq!(code_span(code), want);
        }
    }

    #[test]
    fn addresses_end_where_their_brackets_do() {
        for (url, want) in [
            ("/a?b=1&c=2", "/a?b=1&c=2"),
            ("/a_(b)", "/a_(b)"),
            ("/a)b", "/a%29b"),
            ("/)(", "/%29%28"),
            ("/a b\nc", "/a%20bc"),
            ("/<x>", "/%3Cx%3E"),
        ] {
            assert_eq!(address(url), want);
        }
    }

    #[test]
    fn titles_keep_their_quotes() {
        assert_eq!(title(Some(" a \"b\"\n c\\ ")), " \"a \\\"b\\\" c\\\\\"");
        assert_eq!((title(Some("  ")), title(None)), (String::new(), String::new()));
    }

    #[test]
    fn what_reads_like_an_entity_is_one() {
        for (rest, want) in [
            ("amp; x", true),
            ("#12;", true),
            ("#x1F;", true),
            (" b;", false),
            ("amp", false),
            (";", false),
            ("#;", false),
        ] {
            assert_eq!(is_entity(rest), want, "{rest}");
        }
    }
}
