//! GitLab Duo: models of Anthropic's and OpenAI's behind GitLab's gateway, in the dialects of those who made them.

use super::{Wanted, Wants, openai};
use crate::Secret;
use crate::auth::{Context, Places, gitlab};
use crate::catalogue::Dialect::{self, Chat, Messages, Responses};

/// What Duo's names stand for, and what is spoken for them; as GitLab's own driver has it (`gitlab-ai-provider` 6.15).
const MODELS: [(&str, &str, Dialect); 25] = [
    ("duo-chat-fable-5-1", "claude-fable-5-1", Messages),
    ("duo-chat-fable-5", "claude-fable-5", Messages),
    ("duo-chat-opus-5", "claude-opus-5", Messages),
    ("duo-chat-opus-4-8", "claude-opus-4-8", Messages),
    ("duo-chat-opus-4-7", "claude-opus-4-7", Messages),
    ("duo-chat-opus-4-6", "claude-opus-4-6", Messages),
    ("duo-chat-opus-4-5", "claude-opus-4-5-20251101", Messages),
    ("duo-chat-sonnet-5", "claude-sonnet-5", Messages),
    ("duo-chat-sonnet-4-6", "claude-sonnet-4-6", Messages),
    ("duo-chat-sonnet-4-5", "claude-sonnet-4-5-20250929", Messages),
    ("duo-chat-haiku-4-5", "claude-haiku-4-5-20251001", Messages),
    ("duo-chat-gpt-6-astra", "gpt-6-astra", Responses),
    ("duo-chat-gpt-5-6-sol", "gpt-5.6-sol", Responses),
    ("duo-chat-gpt-5-6-terra", "gpt-5.6-terra", Responses),
    ("duo-chat-gpt-5-6-luna", "gpt-5.6-luna", Responses),
    ("duo-chat-gpt-5-codex", "gpt-5-codex", Responses),
    ("duo-chat-gpt-5-2-codex", "gpt-5.2-codex", Responses),
    ("duo-chat-gpt-5-3-codex", "gpt-5.3-codex", Responses),
    ("duo-chat-gpt-5-1", "gpt-5.1-2025-11-13", Chat),
    ("duo-chat-gpt-5-2", "gpt-5.2-2025-12-11", Chat),
    ("duo-chat-gpt-5-4", "gpt-5.4-2026-03-05", Chat),
    ("duo-chat-gpt-5-5", "gpt-5.5-2026-04-23", Chat),
    ("duo-chat-gpt-5-mini", "gpt-5-mini-2025-08-07", Chat),
    ("duo-chat-gpt-5-4-mini", "gpt-5.4-mini", Chat),
    ("duo-chat-gpt-5-4-nano", "gpt-5.4-nano", Chat),
];

pub(super) fn wants(wanted: &Wanted<'_>) -> Result<Wants, String> {
    let named = MODELS.iter().find(|(name, ..)| *name == wanted.model);
    let &(_, model, dialect) = named.ok_or_else(|| {
        format!(
            "it is not known which model gitlab/{} stands for; haft models gitlab lists those that are",
            wanted.model
        )
    })?;
    let instance = wanted.setting("instanceUrl", &["GITLAB_INSTANCE_URL"]);
    let gateway = wanted.setting("aiGatewayUrl", &["GITLAB_AI_GATEWAY_URL"]);
    let gateway = gateway.as_deref().unwrap_or("https://cloud.gitlab.com").trim_end_matches('/');
    let below = match dialect {
        Messages => "anthropic/v1",
        Chat | Responses | Dialect::Gemini | Dialect::Converse => "openai/v1",
    };
    let key = wanted.setting("apiKey", &["GITLAB_TOKEN"]).map(|token| {
        let places = Places::from_variable((wanted.env)(Places::VARIABLE).as_deref());
        let context = places.and_then(Context::new).map_err(|error| error.to_string())?;
        gitlab::key(instance.as_deref().unwrap_or("https://gitlab.com"), Secret::new(token), context)
    });
    let extra = match dialect {
        Responses => openai::extra(&Wanted { model, ..*wanted }),
        Chat | Messages | Dialect::Gemini | Dialect::Converse => Default::default(),
    };
    Ok(Wants {
        dialect: Some(dialect),
        base_url: Some(format!("{gateway}/ai/v1/proxy/{below}")),
        model: Some(model.to_owned()),
        key: key.transpose()?,
        extra,
        ..Wants::default()
    })
}
