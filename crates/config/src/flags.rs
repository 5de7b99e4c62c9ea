//! Switches that only the environment has. Pure.

use std::time::Duration;

use crate::sources::Sources;

/// Each is set by `HAFT_NAME` or `OPENCODE_NAME`; a switch is on for `1` and `true`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Flags {
    /// `CLIENT`: which face asks; `cli` if not set.
    pub client: String,
    /// `PURE`: no plug-ins from outside.
    pub pure: bool,
    /// `EXPERIMENTAL_PLAN_MODE`: the plan tools are offered.
    pub plan_mode: bool,
    /// `EXPERIMENTAL_CODE_MODE`: the tool `execute` is offered.
    pub code_mode: bool,
    /// `EXPERIMENTAL_BACKGROUND_SUBAGENTS`: tasks may go on while their caller does.
    pub background_subagents: bool,
    /// `EXPERIMENTAL_LSP_TOOL`: the lsp tool is offered.
    pub lsp_tool: bool,
    /// `EXPERIMENTAL_OXFMT`: the formatter `oxfmt` counts.
    pub oxfmt: bool,
    /// `EXPERIMENTAL_FILEWATCHER`: changes of files are told to plug-ins, whoever makes them.
    pub file_watcher: bool,
    /// `EXPERIMENTAL_DISABLE_FILEWATCHER`: they are not, whatever else is said.
    pub no_file_watcher: bool,
    /// `ENABLE_QUESTION_TOOL`: the question tool is offered to every client.
    pub question_tool: bool,
    /// `ENABLE_EXA`, or its experimental name: searching the web through Exa.
    pub exa: bool,
    /// `ENABLE_EXPERIMENTAL_MODELS`: models that are not finished are offered.
    pub experimental_models: bool,
    /// `AUTO_SHARE`: new sessions are shared.
    pub auto_share: bool,
    /// `DISABLE_CLAUDE_CODE`, `DISABLE_CLAUDE_CODE_PROMPT`: no `CLAUDE.md`.
    pub no_claude_prompt: bool,
    /// `DISABLE_CLAUDE_CODE`, `DISABLE_CLAUDE_CODE_SKILLS`: no skills of `.claude`.
    pub no_claude_skills: bool,
    /// `DISABLE_EXTERNAL_SKILLS`: no skills of `.claude` and `.agents`.
    pub no_external_skills: bool,
    /// `DISABLE_PROJECT_CONFIG`: nothing of the project's own settings and instructions.
    pub no_project_config: bool,
    /// `DISABLE_AUTOUPDATE`.
    pub no_autoupdate: bool,
    /// `DISABLE_DEFAULT_PLUGINS`.
    pub no_default_plugins: bool,
    /// `DISABLE_LSP_DOWNLOAD`.
    pub no_lsp_download: bool,
    /// `DISABLE_MODELS_FETCH`.
    pub no_models_fetch: bool,
    /// `MODELS_URL`: where the list of models is fetched from, before what the settings say.
    pub models_url: Option<String>,
    /// `DISABLE_MOUSE`.
    pub no_mouse: bool,
    /// `DISABLE_TERMINAL_TITLE`.
    pub no_terminal_title: bool,
    /// `EXPERIMENTAL_BASH_DEFAULT_TIMEOUT_MS`: how long a command may run that says nothing about it.
    pub bash_timeout: Option<Duration>,
    /// `EXPERIMENTAL_OUTPUT_TOKEN_MAX`: most tokens of an answer.
    pub output_token_max: Option<u64>,
}

impl Flags {
    pub(crate) fn of(sources: &Sources) -> Self {
        let on = |name: &str| sources.is_on(name);
        let number =
            |name: &str| sources.either(name).and_then(|value| value.parse().ok()).filter(|&number| number > 0);
        // The umbrella over everything experimental.
        let trying = |name: &str| on("EXPERIMENTAL") || on(&format!("EXPERIMENTAL_{name}"));
        Self {
            client: sources.either("CLIENT").unwrap_or("cli").to_owned(),
            pure: on("PURE"),
            plan_mode: trying("PLAN_MODE"),
            code_mode: trying("CODE_MODE"),
            background_subagents: trying("BACKGROUND_SUBAGENTS"),
            lsp_tool: trying("LSP_TOOL"),
            oxfmt: trying("OXFMT"),
            file_watcher: trying("FILEWATCHER"),
            no_file_watcher: on("EXPERIMENTAL_DISABLE_FILEWATCHER"),
            question_tool: on("ENABLE_QUESTION_TOOL"),
            exa: on("ENABLE_EXA") || trying("EXA"),
            experimental_models: on("ENABLE_EXPERIMENTAL_MODELS"),
            auto_share: on("AUTO_SHARE"),
            no_claude_prompt: on("DISABLE_CLAUDE_CODE") || on("DISABLE_CLAUDE_CODE_PROMPT"),
            no_claude_skills: on("DISABLE_CLAUDE_CODE") || on("DISABLE_CLAUDE_CODE_SKILLS"),
            no_external_skills: on("DISABLE_EXTERNAL_SKILLS"),
            no_project_config: on("DISABLE_PROJECT_CONFIG"),
            no_autoupdate: on("DISABLE_AUTOUPDATE"),
            no_default_plugins: on("DISABLE_DEFAULT_PLUGINS"),
            no_lsp_download: on("DISABLE_LSP_DOWNLOAD"),
            no_models_fetch: on("DISABLE_MODELS_FETCH"),
            models_url: sources.either("MODELS_URL").filter(|url| !url.is_empty()).map(str::to_owned),
            no_mouse: on("DISABLE_MOUSE"),
            no_terminal_title: on("DISABLE_TERMINAL_TITLE"),
            bash_timeout: number("EXPERIMENTAL_BASH_DEFAULT_TIMEOUT_MS").map(Duration::from_millis),
            output_token_max: number("EXPERIMENTAL_OUTPUT_TOKEN_MAX"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flags(environment: &[(&str, &str)]) -> Flags {
        let environment = environment.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
        Flags::of(&Sources { environment, ..Sources::default() })
    }

    #[test]
    fn a_switch_is_on_for_one_and_true_alone() {
        for (value, want) in [("1", true), ("true", true), ("TRUE", true), ("0", false), ("yes", false), ("", false)] {
            assert_eq!(flags(&[("OPENCODE_PURE", value)]).pure, want, "{value:?}");
        }
        assert!(!flags(&[("HAFT_PURE", "0"), ("OPENCODE_PURE", "1")]).pure, "haft's own comes first");
    }

    #[test]
    fn one_switch_stands_for_several() {
        let all = flags(&[("OPENCODE_EXPERIMENTAL", "1"), ("OPENCODE_DISABLE_CLAUDE_CODE", "1")]);
        assert!(all.plan_mode && all.lsp_tool && all.background_subagents && all.exa);
        assert!(all.no_claude_prompt && all.no_claude_skills && !all.no_external_skills);
        let one = flags(&[("HAFT_EXPERIMENTAL_PLAN_MODE", "1")]);
        assert!(one.plan_mode && !one.lsp_tool);
        assert!(all.file_watcher && all.oxfmt && !all.no_file_watcher, "an umbrella switches nothing off");
        assert!(flags(&[("OPENCODE_EXPERIMENTAL_DISABLE_FILEWATCHER", "1")]).no_file_watcher);
    }

    #[test]
    fn numbers_are_positive() {
        let set = |value| flags(&[("OPENCODE_EXPERIMENTAL_BASH_DEFAULT_TIMEOUT_MS", value)]).bash_timeout;
        assert_eq!(set("1500"), Some(Duration::from_millis(1500)));
        assert_eq!((set("0"), set("-1"), set("x")), (None, None, None));
        assert_eq!(flags(&[]).client, "cli");
    }
}
