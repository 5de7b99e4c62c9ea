//! `haft session replay`: a session again, with the recorded answers and real tools, in a copy of its project.

use std::path::{Path, PathBuf};

use anyhow::Result;
use haft_protocol::{Clock, Id, SessionId};
use haft_session::replay::{Compared, Difference};
use serde_json::json;

use crate::args::Replay;
use crate::commands::session::pack;
use crate::folders::{self, Folders};
use crate::render;
use crate::replay::branch;
use crate::replay::recorded::Recorded;
use crate::replay::same::{self, Played};
use crate::report::{Exit, Usage};
use crate::wire::journal;

pub(crate) async fn run(args: Replay) -> Result<Exit> {
    let folders = Folders::find()?;
    let recorded = match Path::new(&args.session) {
        file if file.is_file() => pack::open(file)?,
        _ => {
            let id =
                SessionId::parse(&args.session).map_err(|error| Usage(format!("{error}, nor the file of a pack")))?;
            Recorded::read(&journal(&folders).await?, &id, &folders).await?
        }
    };
    let here = recorded.place(&args)?;
    if let Some(step) = args.from {
        let fork = branch::fork(&recorded.history, step).map_err(Usage)?;
        let root = scratch(&folders)?;
        let branch = branch::prepare(&args, &recorded, &here, &folders, &root, fork).await;
        if branch.is_err() {
            remove(&root);
        }
        // What it leaves is what was wanted.
        return branch?.run().await;
    }
    let root = scratch(&folders)?;
    let played = same::play(&recorded, &here, &folders, &root).await;
    if !args.keep {
        remove(&root);
    }
    match played? {
        Some(played) => tell(&args, &recorded.record.id, &played),
        None => Ok(Exit::Interrupted),
    }
}

fn remove(root: &Path) {
    if let Err(error) = std::fs::remove_dir_all(root) {
        tracing::warn!(%error, path = %root.display(), "the copy cannot be removed");
    }
}

/// A new folder for one replay.
fn scratch(folders: &Folders) -> Result<PathBuf> {
    let base = folders.state.join("replays");
    folders::make(&base)?;
    let name = format!("{}-{}", Clock::system().now_ms(), std::process::id());
    let root = base.canonicalize()?.join(name);
    folders::make(&root)?;
    Ok(root)
}

/// Says what came of it.
fn tell(args: &Replay, id: &SessionId, played: &Played) -> Result<Exit> {
    let Played { compared: Compared { same, skipped, difference }, answers, notes, copy } = played;
    let copy = args.keep.then(|| copy.display().to_string());
    if args.json {
        let told = json!({
            "session": id.as_str(),
            "same": difference.is_none(),
            "answers": answers,
            "calls": same,
            "skipped": skipped,
            "notes": notes,
            "difference": difference,
            "copy": copy,
        });
        render::say_json(&told, false)?;
    } else {
        for note in notes.iter().chain(skipped) {
            render::complain(&render::clean(&format!("! {note}")));
        }
        let line = match difference {
            None => format!("same: {answers} answers, {same} calls with the same result"),
            Some(difference) => told(difference),
        };
        render::say(&render::clean(&line))?;
        if let Some(copy) = copy {
            render::complain(&format!("the copy is kept in {copy}"));
        }
    }
    Ok(if difference.is_none() { Exit::Done } else { Exit::Failed })
}

fn told(difference: &Difference) -> String {
    let Difference { step, tool, what, line, recorded, replayed } = difference;
    let at = if tool == "file" { what.clone() } else { format!("answer {step}, {what}") };
    let (recorded, replayed) = (render::spelled(recorded), render::spelled(replayed));
    if *line == 0 {
        return match recorded.strip_suffix(" bytes") {
            Some(length) if replayed.ends_with(" bytes") => format!("{at}: differs: binary, {length} and {replayed}"),
            _ => format!("{at}: differs: binary, {recorded} and {replayed}"),
        };
    }
    format!("{at}: differs from line {line} on\n- {recorded}\n+ {replayed}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_are_told_so_that_a_terminal_obeys_nothing() {
        let row = |line: usize, recorded: &str, replayed: &str, want: &str| {
            let (recorded, replayed) = (recorded.to_owned(), replayed.to_owned());
            let (tool, what) = ("file".to_owned(), "a".to_owned());
            assert_eq!(told(&Difference { step: 0, tool, what, line, recorded, replayed }), want);
        };
        row(2, "b", "c", "a: differs from line 2 on\n- b\n+ c");
        row(1, "\u{1b}[31mb", "b\u{7}", "a: differs from line 1 on\n- \\u{1b}[31mb\n+ b\\u{7}");
        row(0, "3 bytes", "2 bytes", "a: differs: binary, 3 and 2 bytes");
        row(0, "3 bytes", "(no file)", "a: differs: binary, 3 bytes and (no file)");
    }
}
