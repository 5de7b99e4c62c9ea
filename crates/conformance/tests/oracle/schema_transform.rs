//! Tool schemas as single families of models are sent them.
//!
//! Only what is done for a family is compared. What is mended for all vendors alike, a list of schemas as `items`, has
//! its tests where it is done.

use anyhow::{Context, ensure};
use haft_llm::schema::Fits;
use serde_json::Value;
use tokio::runtime::Runtime;

pub(crate) fn check(_: &Runtime, case: &Value) -> anyhow::Result<()> {
    let model = |field: &str| case["model"][field].as_str();
    let vendor = model("providerID").context("no vendor")?;
    let fits = Fits::of(vendor, model("modelID").context("no model")?, model("npm"));
    let got = fits.fit(case["schema"].clone());
    if case["upstream_wrong"] == true {
        return better(&got, case);
    }
    let want = &case["expected"];
    ensure!(same(&got, want), "{got}, not {want}");
    Ok(())
}

/// Holds what stands at the path of `better` against its conditions: the values of keywords, or what its note asks for,
/// which is that something is there, and one schema.
fn better(got: &Value, case: &Value) -> anyhow::Result<()> {
    let conditions = case["better"].as_object().context("no conditions")?;
    let path = conditions.get("path").and_then(Value::as_str).context("no path")?;
    let at = path.split('.').try_fold(got, step);
    let at = at.with_context(|| format!("{path} is gone from {got}"))?;
    ensure!(at.is_object() || at.is_boolean() || !path.ends_with("items"), "{path} is {at}, not one schema");
    for (condition, want) in conditions {
        match condition.as_str() {
            "path" | "note" | "why" => {}
            keyword => ensure!(same(&at[keyword], want), "{path}.{keyword} is {}, not {want}", at[keyword]),
        }
    }
    Ok(())
}

/// One step of a path, into an object or a list.
fn step<'a>(value: &'a Value, name: &str) -> Option<&'a Value> {
    match (value, name.parse::<usize>()) {
        (Value::Array(list), Ok(at)) => list.get(at),
        (value, _) => value.get(name),
    }
}

/// Whether two schemas say the same. 1 and 1.0 are one number.
fn same(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Number(one), Value::Number(other)) => one == other || one.as_f64() == other.as_f64(),
        (Value::Array(one), Value::Array(other)) => {
            one.len() == other.len() && one.iter().zip(other).all(|(one, other)| same(one, other))
        }
        (Value::Object(one), Value::Object(other)) => {
            let paired = |(name, value): (&String, &Value)| other.get(name).is_some_and(|other| same(value, other));
            one.len() == other.len() && one.iter().all(paired)
        }
        (one, other) => one == other,
    }
}
