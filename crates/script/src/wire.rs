//! The lines between haft and the process that runs scripts: JSON-RPC 2.0, one message a line, each for one realm.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

/// Longest line either side reads, in bytes. What is longer is an error of whoever sent it.
pub(crate) const MAX_LINE: usize = 64 * 1024 * 1024;

/// A message to the process.
#[derive(Debug, Deserialize)]
pub(crate) struct ToInside {
    /// Which realm it is for.
    pub(crate) realm: u32,
    pub(crate) id: Option<u64>,
    /// A request, or with [`CANCEL`] and [`DROP`] word about an earlier one; none in an answer.
    pub(crate) method: Option<String>,
    pub(crate) params: Option<Box<RawValue>>,
    pub(crate) result: Option<Box<RawValue>>,
    pub(crate) error: Option<Box<RawValue>>,
}

/// The call `id` is to end by itself.
pub(crate) const CANCEL: &str = "cancel";
/// Nobody waits for the call `id` any more.
pub(crate) const DROP: &str = "drop";
/// The realm ends.
pub(crate) const CLOSE: &str = "close";

/// A message from the process.
#[derive(Debug, Deserialize)]
pub(crate) struct FromInside {
    pub(crate) realm: u32,
    pub(crate) id: Option<u64>,
    /// A request or, without `id`, word of something; none in an answer.
    pub(crate) method: Option<String>,
    /// For which call something is asked; 0 for none.
    #[serde(default)]
    pub(crate) origin: u64,
    pub(crate) params: Option<serde_json::Value>,
    pub(crate) result: Option<serde_json::Value>,
    pub(crate) error: Option<WireError>,
}

/// An error as it goes over the line, in both directions.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct WireError {
    pub(crate) message: String,
    /// The name of its class, such as `TypeError`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) name: Option<String>,
    /// Such as `ENOENT`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) code: Option<String>,
    /// Where in the script's own source it was thrown, `FILE:LINE:COLUMN`, innermost first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) places: Vec<String>,
}
