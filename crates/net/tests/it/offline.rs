//! Offline: nothing leaves, not even to a proxy, and no name is looked up.

use std::future;
use std::io;
use std::net::IpAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use haft_net::{Lookup, Network, Options, Proxy as Chosen, Reach, Redirects, Settings, Web, WebError, hopeless};

use crate::server::{Proxy, Server};

/// A directory that counts who asks.
#[derive(Default)]
struct Counted(AtomicUsize);

impl Lookup for Counted {
    fn lookup<'a>(&'a self, _: &'a str) -> Pin<Box<dyn Future<Output = io::Result<Vec<IpAddr>>> + Send + 'a>> {
        self.0.fetch_add(1, Ordering::SeqCst);
        Box::pin(future::ready(Ok(vec![IpAddr::from([127, 0, 0, 1])])))
    }
}

fn offline(proxy: &Proxy, named: &[&str]) -> Network {
    let proxy = Chosen::At(format!("http://127.0.0.1:{}", proxy.port));
    Network::new(Settings { proxy, reach: Reach::offline(named.iter().copied()), ..Settings::default() })
}

#[tokio::test]
async fn names_and_addresses_elsewhere_are_refused_with_a_word_on_the_switch() {
    let proxy = Proxy::http().await;
    let network = offline(&proxy, &["https://models.test/v1"]);
    let client = network.client(Options::default()).unwrap();
    for url in ["https://api.example/v1", "http://192.0.2.1/", "http://[2001:db8::1]:8080/", "http://models.test/v1"] {
        let error = client.get(url).send().await.unwrap_err();
        let told = hopeless(&error).unwrap();
        assert!(told.starts_with("haft is offline, and ") && told.contains("--offline"), "{url}: {told}");
    }
    assert_eq!(proxy.asked(), [""; 0], "not even the proxy heard of it");
}

#[tokio::test]
async fn this_machine_and_what_the_user_named_are_reached() {
    let (server, proxy) = (Server::plain().await, Proxy::http().await);
    let network = offline(&proxy, &[&format!("https://models.test:{}/v1", server.port)]);
    let client = network.client(Options::default()).unwrap();
    let here = client.get(format!("http://localhost:{}/x", server.port)).send().await.unwrap();
    assert_eq!(here.text().await.unwrap(), "HTTP/1.1 /x");
    // The server behind it speaks no TLS; the way there is what matters.
    let _ = client.get(format!("https://models.test:{}/v1/chat", server.port)).send().await;
    assert_eq!(proxy.asked(), [format!("CONNECT models.test:{} HTTP/1.1", server.port)]);
}

#[tokio::test]
async fn a_redirect_does_not_lead_out() {
    let (server, proxy) = (Server::plain().await, Proxy::http().await);
    let options = Options { redirects: Redirects::Follow(5), ..Options::default() };
    let client = offline(&proxy, &[]).client(options).unwrap();
    for target in ["http://192.0.2.1/", "https://api.example/"] {
        let error = client.get(format!("http://127.0.0.1:{}/?{target}", server.port)).send().await.unwrap_err();
        assert!(hopeless(&error).unwrap().contains("haft is offline"), "{error:?}");
    }
    assert_eq!(proxy.asked(), [""; 0]);
}

#[tokio::test]
async fn what_anybody_named_is_not_looked_up() {
    let proxy = Proxy::http().await;
    let counted = Arc::new(Counted::default());
    let web = Web::default().on(offline(&proxy, &[])).with_lookup(Arc::clone(&counted) as Arc<dyn Lookup>);
    for url in ["https://docs.example/", "http://192.0.2.1/"] {
        let refused = web.place(&url.parse().unwrap()).await.unwrap_err();
        assert!(matches!(refused, WebError::Offline(_)), "{refused}");
    }
    // Nor is anybody asked for this machine's own names: a directory could learn from them, and send them elsewhere.
    for url in ["http://localhost/", "http://what-was-read.localhost./"] {
        let (address, why) = web.place(&url.parse().unwrap()).await.unwrap().inside().unwrap();
        assert_eq!((address, why), (Some(IpAddr::from([127, 0, 0, 1])), haft_net::Inside::Loopback), "{url}");
    }
    assert_eq!(counted.0.load(Ordering::SeqCst), 0);

    // Where somebody looked when all was open, and it was closed before the step.
    let open = Web::default().on(Network::new(Settings { proxy: Chosen::Nobody, ..Settings::default() }));
    let open = open.with_lookup(Arc::clone(&counted) as Arc<dyn Lookup>);
    let place = open.place(&"http://docs.example/".parse().unwrap()).await.unwrap();
    let error = web.get(&place, &[]).await.unwrap_err();
    assert!(error.to_string().contains("haft is offline"), "{error}");
}

#[tokio::test]
async fn what_is_installed_holds_for_every_client_of_the_process() {
    let proxy = Proxy::http().await;
    let target: reqwest::Url = "https://api.example/v1".parse().unwrap();
    offline(&proxy, &["https://named.example"]).install();
    let error = haft_net::client(Options::default()).unwrap().get(target.clone()).send().await.unwrap_err();
    assert!(hopeless(&error).unwrap().contains("haft is offline"));
    assert!(Network::default().check(&target).is_err());
    assert!(Network::default().check(&"https://named.example/x".parse().unwrap()).is_ok());
    let web = Web::default().place(&target).await;
    assert!(matches!(web, Err(WebError::Offline(_))), "{web:?}");
    assert_eq!(proxy.asked(), [""; 0]);
}
