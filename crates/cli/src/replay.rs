//! Running a recorded session again: in a copy of its project, with the person's deeds and the model's answers as recorded.

pub(crate) mod act;
pub(crate) mod branch;
pub(crate) mod copy;
pub(crate) mod files;
pub(crate) mod person;
pub(crate) mod project;
pub(crate) mod recorded;
pub(crate) mod same;
