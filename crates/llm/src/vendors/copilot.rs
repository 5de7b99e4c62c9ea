//! GitHub Copilot: models of several makers behind one address. Tokens come from signing in.

use super::{Wanted, Wants, openai};
use crate::Manners;
use crate::auth::copilot;
use crate::catalogue::Dialect;
use crate::dialect::responses::Family;

pub(super) fn wants(wanted: &Wanted<'_>) -> Result<Wants, String> {
    let enterprise = wanted.setting("enterpriseUrl", &[]);
    let enterprise = enterprise.as_deref().map(copilot::domain).transpose().map_err(|error| error.to_string())?;
    let responds = responds(wanted.model);
    Ok(Wants {
        dialect: Some(if responds { Dialect::Responses } else { Dialect::Chat }),
        base_url: Some(copilot::base_url(enterprise.as_deref())),
        manners: Manners::Copilot,
        extra: if responds { openai::extra(wanted) } else { Default::default() },
        ..Wants::default()
    })
}

/// Whether a model is asked for responses there: the newer ones of OpenAI's, but for the smallest of the first.
fn responds(model: &str) -> bool {
    Family::of(model).gpt.is_some_and(|version| version >= 5) && !model.starts_with("gpt-5-mini")
}
