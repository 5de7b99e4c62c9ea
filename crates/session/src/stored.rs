//! Sessions as they are kept: copied, taken elsewhere, closed after a crash, removed.

pub(crate) mod delete;
pub(crate) mod fork;
pub(crate) mod portable;
pub(crate) mod recover;
pub(crate) mod slug;
