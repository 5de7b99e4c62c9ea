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
//! **Never here:** the name of a tool (but of the few that a person uses without a model, in `hands`), of a vendor (but of
//! families of models that are told a word of their own, in `family`), of a screen. Tools come as a [`haft_tool::Registry`], models as a [`haft_llm::Provider`], asks go to a
//! [`haft_permission::Gate`].

mod agents;
mod beside;
mod compact;
mod driver;
mod error;
mod guest;
mod hands;
mod kin;
mod model;
mod prompt;
mod questions;
pub mod replay;
mod request;
mod roster;
mod session;
mod setup;
mod snapshots;
mod stored;
mod task;
mod turn;
mod undo;
mod workbench;

pub use agents::agent::{Agent, BUILTIN_AGENTS, Draft, Mode, reminder};
pub use agents::architect::{Design, design};
pub use agents::delegates::told;
pub use agents::policy::{Commands, Folders, compose, one_shot, session_rules};
pub use agents::role::offered;
pub use agents::{Agents, Choice};
pub use beside::gist::begins as begins_turn;
pub use compact::Compaction;
pub use error::{SessionError, TurnError};
pub use guest::{Guest, Wanted};
pub use model::{Cost, Limits, Model, Prices, Tier, Toolset};
pub use prompt::command::{Command, Piece, builtin as builtin_commands, expand};
pub use prompt::{Delivery, Prompt, check_format};
pub use questions::{NoQuestion, Questions};
pub use request::assemble::{assemble, definition};
pub use request::estimate::{Estimate, tokens};
pub use request::instructions::{InstructionFiles, Named, Pages};
pub use request::skills::Skill;
pub use roster::Roster;
pub use session::Session;
pub use setup::{Models, NewSession, Note, Options, Prompts, Resources, Setup, Tasks, TurnLimits};
pub use snapshots::past::Past;
pub use snapshots::{Ground, MAX_EDITED, MAX_FILE, Recorded, Snapshots, Survey};
pub use stored::delete::{delete, family};
pub use stored::portable::{BadPortable, Portable};
pub use task::apart::{Apart, Worktrees};
pub use task::budget::TaskLimits;
pub use turn::TurnEnd;
pub use undo::{Fate, Force, Rewind, Rewound, To, Why, shown};
pub use workbench::{Answered, Workbench};
