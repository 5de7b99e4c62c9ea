//! What a replay needs of the world: a copy of the project, its files as they were, and who answers.

pub(crate) mod copy;
pub(crate) mod files;
pub(crate) mod person;
