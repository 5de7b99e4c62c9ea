//! Every key a settings file may have: the data of [`crate::schema`].

use crate::schema::{Field, Kind};

use Kind::{Any, Bool, List, Map, Object, OneOf, Only, Open, Text, Whole, Word};

/// A key that may be left out.
const fn may(name: &'static str, kind: Kind) -> Field {
    Field { name, kind, required: false, about: "" }
}

/// A key that may be left out, and what it is for.
const fn key(name: &'static str, kind: Kind, about: &'static str) -> Field {
    Field { name, kind, required: false, about }
}

/// A key that must be there.
const fn must(name: &'static str, kind: Kind) -> Field {
    Field { name, kind, required: true, about: "" }
}

/// Any number.
const NUMBER: Kind = Kind::Number(f64::MIN);
/// A number that is not negative.
const AMOUNT: Kind = Kind::Number(0.0);
const COUNT: Kind = Whole(0, u64::MAX);
const POSITIVE: Kind = Whole(1, u64::MAX);
const TEXTS: Kind = List(&Text);
const TEXT_MAP: Kind = Map(&Text);
const ANY_MAP: Kind = Map(&Any);
/// Milliseconds, or no limit.
const DEADLINE: Kind = OneOf(&[POSITIVE, Only(false)]);

/// Colours that a theme gives a meaning.
pub(crate) const COLORS: [&str; 7] = ["primary", "secondary", "accent", "success", "warning", "error", "info"];

const ACTION: Kind = Word(&["allow", "ask", "deny"]);
const RULE: Kind = OneOf(&[ACTION, Map(&ACTION)]);

/// Permissions that are asked for without anything to compare with a pattern.
const ACTION_ONLY: &[Field] = &[
    may("doom_loop", ACTION),
    may("question", ACTION),
    may("todowrite", ACTION),
    may("webfetch", ACTION),
    may("websearch", ACTION),
];

/// The forms of `permission`.
pub(crate) const PERMISSION: Kind = OneOf(&[ACTION, Kind::Keyed(ACTION_ONLY, &RULE)]);

/// The keys of an agent. Any other is for the model.
pub(crate) const AGENT: Kind = Open(&[
    may("color", Kind::Color),
    key("description", Text, "when to use it; sub-agents are chosen by this"),
    key("disable", Bool, "take the agent away"),
    key("hidden", Bool, "do not offer it for choice"),
    key("maxSteps", POSITIVE, "the older name of steps"),
    key("mode", Word(&["primary", "subagent", "all"]), "who may choose it: people, other agents, both"),
    key("model", Text, "VENDOR/MODEL"),
    may("name", Text),
    key("options", ANY_MAP, "fields of each request"),
    key("permission", PERMISSION, "rules on top of all others"),
    key("prompt", Text, "its first words to the model"),
    key("steps", POSITIVE, "most model steps for one prompt"),
    may("temperature", NUMBER),
    key("tools", Map(&Bool), "the older form of permission"),
    may("top_p", NUMBER),
    may("variant", Text),
]);

/// The keys of a command.
pub(crate) const COMMAND: Kind = Object(&[
    key("agent", Text, "who answers"),
    may("description", Text),
    key("model", Text, "VENDOR/MODEL"),
    may("name", Text),
    key("subtask", Bool, "answer in a session of its own"),
    must("template", Text),
    may("variant", Text),
]);

const COST: &[Field] = &[
    may("cache_read", NUMBER),
    may("cache_write", NUMBER),
    may("context_over_200k", Object(OVER)),
    must("input", NUMBER),
    must("output", NUMBER),
];
const OVER: &[Field] =
    &[may("cache_read", NUMBER), may("cache_write", NUMBER), must("input", NUMBER), must("output", NUMBER)];

const MEDIUM: Kind = Word(&["text", "audio", "image", "video", "pdf"]);

const MODEL: Kind = Object(&[
    may("attachment", Bool),
    key("cost", Object(COST), "dollars for a million tokens"),
    may("experimental", Bool),
    may("family", Text),
    may("headers", TEXT_MAP),
    key("id", Text, "what the vendor calls it"),
    may("interleaved", OneOf(&[Bool, Text, Object(&[must("field", Text)])])),
    key("limit", Object(&[must("context", COUNT), may("input", COUNT), must("output", COUNT)]), "tokens"),
    may("modalities", Object(&[may("input", List(&MEDIUM)), may("output", List(&MEDIUM))])),
    may("name", Text),
    key("options", ANY_MAP, "fields of each request"),
    may("provider", Object(&[may("api", Text), may("npm", Text)])),
    may("reasoning", Bool),
    may("release_date", Text),
    may("status", Word(&["alpha", "beta", "deprecated", "active"])),
    may("temperature", Bool),
    may("tool_call", Bool),
    may("variants", Map(&Open(&[may("disabled", Bool)]))),
]);

const PROVIDER: Kind = Object(&[
    key("api", Text, "its address, where options.baseURL gives none"),
    may("blacklist", TEXTS),
    key("env", TEXTS, "variables that may hold its key"),
    may("id", Text),
    may("models", Map(&MODEL)),
    may("name", Text),
    key("npm", Text, "the driver, which says what dialect it speaks"),
    may(
        "options",
        Open(&[
            may("apiKey", Text),
            may("baseURL", Text),
            key("chunkTimeout", DEADLINE, "milliseconds"),
            may("enterpriseUrl", Text),
            key("headerTimeout", DEADLINE, "milliseconds"),
            may("headers", TEXT_MAP),
            may("setCacheKey", Bool),
            key("timeout", DEADLINE, "milliseconds"),
        ]),
    ),
    may("whitelist", TEXTS),
]);

const OAUTH: Kind = OneOf(&[
    Only(false),
    Object(&[
        may("callbackPort", Whole(1, 65_535)),
        may("clientId", Text),
        may("clientSecret", Text),
        may("redirectUri", Text),
        may("scope", Text),
    ]),
]);

const MCP: Kind = Kind::Tagged(
    "type",
    &[
        (
            "local",
            Object(&[
                must("command", TEXTS),
                may("cwd", Text),
                may("enabled", Bool),
                may("environment", TEXT_MAP),
                key("timeout", POSITIVE, "milliseconds"),
                must("type", Text),
            ]),
        ),
        (
            "remote",
            Object(&[
                may("enabled", Bool),
                may("headers", TEXT_MAP),
                may("oauth", OAUTH),
                key("timeout", POSITIVE, "milliseconds"),
                must("type", Text),
                must("url", Text),
            ]),
        ),
    ],
    &Object(&[must("enabled", Bool)]),
);

const REFERENCE: Kind = OneOf(&[
    Text,
    Object(&[may("description", Text), may("hidden", Bool), must("path", Text)]),
    Object(&[may("branch", Text), may("description", Text), may("hidden", Bool), must("repository", Text)]),
]);

const FORMATTER: Kind =
    Object(&[may("command", TEXTS), may("disabled", Bool), may("environment", TEXT_MAP), may("extensions", TEXTS)]);

const LSP: Kind = OneOf(&[
    Object(&[
        must("command", TEXTS),
        may("disabled", Bool),
        may("env", TEXT_MAP),
        may("extensions", TEXTS),
        may("initialization", ANY_MAP),
    ]),
    Object(&[must("disabled", Only(true))]),
]);

const COMPACTION: Kind = Object(&[
    may("auto", Bool),
    may("preserve_recent_tokens", COUNT),
    may("prune", Bool),
    may("reserved", COUNT),
    may("tail_turns", COUNT),
]);

const EXPERIMENTAL: Kind = Object(&[
    may("batch_tool", Bool),
    may("continue_loop_on_deny", Bool),
    may("disable_paste_summary", Bool),
    key("mcp_timeout", POSITIVE, "milliseconds"),
    may("openTelemetry", Bool),
    may("policies", List(&POLICY)),
    key("primary_tools", TEXTS, "tools that sub-agents are not given"),
]);

const POLICY: Kind = Object(&[
    must("action", Word(&["provider.use"])),
    must("effect", Word(&["allow", "deny"])),
    must("resource", Text),
]);

const SANDBOX: Kind = Object(&[
    key("mode", Word(&["workspace-write", "read-only", "off"]), "what commands may change"),
    key("network", OneOf(&[Bool, ACTION]), "whether commands may use the network"),
    key("presets", TEXTS, "named sets of further leaves"),
    key("read_deny", TEXTS, "what commands may not read"),
    key("write", TEXTS, "further folders that commands may write"),
]);

/// Everything a settings file may say.
pub(crate) const CONFIG: Kind = Object(&[
    key("$schema", Text, "for editors"),
    key("agent", Map(&AGENT), "agents by name: changes to the built-in ones, and more"),
    key(
        "attachment",
        Object(&[may(
            "image",
            Object(&[
                may("auto_resize", Bool),
                may("max_base64_bytes", POSITIVE),
                may("max_height", POSITIVE),
                may("max_width", POSITIVE),
            ]),
        )]),
        "what images may be",
    ),
    key("audit", OneOf(&[Bool, Open(&[])]), "keep a record of every decision"),
    key("autoshare", Bool, "the older form of share"),
    may("autoupdate", OneOf(&[Bool, Word(&["notify"])])),
    key("command", Map(&COMMAND), "slash commands by name"),
    key("compaction", COMPACTION, "how a long session is made shorter"),
    key("default_agent", Text, "who answers when nobody is named"),
    key("disabled_providers", TEXTS, "vendors that are not offered"),
    key("enabled_providers", TEXTS, "the only vendors that are offered"),
    may("enterprise", Object(&[may("url", Text)])),
    key("experimental", EXPERIMENTAL, "what may change"),
    key("formatter", OneOf(&[Bool, Map(&FORMATTER)]), "programs that tidy a file after a change"),
    key("hooks", ANY_MAP, "programs that are told, and may stop, what happens"),
    key("instructions", TEXTS, "files, patterns and addresses of further instructions"),
    key("keybinds", Any, "the terminal UI's keys; better in tui.json"),
    key("layout", Word(&["auto", "stretch"]), "without effect"),
    key(
        "limits",
        Object(&[
            key("cost", AMOUNT, "dollars"),
            key("retries", COUNT, "how often a request that failed is made again; 5 if left out"),
            may("steps", POSITIVE),
        ]),
        "most that one session may use",
    ),
    may("logLevel", Word(&["DEBUG", "INFO", "WARN", "ERROR"])),
    key("lsp", OneOf(&[Bool, Map(&LSP)]), "language servers"),
    key("mcp", Map(&MCP), "servers of further tools"),
    key("mode", Map(&AGENT), "the older form of agent"),
    key("model", Text, "VENDOR/MODEL"),
    key("offline", Bool, "contact nobody but models"),
    key("permission", PERMISSION, "rules: what is allowed, asked and denied"),
    key("plugin", List(&OneOf(&[Text, Kind::Pair(&Text, &ANY_MAP)])), "plug-ins: packages and files"),
    key("provider", Map(&PROVIDER), "vendors and servers of models"),
    key("reference", Map(&REFERENCE), "the older name of references"),
    key("references", Map(&REFERENCE), "folders and repositories by a short name"),
    key("retention", OneOf(&[Kind::Span, Map(&Kind::Span)]), "how long things are kept"),
    key("sandbox", SANDBOX, "the cage around commands"),
    key("search", Object(&[may("url", Text)]), "where to search the web"),
    key(
        "server",
        Object(&[
            may("cors", TEXTS),
            may("hostname", Text),
            may("mdns", Bool),
            may("mdnsDomain", Text),
            may("port", Whole(1, 65_535)),
        ]),
        "where the server listens",
    ),
    may("share", Word(&["manual", "auto", "disabled"])),
    key("shell", Text, "the shell of commands and terminals"),
    key("skills", Object(&[may("paths", TEXTS), may("urls", TEXTS)]), "further places of skills"),
    key("small_model", Text, "VENDOR/MODEL for titles and the like"),
    key(
        "snapshot",
        OneOf(&[Bool, Object(&[may("quota", Kind::Size), may("retention", Kind::Span)])]),
        "keep what was there before a change",
    ),
    key("subagent_depth", COUNT, "how deep sub-agents may call sub-agents"),
    key("theme", Any, "better in tui.json"),
    key(
        "tool_output",
        Object(&[may("max_bytes", POSITIVE), may("max_lines", POSITIVE)]),
        "most of a tool's output that the model is shown",
    ),
    key("tools", Map(&Bool), "tools switched on and off; the older form of permission"),
    key("tools_budget", POSITIVE, "most tokens of tool definitions in a request"),
    key("tui", Any, "better in tui.json"),
    may("username", Text),
    key("watcher", Object(&[may("ignore", TEXTS)]), "what changes of files are not looked at"),
]);

/// What haft does not act on yet although somebody who sets it counts on being held safe by it.
pub(crate) const NOT_YET: [&str; 4] = ["audit", "hooks", "offline", "sandbox"];
