//! Servers of further tools, as the settings want them. Pure.

use std::collections::BTreeMap;
use std::time::Duration;

use haft_vault::Secret;
use serde_json::Value;

use crate::sandbox::SandboxMode;

/// A server of tools.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct McpServer {
    /// Whether it is used.
    pub enabled: bool,
    /// How long it may take to come up, to list what it has, and to answer. `None`: what is usual for each.
    pub timeout: Option<Duration>,
    /// Whether it may have the model write something, if the person agrees.
    pub sampling: bool,
    /// Where it is.
    pub place: McpPlace,
}

/// Where a server is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum McpPlace {
    /// A program that is started here, and spoken with over its input and output.
    Local {
        /// The program and its arguments; at least the program.
        command: Vec<String>,
        /// Its working folder, relative to the project's.
        cwd: Option<String>,
        /// Variables that it is given beside those that commands have.
        environment: BTreeMap<String, Secret>,
        /// What it may change.
        mode: SandboxMode,
        /// Whether it may use the network.
        network: bool,
    },
    /// An address that is spoken with over HTTP.
    Remote {
        /// The address.
        url: String,
        /// Headers of each request.
        headers: BTreeMap<String, Secret>,
        /// How one signs in; `None`: not at all.
        oauth: Option<Box<McpOauth>>,
    },
}

/// How one signs in at a server.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct McpOauth {
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
    pub grant: McpGrant,
    /// The file with the private key that proves who we are, instead of a secret.
    pub private_key_file: Option<String>,
}

/// How tokens for a server are got.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum McpGrant {
    /// A person signs in on a page.
    #[default]
    Person,
    /// The program has credentials of its own.
    Client,
    /// The person's organisation says who they are.
    Organisation(McpIdp),
}

/// Who signs people in at the person's organisation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct McpIdp {
    /// The address under which it describes itself.
    pub issuer: String,
    /// Where it gives tokens, if it does not say so itself.
    pub token_url: Option<String>,
    /// Who we are there.
    pub client_id: String,
    /// The proof of it.
    pub client_secret: Option<Secret>,
    /// The file with the token that says who the person is.
    pub id_token_file: String,
}

impl McpServer {
    /// From the checked and merged `value`. `None` where it only switches off what nobody defined.
    pub(crate) fn of(value: &Value) -> Option<Self> {
        let text = |value: &Value, key: &str| value.get(key).and_then(Value::as_str).map(str::to_owned);
        let map = |key: &str| -> BTreeMap<String, Secret> {
            let set = value.get(key).and_then(Value::as_object).into_iter().flatten();
            set.filter_map(|(name, value)| Some((name.clone(), Secret::new(value.as_str()?)))).collect()
        };
        let place = match value.get("type")?.as_str()? {
            "local" => {
                let command = value.get("command")?.as_array()?;
                let command: Vec<String> = command.iter().filter_map(Value::as_str).map(str::to_owned).collect();
                let sandbox = value.get("sandbox").unwrap_or(&Value::Null);
                McpPlace::Local {
                    command: Some(command).filter(|command| !command.is_empty())?,
                    cwd: text(value, "cwd"),
                    environment: map("environment"),
                    mode: text(sandbox, "mode").and_then(|mode| SandboxMode::from_word(&mode)).unwrap_or_default(),
                    network: sandbox.get("network").and_then(Value::as_bool).unwrap_or(true),
                }
            }
            "remote" => McpPlace::Remote {
                url: text(value, "url")?,
                headers: map("headers"),
                oauth: match value.get("oauth") {
                    Some(Value::Bool(false)) => None,
                    oauth => Some(Box::new(oauth.map(oauth_of).unwrap_or_default())),
                },
            },
            _ => return None,
        };
        Some(Self {
            enabled: value.get("enabled").and_then(Value::as_bool).unwrap_or(true),
            timeout: value.get("timeout").and_then(Value::as_u64).map(Duration::from_millis),
            sampling: value.get("sampling").and_then(Value::as_bool).unwrap_or_default(),
            place,
        })
    }
}

fn oauth_of(value: &Value) -> McpOauth {
    let text = |key: &str| value.get(key).and_then(Value::as_str).map(str::to_owned);
    let grant = match (value.get("idp").and_then(idp_of), value.get("grant").and_then(Value::as_str)) {
        (Some(idp), _) => McpGrant::Organisation(idp),
        (None, Some("client_credentials")) => McpGrant::Client,
        (None, _) => McpGrant::Person,
    };
    McpOauth {
        client_id: text("clientId"),
        client_secret: text("clientSecret").map(Secret::from),
        scope: text("scope"),
        callback_port: value.get("callbackPort").and_then(Value::as_u64).and_then(|port| port.try_into().ok()),
        redirect_uri: text("redirectUri"),
        grant,
        private_key_file: text("privateKeyFile"),
    }
}

fn idp_of(value: &Value) -> Option<McpIdp> {
    let text = |key: &str| value.get(key).and_then(Value::as_str).map(str::to_owned);
    Some(McpIdp {
        issuer: text("issuer")?,
        token_url: text("tokenUrl"),
        client_id: text("clientId")?,
        client_secret: text("clientSecret").map(Secret::from),
        id_token_file: text("idTokenFile")?,
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_program_is_caged_and_may_use_the_network_unless_said_otherwise() {
        let server = McpServer::of(&json!({"type": "local", "command": ["node", "x.mjs"]})).unwrap();
        assert!(server.enabled && server.timeout.is_none());
        let McpPlace::Local { command, mode, network, .. } = server.place else { panic!("not local") };
        assert_eq!((command.len(), mode, network), (2, SandboxMode::WorkspaceWrite, true));
        let sandbox = json!({"mode": "read-only", "network": false});
        let strict = McpServer::of(&json!({"type": "local", "command": ["x"], "timeout": 50, "sandbox": sandbox}));
        let strict = strict.unwrap();
        assert_eq!(strict.timeout, Some(Duration::from_millis(50)));
        let McpPlace::Local { mode, network, .. } = strict.place else { panic!("not local") };
        assert_eq!((mode, network), (SandboxMode::ReadOnly, false));
    }

    #[test]
    fn one_signs_in_unless_that_is_switched_off() {
        let oauth = |value: Value| match McpServer::of(&value).unwrap().place {
            McpPlace::Remote { oauth, .. } => oauth,
            McpPlace::Local { .. } => panic!("not remote"),
        };
        assert_eq!(oauth(json!({"type": "remote", "url": "u"})), Some(Box::default()));
        assert_eq!(oauth(json!({"type": "remote", "url": "u", "oauth": false})), None);
        let with = oauth(json!({"type": "remote", "url": "u", "oauth": {"clientId": "me", "callbackPort": 19}}));
        assert_eq!(with.map(|oauth| (oauth.client_id, oauth.callback_port)), Some((Some("me".to_owned()), Some(19))));
    }

    #[test]
    fn tokens_are_got_without_a_person_where_that_is_said() {
        let grant = |oauth: Value| {
            let server = McpServer::of(&json!({"type": "remote", "url": "u", "oauth": oauth})).unwrap();
            let McpPlace::Remote { oauth: Some(oauth), .. } = server.place else { panic!("no oauth") };
            (oauth.grant, oauth.private_key_file)
        };
        assert_eq!(grant(json!({"clientId": "me"})), (McpGrant::Person, None));
        let key = grant(json!({"grant": "client_credentials", "privateKeyFile": "~/k.pem"}));
        assert_eq!(key, (McpGrant::Client, Some("~/k.pem".to_owned())));
        let idp = json!({"issuer": "https://idp", "clientId": "i", "idTokenFile": "t"});
        let McpGrant::Organisation(idp) = grant(json!({ "idp": idp })).0 else { panic!("no organisation") };
        assert_eq!((idp.issuer.as_str(), idp.id_token_file.as_str()), ("https://idp", "t"));
    }

    #[test]
    fn no_secret_of_a_server_is_printed() {
        let idp = json!({"issuer": "i", "clientId": "c", "clientSecret": "s3cret", "idTokenFile": "t"});
        let oauth = json!({"clientId": "me", "clientSecret": "s3cret", "idp": idp});
        let there = json!({"type": "remote", "url": "u", "headers": {"x-key": "s3cret"}, "oauth": oauth});
        let here = json!({"type": "local", "command": ["x"], "environment": {"KEY": "s3cret"}});
        for server in [there, here] {
            let printed = format!("{:?}", McpServer::of(&server).unwrap());
            assert!(!printed.contains("s3cret") && printed.contains("Secret("), "{printed}");
        }
    }

    #[test]
    fn what_only_switches_off_is_no_server() {
        assert_eq!(McpServer::of(&json!({"enabled": false})), None);
        assert_eq!(McpServer::of(&json!({"type": "local", "command": []})), None);
        let off = McpServer::of(&json!({"enabled": false, "type": "local", "command": ["x"]})).unwrap();
        assert!(!off.enabled);
    }
}
