//! Programs that are run to their end.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use haft_bench::agent::{Agent, Kind};
use haft_bench::child::{Ran, SHOWN, run};
use haft_bench::home::Home;

/// Runs a line of shell, in a home of its own.
fn shell(line: &str, deadline: Duration) -> Result<Ran, String> {
    let home = home();
    let mut command = home.command(&agent());
    run(command.args(["-c", line]), &home.folder().join("printed"), deadline).map_err(|error| format!("{error:#}"))
}

fn agent() -> Agent {
    Agent { kind: Kind::Haft, program: PathBuf::from("sh"), beside: Some(PathBuf::from("/beside")) }
}

fn home() -> Home {
    Home::new(&std::env::temp_dir()).unwrap()
}

const LONG: Duration = Duration::from_secs(60);

#[test]
fn what_children_take_counts() {
    // The work is done by a child of the child.
    let busy = "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done";
    let ran = shell(&format!("sh -c '{busy}'; true"), LONG).unwrap();
    let idle = shell("true", LONG).unwrap();
    assert!(ran.cpu > idle.cpu, "{ran:?} against {idle:?}");
    assert!(idle.peak > 100_000, "no program is that small: {idle:?}");
}

#[test]
fn a_failure_says_what_was_printed() {
    let error = shell("echo one; echo two >&2; exit 3", LONG).unwrap_err();
    assert_eq!(error, "sh ended with exit status: 3; it printed: one\ntwo");
    let error = shell("yes | head -c 100000; exit 3", LONG).unwrap_err();
    assert!(error.len() < SHOWN as usize + 100, "{} bytes", error.len());
}

#[test]
fn whoever_takes_too_long_is_stopped() {
    let error = shell("echo begun; sleep 600", Duration::from_millis(300)).unwrap_err();
    assert_eq!(error, "sh did not end within 300ms; it printed: begun");
}

#[test]
fn a_program_that_is_not_there_is_named() {
    let home = home();
    let error = run(&mut Command::new("/no/such/program"), &home.folder().join("printed"), LONG).unwrap_err();
    assert_eq!(error.to_string(), "cannot start /no/such/program");
}

#[test]
fn an_agent_sees_only_its_own_home() {
    let home = home();
    let printed = home.folder().join("printed");
    run(home.command(&agent()).args(["-c", "env; pwd"]), &printed, LONG).unwrap();
    let text = std::fs::read_to_string(&printed).unwrap();
    let value = |name: &str| text.lines().find_map(|line| line.strip_prefix(&format!("{name}=")));
    let at_home =
        |name: &str, below: &str| assert_eq!(value(name).map(Path::new), Some(&*home.folder().join(below)), "{name}");
    at_home("HOME", "");
    at_home("XDG_CONFIG_HOME", ".config");
    at_home("XDG_DATA_HOME", ".local/share");
    assert!(value("PATH").unwrap().ends_with(":/beside"));
    assert!(value("CARGO_MANIFEST_DIR").is_none(), "the tests' own variables are not passed on");
    let project = home.project().canonicalize().unwrap();
    assert_eq!(text.lines().last(), project.to_str());
}

#[test]
fn homes_are_apart_and_go() {
    let (one, other) = (home(), home());
    one.write("a/b.txt", "text").unwrap();
    assert!(one.project().join("a/b.txt").is_file() && !other.project().join("a").exists());
    let folders = [one.folder().to_owned(), one.project().to_owned()];
    assert_ne!(folders[0], folders[1]);
    drop(one);
    assert!(folders.iter().all(|folder| !folder.exists()) && other.folder().exists());
}
