//! What the settings say of a model lies over what the catalogue does.

use haft_config::Config;
use haft_llm::catalogue::Catalogue;
use serde_json::{from_value, json};

use super::*;

fn config(providers: Value) -> Config {
    Config { providers: from_value(providers).unwrap(), ..Config::default() }
}

/// What is known of `vendor/id` with these settings.
fn known(vendor: &str, id: &str, providers: Value) -> Model {
    let config = config(providers);
    let world = World { config: &config, env: &|_| None, stored: &|_| None, catalogue: Catalogue::built_in() };
    Entry::of(vendor, &world).unwrap().model(id, &world).unwrap().model
}

#[test]
fn every_field_can_be_said_otherwise() {
    let plain = known("anthropic", "claude-sonnet-4-5", json!({}));
    let own = json!({
        "name": "Mine", "family": "own", "release_date": "2030-01-01", "attachment": false, "reasoning": false,
        "temperature": false, "tool_call": false, "interleaved": {"field": "thoughts"}, "status": "beta",
        "limit": {"context": 1000, "input": 900, "output": 100},
        "cost": {"input": 1, "output": 2, "cache_read": 0.5},
        "modalities": {"input": ["text"]},
        "provider": {"npm": "@ai-sdk/openai", "api": "https://own.example/v1"},
        "headers": {"x-own": "1"},
    });
    let got = known("anthropic", "claude-sonnet-4-5", json!({"anthropic": {"models": {"claude-sonnet-4-5": own}}}));
    assert_eq!((&*got.name, got.family.as_deref(), &*got.release_date), ("Mine", Some("own"), "2030-01-01"));
    let said = (got.attachment, got.reasoning, got.temperature, got.tool_call);
    assert_eq!(said, (Some(false), Some(false), Some(false), Some(false)));
    assert_eq!(got.interleaved, Some(Interleaved::Field { field: "thoughts".to_owned() }));
    assert_eq!(got.status, Status::Beta);
    assert_eq!(got.limit, Limit { context: 1000, input: Some(900), output: 100 });
    let prices = got.cost.unwrap().usual;
    let known_write = plain.cost.unwrap().usual.cache_write;
    assert_eq!((prices.input, prices.output, prices.cache_read, prices.cache_write), (1.0, 2.0, 0.5, known_write));
    let modalities = got.modalities.unwrap();
    assert_eq!((modalities.input, modalities.output), (vec!["text".to_owned()], plain.modalities.unwrap().output));
    assert_eq!(got.provider.unwrap().api.as_deref(), Some("https://own.example/v1"));
    assert_eq!(got.headers["x-own"].expose(), "1");
}

#[test]
fn what_the_settings_leave_out_stays() {
    let plain = known("anthropic", "claude-sonnet-4-5", json!({}));
    let got = known("anthropic", "claude-sonnet-4-5", json!({"anthropic": {"models": {"claude-sonnet-4-5": {}}}}));
    assert_eq!(got, plain);
    let part = json!({"anthropic": {"models": {"claude-sonnet-4-5": {"limit": {"context": 0, "output": 7}}}}});
    let got = known("anthropic", "claude-sonnet-4-5", part);
    assert_eq!((got.limit.context, got.limit.output), (plain.limit.context, 7));
}

#[test]
fn a_model_may_go_by_another_name() {
    let settings = json!({"anthropic": {"models": {"quick": {"id": "claude-haiku-4-5", "name": "Quick"}}}});
    let got = known("anthropic", "quick", settings);
    assert_eq!((&*got.id, &*got.name, got.limit.context), ("claude-haiku-4-5", "Quick", 200_000));
    let new = known("anthropic", "newest", json!({"anthropic": {"models": {"newest": {}}}}));
    assert_eq!((&*new.id, &*new.name, new.limit.context), ("newest", "newest", 0));
}

#[test]
fn the_list_of_a_vendor_has_its_own_models_and_those_of_the_settings() {
    let config = config(json!({"groq": {"models": {"mine": {}}, "blacklist": ["qwen/qwen3-32b"]}}));
    let world = World { config: &config, env: &|_| None, stored: &|_| None, catalogue: Catalogue::built_in() };
    let models = Entry::of("groq", &world).unwrap().models(&world);
    let names: Vec<&str> = models.iter().map(|(id, _)| id.as_str()).collect();
    assert_eq!(names[0], "mine");
    assert!(models[0].1.configured && !models[1].1.configured);
    assert!(names.contains(&"openai/gpt-oss-20b") && !names.contains(&"qwen/qwen3-32b"), "{names:?}");
}
