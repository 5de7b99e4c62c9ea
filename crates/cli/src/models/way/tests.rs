//! Settings and variables, and the way they make.

use expect_test::{Expect, expect};
use serde_json::from_value;

use super::*;

fn config(providers: Value) -> Config {
    Config { providers: from_value(providers).unwrap(), ..Config::default() }
}

fn environment<'a>(variables: &'a [(&'a str, &'a str)]) -> impl Fn(&str) -> Option<String> + 'a {
    |name| variables.iter().find(|(one, _)| *one == name).map(|(_, value)| (*value).to_owned())
}

/// Where a model called `named` is asked, and with what.
#[track_caller]
fn check(named: &str, providers: Value, variables: &[(&str, &str)], want: Expect) {
    let (vendor, id) = named.split_once('/').unwrap();
    let text = match way(vendor, id, None, &config(providers), &environment(variables)) {
        Ok(Way { dialect, base_url, key, headers, api_id, extra, .. }) => {
            let key = match key {
                None => "no key".to_owned(),
                Some(Key::Plain(key)) => format!("key {}", key.expose()),
                Some(Key::Bearer(token)) => format!("token {}", token.expose()),
            };
            format!("{dialect:?} {base_url} {api_id}, {key}, headers {headers:?}, {}", Value::Object(extra))
        }
        Err(error) => format!("error: {error}"),
    };
    want.assert_eq(&text);
}

#[test]
fn known_vendors_need_only_a_key() {
    let none = || json!({});
    check(
        "anthropic/claude-x",
        none(),
        &[("ANTHROPIC_API_KEY", "k")],
        expect!["Messages https://api.anthropic.com/v1 claude-x, key k, headers [], {}"],
    );
    check(
        "anthropic/claude-x",
        none(),
        &[("ANTHROPIC_AUTH_TOKEN", "t")],
        expect!["Messages https://api.anthropic.com/v1 claude-x, token t, headers [], {}"],
    );
    check(
        "openai/gpt-5.1",
        none(),
        &[("OPENAI_API_KEY", "k"), ("OPENAI_BASE_URL", "http://h/v1")],
        expect!["Chat http://h/v1 gpt-5.1, key k, headers [], {}"],
    );
    check(
        "google/gemini-x",
        none(),
        &[("GOOGLE_API_KEY", "k")],
        expect!["Chat https://generativelanguage.googleapis.com/v1beta/openai gemini-x, key k, headers [], {}"],
    );
    check(
        "openrouter/anthropic/claude-x",
        none(),
        &[("OPENROUTER_API_KEY", "k")],
        expect![[
            r#"Chat https://openrouter.ai/api/v1 anthropic/claude-x, key k, headers [], {"usage":{"include":true}}"#
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
        "anthropic/claude-x",
        json!({}),
        &[],
        expect![
            "error: there is no key for anthropic; set ANTHROPIC_API_KEY, or provider.anthropic.options.apiKey in opencode.json"
        ],
    );
    check(
        "anthropic/claude-x",
        json!({}),
        &[("ANTHROPIC_BASE_URL", "http://127.0.0.1:4000")],
        expect!["Messages http://127.0.0.1:4000/v1 claude-x, no key, headers [], {}"],
    );
    check(
        "anthropic/claude-x",
        json!({"anthropic": {"options": {"baseURL": "http://h/anthropic/v1"}}}),
        &[],
        expect!["Messages http://h/anthropic/v1 claude-x, no key, headers [], {}"],
    );
    check(
        "openai/x",
        json!({"openai": {"options": {"headers": {"Authorization": "Bearer own"}}}}),
        &[],
        expect![[r#"Chat https://api.openai.com/v1 x, no key, headers [("Authorization", "Bearer own")], {}"#]],
    );
}

#[test]
fn the_driver_says_what_is_spoken() {
    let own = |npm: &str| json!({"own": {"npm": npm, "options": {"baseURL": "https://h/v1", "apiKey": "k"}}});
    check("own/m", own("@ai-sdk/anthropic"), &[], expect!["Messages https://h/v1 m, key k, headers [], {}"]);
    check("own/m", own("@ai-sdk/openai-compatible"), &[], expect!["Chat https://h/v1 m, key k, headers [], {}"]);
    check(
        "own/m",
        own("@ai-sdk/cohere"),
        &[],
        expect![
            "error: the provider own wants the driver @ai-sdk/cohere, whose dialect haft does not speak; it speaks those of @ai-sdk/openai-compatible, @ai-sdk/openai, @ai-sdk/anthropic, @openrouter/ai-sdk-provider, @ai-sdk/groq, @ai-sdk/xai, @ai-sdk/mistral, @ai-sdk/togetherai, @ai-sdk/cerebras, @ai-sdk/deepinfra"
        ],
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
            r#"Chat https://h/v1 gpt-5-mini, key k, headers [("x-team", "blue"), ("x-model", "y")], {"reasoningEffort":"low"}"#
        ]],
    );
    check(
        "openai/gpt-4o",
        own.clone(),
        &[("HOST", "h")],
        expect![[r#"Chat https://h/v1 gpt-4o, no key, headers [("x-team", "blue")], {}"#]],
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
            r#"error: there is no provider "nobody"; there are own, anthropic, openai, openrouter, google, groq, xai, mistral, deepseek, togetherai, fireworks-ai, cerebras, deepinfra, moonshotai, ollama, lmstudio, llamacpp, script, replay. Add it to opencode.json under `provider`"#
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
        expect![[r#"error: the provider own has no model "m" configured; it has a, b"#]],
    );
    check(
        "own/a",
        json!({"own": {"api": "https://h", "models": {"a": {}}, "blacklist": ["a"]}}),
        &[],
        expect!["error: the model a is switched off by `whitelist` or `blacklist` of provider.own in the settings"],
    );
    let off = Config { enabled_providers: Some(vec!["openai".to_owned()]), ..Config::default() };
    let error = way("ollama", "m", None, &off, &|_| None).unwrap_err();
    expect!["the provider ollama is switched off by `disabled_providers` or `enabled_providers` of the settings"]
        .assert_eq(&error.to_string());
}

#[test]
fn variants_are_those_of_the_settings_then_the_usual_ones() {
    let own = json!({"own": {
        "api": "https://h",
        "models": {"m": {"options": {"a": 1}, "variants": {"deep": {"a": 2, "b": 3}, "high": {"disabled": true}}}},
    }});
    let row = |vendor: &str, variant: &str, want: Expect| {
        let text = match way(vendor, "m", Some(variant), &config(own.clone()), &|_| Some("k".to_owned())) {
            Ok(way) => Value::Object(way.extra).to_string(),
            Err(error) => format!("error: {error}"),
        };
        want.assert_eq(&text);
    };
    row("own", "deep", expect![[r#"{"a":2,"b":3}"#]]);
    row("own", "low", expect![[r#"{"a":1,"reasoning_effort":"low"}"#]]);
    row("own", "high", expect![[r#"error: own/m has no variant "high"; it has deep, low, medium"#]]);
    row("anthropic", "max", expect![[r#"{"thinking":{"type":"enabled","budget_tokens":31999}}"#]]);
    row("anthropic", "low", expect![[r#"error: anthropic/m has no variant "low"; it has high, max"#]]);
}

#[test]
fn a_model_is_shown_what_it_can_read() {
    let accepts = |named: &str, models: Value| {
        let (vendor, id) = named.split_once('/').unwrap();
        let providers = json!({vendor: {"api": "https://h", "models": models}});
        let way = way(vendor, id, None, &config(providers), &|_| Some("k".to_owned())).unwrap();
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
