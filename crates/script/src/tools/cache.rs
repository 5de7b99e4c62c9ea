//! What is known of files of tools, kept so that nothing is started where nothing changed.

use std::path::PathBuf;

use super::tool::Described;

/// Most files that are kept. Beyond it the oldest ones go.
const MAX_KEPT: usize = 500;
/// Largest file that is read back, in bytes.
const MAX_FILE: u64 = 1024 * 1024;

/// A folder of small files, each named by the content of the file of tools that it is about. Nothing in it is needed: what
/// cannot be read or written is found out again.
#[derive(Debug, Clone)]
pub struct Cache {
    folder: PathBuf,
}

impl Cache {
    /// Kept in `folder`, which is the program's own and is made when it is needed.
    pub fn new(folder: PathBuf) -> Self {
        Self { folder }
    }

    pub(super) fn get(&self, key: &str) -> Option<Vec<Described>> {
        let path = self.folder.join(key);
        if std::fs::metadata(&path).ok()?.len() > MAX_FILE {
            return None;
        }
        serde_json::from_slice(&std::fs::read(path).ok()?).ok()
    }

    pub(super) fn put(&self, key: &str, tools: &[Described]) {
        if let Err(error) = self.write(key, tools) {
            tracing::debug!(%error, "the definitions of tools are not kept");
        }
    }

    fn write(&self, key: &str, tools: &[Described]) -> std::io::Result<()> {
        std::fs::create_dir_all(&self.folder)?;
        self.sweep()?;
        let passing = self.folder.join(format!(".{key}.{}", std::process::id()));
        std::fs::write(&passing, serde_json::to_vec(tools)?)?;
        std::fs::rename(&passing, self.folder.join(key))
    }

    fn sweep(&self) -> std::io::Result<()> {
        let mut kept: Vec<_> = std::fs::read_dir(&self.folder)?
            .flatten()
            .filter_map(|entry| Some((entry.metadata().ok()?.modified().ok()?, entry.path())))
            .collect();
        kept.sort();
        let over = kept.len().saturating_sub(MAX_KEPT - 1);
        kept.into_iter().take(over).for_each(|(_, path)| {
            // Another haft may have been quicker.
            let _ = std::fs::remove_file(path);
        });
        Ok(())
    }
}
