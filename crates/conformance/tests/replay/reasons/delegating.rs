//! What calls other tools or agents: programs, and tasks in the background.

use serde_json::Value;

use super::{Difference, when};
use crate::record::{Facet, changed};

pub(super) fn explain(difference: &Difference<'_>) -> Vec<&'static str> {
    match difference.record.tool.as_str() {
        "execute" => program(difference),
        "task" if difference.record.args["background"] == true => behind(difference),
        _ => Vec::new(),
    }
}

fn program(difference: &Difference<'_>) -> Vec<&'static str> {
    let Difference { wanted, got, facet, .. } = difference;
    match facet {
        // What a call of the tool itself gives.
        Facet::Output => when(got.output.replace("\n\n", "\n") == wanted.output, "texts-stand-apart"),
        Facet::Values => {
            let (theirs, ours) = (&wanted.metadata["toolCalls"], &got.metadata["toolCalls"]);
            let only = changed(wanted, got) == ["toolCalls"];
            when(only && are_the_same_calls(theirs, ours), "called-by-full-name")
        }
        _ => Vec::new(),
    }
}

/// Whether ours tells all that theirs does, but for how tools of servers are called.
fn are_the_same_calls(theirs: &Value, ours: &Value) -> bool {
    let (Some(theirs), Some(ours)) = (theirs.as_array(), ours.as_array()) else { return false };
    let is_same = |(theirs, ours): (&Value, &Value)| {
        let name = theirs["tool"].as_str().map(|name| name.replace('.', "_"));
        let told = theirs.as_object().into_iter().flatten().filter(|(key, _)| *key != "tool");
        name.as_deref() == ours["tool"].as_str() && told.into_iter().all(|(key, value)| ours[key] == *value)
    };
    theirs.len() == ours.len() && theirs.iter().zip(ours).all(is_same)
}

fn behind(difference: &Difference<'_>) -> Vec<&'static str> {
    let Difference { wanted, got, facet, .. } = difference;
    let begun = got.output.starts_with("<task id=\"ses_<ID>\" state=\"running\">\n") && !got.failed;
    if wanted.failed {
        let flag = wanted.output.contains("require OPENCODE_EXPERIMENTAL_BACKGROUND_SUBAGENTS");
        return when(flag && begun, "background-needs-no-flag");
    }
    let first = wanted.output.lines().next();
    when(begun && *facet == Facet::Output && first == got.output.lines().next(), "background-words")
}
