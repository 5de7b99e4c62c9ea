//! Run a child with only the rights it was given.
//!
//! A [`Cage`] says what may be written, what cannot be read, and whether there is a network; everything else is closed.
//! [`Sandbox::find`] tries which *rung* this machine can hold such a cage with, best first, and [`Sandbox::launch`] says
//! what to start instead of the program: this very binary again, as a launcher that gives rights up and then becomes the
//! program. So `main` must begin with [`enter_if_asked`].
//!
//! ```no_run
//! use haft_sandbox::{Cage, Limits, Options, Sandbox, Session};
//!
//! haft_sandbox::enter_if_asked();
//! let sandbox = Sandbox::find(&Options::default());
//! let cage = Cage { write: vec!["/home/me/project".into()], limits: Limits::default_for_commands(), ..Cage::default() };
//! let launch = sandbox.launch(&cage, Session::New, "make".as_ref(), &["test".into()])?;
//! std::process::Command::new(launch.program).args(launch.args).status()?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! What a rung does not hold, [`Sandbox::gaps`] says. The program `haft-cage` runs others in a cage from a shell.
//!
//! **Never here:** deciding what is allowed, starting processes, and a cage set up between `fork` and `exec` of a
//! program with threads.

// Elsewhere they are known and not used.
#[cfg_attr(not(target_os = "linux"), allow(dead_code, reason = "only Linux has this rung"))]
mod bwrap;
mod cage;
mod gaps;
#[cfg(target_os = "linux")]
mod kernel;
mod launcher;
#[cfg_attr(not(target_os = "linux"), allow(dead_code, reason = "only Linux has this rung"))]
mod mounts;
mod path_text;
mod probe;
mod rung;
mod seal;
mod seatbelt;

pub use cage::{Cage, Limits, Network, Session};
pub use launcher::enter_if_asked;
pub use rung::{CageError, Gap, Launch, Options, Rung, Sandbox, Tried};
pub use seal::{seal, sealed};
