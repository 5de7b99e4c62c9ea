//! What a person says.

pub(crate) mod command;
pub(crate) mod intake;
pub(crate) mod mention;
pub(crate) mod subtask;

use std::path::{Path, PathBuf};

use haft_protocol::{Object, OutputFormat, PLUGIN, PartKind};
use serde_json::Value;

use crate::error::SessionError;
use crate::turn::form::Form;

/// Most files that may go with a prompt.
const MAX_FILES: usize = 32;
/// Most bytes of words in a prompt of a plug-in, and of its files as they are written in addresses.
const MAX_WORDS: usize = 256 * 1024;
const MAX_DATA: usize = 28 * 1024 * 1024;

/// A prompt. Its words may name files (`@src/a.rs`, `@src/a.rs#10-20`), sub-agents (`@explore`) and, at the very
/// beginning, a command (`/init`).
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Prompt {
    pub(crate) text: String,
    pub(crate) files: Vec<PathBuf>,
    pub(crate) agent: Option<String>,
    pub(crate) model: Option<String>,
    pub(crate) variant: Option<String>,
    pub(crate) command: Option<String>,
    pub(crate) format: Option<OutputFormat>,
    pub(crate) author: Author,
    pub(crate) delivery: Delivery,
    /// The plug-in that says it.
    pub(crate) plugin: Option<String>,
    /// What it says, in place of the words.
    pub(crate) parts: Vec<PartKind>,
}

/// When the model reads a prompt that comes while a turn runs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Delivery {
    /// At its next step, as part of the turn that runs. It is stored at once.
    #[default]
    Steer,
    /// In a turn of its own, when the one that runs has ended. It is stored then; stopping the turn forgets it.
    Queue,
}

/// Who wrote a prompt.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Author {
    /// A person: what they name is shown, and naming it is the leave.
    #[default]
    Person,
    /// A program or a file: nothing in it is more than words.
    Program,
    /// A model: files that it names are shown as far as the rules of the one that is asked allow.
    Model,
}

impl Prompt {
    /// Words that a person wrote. What they name is shown to the model: naming a file is the leave to read it.
    pub fn text(text: impl Into<String>) -> Self {
        Self { text: text.into(), ..Self::default() }
    }

    /// Words that no person wrote, from a program, a file or a tool. They are taken as they are: nothing that they
    /// name is read or run.
    pub fn plain(text: impl Into<String>) -> Self {
        Self { author: Author::Program, ..Self::text(text) }
    }

    /// Words that a model wrote for another agent.
    pub(crate) fn by_model(text: impl Into<String>) -> Self {
        Self { author: Author::Model, ..Self::text(text) }
    }

    /// What the plug-in called `plugin` says: words, which keep whether they are only for people or only for models, and
    /// files that carry their own bytes. Nothing that they name is read or run, no hook is asked about it, and the words are
    /// marked with the name.
    ///
    /// # Errors
    ///
    /// A text for the plug-in: something else among them, nothing at all, more than 256 KiB of words, 32 files, or 28 MiB
    /// of addresses.
    pub fn by_plugin(plugin: &str, parts: Vec<PartKind>) -> Result<Self, String> {
        let (mut text, mut files, mut data) = (String::new(), 0, 0);
        let mut marked = Vec::with_capacity(parts.len());
        for part in parts {
            marked.push(match part {
                PartKind::Text { text: words, synthetic, ignored, metadata, .. } => {
                    text.push_str(&words);
                    text.push('\n');
                    let metadata = Some(Box::new(by(plugin, *metadata.unwrap_or_default())));
                    PartKind::Text { text: words, synthetic, ignored, time: None, metadata }
                }
                PartKind::File { mime, filename, url, .. } if url.starts_with("data:") => {
                    (files, data) = (files + 1, data + url.len());
                    PartKind::File { mime, filename, url, source: None }
                }
                PartKind::File { .. } => {
                    let why = "a file is taken as a `data:` address; read another one with client.file.read and give its text";
                    return Err(why.to_owned());
                }
                _ => return Err("parts of the types text and file are taken; name an agent as `agent`".to_owned()),
            });
        }
        if text.trim().is_empty() && files == 0 {
            return Err("the prompt says nothing; give parts with text".to_owned());
        }
        if text.len() > MAX_WORDS || files > MAX_FILES || data > MAX_DATA {
            return Err(
                "the prompt is too large: 256 KiB of words, 32 files and 28 MiB of addresses are the most".to_owned()
            );
        }
        Ok(Self { plugin: Some(plugin.to_owned()), parts: marked, ..Self::plain(text.trim()) })
    }

    /// The command called `name` with `arguments` that the plug-in called `plugin` wrote.
    pub fn command_by_plugin(plugin: &str, name: impl Into<String>, arguments: impl Into<String>) -> Self {
        Self { plugin: Some(plugin.to_owned()), ..Self::plain(arguments) }.calls(name)
    }

    /// The command called `name` with `arguments` that a person wrote.
    pub fn command(name: impl Into<String>, arguments: impl Into<String>) -> Self {
        Self::text(arguments).calls(name)
    }

    /// Words, and files that the person shows with them: up to 32. Naming a file is the leave to read it. Texts and
    /// folders are shown as the read tool shows them, pictures and PDF as they are. Paths are absolute.
    ///
    /// # Errors
    ///
    /// [`SessionError::Attachment`] names the file that is not there. What else stands in the way of showing one,
    /// [`Session::prompt`](crate::Session::prompt) tells.
    pub async fn with_files(text: impl Into<String>, files: Vec<PathBuf>) -> Result<Self, SessionError> {
        if let Some(further) = files.get(MAX_FILES) {
            return Err(bad(further, "32 files are the most that go with one prompt"));
        }
        let looked = tokio::task::spawn_blocking(move || {
            let gone = files.iter().find_map(|file| std::fs::metadata(file).err().map(|error| bad(file, &why(&error))));
            gone.map_or(Ok(files), Err)
        });
        let files = looked.await.unwrap_or_else(|_| Err(bad(Path::new("the files"), "looking at them crashed")))?;
        Ok(Self { files, ..Self::text(text) })
    }

    /// The same, as arguments of the command called `name`.
    #[must_use]
    pub fn calls(self, name: impl Into<String>) -> Self {
        Self { command: Some(name.into()), ..self }
    }

    /// The same, for the agent called `agent`.
    #[must_use]
    pub fn agent(self, agent: impl Into<String>) -> Self {
        Self { agent: Some(agent.into()), ..self }
    }

    /// The same, with an answer of the form `format`.
    ///
    /// The turn ends with the first answer that has it; what it is then stands in the message as `structured`. A model
    /// that does not keep it is told what is wrong, and the turn fails with [`TurnError::Form`](crate::TurnError::Form)
    /// where that does not help.
    #[must_use]
    pub fn format(self, format: OutputFormat) -> Self {
        Self { format: Some(format), ..self }
    }

    /// The same, read when `delivery` says where a turn runs.
    #[must_use]
    pub fn delivery(self, delivery: Delivery) -> Self {
        Self { delivery, ..self }
    }

    /// The same, for `model`, as `vendor/model`, with the options called `variant`. The session goes on with it.
    #[must_use]
    pub fn model(self, model: impl Into<String>, variant: Option<String>) -> Self {
        Self { model: Some(model.into()), variant, ..self }
    }
}

/// Whether answers can be held to `format`.
///
/// # Errors
///
/// A text for people that says what is wrong with its schema.
pub fn check_format(format: &OutputFormat) -> Result<(), String> {
    Form::of(format).map(drop)
}

/// `metadata` that names `plugin`.
pub(crate) fn by(plugin: &str, mut metadata: Object) -> Object {
    metadata.insert(PLUGIN.to_owned(), Value::from(plugin));
    metadata
}

pub(crate) fn bad(path: &Path, why: &str) -> SessionError {
    SessionError::Attachment { path: path.display().to_string(), why: why.to_owned() }
}

fn why(error: &std::io::Error) -> String {
    match error.kind() {
        std::io::ErrorKind::NotFound => "there is no such file".to_owned(),
        _ => error.to_string(),
    }
}

/// A title for a session that begins with `text`: its first line that says something, at most 60 characters.
pub(crate) fn title(text: &str) -> String {
    const LONGEST: usize = 60;
    let line = text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or("New session");
    match line.char_indices().nth(LONGEST) {
        None => line.to_owned(),
        Some((end, _)) => {
            let cut = line[..end].rsplit_once(' ').map_or(&line[..end], |(words, _)| words);
            format!("{}…", cut.trim_end())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, want: &str) {
        assert_eq!(title(text), want);
    }

    #[test]
    fn a_title_is_the_first_line_cut_between_words() {
        check("fix the test", "fix the test");
        check("\n\n  fix it \nmore", "fix it");
        check("", "New session");
        check(
            "please look at every file in the whole project and tell me what you think",
            "please look at every file in the whole project and tell me…",
        );
        check(&"x".repeat(80), &format!("{}…", "x".repeat(60)));
    }

    #[tokio::test]
    async fn too_many_files_and_files_that_are_not_there_are_refused() {
        let files = vec![PathBuf::from("/none"); MAX_FILES + 1];
        let error = Prompt::with_files("x", files).await.unwrap_err().to_string();
        assert!(error.contains("32 files are the most"), "{error}");
        let error = Prompt::with_files("x", vec![PathBuf::from("/none/such")]).await.unwrap_err().to_string();
        assert_eq!(error, "cannot attach /none/such: there is no such file");
    }
}
