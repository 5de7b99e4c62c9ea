//! The trait a tool implements, and its erased twin.

use std::borrow::Cow;

use futures::future::BoxFuture;
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::{Call, Output, ToolError, decode};

/// A tool. Built once with the parts of the world it needs, run many times with the conversation it is called from.
pub trait Tool: Send + Sync + 'static {
    /// What the model calls it.
    const NAME: &'static str;
    /// Other names under which models know it.
    const ALIASES: &'static [&'static str] = &[];
    /// The permission it asks under. Where rules deny that altogether, the tool is not offered.
    const PERMISSION: &'static str = Self::NAME;
    /// Whether models are told of it without the user switching it on. It can be called by name either way.
    const OFFERED: bool = true;
    /// How a model is told of it that gets lost among many tools and long texts; `None`: it is not. It can be called
    /// by name either way.
    const SMALL: Option<Small> = None;
    /// Arguments. Field docs become the schema the model reads.
    type Input: DeserializeOwned + JsonSchema + Send;
    /// The prose the model reads. Keep it in a `.md` file beside the tool.
    fn description(&self) -> Cow<'static, str>;
    /// Whether this model should be offered the tool. (Some models patch better than they edit.)
    fn suits(&self, _model: &str) -> bool {
        true
    }
    /// Does the work. Dropping the future must stop it.
    fn run(&self, input: Self::Input, call: &Call) -> impl Future<Output = Result<Output, ToolError>> + Send;
}

/// A [`Tool`] with its types erased. Tools of other programs implement this directly.
pub trait AnyTool: Send + Sync {
    /// What the model is told about it.
    fn spec(&self) -> Spec;
    /// Other names under which models know it.
    fn aliases(&self) -> &[&str] {
        &[]
    }
    /// The permission it asks under. Where rules deny that altogether, the tool is not offered.
    fn permission(&self) -> String {
        self.spec().name
    }
    /// Whether models are told of it without the user switching it on. It can be called by name either way.
    fn offered(&self) -> bool {
        true
    }
    /// Whether this model should be offered the tool.
    fn suits(&self, _model: &str) -> bool {
        true
    }
    /// What a model is told about it that gets lost among many tools and long texts; `None`: nothing.
    fn small(&self) -> Option<Spec> {
        None
    }
    /// Does the work. Dropping the future must stop it.
    fn run<'a>(&'a self, input: Value, call: &'a Call) -> BoxFuture<'a, Result<Output, ToolError>>;
}

/// What a model is told about a tool.
#[derive(Debug, Clone, PartialEq)]
pub struct Spec {
    /// What the model calls it.
    pub name: String,
    /// The prose it reads.
    pub description: String,
    /// A JSON Schema (draft 2020-12) of the arguments, an object, without definitions apart.
    pub parameters: Value,
}

/// How a model is told of a tool in few words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Small {
    /// The prose it reads: a line.
    pub description: &'static str,
    /// The arguments it is told of; all that must be there are among them.
    pub arguments: &'static [&'static str],
}

impl Small {
    /// `spec` in few words.
    fn spec(self, spec: Spec) -> Spec {
        let mut parameters = spec.parameters;
        if let Some(properties) = parameters.get_mut("properties").and_then(Value::as_object_mut) {
            properties.retain(|name, _| self.arguments.contains(&name.as_str()));
        }
        Spec { description: self.description.to_owned(), parameters, ..spec }
    }
}

/// A [`Tool`] as an [`AnyTool`].
pub(crate) struct Erased<T>(pub(crate) T);

impl<T: Tool> AnyTool for Erased<T> {
    fn spec(&self) -> Spec {
        Spec {
            name: T::NAME.to_owned(),
            description: self.0.description().trim().to_owned(),
            parameters: decode::schema::<T::Input>(),
        }
    }

    fn aliases(&self) -> &[&str] {
        T::ALIASES
    }

    fn permission(&self) -> String {
        T::PERMISSION.to_owned()
    }

    fn offered(&self) -> bool {
        T::OFFERED
    }

    fn suits(&self, model: &str) -> bool {
        self.0.suits(model)
    }

    fn small(&self) -> Option<Spec> {
        T::SMALL.map(|small| small.spec(self.spec()))
    }

    fn run<'a>(&'a self, input: Value, call: &'a Call) -> BoxFuture<'a, Result<Output, ToolError>> {
        Box::pin(async move {
            let input = decode::decode(T::NAME, input)?;
            self.0.run(input, call).await
        })
    }
}
