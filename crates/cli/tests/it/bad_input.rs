//! Everything that can be wrong with what comes in: each is said plainly, and nothing stored is lost.

use serde_json::{Value, json};

use crate::support::{Machine, Ran, Served, fault, parts, server_config};

/// Runs one prompt against a model that plays `answers`; gives what was sent last.
#[track_caller]
fn told(machine: &Machine, answers: &[&str]) -> Value {
    let served = Served::plays(answers);
    machine.use_server(&served.url());
    machine.haft(&["run", "go"]).ok();
    let body = served.bodies().pop().unwrap();
    assert_eq!(fault(&body), None);
    body["messages"].as_array().unwrap().last().unwrap()["content"].clone()
}

#[track_caller]
fn tells(answers: &[&str], want: &[&str]) {
    let machine = Machine::with(&[("a.txt", "one\n")]);
    let text = told(&machine, answers);
    let text = text.as_str().unwrap();
    for word in want {
        assert!(text.contains(word), "{word:?} is not in: {text}");
    }
}

const OK: &str = r#"{"answer":[{"text":"I see."}]}"#;

#[test]
fn malformed_arguments_are_explained_to_the_model() {
    tells(
        &[r#"{"answer":[{"call":"read","raw":"{\"filePath\": "}]}"#, OK],
        &["not run", "not valid JSON", "Send one JSON object"],
    );
    tells(
        &[r#"{"answer":[{"call":"read","raw":"[1]"}]}"#, OK],
        &["bad arguments for read", "must be an object, not [1]"],
    );
    tells(&[r#"{"answer":[{"call":"read","raw":""}]}"#, OK], &["filePath is missing"]);
}

#[test]
fn an_unknown_tool_is_explained_and_a_misspelled_one_found() {
    tells(&[r#"{"answer":[{"call":"reed","args":{}}]}"#, OK], &["no tool called \"reed\"", "Call one of: bash, edit,"]);
    tells(&[r#"{"answer":[{"call":"READ","args":{"filePath":"a.txt"}}]}"#, OK], &["1: one"]);
}

#[test]
fn wrong_types_are_explained_all_at_once() {
    let call = r#"{"answer":[{"call":"edit","args":{"filePath":5,"oldString":"x","replaceAll":"maybe"}}]}"#;
    tells(&[call, OK], &["filePath must be a string, not 5", "replaceAll must be a boolean"]);
    let call = r#"{"answer":[{"call":"write","args":{"filePath":5}}]}"#;
    tells(&[call, OK], &["filePath must be a string, not 5", "content is missing"]);
}

/// Runs one prompt against something that cannot answer it.
#[track_caller]
fn fails(served: &Served, want: &[&str]) {
    let machine = Machine::with(&[]);
    machine.use_server(&served.url());
    machine.haft(&["run", "first"]).ends(1).says(want).says(&["mock"]);
    let session = machine.newest_session();
    let messages = session["messages"].as_array().unwrap();
    assert_eq!(messages[0]["parts"][0]["text"], "first", "the prompt is kept");
    assert!(messages[1]["info"]["error"]["data"]["message"].is_string(), "{session}");
    // The session goes on with a model that answers.
    let good = machine.scenario(&[OK]);
    assert_eq!(machine.haft(&["run", "again", "--continue", "--model", &good]).ok().out, "I see.\n");
}

#[test]
fn a_stream_that_is_cut_in_the_middle_is_an_error() {
    fails(
        &Served::plays(&[r#"{"answer":[{"text":"Half"},{"error":{"kind":"cut_off"}}]}"#]),
        &["cut off before its end", "hint:", "haft run --session ses_"],
    );
    fails(
        &Served::plays(&[r#"{"answer":[{"call":"bash","args":{"command":"touch x"}},{"error":{"kind":"cut_off"}}]}"#]),
        &["cut off"],
    );
}

#[test]
fn a_web_page_instead_of_events_is_an_error() {
    fails(
        &Served::canned(200, "text/html", "<!doctype html><html><body>Sign in</body></html>"),
        &["web page", "baseURL"],
    );
}

#[test]
fn what_the_vendor_says_is_passed_on() {
    let error = |status: u16, kind: &str, message: &str| {
        json!({"answer": [{"error": {"kind": kind, "status": status, "message": message}}]}).to_string()
    };
    fails(
        &Served::plays(&[&error(401, "unauthorized", "bad key")]),
        &["rejected the credentials", "bad key", "apiKey"],
    );
    fails(&Served::plays(&[&error(429, "rate_limited", "slow down")]), &["limits how often", "slow down", "wait"]);
    fails(&Served::plays(&[&error(500, "server", "oops")]), &["status 500", "oops"]);
}

#[test]
fn an_unreachable_host_is_named() {
    let machine = Machine::with(&[]);
    // Nothing listens there: only the superuser could, and nobody does.
    machine.write("opencode.json", &server_config("http://127.0.0.1:1/v1"));
    machine.haft(&["run", "go"]).ends(1).says(&[
        "connection to mock at",
        "127.0.0.1:1",
        "hint: check that the server runs, its address",
    ]);
}

#[test]
fn without_a_model_a_few_lines_say_what_to_do() {
    // Whatever listens on this machine is no business of the test's.
    let nobody = r#"{"disabled_providers": ["ollama", "lmstudio", "llamacpp", "tgi", "localai", "vllm"]}"#;
    let machine = Machine::with(&[("opencode.json", nobody)]);
    let ran = machine.haft(&["run", "go"]).ends(2).says(&["no model is configured", "haft demo", "opencode.json"]);
    assert_eq!(ran.err.trim_end().lines().count(), 7, "{}", ran.err);
}

#[test]
fn a_model_that_cannot_be_had_is_explained() {
    let machine = Machine::with(&[("opencode.json", &server_config("http://127.0.0.1:1/v1"))]);
    let run = |model: &str| machine.haft(&["run", "go", "--model", model]);
    run("nonsense").ends(2).says(&["VENDOR/MODEL"]);
    run("none/m").ends(2).says(&["no provider \"none\"", "mock"]);
    run("mock/m2").ends(2).says(&["no model \"m2\"", "m1"]);
    run("script/none.jsonl").ends(1).says(&["none.jsonl"]);
    machine.write("opencode.json", r#"{"provider":{"x":{"npm":"gitlab-ai-provider","models":{"m":{}}}}}"#);
    run("x/m").ends(2).says(&["x/m cannot be asked", "GitLab Duo"]);
    machine.write("opencode.json", r#"{"provider":{"x":{"models":{"m":{}}}}}"#);
    run("x/m").ends(2).says(&["no address", "provider.x.options.baseURL"]);
}

#[test]
fn a_broken_scenario_names_its_line() {
    let machine = Machine::with(&[]);
    let run = |answers: &[&str]| {
        let model = machine.scenario(answers);
        machine.haft(&["run", "go", "--model", &model])
    };
    run(&["nonsense"]).ends(1).says(&["line 2"]);
    run(&[OK, r#"{"answer":[{"txt":"x"}]}"#]).ends(1).says(&["line 3", "reasoning, text, call"]);
    run(&[]).ends(1).says(&["scenario"]);
}

#[test]
fn broken_settings_name_the_file_and_the_place() {
    let machine = Machine::with(&[("opencode.json", "{\n  \"model\": }")]);
    machine.haft(&["run", "go"]).ends(1).says(&["opencode.json, line 2", "HAFT_DISABLE_PROJECT_CONFIG=1 to leave"]);
}

#[test]
fn the_users_own_broken_settings_are_not_taken_for_the_projects() {
    let machine = Machine::with(&[]);
    let folder = machine.root().join("config/haft");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("haft.json"), "{\n  \"model\": }").unwrap();
    let ran = machine.haft(&["run", "go"]).ends(1).says(&["haft.json, line 2", "they count in every folder"]);
    assert!(!ran.err.contains("HAFT_DISABLE_PROJECT_CONFIG"), "{ran:?}");
}

#[test]
fn a_session_does_not_go_on_in_another_folder() {
    let machine = Machine::with(&[]);
    let model = machine.scenario(&[OK, OK]);
    machine.haft(&["run", "go", "--model", &model]).ok();
    let id = machine.newest_session()["info"]["id"].as_str().unwrap().to_owned();
    let other = machine.root().join("other");
    std::fs::create_dir(&other).unwrap();
    let (own, other) = (machine.project().display().to_string(), other.display().to_string());
    let on = |dir: &str| machine.haft(&["run", "on", "--model", &model, "--session", &id, "--dir", dir]);
    on(&other).ends(2).says(&[&own, &other, "leave out --dir"]);
    on(&own).ok();
}

#[test]
fn a_folder_that_vanished_is_named() {
    let machine = Machine::with(&[]);
    let model = machine.scenario(&[OK, OK]);
    let gone = machine.root().join("gone");
    std::fs::create_dir(&gone).unwrap();
    let place = gone.to_str().unwrap();
    machine.haft(&["run", "go", "--model", &model, "--dir", place]).ok();
    let id = machine.haft(&["session", "list", "--all", "--json"]).ok().json()[0]["id"].as_str().unwrap().to_owned();
    std::fs::remove_dir(&gone).unwrap();
    machine.haft(&["run", "go", "--model", &model, "--dir", place]).ends(1).says(&["cannot work in", place]);
    machine.haft(&["run", "go", "--model", &model, "--session", &id]).ends(1).says(&["the folder", place, "gone"]);
    // While it works: the tool says so, and the session goes on.
    std::fs::create_dir(&gone).unwrap();
    let model = machine.scenario(&[
        r#"{"answer":[{"call":"bash","args":{"command":"rmdir \"$PWD\""}}]}"#,
        r#"{"answer":[{"call":"bash","args":{"command":"pwd"}},{"call":"read","args":{"filePath":"a"}},{"call":"write","args":{"filePath":"a","content":"x"}}]}"#,
        OK,
    ]);
    machine.haft(&["run", "go", "--auto", "--model", &model, "--dir", place]).ok().says(&[place]);
    // A shell whose working folder is gone when it starts.
    let command = machine.command(&["run", "go", "--model", &model]);
    let vanished = machine.root().join("vanished");
    std::fs::create_dir(&vanished).unwrap();
    let script = format!("cd {0} && rmdir {0} && exec \"$HAFT\" run go", vanished.display());
    let mut shell = std::process::Command::new("sh");
    shell.args(["-c", &script]).env("HAFT", command.get_program());
    for (key, value) in command.get_envs() {
        if let Some(value) = value {
            shell.env(key, value);
        }
    }
    Ran::from(shell.output().unwrap()).ends(1).says(&["the current folder does not exist any more"]);
}

#[test]
fn what_is_too_large_is_refused() {
    let machine = Machine::with(&[]);
    let model = machine.scenario(&[OK]);
    let words = "x".repeat(4 * 1024 * 1024 + 1);
    machine.piped(&["run", "--model", &model], &words).ends(2).says(&["standard input is longer than 4 MiB"]);
    machine.write("big.txt", &"x".repeat(1024 * 1024 + 1));
    machine.write("opencode.json", r#"{"model": "{file:big.txt}"}"#);
    machine.haft(&["run", "go"]).ends(1).says(&["big.txt", "at most 1 MiB"]);
    machine.write("opencode.json", &format!("{{}}{}", " ".repeat(4 * 1024 * 1024)));
    machine.haft(&["run", "go"]).ends(1).says(&["opencode.json", "at most 4 MiB"]);
}

#[test]
fn a_data_folder_that_cannot_be_written_is_named() {
    let machine = Machine::with(&[]);
    let model = machine.scenario(&[OK]);
    // Below a file nobody can make a folder, root neither.
    let file = machine.write("file", "");
    let mut command = machine.command(&["run", "go", "--model", &model]);
    let ran = Ran::from(command.env("XDG_DATA_HOME", file.join("data")).output().unwrap());
    ran.ends(1).says(&["file/data", "XDG_DATA_HOME"]);
}

#[test]
fn a_disk_that_is_full_loses_nothing_that_was_stored() {
    let machine = Machine::with(&[]);
    let model = machine.scenario(&[OK, r#"{"answer":[{"text":"More.","pieces":2}]}"#]);
    machine.haft(&["run", "first", "--model", &model]).ok();
    let before = machine.newest_session();
    // No file may grow beyond what is there: to the program that is a full disk.
    let blocks = 1;
    let script = format!("trap '' XFSZ; ulimit -f {blocks}; exec \"$HAFT\" run second --continue --model '{model}'");
    let command = machine.command(&[]);
    let mut shell = std::process::Command::new("sh");
    shell.args(["-c", &script]).current_dir(machine.project()).env_clear().env("HAFT", command.get_program());
    for (key, value) in command.get_envs() {
        if let Some(value) = value {
            shell.env(key, value);
        }
    }
    Ran::from(shell.output().unwrap()).ends(1).says(&["haft.db"]);
    let after = machine.newest_session();
    assert_eq!(after["messages"][1], before["messages"][1]);
    assert_eq!(machine.haft(&["run", "third", "--continue", "--model", &model]).ok().out, "More.\n");
    assert!(parts(&machine.newest_session()).iter().any(|part| part["text"] == "third"));
}
