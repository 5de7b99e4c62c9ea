// What imports mean in Node: as in Bun, types included.
import { spawnSync } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

let NAMES, names, strip, within;
export function initialize(data) { ({ NAMES, names, strip, within } = data); }

// What may be imported is what was trusted: the cage would let more be read.
const check = (file, from) => {
  const real = fs.realpathSync(file);
  if (!within.some((folder) => real === folder || real.startsWith(folder.endsWith(path.sep) ? folder : folder + path.sep)))
    throw new Error(`${from} imports ${file}, which is none of the files that it may import: those that were trusted, and packages`);
};

const ENDINGS = [".ts", ".tsx", ".mts", ".js", ".mjs", ".cjs", ".jsx", ".json", ".cts"];
const isFile = (file) => { try { return fs.statSync(file).isFile(); } catch { return false; } };
const manifest = (folder) => { try { return JSON.parse(fs.readFileSync(path.join(folder, "package.json"), "utf8")); } catch { return null; } };
const file = (base) => {
  if (isFile(base)) return base;
  for (const end of ENDINGS) if (isFile(base + end)) return base + end;
  const ts = base.replace(/\.([mc]?)js(x?)$/, ".$1ts$2");
  if (ts !== base && isFile(ts)) return ts;
  const main = manifest(base);
  for (const entry of [main?.module, main?.main]) if (typeof entry === "string" && path.join(base, entry) !== base) {
    const found = file(path.join(base, entry));
    if (found) return found;
  }
  for (const end of ENDINGS) if (isFile(path.join(base, `index${end}`))) return path.join(base, `index${end}`);
  return null;
};
const find = (name, parent) => {
  const from = parent?.startsWith("file:") ? path.dirname(fileURLToPath(parent)) : process.cwd();
  if (name.startsWith("file:")) return file(fileURLToPath(name));
  if (name.startsWith(".") || name.startsWith("/")) return file(path.resolve(from, name));
  for (let folder = from; ; folder = path.dirname(folder)) {
    const found = file(path.join(folder, "node_modules", name));
    if (found) return found;
    if (folder === path.dirname(folder)) return null;
  }
};
export async function resolve(name, context, next) {
  if (Object.hasOwn(NAMES, name)) return { url: `haft:${NAMES[name]}`, shortCircuit: true };
  if (name.startsWith("bun:")) throw new Error(`${context.parentURL} imports ${name}, which only Bun has; install bun, and it is run in that`);
  try {
    const found = await next(name, context);
    if (found.url.startsWith("file:")) check(fileURLToPath(found.url), context.parentURL);
    return found;
  } catch (error) {
    const found = find(name, context.parentURL);
    if (found) {
      check(found, context.parentURL);
      return { url: pathToFileURL(found).href, shortCircuit: true };
    }
    if (name === "zod" || name.startsWith("zod/")) return { url: "haft:zod", shortCircuit: true };
    throw error;
  }
}
const isName = (text) => /^[A-Za-z_$][\w$]*$/.test(text) && text !== "default";
const isModule = (text) => /^\s*(import|export)[\s{*"']/m.test(text) || text.includes(";export{");
export async function load(url, context, next) {
  if (url.startsWith("haft:")) {
    const name = url.slice(5);
    const all = (names[name] ?? []).filter((key) => isName(key));
    const lines = all.map((key, at) => `const v${at} = m[${JSON.stringify(key)}]; export { v${at} as ${key} };`);
    return { format: "module", shortCircuit: true, source: `const m = globalThis[Symbol.for("haft.modules")][${JSON.stringify(name)}];\n${lines.join("\n")}\nexport default m.default ?? m;` };
  }
  if (!url.startsWith("file:")) return next(url, context);
  const at = fileURLToPath(url);
  const end = path.extname(at);
  const text = () => fs.readFileSync(at, "utf8");
  // What Bun and newer Nodes say of a module, on its first line so that all lines keep their numbers.
  const meta = () => {
    const [file, folder] = [at, path.dirname(at)].map((text) => JSON.stringify(text));
    return `import.meta.path ??= import.meta.filename ??= ${file}; import.meta.dir ??= import.meta.dirname ??= ${folder}; import.meta.require ??= globalThis[Symbol.for("haft.require")](import.meta.url); `;
  };
  const given = (source) => ({ format: "module", shortCircuit: true, source: source.includes("import.meta.") ? meta() + source : source });
  switch (end) {
    case ".ts": case ".tsx": case ".mts": case ".jsx": {
      const done = spawnSync(strip[0], strip.slice(1), { input: `${at}\n${text()}`, maxBuffer: 64 << 20 });
      if (done.status !== 0) throw new SyntaxError(String(done.stderr ?? done.error).trim() || `${at}: its types cannot be taken off`);
      return given(done.stdout.toString());
    }
    case ".json": return given(`export default ${text()};`);
    case ".js": {
      const found = await next(url, context);
      const source = text();
      return found.format === "module" || isModule(source) ? given(source) : found;
    }
    case ".mjs": return given(text());
    case ".cjs": case ".node": case ".wasm": case "": return next(url, context);
    default: return given(`export default ${JSON.stringify(text())};`);
  }
}
