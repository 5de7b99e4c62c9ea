//! One session, from its beginning over many kills to its end.

use haft_protocol::History;
use haft_store::{Filter, Journal};

use super::blow::{Blow, Dice, strike};
use super::scenes::{END, NOTES, Scene, broken};
use super::told::Told;
use super::{KILLS_EACH, MOST_RUNS_EACH, Score};
use crate::support::Machine;
use crate::wire::refusals;

/// A session on a machine of its own.
pub(crate) struct Life<'a> {
    scene: &'a Scene,
    machine: Machine,
    dice: Dice,
    told: Told,
}

impl<'a> Life<'a> {
    pub(crate) fn begin(scene: &'a Scene, seed: u64) -> Self {
        let machine = scene.machine();
        Self { scene, machine, dice: Dice::new(seed), told: Told::default() }
    }

    /// Runs the session, kills it at most as often as `kills` are wanted in all, and brings it to its end.
    pub(crate) fn live(mut self, kills: usize, score: &mut Score) {
        let most = (score.kills + KILLS_EACH).min(kills);
        let model = self.scene.model(&self.machine);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let begun =
            self.machine.haft(&["run", "begin", "--format", "json", "--max-steps", "1", "--auto", "--model", &model]);
        self.told.note(&begun.out);
        for _ in 0..KILLS_EACH * MOST_RUNS_EACH {
            if score.kills >= most {
                break;
            }
            let blow = Blow::choose(&mut self.dice);
            let mut args = vec!["run", "go on", "--continue", "--auto", "--format", "json", "--model", &model];
            if let Some(command) = self.scene.command.filter(|_| self.dice.below(3) == 0) {
                args.extend(["--command", command]);
            }
            let said = strike(&self.machine.command(&args), blow);
            self.told.note(&said.text);
            score.over += usize::from(!said.killed);
            score.kills += usize::from(said.killed);
            score.by_calls += usize::from(said.killed && blow.is_call());
            if let Err(error) = runtime.block_on(self.look(score)) {
                let name = self.scene.name;
                score.unopened.push(format!("{name} after {blow:?}: {error}; it had said: {}", said.errors));
                return;
            }
        }
        self.end(score);
    }

    /// Looks at what is left. An error says why a session does not open.
    async fn look(&self, score: &mut Score) -> Result<(), String> {
        let journal = Journal::open(&self.machine.data().join("haft.db")).await.map_err(|error| error.to_string())?;
        let sessions = journal.sessions(&Filter::default()).await.map_err(|error| error.to_string())?;
        let mut all = History::default();
        for session in &sessions {
            let history = journal.history(&session.id).await.map_err(|error| error.to_string())?;
            score.rejected.extend(refusals(&history));
            if let Err(error) = journal.claim(&session.id) {
                score.locked.push(error.to_string());
            }
            if session.parent_id.is_none() {
                all = history;
            }
        }
        if sessions.iter().filter(|session| session.parent_id.is_none()).count() != 1 {
            return Err(format!("there are {} sessions", sessions.len()));
        }
        score.lost.extend(self.told.lost(&all));
        score.broken.extend(broken(&self.machine));
        if self.machine.read("notes.txt") != NOTES {
            score.user_files_changed.push("notes.txt".to_owned());
        }
        journal.close().await.map_err(|error| error.to_string())
    }

    /// Brings the session to its end with the binary itself, which closes what was left open.
    fn end(&self, score: &mut Score) {
        let model = Scene::end(&self.machine);
        let ran = self.machine.haft(&["run", "finish", "--continue", "--model", &model]);
        if ran.code != 0 || !ran.out.contains(END) {
            score.unopened.push(format!("{}: {ran:?}", self.scene.name));
        }
        let session = self.machine.newest_session();
        for part in crate::support::parts(&session) {
            let status = part["state"]["status"].as_str().unwrap_or("none");
            if ["pending", "running"].contains(&status) {
                score.unopened.push(format!("{}: left open: {part}", self.scene.name));
            }
        }
    }
}
