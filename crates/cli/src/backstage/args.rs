//! What a function of `client` is given.

use haft_protocol::{Id, SessionId};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::Failed;

/// The parts that an argument may be taken apart into.
const PARTS: [&str; 3] = ["path", "query", "body"];

/// What a function of `client` is given: `{ path, query, body }`, or all of it in one.
pub(super) struct Args(Option<Map<String, Value>>);

impl Args {
    /// The first of `args` counts.
    pub(super) fn new(args: Vec<Value>) -> Self {
        Self(
            args.into_iter().next().and_then(|first| if let Value::Object(first) = first { Some(first) } else { None }),
        )
    }

    /// The argument called `name`, wherever it stands. What is null counts as left out.
    pub(super) fn get(&self, name: &str) -> Option<&Value> {
        let first = self.0.as_ref()?;
        let parts = PARTS.iter().filter_map(|part| first.get(*part)?.as_object());
        let is_part = |value: &Value| value.is_object() && PARTS.contains(&name);
        let found = parts.chain([first]).find_map(|part| part.get(name).filter(|value| !is_part(value)));
        found.filter(|value| !value.is_null())
    }

    /// What is to be kept whole.
    pub(super) fn body(&self) -> Option<&Value> {
        let first = self.0.as_ref()?;
        first.get("body").or_else(|| first.get("auth"))
    }

    pub(super) fn text(&self, name: &str) -> Option<String> {
        self.get(name)?.as_str().map(str::to_owned)
    }

    pub(super) fn number(&self, name: &str) -> Option<usize> {
        self.get(name)?.as_u64().and_then(|number| usize::try_from(number).ok())
    }

    /// The argument called `name` as a value of its own form.
    pub(super) fn read<T: DeserializeOwned>(&self, name: &str) -> Result<Option<T>, Failed> {
        let read = self.get(name).map(|value| serde_json::from_value(value.clone()));
        read.transpose().map_err(|error| Failed::refused(format!("{name} has another form: {error}")))
    }

    /// The session that is named.
    pub(super) fn session(&self) -> Result<SessionId, Failed> {
        let id = self.text("id").or_else(|| self.text("sessionID")).unwrap_or_default();
        SessionId::parse(&id).map_err(|_| Failed::Missing(format!("there is no session {id:?} in this project")))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn arguments_have_two_forms() {
        let row = |args: Value, name: &str, want: Option<&str>| {
            assert_eq!(Args::new(vec![args.clone()]).text(name).as_deref(), want, "{args}");
        };
        row(json!({ "path": { "id": "a" } }), "id", Some("a"));
        row(json!({ "sessionID": "a" }), "sessionID", Some("a"));
        row(json!({ "query": { "path": "a.txt" } }), "path", Some("a.txt"));
        row(json!({ "path": "a.txt" }), "path", Some("a.txt"));
        row(json!({ "body": { "message": "m" } }), "message", Some("m"));
        row(json!({ "body": { "message": null } }), "message", None);
        row(json!({ "path": {} }), "path", None);
        row(json!(7), "id", None);
        assert_eq!(Args::new(Vec::new()).text("id"), None);
        let model = Args::new(vec![json!({ "body": { "model": { "modelID": "m" } } })]);
        assert_eq!(model.get("model"), Some(&json!({ "modelID": "m" })));
    }
}
