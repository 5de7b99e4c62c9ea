//! What scripts are given that they cannot be given in their own language.

use std::path::Path;

use rquickjs::context::EvalOptions;
use rquickjs::function::Func;
use rquickjs::{Ctx, Exception, Function, Module, Object, Result, Value};

use super::builtins;
use super::realm::Shared;
use crate::wire::WireError;

/// Makes the world of a realm, and gives the functions by which it is entered.
pub(crate) fn begin<'js>(ctx: &Ctx<'js>, state: Shared) -> Result<Object<'js>> {
    builtins::globals(ctx)?;
    let native = functions(ctx, state)?;
    let core = builtins::part(ctx, "core")?;
    core.call((native, ctx.globals()))
}

fn options(name: &str, strict: bool) -> EvalOptions {
    let mut options = EvalOptions::default();
    options.strict = strict;
    options.filename = Some(name.to_owned());
    options
}

fn functions<'js>(ctx: &Ctx<'js>, state: Shared) -> Result<Object<'js>> {
    let native = Object::new(ctx.clone())?;
    let set = |name: &str, function: Function<'js>| native.set(name, function);
    let held = |state: &Shared| state.clone();

    let ours = held(&state);
    let request = move |ctx: Ctx<'js>, method: String, params: String| {
        let asked = lock(&ours).request(&method, &params);
        asked.map(|id| id as f64).map_err(|message| Exception::throw_message(&ctx, &message))
    };
    set("request", Function::new(ctx.clone(), request)?)?;

    let ours = held(&state);
    let request_sync = move |method: String, params: String| match lock(&ours).request_now(&method, &params) {
        Ok(result) => format!("{{\"result\":{result}}}"),
        Err(error) => format!("{{\"error\":{error}}}"),
    };
    set("requestSync", Function::new(ctx.clone(), request_sync)?)?;

    let ours = held(&state);
    let notify = move |method: String, params: String| lock(&ours).notify(&method, &params);
    set("notify", Function::new(ctx.clone(), notify)?)?;

    let ours = held(&state);
    let timer = move |ctx: Ctx<'js>, ms: f64| {
        let begun = lock(&ours).timer(None, ms);
        begun.map(|id| id as f64).ok_or_else(|| Exception::throw_message(&ctx, "too many timers wait already"))
    };
    set("timer", Function::new(ctx.clone(), timer)?)?;

    let ours = held(&state);
    let again = move |id: f64, ms: f64| {
        // One that was there may be there again: there is room for it.
        let _ = lock(&ours).timer(Some(id as u64), ms);
    };
    set("again", Function::new(ctx.clone(), again)?)?;

    let ours = held(&state);
    let clear = move |id: f64| lock(&ours).clear_timer(id as u64);
    set("clearTimer", Function::new(ctx.clone(), clear)?)?;

    let ours = held(&state);
    let reply = move |id: f64, result: String| lock(&ours).reply(id as u64, &result);
    set("reply", Function::new(ctx.clone(), reply)?)?;

    let ours = held(&state);
    let fail = move |id: f64, name: String, message: String, stack: String, code: Option<String>| {
        let mut state = lock(&ours);
        let places = state.sources.places(&stack);
        state.fail(id as u64, &WireError { message, name: Some(name), code, places });
    };
    set("fail", Function::new(ctx.clone(), fail)?)?;

    let ours = held(&state);
    let now = move || lock(&ours).started.elapsed().as_secs_f64() * 1000.0;
    set("now", Function::new(ctx.clone(), now)?)?;

    let load = |ctx: Ctx<'js>, file: String| Module::import(&ctx, file);
    set("load", Function::new(ctx.clone(), load)?)?;
    let builtin = |ctx: Ctx<'js>, name: String| -> Result<Value<'js>> { builtins::object(&ctx, &name) };
    set("builtin", Function::new(ctx.clone(), builtin)?)?;
    let part = |ctx: Ctx<'js>, name: String| builtins::part(&ctx, &name);
    set("evaluate", Function::new(ctx.clone(), part)?)?;

    let ours = held(&state);
    let resolve = move |ctx: Ctx<'js>, from: String, name: String| {
        super::modules::resolve(&ours, &from, &name).map_err(|message| Exception::throw_message(&ctx, &message))
    };
    set("resolve", Function::new(ctx.clone(), resolve)?)?;

    let ours = held(&state);
    let source = move |ctx: Ctx<'js>, path: String| -> Result<Vec<String>> {
        let source = super::modules::source(&ours, &path);
        let source = source.map_err(|message| Exception::throw_message(&ctx, &message))?;
        Ok(vec![source.kind, source.text])
    };
    set("source", Function::new(ctx.clone(), source)?)?;

    let compile = |ctx: Ctx<'js>, path: String, text: String| -> Result<Function<'js>> {
        let text = format!("(function (exports, require, module, __filename, __dirname) {{{text}\n}})");
        ctx.eval_with_options(text, options(&path, false))
    };
    set("compile", Function::new(ctx.clone(), compile)?)?;

    let ours = held(&state);
    let program = move |ctx: Ctx<'js>, name: String, text: String| -> Result<Function<'js>> {
        // Types are taken off in a function, where `return` and `await` may stand.
        let whole = format!("(async function (tools, console) {{{text}\n}})");
        let stripped = super::strip::strip(&whole, Path::new(&name));
        let stripped = stripped.map_err(|message| Exception::throw_syntax(&ctx, &message))?;
        lock(&ours).sources.keep(&name, stripped.lines);
        ctx.eval_with_options(stripped.code, options(&name, true))
    };
    set("program", Function::new(ctx.clone(), program)?)?;
    let _ = Func::from(|| ());
    Ok(native)
}

fn lock(state: &Shared) -> std::sync::MutexGuard<'_, super::realm::State> {
    // Whole after each line.
    state.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}
