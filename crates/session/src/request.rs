//! What a model is sent: the words it is told first, the conversation, the tools, and what that comes to. Mostly pure.

pub(crate) mod assemble;
pub(crate) mod estimate;
pub(crate) mod gauge;
pub(crate) mod instructions;
pub(crate) mod preview;
pub(crate) mod sent;
pub(crate) mod skills;
pub(crate) mod system;
