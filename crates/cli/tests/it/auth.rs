//! Keys and signing in, through the built binary.

mod leaks;
mod organisation;
mod server;
mod typed;

use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use serde_json::{Value, json};

use crate::support::{Machine, Ran};
use server::SignIn;

fn file(machine: &Machine) -> PathBuf {
    machine.data().join("auth.json")
}

fn stored(machine: &Machine) -> Value {
    serde_json::from_slice(&std::fs::read(file(machine)).unwrap()).unwrap()
}

/// Stores `entries` as another haft would have.
fn store(machine: &Machine, entries: &Value) {
    std::fs::create_dir_all(machine.data()).unwrap();
    std::fs::write(file(machine), entries.to_string()).unwrap();
    std::fs::set_permissions(file(machine), std::fs::Permissions::from_mode(0o600)).unwrap();
}

/// `haft auth …` with `server` in the place of all servers that sign in.
fn with(machine: &Machine, server: &SignIn, args: &[&str]) -> Ran {
    Ran::from(machine.command(args).env("HAFT_AUTH_SERVER", server.url()).output().unwrap())
}

#[test]
fn a_key_is_stored_listed_and_forgotten_and_never_shown() {
    let machine = Machine::with(&[]);
    machine.haft(&["auth", "list"]).ok().says(&["no key is stored", "haft auth login"]);
    let ran = machine.piped(&["auth", "login", "groq", "--key-stdin"], "  gsk-marker-1\n").ok();
    let ran = ran.says(&["the key of Groq is stored", "haft models groq", "haft run --model groq/MODEL"]);
    assert!(!ran.err.contains("gsk-marker-1") && ran.out.is_empty(), "{ran:?}");
    assert_eq!(stored(&machine), json!({"groq": {"type": "api", "key": "gsk-marker-1"}}));
    assert_eq!(file(&machine).metadata().unwrap().permissions().mode() & 0o777, 0o600);

    let mut list = machine.command(&["auth", "list", "--json"]);
    let listed = Ran::from(list.env("MISTRAL_API_KEY", "marker-2").output().unwrap()).ok();
    assert!(!listed.out.contains("marker"), "{}", listed.out);
    let listed = listed.json();
    assert_eq!(listed["file"], json!(file(&machine)));
    assert_eq!(listed["stored"], json!([{"id": "groq", "type": "api", "metadata": {}}]));
    assert_eq!(listed["environment"], json!([{"id": "mistral", "variable": "MISTRAL_API_KEY"}]));
    let plain = machine.haft(&["auth", "list"]).ok();
    assert_eq!(plain.out, "groq  a key\n");

    machine.haft(&["auth", "logout", "xai"]).ends(2).says(&["nothing is stored for \"xai\"", "groq"]);
    machine.haft(&["auth", "logout", "groq"]).ok().says(&["is forgotten"]);
    assert_eq!(stored(&machine), json!({}));
    machine.haft(&["auth", "logout"]).ends(2);
}

#[test]
fn what_cannot_be_stored_is_refused_and_nothing_changes() {
    let machine = Machine::with(&[]);
    machine.haft(&["auth", "login"]).ends(2).says(&["nobody is there to choose a vendor"]);
    machine.haft(&["auth", "login", "groq"]).ends(2).says(&["nobody is there to type a key", "--key-stdin"]);
    machine.haft(&["auth", "login", "openai"]).ends(2).says(&["choose a method", "browser, device, key"]);
    machine.haft(&["auth", "login", "groq", "--method", "browser"]).ends(2).says(&["it has key"]);
    machine
        .piped(&["auth", "login", "gorq", "--key-stdin"], "k")
        .ends(2)
        .says(&["there is no vendor \"gorq\"", "--force"]);
    for wrong in ["", "  \n", "two\nlines", "a\u{1b}[2Jb"] {
        let ran = machine.piped(&["auth", "login", "groq", "--key-stdin"], wrong).ends(2);
        assert!(ran.err.contains("nothing was stored") && !ran.err.contains("two"), "{}", ran.err);
    }
    machine.piped(&["auth", "login", "groq", "--key-stdin", "--set", "a=b"], "k").ends(2).says(&["does not ask \"a\""]);
    assert!(!file(&machine).exists());
    machine.piped(&["auth", "login", "my-own", "--key-stdin", "--force"], "k").ok();
    assert_eq!(stored(&machine), json!({"my-own": {"type": "api", "key": "k"}}));
}

#[test]
fn what_a_vendor_asks_besides_is_kept_with_the_key() {
    let machine = Machine::with(&[("opencode.json", r#"{"provider": {"azure": {"name": "Azure"}}}"#)]);
    machine.piped(&["auth", "login", "azure", "--key-stdin", "--force"], "k").ends(2).says(&["--set resourceName=…"]);
    machine.piped(&["auth", "login", "azure", "--key-stdin", "--force", "--set", "resourceName=mine"], "k").ok();
    assert_eq!(stored(&machine), json!({"azure": {"type": "api", "key": "k", "metadata": {"resourceName": "mine"}}}));
    assert_eq!(machine.haft(&["auth", "list"]).ok().out, "azure  a key, with resourceName\n");
}

#[test]
fn who_may_not_be_signed_in_to_is_said() {
    let machine = Machine::with(&[]);
    let ran = machine.piped(&["auth", "login", "anthropic", "--key-stdin"], "sk-ant-1").ok();
    ran.says(&["Claude Pro and Max", "Anthropic's own programs alone", "console.anthropic.com"]);
}

#[test]
fn copilot_is_signed_in_to_with_a_code() {
    let machine = Machine::with(&[]);
    let server = SignIn::plays(vec![
        json!({
            "device_code": "d1", "user_code": "AB-12", "verification_uri": "https://github.com/login/device",
            "expires_in": 900, "interval": 1
        }),
        json!({"access_token": "gho-marker", "token_type": "bearer", "scope": "read:user"}),
    ]);
    let login = [
        "auth",
        "login",
        "github-copilot",
        "--force",
        "--set",
        "deploymentType=enterprise",
        "--set",
        "enterpriseUrl=co.ghe.com",
    ];
    let ran = with(&machine, &server, &login).ok();
    let ran = ran.says(&["https://github.com/login/device", "AB-12", "Give the code to nobody", "15 minutes"]);
    assert!(!ran.err.contains("gho-marker"), "{}", ran.err);
    let want = json!({"type": "oauth", "refresh": "gho-marker", "access": "gho-marker", "expires": 0, "enterpriseUrl": "co.ghe.com"});
    assert_eq!(stored(&machine), json!({ "github-copilot": want }));
    assert_eq!(server.paths(), ["/co.ghe.com/login/device/code", "/co.ghe.com/login/oauth/access_token"]);
    let listed = machine.haft(&["auth", "list"]).ok();
    assert_eq!(listed.out, "github-copilot  signed in at co.ghe.com\n");
    machine.haft(&["auth", "logout", "github-copilot"]).ok().says(&["https://github.com/settings/applications"]);
}

#[test]
fn a_sign_in_that_fails_stores_nothing() {
    let machine = Machine::with(&[]);
    let server = SignIn::plays(vec![json!({"error": "access_denied"})]);
    let ran = with(&machine, &server, &["auth", "login", "github-copilot", "--force"]).ends(1);
    assert!(ran.err.contains("says: access_denied"), "{}", ran.err);
    assert!(!file(&machine).exists());
    let mut elsewhere = machine.command(&["auth", "login", "github-copilot", "--force"]);
    let ran = Ran::from(elsewhere.env("HAFT_AUTH_SERVER", "https://evil.example").output().unwrap());
    ran.ends(1).says(&["must be an address of this machine"]);
}

#[test]
fn a_text_in_the_environment_stands_for_the_file() {
    let machine = Machine::with(&[]);
    let text = json!({"groq": {"type": "api", "key": "marker"}}).to_string();
    let run = |args: &[&str], text: &str| {
        let ran = Ran::from(machine.command(args).env("HAFT_AUTH_CONTENT", text).output().unwrap());
        assert!(!ran.out.contains("marker") && !ran.err.contains("marker"), "{ran:?}");
        ran
    };
    assert_eq!(run(&["auth", "list"], &text).ok().out, "groq  a key\n");
    run(&["auth", "login", "groq", "--key-stdin"], &text).ends(2).says(&["HAFT_AUTH_CONTENT stands for"]);
    run(&["auth", "logout", "groq"], &text).ends(2);
    run(&["auth", "list"], "{\"marker").ends(1).says(&["HAFT_AUTH_CONTENT cannot be made out: it is no JSON"]);
    assert!(!file(&machine).exists());
}

#[test]
fn a_file_that_is_not_as_it_should_be_is_told_of_and_in_nobodys_way() {
    let done = r#"{"answer":[{"text":"All done."}]}"#;
    let machine = Machine::with(&[]);
    let model = machine.scenario(&[done]);
    store(&machine, &json!({"groq": {"type": "api", "key": "k"}}));
    std::fs::set_permissions(file(&machine), std::fs::Permissions::from_mode(0o644)).unwrap();
    machine.haft(&["run", "--model", &model, "hi"]).ok().says(&["could be read by other users"]);
    assert_eq!(file(&machine).metadata().unwrap().permissions().mode() & 0o777, 0o600);

    std::fs::write(file(&machine), "{\"groq\": \"marker").unwrap();
    let ran = machine.haft(&["run", "--model", &model, "hi"]).ok().says(&["no stored key is used", "it is no JSON"]);
    assert!(!ran.err.contains("marker"), "{}", ran.err);
    assert_eq!(std::fs::read_to_string(file(&machine)).unwrap(), "{\"groq\": \"marker");
    machine.piped(&["auth", "login", "groq", "--key-stdin"], "k").ok().says(&["auth.json.broken-1"]);
    assert_eq!(std::fs::read_to_string(machine.data().join("auth.json.broken-1")).unwrap(), "{\"groq\": \"marker");
}

#[test]
fn opencodes_keys_are_taken_over_and_stay_where_they_are() {
    let machine = Machine::with(&[]);
    machine.haft(&["auth", "login", "--import-opencode"]).ends(2).says(&["there is no"]);
    let theirs = machine.root().join("data/opencode/auth.json");
    std::fs::create_dir_all(theirs.parent().unwrap()).unwrap();
    let text = json!({
        "groq": {"type": "api", "key": "marker-1", "label": "x"},
        "openai": {"type": "oauth", "refresh": "marker-2", "access": "a", "expires": 5},
        "anthropic": {"type": "oauth", "refresh": "marker-3", "access": "a", "expires": 5}
    })
    .to_string();
    std::fs::write(&theirs, &text).unwrap();
    machine.haft(&["auth", "list"]).ok().says(&["--import-opencode"]);
    let ran = machine.haft(&["auth", "login", "--import-opencode"]).ok();
    let ran = ran.says(&["groq: taken over", "openai: left out", "anthropic: left out", "1 of 3 taken over"]);
    assert!(!ran.err.contains("marker"), "{}", ran.err);
    assert_eq!(stored(&machine), json!({"groq": {"type": "api", "key": "marker-1", "label": "x"}}));
    assert_eq!(std::fs::read_to_string(&theirs).unwrap(), text);
    machine.haft(&["auth", "login", "--import-opencode"]).ok().says(&["groq: left out, it is stored already"]);
}
