//! Which requests go through a proxy: what the system says, but never those to this machine.

use std::net::IpAddr;
use std::sync::Arc;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use hyper_util::client::proxy::matcher::{Intercept, Matcher};
use reqwest::Url;

/// The system's settings as they are now.
pub(crate) fn system() -> reqwest::Proxy {
    by(Arc::new(Matcher::from_system()))
}

/// The same with settings that were read before.
pub(crate) fn by(settings: Arc<Matcher>) -> reqwest::Proxy {
    reqwest::Proxy::custom(move |target| hop(&settings, target))
}

/// The proxy for requests to `target`, with its credentials, or `None` to go there directly.
pub(crate) fn hop(settings: &Matcher, target: &Url) -> Option<Url> {
    if is_loopback(target) {
        return None;
    }
    let proxy = settings.intercept(&target.as_str().parse().ok()?)?;
    let mut address = Url::parse(&proxy.uri().to_string()).ok()?;
    if let Some((user, password)) = credentials(&proxy) {
        address.set_username(&user).ok()?;
        address.set_password(Some(&password)).ok()?;
    }
    Some(address)
}

/// Whether `target` names this machine.
fn is_loopback(target: &Url) -> bool {
    let Some(host) = target.host_str() else { return false };
    let host = host.trim_start_matches('[').trim_end_matches([']', '.']);
    host.parse::<IpAddr>().map_or_else(|_| host == "localhost" || host.ends_with(".localhost"), |ip| ip.is_loopback())
}

/// User and password, which the settings keep only as the header they become.
fn credentials(proxy: &Intercept) -> Option<(String, String)> {
    let encoded = proxy.basic_auth()?.to_str().ok()?.strip_prefix("Basic ")?;
    let plain = String::from_utf8(BASE64_STANDARD.decode(encoded).ok()?).ok()?;
    let (user, password) = plain.split_once(':')?;
    Some((user.to_owned(), password.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(target: &str, want: Option<&str>) {
        let settings = Matcher::builder().all("http://me:p%40ss@proxy.example:3128").no("inside.example").build();
        let got = hop(&settings, &Url::parse(target).unwrap());
        assert_eq!(got.as_ref().map(Url::as_str), want, "{target}");
    }

    #[test]
    fn the_proxy_takes_all_but_this_machine_and_the_exceptions() {
        const PROXY: Option<&str> = Some("http://me:p%40ss@proxy.example:3128/");
        check("https://api.example/v1", PROXY);
        check("http://192.168.1.7:8080", PROXY);
        check("http://localhost.example", PROXY);
        check("https://inside.example", None);
        check("http://127.0.0.1:8080/v1", None);
        check("http://127.3.2.1", None);
        check("http://[::1]:8080", None);
        check("http://localhost:11434/v1", None);
        check("http://models.localhost", None);
        check("http://localhost./v1", None);
    }

    #[test]
    fn without_settings_nothing_is_in_between() {
        assert_eq!(hop(&Matcher::builder().build(), &Url::parse("https://api.example").unwrap()), None);
    }
}
