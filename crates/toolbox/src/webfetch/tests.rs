//! Fetching from servers on this machine.

use std::future::Future;
use std::io;
use std::net::IpAddr;
use std::pin::Pin;
use std::sync::{Arc, Mutex};

use haft_net::{Lookup, Web};
use haft_permission::{Action, Rule};
use haft_tool::fake::FakeHost;
use haft_tool::{Output, Registry, ToolError};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::server::{Act, Server, answer};
use super::*;

/// A way to find addresses that a test makes up, and what was asked of it.
#[derive(Default)]
struct Names {
    rows: Vec<(&'static str, Vec<&'static str>)>,
    asked: Mutex<Vec<String>>,
    /// Fires after each answer.
    then: Option<CancellationToken>,
}

impl Lookup for Names {
    fn lookup<'a>(&'a self, host: &'a str) -> Pin<Box<dyn Future<Output = io::Result<Vec<IpAddr>>> + Send + 'a>> {
        let mut asked = self.asked.lock().unwrap();
        let before = asked.iter().filter(|name| *name == host).count();
        asked.push(host.to_owned());
        let rows: Vec<_> = self.rows.iter().filter(|(name, _)| *name == host).collect();
        // A name with several rows leads elsewhere each time.
        let found =
            rows.get(before).or(rows.last()).map(|(_, found)| found.iter().map(|ip| ip.parse().unwrap()).collect());
        if let Some(then) = &self.then {
            then.cancel();
        }
        Box::pin(async move { found.ok_or_else(|| io::Error::other("no such name")) })
    }
}

struct Scene {
    registry: Registry,
    host: FakeHost,
    names: Arc<Names>,
    _folder: tempfile::TempDir,
}

impl Scene {
    fn new(rules: &[(&str, &str, Action)], names: Names) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let rules = rules.iter().map(|(permission, pattern, action)| Rule::new(permission, pattern, *action)).collect();
        let mut host = FakeHost::new(folder.path(), rules);
        if let Some(then) = &names.then {
            host.cancel = then.clone();
        }
        let names = Arc::new(names);
        let web = Web::default().with_lookup(Arc::clone(&names) as Arc<dyn Lookup>);
        let registry = Registry::default().with(WebFetch::new(web, ImageLimits::default()));
        Self { registry, host, names, _folder: folder }
    }

    fn free() -> Self {
        Self::new(&[("*", "*", Action::Allow)], Names::default())
    }

    async fn run(&self, input: Value) -> Result<Output, ToolError> {
        self.registry.run("webfetch", input, &self.host.call()).await
    }

    async fn fetch(&self, url: &str) -> Output {
        self.run(json!({ "url": url })).await.unwrap()
    }

    async fn fails(&self, input: Value, want: &str) -> ToolError {
        let error = self.run(input).await.expect_err(want);
        assert!(error.to_string().contains(want), "{error} lacks {want:?}");
        error
    }

    fn asked(&self) -> Vec<String> {
        let access = |access: haft_permission::Access| {
            format!("{} {} always {:?}", access.permission, access.patterns[0], access.always)
        };
        self.host.asked().into_iter().map(access).collect()
    }
}

const PAGE: &str = "<!doctype html><html><head><title>T</title><style>p{}</style><script>var x=1</script></head><body><h1>Head</h1><p>Hello <b>bold</b> and <em>em</em> <a href=\"/l\">link</a>.</p><ul><li>one</li><li>two</li></ul><pre><code>code()</code></pre><hr></body></html>";

fn pages(path: &str, port: u16) -> Act {
    let html = "content-type: text/html; charset=utf-8\r\n";
    match path {
        "/" => answer("200 OK", html, PAGE),
        "/plain" => answer("200 OK", "content-type: text/plain\r\n", "plain text\n"),
        "/latin" => answer("200 OK", "content-type: text/html; charset=ISO-8859-1\r\n", b"<p>caf\xe9"),
        "/meta" => answer("200 OK", "content-type: text/html\r\n", b"<meta charset=windows-1251><p>\xcf\xf0\xe8"),
        "/untyped" => answer("200 OK", "", "<html><p>found"),
        "/empty" => answer("200 OK", html, ""),
        "/app" => answer("200 OK", html, "<div id=root></div><script src=a.js></script>"),
        "/refresh" => answer("200 OK", html, "<meta http-equiv=refresh content='0; url=/plain'>"),
        "/zip" => answer("200 OK", "content-type: application/zip\r\n", "PK"),
        "/elf" => answer("200 OK", "content-type: application/octet-stream\r\n", b"\x7fELF\0\0"),
        "/pdf" => answer("200 OK", "content-type: application/pdf\r\n", "%PDF-1.4"),
        "/png" => answer("200 OK", "content-type: image/png\r\n", STANDARD.decode(PNG).unwrap()),
        "/badpng" => answer("200 OK", "content-type: image/png\r\n", "no picture"),
        "/404" => answer("404 Not Found", html, "<h1>Nothing\nhere</h1><script>x</script>"),
        "/cf" => answer("403 Forbidden", "cf-mitigated: challenge\r\n", ""),
        "/redir" => answer("302 Found", "location: /plain\r\n", ""),
        "/other" => answer("302 Found", &format!("location: http://b.example:{port}/plain\r\n"), ""),
        "/loop" => answer("302 Found", "location: /loop\r\n", ""),
        "/nowhere" => answer("301 Moved Permanently", "", ""),
        "/file" => answer("302 Found", "location: file:///etc/passwd\r\n", ""),
        "/cookie" => answer("302 Found", "location: /plain\r\nset-cookie: a=b\r\n", ""),
        "/said" => Act::Say(format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n", MAX_BODY + 1).into_bytes()),
        "/long" => Act::Say([b"HTTP/1.1 200 OK\r\n\r\n".as_slice(), &vec![b'x'; MAX_BODY + 1]].concat()),
        "/most" => Act::Say([b"HTTP/1.1 200 OK\r\n\r\n".as_slice(), &vec![b'x'; MAX_BODY]].concat()),
        "/cut" => Act::Say(b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nhalf".to_vec()),
        "/chunked" => {
            Act::Say(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n".to_vec())
        }
        "/gzip" => answer("200 OK", "content-encoding: gzip\r\n", SMALL_GZIP),
        "/bomb" => answer("200 OK", "content-encoding: gzip\r\n", include_bytes!("zeros.gz")),
        "/brotli" => answer("200 OK", "content-encoding: br\r\n", "x"),
        "/noise" => Act::Say(b"SSH-2.0-x\r\n".to_vec()),
        "/slow" => Act::Stall(Vec::new()),
        "/drip" => Act::Stall(b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nhalf".to_vec()),
        other => panic!("nobody asked for {other}"),
    }
}

const PNG: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
/// The word `packed`.
const SMALL_GZIP: &[u8] = include_bytes!("packed.gz");

#[tokio::test]
async fn a_page_comes_in_three_forms() {
    let (server, scene) = (Server::new(pages).await, Scene::free());
    let url = server.url("/");
    let output = scene.fetch(&url).await;
    assert_eq!(output.title, format!("{url} (text/html; charset=utf-8)"));
    let want =
        format!("T\n\n# Head\n\nHello **bold** and *em* [link]({url}l).\n\n- one\n- two\n\n```\ncode()\n```\n\n---");
    assert_eq!(output.text, want);
    assert_eq!(Value::from(output.metadata), json!({"truncated": false}));
    let text = scene.run(json!({"url": url, "format": "text"})).await.unwrap().text;
    assert_eq!(text, "T\n\nHead\n\nHello bold and em link.\n\none\ntwo\n\ncode()");
    let html = scene.run(json!({"url": url, "format": "html"})).await.unwrap().text;
    assert_eq!(html, PAGE);
    scene.fails(json!({"url": url, "format": "pdf"}), "format").await;
}

#[tokio::test]
async fn what_is_no_page_is_shown_as_it_is_or_goes_along() {
    let (server, scene) = (Server::new(pages).await, Scene::free());
    assert_eq!(scene.fetch(&server.url("/plain")).await.text, "plain text\n");
    assert_eq!(scene.fetch(&server.url("/untyped")).await.text, "found");
    assert_eq!(scene.fetch(&server.url("/untyped")).await.title, server.url("/untyped"));
    assert_eq!(scene.fetch(&server.url("/latin")).await.text, "café");
    assert_eq!(scene.fetch(&server.url("/meta")).await.text, "При");
    assert_eq!(scene.fetch(&server.url("/empty")).await.text, "(The answer is empty.)");
    let image = scene.fetch(&server.url("/png")).await;
    assert_eq!((image.text.as_str(), image.attachments[0].mime.as_str()), ("Image fetched successfully", "image/png"));
    assert_eq!(image.attachments[0].url, format!("data:image/png;base64,{PNG}"));
    let broken = scene.fetch(&server.url("/badpng")).await;
    assert!(broken.attachments.is_empty() && broken.text.contains("1 image omitted"), "{}", broken.text);
    let pdf = scene.fetch(&server.url("/pdf")).await;
    assert_eq!(pdf.attachments[0].url, "data:application/pdf;base64,JVBERi0xLjQ=");
    for path in ["/zip", "/elf"] {
        scene.fails(json!({"url": server.url(path)}), "cannot be shown. Download it with curl").await;
    }
}

#[tokio::test]
async fn what_a_page_wants_is_said() {
    let (server, scene) = (Server::new(pages).await, Scene::free());
    assert!(scene.fetch(&server.url("/app")).await.text.starts_with("(This page needs JavaScript"));
    let goal = format!("(The page sends its readers on to {}.)", server.url("/plain"));
    assert_eq!(scene.fetch(&server.url("/refresh")).await.text, goal);
    assert!(!scene.fetch(&server.url("/")).await.text.contains("JavaScript"));
}

#[tokio::test]
async fn requests_say_who_asks_and_nothing_else() {
    let (server, scene) = (Server::new(pages).await, Scene::free());
    scene.fetch(&server.url("/cookie")).await;
    let heard = server.heard().join("\n").to_lowercase();
    assert_eq!(heard.matches("user-agent: haft/").count(), 2, "{heard}");
    assert_eq!(heard.matches("accept: text/markdown;q=1.0").count(), 2, "{heard}");
    assert!(!heard.contains("cookie:") && !heard.contains("referer") && !heard.contains("authorization"), "{heard}");
}

#[tokio::test]
async fn refusals_are_told_with_what_they_say() {
    let (server, scene) = (Server::new(pages).await, Scene::free());
    let error = scene.fails(json!({"url": server.url("/404")}), "answered 404 Not Found. Check the address").await;
    assert!(error.to_string().ends_with(". It says: Nothing here"), "{error}");
    scene.fails(json!({"url": server.url("/cf")}), "lets in browsers only").await;
}

#[tokio::test]
async fn sizes_have_a_bound_however_they_come() {
    let (server, scene) = (Server::new(pages).await, Scene::free());
    for path in ["/said", "/long", "/bomb"] {
        scene.fails(json!({"url": server.url(path)}), "larger than 5242880 bytes").await;
    }
    let most = scene.fetch(&server.url("/most")).await;
    assert_eq!(most.metadata["truncated"], json!(true));
    assert_eq!(scene.fetch(&server.url("/chunked")).await.text, "abcde");
    assert_eq!(scene.fetch(&server.url("/gzip")).await.text, "packed");
}

#[tokio::test]
async fn what_breaks_says_how() {
    let names = Names { rows: vec![("bare.example", vec![])], ..Names::default() };
    let (server, scene) = (Server::new(pages).await, Scene::new(&[("*", "*", Action::Allow)], names));
    scene.fails(json!({"url": server.url("/cut")}), "broke off its answer").await;
    scene.fails(json!({"url": server.url("/noise")}), "broke off its answer").await;
    scene.fails(json!({"url": server.url("/brotli")}), "packed its answer as \"br\"").await;
    scene.fails(json!({"url": server.url("/nowhere")}), "redirects without saying where to").await;
    scene.fails(json!({"url": server.url("/file")}), "must start with http://").await;
    scene.fails(json!({"url": "http://gone.example/"}), "the host gone.example was not found (no such name)").await;
    scene.fails(json!({"url": "http://bare.example/"}), "it has no address").await;
    let closed = { tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap() };
    scene.fails(json!({"url": format!("http://{closed}/")}), "no connection to 127.0.0.1").await;
    scene.fails(json!({"url": server.url("/").replace("http:", "https:")}), "no secure connection to 127.0.0.1").await;
    assert_eq!(
        scene.fails(json!({"url": "ftp://x"}), "URL must start with http:// or https://").await.kind(),
        "bad_input"
    );
}

#[tokio::test]
async fn time_has_a_bound() {
    let (server, scene) = (Server::new(pages).await, Scene::free());
    for path in ["/slow", "/drip"] {
        scene.fails(json!({"url": server.url(path), "timeout": 0.1}), "timed out. Try once more with a longer").await;
    }
    scene.fails(json!({"url": server.url("/"), "timeout": 0}), "timeout must be").await;
    assert_eq!(time(None).unwrap(), Duration::from_secs(30));
    assert_eq!(time(Some(1e300)).unwrap(), Duration::from_secs(120));
}

#[tokio::test]
async fn it_stops_when_the_user_does() {
    let scene = Arc::new(Scene::free());
    let cancel = scene.host.cancel.clone();
    let server = Server::new(move |path, port| {
        cancel.cancel();
        pages(path, port)
    })
    .await;
    assert_eq!(scene.fails(json!({"url": server.url("/slow")}), "stopped").await.kind(), "cancelled");
}

#[tokio::test]
async fn redirects_are_shown_and_each_host_asked_for() {
    let names = || Names { rows: vec![("b.example", vec!["127.0.0.1"])], ..Names::default() };
    let server = Server::new(pages).await;
    let scene = Scene::new(&[("*", "*", Action::Allow)], names());
    let output = scene.fetch(&server.url("/redir")).await;
    assert_eq!(output.text, format!("(Redirected to {}.)\n\nplain text\n", server.url("/plain")));
    assert_eq!(output.title, format!("{} (text/plain)", server.url("/redir")));
    scene.fails(json!({"url": server.url("/loop")}), "redirects again after 10 redirects").await;
    let there = format!("http://b.example:{}/plain", server.port);
    let output = scene.fetch(&server.url("/other")).await;
    assert_eq!(output.metadata["redirects"], json!([there]));

    let closed = Scene::new(&[("*", "*", Action::Allow), ("webfetch", "*//b.example*", Action::Deny)], names());
    let error = closed.fails(json!({"url": server.url("/other")}), "b.example").await;
    assert_eq!(error.kind(), "denied");
    assert!(closed.names.asked.lock().unwrap().is_empty(), "nobody looked for what is forbidden");
}

#[tokio::test]
async fn what_is_not_the_internet_needs_leave_of_its_own() {
    let rules = [("webfetch", "*", Action::Allow), ("webfetch_private", "*", Action::Ask)];
    let names = || Names {
        rows: vec![
            ("inner.example", vec!["93.184.216.34", "10.0.0.7"]),
            ("mapped.example", vec!["::ffff:169.254.169.254"]),
        ],
        ..Names::default()
    };
    let server = Server::new(pages).await;
    let decimal = format!("http://2130706433:{}/plain", server.port);
    for url in [
        server.url("/plain"),
        decimal,
        "http://inner.example/".to_owned(),
        "http://mapped.example/".to_owned(),
        "http://[fd00:ec2::254]/".to_owned(),
    ] {
        let scene = Scene::new(&rules, names());
        assert_eq!(scene.fails(json!({"url": url}), "webfetch_private").await.kind(), "denied");
    }
    assert!(server.heard().is_empty(), "nobody went there");

    let scene = Scene::new(&[("webfetch*", "*", Action::Allow)], names());
    scene.fetch(&server.url("/plain")).await;
    let (url, origin) = (server.url("/plain"), server.url("/*"));
    assert_eq!(
        scene.asked(),
        [format!("webfetch {url} always [\"*\"]"), format!("webfetch_private {url} always [{origin:?}]")]
    );
    let shown = scene.host.asked().into_iter().map(|access| Value::from(access.metadata)).collect::<Vec<_>>();
    assert_eq!(shown[0], json!({"url": url, "format": "markdown"}));
    assert_eq!(shown[1], json!({"url": url, "address": "127.0.0.1", "reason": "an address of this machine"}));
}

#[tokio::test]
async fn the_internet_needs_no_more_than_the_leave_to_fetch() {
    let stop = CancellationToken::new();
    let names = Names { rows: vec![("open.example", vec!["93.184.216.34"])], then: Some(stop), ..Names::default() };
    let scene = Scene::new(&[("webfetch", "*", Action::Allow)], names);
    // Stopped before the first packet: tests reach nobody.
    scene.fails(json!({"url": "http://open.example/"}), "stopped").await;
    assert_eq!(scene.asked(), ["webfetch http://open.example/ always [\"*\"]"]);
}

#[tokio::test]
async fn a_name_cannot_lead_elsewhere_after_the_look() {
    let rows = vec![("turn.example", vec!["127.0.0.1"]), ("turn.example", vec!["203.0.113.1"])];
    let names = Names { rows, ..Names::default() };
    let (server, scene) = (Server::new(pages).await, Scene::new(&[("*", "*", Action::Allow)], names));
    let url = format!("http://turn.example:{}/plain", server.port);
    assert_eq!(scene.fetch(&url).await.text, "plain text\n");
    assert_eq!(*scene.names.asked.lock().unwrap(), ["turn.example"], "looked up once for the look and the step");
    // The next step looks again, and sees the new address before anything is sent there.
    let scene = Scene::new(
        &[("webfetch", "*", Action::Allow), ("webfetch_private", "*", Action::Ask)],
        Names { rows: vec![("turn.example", vec!["203.0.113.1"])], ..Names::default() },
    );
    scene.fails(json!({"url": url}), "webfetch_private").await;
}

#[tokio::test]
async fn a_rule_holds_for_each_spelling_of_a_page() {
    let rules = [("webfetch", "*", Action::Allow), ("webfetch", "http*://b.example/secret*", Action::Deny)];
    for url in [
        "http://b.example./secret",
        "http://B.EXAMPLE:80/secret",
        "http://b.example/%73ecre%74",
        "http://b.example\\x\\..\\secret",
    ] {
        let scene = Scene::new(&rules, Names::default());
        assert_eq!(
            scene.run(json!({"url": url})).await.map(|output| output.text).unwrap_err().kind(),
            "denied",
            "{url}"
        );
        assert!(scene.names.asked.lock().unwrap().is_empty(), "nobody looked for it");
    }
}

#[tokio::test]
async fn encryption_is_no_way_around_a_rule() {
    let server = Server::new(|path, port| match path {
        "/up" => answer("301 Moved Permanently", &format!("location: https://127.0.0.1:{port}/up\r\n"), ""),
        other => panic!("nobody asked for {other}"),
    })
    .await;
    let url = server.url("/up");
    let scene =
        Scene::new(&[("*", "*", Action::Allow), ("webfetch", "https://127.0.0.1*", Action::Deny)], Names::default());
    assert_eq!(scene.run(json!({"url": url})).await.map(|output| output.text).unwrap_err().kind(), "denied");
    assert_eq!(server.heard().len(), 1);
}
