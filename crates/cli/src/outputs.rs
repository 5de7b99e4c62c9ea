//! The folder of kept outputs: whole texts of what was cut for the model.

use std::path::Path;
use std::time::{Duration, SystemTime};

/// How long an output is kept.
const KEPT_FOR: Duration = Duration::from_secs(7 * 24 * 60 * 60);
/// How often the folder is looked through at most.
const EVERY: Duration = Duration::from_secs(60 * 60);
/// The file whose time says when it was looked through last.
const MARK: &str = ".swept";

/// Removes outputs that are older than a week. Looks at most once an hour, so a start costs one `stat`.
pub(crate) fn sweep(folder: &Path) {
    sweep_at(folder, SystemTime::now());
}

fn sweep_at(folder: &Path, now: SystemTime) {
    let age = |path: &Path| {
        let changed = std::fs::symlink_metadata(path).and_then(|meta| meta.modified()).ok()?;
        now.duration_since(changed).ok()
    };
    let mark = folder.join(MARK);
    if age(&mark).is_some_and(|age| age < EVERY) {
        return;
    }
    // Only its time matters; if it cannot be written the next start looks again.
    let _ = std::fs::write(&mark, "");
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        let ours = entry.file_name().to_str().is_some_and(|name| name.starts_with("tool_"));
        if ours
            && age(&entry.path()).is_some_and(|age| age > KEPT_FOR)
            && let Err(error) = std::fs::remove_file(entry.path())
        {
            tracing::warn!(%error, path = %entry.path().display(), "an old output cannot be removed");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_old_outputs_go() {
        let folder = tempfile::tempdir().unwrap();
        let make = |name: &str| std::fs::write(folder.path().join(name), "x").unwrap();
        make("tool_1");
        make("somebody-elses");
        let in_days = |days: u64| SystemTime::now() + Duration::from_secs(days * 24 * 60 * 60);
        let there = |name: &str| folder.path().join(name).exists();
        sweep_at(folder.path(), in_days(6));
        assert!(there("tool_1"));
        sweep_at(folder.path(), in_days(8));
        assert!(!there("tool_1") && there("somebody-elses"));
    }

    #[test]
    fn the_folder_is_not_looked_through_again_within_the_hour() {
        let folder = tempfile::tempdir().unwrap();
        sweep_at(folder.path(), SystemTime::now());
        let old = folder.path().join("tool_1");
        std::fs::write(&old, "x").unwrap();
        let long_ago = SystemTime::now() - 2 * KEPT_FOR;
        std::fs::File::options().write(true).open(&old).unwrap().set_modified(long_ago).unwrap();
        sweep(folder.path());
        assert!(old.exists());
    }
}
