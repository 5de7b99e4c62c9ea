//! Which definitions of tools a request has room for.

use serde::Serialize;
use serde_json::{Value, json};

use crate::registry::Entry;
use crate::{Registry, Spec};

/// The tool that finds those whose definitions are not sent.
pub const SEARCH: &str = "tool_search";
/// The tool that stands for calls to them.
pub const CALL: &str = "tool_call";

/// Tokens that the definitions of all sources may take together where the user says nothing.
pub const TOOLS_BUDGET: usize = 4_000;

/// Most sources that a model is told the names of.
const MAX_NAMED: usize = 20;
/// Longest name of a source that it is told, in characters.
const MAX_NAME: usize = 64;

/// The usual estimate of how much `bytes` of text are: 3.6 bytes for a token, rounded up.
pub fn tokens(bytes: usize) -> usize {
    bytes.saturating_mul(10).div_ceil(36)
}

impl Spec {
    /// About how many tokens its definition takes in a request.
    pub fn tokens(&self) -> usize {
        #[derive(Serialize)]
        struct Sent<'a> {
            name: &'a str,
            description: &'a str,
            parameters: &'a Value,
        }
        let Self { name, description, parameters } = self;
        let sent = Sent { name, description, parameters };
        // Text and JSON are always written.
        tokens(serde_json::to_string(&sent).map_or(0, |text| text.len()))
    }
}

impl Registry {
    /// The same within a budget of tokens for the definitions of its sources. Where they take more, none of them is
    /// offered but those that the user switched on; nor are those of sources that are not ready yet. The two tools that
    /// find and call them are offered instead, if they are there.
    ///
    /// All or none: which of them a request holds must not hang on which server was the first to answer.
    #[must_use]
    pub fn fitted(&self, budget: usize) -> Self {
        let sent = self.tools.values().filter(|entry| entry.source.is_some() && entry.offered);
        let over = sent.map(Entry::tokens).sum::<usize>() > budget;
        let mut fitted = self.clone();
        let tools = std::sync::Arc::make_mut(&mut fitted.tools);
        for entry in tools.values_mut().filter(|entry| entry.source.is_some() && over && !entry.wanted) {
            entry.held |= std::mem::take(&mut entry.offered);
        }
        let note = note(&fitted);
        if let Some(note) = note {
            let tools = std::sync::Arc::make_mut(&mut fitted.tools);
            for name in [SEARCH, CALL] {
                if let Some(entry) = tools.get_mut(name) {
                    entry.offered = true;
                }
            }
            if let Some(entry) = tools.get_mut(SEARCH) {
                entry.note = Some(note.into());
            }
        }
        fitted
    }

    /// The definitions of the tools of sources, by name, each with the name of its source.
    pub fn foreign(&self) -> impl Iterator<Item = (&str, Spec)> {
        self.tools.values().filter_map(|entry| Some((entry.source.as_deref()?, entry.spec())))
    }

    /// How many definitions are not sent for their size.
    pub fn held(&self) -> usize {
        self.tools.values().filter(|entry| entry.held).count()
    }

    /// What a call to `name` with `input` means: another one, where the tool only stands for others.
    ///
    /// # Errors
    ///
    /// A text for the model where the call that is meant cannot be made.
    pub fn meant(&self, name: &str, input: Value) -> Result<(String, Value), String> {
        if name != CALL {
            return Ok((name.to_owned(), input));
        }
        let Some(Value::String(asked)) = input.get("name") else {
            return Err(format!("{CALL} needs `name`: the tool to call, as {SEARCH} spells it"));
        };
        let name = self.find(asked).map_err(|_| {
            let asked: String = asked.chars().take(MAX_NAME).collect();
            format!("there is no tool called {asked:?}; find what there is with {SEARCH}")
        })?;
        if name == CALL {
            return Err(format!("{CALL} cannot call itself; name the tool that is meant"));
        }
        let input = match input.get("arguments") {
            None | Some(Value::Null) => json!({}),
            // Some models write objects within objects as text.
            Some(Value::String(text)) => crate::parse_arguments(name, text)?,
            Some(arguments) => arguments.clone(),
        };
        Ok((name.to_owned(), input))
    }
}

/// What is said of the tools whose definitions are not sent: how many, and where they come from.
fn note(registry: &Registry) -> Option<String> {
    let mut sources: Vec<&str> = Vec::new();
    let mut count = 0_usize;
    for entry in registry.tools.values().filter(|entry| entry.held) {
        count += 1;
        sources.extend(entry.source.as_deref());
    }
    sources.extend(registry.pending.iter().map(String::as_str));
    sources.sort_unstable();
    sources.dedup();
    if sources.is_empty() {
        return None;
    }
    let names = sources.iter().take(MAX_NAMED).map(|name| {
        let name = name.chars().map(|c| if c.is_control() { ' ' } else { c });
        name.take(MAX_NAME).collect::<String>()
    });
    let names: Vec<String> = names.collect();
    let more = sources.len().saturating_sub(MAX_NAMED);
    let more = if more == 0 { String::new() } else { format!(" and {more} more") };
    let many = match (count, registry.pending.is_empty()) {
        (0, _) => "Tools".to_owned(),
        (_, true) => format!("{count} tools"),
        (_, false) => format!("{count} tools and more"),
    };
    Some(format!("{many} come from: {}{more}.", names.join(", ")))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::Ordering;

    use super::*;
    use crate::Switches;
    use crate::source::tests::{Named, Server, base};

    fn standing() -> Registry {
        [SEARCH, CALL].into_iter().fold(base(), |registry, name| {
            struct Hidden(Named);
            impl crate::AnyTool for Hidden {
                fn spec(&self) -> Spec {
                    self.0.spec()
                }
                fn offered(&self) -> bool {
                    false
                }
                fn run<'a>(
                    &'a self,
                    input: Value,
                    call: &'a crate::Call,
                ) -> futures::future::BoxFuture<'a, Result<crate::Output, crate::ToolError>> {
                    self.0.run(input, call)
                }
            }
            registry.with_any(Arc::new(Hidden(Named(name.to_owned(), "haft"))))
        })
    }

    fn told(registry: &Registry) -> String {
        registry.specs().into_iter().map(|spec| spec.name).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn a_token_is_3_6_bytes_rounded_up() {
        let row = |bytes: usize, want: usize| assert_eq!(tokens(bytes), want, "{bytes}");
        row(0, 0);
        row(1, 1);
        row(36, 10);
        row(37, 11);
    }

    #[test]
    fn definitions_are_sent_as_long_as_all_of_them_fit() {
        let registry = standing().with_sources(vec![Server::new("s", &["s_a", "s_b"])]).now();
        let size: usize = ["s_a", "s_b"].iter().map(|name| registry.spec(name).unwrap().tokens()).sum();
        assert_eq!(told(&registry.fitted(size)), "read s_a s_b");
        let over = registry.fitted(size - 1);
        assert_eq!(told(&over), "read tool_call tool_search");
        assert_eq!((registry.held(), over.held(), over.foreign().count()), (0, 2, 2));
        // What is not sent can be called all the same.
        assert_eq!(over.find("s_a"), Ok("s_a"));
        // Without tools of others there is nothing to find.
        assert_eq!(told(&standing().now().fitted(0)), "read");
    }

    #[test]
    fn what_the_user_switches_on_is_sent_at_any_size() {
        let on = Switches(vec![("s_b".to_owned(), true)]);
        let registry = standing().switched(&on).with_sources(vec![Server::new("s", &["s_a", "s_b"])]).now();
        assert_eq!(told(&registry.fitted(0)), "read s_b tool_call tool_search");
    }

    #[test]
    fn a_model_is_told_where_tools_are_that_it_is_not_sent() {
        let servers: Vec<Arc<dyn crate::Source>> = vec![Server::new("one", &["a", "b"]), Server::new("t\nwo", &["c"])];
        let note = |registry: &Registry| {
            let text = registry.fitted(0).specs().into_iter().find(|spec| spec.name == SEARCH).unwrap().description;
            text.split_once("\n\n").unwrap().1.to_owned()
        };
        assert_eq!(note(&standing().with_sources(servers).now()), "3 tools come from: one, t wo.");
        let late = Server::new("late", &[]);
        late.is_ready.store(false, Ordering::Relaxed);
        assert_eq!(note(&standing().with_sources(vec![late.clone()]).now()), "Tools come from: late.");
        let both = standing().with_sources(vec![late, Server::new("s", &["a"])]).now();
        assert_eq!(note(&both), "1 tools and more come from: late, s.");
        const NAMES: [&str; 25] = [
            "a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l", "m", "n", "o", "p", "q", "r", "s", "t", "u",
            "v", "w", "x", "y",
        ];
        let many = NAMES.map(|name| Server::new(name, &[name]) as Arc<dyn crate::Source>).to_vec();
        assert!(note(&standing().with_sources(many).now()).ends_with("s, t and 5 more."));
    }

    #[test]
    fn a_call_that_stands_for_another_is_that_one() {
        let registry = standing().with_sources(vec![Server::new("s", &["s_a"])]).now();
        let check = |input: Value, want: Result<(&str, Value), &str>| {
            let got = registry.meant(CALL, input.clone());
            let got = got.as_ref().map(|(name, input)| (name.as_str(), input.clone())).map_err(String::as_str);
            assert_eq!(got, want, "{input}");
        };
        check(json!({"name": "s_a", "arguments": {"text": "x"}}), Ok(("s_a", json!({"text": "x"}))));
        check(json!({"name": "S_A"}), Ok(("s_a", json!({}))));
        check(json!({"name": "s_a", "arguments": "{\"text\": \"x\"}"}), Ok(("s_a", json!({"text": "x"}))));
        check(json!({"name": "read", "arguments": null}), Ok(("read", json!({}))));
        check(json!({"name": "none"}), Err("there is no tool called \"none\"; find what there is with tool_search"));
        check(json!({"name": CALL}), Err("tool_call cannot call itself; name the tool that is meant"));
        check(json!({}), Err("tool_call needs `name`: the tool to call, as tool_search spells it"));
        assert_eq!(registry.meant("read", json!({"name": "s_a"})), Ok(("read".to_owned(), json!({"name": "s_a"}))));
    }
}
