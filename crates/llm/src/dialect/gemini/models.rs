//! What models can do, by their names. Unknown ones can do what the newest can.

/// Whether a model is of Gemini 3 or later: it wants a signature with each first call, sees files in results, and keeps
/// to a form while it has tools.
pub(super) fn is_third(model: &str) -> bool {
    name(model).strip_prefix("gemini-").is_some_and(|version| !is_old(version))
}

/// Whether a model takes no system prompt of its own.
pub(super) fn is_gemma(model: &str) -> bool {
    name(model).starts_with("gemma-")
}

/// Whether a Gemini model thinks, and can be asked for its thoughts.
pub fn thinks(model: &str) -> bool {
    let model = name(model);
    let kind = ["image", "tts", "audio", "live", "embedding"].into_iter().any(|kind| model.contains(kind));
    let second = model.strip_prefix("gemini-2.5").is_some_and(|rest| rest.is_empty() || rest.starts_with('-'));
    !kind && (second || is_third(&model))
}

/// Before Gemini 3, as its name goes on behind `gemini-`.
fn is_old(version: &str) -> bool {
    let first =
        |number: &str| version.strip_prefix(number).is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '-']));
    first("1") || first("2") || matches!(version, "pro" | "pro-vision") || version.starts_with("robotics-er-1.5")
}

/// The name without folders in front, in lower case.
fn name(model: &str) -> String {
    model.rsplit('/').next().unwrap_or_default().to_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn generations_are_told_apart() {
        let row = |model: &str, third: bool, thinking: bool| {
            assert_eq!((is_third(model), thinks(model)), (third, thinking), "{model}");
        };
        row("gemini-3-pro-preview", true, true);
        row("gemini-3.5-flash", true, true);
        row("gemini-10-pro", true, true);
        row("gemini-flash-latest", true, true);
        row("models/Gemini-3-Flash", true, true);
        row("gemini-3-pro-image-preview", true, false);
        row("gemini-2.5-pro", false, true);
        row("gemini-2.5-flash-image", false, false);
        row("gemini-2.5-pro-preview-tts", false, false);
        row("gemini-2.0-flash", false, false);
        row("gemini-1.5-pro-002", false, false);
        row("gemini-pro", false, false);
        row("gemini-pro-latest", true, true);
        row("gemini-robotics-er-1.5-preview", false, false);
        row("gemma-3-27b-it", false, false);
        row("m1", false, false);
        assert!(is_gemma("gemma-3-27b-it") && !is_gemma("gemini-3-pro"));
    }
}
