// Modules of Node's that are a few lines each, or those of the library with what it leaves out.
export default (function (haft, global) {
  "use strict";
  const { native } = haft;
  const assertion = (message, fallback) => {
    if (message instanceof Error) return message;
    const error = new Error(message ?? fallback);
    error.name = "AssertionError";
    error.code = "ERR_ASSERTION";
    return error;
  };
  const inspect = (value) => haft.builtin("util").inspect(value);
  return {
    assert() {
      const ok = (value, message) => { if (!value) throw assertion(message, "the value is not truthy"); };
      const { isDeepStrictEqual } = haft.builtin("util");
      const compare = (test, word) => (a, b, message) => {
        if (!test(a, b)) throw assertion(message, `${inspect(a)} ${word} ${inspect(b)}`);
      };
      const assert = (value, message) => ok(value, message);
      const caught = (run) => { try { run(); } catch (error) { return { error }; } };
      const fits = (error, want) =>
        want === undefined || typeof want === "string" ? true
          : want instanceof RegExp ? want.test(String(error))
            : typeof want === "function" ? error instanceof want || want(error) === true
              : Object.keys(want).every((key) => want[key] instanceof RegExp ? want[key].test(error[key]) : isDeepStrictEqual(want[key], error[key]));
      return Object.assign(assert, {
        ok, strict: assert,
        AssertionError: class AssertionError extends Error { constructor(o) { super(o?.message); this.name = "AssertionError"; this.code = "ERR_ASSERTION"; } },
        equal: compare((a, b) => a == b, "is not"), notEqual: compare((a, b) => a != b, "is"),
        strictEqual: compare(Object.is, "is not"), notStrictEqual: compare((a, b) => !Object.is(a, b), "is"),
        deepEqual: compare(isDeepStrictEqual, "is not"), deepStrictEqual: compare(isDeepStrictEqual, "is not"),
        notDeepEqual: compare((a, b) => !isDeepStrictEqual(a, b), "is"), notDeepStrictEqual: compare((a, b) => !isDeepStrictEqual(a, b), "is"),
        match: compare((a, b) => b.test(a), "does not match"), doesNotMatch: compare((a, b) => !b.test(a), "matches"),
        fail: (message) => { throw assertion(message, "failed"); },
        ifError: (value) => { if (value != null) throw value; },
        throws: (run, want, message) => {
          const found = caught(run);
          if (!found) throw assertion(message, "nothing was thrown");
          if (!fits(found.error, want)) throw found.error;
        },
        doesNotThrow: (run) => { run(); },
        rejects: async (promise, want, message) => {
          try { await (typeof promise === "function" ? promise() : promise); } catch (error) { if (fits(error, want)) return; throw error; }
          throw assertion(message, "nothing was thrown");
        },
        doesNotReject: async (promise) => { await (typeof promise === "function" ? promise() : promise); },
      });
    },
    async_hooks() {
      // Enough for code that runs something within a store and reads it before it waits.
      class AsyncLocalStorage {
        #store;
        run(store, callback, ...args) {
          const before = this.#store;
          this.#store = store;
          try { return callback(...args); } finally { this.#store = before; }
        }
        exit(callback, ...args) { return this.run(undefined, callback, ...args); }
        enterWith(store) { this.#store = store; }
        getStore() { return this.#store; }
        disable() { this.#store = undefined; }
      }
      return { AsyncLocalStorage, AsyncResource: class AsyncResource { runInAsyncScope(f, self, ...args) { return f.apply(self, args); } } };
    },
    console: () => global.console,
    crypto() {
      const found = haft.builtin("node-crypto");
      const { createHash } = found;
      const equal = (a, b) => {
        if (a.length !== b.length) throw new RangeError("Input buffers must have the same byte length");
        let differs = 0;
        for (let at = 0; at < a.length; at++) differs |= a[at] ^ b[at];
        return differs === 0;
      };
      return Object.assign({}, found, {
        timingSafeEqual: equal, webcrypto: global.crypto, subtle: global.crypto.subtle,
        hash: (algorithm, data, encoding = "hex") => createHash(algorithm).update(data).digest(encoding),
        getHashes: () => ["md5", "sha1", "sha256", "sha384", "sha512"],
        randomFill: (buffer, ...rest) => {
          const done = rest.pop();
          found.randomFillSync(buffer, ...rest);
          queueMicrotask(() => done(null, buffer));
        },
        randomBytes: (size, done) => {
          const bytes = global.Buffer.from(found.randomBytes(size));
          if (!done) return bytes;
          queueMicrotask(() => done(null, bytes));
        },
      });
    },
    // What hashes can do of WebCrypto; ciphers and public keys are not there.
    subtle() {
      const { createHash, createHmac } = haft.builtin("node-crypto");
      const bytes = (data) => (ArrayBuffer.isView(data) ? new Uint8Array(data.buffer, data.byteOffset, data.byteLength) : new Uint8Array(data));
      const named = (algorithm) => String(typeof algorithm === "string" ? algorithm : algorithm?.name).toUpperCase();
      const plain = (hash) => {
        const name = named(hash).replace("-", "").toLowerCase();
        if (!["sha1", "sha256", "sha384", "sha512"].includes(name)) throw new TypeError(`crypto.subtle: ${named(hash)} is not there in haft; take SHA-256`);
        return name;
      };
      const hmac = (algorithm, what) => {
        if (named(algorithm) !== "HMAC") throw new TypeError(`crypto.subtle.${what}: ${named(algorithm)} is not there in haft; of algorithms with keys it has HMAC`);
      };
      const buffer = (digest) => new Uint8Array(digest).buffer;
      const keys = new WeakMap();
      const sign = (key, data) => {
        const own = keys.get(key);
        if (!own) throw new TypeError("crypto.subtle: this is no key of importKey");
        return buffer(createHmac(own.hash, own.key).update(bytes(data)).digest());
      };
      const absent = (what) => async () => { throw new TypeError(`crypto.subtle.${what} is not there in haft; it has digest, and importKey, sign and verify for HMAC`); };
      const subtle = {
        digest: async (algorithm, data) => buffer(createHash(plain(algorithm)).update(bytes(data)).digest()),
        importKey: async (format, data, algorithm, extractable = false, usages = []) => {
          hmac(algorithm, "importKey");
          if (format !== "raw") throw new TypeError(`crypto.subtle.importKey: ${format} is not there in haft; take "raw"`);
          const key = { type: "secret", extractable, usages: [...usages], algorithm: { name: "HMAC", hash: { name: named(algorithm.hash) } } };
          keys.set(key, { hash: plain(algorithm.hash), key: bytes(data).slice() });
          return key;
        },
        sign: async (algorithm, key, data) => { hmac(algorithm, "sign"); return sign(key, data); },
        verify: async (algorithm, key, signature, data) => {
          hmac(algorithm, "verify");
          const [a, b] = [new Uint8Array(sign(key, data)), bytes(signature)];
          return a.length === b.length && a.reduce((differs, byte, at) => differs | (byte ^ b[at]), 0) === 0;
        },
      };
      for (const name of ["encrypt", "decrypt", "deriveKey", "deriveBits", "exportKey", "generateKey", "wrapKey", "unwrapKey"]) subtle[name] = absent(name);
      return subtle;
    },
    events() {
      const EventEmitter = haft.builtin("node-events");
      const once = (emitter, name) => new Promise((resolve, reject) => {
        const failed = (error) => { emitter.off(name, done); reject(error); };
        const done = (...args) => { emitter.off("error", failed); resolve(args); };
        emitter.once(name, done);
        if (name !== "error") emitter.once("error", failed);
      });
      EventEmitter.EventEmitter = EventEmitter;
      EventEmitter.once = once;
      EventEmitter.defaultMaxListeners = 10;
      EventEmitter.setMaxListeners = () => {};
      const { prototype } = EventEmitter;
      const { emit } = prototype;
      Object.defineProperty(prototype, "emit", {
        writable: true, configurable: true,
        value(name, ...args) { const heard = this.listenerCount(name) > 0; emit.call(this, name, ...args); return heard; },
      });
      for (const [name, method] of Object.entries({
        setMaxListeners() { return this; }, getMaxListeners() { return 10; },
        listenerCount(name) { return this.listeners ? this.listeners(name).length : 0; },
        rawListeners(name) { return this.listeners(name); },
      })) if (!(name in prototype)) Object.defineProperty(prototype, name, { value: method, writable: true, configurable: true });
      return EventEmitter;
    },
    fs_promises: () => haft.builtin("fs").promises,
    module() {
      const names = ["assert", "buffer", "child_process", "crypto", "events", "fs", "os", "path", "process", "stream", "timers", "url", "util"];
      const path = (from) => (String(from).startsWith("file:") ? haft.builtin("url").fileURLToPath(String(from)) : String(from));
      return { createRequire: (from) => haft.builtin("cjs").requireFrom(path(from)), builtinModules: names, isBuiltin: (name) => names.includes(name.replace(/^node:/, "")) };
    },
    os() {
      // What says nothing of the person or the machine but its kind.
      const { platform, arch, home, temporary } = haft.builtin("process").haft;
      const type = { darwin: "Darwin", linux: "Linux", win32: "Windows_NT" }[platform] ?? platform;
      return {
        EOL: "\n", platform: () => platform, type: () => type, arch: () => arch, machine: () => arch, release: () => "", version: () => "",
        hostname: () => "localhost", homedir: () => home, tmpdir: () => temporary, endianness: () => "LE", uptime: () => native.now() / 1000,
        userInfo: () => ({ username: "user", uid: 1000, gid: 1000, shell: null, homedir: home }),
        cpus: () => [{ model: "", speed: 0, times: { user: 0, nice: 0, sys: 0, idle: 0, irq: 0 } }], availableParallelism: () => 1,
        totalmem: () => 0, freemem: () => 0, loadavg: () => [0, 0, 0], networkInterfaces: () => ({}),
        constants: { signals: { SIGHUP: 1, SIGINT: 2, SIGKILL: 9, SIGTERM: 15 }, errno: {} }, devNull: "/dev/null",
      };
    },
    perf_hooks: () => ({ performance: global.performance }),
    querystring: () => {
      const parse = (text) => {
        const found = {};
        for (const [key, value] of new URLSearchParams(text)) found[key] = key in found ? [].concat(found[key], value) : value;
        return found;
      };
      const stringify = (object) => Object.entries(object ?? {}).flatMap(([key, value]) => [].concat(value).map((one) =>
        `${encodeURIComponent(key)}=${encodeURIComponent(one ?? "")}`)).join("&");
      return { parse, stringify, decode: parse, encode: stringify, escape: encodeURIComponent, unescape: decodeURIComponent };
    },
    readline: () => ({
      createInterface: () => { throw new Error("a script has no terminal to ask at; use context.ask, or take it as an argument"); },
    }),
    stream_promises: () => haft.builtin("stream").promises,
    timers() {
      const { setTimeout, setInterval, setImmediate, clearTimeout, clearInterval, clearImmediate } = global;
      return { setTimeout, setInterval, setImmediate, clearTimeout, clearInterval, clearImmediate, promises: haft.builtin("timers_promises") };
    },
    timers_promises() {
      const after = (wait, value, options) => new Promise((resolve, reject) => {
        const { signal } = options ?? {};
        const stopped = () => { clearTimeout(timer); reject(signal.reason ?? new Error("aborted")); };
        const timer = setTimeout(() => { signal?.removeEventListener?.("abort", stopped); resolve(value); }, wait);
        if (signal?.aborted) stopped();
        else signal?.addEventListener("abort", stopped);
      });
      return {
        setTimeout: after, setImmediate: (value) => after(0, value), scheduler: { wait: (wait) => after(wait), yield: () => after(0) },
        async *setInterval(wait, value) { for (;;) yield await after(wait, value); },
      };
    },
    tty: () => ({ isatty: () => false }),
    url() {
      const found = haft.builtin("node-url");
      // The library leaves what is written with `%` as it is.
      const fileURLToPath = (address) => {
        const url = typeof address === "string" ? new URL(address) : address;
        if (url?.protocol !== "file:") throw Object.assign(new TypeError("The URL must be of scheme file"), { code: "ERR_INVALID_URL_SCHEME" });
        return decodeURIComponent(url.pathname);
      };
      return Object.assign({ parse: (text) => new URL(text) }, found, { fileURLToPath, URL });
    },
    util_types: () => haft.builtin("util").types,
  };
});
