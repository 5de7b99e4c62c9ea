//! The folder of kept outputs: whole texts of what was cut for the model.

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// How long an output is kept.
const KEPT_FOR: Duration = Duration::from_secs(7 * 24 * 60 * 60);
/// Most bytes of all outputs together, when they are looked at.
const MAX_ALL: u64 = 2 * 1024 * 1024 * 1024;
/// How often the folder is looked through at most.
const EVERY: Duration = Duration::from_secs(60 * 60);
/// The file whose time says when it was looked through last.
const MARK: &str = ".swept";

/// Removes outputs that are older than a week, and the oldest ones while all together are too large. Looks at most
/// once an hour, so a start costs one `stat`.
pub(crate) fn sweep(folder: &Path) {
    sweep_at(folder, SystemTime::now(), MAX_ALL);
}

fn sweep_at(folder: &Path, now: SystemTime, most: u64) {
    let age = |changed: SystemTime| now.duration_since(changed).unwrap_or_default();
    let mark = folder.join(MARK);
    let looked = std::fs::symlink_metadata(&mark).and_then(|meta| meta.modified());
    if looked.is_ok_and(|looked| age(looked) < EVERY) {
        return;
    }
    // Only its time matters; if it cannot be written the next start looks again.
    let _ = std::fs::write(&mark, "");
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    let mut ours: Vec<(SystemTime, u64, PathBuf)> = entries
        .flatten()
        .filter(|entry| entry.file_name().to_str().is_some_and(|name| name.starts_with("tool_")))
        .filter_map(|entry| {
            let meta = entry.metadata().ok()?;
            Some((meta.modified().ok()?, meta.len(), entry.path()))
        })
        .collect();
    ours.sort_by_key(|(changed, ..)| std::cmp::Reverse(*changed));
    let mut all = 0;
    for (changed, size, path) in ours {
        all += size;
        if (age(changed) > KEPT_FOR || all > most)
            && let Err(error) = std::fs::remove_file(&path)
        {
            tracing::warn!(%error, path = %path.display(), "an old output cannot be removed");
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
        sweep_at(folder.path(), in_days(6), MAX_ALL);
        assert!(there("tool_1"));
        sweep_at(folder.path(), in_days(8), MAX_ALL);
        assert!(!there("tool_1") && there("somebody-elses"));
    }

    #[test]
    fn the_folder_is_not_looked_through_again_within_the_hour() {
        let folder = tempfile::tempdir().unwrap();
        sweep_at(folder.path(), SystemTime::now(), MAX_ALL);
        let old = folder.path().join("tool_1");
        std::fs::write(&old, "x").unwrap();
        let long_ago = SystemTime::now() - 2 * KEPT_FOR;
        std::fs::File::options().write(true).open(&old).unwrap().set_modified(long_ago).unwrap();
        sweep(folder.path());
        assert!(old.exists());
    }

    #[test]
    fn the_oldest_go_when_all_are_too_large() {
        let folder = tempfile::tempdir().unwrap();
        for (name, minutes) in [("tool_old", 30), ("tool_new", 10), ("tool_mid", 20)] {
            let path = folder.path().join(name);
            std::fs::write(&path, "12345").unwrap();
            let then = SystemTime::now() - Duration::from_secs(minutes * 60);
            std::fs::File::options().write(true).open(&path).unwrap().set_modified(then).unwrap();
        }
        sweep_at(folder.path(), SystemTime::now(), 10);
        let there = |name: &str| folder.path().join(name).exists();
        assert_eq!((there("tool_old"), there("tool_mid"), there("tool_new")), (false, true, true));
    }
}
