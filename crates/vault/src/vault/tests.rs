use std::collections::HashMap;
use std::os::unix::fs::symlink;

use serde_json::json;

use super::*;
use crate::entry::{Api, OAuth};

struct Scene {
    _folder: tempfile::TempDir,
    vault: Vault,
    path: PathBuf,
}

fn scene() -> Scene {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("data/auth.json");
    Scene { vault: Vault::at(path.clone()), path, _folder: folder }
}

impl Scene {
    fn write(&self, text: &str) {
        own::folder(self.path.parent().unwrap()).unwrap();
        own::replace(&self.path, text.as_bytes()).unwrap();
    }

    fn json(&self) -> Value {
        serde_json::from_slice(&std::fs::read(&self.path).unwrap()).unwrap()
    }

    fn mode(&self) -> u32 {
        self.path.metadata().unwrap().mode() & 0o777
    }
}

#[test]
fn what_is_stored_is_there_for_the_next_process_and_the_user_alone() {
    let scene = scene();
    assert!(scene.vault.entries().unwrap().all.is_empty());
    scene.vault.put("openai", &Entry::key("k1")).unwrap();
    scene.vault.put("https://org.example/", &Entry::key("k2")).unwrap();
    let again = Vault::at(scene.path.clone());
    assert_eq!(again.get("openai").unwrap(), Some(Entry::key("k1")));
    assert_eq!(again.get("https://org.example").unwrap(), Some(Entry::key("k2")));
    assert_eq!(scene.mode(), 0o600);
    assert_eq!(scene.path.parent().unwrap().metadata().unwrap().mode() & 0o777, 0o700);
    assert!(again.remove("https://org.example//").unwrap());
    assert!(!again.remove("https://org.example").unwrap());
    assert_eq!(scene.json(), json!({"openai": {"type": "api", "key": "k1"}}));
}

#[test]
fn what_is_not_known_survives_a_change() {
    let scene = scene();
    let other = json!({"type": "passkey", "deep": [1, {"a": null}]});
    let known = json!({"type": "api", "key": "k", "label": "mine"});
    scene.write(&json!({"z": other, "a/": known, "openai": {"type": "api", "key": "old"}}).to_string());
    scene.vault.put("openai", &Entry::key("new")).unwrap();
    let want = json!({"z": other, "a/": known, "openai": {"type": "api", "key": "new"}});
    assert_eq!(scene.json(), want);
    // The order is that of the file, so that people find their way.
    assert_eq!(scene.json().as_object().unwrap().keys().collect::<Vec<_>>(), ["z", "a/", "openai"]);
    scene.vault.put("a", &Entry::key("x")).unwrap();
    assert!(scene.json().get("a/").is_none());
}

#[test]
fn a_file_that_others_can_read_is_closed_and_told_of() {
    let scene = scene();
    scene.write(r#"{"a": {"type": "api", "key": "k"}}"#);
    std::fs::set_permissions(&scene.path, Permissions::from_mode(0o644)).unwrap();
    let entries = scene.vault.entries().unwrap();
    assert!(entries.notice.unwrap().contains("could be read by other users"));
    assert_eq!((entries.all.len(), scene.mode()), (1, 0o600));
    assert_eq!(scene.vault.entries().unwrap().notice, None);
}

#[test]
fn a_file_of_another_program_is_only_looked_at() {
    let scene = scene();
    scene.write(r#"{"a": {"type": "api", "key": "k"}}"#);
    std::fs::set_permissions(&scene.path, Permissions::from_mode(0o644)).unwrap();
    assert_eq!(look(&scene.path).unwrap()["a"], Entry::key("k"));
    assert_eq!(scene.mode(), 0o644);
}

#[test]
fn a_file_in_which_others_have_a_hand_is_not_used() {
    let scene = scene();
    scene.write("{}");
    std::fs::set_permissions(&scene.path, Permissions::from_mode(0o620)).unwrap();
    assert!(matches!(scene.vault.entries(), Err(VaultError::Io(_))));
    assert!(matches!(scene.vault.put("a", &Entry::key("k")), Err(VaultError::Io(_))));
    std::fs::remove_file(&scene.path).unwrap();
    let target = scene.path.with_extension("target");
    std::fs::write(&target, "{}").unwrap();
    symlink(&target, &scene.path).unwrap();
    assert!(matches!(scene.vault.put("a", &Entry::key("k")), Err(VaultError::Io(_))));
    assert_eq!(std::fs::read_to_string(&target).unwrap(), "{}", "what a link points to is not touched");
}

#[test]
fn a_broken_file_loses_nothing() {
    for (text, why) in [("{\"a\": \"secret", "it is no JSON"), ("[1]", "it is no JSON object")] {
        let scene = scene();
        scene.write(text);
        let error = scene.vault.entries().unwrap_err().to_string();
        assert!(error.contains(why) && !error.contains("secret"), "{error}");
        assert_eq!(std::fs::read_to_string(&scene.path).unwrap(), text, "reading changes nothing");
        let notice = scene.vault.put("b", &Entry::key("k")).unwrap().unwrap();
        assert!(notice.contains("auth.json.broken-1") && !notice.contains("secret"), "{notice}");
        scene.write(text);
        let notice = scene.vault.put("b", &Entry::key("k")).unwrap().unwrap();
        assert!(notice.contains("auth.json.broken-2"), "{notice}");
        for number in [1, 2] {
            let aside = scene.path.with_extension(format!("json.broken-{number}"));
            assert_eq!(std::fs::read_to_string(aside).unwrap(), text);
        }
        assert_eq!(scene.json(), json!({"b": {"type": "api", "key": "k"}}));
    }
}

#[test]
fn it_does_not_grow_without_a_bound() {
    let scene = scene();
    let many: Map<_, _> = (0..MAX_ENTRIES).map(|n| (format!("v{n}"), json!({"type": "api", "key": "k"}))).collect();
    scene.write(&Value::Object(many).to_string());
    assert!(matches!(scene.vault.put("one-more", &Entry::key("k")), Err(VaultError::TooMuch(_))));
    scene.vault.put("v0", &Entry::key("other")).unwrap();
    assert!(matches!(scene.vault.put("v1", &Entry::key("k".repeat(MAX_TEXT + 1))), Err(VaultError::TooMuch(_))));
    scene.write(&" ".repeat(MAX_FILE as usize + 1));
    assert!(matches!(scene.vault.entries(), Err(VaultError::Broken { .. })));
    let scene = self::scene();
    for number in 1..=MAX_ASIDE {
        scene.write("broken");
        scene.vault.put("a", &Entry::key("k")).unwrap_or_else(|error| panic!("{number}: {error}"));
    }
    scene.write("broken");
    assert!(matches!(scene.vault.put("a", &Entry::key("k")), Err(VaultError::TooMuch(_))));
    assert_eq!(std::fs::read_to_string(&scene.path).unwrap(), "broken");
}

#[test]
fn many_at_once_lose_nothing() {
    let scene = scene();
    std::thread::scope(|scope| {
        for n in 0..8 {
            let vault = Vault::at(scene.path.clone());
            scope.spawn(move || vault.put(&format!("v{n}"), &Entry::key("k")).unwrap());
        }
    });
    assert_eq!(scene.json().as_object().unwrap().len(), 8);
}

#[test]
fn one_at_a_time_refreshes() {
    let scene = scene();
    let held = scene.vault.hold().unwrap();
    assert!(held.is_some());
    assert!(Vault::at(scene.path.clone()).hold().unwrap().is_none());
    // Others can still read and write.
    scene.vault.put("a", &Entry::key("k")).unwrap();
    drop(held);
    assert!(scene.vault.hold().unwrap().is_some());
}

#[test]
fn a_text_stands_for_the_file() {
    let vault = Vault::given(r#"{"a": {"type": "api", "key": "k"}}"#).unwrap();
    assert_eq!((vault.path(), vault.get("a").unwrap()), (None, Some(Entry::key("k"))));
    let tokens = Entry::OAuth(OAuth { refresh: "r".to_owned(), ..OAuth::default() });
    vault.put("a", &tokens).unwrap();
    assert_eq!(vault.clone().get("a").unwrap(), Some(tokens), "refreshed tokens live as long as the process");
    assert!(vault.hold().unwrap().is_some());
    assert_eq!(Vault::given("{\"a\": marker").unwrap_err(), "it is no JSON");
    assert!(!format!("{vault:?}").contains('k'));
}

#[derive(Default)]
struct Ring(Mutex<HashMap<String, String>>);

impl Keyring for Ring {
    fn get(&self, id: &str) -> Result<Option<String>, String> {
        Ok(self.0.lock().unwrap().get(id).cloned())
    }

    fn put(&self, id: &str, text: &str) -> Result<(), String> {
        if id == "locked" {
            return Err("it is locked".to_owned());
        }
        self.0.lock().unwrap().insert(id.to_owned(), text.to_owned());
        Ok(())
    }

    fn remove(&self, id: &str) -> Result<(), String> {
        self.0.lock().unwrap().remove(id);
        Ok(())
    }
}

#[test]
fn in_a_keyring_the_file_only_points_to_it() {
    let scene = scene();
    let ring = Arc::new(Ring::default());
    let vault = scene.vault.clone().with_keyring(ring.clone(), true);
    let metadata = json!({"accountId": "a"}).as_object().unwrap().clone();
    let entry = Entry::Api(Api { key: "marker".to_owned(), metadata, ..Api::default() });
    vault.put("openai", &entry).unwrap();
    assert_eq!(scene.json(), json!({"openai": {"type": "keyring"}}));
    assert_eq!(vault.get("openai").unwrap(), Some(entry));
    assert_eq!(vault.entries().unwrap().all["openai"], Entry::Elsewhere);
    // Renewed by a run that stores nothing of its own there, it stays there.
    scene.vault.clone().with_keyring(ring.clone(), false).put("openai", &Entry::key("newer")).unwrap();
    assert_eq!(
        (vault.get("openai").unwrap(), scene.json()["openai"]["type"].as_str()),
        (Some(Entry::key("newer")), Some("keyring"))
    );
    let without = scene.vault.get("openai").unwrap_err().to_string();
    assert!(without.contains("openai") && without.contains("\"store\": \"file\""), "{without}");
    assert!(matches!(vault.put("locked", &Entry::key("k")), Err(VaultError::Keyring(_))));
    assert!(vault.remove("openai").unwrap());
    assert!(ring.0.lock().unwrap().is_empty());
    // What stands in the file is used as long as it is there.
    scene.vault.put("b", &Entry::key("k")).unwrap();
    assert_eq!(vault.get("b").unwrap(), Some(Entry::key("k")));
}
