//! What calls come to: what was recorded of OpenCode, and what is better here.

use std::time::Duration;

use haft_permission::{Action, Rule};
use haft_tool::fake::FakeHost;
use serde_json::json;

use crate::scene::Scene;

#[tokio::test]
async fn results_are_those_that_were_recorded() {
    let scene = Scene::new();
    let (_servers, tools) = scene.good().await;
    let row = async |tool: &str, input: serde_json::Value, want: Result<&str, &str>| {
        let got = scene.call(&tools, tool, input).await.map(|output| output.text);
        assert_eq!(got, want.map(str::to_owned).map_err(str::to_owned), "{tool}");
    };
    row("my_server_echo_it", json!({"text": "hi"}), Ok("you said {\"text\": \"hi\"}\n\nsecond")).await;
    row("my_server_noargs", json!({}), Ok("")).await;
    row("my_server_fail", json!({}), Err("it broke")).await;
    row("my_server_struct", json!({}), Ok("{\"a\":1}")).await;
    row("my_server_rpcerr", json!({}), Err("MCP error -32000: bad thing")).await;
    let omitted = "[Binary MCP resource omitted: x://b (application/zip, 4 B) is not a supported attachment type]";
    row("my_server_res", json!({}), Ok(&format!("res text\n\n{omitted}"))).await;
    row(
        "read_mcp_resource",
        json!({"server": "my server", "uri": "x://bin"}),
        Ok(&omitted.replace("x://b ", "x://bin ")),
    )
    .await;
    let read = "Resource: x://a\nMIME: text/plain\nresource body";
    row("read_mcp_resource", json!({"server": "my server", "uri": "x://a"}), Ok(read)).await;
    let none = "MCP resource x://none from my server returned no contents.";
    row("read_mcp_resource", json!({"server": "my server", "uri": "x://none"}), Ok(none)).await;
    row("read_mcp_resource", json!({"server": "my server"}), Err("uri is required")).await;
    let away = "MCP server \"zzz\" is not connected";
    row("read_mcp_resource", json!({"server": "zzz", "uri": "x://a"}), Err(away)).await;
    let nope = "MCP server \"nope\" does not support resources. Available resource servers: my server";
    row("list_mcp_resources", json!({"server": "nope"}), Err(nope)).await;
    let list = "{\n  \"resources\": [\n    {\n      \"name\": \"A\",\n      \"uri\": \"x://a\",\n      \"description\": \
                \"res a\",\n      \"mimeType\": \"text/plain\",\n      \"server\": \"my server\"\n    }\n  ]\n}";
    row("list_mcp_resources", json!({}), Ok(list)).await;
    let templates = "{\n  \"resourceTemplates\": [\n    {\n      \"name\": \"T\",\n      \"uriTemplate\": \
                     \"x://{id}\",\n      \"server\": \"my server\"\n    }\n  ]\n}";
    row("list_mcp_resource_templates", json!({}), Ok(templates)).await;

    let image = scene.call(&tools, "my_server_img", json!({})).await.unwrap();
    assert_eq!((image.text.as_str(), image.attachments[0].mime.as_str()), ("here", "image/png"));
    let named = scene.call(&tools, "my_server_res", json!({})).await.unwrap();
    assert_eq!(named.attachments[0].filename.as_deref(), Some("x://c.png"));
    let big = scene.call(&tools, "my_server_big", json!({})).await.unwrap();
    assert!(big.text.starts_with("row 0\nrow 1\n") && big.metadata["truncated"] == true);
    let listed = scene.call(&tools, "list_mcp_resources", json!({})).await.unwrap();
    assert_eq!((listed.title.as_str(), &listed.metadata["count"]), ("MCP resources", &json!(1)));
}

#[tokio::test]
async fn arguments_are_checked_before_the_server_sees_them() {
    let scene = Scene::new();
    let (_servers, tools) = scene.good().await;
    let wrong = scene.call(&tools, "my_server_echo_it", json!({"text": 5, "n": [1]})).await.unwrap_err();
    assert!(wrong.contains("\n- text must be a string, not 5") && wrong.contains("\n- n must be a number"), "{wrong}");
}

#[tokio::test]
async fn a_tool_asks_under_its_whole_name() {
    let scene = Scene::new();
    let (_servers, tools) = scene.good().await;
    let host = FakeHost::new(scene.folder.path(), vec![Rule::new("my_server_*", "*", Action::Deny)]);
    let denied = tools.run("my_server_echo_it", json!({"text": "hi"}), &host.call()).await.unwrap_err();
    assert_eq!(denied.kind(), "denied");
}

#[tokio::test]
async fn a_call_may_take_long_while_the_server_says_that_it_goes_on() {
    let scene = Scene::new();
    let mut settings = scene.settings("s", "good");
    // Four steps of 0.6 s: longer than that in all, and not between two of them.
    (settings.timeout, settings.call_timeout) = (None, Some(Duration::from_secs(2)));
    let servers = scene.servers(vec![settings]);
    let tools = scene.tools(&servers).await;
    assert_eq!(scene.call(&tools, "s_steps", json!({})).await.unwrap().text, "arrived");
    let late = scene.call(&tools, "s_slow", json!({})).await.unwrap_err();
    assert_eq!(late, "MCP error -32001: Request timed out");
    servers.close().await;
    assert_eq!(std::fs::read_to_string(scene.dir().join("log")).unwrap(), "cancelled\n");
}

#[tokio::test]
async fn a_call_that_is_stopped_is_stopped_at_the_server() {
    let scene = Scene::new();
    let (servers, tools) = scene.good().await;
    let call = scene.host.call();
    let (stop, run) = (call.cancel.clone(), tools.run("my_server_slow", json!({}), &call));
    let stopped = async {
        tokio::task::yield_now().await;
        stop.cancel();
    };
    let (result, ()) = tokio::join!(run, stopped);
    assert_eq!(result.unwrap_err().kind(), "cancelled");
    servers.close().await;
}

#[tokio::test]
async fn a_server_may_ask_the_person_and_where_we_are() {
    let scene = Scene::new();
    let (_servers, tools) = scene.good().await;
    scene.host.answer(vec![vec!["Ada".to_owned()], Vec::new()]);
    let asked = scene.call(&tools, "my_server_ask", json!({})).await.unwrap().text;
    assert_eq!(asked, "{\"action\": \"accept\", \"content\": {\"age\": 7, \"name\": \"Ada\"}}");
    let roots = scene.call(&tools, "my_server_roots", json!({})).await.unwrap().text;
    assert!(roots.contains(&format!("file://{}", scene.dir().display())), "{roots}");
}

#[tokio::test]
async fn a_program_is_given_what_the_settings_say() {
    let scene = Scene::new();
    let (_servers, tools) = scene.good().await;
    let told = scene.call(&tools, "my_server_env", json!({})).await.unwrap().text;
    assert_eq!(told, format!("[\"GIVEN\"] {}", scene.dir().display()));
}
