//! Files in requests: their kinds, and the words that stand for those that cannot be sent.

/// The kind of a file by its MIME type, in a word for the model. `None`: a kind that no model has a word for.
pub(crate) fn kind(mime: &str) -> Option<&'static str> {
    match mime.split('/').next().unwrap_or_default() {
        "image" => Some("image"),
        "audio" => Some("audio"),
        "video" => Some("video"),
        _ if mime == "application/pdf" => Some("pdf"),
        _ => None,
    }
}

/// What stands for a file that the model cannot be shown.
pub(crate) fn unsupported(mime: &str, name: Option<&str>) -> String {
    let kind = kind(mime).unwrap_or(mime);
    let named = name.map_or_else(|| kind.to_owned(), |name| format!("{name:?}"));
    format!("ERROR: Cannot read {named} (this model does not support {kind} input). Inform the user.")
}

/// What stands before the files of a result that are shown outside of it: of the call `id` of the tool `name`, unless it is
/// the only one that shows any.
pub(crate) fn attached(is_only: bool, name: &str, id: &str) -> String {
    match is_only {
        true => "Attached media from tool result:".to_owned(),
        false => format!("Attached media from tool result ({name}, call {id}):"),
    }
}

/// What stands for a picture without bytes, which vendors answer with an error about the whole request.
pub(crate) const EMPTY_IMAGE: &str = "ERROR: Image file is empty or corrupted. Please provide a valid image.";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_model_hears_what_it_cannot_see() {
        let row = |mime: &str, name: Option<&str>, want: &str| assert_eq!(unsupported(mime, name), want);
        row("image/png", None, "ERROR: Cannot read image (this model does not support image input). Inform the user.");
        row(
            "application/pdf",
            Some("a.pdf"),
            r#"ERROR: Cannot read "a.pdf" (this model does not support pdf input). Inform the user."#,
        );
        row(
            "application/zip",
            None,
            "ERROR: Cannot read application/zip (this model does not support application/zip input). Inform the user.",
        );
    }
}
