//! A client that does what the MCP conformance suite wants to see, by the same code as the product.
//!
//! The suite starts it with the address of its server as the last argument, and names the scenario in
//! `MCP_CONFORMANCE_SCENARIO`; who we are to that server may stand in `MCP_CONFORMANCE_CONTEXT`.
//!
//! It looks what there is, calls each tool, and signs in where it is told to. The suite's sign-in pages say yes at once, so
//! that the part of the browser is one request.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use haft_mcp::client::pins::Remembered;
use haft_mcp::client::settings::{Oauth, Place, Remote, Settings};
use haft_mcp::client::status::Status;
use haft_mcp::client::{Servers, World};
use haft_mcp::oauth::{Account, Grant, Organisation, SignIn, Store};
use haft_permission::{Answerer, Gate};
use haft_project::Processes;
use haft_protocol::Clock;
use haft_tool::fake::FakeHost;
use serde_json::{Value, json};

/// How often we sign in before it is enough.
const TRIES: usize = 3;

/// Longest that the suite's server may take.
const LIMIT: Duration = Duration::from_secs(20);

/// Most questions of a form.
const QUESTIONS: usize = 10;

type Failed = Box<dyn std::error::Error>;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Failed> {
    let url = std::env::args().next_back().ok_or("the last argument is the server's address")?;
    let context: Value = match std::env::var("MCP_CONFORMANCE_CONTEXT") {
        Ok(text) => serde_json::from_str(&text)?,
        Err(_) => Value::Null,
    };
    let folder = tempfile::tempdir()?;
    let store = Store::at(folder.path().join("mcp-auth.json"));
    let settings = settings(&url, &context, folder.path())?;
    let mut account = settings.account().ok_or("one signs in there")?;
    // A document that nobody serves stands for one of ours.
    account.client_page = Some("https://conformance-test.local/client-metadata.json".to_owned());
    for tried in 0..=TRIES {
        match attempt(&settings, &store, folder.path()).await? {
            Outcome::Done => return Ok(()),
            Outcome::SignIn if tried < TRIES => sign_in(&store, &account).await?,
            Outcome::SignIn => break,
            Outcome::Failed(why) => return Err(why.into()),
        }
    }
    Err("signing in again and again does not help".into())
}

/// The server as settings would name it. Keys and tokens that the suite gives go into files of `folder`.
fn settings(url: &str, context: &Value, folder: &Path) -> Result<Settings, Failed> {
    let text = |key: &str| context.get(key).and_then(Value::as_str).map(str::to_owned);
    let file = |key: &str| -> Result<Option<PathBuf>, Failed> {
        let Some(text) = text(key) else { return Ok(None) };
        let path = folder.join(key);
        std::fs::write(&path, text)?;
        Ok(Some(path))
    };
    let (key_file, id_token_file) = (file("private_key_pem")?, file("idp_id_token")?);
    let scenario = std::env::var("MCP_CONFORMANCE_SCENARIO").unwrap_or_default();
    let grant = match id_token_file {
        Some(id_token_file) => Grant::Organisation(Organisation {
            issuer: text("idp_issuer").unwrap_or_default(),
            token_url: None,
            client_id: text("idp_client_id").unwrap_or_default(),
            client_secret: None,
            id_token_file,
        }),
        None if scenario.contains("client-credentials") => Grant::Client,
        None => Grant::Person,
    };
    let oauth = Oauth {
        client_id: text("client_id"),
        client_secret: text("client_secret").map(haft_vault::Secret::from),
        callback_port: Some(0),
        grant,
        key_file,
        ..Oauth::default()
    };
    let place = Place::Remote(Remote { url: url.to_owned(), headers: Vec::new(), oauth: Some(Box::new(oauth)) });
    Ok(Settings {
        name: "suite".to_owned(),
        enabled: true,
        timeout: Some(LIMIT),
        call_timeout: None,
        sampling: false,
        place,
    })
}

/// What came of speaking to the server.
enum Outcome {
    Done,
    SignIn,
    Failed(String),
}

/// Connects, looks what there is, and calls each tool.
async fn attempt(settings: &Settings, store: &Store, folder: &Path) -> Result<Outcome, Failed> {
    let gate = Gate::new(Clock::system(), Answerer::Nobody, |_| {});
    let mut world =
        World::new(folder.to_owned(), Processes::with_users_shell(Vec::new()), gate, Arc::new(Remembered::default()));
    world.tokens = Some(store.clone());
    let servers = Servers::new(world, vec![settings.clone()]);
    let standing = servers.look(LIMIT).await;
    match standing.first().map(|one| &one.status) {
        Some(Status::Connected) => {}
        Some(Status::NeedsAuth) => return Ok(Outcome::SignIn),
        Some(other) => return Ok(Outcome::Failed(format!("{other:?}"))),
        None => return Ok(Outcome::Failed("there is no server".to_owned())),
    }
    let account = settings.account().ok_or("one signs in there")?;
    let mut outcome = Outcome::Done;
    let tools = servers.sources().into_iter().take(1).flat_map(|source| source.tools());
    for tool in tools {
        let host = FakeHost::allowing_all(folder);
        // A person who leaves every field as it is.
        host.answer(vec![Vec::new(); QUESTIONS]);
        let spec = tool.spec();
        let called = tool.run(arguments(&spec.parameters), &host.call()).await;
        if let Err(error) = called {
            let wants = store.get(&account.name, &account.url)?.is_some_and(|kept| kept.challenge.is_some());
            outcome = if wants { Outcome::SignIn } else { Outcome::Failed(error.to_string()) };
            break;
        }
    }
    servers.close().await;
    Ok(outcome)
}

/// Something that fits a tool's schema.
fn arguments(schema: &Value) -> Value {
    let fields = schema["properties"].as_object().into_iter().flatten();
    let value = |schema: &Value| match schema["type"].as_str() {
        Some("number" | "integer") => json!(2),
        Some("boolean") => json!(true),
        _ => json!("text"),
    };
    Value::Object(fields.map(|(name, schema)| (name.clone(), value(schema))).collect())
}

/// Signs in, as a browser whose person says yes.
async fn sign_in(store: &Store, account: &Account) -> Result<(), Failed> {
    let sign_in = SignIn::begin(store, account, None).await?;
    let page = sign_in.url().to_owned();
    let browser = async {
        let client = haft_net::client(haft_net::Options::default())?;
        let answer = client.get(&page).send().await?;
        let back = answer.headers().get("location").and_then(|back| back.to_str().ok());
        let back = back.ok_or("the sign-in page leads nowhere")?;
        client.get(back).send().await?;
        Ok::<(), Failed>(())
    };
    let (came, went) = tokio::join!(sign_in.finish(), browser);
    went?;
    Ok(came?)
}
