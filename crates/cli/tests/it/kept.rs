//! Sessions in and out: lists, files, other programs' stores, and a store that is not as it should be.

use std::io::{BufRead, BufReader};
use std::process::Stdio;

use serde_json::{Value, json};

use crate::support::{Machine, Ran};

const HELLO: &str = r#"{"answer":[{"text":"Hello."}]}"#;

fn talked(machine: &Machine, title: &str) -> String {
    let model = machine.scenario(&[HELLO]);
    machine.haft(&["run", "hi", "--title", title, "--model", &model]).ok();
    machine.newest_session()["info"]["id"].as_str().unwrap().to_owned()
}

fn titles(machine: &Machine, args: &[&str]) -> Vec<String> {
    let args = [&["session", "list", "--json"], args].concat();
    let rows = machine.haft(&args).ok().json();
    rows.as_array().unwrap().iter().map(|row| row["title"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn sessions_are_renamed_put_away_and_removed() {
    let machine = Machine::with(&[]);
    let (one, two) = (talked(&machine, "The first"), talked(&machine, "The second"));
    machine.haft(&["session", "rename", &one, "The oldest"]).ok();
    assert_eq!(titles(&machine, &["--search", "OLD"]), ["The oldest"]);
    machine.haft(&["session", "archive", &one]).ok();
    assert_eq!(titles(&machine, &[]), ["The second"]);
    assert_eq!(titles(&machine, &["--archived"]).len(), 2);
    machine.haft(&["session", "archive", &one, "--undo"]).ok();
    assert_eq!(titles(&machine, &[]).len(), 2);

    let unasked = machine.haft(&["session", "delete", &two]);
    assert!(unasked.code == 2 && unasked.err.contains("--yes"), "{unasked:?}");
    machine.haft(&["session", "delete", &two, "--yes"]).ok();
    assert_eq!(titles(&machine, &[]), ["The oldest"]);
    let gone = machine.haft(&["session", "delete", &two, "--yes"]);
    assert!(gone.code == 1 && gone.err.contains(&two), "{gone:?}");
}

/// Serves `body` as JSON wherever it is asked for.
fn serves(body: String) -> crate::support::Served {
    crate::support::Served::canned(200, "application/json", body.leak())
}

#[test]
fn a_session_is_read_from_an_address_that_the_person_names() {
    let machine = Machine::with(&[]);
    let id = talked(&machine, "Far away");
    let export = machine.haft(&["session", "export", &id]).ok().out;
    machine.haft(&["session", "delete", &id, "--yes"]).ok();
    let file = serves(export.clone());
    let address = format!("{}/session.json", file.url());
    machine.haft(&["--offline", "session", "import", "https://192.0.2.1/session.json"]).ends(1);
    let told = machine.haft(&["session", "import", &address]).ok().out;
    assert_eq!(told.trim(), format!("Imported session: {id}"));
    assert_eq!(titles(&machine, &[]), ["Far away"]);
    // The data of a share page are its pieces, in any order.
    let export: Value = serde_json::from_str(&export).unwrap();
    let mut pieces = vec![json!({"type": "session", "data": export["info"]}), json!({"type": "model", "data": []})];
    for message in export["messages"].as_array().unwrap() {
        let parts = message["parts"].as_array().unwrap().iter().map(|part| json!({"type": "part", "data": part}));
        pieces.extend(parts);
        pieces.push(json!({"type": "message", "data": message["info"]}));
    }
    let page = serves(Value::from(pieces).to_string());
    let share = format!("{}/s/Ab12", page.url().trim_end_matches("/v1"));
    machine.haft(&["session", "import", &share, "--new"]).ok();
    assert_eq!(titles(&machine, &[]).len(), 2);
    assert!(machine.haft(&["session", "show"]).ok().out.contains("Hello."));
    let nothing = serves("<html>".to_owned());
    machine.haft(&["session", "import", &nothing.url()]).ends(1).says(&["is not JSON"]);
}

#[test]
fn a_session_that_was_written_reads_back_the_same() {
    let machine = Machine::with(&[("a.txt", "one\n")]);
    let model = machine.scenario(&[
        r#"{"answer":[{"reasoning":"Hm."},{"text":"Reading."},{"call":"read","args":{"filePath":"a.txt"}}]}"#,
        r#"{"answer":[{"call":"edit","args":{"filePath":"a.txt","oldString":"one","newString":"two"}}]}"#,
        r#"{"answer":[{"text":"Done."}]}"#,
    ]);
    machine.haft(&["run", "mend a.txt", "--model", &model]).ok();
    let mut before = machine.newest_session();
    // What was done to files does not travel.
    for message in before["messages"].as_array_mut().unwrap() {
        message["parts"].as_array_mut().unwrap().retain(|part| part["type"] != "patch");
    }
    let id = before["info"]["id"].as_str().unwrap().to_owned();
    let file = machine.root().join("session.json");
    let file = file.to_str().unwrap();
    machine.haft(&["session", "export", &id, "-o", file]).ok();
    let again = machine.haft(&["session", "export", &id, "-o", file]);
    assert!(again.code == 1 && again.err.contains("does not exist yet"), "{again:?}");

    let there = machine.haft(&["session", "import", file]);
    assert!(there.code == 2 && there.err.contains("--new"), "{there:?}");
    machine.haft(&["session", "delete", &id, "--yes"]).ok();
    let read = machine.haft(&["session", "import", file]).ok();
    assert!(
        read.out.contains(&format!("Imported session: {id}")) && read.err.contains("what was done to files"),
        "{read:?}"
    );
    assert_eq!(machine.newest_session(), before);
    machine.haft(&["session", "import", file, "--yes"]).ok();
    assert_eq!(machine.newest_session(), before);
    let new = machine.haft(&["session", "import", file, "--new"]).ok().out;
    let new = new.trim().strip_prefix("Imported session: ").unwrap();
    assert_ne!(new, id);
    let copy = machine.haft(&["session", "show", new, "--json"]).ok().json();
    assert_eq!(copy["messages"].as_array().unwrap().len(), before["messages"].as_array().unwrap().len());

    let text = machine.haft(&["session", "export", &id, "--format", "md"]).ok().out;
    for shown in ["## You\n\nmend a.txt", "<summary>Thinking</summary>", "```diff", "+two", "\nDone.\n"] {
        assert!(text.contains(shown) || text.trim_end().ends_with(shown.trim()), "{shown:?} is not in: {text}");
    }
    let clean = machine.haft(&["session", "export", &id, "--sanitize"]).ok().out;
    assert!(!clean.contains("mend a.txt") && clean.contains("[redacted:text:"), "{clean}");
    let refused = machine.piped(&["session", "import", "-"], "# Not JSON");
    assert!(refused.code == 1 && refused.err.contains("not JSON"), "{refused:?}");
}

#[test]
fn an_imported_session_of_tomorrow_is_not_the_newest_for_ever() {
    let machine = Machine::with(&[]);
    let hour = 3_600_000u64;
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_millis();
    let tomorrow = u64::try_from(now).unwrap() + 24 * hour;
    let session = json!({
        "info": {"id": "ses_future", "title": "Tomorrow", "cost": -5, "time": {"created": 1, "updated": tomorrow}},
        "messages": [{"info": {"id": "msg_1", "role": "user", "time": {"created": tomorrow}}, "parts": []}],
    });
    machine
        .piped(&["session", "import", "-"], &session.to_string())
        .ok()
        .says(&["has not come yet", "cost that cannot be"]);
    let model = machine.scenario(&[r#"{"answer":[{"text":"Now."}]}"#]);
    machine.haft(&["run", "today", "--model", &model]).ok();
    let listed = machine.haft(&["session", "list", "--json"]).ok().json();
    let titles: Vec<&str> = listed.as_array().unwrap().iter().map(|one| one["title"].as_str().unwrap()).collect();
    assert_eq!(titles, ["today", "Tomorrow"]);
}

#[test]
fn sums_of_what_was_used() {
    let machine = Machine::with(&[("a.txt", "one\n")]);
    let model = machine.scenario(&[
        r#"{"answer":[{"call":"read","args":{"filePath":"a.txt"}},{"usage":{"input":1200,"output":30}}]}"#,
        r#"{"answer":[{"text":"Done."},{"usage":{"input":1300,"output":20}}]}"#,
    ]);
    machine.haft(&["run", "look", "--model", &model]).ok();
    let sums = machine.haft(&["stats", "--json"]).ok().json();
    assert_eq!((&sums["sessions"], &sums["messages"], &sums["days"]), (&json!(1), &json!(3), &json!(1)));
    assert_eq!((&sums["tokens"]["input"], &sums["tokens"]["output"]), (&json!(2500), &json!(50)));
    assert_eq!(sums["tools"], json!([{"tool": "read", "count": 1}]));
    let text = machine.haft(&["stats", "--models"]).ok().out;
    for shown in ["OVERVIEW", "COST & TOKENS", "MODEL USAGE", "TOOL USAGE", "2.5K", "read"] {
        assert!(text.contains(shown), "{shown} is not in: {text}");
    }
    // A copy costs nothing, whether it was forked or imported.
    let id = machine.newest_session()["info"]["id"].as_str().unwrap().to_owned();
    machine.haft(&["session", "fork", &id]).ok();
    machine.haft(&["session", "export", &id, "-o", "copy.json"]).ok();
    machine.haft(&["session", "import", "copy.json", "--new"]).ok();
    let again = machine.haft(&["stats", "--json"]).ok().json();
    assert_eq!(again["sessions"], 3);
    for same in ["messages", "cost", "tokens", "tools", "models"] {
        assert_eq!(again[same], sums[same], "{same}");
    }
    let none = machine.haft(&["stats", "--json", "--project", "another"]).ok().json();
    assert_eq!(none["sessions"], 0);
}

#[test]
fn opencodes_files_and_keys_are_taken_over_once() {
    let machine = Machine::with(&[]);
    let theirs = machine.root().join("data/opencode");
    let write = |path: &str, value: Value| {
        let path = theirs.join("storage").join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, value.to_string()).unwrap();
    };
    write(
        "session/p/ses_old.json",
        json!({"id": "ses_old", "title": "From before", "directory": "/p", "projectID": "p", "version": "0.9", "time": {"created": 1, "updated": 2}}),
    );
    write(
        "message/ses_old/msg_2.json",
        json!({"id": "msg_2", "sessionID": "ses_old", "role": "assistant", "time": {"created": 2, "completed": 3}, "modelID": "m", "providerID": "v"}),
    );
    write(
        "message/ses_old/msg_1.json",
        json!({"id": "msg_1", "sessionID": "ses_old", "role": "user", "time": {"created": 1}}),
    );
    write(
        "part/msg_1/prt_1.json",
        json!({"id": "prt_1", "sessionID": "ses_old", "messageID": "msg_1", "type": "text", "text": "an old question"}),
    );
    write(
        "part/msg_2/prt_2.json",
        json!({"id": "prt_2", "sessionID": "ses_old", "messageID": "msg_2", "type": "text", "text": "an old answer"}),
    );
    write(
        "part/msg_2/prt_3.json",
        json!({"id": "prt_3", "sessionID": "ses_old", "messageID": "msg_2", "type": "hologram"}),
    );
    let openai = json!({"type": "oauth", "refresh": "r-0123456789", "access": "a", "expires": 0});
    let keys = json!({"mock": {"type": "api", "key": "sk-0123456789"}, "openai": openai});
    std::fs::write(theirs.join("auth.json"), keys.to_string()).unwrap();
    let linear = json!({"serverUrl": "https://l.example", "tokens": {"accessToken": "t-0123456789"}});
    std::fs::write(theirs.join("mcp-auth.json"), json!({"linear": linear}).to_string()).unwrap();

    let dry = machine.haft(&["import-opencode", "--dry-run"]).ok();
    assert!(dry.out.contains("1 sessions with 2 messages and 2 parts would be"), "{dry:?}");
    assert!(dry.out.contains("mock: its key or sign-in would be taken over"), "{dry:?}");
    assert!(dry.out.contains("openai: would be left out, each new token"), "{dry:?}");
    assert!(dry.out.contains("linear: what this server of tools gave would be taken over"), "{dry:?}");
    let told = machine.haft(&["import-opencode", "--dry-run", "--json"]).ok();
    let (keys, servers) = (&told.json()["keys"], &told.json()["servers"]);
    assert_eq!((keys, servers), (&json!(["mock"]), &json!(["linear"])), "{told:?}");
    assert!(told.json()["keysLeftOut"]["openai"].is_string(), "{told:?}");
    assert!(![&dry.out, &dry.err, &told.out, &told.err].iter().any(|text| text.contains("0123456789")));
    assert_eq!(titles(&machine, &["--all"]), Vec::<String>::new());
    let done = machine.haft(&["import-opencode"]).ok();
    assert!(done.err.contains("hologram") && done.err.contains("mock: taken over"), "{done:?}");
    let shown = machine.haft(&["session", "show", "ses_old"]).ok().out;
    assert!(shown.contains("an old question") && shown.contains("an old answer"), "{shown}");
    let again = machine.haft(&["import-opencode", "--json"]).ok().json();
    assert_eq!((&again["sessions"], &again["same"]), (&json!(0), &json!(1)), "{again}");
    let none = machine.haft(&["import-opencode", "--from", "/nonexistent"]);
    assert!(none.code == 2 && none.err.contains("--from"), "{none:?}");
}

#[test]
fn a_damaged_store_is_told_of_once_and_kept() {
    let machine = Machine::with(&[]);
    let id = talked(&machine, "Precious");
    let database = machine.data().join("haft.db");
    let mut bytes = std::fs::read(&database).unwrap();
    bytes[..100].fill(0);
    std::fs::write(&database, bytes).unwrap();
    let told = machine.haft(&["session", "show", &id]).ok();
    assert!(told.out.contains("Hello.") && told.err.contains("was damaged"), "{told:?}");
    let after = machine.haft(&["session", "show", &id]).ok();
    assert!(!after.err.contains("was damaged"), "{after:?}");
    let list = machine.haft(&["session", "list"]).ok();
    assert!(list.out.contains("Precious") && list.err.contains("haft.db.damaged-"), "{list:?}");
}

/// A shell that lets files grow to so many blocks of 512 bytes, and no signal end what tries more.
fn limited(machine: &Machine, blocks: u32, args: &[&str]) -> Ran {
    let haft = machine.command(args);
    let line = format!("trap '' XFSZ; ulimit -f {blocks}; exec \"$0\" \"$@\"");
    let mut command = std::process::Command::new("sh");
    command
        .args(["-c", &line])
        .arg(haft.get_program())
        .args(haft.get_args())
        .current_dir(machine.project())
        .env_clear();
    command.envs(haft.get_envs().filter_map(|(name, value)| Some((name, value?)))).stdin(Stdio::null());
    Ran::from(command.output().unwrap())
}

#[test]
fn where_nothing_can_be_written_sessions_are_read_and_a_run_says_why_it_ends() {
    let machine = Machine::with(&[]);
    let id = talked(&machine, "Precious");
    // What SQLite shares between processes may lie there from before, or has to be made.
    let shared = machine.data().join("haft.db-shm");
    let shows: [&[&str]; 3] = [&["session", "show", &id], &["session", "list"], &["session", "export", &id]];
    for (args, is_there) in shows.into_iter().flat_map(|args| [(args, true), (args, false)]) {
        match is_there {
            true => std::fs::write(&shared, [0; 32 * 1024]).unwrap(),
            false => drop(std::fs::remove_file(&shared)),
        }
        let ran = limited(&machine, 0, args);
        assert!(ran.code == 0 && (ran.out.contains("Hello.") || ran.out.contains("Precious")), "{args:?}: {ran:?}");
    }
    let long = format!(r#"{{"answer":[{{"text":"{}"}}]}}"#, "many words ".repeat(40_000));
    let model = machine.scenario(&[HELLO, &long]);
    // Enough to begin with, and too little for the answer.
    let ran = limited(&machine, 400, &["run", "more", "--session", &id, "--model", &model]);
    assert!(ran.code == 1 && ran.err.contains("no space is left"), "{} {}", ran.code, ran.err);
    let shown = machine.haft(&["session", "show", &id]).ok();
    assert!(shown.out.contains("Hello.") && shown.out.contains("more"), "{shown:?}");
    let more = machine.scenario(&[HELLO; 3]);
    machine.haft(&["run", "again", "--session", &id, "--model", &more]).ok();
}

#[test]
fn a_session_at_work_is_followed_from_elsewhere() {
    let machine = Machine::uncaged(&[]);
    let fifo = machine.root().join("go");
    assert!(std::process::Command::new("mkfifo").arg(&fifo).status().unwrap().success());
    let call = json!({"answer": [{"text": "Working."}, {"call": "bash", "args": {"command": format!("cat {}", fifo.display()), "description": "Waits"}}]});
    let model = machine.scenario(&[&call.to_string(), r#"{"answer":[{"text":"All done now."}]}"#]);
    let mut at_work = machine
        .start(machine.command(&["run", "go", "--auto", "--format", "json", "--model", &model]).stdin(Stdio::null()));
    let mut lines = BufReader::new(at_work.stdout.take().unwrap()).lines();
    let first: Value = serde_json::from_str(&lines.next().unwrap().unwrap()).unwrap();
    let id = first["sessionID"].as_str().unwrap().to_owned();

    let mut watching = machine.start(machine.command(&["session", "show", &id, "--follow"]).stdin(Stdio::null()));
    let mut told = BufReader::new(watching.stderr.take().unwrap()).lines();
    let pid = at_work.id().to_string();
    let head = told.next().unwrap().unwrap();
    assert!(head.contains("watching") && head.contains(&pid), "{head}");
    let busy = machine.haft(&["run", "me too", "--session", &id, "--model", &model]);
    assert!(busy.code == 1 && busy.err.contains(&pid) && busy.err.contains("--follow"), "{busy:?}");
    std::fs::write(&fifo, "news from the pipe\n").unwrap();
    let end: Vec<String> = told.map(Result::unwrap).collect();
    let shown = Ran::from(watching.wait_with_output().unwrap()).ok();
    assert!(shown.out.contains("All done now."), "{shown:?} {end:?}");
    assert!(end.last().unwrap().contains("nobody works on it any more"), "{end:?}");
    lines.for_each(drop);
    assert!(at_work.wait().unwrap().success());
}

#[test]
fn old_sessions_go_as_the_settings_say() {
    let machine = Machine::with(&[]);
    let (one, two) = (talked(&machine, "one"), talked(&machine, "two"));
    machine.haft(&["session", "pin", &one]).ok();
    let settings = machine.root().join("config/opencode");
    std::fs::create_dir_all(&settings).unwrap();
    std::fs::write(settings.join("opencode.json"), r#"{"retention": {"count": 1}}"#).unwrap();
    let three = talked(&machine, "three");
    // What was the latest when haft started stays; `two` was.
    assert_eq!(titles(&machine, &[]), ["three", "two", "one"]);
    std::fs::remove_file(machine.data().join(".retention")).unwrap();
    let model = machine.scenario(&[HELLO, HELLO]);
    let ran = machine.haft(&["run", "go on", "--session", &three, "--model", &model]).ok();
    assert!(ran.err.contains("removed 1 old session"), "{}", ran.err);
    assert_eq!(titles(&machine, &[]), ["three", "one"]);
    assert_ne!(two, one);
}

#[test]
fn a_list_of_none_is_told_to_be_a_slip() {
    let machine = Machine::uncaged(&[]);
    machine.haft(&["session", "list", "-n", "0"]).ends(2).says(&["--max-count", "a number from 1 on"]);
    machine.haft(&["session", "list", "-n", "1"]).ok();
}
