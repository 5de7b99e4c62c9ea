//! `haft` alone: a chat.

use std::path::PathBuf;

use clap::{Args, ValueHint};

/// `haft [DIR]`
#[derive(Debug, Default, Args)]
pub(crate) struct Chat {
    /// Chat about this folder; the current one if left out
    #[arg(value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub dir: Option<PathBuf>,

    /// Which model: VENDOR/MODEL as configured, script/FILE to play a written scenario, replay/FILE a recording
    #[arg(long, short, value_name = "VENDOR/MODEL")]
    pub model: Option<String>,

    /// Which variant of the model, such as `high`
    #[arg(long, value_name = "VARIANT", value_hint = ValueHint::Other)]
    pub variant: Option<String>,

    /// Which agent answers
    #[arg(long, value_name = "AGENT", value_hint = ValueHint::Other)]
    pub agent: Option<String>,

    /// Go on with this session
    #[arg(long, short, value_name = "ID", value_hint = ValueHint::Other, group = "old_chat")]
    pub session: Option<String>,

    /// Go on with the newest session of this folder
    #[arg(long = "continue", short, group = "old_chat")]
    pub r#continue: bool,

    /// Go on in a copy, and leave the session as it is
    #[arg(long, requires = "old_chat")]
    pub fork: bool,

    /// Say this first
    #[arg(long, value_name = "TEXT", value_hint = ValueHint::Other)]
    pub prompt: Option<String>,

    /// Say yes to everything that no rule denies
    #[arg(long)]
    pub auto: bool,

    /// Whole lines only, nothing drawn anew and no colours: for screen readers and simple terminals
    #[arg(long)]
    pub plain: bool,

    /// Line by line in the terminal's own scroll-back, which is what `haft` alone does
    #[arg(long, hide_short_help = true)]
    pub mini: bool,

    /// How many of a session's last prompts are shown again when it goes on
    #[arg(long, value_name = "N", default_value_t = 1, value_hint = ValueHint::Other, hide_short_help = true)]
    pub replay_limit: usize,

    /// Show nothing again of a session that goes on
    #[arg(long, conflicts_with = "replay_limit", hide_short_help = true)]
    pub no_replay: bool,
}

impl Chat {
    /// One of these that was given, if any was, as it is written. With a sub-command none of them means anything.
    pub(crate) fn given(&self) -> Option<&'static str> {
        let given = [
            (self.dir.is_some(), "DIR"),
            (self.model.is_some(), "--model"),
            (self.variant.is_some(), "--variant"),
            (self.agent.is_some(), "--agent"),
            (self.session.is_some(), "--session"),
            (self.r#continue, "--continue"),
            (self.fork, "--fork"),
            (self.prompt.is_some(), "--prompt"),
            (self.auto, "--auto"),
            (self.plain, "--plain"),
            (self.mini, "--mini"),
            (self.no_replay, "--no-replay"),
        ];
        given.into_iter().find(|(is_given, _)| *is_given).map(|(_, name)| name)
    }
}
