//! The variants of a model: named settings that say how much it is to think. Pure.
//!
//! What the catalogue says of a model counts; where it says nothing, what is usual in its family does. The settings are
//! those that OpenCode's drivers take; the dialects know what the wire calls them.

use serde_json::{Map, Value, json};

use super::Dialect;
use super::model::{Model, Reasoning};

/// A name and the settings that it stands for.
pub type Variant = (String, Map<String, Value>);

/// Who is told how much to think.
#[derive(Debug, Clone, Copy)]
pub struct Speaks<'a> {
    /// What it speaks.
    pub dialect: Dialect,
    /// The driver that OpenCode would load, if one is named.
    pub driver: Option<&'a str>,
    /// What the vendor calls the model.
    pub model: &'a str,
}

/// The budgets of `high` and `max` where a model names none, in tokens: what OpenCode asks for.
const BUDGETS: [u64; 2] = [16_000, 31_999];

const LOW_TO_HIGH: [&str; 3] = ["low", "medium", "high"];

/// How the amount of thinking is said.
enum Said {
    /// By a word.
    Words(Vec<String>),
    /// By tokens: those of `high` and of `max`.
    Tokens([u64; 2]),
    /// By a word, with this many tokens beside it.
    Both(Vec<String>, u64),
    /// Not at all.
    Nothing,
}

/// The variants of `model`, from little thinking to much.
pub fn variants(model: &Model, speaks: Speaks<'_>) -> Vec<Variant> {
    if model.reasoning == Some(false) {
        return Vec::new();
    }
    let said = match &model.reasoning_options {
        Some(options) => told(options, model, speaks),
        None => usual(model, speaks),
    };
    match said {
        Said::Nothing => Vec::new(),
        Said::Words(words) => words.into_iter().map(|word| (word.clone(), object(effort(&word, speaks)))).collect(),
        Said::Tokens(tokens) => {
            let both = ["high", "max"].into_iter().zip(tokens);
            both.map(|(name, tokens)| (name.to_owned(), object(budget(tokens, speaks)))).collect()
        }
        Said::Both(words, tokens) => {
            let one = |word: String| {
                let mut settings = object(budget(tokens, speaks));
                settings.insert("effort".to_owned(), word.clone().into());
                (word, settings)
            };
            words.into_iter().map(one).collect()
        }
    }
}

/// What the catalogue says.
fn told(options: &[Reasoning], model: &Model, speaks: Speaks<'_>) -> Said {
    let mut words: Option<Vec<String>> = None;
    let mut tokens = None;
    for option in options {
        match option {
            // The data has these two for "not said".
            Reasoning::Effort { values } => {
                words = Some(values.iter().filter(|word| !matches!(&***word, "null" | "default")).cloned().collect());
            }
            Reasoning::BudgetTokens { min, max } => {
                let said = |tokens: &Option<i64>| tokens.and_then(|tokens| u64::try_from(tokens).ok());
                tokens = Some(budgets(said(min), said(max), model));
            }
            Reasoning::Toggle | Reasoning::Other => {}
        }
    }
    match (words.filter(|words| !words.is_empty()), tokens) {
        // Claude takes a word beside its thinking, or without it where it decides itself how much to think.
        (Some(words), Some([tokens, _])) if speaks.dialect == Dialect::Messages && !adapts(speaks.model) => {
            Said::Both(words, tokens)
        }
        (Some(words), _) => Said::Words(words),
        (None, Some(tokens)) if takes_tokens(speaks) => Said::Tokens(tokens),
        (None, Some(_) | None) => Said::Nothing,
    }
}

/// Half of what is allowed, and all of it.
fn budgets(min: Option<u64>, max: Option<u64>, model: &Model) -> [u64; 2] {
    let most = |tokens: u64| match model.limit.output {
        0 => tokens,
        // Something is to be left for the answer.
        output => tokens.min(output.saturating_sub(1)),
    };
    let both = match max {
        Some(max) => [max / 2, max],
        None => BUDGETS.map(most),
    };
    both.map(|tokens| tokens.max(min.unwrap_or(0)))
}

/// Whether the dialect has a field for a number of tokens.
fn takes_tokens(speaks: Speaks<'_>) -> bool {
    match speaks.dialect {
        Dialect::Messages | Dialect::Gemini | Dialect::Converse => true,
        Dialect::Chat | Dialect::Responses => is_openrouter(speaks),
    }
}

/// What is usual in the family of a model that the catalogue says nothing about.
fn usual(model: &Model, speaks: Speaks<'_>) -> Said {
    let id = speaks.model.to_lowercase();
    let has = |words: &[&str]| words.iter().any(|word| id.contains(word));
    let words = |words: &[&str]| Said::Words(words.iter().map(|word| (*word).to_owned()).collect());
    if has(&["deepseek-r1", "deepseek-v3", "deepseek-chat", "minimax", "glm", "kimi", "qwen", "mistral"]) {
        return Said::Nothing;
    }
    match speaks.dialect {
        Dialect::Responses => openai(model, &id),
        Dialect::Chat if is_openrouter(speaks) => match has(&["gpt", "gemini-3", "grok-4", "claude"]) {
            true => words(&["none", "minimal", "low", "medium", "high", "xhigh"]),
            false => Said::Nothing,
        },
        Dialect::Chat => match speaks.driver {
            Some("@ai-sdk/mistral" | "@ai-sdk/cohere" | "@ai-sdk/perplexity") => Said::Nothing,
            Some("@ai-sdk/groq") => words(&["none", "low", "medium", "high"]),
            Some("@ai-sdk/gateway") => words(&["none", "minimal", "low", "medium", "high", "xhigh"]),
            Some(_) | None if has(&["grok-3-mini"]) => words(&["low", "high"]),
            Some(_) | None => words(&LOW_TO_HIGH),
        },
        Dialect::Messages => claude(model, speaks),
        Dialect::Gemini if has(&["2.5-pro"]) => Said::Tokens([16_000, 32_768]),
        Dialect::Gemini if has(&["2.5"]) => Said::Tokens([16_000, 24_576]),
        Dialect::Gemini if has(&["gemini-3-pro"]) => words(&["low", "high"]),
        Dialect::Gemini if has(&["gemini"]) => words(&LOW_TO_HIGH),
        Dialect::Gemini => Said::Nothing,
        Dialect::Converse if has(&["claude", "anthropic"]) => claude(model, speaks),
        Dialect::Converse if has(&["nova"]) => words(&LOW_TO_HIGH),
        Dialect::Converse => Said::Nothing,
    }
}

/// OpenAI's models learned further words at certain times.
fn openai(model: &Model, id: &str) -> Said {
    if id.contains("grok-3-mini") {
        return Said::Words(["low", "high"].map(str::to_owned).to_vec());
    }
    if id.contains("-chat") || id.starts_with("gpt-4") || matches!(id, "gpt-5-pro" | "o1-mini") {
        return Said::Nothing;
    }
    let mut words = LOW_TO_HIGH.to_vec();
    let date = model.release_date.as_str();
    if id.contains("codex") {
        if ["5.2", "5.3", "codex-max"].into_iter().any(|newer| id.contains(newer)) {
            words.push("xhigh");
        }
    } else {
        if id == "gpt-5" || id.contains("gpt-5-") {
            words.insert(0, "minimal");
        }
        if date >= "2025-11-13" {
            words.insert(0, "none");
        }
        if date >= "2025-12-04" {
            words.push("xhigh");
        }
    }
    Said::Words(words.into_iter().map(str::to_owned).collect())
}

fn claude(model: &Model, speaks: Speaks<'_>) -> Said {
    if adapts(speaks.model) {
        let mut words: Vec<_> = LOW_TO_HIGH.map(str::to_owned).to_vec();
        if version(speaks.model).is_none_or(|version| version >= (4, 7)) {
            words.push("xhigh".to_owned());
        }
        words.push("max".to_owned());
        return Said::Words(words);
    }
    Said::Tokens(budgets(None, None, model))
}

/// Whether a Claude decides itself how much to think, and only takes a word about it: from 4.6 on, and those that have no
/// number or another kind of name.
fn adapts(model: &str) -> bool {
    let model = model.to_lowercase();
    model.contains("claude") && !model.contains("claude-3") && version(&model).is_none_or(|version| version >= (4, 6))
}

/// The version in a name such as `claude-opus-4-5-20251101`, `claude-sonnet-4.6` or `claude-sonnet-5`.
fn version(model: &str) -> Option<(u32, u32)> {
    let after = ["opus", "sonnet", "haiku", "fable"].into_iter().find_map(|family| model.split_once(family))?.1;
    // A part of more digits is a day.
    let mut parts = after.trim_start_matches(['-', '.']).split(['-', '.', '@', ':']);
    let mut number = || parts.next().filter(|part| part.len() <= 2).and_then(|part| part.parse().ok());
    let major = number()?;
    Some((major, number().unwrap_or(0)))
}

/// The settings that say a word.
fn effort(word: &str, speaks: Speaks<'_>) -> Value {
    match speaks.dialect {
        Dialect::Chat if is_openrouter(speaks) => json!({"reasoning": {"effort": word}}),
        Dialect::Chat => json!({"reasoningEffort": word}),
        Dialect::Responses => json!({
            "reasoningEffort": word,
            "reasoningSummary": "auto",
            "include": ["reasoning.encrypted_content"],
        }),
        Dialect::Messages if speaks.model.to_lowercase().contains("claude") => {
            json!({"thinking": {"type": "adaptive"}, "effort": word})
        }
        Dialect::Messages => json!({"effort": word}),
        Dialect::Gemini => json!({"thinkingConfig": {"includeThoughts": true, "thinkingLevel": word}}),
        Dialect::Converse => {
            let kind = if speaks.model.to_lowercase().contains("claude") { "adaptive" } else { "enabled" };
            json!({"reasoningConfig": {"type": kind, "maxReasoningEffort": word}})
        }
    }
}

/// The settings that say a number of tokens.
fn budget(tokens: u64, speaks: Speaks<'_>) -> Value {
    match speaks.dialect {
        Dialect::Chat | Dialect::Responses => json!({"reasoning": {"max_tokens": tokens}}),
        Dialect::Messages => json!({"thinking": {"type": "enabled", "budgetTokens": tokens}}),
        Dialect::Gemini => json!({"thinkingConfig": {"includeThoughts": true, "thinkingBudget": tokens}}),
        Dialect::Converse => json!({"reasoningConfig": {"type": "enabled", "budgetTokens": tokens}}),
    }
}

fn is_openrouter(speaks: Speaks<'_>) -> bool {
    speaks.driver == Some("@openrouter/ai-sdk-provider")
}

fn object(value: Value) -> Map<String, Value> {
    value.as_object().cloned().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue::{Catalogue, Limit};

    /// `name=settings` of each variant, with blanks between.
    #[track_caller]
    fn check(model: &Model, dialect: Dialect, driver: &str, id: &str, want: &str) {
        let speaks = Speaks { dialect, driver: Some(driver), model: id };
        let shown =
            variants(model, speaks).into_iter().map(|(name, settings)| format!("{name}={}", Value::Object(settings)));
        assert_eq!(shown.collect::<Vec<_>>().join(" "), want, "{id}");
    }

    /// Of a model that the built-in list has.
    #[track_caller]
    fn listed(vendor: &str, id: &str, dialect: Dialect, want: &str) {
        let catalogue = Catalogue::built_in();
        let model = catalogue.model(vendor, id).unwrap();
        check(&model, dialect, &catalogue.vendor(vendor).unwrap().npm, id, want);
    }

    /// Of a model that no list has, only the names.
    #[track_caller]
    fn unlisted(id: &str, released: &str, dialect: Dialect, driver: &str, want: &str) {
        let model = Model { reasoning: Some(true), release_date: released.to_owned(), ..Model::default() };
        let speaks = Speaks { dialect, driver: Some(driver), model: id };
        let names: Vec<_> = variants(&model, speaks).into_iter().map(|(name, _)| name).collect();
        assert_eq!(names.join(" "), want, "{id}");
    }

    #[test]
    fn the_catalogue_says_what_a_model_takes() {
        use Dialect::{Chat, Converse, Gemini, Messages, Responses};
        listed(
            "anthropic",
            "claude-sonnet-4-5",
            Messages,
            r#"high={"thinking":{"type":"enabled","budgetTokens":16000}} max={"thinking":{"type":"enabled","budgetTokens":31999}}"#,
        );
        listed(
            "anthropic",
            "claude-opus-4-5",
            Messages,
            r#"low={"thinking":{"type":"enabled","budgetTokens":16000},"effort":"low"} medium={"thinking":{"type":"enabled","budgetTokens":16000},"effort":"medium"} high={"thinking":{"type":"enabled","budgetTokens":16000},"effort":"high"}"#,
        );
        listed(
            "anthropic",
            "claude-sonnet-4-6",
            Messages,
            r#"low={"thinking":{"type":"adaptive"},"effort":"low"} medium={"thinking":{"type":"adaptive"},"effort":"medium"} high={"thinking":{"type":"adaptive"},"effort":"high"} max={"thinking":{"type":"adaptive"},"effort":"max"}"#,
        );
        listed(
            "google",
            "gemini-2.5-pro",
            Gemini,
            r#"high={"thinkingConfig":{"includeThoughts":true,"thinkingBudget":16384}} max={"thinkingConfig":{"includeThoughts":true,"thinkingBudget":32768}}"#,
        );
        listed(
            "openai",
            "gpt-5-pro",
            Responses,
            r#"high={"reasoningEffort":"high","reasoningSummary":"auto","include":["reasoning.encrypted_content"]}"#,
        );
        listed(
            "groq",
            "openai/gpt-oss-20b",
            Chat,
            r#"low={"reasoningEffort":"low"} medium={"reasoningEffort":"medium"} high={"reasoningEffort":"high"}"#,
        );
        listed("groq", "qwen/qwen3-32b", Chat, r#"none={"reasoningEffort":"none"}"#);
        listed("deepseek", "deepseek-v4-pro", Chat, r#"high={"reasoningEffort":"high"} max={"reasoningEffort":"max"}"#);
        listed("deepseek", "deepseek-reasoner", Chat, "");
        listed(
            "amazon-bedrock",
            "amazon.nova-2-lite-v1:0",
            Converse,
            r#"low={"reasoningConfig":{"type":"enabled","maxReasoningEffort":"low"}} medium={"reasoningConfig":{"type":"enabled","maxReasoningEffort":"medium"}} high={"reasoningConfig":{"type":"enabled","maxReasoningEffort":"high"}}"#,
        );
        listed("openai", "gpt-4o", Responses, "");
    }

    #[test]
    fn a_family_has_its_words_where_the_catalogue_says_nothing() {
        use Dialect::{Chat, Converse, Gemini, Messages, Responses};
        let openai = |id: &str, released: &str, want: &str| unlisted(id, released, Responses, "@ai-sdk/openai", want);
        openai("o3", "2025-04-16", "low medium high");
        openai("gpt-5", "2025-08-07", "minimal low medium high");
        openai("gpt-5.1", "2025-11-13", "none low medium high");
        openai("gpt-5.2", "2025-12-11", "none low medium high xhigh");
        openai("gpt-5-codex", "2025-09-15", "low medium high");
        openai("gpt-5.2-codex", "2025-12-11", "low medium high xhigh");
        openai("gpt-5-chat-latest", "2025-08-07", "");
        openai("gpt-5-pro", "2025-10-06", "");
        let claude = |id: &str, want: &str| {
            unlisted(id, "", Messages, "@ai-sdk/anthropic", want);
            unlisted(&format!("us.anthropic.{id}"), "", Converse, "@ai-sdk/amazon-bedrock", want);
        };
        claude("claude-3-7-sonnet-20250219", "high max");
        claude("claude-opus-4-20250514", "high max");
        claude("claude-sonnet-4-5", "high max");
        claude("claude-opus-4.6", "low medium high max");
        claude("claude-opus-4-7", "low medium high xhigh max");
        claude("claude-sonnet-5@default", "low medium high xhigh max");
        let chat = |id: &str, driver: &str, want: &str| unlisted(id, "", Chat, driver, want);
        chat("m1", "@ai-sdk/openai-compatible", "low medium high");
        chat("deepseek-r1", "@ai-sdk/openai-compatible", "");
        for id in ["MiniMax-M2", "glm-4.6", "kimi-k2", "qwen3-coder"] {
            chat(id, "@ai-sdk/openai-compatible", "");
        }
        chat("grok-3-mini", "@ai-sdk/xai", "low high");
        chat("gpt-oss", "@ai-sdk/groq", "none low medium high");
        chat("openai/gpt-5", "@openrouter/ai-sdk-provider", "none minimal low medium high xhigh");
        chat("meta/llama", "@openrouter/ai-sdk-provider", "");
        chat("command-a", "@ai-sdk/cohere", "");
        let gemini = |id: &str, want: &str| unlisted(id, "", Gemini, "@ai-sdk/google", want);
        gemini("gemini-2.5-flash", "high max");
        gemini("gemini-3-pro-preview", "low high");
        gemini("gemini-3.1-flash", "low medium high");
        gemini("gemma-4", "");
        unlisted("amazon.nova-pro", "", Converse, "@ai-sdk/amazon-bedrock", "low medium high");
        unlisted("meta.llama", "", Converse, "@ai-sdk/amazon-bedrock", "");
    }

    #[test]
    fn a_budget_leaves_room_for_the_answer_and_is_not_too_small() {
        let row = |output: u64, min: Option<u64>, max: Option<u64>, want: [u64; 2]| {
            let model = Model { limit: Limit { output, ..Limit::default() }, ..Model::default() };
            assert_eq!(budgets(min, max, &model), want, "{output} {min:?} {max:?}");
        };
        row(64_000, Some(1024), None, [16_000, 31_999]);
        row(8_192, Some(1024), None, [8_191, 8_191]);
        row(0, None, None, [16_000, 31_999]);
        row(64_000, Some(128), Some(32_768), [16_384, 32_768]);
        row(64_000, Some(512), Some(600), [512, 600]);
    }

    #[test]
    fn who_does_not_think_has_none() {
        let model = Model { reasoning: Some(false), ..Model::default() };
        check(&model, Dialect::Chat, "@ai-sdk/openai-compatible", "m", "");
        let openrouter = Model {
            reasoning_options: Some(vec![Reasoning::BudgetTokens { min: None, max: Some(100) }]),
            ..Model::default()
        };
        check(
            &openrouter,
            Dialect::Chat,
            "@openrouter/ai-sdk-provider",
            "m",
            r#"high={"reasoning":{"max_tokens":50}} max={"reasoning":{"max_tokens":100}}"#,
        );
        check(&openrouter, Dialect::Chat, "@ai-sdk/openai-compatible", "m", "");
    }

    #[test]
    fn versions_are_read_from_names() {
        let row = |model: &str, want| assert_eq!(version(model), want, "{model}");
        row("claude-opus-4-5-20251101", Some((4, 5)));
        row("claude-opus-4-20250514", Some((4, 0)));
        row("anthropic.claude-opus-4-6-v1", Some((4, 6)));
        row("claude-sonnet-4.6", Some((4, 6)));
        row("claude-sonnet-5", Some((5, 0)));
        row("claude-haiku-4-5@20251001", Some((4, 5)));
        row("claude-3-7-sonnet-20250219", None);
        row("gpt-5", None);
    }
}
