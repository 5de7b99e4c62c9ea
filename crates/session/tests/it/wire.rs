//! Whatever is stored, every dialect makes a request of it that its vendor takes, and a longer conversation begins with
//! what the shorter one gave.

mod chat;
mod converse;
mod faults;
mod gemini;
mod messages;
mod prefix;
mod random;
mod responses;

use std::sync::{Arc, LazyLock};

use haft_llm::dialect::chat::{Chat, ChatManners};
use haft_llm::dialect::converse::Converse;
use haft_llm::dialect::gemini::Gemini;
use haft_llm::dialect::messages::Messages;
use haft_llm::dialect::responses::Responses;
use haft_llm::quirks::Quirks;
use haft_llm::{Provider, Server};
use haft_protocol::{History, ModelRef};
use haft_session::{Model, assemble};
use haft_tool::Spec;
use proptest::prelude::*;
use serde_json::{Value, json};

use faults::{Faults, Once, list, plain, says, text};
use random::{MODELS, cut_sessions, go_on, mark, sessions};

/// A model, and what its vendor takes.
struct Target {
    model: Model,
    rules: fn(&Value, &mut Faults),
    /// The pieces of the conversation, in order, without marks for caches.
    pieces: fn(&Value) -> Vec<Value>,
}

/// Each dialect with models that want something of it.
fn targets() -> &'static [Target] {
    static TARGETS: LazyLock<Vec<Target>> = LazyLock::new(made);
    &TARGETS
}

fn made() -> Vec<Target> {
    let target = |at: usize, provider: Arc<dyn Provider>, rules, pieces| {
        let (vendor, id) = MODELS[at];
        let reference = ModelRef { provider_id: vendor.to_owned(), model_id: id.to_owned() };
        let provider = Quirks::of(vendor, id).around(provider);
        Target { model: Model::new(reference, id, provider), rules, pieces }
    };
    let server = |at: usize| Server {
        provider: MODELS[at].0.to_owned(),
        base_url: "https://example.com/v1".to_owned(),
        ..Server::default()
    };
    let chat = |at: usize| {
        let provider = Arc::new(Chat::new(&server(at), ChatManners { thinking_field: None }).unwrap());
        target(at, provider, chat::rules, chat::pieces)
    };
    vec![
        target(0, Arc::new(Responses::new(&server(0)).unwrap()), responses::rules, responses::pieces),
        target(1, Arc::new(Messages::new(&server(1)).unwrap()), messages::rules, messages::pieces),
        target(2, Arc::new(Gemini::new(&server(2)).unwrap()), gemini::rules, gemini::pieces),
        target(3, Arc::new(Converse::new(&server(3)).unwrap()), converse::rules, converse::pieces),
        Target { rules: chat::mistral_rules, ..chat(4) },
        chat(5),
        chat(6),
        // Through a gateway, which hands marks for the cache on.
        chat(1),
    ]
}

fn tools() -> Vec<Spec> {
    let parameters =
        json!({"type": "object", "properties": {"filePath": {"type": "string"}}, "required": ["filePath"]});
    let tool =
        |name: &str| Spec { name: name.to_owned(), description: "A tool.".to_owned(), parameters: parameters.clone() };
    vec![tool("bash"), tool("read")]
}

/// The body that `target` would be sent.
fn body(target: &Target, history: &History) -> Vec<u8> {
    target.model.provider.body(assemble("Be brief.", history, &tools(), &target.model)).into()
}

/// What is wrong with the body that `target` would be sent.
fn faults(target: &Target, history: &History) -> Vec<String> {
    let bytes = body(target, history);
    let body: Value = serde_json::from_slice(&bytes).unwrap();
    let mut faults = Faults::default();
    (target.rules)(&body, &mut faults);
    let text = String::from_utf8(bytes).unwrap();
    for other in MODELS {
        let reference = &target.model.reference;
        let own = (reference.provider_id.as_str(), reference.model_id.as_str()) == other;
        faults.when(!own && text.contains(&mark(other)), || format!("what {other:?} made goes to another"));
    }
    faults.0
}

/// As many cases as the environment says, half of them where it says nothing: each one is sixteen requests or more.
fn cases() -> ProptestConfig {
    let config = ProptestConfig::default();
    ProptestConfig { cases: (config.cases / 2).max(1), ..config }
}

proptest! {
    #![proptest_config(cases())]

    #[test]
    fn whatever_is_stored_every_vendor_takes_it((session, cut) in cut_sessions()) {
        let history = session.history(&cut);
        for target in targets() {
            let faults = faults(target, &history);
            let name = target.model.name();
            prop_assert!(faults.is_empty(), "{name}: {faults:#?}\n{}", String::from_utf8_lossy(&body(target, &history)));
        }
    }
}
