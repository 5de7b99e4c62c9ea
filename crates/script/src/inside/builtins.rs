//! Modules of our own: those of a library that need nothing of a system, and those of the prelude.

use llrt_buffer::BufferModule;
use llrt_crypto::CryptoModule;
use llrt_events::EventsModule;
use llrt_path::PathModule;
use llrt_string_decoder::StringDecoderModule;
use llrt_url::UrlModule;
use rquickjs::loader::Loader;
use rquickjs::loader::bundle::{Bundle, PhfBundleData};
use rquickjs::module::ModuleDef;
use rquickjs::{Ctx, Exception, Function, Module, Object, Result, Value, embed};

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

/// What stands before the name of a part of the prelude. No script can import it.
pub(super) const PRELUDE: &str = "haft:prelude/";

/// The parts of the prelude as the engine's own code, made when this is built: to read the text takes ten times as long,
/// and each file of a script has an engine of its own.
static PARTS: Bundle<PhfBundleData<&'static [u8]>> = embed! {
    "haft:prelude/core": "src/inside/prelude/core.js",
    "haft:prelude/cjs": "src/inside/prelude/cjs.js",
    "haft:prelude/small": "src/inside/prelude/small.js",
    "haft:prelude/util": "src/inside/prelude/util.js",
    "haft:prelude/process": "src/inside/prelude/process.js",
    "haft:prelude/fs": "src/inside/prelude/fs.js",
    "haft:prelude/child_process": "src/inside/prelude/child_process.js",
    "haft:prelude/bun": "src/inside/prelude/bun.js",
    "haft:prelude/fetch": "src/inside/prelude/fetch.js",
    "haft:prelude/zod": "src/inside/prelude/zod.js",
    "haft:prelude/plugin": "src/inside/prelude/plugin.js",
    "haft:prelude/tools": "src/inside/prelude/tools.js",
    "haft:prelude/program": "src/inside/prelude/program.js",
    "haft:prelude/stream": "src/inside/prelude/stream.js",
};

/// The same as text, for hosts whose engine is another one. All of them stand here, so that a change of one is seen when
/// this is built again.
const TEXTS: &[(&str, &str)] = &[
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

/// The text of a part of the prelude: an expression, which is a function. What is small shares one file.
pub(super) fn text(name: &str) -> Option<String> {
    let (_, text) = TEXTS.iter().find(|(known, _)| *known == name)?;
    Some(text.replacen("export default ", "", 1).trim_end().trim_end_matches(';').to_owned())
}

/// The part of the prelude called `name`: a function.
pub(super) fn part<'js>(ctx: &Ctx<'js>, name: &str) -> Result<Function<'js>> {
    let part = { PARTS }.load(ctx, &format!("{PRELUDE}{name}"));
    let part = part.map_err(|_| Exception::throw_message(ctx, &format!("there is no module {name}")))?;
    let (module, done) = part.eval()?;
    done.finish::<()>()?;
    module.get("default")
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
