//! `haft session undo` and `redo`: first what would be done, then, when the person says so, doing it.

use std::cmp::Ordering;
use std::path::{Path, PathBuf};

use anyhow::{Result, anyhow};
use haft_permission::Answerer;
use haft_project::Place;
use haft_protocol::{FileStatus, Id, MessageId, Session as Record};
use haft_session::{Fate, Force, Rewind, Rewound, Session, To, Why};
use haft_store::Journal;
use serde_json::{Value, json};

use crate::args::{How, Redo, Undo};
use crate::ask::{answerer, read_line};
use crate::folders::Folders;
use crate::render::{self, Paint, clean, named};
use crate::report::{Exit, Usage};
use crate::wire::{clock, hand, journal, past};

/// Longest prompt that is shown, in characters.
const MAX_SHOWN: usize = 70;

/// What the mark of files means whose changes were found, and not announced by a tool.
pub(crate) const FOUND: &str = "  * found after a command: what somebody else changed while it ran is among these";

pub(crate) async fn undo(args: Undo) -> Result<Exit> {
    let to = match &args.to {
        None => To::Back,
        Some(message) => To::Before(self::message(message)?, None),
    };
    rewind(args.id.as_deref(), to, args.how, Way::Back).await
}

pub(crate) async fn redo(args: Redo) -> Result<Exit> {
    let to = match &args.to {
        Some(message) => To::Before(self::message(message)?, None),
        None if args.all => To::End,
        None => To::Forth,
    };
    rewind(args.id.as_deref(), to, args.how, Way::Forth).await
}

/// Which of the two it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    Back,
    Forth,
}

impl Way {
    fn name(self) -> &'static str {
        match self {
            Way::Back => "undo",
            Way::Forth => "redo",
        }
    }
}

pub(super) fn message(text: &str) -> Result<MessageId> {
    Ok(MessageId::parse(text).map_err(|error| Usage(error.to_string()))?)
}

async fn rewind(id: Option<&str>, to: To, how: How, way: Way) -> Result<Exit> {
    let folders = Folders::find()?;
    let journal = journal(&folders).await?;
    let done = rewind_in(&journal, &folders, id, to, how, way).await;
    let closed = journal.close().await;
    let done = done?;
    closed?;
    Ok(done)
}

async fn rewind_in(journal: &Journal, folders: &Folders, id: Option<&str>, to: To, how: How, way: Way) -> Result<Exit> {
    let record = super::find(id, how.dir.as_deref(), journal).await?;
    if let To::Before(message, None) = &to {
        let history = journal.history(&record.id).await?;
        wrong_way(way, Session::lies(&record, &history, message), &record, message)?;
    }
    let place = folder(&record)?;
    let (past, gate, clock) = (past(folders, &place), hand(folders, &place)?, clock()?);
    let force = match &how.force {
        None => Force::Nothing,
        Some(files) if files.is_empty() => Force::Everything,
        Some(files) => Force::These(files.iter().map(|file| forced(file)).collect()),
    };
    let go = |only_look| {
        let rewind = Rewind { to: to.clone(), force: force.clone(), only_look };
        let (past, gate, clock, id) = (&past, &gate, &clock, &record.id);
        async move { Session::rewind_stored(journal, clock, gate, past.as_ref(), id, &rewind).await }
    };
    let would = go(true).await?;
    if how.dry_run {
        tell(&would, &record, how.json, way, false)?;
        return Ok(exit(&would));
    }
    if !how.yes {
        tell(&would, &record, false, way, false)?;
        if !agreed(way).await? {
            render::complain("nothing was changed");
            return Ok(Exit::Interrupted);
        }
    }
    let done = go(false).await?;
    tell(&done, &record, how.json, way, true)?;
    Ok(exit(&done))
}

/// Refuses to go forth by an undo, and back by a redo. `lies` is where the message is, seen from where the session stands.
fn wrong_way(way: Way, lies: Option<Ordering>, record: &Record, message: &MessageId) -> Result<(), Usage> {
    let id = &record.id;
    match (way, lies) {
        (Way::Back, Some(Ordering::Greater)) => Err(Usage(format!(
            "message {message} is taken back already; haft session redo {id} --to {message} brings back what stands before it"
        ))),
        (Way::Forth, Some(Ordering::Less)) => Err(Usage(format!(
            "message {message} is not taken back; haft session undo {id} --to {message} takes it back, and what follows it"
        ))),
        (_, None | Some(_)) => Ok(()),
    }
}

/// The folder that a session works in.
///
/// # Errors
///
/// When it is not there any more. What was done to files is known by where they stood, so it cannot be done elsewhere.
pub(super) fn folder(record: &Record) -> Result<Place> {
    Place::find(record.directory.as_ref()).map_err(|error| {
        let gone = gone(&record.directory, record.id.as_str());
        anyhow!(error).context(gone)
    })
}

/// Why nothing can be taken back in `directory`, and what to do.
fn gone(directory: &str, id: &str) -> String {
    // What is no Unicode was stored with this in its place.
    if directory.contains(char::REPLACEMENT_CHARACTER) {
        return format!(
            "the folder of session {id} has a name that is no UTF-8, so haft cannot find it again ({directory}); what it did to \
             files stays. Give the folder another name for sessions that can be undone"
        );
    }
    format!(
        "the folder {directory} of session {id} is gone, and what it did to files is known by that name; if it was moved, \
         move it back there for as long as this takes"
    )
}

fn forced(file: &Path) -> PathBuf {
    let file = std::path::absolute(file).unwrap_or_else(|_| file.to_owned());
    // What is remembered are true paths; the last name may be a link itself, or gone.
    match (file.parent().and_then(|above| above.canonicalize().ok()), file.file_name()) {
        (Some(above), Some(name)) => above.join(name),
        _ => file,
    }
}

async fn agreed(way: Way) -> Result<bool> {
    let nobody =
        || Usage(format!("nobody is there to ask; say --yes, or --dry-run to look (haft session {})", way.name()));
    if answerer(false) != Answerer::Person {
        return Err(nobody().into());
    }
    let shown = format!("{} this? [y/N] ", if way == Way::Back { "Undo" } else { "Redo" });
    match tokio::task::spawn_blocking(move || read_line(&shown)).await? {
        Ok(Some(line)) => Ok(matches!(line.trim().to_lowercase().as_str(), "y" | "yes")),
        Ok(None) => Ok(false),
        Err(_) => Err(nobody().into()),
    }
}

fn exit(rewound: &Rewound) -> Exit {
    if rewound.is_partial() { Exit::Failed } else { Exit::Done }
}

fn tell(rewound: &Rewound, record: &Record, as_json: bool, way: Way, is_done: bool) -> Result<()> {
    if as_json {
        let files: Vec<Value> = rewound.files.iter().map(as_value).collect();
        let (prompts, notes, revert) = (&rewound.prompts, &rewound.notes, &rewound.revert);
        let value = json!({
            "session": record.id, "done": is_done, "prompts": prompts, "files": files, "notes": notes, "revert": revert,
        });
        return Ok(render::say_json(&value, false)?);
    }
    let paint = Paint::new(render::out_is_terminal());
    for line in lines(rewound, &record.id.to_string(), way, is_done, paint) {
        render::say(&line)?;
    }
    Ok(())
}

fn as_value(fate: &Fate) -> Value {
    let left = fate.left.as_ref().map(|why| {
        let (name, text) = match why {
            Why::Theirs => ("changed", None),
            Why::Doubtful(text) => ("doubtful", Some(text)),
            Why::Uncovered(text) => ("uncovered", Some(text)),
            Why::Failed(text) => ("failed", Some(text)),
        };
        json!({ "why": name, "text": text, "forcible": why.is_forcible() })
    });
    let (path, found) = (fate.path.display().to_string(), fate.found);
    json!({ "path": path, "file": fate.file, "change": fate.diff, "left": left, "found": found })
}

/// What is, or would be, done, file by file.
fn lines(rewound: &Rewound, id: &str, way: Way, is_done: bool, paint: Paint) -> Vec<String> {
    let verb = match (way, is_done) {
        (Way::Back, false) => "would undo",
        (Way::Back, true) => "undone",
        (Way::Forth, false) => "would redo",
        (Way::Forth, true) => "redone",
    };
    let mut lines = Vec::new();
    for prompt in &rewound.prompts {
        let line: String = prompt.lines().next().unwrap_or_default().chars().take(MAX_SHOWN).collect();
        lines.push(format!("{verb}: {}", paint.bold(&clean(&line))));
    }
    if rewound.files.is_empty() {
        lines.push(paint.dim("  no files"));
    }
    let mut forcible = false;
    for fate in &rewound.files {
        lines.extend(file_line(fate, is_done, paint));
        if let Some(why) = &fate.left {
            forcible |= why.is_forcible();
            let text = match why {
                Why::Theirs => "it was changed since, and stays".to_owned(),
                Why::Doubtful(why) => format!("it stays: {why}"),
                Why::Uncovered(why) => format!("not covered: {why}"),
                Why::Failed(why) => format!("failed: {why}"),
            };
            // Each line its own: an error may hold breaks.
            let line = format!("  ! {}  {}", named(&fate.file), clean(&text).replace('\n', " "));
            lines.push(paint.yellow(&line));
        }
    }
    if !is_done && rewound.files.iter().any(|fate| fate.found) {
        lines.push(paint.dim(FOUND));
    }
    lines.extend(rewound.notes.iter().map(|note| paint.yellow(&clean(note))));
    if forcible {
        // Once it is done, one more of the same would go further.
        let aim = rewound.revert.as_ref().filter(|_| is_done);
        let to = aim.map(|revert| format!(" --to {}", revert.message_id)).unwrap_or_default();
        lines.push(paint.dim(&format!(
            "  haft session {} {id}{to} --force [FILE…] takes those too; what they hold can be brought back",
            way.name()
        )));
    }
    if is_done && way == Way::Back {
        lines.push(paint.dim(&format!("  haft session redo {id} brings it back, until the next prompt")));
    }
    lines
}

fn file_line(fate: &Fate, is_done: bool, paint: Paint) -> Option<String> {
    let diff = fate.diff.as_ref()?;
    let sign = match diff.status {
        FileStatus::Added => "A",
        FileStatus::Deleted => "D",
        FileStatus::Modified => "M",
    };
    let name = named(&fate.file);
    let found = if fate.found && !is_done { paint.dim("  *") } else { String::new() };
    if (diff.additions, diff.deletions) == (0, 0) {
        return Some(format!("  {sign} {name}{found}"));
    }
    let (added, gone) = (format!("+{}", diff.additions), format!("-{}", diff.deletions));
    Some(format!("  {sign} {name}  {} {}{found}", paint.green(&added), paint.red(&gone)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_that_is_gone_says_what_to_do() {
        let row = |directory: &str, want: &str| assert!(gone(directory, "ses_1").contains(want), "{directory}");
        row("/p/old", "move it back there");
        row("/p/caf\u{fffd}", "no UTF-8");
    }
}
