//! Settings that steer haft, or the driver that OpenCode would load, and are sent to nobody.
//!
//! They stand in the `options` of a model beside the fields of its requests. Each dialect, and the quirks before it, heed
//! those that mean something to them. All dialects leave all of them out, so that a model's settings stay good when it is
//! asked another way: most vendors refuse a request with a field that they do not know.

use serde_json::{Map, Value};

/// A server is a LiteLLM proxy, which refuses past calls where no tool is offered.
pub(crate) const LITELLM: &str = "litellmProxy";

/// The vendor is told the name of the conversation, for its cache.
pub(crate) const CACHE_KEY: &str = "setCacheKey";

/// How calls are read that a model writes as text: `"off"`, `"marked"`, `"any"`, or `false` and `true` for the first and
/// the second.
pub(crate) const TEXT_CALLS: &str = "textToolCalls";

/// How long what is marked for a cache is kept: `"5m"`, as it is without, or `"1h"`, whose writing costs more.
pub(crate) const CACHE_LIFETIME: &str = "cacheTtl";

/// Whether, and with which fields, prefixes are marked in Converse.
pub(crate) const CACHE_POINT: &str = "cachePoint";

/// The model is held to the schemas of its tools.
pub(crate) const STRICT: &str = "strict";

/// One call an answer, as Anthropic's driver and that of Bedrock are told.
pub(crate) const ONE_CALL: &str = "disableParallelToolUse";

/// Gemini is held to the schema of an answer, and not only to JSON.
pub(crate) const SCHEMAS: &str = "structuredOutputs";

/// OpenAI's driver takes a model for one that thinks, whatever its name.
pub(crate) const THINKS: &str = "forceReasoning";

/// Whether OpenAI's models are held to the schema of an answer.
pub(crate) const STRICT_ANSWER: &str = "strictJsonSchema";

/// Whose words the system prompt is to OpenAI's models.
pub(crate) const SYSTEM: &str = "systemMessageMode";

/// Who made a model of Bedrock's that has a name of one's own.
pub(crate) const FAMILY: &str = "modelFamily";

/// All of them.
const ALL: [&str; 28] = [
    LITELLM,
    CACHE_KEY,
    TEXT_CALLS,
    CACHE_LIFETIME,
    CACHE_POINT,
    STRICT,
    ONE_CALL,
    SCHEMAS,
    THINKS,
    STRICT_ANSWER,
    SYSTEM,
    FAMILY,
    // Deadlines, which are the vendor's and not the model's.
    "connectTimeout",
    "headerTimeout",
    "chunkTimeout",
    "timeout",
    // What OpenCode's drivers are told, and haft does or leaves without being told; or what asks for answers that no
    // dialect reads.
    "allowedTools",
    "passThroughUnsupportedFiles",
    "reasoningEffortUpdate",
    "requestType",
    "sendReasoning",
    "sharedRequestType",
    "streamFunctionCallArguments",
    "structuredOutputMode",
    "textFormat",
    "toolStreaming",
    "useCompletionUrls",
    "includeUsage",
];

/// What of `settings` is for the vendor, in the order in which it stands there.
pub(crate) fn without(settings: &Map<String, Value>) -> Map<String, Value> {
    let is_sent = |name: &str| !ALL.contains(&name);
    settings.iter().filter(|(name, _)| is_sent(name)).map(|(name, value)| (name.clone(), value.clone())).collect()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::json;

    use super::*;
    use crate::catalogue::Dialect;
    use crate::dialect::chat::{Chat, ChatManners};
    use crate::dialect::converse::Converse;
    use crate::dialect::gemini::Gemini;
    use crate::dialect::messages::Messages;
    use crate::dialect::responses::Responses;
    use crate::quirks::Quirks;
    use crate::{Provider, Request, Server};

    const DIALECTS: [Dialect; 5] =
        [Dialect::Chat, Dialect::Responses, Dialect::Messages, Dialect::Gemini, Dialect::Converse];

    fn speaker(dialect: Dialect) -> Arc<dyn Provider> {
        let server = Server { base_url: "http://127.0.0.1:1".to_owned(), ..Server::default() };
        match dialect {
            Dialect::Chat => Arc::new(Chat::new(&server, ChatManners::default()).unwrap()),
            Dialect::Responses => Arc::new(Responses::new(&server).unwrap()),
            Dialect::Messages => Arc::new(Messages::new(&server).unwrap()),
            Dialect::Gemini => Arc::new(Gemini::new(&server).unwrap()),
            Dialect::Converse => Arc::new(Converse::new(&server).unwrap()),
        }
    }

    /// The names of the fields of a body, with those that Converse hands on to the model.
    fn names(body: &[u8]) -> Vec<String> {
        let body: Value = serde_json::from_slice(body).unwrap();
        let inner = body.get("additionalModelRequestFields");
        let fields = [Some(&body), inner].into_iter().flatten().filter_map(Value::as_object);
        fields.flat_map(|fields| fields.keys().cloned()).collect()
    }

    #[test]
    fn no_dialect_sends_what_steers() {
        for dialect in DIALECTS {
            for provider in [speaker(dialect), Quirks::of("v", "m").around(speaker(dialect))] {
                for name in ALL {
                    for value in [json!(true), json!(false), json!("1h"), json!(7), json!({"a": 1}), Value::Null] {
                        let mut extra = Map::from_iter([("field".to_owned(), json!(1))]);
                        extra.insert(name.to_owned(), value.clone());
                        let request = Request { model: "claude-m".to_owned(), extra, ..Request::default() };
                        let names = names(&provider.body(request));
                        assert!(!names.iter().any(|sent| sent == name), "{dialect:?} is sent {name}: {value}");
                        assert!(names.iter().any(|sent| sent == "field"), "{dialect:?} beside {name}: {value}");
                    }
                }
            }
        }
    }
}
