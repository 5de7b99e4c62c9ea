//! `haft session list`.

use std::path::PathBuf;

use anyhow::Result;
use haft_protocol::Session as Record;
use haft_store::Filter;
use serde_json::{Value, json};
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use crate::folders::Folders;
use crate::render::{self, clean};
use crate::report::Exit;
use crate::wire::{journal, place};

/// Widest title in a table, in columns.
const MAX_TITLE: usize = 60;

/// What to list.
pub(super) struct List {
    pub(super) all: bool,
    pub(super) archived: bool,
    pub(super) search: Option<String>,
    pub(super) limit: usize,
    pub(super) json: bool,
    pub(super) dir: Option<PathBuf>,
}

pub(super) async fn run(list: List) -> Result<Exit> {
    let List { all, archived, search, limit, json, dir } = list;
    let folders = Folders::find()?;
    let directory = if all { None } else { Some(place(dir.as_deref())?.directory.display().to_string()) };
    let filter = Filter { directory, roots: true, limit, archived, title: search };
    let sessions = journal(&folders).await?.sessions(&filter).await?;
    if json {
        render::say_json(&sessions.iter().map(row).collect(), false)?;
        return Ok(Exit::Done);
    }
    for kept in damaged(&folders) {
        render::complain(&format!("! a damaged store is kept as {}; remove it if nothing is missing", kept.display()));
    }
    if sessions.is_empty() {
        let found = if filter.title.is_some() { "no session has that in its title" } else { "no sessions yet" };
        let wider = if all { "" } else { "; --all shows those of other folders" };
        render::complain(&format!("{found}{wider}"));
        return Ok(Exit::Done);
    }
    for line in table(&sessions, all) {
        render::say(&line)?;
    }
    Ok(Exit::Done)
}

fn row(session: &Record) -> Value {
    json!({
        "id": session.id,
        "title": session.title,
        "updated": session.time.updated,
        "created": session.time.created,
        "projectId": session.project_id,
        "directory": session.directory,
    })
}

/// Damaged stores that were put aside.
fn damaged(folders: &Folders) -> Vec<PathBuf> {
    let Some(database) = folders.database() else { return Vec::new() };
    let Some((folder, name)) = database.parent().zip(database.file_name()) else { return Vec::new() };
    let begins = format!("{}.damaged-", name.to_string_lossy());
    let Ok(entries) = folder.read_dir() else { return Vec::new() };
    let names = entries.flatten().filter(|entry| {
        let name = entry.file_name().to_string_lossy().into_owned();
        name.starts_with(&begins) && !name.ends_with("-wal")
    });
    names.map(|entry| entry.path()).collect()
}

/// The lines of the table. What others wrote stays on its line.
fn table(sessions: &[Record], all: bool) -> Vec<String> {
    let one_line = |text: &str| clean(text).replace(['\n', '\t'], " ");
    let rows: Vec<[String; 4]> = sessions
        .iter()
        .map(|session| {
            let state = if session.time.archived.is_some() { " (put away)" } else { "" };
            let title = cut(&one_line(&session.title), MAX_TITLE);
            [session.id.to_string(), format!("{title}{state}"), ago(session.time.updated), one_line(&session.directory)]
        })
        .collect();
    let heads = ["Session ID", "Title", "Updated", "Folder"];
    let columns = if all { 4 } else { 3 };
    let widths: Vec<usize> = (0..columns)
        .map(|at| rows.iter().map(|row| row[at].width()).chain([heads[at].width()]).max().unwrap_or(0))
        .collect();
    let line = |cells: [&str; 4]| {
        let cells = cells.iter().zip(&widths).map(|(cell, width)| {
            let missing = width.saturating_sub(cell.width());
            format!("{cell}{}", " ".repeat(missing))
        });
        cells.collect::<Vec<_>>().join("  ").trim_end().to_owned()
    };
    let rule = "─".repeat(widths.iter().sum::<usize>() + 2 * (columns - 1));
    let body = rows.iter().map(|row| line([&row[0], &row[1], &row[2], &row[3]]));
    [line(heads), rule].into_iter().chain(body).collect()
}

/// The beginning of `text`, at most `width` columns wide.
fn cut(text: &str, width: usize) -> String {
    if text.width() <= width {
        return text.to_owned();
    }
    let mut kept = String::new();
    for letter in text.chars() {
        if kept.width() + letter.width().unwrap_or_default() >= width {
            break;
        }
        kept.push(letter);
    }
    format!("{}…", kept.trim_end())
}

/// How long ago `ms` (Unix milliseconds) is.
pub(crate) fn ago(ms: u64) -> String {
    let now = haft_protocol::Clock::system().now_ms();
    let seconds = now.saturating_sub(ms) / 1000;
    match seconds {
        0..60 => format!("{seconds} s ago"),
        60..3_600 => format!("{} min ago", seconds / 60),
        3_600..172_800 => format!("{} h ago", seconds / 3_600),
        _ => format!("{} days ago", seconds / 86_400),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_titles_are_cut_by_columns() {
        let row = |text: &str, want: &str| assert_eq!(cut(text, 6), want);
        row("short", "short");
        row("longer", "longer");
        row("much longer", "much…");
        row("漢字漢字", "漢字…");
    }
}
