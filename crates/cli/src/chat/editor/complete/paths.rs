//! Paths that are typed out, folder by folder.

use std::path::Path;

use super::fuzzy::MAX_OFFERED;

/// Most entries of a folder that are looked at.
const MAX_ENTRIES: usize = 10_000;

/// What `typed` may go on to: the entries of its folder that begin like its last name, folders with a `/` at their end.
/// Relative to `root`, and to `home` behind a `~`.
pub(super) fn like(typed: &str, root: &Path, home: Option<&Path>) -> Vec<String> {
    if matches!(typed, "~" | ".." | ".") {
        return vec![format!("{typed}/")];
    }
    let (folder, name) =
        typed.rsplit_once('/').map_or(("", typed), |_| typed.split_at(typed.rfind('/').map_or(0, |at| at + 1)));
    let place = match (folder.strip_prefix("~/"), home) {
        (Some(below), Some(home)) => home.join(below),
        _ => root.join(folder),
    };
    let Ok(entries) = std::fs::read_dir(place) else { return Vec::new() };
    let mut found: Vec<String> = entries
        .take(MAX_ENTRIES)
        .filter_map(Result::ok)
        .filter_map(|entry| {
            let file = entry.file_name().into_string().ok()?;
            // Hidden files are not offered to who did not begin to name one.
            let fits = file.starts_with(name) && (name.starts_with('.') || !file.starts_with('.'));
            let end = if fits && entry.path().is_dir() { "/" } else { "" };
            fits.then(|| format!("{folder}{file}{end}"))
        })
        .collect();
    found.sort_unstable();
    found.truncate(MAX_OFFERED);
    found
}
