// fs: every look and every change is asked of haft, for the call that wants it.
export default (function (haft, global) {
  "use strict";
  const { request, requestSync } = haft;
  const Buffer = global.Buffer;
  const pathOf = (path) => {
    if (path instanceof URL) return haft.builtin("url").fileURLToPath(path.href);
    if (typeof path === "string") {
      if (path.startsWith("file://")) return haft.builtin("url").fileURLToPath(path);
      return haft.builtin("path").resolve(global.process.cwd(), path);
    }
    if (path instanceof Uint8Array) return pathOf(Buffer.from(path).toString());
    throw Object.assign(new TypeError(`The "path" argument must be of type string or an instance of Buffer or URL`), { code: "ERR_INVALID_ARG_TYPE" });
  };
  const encodingOf = (options) => (typeof options === "string" ? options : options?.encoding) ?? null;
  const bytesOf = (data, options) => {
    if (typeof data === "string") {
      const encoding = encodingOf(options) ?? "utf8";
      return /^utf-?8$/i.test(encoding) ? { text: data } : { base64: Buffer.from(data, encoding).toString("base64") };
    }
    if (ArrayBuffer.isView(data)) return { base64: Buffer.from(data.buffer, data.byteOffset, data.byteLength).toString("base64") };
    if (data instanceof ArrayBuffer) return { base64: Buffer.from(data).toString("base64") };
    return { text: String(data) };
  };
  class Stats {
    constructor(facts) {
      const { kind, size, mtimeMs, mode } = facts;
      Object.assign(this, { size, mode, mtimeMs, atimeMs: mtimeMs, ctimeMs: mtimeMs, birthtimeMs: mtimeMs, dev: 0, ino: 0, nlink: 1, uid: 1000, gid: 1000, blksize: 4096, blocks: Math.ceil(size / 512) });
      for (const name of ["mtime", "atime", "ctime", "birthtime"]) this[name] = new Date(mtimeMs);
      Object.defineProperty(this, "kind", { value: kind });
    }
    isFile() { return this.kind === "file"; }
    isDirectory() { return this.kind === "folder"; }
    isSymbolicLink() { return this.kind === "link"; }
    isFIFO() { return false; }
    isSocket() { return false; }
    isBlockDevice() { return false; }
    isCharacterDevice() { return false; }
  }
  class Dirent {
    constructor({ name, folder }, parent) { this.name = name; this.parentPath = this.path = parent; Object.defineProperty(this, "folder", { value: folder }); }
    isFile() { return !this.folder; }
    isDirectory() { return this.folder; }
    isSymbolicLink() { return false; }
  }
  const asRead = (options) => ({ base64 }) => {
    const bytes = Buffer.from(base64, "base64");
    const encoding = encodingOf(options);
    return encoding && encoding !== "buffer" ? bytes.toString(encoding) : bytes;
  };
  const readText = (options) => /^utf-?8$/i.test(encodingOf(options) ?? "");
  const same = (value) => value;
  const nothing = () => undefined;
  // Each operation: what is asked for, and what its answer becomes. Sync, promise and callback forms follow from it.
  const operations = {
    readFile: (path, options) => (readText(options) ? ["fs.read", { path: pathOf(path), as: "text" }, ({ text }) => text] : ["fs.read", { path: pathOf(path) }, asRead(options)]),
    writeFile: (path, data, options) => ["fs.write", { path: pathOf(path), ...bytesOf(data, options), flag: options?.flag ?? "w" }, nothing],
    appendFile: (path, data, options) => ["fs.write", { path: pathOf(path), ...bytesOf(data, options), flag: "a" }, nothing],
    stat: (path) => ["fs.stat", { path: pathOf(path) }, (facts) => new Stats(facts)],
    lstat: (path) => ["fs.stat", { path: pathOf(path), link: true }, (facts) => new Stats(facts)],
    access: (path) => ["fs.stat", { path: pathOf(path) }, nothing],
    readdir: (path, options) => ["fs.list", { path: pathOf(path), recursive: options?.recursive ?? false }, (entries) =>
      entries.map((entry) => (options?.withFileTypes ? new Dirent({ ...entry, name: entry.name.split("/").pop() }, haft.builtin("path").dirname(`${pathOf(path)}/${entry.name}`)) : entry.name)).sort((a, b) => ((a.name ?? a) < (b.name ?? b) ? -1 : 1))],
    mkdir: (path, options) => ["fs.mkdir", { path: pathOf(path), recursive: options?.recursive ?? false }, (made) => (options?.recursive ? made ?? undefined : undefined)],
    rm: (path, options) => ["fs.remove", { path: pathOf(path), recursive: options?.recursive ?? false, force: options?.force ?? false }, nothing],
    rmdir: (path, options) => ["fs.remove", { path: pathOf(path), recursive: options?.recursive ?? false, folder: true }, nothing],
    unlink: (path) => ["fs.remove", { path: pathOf(path) }, nothing],
    rename: (from, to) => ["fs.rename", { from: pathOf(from), to: pathOf(to) }, nothing],
    copyFile: (from, to) => ["fs.copy", { from: pathOf(from), to: pathOf(to) }, nothing],
    cp: (from, to, options) => ["fs.copy", { from: pathOf(from), to: pathOf(to), recursive: options?.recursive ?? false }, nothing],
    realpath: (path) => ["fs.real", { path: pathOf(path) }, same],
    truncate: (path, length = 0) => ["fs.truncate", { path: pathOf(path), length }, nothing],
  };
  // Rights and times of files are none of a script's affairs; nothing is done and nothing fails.
  const quiet = ["chmod", "utimes", "chown"];
  const fs = {}, promises = {};
  for (const [name, plan] of Object.entries(operations)) {
    promises[name] = async (...args) => {
      const [effect, params, made] = plan(...args);
      return made(await request(effect, params));
    };
    fs[`${name}Sync`] = (...args) => {
      const [effect, params, made] = plan(...args);
      return made(requestSync(effect, params));
    };
    fs[name] = (...args) => {
      const done = args.pop();
      if (typeof done !== "function") throw new TypeError(`${name} needs a callback; take fs/promises to await it`);
      promises[name](...args).then((value) => queueMicrotask(() => done(null, value)), (error) => queueMicrotask(() => done(error)));
    };
  }
  for (const name of quiet) {
    promises[name] = async () => {};
    fs[`${name}Sync`] = () => {};
    fs[name] = (...args) => queueMicrotask(() => args.pop()?.(null));
  }
  fs.existsSync = (path) => { try { requestSync("fs.stat", { path: pathOf(path) }); return true; } catch { return false; } };
  fs.exists = (path, done) => promises.stat(path).then(() => done(true), () => done(false));
  const temporary = (prefix) => `${prefix}${Math.random().toString(36).slice(2, 8).padEnd(6, "0")}`;
  promises.mkdtemp = async (prefix) => { const path = temporary(prefix); await promises.mkdir(path, { recursive: true }); return path; };
  fs.mkdtempSync = (prefix) => { const path = temporary(prefix); fs.mkdirSync(path, { recursive: true }); return path; };
  const lacking = (name) => () => { throw Object.assign(new Error(`fs.${name} is not there for scripts of haft; read or write whole files instead`), { code: "ENOSYS" }); };
  for (const name of ["open", "openSync", "watch", "watchFile", "createReadStream", "createWriteStream", "symlink", "symlinkSync", "link", "linkSync"]) fs[name] = lacking(name);
  promises.open = async () => lacking("open")();
  promises.constants = fs.constants = { F_OK: 0, R_OK: 4, W_OK: 2, X_OK: 1, COPYFILE_EXCL: 1 };
  promises.exists = async (path) => fs.existsSync(path);
  return Object.assign(fs, { promises, Stats, Dirent, pathOf });
});
