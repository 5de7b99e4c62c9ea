//! One server: not spoken to before it is needed, spoken to again when it was gone, and what is known of it meanwhile.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock, Weak};
use std::time::Duration;

use futures::future::BoxFuture;
use haft_tool::{AnyTool, Source, ToolError};
use tokio::sync::watch;
use tokio::time::{Instant, sleep, sleep_until};
use tokio_util::task::AbortOnDropHandle;

use super::cache::Catalogue;
use super::connect;
use super::definition::Definition;
use super::link::{Link, List};
use super::said;
use super::settings::Settings;
use super::status::{Failure, Status};
use super::tool::ServerTool;
use super::{Servers, World};

/// The wait after the first failure; it doubles with each further one.
const FIRST_WAIT: Duration = Duration::from_millis(500);
/// The longest wait.
const LAST_WAIT: Duration = Duration::from_secs(60);
/// How often a server is asked again for its lists, however often it says that they changed.
const BETWEEN_LISTS: Duration = Duration::from_secs(1);
/// How often one that is idle is asked whether it is still there.
pub const HEALTH: Duration = Duration::from_secs(60);
/// How often one that was lost while idle is connected again before somebody calls it.
pub const RECONNECTS: u32 = 3;

/// One server.
pub(super) struct Server {
    pub settings: Settings,
    pub world: Arc<World>,
    /// Stands for where it is.
    pub identity: String,
    /// Held while it is being connected.
    attempts: tokio::sync::Mutex<Attempts>,
    known: RwLock<Known>,
    version: AtomicU64,
    /// Whether it is known what it has, or that it will not be known soon.
    settled: watch::Sender<bool>,
    beginning: Mutex<Option<AbortOnDropHandle<()>>>,
}

#[derive(Default)]
struct Attempts {
    link: Option<Arc<Link>>,
    /// Takes in what changed.
    _following: Option<AbortOnDropHandle<()>>,
    /// Failures in a row.
    failures: u32,
    /// How often it was connected again without having been called since.
    revived: u32,
    /// Not before then, because of that.
    later: Option<(Instant, Failure)>,
}

struct Known {
    status: Status,
    catalogue: Option<Arc<Catalogue>>,
    tools: Vec<Arc<Definition>>,
}

impl Server {
    pub(super) fn new(settings: Settings, world: Arc<World>) -> Arc<Self> {
        let identity = settings.identity();
        let catalogue = world.cache.as_ref().filter(|_| settings.enabled).and_then(|cache| cache.get(&identity));
        let status = match settings.enabled {
            true => Status::Idle { known: catalogue.is_some() },
            false => Status::Disabled,
        };
        let settled = watch::Sender::new(catalogue.is_some() || !settings.enabled);
        let tools = tools_of(catalogue.as_ref());
        let known = RwLock::new(Known { status, catalogue: catalogue.map(Arc::new), tools });
        let (attempts, version, beginning) = (Default::default(), AtomicU64::default(), Mutex::default());
        Arc::new(Self { settings, world, identity, attempts, known, version, settled, beginning })
    }

    /// The connection: the one that there is, or a new one.
    ///
    /// # Errors
    ///
    /// Why there is none. After failures nobody is asked again for a while.
    pub(super) async fn link(self: &Arc<Self>) -> Result<Arc<Link>, Failure> {
        if !self.settings.enabled {
            return Err(Failure::Disabled);
        }
        let mut attempts = self.attempts.lock().await;
        if let Some(link) = attempts.open() {
            return Ok(link);
        }
        if let Some((then, failure)) = &attempts.later
            && *then > Instant::now()
        {
            return Err(failure.clone());
        }
        self.set_status(Status::Connecting);
        match self.connect().await {
            Ok((link, catalogue)) => {
                let link = Arc::new(link);
                self.learn(catalogue);
                self.set_status(Status::Connected);
                let follow = follow(Arc::downgrade(self), Arc::downgrade(&link));
                attempts._following = Some(AbortOnDropHandle::new(tokio::spawn(follow)));
                attempts.link = Some(Arc::clone(&link));
                attempts.later = None;
                Ok(link)
            }
            Err(failure) => {
                tracing::info!(server = self.settings.name, %failure, "a server cannot be used");
                self.set_status(Status::from(&failure));
                attempts.fail(failure.clone());
                Err(failure)
            }
        }
    }

    /// Makes a connection, and asks what there is.
    async fn connect(&self) -> Result<(Link, Catalogue), Failure> {
        let link = connect::connect(&self.world, &self.settings).await?;
        let catalogue = self.ask(&link).await;
        let catalogue = catalogue.map_err(|why| match link.was_refused() {
            true => Failure::NeedsAuth,
            false => Failure::Broken(format!("{why}{}", link.last_words())),
        })?;
        Ok((link, catalogue))
    }

    /// What the server has now.
    async fn ask(&self, link: &Link) -> Result<Catalogue, String> {
        let Some(info) = link.info() else { return Ok(Catalogue::default()) };
        let limit = self.settings.to_list();
        let can = &info.capabilities;
        let listed = async |list, can: bool| match can {
            true => link.list(list, limit).await,
            false => Ok(Vec::new()),
        };
        let (tools, prompts, resources) = tokio::join!(
            listed(List::Tools, can.tools.is_some()),
            listed(List::Prompts, can.prompts.is_some()),
            listed(List::Resources, can.resources.is_some()),
        );
        // Whoever cannot list its prompts and resources can still be called.
        let (tools, prompts, resources) = (tools?, prompts.unwrap_or_default(), resources.unwrap_or_default());
        let name = &self.settings.name;
        Ok(Catalogue {
            tools: said::definitions(name, &tools),
            instructions: info.instructions.as_deref().and_then(said::instructions),
            prompts: said::prompts(name, &prompts),
            resources: can.resources.is_some().then(|| said::resources(&resources)),
        })
    }

    /// Takes in what it has.
    fn learn(&self, catalogue: Catalogue) {
        if let Some(cache) = &self.world.cache {
            cache.put(&self.identity, &catalogue);
        }
        let tools = tools_of(Some(&catalogue));
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        let is_new = known.catalogue.as_deref() != Some(&catalogue);
        if is_new {
            *known = Known { status: known.status.clone(), catalogue: Some(Arc::new(catalogue)), tools };
        }
        drop(known);
        if is_new {
            self.tell_changed();
        }
        self.settled.send_replace(true);
    }

    /// Says that its tools are other ones.
    pub(super) fn tell_changed(&self) {
        self.version.fetch_add(1, Ordering::Relaxed);
    }

    fn set_status(&self, status: Status) {
        let known = !matches!(status, Status::Connecting | Status::Idle { .. });
        self.known.write().unwrap_or_else(PoisonError::into_inner).status = status;
        if known {
            self.settled.send_replace(true);
        }
    }

    /// How it is doing.
    pub(super) fn status(&self) -> Status {
        let status = self.known.read().unwrap_or_else(PoisonError::into_inner).status.clone();
        let attempts = self.attempts.try_lock();
        let lost = |attempts: &Attempts| attempts.link.as_ref().is_none_or(|link| !link.is_open());
        match attempts {
            Ok(attempts) if status == Status::Connected && lost(&attempts) => {
                Status::Failed("Connection closed".to_owned())
            }
            Ok(_) | Err(_) => status,
        }
    }

    /// What it has, as far as that is known.
    pub(super) fn catalogue(&self) -> Option<Arc<Catalogue>> {
        self.known.read().unwrap_or_else(PoisonError::into_inner).catalogue.clone()
    }

    /// What it says about its tool `tool` now.
    pub(super) fn definition(&self, tool: &str) -> Option<Arc<Definition>> {
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        known.tools.iter().find(|one| one.tool == tool).cloned()
    }

    /// Why a call cannot be made, for the model.
    pub(super) fn away(&self, failure: &Failure) -> ToolError {
        let name = &self.settings.name;
        ToolError::Failed(match failure {
            Failure::NeedsAuth => format!(
                "the MCP server {name:?} wants the user to sign in: `haft mcp auth {name}`. Tell them, and go on without it"
            ),
            failure => format!("the MCP server {name:?} cannot be used: {failure}. Go on without it, or tell the user"),
        })
    }

    /// Begins to find out what it has, if nobody has begun.
    fn begin(self: &Arc<Self>) {
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        let mut beginning = self.beginning.lock().unwrap_or_else(PoisonError::into_inner);
        if beginning.is_none() {
            let server = Arc::clone(self);
            // What came of it is in its status.
            let begin = async move { drop(server.link().await) };
            *beginning = Some(AbortOnDropHandle::new(runtime.spawn(begin)));
        }
    }

    /// Connects again, a few times at most: it was lost while nobody called it. After that it waits until it is needed.
    fn revive(self: &Arc<Self>) {
        let server = Arc::clone(self);
        let again = async move {
            loop {
                let mut attempts = server.attempts.lock().await;
                if attempts.open().is_some() || attempts.revived == RECONNECTS {
                    return;
                }
                attempts.revived += 1;
                let later = attempts.later.as_ref().map(|(then, _)| *then);
                drop(attempts);
                sleep_until(later.unwrap_or_else(Instant::now)).await;
                match server.link().await {
                    Err(Failure::Broken(_)) => {}
                    Ok(_) | Err(Failure::NeedsAuth | Failure::NeedsRegistration(_) | Failure::Disabled) => return,
                }
            }
        };
        let again = AbortOnDropHandle::new(tokio::spawn(again));
        *self.beginning.lock().unwrap_or_else(PoisonError::into_inner) = Some(again);
    }

    /// Ends what was begun, and the connection.
    pub(super) async fn close(&self) {
        self.beginning.lock().unwrap_or_else(PoisonError::into_inner).take();
        let link = self.attempts.lock().await.link.take();
        if let Some(link) = link {
            link.close().await;
        }
    }

    /// Ends what was begun.
    pub(super) fn give_up(&self) {
        self.beginning.lock().unwrap_or_else(PoisonError::into_inner).take();
    }
}

impl Attempts {
    /// The connection, if it is open. One that was lost is let go.
    fn open(&mut self) -> Option<Arc<Link>> {
        let link = self.link.as_ref()?;
        if link.is_open() {
            return Some(Arc::clone(link));
        }
        let lost = Failure::Broken(format!("Connection closed{}", link.last_words()));
        // One that has worked is started again at once.
        match link.has_worked() {
            true => (self.failures, self.revived) = (0, 0),
            false => self.fail(lost),
        }
        self.link = None;
        self._following = None;
        None
    }

    fn fail(&mut self, failure: Failure) {
        self.failures = self.failures.saturating_add(1);
        self.later = Some((Instant::now() + wait(self.failures), failure));
    }
}

/// How long nobody is asked after so many failures.
fn wait(failures: u32) -> Duration {
    FIRST_WAIT.saturating_mul(1 << failures.saturating_sub(1).min(16)).min(LAST_WAIT)
}

/// Asks again for what the server has whenever it says that this changed, and now and then whether it is still there.
async fn follow(server: Weak<Server>, link: Weak<Link>) {
    loop {
        let Some(every) = server.upgrade().map(|server| server.world.health) else { return };
        let Some(open) = link.upgrade() else { return };
        if tokio::time::timeout(every, open.changed()).await.is_err() {
            if open.is_well().await {
                continue;
            }
            drop(open);
            if let Some(server) = server.upgrade() {
                tracing::info!(server = server.settings.name, "a server is gone that nobody called");
                server.revive();
            }
            return;
        }
        drop(open);
        sleep(BETWEEN_LISTS).await;
        let (Some(server), Some(link)) = (server.upgrade(), link.upgrade()) else { return };
        match server.ask(&link).await {
            Ok(catalogue) => server.learn(catalogue),
            Err(why) => tracing::warn!(server = server.settings.name, why, "a server does not say what changed"),
        }
    }
}

fn tools_of(catalogue: Option<&Catalogue>) -> Vec<Arc<Definition>> {
    catalogue.into_iter().flat_map(|catalogue| &catalogue.tools).cloned().map(Arc::new).collect()
}

/// A server as a source of tools.
pub(super) struct ServerSource {
    pub server: Arc<Server>,
    /// What is begun for one of them ends with the last handle.
    pub _servers: Servers,
}

impl Source for ServerSource {
    fn name(&self) -> &str {
        &self.server.settings.name
    }

    fn tools(&self) -> Vec<Arc<dyn AnyTool>> {
        let known = self.server.known.read().unwrap_or_else(PoisonError::into_inner);
        let tool = |definition: &Arc<Definition>| -> Arc<dyn AnyTool> {
            Arc::new(ServerTool::new(Arc::clone(&self.server), Arc::clone(definition)))
        };
        known.tools.iter().map(tool).collect()
    }

    fn version(&self) -> u64 {
        self.server.version.load(Ordering::Relaxed)
    }

    fn ready(&self) -> BoxFuture<'_, ()> {
        if *self.server.settled.borrow() {
            return Box::pin(std::future::ready(()));
        }
        self.server.begin();
        let mut settled = self.server.settled.subscribe();
        Box::pin(async move {
            // It is never dropped before the server.
            let _ = settled.wait_for(|settled| *settled).await;
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_double_up_to_a_minute() {
        let row = |failures: u32, want: u64| assert_eq!(wait(failures).as_millis(), u128::from(want), "{failures}");
        row(1, 500);
        row(2, 1000);
        row(5, 8000);
        row(8, 60_000);
        row(u32::MAX, 60_000);
    }
}
