//! All commands of the settings as one hook: at each moment those that fit run side by side.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use futures::future::{BoxFuture, join_all};
use haft_permission::{Gate, Rules};
use haft_project::Processes;
use haft_protocol::SessionId;
use haft_protocol::hook::Point;
use haft_tool::{Hook, HookError};
use serde_json::{Value, json};

use crate::names::{heard, theirs, told};
use crate::run::run;
use crate::said::{Said, together};
use crate::settings::{CommandHook, Moment};

/// Who hears what commands tell a person.
pub type Tell = Box<dyn Fn(&str) + Send + Sync>;

/// What commands run in.
pub struct Surroundings {
    /// What runs them, in the cage of all commands.
    pub processes: Processes,
    /// What notes that they run.
    pub gate: Gate,
    /// What allows it.
    pub rules: Rules,
    /// The folder they run in: absolute, without links.
    pub dir: PathBuf,
    /// Who hears what they tell a person, and how they fail.
    pub tell: Tell,
}

/// The commands of the settings.
pub struct Commands {
    hooks: Vec<CommandHook>,
    around: Surroundings,
    /// How often a person was told of each command that it fails.
    warned: Mutex<BTreeMap<String, u32>>,
}

/// How often a person is told that one and the same command fails.
const MAX_WARNED: u32 = 3;

impl Commands {
    /// These commands, in these surroundings.
    pub fn new(hooks: Vec<CommandHook>, around: Surroundings) -> Self {
        Self { hooks, around, warned: Mutex::default() }
    }

    /// Runs all commands of `moment` that are for `name`, each with `about` and what all are told. Equal ones run once.
    async fn run(&self, moment: Moment, name: &str, session: &SessionId, about: Value) -> Said {
        let mut fitting: Vec<&CommandHook> = Vec::new();
        for hook in self.hooks.iter().filter(|hook| hook.moment == moment && hook.matcher.fits(name)) {
            if !fitting.iter().any(|known| known.command == hook.command) {
                fitting.push(hook);
            }
        }
        if fitting.is_empty() {
            return Said::default();
        }
        let mut input = json!({
            "session_id": session,
            "transcript_path": "",
            "cwd": self.around.dir,
            "hook_event_name": moment.name(),
        });
        if let (Some(input), Value::Object(about)) = (input.as_object_mut(), about) {
            input.extend(about);
        }
        let input = input.to_string();
        let all = join_all(fitting.iter().map(|hook| run(&self.around, session, hook, &input))).await;
        for (hook, said) in fitting.iter().zip(&all) {
            if let Some(why) = &said.failed {
                self.warn(&hook.command, why);
            }
        }
        let sum = together(all);
        if let Some(message) = &sum.message {
            (self.around.tell)(message);
        }
        sum
    }

    fn warn(&self, command: &str, why: &str) {
        let mut warned = self.warned.lock().unwrap_or_else(PoisonError::into_inner);
        let times = warned.entry(command.to_owned()).or_default();
        *times = times.saturating_add(1);
        if *times <= MAX_WARNED {
            (self.around.tell)(&format!("the hook `{command}` failed and is passed over: {why}"));
        }
    }

    async fn tool_before(&self, input: &Value, mut output: Value) -> Result<Value, HookError> {
        let (tool, session) = (text(input, "tool"), session(input)?);
        let about = json!({
            "tool_name": name(tool),
            "tool_input": told(tool, &output["args"]),
            "tool_use_id": input["callID"],
        });
        let said = ends(self.run(Moment::PreToolUse, tool, &session, about).await)?;
        if let Some(input) = &said.input {
            output["args"] = heard(tool, input);
        }
        if let Some(leave) = said.permission {
            output["permission"] = serde_json::to_value(leave).unwrap_or_default();
        }
        Ok(output)
    }

    async fn tool_after(&self, input: &Value, mut output: Value) -> Result<Value, HookError> {
        let (tool, session) = (text(input, "tool"), session(input)?);
        let about = json!({
            "tool_name": name(tool),
            "tool_input": told(tool, &input["args"]),
            "tool_use_id": input["callID"],
            "tool_response": {
                "success": true,
                "output": output["output"],
                "stdout": output["output"],
                "title": output["title"],
                "metadata": output["metadata"],
            },
        });
        let said = self.run(Moment::PostToolUse, tool, &session, about).await;
        if let Some(why) = said.ends {
            return Err(HookError::Ends(why));
        }
        // What was done is done; the model is told what is wrong with it.
        let more: Vec<String> = said.blocks.into_iter().chain(said.context).collect();
        if !more.is_empty() {
            let before = output["output"].as_str().unwrap_or_default();
            output["output"] = format!("{before}\n\n<hook>\n{}\n</hook>", more.join("\n")).into();
        }
        Ok(output)
    }

    async fn prompt(&self, input: &Value, mut output: Value) -> Result<Value, HookError> {
        let is_said = |part: &&Value| part["type"] == "text" && part["synthetic"] != true;
        let parts = output["parts"].as_array().map(Vec::as_slice).unwrap_or_default();
        let words: Vec<&str> = parts.iter().filter(is_said).filter_map(|part| part["text"].as_str()).collect();
        let about = json!({ "prompt": words.join("\n") });
        let said = ends(self.run(Moment::UserPromptSubmit, "", &session(input)?, about).await)?;
        if let Some(parts) = output["parts"].as_array_mut() {
            let part = |text: String| json!({ "type": "text", "text": text, "synthetic": true });
            parts.extend(said.context.into_iter().map(part));
        }
        Ok(output)
    }

    async fn stop(&self, input: &Value, mut output: Value) -> Result<Value, HookError> {
        let session = session(input)?;
        let about = json!({ "stop_hook_active": input["again"] });
        let said = match input.get("parentID") {
            None => self.run(Moment::Stop, "", &session, about).await,
            Some(_) => self.run(Moment::SubagentStop, text(input, "agent"), &session, about).await,
        };
        if said.ends.is_none()
            && let Some(why) = said.blocks
        {
            output["because"] = why.into();
        }
        Ok(output)
    }

    async fn session_start(&self, input: &Value, mut output: Value) -> Result<Value, HookError> {
        let source = text(input, "reason");
        let said = self.run(Moment::SessionStart, source, &session(input)?, json!({ "source": source })).await;
        if let Some(context) = output["context"].as_array_mut() {
            context.extend(said.context.into_iter().map(Value::from));
        }
        Ok(output)
    }

    async fn compacting(&self, input: &Value, output: Value) -> Result<Value, HookError> {
        let trigger = text(input, "reason");
        let about = json!({ "trigger": trigger, "custom_instructions": "" });
        ends(self.run(Moment::PreCompact, trigger, &session(input)?, about).await)?;
        Ok(output)
    }

    async fn event(&self, input: &Value) -> Result<(), HookError> {
        let event = &input["event"];
        let of = &event["properties"];
        let (kind, message) = match text(event, "type") {
            "permission.asked" => ("permission_prompt", format!("haft needs your leave: {}", text(of, "permission"))),
            "question.asked" => ("elicitation_dialog", "haft has a question".to_owned()),
            "session.status" if of["status"]["type"] == "idle" => ("idle_prompt", "haft waits for you".to_owned()),
            _ => return Ok(()),
        };
        let about = json!({ "message": message, "notification_type": kind });
        self.run(Moment::Notification, kind, &session(of)?, about).await;
        Ok(())
    }
}

impl Hook for Commands {
    fn name(&self) -> &str {
        "a hook of the settings"
    }

    fn listens(&self, point: Point) -> bool {
        let moments: &[Moment] = match point {
            Point::ToolBefore => &[Moment::PreToolUse],
            Point::ToolAfter => &[Moment::PostToolUse],
            Point::ChatMessage => &[Moment::UserPromptSubmit],
            Point::TurnStop => &[Moment::Stop, Moment::SubagentStop],
            Point::SessionStart => &[Moment::SessionStart],
            Point::SessionEnd => &[Moment::SessionEnd],
            Point::Compacting => &[Moment::PreCompact],
            Point::Event => &[Moment::Notification],
            Point::Dispose
            | Point::Config
            | Point::ChatParams
            | Point::ChatHeaders
            | Point::PermissionAsk
            | Point::CommandBefore
            | Point::ToolDefinition
            | Point::ShellEnv
            | Point::MessagesTransform
            | Point::SystemTransform
            | Point::SmallModel
            | Point::AutoContinue
            | Point::TextComplete => return false,
        };
        self.hooks.iter().any(|hook| moments.contains(&hook.moment))
    }

    fn fire<'a>(&'a self, point: Point, input: &'a Value, output: Value) -> BoxFuture<'a, Result<Value, HookError>> {
        Box::pin(async move {
            match point {
                Point::ToolBefore => self.tool_before(input, output).await,
                Point::ToolAfter => self.tool_after(input, output).await,
                Point::ChatMessage => self.prompt(input, output).await,
                Point::TurnStop => self.stop(input, output).await,
                Point::SessionStart => self.session_start(input, output).await,
                Point::Compacting => self.compacting(input, output).await,
                Point::SessionEnd => {
                    let reason = json!({ "reason": "other" });
                    self.run(Moment::SessionEnd, "other", &session(input)?, reason).await;
                    Ok(output)
                }
                Point::Event => {
                    self.event(input).await?;
                    Ok(output)
                }
                _ => Ok(output),
            }
        })
    }
}

/// What `said` comes to where something can be stopped.
fn ends(said: Said) -> Result<Said, HookError> {
    match (said.ends.clone(), said.blocks.clone()) {
        (Some(why), _) => Err(HookError::Ends(why)),
        (None, Some(why)) => Err(HookError::Blocked(why)),
        (None, None) => Ok(said),
    }
}

/// What commands know the tool as.
fn name(tool: &str) -> &str {
    theirs(tool).and_then(|names| names.first()).copied().unwrap_or(tool)
}

fn text<'a>(of: &'a Value, key: &str) -> &'a str {
    of.get(key).and_then(Value::as_str).unwrap_or_default()
}

fn session(of: &Value) -> Result<SessionId, HookError> {
    let id = of.get("sessionID").cloned().unwrap_or_default();
    serde_json::from_value(id).map_err(|error| HookError::Failed(format!("no session was named: {error}")))
}
