//! Finding in a file the lines that a model means. Pure: shared by the tools that change files.

mod loose;

#[expect(unused_imports, dead_code, reason = "the tools are moved to it one by one")]
pub(crate) use loose::Looseness;
