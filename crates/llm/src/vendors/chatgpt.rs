//! What a ChatGPT subscription pays for: OpenAI's models at an address of their own. Tokens come from signing in.

use serde_json::Value;

use super::{Wanted, Wants, openai};
use crate::Manners;
use crate::auth::chatgpt::BASE_URL;
use crate::catalogue::Dialect;

/// Whether the user signed in with a subscription.
pub(super) fn is_signed_in(wanted: &Wanted<'_>) -> bool {
    wanted.stored.get("type").is_some_and(|kind| kind == "oauth")
}

pub(super) fn wants(wanted: &Wanted<'_>) -> Wants {
    let mut extra = openai::extra(wanted);
    // It stores nothing, whatever it is asked, and refuses a limit.
    extra.insert("store".to_owned(), Value::Bool(false));
    extra.insert("max_output_tokens".to_owned(), Value::Null);
    Wants {
        dialect: Some(Dialect::Responses),
        base_url: Some(BASE_URL.to_owned()),
        // The account that pays is said by whoever signs.
        headers: vec![("originator".to_owned(), "haft".to_owned())],
        manners: Manners::ChatGpt,
        extra,
        ..Wants::default()
    }
}
