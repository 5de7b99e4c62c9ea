//! What in a file comes nearest to the lines of a hunk, and what differs. Pure.

use std::collections::HashMap;

use crate::matching::near::{self, MAX_COMPARED, MAX_LINES, dense, quote, squash};

/// Says which place is nearest to `old`, and where it first differs.
pub(super) fn nearest(file: &[&str], old: &[&str]) -> String {
    if file.len() > MAX_LINES {
        return "The file is too long to be searched for what is near.".to_owned();
    }
    let Some(start) = best(file, old) else {
        let longest = old.iter().max_by_key(|line| line.len());
        return match longest.and_then(|line| nearest_line(file, line)) {
            Some(near) => format!("The nearest is {near}."),
            None => "Nothing like them is there.".to_owned(),
        };
    };
    let last = (start + old.len()).min(file.len());
    let place = if last == start + 1 { format!("line {last}") } else { format!("lines {}-{last}", start + 1) };
    // Of white space only that inside a line keeps it from being found.
    let misfit =
        (0..old.len()).find(|&index| file.get(start + index).is_none_or(|line| dense(line) != dense(old[index])));
    let Some(index) = misfit else { return format!("Only white space inside lines differs on {place}.") };
    let there = file.get(start + index).map_or_else(|| "the end of the file".to_owned(), |line| quote(line));
    format!(
        "The nearest is on {place}, but line {} is {there}, and the patch has {} there.",
        start + index + 1,
        quote(old[index])
    )
}

/// The line that shares most words with `wanted`, with its number.
pub(super) fn nearest_line(file: &[&str], wanted: &str) -> Option<String> {
    near::nearest_line(file, wanted).map(|line| format!("line {}: {}", line + 1, quote(file[line])))
}

/// Where most lines are the same when neither case nor white space count: at least half of those with something in them.
fn best(file: &[&str], old: &[&str]) -> Option<usize> {
    let mut known: HashMap<String, usize> = HashMap::new();
    let mut id = |line: &&str| {
        let next = known.len();
        *known.entry(squash(line)).or_insert(next)
    };
    let nothing = id(&"");
    let file: Vec<usize> = file.iter().map(&mut id).collect();
    let count = old.len().min((MAX_COMPARED / file.len().max(1)).max(1));
    let old: Vec<usize> = old.iter().take(count).map(&mut id).collect();
    let full = old.iter().filter(|&&line| line != nothing).count();
    let score = |start: usize| {
        let pairs = file[start..].iter().zip(&old);
        pairs.filter(|(there, wanted)| there == wanted && **wanted != nothing).count()
    };
    let (score, std::cmp::Reverse(start)) =
        (0..file.len()).map(|start| (score(start), std::cmp::Reverse(start))).max()?;
    (score > 0 && score * 2 >= full).then_some(start)
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};

    const FILE: [&str; 7] =
        ["fn main() {", "    let a = 1;", "    let b = 2;", "    if a < b {", "        run(a, b);", "    }", "}"];

    #[track_caller]
    fn check(old: &[&str], want: Expect) {
        want.assert_eq(&nearest(&FILE, old));
    }

    #[test]
    fn the_first_line_that_differs_is_shown() {
        check(
            &["    let a = 1;", "    let b = 3;", "    if a < b {"],
            expect![
                "The nearest is on lines 2-4, but line 3 is `    let b = 2;`, and the patch has `    let b = 3;` there."
            ],
        );
        check(
            &["    }", "}", "end"],
            expect!["The nearest is on lines 6-7, but line 8 is the end of the file, and the patch has `end` there."],
        );
        check(
            &["Run(a, b);"],
            expect![
                "The nearest is on line 5, but line 5 is `        run(a, b);`, and the patch has `Run(a, b);` there."
            ],
        );
        check(&["let a  =  1;"], expect!["Only white space inside lines differs on line 2."]);
    }

    #[test]
    fn a_line_with_the_same_words_is_better_than_nothing() {
        check(&["let b = compute(2)"], expect!["The nearest is line 3: `    let b = 2;`."]);
        check(&["something else entirely"], expect!["Nothing like them is there."]);
        check(&[], expect!["Nothing like them is there."]);
        expect!["Nothing like them is there."].assert_eq(&nearest(&[], &["a"]));
    }

    #[test]
    fn the_work_is_bounded() {
        let file = vec!["a"; MAX_LINES];
        let old = vec!["A"; 1000];
        assert!(nearest(&file, &old).starts_with("The nearest is on lines 1-1000"));
        assert!(nearest(&vec!["a"; MAX_LINES + 1], &old).starts_with("The file is too long"));
    }
}
