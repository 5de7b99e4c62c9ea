//! What is asked, and what comes of it.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use haft_protocol::Object;

use crate::gate::Asker;
use crate::rule::Rule;
use crate::witness::{Done, Pen};

/// What a tool is about to do, with all it knows.
#[derive(Debug, Clone, Default)]
pub struct Access {
    /// The permission, for example `edit`.
    pub permission: String,
    /// What rules are matched against, one after the other. An empty list needs no leave.
    pub patterns: Vec<String>,
    /// What "always" would allow from then on; empty where "always" makes no sense.
    pub always: Vec<String>,
    /// What helps a person to decide: a diff, a command, in the tool's own form.
    pub metadata: Object,
    /// What the grant will open.
    pub effects: Vec<Effect>,
    /// Only a person can say yes: a yes in advance is none.
    pub in_person: bool,
    /// The pattern is a program whose parts were not told apart; see [`decide_opaque`](crate::rule::decide_opaque).
    pub opaque: bool,
    /// What a built-in rule counts for.
    pub builtin: Builtin,
    /// What hooks said about the call that asks.
    pub advice: Advice,
    /// The plug-in that asks in its own name, from a hook and not for a call. Rules for the permission `plugin` and its
    /// name count too, no hook is heard about it, and "always" is not offered.
    pub plugin: Option<String>,
}

/// What somebody says about an access who is neither a rule nor a person: a hook. A denial by a rule stays one.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Advice {
    /// Nothing.
    #[default]
    None,
    /// A person need not be asked.
    Allow {
        /// Who says so.
        by: String,
    },
    /// A person is to be asked, also where rules allow it.
    Ask {
        /// Who says so.
        by: String,
    },
    /// No.
    Deny {
        /// Who says so.
        by: String,
        /// Why, for the model.
        reason: String,
    },
}

/// What a built-in rule counts for in a decision. Rules of the user's own count always.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Builtin {
    /// What it says.
    #[default]
    Counts,
    /// It allows nothing: what is asked for could not even be read.
    NeverAllows,
    /// It asks nothing: what it would ask for is held by something else, such as a cage.
    NeverAsks,
}

impl Access {
    /// Asks for `permission` on one `pattern`, where "always" means the whole permission.
    pub fn new(permission: &str, pattern: impl Into<String>) -> Self {
        Self {
            permission: permission.to_owned(),
            patterns: vec![pattern.into()],
            always: vec!["*".to_owned()],
            ..Self::default()
        }
    }

    /// The program's own look at files: instructions, the old content behind a diff. A rule that is built in, and
    /// that nothing can change, allows it. What comes of it must not reach a model.
    pub fn internal(effects: Vec<Effect>) -> Self {
        Self { effects, ..Self::new(INTERNAL, "*") }
    }

    /// What helps a person to decide, and what the grant will open, as `effects`: the tool's own words for it, or else
    /// those of [`Effect::in_words`].
    pub(crate) fn shown(&self) -> Object {
        let mut metadata = self.metadata.clone();
        // A command that is shown need not be told once more.
        let told = metadata.contains_key("command");
        let effects = self.effects.iter().filter(|effect| !(told && matches!(effect, Effect::Run { .. })));
        let words: Vec<serde_json::Value> = effects.take(MAX_WORDS).map(|effect| effect.in_words().into()).collect();
        if !words.is_empty() && !metadata.contains_key(EFFECTS) {
            metadata.insert(EFFECTS.to_owned(), words.into());
        }
        match &self.plugin {
            Some(plugin) => metadata.insert(PLUGIN.to_owned(), plugin.as_str().into()),
            // Nobody else asks in its name.
            None => metadata.remove(PLUGIN),
        };
        metadata
    }

    /// Whether it is the program's own look, and no more than a look.
    pub(crate) fn is_internal(&self) -> bool {
        self.permission == INTERNAL && self.effects.iter().all(|effect| matches!(effect, Effect::Read(_)))
    }

    /// The same, opening `effect` too.
    #[must_use]
    pub fn with(mut self, effect: Effect) -> Self {
        self.effects.push(effect);
        self
    }

    /// The same, showing `value` as `key` to whoever decides.
    #[must_use]
    pub fn show(mut self, key: &str, value: impl Into<serde_json::Value>) -> Self {
        self.metadata.insert(key.to_owned(), value.into());
        self
    }
}

/// The key of an ask's metadata under which the plug-in stands that asks in its own name.
pub const PLUGIN: &str = "plugin";
/// The key of an ask's metadata under which its effects stand, in words.
const EFFECTS: &str = "effects";
/// Most effects that are put into words.
const MAX_WORDS: usize = 100;

/// The permission of [`Access::internal`]. No rule file can name it, because `!` never stands in a permission.
const INTERNAL: &str = "!internal";

/// Something a grant opens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Effect {
    /// Reading this file, or everything below this folder. Absolute, without links.
    Read(PathBuf),
    /// Writing, making or removing this file, and reading it. Absolute, without links.
    Write(PathBuf),
    /// Going out of the project into this folder, and no other. It opens nothing there: each file is asked for then.
    /// Absolute, without links.
    Enter(PathBuf),
    /// Running exactly this command line in this folder.
    Run {
        /// The text for the shell.
        command: String,
        /// The working folder, absolute.
        dir: PathBuf,
    },
    /// Handing a task to the agent of this name.
    Delegate(String),
    /// With [`Effect::Run`]: what runs may change this file, or everything below this folder. Absolute, without links.
    /// Without any it may change nothing but its scratch folder.
    Change(PathBuf),
    /// With [`Effect::Run`]: what runs may use the network.
    Network,
    /// Speaking to this host.
    Host(String),
}

impl Effect {
    /// What it opens, in words for a person: the end of a sentence about whoever asks. Paths and names are as they are,
    /// so whoever shows them has to make them safe.
    pub fn in_words(&self) -> String {
        match self {
            Effect::Read(path) => format!("reads {}", path.display()),
            Effect::Write(path) => format!("changes {}", path.display()),
            Effect::Enter(path) => format!("goes outside the project: {}", path.display()),
            Effect::Run { command, dir } => format!("runs in {}: {command}", dir.display()),
            Effect::Delegate(agent) => format!("hands a task to {agent}"),
            Effect::Change(path) => format!("may change {}", path.display()),
            Effect::Network => "uses the network".to_owned(),
            Effect::Host(host) => format!("speaks to {host}"),
        }
    }
}

/// Proof that an [`Access`] was allowed. Only [`Gate::ask`](crate::Gate::ask) makes one.
#[derive(Debug)]
pub struct Grant {
    effects: Vec<Effect>,
    pen: Pen,
    /// The files that may be changed, once somebody asks for one of many.
    writes: OnceLock<HashSet<PathBuf>>,
}

/// Of so many effects one is looked for in their order.
const FEW: usize = 32;

impl Grant {
    pub(crate) fn new(access: &Access, pen: Pen) -> Self {
        Self { effects: access.effects.clone(), pen, writes: OnceLock::new() }
    }

    /// Writes down that this was done with the grant, for whoever audits. Neither waits nor fails. A door calls it for
    /// what it opened.
    pub fn note(&self, done: Done) {
        self.pen.note(done);
    }

    /// What writes down what is done with the grant, for what goes on after it: a command and its end.
    pub fn pen(&self) -> Pen {
        self.pen.clone()
    }

    /// Who it was given to.
    pub fn asker(&self) -> &Asker {
        self.pen.asker()
    }

    /// Whether reading `path` is covered.
    pub fn covers_read(&self, path: &Path) -> bool {
        self.effects.iter().any(|effect| match effect {
            Effect::Read(granted) => path.starts_with(granted),
            Effect::Write(granted) => path == granted,
            Effect::Enter(_)
            | Effect::Run { .. }
            | Effect::Delegate(_)
            | Effect::Change(_)
            | Effect::Network
            | Effect::Host(_) => false,
        })
    }

    /// Whether changing `path` is covered.
    pub fn covers_write(&self, path: &Path) -> bool {
        let written = |effect: &Effect| match effect {
            Effect::Write(granted) => Some(granted.clone()),
            _ => None,
        };
        match self.effects.len() {
            0..FEW => self.effects.iter().any(|effect| matches!(effect, Effect::Write(granted) if path == granted)),
            // An undo may be of tens of thousands.
            _ => self.writes.get_or_init(|| self.effects.iter().filter_map(written).collect()).contains(path),
        }
    }

    /// Whether going out of the project into exactly the folder `path` is covered.
    pub fn covers_enter(&self, path: &Path) -> bool {
        self.effects.iter().any(|effect| matches!(effect, Effect::Enter(granted) if path == granted))
    }

    /// Whether running `command` in `dir` is covered.
    pub fn covers_run(&self, command: &str, dir: &Path) -> bool {
        self.effects
            .iter()
            .any(|effect| matches!(effect, Effect::Run { command: c, dir: d } if c == command && d == dir))
    }

    /// Proof of both.
    #[must_use]
    pub fn and(mut self, other: Grant) -> Self {
        self.effects.extend(other.effects);
        self.writes = OnceLock::new();
        self
    }

    /// The files that what runs may change, and the folders below which it may change everything.
    pub fn changes(&self) -> impl Iterator<Item = &Path> {
        self.effects.iter().filter_map(|effect| match effect {
            Effect::Change(path) => Some(path.as_path()),
            Effect::Read(_)
            | Effect::Write(_)
            | Effect::Enter(_)
            | Effect::Run { .. }
            | Effect::Delegate(_)
            | Effect::Network
            | Effect::Host(_) => None,
        })
    }

    /// Whether what runs may use the network.
    pub fn covers_network(&self) -> bool {
        self.effects.contains(&Effect::Network)
    }

    /// Whether handing a task to `agent` is covered.
    pub fn covers_delegate(&self, agent: &str) -> bool {
        self.effects.iter().any(|effect| matches!(effect, Effect::Delegate(granted) if granted == agent))
    }
}

/// Why something was not allowed. The message is for the model.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Denied {
    /// A rule forbids it.
    #[error(
        "the user's rules do not allow this: {rule}. Do not try the same thing another way; work without it or say what you need"
    )]
    Rule {
        /// The rule.
        rule: String,
    },
    /// A hook forbids it.
    #[error("{by} does not allow this: {reason}")]
    Hook {
        /// Which.
        by: String,
        /// Why.
        reason: String,
        /// Whether the turn ends.
        ends: bool,
    },
    /// A person said no, and nothing else. The turn ends.
    #[error("the user refused this call")]
    Rejected,
    /// A person said what they want instead.
    #[error("the user refused this call and says: {0}")]
    Advised(String),
    /// A person would have to decide, and none is there.
    #[error(
        "this needs the user's leave ({permission}: {what}), and nobody is there to give it. Go on without it, or say what you would have done"
    )]
    Nobody {
        /// The permission.
        permission: String,
        /// What for.
        what: String,
    },
    /// A person did not want to answer a question.
    #[error("the user dismissed this question")]
    Dismissed,
    /// It waited beside a call that was refused with advice.
    #[error("not run: the user refused a call beside this one; what they say there counts for this one too")]
    Along,
    /// The session ended while it waited.
    #[error("the call was stopped before anybody answered")]
    Closed,
}

impl Denied {
    /// Whether the model may read this and go on. If not, the turn ends after this step.
    pub fn may_go_on(&self) -> bool {
        match self {
            Denied::Rule { .. } | Denied::Advised(_) | Denied::Along | Denied::Nobody { .. } => true,
            Denied::Hook { ends, .. } => !ends,
            Denied::Rejected | Denied::Dismissed | Denied::Closed => false,
        }
    }

    pub(crate) fn by(rule: Option<&Rule>) -> Self {
        Denied::Rule { rule: rule.map_or_else(|| "no rule allows it".to_owned(), Rule::to_string) }
    }
}
