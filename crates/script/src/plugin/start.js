// Begins a plug-in, whatever form its module has, and passes on to it what happens.
import * as module from "PLUGIN";

const servers = () => {
  const whole = module.default;
  if (whole && typeof whole === "object" && typeof whole.server === "function") return [whole.server];
  // The older form: each function that is exported, once.
  return [...new Set(Object.values(module).filter((value) => typeof value === "function"))];
};

let hooks = [];
export const tools = {};

export async function start(input, options) {
  hooks = [];
  const begun = servers();
  if (!begun.length) throw new TypeError("it exports no plug-in: neither a default export with `server` nor a function");
  for (const server of begun) {
    const own = await server(input, options);
    if (own && typeof own === "object") hooks.push(own);
  }
  for (const own of hooks) Object.assign(tools, own.tool ?? {});
  const points = new Set(hooks.flatMap((own) => Object.keys(own).filter((name) => typeof own[name] === "function")));
  const auth = hooks.map((own) => own.auth?.provider).filter((provider) => typeof provider === "string");
  return { id: module.default?.id ?? null, points: [...points], tools: Object.keys(tools), auth };
}

// `config` is told the settings themselves, and changes them.
export async function fire(point, input, output) {
  for (const own of hooks) {
    if (typeof own[point] !== "function") continue;
    await (point === "config" ? own[point](output) : own[point](input, output));
  }
  return output;
}
