use super::*;
use crate::document;
use crate::error::Place;
use crate::keys;
use crate::sources::Sources;
use crate::substitute::Filler;

/// What `text` says, then the warnings, a line each; or the error.
fn run(text: &str, strict: Strict) -> String {
    let sources = Sources::default();
    let node = document::read(text, &mut Filler::new(&sources, "f", std::path::Path::new("/"))).unwrap();
    let mut told = Vec::new();
    let place = |at| Place::of(text, at);
    match check(&node, &keys::CONFIG, "", strict, &mut told) {
        Ok(value) => {
            let told = told.iter().map(|finding| format!("\n{}: {}", place(finding.at), finding.message));
            format!("{value}{}", told.collect::<String>())
        }
        Err(Finding { at, key, message }) => format!("{}: {key} {message}", place(at)),
    }
}

#[track_caller]
fn gives(text: &str, want: &str) {
    assert_eq!(run(text, Strict::Yes), want);
}

/// `text` is fine as it is.
#[track_caller]
fn fine(text: &str) {
    let plain: serde_json::Value = serde_json::from_str(text).unwrap();
    gives(text, &plain.to_string());
}

#[test]
fn every_form_that_is_known_is_fine() {
    fine(r#"{"permission": "ask"}"#);
    fine(r#"{"permission": {"*": "ask", "bash": {"git *": "allow"}, "mine_*": "deny", "webfetch": "ask"}}"#);
    fine(r##"{"agent": {"a": {"color": "#00fF00", "mode": "all", "steps": 5, "permission": "deny", "any": [1]}}}"##);
    fine(r#"{"mcp": {"a": {"type": "local", "command": ["x"]}, "b": {"enabled": false}}}"#);
    fine(r#"{"mcp": {"a": {"type": "remote", "url": "u", "oauth": false}}}"#);
    fine(r#"{"plugin": ["a", ["b", {"c": 1}]], "autoupdate": "notify", "snapshot": false}"#);
    fine(r#"{"snapshot": {"quota": "2 GiB", "retention": 7}, "retention": {"sessions": "30d"}}"#);
    fine(r#"{"formatter": true, "lsp": {"a": {"disabled": true}, "b": {"command": ["x"], "env": {"A": "b"}}}}"#);
    fine(r#"{"references": {"a": "../a", "b": {"path": "x"}, "c": {"repository": "r", "branch": "b"}}}"#);
    fine(
        r#"{"sandbox": {"mode": "read-only", "network": "ask", "write": ["x"], "read_deny": [], "presets": ["rust"]}}"#,
    );
    fine(r#"{"provider": {"p": {"options": {"timeout": false, "any": 1}, "models": {"m": {"interleaved": "x"}}}}}"#);
    fine(r#"{"theme": 5, "keybinds": [], "tui": {"x": 1}, "layout": "stretch", "limits": {"cost": 0.5}}"#);
}

#[test]
fn a_wrong_value_has_a_place_a_key_and_what_is_wanted() {
    gives("{\n  \"model\": 5}", "line 2, column 12: model must be a string, not a number");
    gives(r#"{"model": null}"#, "line 1, column 11: model must be a string, not null");
    gives("[1]", "line 1, column 1: the whole must be an object in { }, not a list");
    gives(
        r#"{"snapshot": "true"}"#,
        "line 1, column 14: snapshot must be true or false or an object in { }, not a string",
    );
    gives(r#"{"share": "x"}"#, r#"line 1, column 11: share must be "manual", "auto" or "disabled""#);
    gives(
        r#"{"permission": {"bash": "x"}}"#,
        r#"line 1, column 25: permission.bash must be "allow", "ask" or "deny" or an object in { }"#,
    );
    gives(
        r#"{"permission": {"bash": {"x": 1}}}"#,
        r#"line 1, column 31: permission.bash.x must be "allow", "ask" or "deny", not a number"#,
    );
    gives(
        r#"{"permission": {"todowrite": {"x": "ask"}}}"#,
        r#"line 1, column 30: permission.todowrite must be "allow", "ask" or "deny", not an object"#,
    );
    gives(
        r#"{"tool_output": {"max_lines": -1}}"#,
        "line 1, column 31: tool_output.max_lines must be a whole number of at least 1",
    );
    gives(
        r#"{"tool_output": {"max_lines": 1.5}}"#,
        "line 1, column 31: tool_output.max_lines must be a whole number of at least 1",
    );
    gives(r#"{"server": {"port": 70000}}"#, "line 1, column 21: server.port must be a whole number from 1 to 65535");
    gives(r#"{"command": {"c": {}}}"#, "line 1, column 19: command.c.template is missing");
    gives(r#"{"mcp": {"m": {"type": "locl"}}}"#, r#"line 1, column 24: mcp.m.type must be "local" or "remote""#);
    gives(r#"{"mcp": {"m": {"type": "local"}}}"#, "line 1, column 15: mcp.m.command is missing");
    gives(r#"{"instructions": ["a", 1]}"#, "line 1, column 24: instructions.1 must be a string, not a number");
    gives(r#"{"plugin": [["a"]]}"#, "line 1, column 13: plugin.0 must be a string or a list of two");
    gives(
        r#"{"snapshot": {"quota": "big"}}"#,
        "line 1, column 24: snapshot.quota must be a number of bytes or a size such as \"2 GiB\"",
    );
    gives(r#"{"lsp": {"x": {"disabled": false}}}"#, "line 1, column 28: lsp.x.disabled must be true");
    gives(
        r##"{"agent": {"a": {"color": "#12"}}}"##,
        r##"line 1, column 27: agent.a.color must be a colour such as "#ff8800", or "primary", "secondary", "accent", "success", "warning", "error" or "info""##,
    );
}

#[test]
fn whole_numbers_may_be_written_with_a_fraction_of_nothing() {
    gives(r#"{"tool_output": {"max_lines": 5.0}}"#, r#"{"tool_output":{"max_lines":5}}"#);
}

#[test]
fn an_unknown_key_is_left_out_and_told_with_what_may_be_meant() {
    gives("{\n\"modle\": 1}", "{}\nline 2, column 1: there is no key \"modle\"; \"model\" is meant, perhaps");
    gives(r#"{"nonsense": 1}"#, "{}\nline 1, column 2: there is no key \"nonsense\"; it is left out");
    gives(
        r#"{"tool_output": {"maxlines": 1}}"#,
        "{\"tool_output\":{}}\nline 1, column 18: there is no key \"maxlines\" in tool_output; \"max_lines\" is meant, perhaps",
    );
    gives(
        r#"{"provider": {"p": {"modles": {}}}}"#,
        "{\"provider\":{\"p\":{}}}\nline 1, column 21: there is no key \"modles\" in provider.p; \"models\" is meant, perhaps",
    );
}

#[test]
fn an_unknown_key_of_an_agent_is_for_the_model_and_told_only_if_it_may_be_a_slip() {
    fine(r#"{"agent": {"a": {"reasoningEffort": "high"}}}"#);
    gives(
        r#"{"agent": {"a": {"permision": "deny"}}}"#,
        "{\"agent\":{\"a\":{\"permision\":\"deny\"}}}\nline 1, column 18: \"permision\" in agent.a is no key of haft's; \"permission\" is meant, perhaps",
    );
}

#[test]
fn long_keys_are_cut() {
    let text = format!("{{{:?}: 1}}", "k".repeat(10_000));
    assert!(run(&text, Strict::Yes).len() < 200);
}

#[test]
fn what_is_not_filled_in_is_not_checked() {
    let want = "{\"snapshot\":\"{env:X}\",\"model\":5}";
    // As document leaves it where variables are not put in.
    assert_eq!(run(r#"{"snapshot": "{env:}", "model": 5}"#, Strict::No), want.replace("{env:X}", "{env:}"));
}

#[test]
fn the_data_is_in_order() {
    fn walk(kind: &Kind) {
        match kind {
            Kind::Object(fields) | Kind::Open(fields) | Kind::Keyed(fields, _) => {
                assert!(
                    fields.is_sorted_by(|a, b| a.name < b.name),
                    "{:?}",
                    fields.iter().map(|f| f.name).collect::<Vec<_>>()
                );
                fields.iter().for_each(|field| walk(&field.kind));
            }
            Kind::OneOf(kinds) => kinds.iter().for_each(walk),
            Kind::Tagged(_, kinds, bare) => {
                kinds.iter().for_each(|(_, kind)| walk(kind));
                walk(bare);
            }
            Kind::List(kind) | Kind::Map(kind) => walk(kind),
            Kind::Pair(first, second) => [first, second].into_iter().for_each(|kind| walk(kind)),
            Kind::Any
            | Kind::Text
            | Kind::Bool
            | Kind::Only(_)
            | Kind::Number(_)
            | Kind::Whole(..)
            | Kind::Word(_)
            | Kind::Color
            | Kind::Size
            | Kind::Span => {}
        }
    }
    walk(&keys::CONFIG);
}
