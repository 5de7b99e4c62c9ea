//! What a client of ours is told while it waits.

use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use haft_mcp::rmcp::ErrorData;
use haft_mcp::rmcp::model::{
    CallToolResult, ContentBlock, Implementation, InitializeResult, JsonObject, ServerCapabilities, Tool,
};
use haft_mcp::server::{ALIVE, Client, Offer, stream};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

/// A tool that says what it does, and is then silent for a while.
struct Slow;

impl Offer for Slow {
    fn about(&self) -> InitializeResult {
        InitializeResult::new(ServerCapabilities::builder().enable_tools().build())
            .with_server_info(Implementation::new("slow", "1"))
    }

    fn tools(&self) -> Vec<Tool> {
        Vec::new()
    }

    fn call<'a>(
        &'a self,
        _name: &'a str,
        _arguments: JsonObject,
        client: Client,
    ) -> BoxFuture<'a, Result<CallToolResult, ErrorData>> {
        Box::pin(async move {
            let (tell, told) = watch::channel(String::new());
            tell.send_replace("begins".to_owned());
            let work = async {
                tokio::time::sleep(ALIVE * 2 + Duration::from_secs(1)).await;
                // Who works may be done with telling before it is done.
                drop(tell);
                tokio::time::sleep(ALIVE).await;
            };
            tokio::select! {
                () = work => Ok(CallToolResult::success(vec![ContentBlock::text("done")])),
                never = client.follow(told) => match never {},
            }
        })
    }
}

/// What comes back for a call with this `_meta`, up to its result.
async fn told(meta: Value) -> Vec<Value> {
    let (ours, theirs) = tokio::io::duplex(1 << 16);
    let (read, write) = tokio::io::split(theirs);
    let serving = tokio::spawn(stream(Arc::new(Slow), read, write, CancellationToken::new()));
    let (read, mut write) = tokio::io::split(ours);
    let hello =
        json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}});
    let messages = [
        json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": hello}),
        json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
        json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "slow", "arguments": {}, "_meta": meta}}),
    ];
    for message in messages {
        write.write_all(format!("{message}\n").as_bytes()).await.unwrap();
    }
    let mut lines = BufReader::new(read).lines();
    let mut told = Vec::new();
    loop {
        let line = lines.next_line().await.unwrap().unwrap();
        let message: Value = serde_json::from_str(&line).unwrap();
        match message["id"].as_u64() {
            Some(0) => {}
            Some(_) => break,
            None => told.push(message["params"].clone()),
        }
    }
    drop((lines, write));
    serving.await.unwrap().unwrap();
    told
}

#[tokio::test(start_paused = true)]
async fn a_client_that_wants_to_know_is_told_that_a_silent_call_goes_on() {
    let step = |progress: f64| json!({"progressToken": 7, "progress": progress, "message": "begins"});
    assert_eq!(told(json!({"progressToken": 7})).await, [step(1.0), step(2.0), step(3.0), step(4.0)]);
    assert_eq!(told(json!({})).await, Vec::<Value>::new());
}
