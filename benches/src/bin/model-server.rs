//! Serves a scenario as if it were a model, for trying things by hand.
//!
//! ```sh
//! cargo run -p haft-bench --bin model-server -- scenario.jsonl 8080
//! ```

use std::io::{Write, stdout};
use std::net::SocketAddr;
use std::path::PathBuf;

use anyhow::Context;
use haft_bench::model_server::ModelServer;

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let mut arguments = std::env::args().skip(1);
    let scenario: PathBuf = arguments.next().context("usage: model-server SCENARIO [PORT]")?.into();
    let port = arguments.next().map_or(Ok(0), |port| port.parse()).context("PORT is a number up to 65535")?;

    let answers = haft_llm::read_scenario(&scenario)?;
    let address = SocketAddr::from(([127, 0, 0, 1], port));
    let server =
        ModelServer::start_at(address, answers).await.with_context(|| format!("cannot listen at {address}"))?;
    writeln!(stdout(), "{}", server.url())?;
    // Until the process is stopped.
    std::future::pending::<()>().await;
    Ok(())
}
