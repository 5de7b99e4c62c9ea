//! Servers of further tools: from the settings to what speaks with them.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures::future::BoxFuture;
use haft_config::{McpGrant, McpIdp, McpOauth, McpPlace, McpServer, SandboxMode};
use haft_mcp::client::cache::Cache;
use haft_mcp::client::pins::Pins;
use haft_mcp::client::settings::{Cage, Local, Oauth, Place, Remote, Settings};
use haft_mcp::client::{Search, Servers, World};
use haft_mcp::oauth::{Account, Grant, Organisation, Store};
use haft_permission::{Answerer, Gate};
use haft_protocol::Clock;
use haft_session::{Note, Prompts, Resources};
use haft_tool::image::ImageLimits;
use haft_vault::Secret;
use serde_json::{Value, json};

use crate::own_file::{self, OwnFile};
use crate::render;
use crate::wire::Ground;

/// The variable that a server finds set whose client is haft.
const BY_HAFT: &str = "HAFT_MCP_CLIENT";
/// Where the web is searched where only that is said.
const EXA: &str = "https://mcp.exa.ai/mcp";
/// The vendor whose users search there.
const ZEN: &str = "opencode";

/// The servers that the settings of `ground` name. None is started.
pub(crate) fn of(ground: &Ground) -> Servers {
    Servers::new(world(ground), ground.config.mcp.iter().map(|(name, one)| settings(ground, name, one)).collect())
}

/// A pattern for the names of all tools of the server called `name`.
pub(crate) fn tools_of(name: &str) -> String {
    format!("{}_*", haft_mcp::client::naming::safe(name))
}

/// What searches the web, where the settings say so.
pub(crate) fn search(ground: &Ground) -> Option<Search> {
    let config = &ground.config;
    let exa = config.flags.exa || config.providers.contains_key(ZEN);
    let url = config.search_url.clone().or_else(|| exa.then(|| EXA.to_owned()))?;
    let place = Place::Remote(Remote { url, headers: Vec::new(), oauth: None });
    let name = "websearch".to_owned();
    Search::new(
        world(ground),
        Settings { name, enabled: true, timeout: None, call_timeout: None, sampling: false, place },
    )
}

fn world(ground: &Ground) -> World {
    // A gate of their own: servers belong to no session, and nobody is asked whether they may be started.
    let gate = Gate::new(Clock::system(), Answerer::Nobody, |_| {});
    let gate = match ground.audit() {
        Ok(Some(audit)) => gate.witnessed_by(Arc::new(audit)),
        Ok(None) | Err(_) => gate,
    };
    let pins = Arc::new(Pinned::new(OwnFile::at(ground.folders.data.join("mcp-tools.json"))));
    let mut world = World::new(ground.place.directory.clone(), ground.processes.clone(), gate, pins);
    world.cache = Some(Cache::in_folder(ground.folders.cache.join("mcp")));
    world.tokens = Some(Store::at(ground.folders.mcp_auth()));
    let images = &ground.config.images;
    world.images = ImageLimits {
        auto_resize: images.auto_resize,
        max_width: images.max_width,
        max_height: images.max_height,
        max_base64_bytes: images.max_base64_bytes,
    };
    world
}

/// The server called `name` as `server` of the settings wants it.
fn settings(ground: &Ground, name: &str, server: &McpServer) -> Settings {
    let place = match &server.place {
        McpPlace::Local { command, cwd, environment, mode, network } => Place::Local(Local {
            command: command.clone(),
            dir: match cwd {
                Some(cwd) => ground.place.directory.join(cwd),
                None => ground.place.directory.clone(),
            },
            environment: std::iter::once((BY_HAFT.to_owned(), Secret::new("1"))).chain(environment.clone()).collect(),
            cage: match mode {
                SandboxMode::Off => Cage::Off,
                SandboxMode::WorkspaceWrite => Cage::On { changes: true, network: *network },
                SandboxMode::ReadOnly => Cage::On { changes: false, network: *network },
            },
        }),
        McpPlace::Remote { url, headers, oauth } => Place::Remote(Remote {
            url: url.clone(),
            headers: headers.clone().into_iter().collect(),
            oauth: oauth.as_ref().map(|one| Box::new(oauth_of(ground, one))),
        }),
    };
    let call_timeout: Option<Duration> = ground.config.experimental.mcp_timeout;
    Settings {
        name: name.to_owned(),
        enabled: server.enabled
            && !is_again(&ground.place.directory, &server.place, std::env::var_os(BY_HAFT).is_some()),
        timeout: server.timeout,
        call_timeout,
        sampling: server.sampling,
        place,
    }
}

/// Whether a server would be haft once more for work in `here`: its tools are there already, and the settings that name it
/// would have it start itself without end. `by_haft`: haft started this program, so any further haft may be such a one.
fn is_again(here: &Path, place: &McpPlace, by_haft: bool) -> bool {
    let McpPlace::Local { command, cwd, .. } = place else { return false };
    let [program, group, verb, arguments @ ..] = command.as_slice() else { return false };
    if Path::new(program).file_stem() != Some("haft".as_ref()) || group != "mcp" || verb != "serve" {
        return false;
    }
    let named = arguments.iter().skip_while(|word| *word != "--dir").nth(1).map(String::as_str);
    let dir = named.or_else(|| arguments.iter().find_map(|word| word.strip_prefix("--dir=")));
    let there = here.join(cwd.as_deref().unwrap_or_default()).join(dir.unwrap_or_default());
    by_haft || there.canonicalize().ok() == here.canonicalize().ok()
}

/// How one signs in there, if one does.
pub(crate) fn account(ground: &Ground, name: &str, server: &McpServer) -> Option<Account> {
    settings(ground, name, server).account()
}

fn oauth_of(ground: &Ground, oauth: &McpOauth) -> Oauth {
    let McpOauth { client_id, client_secret, scope, callback_port, redirect_uri, grant, private_key_file } =
        oauth.clone();
    let file = |path: String| match path.strip_prefix("~/") {
        Some(below) => ground.folders.home.join(below),
        None => ground.place.directory.join(path),
    };
    let grant = match grant {
        McpGrant::Person => Grant::Person,
        McpGrant::Client => Grant::Client,
        McpGrant::Organisation(McpIdp { issuer, token_url, client_id, client_secret, id_token_file }) => {
            let id_token_file = file(id_token_file);
            Grant::Organisation(Organisation { issuer, token_url, client_id, client_secret, id_token_file })
        }
    };
    let key_file = private_key_file.map(file);
    Oauth { client_id, client_secret, scope, callback_port, redirect_uri, grant, key_file }
}

/// What servers say about themselves, and their prompts, for sessions.
pub(crate) struct Told(pub Servers);

impl Note for Told {
    fn text(&self, allowed: &dyn Fn(&str) -> bool) -> String {
        self.0.instructions(allowed)
    }
}

impl Prompts for Told {
    fn all(&self) -> Vec<(String, String)> {
        self.0.prompts().into_iter().map(|prompt| (prompt.name, prompt.description)).collect()
    }

    fn get<'a>(&'a self, name: &'a str, arguments: Vec<String>) -> BoxFuture<'a, Result<String, String>> {
        Box::pin(async move { self.0.prompt(name, &arguments).await })
    }
}

impl Resources for Told {
    fn has(&self, server: &str) -> bool {
        self.0.has(server)
    }
}

/// Most tools that are remembered; the oldest give way.
const MAX_PINS: usize = 5_000;

/// What tools of servers were let run, in a file of the data folder.
struct Pinned {
    file: OwnFile<Content>,
    /// What it said when it was last read or written.
    known: Mutex<Option<BTreeMap<(String, String), String>>>,
}

/// What the file says: a server, its tool and the digest, oldest first.
#[derive(Debug, Clone, PartialEq)]
struct Content(Vec<[String; 3]>);

impl Pinned {
    fn new(file: OwnFile<Content>) -> Self {
        Self { file, known: Mutex::new(None) }
    }
}

impl Pins for Pinned {
    fn get(&self, server: &str, tool: &str) -> Option<String> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let known = known.get_or_insert_with(|| match self.file.read() {
            Ok(Content(rows)) => rows.into_iter().map(|[server, tool, digest]| ((server, tool), digest)).collect(),
            Err(error) => {
                render::complain(&format!("warning: {error:#}; tools of MCP servers are not compared with before"));
                BTreeMap::new()
            }
        });
        known.get(&(server.to_owned(), tool.to_owned())).cloned()
    }

    fn set(&self, server: &str, tool: &str, digest: &str) -> Result<(), String> {
        let row = [server, tool, digest].map(str::to_owned);
        let changed = self.file.change(|Content(rows)| {
            rows.retain(|one| one[..2] != row[..2]);
            let over = (rows.len() + 1).saturating_sub(MAX_PINS);
            rows.drain(..over);
            rows.push(row.clone());
        });
        changed.map_err(|error| format!("{error:#}"))?;
        // Read again when it is needed, with what other processes wrote.
        *self.known.lock().unwrap_or_else(PoisonError::into_inner) = None;
        Ok(())
    }
}

impl own_file::Content for Content {
    const VERSION: u64 = 1;
    const WITHOUT: &'static str = "tools of MCP servers are not compared with before";

    fn empty() -> Self {
        Self(Vec::new())
    }

    fn from_json(value: &Value) -> Option<Self> {
        let row = |row: &Value| {
            let text = |at: usize| row.get(at)?.as_str().map(str::to_owned);
            Some([text(0)?, text(1)?, text(2)?])
        };
        value["tools"].as_array()?.iter().map(row).collect::<Option<_>>().map(Self)
    }

    fn to_text(&self) -> String {
        format!("{:#}\n", json!({"version": Self::VERSION, "tools": self.0}))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn haft_does_not_serve_itself() {
        let folder = tempfile::tempdir().unwrap();
        let here = folder.path();
        std::fs::create_dir(here.join("other")).unwrap();
        let row = |command: &[&str], by_haft: bool, want: bool| {
            let value = json!({"mcp": {"one": {"type": "local", "command": command}}});
            let given = [("HAFT_CONFIG_CONTENT".to_owned(), value.to_string())];
            let sources = haft_config::Sources { environment: given.into(), ..haft_config::Sources::default() };
            let config = haft_config::load(&sources, haft_config::Trust::Given).unwrap();
            assert_eq!(is_again(here, &config.mcp["one"].place, by_haft), want, "{command:?}");
        };
        row(&["haft", "mcp", "serve"], false, true);
        row(&["/usr/bin/haft", "mcp", "serve", "--auto", "--dir", "."], false, true);
        row(&["haft", "mcp", "serve", "--dir=other/.."], false, true);
        row(&["haft", "mcp", "serve", "--dir", "other"], false, false);
        row(&["haft", "mcp", "serve", "--dir", "other"], true, true);
        row(&["haft", "mcp", "list"], true, false);
        row(&["npx", "mcp", "serve"], true, false);
    }

    #[test]
    fn what_was_let_run_is_remembered_by_the_next_process() {
        let folder = tempfile::tempdir().unwrap();
        let file = || OwnFile::at(folder.path().join("mcp-tools.json"));
        let (one, other) = (Pinned::new(file()), Pinned::new(file()));
        assert_eq!(one.get("s", "t"), None);
        one.set("s", "t", "1").unwrap();
        one.set("s", "u", "2").unwrap();
        one.set("s", "t", "3").unwrap();
        for pins in [&one, &other] {
            assert_eq!((pins.get("s", "t").as_deref(), pins.get("s", "u").as_deref()), (Some("3"), Some("2")));
            assert_eq!(pins.get("other", "t"), None);
        }
    }
}
