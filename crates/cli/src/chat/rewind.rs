//! Taking back and bringing again: what is said before and after. Pure, but for `Talk`'s part at the end.

use anyhow::Result;
use haft_session::{Fate, Force, Rewind, Rewound, Session, To, Why};

use super::editor::{Input, LineSource, Prompt};
use super::lists::one_line;
use super::talk::Talk;
use crate::commands::session::FOUND;
use crate::render::{Paint, named};

/// Most files that are named.
const MOST: usize = 30;

/// Most characters of a prompt that are shown.
const MAX_SAID: usize = 200;

/// What the person says to what would change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Word {
    Yes,
    Force,
    No,
}

/// What would become of files, a line each.
fn lines(rewound: &Rewound, paint: Paint) -> Vec<String> {
    let row = |fate: &Fate| {
        let name = fate.diff.as_ref().map_or_else(|| fate.path.display().to_string(), |diff| diff.file.clone());
        let lines = fate.diff.as_ref().filter(|diff| (diff.additions, diff.deletions) != (0, 0));
        let change = lines.map(|diff| format!(" +{} -{}", diff.additions, diff.deletions));
        let found = if fate.found { " *" } else { "" };
        let name = format!("  {}{}{found}", named(&name), change.unwrap_or_default());
        match &fate.left {
            None => name,
            Some(Why::Theirs) => paint.yellow(&format!("{name}  changed by somebody else since, and stays")),
            Some(Why::Doubtful(why) | Why::Uncovered(why) | Why::Failed(why)) => {
                paint.yellow(&one_line(&format!("{name}  stays: {why}")))
            }
        }
    };
    let told = rewound.files.iter().filter(|fate| is_told(fate));
    let mut lines: Vec<String> = told.clone().take(MOST).map(row).collect();
    let more = told.count().saturating_sub(MOST);
    if more > 0 {
        lines.push(format!("  … and {more} more files"));
    }
    if rewound.files.iter().any(|fate| fate.found) {
        lines.push(paint.dim(FOUND));
    }
    lines.extend(rewound.notes.iter().map(|note| paint.dim(&one_line(note))));
    lines
}

/// What to say where nothing was asked yet.
fn nothing_yet(to: &To) -> &'static str {
    match to {
        To::Back | To::Before(..) => "there is nothing to take back yet: nothing was asked here",
        To::Forth | To::End => {
            "there is nothing to bring again: nothing was taken back here; /sessions goes on with a session"
        }
    }
}

/// The words of a prompt, in a line that has an end.
fn short(said: &str) -> String {
    let line = one_line(said);
    match line.char_indices().nth(MAX_SAID) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}

/// How to go on behind what was taken back. `said`: what stands among the earlier prompts again.
fn ways_on(said: Option<&str>) -> String {
    let words = match said {
        Some(said) if said.starts_with('!') => "! and Up bring its words, ",
        Some(_) => "Up brings its words, ",
        None => "",
    };
    format!("/redo brings it again, {words}the next prompt makes it final")
}

/// What to say of a session in which so many prompts are taken back.
fn hidden(prompts: usize) -> String {
    let many = match prompts {
        0 => "the last prompts are".to_owned(),
        1 => "1 prompt is".to_owned(),
        _ => format!("{prompts} prompts are"),
    };
    format!("{many} taken back and not shown; /redo brings the first again, the next prompt removes them for good")
}

/// Whether there is anything to say of a file: not where it is as it should be already.
fn is_told(fate: &Fate) -> bool {
    fate.diff.is_some() || fate.left.is_some()
}

/// Whether something could be forced.
fn is_forcible(rewound: &Rewound) -> bool {
    rewound.files.iter().filter_map(|fate| fate.left.as_ref()).any(Why::is_forcible)
}

fn word(line: &str, forcible: bool) -> Option<Word> {
    match line.trim().to_lowercase().as_str() {
        "y" | "yes" => Some(Word::Yes),
        "f" | "force" if forcible => Some(Word::Force),
        "n" | "no" | "" => Some(Word::No),
        _ => None,
    }
}

impl Talk {
    /// Goes `to` there, once the person has seen which files change.
    pub(super) async fn rewind(&mut self, to: To, source: &mut dyn LineSource) -> Result<()> {
        let Some(session) = self.session.clone() else {
            self.tell(nothing_yet(&to));
            return Ok(());
        };
        let back = to == To::Back;
        let look = Rewind { only_look: true, ..Rewind::to(to.clone()) };
        let seen = session.rewind(look).await?;
        let mut force = Force::Nothing;
        if seen.files.iter().any(is_told) {
            let head = if back { "these files go back:" } else { "these files are changed again:" };
            let mut shown = vec![head.to_owned()];
            shown.extend(lines(&seen, self.looks.paint));
            self.face.note(shown);
            match self.confirmed(is_forcible(&seen), source).await {
                Word::No => {
                    self.tell("nothing was changed");
                    return Ok(());
                }
                Word::Force => force = Force::Everything,
                Word::Yes => {}
            }
        }
        let done = session.rewind(Rewind { to, force, only_look: false }).await?;
        let left = done.files.iter().filter(|fate| fate.left.is_some()).count();
        let changed = done.files.iter().filter(|fate| fate.diff.is_some()).count();
        let said = done.prompts.first().map(String::as_str).filter(|said| !said.is_empty());
        let verb = if back { "taken back" } else { "brought again" };
        let first = said.map(|said| format!(": {}", short(said))).unwrap_or_default();
        let kept = if left == 0 { String::new() } else { format!(", {left} left as they are") };
        self.tell(&format!("{verb}{first} ({changed} files changed{kept})"));
        if back {
            // Nothing is put into the line: what is typed next may be /redo.
            let is_there = said.is_some_and(|said| source.recall(said));
            self.tell(&ways_on(said.filter(|_| is_there)));
        }
        Ok(())
    }

    /// Says how many prompts of `session` are taken back, and how they come again.
    pub(super) async fn tell_taken_back(&mut self, session: &Session) {
        let look = Rewind { only_look: true, ..Rewind::to(To::End) };
        // Where it cannot be found out now, /redo says why.
        let prompts = session.rewind(look).await.map_or(0, |seen| seen.prompts.len());
        self.face.note(vec![self.looks.paint.yellow(&hidden(prompts))]);
    }

    async fn confirmed(&mut self, forcible: bool, source: &mut dyn LineSource) -> Word {
        let mark =
            if forcible { "[y] yes  [f] yes, also those that stay  [n] no › " } else { "[y] yes  [n] no › " };
        let prompt = Prompt::answer(mark);
        loop {
            match source.read(&prompt).await {
                Input::Submit(draft) => {
                    if let Some(word) = word(&draft.text, forcible) {
                        return word;
                    }
                }
                Input::Cycle(_) => {}
                Input::Interrupt | Input::Escape | Input::Eof => return Word::No,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use haft_protocol::{FileDiff, FileStatus};

    fn fate(name: &str, left: Option<Why>) -> Fate {
        let diff = FileDiff {
            file: name.to_owned(),
            patch: String::new(),
            additions: 2,
            deletions: 1,
            status: FileStatus::Modified,
        };
        Fate { path: format!("/p/{name}").into(), file: name.to_owned(), diff: Some(diff), left, found: false }
    }

    #[test]
    fn each_file_says_what_becomes_of_it() {
        let mut files = vec![
            fate("a.rs", None),
            fate("b\u{1b}[2J\n.rs", Some(Why::Theirs)),
            fate("c.rs", Some(Why::Failed("it is a folder now".to_owned()))),
        ];
        files.push(Fate { diff: None, ..fate("as-it-was.rs", None) });
        let rewound = Rewound { files, notes: vec!["d.bin was too large".to_owned()], ..Rewound::default() };
        assert_eq!(
            lines(&rewound, Paint::OFF),
            [
                "  a.rs +2 -1",
                "  b\\u{1b}[2J\\n.rs +2 -1  changed by somebody else since, and stays",
                "  c.rs +2 -1  stays: it is a folder now",
                "d.bin was too large",
            ]
        );
        assert!(is_forcible(&rewound));
    }

    #[test]
    fn it_is_said_how_to_go_on() {
        let row = |said: Option<&str>, want: &str| assert_eq!(ways_on(said), want);
        assert!(nothing_yet(&To::Forth).starts_with("there is nothing to bring again"));
        assert!(nothing_yet(&To::Back).starts_with("there is nothing to take back yet"));
        row(None, "/redo brings it again, the next prompt makes it final");
        row(Some("fix it"), "/redo brings it again, Up brings its words, the next prompt makes it final");
        row(Some("!ls"), "/redo brings it again, ! and Up bring its words, the next prompt makes it final");
        assert_eq!(short("fix\nit"), "fix it");
        assert_eq!(short(&"ä".repeat(MAX_SAID + 1)), format!("{}…", "ä".repeat(MAX_SAID)));
        assert!(hidden(1).starts_with("1 prompt is taken back") && hidden(2).starts_with("2 prompts are taken back"));
    }

    #[test]
    fn only_a_clear_word_changes_files() {
        let row = |line: &str, forcible: bool, want: Option<Word>| assert_eq!(word(line, forcible), want, "{line}");
        row("y", false, Some(Word::Yes));
        row("YES ", true, Some(Word::Yes));
        row("", true, Some(Word::No));
        row("n", true, Some(Word::No));
        row("f", true, Some(Word::Force));
        row("f", false, None);
        row("fix it", true, None);
    }
}
