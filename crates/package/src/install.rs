//! A tree onto the disk: all of it, or nothing.

use std::path::Path;

use base64::Engine;
use futures::stream::{self, StreamExt, TryStreamExt};
use semver::Version;
use sha2::{Digest, Sha512};

use crate::error::PackageError;
use crate::lock::{Locked, Tree, name_of};
use crate::registry::Registry;
use crate::unpack::{Room, unpack};

/// Most bytes of a tree, unpacked.
pub const MAX_TREE: u64 = 1024 * 1024 * 1024;
/// Most files of a tree.
pub const MAX_FILES: usize = 100_000;
/// How many archives are fetched at once.
const AT_ONCE: usize = 6;

/// Puts `tree` into the folder `to`, unless it is there already: then nobody is asked. Each archive is held against its
/// checksum before a byte of it is unpacked. No script of a package runs. Dropping the future leaves `to` as it was.
///
/// # Errors
///
/// [`PackageError`]; then there is no `to`.
pub async fn install(registry: &Registry, tree: &Tree, to: &Path) -> Result<(), PackageError> {
    let wrong = |why| PackageError::Lock { path: to.to_owned(), why };
    tree.check().map_err(wrong)?;
    if to.exists() {
        return Ok(());
    }
    let above = to.parent().unwrap_or(to);
    let disk = |path: &Path, source| PackageError::Disk { path: path.to_owned(), source };
    std::fs::create_dir_all(above).map_err(|source| disk(above, source))?;
    let name = to.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let passing = Passing(above.join(format!(".{name}.{}", std::process::id())));
    passing.clear();
    std::fs::create_dir(&passing.0).map_err(|source| disk(&passing.0, source))?;
    let mut room = Room { bytes: MAX_TREE, files: MAX_FILES };
    let fetched = stream::iter(&tree.packages).map(|(folder, one)| async move {
        let (what, bytes) = fetch(registry, folder, one).await?;
        Ok::<_, PackageError>((folder, what, bytes))
    });
    let mut fetched = fetched.buffer_unordered(AT_ONCE);
    while let Some((folder, what, bytes)) = fetched.try_next().await? {
        let into = passing.0.join(folder);
        // Archives are not so large that others would have to be heard meanwhile.
        std::fs::create_dir_all(&into).map_err(|source| disk(&into, source))?;
        unpack(&what, &bytes, &into, &mut room)?;
    }
    match std::fs::rename(&passing.0, to) {
        // Somebody else was quicker with the same.
        Err(_) if to.is_dir() => Ok(()),
        Err(source) => Err(disk(to, source)),
        Ok(()) => Ok(()),
    }
}

/// The archive of one package, as its checksum says it is.
async fn fetch(registry: &Registry, folder: &str, one: &Locked) -> Result<(String, Vec<u8>), PackageError> {
    let name = one.name.as_deref().unwrap_or_else(|| name_of(folder));
    let what = format!("{name}@{}", one.version);
    let packument = registry.packument(name).await?;
    let version = Version::parse(&one.version).ok();
    let manifest = version.and_then(|version| packument.manifest(&version));
    let manifest = manifest.ok_or_else(|| registry.missing(name, &one.version))?;
    let bytes = registry.tarball(name, &manifest.dist.tarball).await?;
    let found = format!("sha512-{}", base64::engine::general_purpose::STANDARD.encode(Sha512::digest(&bytes)));
    if found != one.integrity {
        let why = format!("it is {found}, and {} was wanted", one.integrity);
        return Err(PackageError::Integrity { what, why });
    }
    Ok((what, bytes))
}

/// A folder that goes away unless it was given its name.
struct Passing(std::path::PathBuf);

impl Passing {
    fn clear(&self) {
        // It may not be there.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

impl Drop for Passing {
    fn drop(&mut self) {
        self.clear();
    }
}
