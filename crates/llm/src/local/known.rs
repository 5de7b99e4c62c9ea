//! The model servers that may run on this machine, and where each is looked for.

use std::net::IpAddr;

use reqwest::Url;

use crate::auth::is_loopback;

/// A model server that people run on their own machine.
#[derive(Debug, PartialEq, Eq)]
pub struct Known {
    /// What it is called in `VENDOR/MODEL`.
    pub id: &'static str,
    /// Its name for people.
    pub name: &'static str,
    /// Where it listens unless told otherwise: scheme, host and port.
    pub origin: &'static str,
}

/// The servers that are looked for. Three of them share a port; what answers there says which it is.
pub const KNOWN: [Known; 6] = [
    Known { id: "ollama", name: "Ollama", origin: "http://127.0.0.1:11434" },
    Known { id: "lmstudio", name: "LM Studio", origin: "http://127.0.0.1:1234" },
    Known { id: "llamacpp", name: "llama.cpp", origin: "http://127.0.0.1:8080" },
    Known { id: "tgi", name: "Text Generation Inference", origin: "http://127.0.0.1:8080" },
    Known { id: "localai", name: "LocalAI", origin: "http://127.0.0.1:8080" },
    Known { id: "vllm", name: "vLLM", origin: "http://127.0.0.1:8000" },
];

/// A server that may be there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// Which of [`KNOWN`] is looked for; another one with the same port may answer.
    pub vendor: &'static str,
    /// Its address: scheme, host and port.
    pub origin: String,
}

impl Place {
    /// Whether `vendor` may be what answers here.
    pub fn may_be(&self, vendor: &str) -> bool {
        self.vendor == vendor || port(vendor).is_some_and(|there| port(self.vendor) == Some(there))
    }
}

fn port(id: &str) -> Option<&'static str> {
    KNOWN.iter().find(|known| known.id == id).map(|known| known.origin)
}

/// Where servers are looked for: at their usual ports. `ollama_host` is the variable by which Ollama's own programs are
/// told another address; one that is not on this machine is not used.
pub fn places(ollama_host: Option<&str>) -> Vec<Place> {
    let mut places: Vec<Place> = Vec::new();
    for known in &KNOWN {
        if !places.iter().any(|place| place.origin == known.origin) {
            places.push(Place { vendor: known.id, origin: known.origin.to_owned() });
        }
    }
    if let Some(origin) = ollama_host.and_then(ollama_origin)
        && let Some(ollama) = places.iter_mut().find(|place| place.vendor == "ollama")
    {
        ollama.origin = origin;
    }
    places
}

/// Whether an address is on this machine, by its number or as `localhost`, as people write it.
pub fn is_here(url: &Url) -> bool {
    is_loopback(url) || matches!(url.scheme(), "http" | "https") && url.host_str() == Some("localhost")
}

/// The address in `OLLAMA_HOST`, in any of the forms that Ollama takes, if it is on this machine.
///
/// `0.0.0.0` and `::` are what a server listens on; on this machine it is reached at the loopback address.
pub fn ollama_origin(host: &str) -> Option<String> {
    let host = host.trim().trim_matches(['"', '\'']);
    let (scheme, rest) = host.split_once("://").unwrap_or(("http", host));
    let default_port = match scheme {
        "http" if host.contains("://") => 80,
        "https" => 443,
        "http" => 11434,
        _ => return None,
    };
    let authority = rest.split('/').next().unwrap_or_default();
    let authority = match authority {
        "" => "127.0.0.1".to_owned(),
        // A bare address of the new kind is full of colons.
        bare if bare.parse::<std::net::Ipv6Addr>().is_ok() => format!("[{bare}]"),
        port if port.starts_with(':') => format!("127.0.0.1{port}"),
        authority => authority.to_owned(),
    };
    let url = Url::parse(&format!("{scheme}://{authority}")).ok()?;
    let bracketed = url.host_str()?;
    let name = bracketed.trim_start_matches('[').trim_end_matches(']');
    let host = match name.parse::<IpAddr>() {
        Ok(ip) if ip.is_unspecified() => "127.0.0.1",
        Ok(ip) if ip.is_loopback() => bracketed,
        Err(_) if name == "localhost" => bracketed,
        Ok(_) | Err(_) => return None,
    };
    // The parser hides a port that is the scheme's own.
    let has_port = authority.rsplit_once(':').is_some_and(|(_, port)| port.parse::<u16>().is_ok());
    let port = url.port().unwrap_or(if has_port { url.port_or_known_default()? } else { default_port });
    Some(format!("{scheme}://{host}:{port}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ollama_is_looked_for_where_its_variable_says_if_that_is_here() {
        let row = |host: &str, want: Option<&str>| assert_eq!(ollama_origin(host).as_deref(), want, "{host}");
        row("", Some("http://127.0.0.1:11434"));
        row("127.0.0.1", Some("http://127.0.0.1:11434"));
        row("127.0.0.1:9999", Some("http://127.0.0.1:9999"));
        row(" \"localhost:9999\" ", Some("http://localhost:9999"));
        row(":9999", Some("http://127.0.0.1:9999"));
        row("0.0.0.0", Some("http://127.0.0.1:11434"));
        row("0.0.0.0:80", Some("http://127.0.0.1:80"));
        row("[::]:9999", Some("http://127.0.0.1:9999"));
        row("::1", Some("http://[::1]:11434"));
        row("[::1]:9999", Some("http://[::1]:9999"));
        row("http://localhost", Some("http://localhost:80"));
        row("https://localhost/path", Some("https://localhost:443"));
        row("http://127.0.0.1:9999/", Some("http://127.0.0.1:9999"));
        row("192.168.1.7", None);
        row("ollama.example:11434", None);
        row("localhost.example", None);
        row("127.0.0.1@evil.example", None);
        row("ftp://127.0.0.1", None);
        row("127.0.0.1:99999", None);
        assert_eq!(places(Some("10.0.0.1"))[0].origin, "http://127.0.0.1:11434");
        assert_eq!(places(Some(":7"))[0].origin, "http://127.0.0.1:7");
    }

    #[test]
    fn each_port_is_looked_at_once() {
        let places = places(None);
        let ports: Vec<_> = places.iter().map(|place| place.origin.rsplit(':').next().unwrap()).collect();
        assert_eq!(ports, ["11434", "1234", "8080", "8000"]);
        let shared = &places[2];
        assert!(["llamacpp", "tgi", "localai"].into_iter().all(|vendor| shared.may_be(vendor)));
        assert!(!shared.may_be("vllm") && !shared.may_be("nobody") && places[3].may_be("vllm"));
    }

    #[test]
    fn what_is_on_this_machine_is_known_by_its_host() {
        let row = |url: &str, want: bool| assert_eq!(is_here(&Url::parse(url).unwrap()), want, "{url}");
        row("http://127.0.0.1:1/v1", true);
        row("https://localhost/v1", true);
        row("http://[::1]:1", true);
        row("http://127.9.9.9", true);
        row("http://0.0.0.0:1", false);
        row("http://localhost.example", false);
        row("http://10.0.0.1", false);
        row("ftp://127.0.0.1", false);
    }
}
