//! Undoing what models add to a text that they copy: line numbers and Markdown fences. Pure.

/// `old` and `new` without the line numbers that stand before each line of `old`; `None` where they do not.
pub(super) fn line_numbers(old: &str, new: &str) -> Option<(String, String)> {
    let bare = old.trim_matches('\n');
    let mut before = None;
    for line in bare.split('\n') {
        let (number, _) = numbered(line)?;
        if before.is_some_and(|before: u64| before.checked_add(1) != Some(number)) {
            return None;
        }
        before = Some(number);
    }
    let strip = |text: &str| {
        let lines = text.split('\n').map(|line| numbered(line).map_or(line, |(_, rest)| rest));
        lines.collect::<Vec<_>>().join("\n")
    };
    Some((strip(old), strip(new)))
}

/// The number that `line` begins with and what is behind it: `12: text` as `read` prints it, `12| text`, or a number and
/// a tab or an arrow.
fn numbered(line: &str) -> Option<(u64, &str)> {
    let line = line.trim_start_matches([' ', '\t']);
    let digits = line.len() - line.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let number = line.get(..digits)?.parse().ok()?;
    let rest = &line[digits..];
    let rest = match rest.strip_prefix([':', '|']) {
        Some(rest) => rest.strip_prefix(' ').unwrap_or(rest),
        None => rest.strip_prefix(['\t', '\u{2192}'])?,
    };
    Some((number, rest))
}

/// `old` and `new` without the Markdown fence around `old`; `None` where there is none.
pub(super) fn fence(old: &str, new: &str) -> Option<(String, String)> {
    let bare = unfenced(old)?;
    Some((bare.to_owned(), unfenced(new).unwrap_or(new).to_owned()))
}

fn unfenced(text: &str) -> Option<&str> {
    let (open, rest) = text.trim().split_once('\n')?;
    let (inner, close) = rest.rsplit_once('\n')?;
    let mark = open.starts_with("```") && !open[3..].contains('`') && close.trim() == "```";
    (mark && !inner.trim().is_empty()).then_some(inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_go() {
        #[track_caller]
        fn check(old: &str, new: &str, want: Option<(&str, &str)>) {
            let got = line_numbers(old, new);
            assert_eq!(got.as_ref().map(|(old, new)| (old.as_str(), new.as_str())), want);
        }
        check("7:   a\n8: \n9: b", "7:   a\n8: c", Some(("  a\n\nb", "  a\nc")));
        check("   9| a\n   10|   b\n", "   9| a\n", Some(("a\n  b\n", "a\n")));
        check("00012| a", "b", Some(("a", "b")));
        check("1\ta\n2\tb", "1\tx\nnew\n2\tb", Some(("a\nb", "x\nnew\nb")));
        check("  1\u{2192}a", "a", Some(("a", "a")));
        // No numbers of lines.
        check("7: a\n9: b", "", None);
        check("7: a\nb", "", None);
        check("a: 7", "", None);
        check("1 | a\n2 | b", "", None);
        check("99999999999999999999: a", "", None);
    }

    #[test]
    fn fences_go() {
        let check = |old, new| fence(old, new);
        let pair = |old: &str, new: &str| Some((old.to_owned(), new.to_owned()));
        assert_eq!(check("```\na\nb\n```", "```\nc\n```"), pair("a\nb", "c"));
        assert_eq!(check("```rust\na\n```\n", "c"), pair("a", "c"));
        assert_eq!(check("```\n```", "c"), None);
        assert_eq!(check("a\n```", "c"), None);
        assert_eq!(check("```\na", "c"), None);
    }
}
