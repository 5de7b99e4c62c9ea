//! What each vendor takes, as the tests of `session` hold it against random histories; here against what a kill left.

#[path = "../../../session/tests/it/wire/faults.rs"]
mod faults;

#[expect(dead_code, reason = "how requests grow is looked at where they are made")]
#[path = "../../../session/tests/it/wire/chat.rs"]
mod chat;
#[expect(dead_code, reason = "how requests grow is looked at where they are made")]
#[path = "../../../session/tests/it/wire/converse.rs"]
mod converse;
#[expect(dead_code, reason = "how requests grow is looked at where they are made")]
#[path = "../../../session/tests/it/wire/gemini.rs"]
mod gemini;
#[expect(dead_code, reason = "how requests grow is looked at where they are made")]
#[path = "../../../session/tests/it/wire/messages.rs"]
mod messages;
#[expect(dead_code, reason = "how requests grow is looked at where they are made")]
#[path = "../../../session/tests/it/wire/responses.rs"]
mod responses;

use std::sync::{Arc, LazyLock};

use haft_llm::dialect::chat::{Chat, ChatManners};
use haft_llm::dialect::converse::Converse;
use haft_llm::dialect::gemini::Gemini;
use haft_llm::dialect::messages::Messages;
use haft_llm::dialect::responses::Responses;
use haft_llm::quirks::Quirks;
use haft_llm::{Provider, Server};
use haft_protocol::{Clock, Event, History, Message, MessageTime, ModelRef, Part, PartKind, SessionId, User};
use haft_session::{Model, assemble};
use serde_json::Value;

use faults::{Faults, Once, list, plain, says, text};

type Rules = fn(&Value, &mut Faults);
/// A model, and the rules of its vendor.
type Vendor = (Model, Rules);

/// One model of each dialect.
static VENDORS: LazyLock<Vec<Vendor>> = LazyLock::new(|| {
    let server = |vendor: &str| Server {
        provider: vendor.to_owned(),
        base_url: "https://example.com/v1".to_owned(),
        ..Server::default()
    };
    let vendor = |vendor: &str, id: &str, provider: Arc<dyn Provider>, rules: Rules| {
        let reference = ModelRef { provider_id: vendor.to_owned(), model_id: id.to_owned() };
        (Model::new(reference, id, Quirks::of(vendor, id).around(provider)), rules)
    };
    let chat = Chat::new(&server("deepseek"), ChatManners { thinking_field: None }).unwrap();
    let bedrock = "us.anthropic.claude-sonnet-4-5-v1:0";
    vec![
        vendor("openai", "gpt-5.2", Arc::new(Responses::new(&server("openai")).unwrap()), responses::rules),
        vendor(
            "anthropic",
            "claude-sonnet-4-5",
            Arc::new(Messages::new(&server("anthropic")).unwrap()),
            messages::rules,
        ),
        vendor("google", "gemini-3-pro", Arc::new(Gemini::new(&server("google")).unwrap()), gemini::rules),
        vendor("amazon-bedrock", bedrock, Arc::new(Converse::new(&server("amazon-bedrock")).unwrap()), converse::rules),
        vendor("deepseek", "deepseek-v3.2", Arc::new(chat), chat::rules),
    ]
});

/// Why vendors would refuse the next prompt behind `history`, as far as they would.
pub(crate) fn refusals(history: &History) -> Vec<String> {
    let asked = asked(history);
    let mut refusals = Vec::new();
    for (model, rules) in VENDORS.iter() {
        let body = model.provider.body(assemble("Be brief.", &asked, &[], model));
        let mut faults = Faults::default();
        rules(&serde_json::from_slice(&body).unwrap(), &mut faults);
        refusals.extend(faults.0.into_iter().map(|fault| format!("{}: {fault}", model.name())));
    }
    refusals
}

/// `history` with one more prompt.
fn asked(history: &History) -> History {
    let clock = Clock::system();
    let session: SessionId = clock.mint();
    let session_id = history.messages().first().map_or(&session, |turned| turned.info.session_id()).clone();
    let user = User {
        id: clock.mint(),
        session_id: session_id.clone(),
        time: MessageTime { created: clock.now_ms(), completed: None },
        agent: "build".to_owned(),
        model: ModelRef { provider_id: "own".to_owned(), model_id: "m1".to_owned() },
        variant: None,
        format: None,
        summary: None,
        system: None,
    };
    let words =
        PartKind::Text { text: "Go on.".to_owned(), synthetic: false, ignored: false, time: None, metadata: None };
    let part = Part { id: clock.mint(), session_id: session_id.clone(), message_id: user.id.clone(), kind: words };
    let mut asked = history.clone();
    asked.apply(&Event::MessageUpdated { session_id: session_id.clone(), info: Box::new(Message::User(user)) });
    asked.apply(&Event::PartUpdated { session_id, part: Box::new(part), time: clock.now_ms() });
    asked
}
