//! Every key a settings file may have: the data of [`crate::schema`].

use crate::care::Care;
use crate::schema::{Field, Kind};

use Care::{AtMost, Fewer, Harmless, Joined, Ladder, Loosens, Model, Parts, Paths, Rules, Runs, Tightens};
use Kind::{Any, Bool, List, Map, Object, OneOf, Only, Open, Text, Whole, Word};

/// A key that may be left out.
const fn may(name: &'static str, kind: Kind) -> Field {
    Field { name, kind, required: false, about: "", care: Care::Above }
}

/// A key that may be left out, and what it is for.
const fn key(name: &'static str, kind: Kind, about: &'static str) -> Field {
    Field { name, kind, required: false, about, care: Care::Above }
}

/// A key that must be there.
const fn must(name: &'static str, kind: Kind) -> Field {
    Field { name, kind, required: true, about: "", care: Care::Above }
}

impl Field {
    const fn care(self, care: Care) -> Field {
        Field { care, ..self }
    }
}

/// A switch that only takes away when it is on. Where nothing is said it is off.
const ON_TIGHTENS: Care = Ladder(&["false", "true"], 0);
/// A switch that only takes away when it is off. Where nothing is said it is off.
const OFF_TIGHTENS: Care = Ladder(&["true", "false"], 1);
/// A number of which less is stricter, without a limit where nothing is said.
const fn less(key: &'static str) -> Care {
    AtMost(key, f64::MAX)
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
    may("color", Kind::Color).care(Harmless),
    key("description", Text, "when to use it; sub-agents are chosen by this").care(Harmless),
    key("disable", Bool, "take the agent away").care(Care::NewAgent),
    key("hidden", Bool, "do not offer it for choice").care(Care::NewAgent),
    key("maxSteps", POSITIVE, "the older name of steps").care(less("steps")),
    key("mode", Word(&["primary", "subagent", "all"]), "who may choose it: people, other agents, both")
        .care(Care::NewAgent),
    key("model", Text, "VENDOR/MODEL").care(Model),
    may("name", Text).care(Care::SameName),
    key("options", ANY_MAP, "fields of each request").care(Loosens("puts fields of its own into requests")),
    key("permission", PERMISSION, "rules on top of all others").care(Rules),
    key("prompt", Text, "its first words to the model").care(Harmless),
    key("steps", POSITIVE, "most model steps for one prompt").care(less("steps")),
    may("temperature", NUMBER).care(Harmless),
    key("tools", Map(&Bool), "the older form of permission").care(Rules),
    may("top_p", NUMBER).care(Harmless),
    may("variant", Text).care(Harmless),
]);

/// The keys of a command.
pub(crate) const COMMAND: Kind = Object(&[
    key("agent", Text, "who answers").care(Care::Agent),
    may("description", Text).care(Harmless),
    key("model", Text, "VENDOR/MODEL").care(Model),
    may("name", Text).care(Harmless),
    key("subtask", Bool, "answer in a session of its own").care(Harmless),
    must("template", Text).care(Care::Template),
    may("variant", Text).care(Harmless),
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

/// One text or several.
const TEXT_OR_TEXTS: Kind = OneOf(&[Text, TEXTS]);

const NETWORK: Kind = Object(&[
    key("ca", TEXT_OR_TEXTS, "files of certificates to trust beside the system's, in PEM"),
    key("client_cert", Text, "the file of your certificate, for servers that ask for one, in PEM"),
    key("client_key", Text, "the file of its key, where that is another one"),
    key("no_proxy", TEXTS, "hosts, domains, networks and host:port that are reached directly; beside NO_PROXY"),
    key(
        "proxy",
        OneOf(&[Text, Only(false)]),
        "http://, https://, socks5:// or socks5h://, in the place of HTTP_PROXY and its like; false: none",
    ),
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
            key("chunkTimeout", DEADLINE, "milliseconds of silence within an answer; 300000"),
            key("connectTimeout", POSITIVE, "milliseconds until there is a connection; 30000"),
            may("enterpriseUrl", Text),
            key("headerTimeout", DEADLINE, "milliseconds until an answer begins; 300000"),
            may("headers", TEXT_MAP),
            may("setCacheKey", Bool),
            key("timeout", DEADLINE, "milliseconds for all of a request and its answer; no limit"),
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
        key("grant", Word(&["authorization_code", "client_credentials"]), "how tokens are got; authorization_code"),
        key("idp", IDP, "the organisation that says who the user is"),
        key("privateKeyFile", Text, "a PEM file that proves who we are, instead of clientSecret"),
        may("redirectUri", Text),
        may("scope", Text),
    ]),
]);

const IDP: Kind = Object(&[
    must("clientId", Text),
    may("clientSecret", Text),
    must("idTokenFile", Text),
    must("issuer", Text),
    may("tokenUrl", Text),
]);

const MCP_SANDBOX: Kind = Object(&[
    key("mode", Word(&["workspace-write", "read-only", "off"]), "what it may change; workspace-write"),
    key("network", Bool, "whether it may use the network; true"),
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
                key("sampling", Bool, "whether it may ask the model, if you agree; false"),
                key("sandbox", MCP_SANDBOX, "the cage around it"),
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
                key("sampling", Bool, "whether it may ask the model, if you agree; false"),
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

const HOOKS: Kind = Open(&[
    key(
        "hooks",
        List(&Open(&[
            key("command", Text, "a command line; it reads JSON and answers by its exit code and JSON"),
            key("network", Bool, "whether it may use the network"),
            key("timeout", NUMBER, "seconds; 60 if left out"),
            may("type", Text),
        ])),
        "what runs",
    ),
    key("matcher", Text, "a regular expression over names of tools, or of what happens; all if left out"),
]);

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
    may("batch_tool", Bool).care(Harmless),
    may("continue_loop_on_deny", Bool).care(OFF_TIGHTENS),
    may("disable_paste_summary", Bool).care(Harmless),
    key("mcp_timeout", POSITIVE, "milliseconds").care(Harmless),
    may("openTelemetry", Bool).care(OFF_TIGHTENS),
    may("policies", List(&POLICY)).care(Loosens("says which vendors may be used")),
    key("primary_tools", TEXTS, "tools that sub-agents are not given").care(Joined),
]);

const POLICY: Kind = Object(&[
    must("action", Word(&["provider.use"])),
    must("effect", Word(&["allow", "deny"])),
    must("resource", Text),
]);

const SANDBOX: Kind = Object(&[
    key("mode", Word(&["workspace-write", "read-only", "off"]), "what commands may change")
        .care(Ladder(&["off", "workspace-write", "read-only"], 1)),
    key("network", OneOf(&[Bool, ACTION]), "whether commands may use the network")
        .care(Ladder(&["true allow", "", "ask", "false deny"], 1)),
    key("presets", TEXTS, "leaves that toolchains need, by the toolchain's name").care(Fewer(&[])),
    key("read_deny", TEXTS, "further files and folders that commands may not read; those of all files count")
        .care(Tightens),
    key("write", TEXTS, "further folders that commands may write")
        .care(Loosens("lets commands write outside the project")),
]);

/// Everything a settings file may say.
pub(crate) const CONFIG: Kind = Object(&[
    key("$schema", Text, "for editors").care(Harmless),
    key("agent", Map(&AGENT), "agents by name: changes to the built-in ones, and more").care(Parts),
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
    )
    .care(Harmless),
    key("audit", OneOf(&[Bool, Open(&[])]), "keep a record of every decision; true if left out")
        .care(Ladder(&["false", "true"], 1)),
    key(
        "auth",
        Object(&[key("store", Word(&["file", "keyring"]), "where new keys are kept; file if left out")]),
        "keys and signing in",
    )
    .care(Loosens("says where your keys are kept")),
    key("autoshare", Bool, "the older form of share").care(OFF_TIGHTENS),
    may("autoupdate", OneOf(&[Bool, Word(&["notify"])])).care(Ladder(&["true", "notify", "false"], 2)),
    key("catalogue", Object(&[may("url", Text)]), "where `haft models --refresh` fetches the list of models")
        .care(Loosens("says where the list of models, and the addresses in it, come from")),
    key("command", Map(&COMMAND), "slash commands by name").care(Parts),
    key("compaction", COMPACTION, "how a long session is made shorter").care(Harmless),
    key("default_agent", Text, "who answers when nobody is named").care(Care::Agent),
    key("disabled_providers", TEXTS, "vendors that are not offered").care(Joined),
    key("enabled_providers", TEXTS, "the only vendors that are offered").care(Care::Among),
    may("enterprise", Object(&[may("url", Text)])).care(Loosens("says where sessions are shared to")),
    key("experimental", EXPERIMENTAL, "what may change").care(Parts),
    key("formatter", OneOf(&[Bool, Map(&FORMATTER)]), "programs that tidy a file after a change").care(Care::Switch),
    key("hooks", Map(&List(&HOOKS)), "programs that are told, and may stop, what happens")
        .care(Runs("runs programs of its own")),
    key("instructions", TEXTS, "files, patterns and addresses of further instructions").care(Paths),
    key("keybinds", Any, "the terminal UI's keys; better in tui.json").care(Loosens("changes what your keys do")),
    key("layout", Word(&["auto", "stretch"]), "without effect").care(Harmless),
    key(
        "limits",
        Object(&[
            key("cost", AMOUNT, "dollars").care(less("cost")),
            key("retries", COUNT, "how often a request that failed is made again; 5 if left out")
                .care(AtMost("retries", 5.0)),
            key("retry_wait", COUNT, "most seconds that are waited for it in all, in one step; 3600 if left out")
                .care(AtMost("retry_wait", 3600.0)),
            may("steps", POSITIVE).care(less("steps")),
            key(
                "task",
                Object(&[
                    key("cost", AMOUNT, "dollars").care(less("cost")),
                    key("seconds", POSITIVE, "how long it may take, waiting for your answers included")
                        .care(less("seconds")),
                    key("steps", POSITIVE, "model steps, the last of which sums up").care(less("steps")),
                    key("tokens", COUNT, "read and written, also from a cache").care(less("tokens")),
                ]),
                "most that one task of a sub-agent may use, with all that it hands on; it then ends with what it has",
            )
            .care(Parts),
            key(
                "tasks",
                Object(&[
                    key("cost", AMOUNT, "dollars").care(less("cost")),
                    key("tokens", COUNT, "read and written, also from a cache").care(less("tokens")),
                ]),
                "most that all tasks of a session may use together",
            )
            .care(Parts),
        ]),
        "most that one session may use",
    )
    .care(Parts),
    may("logLevel", Word(&["DEBUG", "INFO", "WARN", "ERROR"])).care(Harmless),
    key("lsp", OneOf(&[Bool, Map(&LSP)]), "language servers").care(Care::Switch),
    key("mcp", Map(&MCP), "servers of further tools").care(Care::Servers),
    key("mode", Map(&AGENT), "the older form of agent").care(Parts),
    key("model", Text, "VENDOR/MODEL").care(Model),
    key("network", NETWORK, "proxies, certificates to trust, a certificate of your own")
        .care(Loosens("says through whom your requests go, whom they trust, and what is shown of you")),
    key("offline", Bool, "go nowhere but to this machine and to the addresses of your own providers").care(ON_TIGHTENS),
    key("permission", PERMISSION, "rules: what is allowed, asked and denied").care(Rules),
    key("plugin", List(&OneOf(&[Text, Kind::Pair(&Text, &ANY_MAP)])), "plug-ins: packages and files")
        .care(Runs("runs code inside of haft")),
    key("provider", Map(&PROVIDER), "vendors and servers of models")
        .care(Loosens("sends your prompts, and your key, where it says")),
    key("reference", Map(&REFERENCE), "the older name of references").care(Care::Places),
    key("references", Map(&REFERENCE), "folders and repositories by a short name").care(Care::Places),
    key(
        "retention",
        OneOf(&[Kind::Span, Object(&[may("count", POSITIVE), may("sessions", Kind::Span)])]),
        "how long sessions are kept, and how many; for ever if left out",
    )
    .care(Loosens("says when what is kept is removed")),
    key("sandbox", SANDBOX, "the cage around commands").care(Parts),
    key("search", Object(&[may("url", Text)]), "where to search the web")
        .care(Loosens("sends what is searched for where it says")),
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
    )
    .care(Loosens("says who can reach the server")),
    may("share", Word(&["manual", "auto", "disabled"])).care(Ladder(&["auto", "manual", "disabled"], 1)),
    key("shell", Text, "the shell of commands and terminals").care(Runs("is run for every command")),
    key(
        "skills",
        Object(&[may("paths", TEXTS).care(Paths), may("urls", TEXTS).care(Loosens("fetches skills from elsewhere"))]),
        "further places of skills",
    )
    .care(Parts),
    key("small_model", Text, "VENDOR/MODEL for titles and the like").care(Model),
    key(
        "snapshot",
        OneOf(&[Bool, Object(&[may("quota", Kind::Size), may("retention", Kind::Span)])]),
        "keep what was there before a change",
    )
    .care(Ladder(&["false", "true"], 1)),
    key("subagent_depth", COUNT, "how deep sub-agents may call sub-agents").care(AtMost("subagent_depth", 1.0)),
    key(
        "subagent_wake",
        Bool,
        "the end of a task in the background begins a turn; it waits for your next prompt if left out",
    )
    .care(Loosens("begins turns by itself")),
    key("theme", Any, "better in tui.json").care(Harmless),
    key(
        "tool_output",
        Object(&[
            may("max_bytes", POSITIVE).care(AtMost("max_bytes", 51_200.0)),
            may("max_lines", POSITIVE).care(AtMost("max_lines", 2_000.0)),
        ]),
        "most of a tool's output that the model is shown",
    )
    .care(Parts),
    key(
        "tool_profile",
        Word(&["full", "small"]),
        "offer all tools, or the few for weak models; by the model if left out",
    )
    .care(Harmless),
    key("tools", Map(&Bool), "tools switched on and off; the older form of permission").care(Rules),
    key("tools_budget", POSITIVE, "most tokens of tool definitions in a request").care(AtMost("tools_budget", 4_000.0)),
    key("tui", Any, "better in tui.json").care(Loosens("changes what the screen shows")),
    key(
        "turn_summaries",
        Bool,
        "a small model says what each turn came to, beside its prompt; nobody does if left out",
    )
    .care(Loosens("asks a model behind each turn")),
    may("username", Text).care(Harmless),
    key("watcher", Object(&[may("ignore", TEXTS)]), "what changes of files are not looked at").care(Harmless),
]);
