//! The set `edit-match`: what an edit means in a file, and what is refused. Each case runs through the tool.

use std::path::Path;
use std::sync::LazyLock;

use anyhow::Context;
use haft_project::{Files, Processes};
use haft_tool::Registry;
use haft_tool::fake::FakeHost;
use haft_toolbox::{World, builtin};
use serde_json::{Value, json};
use tokio::runtime::Runtime;

use super::Miss;

/// The tools on a folder that all cases share.
struct Bench {
    registry: Registry,
    folder: tempfile::TempDir,
}

static BENCH: LazyLock<std::io::Result<Bench>> = LazyLock::new(|| {
    let folder = tempfile::tempdir()?;
    let files = Files::new(folder.path().to_owned(), None);
    let world = World { files, processes: Processes::new("/bin/sh".into(), Vec::new()) };
    Ok(Bench { registry: builtin(&world), folder })
});

pub(crate) fn check(runtime: &Runtime, case: &Value) -> anyhow::Result<()> {
    let bench = BENCH.as_ref().map_err(|error| anyhow::anyhow!("{error}"))?;
    let path = bench.folder.path().join("file");
    let text = |key: &str| case[key].as_str().context(key.to_owned());
    let content = text("content")?;
    std::fs::write(&path, content)?;
    let input = json!({
        "filePath": "file", "oldString": text("oldString")?, "newString": text("newString")?,
        "replaceAll": case["replaceAll"],
    });
    // Each case is a session of its own, which has not seen the file before.
    let call = FakeHost::allowing_all(bench.folder.path()).call();
    let done = runtime.block_on(bench.registry.run("edit", input, &call));
    let error = done.err().map(|error| error.to_string());
    judge(case, content, &path, error.as_deref())
}

/// Holds what is in the file now against what was meant.
fn judge(case: &Value, content: &str, path: &Path, error: Option<&str>) -> anyhow::Result<()> {
    let after = std::fs::read_to_string(path)?;
    let wanted = wanted(case);
    let results: Vec<&str> = wanted.iter().filter_map(|answer| answer["result"].as_str()).collect();
    let miss = |kind: Miss, what: &str| Err(anyhow::Error::new(kind).context(what.to_owned()));
    match error {
        Some(error) if after != content => miss(Miss::Wrong, &format!("failed and changed the file: {error}")),
        Some(_) if results.len() < wanted.len() => Ok(()),
        Some(error) => miss(Miss::Refused, error),
        None if results.contains(&after.as_str()) => Ok(()),
        None if results.iter().any(|result| is_kept_deeper(case, content, result, &after)) => Ok(()),
        None if results.iter().any(|result| same_words(result, &after)) => miss(Miss::WhitespaceOff, &after),
        None => miss(Miss::Wrong, &after),
    }
}

/// The answers that will do.
fn wanted(case: &Value) -> Vec<&Value> {
    let expected = &case["expected"];
    let same = |answer| if answer == "same" { expected } else { answer };
    if let Some(intended) = case["intended"].as_array() {
        return intended.iter().map(same).collect();
    }
    match &case["better"] {
        Value::Null => vec![expected],
        Value::Array(answers) => answers.iter().map(same).collect(),
        better => vec![better],
    }
}

/// Whether two texts are the same but for indentation, blank lines and line ends.
fn same_words(one: &str, other: &str) -> bool {
    fn bare(text: &str) -> impl Iterator<Item = &str> {
        text.lines().map(str::trim).filter(|line| !line.is_empty())
    }
    bare(one).eq(bare(other))
}

/// Where the old text is not there byte for byte, the reference puts the new one in as it was written, and so takes the
/// file's own indentation, line ends and blank lines away. Where a case does not say what was meant (it has no
/// `intended`), that is not held against us if the words are the same, and every line that was in the file before has
/// kept its bytes; where one says it, that decides.
fn is_kept_deeper(case: &Value, content: &str, expected: &str, after: &str) -> bool {
    let lines: Vec<&str> = content.split_inclusive('\n').collect();
    let known = |line: &str| lines.iter().any(|known| known.trim() == line.trim());
    let kept = |line: &str| lines.contains(&line) || lines.iter().any(|known| known.trim_end_matches('\n') == line);
    case["intended"].is_null()
        && same_words(expected, after)
        && after.split_inclusive('\n').all(|line| line.trim().is_empty() || !known(line) || kept(line))
}
