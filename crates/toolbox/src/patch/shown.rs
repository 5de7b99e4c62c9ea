//! What a person is shown of a patch, and what the model is told.

use haft_permission::{Access, Effect};
use haft_project::{Files, Target};
use serde_json::{Value, json};

use super::plan::{Outcome, What};
use crate::diff::Diff;
use crate::text::on_one_line;

/// Most paths that a title names.
const MAX_TITLED: usize = 3;

/// A patch as people see it.
pub(super) struct Shown {
    /// All diffs, a blank line behind each.
    pub(super) diff: String,
    /// One entry for each file.
    pub(super) files: Vec<Value>,
    titles: Vec<String>,
}

impl Shown {
    /// Takes its time: texts are decoded and compared.
    pub(super) fn of(files: &Files, outcomes: &[Outcome], targets: &[Target], old: &[Option<Vec<u8>>]) -> Self {
        let mut shown = Self { diff: String::new(), files: Vec::new(), titles: Vec::new() };
        for outcome in outcomes {
            let target = &targets[outcome.file];
            let before = old[outcome.file].as_deref();
            let mut source = target;
            let (kind, before, after) = match &outcome.what {
                What::Add(bytes) => ("add", before, Some(bytes)),
                What::Update(bytes) => ("update", before, Some(bytes)),
                What::Delete => ("delete", before, None),
                What::Move { from, bytes } => {
                    source = &targets[*from];
                    // What was there goes, too.
                    if before.is_some() {
                        shown.diff.push_str(&diff(target, before, None).patch);
                        shown.diff.push('\n');
                    }
                    ("move", old[*from].as_deref(), Some(bytes))
                }
            };
            let Diff { patch, additions, deletions } = diff(source, before, after.map(Vec::as_slice));
            shown.diff.push_str(&patch);
            shown.diff.push('\n');
            let mut entry = json!({
                "filePath": source.path().display().to_string(),
                "relativePath": files.title(target.path()),
                "type": kind,
                "patch": patch,
                "additions": additions,
                "deletions": deletions,
            });
            if let What::Move { .. } = outcome.what {
                entry["movePath"] = target.path().display().to_string().into();
            }
            shown.files.push(entry);
            shown.titles.push(target.title().to_owned());
        }
        shown
    }

    /// What is asked for before anything is changed: every path that changes.
    pub(super) fn access(&self, outcomes: &[Outcome], targets: &[Target]) -> Access {
        let mut touched: Vec<&Target> = Vec::new();
        for outcome in outcomes {
            match outcome.what {
                What::Move { from, .. } => touched.extend([&targets[from], &targets[outcome.file]]),
                What::Add(_) | What::Update(_) | What::Delete => touched.push(&targets[outcome.file]),
            }
        }
        let mut patterns: Vec<String> = touched.iter().map(|target| target.title().to_owned()).collect();
        let mut named = std::collections::HashSet::new();
        patterns.retain(|title| named.insert(title.clone()));
        Access {
            effects: touched.iter().map(|target| Effect::Write(target.path().to_owned())).collect(),
            patterns: patterns.clone(),
            ..Access::new("edit", "")
        }
        .show("filepath", patterns.join(", "))
        .show("diff", self.diff.as_str())
        .show("files", self.files.clone())
    }

    /// The files that changed, in one line.
    pub(super) fn title(&self) -> String {
        let named = self.titles.iter().take(MAX_TITLED).map(String::as_str).collect::<Vec<_>>().join(", ");
        match self.titles.len().checked_sub(MAX_TITLED) {
            None | Some(0) => named,
            Some(more) => format!("{named} and {more} more"),
        }
    }
}

fn diff(target: &Target, before: Option<&[u8]>, after: Option<&[u8]>) -> Diff {
    Diff::decoded(&target.path().display().to_string(), before, after)
}

/// What the model is told: a line for each file.
pub(super) fn said(outcomes: &[Outcome], targets: &[Target], old: &[Option<Vec<u8>>]) -> String {
    if outcomes.is_empty() {
        return "The patch comes to nothing: every file is as it was.".to_owned();
    }
    let line = |Outcome { file, what }: &Outcome| {
        let title = on_one_line(targets[*file].title());
        let replaced = if old[*file].is_some() { ", over the file that was there" } else { "" };
        match what {
            What::Add(_) if old[*file].is_some() => format!("A {title} (over the file that was there)"),
            What::Add(_) => format!("A {title}"),
            What::Update(bytes) if old[*file].as_deref() == Some(bytes) => format!("M {title} (it was so already)"),
            What::Update(_) => format!("M {title}"),
            What::Move { from, .. } => format!("M {title} (from {}{replaced})", on_one_line(targets[*from].title())),
            What::Delete => format!("D {title}"),
        }
    };
    let lines: Vec<String> = outcomes.iter().map(line).collect();
    format!("Applied the patch to these files:\n{}", lines.join("\n"))
}
