//! Tools and plug-ins written in TypeScript or JavaScript, run without Node.
//!
//! An [`Engine`] is a process without any rights: no files, no network, no other processes. Each [`Script`] in it is one
//! file with what it imports, in a small engine of its own. What a script wants of the world it asks of the [`World`] of
//! the call that it runs for, so that all of it passes the one gate.
//!
//! What needs a real Node runs in one that is installed, in the cage of commands: see [`Hosting`].
//!
//! **Never here:** deciding what is allowed, and running a script in this process.

mod effects;
mod engine;
mod error;
mod execute;
mod host;
mod inside;
pub mod plugin;
mod script;
mod tools;
mod wire;

pub use effects::{CallWorld, Doors, MAX_FILE, NoWorld, Ways};
pub use engine::{Engine, Facts, Launch};
pub use error::{Refusal, ScriptError};
pub use execute::Execute;
pub use host::{Hosting, MAX_HOSTS, Right};
pub use inside::{MAX_REALMS, serve, strip_types};
pub use script::{Allowance, Called, Loaded, Name, Script, Source, Sources, World};
pub use tools::{Bounds, BoundsOf, Cache, Disk, Imported, MAX_FILES, PluginTools, Tell, ToolFiles, entry_of};
