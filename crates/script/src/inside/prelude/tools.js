// Tools: what a model is told of one, and a call of one.
export default (function (haft, global) {
  "use strict";
  const { request, notify } = haft;
  const DRAFT = "https://json-schema.org/draft/2020-12/schema";
  const MAX_MESSAGES = 8;
  const isSchema = (value) => value !== null && typeof value === "object" && (typeof value.safeParse === "function" || typeof value.toJSONSchema === "function" || "_zod" in value);
  const isTool = (value) => value !== null && typeof value === "object" && typeof value.execute === "function" && ("args" in value || "parameters" in value || typeof value.description === "string");
  const argsOf = (tool) => tool.args ?? tool.parameters ?? {};
  const shapeOf = (args) => (isSchema(args) && args.shape ? args.shape : args);
  // Schemas of another make of zod than ours, of its third form and its fourth, told by what they are made of.
  const MAX_DEPTH = 32;
  const plainKind = { string: "string", number: "number", int: "integer", boolean: "boolean", bigint: "integer", null: "null", date: "string" };
  const listed = (values) => ({ ...(values.length && values.every((value) => typeof value === typeof values[0]) && plainKind[typeof values[0]] ? { type: plainKind[typeof values[0]] } : {}), ...(values.length === 1 ? { const: values[0] } : { enum: values }) });
  const entriesOf = (entries) => (Array.isArray(entries) ? entries : Object.entries(entries ?? {}).filter(([key, value]) => typeof value === "number" || typeof entries[value] !== "number" || key !== String(entries[value])).map(([, value]) => value));
  const objectOf = (shape, depth) => {
    const properties = {}, required = [];
    for (const name of Object.keys(shape)) {
      properties[name] = foreign(shape[name], depth + 1);
      if (!(typeof shape[name].isOptional === "function" ? shape[name].isOptional() : shape[name]._zod?.optin === "optional")) required.push(name);
    }
    return { type: "object", properties, ...(required.length ? { required } : {}) };
  };
  const boundsOf = (type, checks) => {
    const found = {};
    for (const check of checks ?? []) {
      const { check: name, kind, value, minimum, maximum, length, inclusive, format } = check._zod?.def ?? check;
      const long = type === "array" ? "Items" : "Length";
      switch (name ?? kind) {
        case "min_length": found[`min${long}`] = minimum; break;
        case "max_length": found[`max${long}`] = maximum; break;
        case "length_equals": found[`min${long}`] = found[`max${long}`] = length; break;
        case "greater_than": found[inclusive ? "minimum" : "exclusiveMinimum"] = Number(value); break;
        case "less_than": found[inclusive ? "maximum" : "exclusiveMaximum"] = Number(value); break;
        case "number_format": if (/int/.test(format)) found.type = "integer"; break;
        case "int": found.type = "integer"; break;
        case "min": if (type === "string") found.minLength = value; else found[inclusive === false ? "exclusiveMinimum" : "minimum"] = Number(value); break;
        case "max": if (type === "string") found.maxLength = value; else found[inclusive === false ? "exclusiveMaximum" : "maximum"] = Number(value); break;
      }
    }
    return found;
  };
  const foreign = (schema, depth = 0) => {
    const def = schema?._zod?.def ?? schema?._def;
    if (!def || depth > MAX_DEPTH) return {};
    const type = def.typeName ? def.typeName.replace(/^Zod/, "").toLowerCase() : def.type;
    const inner = () => foreign(def.innerType ?? def.schema ?? (def.typeName ? def.type : undefined), depth + 1);
    const made = () => {
      switch (type) {
        case "string": case "number": case "int": case "boolean": case "bigint": case "null": case "date":
          return { type: plainKind[type], ...(def.check === "number_format" && /int/.test(def.format) ? { type: "integer" } : {}), ...boundsOf(type, def.checks) };
        case "enum": case "nativeenum": return listed(entriesOf(def.entries ?? def.values));
        case "literal": return listed(def.values ?? [def.value]);
        case "array": return { type: "array", items: foreign(def.element ?? def.type, depth + 1), ...boundsOf("array", def.checks) };
        case "tuple": return { type: "array", prefixItems: (def.items ?? []).map((item) => foreign(item, depth + 1)) };
        case "object": return objectOf(typeof def.shape === "function" ? def.shape() : def.shape ?? {}, depth);
        case "record": return { type: "object", additionalProperties: foreign(def.valueType, depth + 1) };
        case "union": case "discriminatedunion": case "discriminated_union":
          return { anyOf: [...(def.options instanceof Map ? def.options.values() : def.options ?? [])].map((option) => foreign(option, depth + 1)) };
        case "intersection": return { allOf: [foreign(def.left, depth + 1), foreign(def.right, depth + 1)] };
        case "nullable": return { anyOf: [inner(), { type: "null" }] };
        case "default": case "prefault": { const value = typeof def.defaultValue === "function" ? def.defaultValue() : def.defaultValue; return { ...inner(), ...(value === undefined ? {} : { default: value }) }; }
        case "pipe": case "pipeline": return foreign(def.in, depth + 1);
        case "lazy": return foreign(def.getter(), depth + 1);
        case "optional": case "nonoptional": case "readonly": case "catch": case "effects": case "branded": return inner();
        default: return {};
      }
    };
    const description = def.description ?? schema.description;
    return { ...made(), ...(typeof description === "string" ? { description } : {}) };
  };
  const jsonOf = (schema) => {
    const isOther = schema["~standard"]?.vendor !== "haft" && (schema._zod?.def ?? schema._def);
    if (isOther) return foreign(schema);
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
});
