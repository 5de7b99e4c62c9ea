//! An agent of one's own: haft's tools, gate and cage around a model that you bring.
//!
//! `cargo run -p haft-toolbox --example agent` works in a temporary folder with a model that always says the same.

#![expect(clippy::print_stdout, reason = "an example shows what it did")]

use std::error::Error;
use std::path::Path;

use haft_permission::{Action, Answerer, Gate, Rule, Rules};
use haft_project::{Caging, Files, Place, Processes};
use haft_protocol::Clock;
use haft_tool::{Solo, Spec};
use haft_toolbox::World;
use tokio_util::sync::CancellationToken;

/// What a model answers: calls to make, by name and with JSON text, or its last words.
enum Answer {
    Calls(Vec<(String, String)>),
    Text(String),
}

/// Where your model stands: it is sent the conversation so far and the definitions of the tools.
trait Model {
    fn answer(&mut self, conversation: &[String], tools: &[Spec]) -> Answer;
}

/// Works in `folder` until the model calls no more tools; `outputs` keeps what is too long for it.
async fn work(model: &mut dyn Model, task: &str, folder: &Path, outputs: &Path) -> Result<String, Box<dyn Error>> {
    let place = Place::find(folder)?;
    let files = Files::new(place.directory.clone(), place.worktree.clone());
    // Commands may change the folder and nothing else, and have no network.
    let caging = Caging { roots: vec![place.directory], scratch: outputs.join("scratch"), ..Caging::default() };
    let processes = Processes::new("/bin/sh".into(), Vec::new()).caged(caging);
    let registry = haft_toolbox::builtin(&World { files, processes });
    // The last rule that fits decides. What is left to ask is refused: nobody is there.
    let allowed = [("read", "*"), ("edit", "*.md"), ("bash", "*")];
    let rules = Rules::default().own(allowed.map(|(permission, files)| Rule::new(permission, files, Action::Allow)));
    let gate = Gate::new(Clock::system(), Answerer::Nobody, |_| {});
    let tools = Solo::new(registry, gate, rules, outputs.to_owned());

    let mut conversation = vec![task.to_owned()];
    loop {
        match model.answer(&conversation, &tools.registry().specs()) {
            Answer::Text(text) => return Ok(text),
            Answer::Calls(calls) => {
                for (name, arguments) in calls {
                    let result = tools.call(&name, &arguments, CancellationToken::new()).await;
                    // An error says what to do instead; it is for the model like any other result.
                    conversation.push(result.map_or_else(|error| error.to_string(), |output| output.text));
                }
            }
        }
    }
}

struct Canned;

impl Model for Canned {
    fn answer(&mut self, conversation: &[String], _tools: &[Spec]) -> Answer {
        let call = |name: &str, arguments: &str| Answer::Calls(vec![(name.to_owned(), arguments.to_owned())]);
        match conversation.len() {
            1 => call("write", r##"{"filePath": "notes.md", "content": "# Notes\n"}"##),
            2 => call("write", r#"{"filePath": "main.rs", "content": "fn main() {}"}"#),
            3 => call("bash", r#"{"command": "ls"}"#),
            _ => Answer::Text(conversation.join("\n---\n")),
        }
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    // A cage is this program again, which gives its rights up: this must be the first line.
    haft_sandbox::enter_if_asked();
    let (folder, outputs) = (tempfile::tempdir()?, tempfile::tempdir()?);
    println!("{}", work(&mut Canned, "Take notes.", folder.path(), outputs.path()).await?);
    Ok(())
}
