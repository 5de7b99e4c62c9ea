//! Which way of changing files a model was trained on.

/// Whether the model called `id` by its vendor writes patches better than it fills in `edit` and `write`: the GPT
/// family since 5. The open models and the generation before it were not trained on patches.
pub(crate) fn patches(id: &str) -> bool {
    id.contains("gpt-") && !id.contains("oss") && !id.contains("gpt-4")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_gpt_family_since_5_patches() {
        let row = |id: &str, want: bool| assert_eq!(patches(id), want, "{id}");
        row("gpt-5", true);
        row("gpt-5.1-codex-max", true);
        row("openai/gpt-5-mini", true);
        row("gpt-4o", false);
        row("gpt-4.1", false);
        row("gpt-oss-120b", false);
        row("claude-sonnet-4-5", false);
        row("o3", false);
        row("", false);
    }
}
