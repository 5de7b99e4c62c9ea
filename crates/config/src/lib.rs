//! Files, environment and flags in; one checked [`Config`] out.
//!
//! At each place where OpenCode looks for `opencode.json(c)` that file is read first, and `haft.json(c)` of the same
//! place is laid over it. Objects merge key by key, everything else replaces; `{env:NAME}` and `{file:path}` stand
//! for what they name and can never break the JSON around them.
//!
//! **Never here:** writing. No file of the user's is ever changed, and nothing here is global: `cli` hands each crate
//! the values it needs.

mod error;
mod keys;
mod layers;
mod permission;
mod provider;
mod resolved;
mod substitute;

pub use error::ConfigError;
pub use layers::{Source, Sources};
pub use provider::{Limit, ModelConfig, Options, Prices, ProviderConfig};
pub use resolved::{Config, load};
