//! What a person says.

use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};

use haft_protocol::PartKind;

use crate::error::SessionError;

/// Longest text of a file that goes with a prompt, in bytes.
const MAX_ATTACHED: usize = 100 * 1024;
/// Most files that may go with a prompt.
const MAX_FILES: usize = 32;

/// A prompt.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Prompt {
    pub(crate) text: String,
    /// The parts that show the files.
    pub(crate) shown: Vec<PartKind>,
}

impl Prompt {
    /// Words alone.
    pub fn text(text: impl Into<String>) -> Self {
        Self { text: text.into(), shown: Vec::new() }
    }

    /// Words, and text files that the person shows with them: up to 32, the first 100 KiB of each. Naming a file is
    /// the leave to read it. Paths are absolute.
    ///
    /// # Errors
    ///
    /// [`SessionError::Attachment`] names the file that cannot be shown.
    pub async fn with_files(text: impl Into<String>, files: Vec<PathBuf>) -> Result<Self, SessionError> {
        if let Some(further) = files.get(MAX_FILES) {
            return Err(bad(further, "32 files are the most that go with one prompt"));
        }
        let read =
            tokio::task::spawn_blocking(move || files.iter().map(|file| attached(file)).collect::<Result<Vec<_>, _>>());
        let shown = read.await.unwrap_or_else(|_| Err(bad(Path::new("the files"), "reading them crashed")))?;
        Ok(Self { text: text.into(), shown: shown.into_iter().flatten().collect() })
    }
}

fn bad(path: &Path, why: &str) -> SessionError {
    SessionError::Attachment { path: path.display().to_string(), why: why.to_owned() }
}

/// The file in words for the model, and as a file for people.
fn attached(path: &Path) -> Result<[PartKind; 2], SessionError> {
    let (text, whole) = head(path).map_err(|why| bad(path, &why))?;
    let rest = if whole { "" } else { "\n(cut here; use the read tool with an offset for the rest)" };
    let text = format!("The user attached this file.\n<file path=\"{}\">\n{text}{rest}\n</file>", path.display());
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned());
    Ok([
        PartKind::Text { text, synthetic: true, time: None, metadata: None },
        PartKind::File { mime: "text/plain".to_owned(), filename: name, url: format!("file://{}", path.display()) },
    ])
}

/// The beginning of a text file, and whether that is all of it.
fn head(path: &Path) -> Result<(String, bool), String> {
    let told = |error: std::io::Error| match error.kind() {
        ErrorKind::NotFound => "there is no such file".to_owned(),
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

/// A title for a session that begins with `text`: its first line that says something, at most 60 characters.
pub(crate) fn title(text: &str) -> String {
    const LONGEST: usize = 60;
    let line = text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or("New session");
    match line.char_indices().nth(LONGEST) {
        None => line.to_owned(),
        Some((end, _)) => {
            let cut = line[..end].rsplit_once(' ').map_or(&line[..end], |(words, _)| words);
            format!("{}…", cut.trim_end())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, want: &str) {
        assert_eq!(title(text), want);
    }

    #[test]
    fn a_title_is_the_first_line_cut_between_words() {
        check("fix the test", "fix the test");
        check("\n\n  fix it \nmore", "fix it");
        check("", "New session");
        check(
            "please look at every file in the whole project and tell me what you think",
            "please look at every file in the whole project and tell me…",
        );
        check(&"x".repeat(80), &format!("{}…", "x".repeat(60)));
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

    #[tokio::test]
    async fn too_many_files_are_refused() {
        let files = vec![PathBuf::from("/none"); MAX_FILES + 1];
        let error = Prompt::with_files("x", files).await.unwrap_err().to_string();
        assert!(error.contains("32 files are the most"), "{error}");
    }
}
