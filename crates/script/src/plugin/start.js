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
  const named = (values) => [...new Set(values.filter((value) => typeof value === "string"))];
  const helps = named(hooks.map((own) => own.auth?.provider));
  const offers = named(hooks.map((own) => (typeof own.provider?.models === "function" ? own.provider.id : undefined)));
  return { id: module.default?.id ?? null, points: [...points], tools: Object.keys(tools), auth: helps, providers: offers };
}

// Signing in to a vendor, and what requests to it need then.
const authOf = (provider) => hooks.map((own) => own.auth).find((auth) => auth?.provider === provider);
const methodOf = (provider, index) => authOf(provider).methods[index];
let pending;
export const auth = {
  methods: (provider) => (authOf(provider).methods ?? []).map(({ type, label, prompts, authorize }) => ({
    type, label: String(label), authorizes: typeof authorize === "function",
    prompts: (prompts ?? []).map(({ type, key, message, placeholder, options, when }) => ({ type, key, message, placeholder, options, when })),
  })),
  async authorize(provider, index, inputs) {
    const method = methodOf(provider, index);
    for (const { key, validate } of method.prompts ?? []) {
      const wrong = key in inputs && validate?.(inputs[key]);
      if (typeof wrong === "string") throw new Error(`${key}: ${wrong}`);
    }
    const begun = await method.authorize(inputs);
    if (method.type !== "oauth") return begun;
    pending = begun;
    return { url: begun.url, instructions: begun.instructions, method: begun.method };
  },
  callback: (code) => pending.callback(code),
  async load(provider, stored, info) {
    const options = (await authOf(provider).loader?.(async () => stored, info)) ?? {};
    return { options: { apiKey: options.apiKey, baseURL: options.baseURL, headers: options.headers }, fetches: typeof options.fetch === "function" };
  },
};
export const models = (provider, info, stored) =>
  hooks.map((own) => own.provider).find((own) => own?.id === provider).models(info, { auth: stored ?? undefined });

// `config` is told the settings themselves, and changes them.
export async function fire(point, input, output) {
  for (const own of hooks) {
    if (typeof own[point] !== "function") continue;
    await (point === "config" ? own[point](output) : own[point](input, output));
  }
  return output;
}
