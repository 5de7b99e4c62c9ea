// Bun: its shell, its files, and what else tools take from it.
export default (function (haft, global) {
  "use strict";
  const { request, requestSync } = haft;
  const Buffer = global.Buffer;
  const { quote, line, plan } = haft.builtin("child_process");
  const fs = haft.builtin("fs");
  class ShellError extends Error {
    constructor(output, command) {
      super(`Failed with exit code ${output.exitCode}: ${command}${output.stderr.length ? `\n${output.stderr.toString().trim()}` : ""}`);
      Object.assign(this, { name: "ShellError", exitCode: output.exitCode, stdout: output.stdout, stderr: output.stderr });
    }
    text() { return this.stdout.toString(); }
    json() { return JSON.parse(this.text()); }
  }
  const word = (value) => {
    if (Array.isArray(value)) return value.map(word).join(" ");
    if (value !== null && typeof value === "object" && "raw" in value) return String(value.raw);
    if (value !== null && typeof value === "object" && value[FILE]) return quote(value[FILE]);
    const text = String(value);
    return text === "" ? "''" : quote(text);
  };
  class Output {
    constructor(done) {
      this.exitCode = done.code ?? 1;
      this.stdout = Buffer.from(done.stdout, "base64");
      this.stderr = Buffer.from(done.stderr, "base64");
    }
    text(encoding) { return this.stdout.toString(encoding); }
    json() { return JSON.parse(this.text()); }
    bytes() { return new Uint8Array(this.stdout); }
    arrayBuffer() { return this.bytes().buffer; }
    blob() { return new Blob([this.stdout]); }
  }
  const shell = (defaults) => {
    const $ = (strings, ...values) => {
      const command = strings.raw.map((part, at) => (at < values.length ? part + word(values[at]) : part)).join("").trim();
      const options = { ...defaults };
      let running;
      const run = () => (running ??= request("run", plan(command, options)).then((done) => {
        const output = new Output(done);
        if (output.exitCode !== 0 && options.throws) throw new ShellError(output, command);
        return output;
      }));
      const promise = {
        then: (done, failed) => run().then(done, failed), catch: (failed) => run().catch(failed), finally: (last) => run().finally(last),
        cwd: (path) => { options.cwd = path; return promise; },
        env: (env) => { options.env = env; return promise; },
        quiet: () => promise, throws: (on) => { options.throws = on; return promise; }, nothrow: () => promise.throws(false), run: () => promise,
        text: async (encoding) => (await run()).text(encoding), json: async () => (await run()).json(), bytes: async () => (await run()).bytes(),
        arrayBuffer: async () => (await run()).arrayBuffer(), blob: async () => (await run()).blob(),
        async *lines() { yield* (await run()).text().replace(/\n$/, "").split("\n"); },
        [Symbol.toStringTag]: "ShellPromise",
      };
      // It runs also where nobody awaits it.
      queueMicrotask(() => { run().catch(() => {}); });
      return promise;
    };
    return Object.assign($, {
      cwd: (path) => { defaults.cwd = path; return $; }, env: (env) => { defaults.env = env; return $; },
      throws: (on) => { defaults.throws = on; return $; }, nothrow: () => $.throws(false), escape: (text) => quote(String(text)), braces: (text) => [text],
      Shell: function () { return shell({ throws: true }); }, ShellError,
    });
  };
  const FILE = Symbol("file");
  const MIMES = { json: "application/json;charset=utf-8", txt: "text/plain;charset=utf-8", md: "text/markdown", html: "text/html;charset=utf-8", css: "text/css;charset=utf-8", js: "text/javascript;charset=utf-8", ts: "text/javascript;charset=utf-8", png: "image/png", jpg: "image/jpeg", svg: "image/svg+xml", pdf: "application/pdf" };
  const file = (given) => {
    const path = fs.pathOf(given);
    const bytes = () => fs.promises.readFile(path);
    return {
      [FILE]: path, name: path, type: MIMES[path.split(".").pop()] ?? "application/octet-stream",
      text: () => fs.promises.readFile(path, "utf8"), json: async () => JSON.parse(await fs.promises.readFile(path, "utf8")),
      bytes: async () => new Uint8Array(await bytes()), arrayBuffer: async () => new Uint8Array(await bytes()).buffer,
      exists: async () => { try { return (await fs.promises.stat(path)).isFile(); } catch { return false; } },
      stat: () => fs.promises.stat(path), unlink: () => fs.promises.unlink(path), delete: () => fs.promises.unlink(path),
      write: (data) => write(path, data), get size() { try { return fs.statSync(path).size; } catch { return 0; } },
      get lastModified() { try { return fs.statSync(path).mtimeMs; } catch { return 0; } },
    };
  };
  const write = async (to, data) => {
    const path = to?.[FILE] ?? to;
    if (data?.[FILE]) data = await fs.promises.readFile(data[FILE]);
    else if (typeof data?.arrayBuffer === "function") data = new Uint8Array(await data.arrayBuffer());
    await fs.promises.writeFile(path, data);
    return typeof data === "string" ? Buffer.byteLength(data) : data.byteLength;
  };
  const spawned = (command, options) => {
    if (!Array.isArray(command)) [command, options] = [command.cmd, command];
    return [line(command[0], command.slice(1)), { ...options, input: options?.stdin instanceof Uint8Array ? options.stdin : undefined }];
  };
  const readable = (promise) => {
    const bytes = async () => Buffer.from((await promise), "base64");
    return {
      text: async () => (await bytes()).toString(), json: async () => JSON.parse((await bytes()).toString()), bytes, arrayBuffer: async () => new Uint8Array(await bytes()).buffer,
      async *[Symbol.asyncIterator]() { yield await bytes(); },
      getReader() { let done = false; return { read: async () => (done ? { done: true } : ((done = true), { done: false, value: await bytes() })), releaseLock() {} }; },
    };
  };
  class Glob {
    constructor(pattern) { this.pattern = pattern; }
    match(path) { return pattern(this.pattern).test(path); }
    async *scan(options) {
      const root = typeof options === "string" ? options : options?.cwd ?? global.process.cwd();
      const test = pattern(this.pattern);
      for (const entry of await request("fs.list", { path: fs.pathOf(root), recursive: true }))
        if ((!entry.folder || options?.onlyFiles === false) && test.test(entry.name)) yield options?.absolute ? `${fs.pathOf(root)}/${entry.name}` : entry.name;
    }
    *scanSync(options) {
      const root = typeof options === "string" ? options : options?.cwd ?? global.process.cwd();
      const test = pattern(this.pattern);
      for (const entry of requestSync("fs.list", { path: fs.pathOf(root), recursive: true })) if (!entry.folder && test.test(entry.name)) yield entry.name;
    }
  }
  const pattern = (glob) => {
    let text = "", depth = 0;
    for (let at = 0; at < glob.length; at++) {
      const sign = glob[at];
      if (sign === "*" && glob[at + 1] === "*") { text += glob[at + 2] === "/" ? "(?:.*/)?" : ".*"; at += glob[at + 2] === "/" ? 2 : 1; }
      else if (sign === "*") text += "[^/]*";
      else if (sign === "?") text += "[^/]";
      else if (sign === "{") { text += "(?:"; depth++; }
      else if (sign === "}" && depth) { text += ")"; depth--; }
      else if (sign === "," && depth) text += "|";
      else text += sign.replace(/[.+^$()|[\]\\]/, "\\$&");
    }
    return new RegExp(`^${text}$`);
  };
  return {
    $: shell({ throws: true }), file, write, Glob, env: global.process.env, version: "1.2.0", revision: "", main: "", argv: ["haft", "script"],
    spawn: (command, options) => {
      const [text, given] = spawned(command, options);
      const running = request("run", plan(text, given));
      const self = { pid: 0, exitCode: null, killed: false, kill() {}, ref() {}, unref() {}, stdout: readable(running.then((done) => done.stdout)), stderr: readable(running.then((done) => done.stderr)) };
      self.exited = running.then((done) => (self.exitCode = done.code));
      return self;
    },
    spawnSync: (command, options) => {
      const [text, given] = spawned(command, options);
      const done = requestSync("run", plan(text, given));
      return { exitCode: done.code, success: done.code === 0, stdout: Buffer.from(done.stdout, "base64"), stderr: Buffer.from(done.stderr, "base64") };
    },
    sleep: (wait) => new Promise((done) => setTimeout(done, wait instanceof Date ? wait - Date.now() : wait)),
    which: (name) => { const done = requestSync("run", plan(`command -v ${quote(name)}`)); return done.code === 0 ? Buffer.from(done.stdout, "base64").toString().trim() : null; },
    escapeHTML: (text) => String(text).replace(/[&<>"']/g, (sign) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#x27;" })[sign]),
    inspect: (value) => haft.builtin("util").inspect(value), deepEquals: (a, b) => haft.builtin("util").isDeepStrictEqual(a, b),
    nanoseconds: () => Math.round(haft.now() * 1e6), randomUUIDv7: () => crypto.randomUUID(),
    fileURLToPath: (url) => haft.builtin("url").fileURLToPath(String(url)), pathToFileURL: (path) => haft.builtin("url").pathToFileURL(path),
    hash: (text) => { let hash = 0xcbf29ce484222325n; for (const byte of Buffer.from(text)) hash = ((hash ^ BigInt(byte)) * 0x100000001b3n) & 0xffffffffffffffffn; return hash; },
    stringWidth: (text) => [...haft.builtin("util").stripVTControlCharacters(text)].length,
    JSONC: { parse: (text) => JSON.parse(text) }, gc() {}, semver: undefined,
  };
});
