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

mod agent;
mod agents;
mod apart;
mod architect;
mod assemble;
mod background;
mod beside;
mod budget;
mod call_ids;
mod calls;
mod cast;
mod command;
mod compact;
mod condensed;
mod delegates;
mod delete;
mod desk;
mod diffs;
mod doom;
mod driver;
mod error;
mod estimate;
mod family;
mod fold;
mod fork;
mod form;
mod gauge;
mod gist;
mod guest;
mod hand_over;
mod hands;
mod hooked;
mod instructions;
mod intake;
mod kin;
mod left_open;
mod letters;
mod mention;
mod model;
mod past;
mod policy;
mod portable;
mod preview;
mod prompt;
mod questions;
mod recover;
pub mod replay;
mod report;
mod role;
mod roster;
mod sampling;
mod sent;
mod session;
mod setup;
mod shaping;
mod side_by_side;
mod skills;
mod slug;
mod snapshots;
mod step;
mod subtask;
mod system;
mod task;
mod title;
mod todos;
mod turn;
mod undo;
mod work;
mod workbench;

pub use agent::{Agent, BUILTIN_AGENTS, Draft, Mode, reminder};
pub use agents::{Agents, Choice};
pub use apart::{Apart, Worktrees};
pub use architect::{Design, design};
pub use assemble::{assemble, definition};
pub use budget::TaskLimits;
pub use command::{Command, Piece, builtin as builtin_commands, expand};
pub use compact::Compaction;
pub use delegates::told;
pub use delete::{delete, family};
pub use error::{SessionError, TurnError};
pub use estimate::{Estimate, tokens};
pub use gist::begins as begins_turn;
pub use guest::{Guest, Wanted};
pub use instructions::{InstructionFiles, Named, Pages};
pub use model::{Cost, Limits, Model, Prices, Tier, Toolset};
pub use past::Past;
pub use policy::{Commands, Folders, compose, one_shot, session_rules};
pub use portable::{BadPortable, Portable};
pub use prompt::{Delivery, Prompt, check_format};
pub use questions::{NoQuestion, Questions};
pub use role::offered;
pub use roster::Roster;
pub use session::Session;
pub use setup::{Models, NewSession, Note, Options, Prompts, Resources, Setup, Tasks, TurnLimits};
pub use skills::Skill;
pub use snapshots::{Ground, MAX_EDITED, MAX_FILE, Recorded, Snapshots, Survey};
pub use turn::TurnEnd;
pub use undo::{Fate, Force, Rewind, Rewound, To, Why, shown};
pub use workbench::{Answered, Workbench};
