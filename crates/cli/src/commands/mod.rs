//! What haft can do, a file each.

pub(crate) mod demo;
pub(crate) mod run;
pub(crate) mod session;
pub(crate) mod tool;
