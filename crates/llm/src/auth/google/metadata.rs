//! Whether this is a machine of Google's cloud, which has a server that gives tokens.

use std::path::Path;

use super::read;

/// Where that server is, unless a variable says otherwise.
const HOST: &str = "metadata.google.internal";

/// What a machine says it is. Linux only; elsewhere nobody is asked unless it is said.
const PRODUCT: &str = "/sys/class/dmi/id/product_name";

/// Whether the server of the machine is asked for tokens.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Metadata {
    /// Where the machine says that it is one of Google's.
    #[default]
    Detect,
    /// It is.
    Ask,
    /// It is, at this host and perhaps port: what `GCE_METADATA_HOST` says.
    At(String),
    /// Never.
    Never,
}

impl Metadata {
    /// The host to ask, if any.
    pub(super) async fn host(&self) -> Result<Option<String>, String> {
        match self {
            Metadata::Never => Ok(None),
            Metadata::Ask => Ok(Some(HOST.to_owned())),
            Metadata::At(host) if is_host(host) => Ok(Some(host.clone())),
            Metadata::At(host) => Err(format!("GCE_METADATA_HOST is no host: {host:?}; unset or correct it")),
            Metadata::Detect => {
                let product = read(Path::new(PRODUCT).to_owned()).await.ok().flatten();
                Ok(product.filter(|product| is_google(product)).map(|_| HOST.to_owned()))
            }
        }
    }
}

fn is_google(product: &str) -> bool {
    matches!(product.trim(), "Google" | "Google Compute Engine")
}

/// Nothing but a host and a port: no path and no user can hide in it.
fn is_host(host: &str) -> bool {
    !host.is_empty()
        && host.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b':' | b'[' | b']'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_server_is_asked_where_there_is_one() {
        assert_eq!(Metadata::Never.host().await, Ok(None));
        assert_eq!(Metadata::Ask.host().await, Ok(Some("metadata.google.internal".to_owned())));
        let at = |host: &str| Metadata::At(host.to_owned());
        assert_eq!(at("127.0.0.1:80").host().await, Ok(Some("127.0.0.1:80".to_owned())));
        for odd in ["", "a/b", "me@host", "a b", "host?x"] {
            assert!(at(odd).host().await.is_err(), "{odd}");
        }
        assert!(is_google("Google Compute Engine\n") && is_google("Google") && !is_google("Standard PC"));
    }
}
