// child_process: command lines that haft runs, behind its gate and in its cage.
export default (function (haft, global) {
  "use strict";
  const { request, requestSync } = haft;
  const Buffer = global.Buffer;
  const quote = (word) => (/^[A-Za-z0-9_\/.,:=@%+-]+$/.test(word) ? word : `'${String(word).replaceAll("'", "'\\''")}'`);
  const line = (file, args) => [file, ...(args ?? [])].map((word) => quote(String(word))).join(" ");
  const plan = (command, options) => {
    const { cwd, env, input, timeout } = options ?? {};
    const folder = cwd === undefined || cwd === null ? global.process.cwd() : haft.builtin("fs").pathOf(cwd);
    const given = {};
    // What is as it was for this script is as it is for every command.
    if (env) for (const [name, value] of Object.entries(env)) if (value !== undefined && value !== null && global.process.haft.env[name] !== String(value)) given[name] = String(value);
    const text = input === undefined || input === null ? null : typeof input === "string" ? Buffer.from(input) : Buffer.from(input);
    return { command, cwd: folder, env: given, input: text ? text.toString("base64") : null, timeout: timeout || null };
  };
  const decode = (done, options, fallback) => {
    const encoding = options?.encoding === undefined ? fallback : options.encoding;
    const as = (base64) => { const bytes = Buffer.from(base64, "base64"); return encoding && encoding !== "buffer" ? bytes.toString(encoding) : bytes; };
    return { ...done, stdout: as(done.stdout), stderr: as(done.stderr) };
  };
  const failure = (command, done) => {
    const said = String(done.stderr).trim();
    const how = done.timedOut ? "took too long" : `exited with ${done.code ?? done.signal}`;
    return Object.assign(new Error(`Command failed: ${command}\n${said || how}`), {
      code: done.code, status: done.code, signal: done.signal ?? null, killed: !!done.timedOut, cmd: command, stdout: done.stdout, stderr: done.stderr, output: [null, done.stdout, done.stderr],
    });
  };
  const runSync = (command, options) => decode(requestSync("run", plan(command, options)), options, "buffer");
  const execSync = (command, options) => {
    const done = runSync(command, options);
    if (done.code !== 0) throw failure(command, done);
    return done.stdout;
  };
  const spawnSync = (file, args, options) => {
    if (!Array.isArray(args)) [args, options] = [[], args];
    try {
      const done = runSync(options?.shell ? [file, ...args].join(" ") : line(file, args), options);
      return { pid: 0, status: done.code, signal: done.signal ?? null, stdout: done.stdout, stderr: done.stderr, output: [null, done.stdout, done.stderr] };
    } catch (error) {
      return { pid: 0, status: null, signal: null, stdout: Buffer.alloc(0), stderr: Buffer.alloc(0), output: null, error };
    }
  };
  const spawn = (file, args, options) => {
    if (!Array.isArray(args)) [args, options] = [[], args];
    const EventEmitter = haft.builtin("events");
    const { Readable } = haft.builtin("stream");
    const child = new EventEmitter();
    const written = [];
    Object.assign(child, {
      pid: 0, exitCode: null, signalCode: null, killed: false, connected: false, stdout: new Readable(), stderr: new Readable(),
      stdin: { write: (data) => { written.push(Buffer.from(data)); return true; }, end: (data) => { if (data) written.push(Buffer.from(data)); begin(); }, on() { return this; }, once() { return this; } },
      kill: () => false, ref() {}, unref() {},
    });
    let begun = false;
    const begin = () => {
      if (begun) return;
      begun = true;
      const command = options?.shell ? [file, ...args].join(" ") : line(file, args);
      const input = written.length ? Buffer.concat(written) : undefined;
      request("run", plan(command, { ...options, input })).then((done) => {
        child.exitCode = done.code;
        for (const name of ["stdout", "stderr"]) {
          if (done[name]) child[name].push(Buffer.from(done[name], "base64"));
          child[name].push(null);
        }
        setTimeout(() => { child.emit("exit", done.code, done.signal ?? null); child.emit("close", done.code, done.signal ?? null); }, 0);
      }, (error) => child.emit("error", error));
    };
    // Whoever writes to it does so at once, or ends it later.
    setTimeout(() => { if (!written.length) begin(); else if (!begun) setTimeout(begin, 50); }, 0);
    return child;
  };
  const exec = (command, options, done) => {
    if (typeof options === "function") [options, done] = [undefined, options];
    const running = request("run", plan(command, options)).then((ended) => decode(ended, options, "utf8"));
    running.then((ended) => (ended.code === 0 ? done?.(null, ended.stdout, ended.stderr) : done?.(failure(command, ended), ended.stdout, ended.stderr)), (error) => done?.(error, "", ""));
    return { pid: 0, kill: () => false, on() { return this; } };
  };
  const execFile = (file, args, options, done) => {
    if (typeof args === "function") [args, options, done] = [[], undefined, args];
    else if (!Array.isArray(args)) [args, options, done] = [[], args, options];
    if (typeof options === "function") [options, done] = [undefined, options];
    return exec(line(file, args), options, done);
  };
  const custom = Symbol.for("nodejs.util.promisify.custom");
  const promised = (of) => async (...args) => {
    const [command, options] = of(...args);
    const ended = decode(await request("run", plan(command, options)), options, "utf8");
    if (ended.code !== 0) throw failure(command, ended);
    return { stdout: ended.stdout, stderr: ended.stderr };
  };
  exec[custom] = promised((command, options) => [command, options]);
  execFile[custom] = promised((file, args, options) => (Array.isArray(args) ? [line(file, args), options] : [line(file, []), args]));
  return {
    exec, execSync, execFile, spawn, spawnSync, quote, line, plan, decode,
    execFileSync: (file, args, options) => (Array.isArray(args) ? execSync(line(file, args), options) : execSync(line(file, []), args)),
    fork: () => { throw new Error("fork is not there for scripts of haft; run a command with spawn"); },
  };
});
