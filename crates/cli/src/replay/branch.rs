//! Going on for real from the middle of a session, in a copy of its project.

use std::path::Path;

use anyhow::Result;
use haft_project::Place;
use haft_protocol::{Event, History, Message, MessageId, Session as Record, SessionId, Turned};
use haft_session::replay::{is_answer, words};
use haft_session::{Prompt, Setup};
use haft_store::Journal;

use crate::args::{Format, Replay};
use crate::commands::run::play;
use crate::folders::Folders;
use crate::replay::project::{Project, Servers, ground};
use crate::replay::recorded::Recorded;
use crate::report::Exit;
use crate::watch::Watch;
use crate::wire::clock;
use crate::{agents, models, render};

/// Where a session is left.
pub(crate) struct Fork<'a> {
    /// The message that is not kept any more.
    from: &'a MessageId,
    /// How many are kept.
    kept: usize,
    prompt: Prompt,
}

/// A session that is ready to go on in a copy.
pub(crate) struct Branch {
    setup: Setup,
    journal: Journal,
    id: SessionId,
    prompt: Prompt,
    /// What to say at the end.
    where_it_is: String,
}

/// Makes `recorded` ready to go on from `fork` with the model that `args` name, below `root`.
///
/// # Errors
///
/// When the project cannot be copied, there is no such model, or the copy's store cannot be written.
pub(crate) async fn prepare(
    args: &Replay,
    recorded: &Recorded,
    here: &Place,
    folders: &Folders,
    root: &Path,
    fork: Fork<'_>,
) -> Result<Branch> {
    let project = Project::copied(recorded, here, folders, root, Some(fork.from))?;
    project.notes.iter().for_each(|note| render::complain(&render::clean(&format!("! {note}"))));
    let ground = ground(here, project.place.clone(), folders, root, Servers::Asked)?;
    let usual = recorded.model();
    let usual = format!("{}/{}", usual.provider_id, usual.model_id);
    let named = args.model.model.clone().unwrap_or(usual);
    let model = models::find(Some(&named), None, &ground.config).await?;
    let data = ground.folders.data.join("haft.db");
    let journal = Journal::open(&data).await?;
    let kept = &recorded.history.messages()[..fork.kept];
    let id = begin(&journal, recorded, kept, &project.place).await?;
    let answerer = crate::ask::answerer(args.auto);
    let setup = ground.setup(journal.clone(), model, answerer, &[], agents::all(&ground)?)?;
    let where_it_is = format!(
        "the copy is in {}; what was said: HAFT_DB={} haft session show {id}",
        project.place.directory.display(),
        data.display()
    );
    Ok(Branch { setup, journal, id, prompt: fork.prompt, where_it_is })
}

impl Branch {
    /// Goes on for real.
    ///
    /// # Errors
    ///
    /// As `run` fails.
    pub(crate) async fn run(self) -> Result<Exit> {
        let Self { setup, journal, id, prompt, where_it_is } = self;
        let before = journal.session(&id).await?;
        let watch = Watch { format: Format::Default, thinking: false, before, go_on: false, aside: false };
        let end = play(setup, Some(id), None, prompt, watch, async |_| Ok(())).await;
        journal.close().await?;
        render::complain(&where_it_is);
        end
    }
}

/// Where to leave a session before its model's answer `step`, counted from 1.
///
/// # Errors
///
/// When there is no such answer.
pub(crate) fn fork(history: &History, step: usize) -> Result<Fork<'_>, String> {
    let messages = history.messages();
    let answers: Vec<usize> = (0..messages.len()).filter(|at| is_answer(&messages[*at])).collect();
    let at = step.checked_sub(1).and_then(|step| answers.get(step)).copied();
    let at = at.ok_or_else(|| format!("the session has {} answers; --from counts them from 1", answers.len()))?;
    // The first answer to a prompt is asked for by that prompt.
    let asked = at.checked_sub(1).map(|before| &messages[before]).filter(|before| is_prompt(before));
    let kept = if asked.is_some() { at - 1 } else { at };
    let words = asked.and_then(words).filter(|words| !words.trim().is_empty());
    let prompt = Prompt::plain(words.unwrap_or_else(|| "Go on from here.".to_owned()));
    Ok(Fork { from: messages[at].info.id(), kept, prompt })
}

fn is_prompt(turned: &Turned) -> bool {
    matches!(turned.info, Message::User(_))
}

/// Stores the messages `kept` of a session, and the tasks that were begun before they end, as what works in `place`.
async fn begin(journal: &Journal, recorded: &Recorded, kept: &[Turned], place: &Place) -> Result<SessionId> {
    journal.record_all(stored(&recorded.record, kept, place)?).await?;
    let ends = kept.last().map_or(0, |last| last.info.created());
    for (task, history) in recorded.tasks.iter().filter(|(task, _)| task.time.created <= ends) {
        journal.record_all(stored(task, history.messages(), place)?).await?;
    }
    Ok(recorded.record.id.clone())
}

/// What stores the session `record` with `messages` as one that works in `place`.
fn stored(record: &Record, messages: &[Turned], place: &Place) -> Result<Vec<Event>> {
    let now = clock()?.now_ms();
    let session_id = record.id.clone();
    let info = Record { directory: place.directory.display().to_string(), revert: None, ..record.clone() };
    let mut events = vec![Event::SessionCreated { session_id: session_id.clone(), info: Box::new(info) }];
    for turned in messages {
        events.push(Event::MessageUpdated { session_id: session_id.clone(), info: Box::new(turned.info.clone()) });
        let part = |part: &haft_protocol::Part| {
            let (session_id, part) = (session_id.clone(), Box::new(part.clone()));
            Event::PartUpdated { session_id, part, time: now }
        };
        events.extend(turned.parts.iter().map(part));
    }
    Ok(events)
}
