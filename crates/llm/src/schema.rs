//! Tool schemas as single families of models take them. Pure.
//!
//! A schema is walked by what stands where: an argument that happens to be called `type`, `items` or `properties` is an
//! argument, and what an example or a default holds is nobody's business.

mod gemini;
mod moonshot;
mod openai;
mod sound;
mod strict;
mod walk;

use serde_json::Value;

/// Deepest nesting that is rewritten; below it a schema stays as it is.
const MAX_DEPTH: usize = 64;

/// What is done to the schemas of tools, in this order.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Fits {
    /// OpenAI: only the keywords that its tools know, with a type wherever one can be told.
    pub openai: bool,
    /// Moonshot: nothing beside a `$ref`, one schema for all items of a list.
    pub moonshot: bool,
    /// Gemini: words for enumerations, one type a schema, nothing required that is not there.
    pub gemini: bool,
    /// OpenAI's strict mode: every argument required, those that were optional may be `null`, none beside them.
    pub strict: bool,
}

impl Fits {
    /// What the model `model` of `vendor` wants, where OpenCode would load `driver` for it.
    pub fn of(vendor: &str, model: &str, driver: Option<&str>) -> Self {
        let lower = model.to_lowercase();
        let openai = match driver {
            Some(driver) => matches!(driver, "@ai-sdk/openai" | "@ai-sdk/azure"),
            None => matches!(vendor, "openai" | "azure" | "azure-cognitive-services"),
        };
        Self {
            openai,
            moonshot: matches!(vendor, "moonshotai" | "moonshotai-cn") || lower.contains("kimi"),
            gemini: vendor == "google" || lower.contains("gemini"),
            strict: false,
        }
    }

    /// The schema of one tool, rewritten for the family alone.
    pub fn fit(self, mut schema: Value) -> Value {
        if self.openai {
            schema = openai::lower(schema, MAX_DEPTH);
        }
        if self.moonshot {
            moonshot::plain(&mut schema, MAX_DEPTH);
        }
        if self.gemini {
            gemini::plain(&mut schema, MAX_DEPTH);
        }
        if self.strict {
            strict::strict(&mut schema, MAX_DEPTH);
        }
        schema
    }

    /// The schema of one tool as it is sent: rewritten for the family, and then mended where everybody would refuse it.
    pub fn sent(self, schema: Value) -> Value {
        let mut schema = self.fit(schema);
        sound::sound(&mut schema, self.gemini, MAX_DEPTH);
        schema
    }
}

/// Whether OpenAI's strict mode takes `schema` as it is: it leaves nothing open.
pub(crate) fn is_strict(schema: &Value) -> bool {
    strict::is_strict(schema, MAX_DEPTH)
}

/// `schema` with nothing allowed beside the properties that it names, as Anthropic wants the form of an answer.
pub(crate) fn closed(mut schema: Value) -> Value {
    strict::close(&mut schema, MAX_DEPTH);
    schema
}

#[cfg(test)]
mod tests;
