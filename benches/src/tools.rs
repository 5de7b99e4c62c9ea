//! What haft's tools cost, in process, beside the programs people would use instead.

pub mod analyse;
pub mod command;
pub mod edit;
pub mod read;
pub mod search;
