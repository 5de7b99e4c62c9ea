//! From what a server answers to what the model reads. Pure, but for making large images smaller.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use haft_protocol::Object;
use haft_tool::image::{self, ImageLimits};
use haft_tool::{Attachment, Output, ToolError};
use serde_json::Value;

use super::naming::clean;

/// Largest file of a resource that goes to a model, in bytes.
pub const MAX_FILE: usize = 10 * 1024 * 1024;
/// Most files that go with one answer.
pub const MAX_FILES: usize = 16;
/// Most bytes of a server's own metadata, as JSON, that are kept with a call.
pub const MAX_METADATA: usize = 16 * 1024;
/// What models take as files of resources.
const FILES: [&str; 5] = ["application/pdf", "image/gif", "image/jpeg", "image/png", "image/webp"];

/// An answer, taken apart.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Parts {
    /// The texts, in their order.
    pub texts: Vec<String>,
    /// The files that go with them.
    pub files: Vec<File>,
}

/// A file as the server sent it.
#[derive(Debug, PartialEq)]
pub(super) struct File {
    mime: String,
    name: Option<String>,
    base64: String,
}

/// What the result of `tools/call` comes to.
///
/// # Errors
///
/// [`ToolError::Failed`] with the server's words where it says that the tool failed.
pub(super) async fn result(result: &Value, limits: &ImageLimits) -> Result<Output, ToolError> {
    if result["isError"].as_bool().unwrap_or(false) {
        return Err(ToolError::Failed(complaint(result)));
    }
    let mut output = output("", content(result), limits).await;
    output.metadata = metadata(&result["_meta"]);
    Ok(output)
}

/// Why a tool failed, in the server's words.
fn complaint(result: &Value) -> String {
    let items = result["content"].as_array().into_iter().flatten();
    let texts: Vec<String> = items.filter_map(text_of).collect();
    if texts.is_empty() { "MCP tool returned an error".to_owned() } else { texts.join("\n\n") }
}

/// The text item `item`.
fn text_of(item: &Value) -> Option<String> {
    (item["type"] == "text").then(|| item["text"].as_str().map(clean)).flatten()
}

/// The content of a result.
fn content(result: &Value) -> Parts {
    let mut parts = Parts::default();
    let items = result["content"].as_array().map(Vec::as_slice).unwrap_or_default();
    for item in items {
        match item["type"].as_str() {
            Some("text") => parts.texts.extend(text_of(item)),
            Some("image") => {
                let text = |key: &str| item[key].as_str().unwrap_or_default().to_owned();
                parts.files.push(File { mime: text("mimeType"), name: None, base64: text("data") });
            }
            Some("resource") => resource(&item["resource"], &mut parts),
            // Sounds, and links to resources, are nothing that a model is sent.
            _ => {}
        }
    }
    if items.is_empty()
        && let Some(structured) = result.get("structuredContent").filter(|value| !value.is_null())
    {
        parts.texts.push(clean(&structured.to_string()));
    }
    parts
}

/// What is in a resource, added to `parts`.
pub(super) fn resource(resource: &Value, parts: &mut Parts) {
    if let Some(text) = resource["text"].as_str() {
        parts.texts.push(clean(text));
        return;
    }
    let Some(blob) = resource["blob"].as_str() else { return };
    let uri = clean(resource["uri"].as_str().unwrap_or("a resource"));
    let mime = resource["mimeType"].as_str().unwrap_or("application/octet-stream");
    let size = decoded_size(blob);
    if !FILES.contains(&mime) {
        let mime = clean(mime);
        let text = format!(
            "[Binary MCP resource omitted: {uri} ({mime}, {}) is not a supported attachment type]",
            words(size)
        );
        parts.texts.push(text);
    } else if size > MAX_FILE {
        parts.texts.push(format!("[Binary MCP resource omitted: {uri} ({mime}, {}) exceeds 10 MB]", words(size)));
    } else {
        parts.files.push(File { mime: mime.to_owned(), name: Some(uri), base64: blob.to_owned() });
    }
}

/// How many bytes `base64` stands for.
fn decoded_size(base64: &str) -> usize {
    base64.trim_end_matches('=').len() * 3 / 4
}

/// A size in words.
fn words(bytes: usize) -> String {
    const UNITS: [&str; 3] = ["KB", "MB", "GB"];
    let mut size = bytes as f64 / 1024.0;
    if bytes < 1024 {
        return format!("{bytes} B");
    }
    for unit in UNITS {
        if size < 1024.0 || unit == "GB" {
            return format!("{size:.1} {unit}");
        }
        size /= 1024.0;
    }
    format!("{bytes} B")
}

/// The server's own metadata, as far as it is kept.
fn metadata(meta: &Value) -> Object {
    haft_tool::foreign(meta.as_object().cloned().unwrap_or_default(), MAX_METADATA)
}

/// `parts` as an output: texts apart by blank lines, images as large as models take them.
pub(super) async fn output(title: &str, parts: Parts, limits: &ImageLimits) -> Output {
    let mut output = Output::new(title, parts.texts.join("\n\n"));
    let mut omitted = 0;
    for (at, file) in parts.files.into_iter().enumerate() {
        match attachment(file, limits).await {
            Some(attachment) if at < MAX_FILES => output.attachments.push(attachment),
            Some(_) | None => omitted += 1,
        }
    }
    if omitted > 0 {
        let space = if output.text.is_empty() { "" } else { "\n\n" };
        output.text = format!("{}{space}{}", output.text, image::omitted(omitted));
    }
    output
}

/// `file` as models take it. `None` where they would not.
async fn attachment(file: File, limits: &ImageLimits) -> Option<Attachment> {
    let File { mime, name, base64 } = file;
    if decoded_size(&base64) > MAX_FILE {
        return None;
    }
    let bytes = STANDARD.decode(base64.as_bytes()).ok()?;
    let (mime, bytes) = if mime == "application/pdf" {
        (mime, bytes)
    } else {
        let fitted = image::fit(bytes, &mime, limits).await.ok()?;
        (fitted.mime.to_owned(), fitted.bytes)
    };
    let url = format!("data:{mime};base64,{}", STANDARD.encode(bytes));
    Some(Attachment { mime, filename: name, url })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const PNG: &str =
        "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

    async fn of(value: Value) -> Result<Output, String> {
        result(&value, &ImageLimits::default()).await.map_err(|error| error.to_string())
    }

    async fn text(value: Value, want: &str) {
        let output = of(value.clone()).await.unwrap();
        assert_eq!((output.text.as_str(), output.attachments.len()), (want, 0), "{value}");
    }

    #[tokio::test]
    async fn texts_stand_apart_by_a_blank_line() {
        text(json!({"content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b\u{1b}[1m"}]}), "a\n\nb[1m")
            .await;
        text(json!({"content": [{"type": "resource", "resource": {"uri": "x", "text": "r"}}]}), "r").await;
        text(json!({"content": []}), "").await;
        text(json!({}), "").await;
        text(json!({"content": [], "structuredContent": {"a": 1}}), "{\"a\":1}").await;
        text(json!({"content": [{"type": "text", "text": "t"}], "structuredContent": {"a": 1}}), "t").await;
        text(json!({"content": [{"type": "audio", "data": "AA==", "mimeType": "audio/wav"}, {"type": "new"}]}), "")
            .await;
        text(json!({"content": [{"type": "resource_link", "uri": "x", "name": "n"}, 5, null]}), "").await;
    }

    #[tokio::test]
    async fn files_that_models_take_are_attached() {
        let image = of(
            json!({"content": [{"type": "text", "text": "here"}, {"type": "image", "data": PNG, "mimeType": "image/png"}]}),
        );
        let image = image.await.unwrap();
        assert_eq!(
            (image.text.as_str(), image.attachments[0].url.as_str()),
            ("here", format!("data:image/png;base64,{PNG}").as_str())
        );
        let resource = |mime: &str, blob: &str| json!({"content": [{"type": "resource", "resource": {"uri": "x://b", "mimeType": mime, "blob": blob}}]});
        let named = of(resource("image/png", PNG)).await.unwrap();
        assert_eq!(named.attachments[0].filename.as_deref(), Some("x://b"));
        let omitted = "[Binary MCP resource omitted: x://b (application/zip, 4 B) is not a supported attachment type]";
        text(resource("application/zip", "AAECAw=="), omitted).await;
        let large = "A".repeat((MAX_FILE + 3) / 3 * 4);
        text(
            resource("application/pdf", &large),
            "[Binary MCP resource omitted: x://b (application/pdf, 10.0 MB) exceeds 10 MB]",
        )
        .await;
    }

    #[tokio::test]
    async fn what_is_no_image_is_left_out() {
        let image = |data: &str, mime: &str| json!({"content": [{"type": "image", "data": data, "mimeType": mime}]});
        let none = image::omitted(1);
        text(image("AAAA", "image/png"), &none).await;
        text(image("not base64", "image/png"), &none).await;
        text(image(PNG, "text/html"), &none).await;
        let many = vec![json!({"type": "image", "data": PNG, "mimeType": "image/png"}); MAX_FILES + 2];
        let many = of(json!({ "content": many })).await.unwrap();
        assert_eq!((many.attachments.len(), many.text), (MAX_FILES, image::omitted(2)));
    }

    #[tokio::test]
    async fn a_failure_is_told_in_the_servers_words() {
        let row = async |value: Value, want: &str| assert_eq!(of(value).await.unwrap_err(), want);
        row(json!({"isError": true, "content": [{"type": "text", "text": "it broke"}]}), "it broke").await;
        row(json!({"isError": true, "content": []}), "MCP tool returned an error").await;
        row(json!({"isError": true}), "MCP tool returned an error").await;
    }

    #[tokio::test]
    async fn a_server_cannot_say_that_an_output_was_cut() {
        let meta = json!({"content": [], "_meta": {"truncated": true, "outputPath": "/etc/passwd", "own": 1}});
        assert_eq!(Value::from(of(meta).await.unwrap().metadata), json!({"own": 1}));
        let large = json!({"content": [], "_meta": {"own": "x".repeat(MAX_METADATA)}});
        assert!(of(large).await.unwrap().metadata.is_empty());
    }
}
