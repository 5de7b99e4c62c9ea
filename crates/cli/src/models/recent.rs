//! The models that the user named last, as faces keep them in `model.json` of the state folder: OpenCode's format, in which
//! other keys stay as they are.

use std::fs::OpenOptions;
use std::io::Read;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use haft_protocol::ModelRef;
use haft_vault::own;
use serde_json::{Map, Value, json};

use crate::folders::{self, Folders};
use crate::own_file::{self, MAX_FILE};

/// Most entries that are looked at.
const MOST: usize = 50;

/// Most entries that are kept.
const KEPT: usize = 10;

/// The models that were named last, the last one first, as `VENDOR/MODEL`. Whatever is wrong with the file, there are none
/// then: nothing depends on it.
pub(super) fn recent(folders: &Folders) -> Vec<String> {
    text(&path(folders)).map(|text| named(&text)).unwrap_or_default()
}

/// Puts `model` first among them.
///
/// # Errors
///
/// When the file cannot be written, or is not the user's alone.
pub(super) fn keep(folders: &Folders, model: &ModelRef) -> Result<()> {
    let path = path(folders);
    let name = format!("{}/{}", model.provider_id, model.model_id);
    if text(&path).is_some_and(|text| named(&text).first() == Some(&name)) {
        return Ok(());
    }
    folders::make(&folders.state)?;
    let lock = path.with_extension("lock");
    let lock = own_file::open(&lock, OpenOptions::new().create(true).truncate(false).write(true))?;
    own_file::lock(&lock).with_context(|| format!("cannot lock {}", path.display()))?;
    let new = with(text(&path).as_deref().unwrap_or_default(), model);
    own::replace(&path, new.as_bytes()).with_context(|| format!("cannot write {}", path.display()))
}

fn path(folders: &Folders) -> PathBuf {
    folders.state.join("model.json")
}

fn text(path: &Path) -> Option<String> {
    let file = own_file::open(path, OpenOptions::new().read(true)).ok()?;
    let mut text = String::new();
    file.take(MAX_FILE).read_to_string(&mut text).ok()?;
    Some(text)
}

/// The file with `model` first in it. One that cannot be made out begins anew.
fn with(text: &str, model: &ModelRef) -> String {
    let mut file: Map<String, Value> = serde_json::from_str(text).unwrap_or_default();
    let first = json!({"providerID": model.provider_id, "modelID": model.model_id});
    let before = file.get("recent").and_then(Value::as_array).into_iter().flatten();
    let is_same = |one: &Value| ["providerID", "modelID"].into_iter().all(|key| one[key] == first[key]);
    let rest: Vec<Value> = before.filter(|one| !is_same(one)).take(KEPT - 1).cloned().collect();
    file.insert("recent".to_owned(), [vec![first], rest].concat().into());
    for (key, empty) in [("favorite", json!([])), ("variant", json!({}))] {
        file.entry(key).or_insert(empty);
    }
    Value::Object(file).to_string()
}

fn named(text: &str) -> Vec<String> {
    let file: Value = serde_json::from_str(text).unwrap_or_default();
    let list = file["recent"].as_array().into_iter().flatten().take(MOST);
    list.filter_map(|one| Some(format!("{}/{}", one["providerID"].as_str()?, one["modelID"].as_str()?))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_names_are_read_and_nonsense_is_not() {
        let text = r#"{"recent":[{"providerID":"a","modelID":"b/c"},{"providerID":7},{"providerID":"d","modelID":"e"}],"favorite":[]}"#;
        assert_eq!(named(text), ["a/b/c", "d/e"]);
        for text in ["", "[]", "{", r#"{"recent":{}}"#] {
            assert_eq!(named(text), [""; 0], "{text}");
        }
        let many = vec![json!({"providerID": "a", "modelID": "b"}); MOST + 1];
        assert_eq!(named(&json!({"recent": many}).to_string()).len(), MOST);
    }

    fn model(name: &str) -> ModelRef {
        let (vendor, id) = name.split_once('/').unwrap();
        ModelRef { provider_id: vendor.to_owned(), model_id: id.to_owned() }
    }

    #[test]
    fn the_last_one_comes_first_once_and_the_rest_of_the_file_stays() {
        let text = r#"{"recent":[{"providerID":"a","modelID":"b/c"},{"providerID":"d","modelID":"e"}],"favorite":[1],"more":2}"#;
        let new = with(text, &model("d/e"));
        assert_eq!(named(&new), ["d/e", "a/b/c"]);
        let file: Value = serde_json::from_str(&new).unwrap();
        assert_eq!((&file["favorite"], &file["variant"], &file["more"]), (&json!([1]), &json!({}), &json!(2)));
        for text in ["", "[]", "{", r#"{"recent":{}}"#] {
            assert_eq!(named(&with(text, &model("a/b"))), ["a/b"], "{text}");
        }
        let many = (0..100).fold(String::new(), |text, at| with(&text, &model(&format!("a/{at}"))));
        let names = named(&many);
        assert_eq!((names.len(), names[0].as_str()), (KEPT, "a/99"));
    }

    #[test]
    fn a_file_that_is_not_there_is_made_and_read() {
        let folder = tempfile::tempdir().unwrap();
        let below = |name: &str| folder.path().join(name);
        let folders = Folders {
            home: below("h"),
            config_home: below("f"),
            data: below("d"),
            state: below("s"),
            cache: below("c"),
        };
        assert_eq!(recent(&folders), [""; 0]);
        keep(&folders, &model("a/b")).unwrap();
        keep(&folders, &model("c/d")).unwrap();
        keep(&folders, &model("c/d")).unwrap();
        assert_eq!(recent(&folders), ["c/d", "a/b"]);
    }
}
