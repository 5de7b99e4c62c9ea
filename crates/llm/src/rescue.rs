//! Calls that a model writes as text, read as calls.
//!
//! Weak models, and servers that do not know the form of their model, put a call where words belong. It is taken for
//! one only where all of this holds; a call that is missed costs a step, and an example that is run costs more:
//!
//! - the answer holds no real call, and was neither cut off nor withheld;
//! - it stands at the end of the answer, complete, and nothing follows it;
//! - it names a tool that was offered;
//! - it is not quoted: not in a fence, in code within a line, or in an indented block, and it begins a line or follows
//!   the end of a sentence, unless its sign is one that nobody writes by hand;
//! - it is not read out: it does not stand word for word in a file, a page, an output or a prompt that the model was shown;
//! - without a sign of its own, as bare JSON or in a fence, it is all that the answer says, has all arguments that the
//!   tool requires, and nothing beside its name and them.
//!
//! Thoughts are looked at only where nothing was said.

mod bare;
mod families;
mod quoted;
mod signs;
mod watch;

use serde_json::{Map, Value};

use crate::ToolSpec;
use bare::may_be_call;
pub(crate) use watch::Watch;

/// Most calls in one answer.
const MAX_CALLS: usize = 128;

/// Which calls that are written as text are read as calls.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Rescue {
    /// None.
    #[default]
    Off,
    /// Those with the signs of a family of models.
    Marked,
    /// Also those without a sign: bare JSON, or JSON in a fence, that is all the answer says.
    Any,
}

/// A call as it was found.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Found {
    name: String,
    arguments: Given,
}

/// Arguments as they were found.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Given {
    /// As JSON.
    Fields(Map<String, Value>),
    /// Each as a text, whatever it is.
    Texts(Vec<(String, String)>),
}

/// A call that can be made.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Call {
    /// The tool, as it was offered.
    pub(crate) name: String,
    /// Its arguments, as JSON.
    pub(crate) arguments: String,
}

/// The calls that `text` is, all of it. `None`: it is something else.
///
/// `bare`: it has no sign of its own.
pub(crate) fn calls(text: &str, tools: &[ToolSpec], bare: bool) -> Option<Vec<Call>> {
    let found = families::read(text)?;
    (!found.is_empty() && found.len() <= MAX_CALLS).then_some(())?;
    found.into_iter().map(|found| call(found, tools, bare)).collect()
}

fn call(found: Found, tools: &[ToolSpec], bare: bool) -> Option<Call> {
    let tool = offered(&found.name, tools)?;
    let properties = tool.parameters.get("properties");
    let fields = match found.arguments {
        Given::Fields(fields) => fields,
        Given::Texts(texts) => {
            let typed = |(name, text): (String, String)| {
                let value = typed(text, properties.and_then(|properties| properties.get(&name)));
                (name, value)
            };
            texts.into_iter().map(typed).collect()
        }
    };
    let required = tool.parameters.get("required").and_then(Value::as_array);
    let has = |name: &Value| name.as_str().is_none_or(|name| fields.contains_key(name));
    let complete = required.is_none_or(|required| required.iter().all(has));
    (complete || !bare).then(|| Call { name: tool.name.clone(), arguments: Value::Object(fields).to_string() })
}

/// The offered tool that is meant by `name`: the one of that name, or the only one that differs in case alone.
fn offered<'a>(name: &str, tools: &'a [ToolSpec]) -> Option<&'a ToolSpec> {
    const NAMESPACES: [&str; 4] = ["functions.", "default_api.", "tools.", "tool."];
    let name = NAMESPACES.into_iter().find_map(|space| name.strip_prefix(space)).unwrap_or(name);
    tools.iter().find(|tool| tool.name == name).or_else(|| {
        let mut same = tools.iter().filter(|tool| tool.name.eq_ignore_ascii_case(name));
        same.next().filter(|_| same.next().is_none())
    })
}

/// What a text means where `schema` wants something else than a text.
fn typed(text: String, schema: Option<&Value>) -> Value {
    let kinds = match schema.and_then(|schema| schema.get("type")) {
        Some(Value::Array(kinds)) => kinds.as_slice(),
        Some(kind) => std::slice::from_ref(kind),
        None => &[],
    };
    if kinds.is_empty() || kinds.iter().any(|kind| kind == "string") {
        return Value::String(text);
    }
    let trimmed = text.trim();
    let mut reader = crate::repair::Reader::new(trimmed, None);
    let value = serde_json::from_str(trimmed).ok().or_else(|| reader.value().filter(|_| reader.rest().is_empty()));
    value.filter(|value: &Value| !value.is_string()).unwrap_or(Value::String(text))
}

#[cfg(test)]
mod tests;
