//! `haft session export`.

mod markdown;
mod sanitize;

use std::fs::OpenOptions;
use std::io::Write;
use std::path::Path;

use anyhow::{Context, Result};
use haft_session::Portable;

use crate::args::{ExportFormat, SessionExport};
use crate::folders::Folders;
use crate::render;
use crate::report::Exit;
use crate::wire::journal;

pub(super) async fn run(args: SessionExport) -> Result<Exit> {
    let journal = journal(&Folders::find()?).await?;
    let record = super::find(args.id.as_deref(), args.dir.as_deref(), &journal).await?;
    render::complain(&format!("Exporting session: {}", record.id));
    let mut session = Portable::stored(&journal, &record.id).await?;
    if args.sanitize {
        sanitize::sanitize(&mut session);
    }
    let text = text(&session, args.format);
    match &args.output {
        Some(path) => write(path, &text)?,
        None => render::say(text.trim_end())?,
    }
    Ok(Exit::Done)
}

/// What is written of `session`.
pub(crate) fn text(session: &Portable, format: ExportFormat) -> String {
    match format {
        // A terminal obeys nothing of it, and JSON says the same this way.
        ExportFormat::Json => render::escaped(&format!("{:#}", session.value())),
        ExportFormat::Md => markdown::markdown(session),
    }
}

/// Writes `text` into a new file at `path`.
///
/// # Errors
///
/// When there is a file already, or it cannot be written.
pub(crate) fn write(path: &Path, text: &str) -> Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    // What was said is the person's own.
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let written = options.open(path).and_then(|mut file| writeln!(file, "{}", text.trim_end()));
    written.with_context(|| cannot(path))
}

/// What to say of a file that could not be written.
fn cannot(path: &Path) -> String {
    let shown = path.display();
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    match folder.filter(|folder| !folder.is_dir()) {
        _ if path.is_dir() => format!("cannot write {shown}, which is a folder; name a file in it"),
        _ if path.symlink_metadata().is_ok() => {
            format!("cannot write {shown}, which is there already; name a file that does not exist yet")
        }
        Some(folder) => {
            format!("cannot write {shown}: there is no folder {}; make it, or name another one", folder.display())
        }
        None => format!("cannot write {shown}; name a file in a folder that you may write in"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_cannot_be_written_says_what_to_name_instead() {
        let folder = tempfile::tempdir().unwrap();
        let row = |name: &str, want: &str| {
            let path = folder.path().join(name);
            let told = format!("{:#}", write(&path, "text").unwrap_err());
            assert!(told.contains(&path.display().to_string()) && told.contains(want), "{told}");
        };
        std::fs::write(folder.path().join("there"), "").unwrap();
        row("", "which is a folder; name a file in it");
        row("there", "which is there already; name a file that does not exist yet");
        row("gone/a.md", "there is no folder");
        row("gone/a.md", "make it, or name another one");
        // Nobody may write there, root neither.
        let told = format!("{:#}", write(Path::new("/proc/haft.md"), "text").unwrap_err());
        assert!(told.contains("/proc/haft.md; name a file in a folder that you may write in"), "{told}");
    }
}
