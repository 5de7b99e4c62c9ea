//! What a tool *is*: the trait, the call, its host, the registry, decoding input, deciding how to cut output.
//!
//! ```
//! use std::borrow::Cow;
//! use haft_tool::{Call, Output, Registry, Tool, ToolError};
//!
//! struct Shout;
//!
//! #[derive(serde::Deserialize, schemars::JsonSchema)]
//! struct Input {
//!     /// What to shout.
//!     text: String,
//! }
//!
//! impl Tool for Shout {
//!     const NAME: &'static str = "shout";
//!     type Input = Input;
//!
//!     fn description(&self) -> Cow<'static, str> {
//!         "Says it louder.".into()
//!     }
//!
//!     async fn run(&self, input: Input, _call: &Call) -> Result<Output, ToolError> {
//!         Ok(Output::new("Shouting", input.text.to_uppercase()))
//!     }
//! }
//!
//! let registry = Registry::default().with(Shout);
//! assert_eq!(registry.specs()[0].name, "shout");
//! ```
//!
//! **Never here:** a tool, a session, a store, a screen. A tool that wants one of them wants a method on [`Host`].

mod belongings;
mod budget;
mod call;
mod decode;
mod error;
pub mod fake;
mod hook;
pub mod image;
mod keep;
mod marks;
mod output;
mod registry;
mod sampling;
mod solo;
mod source;
mod stands;
mod task;
mod tool;
pub mod truncate;

pub use belongings::Belongings;
pub use budget::{CALL, SEARCH, TOOLS_BUDGET, tokens};
pub use call::{Allowing, Call, CallId, Host};
pub use decode::{bad_arguments, fit};
pub use error::{TellModel, ToolError, with_causes};
pub use hook::{Hook, HookError, Hooked, Hooks, harmless};
pub use keep::{Kept, MAX_KEPT, reader_hint};
pub use marks::{Marks, Stamp};
pub use output::{Attachment, Output, foreign};
pub use registry::{INVALID, Registry, Switches, parse_arguments};
pub use sampling::{Said, Sampled, Sampling};
pub use solo::Solo;
pub use source::{MAX_SOURCE_TOOLS, MAX_TOOL_NAME, Source};
pub use stands::{Standing, Stands};
pub use task::{Delegate, PlanFile, Task, TaskEnd, TaskResult};
pub use tool::{AnyTool, Small, Spec, Tool};
