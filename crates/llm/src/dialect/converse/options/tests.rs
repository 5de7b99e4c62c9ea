use std::sync::Arc;

use super::*;
use crate::{AssistantPart, Message, ToolSpec};

fn request(model: &str, extra: Value) -> Request {
    let tools = vec![ToolSpec { name: "ls".to_owned(), description: String::new(), parameters: json!({}) }];
    Request {
        model: model.to_owned(),
        extra: extra.as_object().unwrap().clone(),
        tools: tools.into(),
        ..Request::default()
    }
}

fn options(request: &Request) -> Options {
    Options::of(request, Family::of(request))
}

const CLAUDE: &str = "anthropic.claude-sonnet-4-5";
const NOVA: &str = "amazon.nova-2-lite-v1:0";

#[test]
fn thinking_is_asked_for_in_the_words_of_each_maker() {
    let row = |model: &str, given: Value, want: Value| {
        assert_eq!(Value::Object(options(&request(model, given)).additional), want, "{model}");
    };
    let config = |config: Value| json!({"reasoningConfig": config});
    row(
        CLAUDE,
        config(json!({"type": "enabled", "budgetTokens": 9})),
        json!({"thinking": {"type": "enabled", "budget_tokens": 9}}),
    );
    row(
        CLAUDE,
        config(json!({"type": "adaptive", "maxReasoningEffort": "max", "display": "summarized", "budgetTokens": 9})),
        json!({"thinking": {"type": "adaptive", "display": "summarized"}, "output_config": {"effort": "max"}}),
    );
    row(CLAUDE, config(json!({"type": "enabled"})), json!({}));
    row(CLAUDE, config(json!({"type": "disabled"})), json!({"thinking": {"type": "disabled"}}));
    row(
        CLAUDE,
        json!({"thinking": {"type": "enabled", "budgetTokens": 9}, "effort": "low", "output_config": {"format": 1}}),
        json!({"thinking": {"type": "enabled", "budget_tokens": 9}, "output_config": {"format": 1, "effort": "low"}}),
    );
    row("openai.gpt-oss-20b-1:0", config(json!({"maxReasoningEffort": "low"})), json!({"reasoning_effort": "low"}));
    row("openai.gpt-oss-20b-1:0", json!({"reasoningEffort": "low"}), json!({"reasoning_effort": "low"}));
    row("openai.gpt-5.4", config(json!({"maxReasoningEffort": "low"})), json!({"reasoning": {"effort": "low"}}));
    row(
        NOVA,
        config(json!({"type": "enabled", "maxReasoningEffort": "low", "budgetTokens": 9})),
        json!({"reasoningConfig": {"maxReasoningEffort": "low", "type": "enabled"}}),
    );
    row("qwen.qwen3-32b-v1:0", config(json!({"type": "enabled"})), json!({}));
    row(CLAUDE, config(json!("odd")), json!({}));
}

#[test]
fn what_is_not_of_the_interface_goes_to_the_model() {
    let given = json!({
        "anthropicBeta": ["b-1"], "top_a": 1, "structuredOutputMode": "auto", "modelFamily": "anthropic",
        "additionalModelRequestFields": {"x": 1, "gone": null},
        "guardrailConfig": {"guardrailIdentifier": "g"}, "serviceTier": "flex",
        "inferenceConfig": {"stopSequences": ["END"], "maxTokens": 7},
    });
    let options = options(&Request { max_output: Some(9), ..request("m", given) });
    assert_eq!(Value::Object(options.additional), json!({"x": 1, "anthropic_beta": ["b-1"], "top_a": 1}));
    assert_eq!(
        Value::Object(options.fields),
        json!({"guardrailConfig": {"guardrailIdentifier": "g"}, "serviceTier": {"type": "flex"}})
    );
    assert_eq!(Value::Object(options.inference), json!({"maxTokens": 7, "stopSequences": ["END"]}));
}

#[test]
fn nothing_is_sampled_that_a_model_refuses() {
    let row = |model: &str, given: Value, want: Value, more: Value| {
        let (temperature, top_p, top_k) = (Some(1.5), Some(0.9), Some(20));
        let request = Request { max_output: Some(1000), temperature, top_p, top_k, ..request(model, given) };
        let Options { inference, mut additional, .. } = options(&request);
        additional.retain(|name, _| name.starts_with("top") || name.starts_with("inference"));
        assert_eq!((Value::Object(inference), Value::Object(additional)), (want, more), "{model}");
    };
    row(CLAUDE, json!({}), json!({"maxTokens": 1000, "temperature": 1.0}), json!({"top_k": 20}));
    let thinking = json!({"reasoningConfig": {"type": "enabled", "budgetTokens": 16_000}});
    row(CLAUDE, thinking, json!({"maxTokens": 17_000}), json!({}));
    row(CLAUDE, json!({"reasoningConfig": {"type": "adaptive"}}), json!({"maxTokens": 1000}), json!({}));
    let calm = json!({"maxTokens": 1000, "temperature": 1.0, "topP": 0.9});
    row(NOVA, json!({}), calm.clone(), json!({"inferenceConfig": {"topK": 20}}));
    let hard = |effort: &str| json!({"reasoningConfig": {"type": "enabled", "maxReasoningEffort": effort}});
    row(NOVA, hard("low"), calm.clone(), json!({"inferenceConfig": {"topK": 20}}));
    row(NOVA, hard("high"), json!({}), json!({}));
    row("meta.llama3-3-70b-instruct-v1:0", json!({}), calm, json!({}));
}

#[test]
fn there_is_room_for_an_answer_behind_the_thoughts() {
    let given = json!({"reasoningConfig": {"type": "enabled", "budgetTokens": 2000}});
    assert_eq!(options(&request(CLAUDE, given)).inference["maxTokens"], 6096);
    let odd = Request { temperature: Some(f64::NAN), max_output: Some(0), ..request(CLAUDE, json!({})) };
    assert_eq!(Value::Object(options(&odd).inference), json!({"maxTokens": 1}));
}

#[test]
fn a_choice_is_said_where_there_is_a_word_for_it() {
    let row = |model: &str, given: Value, tool_choice: ToolChoice, want: (Value, Value, bool)| {
        let Options { choice, additional, no_tools, .. } =
            options(&Request { tool_choice, ..request(model, given.clone()) });
        let own = additional.get("tool_choice").cloned().unwrap_or_default();
        assert_eq!((choice.unwrap_or_default(), own, no_tools), want, "{model} {tool_choice:?} {given}");
    };
    let (null, any) = (Value::Null, json!({"any": {}}));
    let one = || json!({"disableParallelToolUse": true});
    let thinks = || json!({"reasoningConfig": {"type": "adaptive"}});
    row(CLAUDE, json!({}), ToolChoice::Auto, (null.clone(), null.clone(), false));
    row(CLAUDE, json!({}), ToolChoice::Required, (any.clone(), null.clone(), false));
    row(CLAUDE, thinks(), ToolChoice::Required, (null.clone(), null.clone(), false));
    row(CLAUDE, json!({}), ToolChoice::None, (null.clone(), json!({"type": "none"}), false));
    row(CLAUDE, json!({"tool_choice": 1}), ToolChoice::None, (null.clone(), json!(1), false));
    let own = |kind: &str| json!({"type": kind, "disable_parallel_tool_use": true});
    row(CLAUDE, one(), ToolChoice::Auto, (null.clone(), own("auto"), false));
    row(CLAUDE, one(), ToolChoice::Required, (null.clone(), own("any"), false));
    row(NOVA, one(), ToolChoice::Auto, (null.clone(), null.clone(), false));
    row(NOVA, json!({}), ToolChoice::Required, (any, null.clone(), false));
    row(NOVA, json!({}), ToolChoice::None, (null.clone(), null.clone(), true));
    row("meta.llama3-3-70b-instruct-v1:0", json!({}), ToolChoice::Required, (null.clone(), null, false));
}

#[test]
fn nothing_is_chosen_among_no_tools() {
    let none = Request {
        tool_choice: ToolChoice::None,
        tools: Arc::default(),
        ..request(CLAUDE, json!({"disableParallelToolUse": true}))
    };
    assert_eq!(Value::Object(options(&none).additional), json!({}));
    let (id, name, arguments) = ("t".to_owned(), "gone".to_owned(), "{}".to_owned());
    let parts = vec![AssistantPart::ToolCall { id, name, arguments, item: None }];
    let stand_ins =
        Request { messages: vec![Message::Assistant { parts }.into()].into(), tool_choice: ToolChoice::Auto, ..none };
    assert_eq!(Value::Object(options(&stand_ins).additional), json!({"tool_choice": {"type": "none"}}));
}

#[test]
fn marks_are_as_the_settings_say() {
    let row = |model: &str, given: Value, want: Value| {
        let point = options(&request(model, given.clone())).point;
        assert_eq!(point.map_or(Value::Null, |point| point.0), want, "{model} {given}");
    };
    row(CLAUDE, json!({}), json!({"type": "default"}));
    row(CLAUDE, json!({"cachePoint": false}), Value::Null);
    row(CLAUDE, json!({"cachePoint": {"ttl": "1h"}}), json!({"type": "default", "ttl": "1h"}));
    row("zai.glm-5", json!({}), Value::Null);
    row("zai.glm-5", json!({"cachePoint": true}), json!({"type": "default"}));
}
