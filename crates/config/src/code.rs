//! Programs of a project: the files that would run, and those that a command line names, each with a digest of what it
//! holds.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::border::Border;
use crate::scan::{self, Depth};
use crate::stake::{Content, Effect, Hash, Stake};

/// Most bytes of all programs together that are looked at.
const MAX_BYTES: u64 = 64 * 1024 * 1024;

/// Most words of all command lines together that are looked for as files.
const MAX_WORDS: usize = 2_000;

/// Longest word that may name a file, in bytes.
const MAX_WORD: usize = 4_096;

/// The folders of a configuration folder whose files run, and as what.
const FOLDERS: [(&str, &str); 4] = [
    ("plugin", "runs as a plug-in"),
    ("plugins", "runs as a plug-in"),
    ("tool", "runs as a tool"),
    ("tools", "runs as a tool"),
];

/// The folders beside them that such files may import from; nothing of them runs by itself.
const BESIDE: [&str; 8] = ["common", "helpers", "lib", "libs", "shared", "src", "util", "utils"];

/// The folders of a configuration folder of which files are run or imported: what the question of trust covers.
pub fn code_folders() -> impl Iterator<Item = &'static str> {
    FOLDERS.into_iter().map(|(name, _)| name).chain(BESIDE)
}

/// What such files may take code from.
const PACKAGES: [&str; 5] = ["package.json", "package-lock.json", "bun.lock", "bun.lockb", "yarn.lock"];

/// The file of a configuration folder that says exactly which packages its plug-ins are.
pub const PLUGIN_LOCK: &str = "plugin-lock.json";

/// Looks at programs, within bounds.
#[derive(Debug)]
pub(crate) struct Code {
    bytes: u64,
    words: usize,
    /// What there was too much of.
    pub unseen: Option<String>,
}

impl Code {
    pub(crate) fn new() -> Self {
        Self { bytes: MAX_BYTES, words: MAX_WORDS, unseen: None }
    }

    /// The programs in the configuration folder `folder`.
    pub(crate) fn files(&mut self, folder: &Path) -> Vec<Stake> {
        let mut stakes = Vec::new();
        for (name, why) in FOLDERS.into_iter().chain(BESIDE.map(|name| (name, "is imported by what runs"))) {
            if stakes.is_empty() && BESIDE.contains(&name) {
                continue;
            }
            let found = scan::files(&folder.join(name), Depth::Deep, |_| true);
            if found.cut {
                self.unseen = Some(format!("the files in {}", folder.join(name).display()));
            }
            for (below, path) in found.files {
                stakes.extend(self.file(&format!("{name}/{below}"), &path, why));
            }
        }
        // The settings name packages; this says which bytes they are.
        let lock = folder.join(PLUGIN_LOCK);
        stakes.extend(self.file(PLUGIN_LOCK, &lock, "says which packages run as plug-ins"));
        if !stakes.is_empty() {
            let packages = PACKAGES.iter().filter_map(|name| {
                let path = folder.join(name);
                path.is_file().then(|| self.file(name, &path, "says what code it is run with"))?
            });
            stakes.extend(packages.collect::<Vec<_>>());
        }
        stakes
    }

    fn file(&mut self, key: &str, path: &Path, why: &str) -> Option<Stake> {
        let (digest, size) = self.digest(path)?;
        let content = Content { value: Value::Null, files: vec![(key.to_owned(), digest)] };
        let origin = path.display().to_string();
        Some(Stake::new(Effect::Runs, key, &origin, why, format!("{size} bytes"), &content))
    }

    /// The files of the project that words in the texts of `value` name, seen from one of `folders`.
    pub(crate) fn named(&mut self, value: &Value, folders: &[&Path], border: &Border) -> Vec<(String, String)> {
        let mut found: Vec<(String, String)> = Vec::new();
        for text in texts(value) {
            let ends = |c: char| c.is_whitespace() || "\"'`=;|&(){}<>,".contains(c);
            for word in text.split(ends).filter(|word| !word.is_empty() && word.len() <= MAX_WORD) {
                let Some(left) = self.words.checked_sub(1) else {
                    self.unseen = Some("the words of its commands".to_owned());
                    return found;
                };
                self.words = left;
                let paths = folders.iter().map(|folder| folder.join(word));
                for path in paths.filter(|path| path.is_file() && border.holds(path)).collect::<Vec<PathBuf>>() {
                    let name = path.display().to_string();
                    if found.iter().any(|(known, _)| *known == name) {
                        continue;
                    }
                    if let Some((digest, _)) = self.digest(&path) {
                        found.push((name, digest));
                    }
                }
            }
        }
        found
    }

    /// A digest of the file, and its size. `None` where there is none that can be read.
    fn digest(&mut self, path: &Path) -> Option<(String, u64)> {
        if !std::fs::metadata(path).ok()?.is_file() {
            return None;
        }
        let mut file = File::open(path).ok()?.take(self.bytes + 1);
        let mut hash = Sha256::new();
        let size = std::io::copy(&mut file, &mut hash).ok()?;
        let Some(left) = self.bytes.checked_sub(size) else {
            self.bytes = 0;
            self.unseen = Some(format!("{} and what else runs, which is more than 64 MiB", path.display()));
            return None;
        };
        self.bytes = left;
        let mut whole = Hash::new();
        whole.add(&hash.finalize());
        Some((whole.end(), size))
    }
}

/// All texts in `value`, the names of keys among them.
fn texts(value: &Value) -> Vec<&str> {
    match value {
        Value::String(text) => vec![text],
        Value::Array(items) => items.iter().flat_map(texts).collect(),
        Value::Object(object) => {
            object.iter().flat_map(|(key, value)| std::iter::once(key.as_str()).chain(texts(value))).collect()
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use std::fs;

    #[test]
    fn files_that_run_are_bound_to_what_they_hold() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        fs::create_dir_all(root.join("tool/lib")).unwrap();
        fs::create_dir_all(root.join("skill")).unwrap();
        fs::create_dir_all(root.join("lib")).unwrap();
        for file in ["tool/a.ts", "tool/lib/b.js", "lib/c.ts", "skill/x.ts", "package.json"] {
            fs::write(root.join(file), "one").unwrap();
        }
        let look = || Code::new().files(&root);
        let first = look();
        let keys: Vec<&str> = first.iter().map(|stake| stake.key.as_str()).collect();
        assert_eq!(keys, ["tool/a.ts", "tool/lib/b.js", "lib/c.ts", "package.json"]);
        assert_eq!((first[0].why.as_str(), first[0].text.as_str()), ("runs as a tool", "3 bytes"));
        fs::write(root.join("tool/lib/b.js"), "two").unwrap();
        let second = look();
        assert_eq!(first[0], second[0]);
        assert_ne!(first[1].digest, second[1].digest);
        fs::remove_dir_all(root.join("tool")).unwrap();
        assert_eq!(look(), []);
        // Packages run where there is no file of the project's own, too.
        fs::write(root.join(PLUGIN_LOCK), "{}").unwrap();
        assert_eq!(look()[0].key, PLUGIN_LOCK);
    }

    #[test]
    fn files_that_commands_name_are_bound_too() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        fs::create_dir_all(root.join("p/scripts")).unwrap();
        for file in ["p/scripts/a.sh", "p/b", "outside"] {
            fs::write(root.join(file), "one").unwrap();
        }
        let (top, border) = (root.join("p"), Border::new(&root.join("p")));
        let named = |value: Value| {
            let found = Code::new().named(&value, &[&top], &border);
            found.into_iter().map(|(name, _)| name.replace(&format!("{}/", top.display()), "")).collect::<Vec<_>>()
        };
        assert_eq!(named(json!({"command": ["node", "./scripts/a.sh", "--x=b"]})), ["./scripts/a.sh", "b"]);
        assert_eq!(named(json!(["sh", "-c", "cat b|sh scripts/a.sh;b"])), ["b", "scripts/a.sh"]);
        assert_eq!(named(json!([format!("{}/b", top.display()), "../outside", "none", "scripts"])).len(), 1);
    }

    #[test]
    fn there_are_bounds() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("tool/large.ts");
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        File::create(&path).unwrap().set_len(MAX_BYTES + 1).unwrap();
        let mut code = Code::new();
        assert_eq!(code.files(folder.path()), []);
        assert!(code.unseen.unwrap().contains("more than 64 MiB"));
        let mut code = Code::new();
        code.named(&json!("x ".repeat(MAX_WORDS)), &[folder.path()], &Border::new(folder.path()));
        assert_eq!(code.unseen, None);
        code.named(&json!("x"), &[folder.path()], &Border::new(folder.path()));
        assert!(code.unseen.is_some());
    }
}
