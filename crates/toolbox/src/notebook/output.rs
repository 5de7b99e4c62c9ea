//! What running a cell gave, as text. It comes from programs, so it is bounded, and terminal escapes are taken out.

use std::fmt::Write;

use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::Images;

/// Most outputs of a cell that are shown.
const MAX_OUTPUTS: usize = 16;
/// Most bytes of the text of one of them.
const MAX_TEXT: usize = 4 * 1024;
/// Most bytes of the text of all outputs of a cell.
const MAX_TEXTS: usize = 12 * 1024;

/// Images that models can take; in version 3 without the first half of their names.
const IMAGES: [(&str, &str); 7] = [
    ("image/png", "image/png"),
    ("image/jpeg", "image/jpeg"),
    ("image/gif", "image/gif"),
    ("image/webp", "image/webp"),
    ("image/jpg", "image/jpeg"),
    ("png", "image/png"),
    ("jpeg", "image/jpeg"),
];
/// Texts that can stand for an output, the best first.
const TEXTS: [&str; 9] =
    ["text/plain", "text/markdown", "text/latex", "application/json", "text/html", "text", "json", "latex", "html"];

/// Adds what `outputs` show to `text`.
pub(super) fn render(outputs: Vec<&RawValue>, images: &mut Images, text: &mut String) {
    let shown = merged(&outputs);
    let count = shown.len();
    let begin = text.len();
    for (at, output) in shown.into_iter().enumerate() {
        if at == MAX_OUTPUTS || text.len() - begin > MAX_TEXTS {
            let _ = writeln!(text, "[{} more outputs]", count - at);
            break;
        }
        one(&output, images, text);
    }
}

/// The outputs, those that were one stream put together.
fn merged(outputs: &[&RawValue]) -> Vec<Output> {
    let mut merged: Vec<Output> = Vec::new();
    for output in outputs {
        let output = Output::of(output.get());
        match (merged.last_mut(), output) {
            (Some(Output::Stream(name, text)), Output::Stream(other, more)) if *name == other => text.push_str(&more),
            (_, output) => merged.push(output),
        }
    }
    merged
}

enum Output {
    /// With its name.
    Stream(&'static str, String),
    Error(String),
    /// By MIME type.
    Data(Map<String, Value>),
    Unreadable,
}

impl Output {
    fn of(json: &str) -> Self {
        let Ok(Value::Object(mut output)) = serde_json::from_str(json) else { return Self::Unreadable };
        let field = |name: &str| output.get(name).and_then(joined).unwrap_or_default();
        match output.get("output_type").and_then(Value::as_str) {
            Some("stream") => {
                let stderr = ["name", "stream"].iter().any(|key| output.get(*key).is_some_and(|name| name == "stderr"));
                Self::Stream(if stderr { "stderr" } else { "stdout" }, field("text"))
            }
            Some("error" | "pyerr") => {
                let lines = output.get("traceback").and_then(Value::as_array).into_iter().flatten();
                let lines: Vec<&str> = lines.filter_map(Value::as_str).collect();
                let traceback = lines.join("\n");
                let said = format!("{}: {}", field("ename"), field("evalue"));
                Self::Error(if traceback.trim().is_empty() { said } else { traceback })
            }
            Some(_) | None => match output.remove("data") {
                Some(Value::Object(data)) => Self::Data(data),
                // Version 3 has the types beside the rest.
                Some(_) | None => Self::Data(output),
            },
        }
    }
}

fn one(output: &Output, images: &mut Images, text: &mut String) {
    match output {
        Output::Stream(name, said) => block(name, said, text),
        Output::Error(said) => block("error", said, text),
        Output::Unreadable => text.push_str("[output that cannot be read]\n"),
        Output::Data(data) => {
            if let Some(said) = image(data, images) {
                let _ = writeln!(text, "[output: {said}]");
            } else if let Some((mime, said)) = TEXTS.iter().find_map(|mime| Some((mime, shown(data.get(*mime)?)?))) {
                block(mime, &said, text);
            } else {
                let mimes = data.keys().filter(|key| key.contains('/')).take(4);
                let mimes: Vec<String> =
                    mimes.map(|mime| mime.chars().filter(|c| !c.is_control()).take(60).collect()).collect();
                let _ = writeln!(
                    text,
                    "[output: {}, not shown]",
                    if mimes.is_empty() { "nothing".to_owned() } else { mimes.join(", ") }
                );
            }
        }
    }
}

/// Takes the image out of `data`, if there is one, and says what stands for it.
pub(super) fn image(data: &Map<String, Value>, images: &mut Images) -> Option<String> {
    IMAGES.iter().find_map(|(key, mime)| {
        let base64: String = joined(data.get(*key)?)?.split_ascii_whitespace().collect();
        (!base64.is_empty()).then(|| images.take(mime, base64))
    })
}

/// A text, or anything else as JSON.
fn shown(value: &Value) -> Option<String> {
    joined(value).or_else(|| serde_json::to_string(value).ok())
}

/// A text that is written as one string or as several.
fn joined(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Array(parts) => parts.iter().map(Value::as_str).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => None,
    }
}

fn block(name: &str, said: &str, text: &mut String) {
    let said = bounded(&plain(said));
    let said = said.trim_end();
    if said.is_empty() {
        return;
    }
    let lines: String = said.lines().flat_map(|line| ["| ", line, "\n"]).collect();
    // Many short lines grow with what stands before them.
    let _ = writeln!(text, "[output: {name}]\n{}", bounded(&lines).trim_end_matches('\n'));
}

/// The begin and the end of a text that is too long.
fn bounded(text: &str) -> String {
    if text.len() <= MAX_TEXT {
        return text.to_owned();
    }
    let head = &text[..text.floor_char_boundary(MAX_TEXT / 2)];
    let tail = &text[text.ceil_char_boundary(text.len() - MAX_TEXT / 2)..];
    let head = head.rfind('\n').map_or(head, |at| &head[..at]);
    let tail = tail.find('\n').map_or(tail, |at| &tail[at + 1..]);
    format!("{head}\n… ({} bytes left out) …\n{tail}", text.len() - head.len() - tail.len())
}

/// A text as a terminal would show it at last: without escapes, and of what was written over only what stayed.
fn plain(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    // Where the line begins that is being written.
    let mut line = 0;
    let mut signs = text.chars().peekable();
    while let Some(sign) = signs.next() {
        match sign {
            '\u{1b}' => escape(&mut signs),
            '\u{9b}' => sequence(&mut signs),
            '\r' if signs.peek().is_some_and(|next| !matches!(next, '\n' | '\r')) => plain.truncate(line),
            '\u{8}' if plain.len() > line => {
                plain.pop();
            }
            '\n' => {
                plain.push('\n');
                line = plain.len();
            }
            '\t' => plain.push('\t'),
            sign if sign.is_control() => {}
            sign => plain.push(sign),
        }
    }
    plain
}

type Signs<'a> = std::iter::Peekable<std::str::Chars<'a>>;

/// Takes what belongs to an escape off `signs`.
fn escape(signs: &mut Signs<'_>) {
    match signs.peek() {
        Some('[') => {
            signs.next();
            sequence(signs);
        }
        // A title or a link, up to a bell or the end sign. It ends with the line in any case: text must not be lost
        // to a broken one.
        Some(']' | 'P' | '_' | '^' | 'X') => {
            while let Some(sign) = signs.next_if(|sign| *sign != '\n') {
                let ended = sign == '\u{7}' || sign == '\u{1b}' && signs.next_if_eq(&'\\').is_some();
                if ended {
                    break;
                }
            }
        }
        Some(_) => {
            while signs.next_if(|sign| (' '..='/').contains(sign)).is_some() {}
            signs.next_if(|sign| ('0'..='~').contains(sign));
        }
        None => {}
    }
}

/// Takes the rest of a control sequence off `signs`: parameters and one final sign.
fn sequence(signs: &mut Signs<'_>) {
    while signs.next_if(|sign| (' '..='?').contains(sign)).is_some() {}
    signs.next_if(|sign| ('@'..='~').contains(sign));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_shown_as_a_terminal_would_leave_it() {
        let row = |text: &str, want: &str| assert_eq!(plain(text), want, "{text:?}");
        row("plain\ttext\n", "plain\ttext\n");
        row("\u{1b}[0;31mNameError\u{1b}[0m: x", "NameError: x");
        row("\u{1b}[38;2;1;2;3mred", "red");
        row("a\r\nb\r\n", "a\r\nb\r\n".replace('\r', "").as_str());
        row(" 10%\r 50%\r100%\ndone", "100%\ndone");
        row("ends\r", "ends");
        row("ab\u{8}c", "ac");
        row("\u{1b}]8;;http://x\u{7}link\u{1b}]8;;\u{1b}\\ text", "link text");
        row("\u{1b}]broken\nnext", "\nnext");
        row("\u{1b}(Btext\u{1b}", "text");
        row("\u{9b}1mbold\0\u{7}", "bold");
        row("\u{1b}[\n", "\n");
    }

    #[test]
    fn a_long_text_keeps_its_begin_and_its_end() {
        let text: String = (1..=1000).map(|number| format!("line {number} ü\n")).collect();
        let cut = bounded(&text);
        assert!(cut.len() <= MAX_TEXT + 60, "{}", cut.len());
        assert!(cut.starts_with("line 1 ü\nline 2 ü\n") && cut.ends_with("line 999 ü\nline 1000 ü\n"), "{cut}");
        assert!(cut.contains("\n… (") && cut.contains(" bytes left out) …\nline "), "{cut}");
        let one = bounded(&"ü".repeat(MAX_TEXT));
        assert!(one.len() <= MAX_TEXT + 60 && one.contains("left out"), "{}", one.len());
    }
}
