//! From names to addresses, and the place where a request that may not go anywhere ends.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;

use reqwest::Url;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};

use crate::reach::{Offline, Reach, is_local_name};

/// Stands in the way of requests that may not go where they want: as a proxy whose name nobody has, because names of
/// this ending are never given to anybody (RFC 6761). What was wanted stands before it.
const NOWHERE: &str = ".offline.invalid";

/// The system's directory of names, asked only for those that may be asked for.
pub(crate) struct Names(pub(crate) Arc<Reach>);

impl Resolve for Names {
    fn resolve(&self, name: Name) -> Resolving {
        let (reach, host) = (Arc::clone(&self.0), name.as_str().to_owned());
        Box::pin(async move {
            refused(&host)?;
            if let Some(here) = here(&host) {
                return Ok(Box::new(here.into_iter().map(|ip| SocketAddr::new(ip, 0))) as Addrs);
            }
            reach.check_name(&host)?;
            let found: Vec<SocketAddr> = tokio::net::lookup_host((host.as_str(), 0)).await?.collect();
            Ok(Box::new(found.into_iter()) as Addrs)
        })
    }
}

/// The addresses of this machine's own names. They need no directory, and none can send them elsewhere.
pub(crate) fn here(name: &str) -> Option<[IpAddr; 2]> {
    is_local_name(name).then_some([IpAddr::V4(Ipv4Addr::LOCALHOST), IpAddr::V6(Ipv6Addr::LOCALHOST)])
}

/// Says no to a name that stands for a place where nobody may go.
pub(crate) fn refused(name: &str) -> Result<(), Offline> {
    name.strip_suffix(NOWHERE).map_or(Ok(()), |wanted| Err(Offline { host: decoded(wanted) }))
}

/// Where a request to `target` goes instead: to [`Names`], which says no.
pub(crate) fn nowhere(target: &Url) -> Option<Url> {
    Url::parse(&format!("http://{}{NOWHERE}", encoded(target.host_str().unwrap_or_default()))).ok()
}

/// Most bytes of a host in one label, which holds 63 signs.
const LABEL: usize = 30;
/// Most labels: a name holds 253 signs. Longer hosts are only shown shorter.
const LABELS: usize = 3;

/// `host` as labels of digits: any address is a valid name then.
fn encoded(host: &str) -> String {
    let label = |bytes: &[u8]| bytes.iter().fold("x".to_owned(), |label, byte| format!("{label}{byte:02x}"));
    host.as_bytes().chunks(LABEL).take(LABELS).map(label).collect::<Vec<_>>().join(".")
}

fn decoded(labels: &str) -> String {
    let digits = labels.split('.').flat_map(|label| label.trim_start_matches('x').as_bytes().chunks_exact(2));
    let bytes = digits.filter_map(|pair| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok());
    String::from_utf8_lossy(&bytes.collect::<Vec<u8>>()).into_owned()
}

#[cfg(test)]
mod tests {
    use std::str::FromStr;

    use super::*;

    async fn ask(reach: Reach, name: &str) -> Result<Vec<SocketAddr>, String> {
        let found = Names(Arc::new(reach)).resolve(Name::from_str(name).unwrap()).await;
        found.map(Iterator::collect).map_err(|error| error.to_string())
    }

    #[tokio::test]
    async fn own_names_are_this_machine_and_refused_ones_nowhere() {
        let here: Vec<SocketAddr> = vec!["127.0.0.1:0".parse().unwrap(), "[::1]:0".parse().unwrap()];
        assert_eq!(ask(Reach::offline([]), "models.localhost").await.unwrap(), here);
        assert!(ask(Reach::offline([]), "models.example").await.unwrap_err().contains("models.example is neither"));
        for host in ["[2001:db8::1]", "bedrock-runtime.eu-central-1.amazonaws.com"] {
            let nowhere = nowhere(&Url::parse(&format!("http://{host}:8080/x")).unwrap()).unwrap();
            let told = ask(Reach::Anywhere, nowhere.host_str().unwrap()).await.unwrap_err();
            assert!(told.contains(&format!("and {host} is neither")), "{told}");
        }
    }
}
