//! `@name` in what a person writes: where the mentions are, and what each says. Pure.

/// Most mentions of one prompt that are looked at.
pub(crate) const MAX_MENTIONS: usize = 32;
/// Longest name of a mention, in bytes.
const MAX_NAME: usize = 1024;

/// One mention.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Mention {
    /// What stands behind the `@`, without punctuation that ends a sentence.
    pub name: String,
    /// The same without closing marks such as `)` or `?`; looked for when nothing is called `name`.
    pub trimmed: String,
}

/// Which lines of a file are meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Lines {
    /// The first line, from 1.
    pub first: u64,
    /// The last one, at least `first`.
    pub last: u64,
}

/// The mentions in `text`, each name once, no more than [`MAX_MENTIONS`].
///
/// An `@` behind a letter, a digit or a `_` is part of an address; what stands between backticks is code.
pub(crate) fn mentions(text: &str) -> Vec<Mention> {
    let mut found: Vec<Mention> = Vec::new();
    let mut before = None;
    let mut rest = text;
    while let Some(next) = rest.chars().next() {
        if next == '`' {
            rest = behind_code(rest);
            before = Some('`');
            continue;
        }
        rest = &rest[next.len_utf8()..];
        let begins = next == '@' && !before.is_some_and(|c: char| c.is_alphanumeric() || c == '_' || c == '`');
        before = Some(next);
        if !begins {
            continue;
        }
        let name = name(rest);
        if name.is_empty() || name.len() > MAX_NAME || found.iter().any(|mention| mention.name == name) {
            continue;
        }
        if found.len() == MAX_MENTIONS {
            break;
        }
        let closing: &[char] = &[')', ']', '}', '>', ':', ';', '!', '?', '"', '\'', '.', ',', '*', '_'];
        let trimmed = name.trim_end_matches(closing).to_owned();
        found.push(Mention { name: name.to_owned(), trimmed });
        rest = &rest[name.len()..];
        before = name.chars().next_back();
    }
    found
}

/// The beginning of `text` that is a name: no blanks, no backticks, no commas, and dots only within it.
fn name(text: &str) -> &str {
    let end = text.find(|c: char| c.is_whitespace() || c == '`' || c == ',' || c == '@').unwrap_or(text.len());
    // A name may begin with dots, as `../a` does, but what ends a sentence is none of it.
    text[..end].trim_end_matches('.')
}

/// What follows the code that `text` begins with. A mark that is never closed is no code.
fn behind_code(text: &str) -> &str {
    let marks = text.len() - text.trim_start_matches('`').len();
    let (fence, rest) = text.split_at(marks);
    let mut from = 0;
    while let Some(at) = rest[from..].find(fence) {
        let end = from + at + marks;
        let longer = rest[end..].len() - rest[end..].trim_start_matches('`').len();
        if longer == 0 {
            return &rest[end..];
        }
        from = end + longer;
    }
    rest
}

/// Takes the lines off a name: `src/a.rs#10-20`, `src/a.rs#10`, also with an `L` before the numbers.
pub(crate) fn lines(name: &str) -> (&str, Option<Lines>) {
    let Some((path, range)) = name.rsplit_once('#') else { return (name, None) };
    let number = |text: &str| text.strip_prefix('L').unwrap_or(text).parse::<u64>().ok().filter(|line| *line > 0);
    let parsed = match range.split_once('-') {
        Some((first, last)) => number(first).zip(number(last)),
        None => number(range).map(|line| (line, line)),
    };
    match parsed {
        Some((first, last)) if first <= last && !path.is_empty() => (path, Some(Lines { first, last })),
        Some(_) | None => (name, None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, want: &[&str]) {
        let found = mentions(text);
        assert_eq!(found.iter().map(|mention| mention.name.as_str()).collect::<Vec<_>>(), want, "{text:?}");
    }

    #[test]
    fn names_are_found_and_addresses_are_not() {
        check("look at @src/a.rs and @b", &["src/a.rs", "b"]);
        check("@a.rs", &["a.rs"]);
        check("(@a.rs)", &["a.rs)"]);
        check("mail me@example.org or _@x", &[]);
        check("@ alone, and @", &[]);
        check("@a @a @b", &["a", "b"]);
        check("@~/notes.md @../up.rs @.env", &["~/notes.md", "../up.rs", ".env"]);
        check("@a,@b and @c@d", &["a", "b", "c"]);
        check("日本@名前 と @名前.rs。", &["名前.rs。"]);
    }

    #[test]
    fn what_ends_a_sentence_is_no_name() {
        check("see @src/a.rs.", &["src/a.rs"]);
        check("see @a.rs, then @b.rs...", &["a.rs", "b.rs"]);
        let trimmed = |text: &str, want: &str| assert_eq!(mentions(text)[0].trimmed, want, "{text:?}");
        trimmed("(@a.rs)", "a.rs");
        trimmed("is it @src/a.rs#3-4?!", "src/a.rs#3-4");
        trimmed("**@a.rs**", "a.rs");
    }

    #[test]
    fn code_is_left_alone() {
        check("use `@a` or `x @b` but @c", &["c"]);
        check("```\n@a\n``` @b", &["b"]);
        check("``a ` @b`` @c", &["c"]);
        check("a ` that is never closed @b", &["b"]);
        check("`@a", &[]);
    }

    #[test]
    fn there_is_a_bound() {
        let text: String = (0..100).map(|n| format!("@f{n} ")).collect();
        assert_eq!(mentions(&text).len(), MAX_MENTIONS);
        check(&format!("@{} @b", "x".repeat(MAX_NAME + 1)), &["b"]);
    }

    #[test]
    fn lines_come_off_a_name() {
        let row = |name: &str, path: &str, want: Option<(u64, u64)>| {
            let want = want.map(|(first, last)| Lines { first, last });
            assert_eq!(lines(name), (path, want), "{name:?}");
        };
        row("a.rs#10-20", "a.rs", Some((10, 20)));
        row("a.rs#L10-L20", "a.rs", Some((10, 20)));
        row("a.rs#7", "a.rs", Some((7, 7)));
        row("a.rs#20-10", "a.rs#20-10", None);
        row("a.rs#0", "a.rs#0", None);
        row("a.rs#top", "a.rs#top", None);
        row("#3", "#3", None);
        row("c#", "c#", None);
    }
}
