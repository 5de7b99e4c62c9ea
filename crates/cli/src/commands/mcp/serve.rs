//! `haft mcp serve`: the tools of a folder for another agent.

use std::future::IntoFuture;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;

use anyhow::{Context, Result};
use haft_mcp::server;
use haft_mcp::server::http::{self, Token};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use super::offer::{Shared, Tools};
use crate::args::McpServe;
use crate::report::{Exit, Usage};
use crate::signals::Signals;
use crate::wire::{Ground, MCP_TOKEN};
use crate::{agents, render};

pub(crate) async fn run(args: McpServe) -> Result<Exit> {
    let McpServe { http, auto, agent, dir } = args;
    let ground = Ground::at(dir.as_deref())?.heard().await?;
    agents::named(&agents::all(&ground)?, agent.as_deref())?;
    let shared = Arc::new(Shared::new(ground, auto, agent).await?);
    let stop = CancellationToken::new();
    let mut signals = Signals::listen()?;
    let mut serving = pin!(serve(shared.clone(), http, stop.clone()));
    tokio::select! {
        () = shared.watch() => Ok(Exit::Done),
        served = &mut serving => served.map(|()| Exit::Done),
        () = signals.next() => {
            stop.cancel();
            // Running calls are stopped with it. Who does not want to wait for them stops it twice.
            tokio::select! {
                served = serving => served?,
                () = signals.next() => {}
            }
            Ok(Exit::Interrupted)
        }
    }
}

async fn serve(shared: Arc<Shared>, http: Option<SocketAddr>, stop: CancellationToken) -> Result<()> {
    let Some(address) = http else {
        return server::stdio(Arc::new(Tools::new(shared)), stop)
            .await
            .map_err(|error| Usage(format!("{error}; haft mcp serve is for programs that do")).into());
    };
    let listener = TcpListener::bind(address).await.with_context(|| format!("cannot listen on {address}"))?;
    let at = listener.local_addr()?;
    if !at.ip().is_loopback() {
        render::complain(&format!(
            "warning: everybody who reaches {at} can try; the token goes there unencrypted. Put something with TLS before it"
        ));
    }
    let token = match std::env::var(MCP_TOKEN).ok().filter(|token| !token.is_empty()) {
        Some(token) => Token::of(&token),
        None => {
            let token = Token::random().context("the system has no random numbers to give")?;
            render::complain(&format!("token: {}", token.reveal()));
            token
        }
    };
    render::complain(&format!("listening on http://{at}{}", http::PATH));
    let offer = move || Ok(Tools::new(shared.clone()));
    http::serve(listener, Some(token), offer, stop).into_future().await.context("serving ended")
}
