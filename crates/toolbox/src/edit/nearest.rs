//! What in a file comes nearest to a text that is not in it, and what differs. Pure.
//!
//! The work is bounded: files of more than [`MAX_LINES`] lines are not looked at, and of the text so many lines are
//! compared with each place that there are at most [`MAX_COMPARED`] comparisons in all.

use crate::matching::near::{MAX_COMPARED, MAX_LINES, dense, nearest_line, quote, squash, words};

/// Most bytes of a file that are looked at.
const MAX_LOOKED: usize = 512 * 1024;
/// Most words that are looked for to find the part of a longer file.
const MAX_TRIED: usize = 4;
/// Most places that are named.
const MAX_PLACES: usize = 3;
/// Most lines that are shown to be others.
const MAX_MISFITS: usize = 3;

const READ_AGAIN: &str = "Read the file again and copy the text exactly.";

/// Advice for a model whose `old` is not in `content`.
pub(super) fn nearest(content: &str, old: &str) -> String {
    if has_line_numbers(old) {
        return "It seems to hold the line numbers that read prints; leave them out.".to_owned();
    }
    let wanted = wanted_lines(old);
    let Some((before, content)) = part(content, &wanted) else {
        return format!("Nothing like it is there. {READ_AGAIN}");
    };
    let file: Vec<&str> = content.lines().collect();
    if file.len() > MAX_LINES || wanted.is_empty() {
        return READ_AGAIN.to_owned();
    }
    if let Some(places) = places(&file, &wanted) {
        return describe(&file, &wanted, &places, before);
    }
    let longest = wanted.iter().max_by_key(|line| line.len());
    match longest.and_then(|longest| nearest_line(&file, longest)) {
        Some(line) => format!("The nearest is line {}: {}. {READ_AGAIN}", before + line + 1, quote(file[line])),
        None => format!("Nothing like it is there. {READ_AGAIN}"),
    }
}

/// The part of `content` that is looked at, and how many lines there are before it: all where it is not long, otherwise
/// what is around the first of the longest words of `wanted` that is there. `None` where none is.
fn part<'a>(content: &'a str, wanted: &[&str]) -> Option<(usize, &'a str)> {
    if content.len() <= MAX_LOOKED {
        return Some((0, content));
    }
    let mut words: Vec<&str> = wanted.iter().flat_map(|line| words(line)).take(MAX_LOOKED / 64).collect();
    words.sort_by_key(|word| std::cmp::Reverse(word.len()));
    words.dedup();
    let hit = words.iter().take(MAX_TRIED).find_map(|word| content.find(*word))?;
    let start = content.floor_char_boundary(hit.saturating_sub(MAX_LOOKED / 4));
    let end = content.floor_char_boundary(start + MAX_LOOKED);
    // Whole lines, unless one is longer than all that is looked at.
    let start = content[start..hit].find('\n').map_or(start, |at| start + at + 1);
    let end = content[hit..end].rfind('\n').map_or(end, |at| hit + at + 1);
    Some((content[..start].bytes().filter(|byte| *byte == b'\n').count(), &content[start..end]))
}

/// The lines to look for, without blank ones at both ends.
fn wanted_lines(old: &str) -> Vec<&str> {
    let lines: Vec<&str> = old.lines().collect();
    let first = lines.iter().position(|line| !line.trim().is_empty()).unwrap_or(lines.len());
    let last = lines.iter().rposition(|line| !line.trim().is_empty()).map_or(first, |last| last + 1);
    lines[first..last].to_vec()
}

fn has_line_numbers(old: &str) -> bool {
    let numbered = |line: &str| {
        let digits = line.trim_start().trim_start_matches(|c: char| c.is_ascii_digit());
        digits.len() < line.trim_start().len() && digits.starts_with(':')
    };
    let mut lines = old.lines().filter(|line| !line.trim().is_empty()).peekable();
    lines.peek().is_some() && lines.all(numbered)
}

/// A text begins and ends somewhere in a line, so its first and last line may be pieces.
#[derive(Clone, Copy)]
enum Part {
    Only,
    First,
    Inner,
    Last,
}

impl Part {
    fn of(index: usize, count: usize) -> Self {
        match (index, count) {
            (_, 1) => Part::Only,
            (0, _) => Part::First,
            (index, count) if index + 1 == count => Part::Last,
            _ => Part::Inner,
        }
    }

    fn fits(self, line: &str, wanted: &str) -> bool {
        match self {
            Part::Only => line.contains(wanted),
            Part::First => line.ends_with(wanted),
            Part::Inner => line == wanted,
            Part::Last => line.starts_with(wanted),
        }
    }
}

/// Where most lines fit when neither case nor white space count: the first lines of at most [`MAX_PLACES`] equally
/// good places. At least half of the lines must fit.
fn places(file: &[&str], wanted: &[&str]) -> Option<Vec<usize>> {
    let count = wanted.len().min((MAX_COMPARED / file.len().max(1)).max(1));
    let file: Vec<String> = file.iter().map(|line| squash(line)).collect();
    let bare: Vec<String> = wanted[..count].iter().map(|line| squash(line)).collect();
    let score = |start: usize| {
        let fits = |index: usize| {
            let line = file.get(start + index);
            !bare[index].is_empty() && line.is_some_and(|line| Part::of(index, wanted.len()).fits(line, &bare[index]))
        };
        (0..count).filter(|&index| fits(index)).count()
    };
    let full = bare.iter().filter(|line| !line.is_empty()).count();
    let (mut best, mut places) = (1, Vec::new());
    for start in 0..file.len() {
        let score = score(start);
        if score > best {
            places.clear();
            best = score;
        }
        if score == best && places.len() < MAX_PLACES {
            places.push(start);
        }
    }
    (!places.is_empty() && best * 2 >= full).then_some(places)
}

fn describe(file: &[&str], wanted: &[&str], places: &[usize], before: usize) -> String {
    let start = places[0];
    let span = |start: usize| {
        let (first, last) = (before + start + 1, before + (start + wanted.len()).min(file.len()));
        if last == first { format!("line {last}") } else { format!("lines {first}-{last}") }
    };
    let others: Vec<String> = places[1..].iter().map(|&start| span(start)).collect();
    let also = if others.is_empty() { String::new() } else { format!(" (likewise {})", others.join(" and ")) };
    match difference(file, wanted, start) {
        Difference::Only(what) => {
            let verb = if wanted.len() == 1 { "differs" } else { "differ" };
            let span = span(start).replacen('l', "L", 1);
            format!("{span} {verb} from it only in {what}{also}. {READ_AGAIN}")
        }
        Difference::Lines(misfits) => {
            let told = misfits.iter().take(MAX_MISFITS).map(|&index| {
                let there = file.get(start + index).map_or("the end of the file".to_owned(), |line| quote(line));
                let line = before + start + index + 1;
                format!("line {line} is {there}, and oldString has {} there", quote(wanted[index]))
            });
            let mut told = told.collect::<Vec<_>>().join("; ");
            match misfits.len().saturating_sub(MAX_MISFITS) {
                0 => {}
                1 => told.push_str("; one more line differs"),
                more => told.push_str(&format!("; {more} more lines differ")),
            }
            format!("The nearest is on {}{also}, but {told}. {READ_AGAIN}", span(start))
        }
    }
}

enum Difference {
    /// All lines are the same but for this.
    Only(&'static str),
    /// These lines of the wanted text are others.
    Lines(Vec<usize>),
}

type Simplify = fn(&str) -> String;

/// Ways to look at a line that make two of them the same, the narrowest first.
const WAYS: [(&str, Simplify); 7] = [
    ("line breaks or blank lines at its ends", str::to_owned),
    ("indentation", |line| line.trim_start().to_owned()),
    ("white space at the end of lines", |line| line.trim_end().to_owned()),
    ("white space at the beginning and end of lines", |line| line.trim().to_owned()),
    ("white space", dense),
    ("upper and lower case", str::to_lowercase),
    ("case and white space", squash),
];

fn difference(file: &[&str], wanted: &[&str], start: usize) -> Difference {
    let is_misfit = |index: usize, simplify: Simplify| {
        let line = file.get(start + index).map(|line| simplify(line));
        let fits = |line: String| Part::of(index, wanted.len()).fits(&line, &simplify(wanted[index]));
        !line.is_some_and(fits)
    };
    for (what, simplify) in WAYS {
        if !(0..wanted.len()).any(|index| is_misfit(index, simplify)) {
            return Difference::Only(what);
        }
    }
    Difference::Lines((0..wanted.len()).filter(|&index| is_misfit(index, squash)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};

    const FILE: &str = "fn main() {\n    let a = 1;\n    let b = 2;  \n    if a < b {\n        run(a, b);\n    }\n}\n";

    #[track_caller]
    fn check(old: &str, want: Expect) {
        want.assert_eq(&advice(FILE, old));
    }

    /// The advice without its last sentence, which is always the same.
    fn advice(content: &str, old: &str) -> String {
        let advice = nearest(content, old);
        advice.strip_suffix(READ_AGAIN).unwrap_or(&advice).trim_end().to_owned()
    }

    #[test]
    fn white_space_and_case_are_named() {
        check("if a < b {\n    run(a, b);\n}", expect!["Lines 4-6 differ from it only in indentation."]);
        check(
            "    let a = 1;\n    let b = 2;\n    if a",
            expect!["Lines 2-4 differ from it only in white space at the end of lines."],
        );
        check(
            "\tlet b = 2;\n\tif a < b {",
            expect!["Lines 3-4 differ from it only in white space at the beginning and end of lines."],
        );
        check("let a = 1\n", expect!["Line 2 differs from it only in line breaks or blank lines at its ends."]);
        check("run(a,b);", expect!["Line 5 differs from it only in white space."]);
        check("Run(a, b)", expect!["Line 5 differs from it only in upper and lower case."]);
        check("RUN(a,b)", expect!["Line 5 differs from it only in case and white space."]);
    }

    #[test]
    fn the_lines_that_differ_are_shown() {
        let near = |old: &str| advice("a\nb\nc\nd\ne\nf\ng\nh\ni\n", old);
        expect!["The nearest is on lines 1-5, but line 2 is `b`, and oldString has `B2` there; line 4 is `d`, and oldString has `D2` there."].assert_eq(&near("a\nB2\nc\nD2\ne"));
        expect!["The nearest is on lines 1-9, but line 2 is `b`, and oldString has `B2` there; line 4 is `d`, and oldString has `D2` there; line 6 is `f`, and oldString has `F2` there; one more line differs."].assert_eq(&near("a\nB2\nc\nD2\ne\nF2\ng\nH2\ni"));
        check(
            "    let a = 1;\n    let b = 3;\n    if a < b {",
            expect![
                "The nearest is on lines 2-4, but line 3 is `    let b = 2;  `, and oldString has `    let b = 3;` there."
            ],
        );
        check(
            "        run(a, b);\n    }\n}\nend",
            expect!["The nearest is on lines 5-7, but line 8 is the end of the file, and oldString has `end` there."],
        );
    }

    #[test]
    fn it_always_ends_with_the_next_step() {
        for old in ["Run(a, b)", "let b = compute(2)", "nothing like it", "\n"] {
            assert!(nearest(FILE, old).ends_with(READ_AGAIN), "{old}");
        }
    }

    #[test]
    fn equally_near_places_are_named_too() {
        let file = "if x {\n  go()\n}\nif x {\n  go()\n}\n";
        expect!["Lines 1-3 differ from it only in indentation (likewise lines 4-6)."]
            .assert_eq(&advice(file, "if x {\n    go()\n}"));
        expect!["Line 1 differs from it only in upper and lower case (likewise line 2 and line 3)."]
            .assert_eq(&advice(&"a\n".repeat(MAX_PLACES + 1), "A"));
    }

    #[test]
    fn a_line_with_the_same_words_is_better_than_nothing() {
        check("let b = compute(2)", expect!["The nearest is line 3: `    let b = 2;  `."]);
        check("something else entirely", expect!["Nothing like it is there."]);
    }

    #[test]
    fn line_numbers_are_recognised() {
        check(
            "2:     let a = 1;\n3:     let b = 2;",
            expect!["It seems to hold the line numbers that read prints; leave them out."],
        );
        check("10: x", expect!["It seems to hold the line numbers that read prints; leave them out."]);
    }

    #[test]
    fn odd_texts_get_an_answer() {
        check("\n \n", expect![""]);
        expect!["Nothing like it is there."].assert_eq(&advice("", "a"));
        check(&"x".repeat(500), expect!["Nothing like it is there."]);
    }

    #[test]
    fn of_a_long_file_the_part_with_the_longest_words_is_looked_at() {
        let line = |at: usize| format!("let value_{at} = compute({at});\n");
        let file: String = (0..40_000).map(line).collect();
        assert!(file.len() > 2 * MAX_LOOKED);
        assert_eq!(
            advice(&file, "let Value_30000 = compute(30000);\nlet value_30001 = compute(1);"),
            "The nearest is on lines 30001-30002, but line 30002 is `let value_30001 = compute(30001);`, and oldString has \
             `let value_30001 = compute(1);` there."
        );
        assert_eq!(advice(&file, "quite another thing"), "Nothing like it is there.");
        let long = "é".repeat(MAX_LOOKED) + " needle " + &"é".repeat(MAX_LOOKED);
        assert!(advice(&long, "a needle").starts_with("The nearest is line 1"), "{}", advice(&long, "a needle"));
    }

    #[test]
    fn the_work_is_bounded() {
        let file = "a\n".repeat(MAX_LINES);
        let old = "a\n".repeat(MAX_LINES) + "b";
        assert!(nearest(&file, &old).contains("line"));
        let larger = "a\n".repeat(MAX_LINES + 1);
        assert_eq!(nearest(&larger, "A"), READ_AGAIN);
        // What fits comes after the lines that are compared.
        let compared = MAX_COMPARED / MAX_LINES;
        let late = "b\n".repeat(compared) + &"A\n".repeat(3 * compared);
        assert!(nearest(&file, &late).starts_with("Nothing like it"));
    }
}
