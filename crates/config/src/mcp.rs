//! Servers of further tools, as the settings want them. Pure.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::Value;

use crate::sandbox::SandboxMode;

/// A server of tools.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct McpServer {
    /// Whether it is used.
    pub enabled: bool,
    /// How long it may take to come up, to list what it has, and to answer. `None`: what is usual for each.
    pub timeout: Option<Duration>,
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
        environment: BTreeMap<String, String>,
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
        headers: BTreeMap<String, String>,
        /// How one signs in; `None`: not at all.
        oauth: Option<McpOauth>,
    },
}

/// How one signs in at a server.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct McpOauth {
    /// Who we are there, where that was arranged.
    pub client_id: Option<String>,
    /// The proof of it.
    pub client_secret: Option<String>,
    /// What is asked for.
    pub scope: Option<String>,
    /// The port on this machine that the browser comes back to.
    pub callback_port: Option<u16>,
    /// The address that the browser comes back to.
    pub redirect_uri: Option<String>,
}

impl McpServer {
    /// From the checked and merged `value`. `None` where it only switches off what nobody defined.
    pub(crate) fn of(value: &Value) -> Option<Self> {
        let text = |value: &Value, key: &str| value.get(key).and_then(Value::as_str).map(str::to_owned);
        let map = |key: &str| -> BTreeMap<String, String> {
            let set = value.get(key).and_then(Value::as_object).into_iter().flatten();
            set.filter_map(|(name, value)| Some((name.clone(), value.as_str()?.to_owned()))).collect()
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
                    oauth => Some(oauth.map(oauth_of).unwrap_or_default()),
                },
            },
            _ => return None,
        };
        Some(Self {
            enabled: value.get("enabled").and_then(Value::as_bool).unwrap_or(true),
            timeout: value.get("timeout").and_then(Value::as_u64).map(Duration::from_millis),
            place,
        })
    }
}

fn oauth_of(value: &Value) -> McpOauth {
    let text = |key: &str| value.get(key).and_then(Value::as_str).map(str::to_owned);
    McpOauth {
        client_id: text("clientId"),
        client_secret: text("clientSecret"),
        scope: text("scope"),
        callback_port: value.get("callbackPort").and_then(Value::as_u64).and_then(|port| port.try_into().ok()),
        redirect_uri: text("redirectUri"),
    }
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
        assert_eq!(oauth(json!({"type": "remote", "url": "u"})), Some(McpOauth::default()));
        assert_eq!(oauth(json!({"type": "remote", "url": "u", "oauth": false})), None);
        let with = oauth(json!({"type": "remote", "url": "u", "oauth": {"clientId": "me", "callbackPort": 19}}));
        assert_eq!(with.map(|oauth| (oauth.client_id, oauth.callback_port)), Some((Some("me".to_owned()), Some(19))));
    }

    #[test]
    fn what_only_switches_off_is_no_server() {
        assert_eq!(McpServer::of(&json!({"enabled": false})), None);
        assert_eq!(McpServer::of(&json!({"type": "local", "command": []})), None);
        let off = McpServer::of(&json!({"enabled": false, "type": "local", "command": ["x"]})).unwrap();
        assert!(!off.enabled);
    }
}
