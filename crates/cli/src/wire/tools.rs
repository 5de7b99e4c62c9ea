//! The tools there are in a folder.

use std::sync::Arc;

use haft_project::{Files, Place, Processes};
use haft_script::{Execute, PluginTools};
use haft_tool::image::ImageLimits;
use haft_tool::truncate::Limits;
use haft_tool::{Registry, Switches};
use haft_toolbox::World;

use super::Ground;
use crate::{formatters, scripts, servers};

impl Ground {
    /// The tools there are in this folder. What they change is kept for undo.
    pub(crate) fn registry(&self) -> Registry {
        let (files, mut processes) = (self.files(), self.processes.clone());
        if let Some(snapshots) = self.snapshots.clone() {
            files.record(Arc::new(snapshots.clone()));
            processes = processes.recorded(Arc::new(snapshots));
        }
        self.tools(files, processes)
    }

    /// The tools there are in this folder, with these ways to its files and to commands.
    pub(super) fn tools(&self, files: Files, processes: Processes) -> Registry {
        let config = &self.config;
        let images = ImageLimits {
            auto_resize: config.images.auto_resize,
            max_width: config.images.max_width,
            max_height: config.images.max_height,
            max_base64_bytes: config.images.max_base64_bytes,
        };
        let output = Limits { lines: config.tool_output.max_lines, bytes: config.tool_output.max_bytes };
        let mut options = haft_toolbox::Options { output, images, ..haft_toolbox::Options::default() };
        options.command_time = config.flags.bash_timeout.unwrap_or(options.command_time);
        options.instructions.retain(|name| !(config.flags.no_claude_prompt && name == "CLAUDE.md"));
        if config.flags.no_project_config {
            options.instructions.clear();
        }
        // What the user says of a tool by name counts more than what offers a group of them.
        let mut switches = Vec::new();
        if config.experimental.batch_tool {
            switches.push(("batch".to_owned(), true));
        }
        if config.flags.plan_mode {
            switches.extend(["plan_enter", "plan_exit"].map(|name| (name.to_owned(), true)));
        }
        if config.flags.code_mode {
            switches.push(("execute".to_owned(), true));
        }
        for (name, on) in &config.tools {
            switches.push((name.clone(), *on));
            if config.mcp.contains_key(name) {
                switches.push((servers::tools_of(name), *on));
            }
        }
        options.skills = self.skills().tool();
        options.after_edit = formatters::after_edit(self);
        let switches = Switches(switches);
        let world = World { files, processes };
        let registry = haft_toolbox::builtin_with(&world, &options);
        let mut registry = match servers::search(self) {
            Some(search) => registry.with(search.web()).with(search.code()),
            None => registry,
        };
        // A person's own file counts before a server's tool of the same name.
        let mut sources = Vec::new();
        if let Some(engine) = self.scripts() {
            let doors = scripts::doors(&world);
            sources.extend(scripts::tool_files(self, &engine, &doors));
            if !self.plugins.is_empty() {
                sources.push(Arc::new(PluginTools::new(self.plugins.clone(), doors.clone())));
            }
            registry = registry.with(Execute::new(engine, doors));
        }
        sources.extend(self.servers().sources());
        registry.switched(&switches).with_sources(sources).hooked(self.hooks.clone())
    }

    /// The files here.
    pub(crate) fn files(&self) -> Files {
        let Place { directory, worktree, .. } = &self.place;
        let files = match worktree {
            Some(top) => Files::with_sandboxes(directory, Some(top), &self.folders.sandboxes(top)),
            None => Files::new(directory.clone(), None),
        };
        if let Some(protection) = self.processes.protection() {
            files.tell(protection);
        }
        files
    }
}
