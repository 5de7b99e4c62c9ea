//! What model servers on this machine say of their models. Pure. Another process wrote it: nothing in it is believed
//! beyond what it can mean.

use serde_json::Value;

use crate::failure::excerpt;

/// Most models of one server.
const MAX_MODELS: usize = 200;

/// Longest name of a model, in bytes.
const MAX_NAME: usize = 200;

/// Largest context that is believed, in tokens.
const MAX_CONTEXT: u64 = 1 << 32;

/// A model of a server on this machine. `None`: the server does not say.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LocalModel {
    /// Its name at the server.
    pub id: String,
    /// What it takes together, in tokens: as it runs, where that is said, else as it was made.
    pub context: Option<u64>,
    /// Whether it calls tools.
    pub tools: Option<bool>,
    /// Whether it reads pictures.
    pub images: Option<bool>,
    /// Whether it thinks.
    pub thinks: Option<bool>,
    /// Whether it can talk: others only measure, sort, hear or draw.
    pub(super) talks: bool,
    /// Which server this turned out to be.
    pub(super) server: Option<&'static str>,
}

/// The models in an answer; `None` if it is no list of models.
pub(super) fn list(told: &Value) -> Option<Vec<LocalModel>> {
    // Where both are given, they are the same list; the first is the one that requests go by.
    let list = ["data", "models"].into_iter().find_map(|key| told.get(key)?.as_array())?;
    Some(list.iter().filter_map(model).filter(|model| model.talks).take(MAX_MODELS).collect())
}

fn model(told: &Value) -> Option<LocalModel> {
    let id =
        ["id", "model", "name"].into_iter().find_map(|key| told.get(key)?.as_str()).filter(|name| is_name(name))?;
    let family = told.pointer("/details/family").and_then(Value::as_str).unwrap_or_default();
    let kind = told["type"].as_str();
    let mut model = LocalModel { id: id.to_owned(), talks: can_talk(id, family), ..LocalModel::default() };
    model.talks &= !matches!(kind, Some("embeddings" | "embedding"));
    model.images = kind.and_then(|kind| match kind {
        "vlm" => Some(true),
        "llm" => Some(false),
        _ => None,
    });
    // As it runs in LM Studio, as it can run there, vLLM's name, and what llama.cpp says of how it was made.
    let sizes = ["/loaded_context_length", "/max_context_length", "/max_model_len", "/meta/n_ctx", "/meta/n_ctx_train"];
    model.context = sizes.into_iter().find_map(|path| size(told.pointer(path)?));
    able(&mut model, &told["capabilities"]);
    Some(model)
}

/// What Ollama says of one model (`/api/show`).
pub(super) fn shown_by_ollama(model: &mut LocalModel, told: &Value) {
    let set = told["parameters"].as_str().unwrap_or_default().lines().find_map(|line| {
        let mut words = line.split_whitespace();
        (words.next()? == "num_ctx").then(|| words.next()?.parse().ok())?
    });
    let made = told["model_info"]
        .as_object()
        .and_then(|info| info.iter().find_map(|(key, value)| key.ends_with(".context_length").then(|| size(value))?));
    model.context = set.filter(|size| (1..=MAX_CONTEXT).contains(size)).or(made).or(model.context);
    let capabilities = &told["capabilities"];
    if let Some(list) = capabilities.as_array() {
        let has = |word: &str| list.iter().any(|one| one == word);
        model.talks &= has("completion") || list.is_empty();
        (model.tools, model.images, model.thinks) = (Some(has("tools")), Some(has("vision")), Some(has("thinking")));
    }
}

/// Whether it is what llama.cpp's server says of itself (`/props`).
pub(super) fn is_llamacpp(told: &Value) -> bool {
    told["default_generation_settings"].is_object()
}

pub(super) fn props_of_llamacpp(model: &mut LocalModel, told: &Value) {
    model.server = Some("llamacpp");
    let runs = told.pointer("/default_generation_settings/n_ctx").and_then(size);
    model.context = runs.or(model.context);
    model.images = told.pointer("/modalities/vision").and_then(Value::as_bool).or(model.images);
    let tools = told.pointer("/chat_template_caps/supports_tools").and_then(Value::as_bool);
    model.tools = tools.or(model.tools);
}

/// Whether it is what Text Generation Inference says of itself (`/info`).
pub(super) fn is_tgi(told: &Value) -> bool {
    told["model_id"].is_string() && told.get("max_total_tokens").or(told.get("max_input_tokens")).is_some()
}

pub(super) fn info_of_tgi(model: &mut LocalModel, told: &Value) {
    model.server = Some("tgi");
    model.context = told.get("max_total_tokens").and_then(size).or(model.context);
}

/// What LM Studio calls capabilities.
fn able(model: &mut LocalModel, told: &Value) {
    if let Some(list) = told.as_array() {
        let has = |word: &str| list.iter().any(|one| one == word);
        model.tools = Some(has("tool_use") || has("tools"));
    }
}

fn size(value: &Value) -> Option<u64> {
    value.as_u64().filter(|size| (1..=MAX_CONTEXT).contains(size))
}

/// Models that only measure, sort, hear or draw are no use here.
fn can_talk(name: &str, family: &str) -> bool {
    let name = name.to_lowercase();
    let mute = ["embed", "rerank", "whisper", "bge-", "all-minilm", "stable-diffusion", "tts"];
    !mute.into_iter().any(|word| name.contains(word)) && !family.contains("bert")
}

/// A name that is one line of text: people will see it.
fn is_name(name: &str) -> bool {
    !name.is_empty() && name.len() <= MAX_NAME && excerpt(name) == name && !name.chars().any(char::is_control)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn models_are_read_from_each_kind_of_list() {
        let row = |body: &str, want: Option<&[&str]>| {
            let got = list(&serde_json::from_str(body).unwrap());
            let got: Option<Vec<&str>> = got.as_ref().map(|models| models.iter().map(|model| &*model.id).collect());
            assert_eq!(got.as_deref(), want, "{body}");
        };
        row(
            r#"{"models":[{"name":"qwen3:8b","model":"qwen3:8b","details":{"family":"qwen3"}},{"name":"x:latest","details":{"family":"nomic-bert"}}]}"#,
            Some(&["qwen3:8b"]),
        );
        row(r#"{"data":[{"id":"text-embedding-nomic"},{"id":"gemma-3"}],"object":"list"}"#, Some(&["gemma-3"]));
        row(r#"{"data":[{"id":"e","type":"embeddings"},{"id":"g","type":"llm"}]}"#, Some(&["g"]));
        row(r#"{"models":[{"name":"a.gguf","model":"a.gguf"}],"data":[{"id":"a"}]}"#, Some(&["a"]));
        row(r#"{"data":[]}"#, Some(&[]));
        row(r#"{"data":[{"id":7},{"id":""},{"id":"a\nb"},{"id":"\u001b[2J"},7]}"#, Some(&[]));
        row(r#"{"hello":"world"}"#, None);
        row("[]", None);
        let many = (0..MAX_MODELS + 1).map(|at| json!({"id": format!("m{at}")})).collect::<Vec<_>>();
        assert_eq!(list(&json!({"data": many})).unwrap().len(), MAX_MODELS);
        assert!(is_name(&"x".repeat(MAX_NAME)) && !is_name(&"x".repeat(MAX_NAME + 1)));
    }

    #[test]
    fn the_context_is_read_where_a_server_says_it() {
        let row = |told: Value, want: Option<u64>| {
            let list = list(&json!({"data": [told.clone()]})).unwrap();
            assert_eq!(list[0].context, want, "{told}");
        };
        row(json!({"id": "a"}), None);
        row(json!({"id": "a", "max_model_len": 32768}), Some(32_768));
        row(json!({"id": "a", "max_context_length": 131072}), Some(131_072));
        row(json!({"id": "a", "max_context_length": 131072, "loaded_context_length": 4096}), Some(4_096));
        row(json!({"id": "a", "meta": {"n_ctx_train": 40960}}), Some(40_960));
        row(json!({"id": "a", "max_model_len": -1}), None);
        row(json!({"id": "a", "max_model_len": "many"}), None);
        row(json!({"id": "a", "max_model_len": MAX_CONTEXT + 1}), None);
    }

    #[test]
    fn what_single_servers_say_is_understood() {
        let after = |read: &dyn Fn(&mut LocalModel)| {
            let mut model = LocalModel { id: "m".to_owned(), talks: true, ..LocalModel::default() };
            read(&mut model);
            (model.context, model.tools, model.images, model.thinks, model.talks)
        };
        let show = |told: Value| after(&|model| shown_by_ollama(model, &told));
        let info = json!({"general.architecture": "qwen3", "qwen3.context_length": 40960});
        assert_eq!(
            show(json!({"model_info": info, "capabilities": ["completion", "tools", "thinking"]})),
            (Some(40_960), Some(true), Some(false), Some(true), true)
        );
        assert_eq!(
            show(json!({"model_info": info, "parameters": "stop \"<x>\"\nnum_ctx    8192"})),
            (Some(8_192), None, None, None, true)
        );
        assert!(!show(json!({"capabilities": ["embedding"]})).4);
        assert_eq!(show(json!("nonsense")), (None, None, None, None, true));

        let props = json!({
            "default_generation_settings": {"n_ctx": 4096}, "modalities": {"vision": true},
            "chat_template_caps": {"supports_tools": false},
        });
        assert!(is_llamacpp(&props) && !is_tgi(&props));
        let got = after(&|model| props_of_llamacpp(model, &props));
        assert_eq!(got, (Some(4_096), Some(false), Some(true), None, true));
        let info = json!({"model_id": "x", "max_total_tokens": 2048});
        assert!(is_tgi(&info) && !is_llamacpp(&info));
        assert_eq!(after(&|model| info_of_tgi(model, &info)).0, Some(2_048));

        let studio = list(&json!({"data": [
            {"id": "a", "type": "vlm", "capabilities": ["tool_use"]}, {"id": "b", "type": "llm", "capabilities": []},
        ]}));
        let facts: Vec<_> = studio.unwrap().iter().map(|model| (model.images, model.tools)).collect();
        assert_eq!(facts, [(Some(true), Some(true)), (Some(false), Some(false))]);
    }
}
