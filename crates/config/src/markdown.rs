//! Agents, modes and commands that are Markdown files: the header has the keys, the text below is the prompt.

use std::path::Path;

use serde_json::{Map, Value, json};

use crate::error::ConfigError;
use crate::file;
use crate::front::front_matter;
use crate::keys;
use crate::load::{Layer, checked};
use crate::merge::Lists;
use crate::scan::{self, Depth};
use crate::schema::{Kind, Strict};

/// Largest Markdown file, in bytes.
pub(crate) const MAX_FILE: u64 = 1024 * 1024;

/// What a folder of Markdown files makes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Makes {
    Command,
    Agent,
    /// An agent that people choose; the older form.
    Mode,
}

/// The folders that are looked into, in the order in which they are laid over each other.
const FOLDERS: [(&str, Makes); 6] = [
    ("command", Makes::Command),
    ("commands", Makes::Command),
    ("agent", Makes::Agent),
    ("agents", Makes::Agent),
    ("mode", Makes::Mode),
    ("modes", Makes::Mode),
];

/// What a configuration folder says in Markdown.
#[derive(Debug, Default)]
pub(crate) struct Found {
    pub layers: Vec<Layer>,
    pub warnings: Vec<String>,
}

/// Reads the Markdown files of the configuration folder `folder`, one layer each.
///
/// # Errors
///
/// When a file cannot be read, its header is broken, or a value in it is of the wrong kind.
pub(crate) fn layers(folder: &Path, strict: Strict) -> Result<Found, ConfigError> {
    let mut all = Found::default();
    // Most are not there; one look spares six.
    if !folder.is_dir() {
        return Ok(all);
    }
    for (name, makes) in FOLDERS {
        let folder = folder.join(name);
        let depth = if makes == Makes::Mode { Depth::Flat } else { Depth::Deep };
        let found = scan::files(&folder, depth, |name| name.ends_with(".md"));
        if found.cut {
            all.warnings.push(format!("{}: too many files or too deep; some are left out", folder.display()));
        }
        for (below, path) in found.files {
            let origin = path.display().to_string();
            let name = below.strip_suffix(".md").unwrap_or(&below);
            let unreadable = |source| ConfigError::Unreadable { origin: origin.clone(), source };
            let text = file::read(&path, MAX_FILE).map_err(unreadable)?;
            let (value, told) = entry(makes, name, &text, &origin, strict)?;
            all.warnings.extend(told);
            all.layers.push(Layer { origin, value, base: folder.clone(), lists: Lists::Join, ..Layer::default() });
        }
    }
    Ok(all)
}

fn entry(
    makes: Makes,
    name: &str,
    text: &str,
    origin: &str,
    strict: Strict,
) -> Result<(Value, Vec<String>), ConfigError> {
    let (set, kind, body) = match makes {
        Makes::Command => ("command", &keys::COMMAND, "template"),
        Makes::Agent | Makes::Mode => ("agent", &keys::AGENT, "prompt"),
    };
    let (mut entry, told) = whole(name, text, origin, kind, body, strict)?;
    // The header may give it another name.
    let name = entry.get("name").and_then(Value::as_str).unwrap_or(name).to_owned();
    match makes {
        Makes::Command => drop(entry.shift_remove("name")),
        Makes::Agent => {}
        Makes::Mode => drop(entry.insert("mode".to_owned(), json!("primary"))),
    }
    Ok((json!({ set: { name: entry } }), told))
}

/// The keys of the header of `text` and, as `body`, what stands below it.
pub(crate) fn whole(
    name: &str,
    text: &str,
    origin: &str,
    kind: &Kind,
    body: &str,
    strict: Strict,
) -> Result<(Map<String, Value>, Vec<String>), ConfigError> {
    let front = front_matter(text, origin)?;
    let mut node = front.node(text);
    node.put(body, &front.body);
    node.put_first("name", name);
    let (value, told) = checked(origin, text, &node, kind, "", strict)?;
    let Value::Object(entry) = value else { return Ok((Map::new(), told)) };
    Ok((entry, told))
}
