//! Which vendors and models the settings let be asked. Pure.

use haft_config::{Config, ProviderConfig};
use haft_llm::catalogue::{Model, Status};
use haft_permission::matches;

/// Whether the settings let a vendor be asked. A refusal wins; of several policies the last that fits counts.
pub(super) fn is_offered(vendor: &str, config: &Config) -> bool {
    let names = |list: &[String]| list.iter().any(|name| name == vendor);
    let fits = config.experimental.policies.iter().rev().find(|policy| matches(&policy.resource, vendor));
    !names(&config.disabled_providers)
        && config.enabled_providers.as_deref().is_none_or(names)
        && fits.is_none_or(|policy| policy.allows)
}

/// Whether a vendor's settings let a model be asked.
pub(super) fn is_listed(id: &str, provider: &ProviderConfig) -> bool {
    let names = |list: &[String]| list.iter().any(|name| name == id);
    !names(&provider.blacklist) && provider.whitelist.as_deref().is_none_or(names)
}

/// Whether a model stands in lists: it is there still, and there already.
pub(super) fn is_shown(model: &Model, config: &Config) -> bool {
    match model.status {
        Status::Active | Status::Beta => true,
        Status::Alpha => config.flags.experimental_models,
        Status::Deprecated => false,
    }
}

#[cfg(test)]
mod tests {
    use haft_config::Policy;

    use super::*;

    #[test]
    fn a_refusal_wins_and_the_last_policy_counts() {
        let names = |list: &[&str]| list.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        let row = |disabled: &[&str], enabled: Option<&[&str]>, policies: &[(&str, bool)], want: bool| {
            let policies = policies.iter();
            let policies =
                policies.map(|(resource, allows)| Policy { resource: (*resource).to_owned(), allows: *allows });
            let mut config = Config {
                disabled_providers: names(disabled),
                enabled_providers: enabled.map(names),
                ..Config::default()
            };
            config.experimental.policies = policies.collect();
            assert_eq!(is_offered("groq", &config), want, "{disabled:?} {enabled:?}");
        };
        row(&[], None, &[], true);
        row(&["groq"], None, &[], false);
        row(&["groq"], Some(&["groq"]), &[], false);
        row(&[], Some(&["openai"]), &[], false);
        row(&[], Some(&["groq"]), &[], true);
        row(&[], None, &[("*", false)], false);
        row(&[], None, &[("*", false), ("gr*", true)], true);
        row(&[], None, &[("gr*", true), ("*", false)], false);
        row(&[], None, &[("open*", false)], true);
        row(&["groq"], None, &[("groq", true)], false);
    }

    #[test]
    fn what_is_gone_or_not_there_yet_is_not_shown() {
        let row = |status: Status, trying: bool, want: bool| {
            let mut config = Config::default();
            config.flags.experimental_models = trying;
            assert_eq!(is_shown(&Model { status, ..Model::default() }, &config), want, "{status:?}");
        };
        row(Status::Active, false, true);
        row(Status::Beta, false, true);
        row(Status::Deprecated, true, false);
        row(Status::Alpha, false, false);
        row(Status::Alpha, true, true);
    }
}
