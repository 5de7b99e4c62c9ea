//! Agents: who answers, with which words, which rights and which model.

use haft_permission::{Rule, Rules};
use haft_protocol::Object;

use crate::Toolset;
use crate::agents::family;

/// The texts of the built-in agents by name: front matter, then the prompt. Whoever reads front matter makes
/// [`Draft`]s of them.
pub const BUILTIN_AGENTS: &[(&str, &str)] = &[
    ("build", BUILD),
    ("compaction", COMPACTION),
    ("explore", include_str!("explore.md")),
    ("general", include_str!("general.md")),
    ("plan", include_str!("plan.md")),
    ("summary", include_str!("summary.md")),
    ("title", include_str!("title.md")),
];

const BUILD: &str = include_str!("build.md");
const COMPACTION: &str = include_str!("compaction.md");

/// The agent that is there when nothing else is chosen.
pub(crate) const FIRST: &str = "build";
/// The agent that sums a long conversation up.
pub(crate) const SUMS_UP: &str = "compaction";
/// The agent that finds titles.
pub(crate) const TITLES: &str = "title";
/// The agent that says what a turn came to.
pub(crate) const DESCRIBES: &str = "summary";
/// The agent that changes nothing.
const PLAN: &str = "plan";

/// Who answers.
#[derive(Debug, Clone, PartialEq)]
pub struct Agent {
    /// The name, as messages keep it.
    pub name: String,
    /// What it is for, in words for the person and the model that choose it.
    pub description: Option<String>,
    /// Who may choose it.
    pub mode: Mode,
    /// Left out of lists.
    pub hidden: bool,
    /// Built in, even where the user's settings changed it.
    pub native: bool,
    /// The first part of the system prompt; see [`Agent::voice`].
    pub prompt: Option<String>,
    /// All its rules, without those of a session.
    pub rules: Rules,
    /// Those of them that the user wrote for it alone.
    pub own: Vec<Rule>,
    /// Its own model, as `vendor/model`.
    pub model: Option<String>,
    /// Which named set of options of its own model.
    pub variant: Option<String>,
    /// How freely the model chooses its words, as far as the model takes that.
    pub temperature: Option<f64>,
    /// From how much of the probability the model chooses its words.
    pub top_p: Option<f64>,
    /// Most model steps of one turn.
    pub steps: Option<u32>,
    /// Options for the model, as its vendor calls them.
    pub options: Object,
    /// The colour that screens show it in: `#RRGGBB` or a name of the theme's.
    pub color: Option<String>,
}

impl Agent {
    /// The agent `name` with the usual words, and with `rules`.
    pub fn new(name: &str, rules: Rules) -> Self {
        Self {
            name: name.to_owned(),
            description: None,
            mode: Mode::All,
            hidden: false,
            native: false,
            prompt: None,
            rules,
            own: Vec::new(),
            model: None,
            variant: None,
            temperature: None,
            top_p: None,
            steps: None,
            options: Object::new(),
            color: None,
        }
    }

    /// The one that sums a long conversation up, where the agents that there are have none.
    pub(crate) fn compaction() -> Self {
        let prompt = Some(below_front_matter(COMPACTION).to_owned());
        Self { hidden: true, native: true, prompt, ..Self::new(SUMS_UP, Rules::default()) }
    }

    /// What it is told first: its own prompt, or the one of `build` where it has none.
    pub fn voice(&self) -> &str {
        self.prompt.as_deref().unwrap_or_else(|| below_front_matter(BUILD))
    }

    /// The same on the model that its vendor calls `id` and that is offered `toolset`: who has the usual words is told
    /// what such models get wrong. Words of one's own are left as they are.
    pub fn voice_on(&self, id: &str, toolset: Toolset) -> String {
        let voice = self.voice();
        let more = if voice.trim() == below_front_matter(BUILD) { family::words(id, toolset) } else { "" };
        if more.is_empty() { voice.to_owned() } else { format!("{}\n\n{more}", voice.trim_end()) }
    }
}

/// Who may choose an agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// The user.
    Primary,
    /// Another agent, for a task.
    Subagent,
    /// Both.
    All,
}

impl Mode {
    /// The word that settings use.
    pub fn word(self) -> &'static str {
        match self {
            Mode::Primary => "primary",
            Mode::Subagent => "subagent",
            Mode::All => "all",
        }
    }

    /// The mode that `word` stands for, if it stands for one.
    pub fn from_word(word: &str) -> Option<Self> {
        [Mode::Primary, Mode::Subagent, Mode::All].into_iter().find(|mode| mode.word() == word)
    }
}

/// What one text says about an agent; what it leaves out is left to the built-in agent of that name, or to chance.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Draft {
    /// Its name.
    pub name: String,
    /// See [`Agent::description`].
    pub description: Option<String>,
    /// See [`Agent::mode`].
    pub mode: Option<Mode>,
    /// See [`Agent::hidden`].
    pub hidden: Option<bool>,
    /// There is to be no such agent.
    pub disable: bool,
    /// See [`Agent::prompt`]; an empty one counts as none.
    pub prompt: Option<String>,
    /// Rules for this agent, on top of those for all.
    pub rules: Vec<Rule>,
    /// See [`Agent::model`].
    pub model: Option<String>,
    /// See [`Agent::variant`].
    pub variant: Option<String>,
    /// See [`Agent::temperature`].
    pub temperature: Option<f64>,
    /// See [`Agent::top_p`].
    pub top_p: Option<f64>,
    /// See [`Agent::steps`].
    pub steps: Option<u32>,
    /// See [`Agent::options`]; laid over those of the built-in agent, object by object.
    pub options: Object,
    /// See [`Agent::color`].
    pub color: Option<String>,
}

/// What the agent that answers now must be reminded of, beside the user's words, when the last answer was given by
/// the agent `previous`.
pub fn reminder(current: &Agent, previous: Option<&str>) -> Option<&'static str> {
    match (current.name.as_str(), previous) {
        (PLAN, _) => Some(include_str!("reminders/plan.md").trim_ascii()),
        (FIRST, Some(PLAN)) => Some(include_str!("reminders/build.md").trim_ascii()),
        _ => None,
    }
}

/// What stands below the front matter of a built-in text.
fn below_front_matter(text: &str) -> &str {
    let below = text.strip_prefix("---\n").and_then(|text| text.split_once("\n---\n")).map(|(_, below)| below);
    below.unwrap_or(text).trim_ascii()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_agent_without_words_of_its_own_has_those_of_build() {
        let mut agent = Agent::new("x", Rules::default());
        assert!(agent.voice().starts_with("You are haft") && !agent.voice().contains("---"));
        let on = agent.voice_on("gpt-5", Toolset::Full);
        assert!(on.starts_with(agent.voice()) && on.contains("Your way\n- Go on until"), "{on}");
        assert_eq!(agent.voice_on("m1", Toolset::Full), agent.voice());
        agent.prompt = Some("You are x.".to_owned());
        assert_eq!(agent.voice(), "You are x.");
        assert_eq!(agent.voice_on("gpt-5", Toolset::Small), "You are x.");
    }

    #[test]
    fn every_built_in_text_has_front_matter_with_a_description() {
        for (name, text) in BUILTIN_AGENTS {
            assert!(text.starts_with("---\ndescription:"), "{name}");
            assert!(below_front_matter(text).len() < text.len(), "{name}");
        }
    }

    #[test]
    fn plan_is_reminded_each_time_and_build_when_planning_is_over() {
        let row = |current: &str, previous: Option<&str>, want: Option<&str>| {
            let got = reminder(&Agent::new(current, Rules::default()), previous);
            assert_eq!(got.map(|text| text.contains("change nothing")), want.map(|want| want == "plan"), "{current}");
            assert!(
                got.is_none_or(|text| text.starts_with("<system-reminder>") && text.ends_with("</system-reminder>"))
            );
        };
        row("plan", None, Some("plan"));
        row("plan", Some("plan"), Some("plan"));
        row("build", Some("plan"), Some("build"));
        row("build", Some("build"), None);
        row("build", None, None);
        row("explore", Some("plan"), None);
    }
}
