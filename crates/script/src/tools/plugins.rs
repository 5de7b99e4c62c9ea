//! The tools that plug-ins have under `tool`.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use futures::FutureExt;
use futures::future::BoxFuture;
use haft_tool::{AnyTool, Source};
use serde_json::Value;
use tokio::sync::watch;
use tokio_util::task::AbortOnDropHandle;

use super::tool::{At, Home, ScriptTool};
use super::{Extras, MAX_EXPORTS};
use crate::effects::Doors;
use crate::error::{Refusal, ScriptError};
use crate::host::Right;
use crate::plugin::Plugin;
use crate::script::World;

/// All tools of plug-ins, as a source of the registry. What a plug-in has is known once it has begun.
pub struct PluginTools {
    inner: Arc<Inner>,
    _work: AbortOnDropHandle<()>,
}

struct Inner {
    tools: Mutex<Vec<Arc<dyn AnyTool>>>,
    version: AtomicU64,
    busy: watch::Sender<bool>,
}

impl PluginTools {
    /// The tools of `plugins`, which are begun for that. Needs a Tokio runtime.
    pub fn new(plugins: Vec<Arc<Plugin>>, doors: Doors) -> Self {
        let inner =
            Arc::new(Inner { tools: Mutex::default(), version: AtomicU64::new(1), busy: watch::Sender::new(true) });
        let work = tokio::spawn(find(plugins, doors, inner.clone()));
        Self { inner, _work: AbortOnDropHandle::new(work) }
    }
}

async fn find(plugins: Vec<Arc<Plugin>>, doors: Doors, to: Arc<Inner>) {
    let extras: Arc<Extras> = Arc::default();
    for plugin in plugins {
        let found = plugin.tools(MAX_EXPORTS).await.into_iter().map(|described| {
            let home = Box::new(InPlugin { plugin: plugin.clone(), id: described.export.clone() });
            Arc::new(ScriptTool::new(described, home, doors.clone(), extras.clone())) as Arc<dyn AnyTool>
        });
        to.tools.lock().unwrap_or_else(PoisonError::into_inner).extend(found);
        to.version.fetch_add(1, Ordering::Relaxed);
    }
    to.busy.send_replace(false);
}

/// One tool of a plug-in.
struct InPlugin {
    plugin: Arc<Plugin>,
    id: String,
}

impl Home for InPlugin {
    fn loaded(&self, right: Right) -> BoxFuture<'_, Result<Arc<At>, ScriptError>> {
        self.plugin.at(right).boxed()
    }

    fn path(&self) -> Vec<&str> {
        vec!["tools", &self.id]
    }

    fn client<'a>(&'a self, params: Value, world: &'a dyn World) -> BoxFuture<'a, Result<Value, Refusal>> {
        self.plugin.client(params, world).boxed()
    }
}

impl Source for PluginTools {
    fn name(&self) -> &str {
        "plug-ins"
    }

    fn tools(&self) -> Vec<Arc<dyn AnyTool>> {
        self.inner.tools.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn version(&self) -> u64 {
        self.inner.version.load(Ordering::Relaxed)
    }

    fn ready(&self) -> BoxFuture<'_, ()> {
        let mut busy = self.inner.busy.subscribe();
        async move {
            // It cannot be closed while this source is there.
            let _ = busy.wait_for(|busy| !busy).await;
        }
        .boxed()
    }

    fn replaces(&self) -> bool {
        true
    }
}
