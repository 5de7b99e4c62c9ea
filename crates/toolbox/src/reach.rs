//! Getting at a path: where it leads, and leave for folders outside the project.

use std::path::Path;

use haft_permission::Access;
use haft_project::{Files, Target};
use haft_tool::{Call, TellModel, ToolError};

/// Finds out where the file or folder `name` leads. Outside the project it asks for that folder first.
///
/// # Errors
///
/// [`ToolError::Denied`], or a name that leads nowhere.
pub(crate) async fn reach(files: &Files, call: &Call, name: &str) -> Result<Target, ToolError> {
    let target = files.locate(name).tell_model()?;
    if !target.inside {
        let access = outside(target.home())
            .show("filepath", target.path.display().to_string())
            .show("parentDir", target.home().display().to_string());
        call.ask(access).await?;
    }
    Ok(target)
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

/// Asks for a folder outside the project.
pub(crate) fn outside(folder: &Path) -> Access {
    let pattern = below(folder);
    // As a pattern, a name with one of these covers other folders too, so leave for it is given once.
    let always = if folder.display().to_string().contains(['*', '?', '\\', char::REPLACEMENT_CHARACTER]) {
        Vec::new()
    } else {
        vec![pattern.clone()]
    };
    Access { always, ..Access::new("external_directory", pattern) }
}

/// The pattern for what is in `folder`.
pub(crate) fn below(folder: &Path) -> String {
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
            let access = outside(Path::new(OsStr::from_bytes(folder)));
            assert_eq!(access.patterns, [pattern]);
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
