//! Files as they were when a session began, and as it left them.

use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Component, Path, PathBuf};

use anyhow::{Context, Result};
use haft_protocol::{History, MessageId, PartKind, ToolState};
use haft_session::replay::{Difference, parting};
use haft_snapshot::{Change, Hash, Keep, State};

use crate::folders::Folders;

/// Tools that change files.
const CHANGERS: [&str; 6] = ["edit", "write", "multiedit", "apply_patch", "patch", "bash"];

/// What stood at the paths that a session changed, before it did.
pub(crate) struct Start {
    files: Vec<(PathBuf, Was)>,
    notes: Vec<String>,
}

enum Was {
    Nothing,
    File { bytes: Vec<u8>, mode: Option<u32> },
    Link(PathBuf),
    Folder,
}

impl Start {
    /// What is kept of it, as far as the sessions `histories` changed it; from the message `from` of the first one on, where
    /// that is given.
    pub(crate) fn kept<'a>(
        folders: &Folders,
        histories: impl Iterator<Item = &'a History>,
        from: Option<&MessageId>,
    ) -> Self {
        let keep = Keep::new(folders.contents());
        let mut start = Self { files: Vec::new(), notes: Vec::new() };
        let mut since = None;
        let mut blind = false;
        for history in histories {
            let messages = history.messages();
            let at = from
                .filter(|_| since.is_none())
                .and_then(|from| messages.iter().position(|turned| turned.info.id() == from));
            since = since.or(at.map(|at| messages[at].info.created()));
            let later = messages.iter().filter(|turned| since.is_none_or(|since| turned.info.created() >= since));
            for turned in later {
                let lists = lists(&turned.parts);
                blind |= lists.is_empty() && turned.parts.iter().any(|part| changes_files(&part.kind));
                for (hash, _) in lists {
                    match keep.changes(&hash) {
                        Ok(changes) => changes.into_iter().for_each(|change| start.add(&keep, change)),
                        Err(error) => start.notes.push(format!("what some files were is not kept any more: {error}")),
                    }
                }
            }
        }
        if blind && start.files.is_empty() && start.notes.is_empty() {
            let text = "what files were when the session began is not known: they are as they are now";
            start.notes.push(text.to_owned());
        }
        start
    }

    /// What a pack says.
    pub(crate) fn packed(files: &[(String, Option<String>)]) -> Self {
        let file = |(path, text): &(String, Option<String>)| {
            let was =
                text.as_ref().map_or(Was::Nothing, |text| Was::File { bytes: text.clone().into_bytes(), mode: None });
            (PathBuf::from(path), was)
        };
        Self { files: files.iter().map(file).collect(), notes: Vec::new() }
    }

    fn add(&mut self, keep: &Keep, change: Change) {
        if self.files.iter().any(|(path, _)| *path == change.path) {
            return;
        }
        let read = |hash: &Hash| keep.get(hash);
        let was = match &change.before {
            State::Absent => Ok(Was::Nothing),
            State::File { content, mode, .. } => read(content).map(|bytes| Was::File { bytes, mode: Some(*mode) }),
            State::Link { to } => read(to).map(|to| Was::Link(std::ffi::OsString::from_vec(to).into())),
            State::Folder { .. } => Ok(Was::Folder),
            State::Unkept { why } => {
                self.notes.push(format!("{} is as it is now: {why}", change.path.display()));
                return;
            }
        };
        match was {
            Ok(was) => self.files.push((change.path, was)),
            Err(error) => self.notes.push(format!("{} is as it is now: {error}", change.path.display())),
        }
    }

    /// Puts it into `copy`, where paths below `top` are relative to. Says what could not be.
    pub(crate) fn restore(self, top: &Path, copy: &Path) -> Result<Vec<String>> {
        let Self { files, mut notes } = self;
        for (path, was) in files {
            let below = path.strip_prefix(top).unwrap_or(&path);
            // A pack may come from anybody.
            if !below.components().all(|part| matches!(part, Component::Normal(_))) || leads_out(copy, below) {
                notes.push(format!("{} is outside of the project, and left alone", path.display()));
                continue;
            }
            let target = copy.join(below);
            put(&target, &was).with_context(|| format!("cannot put back {}", target.display()))?;
        }
        Ok(notes)
    }
}

/// Whether a folder on the way to `below` is a link.
fn leads_out(copy: &Path, below: &Path) -> bool {
    let folders = below.ancestors().skip(1).filter(|folder| !folder.as_os_str().is_empty());
    folders.map(|folder| copy.join(folder)).any(|folder| folder.is_symlink())
}

fn put(target: &Path, was: &Was) -> std::io::Result<()> {
    if let Ok(meta) = target.symlink_metadata() {
        if matches!(was, Was::Folder) && meta.is_dir() {
            return Ok(());
        }
        if meta.is_dir() { std::fs::remove_dir_all(target)? } else { std::fs::remove_file(target)? }
    }
    if let (Some(folder), false) = (target.parent(), matches!(was, Was::Nothing)) {
        std::fs::create_dir_all(folder)?;
    }
    match was {
        Was::Nothing => Ok(()),
        Was::Folder => std::fs::create_dir_all(target),
        Was::Link(to) => std::os::unix::fs::symlink(to, target),
        Was::File { bytes, mode } => {
            std::fs::write(target, bytes)?;
            match mode {
                // No right to run as somebody else comes back.
                Some(mode) => std::fs::set_permissions(target, std::fs::Permissions::from_mode(mode & 0o777)),
                None => Ok(()),
            }
        }
    }
}

/// The lists of changes among `parts`, each with whether a call made them; else undoing did, or a job later.
fn lists(parts: &[haft_protocol::Part]) -> Vec<(Hash, bool)> {
    let hash = |part: &haft_protocol::Part| match &part.kind {
        PartKind::Patch { hash, call_id, .. } => Some((hash.parse().ok()?, call_id.is_some())),
        _ => None,
    };
    parts.iter().filter_map(hash).collect()
}

fn changes_files(part: &PartKind) -> bool {
    let is_done = matches!(part.state(), Some(ToolState::Completed { .. }));
    matches!(part, PartKind::Tool { tool, .. } if is_done && CHANGERS.contains(&tool.as_str()))
}

/// The first file that the session left otherwise than it is in the copy. `tops` are those of the copy and of the project.
pub(crate) fn difference<'a>(
    folders: &Folders,
    histories: impl Iterator<Item = &'a History>,
    tops: &(PathBuf, PathBuf),
) -> Option<Difference> {
    let keep = Keep::new(folders.contents());
    let parts = histories.flat_map(|history| history.messages()).flat_map(|turned| lists(&turned.parts));
    let mut last: Vec<(Change, bool)> = Vec::new();
    for (hash, by_call) in parts {
        for change in keep.changes(&hash).unwrap_or_default() {
            last.retain(|(earlier, _)| earlier.path != change.path);
            last.push((change, by_call));
        }
    }
    // What was undone, a replay does and leaves done.
    last.iter().filter(|(_, by_call)| *by_call).find_map(|(change, _)| {
        let below = change.path.strip_prefix(&tops.1).ok()?;
        let now = tops.0.join(below);
        let (recorded, replayed) = match &change.after {
            State::Absent => ("(no file)".to_owned(), now.symlink_metadata().ok().map(|_| "(a file)".to_owned())?),
            State::File { content, .. } => {
                let bytes = std::fs::read(&now).ok();
                if bytes.as_ref().is_some_and(|bytes| Hash::of(bytes) == *content) {
                    return None;
                }
                let (line, recorded, replayed) = apart(&keep.get(content).ok()?, bytes.as_deref());
                let what = below.display().to_string();
                return Some(Difference { step: 0, tool: "file".to_owned(), what, line, recorded, replayed });
            }
            State::Link { .. } | State::Folder { .. } | State::Unkept { .. } => return None,
        };
        let what = below.display().to_string();
        Some(Difference { step: 0, tool: "file".to_owned(), what, line: 1, recorded, replayed })
    })
}

/// Where two contents part: the line, and what stands there in both. Line 0, and how long they are, where one is no text.
fn apart(was: &[u8], is: Option<&[u8]>) -> (usize, String, String) {
    let text = |bytes: &[u8]| std::str::from_utf8(bytes).ok().filter(|text| !text.contains('\0')).map(str::to_owned);
    let size = |bytes: &[u8]| format!("{} bytes", bytes.len());
    let none = "(no file)".to_owned();
    match (text(was), is.map(|is| (is, text(is)))) {
        (Some(was), None) => parting(&was, &none),
        (Some(was), Some((_, Some(is)))) => parting(&was, &is),
        (None, None) => (0, size(was), none),
        (_, Some((is, _))) => (0, size(was), size(is)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contents_that_are_no_text_are_told_by_their_length() {
        let row = |was: &[u8], is: Option<&[u8]>, want: (usize, &str, &str)| {
            assert_eq!(apart(was, is), (want.0, want.1.to_owned(), want.2.to_owned()));
        };
        row(b"a\nb", Some(b"a\nc"), (2, "b", "c"));
        row(b"a", None, (1, "a", "(no file)"));
        row(b"a\0b", Some(b"a\0"), (0, "3 bytes", "2 bytes"));
        row(b"a", Some(b"\xff\xfe"), (0, "1 bytes", "2 bytes"));
        row(b"\xff", None, (0, "1 bytes", "(no file)"));
    }
}
