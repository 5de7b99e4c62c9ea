//! From what the files say together to types.

use std::collections::BTreeMap;
use std::time::Duration;

use haft_permission::Rule;
use serde_json::{Map, Value};

use super::{
    Compaction, Config, Experimental, ImageLimits, Instruction, Limits, PluginConfig, Policy, Retention, Share,
    SkillAddress, Snapshot, TaskLimits, ToolOutput,
};
use crate::agent::{self, AgentConfig};
use crate::command::CommandConfig;
use crate::error::ConfigError;
use crate::finish::origin;
use crate::flags::Flags;
use crate::formatter::Formatters;
use crate::load::{self, Loaded};
use crate::mcp::McpServer;
use crate::merge::{Merged, lay_plain};
use crate::network::Network;
use crate::provider::ProviderConfig;
use crate::sandbox::Sandbox;
use crate::sources::Sources;
use crate::tighten::Beside;
use crate::{permission, units};

/// `theme`, `keybinds` and `tui` of the settings, with the UI's own file laid over them.
pub(super) fn screen(merged: &Value, own: Value) -> Value {
    let mut screen = merged.get("tui").filter(|tui| tui.is_object()).cloned().unwrap_or_else(|| Map::new().into());
    for key in ["theme", "keybinds"] {
        if let Some(value) = merged.get(key) {
            screen[key] = value.clone();
        }
    }
    lay_plain(&mut screen, own);
    screen
}

fn plugins(merged: &Merged, origins: &[String]) -> Vec<PluginConfig> {
    let items = merged.value.get("plugin").and_then(Value::as_array);
    let plugin = |(index, item): (usize, &Value)| {
        let origin = origin(origins, merged.trace.below("plugin").below(&index.to_string()).newest());
        let (spec, options) = match item {
            Value::Array(pair) => (pair.first()?, pair.get(1).cloned()),
            item => (item, None),
        };
        Some(PluginConfig { spec: spec.as_str()?.to_owned(), options: options.unwrap_or_default(), origin })
    };
    items.into_iter().flatten().enumerate().filter_map(plugin).collect()
}

pub(super) fn typed(
    merged: &Merged,
    loaded: &Loaded,
    origins: &[String],
    sources: &Sources,
) -> Result<Config, ConfigError> {
    let at = View(&merged.value);
    let set = |key: &str| merged.value.get(key).and_then(Value::as_object).into_iter().flatten();
    let trace = |set: &str, name: &str| origin(origins, merged.trace.below(set).below(name).newest());
    let mut providers = BTreeMap::new();
    for (name, value) in set("provider") {
        let provider: Result<ProviderConfig, _> = serde_path_to_error::deserialize(value);
        let provider = provider.map_err(|error| ConfigError::Value {
            origin: trace("provider", name),
            place: None,
            key: format!("provider.{name}.{}", error.path()),
            // What the reader says repeats the value that it found, which may be a key.
            message: "is not what it should be".to_owned(),
        })?;
        providers.insert(name.clone(), provider);
    }
    let network = Network::of(&merged.value, &loaded.layers, sources);
    network.proxy.check().map_err(|message| ConfigError::Value {
        origin: trace("network", "proxy"),
        place: None,
        key: "network.proxy".to_owned(),
        message,
    })?;
    let mut agents = Vec::new();
    for (name, value) in set("agent") {
        let entries: Vec<&Value> = ["agent", "mode"]
            .iter()
            .flat_map(|set| loaded.layers.iter().filter_map(move |layer| layer.value.get(set)?.get(name)))
            .collect();
        let origin = trace("agent", name);
        let rules = agent::rules_of(&entries, &origin, &sources.home)?;
        agents.push(AgentConfig::of(name, value, rules, origin));
    }
    let instructions = at.texts("instructions").unwrap_or_default().into_iter().enumerate();
    let instructions =
        instructions.map(|(index, pattern)| Instruction { pattern, origin: trace("instructions", &index.to_string()) });
    let addresses = origin(origins, merged.trace.below("skills").below("urls").newest());
    let skill_urls = at.below("skills").texts("urls").unwrap_or_default().into_iter();
    let skill_urls = skill_urls.map(|url| SkillAddress { url, origin: addresses.clone() }).collect();
    let commands = set("command").map(|(name, value)| CommandConfig::of(name, value, trace("command", name)));
    Ok(Config {
        model: at.text("model"),
        small_model: at.text("small_model"),
        default_agent: at.text("default_agent"),
        disabled_providers: at.texts("disabled_providers").unwrap_or_default(),
        enabled_providers: at.texts("enabled_providers"),
        catalogue_url: at.below("catalogue").text("url"),
        commands: commands.collect(),
        instructions: instructions.collect(),
        rules: rules(loaded, sources)?,
        tools: set("tools").filter_map(|(name, on)| Some((name.clone(), on.as_bool()?))).collect(),
        small_tools: at.text("tool_profile").map(|profile| profile == "small"),
        keys_in_keyring: at.below("auth").text("store").as_deref() == Some("keyring"),
        tool_output: tool_output(at.below("tool_output")),
        images: images(at.below("attachment").below("image")),
        shell: at.text("shell"),
        snapshot: snapshot(at.below("snapshot")),
        compaction: compaction(at.below("compaction")),
        experimental: experimental(at.below("experimental")),
        limits: Limits {
            cost: at.below("limits").0["cost"].as_f64(),
            retries: at.below("limits").whole("retries"),
            retry_wait: at.below("limits").whole("retry_wait").map(Duration::from_secs),
            steps: at.below("limits").whole("steps"),
            task: task_limits(at.below("limits").below("task")),
            tasks: task_limits(at.below("limits").below("tasks")),
        },
        subagent_wake: at.switch("subagent_wake").unwrap_or(false),
        turn_summaries: at.switch("turn_summaries").unwrap_or(false),
        subagent_depth: at.whole("subagent_depth"),
        username: at.text("username").or_else(|| os_user(sources)),
        share: match at.text("share").as_deref() {
            Some("auto") => Share::Auto,
            Some("disabled") => Share::Disabled,
            Some(_) | None => Share::Manual,
        },
        log_level: at.text("logLevel"),
        mcp: set("mcp").filter_map(|(name, server)| Some((name.clone(), McpServer::of(server)?))).collect(),
        hooks: merged.value.get("hooks").cloned().unwrap_or_default(),
        formatters: Formatters::of(at.below("formatter").0),
        watch_ignore: merged.value.get("watcher").map(|_| at.below("watcher").texts("ignore").unwrap_or_default()),
        plugins: plugins(merged, origins),
        search_url: at.below("search").text("url"),
        tools_budget: at.whole("tools_budget"),
        skill_paths: at.below("skills").texts("paths").unwrap_or_default(),
        skill_urls,
        sandbox: Sandbox::of(at.below("sandbox").0),
        network,
        // Whatever else an object may say one day, who writes one wants the record.
        retention: retention(at.below("retention")),
        audit: merged.value.get("audit").map(|audit| audit.as_bool().unwrap_or(true)),
        flags: Flags::of(sources),
        directories: sources.directories(),
        providers,
        agents,
        ..Config::default()
    })
}

fn task_limits(at: View<'_>) -> TaskLimits {
    TaskLimits {
        cost: at.0["cost"].as_f64(),
        tokens: at.whole("tokens"),
        steps: at.whole("steps"),
        time: at.whole("seconds").map(Duration::from_secs),
    }
}

fn rules(loaded: &Loaded, sources: &Sources) -> Result<Vec<Rule>, ConfigError> {
    let layer = |layer: &'_ load::Layer| -> (Option<Value>, Option<Value>) {
        (layer.value.get("tools").cloned(), layer.value.get("permission").cloned())
    };
    let parts: Vec<_> = loaded.layers.iter().map(layer).collect();
    let layers: Vec<permission::Layer<'_>> = parts
        .iter()
        .map(|(tools, rules)| permission::Layer { tools: tools.as_ref(), permission: rules.as_ref() })
        .collect();
    permission::rules(&layers, &sources.home).map_err(|(key, message)| ConfigError::Value {
        origin: "all settings together".to_owned(),
        place: None,
        key,
        message,
    })
}

/// The rules that only hold back, of those that `which` picks from each layer.
pub(super) fn bounds(
    layers: &[load::Layer],
    sources: &Sources,
    which: impl Fn(&Beside) -> Option<&Value>,
) -> Result<Vec<Rule>, ConfigError> {
    let rules: Vec<&Value> = layers.iter().filter_map(|layer| which(&layer.beside)).collect();
    agent::rules_of(&rules, "the project's settings together", &sources.home)
}

fn os_user(sources: &Sources) -> Option<String> {
    ["USER", "LOGNAME"].iter().find_map(|name| sources.env(name)).map(str::to_owned)
}

fn tool_output(at: View<'_>) -> ToolOutput {
    let usual = ToolOutput::default();
    ToolOutput {
        max_lines: at.size("max_lines").unwrap_or(usual.max_lines),
        max_bytes: at.size("max_bytes").unwrap_or(usual.max_bytes),
    }
}

fn images(at: View<'_>) -> ImageLimits {
    let usual = ImageLimits::default();
    let pixels = |key: &str| at.whole(key).map(|pixels| u32::try_from(pixels).unwrap_or(u32::MAX));
    ImageLimits {
        auto_resize: at.switch("auto_resize").unwrap_or(usual.auto_resize),
        max_width: pixels("max_width").unwrap_or(usual.max_width),
        max_height: pixels("max_height").unwrap_or(usual.max_height),
        max_base64_bytes: at.size("max_base64_bytes").unwrap_or(usual.max_base64_bytes),
    }
}

fn snapshot(at: View<'_>) -> Snapshot {
    let (quota, retention) = (&at.0["quota"], &at.0["retention"]);
    Snapshot {
        enabled: at.0.as_bool().unwrap_or(true),
        quota: quota.as_u64().or_else(|| units::bytes(quota.as_str()?)),
        retention: retention.as_u64().map(units::days).or_else(|| units::span(retention.as_str()?)),
    }
}

fn retention(at: View<'_>) -> Retention {
    let span = |value: &Value| value.as_u64().map(units::days).or_else(|| units::span(value.as_str()?));
    Retention { sessions: span(at.0).or_else(|| span(&at.0["sessions"])), count: at.0["count"].as_u64() }
}

fn compaction(at: View<'_>) -> Compaction {
    let usual = Compaction::default();
    Compaction {
        auto: at.switch("auto").unwrap_or(usual.auto),
        prune: at.switch("prune").unwrap_or(usual.prune),
        tail_turns: at.whole("tail_turns"),
        preserve_recent_tokens: at.whole("preserve_recent_tokens"),
        reserved: at.whole("reserved"),
    }
}

fn experimental(at: View<'_>) -> Experimental {
    let on = |key: &str| at.switch(key).unwrap_or_default();
    Experimental {
        batch_tool: on("batch_tool"),
        primary_tools: at.texts("primary_tools").unwrap_or_default(),
        continue_loop_on_deny: on("continue_loop_on_deny"),
        disable_paste_summary: on("disable_paste_summary"),
        open_telemetry: on("openTelemetry"),
        mcp_timeout: at.whole("mcp_timeout").map(Duration::from_millis),
        policies: policies(at),
    }
}

fn policies(at: View<'_>) -> Vec<Policy> {
    let list = at.0["policies"].as_array().into_iter().flatten();
    let policy = |policy: &Value| {
        let policy = View(policy);
        Some(Policy { resource: policy.text("resource")?, allows: policy.text("effect")? == "allow" })
    };
    list.filter_map(policy).collect()
}

/// A checked value whose parts are of the right kind where they are there.
#[derive(Clone, Copy)]
struct View<'v>(&'v Value);

impl<'v> View<'v> {
    fn below(self, key: &str) -> View<'v> {
        View(self.0.get(key).unwrap_or(&Value::Null))
    }

    fn text(self, key: &str) -> Option<String> {
        self.0.get(key)?.as_str().map(str::to_owned)
    }

    fn texts(self, key: &str) -> Option<Vec<String>> {
        let items = self.0.get(key)?.as_array()?;
        Some(items.iter().filter_map(Value::as_str).map(str::to_owned).collect())
    }

    fn whole(self, key: &str) -> Option<u64> {
        self.0.get(key)?.as_u64()
    }

    fn size(self, key: &str) -> Option<usize> {
        self.whole(key).map(|size| usize::try_from(size).unwrap_or(usize::MAX))
    }

    fn switch(self, key: &str) -> Option<bool> {
        self.0.get(key)?.as_bool()
    }
}
