//! The session's model lent to a server of tools: an answer beside the conversation.

use std::sync::Arc;

use haft_llm::{AssistantPart, Content, Message as Asked, Purpose, Request};
use haft_tool::{Said, Sampled, Sampling, ToolError};

use crate::beside::{Heard, MAX_TIME};
use crate::task::Crew;

/// Asks the model of `crew`. What it costs counts for the session, and where that is spent nobody is asked.
///
/// # Errors
///
/// Why there is no answer, as a text for whoever wanted it.
pub(crate) async fn sample(crew: &Crew, asked: Sampling) -> Result<Sampled, ToolError> {
    let Crew { setup, cast, kin, .. } = crew;
    if setup.options.limits.cost.is_some_and(|limit| kin.spent.dollars() >= limit) {
        return Err(ToolError::Failed("this session may cost no more".to_owned()));
    }
    let model = &cast.model;
    if !model.provider.serves(Purpose::Sampling) {
        return Err(ToolError::Failed("the model of this session answers nobody else".to_owned()));
    }
    let Sampling { system, messages, max_output, temperature } = asked;
    let request = Request {
        model: model.api_id.clone(),
        system,
        messages: messages.into_iter().map(message).collect(),
        max_output: Some(model.limits.ask_for().map_or(max_output, |most| most.min(max_output))),
        temperature,
        extra: model.extra.clone(),
        purpose: Purpose::Sampling,
        ..Request::default()
    };
    let mut heard = Heard::default();
    let late = tokio::time::timeout(MAX_TIME, heard.listen(model, &request)).await.is_err();
    kin.charge(heard.cost, &heard.used);
    // The turn that the call belongs to writes the record.
    kin.owed.add(heard.cost, &heard.used);
    let Heard { text, cut, .. } = heard;
    match text {
        Some(text) => Ok(Sampled { text, model: model.reference.model_id.clone(), cut }),
        None if late => Err(ToolError::Failed(format!("the model did not answer within {} s", MAX_TIME.as_secs()))),
        None => Err(ToolError::Failed("the model could not be asked".to_owned())),
    }
}

fn message(said: Said) -> Arc<Asked> {
    let Said { by_model, text } = said;
    Arc::new(match by_model {
        true => Asked::Assistant { parts: vec![AssistantPart::Text { text, item: None }] },
        false => Asked::User { content: vec![Content::text(text)] },
    })
}
