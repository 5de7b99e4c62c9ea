//! Servers that mean no good, or do none.

use std::time::Duration;

use haft_mcp::client::sampling::MAX_ANSWERS;
use haft_mcp::client::server::RECONNECTS;
use haft_mcp::client::settings::{Place, Settings};
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
    let servers = scene.servers(vec![settings]);
    let tools = scene.tools(&servers).await;
    let spec = tools.spec("s_t").unwrap();
    assert!(spec.description.starts_with("The server describes this tool in other words"), "{}", spec.description);
    // Nobody is there to agree, and what allows the tool does not allow that.
    let host = FakeHost::new(scene.folder.path(), vec![Rule::new("s_t", "*", Action::Allow)]);
    let denied = tools.run("s_t", json!({}), &host.call()).await.unwrap_err();
    assert_eq!((denied.kind(), host.asked()[1].permission.as_str()), ("denied", "mcp_changed"));
    // A rule of the user's own may.
    let own = FakeHost::new(scene.folder.path(), vec![Rule::new("*", "*", Action::Allow)]);
    assert!(tools.run("s_t", json!({}), &own.call()).await.is_ok());
    // From the next look at the tools on.
    assert_eq!(scene.tools(&servers).await.spec("s_t").unwrap().description, "Reads, and sends it on.");
}

#[tokio::test]
async fn pages_without_an_end_are_given_up() {
    let Status::Failed(why) = status("pages", LONG).await else { panic!() };
    assert_eq!(why, "its list of tools has more than 1000 pages");
}

#[tokio::test]
async fn what_is_no_message_is_passed_over() {
    let scene = Scene::new();
    let servers = scene.servers(vec![scene.settings("s", "garbage")]);
    let tools = scene.tools(&servers).await;
    assert_eq!(
        scene.call(&tools, "s_echo_it", json!({"text": "hi"})).await.unwrap().text,
        "you said {\"text\": \"hi\"}\n\nsecond"
    );
    assert_eq!(servers.standing()[0].status, Status::Connected);
}

#[tokio::test]
async fn one_that_is_lost_while_idle_is_connected_again_a_few_times_and_no_more() {
    let scene = Scene::new();
    let servers = scene.looking_after(vec![scene.settings("s", "leaves")], Duration::from_millis(1));
    assert_eq!(servers.look(LONG).await[0].status, Status::Connected);
    let starts = || std::fs::read_to_string(scene.dir().join("log")).unwrap().lines().count();
    let all = 1 + RECONNECTS as usize;
    let is_left_alone = async {
        while starts() < all || !matches!(servers.standing()[0].status, Status::Failed(_)) {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(LONG, is_left_alone).await.unwrap();
    assert_eq!(starts(), all);
}

#[tokio::test]
async fn one_that_asks_the_model_needs_the_setting_and_leave() {
    let scene = Scene::new();
    scene.host.model_says("A handle.");
    let times = |n: usize| json!({ "times": n });
    // It is not offered, and nobody is asked.
    let (_servers, tools) = scene.good().await;
    let refused = scene.call(&tools, "my_server_sample", times(1)).await.unwrap().text;
    assert!(refused.contains("-32601") && scene.host.sampled().is_empty(), "{refused}");

    let settings = Settings { sampling: true, ..scene.settings("s", "good") };
    let servers = scene.servers(vec![settings]);
    let tools = scene.tools(&servers).await;
    let answered = scene.call(&tools, "s_sample", times(1)).await.unwrap().text;
    let want = r#"{"content": {"text": "A handle.", "type": "text"}, "model": "fake", "role": "assistant", "stopReason": "endTurn"}"#;
    assert_eq!(answered, want);
    let asked = &scene.host.sampled()[0];
    assert_eq!(
        (asked.system.as_str(), asked.messages[0].text.as_str(), asked.max_output),
        ("Be brief.", "What is a haft?", 50)
    );
    // What allows the tool does not allow that; nobody is there to say yes.
    let host = FakeHost::new(scene.folder.path(), vec![Rule::new("s_sample", "*", Action::Allow)]);
    host.model_says("A handle.");
    let denied = tools.run("s_sample", times(1), &host.call()).await.unwrap().text;
    assert!(denied.contains("the user did not agree") && host.sampled().is_empty(), "{denied}");
    // It does not think for ever.
    let most = scene.call(&tools, "s_sample", times(MAX_ANSWERS + 1)).await.unwrap().text;
    assert!(most.contains("no more than 8 answers during one call"), "{most}");
    assert_eq!(scene.host.sampled().len(), 1 + MAX_ANSWERS);
}
