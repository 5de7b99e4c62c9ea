//! The first line of a call: a sign, what was done, to what, and how much came of it. Pure.

use haft_protocol::{Object, Part, PartKind};
use serde_json::Value;

/// The line. While the call runs `output`, `metadata` and `attachments` are empty, and perhaps `title`.
pub(super) fn headline(
    tool: &str,
    title: &str,
    input: &Value,
    output: &str,
    metadata: &Object,
    attachments: &[Part],
) -> String {
    let given = |key: &str| input.get(key).and_then(Value::as_str).unwrap_or_default();
    // Before it has a title, a call is about what the model named.
    let title_or = |key: &str| if title.is_empty() { given(key).to_owned() } else { title.to_owned() };
    match tool {
        "read" | "view" => format!("→ Read {}{}", title_or("filePath"), amount(metadata, attachments)),
        "list" | "ls" => {
            format!("→ List {}{}", or_here(&title_or("path")), count(metadata, "count", "entry", "entries"))
        }
        "write" => format!("← Write {}", title_or("filePath")),
        "edit" | "multiedit" => format!("← Edit {}{}", title_or("filePath"), changes(metadata)),
        "apply_patch" | "patch" => format!("← Patch {}", title.lines().next().unwrap_or_default()),
        "glob" => {
            let place = or_here(if title.is_empty() { given("path") } else { title }).to_owned();
            format!("✱ Glob {:?} in {place}{}", given("pattern"), count(metadata, "count", "match", "matches"))
        }
        "grep" => {
            let place = or_here(given("path"));
            let among = Some(given("include")).filter(|include| !include.is_empty());
            let among = among.map_or_else(String::new, |include| format!(" ({include})"));
            format!("✱ Grep {:?} in {place}{among}{}", given("pattern"), count(metadata, "matches", "match", "matches"))
        }
        "bash" => {
            let command = given("command");
            format!("$ {}", if command.is_empty() { title } else { command })
        }
        "job_output" | "job_kill" => match job(metadata) {
            Some(job) => format!("$ {job}"),
            None if metadata.contains_key("jobs") => format!("$ {title}"),
            None if given("id").is_empty() => "$ jobs".to_owned(),
            None => format!("$ {}", given("id")),
        },
        "todowrite" | "todoread" => match title {
            "" => "# Todos".to_owned(),
            title => format!("# Todos ({} open)", title.strip_suffix(" todos").unwrap_or(title)),
        },
        "question" => match input.get("questions").and_then(Value::as_array).map_or(0, Vec::len) {
            1 => "# Question".to_owned(),
            _ => "# Questions".to_owned(),
        },
        "task" => {
            let agent = given("subagent_type");
            format!("• {}{}", if agent.is_empty() { "task" } else { agent }, after(": ", &title_or("description")))
        }
        "webfetch" => format!("% Fetch {}", title_or("url")),
        "websearch" | "codesearch" => format!("◈ Search {:?}", given("query")),
        "skill" => format!("→ Skill {}", title_or("name")),
        "invalid" => format!("✗ {title}: {}", output.lines().next().unwrap_or_default()),
        _ => format!("⚙ {tool} {}", if title.is_empty() { input.to_string() } else { title.to_owned() }),
    }
}

/// How a job is.
fn job(metadata: &Object) -> Option<String> {
    let text = |key: &str| metadata.get(key).and_then(Value::as_str);
    let (id, status) = (text("jobId")?, text("status")?);
    let code = metadata.get("exit").and_then(Value::as_i64).filter(|code| *code != 0);
    Some(format!("{id}: {status}{}", code.map_or_else(String::new, |code| format!(", exit code {code}"))))
}

/// What a failed call was about, with a blank before it.
pub(super) fn subject(input: &Value) -> String {
    const KEYS: [&str; 8] = ["command", "filePath", "pattern", "path", "url", "query", "description", "name"];
    let subject = KEYS.iter().find_map(|key| input.get(*key).and_then(Value::as_str));
    after(" ", subject.unwrap_or_default())
}

fn after(mark: &str, text: &str) -> String {
    if text.is_empty() { String::new() } else { format!("{mark}{text}") }
}

fn or_here(place: &str) -> &str {
    if place.is_empty() { "." } else { place }
}

/// How much a read showed.
fn amount(metadata: &Object, attachments: &[Part]) -> String {
    if let Some(PartKind::File { mime, .. }) = attachments.first().map(|part| &part.kind) {
        return match mime.split_once('/') {
            Some(("image", _)) => " (picture)".to_owned(),
            _ => format!(" ({mime})"),
        };
    }
    let Some(display) = metadata.get("display") else { return String::new() };
    let number = |key: &str| display.get(key).and_then(Value::as_u64);
    if let Some(total) = number("totalEntries") {
        let entries = if total == 1 { "entry" } else { "entries" };
        return format!(" ({total} {entries})");
    }
    let (Some(start), Some(end)) = (number("lineStart"), number("lineEnd")) else { return String::new() };
    match number("totalLines").filter(|total| *total != end || start != 1) {
        Some(total) => format!(" ({start}-{end} of {total} lines)"),
        None if end == 1 => " (1 line)".to_owned(),
        None => format!(" ({end} lines)"),
    }
}

/// How many there are of what `metadata` counts under `key`; a plus where there may be more.
fn count(metadata: &Object, key: &str, one: &str, many: &str) -> String {
    let Some(number) = metadata.get(key).and_then(Value::as_u64) else { return String::new() };
    let more = if metadata.get("truncated") == Some(&Value::Bool(true)) { "+" } else { "" };
    format!(" ({number}{more} {})", if number == 1 { one } else { many })
}

fn changes(metadata: &Object) -> String {
    let count = |key: &str| metadata.get("filediff").and_then(|diff| diff.get(key)).and_then(Value::as_u64);
    match (count("additions"), count("deletions")) {
        (Some(added), Some(removed)) => format!(" +{added} -{removed}"),
        _ => String::new(),
    }
}
