//! What the chat's own commands do.

use std::path::Path;

use anyhow::Result;
use haft_protocol::{Id, Message, Session as Record, SessionId};
use haft_session::{Portable, Session, To, TurnEnd};

use super::commands::{Deed, switched};
use super::editor::{Cycle, Draft, LineSource, edited};
use super::lists;
use super::talk::{Flow, Talk};
use crate::args::{Auth, ExportFormat, Login};
use crate::commands::session::export;
use crate::models::{self, World};
use crate::render::{Paint, Palette, size, spent};
use crate::report::Usage;
use crate::trust::Asking;
use crate::wire::Ground;
use crate::{agents, commands, keys};

impl Talk {
    /// Does what the command `name` says; `given` is what stands behind it.
    ///
    /// # Errors
    ///
    /// Says why it was not done; the chat goes on as it was.
    pub(super) async fn obey(
        &mut self,
        name: &str,
        deed: Deed,
        given: Draft,
        source: &mut dyn LineSource,
    ) -> Result<Flow> {
        let arguments = given.text.as_str();
        let anytime = super::commands::OWN.iter().any(|own| own.deed == deed && own.anytime);
        if !anytime && self.is_busy(name) {
            return Ok(Flow::On);
        }
        match deed {
            Deed::Exit => return Ok(Flow::Leave),
            Deed::Help => self.face.note(lists::help(&self.prompts(), self.looks.paint)),
            Deed::New => self.begin_anew(),
            Deed::Sessions => self.sessions(arguments).await?,
            Deed::Fork => self.fork().await?,
            Deed::Models => self.models(arguments).await?,
            Deed::Agents => self.agents(arguments)?,
            Deed::Status => self.status().await,
            Deed::Todos => self.todos().await?,
            Deed::Export => self.export(arguments).await?,
            Deed::Compact => self.compact(arguments)?,
            Deed::Connect => self.connect(arguments, source).await?,
            Deed::Auto => {
                self.auto = switch(arguments, self.auto, name)?;
                let told = match self.auto {
                    true => "yes to everything that no rule denies, until /auto off",
                    false => "what no rule decides is asked again",
                };
                self.tell(told);
            }
            Deed::Details => {
                self.looks.details = switch(arguments, self.looks.details, name)?;
                self.look(if self.looks.details { "tools show what they did" } else { "tools show one line each" });
            }
            Deed::Thinking => {
                self.looks.thinking = switch(arguments, self.looks.thinking, name)?;
                self.look(if self.looks.thinking { "thoughts are shown" } else { "thoughts are not shown" });
            }
            Deed::Editor => self.editor(source).await?,
            Deed::Diff => self.diff(arguments).await?,
            Deed::Queue if arguments.is_empty() => {
                return Err(Usage("say what is to be read later: /queue WORDS".to_owned()).into());
            }
            Deed::Queue => self.say(Draft { later: true, ..given }).await,
            Deed::Summary => self.summary()?,
            Deed::Undo => self.rewind(To::Back, source).await?,
            Deed::Redo => self.rewind(To::Forth, source).await?,
            Deed::Rename => self.rename(arguments).await?,
            Deed::Theme => self.theme(arguments, source)?,
            Deed::Share => self.tell("nothing is shared: haft has no server to share through; /export writes a file"),
        }
        Ok(Flow::On)
    }

    /// Sums up; how it ends is told as the end of a turn.
    fn compact(&mut self, focus: &str) -> Result<()> {
        let session = self.session.clone().filter(|_| self.record.is_some());
        let session = session.ok_or_else(|| Usage("there is nothing to sum up yet".to_owned()))?;
        let focus = Some(focus.to_owned()).filter(|focus| !focus.is_empty());
        self.start(async move { session.compact(focus).await });
        Ok(())
    }

    pub(super) fn tell(&mut self, text: &str) {
        self.face.note(vec![self.looks.paint.dim(text)]);
    }

    fn look(&mut self, told: &str) {
        self.face.look(self.looks);
        self.tell(told);
    }

    fn theme(&mut self, wanted: &str, source: &mut dyn LineSource) -> Result<()> {
        if wanted.is_empty() {
            self.tell("a theme is auto (your terminal's own colours), dark, light or none");
            return Ok(());
        }
        let Some(paint) = theme(wanted) else {
            return Err(Usage("a theme is auto, dark, light or none".to_owned()).into());
        };
        if self.complete.is_none() {
            return Err(Usage("lines are plain here, so nothing is painted".to_owned()).into());
        }
        self.looks.paint = paint;
        source.paint(paint);
        self.look(if paint.is_on() { "what comes from now on is painted so" } else { "colours are off" });
        Ok(())
    }

    /// Has it said in words what the last turn came to.
    fn summary(&mut self) -> Result<()> {
        let session = self.session.clone().filter(|_| self.record.is_some());
        let session = session.ok_or_else(|| Usage("there is nothing to sum up yet".to_owned()))?;
        self.wants_summary = true;
        self.start(async move { session.describe(None).await.map(|_| TurnEnd::Finished("stop".to_owned())) });
        Ok(())
    }

    /// Chooses the next one.
    pub(super) fn cycle(&mut self, cycle: Cycle) {
        match cycle {
            Cycle::Agent | Cycle::AgentBack => {
                let names: Vec<String> = self.agents.primaries().map(|agent| agent.name.clone()).collect();
                let by = if cycle == Cycle::Agent { 1 } else { names.len().saturating_sub(1) };
                // The mark before the line says who answers now.
                if let Some(next) = next(&names, Some(&self.agent), by) {
                    let chosen = self.agents(&next);
                    debug_assert!(chosen.is_ok(), "{next} is one of them");
                }
            }
            Cycle::Variant => self.next_variant(),
        }
    }

    fn next_variant(&mut self) {
        let named = self.chosen.name.clone().or_else(|| self.setup.as_ref().map(|setup| setup.model.name()));
        let Some(named) = named else { return self.tell("no model answers yet") };
        let mut variants: Vec<Option<String>> = vec![None];
        variants.extend(models::variants(&named, &self.ground.config).into_iter().map(Some));
        if variants.len() == 1 {
            return self.tell(&lists::one_line(&format!("{named} has one set of options only")));
        }
        let variant = next(&variants, Some(&self.chosen.variant), 1).flatten();
        let told = variant.as_deref().unwrap_or("its usual options").to_owned();
        self.chosen = super::talk::Chosen { name: Some(named.clone()), variant, is_named: true };
        self.tell(&lists::one_line(&format!("{named}: {told}, from your next prompt on")));
    }

    async fn rename(&mut self, wanted: &str) -> Result<()> {
        let title = wanted.split_whitespace().collect::<Vec<_>>().join(" ");
        if title.is_empty() {
            return Err(Usage("say the new title: /rename TITLE".to_owned()).into());
        }
        let session = self.session.as_ref().filter(|_| self.record.is_some());
        let session =
            session.ok_or_else(|| Usage("there is no session yet; it begins with what you say".to_owned()))?;
        session.rename(&title).await?;
        self.tell(&lists::one_line(&format!("this session is called: {title}")));
        Ok(())
    }

    fn begin_anew(&mut self) {
        if let Some(record) = &self.record {
            let id = record.id.clone();
            self.tell(&format!("a new session begins with what you say next; /sessions {id} returns to the last one"));
        } else {
            self.tell("this is a new session already");
        }
        (self.session, self.record) = (None, None);
    }

    async fn sessions(&mut self, wanted: &str) -> Result<()> {
        if wanted.is_empty() {
            let records = self.sessions_here(lists::MOST).await;
            self.listed_sessions = records.iter().map(|record| record.id.clone()).collect();
            let current = self.record.as_ref().map(|record| record.id.as_str());
            let mut lines = lists::sessions(&records, current, self.looks.paint);
            lines.push(match records.is_empty() {
                true => "there is no session of this folder yet".to_owned(),
                false => self.looks.paint.dim("/sessions NUMBER goes on with one"),
            });
            self.face.note(lines);
            self.tell_sessions().await;
            return Ok(());
        }
        let id = match wanted.parse::<usize>() {
            Ok(number) => {
                if self.listed_sessions.is_empty() {
                    self.listed_sessions =
                        self.sessions_here(lists::MOST).await.into_iter().map(|record| record.id).collect();
                }
                let found = number.checked_sub(1).and_then(|at| self.listed_sessions.get(at)).cloned();
                found.ok_or_else(|| Usage(format!("there is no session {number} in the list; /sessions shows it")))?
            }
            Err(_) => SessionId::parse(wanted).map_err(|error| Usage(error.to_string()))?,
        };
        if self.record.as_ref().is_some_and(|record| record.id == id) {
            self.tell("this is the session that you are in");
            return Ok(());
        }
        let record = self.journal.session(&id).await?;
        let record = record.ok_or(haft_session::SessionError::Unknown(id))?;
        if Path::new(&record.directory) != self.ground.place.directory {
            let (id, directory) = (&record.id, &record.directory);
            return Err(Usage(format!("that session works in {directory}; leave, then: haft --session {id}")).into());
        }
        self.enter_as_it_was(record).await
    }

    /// Goes on in `record` with the agent and the model that it had.
    async fn enter_as_it_was(&mut self, record: Record) -> Result<()> {
        let agent = record.agent.clone().filter(|agent| self.agents.get(agent).is_some());
        let model = record.model.clone();
        self.enter(record, 1).await?;
        self.agent = agent.unwrap_or_else(|| self.agent.clone());
        if let Some(model) = model.filter(|_| !self.chosen.is_named) {
            self.chosen.name = Some(format!("{}/{}", model.provider_id, model.id));
            self.chosen.variant = model.variant;
            self.chosen.is_named = true;
        }
        Ok(())
    }

    async fn fork(&mut self) -> Result<()> {
        let (Some(record), Ok(setup)) = (self.record.clone(), self.setup().await) else {
            return Err(Usage("there is nothing to copy yet".to_owned()).into());
        };
        let copy = Session::fork(&self.journal, &setup.clock, &record.id, None).await?;
        let copied = self.journal.session(&copy).await?;
        let copied = copied.ok_or(haft_session::SessionError::Unknown(copy))?;
        self.tell(&format!("a copy; /sessions {} returns to the one before", record.id));
        self.enter(copied, 0).await
    }

    async fn models(&mut self, wanted: &str) -> Result<()> {
        let (name, variant) = match wanted.split_once(char::is_whitespace) {
            Some((name, variant)) => (name, Some(variant.trim().to_owned())),
            None => (wanted, None),
        };
        let by_number = name.parse::<usize>().ok().and_then(|number| number.checked_sub(1));
        if let Some(at) = by_number {
            let found = self.listed_models.get(at).cloned();
            let found =
                found.ok_or_else(|| Usage(format!("there is no model {name} in the list; /models shows it")))?;
            return self.choose_model(found, variant).await;
        }
        if name.contains('/') {
            return self.choose_model(name.to_owned(), variant).await;
        }
        let world = World::here(&self.ground.config);
        let mut listed: Vec<String> =
            models::now(&world).iter().map(|listed| format!("{}/{}", listed.vendor, listed.id)).collect();
        let local = models::local(None, &world).await;
        listed.extend(local.iter().map(|listed| format!("{}/{}", listed.vendor, listed.id)));
        listed.retain(|listed| listed.to_lowercase().contains(&name.to_lowercase()));
        listed.dedup();
        let current = self.chosen.name.clone();
        let current = current.or_else(|| self.setup.as_ref().map(|setup| setup.model.name())).unwrap_or_default();
        let mut lines = lists::names(&listed, &current, self.looks.paint);
        lines.push(match listed.is_empty() {
            true => format!("no model that can be asked now has {name:?} in its name; /connect signs in to a vendor"),
            false => self.looks.paint.dim("/models NUMBER or NAME chooses one, /models WORD looks for it"),
        });
        self.listed_models = listed;
        self.listed_models.truncate(lists::MOST);
        self.face.note(lines);
        Ok(())
    }

    async fn choose_model(&mut self, name: String, variant: Option<String>) -> Result<()> {
        let before = self.chosen.clone();
        self.chosen = super::talk::Chosen { name: Some(name.clone()), variant: variant.clone(), is_named: true };
        // The first one is found with all that is asked for it; later ones as a session finds them.
        let found = match &self.setup {
            Some(_) => models::check(&name, variant.as_deref(), &self.ground.config),
            None => self.setup().await.map(drop),
        };
        if let Err(error) = found {
            self.chosen = before;
            return Err(error);
        }
        let variant = variant.map(|variant| format!(", {variant}")).unwrap_or_default();
        self.tell(&lists::one_line(&format!("{name}{variant} answers from your next prompt on")));
        Ok(())
    }

    fn agents(&mut self, wanted: &str) -> Result<()> {
        if wanted.is_empty() {
            let mut lines = lists::agents(self.agents.primaries(), &self.agent, self.looks.paint);
            lines.push(self.looks.paint.dim("/agents NAME chooses who answers; @NAME hands one task to an agent"));
            self.face.note(lines);
            return Ok(());
        }
        let Some(agent) = self.agents.primaries().find(|agent| agent.name == wanted) else {
            let names: Vec<&str> = self.agents.primaries().map(|agent| agent.name.as_str()).collect();
            return Err(
                Usage(format!("no agent {wanted:?} answers prompts; those that do: {}", names.join(", "))).into()
            );
        };
        agents::warn_of_open_plan(agent);
        self.agent.clone_from(&agent.name);
        self.tell(&lists::one_line(&format!("{wanted} answers from your next prompt on")));
        Ok(())
    }

    async fn status(&mut self) {
        let mut rows: Vec<(&str, String)> = Vec::new();
        let model = self.chosen.name.clone().or_else(|| self.setup.as_ref().map(|setup| setup.model.name()));
        rows.push(("agent", self.agent.clone()));
        rows.push(("model", model.unwrap_or_else(|| "none yet".to_owned())));
        rows.push(("folder", self.ground.place.directory.display().to_string()));
        match &self.record {
            Some(record) => {
                rows.push(("session", format!("{}  {}", record.id, record.title)));
                rows.push(("used", spent(&record.tokens, 0.0).join(" · ")));
                rows.push(("cost", spent(&haft_protocol::Tokens::default(), record.cost).join("")));
                rows.push(("context", self.window.words().unwrap_or_default()));
            }
            None => rows.push(("session", "none yet; it begins with what you say first".to_owned())),
        }
        rows.push((
            "commands",
            if self.auto { "allowed unless a rule denies them" } else { "as the rules say" }.to_owned(),
        ));
        rows.push(("version", env!("CARGO_PKG_VERSION").to_owned()));
        let known = rows.into_iter().filter(|(_, what)| !what.is_empty());
        let paint = self.looks.paint;
        self.face.note(
            known
                .map(|(name, what)| format!("{}{}", paint.dim(&format!("{name:<10}")), lists::one_line(&what)))
                .collect(),
        );
    }

    async fn todos(&mut self) -> Result<()> {
        let todos = match &self.record {
            Some(record) => self.journal.todos(&record.id).await?,
            None => Vec::new(),
        };
        match todos.is_empty() {
            true => self.tell("the agent keeps no list right now"),
            false => self.face.note(lists::todos(&todos, self.looks.paint)),
        }
        Ok(())
    }

    async fn export(&mut self, wanted: &str) -> Result<()> {
        let Some(record) = &self.record else {
            return Err(Usage("there is nothing to write yet".to_owned()).into());
        };
        let session = Portable::stored(&self.journal, &record.id).await?;
        let name = if wanted.is_empty() { format!("{}.json", record.id) } else { wanted.to_owned() };
        let path = std::path::absolute(&name)?;
        let is_markdown = path.extension().is_some_and(|end| end == "md");
        let format = if is_markdown { ExportFormat::Md } else { ExportFormat::Json };
        export::write(&path, &export::text(&session, format))?;
        self.tell(&lists::one_line(&format!("written to {}", path.display())));
        Ok(())
    }

    /// Shows what was done to files.
    async fn diff(&mut self, wanted: &str) -> Result<()> {
        let (Some(record), Some(setup)) = (&self.record, &self.setup) else {
            return Err(Usage("nothing was done yet".to_owned()).into());
        };
        let past = setup.options.past.as_ref();
        let past =
            past.ok_or_else(|| Usage("what files were before is not kept here, so nothing can be shown".to_owned()))?;
        let last = match wanted {
            "" => None,
            "last" => {
                let history = self.journal.history(&record.id).await?;
                let (shown, _) = haft_session::shown(record, &history);
                let prompts = shown.iter().rev().map(|turned| &turned.info);
                prompts.filter(|info| matches!(info, Message::User(_))).map(|info| info.id().clone()).next()
            }
            _ => return Err(Usage("/diff takes `last` or nothing".to_owned()).into()),
        };
        let files = Session::diffs(&self.journal, past, &record.id, last.as_ref()).await?;
        let lines = lists::diffs(&files, size().columns, self.looks.paint);
        match lines.is_empty() {
            true => self.tell("no file differs"),
            false => self.face.note(lines),
        }
        Ok(())
    }

    /// Has the next prompt written elsewhere.
    async fn editor(&mut self, source: &mut dyn LineSource) -> Result<()> {
        source.release();
        let text = edited("", &self.ground.folders.state.join("scratch")).await?;
        match (text.trim().is_empty(), &self.complete) {
            (true, _) => self.tell("nothing was written"),
            (false, Some(_)) => {
                source.fill(text.trim_end());
                self.tell("Enter sends what you wrote, Ctrl-C takes it away");
            }
            // Without an editor of ours there is no line to put it in.
            (false, None) => {
                let text = text.trim_end().to_owned();
                self.say(Draft { shown: text.clone(), text, ..Draft::default() }).await;
            }
        }
        Ok(())
    }

    /// Signs in, and looks again which models there are.
    async fn connect(&mut self, vendor: &str, source: &mut dyn LineSource) -> Result<()> {
        // The terminal belongs to whoever asks for the key.
        source.release();
        let vendor = Some(vendor.to_owned()).filter(|vendor| !vendor.is_empty());
        commands::auth::run(Auth::Login(Login { vendor, ..Login::default() })).await?;
        keys::read_again();
        let (folders, place) = (self.ground.folders.clone(), self.ground.place.clone());
        self.ground = Ground::of(folders, place, Asking::Nobody)?.heard().await?;
        self.tell_known();
        if self.setup.is_none() {
            let setup = self.setup().await?;
            self.tell(&lists::one_line(&format!("{} answers", setup.model.name())));
        }
        Ok(())
    }
}

/// The one that stands `by` places behind `now` in `all`, or the first. `None`: there is none.
fn next<T: Clone + PartialEq>(all: &[T], now: Option<&T>, by: usize) -> Option<T> {
    let at = now.and_then(|now| all.iter().position(|one| one == now));
    let next = at.map_or(0, |at| (at + by) % all.len().max(1));
    all.get(next).cloned()
}

/// The colours that a theme's name means. The terminal's own palette suits its background, whichever that is.
pub(super) fn theme(name: &str) -> Option<Paint> {
    match name {
        "auto" | "system" => Some(Paint::with_palette(Palette::Own)),
        "dark" => Some(Paint::with_palette(Palette::Dark)),
        "light" => Some(Paint::with_palette(Palette::Light)),
        "none" => Some(Paint::OFF),
        _ => None,
    }
}

/// What `argument` of the command `name` switches.
fn switch(argument: &str, now: bool, name: &str) -> Result<bool> {
    Ok(switched(argument, now).ok_or_else(|| Usage(format!("/{name} takes on, off or nothing")))?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_next_one_follows_and_behind_the_last_comes_the_first() {
        let row = |all: &[&str], now: &str, by: usize, want: Option<&str>| {
            assert_eq!(next(all, Some(&now), by), want, "{all:?} {now} {by}");
        };
        row(&["build", "plan"], "build", 1, Some("plan"));
        row(&["build", "plan"], "plan", 1, Some("build"));
        row(&["build", "plan", "own"], "build", 2, Some("own"));
        row(&["build"], "build", 1, Some("build"));
        row(&["build"], "gone", 1, Some("build"));
        row(&[], "gone", 1, None);
    }
}
