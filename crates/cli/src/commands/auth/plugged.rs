//! Signing in by the methods of a plug-in.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, anyhow};
use haft_llm::auth::{Method as BuiltIn, PATIENCE};
use haft_script::ScriptError;
use haft_script::plugin::Plugin;
use haft_tool::Hook;
use haft_vault::Entry;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::login;
use super::person::{Choosable, Person, Stopped};
use crate::args::Login;
use crate::folders::Folders;
use crate::render::{self, spelled};
use crate::report::Usage;
use crate::trust::Asking;
use crate::wire::{Ground, place};
use crate::{signed_in, stdin};

/// How long a plug-in may take for what waits for nobody.
const MAX_TIME: Duration = Duration::from_secs(60);
/// Most methods of a plug-in, and most prompts of one.
const MOST: usize = 20;

/// A plug-in that helps to sign in to a vendor.
pub(super) struct Plugged {
    // Its plug-ins run as long as it is there.
    _ground: Ground,
    plugin: Arc<Plugin>,
    vendor: String,
    methods: Vec<Method>,
}

/// What was chosen.
pub(super) enum Chosen {
    /// The method of the plug-in with this number.
    OfPlugin(usize),
    /// A built-in one: by its name, or whichever there is.
    Other(Option<String>),
}

#[derive(Deserialize)]
struct Method {
    #[serde(rename = "type")]
    kind: String,
    label: String,
    #[serde(default)]
    authorizes: bool,
    #[serde(default)]
    prompts: Vec<Prompt>,
}

#[derive(Deserialize)]
struct Prompt {
    key: String,
    #[serde(default)]
    message: String,
    placeholder: Option<String>,
    #[serde(default)]
    options: Option<Vec<Choice>>,
    when: Option<When>,
}

#[derive(Deserialize)]
struct Choice {
    label: String,
    value: String,
}

#[derive(Deserialize)]
struct When {
    key: String,
    op: String,
    value: String,
}

impl When {
    fn holds(&self, answers: &Map<String, Value>) -> bool {
        let is = answers.get(&self.key).and_then(Value::as_str) == Some(self.value.as_str());
        is == (self.op != "neq")
    }
}

/// The plug-in that helps to sign in to `vendor`, if there is one.
pub(super) async fn find(folders: &Folders, vendor: &str) -> Result<Option<Plugged>> {
    let ground = Ground::of(folders.clone(), place(None)?, Asking::Nobody)?;
    for plugin in ground.plugins()?.to_vec() {
        // One that cannot begin is named by whoever needs it.
        if !plugin.begin().await.is_ok_and(|begun| begun.auth.iter().any(|name| name == vendor)) {
            continue;
        }
        let methods = plugin.ask(&["auth", "methods"], vec![vendor.into()], MAX_TIME).await?;
        let mut methods: Vec<Method> = serde_json::from_value(methods)
            .with_context(|| format!("the methods of the plug-in {} have another form", plugin.name()))?;
        methods.truncate(MOST);
        methods.iter_mut().for_each(|method| method.prompts.truncate(MOST));
        if !methods.is_empty() {
            return Ok(Some(Plugged { _ground: ground, plugin, vendor: vendor.to_owned(), methods }));
        }
    }
    Ok(None)
}

impl Plugged {
    /// Which of its methods, or of those that are built in, is taken.
    pub(super) async fn choose(&self, args: &Login, also: &[BuiltIn], person: &mut Person) -> Result<Chosen> {
        let own: Vec<Choosable> = (1..)
            .zip(&self.methods)
            .map(|(number, method)| Choosable {
                id: format!("plugin-{number}"),
                label: format!("{} (plug-in {})", spelled(&method.label), self.plugin.name()),
            })
            .collect();
        if let Some(named) = &args.method {
            let at = own.iter().position(|method| method.id == *named);
            return Ok(at.map_or(Chosen::Other(Some(named.clone())), Chosen::OfPlugin));
        }
        if args.key_stdin && !also.is_empty() {
            return Ok(Chosen::Other(None));
        }
        if own.len() == 1 && also.is_empty() {
            return Ok(Chosen::OfPlugin(0));
        }
        let other = also.iter().map(|method| Choosable { id: method.id.to_owned(), label: method.label.to_owned() });
        let count = own.len();
        let all: Vec<Choosable> = own.into_iter().chain(other).collect();
        let ids = all.iter().map(|method| method.id.as_str()).collect::<Vec<_>>().join(", ");
        person.must_be_there("choose a method", &format!("name one with --method: {ids}"))?;
        let at = person.choose(&format!("Sign in to {} how?", self.vendor), &all).await?;
        Ok(if at < count { Chosen::OfPlugin(at) } else { Chosen::Other(Some(all[at].id.clone())) })
    }

    /// Signs in by the method `index`, and gives what is to be stored.
    pub(super) async fn sign_in(&self, index: usize, args: &Login, person: &mut Person) -> Result<Entry> {
        let method = &self.methods[index];
        let answers = self.answers(method, &args.set, person).await?;
        let begin = vec![self.vendor.as_str().into(), index.into(), Value::Object(answers.clone())];
        let done = match (method.kind.as_str(), method.authorizes) {
            ("oauth", true) => {
                let begun = self.ask("authorize", begin, MAX_TIME, person).await?;
                let text = |key: &str| begun.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
                let url = text("url");
                let is_page = url.starts_with("https://") || url.starts_with("http://");
                if is_page {
                    render::complain(&format!("\nopen this page and sign in:\n  {}", spelled(&url)));
                    if !args.no_browser && person.is_there() {
                        login::open(&url);
                    }
                }
                render::complain(&spelled(&text("instructions")));
                let code = match text("method").as_str() {
                    "code" if args.key_stdin => Value::from(stdin::read(64 * 1024).await?.trim()),
                    "code" => {
                        person.must_be_there("type the code", "pipe it in with --key-stdin")?;
                        person.line("\n? the code: ".to_owned()).await?.into()
                    }
                    _ => Value::Null,
                };
                self.ask("callback", vec![code], PATIENCE, person).await?
            }
            (_, true) => self.ask("authorize", begin, PATIENCE, person).await?,
            _ => {
                let key = if args.key_stdin {
                    stdin::read(1024 * 1024).await?
                } else {
                    person.must_be_there("type a key", "pipe it in with --key-stdin")?;
                    person.hidden(format!("\n? {} (it is not shown): ", spelled(&method.label))).await?
                };
                serde_json::json!({ "type": "success", "key": key.trim(), "metadata": answers })
            }
        };
        if done.get("type").and_then(Value::as_str) == Some("failed") {
            return Err(anyhow!("the plug-in {} says that signing in failed", self.plugin.name()));
        }
        if done.get("provider").and_then(Value::as_str).is_some_and(|other| other != self.vendor) {
            return Err(anyhow!("the plug-in {} wants to store what is for another vendor", self.plugin.name()));
        }
        signed_in::entry(&done, self.plugin.name()).ok_or_else(|| {
            anyhow!("the plug-in {} gave neither a key nor tokens; nothing was stored", self.plugin.name())
        })
    }

    /// What the plug-in's `function` gives. What it throws is its word to the person.
    async fn ask(&self, function: &str, args: Vec<Value>, time: Duration, person: &mut Person) -> Result<Value> {
        match person.wait(self.plugin.ask(&["auth", function], args, time)).await? {
            Ok(value) => Ok(value),
            Err(ScriptError::Thrown { message, .. }) => {
                Err(anyhow!("the plug-in {} says: {}", self.plugin.name(), spelled(&message)))
            }
            Err(error) => Err(error.into()),
        }
    }

    /// The answers to its prompts: those in `set`, else what is typed.
    async fn answers(&self, method: &Method, set: &[String], person: &mut Person) -> Result<Map<String, Value>> {
        let mut answers = Map::new();
        for Prompt { key, message, placeholder, options, when } in &method.prompts {
            if when.as_ref().is_some_and(|when| !when.holds(&answers)) {
                continue;
            }
            let given = set.iter().find_map(|pair| pair.split_once('=').filter(|(name, _)| name == key));
            let message = spelled(message);
            let answer = match (given, options) {
                (Some((_, value)), Some(options)) if !options.iter().any(|option| option.value == value) => {
                    return Err(Usage(format!("{key} cannot be {value:?}")).into());
                }
                (Some((_, value)), _) => value.to_owned(),
                (None, Some(options)) => {
                    person.must_be_there(&message, &format!("give it with --set {key}=…"))?;
                    let all: Vec<Choosable> = options
                        .iter()
                        .map(|option| Choosable {
                            id: option.value.clone(),
                            label: spelled(&option.label).into_owned(),
                        })
                        .collect();
                    options[person.choose(&message, &all).await?].value.clone()
                }
                (None, None) => {
                    person.must_be_there(&message, &format!("give it with --set {key}=…"))?;
                    let such =
                        placeholder.as_deref().map_or_else(String::new, |such| format!(" (such as {})", spelled(such)));
                    let line = person.line(format!("\n? {message}{such}: ")).await?;
                    if line.is_empty() {
                        return Err(Stopped.into());
                    }
                    line
                }
            };
            answers.insert(key.clone(), answer.into());
        }
        Ok(answers)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_prompt_may_depend_on_another_ones_answer() {
        let when = |op: &str| When { key: "kind".to_owned(), op: op.to_owned(), value: "a".to_owned() };
        let answers = |value: Value| value.as_object().cloned().unwrap();
        assert!(when("eq").holds(&answers(json!({ "kind": "a" }))) && !when("eq").holds(&answers(json!({}))));
        assert!(
            when("neq").holds(&answers(json!({ "kind": "b" }))) && !when("neq").holds(&answers(json!({ "kind": "a" })))
        );
    }
}
