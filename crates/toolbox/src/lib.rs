//! The built-in tools, one file each: what a tool does in `NAME.rs`, what the model reads about it in `NAME.md`.
//!
//! To add a tool, write these two files and add a line to [`builtin`].
//!
//! **Never here:** a session, a store, a screen, a network of our own. A tool reaches files and processes through
//! the doors of `haft-project` with a grant, and the conversation through its [`Call`](haft_tool::Call).

mod bash;
mod diff;
mod edit;
mod reach;
mod read;
mod text;
mod write;

use haft_project::{Files, Processes};
use haft_tool::Registry;

/// The parts of the world that tools work on. Cheap to clone.
#[derive(Debug, Clone)]
pub struct World {
    /// The project's files.
    pub files: Files,
    /// What starts processes.
    pub processes: Processes,
}

/// All built-in tools.
pub fn builtin(world: &World) -> Registry {
    Registry::default()
        .with(bash::Bash::new(&world.files, &world.processes))
        .with(edit::Edit::new(&world.files))
        .with(read::Read::new(&world.files))
        .with(write::Write::new(&world.files))
}

#[cfg(test)]
mod scene;

#[cfg(test)]
mod tests {
    use super::*;

    /// A quarter more than what 4 of 13 tools may take of the 3,500 tokens, at 3.6 bytes each; the large ones are
    /// among these four.
    const BUDGET: usize = 3500 * 36 / 10 * 4 / 13 * 5 / 4;

    #[test]
    fn definitions_are_short() {
        let scene = scene::Scene::new();
        let specs = scene.registry.specs();
        for spec in &specs {
            let words = spec.description.split_whitespace().count();
            assert!(words <= 120, "{} takes {words} words", spec.name);
        }
        let size: usize =
            specs.iter().map(|spec| spec.name.len() + spec.description.len() + spec.parameters.to_string().len()).sum();
        assert!(size <= BUDGET, "{size} of {BUDGET} bytes");
    }

    #[test]
    fn arguments_have_the_names_that_models_know() {
        let scene = scene::Scene::new();
        let names = |tool: &str| {
            let spec = scene.registry.spec(tool).unwrap();
            let properties = spec.parameters["properties"].as_object().unwrap();
            properties.keys().cloned().collect::<Vec<_>>().join(" ")
        };
        assert_eq!(names("bash"), "command timeout workdir description");
        assert_eq!(names("edit"), "filePath oldString newString replaceAll");
        assert_eq!(names("read"), "filePath offset limit");
        assert_eq!(names("write"), "filePath content");
    }
}
