//! Small servers: one that speaks HTTP over TLS, and two kinds of proxies.
//!
//! Requests to this machine never go through a proxy, so the servers behind one have names that nobody else has, which
//! the proxies of these tests know.

use std::convert::Infallible;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto;
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use tokio::io::{AsyncReadExt, AsyncWriteExt, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use tokio_rustls::rustls::server::WebPkiClientVerifier;
use tokio_rustls::rustls::{RootCertStore, ServerConfig};

/// An authority that nobody knows, in a folder of its own.
pub(crate) struct Authority {
    issuer: CertifiedIssuer<'static, KeyPair>,
    folder: tempfile::TempDir,
}

impl Authority {
    pub(crate) fn new() -> Self {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let issuer = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
        let this = Self { issuer, folder: tempfile::tempdir().unwrap() };
        std::fs::write(this.file(), this.issuer.pem()).unwrap();
        this
    }

    /// The file with its certificate.
    pub(crate) fn file(&self) -> PathBuf {
        self.folder.path().join("ca.pem")
    }

    /// Files with a certificate for `name`, and with its key.
    pub(crate) fn issue(&self, name: &str) -> (PathBuf, PathBuf) {
        let key = KeyPair::generate().unwrap();
        let cert = CertificateParams::new(vec![name.to_owned()]).unwrap().signed_by(&key, &self.issuer).unwrap();
        let [cert_file, key_file] = ["cert", "key"].map(|end| self.folder.path().join(format!("{name}.{end}.pem")));
        std::fs::write(&cert_file, cert.pem()).unwrap();
        std::fs::write(&key_file, key.serialize_pem()).unwrap();
        (cert_file, key_file)
    }

    /// What a server called `name` needs; `clients`: only those with a certificate of this authority are let in.
    fn server(&self, name: &str, clients: bool) -> ServerConfig {
        let key = KeyPair::generate().unwrap();
        let cert = CertificateParams::new(vec![name.to_owned()]).unwrap().signed_by(&key, &self.issuer).unwrap();
        let builder =
            ServerConfig::builder_with_provider(Arc::new(tokio_rustls::rustls::crypto::ring::default_provider()))
                .with_safe_default_protocol_versions()
                .unwrap();
        let mut roots = RootCertStore::empty();
        roots.add(self.issuer.der().clone()).unwrap();
        let provider = Arc::new(tokio_rustls::rustls::crypto::ring::default_provider());
        let builder = match clients {
            true => builder.with_client_cert_verifier(
                WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider).build().unwrap(),
            ),
            false => builder.with_no_client_auth(),
        };
        let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialize_der()));
        let mut config = builder.with_single_cert(vec![cert.der().clone()], key).unwrap();
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        config
    }
}

/// A server that answers each request with its version and what it was asked.
pub(crate) struct Server {
    pub(crate) port: u16,
    /// How many connections were opened.
    pub(crate) connections: Arc<AtomicUsize>,
}

impl Server {
    /// One over TLS that is called `name`.
    pub(crate) async fn secure(authority: &Authority, name: &str, clients: bool) -> Self {
        Self::start(Some(TlsAcceptor::from(Arc::new(authority.server(name, clients))))).await
    }

    /// One without.
    pub(crate) async fn plain() -> Self {
        Self::start(None).await
    }

    async fn start(tls: Option<TlsAcceptor>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let connections = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&connections);
        tokio::spawn(async move {
            while let Ok((socket, _)) = listener.accept().await {
                count.fetch_add(1, Ordering::SeqCst);
                let tls = tls.clone();
                tokio::spawn(async move {
                    let server = auto::Builder::new(TokioExecutor::new());
                    let service = service_fn(answer);
                    // Whoever breaks off is looked at from the other side.
                    match tls {
                        None => drop(server.serve_connection(TokioIo::new(socket), service).await),
                        Some(tls) => {
                            let Ok(socket) = tls.accept(socket).await else { return };
                            drop(server.serve_connection(TokioIo::new(socket), service).await);
                        }
                    }
                });
            }
        });
        Self { port, connections }
    }

    pub(crate) fn opened(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }
}

async fn answer(request: Request<Incoming>) -> Result<Response<Full<Bytes>>, Infallible> {
    let text = format!("{:?} {}", request.version(), request.uri().path());
    let to = request.uri().query().map(str::to_owned);
    // Read to the end, so that the connection can be used again.
    let _ = request.into_body().collect().await;
    let response = match to {
        Some(to) => Response::builder().status(307).header("location", to).body(Full::new(Bytes::new())),
        None => Response::builder().body(Full::new(Bytes::from(text))),
    };
    Ok(response.unwrap())
}

/// What a proxy was asked for, in order.
type Asked = Arc<Mutex<Vec<String>>>;

/// A proxy that knows every name: all are on this machine.
pub(crate) struct Proxy {
    pub(crate) port: u16,
    /// What it was asked for, with what was said of who asks.
    asked: Asked,
}

impl Proxy {
    /// One that speaks HTTP: `CONNECT` for tunnels.
    pub(crate) async fn http() -> Self {
        Self::start(|mut socket: TcpStream, asked: Asked| async move {
            let mut head = Vec::new();
            while !head.ends_with(b"\r\n\r\n") {
                head.push(socket.read_u8().await.ok()?);
            }
            let head = String::from_utf8(head).ok()?;
            let first = head.lines().next()?.to_owned();
            let who =
                head.lines().find_map(|line| line.to_lowercase().strip_prefix("proxy-authorization: ").map(|_| line));
            let who = who.map(|line| format!(" {}", line.split_once(": ").map_or("", |(_, value)| value)));
            asked.lock().unwrap().push(format!("{}{}", first, who.unwrap_or_default()));
            let port: u16 = first.split(' ').nth(1)?.rsplit(':').next()?.parse().ok()?;
            let mut server = TcpStream::connect(("127.0.0.1", port)).await.ok()?;
            socket.write_all(b"HTTP/1.1 200 Connection established\r\n\r\n").await.ok()?;
            copy_bidirectional(&mut socket, &mut server).await.ok().map(drop)
        })
        .await
    }

    /// One that speaks SOCKS version 5 (RFC 1928), with names and, where it is given, user and password (RFC 1929).
    pub(crate) async fn socks() -> Self {
        Self::start(|mut socket: TcpStream, asked: Asked| async move {
            let [_, methods] = read::<2>(&mut socket).await?;
            let mut offered = vec![0; methods.into()];
            socket.read_exact(&mut offered).await.ok()?;
            let with_password = offered.contains(&2);
            socket.write_all(&[5, if with_password { 2 } else { 0 }]).await.ok()?;
            let mut who = String::new();
            if with_password {
                let [_, length] = read::<2>(&mut socket).await?;
                let user = text(&mut socket, length).await?;
                let [length] = read::<1>(&mut socket).await?;
                who = format!(" {user}:{}", text(&mut socket, length).await?);
                socket.write_all(&[1, 0]).await.ok()?;
            }
            let [_, _, _, kind] = read::<4>(&mut socket).await?;
            let host = match kind {
                1 => std::net::Ipv4Addr::from(read::<4>(&mut socket).await?).to_string(),
                3 => {
                    let [length] = read::<1>(&mut socket).await?;
                    text(&mut socket, length).await?
                }
                _ => return None,
            };
            let port = u16::from_be_bytes(read::<2>(&mut socket).await?);
            asked.lock().unwrap().push(format!("{host}:{port}{who}"));
            let mut server = TcpStream::connect(("127.0.0.1", port)).await.ok()?;
            socket.write_all(&[5, 0, 0, 1, 0, 0, 0, 0, 0, 0]).await.ok()?;
            copy_bidirectional(&mut socket, &mut server).await.ok().map(drop)
        })
        .await
    }

    async fn start<F: Future<Output = Option<()>> + Send>(
        serve: impl Fn(TcpStream, Asked) -> F + Send + Copy + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let asked = Arc::new(Mutex::new(Vec::new()));
        let told = Arc::clone(&asked);
        tokio::spawn(async move {
            while let Ok((socket, _)) = listener.accept().await {
                let told = Arc::clone(&told);
                tokio::spawn(async move { serve(socket, told).await });
            }
        });
        Self { port, asked }
    }

    pub(crate) fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }
}

async fn read<const N: usize>(socket: &mut TcpStream) -> Option<[u8; N]> {
    let mut bytes = [0; N];
    socket.read_exact(&mut bytes).await.ok()?;
    Some(bytes)
}

async fn text(socket: &mut TcpStream, length: u8) -> Option<String> {
    let mut bytes = vec![0; length.into()];
    socket.read_exact(&mut bytes).await.ok()?;
    String::from_utf8(bytes).ok()
}
