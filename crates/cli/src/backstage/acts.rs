//! What plug-ins do with sessions: they make them, say something in them and have agents answer, each in the plug-in's name.

use std::sync::PoisonError;

use haft_permission::{Access, Effect, Grant};
use haft_protocol::{Event, Failure, Id, ModelRef, OutputFormat, PartKind, SessionId, SessionModel};
use haft_session::{Guest, Prompt, SessionError, Wanted};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::args::Args;
use super::tally::Deed;
use super::{Asked, Backstage, Failed};

/// The permission for having an agent answer.
const TASK: &str = "task";
/// Who sums a conversation up.
const SUMMING_UP: &str = "compaction";
/// How much of a prompt is shown to whoever is asked for leave, in characters.
const MAX_SHOWN: usize = 500;
/// Longest title, in characters.
const MAX_TITLE: usize = 200;

/// The model that a session is made with.
#[derive(Deserialize)]
struct Chosen {
    #[serde(alias = "modelID")]
    id: String,
    #[serde(rename = "providerID")]
    provider_id: String,
    variant: Option<String>,
}

impl Backstage {
    /// What is done; `None`: it is no such function.
    pub(super) async fn acted(&self, asked: Asked<'_>) -> Option<Result<Value, Failed>> {
        Some(match asked.path {
            "session.create" => self.create(asked).await,
            "session.update" => self.update(asked).await,
            "session.abort" => self.abort(asked).await,
            "session.delete" => self.delete(asked).await,
            "session.summarize" => self.summarize(asked).await,
            "session.prompt" => self.prompt(asked).await,
            "session.promptAsync" => self.prompt_behind(asked).await,
            "session.command" => self.command(asked).await,
            _ => return None,
        })
    }

    async fn create(&self, asked: Asked<'_>) -> Result<Value, Failed> {
        let Asked { plugin, args, .. } = asked;
        let guest = self.guest(asked)?;
        let parent = args.text("parentID").map(|id| {
            SessionId::parse(&id).map_err(|_| Failed::Missing(format!("there is no session {id:?} in this project")))
        });
        let model = args.read::<Chosen>("model")?;
        let model = model.map(|Chosen { id, provider_id, variant }| SessionModel { id, provider_id, variant });
        let parent = parent.transpose()?;
        noted(asked).await?;
        self.tally.count(plugin, Deed::Session)?;
        Ok(json!(guest.create(title(args), parent.as_ref(), model).await?))
    }

    async fn update(&self, asked: Asked<'_>) -> Result<Value, Failed> {
        let (guest, id) = (self.guest(asked)?, asked.args.session()?);
        let Some(title) = title(asked.args) else {
            return Err(Failed::refused("a plug-in changes the title of a session and nothing else; give title"));
        };
        noted(asked).await?;
        Ok(json!(guest.rename(&id, title).await?))
    }

    async fn abort(&self, asked: Asked<'_>) -> Result<Value, Failed> {
        let (guest, id) = (self.guest(asked)?, asked.args.session()?);
        noted(asked).await?;
        guest.abort(&id).await?;
        Ok(true.into())
    }

    async fn delete(&self, asked: Asked<'_>) -> Result<Value, Failed> {
        let (guest, id) = (self.guest(asked)?, asked.args.session()?);
        noted(asked).await?;
        guest.delete(&id).await?;
        Ok(true.into())
    }

    async fn summarize(&self, asked: Asked<'_>) -> Result<Value, Failed> {
        let (guest, id) = (self.guest(asked)?, asked.args.session()?);
        guest.known(&id).await?;
        let grant = leave(asked, &[SUMMING_UP], "sum a session up", "").await?;
        self.tally.count(asked.plugin, Deed::Turn)?;
        self.unless_over(&id, guest.compact(&grant, SUMMING_UP, &id)).await?;
        Ok(true.into())
    }

    async fn prompt(&self, asked: Asked<'_>) -> Result<Value, Failed> {
        let (guest, wanted) = (self.guest(asked)?, wanted(asked)?);
        if asked.args.get("noReply").and_then(Value::as_bool).unwrap_or(false) {
            guest.known(&wanted.session).await?;
            noted(asked).await?;
            self.tally.count(asked.plugin, Deed::Note)?;
            return Ok(json!(guest.note(&wanted).await?));
        }
        let grant = self.asked_leave(asked, &guest, &wanted, None).await?;
        self.answered(&guest, &grant, wanted).await
    }

    async fn prompt_behind(&self, asked: Asked<'_>) -> Result<Value, Failed> {
        if asked.args.get("noReply").and_then(Value::as_bool).unwrap_or(false) {
            return self.prompt(asked).await.map(|_| Value::Null);
        }
        // Nobody waits for it.
        let guest = Guest { holds: false, ..self.guest(asked)? };
        let wanted = wanted(asked)?;
        let grant = self.asked_leave(asked, &guest, &wanted, None).await?;
        let room = self.room.clone().try_acquire_owned().map_err(|_| full())?;
        let (over, journal) = (self.over.clone(), guest.setup.journal.clone());
        let mut behind = self.behind.lock().unwrap_or_else(PoisonError::into_inner);
        while behind.try_join_next().is_some() {}
        behind.spawn(async move {
            let session_id = wanted.session.clone();
            let end = tokio::select! {
                biased;
                () = over.cancelled() => return,
                end = guest.prompt(&grant, wanted) => end,
            };
            drop(room);
            match end {
                // The turn said so itself, or somebody wanted it.
                Ok(_) | Err(SessionError::Turn(_) | SessionError::Along { .. } | SessionError::Stopped(_)) => {}
                Err(error) => {
                    let error = Failure::new("UnknownError", haft_tool::with_causes(&error));
                    journal.announce(Event::SessionError { session_id, error });
                }
            }
        });
        Ok(Value::Null)
    }

    async fn command(&self, asked: Asked<'_>) -> Result<Value, Failed> {
        let Asked { plugin, args, .. } = asked;
        let guest = self.guest(asked)?;
        let (name, arguments) = (args.text("command").unwrap_or_default(), args.text("arguments").unwrap_or_default());
        let name = name.trim_start_matches('/').to_owned();
        let mut own = haft_session::builtin_commands().into_iter().chain(guest.setup.options.commands.iter().cloned());
        let own = own.rfind(|command| command.name == name).and_then(|command| command.agent);
        let prompt = Prompt::command_by_plugin(plugin, name, arguments);
        let prompt = match args.text("model") {
            Some(model) => prompt.model(model, args.text("variant")),
            None => prompt,
        };
        let wanted = Wanted { session: args.session()?, agent: args.text("agent"), prompt, closed: Vec::new() };
        let grant = self.asked_leave(asked, &guest, &wanted, own).await?;
        self.answered(&guest, &grant, wanted).await
    }

    /// Leave to have the agent answer that would, and `also` another one.
    async fn asked_leave(
        &self,
        asked: Asked<'_>,
        guest: &Guest,
        wanted: &Wanted,
        also: Option<String>,
    ) -> Result<Grant, Failed> {
        if self.over.is_cancelled() {
            return Err(Failed::refused("everything ends here, so nothing is begun"));
        }
        guest.may_wait(&wanted.session)?;
        let agent = guest.agent(&wanted.session, wanted.agent.as_deref()).await?;
        let agents: Vec<&str> = std::iter::once(agent.as_str()).chain(also.as_deref()).collect();
        let record = guest.known(&wanted.session).await?;
        let words = asked.args.get("parts").or_else(|| asked.args.get("arguments")).map(words).unwrap_or_default();
        let grant = leave(asked, &agents, &record.title, &words).await?;
        self.tally.count(asked.plugin, Deed::Turn)?;
        Ok(grant)
    }

    async fn answered(&self, guest: &Guest, grant: &Grant, wanted: Wanted) -> Result<Value, Failed> {
        let _room = self.room.try_acquire().map_err(|_| full())?;
        let id = wanted.session.clone();
        Ok(json!(self.unless_over(&id, guest.prompt(grant, wanted)).await?))
    }

    /// What comes of `work` in the session `id`, unless everything ends before.
    async fn unless_over<T>(
        &self,
        id: &SessionId,
        work: impl Future<Output = Result<T, SessionError>>,
    ) -> Result<T, Failed> {
        tokio::select! {
            biased;
            () = self.over.cancelled() => Err(SessionError::Stopped(id.clone()).into()),
            done = work => Ok(done?),
        }
    }
}

fn full() -> Failed {
    Failed::refused("16 prompts of plug-ins are being answered, which is the most at once; wait until one has ended")
}

/// Leave to have `agents` work on what is called `title`.
async fn leave(asked: Asked<'_>, agents: &[&str], title: &str, words: &str) -> Result<Grant, Failed> {
    let named = |agent: &&str| (*agent).to_owned();
    let access = Access {
        patterns: agents.iter().map(named).collect(),
        effects: agents.iter().map(|agent| Effect::Delegate(named(agent))).collect(),
        plugin: Some(asked.plugin.to_owned()),
        ..Access::new(TASK, "")
    };
    Ok(asked.world.leave(access.show("description", title).show("prompt", words)).await?)
}

/// Leave for what only changes sessions, which rules about the plug-in itself may hold back. It stands in the record.
async fn noted(asked: Asked<'_>) -> Result<(), Failed> {
    let (permission, plugin) = (format!("client.{}", asked.path), Some(asked.plugin.to_owned()));
    asked.world.leave(Access { permission, plugin, ..Access::default() }).await?;
    Ok(())
}

/// What a prompt asks for.
fn wanted(asked: Asked<'_>) -> Result<Wanted, Failed> {
    let Asked { plugin, args, .. } = asked;
    let mut parts: Vec<PartKind> = args.read("parts")?.unwrap_or_default();
    if let Some(text) = args.text("system") {
        parts.insert(0, PartKind::Text { text, synthetic: true, ignored: false, time: None, metadata: None });
    }
    let mut prompt = Prompt::by_plugin(plugin, parts).map_err(Failed::refused)?;
    if let Some(ModelRef { provider_id, model_id }) = args.read("model")? {
        prompt = prompt.model(format!("{provider_id}/{model_id}"), args.text("variant"));
    }
    if let Some(format) = args.read::<OutputFormat>("format")?.filter(|format| *format != OutputFormat::Text) {
        prompt = prompt.format(format);
    }
    let tools: Map<String, Value> = args.read("tools")?.unwrap_or_default();
    // What is given there is not theirs to give.
    let closed = tools.into_iter().filter(|(_, on)| *on == Value::Bool(false)).map(|(name, _)| name).collect();
    Ok(Wanted { session: args.session()?, agent: args.text("agent"), prompt, closed })
}

/// The title that is given, in one line.
fn title(args: &Args) -> Option<String> {
    let title = args.text("title")?.split_whitespace().collect::<Vec<_>>().join(" ");
    Some(title.chars().take(MAX_TITLE).collect()).filter(|title: &String| !title.is_empty())
}

/// The beginning of what `said` says.
fn words(said: &Value) -> String {
    let all = match said {
        Value::Array(parts) => {
            let texts = parts.iter().filter_map(|part| part.get("text").and_then(Value::as_str));
            texts.collect::<Vec<_>>().join("\n")
        }
        said => said.as_str().unwrap_or_default().to_owned(),
    };
    all.chars().take(MAX_SHOWN).collect()
}
