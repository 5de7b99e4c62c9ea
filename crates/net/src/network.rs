//! The network as the user wants it: proxies, trust, how far it goes; and the clients that were made for it.

use std::collections::HashMap;
use std::error::Error;
use std::fmt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, OnceLock, PoisonError, RwLock};
use std::time::Duration;

use reqwest::Url;
use rustls::ClientConfig;

use crate::files::{BadFile, Identity};
use crate::names::Names;
use crate::proxy::{Proxies, Proxy, guarded};
use crate::reach::{Offline, Reach};
use crate::tls::{self, Trust};
use crate::{NetError, Options, Redirects, USER_AGENT};

/// Most clients with different options that are kept for the next who wants one like it.
const MAX_CLIENTS: usize = 16;
/// How long a connection may be silent before it is asked whether anybody is still there.
const PING: Duration = Duration::from_secs(30);
/// How long the answer to that may take.
const PONG: Duration = Duration::from_secs(20);
/// How long what was sent may stay without a word that it arrived, where the system can say.
#[cfg(any(target_os = "linux", target_os = "android"))]
const UNHEARD: Duration = Duration::from_secs(60);
/// How often a silent connection is asked again, and how long apart, before it is given up.
const PROBES: (u32, Duration) = (3, Duration::from_secs(10));

/// The network as the user wants it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Settings {
    /// Who stands between this machine and the others.
    pub proxy: Proxy,
    /// Hosts, domains, networks and `host:port` that are reached directly, beside those of `NO_PROXY`.
    pub no_proxy: Vec<String>,
    /// Files of certificates to trust beside the system's, in PEM, each with the name of the setting or the variable that
    /// names it. They are read by the first TLS connection.
    pub ca: Vec<(PathBuf, &'static str)>,
    /// Who this user is to servers that ask for a certificate. [`crate::Web`] shows it to nobody.
    pub identity: Option<Identity>,
    /// How far requests may go.
    pub reach: Reach,
}

/// The network of this process, or another one for tests. A handle: clones share their connections.
#[derive(Clone)]
pub struct Network(Arc<Inner>);

struct Inner {
    settings: Settings,
    reach: Arc<Reach>,
    /// What the environment says is read when it is first needed, and once.
    proxies: OnceLock<Arc<Proxies>>,
    /// For models and the like, and for what anybody may have named.
    tls: [OnceLock<Result<ClientConfig, rustls::Error>>; 2],
    clients: Mutex<HashMap<Options, reqwest::Client>>,
}

/// The network of this process. It is one for all, and not handed from place to place, because whoever forgot to take it
/// along would be beyond its bounds.
static PROCESS: RwLock<Option<Network>> = RwLock::new(None);

impl fmt::Debug for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Network").field(&self.0.settings).finish()
    }
}

impl Default for Network {
    /// The network of this process.
    fn default() -> Self {
        let read = || PROCESS.read().unwrap_or_else(PoisonError::into_inner).clone();
        read().unwrap_or_else(|| {
            let mut process = PROCESS.write().unwrap_or_else(PoisonError::into_inner);
            process.get_or_insert_with(|| Self::new(Settings::default())).clone()
        })
    }
}

impl Network {
    /// A network by `settings`. Reads nothing yet.
    pub fn new(settings: Settings) -> Self {
        let reach = Arc::new(settings.reach.clone());
        let tls = [OnceLock::new(), OnceLock::new()];
        Self(Arc::new(Inner { settings, reach, proxies: OnceLock::new(), tls, clients: Mutex::default() }))
    }

    /// Makes it the network of this process: of every client and every [`crate::Web`] that is made from now on.
    pub fn install(self) {
        let mut process = PROCESS.write().unwrap_or_else(PoisonError::into_inner);
        // One like it keeps its connections.
        if process.as_ref().is_none_or(|old| old.0.settings != self.0.settings) {
            *process = Some(self);
        }
    }

    /// Whether `target` may be spoken to.
    ///
    /// # Errors
    ///
    /// [`Offline`] where it may not.
    pub fn check(&self, target: &Url) -> Result<(), Offline> {
        self.0.reach.check(target)
    }

    /// A client of these options: the one that was made before, with its connections, if there is one.
    ///
    /// # Errors
    ///
    /// [`NetError`] when the TLS settings do not fit together.
    pub fn client(&self, options: Options) -> Result<reqwest::Client, NetError> {
        let mut clients = self.0.clients.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(client) = clients.get(&options) {
            return Ok(client.clone());
        }
        let redirects = match options.redirects {
            Redirects::Refuse => reqwest::redirect::Policy::none(),
            Redirects::Follow(most) => reqwest::redirect::Policy::limited(most),
        };
        let builder = self.builder(options.connect_timeout, Identified::Yes)?.redirect(redirects);
        let builder = match options.idle_timeout {
            Duration::MAX => builder,
            idle => builder.read_timeout(idle),
        };
        let client = builder.build().map_err(|error| NetError(error.into()))?;
        if clients.len() < MAX_CLIENTS {
            clients.insert(options, client.clone());
        }
        Ok(client)
    }

    /// What every client has in common: it comes through [`guarded`], whatever else is done with it.
    pub(crate) fn builder(
        &self,
        connect_timeout: Duration,
        identified: Identified,
    ) -> Result<reqwest::ClientBuilder, NetError> {
        let tls = self.tls(identified).map_err(|error| NetError(error.into()))?;
        let builder = reqwest::Client::builder()
            .user_agent(USER_AGENT)
            .connect_timeout(connect_timeout)
            .http2_keep_alive_interval(PING)
            .http2_keep_alive_timeout(PONG)
            .http2_keep_alive_while_idle(true)
            .tcp_keepalive(PING)
            .tcp_keepalive_retries(PROBES.0)
            .tcp_keepalive_interval(PROBES.1)
            .dns_resolver(Names(Arc::clone(&self.0.reach)))
            .proxy(guarded(Arc::clone(self.proxies()), Arc::clone(&self.0.reach)))
            .tls_backend_preconfigured(tls);
        #[cfg(any(target_os = "linux", target_os = "android"))]
        let builder = builder.tcp_user_timeout(UNHEARD);
        Ok(builder)
    }

    pub(crate) fn proxies(&self) -> &Arc<Proxies> {
        let Settings { proxy, no_proxy, .. } = &self.0.settings;
        self.0.proxies.get_or_init(|| Arc::new(Proxies::of(proxy, no_proxy)))
    }

    fn tls(&self, identified: Identified) -> Result<ClientConfig, rustls::Error> {
        let Settings { ca, identity, .. } = &self.0.settings;
        let (at, identity) = match identified {
            Identified::Yes => (0, identity.clone()),
            Identified::No => (1, None),
        };
        self.0.tls[at].get_or_init(|| tls::config(Trust { ca: ca.clone(), identity })).clone()
    }
}

/// Whether servers that ask for it are shown the user's certificate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Identified {
    Yes,
    No,
}

/// Why a request failed that will fail again, however often it is made: haft is offline, the other side is not to be
/// trusted or speaks something else, or a file of the settings cannot be used. With what can be done about it, for a person. `None` where it may
/// be otherwise next time.
pub fn hopeless(error: &(dyn Error + 'static)) -> Option<String> {
    let causes = || std::iter::successors(Some(error), |&cause| cause.source()).take(16).map(within);
    if let Some(offline) = causes().find_map(|cause| cause.downcast_ref::<Offline>()) {
        return Some(offline.to_string());
    }
    if let Some(error) =
        causes().find_map(|cause| cause.downcast_ref::<hyper::Error>()).filter(|error| error.is_parse())
    {
        return Some(format!("what answers there does not speak HTTP ({error}); check the address, and its port"));
    }
    let tls = causes().find_map(|cause| cause.downcast_ref::<rustls::Error>())?;
    match tls {
        rustls::Error::Other(other) => other.0.downcast_ref::<BadFile>().map(ToString::to_string),
        rustls::Error::InvalidCertificate(why) => Some(format!(
            "its certificate is not trusted ({why}); if it is your organisation's own, name the file of the \
             certificate that it goes back to in `network.ca` of your settings"
        )),
        _ => None,
    }
}

/// What is in an I/O error, which does not name it as its cause.
fn within<'a>(error: &'a (dyn Error + 'static)) -> &'a (dyn Error + 'static) {
    let mut at = error;
    for _ in 0..8 {
        match at.downcast_ref::<std::io::Error>().and_then(std::io::Error::get_ref) {
            Some(inner) => at = inner,
            None => break,
        }
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn not_more_clients_are_kept_than_may_be() {
        let network = Network::new(Settings::default());
        for seconds in 1..=MAX_CLIENTS as u64 + 3 {
            network.client(Options { connect_timeout: Duration::from_secs(seconds), ..Options::default() }).unwrap();
        }
        assert_eq!(network.0.clients.lock().unwrap().len(), MAX_CLIENTS);
    }
}
