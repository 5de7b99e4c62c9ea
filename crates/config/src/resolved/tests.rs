use super::*;
use crate::agent;
use crate::shown::{Secrets, show};
use expect_test::{Expect, expect};
use std::fs;

pub(crate) struct Scene {
    pub folder: tempfile::TempDir,
    pub sources: Sources,
}

/// `files` below a folder with `home`, and `home/project/sub` in a work tree at `home/project`.
pub(crate) fn scene(files: &[(&str, &str)], environment: &[(&str, &str)]) -> Scene {
    let folder = tempfile::tempdir().unwrap();
    let home = folder.path().canonicalize().unwrap().join("home");
    fs::create_dir_all(home.join("project/sub")).unwrap();
    for (path, text) in files {
        let path = home.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    let sources = Sources {
        config_home: home.join(".config"),
        directory: home.join("project/sub"),
        worktree: Some(home.join("project")),
        environment: environment.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect(),
        managed: vec![home.join("etc/opencode"), home.join("etc/haft")],
        home,
        ..Sources::default()
    };
    Scene { folder, sources }
}

impl Scene {
    fn load(&self) -> Result<Config, String> {
        load(&self.sources, Trust::Given).map_err(|error| self.at_home(&error.to_string()))
    }

    pub(crate) fn at_home(&self, text: &str) -> String {
        text.replace(&self.sources.home.display().to_string(), "~")
    }
}

/// The user name is set by the last of `files` alone, though all of them set it.
#[track_caller]
fn strongest_is_last(files: &[&str]) {
    for end in 1..=files.len() {
        let texts: Vec<String> = (0..end).map(|index| format!("{{\"username\": \"{index}\"}}")).collect();
        let files: Vec<(&str, &str)> = files.iter().copied().zip(texts.iter().map(String::as_str)).collect();
        let scene = scene(&files, &[("HAFT_CONFIG", "named.json"), ("OPENCODE_CONFIG_DIR", "../dir")]);
        fs::write(scene.sources.directory.join("named.json"), "{}").unwrap();
        if let Some((_, text)) = files.iter().find(|(path, _)| path.ends_with("named.json")) {
            fs::write(scene.sources.directory.join("named.json"), text).unwrap();
        }
        let config = scene.load().unwrap();
        assert_eq!(config.username, Some((end - 1).to_string()), "{:?} over {:?}", files.last(), files);
        assert!(scene.folder.path().exists());
    }
}

#[test]
fn each_place_is_stronger_than_those_before_it() {
    strongest_is_last(&[
        ".config/opencode/config.json",
        ".config/opencode/opencode.json",
        ".config/opencode/opencode.jsonc",
        ".config/haft/haft.json",
        ".config/haft/haft.jsonc",
        "project/sub/named.json",
        "project/opencode.json",
        "project/opencode.jsonc",
        "project/haft.json",
        "project/haft.jsonc",
        "project/sub/opencode.json",
        "project/sub/haft.jsonc",
        "project/sub/.opencode/opencode.json",
        "project/sub/.haft/haft.json",
        "project/.opencode/opencode.json",
        "project/.opencode/haft.json",
        "project/.haft/haft.jsonc",
        ".opencode/opencode.json",
        ".haft/haft.json",
        "project/dir/opencode.json",
        "project/dir/haft.json",
        "etc/opencode/opencode.json",
        "etc/haft/haft.json",
    ]);
}

#[test]
fn texts_in_the_environment_are_stronger_than_the_users_files_and_weaker_than_managed_ones() {
    let inline = ("OPENCODE_CONFIG_CONTENT", r#"{"model": "a/inline"}"#);
    let own = ("HAFT_CONFIG_CONTENT", r#"{"model": "a/own"}"#);
    let files = [(".opencode/opencode.json", r#"{"model": "a/home"}"#)];
    let managed = ("etc/haft/haft.json", r#"{"model": "a/managed"}"#);
    assert_eq!(scene(&files, &[inline]).load().unwrap().model.as_deref(), Some("a/inline"));
    assert_eq!(scene(&files, &[inline, own]).load().unwrap().model.as_deref(), Some("a/own"));
    assert_eq!(scene(&[files[0], managed], &[inline, own]).load().unwrap().model.as_deref(), Some("a/managed"));
}

fn patterns(config: &Config) -> Vec<&str> {
    config.instructions.iter().map(|named| named.pattern.as_str()).collect()
}

#[test]
fn the_organisation_is_the_weakest_of_all() {
    let mut scene = scene(&[(".config/opencode/config.json", r#"{"model": "a/user", "instructions": ["u"]}"#)], &[]);
    let text = r#"{"model": "a/org", "small_model": "a/small", "instructions": ["o"]}"#;
    scene.sources.organisation.push(("https://org.example".to_owned(), text.to_owned()));
    let config = scene.load().unwrap();
    assert_eq!((config.model.as_deref(), config.small_model.as_deref()), (Some("a/user"), Some("a/small")));
    assert_eq!(patterns(&config), ["o", "u"]);
    assert_eq!(config.origins[0], "https://org.example");
}

#[test]
fn files_of_others_are_not_the_projects() {
    let files = [
        (".config/opencode/opencode.json", r#"{"model": "a/global"}"#),
        ("opencode.json", r#"{"model": "a/above"}"#),
        ("project/sub/deeper/opencode.json", r#"{"model": "a/below"}"#),
    ];
    assert_eq!(scene(&files, &[]).load().unwrap().model.as_deref(), Some("a/global"));
    let project = [files[0], ("project/.haft/haft.json", r#"{"model": "a/project"}"#)];
    assert_eq!(scene(&project, &[]).load().unwrap().model.as_deref(), Some("a/project"));
    assert_eq!(
        scene(&project, &[("HAFT_DISABLE_PROJECT_CONFIG", "1")]).load().unwrap().model.as_deref(),
        Some("a/global")
    );
}

#[test]
fn instructions_of_all_layers_join_and_those_of_the_global_files_replace_each_other() {
    let files = [
        (".config/opencode/config.json", r#"{"instructions": ["lost"]}"#),
        (".config/opencode/opencode.jsonc", r#"{"instructions": ["global"]}"#),
        ("project/opencode.json", r#"{"instructions": ["json", "global"]}"#),
        ("project/opencode.jsonc", r#"{"instructions": ["jsonc"]}"#),
        ("project/.opencode/opencode.json", r#"{"instructions": ["dot"]}"#),
        (".opencode/opencode.json", r#"{"instructions": ["home"]}"#),
    ];
    let config = scene(&files, &[("OPENCODE_CONFIG_CONTENT", r#"{"instructions": ["inline"]}"#)]).load().unwrap();
    assert_eq!(patterns(&config), ["global", "json", "jsonc", "dot", "home", "inline"]);
    let origins: Vec<&str> = config.instructions.iter().map(|named| named.origin.rsplit('/').next().unwrap()).collect();
    assert_eq!(
        origins,
        [
            "opencode.jsonc",
            "opencode.json",
            "opencode.jsonc",
            "opencode.json",
            "opencode.json",
            "OPENCODE_CONFIG_CONTENT"
        ]
    );
}

#[test]
fn what_stands_for_something_cannot_break_the_json() {
    let config = r#"{"provider": {"x": {
        "options": {"apiKey": "{env:KEY}", "baseURL": "{file:url.txt}{env:NONE}"}, "env": ["OTHER_KEY"]
    }}}"#;
    let scene = scene(
        &[("project/sub/opencode.json", config), ("project/sub/url.txt", "http://h/\"},{\n")],
        &[("KEY", "a\"b\\c\nd")],
    );
    let config = scene.load().unwrap();
    assert_eq!(config.secrets, ["KEY", "OTHER_KEY"], "an address is no secret, a key is");
    let options = &config.providers["x"].options;
    assert_eq!(options.api_key.as_deref(), Some("a\"b\\c\nd"));
    assert_eq!(options.base_url.as_deref(), Some("http://h/\"},{"));
    assert!(!format!("{options:?} {config:?}").contains("a\\\"b"), "a key must not be shown");
    let warning = "~/project/sub/opencode.json, line 2: the variable NONE is not set; it counts as empty";
    assert_eq!(config.warnings.iter().map(|text| scene.at_home(text)).collect::<Vec<_>>(), [warning]);
}

#[test]
fn rules_of_all_files_keep_the_place_their_key_first_had() {
    let scene = scene(
        &[
            (".config/opencode/opencode.json", r#"{"permission": "ask"}"#),
            ("project/opencode.json", r#"{"permission": {"bash": {"ls *": "allow"}}, "tools": {"write": false}}"#),
        ],
        &[("OPENCODE_PERMISSION", r#"{"bash": {"rm *": "deny"}}"#)],
    );
    let rules: Vec<String> = scene.load().unwrap().rules.iter().map(Rule::to_string).collect();
    assert_eq!(rules, ["edit \"*\": deny", "* \"*\": ask", "bash \"ls *\": allow", "bash \"rm *\": deny"]);
}

#[test]
fn agents_are_made_by_json_and_markdown_of_all_layers() {
    let scene = scene(
        &[
            (
                "project/opencode.json",
                r#"{"agent": {
                    "review": {"description": "json", "temperature": 0.5, "permission": {"bash": "allow"}},
                    "build": {"disable": true}
                }}"#,
            ),
            (
                "project/.opencode/agents/review.md",
                "---\ndescription: markdown\nmodel: a/m\nreasoningEffort: high\ntools:\n  bash: false\n---\n\nReview.\n",
            ),
            ("project/.haft/agent/sub/deep.md", "---\nmode: subagent\nmaxSteps: 3\nhidden: true\n---\nDeep."),
            ("project/.opencode/mode/old.md", "Old."),
            ("project/.opencode/mode/not/this.md", "Too deep."),
        ],
        &[],
    );
    let config = scene.load().unwrap();
    let mut told = String::new();
    for agent in &config.agents {
        let rules: Vec<String> = agent.rules.iter().map(Rule::to_string).collect();
        told.push_str(&format!(
            "{} {:?} {:?} {:?} {:?} {:?} steps={:?} hidden={:?} disable={:?} {} {rules:?} {}\n",
            agent.name,
            agent.mode,
            agent.description,
            agent.prompt,
            agent.model,
            agent.temperature,
            agent.steps,
            agent.hidden,
            agent.disable,
            Value::Object(agent.options.clone()),
            scene.at_home(&agent.origin),
        ));
    }
    expect![[r#"
        review None Some("markdown") Some("Review.") Some("a/m") Some(0.5) steps=None hidden=None disable=None {"reasoningEffort":"high"} ["bash \"*\": deny"] ~/project/.opencode/agents/review.md
        build None None None None None steps=None hidden=None disable=Some(true) {} [] ~/project/opencode.json
        old Some(Primary) None Some("Old.") None None steps=None hidden=None disable=None {} [] ~/project/.opencode/mode/old.md
        sub/deep Some(Subagent) None Some("Deep.") None None steps=Some(3) hidden=Some(true) disable=None {} [] ~/project/.haft/agent/sub/deep.md
    "#]].assert_eq(&told);
}

#[test]
fn commands_are_made_by_json_and_markdown_of_all_layers() {
    let scene = scene(
        &[
            (
                "project/opencode.json",
                r#"{"command": {"a": {"template": "json", "description": "d"}, "b": {"template": "b"}}}"#,
            ),
            ("project/.opencode/command/a.md", "---\nagent: plan\nsubtask: true\nnope: 1\n---\nDo $1 and $ARGUMENTS"),
            (".config/haft/commands/grp/c.md", "Just text."),
        ],
        &[],
    );
    let config = scene.load().unwrap();
    let told: Vec<String> = config.commands.iter().map(|command| scene.at_home(&format!("{command:?}"))).collect();
    expect![[r#"
        CommandConfig { name: "a", template: "Do $1 and $ARGUMENTS", description: Some("d"), agent: Some("plan"), model: None, variant: None, subtask: Some(true), origin: "~/project/.opencode/command/a.md" }
        CommandConfig { name: "b", template: "b", description: None, agent: None, model: None, variant: None, subtask: None, origin: "~/project/opencode.json" }
        CommandConfig { name: "grp/c", template: "Just text.", description: None, agent: None, model: None, variant: None, subtask: None, origin: "~/.config/haft/commands/grp/c.md" }"#]].assert_eq(&told.join("\n"));
    let warnings: Vec<String> = config.warnings.iter().map(|text| scene.at_home(text)).collect();
    assert_eq!(warnings, ["~/project/.opencode/command/a.md, line 4: there is no key \"nope\"; it is left out"]);
}

#[test]
fn a_built_in_agent_is_data_and_users_lay_over_it() {
    let text =
        "---\nmode: primary\ndescription: Plans.\npermission:\n  edit:\n    \"*\": deny\noptions:\n  a: 1\n---\nPlan.";
    let built_in = agent::agent("plan", text, "built in").unwrap();
    let scene = scene(
        &[("project/haft.json", r#"{"agent": {"plan": {"steps": 9, "b": 2, "permission": {"edit": "ask"}}}}"#)],
        &[],
    );
    let plan = scene.load().unwrap().agents[0].over(&built_in);
    assert_eq!((plan.mode, plan.prompt.as_deref(), plan.steps), (Some(agent::Mode::Primary), Some("Plan."), Some(9)));
    assert_eq!(Value::Object(plan.options), serde_json::json!({"a": 1, "b": 2}));
    assert_eq!(plan.rules.iter().map(Rule::to_string).collect::<Vec<_>>(), ["edit \"*\": deny", "edit \"*\": ask"]);
    let error = agent::agent("x", "---\nmode: boss\n---\n", "built in").unwrap_err().to_string();
    assert_eq!(error, r#"built in, line 2, column 1: mode must be "primary", "subagent" or "all""#);
}

#[track_caller]
fn fails(files: &[(&str, &str)], environment: &[(&str, &str)], want: Expect) {
    want.assert_eq(&scene(files, environment).load().unwrap_err());
}

#[test]
fn a_mistake_is_reported_where_it_was_made() {
    fails(
        &[("project/opencode.json", "{\n  \"model\": \"a/b\"\n  \"x\": 1 }")],
        &[],
        expect!["~/project/opencode.json, line 2, column 17: expected comma; put a comma between the two entries"],
    );
    fails(
        &[("project/opencode.json", "{\"model\": 5}")],
        &[],
        expect!["~/project/opencode.json, line 1, column 11: model must be a string, not a number"],
    );
    fails(
        &[("project/opencode.json", "[1]")],
        &[],
        expect!["~/project/opencode.json, line 1, column 1: the whole must be an object in { }, not a list"],
    );
    fails(
        &[("project/opencode.json", r#"{"permission": {"bash": "yes"}}"#)],
        &[],
        expect![[
            r#"~/project/opencode.json, line 1, column 25: permission.bash must be "allow", "ask" or "deny" or an object in { }"#
        ]],
    );
    let limit = r#"{"provider": {"x": {"models": {"m": {"limit": {"context": 1, "output": "many"}}}}}}"#;
    fails(
        &[("project/opencode.json", limit)],
        &[],
        expect![
            "~/project/opencode.json, line 1, column 72: provider.x.models.m.limit.output must be a whole number, not a string"
        ],
    );
    fails(
        &[("project/opencode.json", r#"{"model": "{file:none.txt}"}"#)],
        &[],
        expect![
            "~/project/opencode.json, line 1, column 11: {file:none.txt} stands for ~/project/none.txt, which cannot be read: No such file or directory (os error 2)"
        ],
    );
    fails(
        &[],
        &[("HAFT_CONFIG", "none.json")],
        expect!["cannot read ~/project/sub/none.json (named by HAFT_CONFIG): entity not found"],
    );
    fails(
        &[],
        &[("OPENCODE_PERMISSION", "{")],
        expect!["OPENCODE_PERMISSION, line 1, column 1: unterminated object; close the object with }"],
    );
    fails(
        &[],
        &[("OPENCODE_PERMISSION", r#"{"bash": 1}"#)],
        expect![[
            r#"OPENCODE_PERMISSION, line 1, column 10: permission.bash must be "allow", "ask" or "deny" or an object in { }, not a number"#
        ]],
    );
    fails(
        &[("project/.opencode/agent/a.md", "---\nmode: x: y\ntop_p: hot\n---\n")],
        &[],
        expect![[r#"~/project/.opencode/agent/a.md, line 2, column 1: mode must be "primary", "subagent" or "all""#]],
    );
    fails(
        &[("project/.opencode/agent/a.md", "---\nmode: [\n---\n")],
        &[],
        expect![
            "~/project/.opencode/agent/a.md, line 3, column 1: the header between the two lines --- is no YAML: did not find expected node content; put the value in quotes"
        ],
    );
}

#[test]
fn a_file_that_is_too_large_or_no_file_is_refused() {
    let scene = scene(&[("project/opencode.json", "")], &[]);
    let path = scene.sources.home.join("project/opencode.json");
    fs::write(&path, " ".repeat(4 * 1024 * 1024 + 1)).unwrap();
    let want = "cannot read ~/project/opencode.json: it is not a file of at most 4 MiB";
    assert_eq!(scene.load().unwrap_err(), want);
    fs::remove_file(&path).unwrap();
    fs::create_dir(&path).unwrap();
    assert_eq!(scene.load().unwrap_err(), want);
}

#[test]
fn what_is_not_there_is_told() {
    let scene = scene(
        &[("project/haft.json", "{\n\"sandbox\": {\"write\": [\"*.x\"]},\n \"modle\": 1}")],
        &[("OPENCODE_CONFIG", "/nowhere/x.json")],
    );
    let warnings: Vec<String> = scene.load().unwrap().warnings.iter().map(|text| scene.at_home(text)).collect();
    assert_eq!(
        warnings,
        [
            "there is no file /nowhere/x.json (named by OPENCODE_CONFIG)",
            "~/project/haft.json, line 3: there is no key \"modle\"; \"model\" is meant, perhaps",
            "~/project/haft.json: \"*.x\" in \"sandbox\" is taken for a name; patterns do not count there",
        ]
    );
}

#[test]
fn the_cage_is_put_together_from_all_files() {
    let nothing = scene(&[], &[]).load().unwrap();
    assert_eq!((nothing.sandbox, nothing.audit), (Sandbox::default(), None));
    let scene = scene(
        &[
            (
                ".config/haft/haft.json",
                r#"{"sandbox": {"read_deny": ["~/keys", "own"], "write": ["~/a"], "network": "ask"}}"#,
            ),
            (
                "project/opencode.json",
                r#"{"sandbox": {"mode": "read-only", "read_deny": ["../up", "in"], "presets": []}}"#,
            ),
            ("project/.haft/haft.json", r#"{"sandbox": {"write": ["out"], "network": true}, "audit": {"x": 1}}"#),
            ("etc/haft/haft.json", r#"{"sandbox": {"mode": "workspace-write", "network": false}}"#),
        ],
        &[("HAFT_CONFIG_CONTENT", r#"{"sandbox": {"read_deny": ["here"]}}"#)],
    );
    let config = scene.load().unwrap();
    let paths = |all: &[PathBuf]| all.iter().map(|path| scene.at_home(&path.display().to_string())).collect::<Vec<_>>();
    assert_eq!(paths(&config.sandbox.write), ["~/project/out"]);
    let denied = ["~/keys", "~/.config/haft/own", "~/up", "~/project/in", "~/project/sub/here"];
    assert_eq!(paths(&config.sandbox.read_deny), denied);
    assert_eq!(config.sandbox.mode, crate::SandboxMode::WorkspaceWrite);
    assert_eq!(config.sandbox.network, Some(haft_permission::Action::Deny));
    assert_eq!((config.sandbox.presets, config.audit), (Some(Vec::new()), Some(true)));
}

#[test]
fn warnings_are_bounded() {
    let keys: Vec<String> = (0..1_000).map(|n| format!("\"unknown{n}\": 1")).collect();
    let config = scene(&[("project/haft.json", &format!("{{{}}}", keys.join(",")))], &[]).load().unwrap();
    assert_eq!(config.warnings.len(), 51);
    assert_eq!(config.warnings[50], "there is more of this kind; mend these first");
}

#[test]
fn types_have_the_values_and_the_defaults() {
    let nothing = scene(&[("project/sub/opencode.json", "")], &[("USER", "u")]).load().unwrap();
    assert_eq!((nothing.origins.len(), nothing.username.as_deref()), (1, Some("u")));
    assert_eq!((nothing.tool_output, nothing.images), (ToolOutput::default(), ImageLimits::default()));
    assert_eq!((nothing.snapshot, nothing.compaction), (Snapshot::default(), Compaction::default()));
    assert_eq!((nothing.enabled_providers, nothing.share, nothing.limits), (None, Share::Manual, Limits::default()));
    let text = r#"{
        "tool_output": {"max_lines": 5}, "attachment": {"image": {"max_width": 7, "auto_resize": false}},
        "snapshot": {"quota": "1 MiB", "retention": 2}, "compaction": {"prune": false, "tail_turns": 2},
        "experimental": {"batch_tool": true, "primary_tools": ["edit"], "mcp_timeout": 50},
        "limits": {"cost": 1.5, "steps": 3}, "share": "disabled", "enabled_providers": ["a"], "subagent_depth": 0,
        "tools": {"list": true, "bash": false}, "skills": {"paths": ["s"], "urls": ["https://s.example"]}, "shell": "zsh", "tools_budget": 9, "tool_profile": "small",
        "auth": {"store": "keyring"}
    }"#;
    let all = scene(&[("project/opencode.json", text)], &[("OPENCODE_DISABLE_AUTOCOMPACT", "1")]).load().unwrap();
    assert_eq!(all.tool_output, ToolOutput { max_lines: 5, max_bytes: 51_200 });
    assert_eq!((all.images.max_width, all.images.max_height, all.images.auto_resize), (7, 2_000, false));
    assert_eq!((all.snapshot.quota, all.snapshot.retention), (Some(1 << 20), Some(Duration::from_secs(172_800))));
    assert_eq!((all.compaction.auto, all.compaction.prune, all.compaction.tail_turns), (false, false, Some(2)));
    assert!(all.experimental.batch_tool && all.experimental.primary_tools == ["edit"]);
    assert_eq!(all.experimental.mcp_timeout, Some(Duration::from_millis(50)));
    assert_eq!((all.limits.cost, all.limits.steps, all.share), (Some(1.5), Some(3), Share::Disabled));
    assert_eq!((all.enabled_providers, all.subagent_depth), (Some(vec!["a".to_owned()]), Some(0)));
    assert_eq!(all.tools, [("bash".to_owned(), false), ("list".to_owned(), true)].into());
    let urls: Vec<_> = all.skill_urls.iter().map(|at| (&*at.url, at.origin.ends_with("opencode.json"))).collect();
    assert_eq!(urls, [("https://s.example", true)]);
    assert_eq!((all.skill_paths, all.shell.as_deref(), all.tools_budget), (vec!["s".to_owned()], Some("zsh"), Some(9)));
    assert_eq!((all.small_tools, Config::default().small_tools), (Some(true), None));
    assert_eq!((all.keys_in_keyring, Config::default().keys_in_keyring), (true, false));
    assert!(!scene(&[("project/opencode.json", r#"{"snapshot": false}"#)], &[]).load().unwrap().snapshot.enabled);
}

#[test]
fn the_screen_has_its_own_file_over_the_settings() {
    let scene = scene(
        &[
            ("project/opencode.json", r#"{"theme": "a", "keybinds": {"leader": "x"}, "tui": {"scroll_speed": 2}}"#),
            (".config/opencode/tui.json", r#"{"theme": "b", "mouse": false}"#),
            ("project/tui.jsonc", "{\"keybinds\": {\"quit\": \"q\"}, // c\n}"),
            (".opencode/tui.json", "{"),
        ],
        &[],
    );
    let config = scene.load().unwrap();
    let want = serde_json::json!({
        "theme": "b", "mouse": false, "scroll_speed": 2, "keybinds": {"leader": "x", "quit": "q"},
    });
    assert_eq!(config.screen, want);
    let want =
        "~/.opencode/tui.json, line 1, column 1: unterminated object; close the object with } (the file is left out)";
    assert_eq!(config.warnings.iter().map(|text| scene.at_home(text)).collect::<Vec<_>>(), [want]);
}

#[test]
fn what_is_shown_names_its_file_and_keeps_secrets() {
    let text = r#"{
        "model": "a/{env:NAME}",
        "provider": {"x": {"env": ["K"], "options": {"apiKey": "sk-1", "headers": {"A": "h"}, "baseURL": "{file:url}"}}},
        "tool_output": {"max_lines": {env:LINES}},
        "nope": 1
    }"#;
    let scene = scene(
        &[("project/opencode.json", text), ("project/url", "http://u:p@h/"), ("project/.haft/agent/a.md", "A.")],
        &[("NAME", "hidden-name"), ("LINES", "7"), ("HAFT_PERMISSION", r#""ask""#)],
    );
    let told = |secrets| {
        let shown = show(&scene.sources, secrets, Trust::Given).unwrap();
        let value = serde_json::json!({"config": shown.config, "sources": shown.sources, "warnings": shown.warnings});
        scene.at_home(&serde_json::to_string_pretty(&value).unwrap())
    };
    expect![[r#"
        {
          "config": {
            "model": "a/hidden-name",
            "provider": {
              "x": {
                "env": [
                  "K"
                ],
                "options": {
                  "apiKey": "(hidden)",
                  "headers": {
                    "A": "(hidden)"
                  },
                  "baseURL": "http://(hidden)@h/"
                }
              }
            },
            "tool_output": {
              "max_lines": 7
            },
            "agent": {
              "a": {
                "name": "a",
                "prompt": "A.",
                "options": {},
                "permission": {}
              }
            },
            "permission": {
              "*": "ask"
            }
          },
          "sources": {
            "/agent/a/name": "~/project/.haft/agent/a.md",
            "/agent/a/options": "~/project/.haft/agent/a.md",
            "/agent/a/permission": "~/project/.haft/agent/a.md",
            "/agent/a/prompt": "~/project/.haft/agent/a.md",
            "/model": "~/project/opencode.json",
            "/permission/*": "HAFT_PERMISSION",
            "/provider/x/env": "~/project/opencode.json",
            "/provider/x/options/apiKey": "~/project/opencode.json",
            "/provider/x/options/baseURL": "~/project/opencode.json",
            "/provider/x/options/headers/A": "~/project/opencode.json",
            "/tool_output/max_lines": "~/project/opencode.json"
          },
          "warnings": [
            "~/project/opencode.json, line 5: there is no key \"nope\"; it is left out"
          ]
        }"#]]
    .assert_eq(&told(Secrets::Hidden));
    let open = told(Secrets::Shown);
    for text in ["a/hidden-name", "sk-1", "http://u:p@h/", "\"max_lines\": 7"] {
        assert!(open.contains(text), "{text}");
    }
    let broken = Sources { environment: [("LINES".to_owned(), "-1".to_owned())].into(), ..scene.sources.clone() };
    assert!(show(&broken, Secrets::Hidden, Trust::Given).is_err(), "what variables hold is checked, too");
}

#[test]
fn nothing_is_ever_written() {
    let scene = scene(
        &[("project/opencode.json", "{}"), ("project/.opencode/agent/a.md", "A."), (".config/opencode/x", "")],
        &[],
    );
    let list = || {
        let found = crate::scan::files(&scene.sources.home, crate::scan::Depth::Deep, |_| true).files;
        found.into_iter().map(|(name, path)| (name, fs::read(path).unwrap())).collect::<Vec<_>>()
    };
    let before = list();
    scene.load().unwrap();
    show(&scene.sources, Secrets::Hidden, Trust::Given).unwrap();
    assert_eq!(list(), before);
}

#[test]
fn what_is_nested_deep_can_be_read_merged_and_shown() {
    let deep = |n: usize| format!("{}1{}", "{\"a\":".repeat(n), "}".repeat(n));
    let file = format!("{{\"provider\": {{\"x\": {{\"options\": {}}}}}}}", deep(240));
    let scene = scene(&[("project/opencode.json", &file), ("project/haft.json", &file)], &[]);
    assert!(scene.load().is_ok());
    assert!(show(&scene.sources, Secrets::Hidden, Trust::Given).is_ok());
}

#[test]
fn a_file_of_nothing_but_slips_is_read_in_no_time() {
    let slips: Vec<String> = (0..100_000).map(|n| format!("\"{n}\": \"{{env:NONE}}\"")).collect();
    let scene = scene(&[("project/opencode.json", &format!("{{{}}}", slips.join(",")))], &[]);
    assert_eq!(scene.load().unwrap().warnings.len(), 51);
}
