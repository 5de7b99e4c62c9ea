// process: where and how a script runs, without what would tell of the person.
export default (function (haft) {
  "use strict";
  const { native, requestSync, notify } = haft;
  const facts = requestSync("facts", {});
  const started = native.now();
  const written = (level) => ({
    isTTY: false, columns: 80, fd: level === "info" ? 1 : 2,
    write: (text, encoding, done) => {
      notify("log", { level, text: String(text).replace(/\n$/, "") });
      (typeof encoding === "function" ? encoding : done)?.();
      return true;
    },
    on() { return this; }, once() { return this; }, end() {},
  });
  let folder = facts.directory;
  const hrtime = (before) => {
    const now = (native.now() - started) / 1000;
    const [seconds, rest] = [Math.floor(now), Math.round((now % 1) * 1e9)];
    if (!before) return [seconds, rest];
    const all = (seconds - before[0]) * 1e9 + rest - before[1];
    return [Math.floor(all / 1e9), all % 1e9];
  };
  hrtime.bigint = () => BigInt(Math.round((native.now() - started) * 1e6));
  const ends = (what) => () => { throw new Error(`${what} is not for scripts; return or throw instead`); };
  const self = {
    env: { ...facts.env }, argv: ["haft", facts.file ?? "script"], argv0: "haft", execArgv: [], execPath: "haft", title: "haft",
    pid: 1, ppid: 0, platform: facts.platform, arch: facts.arch, version: "v22.0.0", versions: { node: "22.0.0", haft: facts.version }, release: { name: "haft" },
    exitCode: undefined, cwd: () => folder, chdir: (path) => { folder = haft.builtin("path").resolve(folder, String(path)); },
    exit: ends("process.exit"), kill: ends("process.kill"), abort: ends("process.abort"),
    hrtime, uptime: () => (native.now() - started) / 1000, memoryUsage: () => ({ rss: 0, heapTotal: 0, heapUsed: 0, external: 0, arrayBuffers: 0 }),
    nextTick: (run, ...args) => queueMicrotask(() => run(...args)), emitWarning: (text) => notify("log", { level: "warn", text: String(text?.message ?? text) }),
    stdout: written("info"), stderr: written("error"), stdin: { isTTY: false, on() { return this; }, once() { return this; }, read: () => null },
    on: () => self, once: () => self, off: () => self, emit: () => false, removeListener: () => self, removeAllListeners: () => self, listeners: () => [], listenerCount: () => 0,
    umask: () => 0o22, getuid: () => 1000, geteuid: () => 1000, getgid: () => 1000, features: {}, config: {},
  };
  Object.defineProperty(self, "haft", { value: facts });
  Object.defineProperty(self, Symbol.toStringTag, { value: "process" });
  return self;
});
