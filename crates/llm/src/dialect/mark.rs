//! Marks for a vendor's cache.

use serde::Serialize;

/// A mark: the prefix up to here is worth keeping.
#[derive(Debug, Clone, Copy, Serialize)]
pub(super) struct Mark {
    r#type: &'static str,
}

/// The mark for what is asked about again within minutes.
pub(super) const EPHEMERAL: Mark = Mark { r#type: "ephemeral" };

/// Messages from the end that carry a mark: the last, and the one before it. Vendors look some blocks back from a mark
/// for what they kept, and so find the end of the request before.
pub(super) const MARKED: usize = 2;
