//! What a run may cost, what it takes, and the form that its answer is to have.

use serde_json::{Value, json};

use crate::support::{Machine, Served, parts};

fn echo(n: u32) -> String {
    json!({"answer": [
        {"call": "bash", "args": {"command": format!("echo {n}")}},
        {"usage": {"input": 700, "output": 50, "cache_read": 200, "cache_write": 100}},
    ]})
    .to_string()
}

/// A machine whose model answers with `answers`, each with its price.
fn priced(answers: &[String]) -> (Machine, Served) {
    let machine = Machine::uncaged(&[]);
    let answers: Vec<&str> = answers.iter().map(String::as_str).collect();
    let served = Served::plays(&answers);
    machine.use_server(&served.url());
    (machine, served)
}

#[test]
fn a_run_stops_when_the_money_is_spent() {
    let (machine, served) = priced(&[echo(1), echo(2), echo(3)]);
    // Each step costs 0.0029 or more.
    let ran = machine.haft(&["run", "go", "--auto", "--max-cost", "0.004"]).ends(1);
    assert!(ran.err.contains("and may cost $0.004 (--max-cost"), "{}", ran.err);
    assert_eq!(served.bodies().len(), 2);
    // What was done is kept and whole, and it can be gone on with.
    let session = machine.newest_session();
    let states: Vec<Value> = parts(&session).iter().filter(|part| part["type"] == "tool").cloned().collect();
    assert!(states.iter().all(|part| part["state"]["status"] == "completed") && states.len() == 2, "{states:?}");
    assert!(session["info"]["cost"].as_f64().unwrap() > 0.004);
    machine.haft(&["run", "--continue", "go on", "--auto", "--max-cost", "0.005"]).ends(1);
    assert_eq!(served.bodies().len(), 2, "what was spent before counts");
}

#[test]
fn a_run_stops_after_so_many_steps_and_sums_up() {
    let done = json!({"answer": [{"text": "Half of it."}]}).to_string();
    let (machine, served) = priced(&[echo(1), done, echo(3)]);
    let ran = machine.haft(&["run", "go", "--auto", "--max-steps", "2"]).ok().says(&["stopped after 2 steps"]);
    assert_eq!(ran.out, "Half of it.\n");
    assert_eq!(served.bodies().len(), 2);
}

#[test]
fn limits_that_are_none_are_wrong_usage() {
    let machine = Machine::with(&[]);
    for args in [["--max-cost", "-1"], ["--max-cost", "NaN"], ["--max-cost", "much"], ["--max-steps", "0"]] {
        machine.haft(&[&["run", "go"][..], &args].concat()).ends(2);
    }
    machine.haft(&["run", "go", "--max-cost", "-1"]).ends(2).says(&["name dollars, such as 0.50"]);
}

#[test]
fn a_price_that_nobody_knows_cannot_be_held_and_that_is_said() {
    let machine = Machine::with(&[]);
    let model = machine.scenario(&[r#"{"answer": [{"text": "Hi."}]}"#]);
    machine.haft(&["run", "go", "--model", &model, "--max-cost", "1"]).ok().says(&["so --max-cost cannot hold it"]);
}

#[test]
fn what_each_step_and_the_session_used_is_shown() {
    let done = json!({"answer": [{"text": "Done."}, {"usage": {"input": 10, "output": 5}}]}).to_string();
    let (machine, _served) = priced(&[echo(1), done]);
    machine.haft(&["run", "go", "--auto"]).ok();
    let shown = machine.haft(&["session", "show"]).ok().out;
    for told in ["(1,000 tokens in (200 cached", "(10 tokens in, 5 out · $0.0001)", "all together: 1,010 tokens in"] {
        assert!(shown.contains(told), "{told:?} is not in {shown}");
    }
    let info = &machine.newest_session()["info"];
    assert_eq!((&info["tokens"]["cache"]["read"], &info["tokens"]["output"]), (&json!(200), &json!(55)));
}

fn schema(machine: &Machine) -> String {
    let schema = json!({
        "type": "object",
        "properties": {"city": {"type": "string"}, "people": {"type": "integer"}},
        "required": ["city", "people"],
    });
    machine.write("city.json", &schema.to_string()).display().to_string()
}

fn give(value: Value) -> String {
    json!({"answer": [{"text": "Thinking about it."}, {"call": "StructuredOutput", "args": value}]}).to_string()
}

#[test]
fn the_answer_is_json_of_the_form_and_nothing_else() {
    let (machine, served) = priced(&[give(json!({"city": "Bern"})), give(json!({"city": "Bern", "people": 134_591}))]);
    let schema = schema(&machine);
    let ran = machine.haft(&["run", "where?", "--output-schema", &schema]).ok();
    assert_eq!(ran.out, "{\"city\":\"Bern\",\"people\":134591}\n");
    assert!(ran.err.contains("Thinking about it."), "{}", ran.err);
    let bodies = served.bodies();
    assert_eq!(bodies.len(), 2);
    assert_eq!(bodies[0]["tool_choice"], "required");
    let told = bodies[1]["messages"].as_array().unwrap().last().unwrap()["content"].as_str().unwrap();
    assert!(told.contains("\"people\" is a required property"), "{told}");
    let session = machine.newest_session();
    let messages = session["messages"].as_array().unwrap();
    assert_eq!(messages.last().unwrap()["info"]["structured"], json!({"city": "Bern", "people": 134_591}));
    assert_eq!(messages[0]["info"]["format"]["type"], "json_schema");
}

#[test]
fn an_answer_that_never_has_the_form_fails() {
    let wrong = give(json!({"city": 1}));
    let (machine, served) = priced(&[wrong.clone(), wrong.clone(), wrong.clone(), wrong]);
    let schema = schema(&machine);
    let ran = machine.haft(&["run", "where?", "--output-schema", &schema]).ends(1);
    assert_eq!(ran.out, "");
    assert!(ran.err.contains("no answer of the form that was asked for"), "{}", ran.err);
    assert_eq!(served.bodies().len(), 3);
    let last = machine.newest_session()["messages"].as_array().unwrap().last().unwrap().clone();
    assert_eq!(last["info"]["error"]["name"], "StructuredOutputError");
    assert_eq!(last["info"]["error"]["data"]["retries"], 2);
}

#[test]
fn a_schema_that_is_none_is_wrong_usage_and_nothing_is_sent() {
    let (machine, served) = priced(&[echo(1)]);
    let row = |name: &str, text: &str, want: &str| {
        let file = machine.write(name, text).display().to_string();
        let ran = machine.haft(&["run", "where?", "--output-schema", &file]).ends(2);
        assert!(ran.err.contains(want) && ran.err.contains(name), "{}", ran.err);
    };
    row("a.json", "{", "it is no JSON");
    row("b.json", "[]", "a JSON Schema is an object");
    row("c.json", r#"{"type": "objekt"}"#, "it is no JSON Schema");
    machine.haft(&["run", "where?", "--output-schema", "none.json"]).ends(2).says(&["none.json"]);
    assert!(served.bodies().is_empty());
}

#[test]
fn what_a_request_takes_is_told_before_it_is_sent() {
    let machine = Machine::with(&[]);
    machine.use_server("http://127.0.0.1:9/v1");
    let ran = machine.haft(&["debug", "request", &"word ".repeat(720)]).ok();
    assert!(ran.err.contains("mock/m1 reads at most 100000"), "{}", ran.err);
    assert!(ran.err.contains("conversation 1004"), "{}", ran.err);
    let ran = machine.piped(&["run"], &"words".repeat(100_000)).ends(1);
    assert!(ran.err.contains("conversation 138893") && ran.err.contains("reads at most 100000"), "{}", ran.err);
}
