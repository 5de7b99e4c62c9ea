//! What one client is offered: the tools of a folder, behind gate and cage, with the memory of one session.

use std::collections::HashMap;
use std::convert::Infallible;
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use anyhow::Result;
use futures::future::BoxFuture;
use haft_mcp::rmcp::ErrorData;
use haft_mcp::rmcp::model::{
    CallToolResult, ContentBlock, Implementation, InitializeResult, JsonObject, ServerCapabilities, Tool,
};
use haft_mcp::server::{Client, Offer, asks, content};
use haft_permission::{Answerer, Denied, Gate};
use haft_protocol::{Answers, Ask, Event, Inquiry, MessageId, Reply};
use haft_session::{Questions, Workbench};
use haft_tool::ToolError;
use serde_json::Value;
use tokio::sync::{mpsc, watch};

use crate::args::ModelArg;
use crate::ask::words;
use crate::commands::tool;
use crate::render::Paint;
use crate::wire::Ground;

/// How wide a question is written, in columns.
const COLUMNS: usize = 100;

/// Tools that do nothing without a model of their own. They can be called, and say so.
const NEED_A_MODEL: [&str; 3] = ["task", "plan_enter", "plan_exit"];

/// How often it is looked whether there are other tools.
const LOOK: Duration = Duration::from_secs(2);

const ABOUT: &str = "Tools of a coding agent for one project folder. Paths are relative to that folder. Commands run \
                     in a cage; what the user's rules do not allow is asked for or denied, and the answer says so. \
                     Read a file before you change it: one that changed since is refused.";

/// What all clients share.
pub(super) struct Shared {
    ground: Ground,
    auto: bool,
    agent: Option<String>,
    audience: tool::Audience,
    /// Those that clients were told of.
    tools: Mutex<Vec<Tool>>,
    /// Counts up whenever they are other ones.
    version: watch::Sender<u64>,
}

impl Shared {
    /// The tools of `ground` as `agent` is offered them; `auto` is a yes in advance.
    pub(super) async fn new(ground: Ground, auto: bool, agent: Option<String>) -> Result<Self> {
        let audience = tool::Audience::new(&ground, &ModelArg::default(), agent.as_deref())?;
        ground.registry().ready(tool::PATIENCE).await;
        let tools = Mutex::new(now(&ground, &audience));
        Ok(Self { ground, auto, agent, audience, tools, version: watch::Sender::new(0) })
    }

    /// Looks again and again whether there are other tools: those of servers and files come and go. Never ends by itself.
    pub(super) async fn watch(&self) {
        loop {
            tokio::time::sleep(LOOK).await;
            let registry = self.ground.registry();
            // The look begins to load what is new; half of it is nothing to tell of.
            let _ = registry.now();
            registry.ready(LOOK).await;
            let now = now(&self.ground, &self.audience);
            let mut known = self.tools.lock().unwrap_or_else(PoisonError::into_inner);
            if now != *known {
                *known = now;
                self.version.send_modify(|version| *version += 1);
            }
        }
    }
}

/// The tools that there are now, in the protocol's words.
fn now(ground: &Ground, audience: &tool::Audience) -> Vec<Tool> {
    let (offer, registry) = (audience.offer(ground), ground.registry().now());
    let specs = offer.specs.iter().filter(|spec| !NEED_A_MODEL.contains(&spec.name.as_str()));
    let permission = |name: &str| registry.permission(name).unwrap_or_else(|| name.to_owned());
    specs.map(|spec| content::definition(spec, &permission(&spec.name))).collect()
}

/// One client's tools.
pub(super) struct Tools {
    shared: Arc<Shared>,
    /// Made by the first call: before, nobody knows whether the client can ask its person.
    desk: OnceLock<Result<Desk, String>>,
}

/// A workbench, and who is asked about which of its calls.
struct Desk {
    bench: Workbench,
    gate: Gate,
    questions: Questions,
    routes: Arc<Routes>,
}

impl Tools {
    pub(super) fn new(shared: Arc<Shared>) -> Self {
        Self { shared, desk: OnceLock::new() }
    }

    fn desk(&self, client: &Client) -> Result<&Desk, ErrorData> {
        let make = || {
            let Shared { ground, auto, agent, .. } = &*self.shared;
            let answerer = match (auto, client.shows_forms()) {
                (true, _) => Answerer::Yes,
                (false, true) => Answerer::Person,
                (false, false) => Answerer::Nobody,
            };
            let routes = Arc::new(Routes::default());
            let tell = {
                let routes = routes.clone();
                move |event| routes.tell(event)
            };
            let (bench, gate, questions) =
                ground.workbench_telling(answerer, agent.as_deref(), tell).map_err(|error| format!("{error:#}"))?;
            Ok(Desk { bench, gate, questions, routes })
        };
        self.desk.get_or_init(make).as_ref().map_err(|why| ErrorData::internal_error(why.clone(), None))
    }
}

impl Offer for Tools {
    fn about(&self) -> InitializeResult {
        InitializeResult::new(ServerCapabilities::builder().enable_tools().enable_tool_list_changed().build())
            .with_server_info(Implementation::new("haft", env!("CARGO_PKG_VERSION")))
            .with_instructions(ABOUT)
    }

    fn tools(&self) -> Vec<Tool> {
        now(&self.shared.ground, &self.shared.audience)
    }

    fn changed(&self) -> Option<watch::Receiver<u64>> {
        Some(self.shared.version.subscribe())
    }

    fn call<'a>(
        &'a self,
        name: &'a str,
        arguments: JsonObject,
        client: Client,
    ) -> BoxFuture<'a, Result<CallToolResult, ErrorData>> {
        Box::pin(async move {
            let desk = self.desk(&client)?;
            let came = desk.call(name, &Value::Object(arguments).to_string(), &client).await;
            let hint = came.as_ref().err().and_then(unasked);
            let mut result = content::result(came);
            result.content.extend(hint.map(ContentBlock::text));
            Ok(result)
        })
    }
}

impl Desk {
    /// Runs a call. What is asked meanwhile is put to the client one after the other.
    async fn call(&self, name: &str, arguments: &str, client: &Client) -> Result<haft_tool::Output, ToolError> {
        let ticket = self.bench.ticket();
        let mut route = self.routes.open(&ticket);
        let (tell, told) = watch::channel(String::new());
        let follow = |title: &str, _: &haft_protocol::Object| drop(tell.send_replace(title.to_owned()));
        let mut following = pin!(client.follow(told));
        let cancel = client.cancelled().clone();
        let mut call = pin!(self.bench.followed(ticket, name, arguments, cancel, follow));
        let mut asking = pin!(self.ask(&mut route.asked, client));
        tokio::select! {
            biased;
            answered = &mut call => answered.result,
            never = &mut asking => match never {},
            never = &mut following => match never {},
        }
    }

    /// Puts what is asked to the person at the client. Ends with the call: never by itself.
    async fn ask(&self, asked: &mut mpsc::UnboundedReceiver<Event>, client: &Client) -> Infallible {
        while let Some(event) = asked.recv().await {
            match event {
                Event::PermissionAsked(ask) if self.gate.is_waiting(&ask.id) => {
                    let reply = leave(&ask, client).await;
                    // What was taken back meanwhile needs no answer.
                    let _ = self.gate.reply(&ask.id, reply);
                }
                Event::QuestionAsked(inquiry) if self.questions.is_waiting(&inquiry.id) => {
                    let _ = match answers(&inquiry, client).await {
                        Some(answers) => self.questions.reply(&inquiry.id, answers),
                        None => self.questions.reject(&inquiry.id),
                    };
                }
                _ => {}
            }
        }
        std::future::pending().await
    }
}

/// Whether the person at `client` gives leave.
async fn leave(ask: &Ask, client: &Client) -> Reply {
    let message = asks::shortened(&words::wanted(ask, None, Paint::OFF, COLUMNS), asks::MAX_MESSAGE);
    let filled = match client.fill_in(message.trim(), &asks::leave(ask)).await {
        Ok(filled) => filled,
        Err(error) => {
            return Reply::Reject { advice: Some(format!("nothing: the client could not ask them ({error})")) };
        }
    };
    if let Some(reply) = asks::reply(ask, &filled) {
        return reply;
    }
    let (message, form) = asks::instead();
    // Who does not say it after all has said no.
    let said = client.fill_in(message, &form).await;
    said.map_or(Reply::Reject { advice: None }, |filled| asks::advised(&filled))
}

/// What the person at `client` answers; `None` where they do not want to.
async fn answers(inquiry: &Inquiry, client: &Client) -> Option<Answers> {
    let (message, form) = asks::questions(inquiry);
    let filled = client.fill_in(&message, &form).await.ok()?;
    let answers = asks::answers(inquiry, &filled)?;
    let open = asks::open(inquiry, &filled);
    if open.is_empty() {
        return Some(answers);
    }
    let (message, form) = asks::own_words(inquiry, &open);
    let said = client.fill_in(&message, &form).await.ok()?;
    asks::with_own(answers, &open, &said)
}

/// What the client's model is told besides of a call for which nobody could be asked.
fn unasked(error: &ToolError) -> Option<String> {
    let ToolError::Denied(Denied::Nobody { permission, .. }) = error else { return None };
    // No rule answers a question.
    (permission != "question").then(|| {
        format!(
            "haft asks its user with a form, and this client shows none. They can allow it beforehand: with a rule for \
         {permission:?} under \"permission\" in haft's settings, or with `haft mcp serve --auto`."
        )
    })
}

/// Where what is asked goes: to the call that it is asked for. The gate bounds how much can wait.
#[derive(Default)]
struct Routes(Mutex<HashMap<MessageId, mpsc::UnboundedSender<Event>>>);

/// What is asked for one call. Closed when it is dropped.
struct Route<'a> {
    routes: &'a Routes,
    ticket: MessageId,
    asked: mpsc::UnboundedReceiver<Event>,
}

impl Routes {
    fn open(&self, ticket: &MessageId) -> Route<'_> {
        let (send, asked) = mpsc::unbounded_channel();
        self.lock().insert(ticket.clone(), send);
        Route { routes: self, ticket: ticket.clone(), asked }
    }

    fn tell(&self, event: Event) {
        let by = match &event {
            Event::PermissionAsked(ask) => ask.tool.as_ref(),
            Event::QuestionAsked(inquiry) => inquiry.tool.as_ref(),
            _ => None,
        };
        if let Some(route) = by.and_then(|by| self.lock().get(&by.message_id).cloned()) {
            // A call that has ended waits for nothing.
            let _ = route.send(event);
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<MessageId, mpsc::UnboundedSender<Event>>> {
        // Each use leaves the map whole, so a panic elsewhere does no harm to it.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Route<'_> {
    fn drop(&mut self) {
        self.routes.lock().remove(&self.ticket);
    }
}
