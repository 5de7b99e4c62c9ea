//! Finding in a file the lines that a model means. Pure: shared by the tools that change files.

mod indent;
mod loose;
mod windows;

pub(crate) use indent::Indents;
#[allow(unused_imports, reason = "patches compare lines with it")]
pub(crate) use loose::Looseness;
pub(crate) use loose::{plain, plain_sign};
pub(crate) use windows::windows;
