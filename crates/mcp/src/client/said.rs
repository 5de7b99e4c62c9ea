//! What a server says that it has, within bounds. Pure.

use serde_json::Value;

use super::cache::{Prompt, Resource};
use super::definition::Definition;
use super::naming::{clean, line, prompt_name};

/// Longest instructions of a server, in bytes; the rest is left out.
const MAX_INSTRUCTIONS: usize = 8 * 1024;
/// Most resources of a server that are kept, for whoever wants to name one.
const MAX_RESOURCES: usize = 500;
/// Longest address of one of them, in bytes.
const MAX_URI: usize = 1000;
/// Most prompts of a server.
const MAX_PROMPTS: usize = 200;

/// The tools of the server called `server` as it lists them. Those that cannot be used are left out, and of two with the
/// same name the second.
pub(super) fn definitions(server: &str, tools: &[Value]) -> Vec<Definition> {
    let mut definitions: Vec<Definition> = Vec::new();
    for tool in tools {
        match Definition::of(server, tool) {
            Ok(one) if definitions.iter().any(|other| other.name == one.name) => {
                tracing::warn!(server, tool = one.name, "two tools of a server have the same name");
            }
            Ok(one) => definitions.push(one),
            Err(why) => tracing::warn!(server, why, "a tool of a server is left out"),
        }
    }
    definitions
}

/// Its prompts, as many as are kept.
pub(super) fn prompts(server: &str, listed: &[Value]) -> Vec<Prompt> {
    listed.iter().take(MAX_PROMPTS).filter_map(|one| prompt(server, one)).collect()
}

/// Its resources, as many as are kept.
pub(super) fn resources(listed: &[Value]) -> Vec<Resource> {
    listed.iter().filter_map(resource).take(MAX_RESOURCES).collect()
}

/// What a server says about how to use it, within bounds.
pub(super) fn instructions(said: &str) -> Option<String> {
    let mut said = clean(said).trim().to_owned();
    if said.len() > MAX_INSTRUCTIONS {
        said.truncate(said.floor_char_boundary(MAX_INSTRUCTIONS));
        said.push_str(" …");
    }
    (!said.is_empty()).then_some(said)
}

/// A prompt of the server called `server`, as it lists it.
fn prompt(server: &str, said: &Value) -> Option<Prompt> {
    let prompt = said["name"].as_str().filter(|name| !name.is_empty())?;
    let arguments = said["arguments"].as_array().into_iter().flatten();
    Some(Prompt {
        name: prompt_name(server, prompt),
        prompt: prompt.to_owned(),
        description: line(said["description"].as_str().unwrap_or_default()),
        arguments: arguments.filter_map(|one| Some(one["name"].as_str()?.to_owned())).collect(),
    })
}

/// A resource, as its server lists it. `None` where nobody could write down its address.
fn resource(said: &Value) -> Option<Resource> {
    let uri = said["uri"].as_str().filter(|uri| !uri.is_empty() && uri.len() <= MAX_URI && clean(uri) == *uri)?;
    let text = |key: &str| said[key].as_str().filter(|text| !text.is_empty());
    let name = text("title").or_else(|| text("name"));
    let about: Vec<&str> = name.into_iter().chain(text("description")).collect();
    Some(Resource { uri: uri.to_owned(), about: line(&about.join(": ")) })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_resource_is_known_by_an_address_that_can_be_written() {
        let row = |said: Value, want: Option<(&str, &str)>| {
            let got = resource(&said);
            assert_eq!(got.as_ref().map(|one| (one.uri.as_str(), one.about.as_str())), want, "{said}");
        };
        row(json!({"uri": "x://a", "name": "A"}), Some(("x://a", "A")));
        let all = json!({"uri": "x://a", "name": "A", "title": "The A", "description": "first\n\u{1b}of all"});
        row(all, Some(("x://a", "The A: first of all")));
        row(json!({"uri": "x://a"}), Some(("x://a", "")));
        row(json!({"uri": "x://\u{1b}[2J", "name": "A"}), None);
        row(json!({"uri": "", "name": "A"}), None);
        row(json!({"uri": "x".repeat(MAX_URI + 1)}), None);
        row(json!({"name": "A"}), None);
    }

    #[test]
    fn instructions_have_an_end() {
        assert_eq!(instructions(" \u{1b} \n"), None);
        assert_eq!(instructions(" a\nb ").as_deref(), Some("a\nb"));
        assert!(instructions(&"é".repeat(MAX_INSTRUCTIONS)).is_some_and(|said| said.len() <= MAX_INSTRUCTIONS + 5));
    }

    #[test]
    fn not_more_is_kept_than_may_be() {
        let many: Vec<Value> =
            (0..MAX_RESOURCES + 1).map(|at| json!({"uri": format!("x://{at}"), "name": "p"})).collect();
        assert_eq!((resources(&many).len(), prompts("s", &many).len()), (MAX_RESOURCES, MAX_PROMPTS));
        let tool = json!({"name": "t", "inputSchema": {"type": "object"}});
        assert_eq!(definitions("s", &[tool.clone(), json!({}), tool]).len(), 1);
    }
}
