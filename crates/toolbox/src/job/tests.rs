//! Jobs on a temporary project, with real shells.

use futures::future::join_all;
use serde_json::{Value, json};

use super::*;
use crate::scene::Scene;

/// Begins a job and gives its id.
async fn begin(scene: &Scene, command: &str) -> String {
    let output = scene.run("bash", json!({"command": command, "background": true})).await.unwrap();
    output.metadata["jobId"].as_str().unwrap().to_owned()
}

async fn look(scene: &Scene, input: Value) -> Output {
    scene.run("job_output", input).await.unwrap()
}

/// What a job wrote as its first line, looked at or not.
async fn first_line(job: &Job) -> String {
    job.until(|job| job.state().window.lines() > 0).await;
    job.state().window.text().trim().to_owned()
}

/// Something that waits until `touch NAME` is done.
fn waiting_for(name: &str) -> String {
    format!("until [ -e {name} ]; do sleep 0.01; done")
}

#[tokio::test]
async fn a_job_goes_on_behind_the_call() {
    let scene = Scene::new();
    let command = format!("echo begun; {}; echo went on; exit 3", waiting_for("go"));
    let input = json!({"command": command, "background": true, "description": "Wait"});
    let output = scene.run("bash", input).await.unwrap();
    assert_eq!(output.title, "Wait");
    assert!(output.text.starts_with("job_1 has run for "), "{}", output.text);
    assert!(output.text.ends_with(" See job_output, end it with job_kill.\n\nbegun\n"), "{}", output.text);
    let want = json!({"output": "begun\n", "exit": null, "truncated": false, "jobId": "job_1", "status": "running"});
    assert_eq!(Value::from(output.metadata), want);

    let output = look(&scene, json!({"id": "job_1"})).await;
    assert!(output.text.ends_with("\n\n(no new output)"), "{}", output.text);

    scene.put("go", "");
    let output = look(&scene, json!({"id": "1", "wait": 600_000})).await;
    assert!(output.text.contains("with exit code 3: echo begun;") && output.text.ends_with(".\n\nwent on\n"));
    let want = json!({"output": "went on\n", "exit": 3, "truncated": false, "jobId": "job_1", "status": "exited"});
    assert_eq!(Value::from(output.metadata), want);
    let again = look(&scene, json!({"id": "job_1", "wait": 600_000})).await;
    assert!(again.text.ends_with("\n\n(no new output)"));
}

#[tokio::test]
async fn what_fails_at_once_is_seen_at_once() {
    let scene = Scene::new();
    let output = scene.run("bash", json!({"command": "echo no; exit 127", "background": true})).await.unwrap();
    assert_eq!((&output.metadata["status"], &output.metadata["exit"]), (&json!("exited"), &json!(127)));
    assert!(output.text.contains("with exit code 127: ") && output.text.ends_with("\n\nno\n"), "{}", output.text);
}

#[tokio::test]
async fn one_can_wait_for_a_text() {
    let scene = Scene::new();
    let command = format!("{}; echo up; {}", waiting_for("go"), waiting_for("never"));
    let id = begin(&scene, &command).await;
    scene.put("go", "");
    let output = look(&scene, json!({"id": id, "until": "up", "wait": 600_000})).await;
    assert!(output.text.ends_with("\n\nup\n") && output.metadata["status"] == "running");
    // It was told already.
    let output = look(&scene, json!({"id": id, "until": "up", "wait": 1})).await;
    assert!(output.text.ends_with("(no new output)"));
}

#[tokio::test]
async fn a_wait_ends_with_the_turn_and_the_job_does_not() {
    let scene = Scene::new();
    let id = begin(&scene, "sleep 1000").await;
    scene.bench.cancel.cancel();
    let error = scene.run("job_output", json!({"id": id, "wait": 600_000})).await.unwrap_err();
    assert_eq!(error.kind(), "cancelled");
    assert_eq!(look(&scene, json!({"id": id})).await.metadata["status"], "running");
}

#[tokio::test]
async fn without_an_id_all_are_listed() {
    let scene = Scene::new();
    let none = look(&scene, json!({})).await;
    assert_eq!(none.text, "There are no jobs; bash with background: true begins one.");
    begin(&scene, "sleep   1000\n").await;
    begin(&scene, "true").await;
    let listed = look(&scene, json!({"id": ""})).await;
    let lines: Vec<&str> = listed.text.lines().collect();
    assert!(lines[0].starts_with("job_1 has run for ") && lines[0].ends_with(": sleep 1000"), "{lines:?}");
    assert!(lines[1].starts_with("job_2 ended after ") && lines[1].ends_with(" with exit code 0: true"), "{lines:?}");
    let want = json!([
        {"jobId": "job_1", "status": "running", "exit": null, "command": "sleep 1000"},
        {"jobId": "job_2", "status": "exited", "exit": 0, "command": "true"},
    ]);
    assert_eq!(listed.metadata["jobs"], want);
    for tool in ["job_output", "job_kill"] {
        scene.fails(tool, json!({"id": "job_7"}), "there is no job \"job_7\": there are job_1, job_2").await;
    }
}

#[tokio::test]
async fn a_job_can_be_ended() {
    let scene = Scene::new();
    let id = begin(&scene, "trap 'echo bye; exit' TERM; echo begun; while :; do sleep 0.01; done").await;
    let output = scene.run("job_kill", json!({"id": id})).await.unwrap();
    assert!(output.text.contains("job_1 was ended after ") && output.text.ends_with("bye\n"), "{}", output.text);
    assert_eq!((&output.metadata["status"], &output.metadata["exit"]), (&json!("killed"), &Value::Null));
    let again = scene.run("job_kill", json!({"id": id})).await.unwrap();
    assert!(again.text.ends_with("(no new output)"));
}

#[tokio::test]
async fn a_job_may_have_a_time() {
    let scene = Scene::new();
    let input = json!({"command": "sleep 1000", "background": true, "timeout": 400});
    let id = scene.run("bash", input).await.unwrap().metadata["jobId"].clone();
    let output = look(&scene, json!({"id": id, "wait": 600_000})).await;
    assert!(output.text.contains("was ended because it ran longer than 400 ms"), "{}", output.text);
    assert_eq!(output.metadata["status"], "killed");
}

#[tokio::test]
async fn a_job_needs_leave() {
    use haft_permission::Action;
    let scene = Scene::with_rules(&[("bash", "touch *", Action::Deny), ("edit", "*", Action::Allow)]);
    let error = scene.run("bash", json!({"command": "touch made", "background": true})).await.unwrap_err();
    assert_eq!(error.kind(), "denied");
    assert!(look(&scene, json!({})).await.text.starts_with("There are no jobs"));
}

#[tokio::test]
async fn a_job_may_have_a_terminal() {
    let scene = Scene::new();
    let input = json!({"command": "tty >/dev/null && echo yes; sleep 1000", "background": true, "pty": true});
    let id = scene.run("bash", input).await.unwrap().metadata["jobId"].clone();
    let output = scene.run("job_kill", json!({"id": id})).await.unwrap();
    assert_eq!(output.metadata["status"], "killed");
}

#[tokio::test]
async fn the_end_of_the_session_is_the_end_of_its_jobs() {
    let scene = Scene::new();
    for command in
        ["echo $$; sleep 1000", "setsid sh -c 'trap : TERM; echo $$; while :; do sleep 1000; done' & sleep 1000"]
    {
        begin(&scene, command).await;
    }
    let mut pids = Vec::new();
    for job in scene.bench.call().belongings().of::<Jobs>().all() {
        pids.push(first_line(&job).await);
    }
    // The session ends: nobody holds the jobs any more. Who watches one sees its end.
    let watched = scene.bench.call().belongings().of::<Jobs>().all();
    drop(scene);
    for (job, pid) in watched.iter().zip(&pids) {
        job.ended().await;
        let gone = !std::path::Path::new("/proc").join(pid).join("exe").exists();
        assert!(pid.parse::<u32>().is_ok() && gone, "{pid}");
    }
}

/// The program ends while a job runs: its runtime is gone before the job's end.
#[test]
#[cfg(target_os = "linux")]
fn the_end_of_the_program_is_the_end_of_its_jobs() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let scene = Scene::new();
    let pid = runtime.block_on(async {
        begin(&scene, "trap '' TERM; echo $$; while :; do sleep 1000; done").await;
        let job = scene.bench.call().belongings().of::<Jobs>().find("1").unwrap();
        first_line(&job).await.parse().unwrap()
    });
    let pid = rustix::process::Pid::from_raw(pid).unwrap();
    let process = rustix::process::pidfd_open(pid, rustix::process::PidfdFlags::empty()).unwrap();
    drop(runtime);
    drop(scene);
    let mut poll = [rustix::event::PollFd::new(&process, rustix::event::PollFlags::IN)];
    assert_eq!(rustix::event::poll(&mut poll, None), Ok(1));
}

#[tokio::test]
async fn no_more_run_than_may_and_no_more_are_remembered() {
    let scene = Scene::new();
    let jobs = scene.bench.call().belongings().of::<Jobs>();
    join_all((0..MAX_RUNNING).map(|_| begin(&scene, "sleep 1000"))).await;
    let full = format!("{MAX_RUNNING} jobs run already; end one with job_kill first: job_1, job_2,");
    scene.fails("bash", json!({"command": "touch made", "background": true}), &full).await;
    assert!(!std::path::Path::new(&scene.path("made")).exists());
    let output = scene.run("bash", json!({"command": "sleep 1000 & echo $!"})).await.unwrap();
    assert!(output.text.contains("was ended, because 16 jobs run already"), "{}", output.text);
    jobs.all().iter().for_each(|job| job.kill());
    for job in jobs.all() {
        job.ended().await;
    }
    for _ in 0..MAX_ENDED {
        let output = scene.run("bash", json!({"command": "true", "background": true})).await.unwrap();
        assert_eq!(output.metadata["status"], "exited");
    }
    let all = jobs.all();
    assert!(all.len() <= MAX_ENDED + 1, "{}", all.len());
    assert_eq!(all.last().unwrap().id(), format!("job_{}", MAX_RUNNING + MAX_ENDED));
    // Also where many end at once.
    join_all((0..MAX_RUNNING).map(|_| begin(&scene, "sleep 1000"))).await;
    jobs.all().iter().for_each(|job| job.kill());
    for job in jobs.all() {
        job.ended().await;
    }
    begin(&scene, "sleep 1000").await;
    assert_eq!(jobs.all().len(), MAX_ENDED + 1);
}

#[tokio::test]
async fn a_long_output_is_cut_and_kept() {
    let scene = Scene::new();
    let id = begin(&scene, "seq 1 300000").await;
    scene.bench.call().belongings().of::<Jobs>().find(&id).unwrap().ended().await;
    // It may have been looked at before it had ended.
    let output = look(&scene, json!({"id": id})).await;
    let whole = scene.bench.call().belongings().of::<Jobs>().find(&id).unwrap();
    let path = whole.state().path.clone().unwrap();
    let kept = std::fs::read_to_string(path).unwrap();
    assert_eq!(kept, (1..=300_000).map(|number| format!("{number}\n")).collect::<String>());
    assert_eq!(output.metadata["status"], "exited");
}

#[test]
fn a_command_is_told_in_one_line() {
    assert_eq!(one_line(" a\n  b\t"), "a b");
    assert_eq!(one_line(&"é".repeat(MAX_COMMAND + 1)), "é".repeat(MAX_COMMAND) + "…");
}
