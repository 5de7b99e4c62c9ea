//! How single servers and models want a chat completion spelled: fields that others do not have. Data, and the looking up
//! of it. What would hold in any dialect stands in [`crate::quirks`].

use crate::{Manners, ToolChoice};

/// Who is spoken to.
#[derive(Debug, Clone, Default)]
pub(super) struct Listener {
    /// The vendor.
    pub(super) provider: String,
    /// The machine.
    pub(super) host: String,
    pub(super) manners: Manners,
    /// The field in which thinking is given back, where the settings name one.
    pub(super) thinking_field: Option<String>,
}

/// How a prefix is marked as worth keeping.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Marks {
    /// Not at all: the vendor keeps what it likes.
    None,
    /// `cache_control` on the last part of a message; on results beside their words, where gateways look for it.
    Parts,
    /// `cache_control` on the last part of every message, results too.
    AllParts,
    /// `copilot_cache_control` on messages.
    Copilot,
}

/// What one model of one server wants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Taste<'a> {
    pub(super) marks: Marks,
    /// Whether usage must be asked for, and may be.
    pub(super) asks_usage: bool,
    /// What the system prompt is said as.
    pub(super) system: &'static str,
    /// Whether it samples from the likeliest tokens only when told so. Others refuse the field.
    pub(super) top_k: bool,
    /// The field in which thinking is given back. `None`: as it came.
    pub(super) thinking_field: Option<&'a str>,
    forced: Forced,
}

/// What becomes of the order to call a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Forced {
    /// It is sent.
    Kept,
    /// A leave to call takes its place: a thinking model refuses the order.
    Allowed,
    /// Nothing is said about it: the server knows no such field.
    Unsaid,
}

/// Servers that count without being asked, and refuse a field that they do not know.
const COUNTING: [&str; 2] = ["mistral", "perplexity"];

/// The same by their address, whatever they are called in the settings.
const COUNTING_HOSTS: [&str; 3] = ["api.mistral.ai", "codestral.mistral.ai", "api.perplexity.ai"];

/// Servers that take `top_k`, which OpenAI's own interface has not.
const TAKES_TOP_K: [&str; 18] = [
    "openrouter",
    "ollama",
    "lmstudio",
    "llamacpp",
    "vllm",
    "togetherai",
    "fireworks-ai",
    "deepinfra",
    "novita-ai",
    "nebius",
    "siliconflow",
    "siliconflow-cn",
    "alibaba",
    "alibaba-cn",
    "chutes",
    "baseten",
    "huggingface",
    "venice",
];

impl<'a> Taste<'a> {
    /// What `model` wants at `listener`.
    pub(super) fn of(listener: &'a Listener, model: &str) -> Self {
        let vendor = listener.provider.as_str();
        let lower = model.to_lowercase();
        let is = |names: &[&str]| names.iter().any(|name| lower.contains(name));
        let marks = match listener.manners {
            Manners::Copilot if is(&["claude"]) => Marks::Copilot,
            _ if vendor == "vercel" => Marks::None,
            _ if vendor.starts_with("alibaba") => Marks::AllParts,
            // Gateways keep a prefix of these only where it is marked.
            _ if is(&["claude"]) => Marks::Parts,
            Manners::Plain | Manners::Copilot | Manners::ChatGpt => Marks::None,
        };
        let named = listener.thinking_field.as_deref();
        // A list with signatures; words alone are refused there.
        let named = named.filter(|field| *field != "reasoning_details");
        // Every answer of a turn with calls must say what was thought, if only that it was nothing.
        let deepseek = (vendor == "deepseek" || listener.host == "api.deepseek.com").then_some("reasoning_content");
        let thinks = ["thinking", "reasoner", "-r1", "qwq"];
        let forced = match vendor {
            "ollama" | "ollama-cloud" | "perplexity" => Forced::Unsaid,
            vendor if vendor.starts_with("alibaba") || vendor.starts_with("moonshotai") => Forced::Allowed,
            "deepseek" => Forced::Allowed,
            _ if is(&["deepseek", "qwen", "qwq", "kimi"]) && is(&thinks) => Forced::Allowed,
            _ => Forced::Kept,
        };
        Self {
            marks,
            asks_usage: !COUNTING.contains(&vendor) && !COUNTING_HOSTS.contains(&listener.host.as_str()),
            system: match vendor {
                "openai" | "azure" | "azure-cognitive-services" if super::options::thinks(model) => "developer",
                _ => "system",
            },
            top_k: TAKES_TOP_K.contains(&vendor),
            thinking_field: named.or(deepseek),
            forced,
        }
    }

    /// What is said about calls where tools are offered. `None`: nothing.
    pub(super) fn choice(self, choice: ToolChoice) -> Option<&'static str> {
        match (choice, self.forced) {
            (_, Forced::Unsaid) => None,
            (ToolChoice::Required, Forced::Kept) => Some("required"),
            (ToolChoice::Auto, _) | (ToolChoice::Required, Forced::Allowed) => Some("auto"),
            (ToolChoice::None, _) => Some("none"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(provider: &str, host: &str) -> Listener {
        Listener { provider: provider.to_owned(), host: host.to_owned(), ..Listener::default() }
    }

    #[test]
    fn marks_are_those_that_are_read() {
        let row = |provider: &str, model: &str, manners, want| {
            let listener = Listener { manners, ..at(provider, "") };
            assert_eq!(Taste::of(&listener, model).marks, want, "{provider} {model}");
        };
        row("openrouter", "anthropic/Claude-x", Manners::Plain, Marks::Parts);
        row("openrouter", "openai/gpt-5", Manners::Plain, Marks::None);
        row("vercel", "anthropic/claude-x", Manners::Plain, Marks::None);
        row("alibaba-cn", "qwen3-coder-plus", Manners::Plain, Marks::AllParts);
        row("github-copilot", "claude-x", Manners::Copilot, Marks::Copilot);
        row("github-copilot", "gpt-5", Manners::Copilot, Marks::None);
    }

    #[test]
    fn fields_are_those_that_are_known() {
        let row = |provider: &str, host: &str, asks_usage, top_k| {
            let listener = at(provider, host);
            let taste = Taste::of(&listener, "m");
            assert_eq!((taste.asks_usage, taste.top_k), (asks_usage, top_k), "{provider} {host}");
        };
        row("openai", "api.openai.com", true, false);
        row("mistral", "", false, false);
        row("mine", "api.mistral.ai", false, false);
        row("openrouter", "openrouter.ai", true, true);
        let system = |provider: &str, model: &str| Taste::of(&at(provider, ""), model).system;
        assert_eq!(system("openai", "gpt-5.1"), "developer");
        assert_eq!(system("openai", "gpt-4.1"), "system");
        assert_eq!(system("groq", "gpt-5.1"), "system");
    }

    #[test]
    fn an_order_to_call_is_not_given_to_who_refuses_it() {
        let row = |provider: &str, model: &str, choice, want| {
            let listener = at(provider, "");
            assert_eq!(Taste::of(&listener, model).choice(choice), want, "{provider} {model}");
        };
        row("openai", "gpt-5", ToolChoice::Required, Some("required"));
        row("openai", "gpt-5", ToolChoice::Auto, Some("auto"));
        row("deepseek", "deepseek-chat", ToolChoice::Required, Some("auto"));
        row("openrouter", "deepseek/deepseek-r1", ToolChoice::Required, Some("auto"));
        row("openrouter", "qwen/qwen3-coder", ToolChoice::Required, Some("required"));
        row("moonshotai", "kimi-k2", ToolChoice::Required, Some("auto"));
        row("ollama", "m", ToolChoice::Required, None);
        row("ollama", "m", ToolChoice::Auto, None);
    }

    #[test]
    fn thinking_goes_into_the_field_that_is_read() {
        let row = |provider: &str, host: &str, field: Option<&str>, want: Option<&str>| {
            let listener = Listener { thinking_field: field.map(str::to_owned), ..at(provider, host) };
            assert_eq!(Taste::of(&listener, "m").thinking_field, want, "{provider} {host} {field:?}");
        };
        row("v", "", None, None);
        row("v", "", Some("reasoning_content"), Some("reasoning_content"));
        row("v", "", Some("reasoning_details"), None);
        row("deepseek", "", None, Some("reasoning_content"));
        row("mine", "api.deepseek.com", None, Some("reasoning_content"));
    }
}
