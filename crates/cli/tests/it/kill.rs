//! Killed in the middle of anything, a session opens again and goes on.

use std::io::Read;

use serde_json::json;

use crate::support::{Machine, Served, fault, parts};

/// How often a run is killed.
const KILLS: u32 = 50;
/// How many bytes a run has said at most when it is killed: several steps' worth.
const SAID: usize = 900;

#[test]
fn a_session_killed_at_any_moment_opens_and_goes_on() {
    let machine = Machine::with(&[("a.txt", "one\n")]);
    // Every run after a kill plays the answer it had not got to, so the work goes through all of this in the end.
    let read = r#"{"answer":[{"reasoning":"Hm."},{"text":"Reading a file now.","pieces":9},{"call":"read","args":{"filePath":"a.txt"}},{"call":"bash","args":{"command":"echo working; echo done"}}]}"#;
    let write = r#"{"answer":[{"text":"Writing.","pieces":4},{"call":"write","args":{"filePath":"b.txt","content":"b\n"}},{"call":"reed","args":{}}]}"#;
    let answers: Vec<&str> = (0..300).map(|n| if n % 2 == 0 { read } else { write }).collect();
    let served = Served::plays(&answers);
    machine.use_server(&served.url());

    machine.haft(&["run", "begin", "--model", &machine.scenario(&[r#"{"answer":[{"text":"Begun."}]}"#])]).ok();
    for kill in 0..KILLS {
        let mut child =
            machine.start(&mut machine.command(&["run", "go on", "--continue", "--auto", "--model", "mock/m1"]));
        // Spread evenly by the golden ratio: from before it said anything to many steps into the work.
        let share = (f64::from(kill) * 0.618_034).fract();
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a small positive number")]
        let said = (share * SAID as f64) as usize;
        let mut heard = vec![0; said];
        child.stderr.take().unwrap().read_exact(&mut heard).unwrap();
        child.kill().unwrap();
        child.wait().unwrap();
        let session = machine.newest_session();
        assert!(parts(&session).iter().any(|part| part["text"] == "Begun."), "kill {kill}: the session is not whole");
    }

    for (number, body) in served.bodies().iter().enumerate() {
        assert_eq!(fault(body), None, "request {number}: {}", json!(body["messages"]));
    }
    // And it still comes to an end.
    let good = machine.scenario(&vec![r#"{"answer":[{"text":"Finished."}]}"#; 400]);
    assert_eq!(machine.haft(&["run", "finish", "--continue", "--model", &good]).ok().out, "Finished.\n");
    let session = machine.newest_session();
    for part in parts(&session) {
        let status = part["state"]["status"].as_str().unwrap_or("none");
        assert!(!["pending", "running"].contains(&status), "left open: {part}");
    }
    for message in session["messages"].as_array().unwrap() {
        let assistant = message["info"]["role"] == "assistant";
        assert!(!assistant || message["info"]["time"]["completed"].is_u64(), "left open: {message}");
    }
}
