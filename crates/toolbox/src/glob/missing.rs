//! What may have been meant by a path where nothing is.

use std::path::Path;

use haft_permission::{Access, Effect, Grant};
use haft_project::{Files, Find, Found, Names, Order, Target};

use crate::read::near;
use crate::text::on_one_line;

/// Most paths that are proposed.
const MAX_PROPOSED: usize = 3;
/// How many files with the wanted name on their path are looked at.
const MAX_SEEN: usize = 20;

/// Adds to `access` what [`told`] needs, where nothing is at `target`: the names in the folder it would be in, and in
/// the project those of files.
pub(crate) fn with_reading(access: Access, files: &Files, target: &Target) -> Access {
    match target.found() {
        Found::Nothing if target.path().starts_with(files.root()) => {
            access.with(Effect::Read(target.home().to_owned())).with(Effect::Read(files.root().to_owned()))
        }
        Found::Nothing => access.with(Effect::Read(target.home().to_owned())),
        Found::Folder | Found::File => access,
    }
}

/// That nothing is at `target`, and what may have been meant: names like it beside it, or the same name elsewhere in
/// the project.
pub(crate) async fn told(files: &Files, grant: &Grant, target: &Target) -> String {
    told_or(files, grant, target, "Leave path out to look through the whole project").await
}

/// As [`told`], with advice for when nothing can have been meant.
pub(crate) async fn told_or(files: &Files, grant: &Grant, target: &Target, otherwise: &str) -> String {
    let mut proposed = beside(files, grant, target).await.unwrap_or_default();
    if proposed.is_empty() {
        proposed = elsewhere(files, grant, target).await.unwrap_or_default();
    }
    let path = target.path().display().to_string();
    let path = on_one_line(&path);
    if proposed.is_empty() {
        return format!("{path} does not exist. {otherwise}");
    }
    let lines: Vec<_> = proposed.iter().map(|path| on_one_line(path)).collect();
    format!("{path} does not exist. Did you mean one of these?\n{}", lines.join("\n"))
}

async fn beside(files: &Files, grant: &Grant, target: &Target) -> Option<Vec<String>> {
    let name = target.path().file_name()?.to_str()?;
    let listing = files.list_home(grant, target).await.ok()?;
    let near = near(&listing.entries, name);
    Some(near.iter().take(MAX_PROPOSED).map(|name| target.home().join(name).display().to_string()).collect())
}

async fn elsewhere(files: &Files, grant: &Grant, target: &Target) -> Option<Vec<String>> {
    let name = target.path().file_name()?.to_str()?;
    let haft_project::Located::Inside(root) = files.locate("").ok()? else { return None };
    let plain: String = name.chars().flat_map(|c| ["\\".to_owned(), c.to_string()]).collect();
    let names = Names::list(files.root(), &format!("**/{plain},**/{plain}/**")).ok()?;
    let find = Find { names: Some(names), left_out: Vec::new(), order: Order::Shallowest, max: MAX_SEEN };
    let found = files.find(grant, &root, find).await.ok()?;
    let mut paths: Vec<String> = Vec::new();
    for path in &found.paths {
        let below = path.strip_prefix(files.root()).ok()?;
        let up_to: Option<&Path> =
            below.ancestors().filter(|part| part.file_name().is_some_and(|last| last == name)).last();
        let whole = files.root().join(up_to?).display().to_string();
        if !paths.contains(&whole) {
            paths.push(whole);
        }
    }
    paths.truncate(MAX_PROPOSED);
    Some(paths)
}
