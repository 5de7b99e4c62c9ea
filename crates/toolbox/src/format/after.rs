//! What is done with files that a tool wrote: they are tidied, and who listens is told of them.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;
use std::sync::Arc;

use futures::StreamExt;
use haft_permission::{Access, Action, Effect, Grant};
use haft_project::{Command, Files, IfExists, Mode, Processes, Stamp, Target, is_protected};
use haft_protocol::{FileChange, FileEvent};
use haft_tool::Call;
use tokio::time::Instant;

use super::catalogue::Proof;
use super::choose::words;
use super::run::{Ended, Ran, run};
use super::settle::{Found, Settled, settle, told};
use super::{Chosen, Formatters, Inner};
use crate::bash::secrets;
use crate::beside::beside;

/// Files of one call that are tidied at once.
const AT_ONCE: usize = 4;
/// For how many times as long as one may take the files of one call are tidied; those that are left then stay as they are.
const MAX_ALL: u32 = 3;
/// Largest file, in bytes, that is tidied.
const MAX_FILE: u64 = 16 * 1024 * 1024;
/// The permission under which they run, each by its name.
const PERMISSION: &str = "formatter";
/// The mark of a text in Unicode.
const MARK: &[u8] = b"\xef\xbb\xbf";

/// Who hears what becomes of files. It must not wait.
pub type Tell = Arc<dyn Fn(FileEvent) + Send + Sync>;

/// What is done with files that tools wrote. By default nothing.
#[derive(Clone, Default)]
pub struct AfterEdit {
    /// What tidies them.
    pub formatters: Formatters,
    /// Who hears of them, when they are as they stay.
    pub tell: Option<Tell>,
}

impl fmt::Debug for AfterEdit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AfterEdit").field("formatters", &self.formatters).finish_non_exhaustive()
    }
}

/// The same with what it takes. Cheap to clone.
#[derive(Clone)]
pub(crate) struct After {
    files: Files,
    processes: Processes,
    edit: AfterEdit,
}

/// A file that a tool has written.
#[derive(Debug, Clone)]
pub(crate) struct Written {
    pub(crate) target: Target,
    /// What it holds.
    pub(crate) bytes: Vec<u8>,
    pub(crate) stamp: Stamp,
}

/// A file as it stays.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Left {
    /// What it holds where that is something else by now.
    pub(crate) bytes: Option<Vec<u8>>,
    pub(crate) stamp: Stamp,
    /// The formatters that changed it.
    pub(crate) by: Vec<String>,
    /// What the model is told besides, a sentence each.
    pub(crate) notes: Vec<String>,
}

impl Left {
    fn untouched(stamp: Stamp) -> Self {
        Self { bytes: None, stamp, by: Vec::new(), notes: Vec::new() }
    }

    /// What the model is told of it, with a blank before; nothing where nothing happened.
    pub(crate) fn words(&self) -> String {
        let tidied = (!self.by.is_empty()).then(|| format!("Then {} formatted it.", self.by.join(" and ")));
        tidied.iter().chain(&self.notes).flat_map(|sentence| [" ", sentence.as_str()]).collect()
    }
}

impl After {
    pub(crate) fn new(files: &Files, processes: &Processes, edit: &AfterEdit) -> Self {
        Self { files: files.clone(), processes: processes.clone(), edit: edit.clone() }
    }

    /// Whether anything may be done with the file: who asks keeps what it was until that is done.
    pub(crate) fn may_tidy(&self, path: &Path) -> bool {
        path.file_name().and_then(|name| name.to_str()).is_some_and(|name| self.edit.formatters.may_be_for(name))
    }

    /// Says what happened to a file, now that it stays so.
    pub(crate) fn tell(&self, path: &Path, event: FileChange) {
        let (Some(tell), Some(file)) = (&self.edit.tell, path.to_str()) else { return };
        if event != FileChange::Unlink {
            tell(FileEvent::Edited { file: file.to_owned() });
        }
        tell(FileEvent::Updated { file: file.to_owned(), event });
    }

    /// Tidies `files`, which were written with `grant`; one answer for each, in their order. Never fails: what goes wrong is
    /// said, and leaves a file as it was written.
    pub(crate) async fn tidied(&self, call: &Call, grant: &Grant, files: Vec<Written>) -> Vec<Left> {
        let as_it_is = |files: &[Written]| files.iter().map(|file| Left::untouched(file.stamp)).collect();
        let is_any = files.iter().any(|file| self.may_tidy(file.target.path()));
        let Some(inner) = self.edit.formatters.inner.as_ref().filter(|_| is_any) else { return as_it_is(&files) };
        let chosen = self.chosen(inner, &files).await;
        if chosen.iter().all(Vec::is_empty) {
            return as_it_is(&files);
        }
        let _turn = inner.turn.lock().await;
        let granted = self.granted(call, &files, &chosen).await;
        let until = Instant::now() + inner.time.saturating_mul(MAX_ALL);
        let tidy = |(file, chosen): (Written, Vec<Chosen>)| {
            let work = Work { after: self, inner, call, grant, granted: &granted, until };
            async move { work.tidy(file, chosen).await }
        };
        futures::stream::iter(files.into_iter().zip(chosen)).map(tidy).buffered(AT_ONCE).collect().await
    }

    /// Which formatters are for each of `files`.
    async fn chosen(&self, inner: &Arc<Inner>, files: &[Written]) -> Vec<Vec<Chosen>> {
        let paths: Vec<_> = files.iter().map(|file| file.target.path().to_owned()).collect();
        let (inner, files, processes) = (Arc::clone(inner), self.files.clone(), self.processes.clone());
        let work = move || {
            let can_change = processes.mode() != Some(Mode::ReadOnly);
            let is_caged = processes.mode().is_some();
            let one = |path: &std::path::PathBuf| match can_change && is_open(&files, is_caged, path) {
                true => inner.choose(&files, path),
                false => Vec::new(),
            };
            paths.iter().map(one).collect()
        };
        beside(work).await
    }

    /// Leave for each formatter to run on all of its files; without an entry it has none.
    async fn granted(&self, call: &Call, files: &[Written], chosen: &[Vec<Chosen>]) -> BTreeMap<String, Grant> {
        let mut wanted: BTreeMap<String, Vec<Effect>> = BTreeMap::new();
        for (file, chosen) in files.iter().zip(chosen) {
            for one in chosen {
                let commands = [Some(one.line(&file.target)), one.proof()].into_iter().flatten();
                let runs = commands.map(|command| Effect::Run { command, dir: self.files.root().to_owned() });
                let effects = wanted.entry(one.formatter.name.clone()).or_default();
                effects.extend(runs);
            }
        }
        let can_change = call.general("edit") != Action::Deny;
        let roots: Vec<_> = self.processes.roots().iter().filter(|_| can_change).cloned().map(Effect::Change).collect();
        let mut granted = BTreeMap::new();
        for (name, effects) in wanted {
            let effects = effects.into_iter().chain(roots.iter().cloned());
            let access = effects.fold(Access::new(PERMISSION, name.as_str()), Access::with);
            match call.ask(Access { always: vec![name.clone()], ..access }).await {
                Ok(grant) => drop(granted.insert(name, grant)),
                Err(denied) => tracing::info!(formatter = name, %denied, "a formatter does not run"),
            }
        }
        granted
    }
}

/// Whether programs may change the file at `path`, which a tool has changed.
fn is_open(files: &Files, is_caged: bool, path: &Path) -> bool {
    let tops = [files.root(), files.worktree()];
    let Some(below) = tops.iter().find_map(|top| path.strip_prefix(top).ok()) else { return false };
    !is_caged || !below.iter().any(is_protected)
}

impl Chosen {
    /// The line for the shell, which becomes the program.
    fn line(&self, target: &Target) -> String {
        let file = target.path().to_string_lossy();
        command_line(&words(&self.formatter.command, &self.program, &file))
    }

    /// The line by which the program shows that it is what it is taken for.
    fn proof(&self) -> Option<String> {
        let Proof { args, .. } = self.formatter.proof.as_ref()?;
        let program = self.program.display().to_string();
        Some(command_line(&[&[program], args.as_slice()].concat()))
    }
}

fn command_line(words: &[String]) -> String {
    let quoted: Vec<String> = words.iter().map(|word| format!("'{}'", word.replace('\'', r"'\''"))).collect();
    format!("exec {}", quoted.join(" "))
}

/// What it takes to tidy the files of one call.
#[derive(Clone, Copy)]
struct Work<'w> {
    after: &'w After,
    inner: &'w Inner,
    call: &'w Call,
    /// For the files.
    grant: &'w Grant,
    /// For the formatters.
    granted: &'w BTreeMap<String, Grant>,
    until: Instant,
}

impl Work<'_> {
    async fn tidy(self, file: Written, chosen: Vec<Chosen>) -> Left {
        let Written { target, bytes, stamp } = file;
        let had_mark = bytes.starts_with(MARK);
        // Asked for now, because a call that is stopped is given nothing more, and what was written is to be whole all the same.
        let look = Access::internal(vec![Effect::Read(target.path().to_owned())]);
        let Ok(look) = self.call.ask(look).await else { return Left::untouched(stamp) };
        let mut left = Left::untouched(stamp);
        let mut now = bytes;
        for one in chosen {
            let Some(granted) = self.granted.get(&one.formatter.name) else { continue };
            if self.call.cancel.is_cancelled() || Instant::now() >= self.until || !self.is_proven(&one, granted).await {
                continue;
            }
            let ran = self.run(&one, granted, one.line(&target), Some(&target)).await;
            if matches!(ran.end, Ended::TooLong(_)) {
                self.inner.hung(&one.formatter.name);
            }
            let found = self.after.files.read_stamped(&look, &target, MAX_FILE).await.ok();
            let settled = settle(ran.end, &now, found.as_ref().map_or(Found::Other, |(bytes, _)| Found::File(bytes)));
            if settled != Settled::Same {
                // Whatever the program did is a part of what this call changed.
                self.after.files.reworked(self.grant, &target).await;
            }
            left.notes.extend(told(&one.formatter.name, &ran, &settled));
            match (settled, found) {
                (Settled::Same, Some((_, stamp))) => left.stamp = stamp,
                (Settled::Tidied, Some((bytes, stamp))) => {
                    (now, left.stamp) = (bytes, stamp);
                    left.by.push(one.formatter.name);
                    left.bytes = Some(now.clone());
                }
                (Settled::Same | Settled::Tidied, None) => {}
                (Settled::PutBack, found) => {
                    let found = found.map(|(bytes, _)| bytes);
                    match self.put(&target, now.clone(), found).await {
                        Some(stamp) => left.stamp = stamp,
                        None => left.notes.push("It could not be put back; read it before you go on.".to_owned()),
                    }
                }
            }
        }
        let marked = mark(&now, had_mark).filter(|_| !left.by.is_empty());
        if let Some(marked) = marked
            && let Some(stamp) = self.put(&target, marked.clone(), Some(now)).await
        {
            (left.bytes, left.stamp) = (Some(marked), stamp);
        }
        left
    }

    /// Whether the program is the one that the formatter means.
    async fn is_proven(self, one: &Chosen, granted: &Grant) -> bool {
        let (Some(line), Some(proof)) = (one.proof(), &one.formatter.proof) else { return true };
        let known = |inner: &Inner| super::lock(&inner.proven).get(&one.program).copied();
        if let Some(known) = known(self.inner) {
            return known;
        }
        let ran = self.run(one, granted, line, None).await;
        let proven = ran.end == Ended::Exit(0) && ran.words.contains(&proof.says);
        if ran.end != Ended::Stopped {
            super::lock(&self.inner.proven).insert(one.program.clone(), proven);
        }
        proven
    }

    async fn run(self, one: &Chosen, granted: &Grant, text: String, target: Option<&Target>) -> Ran {
        let After { files, processes, .. } = self.after;
        // What they say goes into a sentence.
        let mut env = vec![("NO_COLOR".to_owned(), "1".to_owned())];
        env.extend(target.map(|target| ("FILE".to_owned(), target.path().to_string_lossy().into_owned())));
        env.extend(one.formatter.environment.iter().cloned());
        let name = one.program.file_name().and_then(|name| name.to_str()).map(str::to_owned);
        let (programs, secrets) = (name.into_iter().collect(), Some(secrets(files, self.call, Vec::new())));
        let command = Command { text, dir: files.root().to_owned(), env, programs, secrets, ..Command::default() };
        run(processes, granted, &command, self.inner.time, &self.call.cancel).await
    }

    /// Puts `bytes` into the file, if it still is as it was `found`.
    async fn put(self, target: &Target, bytes: Vec<u8>, found: Option<Vec<u8>>) -> Option<Stamp> {
        let if_exists = found.map_or(IfExists::Fail, IfExists::ReplaceOnly);
        let put = self.after.files.write(self.grant, target, bytes, if_exists).await;
        put.inspect_err(|error| tracing::warn!(%error, "what a formatter left is not put back")).ok()
    }
}

/// `bytes` with a mark where one belongs, and without where none does; `None` where that is as it should be.
fn mark(bytes: &[u8], wanted: bool) -> Option<Vec<u8>> {
    match (bytes.strip_prefix(MARK), wanted) {
        (Some(bare), false) => Some(bare.to_vec()),
        (None, true) => Some([MARK, bytes].concat()),
        (Some(_), true) | (None, false) => None,
    }
}

#[cfg(test)]
mod tests;
