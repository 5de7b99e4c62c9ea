// util: what people print and compare with.
export default (function (haft, global) {
  "use strict";
  const MAX_DEPTH = 4, MAX_ITEMS = 100, MAX_TEXT = 10000;
  const quoted = (text) => (text.includes("'") && !text.includes('"') ? JSON.stringify(text) : `'${text.replaceAll("\\", "\\\\").replaceAll("'", "\\'").replaceAll("\n", "\\n")}'`);
  const key = (name) => (typeof name === "symbol" ? `[${String(name)}]` : /^[A-Za-z_$][\w$]*$/.test(name) ? name : quoted(name));
  const inspect = (value, options) => {
    const seen = [];
    const deepest = options === null || typeof options !== "object" ? MAX_DEPTH : options.depth === null ? 32 : options.depth ?? 2;
    const show = (value, depth) => {
      switch (typeof value) {
        case "string": return quoted(value.length > MAX_TEXT ? `${value.slice(0, MAX_TEXT)}...` : value);
        case "bigint": return `${value}n`;
        case "symbol": return String(value);
        case "function": return `[${/^class\b/.test(Function.prototype.toString.call(value)) ? "class" : "Function"}${value.name ? `: ${value.name}` : " (anonymous)"}]`;
        case "object": break;
        default: return Object.is(value, -0) ? "-0" : String(value);
      }
      if (value === null) return "null";
      if (value instanceof Error) return value.stack ? `${value.name}: ${value.message}\n${value.stack}`.trimEnd() : `[${value.name}: ${value.message}]`;
      if (value instanceof RegExp) return String(value);
      if (value instanceof Date) return isNaN(value) ? "Invalid Date" : value.toISOString();
      if (seen.includes(value)) return "[Circular *1]";
      const name = Object.getPrototypeOf(value) === null ? "[Object: null prototype]" : value.constructor?.name;
      if (depth > deepest) return Array.isArray(value) ? "[Array]" : `[${name ?? "Object"}]`;
      seen.push(value);
      try {
        const custom = value[Symbol.for("nodejs.util.inspect.custom")];
        if (typeof custom === "function") return String(custom.call(value, deepest - depth, {}, inspect));
        const items = [];
        let open = "{", close = "}", prefix = name && name !== "Object" ? `${name} ` : "";
        const more = (count) => { if (count > MAX_ITEMS) items.push(`... ${count - MAX_ITEMS} more item${count === MAX_ITEMS + 1 ? "" : "s"}`); };
        let names = Reflect.ownKeys(value).filter((name) => Object.getOwnPropertyDescriptor(value, name).enumerable);
        if (Array.isArray(value)) {
          [open, close, prefix] = ["[", "]", ""];
          for (const item of value.slice(0, MAX_ITEMS)) items.push(show(item, depth + 1));
          more(value.length);
          names = names.filter((name) => typeof name === "symbol" || !/^\d+$/.test(name));
        } else if (value instanceof Uint8Array && name === "Buffer") {
          return `<Buffer${Array.from(value.slice(0, 50), (byte) => ` ${byte.toString(16).padStart(2, "0")}`).join("")}${value.length > 50 ? ` ... ${value.length - 50} more bytes` : ""}>`;
        } else if (ArrayBuffer.isView(value) && !(value instanceof DataView)) {
          [open, close, prefix] = ["[", "]", `${name}(${value.length}) `];
          for (const item of Array.from(value.slice(0, MAX_ITEMS))) items.push(show(item, depth + 1));
          more(value.length);
          names = [];
        } else if (value instanceof Map) {
          prefix = `Map(${value.size}) `;
          for (const [k, v] of [...value].slice(0, MAX_ITEMS)) items.push(`${show(k, depth + 1)} => ${show(v, depth + 1)}`);
          more(value.size);
        } else if (value instanceof Set) {
          prefix = `Set(${value.size}) `;
          for (const v of [...value].slice(0, MAX_ITEMS)) items.push(show(v, depth + 1));
          more(value.size);
        } else if (value instanceof Promise) items.push("<pending>");
        else if (value instanceof URL) return `URL { ${value.href} }`;
        for (const name of names.slice(0, MAX_ITEMS)) {
          const property = Object.getOwnPropertyDescriptor(value, name);
          items.push(`${key(name)}: ${property.get ? "[Getter]" : show(property.value, depth + 1)}`);
        }
        more(names.length);
        if (!items.length) return `${prefix}${open}${close}`;
        const line = items.join(", ");
        const pad = open === "[" || true ? " " : "";
        if (line.length <= 72 && !line.includes("\n")) return `${prefix}${open}${pad}${line}${pad}${close}`;
        const indent = "  ".repeat(depth + 1);
        return `${prefix}${open}\n${items.map((item) => indent + item).join(",\n")}\n${"  ".repeat(depth)}${close}`;
      } finally {
        seen.pop();
      }
    };
    return show(value, 0);
  };
  inspect.custom = Symbol.for("nodejs.util.inspect.custom");
  const format = (first, ...args) => {
    if (typeof first !== "string") return [first, ...args].map((one) => (typeof one === "string" ? one : inspect(one))).join(" ");
    let at = 0;
    const text = first.replace(/%[sdifjoOc%]/g, (mark) => {
      if (mark === "%%") return "%";
      if (at >= args.length) return mark;
      const value = args[at++];
      switch (mark) {
        case "%s": return typeof value === "string" ? value : typeof value === "object" && value !== null ? inspect(value, { depth: 0 }) : String(value);
        case "%d": return String(typeof value === "object" ? NaN : Number(value));
        case "%i": return String(parseInt(value, 10));
        case "%f": return String(parseFloat(value));
        case "%j": try { return JSON.stringify(value); } catch { return "[Circular]"; }
        case "%c": return "";
        default: return inspect(value);
      }
    });
    return [text, ...args.slice(at).map((one) => (typeof one === "string" ? one : inspect(one)))].join(" ");
  };
  const same = (a, b, seen = []) => {
    if (Object.is(a, b)) return true;
    if (typeof a !== "object" || typeof b !== "object" || a === null || b === null) return false;
    if (Object.getPrototypeOf(a) !== Object.getPrototypeOf(b)) return false;
    if (seen.some(([one, other]) => one === a && other === b)) return true;
    const both = [...seen, [a, b]];
    if (a instanceof Date) return a.getTime() === b.getTime();
    if (a instanceof RegExp) return String(a) === String(b);
    if (a instanceof Map) return a.size === b.size && [...a].every(([k, v]) => b.has(k) && same(v, b.get(k), both));
    if (a instanceof Set) return a.size === b.size && [...a].every((v) => b.has(v) || [...b].some((w) => same(v, w, both)));
    if (a instanceof Error && (a.message !== b.message || a.name !== b.name)) return false;
    const [own, other] = [Object.keys(a), Object.keys(b)];
    return own.length === other.length && own.every((name) => Object.hasOwn(b, name) && same(a[name], b[name], both));
  };
  const custom = Symbol.for("nodejs.util.promisify.custom");
  const promisify = (run) => {
    if (run[custom]) return run[custom];
    return function (...args) {
      return new Promise((resolve, reject) => run.call(this, ...args, (error, value) => (error ? reject(error) : resolve(value))));
    };
  };
  promisify.custom = custom;
  const tag = (name) => (value) => Object.prototype.toString.call(value) === `[object ${name}]`;
  return {
    inspect, format, promisify, isDeepStrictEqual: (a, b) => same(a, b),
    callbackify: (run) => (...args) => {
      const done = args.pop();
      run(...args).then((value) => queueMicrotask(() => done(null, value)), (error) => queueMicrotask(() => done(error)));
    },
    inherits: (child, parent) => { child.super_ = parent; Object.setPrototypeOf(child.prototype, parent.prototype); },
    deprecate: (run) => run, debuglog: () => () => {},
    stripVTControlCharacters: (text) => String(text).replace(/\u001b\[[0-9;?]*[ -/]*[@-~]/g, ""),
    toUSVString: (text) => String(text).toWellFormed?.() ?? String(text),
    TextEncoder: global.TextEncoder, TextDecoder: global.TextDecoder,
    isArray: Array.isArray,
    types: {
      isDate: tag("Date"), isRegExp: tag("RegExp"), isMap: tag("Map"), isSet: tag("Set"), isPromise: tag("Promise"),
      isNativeError: (value) => value instanceof Error, isTypedArray: (value) => ArrayBuffer.isView(value) && !(value instanceof DataView),
      isUint8Array: (value) => value instanceof Uint8Array, isArrayBuffer: tag("ArrayBuffer"), isAsyncFunction: tag("AsyncFunction"),
      isGeneratorFunction: tag("GeneratorFunction"), isProxy: () => false,
    },
  };
});
