//! Taking back what was asked and what was done to files for it, and bringing it again.
//!
//! The messages from a point on are hidden, not removed ([`Revert`]), and files go back to what they were before the calls
//! in them, as far as nobody else changed them since. What that changed is itself a list of changes, so it can be taken
//! back too. The next prompt makes it final.
//!
//! The list is stored before the first file changes. Where the program ends in the middle, the next opening does the rest.

mod commit;
mod disk;
mod fates;
mod gather;
mod others;
mod point;
mod since;
mod wanted;

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use haft_permission::{Access, Asker, Effect, Gate, Grant};
use haft_protocol::{Clock, Event, History, Part, PartKind, RetryTime, Revert, Session as Record, SessionId, Turned};
use haft_snapshot::undo::{Planned, Step, plan, together};
use haft_snapshot::{Change, Hash, Keep, State};
use haft_store::Journal;
use haft_tool::with_causes;

use self::fates::{fates, lost, settle_fates};
use self::gather::{Below, Gathered, gather};
use self::others::Others;
use self::point::NoPoint;
use self::since::without;
use crate::error::SessionError;
use crate::snapshots::diffs::{self, Tally, file_diff};
use crate::snapshots::past::Past;
use crate::turn::calls::everything;

pub(crate) use self::gather::Patch;
pub(crate) use self::point::Point;
pub(crate) use self::since::{diffs, since, tally};
pub use self::wanted::{Fate, Force, Rewind, Rewound, To, Why};

/// Longest diff that a session keeps of what was taken back, in bytes.
const MAX_DIFF: usize = 256 * 1024;
/// Tools that change no file, whatever they are asked.
const LOOKS: [&str; 8] = ["read", "glob", "grep", "list", "todowrite", "question", "skill", "websearch"];
/// The permission that a person's own undo is noted under.
const UNDO: &str = "undo";

/// The hand that takes back: everything that it works on.
pub(crate) struct Hand<'a> {
    pub journal: &'a Journal,
    pub clock: &'a Clock,
    pub gate: &'a Gate,
    /// Without it no files are touched.
    pub past: Option<&'a Past>,
    pub record: &'a mut Record,
    pub history: &'a mut History,
}

impl Hand<'_> {
    /// Goes where `rewind` says.
    ///
    /// # Errors
    ///
    /// When there is nothing to go to, a session below is at work, or the store or what is remembered cannot be read or
    /// written. A file that cannot be changed is none: that is told, and the rest is done.
    pub(crate) async fn rewind(&mut self, rewind: &Rewind) -> Result<Rewound, SessionError> {
        self.settle().await?;
        let stands = self.stands();
        let target = point::find(self.history, stands.as_ref(), &rewind.to).map_err(|none| self.none(none, rewind))?;
        let gathered = match &target {
            Some(point) => {
                let below = Below::Hold(self.clock, self.past);
                let gathered = gather(self.journal, &self.record.id, self.history, Some(point), below).await?;
                let is_forth = stands.as_ref().is_some_and(|stands| stands.at < point.at);
                if is_forth { gathered.until(&self.record.id, self.taken_back_at()) } else { gathered }
            }
            None => Gathered::default(),
        };
        let prompts = self.prompts(stands.as_ref(), target.as_ref());
        let Some(past) = self.past.cloned() else {
            return self.without_past(rewind, target, &gathered, prompts).await;
        };
        let (taken_back, notes) = self.taken_back(&past).await;
        let others = Others::find(self.journal, &past, self.record, &gathered).await?;
        let (steps, found) = steps(&past, &taken_back, gathered.patches.clone(), &others).await;
        let grant = self.grant(steps.iter().map(|step| step.path.clone())).await?;
        let force = rewind.force.clone();
        let (look, looked) = (past.clone(), grant);
        let (plan, fates, grant) = blocking(move || {
            let Past { snapshots, files } = &look;
            let keep = snapshots.keep();
            let now = |path: &Path| disk::state(files, keep, &looked, path);
            let plan = plan(steps, now, |path| force.covers(path));
            let fates = fates(files, keep, &plan, &found);
            (plan, fates, looked)
        })
        .await?;
        let mut rewound = Rewound { files: fates, prompts, revert: self.record.revert.clone(), notes };
        if rewind.only_look {
            return Ok(rewound);
        }

        let intended = disk::intended(&plan);
        let ahead: Vec<Change> = taken_back.iter().chain(&intended).cloned().collect();
        // Where it goes back to the end, the old point stands until all files are there.
        let aim = target.clone().or(stands);
        if let Some(aim) = aim.filter(|_| !intended.is_empty()) {
            let snapshot = Some(put(&past, ahead).await?);
            let time = match &target {
                Some(_) => Some(self.clock.now_ms()),
                None => self.taken_back_at(),
            };
            let ahead = Revert { to_end: target.is_none(), ..revert(&aim, snapshot, None, time) };
            self.store(Some(ahead)).await?;
        }
        let (make, planned, id) = (past.clone(), plan.clone(), self.record.id.clone());
        let outcomes = blocking(move || {
            let Past { snapshots, files } = &make;
            let mut make = |planned: &Planned| disk::make(files, snapshots.keep(), &grant, planned);
            snapshots.rewinding(&id, intended, || planned.iter().map(&mut make).collect::<Vec<_>>())
        })
        .await?;
        let done = settle_fates(&mut rewound, &plan, &outcomes, &rewind.force);
        let now = match &target {
            None => {
                self.keep_forced(&past, &taken_back, &done).await?;
                Vec::new()
            }
            // Where somebody else's version was forced away, that is what bringing it again brings.
            Some(_) => {
                let lost = lost(&taken_back, &done);
                let others = taken_back.into_iter().filter(|one| !lost.iter().any(|lost| lost.path == one.path));
                together(others.collect(), done)
            }
        };
        let revert = match &target {
            None => None,
            Some(point) => {
                let diff = diff_text(&past, now.clone()).await?;
                let snapshot = if now.is_empty() { None } else { Some(put(&past, now).await?) };
                Some(revert(point, snapshot, Some(diff), Some(self.clock.now_ms())))
            }
        };
        rewound.revert.clone_from(&revert);
        self.finish(&past, revert).await?;
        Ok(rewound)
    }

    /// Moves the point where nothing is remembered of files: those that were changed are only named.
    async fn without_past(
        &mut self,
        rewind: &Rewind,
        target: Option<Point>,
        gathered: &Gathered,
        prompts: Vec<String>,
    ) -> Result<Rewound, SessionError> {
        let mut files: Vec<&String> = gathered.patches.iter().flat_map(|patch| &patch.files).collect();
        let from = target.as_ref().map_or(usize::MAX, |point| point.at);
        let is_call =
            |part: &Part| matches!(&part.kind, PartKind::Tool { tool, .. } if !LOOKS.contains(&tool.as_str()));
        // What calls did while nothing was remembered nobody knows file by file.
        if self.history.messages().iter().skip(from).flat_map(|turned| &turned.parts).any(is_call) {
            files.push(&self.record.directory);
        }
        files.sort_unstable();
        files.dedup();
        let why = || Some(Why::Uncovered("nothing is remembered of files here: `snapshot` is false".to_owned()));
        let fate =
            |path: &String| Fate { path: path.into(), file: path.clone(), diff: None, left: why(), found: false };
        let files = files.into_iter().map(fate).collect();
        let mut rewound = Rewound { files, prompts, revert: self.record.revert.clone(), notes: Vec::new() };
        if !rewind.only_look {
            let now = self.clock.now_ms();
            rewound.revert = target.map(|point| revert(&point, None, Some(String::new()), Some(now)));
            self.store(rewound.revert.clone()).await?;
        }
        Ok(rewound)
    }

    /// Does the rest of what a process that was killed had begun, and forgets a point that is gone.
    pub(crate) async fn settle(&mut self) -> Result<(), SessionError> {
        let Some(reverted) = self.record.revert.clone() else { return Ok(()) };
        let Some(point) = self.stands() else {
            // All behind it was removed, and only that was not told any more.
            return self.store(None).await;
        };
        let (None, Some(hash), Some(past)) = (&reverted.diff, &reverted.snapshot, self.past.cloned()) else {
            return Ok(());
        };
        let list = changes(&past, hash).await.unwrap_or_default();
        let grant = self.grant(list.iter().map(|change| change.path.clone())).await?;
        let id = self.record.id.clone();
        let now = blocking(move || {
            let finish = || disk::finish(&past.files, past.snapshots.keep(), &grant, list.clone());
            let done = past.snapshots.rewinding(&id, list.clone(), finish);
            let hash = if done.is_empty() { Ok(None) } else { past.snapshots.keep().put_changes(&done).map(Some) };
            hash.map_err(|error| SessionError::Undo(with_causes(&error)))
        })
        .await??;
        if reverted.to_end {
            return self.store(None).await;
        }
        let snapshot = now.map(|hash| hash.to_string());
        self.store(Some(revert(&point, snapshot, Some(String::new()), reverted.time))).await
    }

    /// Makes final what is taken back, because something new is asked. Returns whether anything was.
    pub(crate) async fn commit(&mut self) -> Result<bool, SessionError> {
        self.settle().await?;
        let Some(point) = self.stands() else { return Ok(false) };
        let below = gather(self.journal, &self.record.id, self.history, Some(&point), Below::Read).await?;
        let below = below.until(&self.record.id, self.taken_back_at());
        let mut events = commit::removed(self.record, self.history, &point);
        // What those below did is taken back with it, and must not be once more.
        let theirs = below.patches.iter().filter(|patch| patch.is_ours && patch.part.session_id != self.record.id);
        let theirs: Vec<Event> = theirs.map(|patch| commit::gone(&patch.part)).collect();
        self.record.revert = None;
        events.extend(theirs);
        events.push(self.updated());
        self.record_all(events).await?;
        Ok(true)
    }

    /// When what is taken back was, in Unix milliseconds.
    fn taken_back_at(&self) -> Option<u64> {
        self.record.revert.as_ref()?.time
    }

    fn stands(&self) -> Option<Point> {
        Point::of(self.record.revert.as_ref()?, self.history)
    }

    fn none(&self, none: NoPoint, rewind: &Rewind) -> SessionError {
        let session = self.record.id.clone();
        match (none, &rewind.to) {
            (NoPoint::Message(message), _) => SessionError::NoMessage { session, message },
            (NoPoint::Part(part), _) => SessionError::Undo(format!("the message has no part {part}")),
            (NoPoint::Nothing, To::Forth | To::End) => SessionError::NothingToRedo(session),
            (NoPoint::Nothing, To::Back | To::Before(..)) => SessionError::NothingToUndo(session),
        }
    }

    /// The prompts between where the session stands and where it goes.
    fn prompts(&self, stands: Option<&Point>, target: Option<&Point>) -> Vec<String> {
        let messages = self.history.messages();
        let at = |point: Option<&Point>| point.map_or(messages.len(), |point| point.at);
        let (from, to) = (at(stands).min(at(target)), at(stands).max(at(target)));
        (from..to).filter_map(|at| point::words(messages, at)).collect()
    }

    /// What taking back has changed so far.
    async fn taken_back(&self, past: &Past) -> (Vec<Change>, Vec<String>) {
        let Some(hash) = self.record.revert.as_ref().and_then(|revert| revert.snapshot.as_ref()) else {
            return (Vec::new(), Vec::new());
        };
        match changes(past, hash).await {
            Ok(list) => (list, Vec::new()),
            Err(why) => (Vec::new(), vec![format!("what was changed when it was taken back is not known: {why}")]),
        }
    }

    /// Leave for the person's own hand to change `paths`.
    async fn grant(&self, paths: impl IntoIterator<Item = PathBuf>) -> Result<Grant, SessionError> {
        let paths: HashSet<PathBuf> = paths.into_iter().collect();
        let mut effects: Vec<Effect> = paths.into_iter().map(Effect::Write).collect();
        effects.sort_by_key(Effect::in_words);
        let access = Access { effects, ..Access::new(UNDO, "*") };
        let asker = Asker { session: self.record.id.clone(), call: None };
        let denied = |denied: haft_permission::Denied| SessionError::Refused(denied.to_string());
        self.gate.ask(&asker, &everything(), access).await.map_err(denied)
    }

    /// What others had in files that were forced on the way to the end, and that nothing else would name any more, becomes a
    /// part of the last message: the next undo brings it back.
    async fn keep_forced(&mut self, past: &Past, taken_back: &[Change], done: &[Change]) -> Result<(), SessionError> {
        let lost = lost(taken_back, done);
        let Some(turned) = self.history.messages().last().filter(|_| !lost.is_empty()) else { return Ok(()) };
        let message_id = turned.info.id().clone();
        let files = lost.iter().map(|change| change.path.display().to_string()).collect();
        let hash = put(past, lost).await?;
        let (id, session_id, now) = (self.clock.mint(), self.record.id.clone(), self.clock.now_ms());
        let kind = PartKind::Patch { hash, files, call_id: None, time: Some(RetryTime { created: now }) };
        let part = Box::new(Part { id, session_id: session_id.clone(), message_id, kind });
        self.record_all(vec![Event::PartUpdated { session_id, part, time: now }]).await
    }

    /// Stores where the session stands now, and tells what its files come to.
    async fn finish(&mut self, past: &Past, revert: Option<Revert>) -> Result<(), SessionError> {
        self.record.revert = revert;
        let stands = self.stands();
        let all = gather(self.journal, &self.record.id, self.history, None, Below::Read).await?;
        let hidden = match &stands {
            None => Gathered::default(),
            Some(point) => {
                let hidden = gather(self.journal, &self.record.id, self.history, Some(point), Below::Read).await?;
                hidden.until(&self.record.id, self.taken_back_at())
            }
        };
        let tally = tally(past, Tally::default(), without(all.patches, &hidden)).await;
        let summary = tally.summary();
        self.record.summary = Some(summary);
        let session_id = self.record.id.clone();
        let updated = self.updated();
        self.record_all(vec![updated, Event::SessionDiff { session_id, diff: tally.diffs() }]).await
    }

    async fn store(&mut self, revert: Option<Revert>) -> Result<(), SessionError> {
        self.record.revert = revert;
        let updated = self.updated();
        self.record_all(vec![updated]).await
    }

    fn updated(&mut self) -> Event {
        self.record.time.updated = self.clock.now_ms();
        Event::SessionUpdated { session_id: self.record.id.clone(), info: Box::new(self.record.clone()) }
    }

    async fn record_all(&mut self, events: Vec<Event>) -> Result<(), SessionError> {
        self.journal.record_all(events.clone()).await?;
        events.iter().for_each(|event| self.history.apply(event));
        Ok(())
    }
}

/// The messages of a session that are not taken back, and how many are.
pub fn shown<'a>(record: &Record, history: &'a History) -> (&'a [Turned], usize) {
    let messages = history.messages();
    let point = record.revert.as_ref().and_then(|revert| Point::of(revert, history));
    let (shown, hidden) = messages.split_at(point.map_or(messages.len(), |point| point.first_whole()));
    (shown, hidden.len())
}

/// Opens the stored session `id` for as long as this takes, and goes where `rewind` says. No model is needed.
pub(crate) async fn rewind_stored(
    journal: &Journal,
    clock: &Clock,
    gate: &Gate,
    past: Option<&Past>,
    id: &SessionId,
    rewind: &Rewind,
) -> Result<Rewound, SessionError> {
    let unknown = || SessionError::Unknown(id.clone());
    journal.session(id).await?.ok_or_else(unknown)?;
    let _lease = journal.claim(id)?;
    let mut record = journal.session(id).await?.ok_or_else(unknown)?;
    let mut history = journal.history(id).await?;
    if let Some(past) = past {
        past.settle(journal, clock, id, &mut history).await?;
    }
    Hand { journal, clock, gate, past, record: &mut record, history: &mut history }.rewind(rewind).await
}

/// What has to be done to files: what was taken back comes again, then what is to be taken back goes. And the files of which
/// a change that goes was only found.
async fn steps(
    past: &Past,
    taken_back: &[Change],
    patches: Vec<Patch>,
    others: &Others,
) -> (Vec<Step>, HashSet<PathBuf>) {
    let mut steps: Vec<Step> = taken_back.iter().rev().cloned().map(Step::back).collect();
    let past = past.clone();
    let lists = blocking(move || {
        let lists = patches.iter().map(|patch| ((patch.began, patch.time), list(past.snapshots.keep(), patch)));
        lists.collect::<Vec<_>>()
    });
    let mut found = HashSet::new();
    for (span, changes) in lists.await.unwrap_or_default() {
        found.extend(changes.iter().filter(|change| change.found).map(|change| change.path.clone()));
        steps.extend(changes.into_iter().map(|change| Step::back(others.doubt(change, span))));
    }
    (steps, found)
}

/// The changes of one call, the latest first. Where they are not kept any more, the files are told as such.
fn list(keep: &Keep, patch: &Patch) -> Vec<Change> {
    let kept = patch.hash.parse::<Hash>().map_err(|error| error.to_string());
    match kept.and_then(|hash| keep.changes(&hash).map_err(|error| with_causes(&error))) {
        Ok(mut changes) => {
            changes.reverse();
            changes
        }
        Err(why) => {
            let lost = || State::Unkept { why: why.clone() };
            let change = |path: &String| Change::new(path, lost(), lost());
            patch.files.iter().map(change).collect()
        }
    }
}

fn revert(point: &Point, snapshot: Option<String>, diff: Option<String>, time: Option<u64>) -> Revert {
    let part_id = point.part.as_ref().map(|(id, _)| id.clone());
    Revert { message_id: point.message.clone(), part_id, snapshot, diff, to_end: false, time }
}

/// The patches of `changes`, whole ones as far as they fit.
async fn diff_text(past: &Past, changes: Vec<Change>) -> Result<String, SessionError> {
    let Past { snapshots, files } = past.clone();
    let text = move || {
        let (until, mut text) = (diffs::soon(), String::new());
        for Change { path, before, after, .. } in changes {
            let patch = file_diff(&files.title(&path), &before, &after, snapshots.keep(), until).patch;
            if text.len() + patch.len() <= MAX_DIFF {
                text.push_str(&patch);
            }
        }
        text
    };
    blocking(text).await
}

async fn changes(past: &Past, hash: &str) -> Result<Vec<Change>, String> {
    let hash: Hash = hash.parse().map_err(|error: haft_snapshot::BadHash| error.to_string())?;
    let past = past.clone();
    let read = blocking(move || past.snapshots.keep().changes(&hash).map_err(|error| with_causes(&error)));
    read.await.map_err(|error| error.to_string())?
}

/// Keeps a list of changes and returns its name.
async fn put(past: &Past, changes: Vec<Change>) -> Result<String, SessionError> {
    let past = past.clone();
    let kept = blocking(move || past.snapshots.keep().put_changes(&changes)).await?;
    kept.map(|hash| hash.to_string()).map_err(|error| SessionError::Undo(with_causes(&error)))
}

/// Does slow work beside the runtime.
async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, SessionError> {
    tokio::task::spawn_blocking(work).await.map_err(|error| SessionError::Undo(error.to_string()))
}
