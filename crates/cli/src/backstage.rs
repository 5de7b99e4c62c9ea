//! What plug-ins are given of this program: a world behind the gate, and what they call `client`.
//!
//! `client` has the forms of OpenCode's library: `{ data }`, or `{ error }` for what is not found. Everything is bounded;
//! what needs leave asks for it like the rest of what the plug-in does.

mod acts;
mod args;
mod facts;
mod looks;
mod missing;
mod tally;

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures::future::BoxFuture;
use haft_config::Config;
use haft_mcp::client::Servers;
use haft_project::Place;
use haft_protocol::SessionId;
use haft_script::plugin::{Behind, Client};
use haft_script::{Refusal, World};
use haft_session::{Guest, Roster, SessionError, Setup};
use haft_store::{Journal, StoreError};
use serde_json::{Value, json};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use self::args::Args;
use self::tally::Tally;
use crate::folders::Folders;

/// Largest answer, in bytes of JSON. Older messages are left out before that.
const MAX_ANSWER: usize = 4 * 1024 * 1024;
/// Most prompts of plug-ins that are answered at once.
const MAX_AT_ONCE: usize = 16;
/// How long sessions that nobody needs any more may take to close when everything ends.
const MAX_END: Duration = Duration::from_secs(2);

/// What all plug-ins of a folder are given.
pub(crate) struct Backstage {
    /// Their world. It is opened with the gate.
    pub stage: Arc<Behind>,
    /// The sessions that are open.
    pub roster: Roster,
    folders: Folders,
    place: Place,
    trusted: bool,
    house: Mutex<Option<House>>,
    tally: Tally,
    room: Arc<Semaphore>,
    /// What goes on though nobody waits for it.
    behind: Mutex<JoinSet<()>>,
    over: CancellationToken,
}

/// What there is where sessions are.
#[derive(Clone)]
pub(crate) struct House {
    /// What a session is given.
    pub setup: Setup,
    pub config: Config,
    pub servers: Servers,
}

/// A call of one of the functions.
#[derive(Clone, Copy)]
struct Asked<'a> {
    plugin: &'a str,
    /// Its name, such as `session.get`.
    path: &'a str,
    args: &'a Args,
    world: &'a dyn World,
}

impl Backstage {
    /// For the plug-ins of `place`, where nothing can be done yet.
    pub(crate) fn new(folders: &Folders, place: &Place, trusted: bool) -> Self {
        Self {
            stage: Arc::default(),
            roster: Roster::default(),
            folders: folders.clone(),
            place: place.clone(),
            trusted,
            house: Mutex::default(),
            tally: Tally::default(),
            room: Arc::new(Semaphore::new(MAX_AT_ONCE)),
            behind: Mutex::default(),
            over: CancellationToken::new(),
        }
    }

    /// From now on there are sessions in `house`.
    pub(crate) fn moves_into(&self, house: House) {
        *self.house.lock().unwrap_or_else(PoisonError::into_inner) = Some(house);
    }

    /// There are no sessions any more.
    pub(crate) fn moves_out(&self) {
        // What it has leads back to the plug-ins, and so here.
        self.house.lock().unwrap_or_else(PoisonError::into_inner).take();
    }

    /// Ends what plug-ins have begun, and waits, two seconds at most, until sessions have closed that nobody holds.
    pub(crate) async fn close(&self) {
        self.over.cancel();
        let mut behind = std::mem::take(&mut *self.behind.lock().unwrap_or_else(PoisonError::into_inner));
        behind.shutdown().await;
        if tokio::time::timeout(MAX_END, self.roster.closed()).await.is_err() {
            tracing::warn!("sessions that plug-ins began took too long to close");
        }
    }

    fn house(&self) -> Result<House, Failed> {
        let house = self.house.lock().unwrap_or_else(PoisonError::into_inner).clone();
        house.ok_or_else(|| Failed::Missing("there are no sessions here".to_owned()))
    }

    fn journal(&self) -> Result<Journal, Failed> {
        Ok(self.house()?.setup.journal)
    }

    /// The plug-in as one that uses sessions.
    fn guest(&self, asked: Asked<'_>) -> Result<Guest, Failed> {
        let (setup, plugin) = (self.house()?.setup, asked.plugin.to_owned());
        Ok(Guest { setup, plugin, of: asked.world.session().cloned(), holds: asked.world.holds_turn() })
    }

    async fn done(&self, asked: Asked<'_>) -> Result<Value, Failed> {
        if let Some(done) = self.looked(asked).await {
            return done;
        }
        if let Some(told) = self.told(asked).await {
            return told;
        }
        if let Some(acted) = self.acted(asked).await {
            return acted;
        }
        Err(Failed::Refused(Refusal::new(missing::why(asked.path))))
    }
}

/// Why something was not done.
enum Failed {
    /// It is not there: an `error` of the answer.
    Missing(String),
    /// The function is not there, or it was not allowed: thrown.
    Refused(Refusal),
}

impl Failed {
    fn refused(why: impl Into<String>) -> Self {
        Failed::Refused(Refusal::new(why))
    }
}

impl From<Refusal> for Failed {
    fn from(refusal: Refusal) -> Self {
        match refusal.code.as_deref() {
            Some("ENOENT") => Failed::Missing(refusal.message),
            _ => Failed::Refused(refusal),
        }
    }
}

impl From<StoreError> for Failed {
    fn from(error: StoreError) -> Self {
        Failed::Missing(haft_tool::with_causes(&error))
    }
}

impl From<SessionError> for Failed {
    fn from(error: SessionError) -> Self {
        match error {
            SessionError::Unknown(id) => no_session(&id),
            SessionError::Stopped(_) => Failed::Refused(Refusal::coded("ABORT_ERR", error.to_string())),
            error => Failed::refused(haft_tool::with_causes(&error)),
        }
    }
}

fn no_session(id: &SessionId) -> Failed {
    Failed::Missing(format!("there is no session \"{id}\" in this project"))
}

impl Client for Backstage {
    fn call<'a>(
        &'a self,
        plugin: &'a str,
        path: &'a [String],
        args: Vec<Value>,
        world: &'a dyn World,
    ) -> BoxFuture<'a, Result<Value, Refusal>> {
        Box::pin(async move {
            let (path, args) = (path.join("."), Args::new(args));
            let done = self.done(Asked { plugin, path: &path, args: &args, world }).await;
            match done {
                Ok(data) if data.to_string().len() > MAX_ANSWER => {
                    Err(Refusal::new(format!("client.{path}: the answer is larger than 4 MiB; ask for less")))
                }
                Ok(data) => Ok(json!({ "data": data, "request": {}, "response": { "status": 200, "ok": true } })),
                Err(Failed::Missing(message)) => Ok(json!({
                    "error": { "name": "NotFoundError", "data": { "message": message } },
                    "request": {}, "response": { "status": 404, "ok": false },
                })),
                Err(Failed::Refused(Refusal { message, code })) => {
                    let named =
                        if message.starts_with("client.") { message } else { format!("client.{path}: {message}") };
                    Err(Refusal { message: named, code })
                }
            }
        })
    }
}
