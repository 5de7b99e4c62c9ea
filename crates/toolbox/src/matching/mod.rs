//! Finding in a file the lines that a model means. Pure: shared by the tools that change files.

mod loose;

pub(crate) use loose::Looseness;
