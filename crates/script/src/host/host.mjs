// Runs scripts in a Node or Bun that is installed here, for haft: JSON-RPC 2.0, one message a line, as the engine of haft's
// own does it. It is in the cage of commands, and what it asks haft for passes the same gate.
import { AsyncLocalStorage } from "node:async_hooks";
import { spawnSync } from "node:child_process";
import fs from "node:fs";
import Module, { createRequire, register } from "node:module";
import os from "node:os";
import path from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import util from "node:util";

// What haft put there: the parts that scripts are given, and how types are taken off.
const { files, strip, within } = JSON.parse(process.env.HAFT_HOST);
const parts = JSON.parse(fs.readFileSync(files.parts, "utf8"));
delete process.env.HAFT_HOST;
const OUT = 3;
const MAX_LINE = 16 * 1024 * 1024;

const write = (line) => {
  const bytes = Buffer.from(`${line}\n`);
  for (let at = 0; at < bytes.length; ) {
    try {
      at += fs.writeSync(OUT, bytes, at);
    } catch (error) {
      if (error.code !== "EAGAIN") process.exit(1);
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1);
    }
  }
};
const send = (realm, message) => {
  const line = JSON.stringify({ jsonrpc: "2.0", realm, ...message });
  if (line.length > MAX_LINE) throw new RangeError(`${line.length} characters are too much at once`);
  write(line);
};

// Which call runs now: what is asked of haft is asked for it.
const calls = new AsyncLocalStorage();
const waiting = new Map();
let last = 0;
const hostError = ({ message, code, name }) => Object.assign(name === "TypeError" ? new TypeError(message) : new Error(message), code ? { code } : {});
const here = { "fs.list": ({ path: folder, recursive }) => fs.readdirSync(folder, { withFileTypes: true, recursive }).map((entry) => ({
  name: path.relative(folder, path.join(entry.parentPath ?? entry.path, entry.name)), folder: entry.isDirectory(),
})) };
const request = (method, params) => new Promise((resolve, reject) => {
  if (Object.hasOwn(here, method)) return resolve(here[method](params));
  const { realm, id: origin } = calls.getStore() ?? { realm: 0, id: 0 };
  const id = ++last;
  waiting.set(id, { resolve, reject });
  send(realm, { id, origin, method, params: params ?? null });
});
const notify = (method, params) => {
  const { realm, id: origin } = calls.getStore() ?? { realm: 0, id: 0 };
  send(realm, { origin, method, params: params ?? null });
};
const requestSync = (method, params) => {
  if (Object.hasOwn(here, method)) return here[method](params);
  if (method !== "run") throw Object.assign(new Error(`${method} cannot be waited for here; take it with await`), { code: "ENOSYS" });
  const done = spawnSync("/bin/sh", ["-c", params.command], {
    cwd: params.cwd, env: { ...process.env, ...params.env }, input: params.input ? Buffer.from(params.input, "base64") : undefined, maxBuffer: 8 << 20,
  });
  return { code: done.status ?? 1, stdout: (done.stdout ?? Buffer.alloc(0)).toString("base64"), stderr: (done.stderr ?? Buffer.alloc(0)).toString("base64") };
};

// The parts of haft's own engine that a Node has not: `tool`, schemas, Bun's shell and files.
const made = new Map();
const own = {
  fs: () => ({ ...fs, pathOf: (given) => (given instanceof URL || String(given).startsWith("file://") ? fileURLToPath(given) : path.resolve(String(given))) }),
  path: () => path, util: () => util, url: () => ({ fileURLToPath, pathToFileURL }), os: () => os,
};
const haft = {
  request, requestSync, notify, hostError, now: () => performance.now(), global: globalThis,
  builtin(name) {
    if (!made.has(name)) made.set(name, own[name]?.() ?? (0, eval)(parts[name])(haft, globalThis));
    return made.get(name);
  },
};
Object.defineProperty(process, "haft", { value: { env: { ...process.env } } });
const isBun = typeof globalThis.Bun !== "undefined";
if (!isBun) Object.defineProperty(globalThis, "Bun", { configurable: true, get: () => haft.builtin("bun") });
// The cage has no network unless the settings say so: haft fetches, and asks first.
if (process.env.HAFT_HOST_NETWORK !== "1") {
  const far = haft.builtin("fetch");
  for (const name of ["fetch", "Headers", "Request", "Response", "FormData"]) globalThis[name] = far[name];
}
const zod = haft.builtin("zod");
const ours = { plugin: haft.builtin("plugin"), zod: { ...zod, z: zod, default: zod } };
if (!isBun) ours.bun = haft.builtin("bun");
globalThis[Symbol.for("haft.modules")] = ours;
globalThis[Symbol.for("haft.require")] = createRequire;

// What imports mean: files as Bun finds them, and haft's own modules.
const NAMES = {
  "@opencode-ai/plugin": "plugin", "@opencode-ai/plugin/tool": "plugin", "@haft/plugin": "plugin", "@haft/plugin/tool": "plugin", bun: "bun",
};
if (isBun) {
  const { plugin } = await import("bun");
  plugin({ name: "haft", setup(build) {
    for (const [name, of] of Object.entries(NAMES)) if (ours[of]) build.module(name, () => ({ exports: { ...ours[of] }, loader: "object" }));
  } });
} else {
  const [major, minor] = process.versions.node.split(".").map(Number);
  if (major < 20 || (major === 20 && minor < 6)) {
    process.stderr.write(`Node ${process.versions.node} is too old; it must be 20.6 or newer\n`);
    process.exit(1);
  }
  const names = Object.fromEntries(Object.entries(ours).map(([name, object]) => [name, Object.keys(object)]));
  register(pathToFileURL(files.loader).href, { parentURL: import.meta.url, data: { NAMES, names, strip, within } });
  const { _load: load, _extensions: extensions } = Module;
  Module._load = function (name, ...rest) {
    if (Object.hasOwn(NAMES, name)) return ours[NAMES[name]];
    try {
      return load.call(this, name, ...rest);
    } catch (error) {
      if (name === "zod" && error.code === "MODULE_NOT_FOUND") return ours.zod;
      throw error;
    }
  };
  const { _resolveFilename: resolve } = Module;
  Module._resolveFilename = function (name, parent, ...rest) {
    const file = resolve.call(this, name, parent, ...rest);
    if (path.isAbsolute(file)) {
      const real = fs.realpathSync(file);
      if (!within.some((folder) => real === folder || real.startsWith(folder.endsWith(path.sep) ? folder : folder + path.sep)))
        throw new Error(`${parent?.filename} requires ${file}, which is none of the files that it may import: those that were trusted, and packages`);
    }
    return file;
  };
  for (const end of [".ts", ".mts", ".cts"]) extensions[end] = () => { throw new SyntaxError("TypeScript cannot be required here; import it"); };
}

// What haft asks for.
const handles = new Map();
let lastHandle = 0;
const keep = (object) => { handles.set(++lastHandle, object); return lastHandle; };
const reach = (handle, names) => {
  let parent, found = handles.get(handle);
  if (found === undefined) throw new TypeError("the script was loaded anew; load it again");
  for (const name of names ?? []) { parent = found; found = found == null ? undefined : found[name]; }
  return { parent, found };
};
const kindOf = (value) => (value === null ? "null" : Array.isArray(value) ? "array" : typeof value);
const shape = (value) => ({
  kind: kindOf(value),
  names: value !== null && (typeof value === "object" || typeof value === "function") ? Object.keys(value).map((name) => ({ name, kind: kindOf(value[name]) })) : [],
});
const far = (name, names) => new Proxy(function (...args) { return request("remote", { name, path: names, args }); }, {
  get: (_, key) => (typeof key === "symbol" || key === "then" || key === "toJSON" ? undefined : far(name, [...names, key])),
  has: () => true,
});
const revive = (value) => {
  if (value === null || typeof value !== "object") return value;
  if (Array.isArray(value)) return value.map(revive);
  switch (value.$haft) {
    case "shell": return haft.builtin("bun").$;
    case "url": return new URL(value.value);
    case "remote": return far(value.name, []);
    case "function": { const { name } = value; return (...args) => request("remote", { name, path: [], args }); }
  }
  for (const key of Object.keys(value)) value[key] = revive(value[key]);
  return value;
};
const controllers = new Map();
const aborts = (id) => {
  if (!controllers.has(id)) controllers.set(id, new AbortController());
  return controllers.get(id);
};
const loaded = (namespace) => ({ handle: keep(namespace), ...shape(namespace) });
const methods = {
  load: async ({ file }) => loaded(await import(pathToFileURL(file).href)),
  // A module of haft's own, `text`, that imports the file as "PLUGIN": as a function, because neither host imports a text.
  async begin({ file, text }) {
    const module = await import(pathToFileURL(file).href);
    const names = [...text.matchAll(/^export (?:async )?(?:function|const|let|class) (\w+)/gm)].map(([, name]) => name);
    const body = text.replace(/^import \* as module from "PLUGIN";$/m, "").replaceAll(/^export /gm, "");
    return loaded(new Function("module", `"use strict";\n${body}\nreturn { ${names.join(", ")} };`)(module));
  },
  shape: ({ handle, path: names }) => shape(reach(handle, names).found),
  get: ({ handle, path: names }) => reach(handle, names).found,
  forget: ({ handle }) => { handles.delete(handle); },
  describe: ({ handle, path: names }) => haft.builtin("tools").describe(reach(handle, names).found),
  async call({ handle, path: names, args, keep: kept }) {
    const { parent, found } = reach(handle, names);
    if (typeof found !== "function") throw new TypeError(`${(names ?? []).join(".") || "it"} is not a function`);
    const given = revive(args ?? []);
    const value = await Reflect.apply(found, parent, given);
    return kept ? { ...loaded(value), args: given } : { value: value === undefined ? null : value, args: given };
  },
  tool: (params, key) => haft.builtin("tools").run(reach(params.handle, params.path).found, params, aborts(key)),
};
const failed = (error) => {
  const object = error !== null && typeof error === "object";
  const stack = object && typeof error.stack === "string" ? error.stack : "";
  const places = stack.split("\n").map((line) => /\(?((?:file:\/\/)?\/[^()]*:\d+:\d+)\)?$/.exec(line.trim())?.[1]?.replace("file://", "")).filter((place) => place && !place.includes("/haft/host/"));
  return {
    message: String(object && "message" in error ? error.message : util.inspect(error)), name: String((object && error.name) || "Error"),
    ...(object && error.code !== undefined ? { code: String(error.code) } : {}), places: places.slice(0, 16),
  };
};
const dropped = new Set();
const attend = ({ realm, id, method, params, result, error }) => {
  const key = `${realm}/${id}`;
  if (method === undefined) {
    const entry = waiting.get(id);
    waiting.delete(id);
    if (error) entry?.reject(hostError(error)); else entry?.resolve(result);
  } else if (method === "cancel") controllers.get(key)?.abort();
  else if (method === "drop") {
    if (controllers.has(key)) dropped.add(key);
    controllers.get(key)?.abort();
    send(realm, { method: "dropped", params: id });
  } else if (method !== "close") calls.run({ realm, id }, async () => {
    let answer;
    aborts(key);
    try {
      if (!Object.hasOwn(methods, method)) throw new TypeError(`there is no method ${method}`);
      answer = { id, result: (await methods[method](params, key)) ?? null };
      JSON.stringify(answer);
    } catch (error) {
      answer = { id, error: failed(error) };
    }
    controllers.delete(key);
    if (dropped.delete(key)) return;
    try { send(realm, answer); } catch (error) { send(realm, { id, error: failed(error) }); }
  });
};
// One that nobody waits for ends nothing.
for (const name of ["uncaughtException", "unhandledRejection"]) process.on(name, (error) => process.stderr.write(`${util.inspect(error)}\n`));
let rest = [];
process.stdin.on("data", (piece) => {
  let from = 0;
  for (let at = piece.indexOf(10); at >= 0; at = piece.indexOf(10, from)) {
    rest.push(piece.subarray(from, at));
    from = at + 1;
    const line = Buffer.concat(rest).toString();
    rest = [];
    attend(JSON.parse(line));
  }
  rest.push(piece.subarray(from));
});
process.stdin.on("end", () => process.exit(0));
