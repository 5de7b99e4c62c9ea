//! Finding an old text of which a few lines are not quite what the file has. Pure.
//!
//! The first and the last line must be there, most lines between them too, and the others may differ in one word each.

use std::collections::HashMap;

use strsim::levenshtein;

use super::windows::{Index, spaced};

/// Most steps of comparing that are done; where more would be needed, nothing is found.
const MAX_STEPS: usize = 4_000_000;
/// Most lines that may differ.
const MAX_DIFFERENT: usize = 3;
/// Shortest lines, in bytes, that may differ.
const MIN_LINE: usize = 3;
/// Longest lines, in bytes, that are compared word by word.
const MAX_LINE: usize = 2_000;

/// The places, by their first lines, of `wanted`: the lines that `index` is made for from number `skip` on.
pub(super) fn drifted(index: &Index<'_>, wanted: &[&str], skip: usize) -> Vec<usize> {
    let count = wanted.len();
    let ids = &index.wanted[skip..skip + count];
    let (Some(&first), Some(&last)) = (ids.first(), ids.last()) else { return Vec::new() };
    let full = wanted.iter().filter(|line| !line.trim().is_empty()).count();
    let allowed = (full / 3).min(MAX_DIFFERENT);
    if count < 3 || allowed == 0 || wanted[0].trim().is_empty() || wanted[count - 1].trim().is_empty() {
        return Vec::new();
    }
    let mut left = MAX_STEPS;
    let mut found: Vec<(usize, usize)> = Vec::new();
    for (start, there) in index.ids.windows(count).enumerate() {
        if there[0] != first || there[count - 1] != last {
            continue;
        }
        let Some(rest) = left.checked_sub(count) else { return Vec::new() };
        left = rest;
        let differing: Vec<usize> = (0..count).filter(|&at| there[at] != ids[at]).take(allowed + 1).collect();
        if differing.len() > allowed {
            continue;
        }
        let pairs = || differing.iter().map(|at| (wanted[*at], index.file.get(start + at)));
        let steps: usize = pairs().map(|(one, other)| one.len().min(MAX_LINE) * other.len().min(MAX_LINE)).sum();
        let Some(rest) = left.checked_sub(steps / 4) else { return Vec::new() };
        left = rest;
        let distances: Option<Vec<usize>> = pairs().map(|(one, other)| distance(one, other)).collect();
        if let Some(distances) = distances {
            found.push((distances.iter().sum(), start));
        }
    }
    // One that is much nearer than the others is meant; of several that are about as near, none is.
    let Some(&(least, _)) = found.iter().min() else { return Vec::new() };
    found.into_iter().filter(|(distance, _)| *distance <= least * 3 + 2).map(|(_, start)| start).collect()
}

/// How far two lines are from each other, in characters; `None` if they differ in more than one sign or one word.
fn distance(one: &str, other: &str) -> Option<usize> {
    let (one, other) = (one.trim(), other.trim());
    if one.len().max(other.len()) > MAX_LINE || one.len().min(other.len()) < MIN_LINE {
        return None;
    }
    let far = levenshtein(one, other);
    if far <= 1 {
        return Some(far);
    }
    let (one, other) = (spaced(one), spaced(other));
    let ((one_words, one_rest), (other_words, other_rest)) = (words(&one), words(&other));
    if one_words.len() != other_words.len() || one_words.len() < 2 {
        return None;
    }
    // A word that stands in the line twice may differ twice.
    let mut renamed: HashMap<&str, &str> = HashMap::new();
    for (one, other) in one_words.iter().zip(&other_words).filter(|(one, other)| one != other) {
        if renamed.insert(one, other).is_some_and(|before| before != *other) {
            return None;
        }
    }
    let signs = levenshtein(&one_rest, &other_rest);
    (renamed.len() + signs <= 1).then(|| levenshtein(&one, &other))
}

/// The words of a line, and what is between them with a letter for each word. All quotes are the same there.
fn words(line: &str) -> (Vec<&str>, String) {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let (mut words, mut rest) = (Vec::new(), String::new());
    let mut line = line;
    while let Some(c) = line.chars().next() {
        let end = if is_word(c) { line.find(|c| !is_word(c)).unwrap_or(line.len()) } else { c.len_utf8() };
        if is_word(c) {
            words.push(&line[..end]);
            rest.push('a');
        } else {
            rest.push(if matches!(c, '\'' | '`') { '"' } else { c });
        }
        line = &line[end..];
    }
    (words, rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_may_differ_in_one_word() {
        for (one, other, want) in [
            ("let a = Obj.length;", "let a = obj.length;", Some(1)),
            ("let a = x + x;", "let a = y + y;", Some(2)),
            ("let a = x + y;", "let a = y + x;", None),
            ("zz let a = x;", "let a = x;", None),
            ("ready: true", "ready: true,", Some(1)),
            ("// existing code", "return a;", None),
            ("word", "other", None),
            ("twoo", "two", Some(1)),
            ("c", "x", None),
            ("var result  '';", "var result = '';", Some(1)),
            ("youcan use it", "you can use it", Some(1)),
            ("log('hello');", "log(\"hello\");", Some(2)),
        ] {
            assert_eq!(distance(one, other), want, "{one} / {other}");
        }
    }
}
