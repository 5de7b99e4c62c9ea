//! What becomes of each file, as it is told.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

use haft_project::Files;
use haft_snapshot::undo::{Left, Planned, same};
use haft_snapshot::{Change, Keep, State};

use super::disk::Done;
use super::wanted::{Fate, Force, Rewound, Why};
use crate::snapshots::diffs::{self, file_diff, named, within};

/// What is planned, as it is told; `found` are the files of which a change was only found.
pub(super) fn fates(files: &Files, keep: &Keep, plan: &[Planned], found: &HashSet<PathBuf>) -> Vec<Fate> {
    let (until, mut room) = (diffs::soon(), diffs::room());
    let mut fate = |planned: &Planned| {
        let is_folder = [Some(&planned.now), planned.to.as_ref()].into_iter().flatten().any(is_folder);
        let file = named(files, &planned.path) + if is_folder { "/" } else { "" };
        let diff = planned.to.as_ref().map(|to| file_diff(&file, &planned.now, to, keep, until));
        let diff = diff.map(|diff| within(diff, &mut room));
        let left = planned.left.as_ref().map(|left| match left {
            Left::Theirs => Why::Theirs,
            Left::Doubtful { why } => Why::Doubtful(why.clone()),
            Left::Uncovered { why } => Why::Uncovered(why.clone()),
        });
        let found = diff.is_some() && found.contains(&planned.path);
        Fate { path: planned.path.clone(), file, diff, left, found }
    };
    plan.iter().map(&mut fate).collect()
}

fn is_folder(state: &State) -> bool {
    matches!(state, State::Folder { .. })
}

/// Takes down what came of each file, and returns what was really changed.
pub(super) fn settle_fates(rewound: &mut Rewound, plan: &[Planned], outcomes: &[Done], force: &Force) -> Vec<Change> {
    let Rewound { files: fates, notes, .. } = rewound;
    let mut done = Vec::new();
    for ((fate, planned), outcome) in fates.iter_mut().zip(plan).zip(outcomes) {
        let Some(to) = &planned.to else { continue };
        match outcome {
            Done::Made => {
                done.push(Change::new(planned.path.clone(), planned.now.clone(), to.clone()));
                continue;
            }
            // A folder in which somebody keeps something is theirs by now, and nothing is lost.
            Done::Holds if *to == State::Absent && !force.covers(&planned.path) => {
                notes.push(format!("{} stays: it holds something else", fate.file));
            }
            Done::Holds => fate.left = Some(Why::Failed("the folder there is not empty".to_owned())),
            Done::Theirs => fate.left = Some(Why::Theirs),
            Done::Failed(why) => fate.left = Some(Why::Failed(why.clone())),
        }
        fate.diff = None;
    }
    done
}

/// What was changed though it was not any more what taking back had left.
pub(super) fn lost(taken_back: &[Change], done: &[Change]) -> Vec<Change> {
    let after: HashMap<&Path, &State> =
        taken_back.iter().map(|change| (change.path.as_path(), &change.after)).collect();
    let is_lost = |change: &&Change| after.get(change.path.as_path()).is_some_and(|after| !same(after, &change.before));
    done.iter().filter(is_lost).cloned().collect()
}
