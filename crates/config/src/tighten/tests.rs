use super::*;
use crate::schema::Kind;

fn own() -> Own {
    let set = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
    Own { agents: set(&["mine"]), vendors: set(&["a", "b"]), vendor: None }
}

fn tight(value: Value, below: Value, own: &Own) -> Tight {
    let here = Here { top: Path::new("/p"), directory: Path::new("/p/sub"), home: Path::new("/home/u") };
    tighten(&value, &below, own, here)
}

/// `value` over `below` comes to `want`, and `left_out` are the keys that do not count.
#[track_caller]
fn over(value: Value, below: Value, want: Value, left_out: &[&str]) {
    let got = tight(value.clone(), below, &own());
    assert_eq!(got.value, want, "{value}");
    let keys: Vec<String> = got.left_out.iter().map(|out| format!("{} {}", out.key, out.effect.word())).collect();
    assert_eq!(keys, left_out, "{value}");
}

#[track_caller]
fn check(value: Value, want: Value, left_out: &[&str]) {
    over(value, json!({}), want, left_out);
}

/// It counts as it is.
#[track_caller]
fn kept(value: Value) {
    check(value.clone(), value, &[]);
}

#[test]
fn every_setting_has_a_class() {
    fn walk(kind: &'static Kind, trail: &str, apart: bool) {
        let (Kind::Object(fields) | Kind::Open(fields)) = kind else {
            if let Kind::Map(inner) = kind {
                walk(inner, trail, apart);
            }
            return;
        };
        for field in *fields {
            let trail = format!("{trail}.{}", field.name);
            assert_eq!(apart, field.care != Care::Above, "{trail}: a part of what is judged in parts has a class");
            walk(&field.kind, &trail, field.care == Care::Parts);
        }
    }
    walk(&keys::CONFIG, "", true);
}

#[test]
fn looks_and_words_count() {
    kept(json!({"$schema": "s", "username": "u", "theme": "t", "layout": "auto", "logLevel": "DEBUG"}));
    kept(json!({"agent": {"plan": {"prompt": "p", "description": "d", "temperature": 1, "color": "info"}}}));
    kept(json!({"command": {"c": {"template": "t $1 @a", "description": "d", "subtask": true, "agent": "build"}}}));
    kept(
        json!({"compaction": {"auto": false}, "watcher": {"ignore": ["x"]}, "attachment": {"image": {"max_width": 5}}}),
    );
    kept(json!({"experimental": {"batch_tool": true, "mcp_timeout": 5}}));
}

#[test]
fn what_gives_more_does_not_count() {
    check(
        json!({"provider": {"a": {"options": {"baseURL": "https://evil"}}, "b": {}}}),
        json!({}),
        &["provider.a loosens", "provider.b loosens"],
    );
    check(
        json!({"server": {"hostname": "0.0.0.0"}, "search": {"url": "u"}, "enterprise": {"url": "u"}, "retention": "1s"}),
        json!({}),
        &["server loosens", "search loosens", "enterprise loosens", "retention loosens"],
    );
    check(
        json!({"network": {"proxy": "http://evil", "ca": "evil.pem", "client_cert": "c", "no_proxy": ["*"]}}),
        json!({}),
        &["network loosens"],
    );
    check(json!({"keybinds": {"x": "y"}, "tui": {}}), json!({}), &["keybinds loosens", "tui loosens"]);
    check(
        json!({"share": "auto", "autoshare": true, "autoupdate": true, "snapshot": false, "audit": false, "offline": false}),
        json!({"offline": false}),
        &["share loosens", "autoshare loosens", "autoupdate loosens", "snapshot loosens", "audit loosens"],
    );
    check(json!({"snapshot": {"quota": 1}, "audit": {"x": 1}}), json!({}), &["snapshot loosens", "audit loosens"]);
    check(
        json!({"experimental": {"continue_loop_on_deny": true, "openTelemetry": true, "policies": []}}),
        json!({"experimental": {}}),
        &[
            "experimental.continue_loop_on_deny loosens",
            "experimental.openTelemetry loosens",
            "experimental.policies loosens",
        ],
    );
}

#[test]
fn what_runs_does_not_count() {
    check(
        json!({"mcp": {"m": {"type": "local", "command": ["x"]}, "r": {"type": "remote", "url": "u"}}}),
        json!({}),
        &["mcp.m runs", "mcp.r runs"],
    );
    check(
        json!({"plugin": ["p"], "hooks": {"h": [], "i": []}, "shell": "/tmp/sh"}),
        json!({}),
        &["plugin runs", "hooks.h runs", "hooks.i runs", "shell runs"],
    );
    check(json!({"formatter": true, "lsp": true}), json!({}), &["formatter runs", "lsp runs"]);
    check(
        json!({"formatter": {"a": {"command": ["x"]}}, "lsp": {"b": {"command": ["y"], "disabled": true}}}),
        json!({}),
        &["formatter.a runs", "lsp.b runs"],
    );
}

#[test]
fn switching_off_counts() {
    kept(json!({"formatter": false, "lsp": {"a": {"disabled": true}}, "mcp": {"m": {"enabled": false}}}));
    check(
        json!({"mcp": {"m": {"type": "local", "command": ["x"], "enabled": false}}}),
        json!({"mcp": {"m": {"enabled": false}}}),
        &["mcp.m runs"],
    );
    kept(json!({"offline": true, "share": "disabled", "audit": true, "snapshot": true, "autoupdate": false}));
    over(json!({"formatter": {"a": {}}}), json!({"formatter": true}), json!({}), &["formatter.a runs"]);
}

#[test]
fn the_cage_only_becomes_narrower() {
    let all = json!({"mode": "off", "network": true, "write": ["/"], "read_deny": ["/x"], "presets": ["cargo"]});
    check(
        json!({"sandbox": all}),
        json!({"sandbox": {"read_deny": ["/x"], "presets": []}}),
        &["sandbox.mode loosens", "sandbox.network loosens", "sandbox.write loosens", "sandbox.presets loosens"],
    );
    kept(json!({"sandbox": {"mode": "read-only", "network": "deny", "presets": []}}));
    let narrow = json!({"sandbox": {"mode": "read-only", "network": false, "presets": ["npm"]}});
    over(
        json!({"sandbox": {"mode": "workspace-write", "network": "ask", "presets": ["npm", "go"]}}),
        narrow,
        json!({"sandbox": {"presets": ["npm"]}}),
        &["sandbox.mode loosens", "sandbox.network loosens", "sandbox.presets loosens"],
    );
    over(
        json!({"sandbox": {"mode": "workspace-write", "network": "ask"}}),
        json!({"sandbox": {"mode": "off", "network": "allow"}}),
        json!({"sandbox": {"mode": "workspace-write", "network": "ask"}}),
        &[],
    );
}

#[test]
fn limits_only_become_lower() {
    kept(
        json!({"limits": {"cost": 1, "steps": 5, "retries": 0, "retry_wait": 9}, "tool_output": {"max_lines": 10}, "subagent_depth": 0}),
    );
    over(
        json!({"limits": {"cost": 5, "steps": 5, "retries": 9}, "tool_output": {"max_bytes": 60_000}}),
        json!({"limits": {"cost": 1, "steps": 6}}),
        json!({"limits": {"steps": 5}, "tool_output": {}}),
        &["limits.cost loosens", "limits.retries loosens", "tool_output.max_bytes loosens"],
    );
    over(
        json!({"agent": {"x": {"maxSteps": 9}, "y": {"steps": 9}}, "tools_budget": 9_000, "subagent_depth": 2}),
        json!({"agent": {"x": {"steps": 5}}}),
        json!({"agent": {"x": {}, "y": {"steps": 9}}}),
        &["agent.x.maxSteps loosens", "tools_budget loosens", "subagent_depth loosens"],
    );
}

#[test]
fn lists_of_vendors_and_tools_lose_nothing_that_holds_back() {
    kept(json!({"disabled_providers": ["x"], "enabled_providers": ["y"], "experimental": {"primary_tools": ["bash"]}}));
    over(
        json!({"disabled_providers": [], "enabled_providers": ["y", "z"], "experimental": {"primary_tools": []}}),
        json!({"disabled_providers": ["x"], "enabled_providers": ["y"], "experimental": {"primary_tools": ["bash"]}}),
        json!({"disabled_providers": ["x"], "enabled_providers": ["y"], "experimental": {"primary_tools": ["bash"]}}),
        &["disabled_providers loosens", "enabled_providers loosens", "experimental.primary_tools loosens"],
    );
}

#[test]
fn models_are_those_of_vendors_that_the_user_has_chosen() {
    kept(json!({"model": "a/m", "small_model": "b/m", "agent": {"x": {"model": "a/n"}}}));
    check(
        json!({"model": "evil/m", "small_model": "script/f", "command": {"c": {"model": "m", "template": "t"}}}),
        json!({"command": {"c": {"template": "t"}}}),
        &["model loosens", "small_model loosens", "command.c.model loosens"],
    );
    let chosen = Own { vendor: Some("local".to_owned()), ..own() };
    let got = tight(json!({"model": "a/m", "small_model": "local/n"}), json!({"model": "local/m"}), &chosen);
    assert_eq!(got.value, json!({"small_model": "local/n"}));
}

#[test]
fn agents_keep_who_may_choose_them_and_get_no_fields() {
    check(
        json!({"agent": {"plan": {"mode": "subagent", "hidden": true, "disable": true, "prompt": "p"}}}),
        json!({"agent": {"plan": {"prompt": "p"}}}),
        &["agent.plan.mode loosens", "agent.plan.hidden loosens", "agent.plan.disable loosens"],
    );
    check(
        json!({"mode": {"mine": {"disable": true}}, "agent": {"new": {"mode": "subagent", "hidden": true, "name": "new"}}}),
        json!({"mode": {"mine": {}}, "agent": {"new": {"mode": "subagent", "hidden": true, "name": "new"}}}),
        &["mode.mine.disable loosens"],
    );
    check(
        json!({"agent": {"new": {"name": "mine", "options": {"x": 1}, "service_tier": "priority", "top_p": 1}}}),
        json!({"agent": {"new": {"top_p": 1}}}),
        &["agent.new.name loosens", "agent.new.options.x loosens", "agent.new.service_tier loosens"],
    );
}

#[test]
fn a_project_does_not_choose_among_the_users_own_agents() {
    kept(json!({"default_agent": "new", "command": {"c": {"template": "t", "agent": "new"}}}));
    check(
        json!({"default_agent": "mine", "command": {"c": {"template": "t", "agent": "mine"}}}),
        json!({"command": {"c": {"template": "t"}}}),
        &["default_agent loosens", "command.c.agent loosens"],
    );
    over(json!({"default_agent": "build"}), json!({"default_agent": "plan"}), json!({}), &["default_agent loosens"]);
}

#[test]
fn rules_stand_beside_and_are_not_merged() {
    let value = json!({
        "permission": {"bash": "ask"}, "tools": {"webfetch": false},
        "agent": {"plan": {"permission": "deny", "prompt": "p"}}, "mode": {"x": {"tools": {"bash": true}}},
    });
    let got = tight(value, json!({}), &own());
    assert_eq!(got.value, json!({"agent": {"plan": {"prompt": "p"}}, "mode": {"x": {}}}));
    assert_eq!((got.left_out.len(), got.beside.is_empty(), got.beside.only_hold_back()), (0, false, false));
    let want = json!({
        "permission": {"bash": "ask"}, "tools": {"webfetch": false},
        "agent": {"plan": {"permission": "deny"}, "x": {"tools": {"bash": true}}},
    });
    assert_eq!(got.beside.to_value(), want);
}

#[test]
fn only_rules_that_certainly_hold_back_do() {
    let row = |value: Value, want: bool| {
        assert_eq!(tight(value.clone(), json!({}), &own()).beside.only_hold_back(), want, "{value}");
    };
    row(json!({"permission": "ask"}), true);
    row(json!({"permission": {"*": "deny", "bash": {"git *": "ask"}}, "tools": {"x": false}}), true);
    row(json!({"permission": "allow"}), false);
    row(json!({"permission": {"bash": {"git *": "ask", "ls": "allow"}}}), false);
    row(json!({"permission": {"bash": "{env:X}"}}), false);
    row(json!({"permission": "{file:rules}"}), false);
    row(json!({"permission": ["ask"]}), false);
    row(json!({"tools": {"x": true}}), false);
    row(json!({"tools": "{env:X}"}), false);
    row(json!({"agent": {"a": {"permission": {"bash": "allow"}}}}), false);
    row(json!({"agent": {"a": {"permission": {"bash": "deny"}}}}), true);
}

#[test]
fn no_command_line_is_left_in_a_template() {
    let template = |text: &str, want: &str, runs: bool| {
        let left_out: &[&str] = if runs { &["command.c.template runs"] } else { &[] };
        let value = |text: &str| json!({"command": {"c": {"template": text}}});
        check(value(text), value(want), left_out);
        assert!(!want.contains("!`"));
    };
    template("Say !hello `x`", "Say !hello `x`", false);
    template("Log: !`git log`", "Log: (not run before `haft trust`:) `git log`", true);
    template("!!`a`!`b", "!(not run before `haft trust`:) `a`(not run before `haft trust`:) `b", true);
}

#[test]
fn paths_stay_in_the_project() {
    let inside = ["docs/*.md", "../a.md", "/p/x.md", "./x", "sub/**/*.md", "x/../{a,b}.md"];
    kept(json!({"instructions": inside, "skills": {"paths": ["skills", "../skills"]}}));
    let outside =
        ["../../a.md", "/etc/passwd", "~/.ssh/id", "$HOME/x", "https://a.b/c", "{env:X}/a", "{file:b}", "/pp/x"];
    check(json!({"instructions": outside}), json!({}), &["instructions loosens"; 8]);
    check(
        json!({"instructions": ["a.md", "/b"], "skills": {"paths": ["/c"], "urls": ["u"]}}),
        json!({"instructions": ["a.md"], "skills": {}}),
        &["instructions loosens", "skills.paths loosens", "skills.urls loosens"],
    );
    check(
        json!({"references": {"a": "./lib", "b": {"path": "lib"}, "c": "org/repo", "d": {"repository": "r"}, "e": "../../x"}}),
        json!({"references": {"a": "./lib", "b": {"path": "lib"}}}),
        &["references.c loosens", "references.d loosens", "references.e loosens"],
    );
}

#[test]
fn what_is_not_what_it_should_be_does_not_count() {
    for key in ["agent", "command", "sandbox", "limits", "instructions", "mcp", "model", "formatter", "experimental"] {
        let got = tight(json!({key: "{env:X}"}), json!({}), &own());
        assert_eq!((got.value, got.left_out.len()), (json!({}), 1), "{key}");
    }
    let got = tight(json!({"agent": {"a": "{env:X}"}, "share": 5, "limits": {"cost": "x"}}), json!({}), &own());
    assert_eq!((got.value, got.left_out.len()), (json!({"agent": {}, "limits": {}}), 3));
}
