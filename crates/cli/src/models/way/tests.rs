//! Settings and variables, and the way they make.

mod page;
mod walk;

use expect_test::{Expect, expect};
use haft_config::Config;
use haft_llm::catalogue::Catalogue;
use serde_json::{from_value, json};

use super::super::stored::Credential;
use super::*;

fn config(providers: Value) -> Config {
    Config { providers: from_value(providers).unwrap(), ..Config::default() }
}

fn environment<'a>(variables: &'a [(&'a str, &'a str)]) -> impl Fn(&str) -> Option<String> + 'a {
    |name| variables.iter().find(|(one, _)| *one == name).map(|(_, value)| (*value).to_owned())
}

/// The built-in list, and nothing stored.
fn world<'a>(config: &'a Config, env: Environment<'a>) -> World<'a> {
    World { config, env, stored: &|_| None, catalogue: Catalogue::built_in() }
}

/// Where a model called `named` is asked, and with what.
#[track_caller]
fn check(named: &str, providers: Value, variables: &[(&str, &str)], want: Expect) {
    let (vendor, id) = named.split_once('/').unwrap();
    let (config, env) = (config(providers), environment(variables));
    want.assert_eq(&shown(way(vendor, id, None, &world(&config, &env))));
}

fn shown(way: Result<Way, Usage>) -> String {
    match way {
        Ok(Way { dialect, server: Server { base_url, key, headers, .. }, api_id, extra, .. }) => {
            let key = match key {
                None => "no key".to_owned(),
                Some(Key::Plain(key)) => format!("key {}", key.expose()),
                Some(Key::Bearer(token)) => format!("token {}", token.expose()),
                Some(other) => format!("{other:?}"),
            };
            format!("{dialect:?} {base_url} {api_id}, {key}, headers {headers:?}, {}", Value::Object(extra))
        }
        Err(error) => format!("error: {error}"),
    }
}

#[test]
fn known_vendors_need_only_a_key() {
    let none = || json!({});
    check(
        "anthropic/claude-sonnet-4-5",
        none(),
        &[("ANTHROPIC_API_KEY", "k")],
        expect!["Messages https://api.anthropic.com/v1 claude-sonnet-4-5, key k, headers [], {}"],
    );
    check(
        "anthropic/claude-sonnet-4-5",
        none(),
        &[("ANTHROPIC_AUTH_TOKEN", "t")],
        expect!["Messages https://api.anthropic.com/v1 claude-sonnet-4-5, token t, headers [], {}"],
    );
    check(
        "openai/gpt-5.1",
        none(),
        &[("OPENAI_API_KEY", "k"), ("OPENAI_BASE_URL", "http://h/v1")],
        expect![[
            r#"Responses http://h/v1 gpt-5.1, key k, headers [], {"reasoningSummary":"auto","reasoningEffort":"medium","textVerbosity":"low"}"#
        ]],
    );
    check(
        "google/gemini-2.5-pro",
        none(),
        &[("GOOGLE_API_KEY", "k")],
        expect![[
            r#"Gemini https://generativelanguage.googleapis.com/v1beta gemini-2.5-pro, key k, headers [], {"thinkingConfig":{"includeThoughts":true}}"#
        ]],
    );
    check(
        "openrouter/anthropic/claude-sonnet-4.5",
        none(),
        &[("OPENROUTER_API_KEY", "k")],
        expect![[
            r#"Chat https://openrouter.ai/api/v1 anthropic/claude-sonnet-4.5, key k, headers [("x-title", "haft")], {}"#
        ]],
    );
    check("ollama/qwen3:8b", none(), &[], expect!["Chat http://127.0.0.1:11434/v1 qwen3:8b, no key, headers [], {}"]);
    check(
        "ollama/qwen3:8b",
        none(),
        &[("OLLAMA_HOST", "localhost:7")],
        expect!["Chat http://localhost:7/v1 qwen3:8b, no key, headers [], {}"],
    );
}

#[test]
fn a_key_that_is_missing_is_named_unless_the_address_is_ones_own() {
    check(
        "anthropic/claude-sonnet-4-5",
        json!({}),
        &[],
        expect![
            "error: there is no key for anthropic; store one with `haft auth login anthropic`, set ANTHROPIC_API_KEY, or write it to provider.anthropic.options.apiKey in opencode.json"
        ],
    );
    check(
        "anthropic/claude-sonnet-4-5",
        json!({}),
        &[("ANTHROPIC_BASE_URL", "http://127.0.0.1:4000")],
        expect!["Messages http://127.0.0.1:4000/v1 claude-sonnet-4-5, no key, headers [], {}"],
    );
    check(
        "anthropic/claude-sonnet-4-5",
        json!({"anthropic": {"options": {"baseURL": "http://h/anthropic/v1"}}}),
        &[],
        expect!["Messages http://h/anthropic/v1 claude-sonnet-4-5, no key, headers [], {}"],
    );
    check(
        "openai/gpt-4o",
        json!({"openai": {"options": {"headers": {"Authorization": "Bearer own"}}}}),
        &[],
        expect![[
            r#"Responses https://api.openai.com/v1 gpt-4o, no key, headers [("Authorization", "Bearer own")], {}"#
        ]],
    );
}

#[test]
fn the_driver_says_what_is_spoken() {
    let own = |npm: &str| json!({"own": {"npm": npm, "options": {"baseURL": "https://h/v1", "apiKey": "k"}}});
    check("own/m", own("@ai-sdk/anthropic"), &[], expect!["Messages https://h/v1 m, key k, headers [], {}"]);
    check("own/m", own("@ai-sdk/openai-compatible"), &[], expect!["Chat https://h/v1 m, key k, headers [], {}"]);
    check("own/m", own("@ai-sdk/cohere"), &[], expect!["Chat https://h/v1 m, key k, headers [], {}"]);
    check(
        "own/m",
        own("some-driver"),
        &[],
        expect![[
            r#"error: the provider own wants the driver some-driver, which haft does not know; if it speaks like OpenAI, say "npm": "@ai-sdk/openai-compatible" and its options.baseURL"#
        ]],
    );
    check(
        "own/m",
        json!({"own": {"npm": "@ai-sdk/anthropic", "options": {"authToken": "t"}}}),
        &[],
        expect!["Messages https://api.anthropic.com/v1 m, token t, headers [], {}"],
    );
    check(
        "own/m",
        json!({"own": {"api": "https://h/v1", "models": {"m": {"provider": {"npm": "@ai-sdk/anthropic", "api": "https://h/anthropic"}}}}}),
        &[],
        expect!["Messages https://h/anthropic m, no key, headers [], {}"],
    );
}

#[test]
fn settings_win_over_what_is_known() {
    let own = json!({"openai": {
        "env": ["MY_KEY"],
        "options": {"baseURL": "https://${HOST}/v1", "headers": {"x-team": "blue"}},
        "models": {"fast": {"id": "gpt-5-mini", "options": {"reasoningEffort": "low"}, "headers": {"x-model": "y"}}},
    }});
    check(
        "openai/fast",
        own.clone(),
        &[("MY_KEY", "k"), ("OPENAI_API_KEY", "other"), ("HOST", "h")],
        expect![[
            r#"Responses https://h/v1 gpt-5-mini, key k, headers [("x-team", "blue"), ("x-model", "y")], {"reasoningSummary":"auto","reasoningEffort":"low"}"#
        ]],
    );
    check(
        "openai/gpt-4o",
        own.clone(),
        &[("HOST", "h")],
        expect![[r#"Responses https://h/v1 gpt-4o, no key, headers [("x-team", "blue")], {}"#]],
    );
    check(
        "openai/gpt-4o",
        own,
        &[],
        expect!["error: the address of the provider openai needs the variable HOST; set it"],
    );
}

#[test]
fn what_cannot_be_asked_is_told_with_the_next_step() {
    check(
        "nobody/m",
        json!({"own": {}}),
        &[],
        expect![[
            r#"error: there is no provider "nobody"; the settings have own, and haft models --all lists what else it knows"#
        ]],
    );
    check(
        "own/m",
        json!({"own": {}}),
        &[],
        expect!["error: the provider own has no address; set provider.own.options.baseURL in opencode.json"],
    );
    check(
        "own/m",
        json!({"own": {"api": "https://h", "models": {"a": {}, "b": {}}}}),
        &[],
        expect![[
            r#"error: the provider own has no model "m"; it has a, b. If it is new, add it to opencode.json: "provider": {"own": {"models": {"m": {}}}}"#
        ]],
    );
    check(
        "own/a",
        json!({"own": {"api": "https://h", "models": {"a": {}}, "blacklist": ["a"]}}),
        &[],
        expect!["error: the model a is switched off by `whitelist` or `blacklist` of provider.own in the settings"],
    );
    let off = Config { enabled_providers: Some(vec!["openai".to_owned()]), ..Config::default() };
    let error = way("ollama", "m", None, &world(&off, &|_| None)).unwrap_err();
    expect!["the provider ollama is switched off by `disabled_providers`, `enabled_providers` or `experimental.policies` of the settings"].assert_eq(&error.to_string());
}

#[test]
fn variants_are_those_of_the_catalogue_with_the_settings_laid_over() {
    let own = json!({
        "own": {
            "api": "https://h",
            "models": {"m": {"options": {"a": 1}, "variants": {"deep": {"a": 2, "b": 3}, "high": {"disabled": true}}}},
        },
        "anthropic": {"models": {"claude-sonnet-4-5": {"variants": {"max": {"speed": "fast"}, "high": {"disabled": true}}}}},
    });
    let row = |named: &str, variant: &str, want: Expect| {
        let ((vendor, id), config) = (named.split_once('/').unwrap(), config(own.clone()));
        let text = match way(vendor, id, Some(variant), &world(&config, &|_| Some("k".to_owned()))) {
            Ok(way) => Value::Object(way.extra).to_string(),
            Err(error) => format!("error: {error}"),
        };
        want.assert_eq(&text);
    };
    row("own/m", "deep", expect![[r#"{"a":2,"b":3}"#]]);
    row("own/m", "low", expect![[r#"{"a":1,"reasoningEffort":"low"}"#]]);
    row("own/m", "high", expect![[r#"error: own/m has no variant "high"; it has low, medium, deep"#]]);
    row(
        "anthropic/claude-sonnet-4-5",
        "max",
        expect![[r#"{"thinking":{"type":"enabled","budgetTokens":31999},"speed":"fast"}"#]],
    );
    row(
        "anthropic/claude-sonnet-4-5",
        "high",
        expect![[r#"error: anthropic/claude-sonnet-4-5 has no variant "high"; it has max"#]],
    );
    row(
        "openai/gpt-5.2",
        "xhigh",
        expect![[
            r#"{"reasoningSummary":"auto","reasoningEffort":"xhigh","textVerbosity":"low","include":["reasoning.encrypted_content"]}"#
        ]],
    );
    row("openai/gpt-4o", "high", expect![[r#"error: openai/gpt-4o has no variant "high"; it has none"#]]);
}

#[test]
fn what_is_stored_pays_before_what_the_environment_has() {
    let stored = |vendor: &str| {
        let stored = from_value(json!({"resourceName": "r"})).unwrap();
        (vendor == "groq").then(|| Credential { key: Key::Bearer(Secret::new("kept")), stored })
    };
    let row = |providers: Value, want: &str| {
        let config = config(providers);
        let env = |name: &str| (name == "GROQ_API_KEY").then(|| "env".to_owned());
        let world = World { stored: &stored, ..world(&config, &env) };
        let got = shown(way("groq", "openai/gpt-oss-20b", None, &world));
        assert!(got.contains(want), "{got}");
    };
    row(json!({}), "token kept");
    row(json!({"groq": {"options": {"apiKey": "own"}}}), "key own");
    row(json!({"groq": {"options": {"authToken": "own"}}}), "token own");
}

#[test]
fn models_that_cost_nothing_need_no_key() {
    check(
        "opencode/big-pickle",
        json!({}),
        &[],
        expect!["Chat https://opencode.ai/zen/v1 big-pickle, key public, headers [], {}"],
    );
    check(
        "opencode/big-pickle",
        json!({}),
        &[("OPENCODE_API_KEY", "k")],
        expect!["Chat https://opencode.ai/zen/v1 big-pickle, key k, headers [], {}"],
    );
    check(
        "opencode/claude-sonnet-4-5",
        json!({}),
        &[],
        expect![
            "error: there is no key for opencode (models that cost nothing need none); store one with `haft auth login opencode`, set OPENCODE_API_KEY, or write it to provider.opencode.options.apiKey in opencode.json"
        ],
    );
}

#[test]
fn a_model_may_have_a_way_of_its_own() {
    let key = [("ZENMUX_API_KEY", "k"), ("SAKANA_API_KEY", "k")];
    check(
        "zenmux/openai/gpt-5-codex",
        json!({}),
        &key,
        expect![[
            r#"Responses https://zenmux.ai/api/v1 openai/gpt-5-codex, key k, headers [("x-title", "haft")], {"reasoningSummary":"auto","reasoningEffort":"medium"}"#
        ]],
    );
    check(
        "zenmux/anthropic/claude-opus-4.8",
        json!({}),
        &key,
        expect![[
            r#"Messages https://zenmux.ai/api/anthropic/v1 anthropic/claude-opus-4.8, key k, headers [("x-title", "haft")], {}"#
        ]],
    );
    check("sakana/fugu", json!({}), &key, expect!["Responses https://api.sakana.ai/v1 fugu, key k, headers [], {}"]);
}

#[test]
fn a_mode_is_asked_as_its_model_with_more_to_say() {
    check(
        "anthropic/claude-opus-4-6-fast",
        json!({}),
        &[("ANTHROPIC_API_KEY", "k")],
        expect![[
            r#"Messages https://api.anthropic.com/v1 claude-opus-4-6, key k, headers [("anthropic-beta", "fast-mode-2026-02-01")], {"speed":"fast"}"#
        ]],
    );
    let settings = json!({"anthropic": {"models": {"claude-opus-4-6-fast": {"options": {"speed": "slow"}}}}});
    check(
        "anthropic/claude-opus-4-6-fast",
        settings,
        &[("ANTHROPIC_API_KEY", "k")],
        expect![[
            r#"Messages https://api.anthropic.com/v1 claude-opus-4-6, key k, headers [("anthropic-beta", "fast-mode-2026-02-01")], {"speed":"slow"}"#
        ]],
    );
}

#[test]
fn names_that_nobody_has_are_told_with_those_that_were_meant() {
    check(
        "antropic/claude-sonnet-4-5",
        json!({}),
        &[],
        expect![[
            r#"error: there is no provider "antropic"; did you mean anthropic? haft models --all lists those it knows. Add one of your own to opencode.json under `provider`"#
        ]],
    );
    check(
        "anthropic/claude-sonet-4-5",
        json!({}),
        &[("ANTHROPIC_API_KEY", "k")],
        expect![[
            r#"error: the provider anthropic has no model "claude-sonet-4-5"; did you mean anthropic/claude-sonnet-4-5, anthropic/claude-sonnet-4-0 or anthropic/claude-sonnet-4-6? If it is new, add it to opencode.json: "provider": {"anthropic": {"models": {"claude-sonet-4-5": {}}}}"#
        ]],
    );
    check(
        "anthropic/llama",
        json!({}),
        &[("ANTHROPIC_API_KEY", "k")],
        expect![[
            r#"error: the provider anthropic has no model "llama"; haft models anthropic lists those it has. If it is new, add it to opencode.json: "provider": {"anthropic": {"models": {"llama": {}}}}"#
        ]],
    );
    // What is at an address of one's own nobody lists.
    check(
        "anthropic/mine",
        json!({"anthropic": {"options": {"baseURL": "http://127.0.0.1:4000/v1"}}}),
        &[],
        expect!["Messages http://127.0.0.1:4000/v1 mine, no key, headers [], {}"],
    );
    check(
        "github-copilot/gpt-4.1",
        json!({"github-copilot": {"options": {"baseURL": "http://127.0.0.1:4000/copilot"}}}),
        &[("GITHUB_TOKEN", "k")],
        expect!["Chat http://127.0.0.1:4000/copilot gpt-4.1, key k, headers [], {}"],
    );
    check("vllm/anything", json!({}), &[], expect!["Chat http://127.0.0.1:8000/v1 anything, no key, headers [], {}"]);
}

#[test]
fn what_is_known_of_a_model_reaches_its_quirks() {
    let quirks = |named: &str, config: &Config| {
        let (vendor, id) = named.split_once('/').unwrap();
        way(vendor, id, None, &world(config, &|_| Some("k".to_owned()))).unwrap().quirks
    };
    let none = Config::default();
    let strong = quirks("openai/gpt-4.1", &none);
    assert!(strong.fits.openai && strong.rescue == haft_llm::rescue::Rescue::Off);
    assert_eq!(quirks("ollama/anything", &none).rescue, haft_llm::rescue::Rescue::Any);
    assert!(quirks("google/gemini-2.5-pro", &none).fits.gemini);
}

#[test]
fn what_a_subscription_pays_for_costs_nothing_more() {
    let price = |named: &str, signed_in: &str, providers: Value| {
        let (vendor, id) = named.split_once('/').unwrap();
        let config = config(providers);
        let stored = json!({"type": signed_in}).as_object().unwrap().clone();
        let credential = |_: &str| Some(Credential { key: Key::Bearer(Secret::new("t")), stored: stored.clone() });
        let world = World { stored: &credential, ..world(&config, &|_| None) };
        way(vendor, id, None, &world).unwrap().model.cost.unwrap().usual.input
    };
    assert_eq!(price("github-copilot/gpt-4.1", "oauth", json!({})), 0.0);
    assert_eq!(price("openai/gpt-5.1", "oauth", json!({})), 0.0);
    assert!(price("openai/gpt-5.1", "api", json!({})) > 0.0);
    let own = json!({"github-copilot": {"models": {"gpt-4.1": {"cost": {"input": 3.0, "output": 4.0}}}}});
    assert_eq!(price("github-copilot/gpt-4.1", "oauth", own), 3.0);
}

#[test]
fn a_model_that_is_not_finished_or_gone_says_so() {
    let config = Config::default();
    let asked = |named: &str| {
        let (vendor, id) = named.split_once('/').unwrap();
        way(vendor, id, None, &world(&config, &|_| Some("k".to_owned())))
    };
    let note = asked("anthropic/claude-3-7-sonnet-20250219").unwrap().note.unwrap();
    assert!(note.contains("switched off by its vendor"), "{note}");
    assert_eq!(asked("anthropic/claude-sonnet-4-5").unwrap().note, None);
    let alpha = Catalogue::built_in().vendors().iter().find_map(|vendor| {
        let models = Catalogue::built_in().models(&vendor.id);
        let (id, _) = models.into_iter().find(|(_, model)| model.status == Status::Alpha)?;
        Some(format!("{}/{id}", vendor.id))
    });
    let error = asked(&alpha.unwrap()).unwrap_err().to_string();
    assert!(error.contains("HAFT_ENABLE_EXPERIMENTAL_MODELS=1"), "{error}");
}

#[test]
fn a_model_is_shown_what_it_can_read() {
    let accepts = |named: &str, models: Value| {
        let (vendor, id) = named.split_once('/').unwrap();
        let config = config(json!({vendor: {"api": "https://h", "models": models}}));
        let way = way(vendor, id, None, &world(&config, &|_| Some("k".to_owned()))).unwrap();
        (way.quirks.accepts, way.quirks.no_tools, way.thinking_field)
    };
    let image = Accepts { image: true, ..Accepts::default() };
    assert_eq!(
        accepts("own/m", json!({"m": {"modalities": {"input": ["text", "image"]}}})),
        (Some(image), false, None)
    );
    assert_eq!(accepts("own/m", json!({"m": {"attachment": true}})), (Some(Accepts::default()), false, None));
    assert_eq!(accepts("own/m", json!({})), (None, false, None));
    assert_eq!(accepts("openai/m", json!({"m": {"tool_call": false}})), (None, true, None));
    let field = Some("reasoning_content".to_owned());
    assert_eq!(
        accepts("openai/m", json!({"m": {"interleaved": {"field": "reasoning_content"}}})),
        (None, false, field)
    );
    assert_eq!(accepts("openai/m", json!({"m": {"interleaved": true}})), (None, false, None));
}
