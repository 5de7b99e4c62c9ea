// Tools: what a model is told of one, and a call of one.
(function (haft, global) {
  "use strict";
  const { request, notify } = haft;
  const DRAFT = "https://json-schema.org/draft/2020-12/schema";
  const MAX_MESSAGES = 8;
  const isSchema = (value) => value !== null && typeof value === "object" && (typeof value.safeParse === "function" || typeof value.toJSONSchema === "function" || "_zod" in value);
  const isTool = (value) => value !== null && typeof value === "object" && typeof value.execute === "function" && ("args" in value || "parameters" in value || typeof value.description === "string");
  const argsOf = (tool) => tool.args ?? tool.parameters ?? {};
  const shapeOf = (args) => (isSchema(args) && args.shape ? args.shape : args);
  // Schemas of another make of zod than ours tell of themselves.
  const jsonOf = (schema) => {
    if (typeof schema.toJSONSchema === "function") return schema.toJSONSchema();
    throw new TypeError("its argument schemas cannot say what they are; import z from \"zod\" or take tool.schema");
  };
  const optional = (schema) => schema.isOptional ?? (typeof schema.isOptional === "function" ? schema.isOptional() : schema.safeParse(undefined).success);
  const parameters = (tool) => {
    const args = shapeOf(argsOf(tool));
    if (args === null || typeof args !== "object") throw new TypeError("args must be an object");
    const values = Object.values(args);
    if (values.every(isSchema)) {
      const properties = {}, required = [];
      for (const name of Object.keys(args)) {
        const { $schema, ...own } = jsonOf(args[name]);
        properties[name] = own;
        const free = typeof args[name].isOptional === "function" ? args[name].isOptional() : args[name].isOptional;
        if (!free) required.push(name);
      }
      return { $schema: DRAFT, type: "object", properties, ...(required.length ? { required } : {}) };
    }
    if (args.type === "object" && args.properties) return { $schema: DRAFT, ...args };
    return { $schema: DRAFT, type: "object", properties: args, required: Object.keys(args) };
  };
  const describe = (value) => {
    if (!isTool(value)) return null;
    return { description: typeof value.description === "string" ? value.description : "", parameters: parameters(value) };
  };
  // What the calls of one message share.
  const extras = new Map();
  const extraOf = (message, given) => {
    let extra = extras.get(message);
    if (!extra) {
      extras.set(message, extra = {});
      if (extras.size > MAX_MESSAGES) extras.delete(extras.keys().next().value);
    }
    return Object.assign(extra, given);
  };
  const run = async (tool, { input, context }, controller) => {
    if (!isTool(tool)) throw new TypeError("it is no tool any more");
    const args = shapeOf(argsOf(tool));
    let checked = input ?? {};
    if (args && Object.values(args).length && Object.values(args).every(isSchema)) {
      const taken = {}, issues = [];
      for (const name of Object.keys(args)) {
        const done = args[name].safeParse(checked[name]);
        if (done.success) { if (done.data !== undefined) taken[name] = done.data; continue; }
        for (const issue of done.error?.issues ?? [{ path: [], message: "is not valid" }])
          issues.push(`${[name, ...issue.path].join(".")}: ${checked[name] === undefined && !issue.path.length ? "is missing" : issue.message}`);
      }
      if (issues.length) return { invalid: issues };
      checked = taken;
    }
    const extra = extraOf(context.messageID, context.extra);
    const given = {
      ...context, extra, abort: controller.signal,
      ask: (wish) => request("ask", wish ?? {}),
      metadata: (shown) => { notify("metadata", shown ?? {}); },
    };
    const result = await tool.execute(checked, given);
    let kept = {};
    try { kept = JSON.parse(JSON.stringify(extra)); } catch { /* what is no JSON stays with this file */ }
    return { result: result === undefined ? null : result, extra: kept };
  };
  return { describe, run, isTool };
})
