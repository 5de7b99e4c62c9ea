//! What the settings say about sessions.

use std::path::Path;
use std::sync::Arc;

use haft_config::CommandConfig;
use haft_session::{Command, Compaction, InstructionFiles, Named, Options, Past, TaskLimits, Tasks, TurnLimits};

use super::Ground;
use crate::pages::Fetched;
use crate::servers::Told;
use crate::worktrees::Trees;
use crate::{models, render};

impl Ground {
    /// The commands that settings and Markdown files define, and the skills whose names are free.
    pub(crate) fn commands(&self) -> Vec<Command> {
        let command = |command: &CommandConfig| Command {
            name: command.name.clone(),
            template: command.template.clone(),
            description: command.description.clone(),
            agent: command.agent.clone(),
            model: command.model.clone(),
            variant: command.variant.clone(),
            subtask: command.subtask,
            foreign: false,
            literal: false,
        };
        let mut commands: Vec<Command> = self.config.commands.iter().map(command).collect();
        let builtin = haft_session::builtin_commands();
        let taken = |name: &str| commands.iter().chain(&builtin).any(|command| command.name == name);
        let skills: Vec<Command> = self.skills().commands().into_iter().filter(|skill| !taken(&skill.name)).collect();
        commands.extend(skills);
        commands
    }

    /// Where instructions for the agent are looked for.
    fn instructions(&self) -> InstructionFiles {
        let (folders, config) = (&self.folders, &self.config);
        // What stands in the project is the project's, also where no repository says how far that reaches.
        let project = self.place.worktree.as_ref().unwrap_or(&self.place.directory);
        let own = |program: &str| folders.config_home.join(program).join("AGENTS.md");
        let mut global = vec![own("haft"), own("opencode")];
        if !config.flags.no_claude_prompt {
            global.push(folders.home.join(".claude/CLAUDE.md"));
        }
        let named = config.instructions.iter().map(|named| Named {
            pattern: named.pattern.clone(),
            by_user: !Path::new(&named.origin).starts_with(project),
        });
        InstructionFiles {
            global,
            named: named.collect(),
            without_project: config.flags.no_project_config,
            without_claude: config.flags.no_claude_prompt,
            home: Some(folders.home.clone()),
        }
    }

    /// Most tokens that the definitions of tools of others may take in a request, where the settings say so.
    pub(crate) fn tools_budget(&self) -> Option<usize> {
        self.config.tools_budget.map(|tokens| usize::try_from(tokens).unwrap_or(usize::MAX))
    }

    /// What the settings say about sessions.
    pub(super) fn options(&self) -> Options {
        let config = &self.config;
        for missed in &self.skills().missed {
            render::complain(&render::spelled(&format!("warning: {missed}")));
        }
        Options {
            models: Some(Arc::new(models::Known(config.clone()))),
            commands: self.commands(),
            skills: self.skills().told(),
            instructions: self.instructions(),
            notes: vec![Arc::new(Told(self.servers()))],
            prompts: Some(Arc::new(Told(self.servers()))),
            resources: Some(Arc::new(Told(self.servers()))),
            pages: Some(Arc::new(Fetched::default())),
            worktrees: Some(Arc::new(Trees { folders: self.folders.clone(), config: config.clone() })),
            limits: TurnLimits {
                // More than that many steps is no limit.
                steps: config.limits.steps.map(|steps| u32::try_from(steps).unwrap_or(u32::MAX)),
                cost: config.limits.cost,
            },
            tools_budget: self.tools_budget(),
            go_on_when_refused: config.experimental.continue_loop_on_deny,
            retries: config.limits.retries.map(|retries| u32::try_from(retries).unwrap_or(u32::MAX)),
            retry_wait: config.limits.retry_wait,
            home: Some(self.folders.home.clone()),
            plans: Some(self.folders.plans()),
            tasks: Tasks {
                // Deeper than that is no limit.
                depth: config
                    .subagent_depth
                    .map_or(Tasks::default().depth, |depth| u32::try_from(depth).unwrap_or(u32::MAX)),
                closed: config.experimental.primary_tools.clone(),
                each: task_limits(&config.limits.task),
                together: task_limits(&config.limits.tasks),
                wake: config.subagent_wake,
            },
            compaction: Compaction {
                auto: config.compaction.auto,
                prune: config.compaction.prune,
                tail_turns: config.compaction.tail_turns,
                preserve_recent_tokens: config.compaction.preserve_recent_tokens,
                reserved: config.compaction.reserved,
            },
            // Chosen beside the model.
            small: None,
            small_chosen: config.small_model.is_some(),
            gists: config.turn_summaries,
            past: self.snapshots.clone().map(|snapshots| Past { snapshots, files: self.files() }),
            roster: self.backstage.roster.clone(),
        }
    }
}

fn task_limits(limits: &haft_config::TaskLimits) -> TaskLimits {
    let haft_config::TaskLimits { cost, tokens, steps, time } = *limits;
    // More than that many steps is no limit.
    TaskLimits { cost, tokens, steps: steps.map(|steps| u32::try_from(steps).unwrap_or(u32::MAX)), time }
}
