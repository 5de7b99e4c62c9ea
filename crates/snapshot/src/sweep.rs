//! Taking away what nobody will ask for any more.
//!
//! A content that is needed again becomes young ([`Keep::has`]), and so does all that a list of changes names when the list
//! is kept. So age alone tells what may go: nothing that a list younger than the retention names is older than that. No
//! session has to be read, and what another process has just kept is never taken.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use crate::Keep;
use crate::keep::{FRESH, PASSING, private};
use crate::usage::NAME;

/// How long contents are kept where nothing else is said.
pub const RETENTION: Duration = Duration::from_secs(7 * 24 * 60 * 60);
/// A sweep that is not forced happens no sooner than this after the last.
const EVERY: Duration = Duration::from_secs(60 * 60);
/// What is younger is never taken, also where too much is kept: somebody may be about to name it.
pub(crate) const GRACE: Duration = Duration::from_secs(24 * 60 * 60);
/// To how much of the quota a keep that is beyond it is brought down, in hundredths.
const DOWN_TO: u64 = 80;
/// Most contents that one sweep looks at. The rest waits for the next.
const MAX_LOOKED_AT: usize = 1_000_000;
/// The file whose time says when the last sweep was.
const SWEPT: &str = "swept";

/// What a sweep did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Swept {
    /// Contents that went.
    pub removed: usize,
    /// Bytes that are kept now, as packed.
    pub bytes: u64,
}

struct Found {
    path: PathBuf,
    bytes: u64,
    age: Duration,
}

impl Keep {
    /// Removes what is older than `retention`, and where more is kept than the quota, the oldest of the rest. `None` when
    /// the last sweep, of any process, is less than an hour ago.
    ///
    /// A retention shorter than a day counts as a day.
    pub fn sweep(&self, retention: Duration) -> Option<Swept> {
        let mark = self.folder().join(SWEPT);
        let age = |path: &Path| path.metadata().and_then(|meta| meta.modified()).ok()?.elapsed().ok();
        if !self.folder().is_dir() || age(&mark).is_some_and(|age| age < EVERY) {
            return None;
        }
        // Before the work, so that of several processes that start at once one does it.
        private(self.folder()).and_then(|()| fs::write(&mark, "")).ok()?;
        Some(self.sweep_now(retention, SystemTime::now()))
    }

    /// The same, whenever the last one was; ages are those at `now`.
    pub fn sweep_now(&self, retention: Duration, now: SystemTime) -> Swept {
        // What a list names may have become young up to so much before the list.
        let retention = retention.max(GRACE) + FRESH;
        let (mut kept, mut swept) = (Vec::new(), Swept::default());
        let remove = |found: Found, swept: &mut Swept| match fs::remove_file(&found.path) {
            Ok(()) => swept.removed += 1,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(_) => swept.bytes += found.bytes,
        };
        for found in self.contents(now) {
            if found.age > retention {
                remove(found, &mut swept);
            } else {
                swept.bytes += found.bytes;
                kept.push(found);
            }
        }
        let quota = self.inner().quota;
        if swept.bytes > quota {
            kept.sort_unstable_by_key(|found| std::cmp::Reverse(found.age));
            for found in kept.into_iter().take_while(|found| found.age > GRACE) {
                if swept.bytes <= quota / 100 * DOWN_TO {
                    break;
                }
                swept.bytes = swept.bytes.saturating_sub(found.bytes);
                remove(found, &mut swept);
            }
        }
        self.inner().usage.found(swept.bytes);
        swept
    }

    /// All contents, and what processes that were killed left of others.
    fn contents(&self, now: SystemTime) -> impl Iterator<Item = Found> {
        let list = |folder: &Path| fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
        let top: Vec<PathBuf> = list(self.folder()).collect();
        let name = |path: &Path| path.file_name().and_then(|name| name.to_str()).unwrap_or_default().to_owned();
        let passing = top.clone().into_iter().filter(move |path| name(path).starts_with(PASSING));
        let ours = move |folder: &PathBuf| {
            let name = folder.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            name != NAME && name.len() == 2 && name.bytes().all(|byte| byte.is_ascii_hexdigit())
        };
        let contents = top.into_iter().filter(ours).flat_map(move |folder| list(&folder));
        passing.chain(contents).take(MAX_LOOKED_AT).filter_map(move |path| {
            let meta = path.symlink_metadata().ok().filter(fs::Metadata::is_file)?;
            // A time in the future is young.
            let age = now.duration_since(meta.modified().ok()?).unwrap_or_default();
            Some(Found { path, bytes: meta.len(), age })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Change, Hash, State};

    const DAY: Duration = Duration::from_secs(24 * 60 * 60);

    fn aged(keep: &Keep, content: &[u8], days: u32) -> Hash {
        let hash = keep.put(content).unwrap();
        let file = fs::File::options().append(true).open(keep.path(&hash)).unwrap();
        file.set_modified(SystemTime::now() - DAY * days).unwrap();
        hash
    }

    #[test]
    fn what_is_old_goes_and_what_a_young_list_names_stays() {
        let folder = tempfile::tempdir().unwrap();
        let keep = Keep::new(folder.path().join("keep"));
        assert_eq!(keep.sweep(RETENTION), None);
        let (old, young) = (aged(&keep, b"old", 9), aged(&keep, b"young", 6));
        let named = aged(&keep, b"named", 30);
        let change = Change::new("/a", State::Absent, State::Link { to: named });
        let list = keep.put_changes(&[change]).unwrap();
        let left = folder.path().join("keep").join(format!("{PASSING}1-2"));
        fs::write(&left, "half").unwrap();
        fs::File::options().append(true).open(&left).unwrap().set_modified(SystemTime::now() - 9 * DAY).unwrap();
        let swept = keep.sweep(RETENTION).unwrap();
        assert_eq!((swept.removed, swept.bytes), (2, keep.used()));
        assert_eq!([old, young, named, list].map(|hash| keep.has(&hash)), [false, true, true, true]);
        assert!(!left.exists());
        // Others have just looked.
        assert_eq!(keep.sweep(RETENTION), None);
    }

    #[test]
    fn beyond_the_quota_the_oldest_go_and_nothing_of_today() {
        let folder = tempfile::tempdir().unwrap();
        let many = Keep::new(folder.path().join("keep"));
        let content = |number: u8| -> Vec<u8> {
            (0..1000_u32).flat_map(|i| Hash::of(&[number, i as u8]).to_string().into_bytes()).collect()
        };
        let hashes: Vec<Hash> = (0..5).map(|days| aged(&many, &content(days), u32::from(days))).collect();
        let one = many.used() / 5;
        let keep = Keep::with_quota(folder.path().join("keep"), one * 3);
        keep.sweep_now(RETENTION, SystemTime::now());
        let left: Vec<bool> = hashes.iter().map(|hash| keep.path(hash).exists()).collect();
        assert_eq!(left, [true, true, false, false, false]);
        let full = Keep::with_quota(folder.path().join("keep"), 1);
        full.sweep_now(Duration::ZERO, SystemTime::now());
        assert!(full.path(&hashes[0]).exists());
    }
}
