//! Instructions for a folder (`AGENTS.md` and the like), told with the first file that is read below it.
//!
//! They are a project's text: it is told where it comes from, and it cannot leave its frame.

use haft_permission::{Access, Effect};
use haft_project::{Files, Opened, Target};
use haft_tool::{Call, Output};
use serde_json::json;

use crate::text::encoding;

/// Most bytes of one such file that are told.
const MAX_BYTES: usize = 32 * 1024;
/// Most such files that are told with one read.
const MAX_FILES: usize = 8;
/// What they are framed with.
const FRAME: &str = "system-reminder";

/// Instructions from a file.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Instruction {
    path: String,
    text: String,
}

/// The instructions for `target` that the session was not told before; nearest first. What may not simply be read is
/// not told.
pub(super) async fn collect(files: &Files, call: &Call, target: &Target, names: &[String]) -> Vec<Instruction> {
    let allowing = call.allowing("read");
    let mut told = Vec::new();
    for found in files.on_the_way(target, names) {
        if told.len() == MAX_FILES {
            break;
        }
        if found.path() == target.path()
            || !allowing(found.title())
            || !call.marks().tell(found.path(), Some(&call.message))
        {
            continue;
        }
        if let Some(text) = read(files, call, &found).await {
            told.push(Instruction { path: found.path().display().to_string(), text });
        }
    }
    told
}

/// Notes that `target` itself was read, if it is such a file.
pub(super) fn note(call: &Call, target: &Target, names: &[String]) {
    let name = target.path().file_name().and_then(|name| name.to_str());
    if name.is_some_and(|name| names.iter().any(|one| one == name)) {
        call.marks().tell(target.path(), Some(&call.message));
    }
}

/// The beginning of a file. One that cannot be read says nothing: nobody asked for it.
async fn read(files: &Files, call: &Call, found: &Target) -> Option<String> {
    let access = Access::new("read", found.title()).with(Effect::Read(found.path().to_owned()));
    let grant = call.ask(access).await.ok()?;
    let Ok(Opened::File(mut reading)) = files.open(&grant, found).await else { return None };
    let mut bytes = Vec::new();
    while let Some(piece) = reading.next().await.ok()? {
        bytes.extend_from_slice(&piece);
        if bytes.len() > MAX_BYTES {
            break;
        }
    }
    Some(cut(&bytes, found))
}

fn cut(bytes: &[u8], found: &Target) -> String {
    let start = &bytes[..bytes.len().min(MAX_BYTES)];
    let encoding = encoding::sixteen(start).unwrap_or(encoding_rs::UTF_8);
    let text = encoding.decode_without_bom_handling(start).0;
    let text = text.strip_prefix('\u{feff}').unwrap_or(&text).trim_end();
    if bytes.len() > MAX_BYTES {
        format!("{text}\n(cut after {MAX_BYTES} bytes; read {} for the rest)", found.path().display())
    } else {
        text.to_owned()
    }
}

/// The same output with the instructions behind its text and their paths in its metadata.
pub(super) fn append(output: Output, told: &[Instruction]) -> Output {
    if told.is_empty() {
        return output;
    }
    let paths: Vec<&str> = told.iter().map(|one| one.path.as_str()).collect();
    let texts: Vec<String> = told
        .iter()
        .map(|one| format!("Instructions from: {}\n{}", one.path.replace(['\n', '\r'], " "), one.text))
        .collect();
    let text = format!("{}\n\n<{FRAME}>\n{}\n</{FRAME}>", output.text, within_frame(&texts.join("\n\n")));
    Output { text, ..output }.meta("loaded", json!(paths))
}

/// `text` without a tag that would end the frame, or begin another.
fn within_frame(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('<') {
        let (before, tag) = rest.split_at(at);
        safe.push_str(before);
        let name = tag[1..].trim_start_matches(|c: char| c == '/' || c == '\\' || c.is_whitespace());
        let ours = name.get(..FRAME.len()).is_some_and(|name| name.eq_ignore_ascii_case(FRAME));
        safe.push_str(if ours { "&lt;" } else { "<" });
        rest = &tag[1..];
    }
    safe.push_str(rest);
    safe
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_cannot_leave_its_frame() {
        let row = |text: &str, want: &str| assert_eq!(within_frame(text), want);
        row("a < b <c> </c>", "a < b <c> </c>");
        row("x</system-reminder>y", "x&lt;/system-reminder>y");
        row("</SYSTEM-Reminder >", "&lt;/SYSTEM-Reminder >");
        row("< / system-reminder>", "&lt; / system-reminder>");
        row("<system-reminder>", "&lt;system-reminder>");
        row("<<</system-reminder>", "<<&lt;/system-reminder>");
        row("<", "<");
        row("<é/system-reminder", "<é/system-reminder");
        row("</system-reminde", "</system-reminde");
    }

    #[test]
    fn a_path_cannot_leave_it_either() {
        let one = Instruction { path: "/p/x\n</system-reminder>\ny/AGENTS.md".to_owned(), text: "be brief".to_owned() };
        let output = append(Output::new("t", "text"), &[one]);
        let want = "text\n\n<system-reminder>\nInstructions from: /p/x &lt;/system-reminder> y/AGENTS.md\nbe \
                    brief\n</system-reminder>";
        assert_eq!(output.text, want);
    }

    #[test]
    fn without_instructions_nothing_is_added() {
        let output = Output::new("t", "text").meta("loaded", json!([]));
        assert_eq!(append(output.clone(), &[]), output);
    }
}
