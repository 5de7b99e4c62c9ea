//! Fixtures that are only looked at: resources and prompts.

use haft_mcp::rmcp::model::{
    ContentBlock, GetPromptResult, JsonObject, Prompt, PromptArgument, PromptMessage, Resource, ResourceContents,
    ResourceTemplate, Role,
};
use serde_json::{Value, json};

/// One red pixel.
pub(crate) const PNG: &str =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==";

/// No sound at all, for no time at all.
pub(crate) const WAV: &str = "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQAAAAA=";

const TEXT: &str = "test://static-text";
const BINARY: &str = "test://static-binary";
const WATCHED: &str = "test://watched-resource";

pub(crate) fn resources() -> Vec<Resource> {
    let resource = |uri: &str, name: &str, mime: &str| {
        Resource::new(uri, name).with_description(format!("The resource {name}")).with_mime_type(mime)
    };
    vec![
        resource(TEXT, "static-text", "text/plain"),
        resource(BINARY, "static-binary", "image/png"),
        resource(WATCHED, "watched-resource", "text/plain"),
    ]
}

pub(crate) fn templates() -> Vec<ResourceTemplate> {
    vec![
        ResourceTemplate::new("test://template/{id}/data", "template")
            .with_description("Data for an id")
            .with_mime_type("application/json"),
    ]
}

pub(crate) fn read(uri: &str) -> Option<ResourceContents> {
    match uri {
        TEXT => Some(ResourceContents::text("This is the content of the static text resource.", uri)),
        BINARY => Some(ResourceContents::blob(PNG, uri).with_mime_type("image/png")),
        WATCHED => Some(ResourceContents::text("Nothing new.", uri)),
        _ => {
            let id = uri.strip_prefix("test://template/")?.strip_suffix("/data")?;
            let data = json!({ "id": id, "templateTest": true, "data": format!("Data for ID: {id}") });
            Some(ResourceContents::text(data.to_string(), uri).with_mime_type("application/json"))
        }
    }
}

pub(crate) fn prompts() -> Vec<Prompt> {
    let argument = |name: &str| PromptArgument::new(name).with_description(format!("The {name}")).with_required(true);
    let prompt = |name: &str, arguments: Option<Vec<PromptArgument>>| {
        Prompt::new(name, Some(format!("The prompt {name}")), arguments)
    };
    vec![
        prompt("test_simple_prompt", None),
        prompt("test_prompt_with_arguments", Some(vec![argument("arg1"), argument("arg2")])),
        prompt("test_prompt_with_embedded_resource", Some(vec![argument("resourceUri")])),
        prompt("test_prompt_with_image", None),
    ]
}

pub(crate) fn prompt(name: &str, arguments: &JsonObject) -> Option<GetPromptResult> {
    let argument = |name: &str| arguments.get(name).and_then(Value::as_str).unwrap_or_default();
    let user = |content: ContentBlock| PromptMessage::new(Role::User, content);
    let text = |text: String| user(ContentBlock::text(text));
    let messages = match name {
        "test_simple_prompt" => vec![text("This is a simple prompt for testing.".to_owned())],
        "test_prompt_with_arguments" => {
            vec![text(format!("Prompt with arguments: arg1='{}', arg2='{}'", argument("arg1"), argument("arg2")))]
        }
        "test_prompt_with_embedded_resource" => {
            let resource = ResourceContents::text("Embedded resource content for testing.", argument("resourceUri"));
            vec![user(ContentBlock::resource(resource)), text("Please process the embedded resource above.".to_owned())]
        }
        "test_prompt_with_image" => {
            vec![user(ContentBlock::image(PNG, "image/png")), text("Please analyze the image above.".to_owned())]
        }
        _ => return None,
    };
    Some(GetPromptResult::new(messages))
}
