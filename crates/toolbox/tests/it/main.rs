//! The library as others use it.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::path::PathBuf;
use std::process::Command;

/// The program of `examples/`, which cargo builds beside the tests.
fn example(name: &str) -> PathBuf {
    let here = std::env::current_exe().unwrap();
    here.parent().and_then(|deps| deps.parent()).unwrap().join("examples").join(name)
}

#[test]
fn the_example_is_an_agent_within_its_rules() {
    let ran = Command::new(example("agent")).output().unwrap();
    let said = String::from_utf8(ran.stdout).unwrap();
    assert!(ran.status.success(), "{said}{}", String::from_utf8_lossy(&ran.stderr));
    let parts: Vec<&str> = said.split("\n---\n").collect();
    assert_eq!(parts[0], "Take notes.");
    assert!(parts[1].starts_with("Created ") && parts[1].contains("notes.md"), "{said}");
    // Nobody is there to say yes.
    assert!(parts[2].contains("main.rs") && parts[2].contains("edit"), "{said}");
    assert_eq!(parts[3].trim(), "notes.md");
}

#[test]
fn the_example_is_short() {
    let text = include_str!("../../examples/agent.rs");
    assert!(text.lines().count() < 80, "{}", text.lines().count());
}
