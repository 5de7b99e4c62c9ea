// Code mode: a short program with tools as functions.
export default (function (haft) {
  "use strict";
  const { native, request } = haft;
  const inspect = (value) => (typeof value === "string" ? value : haft.builtin("util").inspect(value));
  const MAX_LOGS = 1000, MAX_LOG = 20000;
  const run = async (code, tools) => {
    const logs = [];
    const say = (...args) => { if (logs.length < MAX_LOGS) logs.push(args.map(inspect).join(" ").slice(0, MAX_LOG)); };
    const console = { log: say, info: say, debug: say, warn: say, error: say, table: say, dir: say };
    const known = new Set(tools);
    // `tools.server.tool` is the tool `server_tool`.
    const at = (name) => new Proxy(function () {}, {
      apply: (_, self, [input]) => {
        if (!known.has(name)) throw new TypeError(`there is no tool ${name}; there are: ${tools.join(", ")}`);
        return request("tool", { name, input: input ?? {} });
      },
      get: (_, key) => (typeof key === "symbol" || key === "then" ? undefined : at(name ? `${name}_${key}` : key)),
      has: (_, key) => known.has(name ? `${name}_${String(key)}` : key),
      ownKeys: () => [],
    });
    const value = await native.program("program.ts", code)(at(""), console);
    return { value: value === undefined ? null : value, nothing: value === undefined, logs };
  };
  return { run };
});
