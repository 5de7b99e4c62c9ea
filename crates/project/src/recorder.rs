//! Who keeps what files were before they are changed.

use std::fmt;
use std::path::{Path, PathBuf};

use haft_permission::Asker;

/// Keeps what files were before a tool changes them, so that the change can be taken back.
///
/// Every door that changes files calls it: [`Files`](crate::Files) around each change, [`Processes`](crate::Processes)
/// around each command. Called on threads that may block. It must not fail: what it cannot keep it notes as not kept.
pub trait Recorder: Send + Sync + fmt::Debug {
    /// These files, absolute and true, are about to be written or removed for `asker`. `after` is what each will hold, where
    /// that is known; `None` where it will be gone. When this returns, what they were is kept, also if the process is
    /// killed in the next instruction.
    fn before_files(&self, asker: &Asker, files: &[(&Path, Option<&[u8]>)]);

    /// What was announced last for these files happened, or did not: they are to be looked at now.
    fn after_files(&self, asker: &Asker, files: &[&Path]);

    /// A command is about to run for `asker` that may change everything below `trees`. The value is handed back to
    /// [`Recorder::after_command`] when the command has ended.
    fn before_command(&self, asker: &Asker, trees: &[PathBuf]) -> Commanded;

    /// The command ended, or was left running; what it changed so far is to be found now.
    fn after_command(&self, asker: &Asker, commanded: Commanded);
}

/// A command that a [`Recorder`] was told of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Commanded(pub u64);
