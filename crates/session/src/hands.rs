//! The tools that a person uses with their own hands, without a model, and the one that the loop hands work on with:
//! the one place where the session names any.

/// Shows what a prompt names.
pub(crate) const READ: &str = "read";
/// Runs what a person or a template wants run.
pub(crate) const SHELL: &str = "bash";
/// Hands work to a sub-agent.
pub(crate) const TASK: &str = "task";
/// Puts what was done elsewhere in its place, all of it or nothing.
pub(crate) const PATCH: &str = "apply_patch";
/// Shows what a server of tools has to be read.
pub(crate) const RESOURCE: &str = "read_mcp_resource";
/// Loads instructions for one kind of work.
pub(crate) const SKILL: &str = "skill";
