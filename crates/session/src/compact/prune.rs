//! Which old outputs of tools requests can do without. Pure.

use haft_protocol::{Message, Part, PartKind, ToolState, Turned};

use crate::request::estimate;

/// Most tokens of the newest outputs that stay.
const PROTECTED: u64 = 40_000;
/// Fewest tokens that leaving outputs out must free, or nothing is: each time costs the vendor's cache.
const WORTH: u64 = 20_000;
/// The tool whose outputs always stay: what it loads is to hold for the rest of the conversation.
const SPARED: &str = "skill";

/// The outputs of `messages` that requests can do without, where there is room for `usable` tokens, and about how many
/// tokens that frees. None where it is not worth it.
///
/// What the model has not seen yet stays: the outputs of the last answer. Of the older ones the newest stay, up to a
/// quarter of the room.
pub(crate) fn old_outputs(messages: &[Turned], usable: u64) -> (Vec<&Part>, u64) {
    let (protected, worth) = (PROTECTED.min(usable / 4), WORTH.min(usable / 8));
    let answers = messages.iter().rev().filter(|turned| matches!(turned.info, Message::Assistant(_)));
    let seen = answers.skip_while(|turned| turned.parts.iter().all(|part| output(part).is_none())).skip(1);
    let outputs = seen.flat_map(|turned| turned.parts.iter().rev()).filter_map(|part| Some((part, output(part)?)));
    let (mut newer, mut freed, mut old) = (0, 0, Vec::new());
    for (part, size) in outputs.take_while(|(part, _)| !is_pruned(part)).filter(|(part, _)| !is_spared(part)) {
        if newer >= protected {
            old.push(part);
            freed += size;
        }
        newer += size;
    }
    if freed < worth { (Vec::new(), 0) } else { (old, freed) }
}

/// The same part, left out of requests from `now` on (Unix milliseconds). People can still read it.
pub(crate) fn pruned(part: &Part, now: u64) -> Part {
    let mut part = part.clone();
    if let Some(ToolState::Completed { time, .. }) = part.kind.state_mut() {
        time.compacted = Some(now);
    }
    part
}

/// About how many tokens the output of a call takes, if it has one.
fn output(part: &Part) -> Option<u64> {
    let Some(ToolState::Completed { output, attachments, .. }) = part.kind.state() else { return None };
    let files = attachments.iter().filter_map(|file| match &file.kind {
        // A picture takes about that much, whatever its bytes.
        PartKind::File { .. } => Some(estimate::MAX_PICTURE),
        _ => None,
    });
    Some(estimate::tokens(output.len()).saturating_add(files.sum()))
}

fn is_spared(part: &Part) -> bool {
    matches!(&part.kind, PartKind::Tool { tool, .. } if tool == SPARED)
}

fn is_pruned(part: &Part) -> bool {
    matches!(part.kind.state(), Some(ToolState::Completed { time, .. }) if time.compacted.is_some())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// An answer that calls `tool`, whose output takes about 25,000 tokens.
    fn answer(n: u32, tool: &str) -> Turned {
        let info = json!({"role": "assistant", "id": format!("msg_{n}"), "sessionID": "ses_1", "parentID": "msg_0",
            "time": {"created": 1}, "modelID": "m", "providerID": "v", "mode": "build", "agent": "build",
            "path": {"cwd": "/p", "root": "/p"}, "cost": 0,
            "tokens": {"input": 0, "output": 0, "reasoning": 0, "cache": {"read": 0, "write": 0}}});
        let part = json!({"type": "tool", "id": format!("prt_{n}"), "sessionID": "ses_1", "messageID": format!("msg_{n}"),
            "callID": "c", "tool": tool, "state": {"status": "completed", "input": {}, "output": "x".repeat(100_000),
            "title": "", "metadata": {}, "time": {"start": 1, "end": 2}}});
        Turned { info: serde_json::from_value(info).unwrap(), parts: vec![serde_json::from_value(part).unwrap()] }
    }

    #[test]
    fn what_a_skill_said_stays() {
        let row = |tools: [&str; 6], want: &[&str]| {
            let messages: Vec<Turned> = (1..).zip(tools).map(|(n, tool)| answer(n, tool)).collect();
            let (old, _) = old_outputs(&messages, 1_000_000);
            let old: Vec<String> = old.iter().map(|part| part.id.to_string()).collect();
            assert_eq!(old, want, "{tools:?}");
        };
        row(["read"; 6], &["prt_3", "prt_2", "prt_1"]);
        row(["read", "skill", "read", "read", "read", "read"], &["prt_3", "prt_1"]);
        row(["skill"; 6], &[]);
    }
}
