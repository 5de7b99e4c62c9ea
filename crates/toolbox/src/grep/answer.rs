//! What the model reads of a search. Pure.

use haft_project::{FileMatches, Line, Matches, Role, SomeFiles, Want};

use super::MAX_SHOWN;
use crate::glob::gaps;
use crate::text::on_one_line;

/// Most bytes of one answer, its remarks apart.
pub(super) const MAX_BYTES: usize = 50 * 1024;

/// What is told, and whether something had to be left out.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Answer {
    pub(super) text: String,
    pub(super) truncated: bool,
}

pub(super) fn text(pattern: &str, want: Want, matches: &Matches) -> Answer {
    let (listed, shown) = listed(want, &matches.files);
    let (total, in_files) = (matches.total, matches.in_files);
    let truncated = match want {
        Want::Lines { .. } => shown < total,
        Want::Counts | Want::Names => shown < in_files,
    };
    let first = if truncated { format!(" (showing first {shown})") } else { String::new() };
    let files = format!("{in_files} {}", if in_files == 1 { "file" } else { "files" });
    let mut parts = vec![match want {
        _ if total == 0 => {
            nothing(pattern).map_or_else(|| "No files found".to_owned(), |hint| format!("No files found. {hint}"))
        }
        Want::Lines { .. } if !truncated => format!("Found {total} matches\n{listed}"),
        Want::Lines { .. } | Want::Counts => format!("Found {total} matches in {files}{first}\n{listed}"),
        Want::Names => format!("Found {files}{first}\n{listed}"),
    }];
    if truncated {
        parts.push("(Results truncated. Consider using a more specific path or pattern.)".to_owned());
    }
    parts.extend(some(&matches.denied, "left out, because reading them needs leave; read one by name if you need it"));
    parts.extend(some(&matches.cut, "searched in part only, because of their size or that of a line"));
    parts.extend(gaps(matches.gaps));
    Answer { text: parts.join("\n\n"), truncated }
}

/// Why a pattern may have found nothing: a choice that is written as other programs want it.
fn nothing(pattern: &str) -> Option<&'static str> {
    let choice = pattern.contains(r"\|") && !pattern.contains(r"\|\|");
    choice.then_some(r"\| is a plain | here; for a choice write a|b")
}

/// The files, as much of them as there is room for; and how many matches, or files where only these are wanted, are in
/// it.
fn listed(want: Want, files: &[FileMatches]) -> (String, usize) {
    let (mut text, mut shown) = (String::new(), 0);
    for file in files {
        let path = file.path.display().to_string();
        let path = on_one_line(&path);
        let line = match want {
            Want::Lines { context } => {
                if !lines(&path, &file.lines, context, &mut text, &mut shown) {
                    break;
                }
                continue;
            }
            Want::Counts => format!("{path}: {}\n", file.count),
            Want::Names => format!("{path}\n"),
        };
        if shown == MAX_SHOWN || (shown > 0 && text.len() + line.len() > MAX_BYTES) {
            break;
        }
        text.push_str(&line);
        shown += 1;
    }
    text.truncate(text.trim_end_matches('\n').len());
    (text, shown)
}

/// Adds the lines of a file, and says whether there is room for more.
fn lines(path: &str, lines: &[Line], context: usize, text: &mut String, shown: &mut usize) -> bool {
    let gap = if text.is_empty() { "" } else { "\n\n" };
    // What is not added yet: the head goes with the first match, and so do lines with the match they stand before.
    let mut waiting = format!("{gap}{path}:");
    let (mut before, mut matched): (Option<u64>, Option<u64>) = (None, None);
    for line in lines {
        let Line { number, text: content, role } = line;
        if context > 0 && before.is_some_and(|before| before + 1 < *number) {
            waiting.push_str("\n  --");
        }
        before = Some(*number);
        let sign = if *role == Role::Near { '-' } else { ':' };
        waiting.push_str(&format!("\n  Line {number}{sign} {content}"));
        match role {
            Role::Near if matched.is_none_or(|matched| matched + (context as u64) < *number) => continue,
            Role::Match if *shown == MAX_SHOWN => return false,
            Role::Near | Role::Match | Role::More => {}
        }
        if *shown > 0 && text.len() + waiting.len() > MAX_BYTES {
            return false;
        }
        text.push_str(&std::mem::take(&mut waiting));
        match role {
            Role::Match => {
                *shown += 1;
                matched = Some(*number);
            }
            Role::More => matched = Some(*number),
            Role::Near => {}
        }
    }
    true
}

/// Says what was done with some files.
fn some(files: &SomeFiles, what: &str) -> Option<String> {
    let more = if files.count > files.titles.len() { ", …" } else { "" };
    let (unit, were) = if files.count == 1 { ("file", "was") } else { ("files", "were") };
    (files.count > 0)
        .then(|| format!("({} {unit} {were} {what}: {}{more})", files.count, on_one_line(&files.titles.join(", "))))
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use expect_test::{Expect, expect};
    use haft_project::Gaps;

    use super::*;

    const LINES: Want = Want::Lines { context: 0 };

    /// A file whose lines are told as `3` for a match, `3+` for more of it, `3-` for one near it.
    fn file(path: &str, count: usize, lines: &str) -> FileMatches {
        let line = |word: &str| {
            let (role, number) = match (word.strip_suffix('+'), word.strip_suffix('-')) {
                (Some(number), _) => (Role::More, number),
                (None, Some(number)) => (Role::Near, number),
                (None, None) => (Role::Match, word),
            };
            Line { number: number.parse().unwrap(), text: format!("text {number}"), role }
        };
        FileMatches { path: PathBuf::from(path), count, lines: lines.split_whitespace().map(line).collect() }
    }

    fn some_files(count: usize, titles: &[&str]) -> SomeFiles {
        SomeFiles { count, titles: titles.iter().map(|one| (*one).to_owned()).collect() }
    }

    fn found(files: Vec<FileMatches>) -> Matches {
        let (total, in_files) = (files.iter().map(|file| file.count).sum(), files.len());
        Matches { files, total, in_files, ..Matches::default() }
    }

    #[track_caller]
    fn check(want: Want, matches: &Matches, truncated: bool, text: Expect) {
        let answer = super::text("x", want, matches);
        text.assert_eq(&answer.text);
        assert_eq!(answer.truncated, truncated);
    }

    #[test]
    fn lines_stand_below_their_file() {
        let matches = found(vec![file("/a", 2, "1 9"), file("/b\nc", 1, "3")]);
        check(
            LINES,
            &matches,
            false,
            expect![[r#"
            Found 3 matches
            /a:
              Line 1: text 1
              Line 9: text 9

            /b\nc:
              Line 3: text 3"#]],
        );
    }

    #[test]
    fn lines_near_a_match_have_another_sign_and_groups_are_told_apart() {
        let matches = found(vec![file("/a", 3, "1- 2 3- 4- 5 6+ 7- 20- 21 22-"), file("/b", 1, "1")]);
        check(
            Want::Lines { context: 1 },
            &matches,
            false,
            expect![[r#"
            Found 4 matches
            /a:
              Line 1- text 1
              Line 2: text 2
              Line 3- text 3
              Line 4- text 4
              Line 5: text 5
              Line 6: text 6
              Line 7- text 7
              --
              Line 20- text 20
              Line 21: text 21
              Line 22- text 22

            /b:
              Line 1: text 1"#]],
        );
    }

    #[test]
    fn counts_and_names_alone_are_lists() {
        let matches = found(vec![file("/a", 20, ""), file("/b", 1, "")]);
        check(
            Want::Counts,
            &matches,
            false,
            expect![[r#"
            Found 21 matches in 2 files
            /a: 20
            /b: 1"#]],
        );
        check(
            Want::Names,
            &matches,
            false,
            expect![[r#"
            Found 2 files
            /a
            /b"#]],
        );
        let more = Matches { total: 500, in_files: 300, ..matches };
        check(
            Want::Names,
            &more,
            true,
            expect![[r#"
            Found 300 files (showing first 2)
            /a
            /b

            (Results truncated. Consider using a more specific path or pattern.)"#]],
        );
        check(
            Want::Counts,
            &more,
            true,
            expect![[r#"
            Found 500 matches in 300 files (showing first 2)
            /a: 20
            /b: 1

            (Results truncated. Consider using a more specific path or pattern.)"#]],
        );
    }

    #[test]
    fn no_more_than_a_hundred_are_shown_and_nothing_before_the_next() {
        let numbers = |count: usize| {
            (1..=count).map(|number| format!("{}- {}", 10 * number - 1, 10 * number)).collect::<Vec<_>>()
        };
        let matches = found(vec![file("/a", 99, &numbers(99).join(" ")), file("/b", 2, "4- 5 6- 9- 10")]);
        let answer = super::text("x", Want::Lines { context: 1 }, &matches);
        assert!(answer.text.starts_with("Found 101 matches in 2 files (showing first 100)\n"), "{}", answer.text);
        let end = "/b:\n  Line 4- text 4\n  Line 5: text 5\n  Line 6- text 6\n\n(Results truncated.";
        assert!(answer.truncated && answer.text.contains(end), "{}", answer.text);
        let many = found((0..=MAX_SHOWN).map(|number| file(&format!("/{number}"), 1, "")).collect());
        assert!(super::text("x", Want::Names, &many).text.starts_with("Found 101 files (showing first 100)\n/0\n"));
    }

    #[test]
    fn a_choice_as_other_programs_want_it_is_explained() {
        let text = |pattern: &str| super::text(pattern, LINES, &Matches::default()).text;
        assert_eq!(text("a"), "No files found");
        assert_eq!(text(r"a\|b"), r"No files found. \| is a plain | here; for a choice write a|b");
        assert_eq!(text(r"a \|\| b"), "No files found");
    }

    #[test]
    fn what_was_not_looked_at_is_told_last() {
        let matches = Matches {
            denied: some_files(1, &[".env"]),
            cut: some_files(4, &["b", "c", "d"]),
            gaps: Gaps { folders: 1, entries: false },
            ..found(vec![file("/a", 1, "1")])
        };
        check(
            LINES,
            &matches,
            false,
            expect![[r#"
            Found 1 matches
            /a:
              Line 1: text 1

            (1 file was left out, because reading them needs leave; read one by name if you need it: .env)

            (4 files were searched in part only, because of their size or that of a line: b, c, d, …)

            (1 folder could not be read.)"#]],
        );
    }
}
