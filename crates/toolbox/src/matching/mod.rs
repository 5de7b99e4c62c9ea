//! Finding in a file the lines that a model means. Pure: shared by the tools that change files.
#![expect(dead_code, unused_imports, reason = "the tools are moved to it one by one")]

mod indent;
mod loose;
mod windows;

pub(crate) use indent::Indents;
pub(crate) use loose::Looseness;
pub(crate) use loose::{plain, plain_sign};
pub(crate) use windows::windows;
