//! Servers that mean no good, or do none.

use std::time::Duration;

use haft_mcp::client::settings::Place;
use haft_mcp::client::status::Status;
use haft_permission::{Action, Rule};
use haft_tool::fake::FakeHost;
use serde_json::json;

use crate::scene::Scene;

/// How a server that behaves like `mode` is doing after it was spoken to.
async fn status(mode: &str, limit: Duration) -> Status {
    let scene = Scene::new();
    let mut settings = scene.settings("s", mode);
    settings.timeout = Some(limit);
    let servers = scene.servers(vec![settings]);
    let standing = servers.look(Duration::from_secs(60)).await;
    standing[0].status.clone()
}

const LONG: Duration = Duration::from_secs(60);

#[tokio::test]
async fn one_that_fails_says_why_and_is_in_nobodys_way() {
    let scene = Scene::new();
    let servers = scene.servers(vec![scene.settings("bad", "refuses"), scene.settings("good", "good")]);
    let standing = servers.look(LONG).await;
    let Status::Failed(why) = &standing[0].status else { panic!("{standing:?}") };
    assert!(why.ends_with("(it wrote: no licence)"), "{why}");
    assert_eq!(standing[1].status, Status::Connected);
    assert!(standing[1].tools.contains(&"good_echo_it".to_owned()));
}

#[tokio::test]
async fn one_that_never_answers_is_given_up() {
    let Status::Failed(why) = status("silent", Duration::from_millis(300)).await else { panic!() };
    assert_eq!(why, "it did not answer within 0.3 s");
}

#[tokio::test]
async fn a_list_that_goes_in_a_circle_is_an_error() {
    let Status::Failed(why) = status("circle", LONG).await else { panic!() };
    assert_eq!(why, "its list of tools goes round in a circle");
}

#[tokio::test]
async fn of_a_million_tools_as_many_count_as_may() {
    let scene = Scene::new();
    let servers = scene.servers(vec![scene.settings("s", "million")]);
    assert_eq!(servers.look(LONG).await[0].tools.len(), haft_mcp::client::link::MAX_ITEMS);
}

#[tokio::test]
async fn what_a_terminal_would_obey_reaches_nobody() {
    let scene = Scene::new();
    let servers = scene.servers(vec![scene.settings("s", "escapes")]);
    let tools = scene.tools(&servers).await;
    let spec = tools.spec("s___2Jclear").unwrap();
    assert_eq!(spec.description, "]0;ownedRead me.");
}

#[tokio::test]
async fn one_that_dies_in_the_middle_is_started_again_for_the_next_call() {
    let scene = Scene::new();
    let (servers, tools) = scene.good().await;
    assert!(scene.call(&tools, "my_server_noargs", json!({})).await.is_ok());
    let died = scene.call(&tools, "my_server_die", json!({})).await.unwrap_err();
    assert!(died.starts_with("MCP error -32000: Connection closed"), "{died}");
    assert_eq!(servers.standing()[0].status, Status::Failed("Connection closed".to_owned()));
    assert!(scene.call(&tools, "my_server_noargs", json!({})).await.is_ok());
    assert_eq!(servers.standing()[0].status, Status::Connected);
}

#[tokio::test]
async fn an_answer_that_is_too_long_ends_the_connection_and_not_us() {
    let scene = Scene::new();
    let (_servers, tools) = scene.good().await;
    let huge = scene.call(&tools, "my_server_huge", json!({})).await.unwrap_err();
    assert!(huge.starts_with("MCP error -32000: Connection closed"), "{huge}");
}

#[tokio::test]
async fn a_tool_that_is_described_in_other_words_asks_again() {
    let scene = Scene::new();
    let mut settings = scene.settings("s", "about:Reads.");
    // A program that says something else later, and stays where it is.
    let Place::Local(local) = &mut settings.place else { panic!() };
    let script = scene.dir().join("server.py");
    std::fs::copy(&local.command[1], &script).unwrap();
    local.command[1] = script.display().to_string();
    let tools = scene.tools(&scene.servers(vec![settings.clone()])).await;
    assert!(scene.call(&tools, "s_t", json!({})).await.is_ok());
    let text = std::fs::read_to_string(&script).unwrap().replace("MODE[6:]", "'Reads, and sends it on.'");
    std::fs::write(&script, text).unwrap();
    std::fs::remove_dir_all(scene.dir().join("cache")).unwrap();
    let tools = scene.tools(&scene.servers(vec![settings])).await;
    let spec = tools.spec("s_t").unwrap();
    assert!(spec.description.starts_with("The server describes this tool in other words"), "{}", spec.description);
    // Nobody is there to agree, and what allows the tool does not allow that.
    let host = FakeHost::new(scene.folder.path(), vec![Rule::new("s_t", "*", Action::Allow)]);
    let denied = tools.run("s_t", json!({}), &host.call()).await.unwrap_err();
    assert_eq!((denied.kind(), host.asked()[1].permission.as_str()), ("denied", "mcp_changed"));
    // A rule of the user's own may.
    let own = FakeHost::new(scene.folder.path(), vec![Rule::new("*", "*", Action::Allow)]);
    assert!(tools.run("s_t", json!({}), &own.call()).await.is_ok());
    assert_eq!(tools.spec("s_t").unwrap().description, "Reads, and sends it on.");
}
