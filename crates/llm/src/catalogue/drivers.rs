//! OpenCode's drivers: what each of them speaks, and where it asks when no address is given.

use super::Dialect;

/// A driver by the name of its package.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Driver {
    /// The package.
    pub npm: &'static str,
    /// What it speaks.
    pub spoken: Spoken,
}

/// What a driver speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Spoken {
    /// A dialect, at this address where none is given; `${NAME}` stands for a variable. `None`: it must be given, or
    /// follows from further settings of its vendor.
    As(Dialect, Option<&'static str>),
    /// Something that is not spoken here, and why. A vendor may say how it is reached all the same.
    Not(&'static str),
}

use Dialect::{Chat, Converse, Gemini, Messages, Responses};
use Spoken::{As, Not};

/// The drivers that are known. The addresses are those of the vendors' own documents; where a vendor has an interface
/// of its own beside that of chat completions, the latter is asked.
const DRIVERS: &[(&str, Spoken)] = &[
    ("@ai-sdk/openai-compatible", As(Chat, None)),
    ("@ai-sdk/openai", As(Responses, Some("https://api.openai.com/v1"))),
    ("@ai-sdk/anthropic", As(Messages, Some("https://api.anthropic.com/v1"))),
    ("@ai-sdk/google", As(Gemini, Some("https://generativelanguage.googleapis.com/v1beta"))),
    ("@ai-sdk/google-vertex", As(Gemini, None)),
    ("@ai-sdk/google-vertex/anthropic", As(Messages, None)),
    ("@ai-sdk/amazon-bedrock", As(Converse, None)),
    ("@ai-sdk/amazon-bedrock/anthropic", As(Messages, None)),
    ("@ai-sdk/amazon-bedrock/mantle", As(Responses, None)),
    ("@ai-sdk/azure", As(Responses, None)),
    ("@openrouter/ai-sdk-provider", As(Chat, Some("https://openrouter.ai/api/v1"))),
    ("@ai-sdk/gateway", As(Chat, Some("https://ai-gateway.vercel.sh/v1"))),
    ("@ai-sdk/vercel", As(Chat, Some("https://api.v0.dev/v1"))),
    ("@ai-sdk/groq", As(Chat, Some("https://api.groq.com/openai/v1"))),
    ("@ai-sdk/xai", As(Responses, Some("https://api.x.ai/v1"))),
    ("@ai-sdk/mistral", As(Chat, Some("https://api.mistral.ai/v1"))),
    ("@ai-sdk/cohere", As(Chat, Some("https://api.cohere.ai/compatibility/v1"))),
    ("@ai-sdk/togetherai", As(Chat, Some("https://api.together.xyz/v1"))),
    ("@ai-sdk/cerebras", As(Chat, Some("https://api.cerebras.ai/v1"))),
    ("@ai-sdk/deepinfra", As(Chat, Some("https://api.deepinfra.com/v1/openai"))),
    ("@ai-sdk/perplexity", As(Chat, Some("https://api.perplexity.ai"))),
    ("@ai-sdk/deepseek", As(Chat, Some("https://api.deepseek.com"))),
    ("@ai-sdk/fireworks", As(Chat, Some("https://api.fireworks.ai/inference/v1"))),
    ("@ai-sdk/moonshotai", As(Chat, Some("https://api.moonshot.ai/v1"))),
    ("@ai-sdk/alibaba", As(Chat, Some("https://dashscope-intl.aliyuncs.com/compatible-mode/v1"))),
    ("@ai-sdk/baseten", As(Chat, Some("https://inference.baseten.co/v1"))),
    ("@ai-sdk/huggingface", As(Responses, Some("https://router.huggingface.co/v1"))),
    ("@ai-sdk/github-copilot", As(Chat, Some("https://api.githubcopilot.com"))),
    ("venice-ai-sdk-provider", As(Chat, Some("https://api.venice.ai/api/v1"))),
    ("@aihubmix/ai-sdk-provider", As(Chat, Some("https://aihubmix.com/v1"))),
    ("merge-gateway-ai-sdk-provider", As(Chat, Some("https://api-gateway.merge.dev/v1"))),
    (
        "ai-gateway-provider",
        As(Chat, Some("https://gateway.ai.cloudflare.com/v1/${CLOUDFLARE_ACCOUNT_ID}/${CLOUDFLARE_GATEWAY_ID}/compat")),
    ),
    ("ollama-ai-provider", As(Chat, Some("http://127.0.0.1:11434/v1"))),
    ("ollama-ai-provider-v2", As(Chat, Some("http://127.0.0.1:11434/v1"))),
    ("gitlab-ai-provider", Not("GitLab Duo is known as the provider gitlab alone; call it so")),
    (
        "@jerome-benoit/sap-ai-provider-v2",
        Not(
            "SAP AI Core has an address for each deployment; put that of one into provider.sap-ai-core.options.baseURL \
             with npm @ai-sdk/openai-compatible",
        ),
    ),
];

/// The driver of that name.
pub fn driver(npm: &str) -> Option<Driver> {
    drivers().find(|driver| driver.npm == npm)
}

/// All drivers that are known, those of the most models first.
pub fn drivers() -> impl Iterator<Item = Driver> {
    DRIVERS.iter().map(|&(npm, spoken)| Driver { npm, spoken })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::catalogue::Catalogue;
    use crate::catalogue::source::may_be_asked;

    #[test]
    fn every_driver_of_the_built_in_list_is_known() {
        let catalogue = Catalogue::built_in();
        for vendor in catalogue.vendors() {
            assert!(driver(&vendor.npm).is_some(), "{}: {}", vendor.id, vendor.npm);
            for (id, model) in catalogue.models(&vendor.id) {
                let own = model.provider.and_then(|way| way.npm);
                assert!(own.as_deref().is_none_or(|npm| driver(npm).is_some()), "{}/{id}: {own:?}", vendor.id);
            }
        }
        assert_eq!(driver("nobody"), None);
    }

    #[test]
    fn each_stands_there_once_with_an_address_that_may_be_asked() {
        let names: BTreeSet<_> = drivers().map(|driver| driver.npm).collect();
        assert_eq!(names.len(), DRIVERS.len());
        for Driver { npm, spoken } in drivers() {
            match spoken {
                As(_, address) => {
                    assert!(address.is_none_or(|address| may_be_asked(address) && !address.ends_with('/')), "{npm}");
                }
                Not(why) => assert!(why.contains("; "), "{npm} does not say what to do: {why}"),
            }
        }
    }
}
