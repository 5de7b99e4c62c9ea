//! The built-in tools, one file each: what a tool does in `NAME.rs`, what the model reads about it in `NAME.md`.
//!
//! To add a tool, write these two files and add a line to [`builtin`].
//!
//! **Never here:** a session, a store, a screen, a network of our own. A tool reaches files and processes through
//! the doors of `haft-project` with a grant, and the conversation through its [`Call`](haft_tool::Call).

mod bash;
mod batch;
mod beside;
mod diff;
pub mod edit;
pub mod format;
mod glob;
mod grep;
pub mod html;
mod job;
mod job_kill;
mod job_output;
mod list;
mod matching;
mod multiedit;
pub mod notebook;
pub mod patch;
mod plan;
mod question;
mod reach;
mod read;
mod seen;
mod skill;
mod suits;
mod task;
mod text;
mod todo;
mod tool_call;
mod tool_search;
mod webfetch;
mod write;

pub use bash::leave_to_run;
pub use format::{AfterEdit, Formatters};
pub use reach::reach;

use std::time::Duration;

pub use skill::{Skill, Skills};

use haft_project::{Files, Processes};
use haft_tool::Registry;
use haft_tool::image::ImageLimits;
use haft_tool::truncate::Limits;

/// The parts of the world that tools work on. Cheap to clone.
#[derive(Debug, Clone)]
pub struct World {
    /// The project's files.
    pub files: Files,
    /// What starts processes.
    pub processes: Processes,
}

/// What the user may set about tools.
#[derive(Debug, Clone)]
pub struct Options {
    /// How much of an output a model is shown.
    pub output: Limits,
    /// What images may measure that go to a model.
    pub images: ImageLimits,
    /// How long a command may run when the model does not say.
    pub command_time: Duration,
    /// Names of files with instructions for the folder that they are in; the first of them that is there counts.
    pub instructions: Vec<String>,
    /// The skills there are. Without any there is no tool for them.
    pub skills: Skills,
    /// What is done with files that tools wrote.
    pub after_edit: AfterEdit,
}

impl Default for Options {
    fn default() -> Self {
        let instructions = ["AGENTS.md", "CLAUDE.md", "CONTEXT.md"].map(str::to_owned).to_vec();
        Self {
            output: Limits::default(),
            images: ImageLimits::default(),
            command_time: Duration::from_secs(120),
            instructions,
            skills: Skills::default(),
            after_edit: AfterEdit::default(),
        }
    }
}

/// All built-in tools, as they are where the user has set nothing.
pub fn builtin(world: &World) -> Registry {
    builtin_with(world, &Options::default())
}

/// All built-in tools.
pub fn builtin_with(world: &World, options: &Options) -> Registry {
    let after = format::After::new(&world.files, &world.processes, &options.after_edit);
    let registry = Registry::default()
        .limited(options.output)
        .with(patch::ApplyPatch::new(&world.files, &after))
        .with(bash::Bash::new(&world.files, &world.processes, options))
        .with(batch::Batch)
        .with(edit::Edit::new(&world.files, &after))
        .with(glob::Glob::new(&world.files))
        .with(grep::Grep::new(&world.files))
        .with(job_kill::JobKill)
        .with(job_output::JobOutput)
        .with(list::List::new(&world.files))
        .with(multiedit::MultiEdit::new(&world.files, &after))
        .with(patch::OldPatch::new(&world.files, &after))
        .with(plan::PlanEnter)
        .with(plan::PlanExit)
        .with(question::Question)
        .with(read::Read::new(&world.files, options))
        .with(task::Task)
        .with(todo::TodoRead)
        .with(todo::TodoWrite)
        .with(tool_call::ToolCall)
        .with(tool_search::ToolSearch)
        .with(webfetch::WebFetch::new(haft_net::Web::default(), options.images))
        .with(write::Write::new(&world.files, &after));
    if options.skills.all.is_empty() { registry } else { registry.with(skill::LoadSkill::new(&options.skills)) }
}

#[cfg(test)]
mod scene;
#[cfg(test)]
mod secrets;

#[cfg(test)]
mod tests {
    use super::*;

    /// What these tools may take of the 3,500 tokens, at 3.6 bytes each, that all tools and the prompt have together:
    /// 12 of at most 13, the large ones among them, and the prompt takes about 500.
    const BUDGET: usize = (3500 - 500) * 36 / 10 * 12 / 13;

    #[test]
    fn definitions_are_short() {
        let scene = scene::Scene::new();
        for model in ["claude-sonnet-4-5", "gpt-5"] {
            let specs = scene.registry.offered(model, |_| true).specs();
            for spec in &specs {
                let words = spec.description.split_whitespace().count();
                assert!(words <= 120, "{} takes {words} words", spec.name);
            }
            let size =
                |spec: &haft_tool::Spec| spec.name.len() + spec.description.len() + spec.parameters.to_string().len();
            let size: usize = specs.iter().map(size).sum();
            assert!(size <= BUDGET, "{model}: {size} of {BUDGET} bytes");
        }
    }

    #[test]
    fn arguments_have_the_names_that_models_know() {
        let scene = scene::Scene::new();
        let names = |tool: &str| {
            let spec = scene.registry.spec(tool).unwrap();
            let properties = spec.parameters["properties"].as_object().unwrap();
            properties.keys().cloned().collect::<Vec<_>>().join(" ")
        };
        assert_eq!((names("apply_patch"), names("patch")), ("patchText".into(), "patchText".into()));
        assert_eq!(names("edit"), "filePath oldString newString replaceAll edits");
        assert_eq!(names("bash"), "command timeout workdir description background pty network write");
        assert_eq!(names("job_output"), "id wait until");
        assert_eq!(names("job_kill"), "id");
        assert_eq!(names("glob"), "pattern path");
        assert_eq!(names("grep"), "pattern path include context mode");
        assert_eq!(names("list"), "path ignore");
        assert_eq!(names("question"), "questions");
        assert_eq!(names("batch"), "tool_calls");
        assert_eq!(names("plan_enter"), "");
        assert_eq!(names("plan_exit"), "");
        assert_eq!(names("task"), "description prompt subagent_type task_id background worktree schema");
        assert_eq!(names("todoread"), "");
        assert_eq!(names("todowrite"), "todos");
        assert_eq!(names("read"), "filePath offset limit raw");
        assert_eq!(names("webfetch"), "url format timeout");
        assert_eq!(names("write"), "filePath content");
    }

    #[test]
    fn those_that_few_need_are_not_offered_and_can_be_called() {
        let scene = scene::Scene::new();
        let offered = |model: &str| {
            let specs = scene.registry.offered(model, |_| true).specs();
            specs.into_iter().map(|spec| spec.name).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(
            offered("claude-sonnet-4-5"),
            "bash edit glob grep job_kill job_output question read task todowrite webfetch write"
        );
        assert_eq!(
            offered("gpt-5"),
            "apply_patch bash glob grep job_kill job_output question read task todowrite webfetch"
        );
        assert_eq!(scene.registry.find("patch"), Ok("patch"));
        assert_eq!(scene.registry.find("todoread"), Ok("todoread"));
        assert_eq!(scene.registry.find("view"), Ok("read"));
    }

    #[test]
    fn what_a_schema_requires_is_what_models_know() {
        let scene = scene::Scene::new();
        let required = |tool: &str, pointer: &str| {
            let spec = scene.registry.spec(tool).unwrap();
            let list = spec.parameters.pointer(pointer).and_then(serde_json::Value::as_array);
            list.into_iter().flatten().filter_map(serde_json::Value::as_str).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(required("glob", "/required"), "pattern");
        assert_eq!(required("grep", "/required"), "pattern");
        assert_eq!(required("list", "/required"), "");
        assert_eq!(required("task", "/required"), "description prompt subagent_type");
        assert_eq!(required("batch", "/properties/tool_calls/items/required"), "tool parameters");
        assert_eq!(required("todowrite", "/properties/todos/items/required"), "content status priority");
        assert_eq!(required("question", "/properties/questions/items/required"), "question header options");
        let options = "/properties/questions/items/properties/options/items/required";
        assert_eq!(required("question", options), "label description");
    }
}
