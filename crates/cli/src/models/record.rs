//! A model as OpenCode's `GET /provider` writes it. Pure.

use haft_llm::catalogue::{Interleaved, Model, Prices, Status};
use serde_json::{Map, Value, json};

use super::list::url;
use super::way::Way;

/// The record of the model that is asked for as `id`.
pub(super) fn of(vendor: &str, id: &str, model: &Model, driver: Option<&str>, way: Option<&Way>) -> Value {
    let yes = |known: Option<bool>, usual: bool| known.unwrap_or(usual);
    let kinds = |list: Option<&Vec<String>>| -> Value {
        let has = |kind: &str| list.map_or(kind == "text", |list| list.iter().any(|one| one == kind));
        let kinds = ["text", "audio", "image", "video", "pdf"].map(|kind| (kind.to_owned(), Value::Bool(has(kind))));
        Map::from_iter(kinds).into()
    };
    let modalities = model.modalities.as_ref();
    let mut record = json!({
        "id": id,
        "providerID": vendor,
        "api": {"id": model.id, "url": url(way), "npm": driver.unwrap_or("@ai-sdk/openai-compatible")},
        "name": model.name,
        "capabilities": {
            "temperature": yes(model.temperature, false),
            "reasoning": yes(model.reasoning, false),
            "attachment": yes(model.attachment, false),
            "toolcall": yes(model.tool_call, true),
            "input": kinds(modalities.map(|modalities| &modalities.input)),
            "output": kinds(modalities.map(|modalities| &modalities.output)),
            "interleaved": match &model.interleaved {
                Some(Interleaved::Field { field }) => json!({"field": field}),
                Some(Interleaved::Whether(whether)) => json!(whether),
                None => json!(false),
            },
        },
        "cost": cost(model),
        "limit": {"context": model.limit.context, "output": model.limit.output},
        "status": match model.status {
            Status::Alpha => "alpha",
            Status::Beta => "beta",
            Status::Deprecated => "deprecated",
            Status::Active => "active",
        },
        "options": model.options,
        "headers": {},
        "release_date": model.release_date,
        "variants": way.map(|way| Map::from_iter(way.variants.iter().map(|(name, fields)| (name.clone(), fields.clone().into())))).unwrap_or_default(),
    });
    if let Some(family) = &model.family {
        record["family"] = family.clone().into();
    }
    if let Some(input) = model.limit.input {
        record["limit"]["input"] = input.into();
    }
    record
}

fn cost(model: &Model) -> Value {
    let prices = |prices: &Prices| {
        json!({
            "input": prices.input,
            "output": prices.output,
            "cache": {"read": prices.cache_read, "write": prices.cache_write},
        })
    };
    let Some(cost) = &model.cost else { return prices(&Prices::default()) };
    let mut record = prices(&cost.usual);
    let long = cost.long();
    if !long.is_empty() {
        let tier = |(size, one): &(u64, Prices)| {
            let mut tier = prices(one);
            tier["tier"] = json!({"type": "context", "size": size});
            tier
        };
        record["tiers"] = long.iter().map(tier).collect::<Vec<_>>().into();
    }
    record
}

#[cfg(test)]
mod tests {
    use haft_llm::catalogue::Catalogue;

    use super::*;

    #[test]
    fn a_record_has_the_shape_that_clients_know() {
        let model = Catalogue::built_in().model("anthropic", "claude-sonnet-4-5").unwrap();
        let got = of("anthropic", "claude-sonnet-4-5", &model, Some("@ai-sdk/anthropic"), None);
        let want = json!({
            "id": "claude-sonnet-4-5", "providerID": "anthropic",
            "api": {"id": "claude-sonnet-4-5", "url": "", "npm": "@ai-sdk/anthropic"},
            "name": "Claude Sonnet 4.5 (latest)", "family": "claude-sonnet",
            "capabilities": {
                "temperature": true, "reasoning": true, "attachment": true, "toolcall": true,
                "input": {"text": true, "audio": false, "image": true, "video": false, "pdf": true},
                "output": {"text": true, "audio": false, "image": false, "video": false, "pdf": false},
                "interleaved": false,
            },
            "cost": {"input": 3.0, "output": 15.0, "cache": {"read": 0.3, "write": 3.75}},
            "limit": {"context": 200_000, "output": 64_000},
            "status": "active", "options": {}, "headers": {}, "release_date": "2025-09-29", "variants": {},
        });
        assert_eq!(got, want);
    }

    #[test]
    fn what_is_not_known_is_as_clients_expect_it() {
        let got = of("own", "m", &Model { id: "m".to_owned(), ..Model::default() }, None, None);
        assert_eq!(got["capabilities"]["toolcall"], true);
        assert_eq!(
            got["capabilities"]["input"],
            json!({"text": true, "audio": false, "image": false, "video": false, "pdf": false})
        );
        assert_eq!(got["cost"], json!({"input": 0.0, "output": 0.0, "cache": {"read": 0.0, "write": 0.0}}));
        assert_eq!(got["api"]["npm"], "@ai-sdk/openai-compatible");
    }

    #[test]
    fn long_requests_are_priced_in_tiers() {
        let model = Catalogue::built_in().model("302ai", "claude-opus-4-7").unwrap();
        let got = cost(&model);
        assert_eq!(
            got["tiers"],
            json!([{"input": 10.0, "output": 37.5, "cache": {"read": 1.0, "write": 12.5}, "tier": {"type": "context", "size": 200_000}}])
        );
    }
}
