//! Imports: what a name means and what a file holds is the host's to say; how it becomes a module is ours.

use std::collections::HashMap;
use std::path::Path;
use std::sync::{MutexGuard, PoisonError};

use rquickjs::loader::{Loader, Resolver};
use rquickjs::module::Declared;
use rquickjs::{Ctx, Exception, Function, IntoJs, Module, Object, Result, Value};
use serde::Deserialize;
use serde_json::json;

use super::builtins;
use super::realm::{Shared, State};
use super::strip::{self, Lines};

/// Before the name of a module of ours.
pub(super) const OURS: &str = "haft:";
/// Most places of an error that are told.
const MAX_PLACES: usize = 16;

/// What is known of the files of a realm.
#[derive(Debug, Default)]
pub(crate) struct Sources {
    lines: HashMap<String, Lines>,
}

impl Sources {
    pub(crate) fn keep(&mut self, path: &str, lines: Lines) {
        self.lines.insert(path.to_owned(), lines);
    }

    /// The places that `stack` names, in the script's own source.
    pub(crate) fn places(&self, stack: &str) -> Vec<String> {
        stack.lines().filter_map(|line| self.place(line)).take(MAX_PLACES).collect()
    }

    fn place(&self, line: &str) -> Option<String> {
        let line = line.trim();
        let named = line.rsplit_once('(').map_or_else(|| line.trim_start_matches("at "), |(_, rest)| rest);
        let (rest, column) = named.trim_end_matches(')').rsplit_once(':')?;
        let (file, row) = rest.rsplit_once(':')?;
        let (row, column) = (row.parse().ok()?, column.parse().ok()?);
        if file.starts_with(OURS) || file == "native" {
            return None;
        }
        let (row, column) = self.lines.get(file).and_then(|lines| lines.original(row, column)).unwrap_or((row, column));
        Some(format!("{file}:{row}:{column}"))
    }
}

/// A file as it can be run.
#[derive(Debug)]
pub(crate) struct Source {
    /// `module`, `commonjs`, `json` or `text`.
    pub(crate) kind: String,
    pub(crate) text: String,
}

#[derive(Deserialize)]
struct Answer {
    kind: String,
    text: String,
}

#[derive(Deserialize)]
struct Refusal {
    message: String,
}

fn lock(state: &Shared) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

fn refused(text: &str) -> String {
    serde_json::from_str::<Refusal>(text).map_or_else(|_| text.to_owned(), |refusal| refusal.message)
}

/// What `name` means in the file `from`: a path, or a module of ours.
pub(super) fn resolve(state: &Shared, from: &str, name: &str) -> std::result::Result<String, String> {
    if let Some(ours) = builtins::named(name) {
        return Ok(format!("{OURS}{ours}"));
    }
    if name.starts_with(OURS) || name.contains('\0') {
        return Err(format!("there is no module {name:?}"));
    }
    let params = json!({ "from": from, "name": name }).to_string();
    let answer = lock(state).request_now("module.resolve", &params).map_err(|error| refused(&error))?;
    let path: String = serde_json::from_str(&answer).map_err(|error| error.to_string())?;
    match builtins::named(&path) {
        Some(ours) => Ok(format!("{OURS}{ours}")),
        None => Ok(path),
    }
}

/// The file at `path`, as JavaScript.
pub(super) fn source(state: &Shared, path: &str) -> std::result::Result<Source, String> {
    let params = json!({ "path": path }).to_string();
    let answer = lock(state).request_now("module.source", &params).map_err(|error| refused(&error))?;
    let Answer { kind, text } = serde_json::from_str(&answer).map_err(|error| error.to_string())?;
    let extension = Path::new(path).extension().and_then(|extension| extension.to_str()).unwrap_or_default();
    if !matches!(extension, "ts" | "mts" | "cts" | "tsx" | "jsx") {
        return Ok(Source { kind, text });
    }
    let stripped = strip::strip(&text, Path::new(path))?;
    lock(state).sources.keep(path, stripped.lines);
    Ok(Source { kind, text: stripped.code })
}

/// What the engine asks about imports.
#[derive(Clone)]
pub(crate) struct Loading(pub(crate) Shared);

impl Resolver for Loading {
    fn resolve<'js>(&mut self, ctx: &Ctx<'js>, base: &str, name: &str) -> Result<String> {
        resolve(&self.0, base, name).map_err(|message| Exception::throw_message(ctx, &message))
    }
}

impl Loader for Loading {
    fn load<'js>(&mut self, ctx: &Ctx<'js>, name: &str) -> Result<Module<'js, Declared>> {
        if let Some(ours) = name.strip_prefix(OURS) {
            return of_object(ctx, name, maker(ctx, "builtin")?.call((ours,))?);
        }
        let source = source(&self.0, name).map_err(|message| Exception::throw_syntax(ctx, &message))?;
        match source.kind.as_str() {
            "json" => of_object(ctx, name, ctx.json_parse(source.text)?),
            "text" => of_object(ctx, name, source.text.into_js(ctx)?),
            "commonjs" => of_object(ctx, name, maker(ctx, "common")?.call((name,))?),
            _ => {
                let module = Module::declare(ctx.clone(), name, source.text)?;
                let path = Path::new(name);
                let meta = module.meta()?;
                meta.set("url", format!("file://{name}"))?;
                meta.set("filename", name)?;
                meta.set("path", name)?;
                let folder = path.parent().map(|folder| folder.display().to_string()).unwrap_or_default();
                meta.set("dirname", folder.as_str())?;
                meta.set("dir", folder)?;
                meta.set("file", path.file_name().and_then(|name| name.to_str()).unwrap_or_default())?;
                meta.set("main", false)?;
                Ok(module)
            }
        }
    }
}

/// The functions of the prelude that make modules, which scripts may have as well: they give what an import gives.
fn maker<'js>(ctx: &Ctx<'js>, name: &str) -> Result<Function<'js>> {
    ctx.globals().get::<_, Object<'js>>("__modules")?.get(name)
}

/// A module whose default is `value`, and whose exports are what `value` has.
fn of_object<'js>(ctx: &Ctx<'js>, name: &str, value: Value<'js>) -> Result<Module<'js, Declared>> {
    let mut text = String::from("const m = import.meta.value;\n");
    let mut default = "m".to_owned();
    if let Some(object) = value.as_object() {
        if object.get::<_, Value<'_>>("__esModule").is_ok_and(|flag| flag.as_bool() == Some(true)) {
            default = "m.default".to_owned();
        }
        for (at, key) in object.keys::<String>().flatten().enumerate() {
            if is_name(&key) && key != "default" {
                text.push_str(&format!("const v{at} = m.{key};\nexport {{ v{at} as {key} }};\n"));
            }
        }
    }
    text.push_str(&format!("export default {default};\n"));
    let module = Module::declare(ctx.clone(), name, text)?;
    module.meta()?.set("value", value)?;
    Ok(module)
}

fn is_name(text: &str) -> bool {
    let mut chars = text.chars();
    let starts = chars.next().is_some_and(|c| c.is_ascii_alphabetic() || c == '_' || c == '$');
    starts && chars.all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '$')
}
