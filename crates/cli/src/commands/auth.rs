//! `haft auth`: keys that are kept, and signing in.

mod import;
mod list;
mod login;
mod logout;
mod person;
mod plugged;
mod vendors;

use anyhow::Result;

pub(crate) use self::import::{look_over, take_over};
pub(crate) use self::login::{open, store};
pub(crate) use self::person::{Person, Stopped};
use crate::args::Auth;
use crate::render;
use crate::report::Exit;

pub(crate) async fn run(command: Auth) -> Result<Exit> {
    let done = match command {
        Auth::Login(args) => login::run(args).await,
        Auth::List { json } => list::run(json),
        Auth::Logout { vendor } => logout::run(vendor).await,
    };
    match done {
        Err(error) if error.is::<Stopped>() => {
            render::complain("\nstopped; nothing was stored");
            Ok(Exit::Interrupted)
        }
        done => done,
    }
}
