//! Imports from the disk, as Node finds them.

use std::io::Read;
use std::path::{Component, Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::Value;

use crate::script::{Source, Sources};

/// Largest file that is imported, in bytes.
const MAX_SOURCE: u64 = 8 * 1024 * 1024;
/// Most files that one script is made of.
const MAX_FILES: usize = 2_000;
/// What an import may leave out at its end, in the order in which it is tried.
const ENDINGS: [&str; 9] = [".ts", ".tsx", ".mts", ".js", ".mjs", ".cjs", ".jsx", ".json", ".cts"];
/// Modules of Node's that need a system of their own.
const NATIVE: [&str; 13] = [
    "net",
    "http",
    "https",
    "http2",
    "tls",
    "dgram",
    "dns",
    "cluster",
    "worker_threads",
    "inspector",
    "vm",
    "v8",
    "zlib",
];

/// A file that a script imports.
#[derive(Debug, Clone, Copy)]
pub struct Imported<'a> {
    /// As it is called: absolute, without `.` and `..`.
    pub path: &'a Path,
    /// What that is behind all links.
    pub real: &'a Path,
    /// What it holds.
    pub bytes: &'a [u8],
}

/// Which files may run, or be read by being imported.
pub trait Bounds: Send + Sync {
    /// Whether `file` may be imported as it is.
    ///
    /// # Errors
    ///
    /// Why not, and what can be done.
    fn check(&self, file: &Imported<'_>) -> Result<(), String>;

    /// The folders, without links, from which a host may import: it reads files itself.
    fn folders(&self) -> Vec<PathBuf>;

    /// Whether all files that may run are as they were: asked before a host, which reads them itself.
    ///
    /// # Errors
    ///
    /// Which is not, and what can be done.
    fn unchanged(&self) -> Result<(), String> {
        Ok(())
    }
}

/// The file with which the package in `root` begins as a plug-in: what it has for `./server`, else for itself.
pub fn entry_of(root: &Path) -> Option<PathBuf> {
    let manifest = manifest(root)?;
    let text = |key: &str| manifest.get(key).and_then(Value::as_str).map(str::to_owned);
    let named = [entry(&manifest, "./server"), entry(&manifest, "."), text("main"), Some(".".to_owned())];
    // A package names files of its own; some name one that they forgot to publish.
    let paths = named.into_iter().flatten().map(|named| normal(&root.join(named)));
    paths.filter(|path| path.starts_with(root)).find_map(|path| file(&path))
}

/// The files of one script.
pub struct Disk {
    bounds: Arc<dyn Bounds>,
    read: Mutex<Vec<PathBuf>>,
}

impl Disk {
    /// Files within `bounds`.
    pub fn new(bounds: Arc<dyn Bounds>) -> Self {
        Self { bounds, read: Mutex::default() }
    }

    /// What was read so far.
    pub(crate) fn read(&self) -> Vec<PathBuf> {
        self.read.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Sources for Disk {
    fn resolve(&self, from: &str, name: &str) -> Result<String, String> {
        let found = if from.is_empty() || from.starts_with("haft:") || Path::new(name).is_absolute() {
            file(&normal(Path::new(name)))
        } else if name.starts_with("./") || name.starts_with("../") || name == "." || name == ".." {
            file(&normal(&folder(from).join(name)))
        } else if let Some(path) = name.strip_prefix("file://") {
            file(&normal(Path::new(path)))
        } else {
            package(from, name)
        };
        match found {
            Some(path) => Ok(path.display().to_string()),
            // Without one of its own, a tool gets our builder of the same shape.
            None if name == "zod" || name.starts_with("zod/") => Ok("haft:zod".to_owned()),
            None => Err(missing(from, name)),
        }
    }

    fn source(&self, path: &str) -> Result<Source, String> {
        let path = Path::new(path);
        if !path.is_absolute() || normal(path) != path {
            return Err(format!("{} is no path that an import came to", path.display()));
        }
        let (real, bytes) = read(path)?;
        self.bounds.check(&Imported { path, real: &real, bytes: &bytes })?;
        let mut read = self.read.lock().unwrap_or_else(PoisonError::into_inner);
        if read.len() >= MAX_FILES {
            return Err(format!("{} imports more than {MAX_FILES} files", path.display()));
        }
        read.push(path.to_owned());
        drop(read);
        let text = String::from_utf8_lossy(&bytes).into_owned();
        Ok(Source { kind: kind(path, &text), text })
    }
}

/// What the file at `path` holds, and where it is behind all links.
fn read(path: &Path) -> Result<(PathBuf, Vec<u8>), String> {
    let wrong = |error: std::io::Error| format!("{}: {error}", path.display());
    let real = path.canonicalize().map_err(wrong)?;
    let size = std::fs::metadata(&real).map_err(wrong)?.len();
    if size > MAX_SOURCE {
        return Err(format!("{} has {size} bytes; a script may have {MAX_SOURCE}", path.display()));
    }
    let mut bytes = Vec::new();
    std::fs::File::open(&real).and_then(|file| file.take(MAX_SOURCE).read_to_end(&mut bytes)).map_err(wrong)?;
    // Somebody may have put a link in the way meanwhile.
    match path.canonicalize().map_err(wrong)? == real {
        true => Ok((real, bytes)),
        false => Err(format!("{} was replaced while it was read; call again", path.display())),
    }
}

/// What to say of an import that leads nowhere.
fn missing(from: &str, name: &str) -> String {
    let bare = name.strip_prefix("node:").unwrap_or(name);
    let module = bare.split('/').next().unwrap_or(bare);
    if NATIVE.contains(&module) {
        return format!(
            "{from} imports {name:?}, which needs a real Node; haft runs scripts in an engine of its own. Take fetch for \
             HTTP, or run a program with child_process"
        );
    }
    if name.starts_with('.') || name.starts_with('/') {
        return format!("{from} imports {name:?}, and there is no such file");
    }
    format!(
        "{from} imports {name:?}, which is not in any node_modules above it; install it there, for example with npm"
    )
}

fn folder(file: &str) -> PathBuf {
    Path::new(file).parent().map(Path::to_path_buf).unwrap_or_default()
}

/// `path` without `.` and `..`.
fn normal(path: &Path) -> PathBuf {
    let mut out = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                out.pop();
            }
            other => out.push(other),
        }
    }
    out
}

/// The file that `path` means: itself, with an ending, TypeScript for a `.js` that is not there, or the index of a folder.
fn file(path: &Path) -> Option<PathBuf> {
    let with = |end: &str| PathBuf::from(format!("{}{end}", path.display()));
    if path.is_file() {
        return Some(path.to_owned());
    }
    if let Some(found) = ENDINGS.iter().map(|end| with(end)).find(|path| path.is_file()) {
        return Some(found);
    }
    let written = path.extension().and_then(|end| end.to_str()).unwrap_or_default();
    for (js, ts) in [("js", "ts"), ("mjs", "mts"), ("cjs", "cts"), ("jsx", "tsx")] {
        let found = path.with_extension(ts);
        if written == js && found.is_file() {
            return Some(found);
        }
    }
    if !path.is_dir() {
        return None;
    }
    if let Some(main) = manifest(path).and_then(|manifest| entry(&manifest, ".")).map(|main| normal(&path.join(main)))
        && main != path
        && let Some(found) = file(&main)
    {
        return Some(found);
    }
    ENDINGS.iter().map(|end| path.join(format!("index{end}"))).find(|path| path.is_file())
}

/// The file that `name` means in a package above the file `from`.
fn package(from: &str, name: &str) -> Option<PathBuf> {
    let mut parts = name.splitn(if name.starts_with('@') { 3 } else { 2 }, '/');
    let mut base = parts.next()?.to_owned();
    if name.starts_with('@') {
        base = format!("{base}/{}", parts.next()?);
    }
    let below = parts.next();
    if base.split('/').any(|part| matches!(part, "" | "." | "..")) {
        return None;
    }
    let above = folder(from);
    for folder in above.ancestors() {
        let root = folder.join("node_modules").join(&base);
        if !root.is_dir() {
            continue;
        }
        let wanted = below.map_or_else(|| ".".to_owned(), |below| format!("./{below}"));
        let manifest = manifest(&root);
        if let Some(found) = manifest.as_ref().and_then(|manifest| entry(manifest, &wanted)) {
            let path = normal(&root.join(found));
            // A package names files of its own.
            return if path.starts_with(&root) { file(&path) } else { None };
        }
        return file(&normal(&root.join(below.unwrap_or("."))));
    }
    None
}

fn manifest(folder: &Path) -> Option<Value> {
    let path = folder.join("package.json");
    if std::fs::metadata(&path).ok()?.len() > MAX_SOURCE {
        return None;
    }
    serde_json::from_slice(&std::fs::read(path).ok()?).ok()
}

/// What a manifest says `wanted` is: `.` or `./below`.
fn entry(manifest: &Value, wanted: &str) -> Option<String> {
    if let Some(exports) = manifest.get("exports") {
        let keyed = exports.as_object().is_some_and(|map| map.keys().any(|key| key.starts_with('.')));
        if !keyed {
            return if wanted == "." { condition(exports, None, 0) } else { None };
        }
        let map = exports.as_object()?;
        if let Some(found) = map.get(wanted) {
            return condition(found, None, 0);
        }
        let starred = |key: &String| {
            let (start, end) = key.split_once('*')?;
            let middle = wanted.strip_prefix(start)?.strip_suffix(end)?;
            Some((start.len(), middle.to_owned()))
        };
        let best = map
            .iter()
            .filter_map(|(key, value)| starred(key).map(|found| (found, value)))
            .max_by_key(|((length, _), _)| *length);
        return best.and_then(|((_, middle), value)| condition(value, Some(&middle), 0));
    }
    if wanted != "." {
        return None;
    }
    let text = |key: &str| manifest.get(key).and_then(Value::as_str).map(str::to_owned);
    text("module").or_else(|| text("main"))
}

/// The path that a list of conditions comes to for us: an ES module rather than CommonJS.
fn condition(value: &Value, star: Option<&str>, depth: usize) -> Option<String> {
    if depth > 8 {
        return None;
    }
    match value {
        Value::String(path) => Some(star.map_or_else(|| path.clone(), |star| path.replace('*', star))),
        Value::Array(all) => all.iter().find_map(|one| condition(one, star, depth + 1)),
        Value::Object(map) => map
            .iter()
            .filter(|(key, _)| matches!(key.as_str(), "import" | "module" | "bun" | "node" | "default" | "require"))
            .find_map(|(_, one)| condition(one, star, depth + 1)),
        Value::Null | Value::Bool(_) | Value::Number(_) => None,
    }
}

/// How a file is to be taken.
fn kind(path: &Path, text: &str) -> &'static str {
    match path.extension().and_then(|end| end.to_str()).unwrap_or_default() {
        "json" => "json",
        "ts" | "tsx" | "mts" | "mjs" => "module",
        "cjs" | "cts" => "commonjs",
        "js" | "jsx" => {
            let nearest = path.ancestors().skip(1).find_map(manifest);
            match nearest.as_ref().and_then(|manifest| manifest.get("type")).and_then(Value::as_str) {
                Some("module") => "module",
                _ if is_module(text) => "module",
                _ => "commonjs",
            }
        }
        _ => "text",
    }
}

/// Whether a text looks like an ES module: a line of it begins with `import` or `export`.
fn is_module(text: &str) -> bool {
    let begins = |line: &str, word: &str| {
        line.trim_start().strip_prefix(word).is_some_and(|rest| rest.starts_with([' ', '{', '*', '"', '\'']))
    };
    text.lines().any(|line| begins(line, "import") || begins(line, "export")) || text.contains(";export{")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    struct All;

    impl Bounds for All {
        fn check(&self, _: &Imported<'_>) -> Result<(), String> {
            Ok(())
        }

        fn folders(&self) -> Vec<PathBuf> {
            Vec::new()
        }
    }

    #[test]
    fn imports_are_found_as_node_finds_them() {
        let scratch = tempfile::tempdir().unwrap();
        let root = scratch.path().canonicalize().unwrap();
        for (path, text) in [
            ("tool/a.ts", ""),
            ("tool/lib/index.ts", ""),
            ("shared/b.ts", ""),
            ("data.json", "{}"),
            ("node_modules/main/package.json", r#"{"main": "./lib/m.js"}"#),
            ("node_modules/main/lib/m.js", "module.exports = 1"),
            (
                "node_modules/@s/p/package.json",
                r#"{"exports": {".": {"import": "./e.mjs", "require": "./c.cjs"}, "./x/*": "./y/*.js"}}"#,
            ),
            ("node_modules/@s/p/e.mjs", ""),
            ("node_modules/@s/p/y/z.js", "export const a = 1"),
            ("node_modules/evil/package.json", r#"{"main": "../../data.json"}"#),
        ] {
            let path = root.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let disk = Disk::new(Arc::new(All));
        let from = root.join("tool/a.ts").display().to_string();
        let row = |name: &str, want: Option<&str>| {
            let got = disk.resolve(&from, name).ok().map(|path| path.replace(&format!("{}/", root.display()), ""));
            assert_eq!(got.as_deref(), want, "{name}");
        };
        row("./lib", Some("tool/lib/index.ts"));
        row("../shared/b", Some("shared/b.ts"));
        row("../shared/b.js", Some("shared/b.ts"));
        row("../data.json", Some("data.json"));
        row("main", Some("node_modules/main/lib/m.js"));
        row("main/lib/m", Some("node_modules/main/lib/m.js"));
        row("@s/p", Some("node_modules/@s/p/e.mjs"));
        row("@s/p/x/z", Some("node_modules/@s/p/y/z.js"));
        row("@s/p/none", None);
        row("zod", Some("haft:zod"));
        row("none", None);
        row("evil", None);
        row("..", None);
        let up = format!("{}/tool/../shared/../data.json", root.display());
        row(&up, Some("data.json"));
        row(&format!("file://{up}"), Some("data.json"));
        // What was not resolved is not read: a path may look as if it were in a folder that it leaves.
        assert!(disk.source(&up).unwrap_err().contains("no path that an import came to"));
        let kind = |path: &str| disk.source(&root.join(path).display().to_string()).unwrap().kind;
        assert_eq!(kind("node_modules/main/lib/m.js"), "commonjs");
        assert_eq!(kind("node_modules/@s/p/y/z.js"), "module");
        let error = disk.resolve(&from, "node:net").unwrap_err();
        assert!(error.contains("needs a real Node"), "{error}");
        assert_eq!(disk.read().len(), 2);
    }
}
