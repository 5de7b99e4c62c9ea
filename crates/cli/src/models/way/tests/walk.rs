//! Every model of every vendor of the built-in list: who speaks what, and who cannot be asked and why.

use std::collections::BTreeMap;

use expect_test::expect;

use super::*;

/// What every way needs: each variable says something that can be a part of an address.
fn anything(name: &str) -> Option<String> {
    let value = match name {
        "NEON_AI_GATEWAY_BASE_URL" | "PRIVATEMODE_ENDPOINT" => "https://gateway.example",
        "GITLAB_INSTANCE_URL" | "GITLAB_AI_GATEWAY_URL" => "https://gitlab.example",
        "OLLAMA_HOST" | "ANTHROPIC_BASE_URL" | "OPENAI_BASE_URL" | "HAFT_AUTH_SERVER" => return None,
        // Other places for whole services.
        name if name.starts_with("AWS_ENDPOINT") => return None,
        "AWS_REGION" => "eu-west-1",
        "AICORE_SERVICE_KEY" => {
            r#"{"clientid":"c","clientsecret":"s","url":"https://sap.example","serviceurls":{"AI_API_URL":"https://api.sap.example"}}"#
        }
        _ => "value",
    };
    Some(value.to_owned())
}

/// Gives `look` a world in which everybody has what they need.
pub(super) fn everything(config: &Config, look: impl FnOnce(&World<'_>)) {
    // Who signed in there brings a token of their own.
    let stored = |vendor: &str| {
        (vendor == "sap-ai-core").then(|| Credential { key: Key::Bearer(Secret::new("token")), stored: Map::new() })
    };
    look(&World { stored: &stored, ..world(config, &anything) });
}

#[test]
fn each_model_can_be_reached_or_it_is_known_why_not() {
    let config = Config::default();
    everything(&config, walk);
}

fn walk(world: &World<'_>) {
    let (mut spoken, mut missed) = (BTreeMap::new(), BTreeMap::new());
    let mut vendors = 0;
    for vendor in world.catalogue.vendors() {
        let entry = Entry::of(&vendor.id, world).unwrap();
        let models = entry.models(world);
        vendors += usize::from(!models.is_empty());
        for (id, facts) in models {
            match reach(&entry, &id, facts, None, world) {
                Ok(way) => {
                    let url = is_whole(&way.server.base_url);
                    assert!(url, "{}/{id} is at {:?}", vendor.id, way.server.base_url);
                    assert!(way.server.key.is_some() || vendor.is_local(), "{}/{id} has no key", vendor.id);
                    *spoken.entry(format!("{:?}", way.dialect)).or_insert(0) += 1;
                }
                Err(Usage(why)) => {
                    let why = why.split_once(": ").map_or(why.as_str(), |(_, why)| why).to_owned();
                    *missed.entry(format!("{}: {why}", vendor.id)).or_insert(0) += 1;
                }
            }
        }
    }
    let lines =
        |map: &BTreeMap<String, i32>| map.iter().map(|(what, count)| format!("{count} {what}\n")).collect::<String>();
    expect![[r#"
        147 vendors
        4703 Chat
        100 Converse
        40 Gemini
        156 Messages
        317 Responses
        not reached:
    "#]]
    .assert_eq(&format!("{vendors} vendors\n{}not reached:\n{}", lines(&spoken), lines(&missed)));
}

/// Whether it is an address that is encrypted or on this machine, with nothing left to fill in.
fn is_whole(url: &str) -> bool {
    let host = url.strip_prefix("https://").or_else(|| url.strip_prefix("http://127.0.0.1:"));
    let host = host.or_else(|| url.strip_prefix("http://localhost:"));
    host.is_some_and(|rest| !rest.is_empty() && !rest.starts_with('/')) && !url.contains(['$', '{', ' '])
}
