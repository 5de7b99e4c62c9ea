//! The set `apply-patch`: a patch and a folder, and what the folder holds afterwards.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::{Context, ensure};
use haft_project::{Files, Processes};
use haft_tool::fake::FakeHost;
use haft_toolbox::{World, builtin};
use serde_json::{Value, json};
use tokio::runtime::Runtime;

use crate::Miss;

/// What a folder holds, by paths relative to it.
type Folder = BTreeMap<String, String>;

pub(crate) fn check(runtime: &Runtime, case: &Value) -> anyhow::Result<()> {
    let base = tempfile::tempdir()?;
    let root = fs::canonicalize(base.path())?.join("project");
    fs::create_dir(&root)?;
    let before = folder(&case["files"])?;
    for (path, text) in &before {
        let path = root.join(path);
        fs::create_dir_all(path.parent().context("no folder")?)?;
        fs::write(path, text)?;
    }
    let outputs = tempfile::tempdir()?;
    let bench = FakeHost::allowing_all(outputs.path());
    let world =
        World { files: Files::new(root.clone(), None), processes: Processes::new("/bin/sh".into(), Vec::new()) };
    let input = json!({ "patchText": case["patch"] });
    let result = runtime.block_on(builtin(&world).run("apply_patch", input, &bench.call()));

    let after = read(&root)?;
    let wanted = wanted(case);
    match result {
        Err(error) => {
            ensure!(after == before, Wrong(format!("files changed in spite of an error: {error}")));
            if wanted.iter().any(|want| want.get("error").is_some()) {
                return Ok(());
            }
            Err(anyhow::Error::new(Miss::Refused).context(error.to_string()))
        }
        Ok(_) => {
            let wanted: Vec<Folder> =
                wanted.iter().filter_map(|want| want.get("files")).map(folder).collect::<anyhow::Result<_>>()?;
            if wanted.contains(&after) {
                return asked(case, &bench);
            }
            let miss =
                if wanted.iter().any(|want| bare(want) == bare(&after)) { Miss::WhitespaceOff } else { Miss::Wrong };
            Err(anyhow::Error::new(miss).context(format!("the folder holds {after:?}")))
        }
    }
}

/// A failure that is wrong whatever was wanted.
#[derive(Debug)]
struct Wrong(String);

impl std::error::Error for Wrong {}

impl std::fmt::Display for Wrong {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

/// Each answer that will do.
fn wanted(case: &Value) -> Vec<Value> {
    let expected = &case["expected"];
    let list = |key: &str| -> Option<Vec<Value>> {
        let named = |want: &Value| if want == "same" { expected.clone() } else { want.clone() };
        Some(case[key].as_array()?.iter().map(named).collect())
    };
    let intended = list("intended").unwrap_or_default();
    if case["upstream_wrong"] == true {
        // Elsewhere it is a word that stands for what is intended.
        return list("better").unwrap_or(intended);
    }
    let mut wanted = vec![expected.clone()];
    wanted.extend(intended);
    wanted
}

/// Leave must have been asked for what is outside.
fn asked(case: &Value, bench: &FakeHost) -> anyhow::Result<()> {
    let outside = case["expected"]["external"].as_array().is_some_and(|paths| !paths.is_empty());
    let asked = bench.asked().iter().any(|access| access.permission == "external_directory");
    ensure!(outside == asked, Wrong(format!("asked for a folder outside: {asked}, which should be {outside}")));
    Ok(())
}

fn folder(files: &Value) -> anyhow::Result<Folder> {
    let files = files.as_object().context("files")?;
    Ok(files.iter().map(|(path, text)| (path.clone(), text.as_str().unwrap_or_default().to_owned())).collect())
}

/// Everything below `root`, and the files directly beside it.
fn read(root: &Path) -> anyhow::Result<Folder> {
    let mut found = Folder::new();
    let mut folders = vec![(root.to_owned(), String::new())];
    if let Some(above) = root.parent() {
        for entry in fs::read_dir(above)? {
            let entry = entry?;
            if entry.file_type()?.is_file() {
                let name = entry.file_name().to_string_lossy().into_owned();
                found.insert(format!("../{name}"), fs::read_to_string(entry.path())?);
            }
        }
    }
    while let Some((folder, prefix)) = folders.pop() {
        for entry in fs::read_dir(folder)? {
            let entry = entry?;
            let name = format!("{prefix}{}", entry.file_name().to_string_lossy());
            if entry.file_type()?.is_dir() {
                folders.push((entry.path(), format!("{name}/")));
            } else {
                found.insert(name, fs::read_to_string(entry.path())?);
            }
        }
    }
    Ok(found)
}

/// The same without any white space.
fn bare(folder: &Folder) -> Folder {
    let bare = |text: &String| text.chars().filter(|c| !c.is_whitespace()).collect();
    folder.iter().map(|(path, text)| (path.clone(), bare(text))).collect()
}
