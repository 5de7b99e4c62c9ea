//! What happens to files beside any session: told to who listens, and never stored.

use serde::{Deserialize, Serialize};

/// Something happened to a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", content = "properties")]
pub enum FileEvent {
    /// A tool wrote it, and what tidies it has.
    #[serde(rename = "file.edited")]
    Edited {
        /// Its absolute path.
        file: String,
    },
    /// It came, changed or went, by a tool or by anybody.
    #[serde(rename = "file.watcher.updated")]
    Updated {
        /// Its absolute path.
        file: String,
        /// What happened.
        event: FileChange,
    },
}

/// What happened to a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FileChange {
    /// It was made.
    Add,
    /// It was written.
    Change,
    /// It is gone.
    Unlink,
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn events_have_the_form_that_plug_ins_know() {
        let row = |event: FileEvent, want| assert_eq!(serde_json::to_value(event).unwrap(), want);
        let file = || "/p/a".to_owned();
        row(FileEvent::Edited { file: file() }, json!({"type": "file.edited", "properties": {"file": "/p/a"}}));
        for (event, word) in [(FileChange::Add, "add"), (FileChange::Change, "change"), (FileChange::Unlink, "unlink")]
        {
            let want = json!({"type": "file.watcher.updated", "properties": {"file": "/p/a", "event": word}});
            row(FileEvent::Updated { file: file(), event }, want);
        }
    }
}
