//! The line that is typed as it stands on the screen. Pure.

use super::layout::{Layout, cut};
use super::line::Line;
use super::{Kind, Mode, Prompt};
use crate::render::{Foot, Paint, clean, width};

/// Most rows of the text that are shown at once; fewer on a low terminal.
const MAX_ROWS: usize = 12;

/// How much room there is, in characters.
#[derive(Debug, Clone, Copy)]
pub(super) struct Room {
    pub columns: usize,
    pub rows: usize,
}

/// How many columns the rows of the text have.
pub(super) fn text_columns(line: &Line, prompt: &Prompt, columns: usize) -> usize {
    columns.saturating_sub(1 + width(&mark(line, prompt, columns).0)).max(2)
}

/// The line, its list and what is to be said of it.
pub(super) fn foot(line: &Line, prompt: &Prompt, room: Room, paint: Paint) -> Foot {
    let (mark, painted) = mark(line, prompt, room.columns);
    let indent = " ".repeat(width(&mark));
    let layout = Layout::new(line.buffer.text(), &line.blocks, text_columns(line, prompt, room.columns));
    let (row, column) = layout.place(line.buffer.cursor());
    let most = MAX_ROWS.min((room.rows / 2).max(1));
    let first = (row + 1).saturating_sub(most).min(layout.rows.len().saturating_sub(most));
    let shown = layout.rows.iter().enumerate().skip(first).take(most);
    let mut lines: Vec<String> = shown
        .map(|(at, row)| {
            let text: String = row
                .cells
                .iter()
                .map(|cell| if cell.block { paint.cyan(&cell.shown) } else { cell.shown.clone() })
                .collect();
            // An arrow where rows above are not shown.
            let before = match at {
                0 => painted(paint),
                at if at == first && indent.len() > 1 => paint.dim(&format!("↑{}", " ".repeat(indent.len() - 1))),
                _ => indent.clone(),
            };
            format!("{before}{text}")
        })
        .collect();
    if line.buffer.is_empty() && !prompt.hint.is_empty() && line.search.is_none() && line.mode == Mode::Prompt {
        let room = room.columns.saturating_sub(1 + width(&mark));
        if let Some(line) = lines.first_mut() {
            line.push_str(&paint.dim(&cut(&clean(&prompt.hint), room)));
        }
    }
    let below = room.rows.saturating_sub(lines.len() + 1);
    lines.extend(list(line, room.columns, below, paint));
    if let Some(notice) = &line.notice {
        lines.push(paint.yellow(&cut(notice, room.columns.saturating_sub(1))));
    }
    Foot { lines, row: row - first, column: width(&mark) + column }
}

/// What stands before the text, and how it is painted.
fn mark(line: &Line, prompt: &Prompt, columns: usize) -> (String, Box<dyn Fn(Paint) -> String>) {
    // The text needs more room than its mark.
    let most = (columns / 2).max(1);
    if let Some(search) = &line.search {
        let words = clean(&search.words).into_owned();
        let text = cut(&format!("history: {words} › "), most);
        return (text.clone(), Box::new(move |paint| paint.dim(&text)));
    }
    if line.mode == Mode::Shell && prompt.kind == Kind::Chat {
        return ("! ".to_owned(), Box::new(|paint| paint.yellow("! ")));
    }
    let text = cut(&clean(&prompt.mark), most);
    (text.clone(), Box::new(move |paint| paint.bold(&text)))
}

/// The list of ways to go on.
fn list(line: &Line, columns: usize, rows: usize, paint: Paint) -> Vec<String> {
    let Some(menu) = line.menu.as_ref().filter(|_| rows > 0) else { return Vec::new() };
    let (shown, more) = menu.shown(if rows > 1 { rows - 1 } else { rows });
    let shown: Vec<_> = shown.collect();
    let label = |at: usize| {
        shown.get(at).map_or("", |(candidate, _)| match candidate.label.as_str() {
            "" => candidate.insert.as_str(),
            label => label,
        })
    };
    let labels: Vec<String> = (0..shown.len()).map(|at| clean(label(at)).replace(['\n', '\t'], " ")).collect();
    let widest = labels.iter().map(|label| width(label)).max().unwrap_or_default().min(columns / 2);
    let mut lines: Vec<String> = shown
        .iter()
        .zip(&labels)
        .map(|((candidate, chosen), label)| {
            // The choice is seen without colours too.
            let mark = if *chosen { "> " } else { "  " };
            let help = clean(&candidate.help).replace(['\n', '\t'], " ");
            let room = columns.saturating_sub(3);
            let gap = if help.is_empty() { 0 } else { widest.saturating_sub(width(label)) + 2 };
            let label = cut(label, room);
            let help = cut(&help, room.saturating_sub(width(&label) + gap));
            let label = if *chosen { paint.bold(&label) } else { label };
            format!("{mark}{label}{}{}", " ".repeat(if help.is_empty() { 0 } else { gap }), paint.dim(&help))
        })
        .collect();
    if more > 0 && rows > 1 {
        lines.push(paint.dim(&cut(&format!("  {more} more"), columns.saturating_sub(1))));
    }
    lines
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;
    use crate::chat::editor::history::History;
    use crate::chat::editor::keys::Act;
    use crate::chat::editor::line::Around;
    use crate::chat::editor::{Candidate, Completion, Then};

    fn typed(text: &str) -> Line {
        let mut line = Line::new(Kind::Chat);
        let history = History::default();
        let around = Around { busy: false, columns: 20, summary: true, history: &history };
        for c in text.chars() {
            let act = if c == '\n' { Act::Newline } else { Act::Type(c) };
            line.act(act, around);
        }
        line
    }

    #[track_caller]
    fn check(line: &Line, room: (usize, usize), want: Expect) {
        let prompt = Prompt { hint: "ask anything".to_owned(), ..Prompt::chat("build › ") };
        let foot = foot(line, &prompt, Room { columns: room.0, rows: room.1 }, Paint::OFF);
        for line in &foot.lines {
            assert!(width(line) < room.0.max(4), "{line:?} in {room:?}");
        }
        assert!(foot.row < foot.lines.len() && foot.column < room.0.max(4));
        want.assert_eq(&format!("{}\n{}:{}\n", foot.lines.join("\n"), foot.row, foot.column));
    }

    fn offered(words: &[(&str, &str)]) -> Line {
        let mut line = typed("/x");
        let wish = line.take_wish().unwrap();
        let candidate = |(word, help): &(&str, &str)| Candidate {
            insert: (*word).to_owned(),
            label: String::new(),
            help: (*help).to_owned(),
            then: Then::Space,
        };
        line.offer(&wish, Completion { range: 0..2, candidates: words.iter().map(candidate).collect() });
        line
    }

    #[test]
    fn the_text_stands_behind_its_mark() {
        check(
            &typed("fix it"),
            (40, 24),
            expect![[r#"
            build › fix it
            0:14
        "#]],
        );
        check(
            &typed(""),
            (40, 24),
            expect![[r#"
            build › ask anything
            0:8
        "#]],
        );
        check(
            &typed("one\ntwo"),
            (40, 24),
            expect![[r#"
            build › one
                    two
            1:11
        "#]],
        );
        check(
            &typed("!ls -l"),
            (40, 24),
            expect![[r#"
            ! ls -l
            0:7
        "#]],
        );
        check(
            &typed("漢字漢字漢字"),
            (20, 24),
            expect![[r#"
            build › 漢字漢字漢
                    字
            1:10
        "#]],
        );
        check(
            &typed("abcdef"),
            (8, 24),
            expect![[r#"
            builabc
                def
            1:7
        "#]],
        );
    }

    #[test]
    fn the_rows_around_the_cursor_are_shown() {
        check(
            &typed("1\n2\n3\n4\n5"),
            (40, 6),
            expect![[r#"
            ↑       3
                    4
                    5
            2:9
        "#]],
        );
    }

    #[test]
    fn a_list_stands_below_the_line() {
        let commands =
            [("/help", "the commands and keys"), ("/models", "the models, or choose one"), ("/x\u{1b}[2J\ny", "")];
        check(
            &offered(&commands),
            (40, 24),
            expect![[r#"
            build › /x
            > /help    the commands and keys
              /models  the models, or choose one
              /x y
            0:10
        "#]],
        );
        check(
            &offered(&commands),
            (20, 4),
            expect![[r#"
            build › /x
            > /help  the comman
              2 more
            0:10
        "#]],
        );
    }
}
