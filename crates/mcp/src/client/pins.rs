//! What was known about a server's tool when it was first let run. A server that says something else about it later is
//! not taken at its word.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

/// Where it is kept.
pub trait Pins: Send + Sync {
    /// The digest of what `tool` of `server` was when it was last let run.
    fn get(&self, server: &str, tool: &str) -> Option<String>;

    /// Remembers another one.
    ///
    /// # Errors
    ///
    /// Why it could not be kept.
    fn set(&self, server: &str, tool: &str, digest: &str) -> Result<(), String>;
}

/// Kept as long as the program runs.
#[derive(Debug, Default)]
pub struct Remembered(Mutex<BTreeMap<(String, String), String>>);

impl Pins for Remembered {
    fn get(&self, server: &str, tool: &str) -> Option<String> {
        let pins = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        pins.get(&(server.to_owned(), tool.to_owned())).cloned()
    }

    fn set(&self, server: &str, tool: &str, digest: &str) -> Result<(), String> {
        let mut pins = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        pins.insert((server.to_owned(), tool.to_owned()), digest.to_owned());
        Ok(())
    }
}
