//! Searching for files and in them.

use std::collections::BTreeSet;
use std::path::Path;

use super::Difference;
use crate::record::{Facet, Seen};

pub(super) fn explain(difference: &Difference<'_>) -> Vec<&'static str> {
    match difference.record.tool.as_str() {
        "glob" => glob(difference),
        "grep" => grep(difference),
        _ => Vec::new(),
    }
}

/// Most files that a search lists.
const MOST: usize = 100;

fn glob(difference: &Difference<'_>) -> Vec<&'static str> {
    let Difference { wanted, got, facet, .. } = difference;
    if got.failed && !wanted.failed {
        return super::when(wanted.output == "No files found" && names_the_pattern(difference), "bad-patterns");
    }
    let (theirs, ours) = (paths(wanted), paths(got));
    let mut reasons = Vec::new();
    if *facet == Facet::Output && !is_newest_first(&ours) {
        return reasons;
    }
    let seen: BTreeSet<&str> = ours.iter().copied().filter(|path| !is_hidden(path)).collect();
    let all: BTreeSet<&str> = theirs.iter().copied().collect();
    // Of more than fit, each shows its own first ones.
    let cut = theirs.len() == MOST && ours.len() == MOST;
    if seen != all && !cut {
        return reasons;
    }
    if seen.len() < ours.len() {
        reasons.push("hidden-files");
    }
    if *facet == Facet::Output && ours != theirs {
        reasons.push("newest-first");
    }
    match facet {
        Facet::Output => reasons,
        Facet::Values => reasons,
        _ => Vec::new(),
    }
}

fn names_the_pattern(difference: &Difference<'_>) -> bool {
    difference.record.args["pattern"].as_str().is_some_and(|pattern| difference.got.output.contains(pattern))
}

/// The paths that a list of files names.
fn paths(seen: &Seen) -> Vec<&str> {
    seen.output.lines().filter(|line| line.starts_with('<')).collect()
}

fn is_hidden(path: &str) -> bool {
    path.contains("/.")
}

/// Whether `paths` are in the order of their times: those of the fixture rise with the path.
fn is_newest_first(paths: &[&str]) -> bool {
    paths.is_sorted_by(|one, other| Path::new(one) >= Path::new(other))
}

/// What a search in files found, without the frame.
#[derive(Debug, Default, PartialEq)]
struct Found {
    count: usize,
    files: Vec<(String, Vec<String>)>,
}

fn grep(difference: &Difference<'_>) -> Vec<&'static str> {
    let Difference { record, wanted, got, facet } = difference;
    let path = record.args["path"].as_str().unwrap_or_default();
    if got.failed && !wanted.failed {
        // Theirs searches somewhere else instead.
        return super::when(got.output.contains(path.trim_start_matches("<PROJECT>/")), "missing-search-path");
    }
    let (theirs, mut ours) = (found(wanted), found(got));
    let mut reasons = Vec::new();
    if got.output.contains("left out, because reading them needs leave") {
        reasons.push("secrets-are-not-searched");
    }
    let one_file = theirs.files.len() > ours.files.len() && ours.files.len() == 1 && ours.files[0].0.ends_with(path);
    if one_file && !path.is_empty() {
        reasons.push("one-file-is-one-file");
        return if theirs.files.contains(&ours.files[0]) { reasons } else { Vec::new() };
    }
    let names: Vec<&str> = ours.files.iter().map(|(path, _)| path.as_str()).collect();
    if !is_newest_first(&names) {
        return Vec::new();
    }
    if ours.count > theirs.count && theirs.count == MOST {
        reasons.push("honest-totals");
        ours.count = theirs.count;
        if theirs.files.len() == 1 && theirs != ours || ours.files.len() != theirs.files.len() {
            return Vec::new();
        }
    } else {
        let sorted = |found: &Found| found.files.iter().cloned().collect::<BTreeSet<_>>();
        if sorted(&theirs) != sorted(&ours) {
            return Vec::new();
        }
    }
    match facet {
        Facet::Output => {
            if theirs.files != ours.files {
                reasons.push("newest-first");
            }
            if !theirs.files.is_empty() {
                reasons.push("no-empty-lines");
            }
            reasons
        }
        Facet::Values => reasons,
        _ => Vec::new(),
    }
}

fn found(seen: &Seen) -> Found {
    let mut found = Found::default();
    for line in seen.output.lines() {
        if let Some(count) = line.strip_prefix("Found ").and_then(|rest| rest.split(' ').next()?.parse().ok()) {
            found.count = count;
        } else if let Some(path) = line.strip_suffix(':').filter(|path| path.starts_with('<')) {
            found.files.push((path.to_owned(), Vec::new()));
        } else if let (Some((_, lines)), true) = (found.files.last_mut(), line.starts_with("  ")) {
            lines.push(line.to_owned());
        }
    }
    found
}
