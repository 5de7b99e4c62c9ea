//! Running commands.

use serde_json::Value;

use super::{Difference, when};
use crate::record::{Asked, Facet, changed};

pub(super) fn explain(difference: &Difference<'_>) -> Vec<&'static str> {
    if difference.record.tool != "bash" {
        return Vec::new();
    }
    match difference.facet {
        Facet::Asks => asks(difference),
        Facet::Output => output(difference),
        Facet::Values => values(difference),
        Facet::Title => {
            let given = difference.record.args["description"].as_str();
            when(given == Some(difference.got.title.as_str()), "described-commands")
        }
        Facet::Keys => when(goes_on(difference), "background-goes-on"),
        Facet::Tool | Facet::Failed | Facet::Attachments | Facet::Files | Facet::Stopped => Vec::new(),
    }
}

/// Asks for commands, and those for folders outside.
fn asks(difference: &Difference<'_>) -> Vec<&'static str> {
    let Difference { record, wanted, got, .. } = difference;
    let of = |asks: &[Asked], permission: &str| {
        asks.iter().filter(|ask| ask.permission == permission).cloned().collect::<Vec<_>>()
    };
    let mut reasons = Vec::new();
    let (theirs, ours) = (of(&wanted.asks, "external_directory"), of(&got.asks, "external_directory"));
    if theirs != ours {
        let command = record.args["command"].as_str().unwrap_or_default();
        let named = |ask: &Asked| ask.patterns.iter().all(|pattern| command.contains(pattern.trim_end_matches("/*")));
        if !theirs.iter().all(|ask| ours.contains(ask)) || !ours.iter().all(named) {
            return Vec::new();
        }
        reasons.push("every-path-counts");
    }
    match (of(&wanted.asks, "bash").as_slice(), of(&got.asks, "bash").as_slice()) {
        (theirs, ours) if theirs == ours => {}
        ([], [_]) => reasons.push("commands-ask"),
        ([theirs], [ours]) => {
            let all = theirs.patterns.iter().all(|pattern| ours.patterns.contains(pattern));
            let no_wider = ours.always.iter().all(|always| theirs.always.contains(always));
            if !all || !no_wider {
                return Vec::new();
            }
            reasons.push("strict-always");
        }
        _ => return Vec::new(),
    }
    reasons
}

/// Whether what the command left running goes on as a job, where theirs waits for it until the time is up.
fn goes_on(difference: &Difference<'_>) -> bool {
    let job = difference.got.metadata.get("jobId").and_then(Value::as_str);
    difference.wanted.metadata.get("exit") == Some(&Value::Null)
        && job.is_some_and(|job| difference.got.output.contains(job))
}

/// `text` without what a terminal would obey.
fn without_escapes(text: &str) -> String {
    let mut pieces = text.split('\u{1b}');
    let first = pieces.next().unwrap_or_default().to_owned();
    pieces.fold(first, |plain, piece| plain + piece.split_once('m').map_or(piece, |(_, rest)| rest))
}

fn output(difference: &Difference<'_>) -> Vec<&'static str> {
    let Difference { wanted, got, .. } = difference;
    let (theirs, mut ours) = (wanted.output.as_str(), got.output.as_str());
    let mut reasons = Vec::new();
    let exit = got.metadata.get("exit").and_then(Value::as_i64).unwrap_or_default();
    let marked = format!("(exit code {exit})");
    if let Some(before) = ours.strip_suffix(&marked).filter(|_| exit != 0) {
        ours = before;
        reasons.push("exit-codes");
    }
    let same = |one: &str, other: &str| one.trim_end() == other.trim_end();
    if same(theirs, ours) {
        return reasons;
    }
    if same(&of_the_program(difference, theirs), &of_the_program(difference, ours)) {
        reasons.push("other-machines");
        return reasons;
    }
    if same(&without_escapes(theirs), ours) && theirs.contains('\u{1b}') {
        return when(true, "no-escapes");
    }
    if goes_on(difference) {
        return when(theirs.split('\n').next() == ours.split('\n').next(), "background-goes-on");
    }
    match (cut(theirs), cut(ours)) {
        (Some((place, rest)), Some((our_place, our_rest))) if same(rest, our_rest) && place == our_place => {
            return when(true, "kept-outputs");
        }
        _ => {}
    }
    if let Some((before, after)) = theirs.split_once("\n\n<shell_metadata>\n") {
        let (our_before, our_after) = ours.split_once("\n\n<shell_metadata>\n").unwrap_or((ours, ""));
        if !same(before, our_before) {
            return Vec::new();
        }
        let time = after.split_once(" ms.").and_then(|(told, _)| told.rsplit(' ').next()).unwrap_or("?");
        return when(our_after.contains(&format!("{time} ms")), "time-out-words");
    }
    Vec::new()
}

/// The file that the whole is kept in, and what is shown of a long output.
fn cut(output: &str) -> Option<(&str, &str)> {
    let (told, shown) = output.strip_prefix("...output truncated...\n\n")?.split_once("\n\n")?;
    let place = told.split([' ', ':', ',']).find(|word| word.starts_with("<DATA>/"))?;
    Some((place.trim_end_matches('.'), shown))
}

/// `output` without what depends on the machine that a command ran on.
fn of_the_program(difference: &Difference<'_>, output: &str) -> String {
    let command = difference.record.args["command"].as_str().unwrap_or_default();
    if command.contains("npm ") {
        return output.lines().filter(|line| !line.contains("npm")).collect::<Vec<_>>().join("\n");
    }
    if command.contains("$TERM-") {
        return output.split_once('-').map_or(output, |(_, rest)| rest).to_owned();
    }
    output.to_owned()
}

fn values(difference: &Difference<'_>) -> Vec<&'static str> {
    let Difference { record, wanted, got, .. } = difference;
    if goes_on(difference) {
        return when(changed(wanted, got) == ["exit"], "background-goes-on");
    }
    let text = |seen: &crate::record::Seen| seen.metadata["output"].as_str().unwrap_or_default().to_owned();
    match changed(wanted, got).as_slice() {
        ["exit"] => {
            let (theirs, ours) = (&wanted.metadata["exit"], &got.metadata["exit"]);
            let fails = |exit: &Value| exit.as_i64().is_some_and(|exit| exit != 0);
            // How `git commit` fails hangs on whether somebody has told git who they are.
            let git = record.args["command"].as_str().is_some_and(|command| command.contains("git commit"));
            when(git && fails(theirs) && fails(ours), "other-machines")
        }
        ["output"] => {
            let (theirs, ours) = (text(wanted), text(got));
            if of_the_program(difference, &theirs) == of_the_program(difference, &ours) {
                return when(true, "other-machines");
            }
            if without_escapes(&theirs) == ours {
                return when(true, "no-escapes");
            }
            let before = theirs.split_once("\n\n<shell_metadata>").map_or(theirs.as_str(), |(before, _)| before);
            when(before == ours, "time-out-words")
        }
        _ => Vec::new(),
    }
}
