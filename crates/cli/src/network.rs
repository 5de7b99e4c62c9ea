//! The network of this process, as the command line, the environment and the settings want it.

use std::path::PathBuf;
use std::sync::OnceLock;

use haft_config::{Config, Network as Wanted, Proxy as Through};
use haft_net::{Identity, Network, Proxy, Reach, Settings};
use haft_permission::Action;

/// Whether the command line says that this run is offline.
static OFFLINE: OnceLock<bool> = OnceLock::new();

/// Begins: `offline` is what the command line says. Until the settings are read, nobody has named any address.
pub(crate) fn begin(offline: bool) {
    let _ = OFFLINE.set(offline);
    let said = ["HAFT_OFFLINE", "OPENCODE_OFFLINE"].into_iter().filter_map(|name| std::env::var(name).ok());
    let env = said.filter(|value| !value.is_empty()).map(|value| value == "1" || value.eq_ignore_ascii_case("true"));
    if offline || env.into_iter().next().unwrap_or_default() {
        Network::new(Settings { reach: Reach::offline([]), ..Settings::default() }).install();
    }
}

/// Whether this run is offline.
pub(crate) fn is_offline(config: &Config) -> bool {
    OFFLINE.get().copied().unwrap_or_default() || config.network.offline
}

/// Makes the network what `config` says. Offline, commands have none either, whatever else is said.
pub(crate) fn follow(config: &mut Config) {
    let offline = is_offline(config);
    if offline {
        hold_commands(config);
    }
    let extra = std::env::var_os("NODE_EXTRA_CA_CERTS").filter(|file| !file.is_empty()).map(PathBuf::from);
    Network::new(settings(&config.network, offline, extra)).install();
}

/// Takes the network from commands.
fn hold_commands(config: &mut Config) {
    config.sandbox.network = Some(Action::Deny);
}

/// What the settings mean. `extra` is the file that `NODE_EXTRA_CA_CERTS` names.
fn settings(wanted: &Wanted, offline: bool, extra: Option<PathBuf>) -> Settings {
    let Wanted { offline: _, own, proxy, no_proxy, ca, client_cert, client_key } = wanted;
    let own_ca = ca.iter().map(|file| (file.clone(), "network.ca"));
    Settings {
        proxy: match proxy {
            Through::System => Proxy::System,
            Through::Nobody => Proxy::Nobody,
            Through::At(address) => Proxy::At(address.clone()),
        },
        no_proxy: no_proxy.clone(),
        ca: own_ca.chain(extra.map(|file| (file, "NODE_EXTRA_CA_CERTS"))).collect(),
        // Both may stand in one file.
        identity: client_cert
            .as_ref()
            .map(|cert| Identity { cert: cert.clone(), key: client_key.as_ref().unwrap_or(cert).clone() }),
        reach: match offline {
            true => Reach::offline(own.iter().map(String::as_str)),
            false => Reach::Anywhere,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_settings_are_handed_on_whole() {
        let wanted = Wanted {
            offline: true,
            own: vec!["https://models.example/v1".to_owned()],
            proxy: Through::At("socks5h://p:1080".to_owned()),
            no_proxy: vec!["inside.example".to_owned()],
            ca: vec!["/own.pem".into()],
            client_cert: Some("/me.pem".into()),
            client_key: None,
        };
        let want = Settings {
            proxy: Proxy::At("socks5h://p:1080".to_owned()),
            no_proxy: vec!["inside.example".to_owned()],
            ca: vec![("/own.pem".into(), "network.ca"), ("/extra.pem".into(), "NODE_EXTRA_CA_CERTS")],
            identity: Some(Identity { cert: "/me.pem".into(), key: "/me.pem".into() }),
            reach: Reach::offline(["https://models.example/v1"]),
        };
        assert_eq!(settings(&wanted, true, Some("/extra.pem".into())), want);
        assert_eq!(settings(&Wanted::default(), false, None), Settings::default());
    }
}
