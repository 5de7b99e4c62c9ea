//! Who made a model, and what follows from it. Pure.

use crate::Request;
use crate::steering::FAMILY;

/// Makers whose models want something of their own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Family {
    /// Anthropic's.
    Claude,
    /// Amazon's own.
    Nova,
    /// OpenAI's with open weights.
    GptOss,
    /// OpenAI's others.
    OpenAi,
    Mistral,
    Other,
}

impl Family {
    /// The maker of the model that `request` asks. Names of one's own (profiles) say nothing; then the setting
    /// `modelFamily` does, or a budget for thinking, which only Claude has.
    pub(super) fn of(request: &Request) -> Self {
        let model = request.model.to_lowercase();
        let has = |name: &str| model.contains(name);
        let told = request.extra.get(FAMILY).and_then(|family| family.as_str());
        let budget = || request.extra.get("reasoningConfig").is_some_and(|config| config["budgetTokens"].is_u64());
        if told == Some("anthropic") || has("anthropic") || has("claude") {
            Self::Claude
        } else if has("amazon.nova") || has("/nova") {
            Self::Nova
        } else if has("gpt-oss") {
            Self::GptOss
        } else if has("openai.") {
            Self::OpenAi
        } else if ["mistral", "pixtral", "ministral", "devstral", "voxtral"].into_iter().any(has) {
            Self::Mistral
        } else if has(":application-inference-profile/") && budget() {
            Self::Claude
        } else {
            Self::Other
        }
    }

    /// Whether the tools may be followed by a mark for the cache.
    pub(super) fn marks_tools(self) -> bool {
        self == Self::Claude
    }

    /// Whether a result may be. Amazon's own models refuse it there, and only there.
    pub(super) fn marks_results(self) -> bool {
        self == Self::Claude
    }

    /// Whether a result says that it is an error. Others refuse the field.
    pub(super) fn knows_status(self) -> bool {
        matches!(self, Self::Claude | Self::Nova)
    }

    /// Whether a model can be made to call a tool.
    pub(super) fn can_be_forced(self) -> bool {
        matches!(self, Self::Claude | Self::Nova | Self::Mistral)
    }
}

/// Whether the prefixes of a model's requests are kept where they are marked. A model that is asked to and cannot,
/// refuses.
pub(super) fn has_cache(family: Family, model: &str) -> bool {
    const WITHOUT: [&str; 7] = [
        "claude-3-sonnet",
        "claude-3-opus",
        "claude-3-haiku",
        "claude-3-5-sonnet-20240620",
        "claude-v2",
        "claude-instant",
        "nova-sonic",
    ];
    matches!(family, Family::Claude | Family::Nova) && !WITHOUT.into_iter().any(|name| model.contains(name))
}

/// Whether a model can be held to a schema. The vendor names those that can; the newest of Claude's refuse the field.
pub(super) fn holds_form(model: &str) -> bool {
    const WITH: [&str; 20] = [
        "claude-haiku-4-5",
        "claude-sonnet-4-5",
        "claude-sonnet-4-6",
        "claude-opus-4-5",
        "claude-opus-4-6",
        "deepseek.v3",
        "gemma-3",
        "gpt-oss",
        "kimi-k2",
        "magistral-small",
        "minimax-m2",
        "ministral-3",
        "mistral-large-3",
        "nemotron-nano",
        "nemotron-super",
        "qwen3-235b",
        "qwen3-32b",
        "qwen3-coder",
        "qwen3-next",
        "voxtral",
    ];
    WITH.into_iter().any(|name| model.contains(name))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn makers_are_known_by_the_names_of_their_models() {
        let row = |model: &str, want: Family| {
            let request = Request { model: model.to_owned(), ..Request::default() };
            assert_eq!(Family::of(&request), want, "{model}");
        };
        row("anthropic.claude-sonnet-4-5-20250929-v1:0", Family::Claude);
        row("eu.anthropic.claude-opus-4-8", Family::Claude);
        row("arn:aws:bedrock:us-east-1:123456789012:inference-profile/us.anthropic.claude-sonnet-4-6", Family::Claude);
        row("us.amazon.nova-2-lite-v1:0", Family::Nova);
        row("openai.gpt-oss-120b-1:0", Family::GptOss);
        row("openai.gpt-5.4", Family::OpenAi);
        row("mistral.devstral-2-123b", Family::Mistral);
        row("us.deepseek.r1-v1:0", Family::Other);
        row("arn:aws:bedrock:us-east-1:123456789012:application-inference-profile/abc", Family::Other);
    }

    #[test]
    fn a_name_of_ones_own_can_be_explained() {
        let row = |extra: serde_json::Value, want: Family| {
            let model = "arn:aws:bedrock:us-east-1:1:application-inference-profile/abc".to_owned();
            let request = Request { model, extra: extra.as_object().unwrap().clone(), ..Request::default() };
            assert_eq!(Family::of(&request), want);
        };
        row(json!({"modelFamily": "anthropic"}), Family::Claude);
        row(json!({"reasoningConfig": {"type": "enabled", "budgetTokens": 9}}), Family::Claude);
        row(json!({"reasoningConfig": {"type": "enabled"}}), Family::Other);
    }

    #[test]
    fn what_a_model_cannot_is_not_asked() {
        let cache = |family, model: &str, want| assert_eq!(has_cache(family, model), want, "{model}");
        cache(Family::Claude, "anthropic.claude-sonnet-4-5", true);
        cache(Family::Claude, "anthropic.claude-3-5-haiku-20241022-v1:0", true);
        cache(Family::Claude, "anthropic.claude-3-haiku-20240307-v1:0", false);
        cache(Family::Nova, "amazon.nova-pro-v1:0", true);
        cache(Family::Other, "meta.llama3-3-70b-instruct-v1:0", false);
        let form = |model: &str, want| assert_eq!(holds_form(model), want, "{model}");
        form("us.anthropic.claude-sonnet-4-5-20250929-v1:0", true);
        form("us.anthropic.claude-opus-4-8", false);
        form("openai.gpt-oss-20b-1:0", true);
        form("amazon.nova-pro-v1:0", false);
    }
}
