//! `haft agent create`: a model writes an agent from a description of it.

use std::fs::{OpenOptions, create_dir_all};
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use haft_permission::Answerer;
use haft_session::{Design, design};
use haft_store::Journal;

use crate::args::{Create, ModeArg};
use crate::ask::{answerer, read_line};
use crate::render::{self, spelled};
use crate::report::{Exit, Usage};
use crate::wire::Ground;
use crate::{agents, models};

/// What an agent may be allowed, or not.
const PERMISSIONS: [&str; 11] =
    ["bash", "edit", "glob", "grep", "question", "read", "skill", "task", "todowrite", "webfetch", "websearch"];
/// Longest description, in bytes.
const MAX_DESCRIPTION: usize = 32 * 1024;

/// What a person wants.
struct Wanted {
    description: String,
    folder: PathBuf,
    mode: ModeArg,
    /// What is closed to it.
    denied: Vec<&'static str>,
}

pub(crate) async fn run(args: Create) -> Result<Exit> {
    let ground = Ground::at(args.dir.as_deref())?;
    let wanted = wanted(&args, &ground)?;
    let all = agents::all(&ground)?;
    let mut taken: Vec<String> = all.all().iter().map(|agent| agent.name.clone()).collect();
    taken.extend(names_in(&wanted.folder));
    taken.sort();
    taken.dedup();
    let named = args.model.model.as_deref().filter(|named| !named.is_empty());
    let model = models::find(named, None, &ground.config).await?;
    let setup = ground.setup(Journal::memory(), model, Answerer::Nobody, &[], all)?;
    render::complain("The model writes the agent …");
    let design = design(setup, &wanted.description, &taken).await?;
    let path = wanted.folder.join(format!("{}.md", design.name));
    write(&path, &written(&design, &wanted))?;
    render::say(&spelled(&format!("{}: {}", design.name, path.display())))?;
    // Whether it counts is up to what reads it.
    if agents::all(&Ground::at(args.dir.as_deref())?)?.get(&design.name).is_none() {
        render::complain(
            "! it does not count here yet: an agent of a project wants trust (`haft trust`), and one elsewhere a folder that \
             haft looks into (`haft debug paths`)",
        );
    }
    Ok(Exit::Done)
}

/// What the arguments say, and for the rest what the person says.
fn wanted(args: &Create, ground: &Ground) -> Result<Wanted> {
    let somebody = answerer(false) == Answerer::Person;
    let ask = |question: &str, usual: &str| if somebody { ask(question, usual) } else { Ok(usual.to_owned()) };
    let description =
        answered(args.description.as_deref(), somebody, || ask("What is the agent to do?", ""), described)?;
    let own = ground.folders.config_home.join("haft/agent");
    let folder = match &args.path {
        Some(path) => path.clone(),
        None => PathBuf::from(ask("Which folder is its file written to?", &own.display().to_string())?),
    };
    let mode = match args.mode {
        Some(mode) => mode,
        None => {
            let question = "Who may choose it: all, primary (people), subagent (other agents)?";
            answered(None, somebody, || ask(question, "all"), mode_of)?
        }
    };
    let question = format!("What may it do, of {}?", PERMISSIONS.join(", "));
    let denied = answered(args.permissions.as_deref(), somebody, || ask(&question, "all"), denied)?;
    let folder = std::path::absolute(&folder).with_context(|| format!("cannot write to {}", folder.display()))?;
    Ok(Wanted { description, folder, mode, denied })
}

/// What `read` makes of what was `given`, or else of what is said when `ask` is asked. Where `somebody` is there to ask,
/// an answer that is none is asked for again, and the ones before it are kept.
fn answered<T>(
    given: Option<&str>,
    somebody: bool,
    ask: impl Fn() -> Result<String>,
    read: impl Fn(&str) -> Result<T, Usage>,
) -> Result<T> {
    if let Some(given) = given {
        return Ok(read(given)?);
    }
    loop {
        match read(&ask()?) {
            Ok(answer) => return Ok(answer),
            Err(wrong) if somebody => render::complain(&format!("! {}", spelled(&wrong.0))),
            Err(wrong) => return Err(wrong.into()),
        }
    }
}

/// Checks what the agent is to do.
fn described(text: &str) -> Result<String, Usage> {
    if text.trim().is_empty() {
        return Err(Usage("say what the agent is to do: --description \"…\"".to_owned()));
    }
    if text.len() > MAX_DESCRIPTION {
        return Err(Usage(format!("the description may have {MAX_DESCRIPTION} bytes")));
    }
    Ok(text.to_owned())
}

/// Asks one question at the terminal. Nothing means `usual`.
fn ask(question: &str, usual: &str) -> Result<String> {
    let offered = if usual.is_empty() { String::new() } else { format!(" [{usual}]") };
    let line = read_line(&format!("{question}{offered} "))?;
    let line = line.ok_or_else(|| Usage("nothing was made".to_owned()))?;
    let line = line.trim();
    Ok(if line.is_empty() { usual.to_owned() } else { line.to_owned() })
}

fn mode_of(word: &str) -> Result<ModeArg, Usage> {
    match word {
        "all" => Ok(ModeArg::All),
        "primary" => Ok(ModeArg::Primary),
        "subagent" => Ok(ModeArg::Subagent),
        other => Err(Usage(format!("the mode is all, primary or subagent, not {other:?}"))),
    }
}

/// What is closed where `list` is allowed.
fn denied(list: &str) -> Result<Vec<&'static str>, Usage> {
    if list.trim() == "all" {
        return Ok(Vec::new());
    }
    let allowed: Vec<&str> = list.split(',').map(str::trim).filter(|name| !name.is_empty()).collect();
    if let Some(unknown) = allowed.iter().find(|name| !PERMISSIONS.contains(name)) {
        let known = PERMISSIONS.join(", ");
        return Err(Usage(format!("there is no permission {unknown:?}; name some of {known}, or `all`")));
    }
    Ok(PERMISSIONS.into_iter().filter(|name| !allowed.contains(name)).collect())
}

/// The names that files in `folder` have already.
fn names_in(folder: &Path) -> Vec<String> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let names = entries.filter_map(Result::ok).take(1000).filter_map(|entry| entry.file_name().into_string().ok());
    names.filter_map(|name| name.strip_suffix(".md").map(str::to_owned)).collect()
}

/// The file of the agent: front matter, then its words.
fn written(design: &Design, wanted: &Wanted) -> String {
    let mode = match wanted.mode {
        ModeArg::All => "all",
        ModeArg::Primary => "primary",
        ModeArg::Subagent => "subagent",
    };
    // A JSON text is a text of YAML too, whatever stands in it.
    let description = serde_json::Value::from(design.description.as_str());
    let mut text = format!("---\ndescription: {description}\nmode: {mode}\n");
    if !wanted.denied.is_empty() {
        text.push_str("permission:\n");
        wanted.denied.iter().for_each(|name| text.push_str(&format!("  {name}: deny\n")));
    }
    text.push_str(&format!("---\n\n{}\n", design.prompt));
    text
}

/// Writes a file that is not there yet.
fn write(path: &Path, text: &str) -> Result<()> {
    let told = || format!("cannot write {}; name another folder with --path", path.display());
    if let Some(folder) = path.parent() {
        create_dir_all(folder).with_context(told)?;
    }
    let mut file = OpenOptions::new().write(true).create_new(true).open(path).with_context(told)?;
    file.write_all(text.as_bytes()).and_then(|()| file.sync_all()).with_context(told)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_answer_that_is_none_is_asked_for_again() {
        let check = |given: Option<&str>, somebody: bool, said: &[&str], want: Result<usize, &str>| {
            let next = std::cell::Cell::new(0);
            let ask = || {
                let answer = said.get(next.replace(next.get() + 1)).context("nothing was made");
                answer.map(|answer| (*answer).to_owned())
            };
            let got = answered(given, somebody, ask, mode_of).map(|_| next.get());
            assert_eq!(got.map_err(|error| error.to_string()), want.map_err(str::to_owned), "{given:?} {said:?}");
        };
        let wrong = "the mode is all, primary or subagent, not \"both\"";
        check(Some("all"), true, &[], Ok(0));
        check(Some("both"), true, &["all"], Err(wrong));
        check(None, true, &["both", "", "primary"], Ok(3));
        check(None, true, &["both"], Err("nothing was made"));
        check(None, false, &["both", "all"], Err(wrong));
    }

    #[test]
    fn what_is_not_named_is_denied() {
        assert_eq!(denied("all").unwrap(), Vec::<&str>::new());
        assert_eq!(denied("").unwrap().len(), PERMISSIONS.len());
        let some = denied(" read, grep,glob,").unwrap();
        assert!(some.contains(&"bash") && some.contains(&"edit") && !some.contains(&"read") && some.len() == 8);
        let error = denied("read,fly").unwrap_err().0;
        assert!(error.starts_with("there is no permission \"fly\"; name some of bash, edit"), "{error}");
    }

    #[test]
    fn a_file_is_read_as_it_was_meant_whatever_the_model_wrote() {
        let design = Design {
            name: "x".to_owned(),
            description: "Says: \"no\"\n--- # {a: b}\u{1b}".to_owned(),
            prompt: "You say no.\n---\nmode: primary".to_owned(),
        };
        let wanted = Wanted {
            description: String::new(),
            folder: PathBuf::new(),
            mode: ModeArg::Subagent,
            denied: vec!["bash", "edit"],
        };
        let text = written(&design, &wanted);
        let read = haft_config::agent("x", &text, "x.md").unwrap();
        assert_eq!(read.description.as_deref(), Some(design.description.as_str()));
        assert_eq!(read.prompt.as_deref(), Some(design.prompt.as_str()));
        assert_eq!((read.mode, read.rules.len()), (Some(haft_config::Mode::Subagent), 2));
    }
}
