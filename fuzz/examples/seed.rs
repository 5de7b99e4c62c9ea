//! Makes the inputs that fuzzing begins with out of the project's own cases and recordings:
//! `cargo run --manifest-path fuzz/Cargo.toml --example seed`.

use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

/// Most inputs of one target; more of them only make the first minutes longer.
const MOST: usize = 400;

/// One of each kind of cell and output.
const NOTEBOOKS: [&str; 2] = [
    r##"{"nbformat":4,"metadata":{"kernelspec":{"language":"python"}},"cells":[{"cell_type":"markdown","source":["# A\n","b"]},{"cell_type":"code","execution_count":1,"source":"x","outputs":[{"output_type":"stream","name":"stdout","text":["1\n"]},{"output_type":"execute_result","data":{"text/plain":"1","image/png":"iVBORw0KGgo="}},{"output_type":"error","ename":"E","evalue":"v","traceback":["\u001b[31mt\u001b[0m"]}]},{"cell_type":"raw","source":[]}]}"##,
    r#"{"nbformat":3,"worksheets":[{"cells":[{"cell_type":"code","input":["x"],"outputs":[]}]}]}"#,
];

fn main() -> Result<(), Box<dyn Error>> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let fields =
        |case: &Value, names: &[&str]| names.iter().map(|name| text(&case[*name])).collect::<Vec<_>>().join("\0");
    seed("shell", cases("bash-parse")?.iter().map(|case| text(&case["command"])))?;
    let settings = cases("config-merge")?;
    seed(
        "config",
        settings.iter().map(|case| {
            let files = case["project"].as_object().into_iter().chain(case["global"].as_object());
            files.flat_map(|files| files.values()).map(text).collect::<Vec<_>>().join("\0")
        }),
    )?;
    seed("config-front", cases("frontmatter")?.iter().map(|case| text(&case["text"])))?;
    let mut streams = Vec::new();
    collect(&root().join("crates/llm/src/dialect/fixtures"), "sse", &mut streams)?;
    seed("sse", streams.iter().filter_map(|path| fs::read_to_string(path).ok()))?;
    seed("edit", cases("edit-match")?.iter().map(|case| fields(case, &["content", "oldString", "newString"])))?;
    seed(
        "patch",
        cases("apply-patch")?.iter().map(|case| {
            let file = case["files"].as_object().and_then(|files| files.values().next()).map(text).unwrap_or_default();
            format!("{file}\0{}", text(&case["patch"]))
        }),
    )?;
    seed("html", cases("webfetch-html")?.iter().map(|case| text(&case["html"])))?;
    seed("notebook", NOTEBOOKS.iter().map(|text| (*text).to_owned()))?;
    Ok(())
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// The cases of a set; none where the project has no such file.
fn cases(set: &str) -> Result<Vec<Value>, Box<dyn Error>> {
    let path = root().join(format!("crates/conformance/cases/{set}.jsonl"));
    let text = if path.exists() { fs::read_to_string(path)? } else { String::new() };
    Ok(text.lines().map(serde_json::from_str).collect::<Result<_, _>>()?)
}

/// Writes `inputs` into the corpus of `target`.
fn seed(target: &str, inputs: impl Iterator<Item = String>) -> Result<(), Box<dyn Error>> {
    let (target, prefix) = target.split_once('-').unwrap_or((target, "case"));
    let folder = root().join("fuzz/corpus").join(target);
    fs::create_dir_all(&folder)?;
    let mut count = 0;
    for input in inputs.filter(|input| !input.is_empty()).take(MOST) {
        fs::write(folder.join(format!("{prefix}-{count:04}")), input)?;
        count += 1;
    }
    println!("{target}: {count} inputs");
    Ok(())
}

/// The files below `folder` whose names end in `.ending`.
fn collect(folder: &Path, ending: &str, into: &mut Vec<PathBuf>) -> Result<(), Box<dyn Error>> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            collect(&path, ending, into)?;
        } else if path.extension().is_some_and(|found| found == ending) {
            into.push(path);
        }
    }
    into.sort();
    Ok(())
}
