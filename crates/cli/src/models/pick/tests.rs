//! Which model is asked when none is named.

use std::collections::BTreeMap;

use haft_config::{Config, ModelConfig, ProviderConfig};
use haft_llm::catalogue::{Catalogue, Cost, Prices};
use haft_llm::{Key, Secret};
use serde_json::Map;

use super::*;
use crate::models::stored::Credential;

/// A server of one's own with these models.
fn provider(ids: &[&str]) -> ProviderConfig {
    let models = ids.iter().map(|id| ((*id).to_owned(), ModelConfig::default())).collect();
    ProviderConfig { models, api: Some("http://127.0.0.1:1/v1".to_owned()), ..ProviderConfig::default() }
}

fn config(providers: &[(&str, &[&str])]) -> Config {
    let providers: BTreeMap<_, _> = providers.iter().map(|(name, ids)| ((*name).to_owned(), provider(ids))).collect();
    Config { providers, ..Config::default() }
}

/// What is picked with these settings, these variables set, these vendors signed in to.
fn picked(config: &Config, variables: &[&str], signed_in: &[&str], recent: &[&str]) -> Option<String> {
    let env = |name: &str| variables.contains(&name).then(|| "value".to_owned());
    let stored = |vendor: &str| {
        let credential = Credential { key: Key::Plain(Secret::new("k")), stored: Map::new() };
        signed_in.contains(&vendor).then_some(credential)
    };
    let world = World { config, env: &env, stored: &stored, catalogue: Catalogue::built_in() };
    let recent: Vec<String> = recent.iter().map(|name| (*name).to_owned()).collect();
    pick(&world, &recent).map(|picked| picked.named)
}

#[test]
fn the_best_of_the_first_vendor_is_asked() {
    let row = |config: &Config, want: Option<&str>| assert_eq!(picked(config, &[], &[], &[]).as_deref(), want);
    row(&Config::default(), None);
    row(&config(&[("b", &["only"])]), Some("b/only"));
    row(&config(&[("b", &["x"]), ("a", &["m1", "m2"])]), Some("a/m2"));
    row(&config(&[("a", &["z", "gpt-4o", "my-gpt-5", "gpt-5.1"])]), Some("a/my-gpt-5"));
    row(&config(&[("a", &["zz", "mm-latest"])]), Some("a/mm-latest"));
    row(&config(&[("a", &[]), ("b", &["x"])]), Some("b/x"));
    let named = Config { model: Some("c/d".to_owned()), ..config(&[("a", &["b"])]) };
    row(&named, Some("c/d"));
    let off = Config { disabled_providers: vec!["a".to_owned()], ..config(&[("a", &["b"]), ("c", &["d"])]) };
    row(&off, Some("c/d"));
    let mut unlisted = config(&[("a", &["b", "c"])]);
    unlisted.providers.get_mut("a").unwrap().blacklist = vec!["c".to_owned()];
    row(&unlisted, Some("a/b"));
}

#[test]
fn a_key_is_enough_unless_it_is_there_for_something_else() {
    let none = Config::default();
    let row = |variables: &[&str], signed_in: &[&str], want: Option<&str>| {
        let got = picked(&none, variables, signed_in, &[]);
        let vendor = got.as_deref().and_then(|named| named.split_once('/')).map(|(vendor, _)| vendor);
        assert_eq!(vendor, want, "{variables:?} {signed_in:?}: {got:?}");
    };
    row(&["GROQ_API_KEY"], &[], Some("groq"));
    row(&["GROQ_API_KEY", "ANTHROPIC_API_KEY"], &[], Some("anthropic"));
    row(&["ANTHROPIC_API_KEY"], &["groq"], Some("groq"));
    row(&[], &["groq", "openai"], Some("openai"));
    row(&["GITHUB_TOKEN"], &[], None);
    row(&["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_REGION"], &[], None);
    row(&["AZURE_RESOURCE_NAME"], &[], None);
    row(&["AWS_PROFILE"], &[], None);
    let off = Config { disabled_providers: vec!["groq".to_owned()], ..Config::default() };
    assert_eq!(picked(&off, &["GROQ_API_KEY"], &[], &[]), None);
}

#[test]
fn whoever_can_be_asked_by_name_alone_is_told_of() {
    let row = |variable: &str, want: Option<&str>| {
        let (config, env) = (Config::default(), |name: &str| (name == variable).then(|| "value".to_owned()));
        let world = World { config: &config, env: &env, stored: &|_| None, catalogue: Catalogue::built_in() };
        assert_eq!(by_name(&world).map(|(vendor, _)| vendor), want, "{variable}");
    };
    row("AWS_PROFILE", Some("amazon-bedrock"));
    row("GOOGLE_CLOUD_PROJECT", Some("google-vertex"));
    row("GITHUB_TOKEN", Some("github-copilot"));
    row("GROQ_API_KEY", None);
    row("HOME", None);
}

#[test]
fn small_models_and_those_for_talk_are_not_picked_where_there_are_others() {
    let row = |variable: &str, want: &str| {
        assert_eq!(picked(&Config::default(), &[variable], &[], &[]).as_deref(), Some(want), "{variable}");
    };
    row("ANTHROPIC_API_KEY", "anthropic/claude-sonnet-4-6");
    row("OPENAI_API_KEY", "openai/gpt-5.5");
    row("GEMINI_API_KEY", "google/gemini-3.1-pro-preview");
    row("OPENROUTER_API_KEY", "openrouter/openai/gpt-5.5");
}

#[test]
fn what_was_used_last_is_asked_again_if_it_can_be() {
    let row = |recent: &[&str], want: &str| {
        let got = picked(&Config::default(), &["ANTHROPIC_API_KEY"], &[], recent).unwrap();
        assert_eq!(got, want, "{recent:?}");
    };
    row(&["anthropic/claude-opus-4-5"], "anthropic/claude-opus-4-5");
    row(&["openai/gpt-5.1", "anthropic/gone", "nonsense", "anthropic/claude-haiku-4-5"], "anthropic/claude-haiku-4-5");
    row(&[], "anthropic/claude-sonnet-4-6");
    // Naming it was leave enough, also where nothing but that says so.
    row(&["opencode/big-pickle"], "opencode/big-pickle");
    let ambient = picked(&Config::default(), &["GITHUB_TOKEN"], &[], &["github-models/openai/gpt-4o"]);
    assert_eq!(ambient.as_deref(), Some("github-models/openai/gpt-4o"));
}

#[test]
fn a_dear_model_and_one_that_cannot_work_are_not_picked() {
    let model = |id: &str, output: f64, tools: bool| {
        let cost = Cost { usual: Prices { output, ..Prices::default() }, ..Cost::default() };
        let model = Model { cost: Some(cost), tool_call: Some(tools), ..Model::default() };
        (id.to_owned(), Facts { model, ..Facts::default() })
    };
    let models = [model("gpt-5-pro", 120.0, true), model("gpt-5-image", 10.0, false), model("gpt-5", 10.0, true)];
    assert_eq!(best(&models), Some("gpt-5"));
    assert_eq!(best(&models[..2]), Some("gpt-5-pro"));
    assert_eq!(best(&models[1..2]), None);
}

#[test]
fn titles_are_for_a_small_model_of_the_same_vendor() {
    let row = |config: &Config, main: &str, want: &str| {
        let env = |name: &str| (name != "OLLAMA_HOST" && !name.ends_with("_URL")).then(|| "value".to_owned());
        let world = World { config, env: &env, stored: &|_| None, catalogue: Catalogue::built_in() };
        assert_eq!(small(main, &world), want, "{main}");
    };
    let none = Config::default();
    row(&none, "anthropic/claude-opus-4-5", "anthropic/claude-haiku-4-5");
    row(&none, "google/gemini-2.5-pro", "google/gemini-3.5-flash");
    row(&none, "openai/gpt-5.2", "openai/gpt-5.4-nano");
    row(&none, "ollama/qwen3", "ollama/qwen3");
    row(&none, "script/x.jsonl", "script/x.jsonl");
    row(&config(&[("own", &["big", "small"])]), "own/big", "own/big");
    let region =
        |main: &str, want: &str| row(&none, &format!("amazon-bedrock/{main}"), &format!("amazon-bedrock/{want}"));
    region("eu.anthropic.claude-sonnet-4-6", "eu.anthropic.claude-haiku-4-5-20251001-v1:0");
    region("anthropic.claude-sonnet-4-6", "anthropic.claude-haiku-4-5-20251001-v1:0");
    let named = Config { small_model: Some("groq/openai/gpt-oss-20b".to_owned()), ..Config::default() };
    row(&named, "anthropic/claude-opus-4-5", "groq/openai/gpt-oss-20b");
    let gone = Config { small_model: Some("groq/gone".to_owned()), ..Config::default() };
    row(&gone, "anthropic/claude-opus-4-5", "anthropic/claude-haiku-4-5");
}

#[test]
fn who_can_be_asked_without_settings_is_who_the_user_has_something_to_do_with() {
    let config = Config::default();
    let env = |name: &str| matches!(name, "GROQ_API_KEY" | "GITHUB_TOKEN").then(|| "k".to_owned());
    let world = World { config: &config, env: &env, stored: &|_| None, catalogue: Catalogue::built_in() };
    let reachable = reachable(&world);
    for (vendor, want) in
        [("groq", true), ("ollama", true), ("github-models", false), ("opencode", false), ("openai", false)]
    {
        assert_eq!(reachable.contains(&vendor), want, "{vendor}");
    }
}
