//! `haft doctor`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::support::{Ran, solid_folder};

/// A home and a project that are in no folder for temporary files.
struct Place(tempfile::TempDir);

impl Place {
    fn new(settings: &str) -> Self {
        let place = Self(tempfile::Builder::new().prefix("haft-doctor-").tempdir_in(solid_folder()).unwrap());
        std::fs::create_dir_all(place.at("project")).unwrap();
        std::fs::create_dir_all(place.at("home/.config/haft")).unwrap();
        std::fs::create_dir_all(place.at("home/.ssh")).unwrap();
        std::fs::write(place.at("home/.ssh/id_ed25519"), "a key\n").unwrap();
        std::fs::write(place.at("home/.config/haft/haft.json"), settings).unwrap();
        place
    }

    fn at(&self, name: &str) -> PathBuf {
        self.0.path().canonicalize().unwrap().join(name)
    }

    fn doctor(&self, args: &[&str]) -> Ran {
        let mut command = Command::new(env!("CARGO_BIN_EXE_haft"));
        command.arg("doctor").args(args).current_dir(self.at("project")).env_clear().stdin(Stdio::null());
        command.env("PATH", std::env::var_os("PATH").unwrap()).env("HOME", self.at("home"));
        Ran::from(command.output().unwrap())
    }
}

/// What is the status of each check, by its id.
fn statuses(report: &Value) -> BTreeMap<String, String> {
    let checks = report["checks"].as_array().unwrap().iter();
    let text = |check: &Value, key: &str| check[key].as_str().unwrap().to_owned();
    checks.map(|check| (text(check, "id"), text(check, "status"))).collect()
}

fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        if entry.file_type().unwrap().is_dir() {
            files(&entry.path(), found);
        } else {
            found.push(entry.path());
        }
    }
}

#[cfg(target_os = "linux")]
#[test]
fn what_is_promised_holds_on_each_rung() {
    for rung in ["namespaces", "landlock"] {
        let place = Place::new("{}");
        let ran = place.doctor(&["--json", "--rung", rung]);
        let report = ran.json();
        if report["rung"] != rung {
            eprintln!("not here: {}", report["not_used"]);
            continue;
        }
        assert_eq!(ran.code, 0, "{}", ran.out);
        let statuses = statuses(&report);
        assert!(statuses.values().all(|status| ["held", "repaired", "unsupported"].contains(&status.as_str())));
        assert!(report["checks"].as_array().unwrap().iter().all(|check| check["reason"].is_string()));
        for id in
            ["write-inside", "write-outside", "symlink", "own-data", "ssh-keys", "tcp", "udp", "signal", "descriptors"]
        {
            assert_eq!(statuses[id], "held", "{id} on {rung}");
        }
        let hook = if rung == "namespaces" { "held" } else { "repaired" };
        assert_eq!(statuses["git-config"], hook, "on {rung}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn without_a_cage_every_promise_of_it_fails() {
    let place = Place::new(r#"{"sandbox": {"mode": "off"}}"#);
    let ran = place.doctor(&["--json"]).ends(1);
    let report = ran.json();
    assert_eq!(report["rung"], "none");
    let statuses = statuses(&report);
    // What needs no cage, what this machine has nothing to try it with, what a system may hold by itself.
    let other = [
        "write-inside",
        "run-programs",
        "raw-devices",
        "credentials",
        "passwords",
        "memory",
        "signal",
        "terminal",
        "limits",
        "namespaces",
        "survive",
        "survive-unmarked",
        "git",
        "shell",
        "folders",
        "store",
        "audit",
        "settings",
    ];
    for (id, status) in statuses.iter().filter(|(id, _)| !other.contains(&id.as_str())) {
        assert_eq!(status, "failed", "{id} without a cage");
    }
    let why = report["checks"][2]["reason"].as_str().unwrap();
    assert!(why.contains("sandbox.mode is off"), "{why}");
}

#[test]
fn the_report_is_plain_text_where_it_is_no_terminal() {
    let place = Place::new("{}");
    let ran = place.doctor(&[]);
    assert!(
        ran.out.contains("\nFiles outside\n") && ran.out.contains("make a file outside the project"),
        "{}",
        ran.out
    );
    assert!(!ran.out.contains('\u{1b}') && ran.err.is_empty(), "{}", ran.err);
    assert!(ran.out.lines().all(|line| line.chars().count() <= 110), "{}", ran.out);
}

#[test]
fn nothing_is_left_behind() {
    let place = Place::new("{}");
    place.doctor(&["--json"]);
    let mut found = Vec::new();
    files(&place.at(""), &mut found);
    let own = [".ssh/id_ed25519", ".config/haft/haft.json"];
    found.retain(|path| {
        !own.iter().any(|own| path.ends_with(own)) && !path.starts_with(place.at("home/.local/state/haft/log"))
    });
    assert!(found.is_empty(), "{found:?}");
}

#[test]
fn a_broken_record_is_told() {
    let place = Place::new("{}");
    std::fs::create_dir_all(place.at("home/.local/share/haft")).unwrap();
    std::fs::write(place.at("home/.local/share/haft/audit.jsonl"), "{\"v\":1,\"n\":1}\n{}\n").unwrap();
    let report = place.doctor(&["--json"]).ends(1).json();
    assert_eq!(statuses(&report)["audit"], "failed");
}

#[test]
fn wrong_usage_is_told() {
    let place = Place::new("{}");
    place.doctor(&["--rung", "moon"]).ends(2).says(&["namespaces"]);
}
