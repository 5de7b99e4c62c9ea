//! The scratch folders of projects, one each, that nobody has used for long: caches of toolchains, mostly.

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// How long a folder is kept after the last command that could fill it.
const KEPT_FOR: Duration = Duration::from_secs(30 * 24 * 60 * 60);
/// How often they are looked through at most.
const EVERY: Duration = Duration::from_secs(60 * 60);
/// Most folders that are removed at once; the next time the next ones go.
const MAX_REMOVED: usize = 16;
/// The file whose time says when they were looked through last.
const MARK: &str = ".swept";
/// How the name of a folder begins that is being removed.
const LEAVING: &str = ".old-";

/// Removes what was not used for a month from `base`, on a thread of its own. A start costs one `stat`; what is not removed
/// when the program ends is removed another time.
pub(crate) fn sweep(base: PathBuf) {
    let mark = base.join(MARK);
    let now = SystemTime::now();
    let looked = std::fs::symlink_metadata(&mark).and_then(|meta| meta.modified());
    if looked.is_ok_and(|looked| age(looked, now) < EVERY) || !base.is_dir() {
        return;
    }
    // Only its time matters; if it cannot be written the next start looks again.
    let _ = std::fs::write(&mark, "");
    // If no thread can be had, another start does it.
    let _ = std::thread::Builder::new().name("sweep".to_owned()).spawn(move || sweep_at(&base, now));
}

fn sweep_at(base: &Path, now: SystemTime) {
    let Ok(entries) = std::fs::read_dir(base) else { return };
    let old = entries.flatten().filter_map(|entry| {
        let name = entry.file_name().into_string().ok()?;
        let meta = entry.metadata().ok().filter(std::fs::Metadata::is_dir)?;
        let is_old = is_project(&name) && age(meta.modified().ok()?, now) > KEPT_FOR;
        (is_old || name.strip_prefix(LEAVING).is_some_and(is_project)).then_some(name)
    });
    for name in old.take(MAX_REMOVED) {
        let leaving = base.join(format!("{LEAVING}{}", name.trim_start_matches(LEAVING)));
        // First out of the way, as a whole: a command that begins now gets a new one.
        let moved = if name.starts_with(LEAVING) { Ok(()) } else { std::fs::rename(base.join(&name), &leaving) };
        if let Err(error) = moved.and_then(|()| std::fs::remove_dir_all(&leaving)) {
            tracing::warn!(%error, path = %leaving.display(), "an old scratch folder cannot be removed");
        }
    }
}

fn age(changed: SystemTime, now: SystemTime) -> Duration {
    now.duration_since(changed).unwrap_or_default()
}

/// Whether a folder of this name is one of ours.
fn is_project(name: &str) -> bool {
    name.len() == 16 && name.bytes().all(|digit| digit.is_ascii_hexdigit())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(base: &Path, name: &str) -> PathBuf {
        let folder = base.join(name);
        std::fs::create_dir_all(folder.join("cache/x")).unwrap();
        folder
    }

    fn in_days(days: u64) -> SystemTime {
        SystemTime::now() + Duration::from_secs(days * 24 * 60 * 60)
    }

    #[test]
    fn only_those_go_that_nobody_has_used_for_a_month() {
        let base = tempfile::tempdir().unwrap();
        let ours = folder(base.path(), "0123456789abcdef");
        let begun = folder(base.path(), ".old-0123456789abcdee");
        let others = folder(base.path(), "somebody-elses");
        let linked = base.path().join("1123456789abcdef");
        std::os::unix::fs::symlink(&others, &linked).unwrap();
        sweep_at(base.path(), in_days(29));
        assert!(ours.exists() && !begun.exists());
        sweep_at(base.path(), in_days(31));
        assert!(!ours.exists() && others.join("cache/x").exists() && linked.exists());
    }

    #[test]
    fn so_many_go_at_once_and_no_more() {
        let base = tempfile::tempdir().unwrap();
        for number in 0..=MAX_REMOVED {
            folder(base.path(), &format!("{number:016x}"));
        }
        let left = || std::fs::read_dir(base.path()).unwrap().count();
        sweep_at(base.path(), in_days(31));
        assert_eq!(left(), 1);
        sweep_at(base.path(), in_days(31));
        assert_eq!(left(), 0);
    }

    #[test]
    fn they_are_not_looked_through_again_within_the_hour() {
        let base = tempfile::tempdir().unwrap();
        std::fs::write(base.path().join(MARK), "").unwrap();
        let begun = folder(base.path(), ".old-0123456789abcdee");
        sweep(base.path().to_owned());
        assert!(begun.exists());
    }
}
