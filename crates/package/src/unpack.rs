//! The archive of a package, into a folder.

use std::fs::File;
use std::io::{self, Read, Write};
use std::path::{Component, Path, PathBuf};

use flate2::read::GzDecoder;
use tar::{Archive, EntryType};

use crate::error::PackageError;

/// What may still be unpacked.
#[derive(Debug)]
pub(crate) struct Room {
    pub(crate) bytes: u64,
    pub(crate) files: usize,
}

/// Longest path in an archive, in bytes.
const MAX_PATH: usize = 1024;

/// Unpacks `archive`, a packed tar, below `folder`, which must be of nobody else's. Its files stand in one folder, whose
/// name says nothing. Links and devices are left out, as npm does; a path that leads out is an error.
pub(crate) fn unpack(what: &str, archive: &[u8], folder: &Path, room: &mut Room) -> Result<(), PackageError> {
    let broken = |why: String| PackageError::Archive { what: what.to_owned(), why };
    let large = |why: &str| PackageError::Large { what: what.to_owned(), why: why.to_owned() };
    // What is unpacked is counted as it comes out: what stands in its headers is only its word.
    let limit = room.bytes + 64 * 1024 * 1024;
    let mut archive = Archive::new(GzDecoder::new(archive).take(limit));
    for entry in archive.entries().map_err(|error| broken(error.to_string()))? {
        let mut entry = entry.map_err(|error| broken(error.to_string()))?;
        let kind = entry.header().entry_type();
        if !matches!(kind, EntryType::Regular | EntryType::Continuous | EntryType::GNUSparse) {
            continue;
        }
        if kind == EntryType::GNUSparse {
            return Err(broken("it has a file with holes".to_owned()));
        }
        let path = entry.path_bytes().into_owned();
        let below = below(&path).map_err(broken)?;
        let Some(below) = below else { continue };
        room.files = room.files.checked_sub(1).ok_or_else(|| large("it has too many files"))?;
        let runs = entry.header().mode().is_ok_and(|mode| mode & 0o111 != 0);
        let to = folder.join(below);
        let written = write(&mut entry, &to, room.bytes, runs);
        let written = written.map_err(|source| PackageError::Disk { path: to.clone(), source })?;
        room.bytes = room.bytes.checked_sub(written).ok_or_else(|| large("its files are too large"))?;
    }
    Ok(())
}

/// Where a path of an archive leads below the package's own folder; `None`: to the folder itself.
fn below(path: &[u8]) -> Result<Option<PathBuf>, String> {
    let text = std::str::from_utf8(path).map_err(|_| "a name in it is no text".to_owned())?;
    if text.len() > MAX_PATH || text.contains(['\0', '\\']) {
        return Err(format!("{:?} is no path", text.chars().take(80).collect::<String>()));
    }
    let mut parts = Path::new(text).components().filter(|part| *part != Component::CurDir);
    let mut whole = PathBuf::new();
    let plain = |part: Component<'_>| match part {
        Component::Normal(name) => Ok(name.to_owned()),
        _ => Err(format!("{text:?} leads out of it")),
    };
    // All stand in one folder, mostly called package.
    let Some(first) = parts.next() else { return Ok(None) };
    plain(first)?;
    for part in parts {
        whole.push(plain(part)?);
    }
    Ok((!whole.as_os_str().is_empty()).then_some(whole))
}

/// Writes one file, one byte more than `most` at the most.
fn write(from: &mut impl Read, to: &Path, most: u64, runs: bool) -> io::Result<u64> {
    use std::os::unix::fs::PermissionsExt;
    if let Some(parent) = to.parent() {
        std::fs::create_dir_all(parent)?;
    }
    let mut file = File::create(to)?;
    let written = io::copy(&mut from.take(most + 1), &mut file)?;
    file.flush()?;
    file.set_permissions(std::fs::Permissions::from_mode(if runs { 0o755 } else { 0o644 }))?;
    Ok(written)
}

#[cfg(test)]
mod tests {
    use flate2::Compression;
    use flate2::write::GzEncoder;

    use super::*;

    /// An archive with these entries: name, kind, content or target.
    fn archive(entries: &[(&str, EntryType, &[u8])]) -> Vec<u8> {
        let mut builder = tar::Builder::new(GzEncoder::new(Vec::new(), Compression::fast()));
        for (name, kind, content) in entries {
            let mut header = tar::Header::new_ustar();
            // By hand: a builder refuses names that lead out.
            header.as_old_mut().name[..name.len()].copy_from_slice(name.as_bytes());
            header.set_entry_type(*kind);
            header.set_mode(0o644);
            let is_link = matches!(kind, EntryType::Symlink | EntryType::Link);
            if is_link {
                header.set_link_name(std::str::from_utf8(content).unwrap()).unwrap();
            }
            let content: &[u8] = if is_link { b"" } else { content };
            header.set_size(content.len() as u64);
            header.set_cksum();
            builder.append(&header, content).unwrap();
        }
        builder.into_inner().unwrap().finish().unwrap()
    }

    fn room() -> Room {
        Room { bytes: 1000, files: 3 }
    }

    #[test]
    fn files_go_below_the_folder() {
        let scratch = tempfile::tempdir().unwrap();
        let bytes = archive(&[
            ("package/package.json", EntryType::Regular, b"{}"),
            ("other/lib/./a.js", EntryType::Regular, b"1"),
            ("package/dir", EntryType::Directory, b""),
        ]);
        unpack("a", &bytes, scratch.path(), &mut room()).unwrap();
        assert_eq!(std::fs::read_to_string(scratch.path().join("package.json")).unwrap(), "{}");
        assert_eq!(std::fs::read_to_string(scratch.path().join("lib/a.js")).unwrap(), "1");
    }

    #[test]
    fn nothing_leads_out() {
        for name in ["package/../../evil", "../evil", "/etc/evil", "package/a/../../../evil", "a\\..\\evil"] {
            let scratch = tempfile::tempdir().unwrap();
            let inside = scratch.path().join("in/side");
            let error = unpack("a", &archive(&[(name, EntryType::Regular, b"x")]), &inside, &mut room()).unwrap_err();
            assert!(matches!(error, PackageError::Archive { .. }), "{name}: {error}");
            assert!(!scratch.path().join("evil").exists() && !scratch.path().join("in/evil").exists());
        }
        // Through a link neither: there are none.
        let scratch = tempfile::tempdir().unwrap();
        let outside = tempfile::tempdir().unwrap();
        let target = outside.path().to_str().unwrap();
        let bytes = archive(&[
            ("package/l", EntryType::Symlink, target.as_bytes()),
            ("package/h", EntryType::Link, b"/etc/passwd"),
            ("package/l/evil", EntryType::Regular, b"x"),
        ]);
        unpack("a", &bytes, scratch.path(), &mut room()).unwrap();
        assert!(!outside.path().join("evil").exists() && !scratch.path().join("h").exists());
        assert!(scratch.path().join("l/evil").is_file());
    }

    #[test]
    fn a_bomb_goes_off_small() {
        let scratch = tempfile::tempdir().unwrap();
        let many: Vec<String> = (0..9).map(|at| format!("package/{at}")).collect();
        let entries: Vec<_> = many.iter().map(|name| (name.as_str(), EntryType::Regular, &b"x"[..])).collect();
        let error = unpack("a", &archive(&entries), scratch.path(), &mut room()).unwrap_err();
        assert!(error.to_string().contains("too many files"), "{error}");
        let zeros = vec![0; 4 * 1024 * 1024];
        let error = unpack("a", &archive(&[("package/z", EntryType::Regular, &zeros)]), scratch.path(), &mut room())
            .unwrap_err();
        assert!(error.to_string().contains("too large"), "{error}");
        assert!(std::fs::metadata(scratch.path().join("z")).unwrap().len() <= 1001);
        assert!(unpack("a", b"no archive at all", scratch.path(), &mut room()).is_err());
    }
}
