//! What a model is told before the conversation: who it is, where it is, which tools it has.

use std::path::{Path, PathBuf};

use haft_protocol::PartKind;

use crate::error::SessionError;
use crate::setup::Setup;

/// Longest text of an attached file that goes into a prompt, in bytes.
const MAX_ATTACHED: usize = 100 * 1024;
/// Most files that may go with a prompt.
const MAX_FILES: usize = 32;

/// The system prompt: the agent's own words, then where it is.
pub(crate) fn prompt(setup: &Setup) -> String {
    let place = &setup.place;
    let git = if place.worktree.is_some() { "yes" } else { "no" };
    format!(
        "{}\n\nWhere you are\n<env>\nWorking directory: {}\nGit repository: {git}\nPlatform: {}\nDate: {}\nModel: {}/{}\n</env>",
        setup.agent.prompt,
        place.directory.display(),
        std::env::consts::OS,
        date(setup.clock.now_ms()),
        setup.model.reference.provider_id,
        setup.model.reference.model_id,
    )
}

/// The parts that show `files` to the model.
pub(crate) async fn attachments(setup: &Setup, files: &[PathBuf]) -> Result<Vec<PartKind>, SessionError> {
    let bad =
        |path: &Path, why: &str| SessionError::Attachment { path: path.display().to_string(), why: why.to_owned() };
    if let Some(further) = files.get(MAX_FILES) {
        return Err(bad(further, "32 files are the most that go with one prompt"));
    }
    let mut parts = Vec::new();
    for file in files {
        let path = setup.place.directory.join(file);
        let shown = path.clone();
        let read = tokio::task::spawn_blocking(move || head(&shown)).await;
        let read = read.unwrap_or_else(|_| Err("reading it crashed".to_owned()));
        let (text, whole) = read.map_err(|why| bad(file, &why))?;
        parts.push(PartKind::Text { text: attached(&path, &text, whole), synthetic: true, time: None, metadata: None });
        parts.push(PartKind::File {
            mime: "text/plain".to_owned(),
            filename: Some(file.display().to_string()),
            url: format!("file://{}", path.display()),
        });
    }
    Ok(parts)
}

fn attached(path: &Path, text: &str, whole: bool) -> String {
    let rest = if whole { "" } else { "\n(cut here; use the read tool with an offset for the rest)" };
    format!("The user attached this file.\n<file path=\"{}\">\n{text}{rest}\n</file>", path.display())
}

/// The beginning of a text file, and whether that is all of it.
fn head(path: &Path) -> Result<(String, bool), String> {
    use std::io::Read;
    let told = |error: std::io::Error| match error.kind() {
        std::io::ErrorKind::NotFound => "there is no such file".to_owned(),
        _ => error.to_string(),
    };
    let meta = std::fs::metadata(path).map_err(told)?;
    if !meta.is_file() {
        return Err("it is not a file; name a text file".to_owned());
    }
    let mut bytes = Vec::new();
    let limit = MAX_ATTACHED as u64 + 1;
    std::fs::File::open(path).map_err(told)?.take(limit).read_to_end(&mut bytes).map_err(told)?;
    let whole = bytes.len() <= MAX_ATTACHED;
    bytes.truncate(MAX_ATTACHED);
    if bytes.contains(&0) {
        return Err("it is not a text file; only text can be attached so far".to_owned());
    }
    let text = match String::from_utf8(bytes) {
        Ok(text) => text,
        // A character that the limit cut in two is not the file's fault.
        Err(error) if !whole && error.utf8_error().error_len().is_none() => {
            let valid = error.utf8_error().valid_up_to();
            String::from_utf8_lossy(&error.into_bytes()[..valid]).into_owned()
        }
        Err(_) => return Err("it is not UTF-8 text; only text can be attached so far".to_owned()),
    };
    Ok((text.strip_prefix('\u{feff}').unwrap_or(&text).to_owned(), whole))
}

/// The day of `ms` (Unix milliseconds, UTC) as `2026-11-21`.
fn date(ms: u64) -> String {
    // Days since 0000-03-01, whose year ends with its leap day (the civil calendar's usual arithmetic).
    let days = ms / 86_400_000 + 719_468;
    let era = days / 146_097;
    let day_of_era = days % 146_097;
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    let year = year_of_era + era * 400 + u64::from(month <= 2);
    format!("{year}-{month:02}-{day:02}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_have_dates() {
        let row = |ms: u64, want: &str| assert_eq!(date(ms), want);
        row(0, "1970-01-01");
        row(951_782_400_000, "2000-02-29");
        row(1_795_292_340_480, "2026-11-21");
        row(4_107_542_400_000, "2100-03-01");
    }

    #[test]
    fn a_file_is_shown_up_to_a_limit() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.txt");
        std::fs::write(&path, "é".repeat(MAX_ATTACHED)).unwrap();
        let (text, whole) = head(&path).unwrap();
        assert!(!whole && text.len() == MAX_ATTACHED);
        std::fs::write(&path, format!("x{}", "é".repeat(MAX_ATTACHED))).unwrap();
        assert_eq!(head(&path).unwrap().0.len(), MAX_ATTACHED - 1);
        std::fs::write(&path, "\u{feff}short").unwrap();
        assert_eq!(head(&path).unwrap(), ("short".to_owned(), true));
    }

    #[test]
    fn what_is_no_text_is_not_attached() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.bin");
        std::fs::write(&path, b"a\0b").unwrap();
        assert!(head(&path).unwrap_err().contains("not a text file"));
        assert!(head(folder.path()).unwrap_err().contains("not a file"));
        assert!(head(&folder.path().join("none")).unwrap_err().contains("no such file"));
    }
}
