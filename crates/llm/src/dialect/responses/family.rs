//! What OpenAI's models are told apart by: their names. Pure.

/// A family of models, by the name that its maker gives it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Family {
    /// Whether it is one of OpenAI's that think. They refuse to be sampled otherwise.
    pub(crate) thinks: bool,
    /// Whether it can be sampled otherwise when it is told not to think.
    pub(crate) sampled_unthinking: bool,
    /// Whether it hands out its thoughts encrypted. Others refuse to be asked for them.
    pub(crate) encrypts: bool,
    /// OpenAI's own number: that behind `gpt-`.
    pub(crate) gpt: Option<u32>,
}

impl Family {
    /// The family of `model`, which may stand behind the name of its maker. Of a name that is not known nothing is
    /// expected.
    pub(crate) fn of(model: &str) -> Self {
        let model = model.rsplit('/').next().unwrap_or_default().to_lowercase();
        if let Some(rest) = model.strip_prefix("gpt-") {
            let (version, variant) = rest.split_once('-').unwrap_or((rest, ""));
            let (major, minor) = version.split_once('.').unwrap_or((version, ""));
            let Ok(major) = major.parse::<u32>() else { return Self::default() };
            // `gpt-5-chat-latest` does not think; later ones of that name do.
            let thinks = major >= 5 && !(minor.is_empty() && variant.starts_with("chat"));
            // Version 5.1 was the first that could be told not to, and with 6 came other rules.
            let sampled_unthinking = thinks && major == 5 && !minor.is_empty();
            return Self { thinks, sampled_unthinking, encrypts: thinks, gpt: Some(major) };
        }
        let number = model.strip_prefix('o').map(|rest| rest.split('-').next().unwrap_or_default());
        // o1, o3, o4.
        let thinks = number.is_some_and(|number| number.len() == 1 && number.as_bytes()[0].is_ascii_digit());
        Self { thinks, encrypts: thinks || model.starts_with("grok-"), ..Self::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn families_are_told_apart_by_their_names() {
        let row = |model: &str, thinks, sampled_unthinking, gpt| {
            let want = Family { thinks, sampled_unthinking, encrypts: thinks, gpt };
            assert_eq!(Family::of(model), want, "{model}");
        };
        row("gpt-5", true, false, Some(5));
        row("gpt-5-mini", true, false, Some(5));
        row("gpt-5-chat-latest", false, false, Some(5));
        row("gpt-5.1", true, true, Some(5));
        row("gpt-5.2-chat-latest", true, true, Some(5));
        row("gpt-5.3-codex", true, true, Some(5));
        row("gpt-6-sol", true, false, Some(6));
        row("openai/GPT-5", true, false, Some(5));
        row("gpt-4.1", false, false, Some(4));
        row("gpt-4o", false, false, None);
        row("gpt-oss-120b", false, false, None);
        row("o3", true, false, None);
        row("o4-mini", true, false, None);
        row("o365-model", false, false, None);
        row("olmo-3", false, false, None);
        row("my-deployment", false, false, None);
        row("", false, false, None);
    }

    #[test]
    fn some_hand_out_their_thoughts_encrypted_and_are_sampled_all_the_same() {
        assert_eq!(Family::of("grok-4"), Family { encrypts: true, ..Family::default() });
    }
}
