//! A server as the user wants it, and how long it may take.

use std::path::PathBuf;
use std::time::Duration;

use haft_vault::Secret;

use crate::oauth::{Account, Grant};

/// How long a server may take to come up, where nothing is said: its program may have to be fetched first.
pub const CONNECT: Duration = Duration::from_secs(30);
/// How long it may take for one page of a list, where nothing is said.
pub const LIST: Duration = Duration::from_secs(5);
/// How long it may be silent during a call, where nothing is said.
pub const CALL: Duration = Duration::from_secs(30);
/// How long a call may take in all, however often the server says that it goes on.
pub const MAX_CALL: Duration = Duration::from_secs(60 * 60);

/// A server of tools.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// What people know it by.
    pub name: String,
    /// Whether it is used.
    pub enabled: bool,
    /// How long it may take to come up, to list what it has, and to answer. `None`: [`CONNECT`], [`LIST`], and for calls
    /// `call_timeout`.
    pub timeout: Option<Duration>,
    /// How long it may be silent during a call, where `timeout` does not say; [`CALL`] where nobody does.
    pub call_timeout: Option<Duration>,
    /// Whether it may have the session's model write something, if the person agrees.
    pub sampling: bool,
    /// Where it is.
    pub place: Place,
}

/// Where a server is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// A program that is started here.
    Local(Local),
    /// An address.
    Remote(Remote),
}

/// A program that is spoken with over its input and output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Local {
    /// The program and its arguments.
    pub command: Vec<String>,
    /// Its working folder, absolute.
    pub dir: PathBuf,
    /// Variables that it is given beside those that commands have.
    pub environment: Vec<(String, Secret)>,
    /// How it is caged.
    pub cage: Cage,
}

/// How a program is caged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cage {
    /// Not at all.
    Off,
    /// As a command of the model's is that was granted this.
    On {
        /// Whether it may change the project.
        changes: bool,
        /// Whether it may use the network.
        network: bool,
    },
}

/// An address that is spoken with over HTTP.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Remote {
    /// The address.
    pub url: String,
    /// Headers of each request.
    pub headers: Vec<(String, Secret)>,
    /// How one signs in; `None`: not at all.
    pub oauth: Option<Box<Oauth>>,
}

/// How one signs in at a server.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Oauth {
    /// Who we are there, where that was arranged.
    pub client_id: Option<String>,
    /// The proof of it.
    pub client_secret: Option<Secret>,
    /// What is asked for.
    pub scope: Option<String>,
    /// The port on this machine that the browser comes back to.
    pub callback_port: Option<u16>,
    /// The address that the browser comes back to.
    pub redirect_uri: Option<String>,
    /// How tokens are got.
    pub grant: Grant,
    /// The file with the private key that proves who we are, instead of a secret.
    pub key_file: Option<PathBuf>,
}

impl Settings {
    /// How one signs in there; `None`: not at all.
    pub fn account(&self) -> Option<Account> {
        let Place::Remote(Remote { url, oauth: Some(oauth), .. }) = &self.place else { return None };
        let Oauth { client_id, client_secret, scope, callback_port, redirect_uri, grant, key_file } = (**oauth).clone();
        Some(Account {
            name: self.name.clone(),
            url: url.clone(),
            client_id,
            client_secret,
            client_page: None,
            scope,
            callback_port,
            redirect_uri,
            grant,
            key_file,
        })
    }

    /// How long it may take to come up.
    pub fn to_connect(&self) -> Duration {
        self.timeout.unwrap_or(CONNECT)
    }

    /// How long it may take for one page of a list.
    pub fn to_list(&self) -> Duration {
        self.timeout.unwrap_or(LIST)
    }

    /// How long it may be silent during a call.
    pub fn to_answer(&self) -> Duration {
        self.timeout.or(self.call_timeout).unwrap_or(CALL)
    }

    /// Stands for where the server is: another program or address has another one. Tells nothing of secrets in it.
    pub fn identity(&self) -> String {
        let mut hasher = blake3::Hasher::new();
        let mut add = |part: &str| {
            hasher.update(&(part.len() as u64).to_le_bytes()).update(part.as_bytes());
        };
        add(&self.name);
        match &self.place {
            Place::Local(local) => {
                local.command.iter().for_each(|word| add(word));
                add(&local.dir.to_string_lossy());
                local.environment.iter().for_each(|(name, value)| add(&format!("{name}={}", value.expose())));
            }
            Place::Remote(remote) => {
                add(&remote.url);
                remote.headers.iter().for_each(|(name, value)| add(&format!("{name}: {}", value.expose())));
            }
        }
        hasher.finalize().to_hex()[..32].to_owned()
    }

    /// Where it is, in words for a person: the command line or the address.
    pub fn at(&self) -> String {
        match &self.place {
            Place::Local(local) => local.command.join(" "),
            Place::Remote(remote) => remote.url.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::oauth::Organisation;

    #[test]
    fn no_secret_of_a_server_is_printed() {
        let secret = || Some(Secret::new("s3cret"));
        let organisation = Organisation {
            issuer: "i".to_owned(),
            token_url: None,
            client_id: "c".to_owned(),
            client_secret: secret(),
            id_token_file: PathBuf::new(),
        };
        let grant = Grant::Organisation(organisation);
        let oauth = Oauth { client_secret: secret(), grant, ..Oauth::default() };
        let pairs = || secret().into_iter().map(|value| ("KEY".to_owned(), value)).collect();
        let there = Remote { url: "u".to_owned(), headers: pairs(), oauth: Some(Box::new(oauth)) };
        let here = Local { command: Vec::new(), dir: PathBuf::new(), environment: pairs(), cage: Cage::Off };
        for place in [Place::Remote(there), Place::Local(here)] {
            let settings = Settings {
                name: "s".to_owned(),
                enabled: true,
                timeout: None,
                call_timeout: None,
                sampling: false,
                place,
            };
            for printed in [format!("{settings:?}"), format!("{:?}", settings.account())] {
                assert!(!printed.contains("s3cret"), "{printed}");
            }
        }
    }
}
