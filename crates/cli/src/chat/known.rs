//! What the editor can complete: told to it at the start, and again when something in it changed.

use haft_protocol::Id;

use super::commands::OWN;
use super::editor::{Complete, Word};
use super::lists;
use super::talk::Talk;
use crate::models::{self, World};

/// Most names that are offered behind one command, and most resources of servers.
const MOST: usize = 2_000;

impl Talk {
    /// Tells the editor which commands, agents and models there are.
    pub(super) fn tell_known(&self) {
        let Some(complete) = &self.complete else { return };
        self.tell_offered();
        complete.agents(self.agents.subagents().map(|agent| word(&agent.name, agent.description.as_deref())).collect());
        let primaries = self.agents.primaries().map(|agent| word(&agent.name, agent.description.as_deref()));
        arguments(complete, "agents", primaries.collect());
        let world = World::here(&self.ground.config);
        let names = models::now(&world).into_iter().take(MOST);
        let names = names.map(|listed| word(&format!("{}/{}", listed.vendor, listed.id), Some(&listed.model.name)));
        arguments(complete, "models", names.collect());
        for name in ["auto", "details", "thinking"] {
            arguments(complete, name, vec![word("on", None), word("off", None)]);
        }
        let themes = ["auto", "dark", "light", "none"];
        arguments(complete, "theme", themes.map(|theme| word(theme, None)).to_vec());
    }

    /// Tells the editor what servers offer as far as that is known: commands, and what can be read. Asks and starts none.
    pub(super) fn tell_offered(&self) {
        let Some(complete) = &self.complete else { return };
        complete.commands(commands(&self.prompts()));
        let resources = self.ground.servers().resources().into_iter().take(MOST);
        let named = resources.map(|(server, one)| word(&format!("{server}:{}", one.uri), Some(&one.about)));
        complete.resources(named.collect());
    }

    /// Tells the editor which sessions there are.
    pub(super) async fn tell_sessions(&self) {
        let Some(complete) = &self.complete else { return };
        let sessions = self.sessions_here(lists::MOST).await;
        let words = sessions.iter().map(|record| word(record.id.as_str(), Some(&record.title)));
        arguments(complete, "sessions", words.collect());
    }
}

/// Puts `words` behind the command `name`, by whichever of its names it is called.
fn arguments(complete: &Complete, name: &str, words: Vec<Word>) {
    let own = OWN.iter().find(|own| own.name == name);
    for also in own.into_iter().flat_map(|own| own.also) {
        complete.arguments(also, words.clone());
    }
    complete.arguments(name, words);
}

/// The chat's own commands and those that are prompts.
fn commands(prompts: &[(String, String)]) -> Vec<Word> {
    let own = OWN.iter().flat_map(|own| {
        let names = std::iter::once(own.name).chain(own.also.iter().copied());
        names.map(|name| Word { name: name.to_owned(), help: own.help.to_owned(), goes_on: !own.arguments.is_empty() })
    });
    let prompts =
        prompts.iter().map(|(name, about)| Word { name: name.clone(), help: lists::one_line(about), goes_on: true });
    own.chain(prompts).collect()
}

fn word(name: &str, help: Option<&str>) -> Word {
    Word { name: name.to_owned(), help: lists::one_line(help.unwrap_or_default()), goes_on: false }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chat::editor::{Completer, Typed};

    #[test]
    fn every_name_of_a_command_completes_with_what_it_does() {
        let complete = Complete::new(std::path::PathBuf::from("/none/such"));
        complete.commands(commands(&[("init".to_owned(), "write AGENTS.md".to_owned())]));
        arguments(&complete, "sessions", vec![word("ses_1", Some("fix\nit"))]);
        let offered = |text: &str| {
            let typed = Typed { text: text.to_owned(), cursor: text.len(), ..Typed::default() };
            let found = complete.complete(&typed).candidates;
            found.into_iter().map(|one| (one.insert, one.help)).collect::<Vec<_>>()
        };
        let row = |text: &str, insert: &str, help: &str| {
            assert_eq!(offered(text).first(), Some(&(insert.to_owned(), help.to_owned())), "{text}");
        };
        row("/ini", "/init", "write AGENTS.md");
        row("/exi", "/exit", "leave; the session is kept");
        row("/resum", "/resume", "earlier sessions, or go on with one");
        row("/resume ", "ses_1", "fix it");
    }
}
