//! One session, from its beginning over many kills to its end.

use std::collections::BTreeSet;

use haft_protocol::{History, Id, Message, PartKind, Session as Record};
use haft_store::{Filter, Journal};

use super::blow::{Blow, Dice, Said, strike};
use super::deed::Deed;
use super::files::{Files, OWN, all_files, differences, files, in_copy, wait_until_quiet, work};
use super::scenes::{END, Scene, broken};
use super::told::{Told, behind};
use super::{KILLS_EACH, MOST_RUNS_EACH, Score};
use crate::support::Machine;
use crate::wire::refusals;

/// The files that an undo or redo says it has left.
fn left(told: &str) -> BTreeSet<String> {
    let named = told.lines().filter_map(|line| line.strip_prefix("  ! "));
    named.filter_map(|line| Some(line.split_once("  ")?.0.to_owned())).collect()
}

/// A session on a machine of its own.
pub(crate) struct Life<'a> {
    scene: &'a Scene,
    machine: Machine,
    dice: Dice,
    told: Told,
    /// The prompts that are known.
    prompts: BTreeSet<String>,
    /// The project as it is while nothing is taken back.
    whole: Files,
    /// When the user worked.
    times: Vec<u64>,
}

/// What is left of a session.
struct Left {
    record: Record,
    history: History,
}

/// What stands in the place of a prompt where the person ran a command.
const BY_HAND: &str = "The user ran this command.";

/// Whether `file` is one that commands write. What the last of them changed is not known where haft was killed while it ran.
fn is_of_commands(file: &str) -> bool {
    file == "log.txt" || file == "made/" || file.starts_with("made/")
}

impl Left {
    /// What the person asked for, oldest first: each is a turn that is taken back by itself.
    fn prompts(&self) -> impl Iterator<Item = &str> {
        let is_asked = |kind: &PartKind| match kind {
            PartKind::Text { synthetic, text, .. } => !synthetic || text == BY_HAND,
            PartKind::Compaction { auto, .. } => !auto,
            _ => false,
        };
        let prompts = self.history.messages().iter().filter(move |turned| {
            matches!(turned.info, Message::User(_)) && turned.parts.iter().any(|part| is_asked(&part.kind))
        });
        prompts.map(|turned| turned.info.id().as_str())
    }

    /// All that was said.
    fn texts(&self) -> Vec<String> {
        let parts = self.history.messages().iter().flat_map(|turned| &turned.parts);
        let texts = parts.filter_map(|part| match &part.kind {
            PartKind::Text { text, .. } => Some(text.clone()),
            _ => None,
        });
        texts.collect()
    }
}

impl<'a> Life<'a> {
    pub(crate) fn begin(scene: &'a Scene, seed: u64) -> Self {
        let machine = scene.machine();
        let dice = Dice::new(seed);
        let (told, whole) = (Told::default(), Files::new());
        Self { scene, machine, dice, told, prompts: BTreeSet::new(), whole, times: Vec::new() }
    }

    /// Runs the session, kills it at most as often as `kills` are wanted in all, and brings it to its end.
    pub(crate) fn live(mut self, kills: usize, score: &mut Score) {
        let most = (score.kills + KILLS_EACH).min(kills);
        let model = self.scene.model(&self.machine);
        let before = files(&self.machine);
        let begun =
            self.machine.haft(&["run", "begin", "--format", "json", "--max-steps", "1", "--auto", "--model", &model]);
        self.told.note(&begun.out);
        match self.look(score) {
            Ok(left) => drop(self.remember(&left, before)),
            Err(error) => return score.unopened.push(format!("{}: {error}; {begun:?}", self.scene.name)),
        }
        self.whole = files(&self.machine);
        for number in 0..(KILLS_EACH * MOST_RUNS_EACH) as u64 {
            if score.kills >= most {
                break;
            }
            let deed = Deed::choose(self.scene.deeds, &mut self.dice);
            if deed.asks() {
                work(&self.machine, number);
                self.times.push(number);
            }
            let before = files(&self.machine);
            let blow = Blow::choose(&mut self.dice, deed.reach());
            let said = strike(&self.machine.command(&deed.args(&model)), deed.typed(), blow);
            wait_until_quiet(&self.machine);
            score.over += usize::from(!said.killed);
            score.kills += usize::from(said.killed);
            score.by_calls += usize::from(said.killed && blow.is_call());
            if let Err(error) = self.judge(deed, blow, &said, before, score) {
                let name = self.scene.name;
                score.unopened.push(format!("{name} after {deed:?}, {blow:?}: {error}; it had said: {}", said.errors));
                return;
            }
        }
        self.end(score);
    }

    /// Holds what is left against what was there, after a deed. An error says why a session does not open.
    fn judge(&mut self, deed: Deed, blow: Blow, said: &Said, before: Files, score: &mut Score) -> Result<(), String> {
        if matches!(deed, Deed::Run | Deed::Command(_)) {
            self.told.note(&said.text);
        }
        let left = self.look(score)?;
        let name = self.scene.name;
        let now = files(&self.machine);
        let own = |files: &Files| OWN.map(|name| files.get(name).cloned());
        if own(&now) != own(&before) {
            score.user_files_changed.push(format!("{name} after {deed:?}, {blow:?}: {:?}", differences(&now, &before)));
        }
        if deed == Deed::Chat {
            match behind(said, &left.texts()) {
                Ok(behind) => score.behind = score.behind.max(behind),
                Err(fault) => score.lost.push(format!("{name} after {blow:?}: {fault}: {:?}", said.text)),
            }
        }
        let new = self.remember(&left, before);
        if !deed.rewinds() {
            self.whole = now;
        }
        let fault = in_copy(&self.machine, || match &new {
            _ if deed.rewinds() => self.redone(score),
            Some((before, turns)) => self.undone(before, *turns, score),
            // What the user did since is not told apart from what was done before.
            None => None,
        });
        score.not_undone.extend(fault.map(|fault| format!("{name} after {deed:?}, {blow:?}: {fault}")));
        if deed.rewinds() {
            // The next opening does the rest of it; what the user does next is done after that.
            self.machine.haft(&["session", "undo", "--dry-run"]);
        }
        Ok(())
    }

    /// What is wrong with the files after the last turns were taken back, if anything. A file is as it was, or it is named and
    /// left alone; only what commands write may be left, where one was cut off.
    fn undone(&self, before: &Files, turns: usize, score: &mut Score) -> Option<String> {
        score.undone += 1;
        let stood = files(&self.machine);
        let (mut named, mut faults, mut told) = (BTreeSet::new(), Vec::new(), Vec::new());
        for _ in 0..turns {
            let ran = self.machine.haft(&["session", "undo", "--yes"]);
            let left = left(&ran.out);
            if (ran.code == 0) != left.is_empty() || ran.out.lines().any(|line| line.trim_end() == "undone:") {
                faults.push(format!("it ends with {}", ran.code));
            }
            named.extend(left);
            told.push(ran);
        }
        score.left += usize::from(!named.is_empty());
        let now = all_files(&self.machine);
        let is_left = |file: &String| named.contains(file) && now.get(file) == stood.get(file);
        let others = |files: &Files| -> Files {
            files.iter().filter(|(file, _)| !is_left(file)).map(|(file, text)| (file.clone(), text.clone())).collect()
        };
        faults.extend(differences(&others(&now), &others(before)));
        faults.extend(named.iter().filter(|file| !is_of_commands(file)).map(|file| format!("{file} is left")));
        faults.extend(broken(&self.machine, &self.times));
        (!faults.is_empty()).then(|| format!("{faults:#?} {told:?}"))
    }

    /// What is wrong with the files after everything was brought again, if anything.
    fn redone(&self, score: &mut Score) -> Option<String> {
        score.undone += 1;
        // Nothing to redo is no fault: then nothing may be changed.
        let ran = self.machine.haft(&["session", "redo", "--all", "--yes"]);
        let mut faults = differences(&all_files(&self.machine), &self.whole);
        faults.extend(left(&ran.out).into_iter().map(|file| format!("{file} is left")));
        (!faults.is_empty()).then(|| format!("{faults:#?} {ran:?}"))
    }

    /// Notes the prompts, and gives back how the project was `before` the new ones and how many they are, if they count.
    fn remember(&mut self, left: &Left, before: Files) -> Option<(Files, usize)> {
        let known = self.prompts.len();
        self.prompts.extend(left.prompts().map(str::to_owned));
        let new = self.prompts.len() - known;
        (new > 0 && left.record.revert.is_none()).then_some((before, new))
    }

    /// Looks at what is left. An error says why a session does not open.
    fn look(&mut self, score: &mut Score) -> Result<Left, String> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(self.look_at(score))
    }

    async fn look_at(&mut self, score: &mut Score) -> Result<Left, String> {
        let journal = Journal::open(&self.machine.data().join("haft.db")).await.map_err(|error| error.to_string())?;
        let sessions = journal.sessions(&Filter::default()).await.map_err(|error| error.to_string())?;
        let mut roots = Vec::new();
        for record in sessions {
            let history = journal.history(&record.id).await.map_err(|error| error.to_string())?;
            score.rejected.extend(refusals(&history));
            if let Err(error) = journal.claim(&record.id) {
                score.locked.push(error.to_string());
            }
            if record.parent_id.is_none() {
                roots.push(Left { record, history });
            }
        }
        journal.close().await.map_err(|error| error.to_string())?;
        let [left] = <[Left; 1]>::try_from(roots).map_err(|roots| format!("there are {} sessions", roots.len()))?;
        if let Some(revert) = &left.record.revert {
            self.told.forget(revert.message_id.as_str());
        }
        score.lost.extend(self.told.lost(&left.history));
        score.broken.extend(broken(&self.machine, &self.times));
        Ok(left)
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
