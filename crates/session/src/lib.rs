//! The loop: prompt, model step, tool calls, again. The host of every call.
//!
//! One task owns each session and everything in it that changes ([`Session`] is a handle to it). A turn reads the
//! history, asks the model, folds the answer into parts, runs the calls and starts over, until the model asks for no
//! tool. Every change goes through [`haft_store::Journal::record`]: stored first, told next.
//!
//! ```text
//! Session::prompt ─▶ driver ─▶ turn ─┬─▶ assemble   history -> Request      pure
//!                                    │   Provider::stream                    the network
//!                                    │   fold       Chunk -> Event           pure
//!                                    │   calls      decode, ask, run, cut
//!                                    └── again, until no tool is asked for
//! ```
//!
//! **Never here:** the name of a tool, of a vendor, of a screen. Tools come as a [`haft_tool::Registry`], models as a
//! [`haft_llm::Provider`], asks go to a [`haft_permission::Gate`].

mod agent;
mod assemble;
mod calls;
mod driver;
mod error;
mod fold;
mod model;
mod policy;
mod prompt;
mod recover;
mod setup;
mod slug;
mod system;
mod turn;
mod workbench;

pub use agent::{Agent, build};
pub use assemble::{assemble, definition};
pub use driver::Session;
pub use error::{SessionError, TurnError};
pub use model::{Cost, Limits, Model};
pub use policy::{defaults, hidden};
pub use prompt::Prompt;
pub use setup::{NewSession, Setup};
pub use turn::TurnEnd;
pub use workbench::{Answered, Workbench};
