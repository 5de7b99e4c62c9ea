//! May I? Rules, the gate that waits for an answer, and [`Grant`], the proof of a yes.
//!
//! A tool describes what it is about to do as an [`Access`]. [`Gate::ask`] looks for a rule, asks a person where no
//! rule decides, and gives back a [`Grant`] or a [`Denied`]. Doors to the outside world (files, processes) want the
//! grant and check that it covers what they are asked to do, so forgetting to ask does not compile.
//!
//! **Never here:** files, processes, what a command means. This crate knows names and patterns only.

mod access;
mod approval;
mod gate;
mod rule;
mod rules;
mod witness;

pub use access::{Access, Advice, Builtin, Denied, Effect, Grant, PLUGIN};
pub use approval::{Approval, Keeper};
pub use gate::{Adviser, Answerer, Asker, Gate, NotWaiting};
pub use rule::{Action, Rule, covers, decide, decide_opaque, matches, permission_of};
pub use rules::{Rules, plugin_name};
pub use witness::{By, Done, Matter, Note, Noted, Pen, Witness};
