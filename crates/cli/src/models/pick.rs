//! Which model is asked when none is named. Pure.

use haft_config::Config;
use haft_llm::catalogue::VENDORS;

use super::way::{Environment, is_listed, is_offered};

/// Pieces of names that tell a good model, the best first.
const GOOD: [&str; 4] = ["gpt-5", "claude-sonnet-4", "big-pickle", "gemini-3-pro"];

/// The configured model, else the best one of the first vendor that has models configured.
pub(super) fn configured(config: &Config) -> Option<String> {
    if let Some(model) = config.model.as_ref().filter(|model| !model.is_empty()) {
        return Some(model.clone());
    }
    let offered = config.providers.iter().filter(|(vendor, _)| is_offered(vendor, config));
    offered
        .filter_map(|(vendor, provider)| {
            let ids = provider.models.keys().map(String::as_str).filter(|id| is_listed(id, provider));
            Some(format!("{vendor}/{}", best(ids)?))
        })
        .next()
}

/// A known vendor whose key is in the environment, and the name of the variable.
pub(super) fn keyed(config: &Config, env: Environment<'_>) -> Option<(&'static str, &'static str)> {
    let offered = VENDORS.iter().filter(|vendor| is_offered(vendor.id, config));
    offered.flat_map(|vendor| vendor.keys.iter().map(move |key| (vendor.id, *key))).find(|(_, key)| env(key).is_some())
}

/// The one to be asked of several.
fn best<'a>(ids: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let place = |id: &str| GOOD.iter().position(|piece| id.contains(piece)).unwrap_or(GOOD.len());
    ids.min_by(|a, b| {
        let rank = |id: &str| (place(id), !id.contains("latest"));
        rank(a).cmp(&rank(b)).then_with(|| b.cmp(a))
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use haft_config::{ModelConfig, ProviderConfig};

    use super::*;

    fn provider(ids: &[&str]) -> ProviderConfig {
        let models = ids.iter().map(|id| ((*id).to_owned(), ModelConfig::default())).collect();
        ProviderConfig { models, ..ProviderConfig::default() }
    }

    fn config(providers: &[(&str, &[&str])]) -> Config {
        let providers: BTreeMap<_, _> =
            providers.iter().map(|(name, ids)| ((*name).to_owned(), provider(ids))).collect();
        Config { providers, ..Config::default() }
    }

    #[test]
    fn the_best_of_the_first_vendor_is_asked() {
        let row = |config: &Config, want: Option<&str>| assert_eq!(configured(config).as_deref(), want);
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
    fn a_key_in_the_environment_is_noticed() {
        let with = |name: &'static str| move |asked: &str| (asked == name).then(|| "key".to_owned());
        assert_eq!(keyed(&Config::default(), &|_| None), None);
        assert_eq!(keyed(&Config::default(), &with("GROQ_API_KEY")), Some(("groq", "GROQ_API_KEY")));
        let off = Config { disabled_providers: vec!["groq".to_owned()], ..Config::default() };
        assert_eq!(keyed(&off, &with("GROQ_API_KEY")), None);
    }
}
