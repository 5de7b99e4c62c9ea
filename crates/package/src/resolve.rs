//! What a package and all that it needs come to.

use std::collections::{BTreeMap, VecDeque};

use semver::Version;

use crate::error::PackageError;
use crate::lock::{Locked, Tree};
use crate::manifest::Need;
use crate::place::{place, ways};
use crate::range::Range;
use crate::registry::Registry;
use crate::spec::Spec;

/// Most packages of one tree.
pub const MAX_PACKAGES: usize = 500;
/// Deepest that packages stand below each other.
const MAX_DEPTH: usize = 16;

/// The versions that `spec` and all that it needs come to today. Dropping the future ends it.
///
/// # Errors
///
/// [`PackageError`]. What a package can do without is left out where it cannot be had.
pub async fn resolve(registry: &Registry, spec: &Spec) -> Result<Tree, PackageError> {
    let mut tree = Tree { name: spec.name.clone(), packages: BTreeMap::new() };
    let first = Need { name: spec.name.clone(), range: spec.range.clone(), optional: false };
    let mut open = VecDeque::from([(String::new(), first)]);
    while let Some((from, need)) = open.pop_front() {
        if is_there(&tree, &from, &need) {
            continue;
        }
        let optional = need.optional;
        match choose(registry, &mut tree, &from, need).await {
            Ok(Some((folder, needs))) => open.extend(needs.into_iter().map(|need| (folder.clone(), need))),
            Ok(None) => {}
            Err(PackageError::Large { what, why }) => return Err(PackageError::Large { what, why }),
            Err(error) if optional => tracing::info!(%error, "left out, as it is not needed"),
            Err(error) => return Err(error),
        }
    }
    Ok(tree)
}

/// Whether what Node would find from `from` is what is needed.
fn is_there(tree: &Tree, from: &str, need: &Need) -> bool {
    let found = ways(from, &need.name).find_map(|folder| tree.packages.get(&folder));
    let version = found.and_then(|one| Version::parse(&one.version).ok());
    let range = Range::parse(&need.range);
    // A tag, or an alias, that is there is good enough.
    version.is_some_and(|version| range.is_none_or(|range| range.holds(&version)))
}

/// Puts what `need` means into the tree, and gives where it went with what it needs itself. `None`: it is for other
/// machines, and not needed on this one.
async fn choose(
    registry: &Registry,
    tree: &mut Tree,
    from: &str,
    need: Need,
) -> Result<Option<(String, Vec<Need>)>, PackageError> {
    let alias = need.range.strip_prefix("npm:");
    let spec = match alias {
        Some(alias) => Spec::parse(alias)?,
        None => Spec::parse(&format!("{}@{}", need.name, need.range))?,
    };
    Spec::parse(&need.name)?;
    let packument = registry.packument(&spec.name).await?;
    let found = packument.pick(&spec.range).and_then(|version| Some((packument.manifest(&version)?, version)));
    let Some((manifest, version)) = found else { return Err(registry.missing(&spec.name, &spec.range)) };
    if need.optional && !manifest.fits() {
        return Ok(None);
    }
    let strong =
        |integrity: &String| integrity.split_whitespace().find(|one| one.starts_with("sha512-")).map(str::to_owned);
    let Some(integrity) = manifest.dist.integrity.as_ref().and_then(strong) else {
        let why = "the registry gives no sha512 for it".to_owned();
        return Err(PackageError::Integrity { what: format!("{}@{version}", spec.name), why });
    };
    let folder = place(&tree.packages, from, &need.name);
    let large = |why: String| PackageError::Large { what: tree.name.clone(), why };
    if tree.packages.len() >= MAX_PACKAGES {
        return Err(large(format!("it needs more than {MAX_PACKAGES} packages")));
    }
    if folder.matches("node_modules/").count() > MAX_DEPTH {
        return Err(large(format!("its packages stand more than {MAX_DEPTH} deep")));
    }
    let name = (spec.name != need.name).then(|| spec.name.clone());
    tree.packages.insert(folder.clone(), Locked { name, version: version.to_string(), integrity });
    Ok(Some((folder, manifest.needs())))
}
