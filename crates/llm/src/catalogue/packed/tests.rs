//! What goes into the packed list comes out again, and what is none is refused.

use serde_json::{Value, json};

use super::*;
use crate::catalogue::source::{MAX_MODELS, MAX_NAME};

/// The SHA-256 of the list that `data/models.pack` was made from, as `sha256sum` writes it.
const SOURCE: &str = include_str!("../../../data/models.sha256");

fn sha256(text: &str) -> String {
    let digest = ring::digest::digest(&ring::digest::SHA256, text.as_bytes());
    digest.as_ref().iter().map(|byte| format!("{byte:02x}")).collect()
}

#[test]
fn the_built_in_list_is_the_one_that_it_was_made_from() {
    let published = Catalogue::built_in().published().unwrap();
    assert_eq!(sha256(&published), SOURCE.split_whitespace().next().unwrap());
}

#[test]
fn every_model_of_the_built_in_list_can_be_read() {
    let catalogue = Catalogue::built_in();
    let list: Value = serde_json::from_str(&catalogue.published().unwrap()).unwrap();
    let vendors = list.as_object().unwrap();
    assert!(vendors.len() > 100, "{}", vendors.len());
    for (id, vendor) in vendors {
        let models = vendor["models"].as_object().unwrap();
        let known = catalogue.vendor(id).unwrap();
        assert_eq!((known.count, &*known.npm), (models.len(), vendor["npm"].as_str().unwrap()), "{id}");
        let read = catalogue.models(id);
        for (name, model) in models {
            let (_, read) = read.iter().find(|(one, _)| one == name).unwrap();
            assert_eq!(read.name, model["name"], "{id}/{name}");
            assert_eq!(read.limit.context, model["limit"]["context"], "{id}/{name}");
            assert_eq!(read.tool_call.map(Value::from).unwrap_or_default(), model["tool_call"], "{id}/{name}");
            let price = model.pointer("/cost/output").and_then(Value::as_f64);
            assert_eq!(read.cost.as_ref().map(|cost| cost.usual.output), price, "{id}/{name}");
        }
    }
}

fn list() -> Value {
    let model =
        |id: &str| json!({"id": id, "name": id, "last_updated": "2026-01-02", "limit": {"context": 9, "output": 3}});
    json!({
        "one": {"id": "one", "name": "One", "env": ["ONE_KEY"], "npm": "@ai-sdk/openai", "models": {"a": model("a"), "b": model("b")}},
        "two": {"id": "two", "name": "Two", "env": [], "npm": "x", "api": "https://two.example/v1", "models": {
            "fast": {"id": "fast", "name": "F", "last_updated": "2026-03-04", "experimental": {"modes": {"er": {}}}},
            "broken": {"id": 7},
        }},
    })
}

fn open(list: &Value) -> Result<Catalogue, CatalogueError> {
    Catalogue::open(Catalogue::pack(list.to_string().as_bytes())?.into())
}

#[test]
fn what_is_packed_comes_out_again() {
    let catalogue = open(&list()).unwrap();
    assert_eq!(catalogue.published().unwrap(), list().to_string());
    assert_eq!(catalogue.newest(), "2026-03-04");
    let ids: Vec<_> = catalogue.vendors().iter().map(|vendor| (&*vendor.id, vendor.count)).collect();
    assert_eq!(ids[..2], [("one", 2), ("two", 1)]);
    assert!(ids.iter().any(|(id, _)| *id == "ollama"), "{ids:?}");
    assert_eq!(catalogue.model("one", "b").unwrap().limit.context, 9);
    assert_eq!(catalogue.model("two", "fast-er").unwrap().name, "F Er");
    assert_eq!(catalogue.ids("one"), ["a", "b"]);
    let names: Vec<_> = catalogue.models("two").into_iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["fast", "fast-er"]);
    for (vendor, id) in [("one", "c"), ("two", "broken"), ("two", "fast-x"), ("three", "a"), ("ollama", "a")] {
        assert_eq!(catalogue.model(vendor, id), None, "{vendor}/{id}");
    }
}

#[test]
fn a_list_that_is_none_is_refused() {
    let with = |key: &str, value: Value| {
        let mut list = list();
        list["one"][key] = value;
        open(&list).map(|_| ()).unwrap_err().to_string()
    };
    let row = |got: String, want: &str| assert!(got.contains(want), "{got}");
    row(with("api", json!("http://one.example/v1")), "the vendor \"one\" has the address \"http://one.example/v1\"");
    row(with("api", json!("ftp://127.0.0.1")), "which is not encrypted");
    row(with("npm", json!("")), "no driver");
    row(with("env", json!(["A B"])), "variables that cannot be names");
    row(with("models", json!([])), "the vendor \"one\"");
    let many: serde_json::Map<_, _> = (0..=MAX_MODELS).map(|at| (at.to_string(), json!({}))).collect();
    row(with("models", many.into()), "too many models");
    for text in ["", "<html>", "[]", "{}", r#"{"a": 1}"#, r#"{"a\nb": {"npm": "x", "models": {}}}"#] {
        assert!(Catalogue::pack(text.as_bytes()).is_err(), "{text}");
    }
    let long = json!({"x".repeat(MAX_NAME + 1): {"npm": "x", "models": {}}}).to_string();
    assert!(Catalogue::pack(long.as_bytes()).is_err());
    let vendors: serde_json::Map<_, _> = (0..=MAX_VENDORS).map(|at| (at.to_string(), json!({}))).collect();
    assert!(Catalogue::pack(Value::from(vendors).to_string().as_bytes()).is_err());
    assert_eq!(Catalogue::pack(&vec![b' '; MAX_SOURCE + 1]), Err(CatalogueError::TooLarge(MAX_SOURCE as u64)));
}

#[test]
fn an_address_of_one_model_must_be_encrypted_too() {
    let mut list = list();
    list["one"]["models"]["a"]["provider"] = json!({"api": "http://a.example"});
    assert_eq!(open(&list).unwrap().vendor("one").unwrap().count, 1);
}

#[test]
fn a_broken_file_is_refused_or_has_no_models() {
    let whole = Catalogue::pack(list().to_string().as_bytes()).unwrap();
    assert!(Catalogue::open(vec![0; usize::try_from(MAX_PACKED).unwrap() + 1].into()).is_err());
    for end in 0..whole.len() {
        assert!(Catalogue::open(whole[..end].to_vec().into()).is_err(), "cut at {end}");
    }
    for at in 0..whole.len() {
        let mut bytes = whole.clone();
        bytes[at] ^= 0x15;
        // Whatever it then says, nothing panics and nothing grows without limit.
        if let Ok(catalogue) = Catalogue::open(bytes.into()) {
            let _ = (catalogue.models("one"), catalogue.model("two", "fast-er"), catalogue.published());
        }
    }
}
