//! Standard input, whole.

use std::io::{IsTerminal, Read};
use std::time::Duration;

use anyhow::{Context, Result};

use crate::render;
use crate::report::Usage;

/// How long standard input may keep silent before the user is told what is waited for.
const PATIENCE: Duration = Duration::from_secs(2);

/// Reads standard input to its end as text of at most `most` bytes. A terminal, a device such as `/dev/null` or
/// nothing at all count as empty.
///
/// # Errors
///
/// [`Usage`] when it is longer, or is not UTF-8.
pub(crate) async fn read(most: u64) -> Result<String> {
    let stdin = std::io::stdin();
    if stdin.is_terminal() || is_device() {
        return Ok(String::new());
    }
    let mut reading = std::pin::pin!(tokio::task::spawn_blocking(move || {
        let mut piped = Vec::new();
        stdin.lock().take(most + 1).read_to_end(&mut piped).map(|_| piped)
    }));
    let piped = match tokio::time::timeout(PATIENCE, &mut reading).await {
        Ok(piped) => piped,
        Err(_) => {
            render::complain("waiting for the end of standard input (close it, or redirect it from /dev/null) …");
            reading.await
        }
    };
    let piped = piped.context("reading standard input crashed")?.context("cannot read standard input")?;
    if piped.len() as u64 > most {
        let most = most / (1024 * 1024);
        return Err(Usage(format!("standard input is longer than {most} MiB; put it into a file and name that")).into());
    }
    Ok(String::from_utf8(piped).map_err(|_| Usage("standard input is not UTF-8 text".to_owned()))?)
}

/// Whether standard input is something like /dev/null, or nothing at all.
pub(crate) fn is_device() -> bool {
    let kind = rustix::fs::fstat(std::io::stdin()).map(|stat| rustix::fs::FileType::from_raw_mode(stat.st_mode));
    matches!(kind, Err(_) | Ok(rustix::fs::FileType::CharacterDevice))
}
