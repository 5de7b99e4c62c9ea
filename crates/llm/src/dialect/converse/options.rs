//! The settings of a request: those of the settings file in the names of the wire, and what follows from them. Pure.

use serde_json::{Map, Value, json};

use super::family::{Family, has_cache};
use super::tools::used;
use crate::steering::{CACHE_POINT, ONE_CALL, without};
use crate::{Request, ToolChoice};

/// Fields of Converse itself; everything else is for the model. `inferenceConfig` and `additionalModelRequestFields`
/// are laid over ours, the others stand as they are given.
const FIELDS: [&str; 8] = [
    "additionalModelResponseFieldPaths",
    "guardrailConfig",
    "outputConfig",
    "performanceConfig",
    "promptVariables",
    "requestMetadata",
    "serviceTier",
    "toolConfig",
];

/// What is left for the answer where only a budget for thinking is known, in tokens.
const ANSWER: u64 = 4096;

/// What a mark for the cache holds.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Point(pub(super) Value);

/// The fields that hang together.
#[derive(Debug)]
pub(super) struct Options {
    /// Of Converse itself, over what the dialect writes.
    pub(super) fields: Map<String, Value>,
    pub(super) inference: Map<String, Value>,
    /// For the model.
    pub(super) additional: Map<String, Value>,
    /// `None`: as the model likes.
    pub(super) choice: Option<Value>,
    /// No tool is to be called, and there is no word for that.
    pub(super) no_tools: bool,
    /// How prefixes are marked, if they are.
    pub(super) point: Option<Point>,
}

impl Options {
    pub(super) fn of(request: &Request, family: Family) -> Self {
        let point = point(request.extra.get(CACHE_POINT), has_cache(family, &request.model));
        let one_call = request.extra.get(ONE_CALL) == Some(&Value::Bool(true));
        let mut extra = without(&request.extra);
        let mut take = |name: &str| match extra.remove(name) {
            Some(Value::Object(fields)) => fields,
            _ => Map::new(),
        };
        let (told, mut additional) = (take("inferenceConfig"), take("additionalModelRequestFields"));
        let mut fields = Map::new();
        for name in FIELDS {
            match extra.remove(name) {
                Some(Value::String(tier)) if name == "serviceTier" => {
                    fields.insert(name.to_owned(), json!({"type": tier}));
                }
                Some(value) => {
                    fields.insert(name.to_owned(), value);
                }
                None => {}
            }
        }
        let config = extra.remove("reasoningConfig");
        if let Some(beta) = extra.remove("anthropicBeta") {
            additional.insert("anthropic_beta".to_owned(), beta);
        }
        additional.extend(extra);
        think(&mut additional, config, family);
        let thinks = thinks(&additional, family);
        let mut inference = sampling(request, &mut additional, family, thinks);
        inference.extend(told);
        inference.retain(|_, value| !value.is_null());
        // Stand-ins are not to be called, and where there are no tools nothing may be said about them.
        let (chosen, one_call) = match (request.tools.is_empty(), used(request).is_empty()) {
            (false, _) => (request.tool_choice, one_call),
            (true, false) => (ToolChoice::None, false),
            (true, true) => (ToolChoice::Auto, false),
        };
        let (choice, no_tools) = choice(chosen, family, thinks.is_some(), one_call, &mut additional);
        additional.retain(|_, value| !value.is_null());
        Self { fields, inference, additional, choice, no_tools, point }
    }
}

fn point(told: Option<&Value>, has_cache: bool) -> Option<Point> {
    let mut point = json!({"type": "default"});
    match told {
        Some(Value::Bool(false)) => return None,
        Some(Value::Object(more)) => point.as_object_mut()?.extend(more.clone()),
        // Who says so knows the model better.
        Some(Value::Bool(true)) => {}
        Some(_) | None if !has_cache => return None,
        Some(_) | None => {}
    }
    Some(Point(point))
}

/// Puts the driver's one setting for thinking into the words of each maker.
fn think(additional: &mut Map<String, Value>, config: Option<Value>, family: Family) {
    let config = config.unwrap_or_default();
    let effort = Some(&config["maxReasoningEffort"]).filter(|effort| effort.is_string()).cloned();
    let within = |additional: &mut Map<String, Value>, outer: &str, name: &str, value: Value| {
        let place = additional.entry(outer).or_insert_with(|| json!({}));
        if let Some(place) = place.as_object_mut() {
            place.entry(name).or_insert(value);
        }
    };
    match family {
        Family::Claude => {
            if let Some(kind) = config["type"].as_str() {
                let mut thinking = json!({"type": kind});
                if let (Some(budget), "enabled") = (config["budgetTokens"].as_u64(), kind) {
                    thinking["budget_tokens"] = budget.into();
                }
                if let (Some(display), "adaptive") = (config["display"].as_str(), kind) {
                    thinking["display"] = display.into();
                }
                // Thinking without a budget is only known to be adaptive.
                if kind != "enabled" || thinking["budget_tokens"].is_u64() {
                    additional.entry("thinking").or_insert(thinking);
                }
            }
            if let Some(Value::Object(thinking)) = additional.get_mut("thinking")
                && let Some(budget) = thinking.remove("budgetTokens")
            {
                thinking.entry("budget_tokens").or_insert(budget);
            }
            if let Some(effort) = effort.or_else(|| additional.remove("effort")) {
                within(additional, "output_config", "effort", effort);
            }
        }
        Family::GptOss => {
            if let Some(effort) = effort.or_else(|| additional.remove("reasoningEffort")) {
                additional.entry("reasoning_effort").or_insert(effort);
            }
        }
        Family::OpenAi => {
            if let Some(effort) = effort.or_else(|| additional.remove("reasoningEffort")) {
                within(additional, "reasoning", "effort", effort);
            }
        }
        Family::Nova | Family::Mistral | Family::Other => {
            let Some(effort) = effort else { return };
            let mut ours = json!({"maxReasoningEffort": effort});
            if let Some(kind) = config["type"].as_str().filter(|kind| *kind != "adaptive") {
                ours["type"] = kind.into();
            }
            additional.entry("reasoningConfig").or_insert(ours);
        }
    }
}

/// Whether a model is asked to think, with what of the answer's length goes to it.
fn thinks(additional: &Map<String, Value>, family: Family) -> Option<u64> {
    let thinking = additional.get("thinking").filter(|_| family == Family::Claude)?;
    match thinking["type"].as_str()? {
        "enabled" => Some(thinking["budget_tokens"].as_u64().unwrap_or(0)),
        "adaptive" => Some(0),
        _ => None,
    }
}

fn sampling(
    request: &Request,
    additional: &mut Map<String, Value>,
    family: Family,
    thinks: Option<u64>,
) -> Map<String, Value> {
    let mut inference = Map::new();
    // With its highest effort, Amazon's own model refuses to be told any of them.
    let free = family == Family::Nova && additional.get("reasoningConfig").is_some_and(highest);
    if free {
        return inference;
    }
    let write = match thinks {
        Some(budget) if budget > 0 => Some(request.max_output.unwrap_or(ANSWER).saturating_add(budget)),
        Some(_) | None => request.max_output,
    };
    let mut set = |name: &str, value: Option<Value>| {
        if let Some(value) = value {
            inference.insert(name.to_owned(), value);
        }
    };
    set("maxTokens", write.map(|tokens| tokens.max(1).into()));
    // A thinking Claude refuses them, and some refuse both together. Elsewhere more than 1 is refused.
    let calm = thinks.is_none();
    let share = |share: f64| share.is_finite().then(|| share.clamp(0.0, 1.0).into());
    set("temperature", request.temperature.filter(|_| calm).and_then(share));
    let together = family != Family::Claude || request.temperature.is_none();
    set("topP", request.top_p.filter(|_| calm && together).and_then(share));
    if let Some(top_k) = request.top_k.filter(|_| calm) {
        match family {
            Family::Claude => {
                additional.entry("top_k").or_insert_with(|| top_k.into());
            }
            Family::Nova => {
                let config = additional.entry("inferenceConfig").or_insert_with(|| json!({}));
                if let Some(config) = config.as_object_mut() {
                    config.entry("topK").or_insert_with(|| top_k.into());
                }
            }
            // The others have no word for it.
            Family::GptOss | Family::OpenAi | Family::Mistral | Family::Other => {}
        }
    }
    inference
}

fn highest(config: &Value) -> bool {
    config["type"] == "enabled" && config["maxReasoningEffort"] == "high"
}

/// How tools are chosen, and whether none may be called where that cannot be said. To leave the choice to the model is
/// not said either, because some makers' models refuse even that.
fn choice(
    choice: ToolChoice,
    family: Family,
    thinks: bool,
    one_call: bool,
    additional: &mut Map<String, Value>,
) -> (Option<Value>, bool) {
    let is_claude = family == Family::Claude;
    let forced = choice == ToolChoice::Required && family.can_be_forced() && !thinks;
    let own = match choice {
        ToolChoice::None if is_claude => Some(json!({"type": "none"})),
        ToolChoice::Auto | ToolChoice::Required if is_claude && one_call => {
            Some(json!({"type": if forced { "any" } else { "auto" }, "disable_parallel_tool_use": true}))
        }
        ToolChoice::Auto | ToolChoice::Required | ToolChoice::None => None,
    };
    let said = own.is_some();
    if let Some(own) = own.filter(|_| !additional.contains_key("tool_choice")) {
        additional.insert("tool_choice".to_owned(), own);
    }
    ((forced && !said).then(|| json!({"any": {}})), choice == ToolChoice::None && !said)
}

#[cfg(test)]
mod tests;
