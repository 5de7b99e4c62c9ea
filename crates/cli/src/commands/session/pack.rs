//! `haft session pack`: a session for a bug report, in one file that can be read before it is sent.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use haft_config::{Secrets, Stakes};
use haft_project::Place;
use haft_protocol::{History, Id, Message, Part, PartKind, Session as Record, SessionId, Turned};
use haft_snapshot::{Hash, Keep, State};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::delete::asked;
use crate::args::Pack;
use crate::folders::Folders;
use crate::keys::keys;
use crate::redact::{Redact, is_secret_variable, names};
use crate::replay::recorded::Recorded;
use crate::report::{Exit, Usage};
use crate::trust::{self, Asking};
use crate::wire::{self, environment, journal};
use crate::{models, render};

/// The version that is written, and the only one that is read.
const VERSION: u64 = 1;
/// Largest pack that is written or read, in bytes.
const MAX_BYTES: u64 = 64 * 1024 * 1024;
/// Most files that are named before it is asked.
const MAX_NAMED: usize = 30;
/// How much of the end of the log goes with it, in bytes.
const LOG_TAIL: usize = 64 * 1024;
/// Most bytes of the log that are looked through.
const MAX_LOG: u64 = 32 * 1024 * 1024;
/// Most bytes of files as they were that go with it.
const MAX_FILES: usize = 4 * 1024 * 1024;

/// A pack as it is written.
#[derive(Serialize, Deserialize)]
struct Packed {
    haft: String,
    version: u64,
    /// Which haft made it, where.
    made: Value,
    session: Conversation,
    tasks: Vec<Conversation>,
    /// Text files as they were before the session changed them; `null` where there was none.
    files: Option<BTreeMap<String, Option<String>>>,
    /// Which settings there are, without what they say.
    settings: Vec<String>,
    log: Vec<String>,
}

#[derive(Serialize, Deserialize)]
struct Conversation {
    info: Record,
    messages: Vec<Entry>,
}

#[derive(Serialize, Deserialize)]
struct Entry {
    info: Message,
    parts: Vec<Part>,
}

pub(crate) async fn run(args: Pack) -> Result<Exit> {
    let id = SessionId::parse(&args.session).map_err(|error| Usage(error.to_string()))?;
    let folders = Folders::find()?;
    let recorded = Recorded::read(&journal(&folders).await?, &id, &folders).await?;
    let to_output = args.output.as_deref() == Some(Path::new("-"));
    let who = names(&folders.home, recorded.record.directory.as_ref());
    let mut redact = Redact::new(secrets(), &folders.home, who);
    let files = if args.no_files { None } else { Some(before(&folders, &recorded)) };
    let packed = json!({
        "haft": "pack",
        "version": VERSION,
        "made": { "haft": env!("CARGO_PKG_VERSION"), "os": std::env::consts::OS, "arch": std::env::consts::ARCH, "outputs": recorded.outputs.display().to_string(), "trees": recorded.trees },
        "session": conversation(&recorded.record, &recorded.history, args.no_files),
        "tasks": recorded.tasks.iter().map(|(record, history)| conversation(record, history, args.no_files)).collect::<Vec<_>>(),
        "files": files,
        "settings": settings(&folders, &recorded.record),
        "log": log(&folders, &recorded, args.no_files),
    });
    redact.learn(&packed);
    let packed = redact.value(&packed);
    let bytes = serde_json::to_vec_pretty(&packed)?;
    if bytes.len() as u64 > MAX_BYTES {
        bail!(
            "the pack would be larger than {} MiB; --no-files leaves out what tools read and wrote",
            MAX_BYTES / 1024 / 1024
        );
    }
    if !args.no_files && !args.yes {
        let names = named(&packed);
        match asked(&names, false)? {
            Some(true) => {}
            Some(false) => {
                render::complain("nothing was written; --no-files leaves the files out");
                return Ok(Exit::Failed);
            }
            None => {
                let why = "the pack would name files and what tools read in them; --yes writes it, --no-files leaves them out";
                return Err(Usage(why.to_owned()).into());
            }
        }
    }
    if to_output {
        return print(&packed, &bytes);
    }
    let path = args.output.unwrap_or_else(|| PathBuf::from(format!("haft-{id}.json")));
    let mut file = File::options()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(&path)
        .with_context(|| format!("cannot write {}; name a new file with -o", path.display()))?;
    file.write_all(&bytes).with_context(|| format!("cannot write {}", path.display()))?;
    let name = path.display().to_string();
    tell(&packed, &name, bytes.len());
    render::say(&render::clean(&name))?;
    Ok(Exit::Done)
}

/// Writes the pack on standard output. It is text, and a terminal obeys nothing of it.
fn print(packed: &Value, bytes: &[u8]) -> Result<Exit> {
    tell(packed, "the pack", bytes.len());
    render::say(&render::escaped(&String::from_utf8_lossy(bytes)))?;
    Ok(Exit::Done)
}

/// The question whether files may be named.
fn named(packed: &Value) -> String {
    let names: Vec<&str> =
        packed["files"].as_object().into_iter().flat_map(|files| files.keys().map(String::as_str)).collect();
    let shown = names.iter().take(MAX_NAMED).map(|name| format!("  {name}\n")).collect::<String>();
    let more = names.len().saturating_sub(MAX_NAMED);
    let more = if more == 0 { String::new() } else { format!("  and {more} more\n") };
    let head = match names.is_empty() {
        true => "The pack holds what tools read and wrote, as the calls tell it.\n",
        false => "The pack holds what tools read and wrote, and these files as they were before the session:\n",
    };
    render::clean(&format!("{head}{shown}{more}Write it? --no-files leaves them out. [y/N] ")).into_owned()
}

/// Says what is in the pack: who sends it should know.
fn tell(packed: &Value, name: &str, bytes: usize) {
    let count = |value: &Value| value.as_array().map_or(0, Vec::len);
    let messages = count(&packed["session"]["messages"]);
    let names = packed["files"].as_object().map(|files| files.keys().cloned().collect::<Vec<_>>());
    let files = match &names {
        None => "no contents or names of files: calls and results are left out (--no-files)".to_owned(),
        Some(names) if names.is_empty() => "what tools read and wrote, as the calls tell it".to_owned(),
        Some(names) => format!("what tools read and wrote, and as they were before: {}", names.join(", ")),
    };
    for line in [
        format!("{name} has {} KiB:", bytes.div_ceil(1024)),
        format!("  {messages} messages, {} tasks", count(&packed["tasks"])),
        format!("  {files}"),
        format!("  the names of {} settings, the last {} lines of the log", count(&packed["settings"]), count(&packed["log"])),
        "  keys, addresses of people, your name and your home are taken out as far as they could be told; read it before you send it"
            .to_owned(),
    ] {
        render::complain(&render::clean(&line));
    }
}

fn conversation(record: &Record, history: &History, without_files: bool) -> Value {
    let messages = history.messages().iter().map(|Turned { info, parts }| {
        let parts: Vec<Value> = parts.iter().map(|part| if without_files { bare(part) } else { json!(part) }).collect();
        json!({ "info": if without_files { nameless(json!(info)) } else { json!(info) }, "parts": parts })
    });
    let info = if without_files { nameless(json!(record)) } else { json!(record) };
    json!({ "info": info, "messages": messages.collect::<Vec<_>>() })
}

/// A record without the files that changed in it.
fn nameless(mut info: Value) -> Value {
    if let Some(fields) = info.as_object_mut() {
        // The mark of a summary is no list of files.
        fields.retain(|name, value| name != "revert" && !(name == "summary" && value.is_object()));
    }
    info
}

/// A part without what it says of files.
fn bare(part: &Part) -> Value {
    let mut value = json!(part);
    if let PartKind::Tool { .. } | PartKind::File { .. } | PartKind::Patch { .. } = &part.kind {
        for place in [
            "/state/input",
            "/state/output",
            "/state/error",
            "/state/title",
            "/state/metadata",
            "/state/raw",
            "/state/attachments",
        ] {
            if let Some(left) = value.pointer_mut(place) {
                *left = match left {
                    Value::String(_) => "[left out]".into(),
                    Value::Array(_) => json!([]),
                    _ => json!({}),
                };
            }
        }
        for place in ["/filename", "/url", "/files"] {
            if let Some(left) = value.pointer_mut(place) {
                *left = if left.is_array() { json!([]) } else { "[left out]".into() };
            }
        }
    }
    // What a file said is shown with a prompt, too.
    if let PartKind::Text { synthetic: true, .. } = &part.kind {
        value["text"] = "[left out]".into();
    }
    value
}

/// Text files that the session changed, as they were before, as far as that is kept.
fn before(folders: &Folders, recorded: &Recorded) -> BTreeMap<String, Option<String>> {
    let keep = Keep::new(folders.contents());
    let parts = recorded.histories().flat_map(|history| history.messages()).flat_map(|turned| &turned.parts);
    let hashes = parts.filter_map(|part| match &part.kind {
        PartKind::Patch { hash, .. } => hash.parse::<Hash>().ok(),
        _ => None,
    });
    let (mut files, mut bytes) = (BTreeMap::new(), 0);
    for change in hashes.filter_map(|hash| keep.changes(&hash).ok()).flatten() {
        let path = change.path.display().to_string();
        if files.contains_key(&path) {
            continue;
        }
        let text = match &change.before {
            State::Absent => None,
            State::File { content, .. } => {
                let Some(text) = keep.get(content).ok().and_then(|bytes| String::from_utf8(bytes).ok()) else {
                    continue;
                };
                Some(text)
            }
            State::Link { .. } | State::Folder { .. } | State::Unkept { .. } => continue,
        };
        bytes += text.as_ref().map_or(0, String::len);
        if bytes > MAX_FILES {
            break;
        }
        files.insert(path, text);
    }
    files
}

/// Everything that is known to be a secret: what is stored, and what stands in variables for keys.
fn secrets() -> Vec<String> {
    let held: Vec<String> = models::key_variables();
    let of_environment =
        environment().filter(|(name, _)| held.contains(name) || is_secret_variable(name)).map(|(_, value)| value);
    keys().secrets().map(str::to_owned).chain(of_environment).collect()
}

/// Which settings hold where the session worked.
fn settings(folders: &Folders, record: &Record) -> Vec<String> {
    let Ok(place) = Place::find(record.directory.as_ref()) else { return Vec::new() };
    let decided = |stakes: &Stakes| trust::decide(folders, &place, stakes, Asking::Nobody);
    let shown = haft_config::show(&wire::sources(folders, &place), Secrets::Hidden, trust::trust(&decided));
    // A pack of a session whose settings are broken is worth no less.
    // The settings as a whole have no name.
    shown.map(|shown| shown.sources.into_keys().filter(|name| !name.is_empty()).collect()).unwrap_or_default()
}

/// The end of what the log says of the session and its tasks; with no names of files where these are left out.
fn log(folders: &Folders, recorded: &Recorded, without_files: bool) -> Vec<String> {
    let mut bytes = Vec::new();
    let read =
        File::open(folders.state.join("log/haft.log")).and_then(|file| file.take(MAX_LOG).read_to_end(&mut bytes));
    if read.is_err() {
        return Vec::new();
    }
    let ids: Vec<&str> = recorded.records().map(|record| record.id.as_str()).collect();
    said_of(&String::from_utf8_lossy(&bytes), &ids, without_files)
}

/// The last lines of `log` that name one of the sessions `ids`, as many as fit into [`LOG_TAIL`]. All others may be of
/// another project.
fn said_of(log: &str, ids: &[&str], without_files: bool) -> Vec<String> {
    let is_own = |line: &&str| ids.iter().any(|id| line.contains(id)) && !(without_files && line.contains('/'));
    let mut room = LOG_TAIL;
    let fits = |line: &&str| {
        room = room.saturating_sub(line.len() + 1);
        room > 0
    };
    let mut lines: Vec<String> = log.lines().rev().filter(is_own).take_while(fits).map(str::to_owned).collect();
    lines.reverse();
    lines
}

/// Opens the pack in `file`.
///
/// # Errors
///
/// When it is none, or was made without files.
pub(crate) fn open(file: &Path) -> Result<Recorded> {
    let mut bytes = Vec::new();
    let read = File::open(file).and_then(|open| open.take(MAX_BYTES + 1).read_to_end(&mut bytes));
    read.with_context(|| format!("cannot read {}", file.display()))?;
    if bytes.len() as u64 > MAX_BYTES {
        bail!("{} is larger than {} MiB", file.display(), MAX_BYTES / 1024 / 1024);
    }
    let head: Value = serde_json::from_slice(&bytes).unwrap_or_default();
    if head["haft"] != "pack" {
        bail!("{} is no pack; `haft session pack ID` makes one", file.display());
    }
    if head["version"] != VERSION {
        bail!("{} has version {}; this haft reads version {VERSION}", file.display(), head["version"]);
    }
    let packed: Packed =
        serde_json::from_value(head).with_context(|| format!("{} cannot be made out", file.display()))?;
    let Some(files) = packed.files else {
        bail!("{} was made with --no-files: there is nothing in it that could be run again", file.display());
    };
    let history = |conversation: Conversation| {
        let turned = conversation.messages.into_iter().map(|Entry { info, parts }| Turned { info, parts });
        (conversation.info, turned.collect::<History>())
    };
    let (record, own) = history(packed.session);
    let outputs = packed.made["outputs"].as_str().unwrap_or_default().into();
    let trees = packed.made["trees"].as_str().map(PathBuf::from);
    Ok(Recorded {
        outputs,
        trees,
        record,
        history: own,
        tasks: packed.tasks.into_iter().map(history).collect(),
        start: Some(files.into_iter().collect()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_lines_of_the_session_go_along() {
        let log = "a session.id=ses_1 ms=1\nb session.id=ses_2 ms=1\nc asks\nd session.id=ses_1 path=/p/a\ne session.id=ses_3\n";
        let row =
            |without_files: bool, want: &[&str]| assert_eq!(said_of(log, &["ses_1", "ses_3"], without_files), want);
        row(false, &["a session.id=ses_1 ms=1", "d session.id=ses_1 path=/p/a", "e session.id=ses_3"]);
        row(true, &["a session.id=ses_1 ms=1", "e session.id=ses_3"]);
        let long = format!("ses_1 {}\nses_1 last\n", "x".repeat(LOG_TAIL));
        assert_eq!(said_of(&long, &["ses_1"], false), ["ses_1 last"]);
    }
}
