//! Keys and tokens at rest: a file that only its user can read, or the system's keyring.
//!
//! [`Vault`] is the store; an [`Entry`] is what one vendor gave. The file is OpenCode's `auth.json`, field by field, and
//! what is not understood in it is kept as it is. A [`Secret`] is a text that does not show itself. [`own`] is how such a file is opened, locked and replaced; other files of
//! the user's own use it, too. A [`Signer`] is a key
//! that never leaves: what it signs proves who one is.
//!
//! **Never here:** what a key is for, who may have it, how one is got. Nothing here is ever logged.

mod entry;
pub mod own;
mod secret;
mod signer;
mod vault;

pub use entry::{Api, Entry, MAX_TEXT, OAuth, WellKnown};
pub use secret::Secret;
pub use signer::{BadKey, Signer};
pub use vault::{Entries, Held, Keyring, MAX_ENTRIES, MAX_FILE, Vault, VaultError, id, look};
