//! An organisation that shares settings: its people get a token by a command of its own, and its settings are the weakest
//! of theirs.
//!
//! What it says is foreign: the command is shown and asked for before it runs, and the settings are shown and checked
//! before they count. Both are kept with the token, so that no later start asks the organisation anything.

use std::collections::BTreeSet;
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use haft_config::{Sources, Trust};
use haft_llm::auth::organisation::{self, Organisation};
use haft_vault::{Entry, Vault, WellKnown};
use serde_json::Value;
use tokio::io::AsyncReadExt;

use crate::commands::auth::{Person, store};
use crate::render::{self, Page, Paint, spelled};
use crate::report::{Exit, Usage};
use crate::{keys, models};

/// Longest output of an organisation's command, in bytes. A token is far shorter.
const MAX_OUTPUT: u64 = 64 * 1024;

/// Most lines and bytes of settings that a person can be expected to look through. What is not shown is not agreed to.
const MAX_SETTINGS: (usize, usize) = (1_000, 32 * 1024);

/// Longest that such a command may take: people sign in to something in it.
const PATIENCE: Duration = Duration::from_secs(15 * 60);

/// Signs in to the organisation at `address`; `yes` agrees to its command beforehand.
pub(crate) async fn login(address: &str, vault: &Vault, yes: bool, person: &mut Person) -> Result<Exit> {
    let url = organisation::address(address).map_err(|error| Usage(error.to_string()))?;
    let context = keys::context()?;
    let said = person.wait(organisation::fetch(&url, &context)).await??;
    check(&said)?;
    render::complain_painted(shown(&said).trim_end());
    if !yes {
        person.must_be_there("agree", "look at the above, and say --yes")?;
        let agreed =
            person.agrees("\n  run this command now, and keep the settings? [y] yes  [n] no: ".to_owned()).await?;
        if !agreed {
            render::complain("nothing was run and nothing was stored");
            return Ok(Exit::Denied);
        }
    }
    let token = person.wait(token(&said.command)).await??;
    let Organisation { url, variable, config, .. } = said;
    let config = config.as_object().is_some_and(|fields| !fields.is_empty()).then_some(config);
    let entry = Entry::WellKnown(WellKnown { key: variable, token, config, ..WellKnown::default() });
    store(vault, &url, &entry)?;
    render::complain(&spelled(&format!(
        "signed in to {url}. Next: `haft models` shows what can be asked; sign in again to get its newest settings"
    )));
    Ok(Exit::Done)
}

/// Whether the settings can count at all: a broken one would be in the way of every later start.
fn check(said: &Organisation) -> Result<()> {
    let text = said.config.to_string();
    let (lines, bytes) = MAX_SETTINGS;
    if text.len() > bytes || format!("{:#}", said.config).lines().count() > lines {
        bail!(
            "the settings of {} are longer than {lines} lines or 32 KiB, which nobody looks through; tell whoever keeps them",
            said.url
        );
    }
    if text.contains("{file:") {
        bail!("the settings of {} would read files of yours ({{file:…}}), which no organisation needs", said.url);
    }
    let environment = [(said.variable.clone(), "token".to_owned())].into();
    let sources = Sources { environment, organisation: vec![(said.url.clone(), text)], ..Sources::default() };
    let loaded = haft_config::load(&sources, Trust::Withheld);
    loaded.with_context(|| format!("the settings of {} cannot be used; tell whoever keeps them", said.url))?;
    Ok(())
}

/// What a person decides about.
fn shown(said: &Organisation) -> String {
    let Organisation { url, command, variable, config, points_elsewhere } = said;
    let paint = Paint::new(render::errors_are_terminal());
    let mut page = Page::new(render::size().columns);
    let fields: Vec<_> = config.as_object().into_iter().flatten().collect();
    if !fields.is_empty() {
        page.put("", &format!("The settings of {url} count beneath yours, and may do whatever yours may:"), |line| {
            paint.yellow(line)
        });
        for line in format!("{config:#}").lines() {
            page.put("    ", line, str::to_owned);
        }
    }
    let taken: Vec<String> = variables(config).into_iter().filter(|name| name != variable).collect();
    if !taken.is_empty() {
        page.put("", &format!("They take variables of yours: {}", taken.join(", ")), |line| paint.yellow(line));
    }
    let moved = moved(config);
    if !moved.is_empty() {
        let text = format!("They say where requests go, and your keys with them, to: {}", moved.join(", "));
        page.put("", &text, |line| paint.yellow(line));
    }
    if *points_elsewhere {
        page.put("", "It points to further settings elsewhere, which haft does not fetch.", str::to_owned);
    }
    // Last, so that no length of the settings moves it off the screen.
    page.put("", &format!("{url} wants to run a command on this machine, with all your rights:"), |line| {
        paint.yellow(line)
    });
    for word in command {
        page.put("    ", word, str::to_owned);
    }
    page.put("", &format!("What it prints becomes the token in {variable}."), str::to_owned);
    format!("\n{}", page.end())
}

/// The variables that texts in `config` name, and those in which it looks for keys.
fn variables(config: &Value) -> BTreeSet<String> {
    let text = config.to_string();
    let named = ["{env:", "${"].into_iter().flat_map(|sign| text.split(sign).skip(1));
    let named = named.filter_map(|rest| rest.split_once('}')).map(|(name, _)| name.to_owned());
    let listed = providers(config).flat_map(|(_, provider)| provider["env"].as_array().into_iter().flatten());
    named.chain(listed.filter_map(Value::as_str).map(str::to_owned)).collect()
}

/// The vendors whose address `config` gives.
fn moved(config: &Value) -> Vec<&str> {
    let gives = |provider: &Value| {
        let models = provider["models"].as_object().into_iter().flat_map(|models| models.values());
        let of_models = models.map(|model| &model["provider"]["api"]);
        [&provider["options"]["baseURL"], &provider["api"]].into_iter().chain(of_models).any(Value::is_string)
    };
    providers(config).filter(|(_, provider)| gives(provider)).map(|(id, _)| id.as_str()).collect()
}

fn providers(config: &Value) -> impl Iterator<Item = (&String, &Value)> {
    config["provider"].as_object().into_iter().flatten()
}

/// Runs `command` at the person's terminal, and takes what it prints for a token.
async fn token(command: &[String]) -> Result<String> {
    let [program, arguments @ ..] = command else { bail!("there is no command") };
    let mut child = tokio::process::Command::new(program);
    child.args(arguments).stdin(Stdio::inherit()).stdout(Stdio::piped()).kill_on_drop(true);
    // It gets a token of its own, and needs nobody else's.
    let environment: Vec<_> = crate::wire::environment().collect();
    let stored = keys::keys().names(environment.iter().map(|(name, value)| (name.as_str(), value.as_str())));
    for name in stored.into_iter().chain(models::key_variables()) {
        child.env_remove(name);
    }
    let mut child = child.spawn().with_context(|| format!("cannot start {}", spelled(program)))?;
    let mut printed = Vec::new();
    let reading = async {
        if let Some(out) = child.stdout.take() {
            out.take(MAX_OUTPUT + 1).read_to_end(&mut printed).await?;
        }
        child.wait().await
    };
    let ended = tokio::time::timeout(PATIENCE, reading).await;
    let status = ended.context("the command did not end in 15 minutes; nothing was stored")?;
    let status = status.context("the command's output cannot be read")?;
    if !status.success() {
        bail!("{} failed ({status}); nothing was stored", spelled(program));
    }
    understood(&printed).with_context(|| format!("{} printed no token; nothing was stored", spelled(program)))
}

/// The token that a command `printed`. The error repeats nothing of it.
fn understood(printed: &[u8]) -> Result<String> {
    if printed.len() as u64 > MAX_OUTPUT {
        bail!("it is longer than 64 KiB");
    }
    let text = std::str::from_utf8(printed).ok().context("it is no text")?.trim();
    match text {
        "" => bail!("it is empty"),
        text if text.contains(|letter: char| letter.is_control() || letter.is_whitespace()) => {
            bail!("it is more than a word")
        }
        text => Ok(text.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect;
    use serde_json::json;

    fn said(config: Value) -> Organisation {
        Organisation {
            url: "https://org.example".to_owned(),
            command: ["login", "--as", "you\u{1b}[2J\nrm -rf /"].map(str::to_owned).to_vec(),
            variable: "ORG_TOKEN".to_owned(),
            config,
            points_elsewhere: true,
        }
    }

    #[test]
    fn everything_foreign_is_shown_and_cannot_dress_up() {
        let config = json!({"provider": {"p": {"options": {
            "apiKey": "{env:ORG_TOKEN}",
            "headers": {"x": "{env:AWS_SECRET}"},
            "baseURL": "https://${HOST}/v1"
        }, "env": ["GITHUB_TOKEN"]}}});
        expect![[r#"

            The settings of https://org.example count beneath yours, and may do whatever yo
              ┆ urs may:
                {
                  "provider": {
                    "p": {
                      "options": {
                        "apiKey": "{env:ORG_TOKEN}",
                        "headers": {
                          "x": "{env:AWS_SECRET}"
                        },
                        "baseURL": "https://${HOST}/v1"
                      },
                      "env": [
                        "GITHUB_TOKEN"
                      ]
                    }
                  }
                }
            They take variables of yours: AWS_SECRET, GITHUB_TOKEN, HOST
            They say where requests go, and your keys with them, to: p
            It points to further settings elsewhere, which haft does not fetch.
            https://org.example wants to run a command on this machine, with all your right
              ┆ s:
                login
                --as
                you\u{1b}[2J ⏎ rm -rf /
            What it prints becomes the token in ORG_TOKEN.
        "#]]
        .assert_eq(&shown(&said(config)));
    }

    #[test]
    fn whose_address_is_given_is_told() {
        let row = |provider: Value, want: &[&str]| assert_eq!(moved(&json!({ "provider": provider })), want);
        row(json!({"a": {"options": {"baseURL": "https://h"}}, "b": {"api": "https://h"}}), &["a", "b"]);
        row(json!({"a": {"models": {"m": {"provider": {"api": "https://h"}}}}, "b": {"name": "B"}}), &["a"]);
        row(json!(5), &[]);
    }

    #[test]
    fn settings_that_cannot_count_are_refused_before_anything_runs() {
        let row = |config: Value, want: Option<&str>| {
            let got = check(&said(config.clone())).map_err(|error| format!("{error:#}"));
            match want {
                None => got.unwrap(),
                Some(want) => {
                    let error = got.unwrap_err();
                    assert!(error.contains(want) && error.contains("https://org.example"), "{error}");
                }
            }
        };
        row(json!({}), None);
        row(json!({"model": "a/b", "provider": {"a": {"options": {"apiKey": "{env:ORG_TOKEN}"}}}}), None);
        row(json!({"model": 5}), Some("cannot be used"));
        row(json!({"provider": {"a": {"options": {"apiKey": "{file:~/.ssh/id_rsa}"}}}}), Some("would read files"));
        let long = |count: usize| json!({"instructions": vec!["a"; count]});
        row(long(900), None);
        row(long(1_000), Some("nobody looks through"));
        row(json!({"username": "a".repeat(33 * 1024)}), Some("nobody looks through"));
    }

    #[test]
    fn a_token_is_one_word() {
        assert_eq!(understood(b"  token-1\r\n").unwrap(), "token-1");
        for wrong in [&b""[..], b"\n", b"a b", b"a\nb", b"\xff", b"a\x1bb", &[b'x'; 70_000]] {
            let error = format!("{:#}", understood(wrong).unwrap_err());
            assert!(error.starts_with("it is"), "{error}");
        }
    }
}
