//! What a model is told beside the words for all: families of models go wrong in ways of their own. Pure.

use crate::Toolset;

/// A family of models that wants words of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Family {
    /// OpenAI's models for everything.
    Gpt,
    /// OpenAI's models for code alone.
    Codex,
    Gemini,
    Claude,
    /// Models whose weights are open, and those made like them.
    Open,
    /// Models that get lost among many tools and long texts.
    Small,
    /// None of these, or nobody knows.
    Other,
}

/// Names that models with open weights have.
const OPEN: [&str; 14] = [
    "kimi",
    "qwen",
    "qwq",
    "glm",
    "gpt-oss",
    "deepseek",
    "minimax",
    "llama",
    "mistral",
    "devstral",
    "codestral",
    "gemma",
    "granite",
    "nemotron",
];

/// What the model that its vendor calls `id` is told below the words for all; empty for most.
pub(crate) fn words(id: &str, toolset: Toolset) -> &'static str {
    let text = match family(id, toolset) {
        Family::Gpt => include_str!("families/gpt.md"),
        Family::Codex => include_str!("families/codex.md"),
        Family::Gemini => include_str!("families/gemini.md"),
        Family::Claude => include_str!("families/claude.md"),
        Family::Open => include_str!("families/open.md"),
        Family::Small => include_str!("families/small.md"),
        Family::Other => "",
    };
    text.trim_ascii()
}

fn family(id: &str, toolset: Toolset) -> Family {
    if toolset == Toolset::Small {
        return Family::Small;
    }
    let id = id.to_ascii_lowercase();
    let has = |name: &str| id.contains(name);
    // Before `gpt` and `claude`: open models are named after what they were made like.
    if OPEN.into_iter().any(has) {
        return Family::Open;
    }
    // OpenAI's models without a word: `o3`, `openai/o4-mini`.
    let reasons = id.rsplit('/').next().is_some_and(|name| ["o1", "o3", "o4"].iter().any(|one| name.starts_with(one)));
    match () {
        () if has("codex") => Family::Codex,
        () if has("gpt") || reasons => Family::Gpt,
        () if has("gemini") => Family::Gemini,
        () if has("claude") => Family::Claude,
        () => Family::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_tells_the_family() {
        let row = |id: &str, want: Family| assert_eq!(family(id, Toolset::Full), want, "{id}");
        row("gpt-5.2", Family::Gpt);
        row("openai/GPT-4o", Family::Gpt);
        row("o3", Family::Gpt);
        row("openai/o4-mini", Family::Gpt);
        row("gpt-5.1-codex-max", Family::Codex);
        row("codex-mini-latest", Family::Codex);
        row("gemini-3-pro-preview", Family::Gemini);
        row("us.anthropic.claude-sonnet-4-5-v1:0", Family::Claude);
        row("moonshotai/Kimi-K2-Instruct", Family::Open);
        row("qwen3-coder:30b", Family::Open);
        row("glm-4.7", Family::Open);
        row("openai/gpt-oss-120b", Family::Open);
        row("deepseek-r1-distill-llama-70b", Family::Open);
        row("gemma-3-27b", Family::Open);
        row("grok-4", Family::Other);
        row("m1", Family::Other);
        row("solo3", Family::Other);
        row("", Family::Other);
    }

    #[test]
    fn who_gets_few_tools_gets_the_words_for_it() {
        assert_eq!(family("qwen3:4b", Toolset::Small), Family::Small);
        assert!(words("qwen3:4b", Toolset::Small).contains("One step at a time"));
        assert_eq!(words("m1", Toolset::Full), "");
    }

    #[test]
    fn the_words_are_few() {
        for id in ["gpt-5", "codex", "gemini", "claude", "kimi"] {
            let count = words(id, Toolset::Full).split_whitespace().count();
            assert!((20..=70).contains(&count), "{id} takes {count} words");
        }
    }
}
