//! `haft auth login`: a key is typed, or a person signs in.

use anyhow::{Context, Result};
use haft_config::Config;
use haft_llm::auth::{self, Method, PromptKind, Started, Way};
use haft_vault::{Api, Entry, MAX_TEXT, OAuth, Vault};
use serde_json::{Map, Value};

use super::import;
use super::person::{Choosable, Person, Stopped};
use super::plugged::{self, Chosen};
use super::vendors::{self, Known};
use crate::args::Login;
use crate::folders::Folders;
use crate::render::{self, Page, Paint, spelled};
use crate::report::{Exit, Usage};
use crate::trust::Asking;
use crate::{keys, stdin, trust, well_known, wire};

/// Most answers that can be given on the command line.
const MAX_SET: usize = 32;

pub(super) async fn run(mut args: Login) -> Result<Exit> {
    let folders = Folders::find()?;
    if let Some((name, _)) = keys::given() {
        return Err(
            Usage(format!("{name} stands for the stored keys, so nothing can be stored; unset it first")).into()
        );
    }
    let vault = keys::vault(&folders)?;
    if args.import_opencode {
        return import::run(&folders, &vault, args.force);
    }
    let config = settings(&folders)?;
    let vault = keys::storing(vault, &config)?;
    let known = vendors::known(&config);
    let mut person = Person::find()?;
    let named = match &args.vendor {
        Some(vendor) => haft_vault::id(vendor.trim()).to_owned(),
        None => {
            person.must_be_there("choose a vendor", "name one, as in haft auth login openai --key-stdin")?;
            known[person.choose("Sign in to which vendor?", &vendors::options(&known)).await?].id.clone()
        }
    };
    if named.contains("://") {
        return well_known::login(&named, &vault, args.yes, &mut person).await;
    }
    if let Some(plugged) = plugged::find(&folders, &named).await? {
        let also = if known.iter().any(|known| known.id == named) { auth::methods(&named) } else { &[] };
        match plugged.choose(&args, also, &mut person).await? {
            Chosen::OfPlugin(index) => {
                let entry = plugged.sign_in(index, &args, &mut person).await?;
                store(&vault, &named, &entry)?;
                let known = Known { id: named.clone(), name: named, keys: Vec::new() };
                render::complain(&spelled(&next(&known, &entry)));
                return Ok(Exit::Done);
            }
            Chosen::Other(method) => args.method = method,
        }
    }
    let vendor = vendor(&named, &known, args.force)?;
    if let Some(note) = auth::note(&vendor.id) {
        render::complain(note);
    }
    let method = method(&vendor, &args, &mut person).await?;
    let answers = answers(&method, &args.set, &mut person).await?;
    let entry = match method.way {
        Way::Key => {
            let key = key(&vendor, &method, args.key_stdin, &mut person).await?;
            Entry::Api(Api { key, metadata: answers, ..Api::default() })
        }
        Way::CopilotDevice | Way::ChatGptBrowser | Way::ChatGptDevice | Way::SnowflakeBrowser => {
            let context = keys::context()?;
            let started = person.wait(auth::start(method.way, &answers, &context)).await??;
            sign_in(started, args.no_browser, &mut person).await?
        }
    };
    store(&vault, &vendor.id, &entry)?;
    render::complain(&spelled(&next(&vendor, &entry)));
    Ok(Exit::Done)
}

/// The settings that hold here, for the vendors in them and for the way to the network.
fn settings(folders: &Folders) -> Result<Config> {
    let place = wire::place(None)?;
    let config = trust::load(folders, &place, &wire::sources(folders, &place), Asking::Nobody);
    config.context("the settings say how the network is reached, and cannot be read")
}

/// The vendor called `named`.
fn vendor(named: &str, known: &[Known], force: bool) -> Result<Known> {
    if let Some(found) = known.iter().find(|known| known.id == named) {
        return Ok(found.clone());
    }
    let plain = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '-' | '_' | '.');
    if force && !named.is_empty() && named.len() <= 128 && named.chars().all(plain) {
        return Ok(Known { id: named.to_owned(), name: named.to_owned(), keys: Vec::new() });
    }
    let similar = vendors::similar(named, known);
    let meant = if similar.is_empty() { String::new() } else { format!("; did you mean {}", similar.join(", ")) };
    Err(Usage(format!(
        "there is no vendor {named:?}{meant}; one of your own is added under `provider` in opencode.json, and --force \
         stores a key for it before that"
    ))
    .into())
}

/// The way that was named, else the only one, else the one that is chosen.
async fn method(vendor: &Known, args: &Login, person: &mut Person) -> Result<Method> {
    let methods = auth::methods(&vendor.id);
    let ids = || methods.iter().map(|method| method.id).collect::<Vec<_>>().join(", ");
    if let Some(other) = args.method.as_deref().filter(|method| args.key_stdin && *method != "key") {
        return Err(Usage(format!("--key-stdin cannot be used with --method {other}, which takes no key")).into());
    }
    let named = args.method.as_deref().or(args.key_stdin.then_some("key"));
    if let Some(named) = named {
        let found = methods.iter().find(|method| method.id == named);
        return found.copied().ok_or_else(|| {
            Usage(format!("{} cannot be signed in to with {named:?}; it has {}", vendor.id, ids())).into()
        });
    }
    match methods {
        [only] => Ok(*only),
        _ => {
            person.must_be_there("choose a method", &format!("name one with --method: {}", ids()))?;
            let options: Vec<_> = methods
                .iter()
                .map(|method| Choosable { id: method.id.to_owned(), label: method.label.to_owned() })
                .collect();
            Ok(methods[person.choose(&format!("Sign in to {} how?", vendor.name), &options).await?])
        }
    }
}

/// The answers to the prompts of `method`: those in `set`, else what is typed.
async fn answers(method: &Method, set: &[String], person: &mut Person) -> Result<Map<String, Value>> {
    let given = given(method, set)?;
    let mut answers = Map::new();
    for prompt in method.prompts {
        let wanted = prompt.when.is_none_or(|when| answers.get(when.key).and_then(Value::as_str) == Some(when.is));
        if !wanted {
            continue;
        }
        let answer = match given.get(prompt.key) {
            Some(answer) => answer.clone(),
            // The first of several answers is the usual one.
            None if !person.is_there() => match prompt.kind {
                PromptKind::Select(choices) if !choices.is_empty() => choices[0].value.to_owned(),
                PromptKind::Select(_) | PromptKind::Text(_) if prompt.optional => continue,
                PromptKind::Select(_) | PromptKind::Text(_) => {
                    let instead = format!("give it with --set {}=…", prompt.key);
                    person.must_be_there(&format!("answer: {}", prompt.message), &instead)?;
                    continue;
                }
            },
            None => match prompt.kind {
                PromptKind::Select(choices) => {
                    let options: Vec<_> = choices
                        .iter()
                        .map(|choice| Choosable { id: choice.value.to_owned(), label: choice.label.to_owned() })
                        .collect();
                    choices[person.choose(prompt.message, &options).await?].value.to_owned()
                }
                PromptKind::Text(example) => {
                    let optional = if prompt.optional { "; nothing leaves it" } else { "" };
                    let line = person.line(format!("\n? {} (such as {example}{optional}): ", prompt.message)).await?;
                    if line.is_empty() && !prompt.optional {
                        return Err(Stopped.into());
                    }
                    line
                }
            },
        };
        if !answer.is_empty() {
            answers.insert(prompt.key.to_owned(), answer.into());
        }
    }
    Ok(answers)
}

/// What `set` says, each `NAME=VALUE` of a prompt.
fn given(method: &Method, set: &[String]) -> Result<std::collections::BTreeMap<String, String>, Usage> {
    let names: Vec<&str> = method.prompts.iter().map(|prompt| prompt.key).collect();
    let pairs = set.iter().take(MAX_SET).map(|pair| {
        let (name, value) =
            pair.split_once('=').ok_or_else(|| Usage(format!("--set wants NAME=VALUE, not {pair:?}")))?;
        let prompt = method.prompts.iter().find(|prompt| prompt.key == name).ok_or_else(|| {
            let has = if names.is_empty() { "asks nothing".to_owned() } else { format!("asks {}", names.join(", ")) };
            Usage(format!("this method does not ask {name:?}; it {has}"))
        })?;
        match prompt.kind {
            PromptKind::Select(choices) if !choices.iter().any(|choice| choice.value == value) => {
                let values: Vec<&str> = choices.iter().map(|choice| choice.value).collect();
                Err(Usage(format!("{name} is one of {}, not {value:?}", values.join(", "))))
            }
            PromptKind::Text(_) if value.contains(char::is_control) || value.len() > 1024 => {
                Err(Usage(format!("{name} is no line of text")))
            }
            PromptKind::Select(_) | PromptKind::Text(_) => Ok((name.to_owned(), value.trim().to_owned())),
        }
    });
    pairs.collect()
}

/// The key: from standard input, or typed and not shown.
async fn key(vendor: &Known, method: &Method, piped: bool, person: &mut Person) -> Result<String> {
    let key = if piped {
        stdin::read(1024 * 1024).await?
    } else {
        person.must_be_there("type a key", "pipe it in with --key-stdin")?;
        person.hidden(format!("\n? {} of {} (it is not shown): ", method.label, vendor.name)).await?
    };
    let key = key.trim();
    if key.is_empty() {
        return Err(Usage("there is no key; nothing was stored".to_owned()).into());
    }
    // A service key is laid out on several lines; none of its texts has one.
    let key = if key.starts_with('{') { key.replace(['\n', '\r', '\t'], " ") } else { key.to_owned() };
    if key.len() > MAX_TEXT || key.contains(char::is_control) {
        return Err(Usage(
            "what was given is no key: it has several lines, or is longer than any; nothing was stored".to_owned(),
        )
        .into());
    }
    Ok(key)
}

/// Says what to do, and waits until it was done.
async fn sign_in(started: Started, no_browser: bool, person: &mut Person) -> Result<Entry> {
    let Started { url, code, lasts, done } = started;
    let paint = Paint::new(render::errors_are_terminal());
    // Whole on a line of its own, so that a terminal lets it be clicked and copied.
    render::complain(&format!("\nopen this page and sign in:\n  {}", spelled(&url)));
    match &code {
        Some(code) => {
            let mut page = Page::new(render::size().columns);
            page.put("and type this code there: ", code, |line| paint.bold(line));
            render::complain_painted(page.end().trim_end());
            render::complain("Give the code to nobody: who has it signs in as you.");
        }
        // With a code the page may be opened on any other machine; this one comes back to this machine.
        None if !no_browser && person.is_there() => open(&url),
        None => {}
    }
    render::complain(&format!("waiting for at most {} minutes (Ctrl-C stops) …", lasts.as_secs().div_ceil(60)));
    Ok(person.wait(done).await??)
}

/// Opens `url` in a browser, where there is one. What fails is not told: the address is on the screen.
pub(crate) fn open(url: &str) {
    let program = if cfg!(target_os = "macos") {
        "open"
    } else if ["DISPLAY", "WAYLAND_DISPLAY"].iter().any(|name| std::env::var_os(name).is_some_and(|it| !it.is_empty()))
    {
        "xdg-open"
    } else {
        return;
    };
    let mut command = std::process::Command::new(program);
    let quiet = || std::process::Stdio::null();
    match command.arg(url).stdin(quiet()).stdout(quiet()).stderr(quiet()).spawn() {
        // It ends by itself; waited for, so that it leaves nothing behind.
        Ok(mut browser) => drop(std::thread::spawn(move || drop(browser.wait()))),
        Err(error) => tracing::info!(%error, program, "no browser could be opened"),
    }
}

/// Stores `entry`, and says what a person should know about the file.
pub(crate) fn store(vault: &Vault, id: &str, entry: &Entry) -> Result<()> {
    if let Some(notice) = vault.put(id, entry)? {
        render::complain(&format!("warning: {notice}"));
    }
    Ok(())
}

/// What was done, and what can be done with it.
fn next(vendor: &Known, entry: &Entry) -> String {
    let Known { id, name, .. } = vendor;
    let done = match entry {
        Entry::OAuth(OAuth { account_id: Some(account), .. }) => format!("signed in to {name} as {account}"),
        Entry::OAuth(_) => format!("signed in to {name}"),
        Entry::Api(_) | Entry::WellKnown(_) | Entry::Elsewhere | Entry::Other(_) => {
            format!("the key of {name} is stored")
        }
    };
    format!("{done}. Next: `haft models {id}` shows its models, `haft run --model {id}/MODEL \"…\"` asks one")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known(ids: &[&str]) -> Vec<Known> {
        let known = |id: &&str| Known { id: (*id).to_owned(), name: (*id).to_owned(), keys: Vec::new() };
        ids.iter().map(known).collect()
    }

    #[test]
    fn a_vendor_that_is_not_known_is_said_so() {
        let all = known(&["anthropic", "openai", "openrouter"]);
        assert_eq!(vendor("openai", &all, false).unwrap().id, "openai");
        let error = vendor("open", &all, false).unwrap_err().to_string();
        assert!(error.contains("did you mean openai, openrouter;"), "{error}");
        let error = vendor("zzz", &all, false).unwrap_err().to_string();
        assert!(
            error.contains("there is no vendor \"zzz\"") && error.contains("--force") && !error.contains("mean"),
            "{error}"
        );
        assert_eq!(vendor("my-own", &all, true).unwrap().id, "my-own");
        for wrong in ["", "a b", "a/b", "a\nb"] {
            assert!(vendor(wrong, &all, true).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn answers_on_the_command_line_are_those_that_are_asked_for() {
        let [copilot] = auth::methods("github-copilot") else { panic!() };
        let set = |pairs: &[&str]| {
            let pairs: Vec<_> = pairs.iter().map(|pair| (*pair).to_owned()).collect();
            given(copilot, &pairs).map_err(|error| error.to_string())
        };
        assert_eq!(set(&["enterpriseUrl= a=b "]).unwrap()["enterpriseUrl"], "a=b");
        for (wrong, want) in [
            ("enterpriseUrl", "NAME=VALUE"),
            ("other=1", "asks deploymentType, enterpriseUrl"),
            ("deploymentType=x", "one of github.com, enterprise"),
            ("enterpriseUrl=a\u{1b}b", "no line of text"),
        ] {
            let error = set(&[wrong]).unwrap_err();
            assert!(error.contains(want), "{error}");
        }
    }
}
