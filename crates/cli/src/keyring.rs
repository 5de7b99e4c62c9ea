//! The system's keyring: the Secret Service on Linux, the Keychain on macOS.

use haft_vault::Keyring;
use keyring::{Entry, Error};

/// The name under which the keyring shows them.
const SERVICE: &str = "haft";

/// The keyring of the user who is logged in.
pub(crate) struct System;

/// Does `what` with the entry `id` on a thread of its own: the keyring's client waits in ways that a runtime forbids.
fn with<T: Send>(id: &str, what: impl FnOnce(&Entry) -> keyring::Result<T> + Send) -> Result<Option<T>, String> {
    let done = std::thread::scope(|scope| {
        let doing = scope.spawn(|| Entry::new(SERVICE, id).and_then(|entry| what(&entry)));
        doing.join().unwrap_or(Err(Error::NoDefaultStore))
    });
    match done {
        Ok(value) => Ok(Some(value)),
        Err(Error::NoEntry) => Ok(None),
        Err(Error::NoDefaultStore) => Err("there is none, or nobody is logged in to it".to_owned()),
        // Its other words could repeat what was stored.
        Err(_) => Err("it does not answer as it should, or is locked".to_owned()),
    }
}

impl Keyring for System {
    fn get(&self, id: &str) -> Result<Option<String>, String> {
        with(id, Entry::get_password)
    }

    fn put(&self, id: &str, text: &str) -> Result<(), String> {
        with(id, |entry| entry.set_password(text)).map(drop)
    }

    fn remove(&self, id: &str) -> Result<(), String> {
        with(id, Entry::delete_credential).map(drop)
    }
}
