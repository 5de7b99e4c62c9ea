//! `haft run` against a model served over HTTP, and against scenarios.

use serde_json::{Value, json};

use crate::support::{Machine, Served, fault, is_running, parts, wait_for, wait_until};

const FIX: [&str; 3] = [
    r#"{"answer":[{"reasoning":"Look first."},{"text":"I will read it."},{"call":"read","args":{"filePath":"a.txt"},"id":"c1"},{"usage":{"input":800,"output":40,"reasoning":10,"cache_read":200}}]}"#,
    r#"{"answer":[{"call":"edit","args":{"filePath":"a.txt","oldString":"one","newString":"two"},"id":"c2"},{"usage":{"input":800,"output":40,"reasoning":10,"cache_read":200}}]}"#,
    r#"{"answer":[{"text":"All done.","pieces":3},{"usage":{"input":800,"output":40,"reasoning":10,"cache_read":200}}]}"#,
];

#[test]
fn one_prompt_goes_all_the_way_through() {
    let machine = Machine::with(&[("a.txt", "one\n")]);
    let served = Served::plays(&FIX);
    machine.use_server(&served.url());
    let mut command = machine.command(&["run", "change", "it"]);
    let ran = crate::support::Ran::from(command.env("MOCK_KEY", "secret-key").output().unwrap()).ok();

    assert_eq!(ran.out, "All done.\n", "the final answer alone is on stdout");
    for shown in
        ["> build · mock/m1", "→ Read a.txt", "← Edit a.txt +1 -1", "-one", "+two", "continue: haft run --session ses_"]
    {
        assert!(ran.err.contains(shown), "{shown:?} is not in: {}", ran.err);
    }
    assert!(!ran.err.contains("tokens in"), "what was used is for a person at a terminal: {}", ran.err);
    assert_eq!(machine.read("a.txt"), "two\n");

    let bodies = served.bodies();
    assert_eq!(bodies.len(), 3);
    assert_eq!(served.header("authorization").as_deref(), Some("Bearer secret-key"));
    assert_eq!(served.header("x-team").as_deref(), Some("blue"));
    assert_eq!(bodies[0]["model"], "m1");
    assert_eq!(bodies[0]["max_tokens"], 8000);
    assert_eq!(bodies[0]["messages"][1], json!({"role": "user", "content": "change it"}));
    for body in &bodies {
        assert_eq!(fault(body), None);
    }
    let session = machine.newest_session();
    assert_eq!(session["info"]["title"], "change it");
    assert_eq!(
        session["info"]["tokens"],
        json!({"input": 2400, "output": 120, "reasoning": 30, "cache": {"read": 600, "write": 0}})
    );
    assert!(!std::fs::read_to_string(machine.root().join("state/haft/log/haft.log")).unwrap().contains("secret-key"));
}

#[test]
fn a_longer_history_begins_with_the_shorter_ones_bytes() {
    let machine = Machine::with(&[("a.txt", "one\n")]);
    let served = Served::plays(&FIX);
    machine.use_server(&served.url());
    machine.haft(&["run", "change it"]).ok();
    let bodies = served.bodies();
    for pair in bodies.windows(2) {
        assert_eq!(pair[0]["tools"].to_string(), pair[1]["tools"].to_string());
        let (shorter, longer) = (pair[0]["messages"].to_string(), pair[1]["messages"].to_string());
        assert!(longer.starts_with(shorter.trim_end_matches(']')), "{shorter}\n{longer}");
    }
}

#[test]
fn the_lines_of_format_json_are_those_clients_know() {
    let machine = Machine::with(&[("a.txt", "one\n")]);
    let model = machine.scenario(&FIX);
    let ran = machine.haft(&["run", "change it", "--model", &model, "--format", "json", "--thinking"]).ok();
    let lines = ran.lines();
    let kinds: Vec<&str> = lines.iter().map(|line| line["type"].as_str().unwrap()).collect();
    assert_eq!(
        kinds,
        [
            "step_start",
            "reasoning",
            "text",
            "tool_use",
            "step_finish",
            "step_start",
            "tool_use",
            "step_finish",
            "step_start",
            "text",
            "step_finish"
        ]
    );
    let session = lines[0]["sessionID"].as_str().unwrap();
    for line in &lines {
        let keys: Vec<&String> = line.as_object().unwrap().keys().collect();
        assert_eq!(keys, ["type", "timestamp", "sessionID", "part"]);
        assert_eq!(line["sessionID"], session);
        assert_eq!(line["part"]["sessionID"], session);
        assert!(line["timestamp"].is_u64() && line["part"]["id"].as_str().unwrap().starts_with("prt_"));
    }
    let tool = &lines[3]["part"];
    assert_eq!((&tool["tool"], &tool["callID"]), (&json!("read"), &json!("c1")));
    assert_eq!(tool["state"]["status"], "completed");
    assert_eq!(tool["state"]["input"], json!({"filePath": "a.txt"}));
    assert!(tool["state"]["time"]["start"].as_u64() <= tool["state"]["time"]["end"].as_u64());
    let finish = &lines[4]["part"];
    assert_eq!(finish["reason"], "tool-calls");
    assert_eq!(finish["tokens"]["cache"], json!({"read": 200, "write": 0}));
    assert_eq!(lines[9]["part"]["text"], "All done.");
}

#[test]
fn an_answer_that_broke_off_is_no_result_and_the_next_try_is_told() {
    let machine = Machine::with(&[]);
    let broken =
        r#"{"answer":[{"text":"Half an answ"},{"error":{"kind":"rate_limited","message":"slow down","after_ms":10}}]}"#;
    let model = machine.scenario(&[broken, r#"{"answer":[{"text":"A whole answer."}]}"#]);
    let ran = machine.haft(&["run", "go", "--model", &model]).ok();
    assert_eq!(ran.out, "A whole answer.\n");
    ran.says(&["… try 2", "slow down"]);
    let ran = machine.haft(&["run", "go", "--model", &model, "--format", "json"]).ok();
    let texts: Vec<Value> = ran.lines().iter().filter(|line| line["type"] == "text").cloned().collect();
    assert_eq!(texts.len(), 1, "{texts:?}");
    assert_eq!(texts[0]["part"]["text"], "A whole answer.");
    ran.says(&["… try 2"]);
}

#[test]
fn a_prompt_comes_from_words_standard_input_and_files() {
    let machine = Machine::with(&[("notes.md", "# Notes\nbuy milk\n")]);
    let served = Served::plays(&[r#"{"answer":[{"text":"ok"}]}"#]);
    machine.use_server(&served.url());
    machine.piped(&["run", "look", "at", "this", "--file", "notes.md"], "piped words\n").ok();
    let body = &served.bodies()[0];
    let sent = body["messages"][1]["content"].to_string();
    for part in ["look at this\\npiped words", "buy milk", "notes.md"] {
        assert!(sent.contains(part), "{part:?} is not in: {sent}");
    }
    machine.haft(&["run", "x", "--file", "none.md"]).ends(1).says(&["cannot attach", "none.md", "no such file"]);
    machine.haft(&["run"]).ends(2).says(&["there is no prompt"]);
}

#[test]
fn a_session_goes_on_where_it_was() {
    let machine = Machine::with(&[("a.txt", "one\n")]);
    let served = Served::plays(&[
        r#"{"answer":[{"text":"First."}]}"#,
        r#"{"answer":[{"text":"Second."}]}"#,
        r#"{"answer":[{"text":"Third."}]}"#,
    ]);
    machine.use_server(&served.url());
    machine.haft(&["run", "a"]).ok();
    let id = machine.newest_session()["info"]["id"].as_str().unwrap().to_owned();
    assert_eq!(machine.haft(&["run", "b", "--continue"]).ok().out, "Second.\n");
    // From another folder, too.
    let elsewhere = machine.root().join("home");
    std::fs::create_dir_all(&elsewhere).unwrap();
    let ran = machine.command(&["run", "c", "--session", &id]).current_dir(&elsewhere).output().unwrap();
    assert_eq!(String::from_utf8(ran.stdout).unwrap(), "Third.\n");
    let said: Vec<Value> = served.bodies()[2]["messages"].as_array().unwrap()[1..].to_vec();
    let said: Vec<&str> = said.iter().map(|message| message["content"].as_str().unwrap()).collect();
    assert_eq!(said, ["a", "First.", "b", "Second.", "c"]);
    machine.haft(&["run", "x", "--session", "ses_none"]).ends(1).says(&["there is no session ses_none"]);
    machine
        .haft(&["run", "x", "--continue", "--dir", elsewhere.to_str().unwrap()])
        .ends(2)
        .says(&["no session of", "leave out --continue"]);
}

#[test]
fn the_log_tells_each_call_with_its_ids_and_no_content() {
    let machine = Machine::with(&[("a.txt", "very private words\n")]);
    let model = machine.scenario(&[
        r#"{"answer":[{"call":"read","args":{"filePath":"a.txt"},"id":"c1"}]}"#,
        r#"{"answer":[{"text":"ok"}]}"#,
    ]);
    machine.haft(&["run", "go", "--model", &model]).ok();
    let session = machine.newest_session();
    let log = std::fs::read_to_string(machine.root().join("state/haft/log/haft.log")).unwrap();
    let line = log.lines().find(|line| line.contains("tool ended")).unwrap();
    for field in ["tool.name=\"read\"", "tool.call_id=c1", session["info"]["id"].as_str().unwrap(), "message.id=msg_"] {
        assert!(line.contains(field), "{field} is not in: {line}");
    }
    assert!(!log.contains("very private words"), "{log}");
}

#[test]
fn a_recording_plays_again() {
    let machine = Machine::with(&[("a.txt", "one\n")]);
    let model = machine.scenario(&FIX);
    let tape = machine.root().join("tape.jsonl");
    let tape = tape.to_str().unwrap();
    let first = machine.haft(&["run", "go", "--model", &model, "--record", tape]).ok().out;
    machine.write("a.txt", "one\n");
    let again = machine.haft(&["run", "go", "--model", &format!("replay/{tape}")]).ok().out;
    assert_eq!((first.as_str(), again.as_str()), ("All done.\n", "All done.\n"));
    assert_eq!(machine.read("a.txt"), "two\n");
    machine.haft(&["run", "go", "--model", &model, "--record", "/nowhere/tape"]).ends(1).says(&["cannot record"]);
    machine.haft(&["run", "go", "--model", &model, "--record", tape]).ends(1).says(&["name a new file"]);
    // Nothing recorded, nothing left.
    let none = machine.root().join("none.jsonl");
    let empty = machine.scenario(&[]);
    machine.haft(&["run", "go", "--model", &empty, "--record", none.to_str().unwrap()]).ends(1);
    assert!(!none.exists());
}

#[test]
fn equal_runs_with_a_scripted_clock_print_equal_bytes() {
    let machine = Machine::with(&[("a.txt", "one\n")]);
    let model = machine.scenario(&FIX);
    let run = || {
        machine.write("a.txt", "one\n");
        let mut command = machine.command(&["run", "go", "--model", &model, "--format", "json"]);
        let output = command.env("HAFT_CLOCK", "1800000000000").env("HAFT_DB", ":memory:").output().unwrap();
        crate::support::Ran::from(output).ok().out
    };
    assert_eq!(run(), run());
}

#[test]
fn without_anybody_to_ask_a_command_is_denied_and_the_model_goes_on() {
    let machine = Machine::uncaged(&[]);
    let answers =
        [r#"{"answer":[{"call":"bash","args":{"command":"touch made"}}]}"#, r#"{"answer":[{"text":"Then not."}]}"#];
    let served = Served::plays(&answers);
    machine.use_server(&served.url());
    let ran = machine.haft(&["run", "make it"]).ok();
    assert!(ran.err.contains("✗ bash touch made failed") && ran.out == "Then not.\n", "{ran:?}");
    assert!(!machine.project().join("made").exists());
    let told = served.bodies()[1]["messages"].to_string();
    assert!(told.contains("nobody is there"), "{told}");

    machine.haft(&["run", "make it", "--auto"]).ok();
    assert!(machine.project().join("made").exists());
}

#[test]
fn ctrl_c_stops_the_command_and_everything_it_started() {
    let machine = Machine::uncaged(&[("opencode.json", r#"{"permission": {"bash": "allow"}}"#)]);
    let command = "sh -c 'echo $$ > inner.pid; exec sleep 1000' & echo $$ > outer.pid; wait";
    let call = json!({"answer": [{"text": "Waiting."}, {"call": "bash", "args": {"command": command}}]}).to_string();
    let model = machine.scenario(&[&call]);
    let child = machine.start(&mut machine.command(&["run", "wait", "--model", &model]));
    let pid = |name: &str| -> u32 {
        let path = machine.project().join(name);
        wait_for(&path, "\n");
        std::fs::read_to_string(path).unwrap().trim().parse().unwrap()
    };
    let (inner, outer) = (pid("inner.pid"), pid("outer.pid"));
    assert!(is_running(inner) && is_running(outer));
    interrupt(child.id());
    let ran = crate::support::Ran::from(child.wait_with_output().unwrap()).ends(130);
    assert!(ran.err.contains("stopped; what was said and done is kept"), "{}", ran.err);
    assert!(!is_running(inner) && !is_running(outer));

    let session = machine.newest_session();
    for part in parts(&session) {
        let status = part["state"]["status"].as_str().unwrap_or("none");
        assert!(!["pending", "running"].contains(&status), "{part}");
    }
    let answer = session["messages"].as_array().unwrap().last().unwrap();
    assert_eq!(answer["info"]["error"]["name"], "MessageAbortedError");
    assert!(answer["info"]["time"]["completed"].is_u64());
}

#[test]
fn a_second_ctrl_c_ends_a_command_that_does_not_want_to() {
    let machine = Machine::uncaged(&[("opencode.json", r#"{"permission": {"bash": "allow"}}"#)]);
    let command = "trap '' TERM INT; echo $$ > stubborn.pid; while :; do sleep 1000; done";
    let call = json!({"answer": [{"call": "bash", "args": {"command": command}}]}).to_string();
    let model = machine.scenario(&[&call]);
    let child = machine.start(&mut machine.command(&["run", "wait", "--model", &model]));
    let path = machine.project().join("stubborn.pid");
    wait_for(&path, "\n");
    let pid: u32 = std::fs::read_to_string(path).unwrap().trim().parse().unwrap();
    interrupt(child.id());
    interrupt(child.id());
    crate::support::Ran::from(child.wait_with_output().unwrap()).ends(130);
    wait_until("the end of the command", || !is_running(pid));
}

#[test]
fn a_program_that_outlives_its_terminal_is_not_stopped_by_its_end() {
    let machine = Machine::with(&[]);
    let served = Served::plays(&[r#"{"answer":[{"text":"Half"},{"hang":true}]}"#]);
    machine.use_server(&served.url());
    let haft = machine.command(&["run", "talk"]);
    let mut shell = std::process::Command::new("sh");
    shell.args(["-c", "trap '' HUP; exec \"$HAFT\" run talk"]).current_dir(machine.project()).env_clear();
    shell.env("HAFT", haft.get_program()).stdin(std::process::Stdio::null());
    for (key, value) in haft.get_envs() {
        shell.env(key, value.unwrap());
    }
    let child = machine.start(&mut shell);
    wait_for_words(&machine, "Half");
    let ignored = std::fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap();
    let ignored = ignored.lines().find_map(|line| line.strip_prefix("SigIgn:")).unwrap().trim().to_owned();
    assert_eq!(u64::from_str_radix(&ignored, 16).unwrap() & 1, 1, "HUP is still ignored");
    interrupt(child.id());
    crate::support::Ran::from(child.wait_with_output().unwrap()).ends(130);
}

#[test]
fn ctrl_c_stops_the_stream() {
    let machine = Machine::with(&[]);
    let served =
        Served::plays(&[r#"{"answer":[{"text":"Half a"},{"hang":true}]}"#, r#"{"answer":[{"text":"Whole."}]}"#]);
    machine.use_server(&served.url());
    let mut child = machine.start(&mut machine.command(&["run", "talk"]));
    wait_for_words(&machine, "Half a");
    interrupt(child.id());
    assert_eq!(child.wait().unwrap().code(), Some(130));
    let session = machine.newest_session();
    assert!(parts(&session).iter().any(|part| part["text"] == "Half a"), "{session}");
    assert_eq!(machine.haft(&["run", "go on", "--continue"]).ok().out, "Whole.\n");
    assert_eq!(fault(&served.bodies()[1]), None);
}

#[test]
fn two_processes_cannot_write_one_session() {
    let machine = Machine::with(&[]);
    let hang =
        machine.scenario(&[r#"{"answer":[{"text":"Hello."}]}"#, r#"{"answer":[{"text":"Busy"},{"hang":true}]}"#]);
    machine.haft(&["run", "a", "--model", &hang]).ok();
    let mut child = machine.start(&mut machine.command(&["run", "b", "--continue", "--model", &hang]));
    wait_for_words(&machine, "Busy");
    let before = machine.newest_session();
    let second = machine.haft(&["run", "c", "--continue", "--model", &hang]).ends(1);
    second.says(&["session ses_", &child.id().to_string()]);
    assert_eq!(
        machine.newest_session()["messages"].as_array().unwrap().len(),
        before["messages"].as_array().unwrap().len()
    );
    child.kill().unwrap();
    child.wait().unwrap();
}

/// Waits until the model's words are in the store, where they must be soon after they were told.
fn wait_for_words(machine: &Machine, words: &str) {
    wait_until(words, || machine.haft(&["session", "show", "--json"]).out.contains(words));
}

fn interrupt(pid: u32) {
    signal(pid, rustix::process::Signal::INT);
}

pub(crate) fn signal(pid: u32, signal: rustix::process::Signal) {
    let pid = rustix::process::Pid::from_raw(i32::try_from(pid).unwrap()).unwrap();
    rustix::process::kill_process(pid, signal).unwrap();
}

#[test]
fn an_argument_of_a_command_may_hold_blanks_and_quotes() {
    let command = json!({"command": {"say": {"template": "first <$1> second <$2> rest <$3>"}}}).to_string();
    let machine = Machine::with(&[("opencode.json", &command)]);
    let model = machine.scenario(&[r#"{"answer":[{"text":"Hm."}]}"#]);
    let row = |arguments: &[&str], want: &str| {
        machine.haft(&[&["run", "--model", &model, "--command", "say"], arguments].concat()).ok();
        let parts = crate::support::parts(&machine.newest_session());
        assert_eq!(parts[0]["text"], want, "{arguments:?}");
    };
    row(&["a b", "c"], "first <a b> second <c> rest <>");
    row(&["a", "b c", "d e", "f"], "first <a> second <b c> rest <d e f>");
    row(&["it's", "two words"], "first <it's> second <two words> rest <>");
    row(&["say \"hi\" now", "b"], "first <say \"hi\" now> second <b> rest <>");
}

#[test]
fn what_looks_like_a_command_and_is_none_is_said() {
    let machine = Machine::with(&[]);
    let model = machine.scenario(&[r#"{"answer":[{"text":"Hm."}]}"#]);
    machine
        .haft(&["run", "--command", "nope", "--model", &model])
        .ends(2)
        .says(&["there is no command /nope", "/init"]);
    assert_eq!(machine.haft(&["session", "list", "--json"]).ok().json(), json!([]), "no session is made for it");
    machine
        .haft(&["run", "/nope x", "--model", &model])
        .ok()
        .says(&["there is no command /nope", "words to the model"]);
    let quiet = machine.haft(&["run", "/etc is a folder", "--model", &model]).ok();
    assert!(!quiet.err.contains("no command"), "{}", quiet.err);
}

#[test]
fn a_session_without_a_word_is_not_gone_on_with() {
    let machine = Machine::with(&[("broken.bin", "\0\0\0")]);
    let model = machine.scenario(&[r#"{"answer":[{"text":"One."}]}"#, r#"{"answer":[{"text":"Two."}]}"#]);
    machine.haft(&["run", "first", "--model", &model]).ok();
    machine.haft(&["run", "look", "--file", "broken.bin", "--model", &model]).ends(1);
    assert_eq!(machine.haft(&["run", "--continue", "second", "--model", &model]).ok().out, "Two.\n");
}

#[test]
fn rules_that_open_what_the_plan_agent_keeps_closed_are_said() {
    let machine = Machine::with(&[]);
    let model = machine.scenario(&[r#"{"answer":[{"text":"A plan."}]}"#]);
    let closed = machine.haft(&["run", "--agent", "plan", "go", "--model", &model]).ok();
    assert!(!closed.err.contains("let the plan agent change files"), "{}", closed.err);
    machine.write("opencode.json", r#"{"permission": {"edit": "allow"}}"#);
    machine.haft(&["run", "--agent", "plan", "go", "--model", &model]).ok().says(&["let the plan agent change files"]);
}

#[test]
fn a_reader_who_reads_no_more_cannot_keep_it_from_ending() {
    let machine = Machine::with(&[]);
    // More than a pipe holds.
    let model = machine.scenario(&[&json!({"answer": [{"text": "x".repeat(300_000)}]}).to_string()]);
    let mut child = machine.start(&mut machine.command(&["run", "go", "--format", "json", "--model", &model]));
    // The long line has begun to come, so the rest of it is held up.
    std::io::Read::read_exact(child.stdout.as_mut().unwrap(), &mut [0; 1000]).unwrap();
    wait_until("its end", || {
        interrupt(child.id());
        child.try_wait().unwrap().is_some()
    });
    assert_eq!(child.wait().unwrap().code(), Some(130));
}

#[test]
fn what_the_user_names_is_told_everywhere_and_what_a_project_names_only_from_within() {
    let machine = Machine::with(&[]);
    let served = Served::plays(&[r#"{"answer":[{"text":"Hm."}]}"#]);
    let mut settings: Value = serde_json::from_str(&crate::support::server_config(&served.url())).unwrap();
    settings["instructions"] = json!(["~/theirs.md", "here.md"]);
    machine.write("opencode.json", &settings.to_string());
    machine.write("here.md", "Words of the project.");
    for (path, text) in [
        ("config/haft/haft.json", r#"{"instructions": ["~/mine.md"]}"#),
        ("home/mine.md", "Words of the user."),
        ("home/theirs.md", "Words that are none of the project's business."),
    ] {
        let path = machine.root().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    machine.haft(&["run", "go"]).ok();
    let told = served.bodies()[0]["messages"][0]["content"].to_string();
    assert!(told.contains("Words of the user.") && told.contains("Words of the project."), "{told}");
    assert!(!told.contains("none of the project's business"), "{told}");
}

#[test]
fn a_picture_that_the_model_is_not_said_to_read_is_named() {
    let machine = Machine::with(&[("a.txt", "one\n")]);
    std::fs::write(machine.project().join("dot.png"), DOT).unwrap();
    let served = Served::plays(&[r#"{"answer":[{"text":"Hm."}]}"#]);
    machine.use_server(&served.url());
    let ran = machine.haft(&["run", "look", "--file", "dot.png", "--file", "a.txt"]).ok();
    assert!(ran.err.contains("mock/m1 is not said to read dot.png") && !ran.err.contains("read a.txt"), "{}", ran.err);
    let sent = served.bodies()[0]["messages"].to_string();
    assert!(sent.contains("does not support image input") && !sent.contains("base64"), "{sent}");
}

/// A picture of one dot.
const DOT: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01\0\0\0\x01\x08\x06\0\0\0\x1f\x15\xc4\x89\0\0\0\rIDATx\x9cc\xf8\xcf\xc0\xf0\x1f\0\x05\0\x01\xff\x89\x99=\x1d\0\0\0\0IEND\xaeB`\x82";
