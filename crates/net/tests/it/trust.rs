//! Whom a client trusts, what it shows of its user, and how connections are shared.

use std::path::Path;
use std::time::Duration;

use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

use haft_net::{Identity, Network, Options, Settings, hopeless};

use crate::server::{Authority, Server};

fn trusting(file: &Path) -> Settings {
    Settings { ca: vec![(file.to_owned(), "network.ca")], ..Settings::default() }
}

async fn get(network: &Network, url: &str) -> Result<String, reqwest::Error> {
    network.client(Options::default()).unwrap().get(url).send().await?.text().await
}

/// What is told of a request that fails for good.
async fn told(settings: Settings, url: &str) -> String {
    hopeless(&get(&Network::new(settings), url).await.unwrap_err()).unwrap()
}

#[tokio::test]
async fn an_authority_of_ones_own_is_trusted_and_speaks_http_2_on_one_connection() {
    let authority = Authority::new();
    let server = Server::secure(&authority, "localhost", false).await;
    let network = Network::new(trusting(&authority.file()));
    let url = format!("https://localhost:{}", server.port);
    assert_eq!(get(&network, &format!("{url}/a")).await.unwrap(), "HTTP/2.0 /a");
    // Another client of the same options, as another model would have.
    assert_eq!(get(&network.clone(), &format!("{url}/b")).await.unwrap(), "HTTP/2.0 /b");
    assert_eq!(server.opened(), 1);
}

#[tokio::test]
async fn clients_of_equal_options_share_plain_connections_too() {
    let server = Server::plain().await;
    let network = Network::new(Settings::default());
    let url = format!("http://127.0.0.1:{}/x", server.port);
    for _ in 0..3 {
        assert_eq!(get(&network, &url).await.unwrap(), "HTTP/1.1 /x");
    }
    assert_eq!(server.opened(), 1);
    let other = Options { connect_timeout: Duration::from_secs(7), ..Options::default() };
    network.client(other).unwrap().get(&url).send().await.unwrap();
    assert_eq!(server.opened(), 2, "other options are another client");
}

/// Passes on what comes, until it is told to be quiet; then it neither passes on nor closes anything.
async fn wire(to: u16, quiet: watch::Receiver<bool>) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        while let Ok((mut here, _)) = listener.accept().await {
            let mut quiet = quiet.clone();
            tokio::spawn(async move {
                let mut there = TcpStream::connect(("127.0.0.1", to)).await.unwrap();
                tokio::select! {
                    _ = copy_bidirectional(&mut here, &mut there) => return,
                    _ = quiet.wait_for(|quiet| *quiet) => {}
                }
                std::future::pending::<()>().await;
            });
        }
    });
    port
}

#[tokio::test(start_paused = true)]
async fn a_connection_of_which_the_other_end_is_gone_is_given_up() {
    let authority = Authority::new();
    let server = Server::secure(&authority, "localhost", false).await;
    let (hush, quiet) = watch::channel(false);
    let url = format!("https://localhost:{}/a", wire(server.port, quiet).await);
    let network = Network::new(trusting(&authority.file()));
    let client = network.client(Options { idle_timeout: Duration::MAX, ..Options::default() }).unwrap();
    client.get(&url).send().await.unwrap().text().await.unwrap();
    hush.send(true).unwrap();
    let began = tokio::time::Instant::now();
    let error = client.get(&url).send().await.unwrap_err();
    assert_eq!(hopeless(&error), None, "{error:?}");
    let waited = began.elapsed();
    assert!(waited <= Duration::from_secs(60), "{waited:?}");
}

#[tokio::test]
async fn a_stranger_is_not_trusted_and_the_way_out_is_told() {
    let server = Server::secure(&Authority::new(), "localhost", false).await;
    let url = format!("https://localhost:{}", server.port);
    let told = told(trusting(&Authority::new().file()), &url).await;
    assert!(told.contains("is not trusted") && told.contains("network.ca"), "{told}");
}

#[tokio::test]
async fn a_file_that_cannot_be_used_is_named() {
    let authority = Authority::new();
    let server = Server::secure(&authority, "localhost", false).await;
    let url = format!("https://localhost:{}", server.port);
    let folder = tempfile::tempdir().unwrap();
    let missing = folder.path().join("missing.pem");
    let found = told(trusting(&missing), &url).await;
    let want =
        format!("{} (named by network.ca) cannot be read: No such file or directory (os error 2)", missing.display());
    assert_eq!(found, want);

    let empty = folder.path().join("empty.pem");
    std::fs::write(&empty, "no certificate").unwrap();
    let found = told(trusting(&empty), &url).await;
    assert_eq!(found, format!("{} (named by network.ca) holds no certificate in PEM form", empty.display()));

    let (cert, _) = authority.issue("me.example");
    let locked = folder.path().join("locked.pem");
    std::fs::write(&locked, "-----BEGIN ENCRYPTED PRIVATE KEY-----\nAAAA\n-----END ENCRYPTED PRIVATE KEY-----\n")
        .unwrap();
    let identity = Some(Identity { cert, key: locked });
    let found = told(Settings { identity, ..trusting(&authority.file()) }, &url).await;
    assert!(found.contains("locked.pem (named by network.client_key) is protected by a password"), "{found}");
}

#[tokio::test]
async fn nothing_is_read_before_it_is_needed() {
    let server = Server::plain().await;
    let network = Network::new(trusting(Path::new("/nowhere/at/all.pem")));
    let url = format!("http://127.0.0.1:{}/x", server.port);
    assert_eq!(get(&network, &url).await.unwrap(), "HTTP/1.1 /x");
}

#[tokio::test]
async fn a_server_that_wants_to_know_who_asks_is_shown_the_certificate() {
    let authority = Authority::new();
    let server = Server::secure(&authority, "localhost", true).await;
    let url = format!("https://localhost:{}/who", server.port);
    let (cert, key) = authority.issue("me.example");
    let known = Settings { identity: Some(Identity { cert, key }), ..trusting(&authority.file()) };
    assert_eq!(get(&Network::new(known.clone()), &url).await.unwrap(), "HTTP/2.0 /who");
    assert!(get(&Network::new(trusting(&authority.file())), &url).await.is_err(), "without one nobody gets in");

    // What anybody may have named is not told who asks.
    let web = haft_net::Web::default().on(Network::new(known));
    let place = web.place(&url.parse().unwrap()).await.unwrap();
    assert!(web.get(&place, &[]).await.is_err());
}
