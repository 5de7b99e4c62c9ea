//! Looking at files and putting them back, through the doors of the project. Everything here blocks.

use std::collections::HashMap;
use std::io::Read;
use std::path::{Path, PathBuf};

use haft_permission::Grant;
use haft_project::{Files, FilesError, Put, Standing};
use haft_snapshot::undo::{Planned, Step, plan, same};
use haft_snapshot::{Change, Hash, Keep, State};
use haft_tool::with_causes;

/// Largest file that is looked into before it is changed, in bytes: what is there must be kept first. As much as is kept
/// of what tools change.
pub(crate) const MAX_FILE: u64 = 64 * 1024 * 1024;

/// What came of one path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Done {
    /// It is as it was to be.
    Made,
    /// A folder that holds something else stays.
    Holds,
    /// It was changed while this was done.
    Theirs,
    /// It could not be done, and why.
    Failed(String),
}

/// What stands at `path`, its content kept.
pub(crate) fn state(files: &Files, keep: &Keep, grant: &Grant, path: &Path) -> State {
    match files.standing(grant, path) {
        Ok(standing) => kept(keep, standing),
        Err(error) => State::Unkept { why: with_causes(&error) },
    }
}

fn kept(keep: &Keep, standing: Standing) -> State {
    let unkept = |why: String| State::Unkept { why };
    match standing {
        Standing::Nothing => State::Absent,
        Standing::File { size, .. } if size > MAX_FILE => unkept(format!("it is larger than {MAX_FILE} bytes")),
        Standing::File { file, mode, .. } => {
            let mut content = Vec::new();
            match file.take(MAX_FILE + 1).read_to_end(&mut content) {
                Ok(size) => match keep.put(&content) {
                    Ok(content) => State::File { content, size: size as u64, mode },
                    Err(error) => unkept(with_causes(&error)),
                },
                Err(error) => unkept(error.to_string()),
            }
        }
        Standing::Link { to } => {
            keep.put(&to).map_or_else(|error| unkept(with_causes(&error)), |to| State::Link { to })
        }
        Standing::Folder { mode } => State::Folder { mode },
        Standing::Other(why) => unkept(why),
    }
}

/// Makes what is planned for one path, if what stands there is still what it was when it was planned.
pub(crate) fn make(files: &Files, keep: &Keep, grant: &Grant, planned: &Planned) -> Done {
    let Some(to) = &planned.to else { return Done::Made };
    match put(files, keep, grant, &planned.path, &planned.now, to) {
        Ok(()) => Done::Made,
        Err(done) => done,
    }
}

fn put(files: &Files, keep: &Keep, grant: &Grant, path: &Path, now: &State, to: &State) -> Result<(), Done> {
    let content = |hash: &Hash| keep.get(hash).map_err(|error| Done::Failed(with_causes(&error)));
    let bytes = match to {
        State::File { content: hash, .. } | State::Link { to: hash } => content(hash)?,
        State::Absent | State::Folder { .. } => Vec::new(),
        State::Unkept { why } => return Err(Done::Failed(why.clone())),
    };
    let wanted = match to {
        State::File { mode, .. } => Put::File { content: &bytes, mode: *mode },
        State::Link { .. } => Put::Link { to: &bytes },
        State::Folder { mode } => Put::Folder { mode: *mode },
        State::Absent | State::Unkept { .. } => Put::Nothing,
    };
    let is_still = |standing: Standing| same(&kept(keep, standing), now);
    match files.put(grant, path, wanted, is_still) {
        Ok(()) => Ok(()),
        // With its folder it is gone too.
        Err(FilesError::Missing { .. }) if *to == State::Absent => Ok(()),
        Err(FilesError::Changed { .. }) => Err(Done::Theirs),
        Err(FilesError::Io { source, .. }) if source.kind() == std::io::ErrorKind::DirectoryNotEmpty => {
            Err(Done::Holds)
        }
        Err(error) => Err(Done::Failed(with_causes(&error))),
    }
}

/// What a plan changes, as a list of changes.
pub(crate) fn intended(plan: &[Planned]) -> Vec<Change> {
    let change = |planned: &Planned| {
        let after = planned.to.clone()?;
        Some(Change::new(planned.path.clone(), planned.now.clone(), after))
    };
    plan.iter().filter_map(change).collect()
}

/// Does the rest of `list`, oldest first, which was begun by a process that was killed: a path that stands somewhere on its
/// way goes to its end. What is anything else, somebody changed since, and it stays. Returns what all of it came to.
pub(crate) fn finish(files: &Files, keep: &Keep, grant: &Grant, list: Vec<Change>) -> Vec<Change> {
    let mut ways: Vec<(PathBuf, Vec<State>)> = Vec::new();
    let mut known: HashMap<PathBuf, usize> = HashMap::new();
    for Change { path, before, after, .. } in list {
        match known.get(&path).and_then(|at| ways.get_mut(*at)) {
            Some((_, way)) if way.last().is_some_and(|end| same(end, &before)) => way.push(after),
            // Somebody else's version was forced away in between: that is what bringing it again brings.
            Some((_, way)) => *way = vec![before, after],
            None => {
                known.insert(path.clone(), ways.len());
                ways.push((path, vec![before, after]));
            }
        }
    }
    // What is planned for them, so that it is done in an order that works.
    let mut stood = HashMap::new();
    let steps: Vec<Step> = ways
        .into_iter()
        .filter_map(|(path, way)| {
            let (first, last) = (way.first()?.clone(), way.last()?.clone());
            let now = state(files, keep, grant, &path);
            stood.insert(path.clone(), first);
            way.iter().any(|state| same(state, &now)).then_some(Step { path, from: now, to: last })
        })
        .collect();
    let from: HashMap<&Path, &State> = steps.iter().map(|step| (step.path.as_path(), &step.from)).collect();
    let now = |path: &Path| from.get(path).map_or(State::Absent, |from| (*from).clone());
    let planned = plan(steps.iter().cloned(), now, |_| false);
    let made = planned.into_iter().filter(|planned| make(files, keep, grant, planned) == Done::Made);
    let change = |planned: Planned| {
        let before = stood.remove(&planned.path)?;
        let after = planned.to.unwrap_or(planned.now);
        (!same(&before, &after)).then_some(Change::new(planned.path, before, after))
    };
    made.filter_map(change).collect()
}
