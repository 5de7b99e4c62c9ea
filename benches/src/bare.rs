//! What a request costs that nobody thought about: a bare client writes it, and the model server reads it.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use tokio::runtime::Runtime;

use crate::model_server::ModelServer;
use crate::stats::ms;

/// Requests of each size. The quickest counts: it is what the bytes need, and what is left out is never too much.
const TRIES: usize = 15;

/// Milliseconds from the first byte written to the whole body read, for a body of each of `sizes` bytes, over one
/// connection that is kept open.
///
/// # Errors
///
/// When the server cannot be started or reached.
pub fn costs(runtime: &Runtime, sizes: &[usize]) -> Result<Vec<f64>> {
    let server = runtime.block_on(ModelServer::canned(200, "text/plain", "ok"))?;
    let address = server.url().trim_start_matches("http://").trim_end_matches("/v1");
    let mut socket = TcpStream::connect(address).with_context(|| format!("cannot reach {address}"))?;
    socket.set_nodelay(true)?;
    socket.set_read_timeout(Some(Duration::from_secs(30)))?;
    let mut started = Vec::new();
    for size in sizes {
        let head = format!("POST /v1/bare HTTP/1.1\r\nhost: {address}\r\ncontent-length: {size}\r\n\r\n");
        let mut request = head.into_bytes();
        request.resize(request.len() + size, b'x');
        for _ in 0..TRIES {
            started.push(Instant::now());
            socket.write_all(&request)?;
            answer(&mut socket)?;
        }
    }
    let requests = server.requests();
    let took = started.iter().zip(&requests).map(|(started, request)| ms(request.received - *started));
    let took: Vec<f64> = took.collect();
    Ok(took.chunks(TRIES).filter_map(|tries| tries.iter().copied().min_by(f64::total_cmp)).collect())
}

/// Reads the answer, which ends in `ok`.
fn answer(socket: &mut TcpStream) -> Result<()> {
    let mut got = Vec::new();
    let mut buffer = [0; 1024];
    while !got.ends_with(b"\r\n\r\nok") {
        let count = socket.read(&mut buffer)?;
        anyhow::ensure!(count > 0 && got.len() < 16 * 1024, "the model server did not answer as it should");
        got.extend_from_slice(&buffer[..count]);
    }
    Ok(())
}
