//! `haft demo`: the whole loop on a scratch project, with a bundled recording in the model's place.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result};
use haft_config::Config;
use haft_llm::{Replay, parse_recording};
use haft_permission::{Action, Answerer, Rule};
use haft_project::Place;
use haft_protocol::ModelRef;
use haft_session::{Model, Prompt};
use haft_store::Journal;

use crate::args::{Demo, Format};
use crate::commands::run::play;
use crate::folders::Folders;
use crate::report::Exit;
use crate::watch::Watch;
use crate::wire::Ground;
use crate::{agents, render};

/// The scratch project: a script with a mistake, and a test that finds it.
const PROJECT: [(&str, &str); 3] = [
    ("README.md", include_str!("../demo/project/README.md")),
    ("leap.sh", include_str!("../demo/project/leap.sh")),
    ("test.sh", include_str!("../demo/project/test.sh")),
];
/// What a model once said to this prompt, and nothing else.
const RECORDING: &str = include_str!("../demo/recording.jsonl");
const PROMPT: &str = "The test fails. Find out why, fix it and prove it.";
/// The commands the recording runs. The demo allows these and no others.
const COMMANDS: [&str; 1] = ["sh test.sh"];

pub(crate) async fn run(args: Demo) -> Result<Exit> {
    let root = scratch(args.dir.as_deref())?;
    let project = root.join("project");
    let at = quoted(&project);
    render::say(&format!(
        "A scratch project with a failing test is in {at}.\n\
         haft now works on it for real: reading, editing, running, each call through the gate.\n\
         Only the model's words are played, from a recording inside this binary.\n\n\
         haft run \"{PROMPT}\"",
    ))?;
    let outcome = play_on(&root, &project, args.fast).await?;
    if outcome != Exit::Done {
        return Ok(outcome);
    }
    // The words are played whatever happens; whether they are true is not.
    let mended = std::process::Command::new("sh").arg("test.sh").current_dir(&project).output();
    if !mended.as_ref().is_ok_and(|test| test.status.success()) {
        let why = "the demo did not come out as it should: the test in the scratch project still fails";
        return Err(anyhow::anyhow!("{why}. Is there a POSIX `sh` on the PATH?"));
    }
    let program = program();
    render::say(&format!(
        "\nLook at the result:     cd {at} && sh test.sh\n\
         The session is stored:  HAFT_DB={} {program} session show --dir {at}\n\
         Next, your own project: OPENAI_API_KEY=… {program} run --model openai/MODEL \"…\"\n\
         Any other OpenAI-compatible server goes into opencode.json (see the README).",
        quoted(&root.join("haft.db")),
    ))?;
    Ok(Exit::Done)
}

/// What to type to call this program again.
fn program() -> String {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let installed = std::env::split_paths(&path).any(|folder| folder.join("haft").is_file());
    let here = std::env::current_exe().ok().filter(|_| !installed);
    here.map_or_else(|| "haft".to_owned(), |here| quoted(&here))
}

/// A path as a shell takes it.
fn quoted(path: &Path) -> String {
    let text = path.display().to_string();
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+".contains(c);
    if text.chars().all(plain) { text } else { format!("'{}'", text.replace('\'', r"'\''")) }
}

async fn play_on(root: &Path, project: &Path, fast: bool) -> Result<Exit> {
    let mut folders = Folders::find()?;
    folders.data = root.to_path_buf();
    // The user's own settings are theirs; the demo shows the same to everybody.
    let ground = Ground::with(folders, Place::find(project)?, Config::default())?;
    let mut replay = Replay::new("the demo's recording", parse_recording("the demo's recording", RECORDING)?);
    if !fast {
        replay = replay.paced(1.0);
    }
    let reference = ModelRef { provider_id: "demo".to_owned(), model_id: "recording".to_owned() };
    let model = Model::new(reference, "recording", Arc::new(replay));
    let journal = Journal::open(&root.join("haft.db")).await?;
    let rules: Vec<Rule> = COMMANDS.iter().map(|command| Rule::new("bash", command, Action::Allow)).collect();
    let setup = ground.setup(journal.clone(), model, Answerer::Nobody, &rules, agents::all(&ground)?)?;
    let watch = Watch { format: Format::Default, thinking: true, before: None, go_on: false, aside: false };
    let outcome = play(setup, None, Some("Demo".to_owned()), Prompt::text(PROMPT), watch, async |_| Ok(())).await?;
    journal.close().await?;
    Ok(outcome)
}

/// Makes the scratch project in `dir` (which must not exist), or in a new folder of the temporary one.
fn scratch(dir: Option<&Path>) -> Result<PathBuf> {
    let root = match dir {
        Some(dir) => std::path::absolute(dir)?,
        None => {
            let now = haft_protocol::Clock::system().now_ms();
            std::env::temp_dir().join(format!("haft-demo-{}-{}", now % 1_000_000_000, std::process::id()))
        }
    };
    let project = root.join("project");
    let told = || format!("cannot make the scratch project {}; choose another place with --dir", root.display());
    // Fails where something is already, so that nothing of the user's is written over.
    std::fs::create_dir(&root).with_context(told)?;
    std::fs::create_dir(&project).with_context(told)?;
    for (name, text) in PROJECT {
        std::fs::write(project.join(name), text).with_context(told)?;
    }
    Ok(root)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_demo_allows_the_commands_of_its_recording_and_no_others() {
        let mut run: Vec<String> = RECORDING
            .lines()
            .filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok())
            .filter_map(|line| {
                let call = line["chunk"].get("tool_call").filter(|call| call["name"] == "bash")?;
                let arguments: serde_json::Value = serde_json::from_str(call["arguments"].as_str()?).ok()?;
                Some(arguments["command"].as_str()?.to_owned())
            })
            .collect();
        run.sort();
        run.dedup();
        assert_eq!(run, COMMANDS);
    }

    #[test]
    fn paths_are_quoted_where_a_shell_would_take_them_apart() {
        let row = |path: &str, want: &str| assert_eq!(quoted(Path::new(path)), want);
        row("/tmp/haft-demo-1", "/tmp/haft-demo-1");
        row("/tmp/a b", "'/tmp/a b'");
        row("/tmp/it's", r"'/tmp/it'\''s'");
    }
}
