//! What plug-ins do with sessions by their `client`, through the binary.

use std::process::Stdio;

use serde_json::{Value, json};

use crate::support::{Machine, Ran, Served, fault, parts, wait_for};
use crate::task;

const CALLS: &str = r#"{"answer":[{"call":"act","args":{},"id":"c1"}]}"#;
const DONE: &str = r#"{"answer":[{"text":"All done."}]}"#;
const SAYS: &str = r#"{"answer":[{"text":"It says one."}]}"#;

/// The file of a plug-in with a tool `act` that does `act`, and `hooks`. Its functions are given `client`, `own` to name the
/// session, and `note` to write a line; what `act` gives back becomes JSON.
fn plug_in(act: &str, hooks: &str) -> String {
    format!(
        "import {{ tool }} from '@opencode-ai/plugin'
         import {{ appendFileSync }} from 'node:fs'
         const note = (line) => appendFileSync('told.txt', line + '\\n')
         const words = (text) => [{{ type: 'text', text }}]
         const refused = (error) => error.message
         export const Acts = async ({{ client }}) => ({{
             tool: {{ act: tool({{ description: 'Acts.', args: {{}}, execute: async (args, context) => {{
                 const own = {{ path: {{ id: context.sessionID }} }}
                 const done = await (async () => {{ {act} }})()
                 return JSON.stringify(done ?? null)
             }} }}) }},
             {hooks}
         }})"
    )
}

/// A machine with that plug-in, where the agent `explore` plays `answers`.
///
/// So does `helper`, which may change files: a hook may do what the agent may that works meanwhile.
fn machine(act: &str, hooks: &str, answers: &[&str], settings: Value) -> Machine {
    let machine = task::machine(answers, settings);
    let mut config: Value = serde_json::from_str(&machine.read("opencode.json")).unwrap();
    let model = machine.root().join("explore.jsonl").display().to_string();
    config["agent"]["helper"] = json!({ "mode": "all", "model": format!("script/{model}") });
    machine.write("opencode.json", &config.to_string());
    machine.write(".opencode/plugin/acts.ts", &plug_in(act, hooks));
    machine
}

fn run(machine: &Machine, answers: &[&str]) -> Ran {
    let model = machine.scenario(answers);
    machine.haft(&["run", "go", "--model", &model])
}

/// What the tool gave back, or its error.
fn acted(machine: &Machine) -> Value {
    let state =
        parts(&machine.newest_session()).into_iter().find(|part| part["tool"] == "act").unwrap()["state"].clone();
    let text = state["output"].as_str().or(state["error"].as_str()).unwrap().to_owned();
    serde_json::from_str(&text).unwrap_or(Value::String(text))
}

/// The text of each message of a request, behind who says it.
fn said(body: &Value) -> Vec<String> {
    let text = |message: &Value| match &message["content"] {
        Value::Array(all) => all.iter().filter_map(|one| one["text"].as_str()).collect::<Vec<_>>().join("|"),
        one => one.as_str().unwrap_or_default().to_owned(),
    };
    let messages = body["messages"].as_array().unwrap().iter();
    messages.map(|message| format!("{}: {}", message["role"].as_str().unwrap(), text(message))).collect()
}

/// Whether the record has an entry with all of `words`.
fn is_recorded(machine: &Machine, words: &[&str]) -> bool {
    let audit = machine.haft(&["audit", "show", "--json"]).ok().out;
    audit.lines().any(|line| words.iter().all(|word| line.contains(word)))
}

#[test]
fn words_without_an_answer_reach_the_model_behind_the_result() {
    let machine = machine(
        "const first = await client.session.prompt({ ...own, body: { agent: context.agent, noReply: true, parts: words('Skill one.') } })
         await client.session.prompt({ ...own, body: { noReply: true, parts: [{ type: 'text', text: 'For people.', ignored: true }] } })
         return [first.data.info.role, first.data.parts[0].text]",
        "",
        &[],
        json!({}),
    );
    let served = Served::plays(&[CALLS, DONE]);
    let settings: Value = serde_json::from_str(&crate::support::server_config(&served.url())).unwrap();
    machine.write("opencode.json", &settings.to_string());
    machine.haft(&["run", "go"]).ok();
    let bodies: Vec<Value> = served.bodies().into_iter().filter(|body| !body["tools"].is_null()).collect();
    let last = bodies.last().unwrap();
    assert_eq!(fault(last), None, "{last}");
    let said = said(last);
    let (result, noted) = (&said[said.len() - 2], &said[said.len() - 1]);
    assert!(result.starts_with("tool: [\"user\",\"Skill one.\"]"), "{said:?}");
    assert!(noted.starts_with("user: ") && noted.contains("Skill one."), "{said:?}");
    assert!(!last.to_string().contains("For people."), "{last}");
    // It is marked, and stands in the record.
    let session = machine.newest_session();
    let part = parts(&session).into_iter().find(|part| part["text"] == "Skill one.").unwrap();
    assert!(part["metadata"]["plugin"].as_str().unwrap().ends_with("acts.ts"), "{part}");
    assert!(is_recorded(&machine, &["client.session.prompt", "acts.ts", r#""kind":"grant""#]));
    // Nobody answered it by itself.
    assert_eq!(bodies.len(), 2, "{bodies:?}");
}

#[test]
fn hooks_that_a_turn_waits_for_say_something_in_it() {
    let hook = |name: &str| {
        format!(
            "'{name}': async (input) => {{
                if (!input.sessionID || told.has('{name}')) return
                told.add('{name}')
                await client.session.prompt({{ path: {{ id: input.sessionID }}, body: {{ noReply: true, parts: words('By {name}.') }} }})
             }}"
        )
    };
    let points =
        ["tool.execute.before", "tool.execute.after", "chat.params", "experimental.text.complete", "chat.message"];
    let hooks = points.map(hook).join(", ");
    let machine = machine("return 1", &hooks, &[], json!({}));
    let text = plug_in("return 1", &hooks).replace("const words", "const told = new Set(); const words");
    machine.write(".opencode/plugin/acts.ts", &text);
    run(&machine, &[CALLS, DONE]).ok();
    let texts: Vec<String> = parts(&machine.newest_session()).iter().map(|part| part["text"].to_string()).collect();
    for point in points {
        let count = texts.iter().filter(|text| text.contains(&format!("By {point}."))).count();
        assert_eq!(count, 1, "{point}: {texts:?}");
    }
}

#[test]
fn an_agent_answers_in_a_session_that_was_made_for_it() {
    let act = "const made = await client.session.create({ body: { title: 'Look  into it', parentID: context.sessionID } })
         const id = made.data.id
         const answer = await client.session.prompt({ path: { id }, body: { agent: 'explore', parts: words('Look.') } })
         await client.session.update({ path: { id }, body: { title: 'Looked' } })
         return [answer.data.info.role, answer.data.parts.filter((part) => part.type === 'text').map((part) => part.text),
             made.data.parentID === context.sessionID, (await client.session.get({ path: { id } })).data.title]";
    let machine = machine(act, "", &[SAYS, SAYS, SAYS], json!({}));
    run(&machine, &[CALLS, DONE]).ok();
    assert_eq!(acted(&machine), json!(["assistant", ["It says one."], true, "Looked"]));
    assert!(is_recorded(&machine, &[r#""permission":"task""#, "explore", "delegate", "acts.ts"]));
    // It is the effect of the task tool: rules about that hold, and those about plug-ins.
    for permission in [json!({ "task": { "explore": "deny" } }), json!({ "plugin": { "acts": "deny" } })] {
        let mut settings: Value = serde_json::from_str(&machine.read("opencode.json")).unwrap();
        settings["permission"] = permission;
        machine.write("opencode.json", &settings.to_string());
        run(&machine, &[CALLS, DONE]).ok();
        let got = acted(&machine);
        assert!(got.as_str().unwrap().contains("rules do not allow this"), "{got}");
    }
    // Where rules ask nobody is there.
    let mut settings: Value = serde_json::from_str(&machine.read("opencode.json")).unwrap();
    settings["permission"] = json!({ "task": "ask" });
    machine.write("opencode.json", &settings.to_string());
    run(&machine, &[CALLS, DONE]).ok();
    let got = acted(&machine);
    assert!(got.as_str().unwrap().contains("needs the user's leave (task: explore)"), "{got}");
    // What it makes works for its session: no deeper than tasks may stand.
    settings["permission"] = json!({});
    settings["subagent_depth"] = json!(0);
    machine.write("opencode.json", &settings.to_string());
    run(&machine, &[CALLS, DONE]).ok();
    assert!(acted(&machine).as_str().unwrap().contains("may begin no further one"), "{}", acted(&machine));
}

#[test]
fn what_is_closed_to_an_agent_stays_closed_below_it() {
    let write = r#"{"answer":[{"call":"write","args":{"filePath":"new.txt","content":"x"}}]}"#;
    let act = "const { data: { id } } = await client.session.create({ body: {} })
         await client.session.prompt({ path: { id }, body: { agent: 'build', tools: { read: false }, parts: words('Write.') } })
         const own = await client.session.promptAsync({ path: { id: context.sessionID }, body: { agent: 'build', parts: words('x') } }).catch(refused)
         return own";
    let machine = machine(act, "", &[], json!({}));
    let model = machine.scenario(&[CALLS, DONE]);
    let below = machine.root().join("below.jsonl");
    let text = format!("{{\"haft\":\"scenario\",\"version\":1}}\n{write}\n{DONE}\n");
    std::fs::write(&below, text).unwrap();
    let agent = json!({ "build": { "model": format!("script/{}", below.display()) } });
    machine.write("opencode.json", &json!({ "agent": agent }).to_string());
    machine.haft(&["run", "go", "--agent", "plan", "--model", &model]).ok();
    assert!(!machine.project().join("new.txt").exists());
    let got = acted(&machine);
    assert!(got.as_str().unwrap().contains("does not put build in its place"), "{got}");
}

#[test]
fn nobody_waits_for_an_answer_of_who_waits_for_them() {
    let ask = |id: &str| {
        format!("client.session.prompt({{ path: {{ id: {id} }}, body: {{ parts: words('x') }} }}).catch(refused)")
    };
    let act = format!(
        "const {{ data: {{ id }} }} = await client.session.create({{ body: {{ parentID: context.sessionID }} }})
         await client.session.prompt({{ path: {{ id }}, body: {{ agent: 'helper', parts: words('Look.') }} }})
         return await {}",
        ask("context.sessionID")
    );
    // The turn of each waits for its hook: for itself, and below for the one above.
    let hook = format!(
        "'chat.headers': async (input) => {{
             const {{ data: {{ parentID }} }} = await client.session.get({{ path: {{ id: input.sessionID }} }})
             note([parentID ? 'below:' : 'above:', await {}].join(' '))
         }}",
        ask("parentID ?? input.sessionID")
    );
    let machine = machine(&act, &hook, &[SAYS], json!({}));
    run(&machine, &[CALLS, DONE]).ok();
    let got = acted(&machine);
    assert!(got.as_str().unwrap().contains("use promptAsync or noReply"), "{got}");
    let told = machine.read("told.txt");
    for who in ["above: ", "below: "] {
        let line = told.lines().find(|line| line.starts_with(who)).unwrap();
        assert!(line.contains("use promptAsync or noReply"), "{told}");
    }
}

#[test]
fn a_prompt_that_nobody_waits_for_is_read_at_the_next_step() {
    let machine = machine(
        "return (await client.session.promptAsync({ ...own, body: { parts: words('And mind the tests.') } })).data",
        "",
        &[],
        json!({}),
    );
    let served = Served::plays(&[CALLS, DONE, DONE]);
    machine.use_server(&served.url());
    machine.haft(&["run", "go"]).ok();
    assert_eq!(acted(&machine), Value::Null);
    let bodies = served.bodies();
    assert!(bodies.iter().any(|body| body.to_string().contains("And mind the tests.")), "{bodies:?}");
    assert!(bodies.iter().all(|body| fault(body).is_none()));
}

#[test]
fn a_plug_in_that_goes_on_for_ever_is_stopped_and_named() {
    let hooks = "event: async ({ event }) => {
            if (event.type !== 'session.idle') return
            const path = { id: event.properties.sessionID }
            await client.session.prompt({ path, body: { parts: words('Go on.') } }).catch((error) => note(error.message))
        }";
    let machine = machine("return 1", hooks, &[], json!({}));
    let model = machine.scenario(&[DONE; 60]);
    let mut child = machine.start(machine.command(&["--model", &model]).stdin(Stdio::piped()));
    let mut input = child.stdin.take().unwrap();
    std::io::Write::write_all(&mut input, b"hello\n").unwrap();
    wait_for(&machine.project().join("told.txt"), "50 prompts that an agent answers are the most");
    drop(input);
    let ran = Ran::from(child.wait_with_output().unwrap()).ok();
    assert_eq!(ran.err.matches("acts.ts goes no further").count(), 1, "{}", ran.err);
    let said = parts(&machine.newest_session()).iter().filter(|part| part["text"] == "Go on.").count();
    assert_eq!(said, 50);
}

#[test]
fn stopping_a_turn_stops_the_answers_that_it_waits_for() {
    let act = "const { data: { id } } = await client.session.create({ body: { parentID: context.sessionID } })
         note(id)
         return await client.session.prompt({ path: { id }, body: { agent: 'helper', parts: words('Look.') } }).catch(refused)";
    let hangs = r#"{"answer":[{"text":"Hm.","pieces":1},{"hang":true}]}"#;
    let hooks = "event: async ({ event }) => {
            if (event.type === 'message.part.delta' && event.properties.delta.includes('Hm')) note('it hangs')
        }";
    let machine = machine(act, hooks, &[hangs], json!({}));
    let model = machine.scenario(&[CALLS, DONE]);
    let child = machine.start(&mut machine.command(&["run", "go", "--model", &model]));
    wait_for(&machine.project().join("told.txt"), "it hangs");
    crate::run::signal(child.id(), rustix::process::Signal::INT);
    Ran::from(child.wait_with_output().unwrap()).ends(130);
    let below = machine.read("told.txt").lines().next().unwrap().to_owned();
    let below = machine.haft(&["session", "show", &below, "--json"]).ok().json();
    assert_eq!(below["messages"][1]["info"]["error"]["name"], "MessageAbortedError", "{below}");
}

#[test]
fn a_plug_in_removes_only_sessions_that_it_made() {
    let machine = machine(
        "const made = await client.session.create({ body: { title: 'Mine' } })
         const listed = (await client.session.list()).data.length
         const path = { id: made.data.id }
         await client.session.prompt({ path, body: { noReply: true, parts: words('Kept.') } })
         const kept = (await client.session.messages({ path })).data.length
         return [await client.session.delete(own).catch(refused), listed, kept, (await client.session.delete({ path })).data,
             (await client.session.list()).data.length, (await client.session.abort({ path: { id: 'ses_x' } })).error.name]",
        "",
        &[],
        json!({}),
    );
    run(&machine, &[CALLS, DONE]).ok();
    let got = acted(&machine);
    assert!(got[0].as_str().unwrap().contains("was not made by this plug-in"), "{got}");
    assert_eq!(
        got.as_array().unwrap()[1..],
        [json!(2), json!(1), json!(true), json!(1), json!("NotFoundError")],
        "{got}"
    );
}

#[test]
fn the_client_tells_what_there_is() {
    let machine = machine(
        "const [message] = (await client.session.messages(own)).data
         const one = await client.session.message({ path: { id: context.sessionID, messageID: message.info.id } })
         const providers = (await client.config.providers()).data
         return {
             agents: (await client.app.agents()).data.map((agent) => agent.name).includes('explore'),
             commands: (await client.command.list()).data.map((command) => command.name).includes('greet'),
             ids: (await client.tool.ids()).data.includes('act'),
             list: (await client.tool.list({ query: { provider: 'p', model: 'm' } })).data.find((tool) => tool.id === 'read').parameters.type,
             providers: providers.providers.map((provider) => [provider.id, Object.keys(provider.models)]),
             key: JSON.stringify([providers, (await client.provider.list()).data]).includes('sk-secret'),
             mcp: (await client.mcp.status()).data,
             branch: (await client.vcs.get()).data,
             status: (await client.session.status()).data[context.sessionID],
             message: one.data.parts[0].text,
             diff: (await client.session.diff(own)).data,
             never: await client.postSessionIdPermissionsPermissionId({}).catch(refused),
             screen: await client.tui.appendPrompt({ body: { text: 'x' } }).catch(refused),
             files: await client.session.prompt({ ...own, body: { noReply: true, parts: [{ type: 'file', mime: 'text/plain', url: 'file:///etc/passwd' }] } }).catch(refused),
             shell: await client.session.shell({ ...own, body: { command: 'true' } }).catch(refused),
         }",
        "",
        &[],
        json!({}),
    );
    let models =
        json!({ "m1": { "limit": { "context": 1000, "output": 100 }, "options": { "apiKey": "sk-secret-too" } } });
    let mock = json!({ "npm": "@ai-sdk/openai-compatible", "models": models,
        "options": { "baseURL": "http://127.0.0.1:9/v1", "apiKey": "sk-secret-of-mine" } });
    let settings = json!({ "provider": { "mock": mock }, "command": { "greet": { "template": "Greet." } },
        "mcp": { "off": { "type": "local", "command": ["true"], "enabled": false } } });
    machine.write("opencode.json", &settings.to_string());
    let git =
        std::process::Command::new("git").args(["init", "-q", "-b", "topic"]).current_dir(machine.project()).status();
    assert!(git.unwrap().success());
    run(&machine, &[CALLS, DONE]).ok();
    let mut got = acted(&machine);
    let refusals = ["never", "screen", "files", "shell"].map(|name| got[name].take().as_str().unwrap().to_owned());
    for (refusal, want) in refusals.iter().zip(["for a person", "no screen", "client.file.read", "use $"]) {
        assert!(refusal.contains(want), "{want}: {refusals:?}");
    }
    let mock = got["providers"].take();
    assert!(mock.as_array().unwrap().contains(&json!(["mock", ["m1"]])), "{mock}");
    let want = json!({
        "agents": true, "commands": true, "ids": true, "list": "object", "providers": null, "key": false,
        "mcp": { "off": { "status": "disabled" } }, "branch": { "branch": "topic" }, "status": { "type": "busy" }, "message": "go",
        "diff": [], "never": null, "screen": null, "files": null, "shell": null,
    });
    assert_eq!(got, want);
}

#[test]
fn a_command_that_was_carried_out_is_told_of() {
    let hooks = "event: async ({ event }) => {
            if (event.type === 'command.executed') note([event.properties.name, event.properties.arguments, event.properties.messageID.slice(0, 4)].join(' '))
        }";
    let act = "return (await client.session.create({ body: {} }).then(({ data }) =>
             client.session.command({ path: { id: data.id }, body: { command: 'greet', arguments: 'you @a.txt' } }))).data.parts.map((part) => part.text)";
    let machine = machine(
        act,
        hooks,
        &[],
        json!({ "command": { "greet": { "template": "Greet $ARGUMENTS.", "agent": "helper", "subtask": false } } }),
    );
    let model = machine.scenario(&[DONE]);
    let explore = machine.root().join("explore.jsonl");
    std::fs::write(&explore, format!("{{\"haft\":\"scenario\",\"version\":1}}\n{SAYS}\n")).unwrap();
    machine.haft(&["run", "--command", "greet", "me", "--model", &model]).ok();
    assert_eq!(machine.read("told.txt"), "greet me msg_\n");
    run(&machine, &[CALLS, DONE]).ok();
    assert!(machine.read("told.txt").ends_with("greet you @a.txt msg_\n"), "{}", machine.read("told.txt"));
}
