//! Line mode: a chat in the terminal's own scroll-back.

pub(crate) mod editor;
