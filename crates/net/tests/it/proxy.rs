//! Requests through proxies, and past them.

use haft_net::{Network, Options, Proxy as Chosen, Settings};

use crate::server::{Authority, Proxy, Server};

fn through(authority: &Authority, address: String, no_proxy: &[&str]) -> Network {
    Network::new(Settings {
        proxy: Chosen::At(address),
        no_proxy: no_proxy.iter().map(|&entry| entry.to_owned()).collect(),
        ca: vec![(authority.file(), "network.ca")],
        ..Settings::default()
    })
}

async fn get(network: &Network, url: &str) -> Result<String, reqwest::Error> {
    network.client(Options::default()).unwrap().get(url).send().await?.text().await
}

#[tokio::test]
async fn a_tunnel_is_asked_for_with_user_and_password_and_used_again() {
    let authority = Authority::new();
    let server = Server::secure(&authority, "models.test", false).await;
    let proxy = Proxy::http().await;
    let network = through(&authority, format!("http://me:p%40ss@127.0.0.1:{}", proxy.port), &[]);
    let url = format!("https://models.test:{}/v1", server.port);
    for _ in 0..2 {
        assert_eq!(get(&network, &url).await.unwrap(), "HTTP/2.0 /v1");
    }
    // "me:p@ss" in base64.
    assert_eq!(proxy.asked(), [format!("CONNECT models.test:{} HTTP/1.1 Basic bWU6cEBzcw==", server.port)]);
    assert_eq!(server.opened(), 1);
}

#[tokio::test]
async fn a_socks_proxy_finds_names_itself_where_it_is_asked_to() {
    let authority = Authority::new();
    let server = Server::secure(&authority, "models.test", false).await;
    let url = format!("https://models.test:{}/v1", server.port);
    let proxy = Proxy::socks().await;
    let network = through(&authority, format!("socks5h://me:p%40ss@127.0.0.1:{}", proxy.port), &[]);
    assert_eq!(get(&network, &url).await.unwrap(), "HTTP/2.0 /v1");
    assert_eq!(proxy.asked(), [format!("models.test:{} me:p@ss", server.port)]);

    let open = Proxy::socks().await;
    let network = through(&authority, format!("socks5h://127.0.0.1:{}", open.port), &[]);
    assert_eq!(get(&network, &url).await.unwrap(), "HTTP/2.0 /v1");
    assert_eq!(open.asked(), [format!("models.test:{}", server.port)]);
}

#[tokio::test]
async fn this_machine_is_reached_directly_whatever_the_settings_say() {
    let (server, proxy) = (Server::plain().await, Proxy::http().await);
    let network = through(&Authority::new(), format!("http://127.0.0.1:{}", proxy.port), &[]);
    for host in ["127.0.0.1", "localhost", "models.localhost"] {
        assert_eq!(get(&network, &format!("http://{host}:{}/v1", server.port)).await.unwrap(), "HTTP/1.1 /v1");
    }
    assert_eq!(proxy.asked(), [""; 0]);
}

#[tokio::test]
async fn a_proxy_that_is_not_there_is_an_error_without_its_password() {
    let authority = Authority::new();
    let network = through(&authority, "http://me:very-secret@127.0.0.1:9".to_owned(), &[]);
    let error = get(&network, "https://models.test/v1").await.unwrap_err();
    let mut told = format!("{error:?}");
    let mut cause: Option<&dyn std::error::Error> = Some(&error);
    while let Some(at) = cause {
        told.push_str(&at.to_string());
        cause = at.source();
    }
    assert!(!told.contains("very-secret") && !told.contains("bWU6"), "{told}");
    assert_eq!(haft_net::hopeless(&error), None, "it may be there the next time");
}
