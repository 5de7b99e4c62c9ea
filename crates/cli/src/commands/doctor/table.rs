//! The report as a person reads it. Pure.

use haft_sandbox::{Gap, Rung, Tried};

use super::verdict::{Row, Status};
use crate::render::Paint;

/// How wide the text is.
const WIDTH: usize = 96;
/// Where what was tried begins.
const INDENT: usize = 15;

/// The whole report.
pub(super) fn table(rows: &[Row], rung: Rung, tried: &[Tried], gaps: &[Gap], paint: Paint) -> String {
    let mut lines = vec![paint.bold(&head(rung))];
    for Tried { rung, why_not } in tried {
        lines.extend(wrapped(&format!("{} cannot be used, because {why_not}", rung.name()), 2));
    }
    let mut group = "";
    for row in rows {
        if row.group != group {
            group = row.group;
            lines.extend([String::new(), paint.bold(group)]);
        }
        let word = format!("{:<width$}", row.status.word(), width = INDENT - 4);
        lines.push(format!("  {}  {}", painted(row.status, &word, paint), row.tried));
        if says_more(row) {
            lines.extend(wrapped(&row.reason, INDENT).iter().map(|line| paint.dim(line)));
        }
    }
    if rung != Rung::None && !gaps.is_empty() {
        lines.extend([String::new(), paint.bold(&format!("What {} cannot hold on this machine", rung.name()))]);
        for gap in gaps {
            let text = wrapped(&format!("{}: {}", gap.promise, gap.instead), 4);
            lines.extend(text.iter().enumerate().map(|(at, line)| match at {
                0 => format!("  - {}", line.trim_start()),
                _ => line.clone(),
            }));
        }
    }
    lines.extend([String::new(), summary(rows, paint)]);
    lines.join("\n")
}

fn head(rung: Rung) -> String {
    match rung {
        Rung::None => "Commands run without a cage here".to_owned(),
        Rung::Namespaces => "Commands run in a cage here, held by namespaces (bwrap)".to_owned(),
        Rung::Landlock => "Commands run in a cage here, held by Landlock".to_owned(),
        Rung::Seatbelt => "Commands run in a cage here, held by the sandbox of macOS".to_owned(),
    }
}

/// Whether the reason tells more than that it was refused.
fn says_more(row: &Row) -> bool {
    match row.status {
        Status::Held => row.group.starts_with("What haft"),
        Status::Repaired | Status::Failed | Status::Unsupported => !row.reason.is_empty(),
    }
}

fn painted(status: Status, word: &str, paint: Paint) -> String {
    match status {
        Status::Held => paint.green(word),
        Status::Repaired => paint.cyan(word),
        Status::Failed => paint.red(word),
        Status::Unsupported => paint.yellow(word),
    }
}

fn summary(rows: &[Row], paint: Paint) -> String {
    let count = |status: Status| rows.iter().filter(|row| row.status == status).count();
    let all = [Status::Held, Status::Repaired, Status::Failed, Status::Unsupported];
    let parts = all.map(|status| (status, count(status))).into_iter().filter(|(_, count)| *count > 0);
    let parts: Vec<String> =
        parts.map(|(status, count)| painted(status, &format!("{count} {}", status.word()), paint)).collect();
    parts.join(", ")
}

/// `text` in lines of [`WIDTH`], each begun with `indent` blanks.
fn wrapped(text: &str, indent: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= WIDTH => {
                line.push(' ');
                line.push_str(word);
            }
            Some(_) | None => lines.push(format!("{:indent$}{word}", "")),
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;

    fn row(group: &'static str, tried: &'static str, status: Status, reason: &str) -> Row {
        Row { id: "x", group, tried, status, reason: reason.to_owned() }
    }

    #[track_caller]
    fn check(rows: &[Row], rung: Rung, want: Expect) {
        let tried = [Tried { rung: Rung::Namespaces, why_not: "bwrap is not installed".to_owned() }];
        let gaps = [Gap { promise: "frozen", instead: "files can be changed, and are put back ".repeat(3) }];
        want.assert_eq(&(table(rows, rung, &tried, &gaps, Paint::OFF) + "\n"));
    }

    #[test]
    fn a_report_shows_what_holds_and_why_the_rest_does_not() {
        check(
            &[
                row("Files", "write a file outside", Status::Held, "Permission denied (os error 13)"),
                row("Files", "read a disk", Status::Unsupported, "there is none here"),
                row("Later", "add a hook", Status::Repaired, "it was done, and put back when the command had ended"),
                row("Later", "add another", Status::Failed, &"it was done ".repeat(9)),
                row("What haft needs", "git", Status::Held, "/usr/bin/git"),
            ],
            Rung::Landlock,
            expect![[r#"
                Commands run in a cage here, held by Landlock
                  namespaces cannot be used, because bwrap is not installed

                Files
                  held         write a file outside
                  unsupported  read a disk
                               there is none here

                Later
                  repaired     add a hook
                               it was done, and put back when the command had ended
                  failed       add another
                               it was done it was done it was done it was done it was done it was done it was
                               done it was done it was done

                What haft needs
                  held         git
                               /usr/bin/git

                What landlock cannot hold on this machine
                  - frozen: files can be changed, and are put back files can be changed, and are put back files
                    can be changed, and are put back

                2 held, 1 repaired, 1 failed, 1 unsupported
            "#]],
        );
    }

    #[test]
    fn without_a_cage_nothing_is_said_of_its_gaps() {
        check(
            &[row("Files", "write a file outside", Status::Failed, "it was done")],
            Rung::None,
            expect![[r#"
            Commands run without a cage here
              namespaces cannot be used, because bwrap is not installed

            Files
              failed       write a file outside
                           it was done

            1 failed
        "#]],
        );
    }

    #[test]
    fn colours_are_for_terminals() {
        let rows = [row("Files", "write", Status::Held, "")];
        let plain = table(&rows, Rung::Landlock, &[], &[], Paint::OFF);
        assert!(!plain.contains('\u{1b}'));
        assert!(table(&rows, Rung::Landlock, &[], &[], Paint::ON).contains("\u{1b}[32mheld"));
    }
}
