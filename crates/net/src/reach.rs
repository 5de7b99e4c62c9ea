//! How far requests may go: everywhere, or, where haft is offline, to this machine and to what the user has named. Pure.

use std::net::IpAddr;

use reqwest::Url;

/// How far requests may go.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Reach {
    /// Everywhere.
    #[default]
    Anywhere,
    /// To this machine, and to these addresses of the user's own settings: scheme, host and port count.
    Offline(Vec<Url>),
}

/// Haft is offline, and a request was to go elsewhere. It was not sent, and nobody was asked for the address.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "haft is offline, and {host} is neither this machine nor the baseURL of a provider in your own settings; to go \
     there, leave out --offline, HAFT_OFFLINE and `offline` of the settings"
)]
pub struct Offline {
    /// The host that was to be spoken to.
    pub host: String,
}

impl Reach {
    /// Offline but for `addresses`. Those that are none are left out: nobody can be reached there.
    pub fn offline<'a>(addresses: impl IntoIterator<Item = &'a str>) -> Self {
        let urls = addresses.into_iter().filter_map(|address| Url::parse(address).ok());
        Reach::Offline(urls.filter(|url| url.has_host()).collect())
    }

    /// Whether `target` may be spoken to.
    ///
    /// # Errors
    ///
    /// [`Offline`] where it may not.
    pub fn check(&self, target: &Url) -> Result<(), Offline> {
        let Reach::Offline(named) = self else { return Ok(()) };
        if is_loopback(target) || named.iter().any(|one| is_same_place(one, target)) {
            return Ok(());
        }
        Err(Offline { host: target.host_str().unwrap_or_default().to_owned() })
    }

    /// Whether anybody may be asked where `host` is.
    pub(crate) fn check_name(&self, host: &str) -> Result<(), Offline> {
        let Reach::Offline(named) = self else { return Ok(()) };
        if named.iter().any(|one| one.host_str().is_some_and(|known| is_same_host(known, host))) {
            return Ok(());
        }
        Err(Offline { host: host.to_owned() })
    }
}

fn is_same_place(one: &Url, other: &Url) -> bool {
    one.scheme() == other.scheme()
        && one.port_or_known_default() == other.port_or_known_default()
        && one.host_str().zip(other.host_str()).is_some_and(|(one, other)| is_same_host(one, other))
}

fn is_same_host(one: &str, other: &str) -> bool {
    one.trim_end_matches('.').eq_ignore_ascii_case(other.trim_end_matches('.'))
}

/// Whether `target` names this machine.
pub(crate) fn is_loopback(target: &Url) -> bool {
    let Some(host) = target.host_str() else { return false };
    let host = host.trim_start_matches('[').trim_end_matches(']');
    host.parse::<IpAddr>().map_or_else(|_| is_local_name(host), |ip| ip.is_loopback())
}

/// Whether `host` is a name of this machine, whatever any directory says.
pub(crate) fn is_local_name(host: &str) -> bool {
    let host = host.trim_end_matches('.').to_ascii_lowercase();
    host == "localhost" || host.ends_with(".localhost")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offline_is_this_machine_and_what_the_user_named() {
        let reach = Reach::offline(["https://models.example/v1", "http://10.0.0.7:8080", "nonsense", "data:x"]);
        let row = |target: &str, want: bool| {
            assert_eq!(reach.check(&Url::parse(target).unwrap()).is_ok(), want, "{target}");
            assert!(Reach::Anywhere.check(&Url::parse(target).unwrap()).is_ok());
        };
        for target in [
            "http://127.0.0.1:11434/v1",
            "http://127.9.9.9",
            "http://[::1]:8080",
            "https://localhost",
            "http://a.LOCALHOST./x",
            "https://models.example/v1/chat/completions",
            "https://MODELS.example.:443/else",
            "http://10.0.0.7:8080/v1",
        ] {
            row(target, true);
        }
        for target in [
            "https://api.openai.com/v1",
            "http://models.example/v1",
            "https://models.example:8443/v1",
            "https://sub.models.example/v1",
            "https://models.example.evil.net/v1",
            "https://models.example@evil.net/v1",
            "http://10.0.0.7/v1",
            "http://10.0.0.8:8080",
            "http://0.0.0.0:8080",
            "http://[::ffff:127.0.0.1]:8080",
            "http://localhost.example",
            "http://169.254.169.254/latest",
            "http://3232235521/",
        ] {
            row(target, false);
        }
        // Another way to write 127.0.0.1.
        row("http://2130706433/", true);
    }

    #[test]
    fn nobody_is_asked_for_the_address_of_another_host() {
        let reach = Reach::offline(["https://models.example/v1"]);
        assert!(reach.check_name("Models.Example.").is_ok());
        assert_eq!(reach.check_name("example"), Err(Offline { host: "example".to_owned() }));
        assert!(Reach::Anywhere.check_name("example").is_ok());
    }
}
