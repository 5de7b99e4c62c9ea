//! Modules of our own: those of a library that need nothing of a system, and those of the prelude.

use llrt_buffer::BufferModule;
use llrt_crypto::CryptoModule;
use llrt_events::EventsModule;
use llrt_path::PathModule;
use llrt_string_decoder::StringDecoderModule;
use llrt_url::UrlModule;
use rquickjs::module::ModuleDef;
use rquickjs::{Ctx, Module, Object, Result, Value};

/// Modules that scripts may import, by the name after `node:`, and the module of ours that they are.
const NAMES: [(&str, &str); 34] = [
    ("assert", "assert"),
    ("assert/strict", "assert"),
    ("async_hooks", "async_hooks"),
    ("buffer", "buffer"),
    ("bun", "bun"),
    ("child_process", "child_process"),
    ("console", "console"),
    ("crypto", "crypto"),
    ("events", "events"),
    ("fs", "fs"),
    ("fs/promises", "fs_promises"),
    ("module", "module"),
    ("os", "os"),
    ("path", "path"),
    ("path/posix", "path"),
    ("perf_hooks", "perf_hooks"),
    ("process", "process"),
    ("querystring", "querystring"),
    ("readline", "readline"),
    ("stream", "stream"),
    ("stream/promises", "stream_promises"),
    ("string_decoder", "string_decoder"),
    ("timers", "timers"),
    ("timers/promises", "timers_promises"),
    ("tty", "tty"),
    ("url", "url"),
    ("util", "util"),
    ("util/types", "util_types"),
    ("@opencode-ai/plugin", "plugin"),
    ("@opencode-ai/plugin/tool", "plugin"),
    ("@haft/plugin", "plugin"),
    ("@haft/plugin/tool", "plugin"),
    ("haft:zod", "zod"),
    ("node-fetch", "fetch"),
];

/// Parts of the prelude.
const SOURCES: &[(&str, &str)] = &[
    ("core", include_str!("prelude/core.js")),
    ("cjs", include_str!("prelude/cjs.js")),
    ("small", include_str!("prelude/small.js")),
    ("util", include_str!("prelude/util.js")),
    ("process", include_str!("prelude/process.js")),
    ("fs", include_str!("prelude/fs.js")),
    ("child_process", include_str!("prelude/child_process.js")),
    ("bun", include_str!("prelude/bun.js")),
    ("fetch", include_str!("prelude/fetch.js")),
    ("zod", include_str!("prelude/zod.js")),
    ("plugin", include_str!("prelude/plugin.js")),
    ("tools", include_str!("prelude/tools.js")),
    ("program", include_str!("prelude/program.js")),
    ("stream", include_str!("prelude/stream.js")),
];

/// Which module of ours an import names, if any.
pub(super) fn named(specifier: &str) -> Option<&'static str> {
    let name = specifier.strip_prefix("node:").unwrap_or(specifier);
    NAMES.iter().find(|(known, _)| *known == name).map(|(_, ours)| *ours)
}

/// The text of a part of the prelude. What is small shares one file.
pub(super) fn source(name: &str) -> Option<&'static str> {
    SOURCES.iter().find(|(known, _)| *known == name).map(|(_, source)| *source)
}

/// Defines what is global in every script and needs no words of ours.
pub(super) fn globals(ctx: &Ctx<'_>) -> Result<()> {
    llrt_exceptions::init(ctx)?;
    llrt_events::init(ctx)?;
    llrt_abort::init(ctx)?;
    llrt_buffer::init(ctx)?;
    llrt_url::init(ctx)?;
    llrt_util::init(ctx)?;
    llrt_crypto::init(ctx)?;
    Ok(())
}

/// The library's module `name` as an object; undefined where it is not one of the library's.
pub(super) fn object<'js>(ctx: &Ctx<'js>, name: &str) -> Result<Value<'js>> {
    match name {
        "buffer" => made::<BufferModule>(ctx, name),
        "path" => made::<PathModule>(ctx, name),
        "node-crypto" => made::<CryptoModule>(ctx, name),
        "node-events" => made::<EventsModule>(ctx, name),
        "node-url" => made::<UrlModule>(ctx, name),
        "string_decoder" => made::<StringDecoderModule>(ctx, name),
        _ => Ok(Value::new_undefined(ctx.clone())),
    }
}

fn made<'js, M: ModuleDef>(ctx: &Ctx<'js>, name: &str) -> Result<Value<'js>> {
    let (module, _) = Module::evaluate_def::<M, _>(ctx.clone(), format!("haft:native/{name}"))?;
    let namespace: Object<'js> = module.namespace()?;
    namespace.get("default")
}
