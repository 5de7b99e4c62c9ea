//! Finding in a file the lines that a model means. Pure: shared by the tools that change files.

mod indent;
mod loose;
pub(crate) mod near;
mod windows;

pub(crate) use indent::Indents;
pub(crate) use loose::{Looseness, plain, plain_sign};
pub(crate) use windows::windows;
