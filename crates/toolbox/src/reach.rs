//! Getting at a path: where it leads, and leave for folders outside the project. The one place that asks for those.

use std::path::{Path, PathBuf};

use haft_permission::{Access, Builtin, Effect, Grant};
use haft_project::{Files, Located, Outside, Target};
use haft_tool::{Call, TellModel, ToolError};

/// Finds out where the file or folder `name` leads. Outside the project it asks for that folder first.
///
/// # Errors
///
/// [`ToolError::Denied`], or a name that leads nowhere.
pub async fn reach(files: &Files, call: &Call, name: &str) -> Result<Target, ToolError> {
    let show = |access: Access, outside: &Outside| {
        access
            .show("filepath", outside.path().display().to_string())
            .show("parentDir", outside.home().display().to_string())
    };
    go(files, call, name, show).await
}

/// The same for a file that is to be changed, which needs a name.
///
/// # Errors
///
/// [`ToolError::BadInput`] without a name, or those of [`reach`].
pub(crate) async fn reach_file(files: &Files, call: &Call, name: &str) -> Result<Target, ToolError> {
    if name.is_empty() {
        return Err(ToolError::BadInput("filePath is empty; name the file".to_owned()));
    }
    reach(files, call, name).await
}

/// The same for the folder that `command` shall run in.
///
/// # Errors
///
/// Those of [`reach`].
pub(crate) async fn reach_workdir(files: &Files, call: &Call, name: &str, command: &str) -> Result<Target, ToolError> {
    let show = |access: Access, outside: &Outside| {
        access
            .show("command", command)
            .show("directories", vec![outside.home().display().to_string()])
            .show("patterns", vec![below(outside.home())])
    };
    go(files, call, name, show).await
}

/// Goes where `name` leads; `show` adds what the one who is asked shall see.
async fn go(
    files: &Files,
    call: &Call,
    name: &str,
    show: impl FnOnce(Access, &Outside) -> Access,
) -> Result<Target, ToolError> {
    match files.locate(name).tell_model()? {
        Located::Inside(target) => Ok(target),
        Located::Outside(outside) => {
            let grant = call.ask(show(entering(outside.home()), &outside)).await?;
            outside.enter(&grant).tell_model()
        }
    }
}

/// A folder outside the project that a command goes to.
#[derive(Debug)]
pub(crate) struct Border {
    /// The folder.
    pub(crate) folder: PathBuf,
    /// What in it the command changes.
    pub(crate) changed: Vec<PathBuf>,
    /// Whether only a rule of the user's own asks for it, because the cage opens it anyway.
    pub(crate) free: bool,
}

/// Asks at once for all folders outside the project that a command goes to. It opens nothing there but what the command
/// itself may change. `show` adds what the one who is asked shall see. `None` where there are none.
///
/// # Errors
///
/// [`ToolError::Denied`].
pub(crate) async fn reach_all(
    call: &Call,
    borders: &[&Border],
    show: impl FnOnce(Access) -> Access,
) -> Result<Option<Grant>, ToolError> {
    if borders.is_empty() {
        return Ok(None);
    }
    let accesses: Vec<Access> = borders.iter().map(|border| entering(&border.folder)).collect();
    let patterns: Vec<String> = accesses.iter().flat_map(|access| access.patterns.clone()).collect();
    // What cannot be covered for ever is asked for again; then so are those beside it.
    let whole = accesses.iter().all(|access| !access.always.is_empty());
    let named: Vec<String> = borders.iter().map(|border| border.folder.display().to_string()).collect();
    let held = borders.iter().filter(|border| !border.free);
    let changed = held.flat_map(|border| border.changed.iter().cloned().map(Effect::Change));
    let free = borders.iter().all(|border| border.free);
    let access = Access {
        always: if whole { patterns.clone() } else { Vec::new() },
        patterns: patterns.clone(),
        effects: accesses.into_iter().flat_map(|access| access.effects).chain(changed).collect(),
        builtin: if free { Builtin::NeverAsks } else { Builtin::Counts },
        ..Access::new("external_directory", "")
    };
    Ok(Some(call.ask(show(access.show("directories", named).show("patterns", patterns))).await?))
}

/// Asks for a folder outside the project.
fn entering(folder: &Path) -> Access {
    let pattern = below(folder);
    // As a pattern, a name with one of these covers other folders too, so leave for it is given once.
    let always = if folder.display().to_string().contains(['*', '?', '\\', char::REPLACEMENT_CHARACTER]) {
        Vec::new()
    } else {
        vec![pattern.clone()]
    };
    Access { always, ..Access::new("external_directory", pattern).with(Effect::Enter(folder.to_owned())) }
}

/// The pattern for what is in `folder`.
fn below(folder: &Path) -> String {
    folder.join("*").display().to_string()
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;

    use super::*;

    #[test]
    fn always_is_offered_for_names_that_are_no_patterns() {
        let row = |folder: &[u8], pattern: &str, always: bool| {
            let access = entering(Path::new(OsStr::from_bytes(folder)));
            assert_eq!(access.patterns, [pattern]);
            assert_eq!(access.effects, [Effect::Enter(Path::new(OsStr::from_bytes(folder)).to_owned())]);
            let want: &[String] = if always { &access.patterns } else { &[] };
            assert_eq!(access.always, want, "{pattern}");
        };
        row(b"/", "/*", true);
        row(b"/tmp/a b", "/tmp/a b/*", true);
        row(b"/tmp/[a]{b}", "/tmp/[a]{b}/*", true);
        row(b"/tmp/a\nb", "/tmp/a\nb/*", true);
        row(b"/*", "/*/*", false);
        row(b"/home/*/x", "/home/*/x/*", false);
        row(b"/tmp/?", "/tmp/?/*", false);
        row(b"/home\\u", "/home\\u/*", false);
        row(b"/tmp/\xff", "/tmp/\u{fffd}/*", false);
    }
}
