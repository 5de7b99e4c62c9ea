//! A process without any rights, for code that nobody knows: it computes, and speaks over pipes that it was given.

use std::ffi::OsString;
use std::path::Path;

use crate::Launch;

/// Gives up all rights of this process, for ever: no file can be opened, no socket made, no other process started or
/// signalled. To be called first in `main` of what [`sealed`] starts, before there are threads; threads may be made after.
///
/// # Errors
///
/// What this machine does not have. Then the process must end.
pub fn seal() -> Result<(), String> {
    #[cfg(target_os = "linux")]
    return crate::kernel::seal();
    // There it is held from outside.
    #[cfg(not(target_os = "linux"))]
    Ok(())
}

/// What to start so that `program` can [`seal`] itself.
pub fn sealed(program: &Path, args: &[OsString]) -> Launch {
    if !cfg!(target_os = "macos") {
        return Launch { program: program.to_owned(), args: args.to_vec() };
    }
    // Not run on a Mac yet, like the rest of its rung.
    let named = program.display().to_string().replace('\\', "\\\\").replace('"', "\\\"");
    let profile = format!(
        "(version 1)(deny default)(allow process-exec (literal \"{named}\"))(allow sysctl-read)\
         (allow file-read* (literal \"{named}\") (subpath \"/usr/lib\") (subpath \"/System/Library\"))"
    );
    let mut all: Vec<OsString> = vec!["-p".into(), profile.into(), program.into()];
    all.extend_from_slice(args);
    Launch { program: "/usr/bin/sandbox-exec".into(), args: all }
}
