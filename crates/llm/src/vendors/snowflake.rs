//! Snowflake Cortex: models below the user's account.

use super::{Wanted, Wants, part};
use crate::catalogue::Dialect;

const ACCOUNT: &str = "SNOWFLAKE_ACCOUNT";

pub(super) fn wants(wanted: &Wanted<'_>) -> Result<Wants, String> {
    let account = part("the name of an account", wanted.needed("the name of your account", "account", &[ACCOUNT])?)?;
    Ok(Wants {
        dialect: Some(Dialect::Chat),
        base_url: Some(format!("https://{account}.snowflakecomputing.com/api/v2/cortex/v1")),
        variables: vec![(ACCOUNT, account)],
        ..Wants::default()
    })
}
