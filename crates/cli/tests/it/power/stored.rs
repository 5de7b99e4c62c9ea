//! What a store holds, as text that can be compared.

use std::path::Path;

use haft_store::{Filter, Journal, StoreError};
use serde_json::json;

/// Everything in a store.
pub(crate) type Dump = String;

/// Opens the store in the folder `data` and reads all of it.
pub(crate) fn dump(data: &Path) -> Result<Dump, String> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(read(data)).map_err(|error| format!("{error} ({error:?})"))
}

async fn read(data: &Path) -> Result<Dump, StoreError> {
    let journal = Journal::open(&data.join("haft.db")).await?;
    let mut dump = String::new();
    for session in journal.sessions(&Filter::default()).await? {
        let history = journal.history(&session.id).await?;
        let messages: Vec<_> = history.messages().iter().map(|turned| json!([turned.info, turned.parts])).collect();
        let todos = journal.todos(&session.id).await?;
        dump.push_str(&json!([session, messages, todos]).to_string());
        dump.push('\n');
    }
    journal.close().await?;
    Ok(dump)
}
