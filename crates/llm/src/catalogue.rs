//! Who speaks which dialect, and where. Data.

/// A wire format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Dialect {
    /// OpenAI's chat completions: [`crate::dialect::chat`].
    Chat,
    /// Anthropic's messages: [`crate::dialect::messages`].
    Messages,
}

/// A vendor that needs no settings but a key.
#[derive(Debug, PartialEq, Eq)]
pub struct Vendor {
    /// What it is called in `VENDOR/MODEL`.
    pub id: &'static str,
    /// Its name for people.
    pub name: &'static str,
    /// What it speaks.
    pub dialect: Dialect,
    /// Its address, above the path of the dialect.
    pub base_url: &'static str,
    /// Variables that may hold its key, the usual one first. None: a server of one's own, which wants no key.
    pub keys: &'static [&'static str],
    /// The variable that holds another address, where its own programs know one.
    pub address: Option<&'static str>,
}

impl Vendor {
    /// Whether it is a server on this machine.
    pub fn is_local(&self) -> bool {
        self.keys.is_empty()
    }
}

/// The vendors that are known. Naming one is the user's leave to ask it.
pub const VENDORS: &[Vendor] = &[
    Vendor {
        id: "anthropic",
        name: "Anthropic",
        dialect: Dialect::Messages,
        base_url: "https://api.anthropic.com/v1",
        keys: &["ANTHROPIC_API_KEY"],
        address: Some("ANTHROPIC_BASE_URL"),
    },
    Vendor {
        id: "openai",
        name: "OpenAI",
        dialect: Dialect::Chat,
        base_url: "https://api.openai.com/v1",
        keys: &["OPENAI_API_KEY"],
        address: Some("OPENAI_BASE_URL"),
    },
    chat("openrouter", "OpenRouter", "https://openrouter.ai/api/v1", &["OPENROUTER_API_KEY"]),
    chat(
        "google",
        "Google",
        "https://generativelanguage.googleapis.com/v1beta/openai",
        &["GEMINI_API_KEY", "GOOGLE_GENERATIVE_AI_API_KEY", "GOOGLE_API_KEY"],
    ),
    chat("groq", "Groq", "https://api.groq.com/openai/v1", &["GROQ_API_KEY"]),
    chat("xai", "xAI", "https://api.x.ai/v1", &["XAI_API_KEY"]),
    chat("mistral", "Mistral", "https://api.mistral.ai/v1", &["MISTRAL_API_KEY"]),
    chat("deepseek", "DeepSeek", "https://api.deepseek.com", &["DEEPSEEK_API_KEY"]),
    chat("togetherai", "Together AI", "https://api.together.xyz/v1", &["TOGETHER_API_KEY"]),
    chat("fireworks-ai", "Fireworks AI", "https://api.fireworks.ai/inference/v1", &["FIREWORKS_API_KEY"]),
    chat("cerebras", "Cerebras", "https://api.cerebras.ai/v1", &["CEREBRAS_API_KEY"]),
    chat("deepinfra", "Deep Infra", "https://api.deepinfra.com/v1/openai", &["DEEPINFRA_API_KEY"]),
    chat("moonshotai", "Moonshot AI", "https://api.moonshot.ai/v1", &["MOONSHOT_API_KEY"]),
    chat("ollama", "Ollama", "http://127.0.0.1:11434/v1", &[]),
    chat("lmstudio", "LM Studio", "http://127.0.0.1:1234/v1", &[]),
    chat("llamacpp", "llama.cpp", "http://127.0.0.1:8080/v1", &[]),
];

const fn chat(id: &'static str, name: &'static str, base_url: &'static str, keys: &'static [&'static str]) -> Vendor {
    Vendor { id, name, dialect: Dialect::Chat, base_url, keys, address: None }
}

/// The vendor of that id, if it is known.
pub fn vendor(id: &str) -> Option<&'static Vendor> {
    VENDORS.iter().find(|vendor| vendor.id == id)
}

/// OpenCode's drivers that speak a dialect we know, with the address that they use when none is given.
pub const DRIVERS: &[(&str, Dialect, Option<&str>)] = &[
    ("@ai-sdk/openai-compatible", Dialect::Chat, None),
    ("@ai-sdk/openai", Dialect::Chat, Some("https://api.openai.com/v1")),
    ("@ai-sdk/anthropic", Dialect::Messages, Some("https://api.anthropic.com/v1")),
    ("@openrouter/ai-sdk-provider", Dialect::Chat, Some("https://openrouter.ai/api/v1")),
    ("@ai-sdk/groq", Dialect::Chat, Some("https://api.groq.com/openai/v1")),
    ("@ai-sdk/xai", Dialect::Chat, Some("https://api.x.ai/v1")),
    ("@ai-sdk/mistral", Dialect::Chat, Some("https://api.mistral.ai/v1")),
    ("@ai-sdk/togetherai", Dialect::Chat, Some("https://api.together.xyz/v1")),
    ("@ai-sdk/cerebras", Dialect::Chat, Some("https://api.cerebras.ai/v1")),
    ("@ai-sdk/deepinfra", Dialect::Chat, Some("https://api.deepinfra.com/v1/openai")),
];

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn each_vendor_stands_there_once_and_can_be_reached() {
        let ids: HashSet<_> = VENDORS.iter().map(|vendor| vendor.id).collect();
        assert_eq!(ids.len(), VENDORS.len());
        for Vendor { id, base_url, .. } in VENDORS {
            let url = reqwest::Url::parse(base_url).unwrap();
            let local = url.host_str() == Some("127.0.0.1");
            assert_eq!(url.scheme(), if local { "http" } else { "https" }, "{id}");
            assert_eq!(vendor(id).unwrap().is_local(), local, "{id}");
            assert!(!base_url.ends_with('/'), "{id}");
        }
        assert_eq!(vendor("nobody"), None);
    }
}
