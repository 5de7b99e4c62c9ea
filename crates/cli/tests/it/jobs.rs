//! Commands that go on behind their calls, and the end of the program.

use serde_json::json;

use crate::support::{Machine, is_running, wait_for, wait_until};

/// Begins a job and leaves something else running; each writes its number to a file.
fn begins() -> String {
    let job = "trap '' TERM; echo $$ > job.pid; while :; do sleep 1000; done";
    let left =
        "setsid sh -c 'echo $$ > left.pid; exec sleep 1000' > /dev/null 2>&1 & while ! [ -s left.pid ]; do :; done";
    let call = |command: &str, background: bool| json!({"call": "bash", "args": {"command": command, "background": background}});
    json!({"answer": [call(job, true), call(left, false)]}).to_string()
}

fn machine() -> Machine {
    Machine::uncaged(&[("opencode.json", r#"{"permission": {"bash": "allow", "edit": "allow"}}"#)])
}

fn number(machine: &Machine, name: &str) -> u32 {
    let path = machine.project().join(name);
    wait_for(&path, "\n");
    std::fs::read_to_string(path).unwrap().trim().parse().unwrap()
}

#[test]
fn no_job_outlives_the_run() {
    let machine = machine();
    let model = machine.scenario(&[&begins(), r#"{"answer":[{"text":"Done."}]}"#]);
    machine.haft(&["run", "begin", "--model", &model]).ok();
    for name in ["job.pid", "left.pid"] {
        let pid = number(&machine, name);
        wait_until("the end of what the run left", || !is_running(pid));
    }
}

#[test]
fn no_job_outlives_a_run_that_is_killed() {
    let machine = machine();
    let model = machine.scenario(&[&begins(), r#"{"answer":[{"text":"Now I wait."},{"hang":true}]}"#]);
    let mut child = machine.start(&mut machine.command(&["run", "begin", "--model", &model]));
    let pids = ["job.pid", "left.pid"].map(|name| number(&machine, name));
    assert!(pids.iter().all(|&pid| is_running(pid)));
    child.kill().unwrap();
    child.wait().unwrap();
    for pid in pids {
        wait_until("the end of what the run left", || !is_running(pid));
    }
}
