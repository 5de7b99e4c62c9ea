//! Reading, writing, editing and patching files.

use serde_json::Value;

use super::{Difference, when};
use crate::record::{Facet, Seen, changed};

pub(super) fn explain(difference: &Difference<'_>) -> Vec<&'static str> {
    let Difference { wanted, got, facet, .. } = difference;
    if !wanted.failed && got.failed {
        return when(is_a_refused_guess(difference), "guesses-are-refused");
    }
    if wanted.failed {
        return Vec::new();
    }
    match (got.tool.as_str(), facet) {
        ("write" | "edit", Facet::Output) => when(names_the_file(difference), "success-words"),
        ("apply_patch", Facet::Output) => when(lists_the_files(wanted, got), "success-words"),
        ("apply_patch", Facet::Title) => {
            let paths = wanted.title.lines().skip(1).map(|line| line.get(2..).unwrap_or_default());
            when(paths.collect::<Vec<_>>().join(", ") == got.title, "short-titles")
        }
        ("edit" | "apply_patch", Facet::Files) => contents(wanted, got),
        ("edit" | "apply_patch", Facet::Values) => {
            let diffs = changed(wanted, got).iter().all(|key| ["diff", "filediff", "files"].contains(key));
            match (diffs, wanted.files == got.files) {
                (false, _) => Vec::new(),
                // The same files by another way of telling the change.
                (true, true) => vec!["true-diffs"],
                (true, false) => contents(wanted, got),
            }
        }
        ("skill", Facet::Output) => skill(wanted, got),
        ("plan_exit", Facet::Output | Facet::Title) => {
            when([&got.output, &got.title].iter().all(|text| text.contains("build agent")), "success-words")
        }
        ("read", Facet::Output) if wanted.output.contains("<system-reminder>") => {
            // Their block ends with the line feed of the file and one of its own.
            when(
                wanted.output.replace("\n\n</system-reminder>", "\n</system-reminder>") == got.output,
                "no-empty-lines",
            )
        }
        ("read", Facet::Output | Facet::Title | Facet::Values) => {
            when(same_but_for_the_link(difference), "links-are-followed")
        }
        _ => Vec::new(),
    }
}

/// What is said of where a skill stands: ours that its files may be read, and nothing of one that stands nowhere.
fn skill(wanted: &Seen, got: &Seen) -> Vec<&'static str> {
    let same = got.output.replace("\nIts files may be read.\n", "\n") == wanted.output;
    let text = got.output.strip_suffix("</skill_content>").unwrap_or(&got.output);
    let nowhere = wanted.output.contains("Base directory for this skill: .\n") && wanted.output.starts_with(text);
    when(same || nowhere, "places-of-skills")
}

/// Whether ours names the file that was changed, where theirs says only that it went well.
fn names_the_file(difference: &Difference<'_>) -> bool {
    let Difference { record, wanted, got, .. } = difference;
    let path = record.args["filePath"].as_str().unwrap_or_default();
    let path = path.trim_start_matches("<PROJECT>/").trim_start_matches("<OUTSIDE>/");
    let plain = ["Wrote file successfully.", "Edit applied successfully."].contains(&wanted.output.as_str());
    plain && got.output.contains(path)
}

/// Whether both list the same files as changed in the same way; ours may say more of each.
fn lists_the_files(wanted: &Seen, got: &Seen) -> bool {
    let mut lines = got.output.lines().skip(1);
    let same = wanted.output.lines().skip(1).all(|line| lines.next().is_some_and(|ours| ours.starts_with(line)));
    same && lines.next().is_none()
}

/// Why files hold something else than the other left in them, though the same place was changed.
fn contents(wanted: &Seen, got: &Seen) -> Vec<&'static str> {
    let mut reasons = Vec::new();
    for (name, theirs) in &wanted.files {
        let (Some(theirs), Some(Some(ours))) = (theirs, got.files.get(name)) else { return Vec::new() };
        if theirs == ours {
            continue;
        }
        let lines = |text: &str, how: fn(&str) -> &str| text.lines().map(how).map(str::to_owned).collect::<Vec<_>>();
        let has_bare_feed = |text: &str| text.matches('\n').count() > text.matches("\r\n").count();
        reasons.push(if theirs.contains('\r') && theirs.replace('\r', "") == ours.replace('\r', "") {
            if has_bare_feed(ours) {
                return Vec::new();
            }
            "line-ends-are-kept"
        } else if lines(theirs, str::trim_start) == lines(ours, str::trim_start) {
            "new-text-is-indented"
        } else {
            return Vec::new();
        });
    }
    reasons.dedup();
    reasons
}

/// Whether ours says where the nearest place is and what differs there, instead of changing what only resembles the
/// old text.
fn is_a_refused_guess(difference: &Difference<'_>) -> bool {
    let Difference { record, wanted, got, facet } = difference;
    let told = got.output.contains("does not contain oldString") && got.output.contains("line");
    let about = matches!(facet, Facet::Failed | Facet::Output | Facet::Title | Facet::Keys | Facet::Files);
    record.tool == "edit" && told && about && wanted.files != got.files
}

/// Whether ours tells of the place that a link leads to, where theirs tells of the link.
fn same_but_for_the_link(difference: &Difference<'_>) -> bool {
    let Difference { record, wanted, got, facet } = difference;
    let Some(link) = record.args["filePath"].as_str().filter(|path| *path == "<PROJECT>/link") else { return false };
    // The fixture's only link leads to `src`.
    let real = "<PROJECT>/src";
    match facet {
        Facet::Output => wanted.output.replace(link, real) == got.output,
        Facet::Title => (wanted.title.as_str(), got.title.as_str()) == ("link", "src"),
        _ => {
            let theirs = Value::from(wanted.metadata.clone()).to_string().replace(link, real);
            let ours = Value::from(got.metadata.clone()).to_string();
            theirs == ours
        }
    }
}
