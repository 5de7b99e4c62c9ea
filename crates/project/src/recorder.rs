//! Who keeps what files were before they are changed.

use std::fmt;
use std::path::Path;

use haft_permission::Asker;

use crate::Standing;

/// Keeps what files were before a tool changes them, so that the change can be taken back.
///
/// Every door that changes files calls it: [`Files`](crate::Files) around each change, [`Processes`](crate::Processes)
/// around each command. Called on threads that may block. It must not fail: what it cannot keep it notes as not kept.
pub trait Recorder: Send + Sync + fmt::Debug {
    /// These files are about to be written or removed together for `asker`. When this returns, what they were and what they
    /// are to be is written down, also if the process is killed in the next instruction.
    fn before_files(&self, asker: &Asker, files: Vec<Planned<'_>>) -> Announced;

    /// What was announced happened, or did not. `files` are as they are now, those of [`Recorder::before_files`] in their
    /// order.
    fn after_files(&self, announced: Announced, happened: bool, files: Vec<Standing>);

    /// What a program that `asker`'s call ran has left of a file that the same call had written before.
    fn reworked(&self, asker: &Asker, path: &Path, now: Standing);

    /// A command is about to run for `asker` that may change files. The value is handed back to
    /// [`Recorder::after_command`].
    fn before_command(&self, asker: &Asker) -> Commanded;

    /// What a command changed so far is to be found now: all that it started has `ended`, or its shell has and the rest
    /// runs on. Of one that has ended it is called once.
    fn after_command(&self, commanded: Commanded, ended: bool);
}

/// What is about to become of a file.
#[derive(Debug)]
pub struct Planned<'a> {
    /// Which: absolute, without links.
    pub path: &'a Path,
    /// What stands there.
    pub before: Standing,
    /// What it will hold; `None` where it will be gone.
    pub after: Option<&'a [u8]>,
}

/// Files that a [`Recorder`] was told of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Announced(pub u64);

/// A command that a [`Recorder`] was told of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Commanded(pub u64);

/// Does `work`, which makes of `files` what is given with each, and tells the recorder before and after.
pub(crate) fn around<T, E>(
    recorder: Option<&dyn Recorder>,
    asker: &Asker,
    files: &[(&Path, Option<&[u8]>)],
    work: impl FnOnce() -> Result<T, E>,
) -> Result<T, E> {
    let Some(recorder) = recorder else { return work() };
    let planned = |&(path, after)| Planned { path, before: Standing::at(path), after };
    let announced = recorder.before_files(asker, files.iter().map(planned).collect());
    let done = work();
    recorder.after_files(announced, done.is_ok(), files.iter().map(|(path, _)| Standing::at(path)).collect());
    done
}
