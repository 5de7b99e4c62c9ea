//! Saying what comes near to a text that is not there: what is shared by those that look for it. Pure.

use std::collections::HashSet;

/// Most lines of a file that is looked at.
pub(crate) const MAX_LINES: usize = 200_000;
/// Most comparisons of two lines.
pub(crate) const MAX_COMPARED: usize = 5_000_000;
/// Most characters of a line that are quoted.
const MAX_QUOTED: usize = 80;
/// Most words of a line that are looked for elsewhere.
const MAX_WORDS: usize = 50;

/// The number, from 0, of the line that shares most words with `wanted`, if it shares half of them. None in a file of more
/// than [`MAX_LINES`].
pub(crate) fn nearest_line(file: &[&str], wanted: &str) -> Option<usize> {
    if file.len() > MAX_LINES {
        return None;
    }
    let words: HashSet<&str> = words(wanted).take(MAX_WORDS).collect();
    let shared = |line: &str| self::words(line).filter(|word| words.contains(word)).collect::<HashSet<_>>().len();
    // Of equally good lines the first.
    let scores = file.iter().enumerate().map(|(at, line)| (shared(line), std::cmp::Reverse(at)));
    let (score, std::cmp::Reverse(line)) = scores.max()?;
    (score > 0 && score * 2 >= words.len()).then_some(line)
}

/// `line` without white space.
pub(crate) fn dense(line: &str) -> String {
    line.chars().filter(|c| !c.is_whitespace()).collect()
}

/// `line` without white space, in lower case.
pub(crate) fn squash(line: &str) -> String {
    line.chars().filter(|c| !c.is_whitespace()).flat_map(char::to_lowercase).collect()
}

/// The words of `line`: letters, digits and what joins them in names.
pub(crate) fn words(line: &str) -> impl Iterator<Item = &str> {
    line.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|word| !word.is_empty())
}

/// `line` in marks, cut where it is long.
pub(crate) fn quote(line: &str) -> String {
    match line.char_indices().nth(MAX_QUOTED) {
        Some((at, _)) => format!("`{}…`", &line[..at]),
        None => format!("`{line}`"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_with_most_of_the_words_is_nearest() {
        let file = ["let a = 1;", "let b = 2;", "run(a, b);", "let b = 2;"];
        assert_eq!(nearest_line(&file, "let b = compute(2)"), Some(1));
        assert_eq!(nearest_line(&file, "quite another thing"), None);
        assert_eq!(nearest_line(&file, ""), None);
        assert_eq!(nearest_line(&[], "a"), None);
    }

    #[test]
    fn only_the_first_words_of_a_line_are_looked_for() {
        let words: Vec<String> = (0..2 * MAX_WORDS).map(|number| format!("w{number}")).collect();
        let (first, second) = words.split_at(MAX_WORDS);
        assert_eq!(nearest_line(&[&first.join(";")], &words.join(" ")), Some(0));
        assert_eq!(nearest_line(&[&second.join(";")], &words.join(" ")), None);
    }

    #[test]
    fn a_file_that_is_too_long_is_not_looked_at() {
        assert_eq!(nearest_line(&vec!["a"; MAX_LINES], "a"), Some(0));
        assert_eq!(nearest_line(&vec!["a"; MAX_LINES + 1], "a"), None);
    }

    #[test]
    fn long_lines_are_quoted_in_part() {
        let line = "é".repeat(MAX_QUOTED);
        assert_eq!(quote(&line), format!("`{line}`"));
        assert_eq!(quote(&format!("{line}x")), format!("`{line}…`"));
    }
}
