//! How a command ends: its exit code, and what a person reads when it failed.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use haft_config::ConfigError;
use haft_llm::LlmError;
use haft_protocol::SessionId;
use haft_session::{SessionError, TurnError};

use crate::folders::Folders;
use crate::render::{self, Paint};

/// How a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
    Done,
    Failed,
    Usage,
    Denied,
    Interrupted,
}

impl Exit {
    pub(crate) fn code(self) -> u8 {
        match self {
            Exit::Done => 0,
            Exit::Failed => 1,
            Exit::Usage => 2,
            Exit::Denied => 3,
            Exit::Interrupted => 130,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        ExitCode::from(exit.code())
    }
}

/// Wrong usage that clap could not see. Exit code 2.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct Usage(pub String);

/// Something failed in a session, which can be gone on with.
#[derive(Debug, thiserror::Error)]
#[error("{source}")]
pub(crate) struct InSession {
    pub id: SessionId,
    pub source: SessionError,
}

/// Standard output cannot be written.
#[derive(Debug, thiserror::Error)]
#[error("cannot write to standard output")]
pub(crate) struct Output(#[from] pub std::io::Error);

/// Whether nobody reads standard output any more.
pub(crate) fn is_closed_pipe(error: &anyhow::Error) -> bool {
    let output = error.chain().find_map(|cause| cause.downcast_ref::<Output>());
    output.is_some_and(|Output(source)| source.kind() == std::io::ErrorKind::BrokenPipe)
}

/// What a person reads: the chain of causes, then what to do.
pub(crate) fn describe(error: &anyhow::Error) -> String {
    let text = chain(error);
    match hint(error) {
        Some(hint) => format!("{text}\nhint: {hint}"),
        None => text,
    }
}

/// The same for somebody who is in the session and can go on there.
pub(crate) fn describe_within(error: haft_session::SessionError) -> String {
    let hint = match &error {
        SessionError::Turn(TurnError::Model(error)) => {
            Some(after_model(error, "say `go on`; everything up to here is kept"))
        }
        _ => None,
    };
    let text = chain(&error.into());
    match hint {
        Some(hint) => format!("{text}\nhint: {hint}"),
        None => text,
    }
}

/// What went wrong, and why.
fn chain(error: &anyhow::Error) -> String {
    let mut text = format!("error: {error}");
    for cause in error.chain().skip(1) {
        let cause = cause.to_string();
        // Transparent errors repeat the one they wrap.
        if !text.ends_with(&cause) {
            text.push_str(": ");
            text.push_str(&cause);
        }
    }
    text
}

/// Prints what clap has to say: help and the version to stdout, and to stderr what is wrong with the arguments, which may
/// repeat names of files that a terminal would obey.
pub(crate) fn parsing(error: &clap::Error) -> Exit {
    let text = error.render();
    if !error.use_stderr() {
        return help(&text);
    }
    let coloured = Paint::new(render::errors_are_terminal()).is_on();
    let text = if coloured { text.ansi().to_string() } else { text.to_string() };
    render::complain_painted(text.trim_end());
    if error.exit_code() == 2 { Exit::Usage } else { Exit::Failed }
}

/// Prints a help text.
pub(crate) fn help(text: &clap::builder::StyledStr) -> Exit {
    let coloured = Paint::new(render::out_is_terminal()).is_on();
    let text = if coloured { text.ansi().to_string() } else { text.to_string() };
    match render::say(text.trim_end()) {
        Ok(()) => Exit::Done,
        // Who closes our output early has seen enough.
        Err(Output(error)) if error.kind() == std::io::ErrorKind::BrokenPipe => Exit::Done,
        Err(_) => Exit::Failed,
    }
}

pub(crate) fn exit(error: &anyhow::Error) -> Exit {
    if error.chain().any(|cause| cause.is::<Usage>()) { Exit::Usage } else { Exit::Failed }
}

fn hint(error: &anyhow::Error) -> Option<String> {
    let failed = error.chain().find_map(|cause| cause.downcast_ref::<InSession>());
    if let Some(InSession { id, source: SessionError::Turn(TurnError::Model(error)) }) = failed {
        let again = format!("`haft run --session {id} \"go on\"`; everything up to here is kept");
        return Some(after_model(error, &again));
    }
    let wrong = error.chain().find_map(|cause| cause.downcast_ref::<ConfigError>())?;
    match wrong {
        ConfigError::Syntax { .. }
        | ConfigError::Value { .. }
        | ConfigError::Header { .. }
        | ConfigError::File { .. } => {
            let folders = Folders::find().ok();
            let is_own = folders.is_some_and(|folders| is_own(Path::new(wrong.origin()), &folders));
            Some(if is_own { OWN_SETTINGS } else { PROJECT_SETTINGS }.to_owned())
        }
        ConfigError::Unreadable { .. } => None,
    }
}

const PROJECT_SETTINGS: &str = "mend that, or set HAFT_DISABLE_PROJECT_CONFIG=1 to leave the project's files out";
const OWN_SETTINGS: &str = "mend that; these settings are none of the project's, they count in every folder";

/// Whether settings come from the user, or from whoever manages the machine, and not from a project. Variables are no
/// paths.
fn is_own(origin: &Path, folders: &Folders) -> bool {
    let Folders { home, config_home, .. } = folders;
    let mut own = vec![home.join(".opencode"), home.join(".haft")];
    own.extend(["opencode", "haft"].map(|name| config_home.join(name)));
    own.extend(haft_config::Sources::MANAGED.map(PathBuf::from));
    let is_named = |name: &str| std::env::var_os(name).is_some_and(|named| origin.starts_with(named));
    let named = ["OPENCODE_CONFIG", "HAFT_CONFIG", "OPENCODE_CONFIG_DIR", "HAFT_CONFIG_DIR"];
    !origin.is_absolute() || own.iter().any(|folder| origin.starts_with(folder)) || named.into_iter().any(is_named)
}

/// Vendors whose credentials are looked for on this machine; what is wrong with them says what to do.
const CLOUDS: [&str; 3] = ["amazon-bedrock", "google-vertex", "google-vertex-anthropic"];

/// What to do about a model's failure in a session; `again`: how to go on in it.
fn after_model(error: &LlmError, again: &str) -> String {
    let wait = |after: &Option<std::time::Duration>| match after {
        Some(after) => format!("wait {} s, then", after.as_secs().max(1)),
        None => "wait a little, then".to_owned(),
    };
    match error {
        LlmError::RateLimited { after, .. } => format!("{} {again}", wait(after)),
        LlmError::Server { after, .. } => format!("{} {again}", wait(after)),
        LlmError::TooLong { .. } => "start a new session, or ask about less at a time".to_owned(),
        LlmError::Unauthorized { provider, status: None, .. } if CLOUDS.contains(&provider.as_str()) => {
            format!("mend that, then {again}")
        }
        LlmError::Unauthorized { provider, .. } => format!(
            "check the key: `haft auth login {provider}` stores another one, `haft auth list` shows what there is; \
             `options.apiKey` of the provider in opencode.json counts more, and the variable that it names must be set"
        ),
        LlmError::Quota { .. } => "add credit at the vendor, or choose another model with --model".to_owned(),
        LlmError::Rejected { .. } => {
            "check the model's name, the provider's options, and `options.baseURL`, which usually ends in /v1"
                .to_owned()
        }
        LlmError::Transport { .. } => {
            format!(
                "check that the server runs, its address (`options.baseURL`), and the network with its proxy \
                 (docs/network.md), then {again}"
            )
        }
        LlmError::TimedOut { .. } => format!("try again, or allow more time: {again}"),
        LlmError::Unreachable { .. } => format!("docs/network.md says more; mend it, then {again}"),
        LlmError::CutOff { .. } => format!("the connection broke; {again}"),
        LlmError::Malformed { .. } => {
            "check that `options.baseURL` is the address of an API, usually one that ends in /v1".to_owned()
        }
        LlmError::Script(_) => "docs/scenarios.md says how such a file is written".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use haft_protocol::Clock;
    use std::io::{Error, ErrorKind};

    #[test]
    fn ones_own_settings_are_told_from_the_projects() {
        let folder = |name: &str| PathBuf::from("/h/u").join(name);
        let (home, config_home, data, state, cache) = (folder(""), folder("c"), folder("d"), folder("s"), folder("k"));
        let folders = Folders { home, config_home, data, state, cache };
        let row = |origin: &str, want: bool| assert_eq!(is_own(Path::new(origin), &folders), want, "{origin}");
        row("/h/u/c/haft/haft.json", true);
        row("/h/u/c/opencode/agents/a.md", true);
        row("/h/u/.haft/haft.json", true);
        row("/etc/haft/haft.json", true);
        row("HAFT_CONFIG_CONTENT", true);
        row("/h/u/p/haft.json", false);
        row("/h/u/p/.haft/agents/a.md", false);
    }

    #[test]
    fn only_our_own_output_is_a_closed_pipe() {
        let row = |error: anyhow::Error, want: bool| assert_eq!(is_closed_pipe(&error), want, "{error:#}");
        row(Output(ErrorKind::BrokenPipe.into()).into(), true);
        row(Output(ErrorKind::StorageFull.into()).into(), false);
        let (provider, address) = ("v".to_owned(), "a".to_owned());
        let source = Box::new(Error::from(ErrorKind::BrokenPipe));
        let model = TurnError::Model(LlmError::Transport { provider, address, source });
        row(InSession { id: Clock::scripted(1).mint(), source: SessionError::Turn(model) }.into(), false);
    }
}
