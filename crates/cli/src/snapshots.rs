//! Where what files were is kept, and for how long.

use std::time::Duration;

use haft_config::Config;
use haft_project::Place;
use haft_session::{Ground, Snapshots};
use haft_snapshot::{Hash, Keep, QUOTA, RETENTION};

use crate::folders::Folders;

/// How old a half-written file must be to be one that nobody writes any more.
const LEFT: Duration = Duration::from_secs(10 * 60);

/// What keeps old contents of the files in `place`; `None` where the settings say not to.
pub(crate) fn of(folders: &Folders, place: &Place, config: &Config) -> Option<Snapshots> {
    let settings = &config.snapshot;
    if !settings.enabled {
        return None;
    }
    let base = folders.snapshots();
    let keep = Keep::with_quota(folders.contents(), settings.quota.unwrap_or(QUOTA));
    let root = place.worktree.as_ref().unwrap_or(&place.directory).clone();
    let name = Hash::of(root.as_os_str().as_encoded_bytes()).to_string();
    let ground = Ground {
        memory: Some(base.join("trees").join(name).with_extension("jsonl")),
        home: folders.home.canonicalize().ok(),
        left_out: vec![folders.data.clone(), folders.state.clone(), folders.cache.clone()],
        root,
    };
    Some(Snapshots::with_commands(keep, base.join("pending"), ground))
}

/// Removes what is too old, hourly at most, and what killed sessions left half written in the project; on a thread of its
/// own. What is not removed when the program ends is removed another time.
pub(crate) fn sweep(snapshots: &Snapshots, config: &Config) {
    let (snapshots, retention) = (snapshots.clone(), config.snapshot.retention.unwrap_or(RETENTION));
    // If no thread can be had, another start does it.
    let sweep = move || {
        snapshots.sweep_left(LEFT);
        snapshots.keep().sweep(retention)
    };
    let _ = std::thread::Builder::new().name("sweep".to_owned()).spawn(sweep);
}
