//! Finding in a file the lines that a model means. Pure: shared by the tools that change files.

mod indent;
mod loose;
mod windows;

pub(crate) use indent::Indents;
#[cfg_attr(not(test), expect(unused_imports, reason = "the patch tool compares lines with it"))]
pub(crate) use loose::Looseness;
pub(crate) use loose::{plain, plain_sign};
pub(crate) use windows::windows;
