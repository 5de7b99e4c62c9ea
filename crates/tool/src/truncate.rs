//! Deciding how to cut a long output. Pure.
