// Small programs with what each comes to, in haft and in Node: [name, what it gives, the program].
import assert from "node:assert";
import { Buffer } from "node:buffer";
import child_process from "node:child_process";
import crypto from "node:crypto";
import { EventEmitter, once } from "node:events";
import fs from "node:fs";
import fsp from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import process from "node:process";
import { setTimeout as later } from "node:timers/promises";
import url from "node:url";
import util from "node:util";

const thrown = (work) => { try { work(); return "nothing"; } catch (error) { return error.code ?? error.name; } };
const refused = async (work) => { try { await work; return "nothing"; } catch (error) { return error.code ?? error.name; } };

export const rows = [
  ["path.join", "a/c", () => path.join("a", "b", "..", "c")],
  ["path.resolve", "/x/y", () => path.resolve("/x", "./y")],
  ["path.relative", "../c/d", () => path.relative("/a/b", "/a/c/d")],
  ["path.dirname, basename, extname", ["/a/b", "c", ".ts"], () => [path.dirname("/a/b/c.ts"), path.basename("/a/b/c.ts", ".ts"), path.extname("c.d.ts")]],
  ["path.parse", { root: "/", dir: "/a", base: "b.txt", ext: ".txt", name: "b" }, () => path.parse("/a/b.txt")],
  ["path.format", "/a/b.txt", () => path.format({ dir: "/a", base: "b.txt" })],
  ["path.normalize", "/a/c", () => path.normalize("/a//b/../c")],
  ["path.isAbsolute", [true, false], () => [path.isAbsolute("/a"), path.isAbsolute("a")]],
  ["path.posix, sep, delimiter", ["a/b", "/", ":"], () => [path.posix.join("a", "b"), path.sep, path.delimiter]],

  ["url.fileURLToPath", "/a b/c", () => url.fileURLToPath("file:///a%20b/c")],
  ["url.pathToFileURL", "file:///a%20b/c", () => url.pathToFileURL("/a b/c").href],
  ["URL", ["h:8", "/p", "?q=1", "#f", "https://h:8"], () => { const u = new URL("p?q=1#f", "https://h:8/x"); return [u.host, u.pathname, u.search, u.hash, u.origin]; }],
  ["URL.canParse", [true, false], () => [URL.canParse("https://a"), URL.canParse("no")]],
  ["URLSearchParams", ["1", ["1", "2"], "a=1&a=2&b=x+y"], () => { const p = new URLSearchParams("a=1&a=2&b=x y"); return [p.get("a"), p.getAll("a"), p.toString()]; }],
  ["new URL that is none", "ERR_INVALID_URL", () => thrown(() => new URL("no"))],

  ["Buffer.from hex, base64", ["6162", "YWI=", "YWI"], () => [Buffer.from("ab").toString("hex"), Buffer.from("ab").toString("base64"), Buffer.from("ab").toString("base64url")]],
  ["Buffer back", ["ab", "ab", "é"], () => [Buffer.from("6162", "hex").toString(), Buffer.from("YWI=", "base64").toString(), Buffer.from([195, 169]).toString("utf8")]],
  ["Buffer.concat, equals", ["abc", true], () => { const b = Buffer.concat([Buffer.from("ab"), Buffer.from("c")]); return [b.toString(), b.equals(Buffer.from("abc"))]; }],
  ["Buffer.alloc, byteLength", [[7, 7], 2], () => [[...Buffer.alloc(2, 7)], Buffer.byteLength("é")]],
  ["Buffer numbers", [1, 258, 513], () => { const b = Buffer.from([1, 2]); return [b.readUInt8(0), b.readUInt16BE(0), b.readUInt16LE(0)]; }],
  ["Buffer.slice, indexOf", ["b", true], () => { const b = Buffer.from("abc"); return [b.subarray(1, 2).toString(), b.includes ? true : false]; }],
  ["atob, btoa", ["ab", "YWI="], () => [atob("YWI="), btoa("ab")]],
  ["TextEncoder, TextDecoder", [[195, 169], "é"], () => [[...new TextEncoder().encode("é")], new TextDecoder().decode(new Uint8Array([195, 169]))]],

  ["crypto.createHash", "900150983cd24fb0d6963f7d28e17f72", () => crypto.createHash("md5").update("abc").digest("hex")],
  ["crypto sha256 base64", "ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa0=", () => crypto.createHash("sha256").update("abc").digest("base64")],
  ["crypto.createHmac", "9c196e32dc0175f86f4b1cb89289d6619de6bee699e4c378e68309ed97a1a6ab", () => crypto.createHmac("sha256", "key").update("abc").digest("hex")],
  ["crypto.randomBytes, randomUUID", [8, 36], () => [crypto.randomBytes(8).length, crypto.randomUUID().length]],

  ["setTimeout in order", ["a", "b", "c"], () => new Promise((done) => { const got = []; setTimeout(() => got.push("c") && done(got), 4); setTimeout(() => got.push("b"), 1); queueMicrotask(() => got.push("a")); })],
  ["clearTimeout", "kept", () => new Promise((done) => { const id = setTimeout(() => done("not cleared"), 1); clearTimeout(id); setTimeout(() => done("kept"), 3); })],
  ["setInterval", 3, () => new Promise((done) => { let n = 0; const id = setInterval(() => { if (++n === 3) { clearInterval(id); done(n); } }, 1); })],
  ["setImmediate", "soon", () => new Promise((done) => setImmediate(done, "soon"))],
  ["timers/promises", "late", () => later(1, "late")],
  ["AbortController", [true, "AbortError"], () => { const c = new AbortController(); c.abort(); return [c.signal.aborted, c.signal.reason.name]; }],
  ["structuredClone", { a: [1, { b: 2 }] }, () => structuredClone({ a: [1, { b: 2 }] })],

  ["process.platform, cwd", ["string", true], () => [typeof process.platform, path.isAbsolute(process.cwd())]],
  ["process.env", ["undefined", "object"], () => [typeof process.env.NOT_THERE_AT_ALL, typeof process.env]],
  ["process.nextTick", ["tick"], () => new Promise((done) => process.nextTick((word) => done([word]), "tick"))],
  ["process.hrtime.bigint", "bigint", () => typeof process.hrtime.bigint()],
  ["process.versions", "string", () => typeof process.versions.node],

  ["EventEmitter", [[1, 2], [3], false], () => { const e = new EventEmitter(); const got = []; e.on("a", (...x) => got.push(x)); e.once("b", (x) => got.push([x])); e.emit("a", 1, 2); e.emit("b", 3); return [...got, e.emit("b", 4)]; }],
  ["events.once", [7], async () => { const e = new EventEmitter(); setTimeout(() => e.emit("x", 7), 1); return await once(e, "x"); }],
  ["EventEmitter.off", [0, ["b"]], () => { const e = new EventEmitter(); const f = () => {}; e.on("a", f); e.off("a", f); e.on("b", f); return [e.listenerCount("a"), e.eventNames()]; }],
  ["EventTarget", "x", () => { const t = new EventTarget(); let got; t.addEventListener("x", (e) => { got = e.type; }); t.dispatchEvent(new Event("x")); return got; }],

  ["util.format", "a 1 {\"b\":2} %", () => util.format("%s %d %j %%", "a", 1, { b: 2 })],
  ["util.inspect", "{ a: 1, b: [ 'x' ] }", () => util.inspect({ a: 1, b: ["x"] })],
  ["util.promisify", 3, () => util.promisify((a, b, done) => done(null, a + b))(1, 2)],
  ["util.isDeepStrictEqual", [true, false], () => [util.isDeepStrictEqual({ a: [1] }, { a: [1] }), util.isDeepStrictEqual([1], ["1"])]],
  ["util.types", [true, true, false], () => [util.types.isDate(new Date()), util.types.isRegExp(/x/), util.types.isPromise(1)]],

  ["os", ["string", "\n", "string"], () => [typeof os.platform(), os.EOL, typeof os.homedir()]],
  ["assert", ["ERR_ASSERTION", "nothing"], () => [thrown(() => assert.strictEqual(1, 2)), thrown(() => assert.deepStrictEqual({ a: 1 }, { a: 1 }))]],

  ["fs.writeFileSync, readFileSync", "one\ntwo\n", () => { fs.writeFileSync("w.txt", "one\n"); fs.appendFileSync("w.txt", "two\n"); return fs.readFileSync("w.txt", "utf8"); }],
  ["fs.readFileSync bytes", [111, 110, 101], () => [...fs.readFileSync("w.txt")].slice(0, 3)],
  ["fs.existsSync", [true, false], () => [fs.existsSync("w.txt"), fs.existsSync("none")]],
  ["fs.statSync", [true, false, 8], () => { const s = fs.statSync("w.txt"); return [s.isFile(), s.isDirectory(), s.size]; }],
  ["fs.mkdirSync, readdirSync", ["x.txt", "y"], () => { fs.mkdirSync("d/y", { recursive: true }); fs.writeFileSync("d/x.txt", ""); return fs.readdirSync("d").sort(); }],
  ["fs.readdirSync withFileTypes", [["x.txt", true], ["y", false]], () => fs.readdirSync("d", { withFileTypes: true }).map((e) => [e.name, e.isFile()]).sort()],
  ["fs.copyFileSync, renameSync", ["one\ntwo\n", false], () => { fs.copyFileSync("w.txt", "c.txt"); fs.renameSync("c.txt", "r.txt"); return [fs.readFileSync("r.txt", "utf8"), fs.existsSync("c.txt")]; }],
  ["fs.rmSync", false, () => { fs.rmSync("d", { recursive: true }); return fs.existsSync("d"); }],
  ["fs errors", ["ENOENT", "EEXIST", "EISDIR"], () => { fs.mkdirSync("e"); return [thrown(() => fs.readFileSync("none")), thrown(() => fs.mkdirSync("e")), thrown(() => fs.readFileSync("e"))]; }],
  ["fs.promises", ["p", "ENOENT"], async () => { await fsp.writeFile("p.txt", "p"); return [await fsp.readFile("p.txt", "utf8"), await refused(fsp.stat("none"))]; }],
  ["fs.readFile callback", "p", () => new Promise((done, fail) => fs.readFile("p.txt", "utf8", (error, text) => (error ? fail(error) : done(text))))],
  ["fs.promises.access", "ENOENT", () => refused(fsp.access("none"))],
  ["fs.unlinkSync, realpathSync", [true, false], () => { const real = fs.realpathSync("p.txt").endsWith("/p.txt"); fs.unlinkSync("p.txt"); return [real, fs.existsSync("p.txt")]; }],

  ["child_process.execSync", "hi\n", () => child_process.execSync("echo hi").toString()],
  ["child_process.execSync that fails", 3, () => { try { child_process.execSync("exit 3"); } catch (error) { return error.status; } }],
  ["child_process.spawnSync", [0, "a b\n", ""], () => { const done = child_process.spawnSync("echo", ["a b"]); return [done.status, done.stdout.toString(), done.stderr.toString()]; }],
  ["child_process.execFileSync input", "in", () => child_process.execFileSync("cat", [], { input: "in", encoding: "utf8" })],
  ["child_process.exec", ["out\n", "err\n"], () => new Promise((done) => child_process.exec("echo out; echo err >&2", (_, out, err) => done([out, err])))],
  ["promisified exec", "x\n", async () => (await util.promisify(child_process.exec)("echo x")).stdout],
  ["child_process.spawn", ["s\n", 0], () => new Promise((done) => { let text = ""; const child = child_process.spawn("sh", ["-c", "echo s"]); child.stdout.on("data", (piece) => { text += piece; }); child.on("close", (code) => done([text, code])); })],
  ["child_process env, cwd", ["v\n", "/\n"], () => [child_process.execSync("echo $V", { env: { ...process.env, V: "v" } }).toString(), child_process.execSync("pwd", { cwd: "/" }).toString()]],

  ["Response, Headers", ["b", 201, { x: 1 }], async () => { const r = new Response('{"x":1}', { status: 201, headers: { A: "b" } }); return [r.headers.get("a"), r.status, await r.json()]; }],
  ["fetch of data", "hi", async () => (await fetch("data:text/plain,hi")).text()],
];

// Bun's own, which Node has not.
export const bun = [
  ["Bun.$ text", "hi\n", () => Bun.$`echo hi`.text()],
  ["Bun.$ quotes what is put in", "a b; c\n", () => Bun.$`echo ${"a b; c"}`.text()],
  ["Bun.$ lists", "a b\n", () => Bun.$`echo ${["a", "b"]}`.text()],
  ["Bun.$ quiet, nothrow", [2, ""], async () => { const done = await Bun.$`exit 2`.quiet().nothrow(); return [done.exitCode, done.stdout.toString()]; }],
  ["Bun.$ throws", 4, async () => { try { await Bun.$`exit 4`.quiet(); } catch (error) { return error.exitCode; } }],
  ["Bun.$ json, lines", [{ a: 1 }, ["x", "y"]], async () => { const lines = []; for await (const line of Bun.$`printf 'x\ny\n'`.lines()) lines.push(line); return [await Bun.$`echo '{"a":1}'`.json(), lines]; }],
  ["Bun.$ cwd, env", ["/\n", "v\n"], async () => [await Bun.$`pwd`.cwd("/").text(), await Bun.$`echo $V`.env({ V: "v" }).text()]],
  ["Bun.write, Bun.file", ["w", 1, true, false], async () => { await Bun.write("b.txt", "w"); const f = Bun.file("b.txt"); return [await f.text(), f.size, await f.exists(), await Bun.file("none").exists()]; }],
  ["Bun.file json", { a: 1 }, async () => { await Bun.write("b.json", '{"a":1}'); return Bun.file("b.json").json(); }],
];

export async function run(table) {
  const got = {};
  for (const [name, , program] of table) {
    try { got[name] = (await program()) ?? null; } catch (error) { got[name] = `threw ${error?.code ?? error?.name}: ${error?.message}`; }
  }
  return got;
}
