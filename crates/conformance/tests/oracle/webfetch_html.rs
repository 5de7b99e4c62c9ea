//! The set `webfetch-html`: pages as Markdown and as text.

use anyhow::{Context, ensure};
use regex::RegexBuilder;
use serde_json::Value;
use tokio::runtime::Runtime;

pub(crate) fn check(_runtime: &Runtime, case: &Value) -> anyhow::Result<()> {
    let html = case["html"].as_str().context("html")?;
    for (form, wanted) in case["expect"].as_object().context("expect")? {
        let got = match form.as_str() {
            "md" => haft_toolbox::html::markdown(html, None),
            "text" => haft_toolbox::html::text(html),
            other => anyhow::bail!("unknown form {other:?}"),
        };
        has(&got, wanted).with_context(|| format!("{form}: {got:.300?}"))?;
    }
    Ok(())
}

/// Whether `got` has each property that is `wanted`.
fn has(got: &str, wanted: &Value) -> anyhow::Result<()> {
    for (property, value) in wanted.as_object().context("no properties")? {
        match property.as_str() {
            "contains" => texts(value)?.iter().try_for_each(|text| {
                ensure!(got.contains(text), "lacks {text:?}");
                Ok(())
            })?,
            "not_contains" => texts(value)?.iter().try_for_each(|text| {
                ensure!(!got.contains(text), "has {text:?}");
                Ok(())
            })?,
            "order" => {
                let mut rest = got;
                for text in texts(value)? {
                    rest = rest
                        .split_once(text)
                        .map(|(_, rest)| rest)
                        .with_context(|| format!("{text:?} is missing or too early"))?;
                }
            }
            "matches" => {
                for text in texts(value)? {
                    let pattern = RegexBuilder::new(text).multi_line(true).build()?;
                    ensure!(pattern.is_match(got), "does not match {text:?}");
                }
            }
            "max_bytes" => {
                let most = value.as_u64().context("max_bytes")?;
                ensure!(got.len() as u64 <= most, "has {} bytes, more than {most}", got.len());
            }
            other => anyhow::bail!("unknown property {other:?}"),
        }
    }
    Ok(())
}

fn texts(value: &Value) -> anyhow::Result<Vec<&str>> {
    value.as_array().context("no list")?.iter().map(|text| text.as_str().context("no text")).collect()
}
