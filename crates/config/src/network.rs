//! How far requests go, through whom, and whom they trust. Pure.

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::load::Layer;
use crate::sandbox::{anchor, located};
use crate::sources::Sources;

/// What the settings say about the network.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Network {
    /// Whether nothing is spoken to but this machine and [`Network::own`].
    pub offline: bool,
    /// The addresses of models that stand in the user's own settings, and not in those of a project.
    pub own: Vec<String>,
    /// Who stands between this machine and the others.
    pub proxy: Proxy,
    /// Who is reached directly all the same.
    pub no_proxy: Vec<String>,
    /// Files of certificates to trust beside the system's. Absolute.
    pub ca: Vec<PathBuf>,
    /// The user's certificate. Absolute.
    pub client_cert: Option<PathBuf>,
    /// Its key, where it is in another file. Absolute.
    pub client_key: Option<PathBuf>,
}

impl std::fmt::Debug for Network {
    /// Leaves out addresses, which may hold a password.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Network").field("offline", &self.offline).field("ca", &self.ca).finish_non_exhaustive()
    }
}

/// Who stands between this machine and the others.
#[derive(Clone, Default, PartialEq, Eq)]
pub enum Proxy {
    /// Whoever the environment and the system say.
    #[default]
    System,
    /// Nobody, whatever they say.
    Nobody,
    /// The one at this address, which may hold user and password.
    At(String),
}

impl Network {
    /// From the checked and located `value` of all settings, and the `layers` it comes from.
    pub(crate) fn of(value: &Value, layers: &[Layer], sources: &Sources) -> Self {
        let at = &value["network"];
        let texts = |value: &Value| match value {
            Value::String(one) => vec![one.clone()],
            Value::Array(all) => all.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => Vec::new(),
        };
        let path = |key: &str| at[key].as_str().map(PathBuf::from);
        Self {
            offline: value["offline"].as_bool().unwrap_or_default() || sources.is_on("OFFLINE"),
            own: own(layers, sources),
            proxy: match &at["proxy"] {
                Value::Bool(false) => Proxy::Nobody,
                Value::String(address) if !address.is_empty() => Proxy::At(address.clone()),
                Value::String(_) | Value::Null | Value::Bool(true) | Value::Number(_) => Proxy::System,
                Value::Array(_) | Value::Object(_) => Proxy::System,
            },
            no_proxy: texts(&at["no_proxy"]),
            ca: texts(&at["ca"]).into_iter().map(PathBuf::from).collect(),
            client_cert: path("client_cert"),
            client_key: path("client_key"),
        }
    }
}

/// What addresses of proxies begin with.
const SCHEMES: [&str; 6] = ["http", "https", "socks4", "socks4a", "socks5", "socks5h"];

impl Proxy {
    /// Whether it can be one. One that cannot would be passed by in silence.
    ///
    /// # Errors
    ///
    /// Text for a person that does not repeat the address, in which a password may stand.
    pub(crate) fn check(&self) -> Result<(), String> {
        let Proxy::At(address) = self else { return Ok(()) };
        let (scheme, rest) = address.split_once("://").unwrap_or(("http", address));
        let known = SCHEMES.iter().any(|known| known.eq_ignore_ascii_case(scheme));
        let host = rest.split(['/', '?', '#']).next().unwrap_or_default();
        if known && !host.is_empty() && !host.contains(char::is_whitespace) {
            return Ok(());
        }
        let schemes = SCHEMES.map(|scheme| format!("{scheme}://")).join(", ");
        Err(format!("is no address of a proxy; it is HOST:PORT with one of {schemes} before it"))
    }
}

/// The addresses of models in those of `layers` that are the user's.
fn own(layers: &[Layer], sources: &Sources) -> Vec<String> {
    let project = sources.project_places();
    let named = ["OPENCODE_CONFIG", "HAFT_CONFIG"].into_iter().filter_map(|name| sources.env(name));
    let named: Vec<PathBuf> = named.map(|file| sources.directory.join(file)).collect();
    let is_own = |layer: &&Layer| {
        let origin = Path::new(&layer.origin);
        let foreign = origin.parent().is_some_and(|folder| project.contains(folder));
        let handed_in = sources.organisation.iter().any(|(from, _)| *from == layer.origin);
        (!foreign || named.iter().any(|file| file == origin)) && !handed_in
    };
    let providers = layers.iter().filter(is_own).filter_map(|layer| layer.value.get("provider")?.as_object());
    let addresses = providers.flat_map(|providers| providers.values()).flat_map(|provider| {
        let models = provider["models"].as_object().into_iter().flat_map(|models| models.values());
        let of_models = models.map(|model| &model["provider"]["api"]);
        [&provider["options"]["baseURL"], &provider["api"]].into_iter().chain(of_models)
    });
    let mut all: Vec<String> =
        addresses.filter_map(Value::as_str).filter_map(|address| expanded(address, sources)).collect();
    all.sort_unstable();
    all.dedup();
    all
}

/// `address` with variables put in for `${NAME}`; `None` where one is not set.
fn expanded(address: &str, sources: &Sources) -> Option<String> {
    let (mut whole, mut rest) = (String::new(), address);
    while let Some((before, (name, after))) =
        rest.split_once("${").and_then(|(before, rest)| Some((before, rest.split_once('}')?)))
    {
        whole.push_str(before);
        whole.push_str(sources.env(name)?);
        rest = after;
    }
    whole.push_str(rest);
    Some(whole)
}

/// Makes the paths in the `network` of the settings `value` absolute, as those of the sandbox are.
pub(crate) fn locate(value: &mut Value, base: &Path, home: &Path) {
    let Some(network) = value.get_mut("network") else { return };
    let place = |path: &mut Value| {
        if let Value::String(text) = path {
            *text = located(text, anchor(base), home).to_string_lossy().into_owned();
        }
    };
    for key in ["ca", "client_cert", "client_key"] {
        match network.get_mut(key) {
            Some(Value::Array(paths)) => paths.iter_mut().for_each(place),
            Some(path) => place(path),
            None => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::merge::Lists;

    fn layer(origin: &str, value: Value) -> Layer {
        Layer { origin: origin.to_owned(), value, lists: Lists::Join, ..Layer::default() }
    }

    fn sources(environment: &[(&str, &str)]) -> Sources {
        Sources {
            home: "/h".into(),
            config_home: "/h/.config".into(),
            directory: "/p".into(),
            worktree: Some("/p".into()),
            environment: environment.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect(),
            ..Sources::default()
        }
    }

    #[test]
    fn only_the_users_own_addresses_are_let_through() {
        let address = |url: &str| json!({"provider": {"v": {"options": {"baseURL": url}}}});
        let layers = [
            layer("/h/.config/haft/haft.json", address("https://own.example/v1")),
            layer("/p/haft.json", address("https://project.example/v1")),
            layer("/p/.haft/haft.json", address("https://hidden.example/v1")),
            layer("/p/ci.json", address("https://named.example/v1")),
            layer("OPENCODE_CONFIG_CONTENT", address("https://${WHERE}/v1")),
            layer("/etc/haft/haft.json", address("https://${UNSET}/v1")),
            layer("the organisation", address("https://organisation.example/v1")),
            layer(
                "/h/x.json",
                json!({"provider": {"v": {"api": "http://a", "models": {"m": {"provider": {"api": "http://b"}}}}}}),
            ),
        ];
        let mut sources = sources(&[("WHERE", "elsewhere.example"), ("HAFT_CONFIG", "ci.json")]);
        sources.organisation = vec![("the organisation".to_owned(), String::new())];
        let want = [
            "http://a",
            "http://b",
            "https://elsewhere.example/v1",
            "https://named.example/v1",
            "https://own.example/v1",
        ];
        assert_eq!(Network::of(&json!({}), &layers, &sources).own, want);
    }

    #[test]
    fn words_become_types() {
        let check = |value: Value, want: Network| assert_eq!(Network::of(&value, &[], &sources(&[])), want, "{value}");
        check(json!({}), Network::default());
        check(json!({"offline": true}), Network { offline: true, ..Network::default() });
        check(json!({"network": {"proxy": false}}), Network { proxy: Proxy::Nobody, ..Network::default() });
        check(
            json!({"network": {"proxy": "http://p", "no_proxy": ["a"], "ca": "/a", "client_cert": "/c"}}),
            Network {
                proxy: Proxy::At("http://p".to_owned()),
                no_proxy: vec!["a".to_owned()],
                ca: vec!["/a".into()],
                client_cert: Some("/c".into()),
                ..Network::default()
            },
        );
        assert!(Network::of(&json!({"offline": false}), &[], &sources(&[("HAFT_OFFLINE", "1")])).offline);
        assert!(!format!("{:?}", Network { own: vec!["secret".to_owned()], ..Network::default() }).contains("secret"));
    }

    #[test]
    fn what_can_be_no_proxy_is_wrong() {
        let row = |address: &str, want: bool| {
            assert_eq!(Proxy::At(address.to_owned()).check().is_ok(), want, "{address}");
        };
        row("http://me:p%40ss@proxy.example:3128/", true);
        row("SOCKS5H://127.0.0.1:9050", true);
        row("proxy.example:3128", true);
        row("htp://proxy.example:3128", false);
        row("http://", false);
        row("http://proxy example:3128", false);
        assert!(Proxy::Nobody.check().is_ok());
        let told = Proxy::At("ftp://me:secret@proxy".to_owned()).check().unwrap_err();
        assert!(!told.contains("secret"), "{told}");
    }

    #[test]
    fn paths_begin_where_the_file_is_about() {
        let mut value = json!({"network": {"ca": ["a.pem", "~/b.pem"], "client_cert": "c.pem", "proxy": "p"}});
        locate(&mut value, Path::new("/x/.haft"), Path::new("/h"));
        let want = json!({"network": {"ca": ["/x/a.pem", "/h/b.pem"], "client_cert": "/x/c.pem", "proxy": "p"}});
        assert_eq!(value, want);
    }
}
