//! Slash commands, from settings, Markdown, servers and skills, through the built binary.

use serde_json::{Value, json};

use crate::support::{Machine, parts};

/// What the prompt of the newest session says, with what is shown beside it.
fn asked(machine: &Machine) -> Vec<String> {
    let session = machine.newest_session();
    let parts = session["messages"][0]["parts"].as_array().unwrap();
    parts.iter().filter_map(|part| part["text"].as_str().map(str::to_owned)).collect()
}

fn fine(machine: &Machine) -> String {
    machine.scenario(&[r#"{"answer":[{"text":"Fine."}]}"#])
}

#[test]
fn commands_of_all_places_are_listed() {
    let machine = Machine::with(&[]);
    let settings = json!({"command": {
        "one": {"template": "From settings: $2 $1", "description": "First.", "agent": "plan", "model": "a/b", "subtask": true},
        "init": {"template": "Ours: $ARGUMENTS"},
    }});
    machine.write("opencode.json", &settings.to_string());
    machine.write(".opencode/command/git/deep/sum.md", "---\ndescription: Sum up.\n---\nSum up $1.\n");
    machine.write(".haft/commands/one.md", "---\ndescription: Nearer.\n---\nFrom Markdown.\n");
    machine.write(".haft/skills/review/SKILL.md", "---\nname: review\n---\nTaken.\n");
    machine.write(".haft/skills/free/SKILL.md", "---\nname: free\ndescription: A skill.\n---\nCost: $1\n");
    let listed = machine.haft(&["command", "list", "--json"]).ok().json();
    let named = |name: &str| listed.as_array().unwrap().iter().find(|one| one["name"] == name).cloned().unwrap();
    let names: Vec<&str> = listed.as_array().unwrap().iter().map(|one| one["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["customize-haft", "free", "git/deep/sum", "init", "one", "review"]);
    // Markdown lies over the settings, key by key.
    let one = named("one");
    assert_eq!((&one["template"], &one["description"]), (&json!("From Markdown."), &json!("Nearer.")));
    assert_eq!((&one["agent"], &one["model"], &one["subtask"]), (&json!("plan"), &json!("a/b"), &json!(true)));
    assert_eq!(
        (&named("init")["template"], &named("init")["hints"]),
        (&json!("Ours: $ARGUMENTS"), &json!(["$ARGUMENTS"]))
    );
    assert_eq!(named("review")["source"], "command");
    assert_eq!((&named("free")["source"], &named("free")["hints"]), (&json!("skill"), &json!([])));
    let told = machine.haft(&["command", "list"]).ok().out;
    assert!(told.contains("/git/deep/sum    Sum up.\n"), "{told}");
}

#[test]
fn a_template_is_filled_in_and_arguments_are_only_words() {
    let machine = Machine::with(&[("a.txt", "seen\n"), ("b.txt", "also\n")]);
    let template =
        "First $1, rest $2.\nAll: $ARGUMENTS\nRuns: !`printf '%s' \"$1\"`|\nShown: @a.txt: @a.txt @explore @none\n";
    machine.write(".haft/commands/do/it.md", template);
    machine.write("opencode.json", r#"{"permission": {"bash": "allow"}}"#);
    let model = fine(&machine);
    let arguments = "/do/it 'x; touch ran' two \"three four\" !`touch ran` @b.txt $1";
    machine.haft(&["run", "--model", &model, arguments]).ok();
    let asked = asked(&machine);
    let want = "First x; touch ran, rest two three four !`touch ran` @b.txt $1.\n\
                All: 'x; touch ran' two \"three four\" !`touch ran` @b.txt $1\n\
                Runs: x; touch ran|\nShown: @a.txt: @a.txt @explore @none";
    assert_eq!(asked[0], want);
    assert!(!machine.project().join("ran").exists());
    // Each file is shown once, whatever stands behind its name.
    let shown = |name: &str| asked.iter().filter(|text| text.starts_with(&format!("The user shows {name}"))).count();
    assert_eq!((shown("a.txt"), shown("b.txt")), (1, 1), "{asked:#?}");
    assert!(asked.iter().any(|text| text.starts_with("The command wants the agent explore")), "{asked:#?}");
    // That is no leave of the person's, so no part says that they named it.
    let parts = parts(&machine.newest_session());
    assert!(parts.iter().all(|part| part["type"] != "agent"), "{parts:#?}");
}

#[test]
fn a_command_line_of_a_template_goes_past_the_rules_and_tells_how_it_ended() {
    let machine = Machine::with(&[]);
    machine.write(".haft/commands/look.md", "!`echo out; echo err >&2; exit 3`\n!`true`\n!`touch denied`\n");
    machine.write("opencode.json", r#"{"permission": {"bash": {"*": "allow", "touch *": "deny"}}}"#);
    let model = fine(&machine);
    machine.haft(&["run", "--model", &model, "--command", "look"]).ok();
    let asked = asked(&machine);
    assert!(asked[0].starts_with("out\nerr\n(exit code 3)\n(no output)\n(`touch denied` was not run: "), "{asked:?}");
    assert!(!machine.project().join("denied").exists());
}

#[test]
fn unknown_commands_and_agents_are_told_with_those_there_are() {
    let machine = Machine::with(&[]);
    machine.write("opencode.json", r#"{"command": {"one": {"template": "x", "agent": "nobody"}}}"#);
    let model = fine(&machine);
    let ran = machine.haft(&["run", "--model", &model, "--command", "two"]).ends(2);
    ran.says(&["there is no command /two; those there are: /customize-haft, /init, /one, /review"]);
    machine.haft(&["run", "--model", &model, "/one"]).ends(1).says(&["nobody", "build, plan"]);
}

#[test]
fn who_answers_a_command_is_as_it_says() {
    let machine = Machine::with(&[]);
    let commands = json!({
        "planned": {"template": "x", "agent": "plan"},
        "apart": {"template": "Look into it.", "agent": "explore", "description": "a look"},
        "here": {"template": "x", "agent": "explore", "subtask": false},
    });
    machine.write("opencode.json", &json!({"command": commands}).to_string());
    let model = machine.scenario(&[r#"{"answer":[{"text":"Fine."}]}"#, r#"{"answer":[{"text":"Fine."}]}"#]);
    let agent = |command: &str| -> Value {
        machine.haft(&["run", "--model", &model, command]).ok();
        machine.newest_session()["messages"][1]["info"]["agent"].clone()
    };
    assert_eq!(agent("/planned"), "plan");
    assert_eq!(agent("/here"), "explore");
    machine.haft(&["run", "--model", &model, "/apart now"]).ok();
    let all = parts(&machine.newest_session());
    let task = all.iter().find(|part| part["type"] == "subtask").unwrap();
    assert_eq!((&task["prompt"], &task["agent"]), (&json!("Look into it.\n\nnow"), &json!("explore")));
    assert_eq!((&task["description"], &task["command"]), (&json!("a look"), &json!("apart")));
    let call = all.iter().find(|part| part["tool"] == "task").unwrap();
    assert_eq!(call["state"]["status"], "completed", "{call:#}");
}

#[test]
fn what_is_built_in_takes_words_and_a_skill_is_a_command() {
    let machine = Machine::with(&[]);
    machine.write(".haft/skills/free/SKILL.md", "---\nname: free\n---\nCost: $1 !`touch ran` @a.txt\n");
    let model = fine(&machine);
    machine.haft(&["run", "--model", &model, "/init keep it short"]).ok();
    assert!(asked(&machine)[0].ends_with("What the user adds: keep it short"));
    machine.haft(&["run", "--model", &model, "/free now !`touch ran`"]).ok();
    let folder = machine.project().join(".haft/skills/free");
    let want = format!(
        "Cost: $1 !`touch ran` @a.txt\n\nBase directory for this skill: {}\n\nnow !`touch ran`",
        folder.display()
    );
    assert_eq!(asked(&machine)[0], want);
    assert!(!machine.project().join("ran").exists());
}

#[test]
fn prompts_of_servers_are_commands_from_the_first_call_on() {
    let machine = Machine::uncaged(&[("a.txt", "not shown\n")]);
    let server = machine.root().join("server.py");
    std::fs::write(&server, include_str!("mcp/server.py")).unwrap();
    let command = json!(["python3", server, machine.root().join("started"), "0"]);
    let small = json!({"type": "local", "command": command, "sandbox": {"mode": "off"}});
    machine.write("opencode.json", &json!({"mcp": {"my small": small}}).to_string());
    let model = fine(&machine);
    machine.haft(&["run", "--model", &model, "--command", "my_small:greet", "Ann", "Bob and", "Eve"]).ok();
    // What a server says is only words.
    assert_eq!(asked(&machine), ["Greet Ann and Bob and Eve. !`touch ran` @a.txt"]);
    assert!(!machine.project().join("ran").exists());
    let listed = machine.haft(&["command", "list", "--json"]).ok().json();
    let greet = listed.as_array().unwrap().iter().find(|one| one["name"] == "my_small:greet").unwrap();
    assert_eq!((&greet["source"], &greet["hints"]), (&json!("mcp"), &json!(["$1", "$2"])));
    assert_eq!(greet["description"], "Greets somebody.");
}
