//! What is told of a command's cage when it has ended: what it stopped, and what was put back.

use std::path::Path;

use haft_project::{Repair, Walls, What};
use haft_protocol::Object;
use haft_tool::Output;
use serde_json::{Value, json};

use super::blocked::{self, Closed};

/// Most paths that a line names.
const MAX_NAMED: usize = 5;

/// What is told of a cage.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Told {
    /// For the model, a line each.
    pub(crate) lines: Vec<String>,
    /// For programs; nothing without a cage.
    pub(crate) metadata: Option<Value>,
}

/// What the cage of a command that ran in `dir` did: `text` is the end of its output. Looks at the disk.
pub(crate) fn told(walls: Option<&Walls>, text: &str, code: Option<i32>, dir: &Path, repairs: &[Repair]) -> Told {
    let Some(walls) = walls else { return Told::default() };
    let stopped = blocked::blocked(text, code, dir, walls);
    let mut lines = blocked::lines(&stopped, dir);
    lines.extend(mended(repairs, dir));
    let repaired: Vec<String> = repairs.iter().map(|repair| repair.path.display().to_string()).collect();
    let mut metadata = json!({ "rung": walls.rung(), "blocked": blocked::words(&stopped) });
    if !repaired.is_empty() {
        metadata["repaired"] = repaired.into();
    }
    if !walls.gaps().is_empty() {
        metadata["gaps"] = walls.gaps().into();
    }
    Told { lines, metadata: Some(metadata) }
}

impl Told {
    /// The same for clients of the tool.
    pub(crate) fn put(&self, metadata: &mut Object) {
        if let Some(told) = &self.metadata {
            metadata.insert("sandbox".to_owned(), told.clone());
        }
    }

    /// `output` with all of it.
    pub(crate) fn on(&self, mut output: Output) -> Output {
        self.put(&mut output.metadata);
        self.end(&mut output.text);
        output
    }

    /// Adds the lines to `text`, below all that is there.
    pub(crate) fn end(&self, text: &mut String) {
        for line in &self.lines {
            if !text.is_empty() && !text.ends_with('\n') {
                text.push('\n');
            }
            text.push_str(line);
        }
    }
}

impl Closed for Walls {
    fn writing(&self, path: &Path) -> bool {
        self.stop_writing(path)
    }

    fn reading(&self, path: &Path) -> bool {
        self.stop_reading(path)
    }

    fn network(&self) -> bool {
        self.close_network()
    }
}

/// Lines about what was put back.
fn mended(repairs: &[Repair], dir: &Path) -> Vec<String> {
    let name = |repair: &Repair| blocked::seen_from(dir, &repair.path);
    let mut lines = Vec::new();
    for (what, done) in [
        (What::Changed, "changed and put back"),
        (What::New, "made and taken away again"),
        (What::Removed, "removed and put back"),
    ] {
        let these: Vec<&Repair> =
            repairs.iter().filter(|repair| repair.what == what && repair.failed.is_none()).collect();
        if these.is_empty() {
            continue;
        }
        let with_keys = |repair: &&Repair| match repair.keys.is_empty() {
            true => name(repair),
            false => format!("{} ({})", name(repair), repair.keys.join(", ")),
        };
        let shown: Vec<String> = these.iter().take(MAX_NAMED).map(with_keys).collect();
        let asked: Vec<String> = these.iter().take(MAX_NAMED).map(|repair| format!("{:?}", name(repair))).collect();
        let more = match these.len().saturating_sub(MAX_NAMED) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        lines.push(format!(
            "Protected, so {done}: {}{more}. Call bash again with write: [{}] to ask for it.",
            shown.join(", "),
            asked.join(", ")
        ));
    }
    for repair in repairs {
        if let Some(why) = &repair.failed {
            lines.push(format!(
                "Protected and changed, but it could not be put back: {}: {why}. Tell the user.",
                name(repair)
            ));
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    fn repair(path: &str, what: What) -> Repair {
        Repair { path: path.into(), what, keys: Vec::new(), failed: None }
    }

    #[test]
    fn without_a_cage_nothing_is_told() {
        let told = told(None, "curl: (6) Could not resolve host: x", Some(6), Path::new("/"), &[]);
        assert_eq!(told, Told::default());
        let mut text = "a".to_owned();
        told.end(&mut text);
        assert_eq!(text, "a");
    }

    #[test]
    fn what_was_put_back_is_told() {
        let keys = Repair { keys: vec!["core.hookspath".to_owned()], ..repair("/p/.git/config", What::Changed) };
        let failed = Repair { failed: Some("it is busy".to_owned()), ..repair("/p/x", What::Changed) };
        let repairs = [keys, repair("/p/.git/hooks/a", What::New), repair("/q/.envrc", What::New), failed];
        assert_eq!(
            mended(&repairs, Path::new("/p")).join("\n"),
            "Protected, so changed and put back: .git/config (core.hookspath). Call bash again with write: \
             [\".git/config\"] to ask for it.\n\
             Protected, so made and taken away again: .git/hooks/a, /q/.envrc. Call bash again with write: \
             [\".git/hooks/a\", \"/q/.envrc\"] to ask for it.\n\
             Protected and changed, but it could not be put back: x: it is busy. Tell the user."
        );
        let many: Vec<Repair> = (0..9).map(|at| repair(&format!("/p/{at}"), What::Removed)).collect();
        let told = mended(&many, Path::new("/p"));
        assert!(
            told.len() == 1 && told[0].starts_with("Protected, so removed and put back: 0, 1, 2, 3, 4 and 4 more.")
        );
    }
}
