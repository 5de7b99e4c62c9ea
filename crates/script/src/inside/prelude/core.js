// What every realm begins with: the way to the host, timers, the console, and what the host may ask for.
// It runs before any script, and keeps hold of what it needs, so that no script can change it under its feet.
export default (function (native, global) {
  "use strict";
  const { parse, stringify } = JSON;
  const { defineProperty, keys, getPrototypeOf, hasOwn } = Object;
  const { isArray } = Array;
  const PromiseOf = Promise, MapOf = Map, ErrorOf = Error, StringOf = String, ProxyOf = Proxy;
  const TypeErrorOf = TypeError, ObjectPrototype = Object.prototype;
  const then = Promise.prototype.then, apply = Reflect.apply;
  const mapGet = Map.prototype.get, mapSet = Map.prototype.set, mapDelete = Map.prototype.delete, mapHas = Map.prototype.has;
  const get = (map, key) => apply(mapGet, map, [key]);
  const put = (map, key, value) => apply(mapSet, map, [key, value]);
  const remove = (map, key) => apply(mapDelete, map, [key]);
  const has = (map, key) => apply(mapHas, map, [key]);
  const whenDone = (promise, done, failed) => apply(then, promise, [done, failed]);

  // An error that came from the host, as Node would throw it.
  const hostError = ({ message, code, name, path, syscall }) => {
    const error = name === "TypeError" ? new TypeErrorOf(message) : new ErrorOf(message);
    if (name && name !== "TypeError") error.name = name;
    if (code) error.code = code;
    if (path) error.path = path;
    if (syscall) error.syscall = syscall;
    return error;
  };
  const text = (value) => stringify(value === undefined ? null : value) ?? "null";

  // Effects: what the host does for a script, each for the call that asks for it.
  const waiting = new MapOf();
  const request = (method, params) => new PromiseOf((resolve, reject) => {
    put(waiting, native.request(method, text(params)), { resolve, reject });
  });
  const requestSync = (method, params) => {
    const answer = parse(native.requestSync(method, text(params)));
    if (hasOwn(answer, "error")) throw hostError(answer.error);
    return answer.result;
  };
  const notify = (method, params) => native.notify(method, text(params));

  const timers = new MapOf();
  const start = (callback, wait, args, repeat) => {
    if (typeof callback !== "function") throw new TypeErrorOf("the callback of a timer must be a function");
    const id = native.timer(+wait || 0);
    put(timers, id, { callback, args, repeat, wait: +wait || 0 });
    const timer = {
      id, ref: () => timer, unref: () => timer, hasRef: () => true, refresh: () => timer, close: () => stop(timer),
      [Symbol.toPrimitive]: () => id,
    };
    return timer;
  };
  const stop = (timer) => {
    const id = timer == null ? undefined : typeof timer === "object" ? timer.id : +timer;
    if (id !== undefined && has(timers, id)) {
      remove(timers, id);
      native.clearTimer(id);
    }
  };
  const hidden = (name, value) => defineProperty(global, name, { value, writable: true, configurable: true });
  hidden("setTimeout", (callback, wait, ...args) => start(callback, wait, args, false));
  hidden("setInterval", (callback, wait, ...args) => start(callback, wait < 1 ? 1 : wait, args, true));
  hidden("setImmediate", (callback, ...args) => start(callback, 0, args, false));
  hidden("clearTimeout", stop);
  hidden("clearInterval", stop);
  hidden("clearImmediate", stop);
  hidden("queueMicrotask", (callback) => { whenDone(PromiseOf.resolve(), () => callback()); });
  hidden("structuredClone", (value) => clone(value, new MapOf()));
  hidden("global", global);
  hidden("self", global);

  const clone = (value, seen) => {
    if (typeof value === "function" || typeof value === "symbol") throw new TypeErrorOf("cannot be cloned");
    if (value === null || typeof value !== "object") return value;
    if (has(seen, value)) return get(seen, value);
    let copy;
    if (value instanceof Date) return new Date(value.getTime());
    if (value instanceof RegExp) return new RegExp(value.source, value.flags);
    if (ArrayBuffer.isView(value)) return value.slice();
    if (value instanceof ArrayBuffer) return value.slice(0);
    if (value instanceof Map) {
      put(seen, value, copy = new Map());
      for (const [k, v] of value) copy.set(clone(k, seen), clone(v, seen));
    } else if (value instanceof Set) {
      put(seen, value, copy = new Set());
      for (const v of value) copy.add(clone(v, seen));
    } else if (value instanceof Error) {
      put(seen, value, copy = new value.constructor(value.message));
    } else {
      put(seen, value, copy = isArray(value) ? [] : {});
      for (const key of keys(value)) copy[key] = clone(value[key], seen);
    }
    return copy;
  };

  // Those that are a few lines each share a file.
  const SMALL = ["assert", "async_hooks", "console", "crypto", "events", "fs_promises", "module", "os", "perf_hooks",
    "querystring", "readline", "stream_promises", "subtle", "timers", "timers_promises", "tty", "url", "util_types"];
  const small = (name) => SMALL.indexOf(name) >= 0;
  // Modules of our own, each made when it is first asked for.
  const made = new MapOf();
  const haft = {
    native, global, request, requestSync, notify, hostError, hidden, now: native.now,
    builtin(name) {
      if (!has(made, name)) put(made, name, native.builtin(name) ?? (small(name) ? haft.builtin("small")[name]() : native.evaluate(name)(haft, global)));
      return get(made, name);
    },
    lazily(name, make) {
      defineProperty(global, name, {
        configurable: true,
        get() { const value = make(); hidden(name, value); return value; },
        set(value) { hidden(name, value); },
      });
    },
  };

  // The library's own wait for a runtime that is not here.
  defineProperty(global.crypto, "subtle", { configurable: true, enumerable: true, get: () => haft.builtin("subtle") });
  defineProperty(global.crypto, "randomFill", { configurable: true, enumerable: true, get: () => haft.builtin("crypto").randomFill });

  const inspect = (value) => (typeof value === "string" ? value : haft.builtin("util").inspect(value));
  const say = (level) => (...args) => {
    const words = args.length && typeof args[0] === "string" && args[0].includes("%")
      ? haft.builtin("util").format(...args) : args.map(inspect).join(" ");
    notify("log", { level, text: words });
  };
  const counts = new MapOf(), clocks = new MapOf();
  hidden("console", {
    log: say("info"), info: say("info"), debug: say("debug"), trace: say("debug"), warn: say("warn"), error: say("error"),
    dir: say("info"), table: say("info"), group: say("info"), groupEnd() {}, groupCollapsed: say("info"),
    assert: (fine, ...args) => { if (!fine) say("error")("Assertion failed", ...args); },
    count: (label = "default") => { put(counts, label, (get(counts, label) ?? 0) + 1); say("info")(`${label}: ${get(counts, label)}`); },
    time: (label = "default") => { put(clocks, label, native.now()); },
    timeEnd: (label = "default") => say("info")(`${label}: ${(native.now() - (get(clocks, label) ?? 0)).toFixed(3)}ms`),
    timeLog: (label = "default") => say("info")(`${label}: ${(native.now() - (get(clocks, label) ?? 0)).toFixed(3)}ms`),
  });

  // The library takes an argument that is undefined for one of a wrong type.
  const { toString } = global.Buffer.prototype, { from } = global.Buffer;
  const given = (args) => { let count = args.length; while (count && args[count - 1] === undefined) count--; return args.slice(0, count); };
  defineProperty(global.Buffer.prototype, "toString", { configurable: true, writable: true, value(...args) {
    if (args[0] !== "base64url") return toString.apply(this, given(args));
    return toString.apply(this, ["base64", ...given(args).slice(1)]).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
  } });
  defineProperty(global.Buffer, "from", { configurable: true, writable: true, value: (...args) => {
    if (args[1] === "base64url") return from.apply(global.Buffer, [String(args[0]).replaceAll("-", "+").replaceAll("_", "/"), "base64"]);
    return from.apply(global.Buffer, given(args));
  } });
  // What the library's buffers leave out.
  const compare = (a, b) => {
    const length = Math.min(a.length, b.length);
    for (let at = 0; at < length; at++) if (a[at] !== b[at]) return a[at] < b[at] ? -1 : 1;
    return Math.sign(a.length - b.length);
  };
  const { indexOf } = Uint8Array.prototype;
  const found = (buffer, what, start = 0) => {
    if (typeof what === "number") return apply(indexOf, buffer, [what, start]);
    const bytes = typeof what === "string" ? global.Buffer.from(what) : what;
    for (let at = start; at + bytes.length <= buffer.length; at++) {
      let same = 0;
      while (same < bytes.length && buffer[at + same] === bytes[same]) same++;
      if (same === bytes.length) return at;
    }
    return -1;
  };
  const missing = (object, methods) => {
    for (const name of keys(methods)) if (!hasOwn(object, name)) defineProperty(object, name, { configurable: true, writable: true, value: methods[name] });
  };
  missing(global.Buffer.prototype, {
    equals(other) { return compare(this, other) === 0; },
    compare(other) { return compare(this, other); },
    indexOf(what, start) { return found(this, what, start); },
    includes(what, start) { return found(this, what, start) >= 0; },
    toJSON() { return { type: "Buffer", data: [...this] }; },
  });
  missing(global.Buffer, { compare });
  const { URL: NativeUrl } = global;
  hidden("URL", new ProxyOf(NativeUrl, {
    construct(target, args) {
      try {
        return Reflect.construct(target, args);
      } catch (error) {
        error.code = "ERR_INVALID_URL";
        throw error;
      }
    },
  }));
  // Its own folder for the script's; and what the library hides from lists of names.
  const { resolve } = haft.builtin("path");
  const path = { ...haft.builtin("path"), resolve: (...parts) => resolve(global.process.cwd(), ...parts), sep: "/", delimiter: ":", toNamespacedPath: (text) => text };
  path.posix = path;
  put(made, "path", path);

  haft.lazily("process", () => haft.builtin("process"));
  haft.lazily("Bun", () => haft.builtin("bun"));
  for (const name of ["fetch", "Headers", "Request", "Response", "FormData"]) haft.lazily(name, () => haft.builtin("fetch")[name]);
  haft.lazily("performance", () => ({ now: native.now, timeOrigin: Date.now() - native.now(), mark() {}, measure() {} }));
  if (global.AbortSignal) {
    // The library's own needs a runtime that this process does not have.
    global.AbortSignal.timeout = (wait) => {
      const controller = new AbortController();
      setTimeout(() => controller.abort(new DOMException("The operation timed out.", "TimeoutError")), wait);
      return controller.signal;
    };
  }

  // Objects that the host keeps hold of, by number.
  const handles = new MapOf();
  let lastHandle = 0;
  const keep = (object) => { put(handles, ++lastHandle, object); return lastHandle; };
  const reach = (handle, path) => {
    let parent, found = get(handles, handle);
    if (found === undefined) throw new TypeErrorOf("the script was loaded anew; load it again");
    for (const name of path ?? []) {
      parent = found;
      found = found == null ? undefined : found[name];
    }
    return { parent, found };
  };
  const kindOf = (value) => {
    if (value === null) return "null";
    if (isArray(value)) return "array";
    return typeof value;
  };
  const shape = (value) => {
    const names = [];
    if (value !== null && (typeof value === "object" || typeof value === "function"))
      for (const name of keys(value)) names.push({ name, kind: kindOf(value[name]) });
    return { kind: kindOf(value), names };
  };

  // What cannot be written as JSON, written as an object that the other side knows.
  const far = (name, path) => {
    const call = function (...args) { return request("remote", { name, path, args }); };
    return new ProxyOf(call, {
      get: (_, key) => (typeof key === "symbol" || key === "then" || key === "toJSON" ? undefined : far(name, [...path, key])),
      has: () => true,
    });
  };
  const revive = (value) => {
    if (value === null || typeof value !== "object") return value;
    if (isArray(value)) return value.map(revive);
    switch (value.$haft) {
      case "shell": return haft.builtin("bun").$;
      case "url": return new URL(value.value);
      case "remote": return far(value.name, []);
      case "function": { const { name } = value; return (...args) => request("remote", { name, path: [], args }); }
      case undefined: break;
    }
    for (const key of keys(value)) value[key] = revive(value[key]);
    return value;
  };

  const methods = {
    async load({ file }) {
      const namespace = await native.load(file);
      const handle = keep(namespace);
      return { handle, ...shape(namespace) };
    },
    shape: ({ handle, path }) => shape(reach(handle, path).found),
    get: ({ handle, path }) => reach(handle, path).found,
    forget: ({ handle }) => { remove(handles, handle); },
    describe: ({ handle, path }) => haft.builtin("tools").describe(reach(handle, path).found),
    async call({ handle, path, args, keep: kept }) {
      const { parent, found } = reach(handle, path);
      if (typeof found !== "function") throw new TypeErrorOf(`${(path ?? []).join(".") || "it"} is not a function`);
      const given = revive(args ?? []);
      const value = await apply(found, parent, given);
      return kept ? { handle: keep(value), ...shape(value), args: given } : { value: value === undefined ? null : value, args: given };
    },
    async tool(params, id) {
      const { found } = reach(params.handle, params.path);
      return await haft.builtin("tools").run(found, params, aborts(id));
    },
    async program({ code, tools, types }, id) {
      return await haft.builtin("program").run(code, tools, aborts(id));
    },
  };

  const controllers = new MapOf();
  const aborts = (id) => {
    if (!has(controllers, id)) put(controllers, id, new AbortController());
    return get(controllers, id);
  };

  const failed = (id, error) => {
    const object = error !== null && typeof error === "object";
    let name = "Error", message, stack = "", code = null;
    try {
      name = object && error.name ? StringOf(error.name) : "Error";
      message = object && "message" in error ? StringOf(error.message) : inspect(error);
      stack = object && typeof error.stack === "string" ? error.stack : "";
      code = object && error.code !== undefined ? StringOf(error.code) : null;
    } catch {
      message = "an error that cannot be described";
    }
    native.fail(id, name, message, stack, code);
  };
  // What an import of ours is made with. It gives nothing that an import would not give.
  defineProperty(global, "__modules", {
    value: Object.freeze({ builtin: (name) => haft.builtin(name), common: (path) => haft.builtin("cjs").load(path) }),
  });
  return {
    ask(id, method, params) {
      const done = (value) => {
        remove(controllers, id);
        let answer;
        try { answer = text(value); } catch (error) { return failed(id, error); }
        native.reply(id, answer);
      };
      const broken = (error) => { remove(controllers, id); failed(id, error); };
      try {
        if (!hasOwn(methods, method)) throw new TypeErrorOf(`there is no method ${method}`);
        whenDone(PromiseOf.resolve(methods[method](parse(params), id)), done, broken);
      } catch (error) {
        broken(error);
      }
    },
    answer(id, fine, value) {
      const entry = get(waiting, id);
      remove(waiting, id);
      if (!entry) return;
      if (fine) entry.resolve(parse(value));
      else entry.reject(hostError(parse(value)));
    },
    timer(id) {
      const timer = get(timers, id);
      if (!timer) return;
      if (timer.repeat) native.again(id, timer.wait);
      else remove(timers, id);
      timer.callback(...timer.args);
    },
    abort(id) { get(controllers, id)?.abort(); },
    forget(ids, effects) {
      for (const id of ids) remove(timers, id);
      for (const id of effects) remove(waiting, id);
    },
  };
});
