//! What the cage of a command closes, for whoever explains what was stopped.

use std::path::{Path, PathBuf};

use haft_sandbox::{Cage, Network, Rung};

/// What the cage of a command closes. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Walls {
    cage: std::sync::Arc<Cage>,
    rung: Rung,
    gaps: std::sync::Arc<[String]>,
}

impl Walls {
    /// `gaps`: what of the protected and the hidden could not be looked after, in words.
    pub(super) fn of(cage: &Cage, rung: Rung, gaps: &[String]) -> Self {
        Self { cage: cage.clone().into(), rung, gaps: gaps.into() }
    }

    /// What of the protected and the hidden could not be looked after, in words: a tree can be too large for that, and a
    /// command can make it so.
    pub fn gaps(&self) -> &[String] {
        &self.gaps
    }

    /// What it is held with, as a word: `namespaces`, `landlock`, `seatbelt`.
    pub fn rung(&self) -> &'static str {
        word(self.rung)
    }

    /// Whether there is no network.
    pub fn close_network(&self) -> bool {
        match self.cage.network {
            Network::Closed => true,
            Network::Open => false,
        }
    }

    /// Whether `path`, absolute and without links, cannot be changed.
    pub fn close_writing(&self, path: &Path) -> bool {
        let Cage { write, frozen, .. } = &*self.cage;
        // The device that swallows everything is no file.
        let open = write.iter().any(|open| path.starts_with(open)) || path.starts_with("/dev");
        !open || frozen.iter().any(|frozen| path.starts_with(frozen)) || self.close_reading(path)
    }

    /// Whether it is the cage that keeps the absolute `path` from being changed, and not the system anyway. Looks at the
    /// disk.
    pub fn stop_writing(&self, path: &Path) -> bool {
        let (path, there) = reached(path);
        self.close_writing(&path) && rustix::fs::access(&there, rustix::fs::Access::WRITE_OK).is_ok()
    }

    /// Whether the cage keeps the absolute `path` from being read. Looks at the disk.
    pub fn stop_reading(&self, path: &Path) -> bool {
        self.close_reading(&reached(path).0)
    }

    /// Whether `path`, absolute and without links, cannot be read.
    pub fn close_reading(&self, path: &Path) -> bool {
        let deepest = |list: &[PathBuf]| {
            let above = list.iter().filter(|one| path.starts_with(one));
            above.map(|one| one.components().count()).max()
        };
        match (deepest(&self.cage.hidden), deepest(&self.cage.shown)) {
            (Some(hidden), Some(shown)) => hidden > shown,
            (Some(_), None) => true,
            (None, _) => false,
        }
    }

    /// What the cage opens, in a few words for a record.
    pub(super) fn words(&self) -> String {
        let write: Vec<String> = self.cage.write.iter().map(|path| path.display().to_string()).collect();
        let network = if self.close_network() { "no network" } else { "network" };
        let gaps: String = self.gaps.iter().map(|gap| format!("; not held: {gap}")).collect();
        format!("writes {}; {network}{gaps}", write.join(", "))
    }
}

pub(super) fn word(rung: Rung) -> &'static str {
    match rung {
        Rung::Namespaces => "namespaces",
        Rung::Landlock => "landlock",
        Rung::Seatbelt => "seatbelt",
        Rung::None => "none",
    }
}

/// Where `path` leads with all links followed; `None` where nothing is, or where it is no absolute path.
pub(super) fn real(path: &Path) -> Option<PathBuf> {
    // Following it costs a call for each name in it, and most of what is hidden is not there: one call tells.
    (path.is_absolute() && path.exists()).then(|| path.canonicalize().ok()).flatten()
}

/// Where `path` leads, and what of it is there: itself or the closest folder above.
fn reached(path: &Path) -> (PathBuf, PathBuf) {
    for above in path.ancestors() {
        if let (Ok(there), Ok(rest)) = (above.canonicalize(), path.strip_prefix(above)) {
            let whole = if rest.as_os_str().is_empty() { there.clone() } else { there.join(rest) };
            return (whole, there);
        }
    }
    (path.to_owned(), path.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn walls() -> Walls {
        let paths = |list: &[&str]| list.iter().map(PathBuf::from).collect();
        let cage = Cage {
            write: paths(&["/p", "/s/own"]),
            frozen: paths(&["/p/.git/hooks", "/p/haft.json"]),
            hidden: paths(&["/h/.ssh", "/p/.env", "/s"]),
            shown: paths(&["/h/.ssh/config", "/s/own"]),
            ..Cage::default()
        };
        Walls::of(&cage, Rung::Landlock, &["a".to_owned()])
    }

    #[test]
    fn what_is_closed_is_told() {
        let walls = walls();
        let row = |path: &str, writing: bool, reading: bool| {
            let path = Path::new(path);
            assert_eq!(
                (walls.close_writing(path), walls.close_reading(path)),
                (writing, reading),
                "{}",
                path.display()
            );
        };
        row("/p/a", false, false);
        row("/p", false, false);
        row("/pp/a", true, false);
        row("/p/.git/hooks/x", true, false);
        row("/p/haft.json", true, false);
        row("/p/.env", true, true);
        row("/h/.ssh/id", true, true);
        row("/h/.ssh/config", true, false);
        row("/s/x", true, true);
        row("/s/own/x", false, false);
        row("/dev/null", false, false);
        assert!(walls.close_network());
        assert_eq!(walls.rung(), "landlock");
        assert_eq!(walls.words(), "writes /p, /s/own; no network; not held: a");
    }

    #[test]
    fn a_path_is_looked_at_where_it_leads() {
        let folder = tempfile::tempdir().unwrap();
        let base = folder.path().canonicalize().unwrap();
        std::fs::create_dir(base.join("real")).unwrap();
        std::os::unix::fs::symlink("real", base.join("link")).unwrap();
        assert_eq!(reached(&base.join("link/a/b")), (base.join("real/a/b"), base.join("real")));
        assert_eq!(reached(&base.join("link")), (base.join("real"), base.join("real")));
    }
}
