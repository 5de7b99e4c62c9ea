//! Amazon Bedrock: which region, under which name a model is there, whose keys.
//!
//! Three drivers of OpenCode's are three ways in: `@ai-sdk/amazon-bedrock` is Converse, `@ai-sdk/amazon-bedrock/anthropic`
//! asks Anthropic's models in their maker's own words, and `@ai-sdk/amazon-bedrock/mantle` is OpenAI's responses at an
//! address of its own. Converse is the usual one for all models, Anthropic's too: it is what OpenCode asks, with the
//! same options, and one form for what every maker's models can do.

use std::sync::Arc;

use serde_json::{Value, json};

use super::{Wanted, Wants};
use crate::auth::aws::{Aws, Environment, Keys, Settings, region_of_profile};
use crate::catalogue::Dialect;
use crate::{Key, Place, Secret};

/// The vendor's id.
const VENDOR: &str = "amazon-bedrock";

/// The driver of Converse, with which the names of the other two begin.
const DRIVER: &str = "@ai-sdk/amazon-bedrock";

const ANTHROPIC: &str = "@ai-sdk/amazon-bedrock/anthropic";
const MANTLE: &str = "@ai-sdk/amazon-bedrock/mantle";

/// The region where nobody names one.
const REGION: &str = "us-east-1";

/// What Anthropic's models of the fourth generation can be asked for beyond their version. Older ones refuse it.
const BETA: &str = "interleaved-thinking-2025-05-14";

/// The way to a model of Bedrock's. Of the settings' `options`: `region`, `profile`, `endpoint` or `baseURL`, `apiKey`,
/// `accessKeyId`, `secretAccessKey`, `sessionToken`.
///
/// Reads the two files of profiles, if no region is named elsewhere.
///
/// # Errors
///
/// Text for a person: a region that is none, or half a pair of keys.
pub(super) fn wants(wanted: &Wanted<'_>) -> Result<Wants, String> {
    let option = |name: &str| {
        let text = wanted.options.get(name).and_then(Value::as_str).map(str::trim);
        text.filter(|text| !text.is_empty()).map(str::to_owned)
    };
    let env = Environment::of(wanted.env);
    let profile = option("profile");
    let named = option("region").or_else(|| (wanted.env)("AWS_REGION")).or_else(|| (wanted.env)("AWS_DEFAULT_REGION"));
    let region = named.or_else(|| region_of_profile(profile.as_deref(), &env)).unwrap_or_else(|| REGION.to_owned());
    // It becomes a part of the host that gets the keys' signature.
    if !region.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-') {
        return Err(format!("{region:?} is no region of Amazon's; set provider.{VENDOR}.options.region or AWS_REGION"));
    }
    let is_mantle = wanted.driver == Some(MANTLE);
    // Whoever takes the first variable of the vendor's list for its key, takes these.
    let none = ["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_REGION"].map(wanted.env);
    let token = option("apiKey").filter(|key| !none.iter().flatten().any(|none| none == key));
    let key = match token.or_else(|| (wanted.env)("AWS_BEARER_TOKEN_BEDROCK")) {
        Some(token) => Key::Bearer(Secret::new(token.trim())),
        None => {
            let keys = [option("accessKeyId"), option("secretAccessKey"), option("sessionToken")];
            let [id, secret, token] = keys.each_ref().map(Option::as_deref);
            let lasting = Keys::lasting(id, secret, token);
            if lasting.is_none() && (id.is_some() || secret.is_some()) {
                let missing = if id.is_none() { "accessKeyId" } else { "secretAccessKey" };
                return Err(format!("half of the keys for Amazon is missing; set provider.{VENDOR}.options.{missing}"));
            }
            Key::Signed(Arc::new(Aws::new(Settings {
                provider: wanted.vendor.to_owned(),
                service: if is_mantle { "bedrock-mantle" } else { "bedrock" },
                region: region.clone(),
                keys: lasting,
                profile,
                env: env.clone(),
            })))
        }
    };
    let address = option("endpoint").or_else(|| option("baseURL"));
    let wants = Wants { key: Some(key), ..Wants::default() };
    if is_mantle {
        return Ok(Wants {
            dialect: Some(Dialect::Responses),
            base_url: Some(address.unwrap_or_else(|| mantle(wanted.model, &region))),
            ..wants
        });
    }
    let usual = || {
        let usual = format!("https://bedrock-runtime.{region}.{}", suffix(&region));
        env.endpoint("AWS_ENDPOINT_URL_BEDROCK_RUNTIME", usual)
    };
    let wants =
        Wants { base_url: Some(address.unwrap_or_else(usual)), model: Some(prefixed(wanted.model, &region)), ..wants };
    if wanted.driver != Some(ANTHROPIC) {
        return Ok(Wants { dialect: Some(Dialect::Converse), ..wants });
    }
    let mut wants = Wants { dialect: Some(Dialect::Messages), place: Place::Bedrock, ..wants };
    if ["claude-opus-4", "claude-sonnet-4"].into_iter().any(|name| wanted.model.contains(name)) {
        wants.extra.insert("anthropic_beta".to_owned(), json!([BETA]));
    }
    Ok(wants)
}

/// Whether a vendor or a driver is one of Bedrock's.
pub(super) fn is_it(vendor: &str, driver: Option<&str>) -> bool {
    match driver {
        Some(driver) => driver == DRIVER || driver == ANTHROPIC || driver == MANTLE,
        None => vendor == VENDOR,
    }
}

/// The end of the names of Amazon's hosts in a region.
pub(crate) fn suffix(region: &str) -> &'static str {
    const OTHERS: [(&str, &str); 6] = [
        ("cn-", "amazonaws.com.cn"),
        ("us-iso-", "c2s.ic.gov"),
        ("us-isob-", "sc2s.sgov.gov"),
        ("us-isof-", "csp.hci.ic.gov"),
        ("eu-isoe-", "cloud.adc-e.uk"),
        ("eusc-", "amazonaws.eu"),
    ];
    OTHERS.iter().find(|(begin, _)| region.starts_with(begin)).map_or("amazonaws.com", |(_, end)| end)
}

/// The address of what speaks OpenAI's words. Models with open weights are there under another path than the others.
fn mantle(model: &str, region: &str) -> String {
    let path = if model.contains("gpt-oss") { "v1" } else { "openai/v1" };
    format!("https://bedrock-mantle.{region}.api.aws/{path}")
}

/// A model's name in `region`: most newer models answer only to the name of a group of regions. A name that has one, a
/// resource's whole name, and those that answer to their own stay as they are.
pub(super) fn prefixed(model: &str, region: &str) -> String {
    const PREFIXES: [&str; 8] = ["global.", "us.", "eu.", "jp.", "apac.", "au.", "us-gov.", "ca."];
    if model.starts_with("arn:") || PREFIXES.into_iter().any(|prefix| model.starts_with(prefix)) {
        return model.to_owned();
    }
    match group(model, region) {
        Some(group) => format!("{group}.{model}"),
        None => model.to_owned(),
    }
}

fn group(model: &str, region: &str) -> Option<&'static str> {
    let has = |names: &[&str]| names.iter().any(|name| model.contains(name));
    let claude = has(&["claude"]) && !has(&["claude-v2", "claude-instant"]);
    let nova = has(&["nova-micro", "nova-lite", "nova-pro"]);
    let (area, _) = region.split_once('-')?;
    match area {
        "us" if ["us-gov-", "us-iso"].into_iter().any(|begin| region.starts_with(begin)) => None,
        "us" => {
            let others =
                ["nova-premier", "nova-2", "deepseek.r1", "llama3-2", "llama3-3", "llama4", "pixtral", "palmyra"];
            (claude || nova || has(&others)).then_some("us")
        }
        "eu" if region.starts_with("eu-iso") => None,
        "eu" => (claude || nova || has(&["nova-2", "llama3-2", "pixtral"])).then_some("eu"),
        "ap" => {
            // Older ones have one group for all of Asia, newer ones those of Japan and Australia.
            let old = has(&["claude-3", "claude-sonnet-4-2025", "claude-opus-4-2025", "claude-opus-4-1"]);
            match region {
                "ap-southeast-2" | "ap-southeast-4" if claude && !old => Some("au"),
                "ap-northeast-1" | "ap-northeast-3" if claude && !old || has(&["nova-2"]) => Some("jp"),
                _ => (claude || nova).then_some("apac"),
            }
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests;
