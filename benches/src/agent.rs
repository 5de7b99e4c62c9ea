//! The agents that are compared, and how each is told where its model is and what to do.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use serde_json::json;

use crate::home::Home;

/// The model's name, which is no vendor's: so no agent knows anything about it.
pub const MODEL: &str = "m1";

/// Which agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Ours. Speaks chat completions.
    Haft,
    /// Speaks chat completions, and reads the same settings as haft.
    OpenCode,
    /// Speaks responses. Its only way to a file is a command.
    Codex,
}

/// A program to measure.
#[derive(Debug, Clone)]
pub struct Agent {
    /// Which agent it is.
    pub kind: Kind,
    /// The native program, without whatever starts it when it was installed by a package manager.
    pub program: PathBuf,
    /// A folder of programs that it looks for on the `PATH`, beside the user's own.
    pub beside: Option<PathBuf>,
}

impl Kind {
    /// The name in tables and in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Haft => "haft",
            Kind::OpenCode => "opencode",
            Kind::Codex => "codex",
        }
    }

    /// The arguments that make the agent answer `prompt` and end. Nothing is asked of anybody on the way.
    pub fn prompt(self, prompt: &str) -> Vec<OsString> {
        let arguments: &[&str] = match self {
            Kind::Haft => &["run"],
            // With a title of ours it does not ask the model for one, which would be a request more.
            Kind::OpenCode => &["run", "--title", "bench"],
            Kind::Codex => &["exec", "--skip-git-repo-check"],
        };
        arguments.iter().chain([&prompt]).map(OsString::from).collect()
    }

    /// The settings file that makes `url` the model and allows what the scenes do, and its text.
    ///
    /// Nobody has a cage: it is the agents that are compared, and haft has none.
    pub fn settings(self, home: &Home, url: &str) -> (PathBuf, String) {
        match self {
            Kind::Haft | Kind::OpenCode => {
                let options = json!({"baseURL": url, "apiKey": "none"});
                let provider = json!({
                    "npm": "@ai-sdk/openai-compatible",
                    "options": options,
                    "models": { MODEL: {"name": MODEL, "limit": {"context": 1_000_000, "output": 8000}} },
                });
                let settings = json!({
                    "model": format!("mock/{MODEL}"),
                    "permission": {"bash": "allow"},
                    "share": "disabled",
                    "autoupdate": false,
                    "provider": {"mock": provider},
                });
                (home.project().join("opencode.json"), settings.to_string())
            }
            Kind::Codex => {
                let settings = format!(
                    "model = \"{MODEL}\"\nmodel_provider = \"mock\"\nmodel_context_window = 1000000\n\
                     approval_policy = \"never\"\nsandbox_mode = \"danger-full-access\"\n\
                     check_for_update_on_startup = false\n[analytics]\nenabled = false\n\
                     [model_providers.mock]\nname = \"mock\"\nbase_url = \"{url}\"\nwire_api = \"responses\"\n"
                );
                (codex_home(home.folder()).join("config.toml"), settings)
            }
        }
    }

    /// What the agent needs in its environment beside a home: mostly to leave the network alone.
    pub fn environment(self, home: &Home) -> Vec<(&'static str, OsString)> {
        match self {
            Kind::Haft => Vec::new(),
            Kind::OpenCode => [
                "OPENCODE_DISABLE_AUTOUPDATE",
                "OPENCODE_DISABLE_MODELS_FETCH",
                "OPENCODE_DISABLE_LSP_DOWNLOAD",
                "OPENCODE_DISABLE_DEFAULT_PLUGINS",
            ]
            .map(|name| (name, "1".into()))
            .to_vec(),
            Kind::Codex => vec![("CODEX_HOME", codex_home(home.folder()).into())],
        }
    }
}

fn codex_home(home: &Path) -> PathBuf {
    home.join("codex")
}
