//! An HTTP server that speaks chat completions and responses, and plays [`Answer`]s.
//!
//! It is quick, because what others add is measured against it: an answer without waits leaves in one write, with
//! its head.

mod answer;
mod log;
mod socket;

use std::io;
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4};
use std::sync::Arc;
use std::time::Instant;

use bytes::Bytes;
use futures::stream::BoxStream;
use futures::{StreamExt, stream};
use haft_llm::{Answer, Playlist, Purpose};
use http_body_util::{BodyExt, Either, Full, Limited, StreamBody};
use hyper::body::Frame;
use hyper::header::CONTENT_TYPE;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Response, StatusCode};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{JoinHandle, JoinSet};

use answer::{Dialect, Head, Piece, Shape};
use log::Log;
pub use log::Received;
use socket::Socket;

/// Largest request that is read, in bytes.
pub const MAX_REQUEST: usize = 64 * 1024 * 1024;

/// Most requests that are answered, because all of them are kept.
pub const MAX_REQUESTS: usize = 10_000;

/// Most that is kept of all their bodies, in bytes.
pub const MAX_KEPT: usize = 1024 * 1024 * 1024;

/// A free port of this machine.
const LOOPBACK: SocketAddr = SocketAddr::V4(SocketAddrV4::new(Ipv4Addr::LOCALHOST, 0));

/// The server. It stops when it is dropped, and open connections with it.
#[derive(Debug)]
pub struct ModelServer {
    url: String,
    log: Arc<Log>,
    serving: JoinHandle<()>,
}

enum Plan {
    /// Answers made ready, so that none is written while somebody waits.
    Play {
        chat: Vec<Shape>,
        responses: Vec<Shape>,
        list: Playlist,
    },
    Canned {
        status: StatusCode,
        content_type: String,
        body: Bytes,
    },
}

impl ModelServer {
    /// Plays `answers` at a free port of this machine. [`Playlist`] says which one a request gets.
    ///
    /// # Errors
    ///
    /// When no port can be opened.
    pub async fn start(answers: Vec<Answer>) -> io::Result<Self> {
        Self::start_at(LOOPBACK, answers).await
    }

    /// Plays `answers` at `address`.
    ///
    /// # Errors
    ///
    /// When the address cannot be listened at.
    pub async fn start_at(address: SocketAddr, answers: Vec<Answer>) -> io::Result<Self> {
        let list = Playlist::new(&answers);
        let shapes = |dialect| answers.iter().map(|answer| Shape::of(answer, dialect)).collect();
        let plan = Plan::Play { chat: shapes(Dialect::Chat), responses: shapes(Dialect::Responses), list };
        Self::serve(address, plan).await
    }

    /// Answers every request with the same bytes, at a free port of this machine.
    ///
    /// # Errors
    ///
    /// When no port can be opened, or `status` is none.
    pub async fn canned(status: u16, content_type: &str, body: impl Into<Bytes>) -> io::Result<Self> {
        let status = StatusCode::from_u16(status).map_err(io::Error::other)?;
        let plan = Plan::Canned { status, content_type: content_type.to_owned(), body: body.into() };
        Self::serve(LOOPBACK, plan).await
    }

    async fn serve(address: SocketAddr, plan: Plan) -> io::Result<Self> {
        let listener = TcpListener::bind(address).await?;
        let url = format!("http://{}/v1", listener.local_addr()?);
        let log = Arc::new(Log::default());
        let serving = tokio::spawn(accept(listener, Arc::new(plan), Arc::clone(&log)));
        Ok(Self { url, log, serving })
    }

    /// The base address, which ends in `/v1`.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// The requests so far, in the order in which they were whole.
    pub fn requests(&self) -> Vec<Received> {
        self.log.all()
    }

    /// Waits until there are `count` requests, and hands out all there are.
    pub async fn wait_for_requests(&self, count: usize) -> Vec<Received> {
        self.log.wait(count).await;
        self.log.all()
    }
}

impl Drop for ModelServer {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

async fn accept(listener: TcpListener, plan: Arc<Plan>, log: Arc<Log>) {
    // The set owns the connections: they end with this task.
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            Ok((socket, _)) = listener.accept() => {
                connections.spawn(connection(socket, Arc::clone(&plan), Arc::clone(&log)));
            }
            Some(_) = connections.join_next() => {}
        }
    }
}

async fn connection(socket: TcpStream, plan: Arc<Plan>, log: Arc<Log>) {
    // Without this, a small last piece may wait for an acknowledgement.
    let _ = socket.set_nodelay(true);
    let socket = Socket::new(socket, Arc::clone(&log));
    let current = socket.current();
    let service = service_fn(|request| {
        let (plan, log, current) = (&plan, &log, &current);
        async move {
            let (head, body) = request.into_parts();
            let body = match Limited::new(body, MAX_REQUEST).collect().await {
                Ok(body) => body.to_bytes(),
                Err(_) => return Ok(refuse(StatusCode::PAYLOAD_TOO_LARGE, "the request is larger than 64 MiB")),
            };
            let Some(number) = log.add(&head, body.clone(), Instant::now()) else {
                return Ok(refuse(
                    StatusCode::SERVICE_UNAVAILABLE,
                    "this server keeps every request, and has no room for more",
                ));
            };
            current.set(number);
            answer(plan, &head.method, head.uri.path(), &body).await
        }
    });
    // Errors are connections that were dropped, by either side.
    let _ = http1::Builder::new().serve_connection(socket, service).await;
}

type Streamed = StreamBody<BoxStream<'static, Result<Frame<Bytes>, Dropped>>>;
type Body = Either<Full<Bytes>, Streamed>;

/// The scenario wants the connection dropped.
#[derive(Debug)]
struct Dropped;

impl std::fmt::Display for Dropped {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("the scenario drops the connection here")
    }
}

impl std::error::Error for Dropped {}

async fn answer(plan: &Plan, method: &Method, path: &str, body: &[u8]) -> Result<Response<Body>, Dropped> {
    let (chat, responses, list) = match plan {
        Plan::Canned { status, content_type, body } => return Ok(whole(*status, content_type, body.clone())),
        Plan::Play { chat, responses, list } => (chat, responses, list),
    };
    let Some(dialect) = Dialect::at(path).filter(|_| method == Method::POST) else {
        return Ok(refuse(StatusCode::NOT_FOUND, "only POST …/chat/completions and POST …/responses are served"));
    };
    let Some(answered) = dialect.answers(body) else {
        return Ok(refuse(StatusCode::BAD_REQUEST, "the body is no request of this dialect"));
    };
    let answers = match dialect {
        Dialect::Chat => chat,
        Dialect::Responses => responses,
    };
    let Some(at) = list.next(Purpose::Step, answered) else {
        let message = format!(
            "the scenario has {} answers, and answer {} is asked for",
            list.places(Purpose::Step),
            answered + 1
        );
        return Ok(refuse(StatusCode::BAD_REQUEST, &message));
    };
    let Shape { before, head, pieces } = answers[at].clone();
    for wait in before {
        tokio::time::sleep(wait).await;
    }
    match head {
        Head::Drop => Err(Dropped),
        Head::Fail { status, after_ms, body } => {
            let mut response = whole(status, "application/json", body.into());
            if let Some(after) = after_ms {
                response.headers_mut().insert("retry-after-ms", after.into());
            }
            Ok(response)
        }
        Head::Page => Ok(whole(StatusCode::OK, "text/html", "<!doctype html><title>Not a model</title>".into())),
        Head::Stream => Ok(stream_of(pieces)),
    }
}

/// An answer without waits is one piece with a known length; hyper sends it with its head.
fn stream_of(mut pieces: Vec<Piece>) -> Response<Body> {
    const KIND: &str = "text/event-stream";
    if let [Piece::Bytes(_)] = pieces[..]
        && let Some(Piece::Bytes(bytes)) = pieces.pop()
    {
        return whole(StatusCode::OK, KIND, bytes);
    }
    let frames = stream::iter(pieces).then(async |piece| match piece {
        Piece::Bytes(bytes) => Some(Ok(Frame::data(bytes))),
        Piece::Wait(time) => {
            tokio::time::sleep(time).await;
            None
        }
        Piece::Drop => {
            // What was said before leaves first: hyper sends when there is nothing more at the moment.
            tokio::task::yield_now().await;
            Some(Err(Dropped))
        }
        Piece::Hang => std::future::pending().await,
    });
    let body = StreamBody::new(frames.filter_map(std::future::ready).boxed());
    response(StatusCode::OK, KIND, Either::Right(body))
}

fn refuse(status: StatusCode, message: &str) -> Response<Body> {
    whole(status, "application/json", answer::error(message, "invalid_request_error", None).into())
}

fn whole(status: StatusCode, content_type: &str, body: Bytes) -> Response<Body> {
    response(status, content_type, Either::Left(Full::new(body)))
}

fn response(status: StatusCode, content_type: &str, body: Body) -> Response<Body> {
    let mut response = Response::new(body);
    *response.status_mut() = status;
    if let Ok(kind) = content_type.parse() {
        response.headers_mut().insert(CONTENT_TYPE, kind);
    }
    response
}
