//! What was kept when the user signed in to vendors.

pub(crate) use haft_llm::auth::Credential;

use crate::keys::keys;

/// What is kept for `vendor`.
pub(crate) fn stored(vendor: &str) -> Option<Credential> {
    keys().credential(vendor)
}
