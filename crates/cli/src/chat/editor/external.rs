//! The user's own editor, for what is too long for a line.

use std::io::{Read, Write};
use std::path::Path;

use anyhow::{Context, Result, bail};

use super::MAX_INPUT;
use crate::folders;

/// What becomes of `text` in the user's editor: `$VISUAL`, else `$EDITOR`, else `vi`. The text lies in a file in
/// `folder`, for its owner alone, as long as that takes. The terminal must be free.
///
/// # Errors
///
/// When there is no such editor, it fails, or what it leaves is no text of at most 4 MiB.
pub(crate) async fn edited(text: &str, folder: &Path) -> Result<String> {
    let named = |name: &str| std::env::var(name).ok().filter(|command| !command.trim().is_empty());
    let editor = named("VISUAL").or_else(|| named("EDITOR")).unwrap_or_else(|| "vi".to_owned());
    edited_with(&editor, text, folder).await
}

async fn edited_with(editor: &str, text: &str, folder: &Path) -> Result<String> {
    folders::make(folder)?;
    let mut file = tempfile::Builder::new().prefix("prompt-").suffix(".md").tempfile_in(folder)?;
    file.write_all(text.as_bytes()).context("cannot write the text for the editor")?;
    // The variable holds a command line, such as `code --wait`; the path is no part of its text.
    let command = format!("{editor} \"$1\"");
    let status = tokio::process::Command::new("/bin/sh").args(["-c", &command, "sh"]).arg(file.path()).status().await;
    let status = status.with_context(|| format!("cannot start the editor {editor:?}; set $EDITOR to another one"))?;
    if !status.success() {
        bail!("the editor {editor:?} failed ({status}); what was typed is kept");
    }
    // Editors write a new file in the place of the old one.
    let changed = std::fs::File::open(file.path()).context("the editor left no file; what was typed is kept")?;
    let mut text = String::new();
    changed.take(MAX_INPUT as u64 + 1).read_to_string(&mut text).context("the editor left no UTF-8 text")?;
    if text.len() > MAX_INPUT {
        bail!("the text is longer than {} MiB; put it into a file and name it as @FILE", MAX_INPUT >> 20);
    }
    Ok(text.trim_end_matches('\n').to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn what_the_editor_leaves_is_the_text() {
        let folder = tempfile::tempdir().unwrap();
        let below = folder.path().join("state");
        let changed = edited_with("printf ' and more\\n' >>", "text", &below).await.unwrap();
        assert_eq!(changed, "text and more");
        let exchanged =
            edited_with("f() { echo new > \"$1.n\"; mv \"$1.n\" \"$1\"; }; f", "text", &below).await.unwrap();
        assert_eq!(exchanged, "new");
        for bad in ["false", "/there/is/no/editor", "rm", "printf '\\377' >"] {
            assert!(edited_with(bad, "text", &below).await.is_err(), "{bad}");
        }
        assert_eq!(std::fs::read_dir(&below).unwrap().count(), 0, "nothing is left behind");
    }
}
