//! `haft session replay` and `haft session pack`.

mod whole;

use serde_json::{Value, json};

use crate::support::{Machine, RUNG, Ran};

/// A session that reads, edits, runs a command and answers, on a machine that can hold a cage.
struct Played {
    machine: Machine,
    id: String,
    rung: &'static str,
}

fn haft(machine: &Machine, rung: &str, args: &[&str]) -> Ran {
    Ran::from(machine.command(args).env(RUNG, rung).output().unwrap())
}

/// A rung that holds here, if there is one.
pub(crate) fn rung() -> &'static str {
    let machine = Machine::with(&[]);
    let holds = |rung: &&str| {
        let ran = haft(&machine, rung, &["tool", "call", "bash", r#"{"command":"true"}"#, "--auto", "--json"]);
        ran.code == 0 && ran.json()["metadata"]["sandbox"]["rung"] == **rung
    };
    ["landlock", "namespaces"].into_iter().find(holds).expect("a cage that holds here")
}

impl Played {
    fn of(answers: &[Value], prompts: &[&str]) -> Self {
        let machine = Machine::with(&[("a.txt", "one\ntwo\n")]);
        let rung = rung();
        let texts: Vec<String> = answers.iter().map(|answer| json!({ "answer": answer }).to_string()).collect();
        let model = machine.scenario(&texts.iter().map(String::as_str).collect::<Vec<_>>());
        for (number, prompt) in prompts.iter().enumerate() {
            let go_on: &[&str] = if number == 0 { &[] } else { &["--continue"] };
            haft(&machine, rung, &[&["run", prompt, "--auto", "--model", &model], go_on].concat()).ok();
        }
        let id = machine.newest_session()["info"]["id"].as_str().unwrap().to_owned();
        Self { machine, id, rung }
    }

    fn haft(&self, args: &[&str]) -> Ran {
        haft(&self.machine, self.rung, args)
    }

    fn replay(&self, args: &[&str]) -> Ran {
        self.haft(&[&["session", "replay", &self.id], args].concat())
    }
}

fn edits() -> Vec<Value> {
    vec![
        json!([{"text": "Reading."}, {"call": "read", "args": {"filePath": "a.txt"}}, {"call": "bash", "args": {"command": "wc -l < a.txt; date +%H:%M:%S.%N; pwd"}}]),
        json!([{"call": "edit", "args": {"filePath": "a.txt", "oldString": "two", "newString": "2"}}, {"call": "nope", "args": {}}]),
        json!([{"call": "bash", "args": {"command": "cat a.txt; echo three >> b.txt"}}]),
        json!([{"text": "Done."}]),
        json!([{"call": "write", "args": {"filePath": "c.txt", "content": "c\n"}}]),
        json!([{"text": "More."}]),
    ]
}

#[test]
fn a_session_is_the_same_when_it_is_run_again() {
    let played = Played::of(&edits(), &["mend it", "and more"]);
    // As it was when the session began, whether or not old contents are kept.
    played.machine.write("a.txt", "one\ntwo\n");
    for made in ["b.txt", "c.txt"] {
        std::fs::remove_file(played.machine.project().join(made)).unwrap();
    }
    let ran = played.replay(&["--json"]).ok();
    let told = ran.json();
    assert_eq!((&told["same"], &told["answers"], &told["calls"]), (&json!(true), &json!(6), &json!(5)), "{told:#}");
    assert!(told["skipped"][0].as_str().unwrap().starts_with("invalid"), "{told:#}");
    assert_eq!(played.machine.read("a.txt"), "one\ntwo\n", "the project is left alone");
    assert!(!played.machine.project().join("b.txt").exists(), "the project is left alone");
    let left = std::fs::read_dir(played.machine.root().join("state/haft/replays")).unwrap().count();
    assert_eq!(left, 0, "the copy is gone");
    assert!(played.replay(&[]).ok().out.starts_with("same: 6 answers, 5 calls"));
}

#[test]
fn it_goes_on_behind_an_answer_that_failed_and_behind_a_summary() {
    let machine = Machine::with(&[("a.txt", "one\n")]);
    let rung = rung();
    let edit = |old: &str, new: &str| {
        json!({"answer": [{"call": "edit", "args": {"filePath": "a.txt", "oldString": old, "newString": new}}]})
            .to_string()
    };
    let text = |text: &str| json!({"answer": [{"text": text}]}).to_string();
    let fails =
        json!({"answer": [{"text": "Half"}, {"error": {"kind": "rejected", "message": "no luck"}}]}).to_string();
    let summary = json!({"for": "compaction", "answer": [{"text": "## Goal\nShort."}]}).to_string();
    let long = text(&"long words ".repeat(2000));
    let answers = [edit("one", "two"), long, fails.clone(), edit("two", "three"), text("Last."), summary];
    let model = machine.scenario(&answers.iter().map(String::as_str).collect::<Vec<_>>());
    haft(&machine, rung, &["run", "one", "--auto", "--model", &model]).ok();
    let id = machine.newest_session()["info"]["id"].as_str().unwrap().to_owned();
    haft(&machine, rung, &["run", "two", "--auto", "--continue", "--model", &model]).ends(1).says(&["no luck"]);
    haft(&machine, rung, &["session", "compact", &id, "--model", &model]).ok();
    // The place of the answer that failed is that of the next one.
    let answers = [text("-"), text("-"), edit("two", "three"), text("Last.")];
    let model = machine.scenario(&answers.iter().map(String::as_str).collect::<Vec<_>>());
    let ran = haft(&machine, rung, &["run", "three", "--auto", "--continue", "--model", &model]);
    let ran = if ran.code == 0 { ran } else { panic!("{ran:?}") };
    assert!(ran.out.contains("Last."), "{ran:?}");
    let told = haft(&machine, rung, &["session", "replay", &id, "--json"]).ok().json();
    assert_eq!((&told["same"], &told["calls"]), (&json!(true), &json!(2)), "{told:#}");
    assert!(told["notes"].to_string().contains("passed over: the summary behind message"), "{told:#}");
}

#[test]
fn what_differs_first_is_told() {
    let answers = [
        json!([{"call": "bash", "args": {"command": "echo same; echo $RANDOM-$RANDOM-$RANDOM"}}]),
        json!([{"text": "Done."}]),
    ];
    let played = Played::of(&answers, &["go"]);
    let ran = played.replay(&["--json"]).ends(1);
    let told = ran.json();
    assert_eq!(told["difference"]["step"], 1, "{told:#}");
    assert_eq!(told["difference"]["tool"], "bash");
    let shown = played.replay(&[]).ends(1).out;
    assert!(shown.starts_with("answer 1, bash echo same; echo $RANDOM-$RANDOM-$RANDOM: differs from line "), "{shown}");
}

#[test]
fn a_session_goes_on_from_the_middle_with_another_model() {
    let played = Played::of(&edits(), &["mend it"]);
    let other = played.machine.root().join("other.jsonl");
    let answers = [
        json!({"haft": "scenario", "version": 1}),
        json!({"answer": [{"text": "unused"}]}),
        json!({"answer": [{"call": "bash", "args": {"command": "cat a.txt; pwd"}}]}),
        json!({"answer": [{"text": "Another way."}]}),
    ];
    std::fs::write(&other, answers.map(|line| line.to_string()).join("\n")).unwrap();
    let model = format!("script/{}", other.display());
    let ran = played.replay(&["--from", "2", "--model", &model, "--auto"]).ok();
    assert!(ran.out.contains("Another way."), "{ran:?}");
    assert!(ran.err.contains("the copy is in "), "{ran:?}");
    assert_eq!(played.machine.read("a.txt"), "one\n2\n", "the project is left alone");
    let kept = || std::fs::read_dir(played.machine.root().join("state/haft/replays")).unwrap().count();
    assert_eq!(kept(), 1);
    played.replay(&["--from", "9", "--model", &model]).ends(2).says(&["the session has 4 answers"]);
    played.replay(&["--from", "2", "--model", "nobody/none"]).ends(2);
    assert_eq!(kept(), 1, "what does not begin leaves nothing");
}

#[test]
fn a_pack_can_be_read_sent_and_run_again() {
    let mut answers = edits();
    answers[3] = json!([{"text": "Done; ask ada@example.org or use sk-abcdefghij0123456789."}]);
    let played = Played::of(&answers, &["mend it with password=hunter22"]);
    played.machine.piped(&["auth", "login", "groq", "--key-stdin"], "stored-marker-key").ok();
    let path = played.machine.root().join("pack.json").display().to_string();
    played.haft(&["session", "pack", &played.id, "-o", &path]).ends(2).says(&["--yes writes it"]);
    assert!(!std::path::Path::new(&path).exists(), "nothing is written before it is said which files it names");
    let ran = played.haft(&["session", "pack", &played.id, "-o", &path, "--yes"]).ok().says(&[
        "KiB",
        "messages",
        "read it before you send it",
    ]);
    assert_eq!(ran.out.trim(), path);
    let text = std::fs::read_to_string(&path).unwrap();
    let home = played.machine.root().join("home").display().to_string();
    for gone in ["hunter22", "ada@example.org", "sk-abcdefghij0123456789", "stored-marker-key", &home] {
        assert!(!text.contains(gone), "{gone} is in the pack");
    }
    assert!(text.contains("Reading.") && text.contains("\"version\": 1"), "what was said is in it");
    played.haft(&["session", "pack", &played.id, "-o", &path, "--yes"]).ends(1).says(&["name a new file with -o"]);
    let bare = played.machine.root().join("bare.json").display().to_string();
    played.haft(&["session", "pack", &played.id, "-o", &bare, "--no-files"]).ok();
    let bare_text = std::fs::read_to_string(&bare).unwrap();
    assert!(!bare_text.contains("a.txt") && bare_text.contains("Reading."), "{bare_text}");
    played.haft(&["session", "replay", &bare]).ends(1).says(&["made with --no-files"]);
    let broken = played.machine.write("broken.json", "{").display().to_string();
    played.haft(&["session", "replay", &broken]).ends(1).says(&["is no pack"]);
    // Nothing of a session that only somebody else has can reach beyond the copy.
    let mut pack: Value = serde_json::from_str(&text).unwrap();
    pack["files"]["/etc/passwd"] = "x".into();
    pack["files"]["../../escaped"] = "x".into();
    std::fs::write(&path, pack.to_string()).unwrap();
    let ran = played.haft(&["session", "replay", &path, "--json"]);
    assert!(ran.out.contains("is outside of the project, and left alone"), "{ran:?}");
}

#[test]
fn what_is_a_secret_once_is_nowhere_in_a_pack() {
    let machine = Machine::with(&[("a.yml", "db:\n  password: |\n    block-pass-1\n  user: bob\n")]);
    let rung = rung();
    for args in [&["init", "-q"][..], &["config", "user.name", "Ada Lovelace"], &["config", "user.email", "ada@engine"]]
    {
        assert!(
            std::process::Command::new("git").args(args).current_dir(machine.project()).status().unwrap().success()
        );
    }
    let other = machine.scenario(&[r#"{"answer":[{"text":"Other."}]}"#]);
    haft(&machine, rung, &["run", "another", "--auto", "--model", &other]).ok();
    let other = machine.newest_session()["info"]["id"].as_str().unwrap().to_owned();
    let answers = [
        json!({"answer": [
            {"call": "read", "args": {"filePath": "a.yml"}},
            {"call": "bash", "args": {"command": "echo mysql -pflag-pass-2 --api-key=flag-key-3; echo by Ada Lovelace"}},
            {"call": "edit", "args": {"filePath": "a.yml", "oldString": "bob", "newString": "eve"}}]}),
        json!({"answer": [{"text": "Bare: block-pass-1, flag-pass-2 and flag-key-3, of ada@engine; the password stays."}]}),
    ];
    let model = machine.scenario(
        &answers.iter().map(Value::to_string).collect::<Vec<_>>().iter().map(String::as_str).collect::<Vec<_>>(),
    );
    haft(&machine, rung, &["run", "go", "--auto", "--model", &model]).ok();
    let id = machine.newest_session()["info"]["id"].as_str().unwrap().to_owned();
    let ran = haft(&machine, rung, &["session", "pack", &id, "-o", "-", "--yes"]).ok().says(&["the pack has "]);
    assert!(!machine.project().join("-").exists());
    let packed = ran.json();
    for gone in ["block-pass-1", "flag-pass-2", "flag-key-3", "Ada Lovelace", "ada@engine", &other] {
        assert!(!ran.out.contains(gone), "{gone} is in {}", ran.out);
    }
    assert!(ran.out.contains("the password stays") && ran.out.contains("user: bob"), "{}", ran.out);
    let log = packed["log"].as_array().unwrap();
    assert!(!log.is_empty() && log.iter().all(|line| line.as_str().unwrap().contains(&id)), "{log:#?}");
    assert!(!packed["settings"].as_array().unwrap().contains(&json!("")), "{}", packed["settings"]);
    let bare = haft(&machine, rung, &["session", "pack", &id, "-o", "-", "--no-files"]).ok();
    assert!(!bare.out.contains(&other) && !bare.out.contains("a.yml"), "{}", bare.out);
    let path = machine.root().join("pack.json").display().to_string();
    std::fs::write(&path, ran.out).unwrap();
    let told = haft(&machine, rung, &["session", "replay", &path, "--json"]).json();
    assert_eq!(told["answers"], 2, "{told:#}");
}

#[test]
fn what_git_tracks_is_there_again_and_what_is_no_text_is_told_by_its_length() {
    let machine = Machine::with(&[("kept.log", "kept\n"), (".gitignore", "*.log\n")]);
    let rung = rung();
    for args in [&["init", "-q"][..], &["add", "-f", "kept.log"]] {
        assert!(
            std::process::Command::new("git").args(args).current_dir(machine.project()).status().unwrap().success()
        );
    }
    let answers = [
        r#"{"answer":[{"call":"bash","args":{"command":"cat kept.log; head -c 16 /dev/urandom > a.bin; printf '\\0' >> a.bin"}}]}"#,
        r#"{"answer":[{"text":"Done."}]}"#,
    ];
    haft(&machine, rung, &["run", "go", "--auto", "--model", &machine.scenario(&answers)]).ok();
    let id = machine.newest_session()["info"]["id"].as_str().unwrap().to_owned();
    let ran = haft(&machine, rung, &["session", "replay", &id]).ends(1);
    assert_eq!(ran.out, "a.bin: differs: binary, 17 and 17 bytes\n");
}

#[test]
fn tasks_are_played_their_own_answers() {
    let machine = Machine::with(&[("a.txt", "one\n")]);
    let rung = rung();
    let below = machine.root().join("below.jsonl");
    let lines = [
        json!({"haft": "scenario", "version": 1}),
        json!({"answer": [{"call": "bash", "args": {"command": "cat a.txt"}}]}),
        json!({"answer": [{"text": "It says one."}]}),
    ];
    std::fs::write(&below, lines.map(|line| line.to_string()).join("\n")).unwrap();
    machine.write(
        "opencode.json",
        &json!({"agent": {"general": {"model": format!("script/{}", below.display())}}}).to_string(),
    );
    let task = |name: &str| json!({"call": "task", "args": {"description": name, "prompt": format!("look at {name}"), "subagent_type": "general"}});
    let first = json!({"answer": [task("left"), task("right")]}).to_string();
    let model = machine.scenario(&[&first, r#"{"answer":[{"text":"Both."}]}"#]);
    haft(&machine, rung, &["run", "go", "--auto", "--model", &model]).ok();
    let id = machine.newest_session()["info"]["id"].as_str().unwrap().to_owned();
    let told = haft(&machine, rung, &["session", "replay", &id, "--json"]).ok().json();
    assert_eq!((&told["same"], &told["calls"]), (&json!(true), &json!(4)), "{told:#}");
}

#[test]
fn without_a_cage_no_command_is_run_again() {
    let machine = Machine::uncaged(&[("a.txt", "one\n")]);
    let touch = json!({"answer": [{"call": "bash", "args": {"command": "touch ran"}}, {"call": "read", "args": {"filePath": "a.txt"}}]});
    let model = machine.scenario(&[&touch.to_string(), r#"{"answer":[{"text":"Done."}]}"#]);
    machine.haft(&["run", "go", "--auto", "--model", &model]).ok();
    let id = machine.newest_session()["info"]["id"].as_str().unwrap().to_owned();
    let told = machine.haft(&["session", "replay", &id, "--json"]).ok().json();
    assert_eq!((&told["same"], &told["calls"]), (&json!(true), &json!(1)), "{told:#}");
    assert_eq!(told["skipped"], json!(["bash touch ran: no command is run without a cage"]));
}

#[test]
fn a_session_that_is_not_there_or_no_project_is_said() {
    let machine = Machine::with(&[]);
    machine.haft(&["session", "replay", "nonsense"]).ends(2).says(&["nor the file of a pack"]);
    machine.haft(&["session", "replay", "ses_none"]).ends(1).says(&["there is no session ses_none"]);
    machine.haft(&["session", "pack", "ses_none"]).ends(1).says(&["there is no session ses_none"]);
}
