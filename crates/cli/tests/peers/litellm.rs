//! LiteLLM's proxy: one scripted model behind it, asked in four dialects in front of it.

use std::process::Command;

use serde_json::json;

use crate::scene::{CHAT, GEMINI, MESSAGES, RESPONSES, STEPS, machine, works};
use crate::service::{Service, free_port};
use crate::support::Served;

/// What the proxy wants of whoever asks it.
const KEY: &str = "sk-in-front-of-the-proxy";

#[test]
fn a_proxy_translates_what_each_dialect_asks() {
    let Some(python) = crate::install::python() else { return };
    let model = Served::plays(&STEPS);
    let folder = tempfile::tempdir().unwrap();
    let settings = folder.path().join("litellm.yaml");
    // By its own name for OpenAI the proxy would ask for responses behind it, too.
    let behind = |name: &str, driver: &str| {
        json!({"model_name": name, "litellm_params": {
            "model": format!("{driver}/mock-1"), "api_base": model.url(), "api_key": "behind",
        }})
    };
    let written = json!({
        "model_list": [behind("mock-1", "hosted_vllm"), behind("mock-r", "deepseek")],
        "router_settings": {"disable_cooldowns": true, "num_retries": 0},
    });
    std::fs::write(&settings, written.to_string()).unwrap();
    let port = free_port();
    let proxy = Service::at(
        port,
        Command::new(python.with_file_name("litellm"))
            .arg("--config")
            .arg(&settings)
            .args(["--host", "127.0.0.1", "--port", &port.to_string()])
            .env("LITELLM_MASTER_KEY", KEY)
            // It would fetch prices.
            .env("LITELLM_LOCAL_MODEL_COST_MAP", "True"),
    );
    let options = |path: &str| json!({"baseURL": format!("{}{path}", proxy.url), "apiKey": KEY});
    works(&machine(CHAT, "mock-1", options("/v1")), "chat");
    works(&machine(MESSAGES, "mock-1", options("/v1")), "messages");
    works(&machine(RESPONSES, "mock-r", options("/v1")), "responses");
    works(&machine(GEMINI, "mock-1", options("/v1beta")), "gemini");
}
