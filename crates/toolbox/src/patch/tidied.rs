//! What comes after a patch: its files are tidied, what is shown of them is so too, and who listens is told.

use haft_permission::Grant;
use haft_project::{Files, Stamp, Target};
use haft_protocol::FileChange;
use haft_tool::Call;

use super::shown::Shown;
use super::{ApplyPatch, Outcome, Planned};
use crate::beside::beside;
use crate::format::{After, Written};
use crate::seen::saw;
use crate::text::on_one_line;

impl ApplyPatch {
    /// Has the files of `changed` tidied that were written, and says what came of it. `planned` then says what they hold.
    pub(super) async fn tidied(
        &self,
        call: &Call,
        grant: &Grant,
        planned: &mut Planned,
        changed: &[Target],
        stamps: &[Option<Stamp>],
    ) -> String {
        let written = changed.iter().zip(stamps).filter_map(|(target, stamp)| Some((target, (*stamp)?)));
        let written: Vec<Written> = written
            .map(|(target, stamp)| {
                let is_it = |outcome: &&Outcome| planned.scope.targets[outcome.file].path() == target.path();
                let bytes = planned.outcomes.iter().find(is_it).and_then(|outcome| outcome.what.bytes());
                let bytes = bytes.filter(|_| self.after.may_tidy(target.path())).cloned().unwrap_or_default();
                Written { target: target.clone(), bytes, stamp }
            })
            .collect();
        let targets: Vec<Target> = written.iter().map(|written| written.target.clone()).collect();
        let left = self.after.tidied(call, grant, written).await;
        let (mut is_other, mut notes) = (false, String::new());
        for (target, left) in targets.iter().zip(left) {
            saw(call, target, left.stamp);
            let words = left.words();
            if !words.is_empty() {
                notes.push_str(&format!("\n{}:{words}", on_one_line(target.title())));
            }
            let Some(bytes) = left.bytes else { continue };
            is_other = true;
            let is_it = |outcome: &&mut Outcome| planned.scope.targets[outcome.file].path() == target.path();
            if let Some(held) = planned.outcomes.iter_mut().find(is_it).and_then(|outcome| outcome.what.bytes_mut()) {
                *held = bytes;
            }
        }
        if is_other {
            planned.show(&self.files).await;
        }
        notes
    }
}

impl Planned {
    /// Shows it anew, beside the runtime, because files hold something else by now.
    async fn show(&mut self, files: &Files) {
        let (files, outcomes, targets) = (files.clone(), self.outcomes.clone(), self.scope.targets.clone());
        let old = self.old.clone();
        self.shown = beside(move || Shown::of(&files, &outcomes, &targets, &old)).await;
    }

    /// Says what became of the files `changed`.
    pub(super) fn tell(&self, after: &After, changed: &[Target]) {
        for target in changed {
            let number = self.scope.targets.iter().position(|one| one.path() == target.path());
            let was_there = number.is_some_and(|number| self.old[number].is_some());
            let is_there = self.outcomes.iter().any(|one| Some(one.file) == number && one.what.bytes().is_some());
            let event = match (was_there, is_there) {
                (_, false) => FileChange::Unlink,
                (true, true) => FileChange::Change,
                (false, true) => FileChange::Add,
            };
            after.tell(target.path(), event);
        }
    }
}
