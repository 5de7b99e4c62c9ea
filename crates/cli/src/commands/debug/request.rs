//! `haft debug request`: the first request that `run` would send, unsent.

use anyhow::Result;
use haft_permission::Answerer;
use haft_session::{Estimate, Prompt, Session};
use haft_store::Journal;

use crate::args::DebugRequest;
use crate::commands::run::absolute;
use crate::report::{Exit, Usage};
use crate::wire::Ground;
use crate::{agents, models, render};

pub(crate) async fn run(args: DebugRequest) -> Result<Exit> {
    let ground = Ground::at(args.dir.as_deref())?.heard().await?;
    let text = args.message.join(" ");
    if text.trim().is_empty() && args.file.is_empty() {
        return Err(Usage("there is no prompt; write it behind `haft debug request`".to_owned()).into());
    }
    let all = agents::all(&ground)?;
    let agent = agents::choose(&all, args.agent.as_deref());
    let named = args.model.model.as_deref().filter(|named| !named.is_empty());
    let model = models::find(named.or(agent.model.as_deref()), None, &ground.config).await?;
    let mut prompt = Prompt::with_files(text, args.file.iter().map(|file| absolute(file)).collect()).await?;
    prompt = prompt.agent(agent.name);
    let provider = model.provider.clone();
    // What would ask is a no: looking at a request must not run anything that nobody allowed.
    let setup = ground.setup(Journal::memory(), model, Answerer::Nobody, &haft_session::one_shot(), all)?;
    let (limits, name) = (setup.model.limits, setup.model.name());
    let request = Session::preview(setup, prompt).await?;
    let estimate = Estimate::of(&request);
    let reads = [limits.context, limits.input].into_iter().filter(|limit| *limit > 0).min();
    let reads = reads.map(|limit| format!("; {name} reads at most {limit}")).unwrap_or_default();
    render::complain(&format!(
        "about {} tokens: prompt {}, tools {}, conversation {}{reads}",
        estimate.total(),
        estimate.system,
        estimate.tools,
        estimate.messages
    ));
    let body = provider.body(request);
    let text = String::from_utf8_lossy(&body);
    // Byte for byte, except where a terminal would act on it.
    let text = if render::out_is_terminal() { render::escaped(&text).into() } else { text };
    render::say(&text)?;
    Ok(Exit::Done)
}
