//! A folder with scripts, an engine, and a world that answers effects from a table.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use futures::future::BoxFuture;
use haft_script::{Bounds, Engine, Facts, Imported, Launch, Refusal, Script, Source, Sources, World};
use serde_json::Value;

/// Files of the folder alone, without packages.
struct Plain(PathBuf);

impl Sources for Plain {
    fn resolve(&self, from: &str, name: &str) -> Result<String, String> {
        let path = match name.strip_prefix("./") {
            Some(below) => Path::new(from).parent().unwrap_or(Path::new("/")).join(below),
            None => PathBuf::from(name),
        };
        let found = ["", ".ts", ".js"].map(|end| PathBuf::from(format!("{}{end}", path.display())));
        let found = found.into_iter().find(|path| path.is_file() && path.starts_with(&self.0));
        found.map(|path| path.display().to_string()).ok_or_else(|| format!("{name} was not found from {from}"))
    }

    fn source(&self, path: &str) -> Result<Source, String> {
        let text = std::fs::read_to_string(path).map_err(|error| format!("{path}: {error}"))?;
        let kind = if path.ends_with(".json") { "json" } else { "module" };
        Ok(Source { kind, text })
    }
}

/// Whatever there is.
struct Anything;

impl Bounds for Anything {
    fn check(&self, _: &Imported<'_>) -> Result<(), String> {
        Ok(())
    }

    fn folders(&self) -> Vec<PathBuf> {
        Vec::new()
    }
}

/// Answers effects, and remembers them.
#[derive(Default)]
pub(crate) struct Answers {
    table: HashMap<&'static str, Value>,
    pub(crate) asked: Mutex<Vec<(String, Value)>>,
    pub(crate) said: Mutex<Vec<(String, Value)>>,
}

impl World for Answers {
    fn perform<'a>(&'a self, effect: &'a str, params: Value) -> BoxFuture<'a, Result<Value, Refusal>> {
        self.asked.lock().unwrap().push((effect.to_owned(), params));
        Box::pin(async move {
            match self.table.get(effect) {
                Some(answer) => Ok(answer.clone()),
                None if effect == "never" => std::future::pending().await,
                None => Err(Refusal::coded("EACCES", format!("{effect} is not allowed"))),
            }
        })
    }

    fn told(&self, what: &str, params: Value) {
        self.said.lock().unwrap().push((what.to_owned(), params));
    }
}

pub(crate) struct Scene {
    folder: tempfile::TempDir,
    pub(crate) engine: Engine,
}

impl Scene {
    pub(crate) fn new(files: &[(&str, &str)]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in files {
            std::fs::write(folder.path().join(name), text).unwrap();
        }
        let launch = Launch { program: env!("CARGO_BIN_EXE_haft-realms").into(), args: Vec::new() };
        let facts =
            Facts { directory: folder.path().to_owned(), env: vec![("LANG".into(), "C".into())], ..Facts::default() };
        Self { folder, engine: Engine::new(launch, facts) }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn bounds(&self) -> Arc<dyn Bounds> {
        Arc::new(Anything)
    }

    pub(crate) async fn script(&self) -> Script {
        self.engine.script(Arc::new(Plain(self.folder.path().to_owned()))).await.unwrap()
    }

    /// What `run(args)` of `main.ts` gives, or the error's text.
    pub(crate) async fn run(&self, world: &Answers, args: Vec<Value>) -> Result<Value, String> {
        let script = self.script().await;
        let module = script.load(&self.path("main.ts"), world).await.map_err(|error| error.to_string())?;
        let called = script.call(module.handle, &["run"], args, world).await;
        called
            .map(|called| called.value)
            .map_err(|error| error.to_string().replace(&self.path("").display().to_string(), ""))
    }
}

pub(crate) fn answers(table: &[(&'static str, Value)]) -> Answers {
    Answers { table: table.iter().cloned().collect(), ..Answers::default() }
}
