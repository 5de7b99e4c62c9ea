//! Many sessions at once in one process, over the library: what a server of many users does.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use futures::future::try_join_all;
use haft_llm::dialect::chat::{Chat, ChatManners};
use haft_llm::{Answer, Provider, Server, Step};
use haft_permission::{Action, Answerer, Gate, Rule};
use haft_project::{Files, Place, Processes};
use haft_protocol::{Clock, ModelRef};
use haft_session::{Agents, Commands, Folders, Model, NewSession, Options, Prompt, Questions, Session, Setup, TurnEnd};
use haft_store::Journal;
use haft_toolbox::World;
use serde_json::json;

/// The file that each step reads a part of.
pub const FILE: &str = "data.txt";

/// The answers of one session of `steps` steps: each reads other lines, and the last one speaks.
pub fn answers(steps: usize) -> Vec<Answer> {
    let read = |at: usize| Step::call("read", &json!({ "filePath": FILE, "offset": at * 5 + 1, "limit": 5 }));
    let reads = (0..steps.saturating_sub(1)).map(|at| Answer::new([read(at)]));
    reads.chain([Answer::new([Step::text("Done.")])]).collect()
}

/// Lets `sessions` sessions in `project` answer one prompt each with the model at `url`, all at once, kept in a database
/// in `folder`. Returns how long that took.
///
/// # Errors
///
/// When a session fails or does not end by itself.
pub async fn play(url: &str, project: &Path, folder: &Path, sessions: usize) -> Result<Duration> {
    let journal = Journal::open(&folder.join("haft.db")).await?;
    let setup = setup(model_at(url)?, project, folder, &journal)?;
    let started = Instant::now();
    let ends = (0..sessions).map(|_| async {
        let session = Session::create(setup.clone(), NewSession::default()).await?;
        let end = session.prompt(Prompt::text("Do as you are told.")).await?;
        ensure!(matches!(end, TurnEnd::Finished(_)), "a session ended with {end:?}");
        Ok(())
    });
    try_join_all(ends).await?;
    let took = started.elapsed();
    drop(setup);
    journal.close().await?;
    Ok(took)
}

/// The model that is served at `url`.
fn model_at(url: &str) -> Result<Arc<dyn Provider>> {
    let server = Server { provider: "bench".to_owned(), base_url: url.to_owned(), ..Server::default() };
    Ok(Arc::new(Chat::new(&server, ChatManners::default())?))
}

/// What sessions in `project` need that are kept in `journal`: all tools, allowed everything, and this model. `folder`
/// holds long outputs.
///
/// # Errors
///
/// When `project` is no folder, or nothing can be made in `folder`.
pub fn setup(provider: Arc<dyn Provider>, project: &Path, folder: &Path, journal: &Journal) -> Result<Setup> {
    let place = Place::find(project)?;
    let clock = Clock::system();
    let outputs = folder.join("outputs");
    std::fs::create_dir_all(&outputs).with_context(|| format!("{} cannot be made", outputs.display()))?;
    let teller = journal.clone();
    let gate = Gate::new(clock.clone(), Answerer::Nobody, move |event| teller.announce(event));
    let teller = journal.clone();
    let questions = Questions::new(clock.clone(), false, move |event| teller.announce(event));
    let files = Files::new(place.directory.clone(), place.worktree.clone());
    let world = World { files, processes: Processes::with_users_shell(Vec::new()) };
    let rules = vec![Rule::new("*", "*", Action::Allow)];
    let reference = ModelRef { provider_id: "bench".to_owned(), model_id: "bench".to_owned() };
    Ok(Setup {
        journal: journal.clone(),
        clock,
        gate,
        questions,
        registry: haft_toolbox::builtin(&world),
        agents: Agents::compose(&Folders::default(), &[], &[], &rules, None, Commands::Free).0,
        rules: Vec::new(),
        place,
        outputs,
        model: Model::new(reference, "bench", provider),
        options: Options::default(),
    })
}
