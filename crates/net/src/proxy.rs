//! Which requests go through a proxy: what the settings and the system say, but never those to this machine.

use std::net::IpAddr;
use std::sync::Arc;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use hyper_util::client::proxy::matcher::{Intercept, Matcher};
use reqwest::Url;

use crate::names;
use crate::reach::{Reach, is_loopback};

/// Who stands between this machine and the others.
#[derive(Clone, PartialEq, Eq, Default)]
pub enum Proxy {
    /// Whoever the system says: `HTTP_PROXY`, `HTTPS_PROXY` and `ALL_PROXY`, also in small letters, and what macOS and
    /// Windows keep.
    #[default]
    System,
    /// Nobody, whatever the system says.
    Nobody,
    /// The one at this address: `http`, `https`, `socks4`, `socks4a`, `socks5` or `socks5h`, user and password with it.
    /// With an `h` or an `a` at the end, it finds the addresses of names itself.
    At(String),
}

impl std::fmt::Debug for Proxy {
    /// Leaves out the address, which may hold a password.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Proxy::System => "System",
            Proxy::Nobody => "Nobody",
            Proxy::At(_) => "At",
        })
    }
}

/// What an entry of exceptions is matched through: it does not matter where it would lead.
const ANY: &str = "http://any.invalid";

/// The proxies and the exceptions from them.
pub(crate) struct Proxies {
    proxies: Matcher,
    /// Exceptions that the library does not know: those with a port, and those that begin with `*.`.
    exceptions: Vec<(Matcher, Option<u16>)>,
}

impl Proxies {
    /// By the settings: `exceptions` are added to those of the environment, `NO_PROXY` or `no_proxy`.
    pub(crate) fn of(proxy: &Proxy, exceptions: &[String]) -> Self {
        let named = ["NO_PROXY", "no_proxy"].into_iter().find_map(|name| std::env::var(name).ok());
        let all = exceptions.iter().map(String::as_str).chain(named.as_deref()).collect::<Vec<_>>().join(",");
        match proxy {
            Proxy::System => Self { proxies: Matcher::from_system(), exceptions: special(&all, true) },
            Proxy::Nobody => Self { proxies: Matcher::builder().build(), exceptions: Vec::new() },
            Proxy::At(address) => Self::at(address, &all),
        }
    }

    /// The proxy at `address` for all but `exceptions`, separated by commas.
    pub(crate) fn at(address: &str, exceptions: &str) -> Self {
        let proxies = Matcher::builder().all(address.to_owned()).no(exceptions.to_owned()).build();
        Self { proxies, exceptions: special(exceptions, false) }
    }

    /// The proxy for requests to `target`, with its credentials, or `None` to go there directly.
    pub(crate) fn hop(&self, target: &Url) -> Option<Url> {
        if is_loopback(target) || is_link_local(target) {
            return None;
        }
        let uri = target.as_str().parse().ok()?;
        let port = target.port_or_known_default();
        if self.exceptions.iter().any(|(one, at)| (at.is_none() || *at == port) && one.intercept(&uri).is_none()) {
            return None;
        }
        let proxy = self.proxies.intercept(&uri)?;
        let mut address = Url::parse(&proxy.uri().to_string()).ok()?;
        if let Some((user, password)) = credentials(&proxy) {
            address.set_username(&user).ok()?;
            address.set_password(Some(&password)).ok()?;
        }
        Some(address)
    }
}

/// Whether `target` is an address that holds on this machine's own wire, where clouds tell machines who they are. A proxy
/// would ask its own, and get its own answer.
fn is_link_local(target: &Url) -> bool {
    let host = target.host_str().unwrap_or_default().trim_start_matches('[').trim_end_matches(']');
    match host.parse() {
        Ok(IpAddr::V4(ip)) => ip.is_link_local(),
        // `fd00:ec2::/32` is Amazon's.
        Ok(IpAddr::V6(ip)) => ip.is_unicast_link_local() || ip.segments()[..2] == [0xfd00, 0xec2],
        Err(_) => false,
    }
}

/// What asks `proxies` before each connection, and lets none go beyond `reach`: the one place that every request of
/// every client comes through, before a name is looked up, also after a redirect.
pub(crate) fn guarded(proxies: Arc<Proxies>, reach: Arc<Reach>) -> reqwest::Proxy {
    reqwest::Proxy::custom(move |target| match reach.check(target) {
        Ok(()) => proxies.hop(target),
        Err(_) => names::nowhere(target),
    })
}

/// The entries of `exceptions` that the library does not know, or `all` of them.
fn special(exceptions: &str, all: bool) -> Vec<(Matcher, Option<u16>)> {
    let entries = exceptions.split([',', ' ']).map(str::trim).filter(|entry| !entry.is_empty());
    let matched = |entry: &str| Matcher::builder().all(ANY).no(entry.to_owned()).build();
    entries
        .filter_map(|entry| {
            let (host, port) = match entry.rsplit_once(':') {
                // A bare address of the new kind has no port.
                Some((host, port)) if !host.contains(':') || host.ends_with(']') => (host, port.parse().ok()),
                Some(_) | None => (entry, None),
            };
            let bare = host.trim_start_matches('[').trim_end_matches(']');
            let bare = bare.strip_prefix('*').filter(|rest| rest.starts_with('.')).unwrap_or(bare);
            (all || port.is_some() || bare != entry).then(|| (matched(bare), port))
        })
        .collect()
}

/// User and password. Those of HTTP the library keeps only as the header they become.
fn credentials(proxy: &Intercept) -> Option<(String, String)> {
    if let Some((user, password)) = proxy.raw_auth() {
        return Some((user.to_owned(), password.to_owned()));
    }
    let encoded = proxy.basic_auth()?.to_str().ok()?.strip_prefix("Basic ")?;
    let plain = String::from_utf8(BASE64_STANDARD.decode(encoded).ok()?).ok()?;
    let (user, password) = plain.split_once(':')?;
    Some((user.to_owned(), password.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(proxies: &Proxies, target: &str, want: Option<&str>) {
        let got = proxies.hop(&Url::parse(target).unwrap());
        assert_eq!(got.as_ref().map(Url::as_str), want, "{target}");
    }

    #[test]
    fn the_proxy_takes_all_but_this_machine_and_the_exceptions() {
        const PROXY: Option<&str> = Some("http://me:p%40ss@proxy.example:3128/");
        let exceptions = "inside.example, .dots.example,*.stars.example,10.0.0.0/8,192.168.7.7,fd00::/8,\
                          ported.example:8443,[2001:db8::1]:80,172.16.0.1:9";
        let proxies = Proxies::at("http://me:p%40ss@proxy.example:3128", exceptions);
        let row = |target: &str, want: Option<&str>| check(&proxies, target, want);
        row("https://api.example/v1", PROXY);
        row("http://192.168.1.7:8080", PROXY);
        row("http://localhost.example", PROXY);
        for direct in [
            "https://inside.example",
            "https://a.inside.example",
            "https://a.dots.example",
            "https://a.stars.example",
            "http://10.1.2.3:99",
            "http://192.168.7.7",
            "http://[fd12::1]",
            "https://ported.example:8443/v1",
            "http://[2001:db8::1]/",
            "http://172.16.0.1:9/",
            "http://127.0.0.1:8080/v1",
            "http://127.3.2.1",
            "http://[::1]:8080",
            "http://localhost:11434/v1",
            "http://models.localhost",
            "http://localhost./v1",
            "http://169.254.169.254/latest",
            "http://[fe80::1]",
        ] {
            row(direct, None);
        }
        // Clouds tell their machines who they are at such addresses.
        let all = Proxies::at("http://me:p%40ss@proxy.example:3128", "");
        check(&all, "http://[fd00:ec2::254]/latest", None);
        check(&all, "http://[fd00:ec3::254]/latest", PROXY);
        row("https://outinside.example", PROXY);
        row("http://11.1.2.3", PROXY);
        row("http://169.253.1.1", PROXY);
        row("https://ported.example/v1", PROXY);
        row("http://[2001:db8::1]:8080/", PROXY);
        row("http://172.16.0.1/", PROXY);
    }

    #[test]
    fn a_star_alone_is_everybody() {
        check(&Proxies::at("http://proxy.example:3128", "*"), "https://api.example", None);
    }

    #[test]
    fn other_kinds_of_proxies_keep_their_credentials() {
        let row = |address: &str, want: &str| check(&Proxies::at(address, ""), "https://api.example", Some(want));
        row("socks5h://me:p%40ss@proxy.example:1080", "socks5h://me:p%40ss@proxy.example:1080/");
        row("socks5://proxy.example:1080", "socks5://proxy.example:1080/");
        row("https://me:pass@proxy.example", "https://me:pass@proxy.example/");
        row("proxy.example:3128", "http://proxy.example:3128/");
    }

    #[test]
    fn without_settings_nothing_is_in_between() {
        check(&Proxies::of(&Proxy::Nobody, &[]), "https://api.example", None);
        assert_eq!(format!("{:?}", Proxy::At("http://me:secret@x".to_owned())), "At");
    }
}
