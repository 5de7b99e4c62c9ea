//! `haft session export`.

mod markdown;
mod sanitize;

use std::fs::OpenOptions;
use std::io::Write;

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
    let text = match args.format {
        // A terminal obeys nothing of it, and JSON says the same this way.
        ExportFormat::Json => render::escaped(&format!("{:#}", session.value())),
        ExportFormat::Md => markdown::markdown(&session),
    };
    let Some(path) = &args.output else {
        render::say(text.trim_end())?;
        return Ok(Exit::Done);
    };
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    // What was said is the person's own.
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let written = options.open(path).and_then(|mut file| writeln!(file, "{}", text.trim_end()));
    written.with_context(|| format!("cannot write {}; name a file that does not exist yet", path.display()))?;
    Ok(Exit::Done)
}
