//! The folder that commands may always fill, one for each project: what one leaves there must not reach another.

use std::fs::DirBuilder;
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

use super::ProcessError;
use super::presets::Preset;
use crate::place::fnv;

/// Makes the folder for the project in the folders `roots`, below `base`, and what is in it.
///
/// # Errors
///
/// [`ProcessError::NoScratch`], also where it belongs to somebody else.
pub(super) fn make(base: &Path, roots: &[PathBuf]) -> Result<PathBuf, ProcessError> {
    let named: Vec<u8> = roots.iter().flat_map(|root| [root.as_os_str().as_encoded_bytes(), b"\0"].concat()).collect();
    let folder = base.join(format!("{:016x}", fnv(&named)));
    let failed = |source: io::Error| ProcessError::NoScratch { dir: folder.clone(), source };
    for one in [folder.clone(), folder.join("tmp"), folder.join("cache")] {
        DirBuilder::new().recursive(true).mode(0o700).create(&one).map_err(failed)?;
    }
    let folder = folder.canonicalize().map_err(failed)?;
    used(&folder);
    if folder.metadata().map_err(failed)?.uid() != rustix::process::geteuid().as_raw() {
        return Err(failed(io::Error::new(io::ErrorKind::PermissionDenied, "it belongs to somebody else")));
    }
    Ok(folder)
}

/// Notes in its time that `folder` is in use, for whoever removes old ones. If that fails it is removed too early, and made
/// again.
pub(super) fn used(folder: &Path) {
    let _ = std::fs::File::open(folder).and_then(|folder| folder.set_modified(std::time::SystemTime::now()));
}

/// The variables that lead programs into `scratch`, whatever they were before.
pub(super) fn environment(scratch: &Path, home: &Path, presets: &[Preset]) -> Vec<(String, String)> {
    let (temp, cache) = (scratch.join("tmp").display().to_string(), scratch.join("cache").display().to_string());
    let own = std::env::var_os("XDG_CACHE_HOME").map_or_else(|| home.join(".cache"), PathBuf::from);
    let mut variables: Vec<(String, String)> =
        ["TMPDIR", "TMP", "TEMP"].map(|name| (name.to_owned(), temp.clone())).into();
    variables.push(("XDG_CACHE_HOME".to_owned(), cache.clone()));
    for preset in presets {
        let set = preset.env.iter().map(|(name, value)| (name.clone(), value.replace("{cache}", &cache)));
        variables.extend(set);
        let kept = preset.keep.iter().map(|(name, below)| (name.clone(), own.join(below)));
        let there = kept.filter(|(name, path)| std::env::var_os(name).is_none() && path.exists());
        variables.extend(there.map(|(name, path)| (name, path.display().to_string())));
    }
    variables
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::presets;

    #[test]
    fn each_project_has_its_own() {
        let folder = tempfile::tempdir().unwrap();
        let base = folder.path().canonicalize().unwrap().join("state/scratch");
        let of = |root: &str| make(&base, &[PathBuf::from(root)]).unwrap();
        assert_eq!(of("/a"), of("/a"));
        assert_ne!(of("/a"), of("/b"));
        assert_ne!(make(&base, &["/a".into(), "/b".into()]).unwrap(), make(&base, &["/a/b".into()]).unwrap());
        assert!(of("/a").starts_with(&base) && of("/a").join("tmp").is_dir() && of("/a").join("cache").is_dir());
        assert_eq!(of("/a").metadata().unwrap().mode() & 0o777, 0o700);
        std::fs::write(base.join("file"), "").unwrap();
        let failed = make(&base.join("file"), &[]).unwrap_err();
        assert!(matches!(failed, ProcessError::NoScratch { .. }), "{failed}");
    }

    #[test]
    fn caches_go_there_and_what_is_only_read_stays() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(folder.path().join(".cache/huggingface")).unwrap();
        let variables = environment(Path::new("/s"), folder.path(), &presets::all(None));
        let value = |name: &str| variables.iter().find(|(one, _)| one == name).map(|(_, value)| value.as_str());
        assert_eq!((value("TMPDIR"), value("XDG_CACHE_HOME")), (Some("/s/tmp"), Some("/s/cache")));
        assert_eq!((value("npm_config_cache"), value("GOCACHE")), (Some("/s/cache/npm"), Some("/s/cache/go-build")));
        assert_eq!(value("CYPRESS_CACHE_FOLDER"), None, "nothing is there");
        assert_eq!(value("CARGO_HOME"), None);
    }
}
