//! What tools give back, in the protocol's words. Pure.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use haft_tool::{Attachment, Output, Spec, ToolError};
use rmcp::model::{CallToolResult, ContentBlock, JsonObject, MetaObject, ResourceContents, Tool};
use serde_json::{Value, json};

use super::hints::hints;

/// The definition of a tool that asks under `permission`.
pub fn definition(spec: &Spec, permission: &str) -> Tool {
    let schema = match &spec.parameters {
        Value::Object(schema) => schema.clone(),
        _ => JsonObject::from_iter([("type".to_owned(), "object".into())]),
    };
    Tool::new(spec.name.clone(), spec.description.clone(), schema).with_annotations(hints(permission))
}

/// What came of a call. A failure is a result, too: the client's model reads it. The kind of failure, and the title and
/// the metadata of a success, stand under `haft` in the result's own metadata, for programs.
pub fn result(came: Result<Output, ToolError>) -> CallToolResult {
    match came {
        Ok(Output { title, text, metadata, attachments }) => {
            let mut content = Vec::new();
            if !text.is_empty() || attachments.is_empty() {
                content.push(ContentBlock::text(text));
            }
            content.extend(attachments.into_iter().map(block));
            let mut result = CallToolResult::success(content);
            result.meta = Some(about(json!({ "title": title, "metadata": metadata })));
            result
        }
        Err(error) => {
            let mut result = CallToolResult::error(vec![ContentBlock::text(error.to_string())]);
            result.meta = Some(about(json!({ "error": { "kind": error.kind() } })));
            result
        }
    }
}

fn about(value: Value) -> MetaObject {
    let mut meta = MetaObject::default();
    meta.insert("haft".to_owned(), value);
    meta
}

/// A file beside an output: pictures and sounds as such, anything else as a resource that is sent along.
fn block(file: Attachment) -> ContentBlock {
    let Some((kind, data)) = data(&file.url) else {
        // Something that is not held is only pointed to.
        return ContentBlock::text(format!("[{} at {}]", file.mime, file.url));
    };
    let mime = file.mime;
    if mime.starts_with("image/") {
        return ContentBlock::image(into_base64(kind, data), mime);
    }
    if mime.starts_with("audio/") {
        return ContentBlock::audio(into_base64(kind, data), mime);
    }
    let uri = format!("haft:///{}", file.filename.as_deref().unwrap_or("attachment"));
    let plain = mime.starts_with("text/") || mime == "application/json";
    let held = plain.then(|| text(kind, data)).flatten();
    let resource = match held {
        Some(text) => ResourceContents::text(text, uri),
        None => ResourceContents::blob(into_base64(kind, data), uri),
    };
    ContentBlock::resource(resource.with_mime_type(mime))
}

#[derive(Clone, Copy)]
enum Kind {
    Base64,
    Plain,
}

/// What a `data:` address holds.
fn data(url: &str) -> Option<(Kind, &str)> {
    let (head, data) = url.strip_prefix("data:")?.split_once(',')?;
    Some((if head.ends_with(";base64") { Kind::Base64 } else { Kind::Plain }, data))
}

fn into_base64(kind: Kind, data: &str) -> String {
    match kind {
        Kind::Base64 => data.to_owned(),
        Kind::Plain => STANDARD.encode(data),
    }
}

fn text(kind: Kind, data: &str) -> Option<String> {
    match kind {
        Kind::Base64 => String::from_utf8(STANDARD.decode(data).ok()?).ok(),
        Kind::Plain => Some(data.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use haft_permission::Denied;

    #[track_caller]
    fn check(came: Result<Output, ToolError>, want: Value) {
        let mut got = serde_json::to_value(result(came)).unwrap();
        got.as_object_mut().unwrap().remove("resultType");
        assert_eq!(got, want);
    }

    fn with(mime: &str, url: &str) -> Output {
        let file = Attachment { mime: mime.to_owned(), filename: Some("f.x".to_owned()), url: url.to_owned() };
        Output { attachments: vec![file], ..Output::default() }
    }

    #[test]
    fn a_success_is_its_text_and_what_goes_with_it() {
        let meta = json!({ "haft": { "title": "a.rs", "metadata": { "truncated": false } } });
        check(
            Ok(Output::new("a.rs", "fn main() {}").meta("truncated", false)),
            json!({ "content": [{ "type": "text", "text": "fn main() {}" }], "isError": false, "_meta": meta }),
        );
        let plain = json!({ "haft": { "title": "", "metadata": {} } });
        let holds = |output: Output, block: Value| {
            check(Ok(output), json!({ "content": [block], "isError": false, "_meta": plain }));
        };
        // Nothing is a text, too: a result without content confuses clients.
        holds(Output::default(), json!({ "type": "text", "text": "" }));
        let image = json!({ "type": "image", "data": "AAAA", "mimeType": "image/png" });
        holds(with("image/png", "data:image/png;base64,AAAA"), image);
        let sound = json!({ "type": "audio", "data": "AAAA", "mimeType": "audio/wav" });
        holds(with("audio/wav", "data:audio/wav;base64,AAAA"), sound);
        let text = json!({ "uri": "haft:///f.x", "mimeType": "text/plain", "text": "hi" });
        holds(with("text/plain", "data:text/plain;base64,aGk="), json!({ "type": "resource", "resource": text }));
        let blob = json!({ "uri": "haft:///f.x", "mimeType": "application/pdf", "blob": "AAAA" });
        holds(
            with("application/pdf", "data:application/pdf;base64,AAAA"),
            json!({ "type": "resource", "resource": blob }),
        );
        let elsewhere = json!({ "type": "text", "text": "[image/png at https://example.com/x]" });
        holds(with("image/png", "https://example.com/x"), elsewhere);
    }

    #[test]
    fn a_failure_is_a_result_that_says_its_kind() {
        let failed = |error: ToolError, kind: &str| {
            let text = error.to_string();
            let want = json!({
                "content": [{ "type": "text", "text": text }],
                "isError": true,
                "_meta": { "haft": { "error": { "kind": kind } } },
            });
            check(Err(error), want);
        };
        failed(ToolError::BadInput("depth must be a number".to_owned()), "bad_input");
        failed(ToolError::Denied(Denied::Rejected), "denied");
        failed(ToolError::Cancelled, "cancelled");
        failed(ToolError::Failed("no such file".to_owned()), "failed");
    }

    #[test]
    fn a_definition_says_what_a_tool_may_do() {
        let parameters = json!({ "type": "object", "properties": { "path": { "type": "string" } } });
        let spec = Spec { name: "peek".to_owned(), description: "Looks.".to_owned(), parameters: parameters.clone() };
        let told = serde_json::to_value(definition(&spec, "read")).unwrap();
        assert_eq!(told["inputSchema"], parameters);
        assert_eq!(told["annotations"]["readOnlyHint"], true);
    }
}
