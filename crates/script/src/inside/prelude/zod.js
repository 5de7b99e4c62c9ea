// Schemas in the shape that tools know from zod: what is described here gives a JSON Schema, and checks values.
export default (function () {
  "use strict";
  // What a check gives instead of a value.
  const BAD = Symbol("bad");
  class ZodError extends Error {
    constructor(issues) {
      super(issues.map(({ path, message }) => (path.length ? `${path.map(String).join(".")}: ${message}` : message)).join("; "));
      this.name = "ZodError";
      this.issues = this.errors = issues;
    }
    flatten() {
      const fieldErrors = {};
      for (const { path, message } of this.issues) if (path.length) (fieldErrors[path[0]] ??= []).push(message);
      return { formErrors: this.issues.filter(({ path }) => !path.length).map(({ message }) => message), fieldErrors };
    }
    format() { return this.flatten(); }
  }
  const kind = (value) => (value === null ? "null" : Array.isArray(value) ? "array" : value instanceof Date ? "date" : typeof value);
  const said = (message) => (typeof message === "string" ? message : message?.message ?? (typeof message?.error === "string" ? message.error : undefined));
  class Schema {
    // `check(value, path, issues)` gives the value, or BAD after it noted why.
    constructor(check, json, more = {}) {
      this.check = check;
      this.json = json;
      this.rules = [];
      this.isOptional = false;
      this.meta_ = {};
      Object.assign(this, more);
      this._zod = this.def = { type: this.type };
      this["~standard"] = { version: 1, vendor: "haft", validate: (value) => { const done = this.safeParse(value); return done.success ? { value: done.data } : { issues: done.error.issues }; } };
    }
    copy(more) {
      const copy = Object.create(Object.getPrototypeOf(this));
      return Object.assign(copy, this, { rules: [...this.rules], meta_: { ...this.meta_ } }, more);
    }
    rule(test, message, json) {
      const copy = this.copy();
      copy.rules.push({ test, message });
      if (json) copy.extra = { ...this.extra, ...json };
      return copy;
    }
    take(value, path, issues) {
      let taken = this.check(value, path, issues);
      if (taken === BAD) return BAD;
      for (const { test, message, change, refine } of this.rules) {
        if (change) { taken = change(taken, { addIssue: (issue) => issues.push({ path, code: "custom", ...issue }), path, issues }); continue; }
        if (refine) { refine(taken, { addIssue: (issue) => issues.push({ code: "custom", ...issue, path: [...path, ...(issue.path ?? [])] }), path }); continue; }
        if (!test(taken)) issues.push({ path, code: "custom", message: typeof message === "function" ? message(taken) : message });
      }
      return taken;
    }
    toJSONSchema() {
      const own = this.json();
      return { ...own, ...this.extra, ...this.meta_ };
    }
    safeParse(value) {
      const issues = [];
      const data = this.take(value, [], issues);
      return issues.length || data === BAD ? { success: false, error: new ZodError(issues) } : { success: true, data };
    }
    parse(value) {
      const done = this.safeParse(value);
      if (!done.success) throw done.error;
      return done.data;
    }
    async parseAsync(value) { return this.parse(value); }
    async safeParseAsync(value) { return this.safeParse(value); }
    describe(description) { const copy = this.copy(); copy.meta_.description = description; return copy; }
    meta(more) { if (more === undefined) return this.meta_; const copy = this.copy(); Object.assign(copy.meta_, more); return copy; }
    get description() { return this.meta_.description; }
    optional() { return new Schema((value, path, issues) => (value === undefined ? undefined : this.take(value, path, issues)), () => this.toJSONSchema(), { isOptional: true, inner: this, type: "optional" }); }
    nullable() { return new Schema((value, path, issues) => (value === null ? null : this.take(value, path, issues)), () => { const json = this.toJSONSchema(); return typeof json.type === "string" && !json.enum && !("const" in json) ? { ...json, type: [json.type, "null"] } : { anyOf: [json, { type: "null" }] }; }, { inner: this, isOptional: this.isOptional, type: "nullable" }); }
    nullish() { return this.nullable().optional(); }
    default(value) { return new Schema((given, path, issues) => (given === undefined ? (typeof value === "function" ? value() : value) : this.take(given, path, issues)), () => ({ ...this.toJSONSchema(), ...(typeof value === "function" ? {} : { default: value }) }), { isOptional: true, inner: this, type: "default" }); }
    prefault(value) { return this.default(value); }
    catch(value) { return new Schema((given, path) => { const issues = []; const taken = this.take(given, path, issues); return issues.length || taken === BAD ? value : taken; }, () => this.toJSONSchema(), { isOptional: true, inner: this }); }
    refine(test, message) { return this.rule(test, said(message) ?? "Invalid input"); }
    superRefine(refine) { const copy = this.copy(); copy.rules.push({ refine }); return copy; }
    check_(refine) { return this.superRefine(refine); }
    transform(change) { const copy = this.copy(); copy.rules.push({ change }); return copy; }
    overwrite(change) { return this.transform(change); }
    pipe(next) { return new Schema((value, path, issues) => { const count = issues.length; const taken = this.take(value, path, issues); return taken === BAD || issues.length > count ? BAD : next.take(taken, path, issues); }, () => this.toJSONSchema(), { isOptional: this.isOptional }); }
    or(other) { return z.union([this, other]); }
    and(other) { return z.intersection(this, other); }
    array() { return z.array(this); }
    brand() { return this; }
    readonly() { return this; }
    unwrap() { return this.inner ?? this; }
    isNullable() { return this.safeParse(null).success; }
  }
  const bad = (issues, path, message, code = "invalid_type") => { issues.push({ path, code, message }); return BAD; };
  const typed = (type, test, json, Of = Schema) => (message) => new Of((value, path, issues) => (test(value) ? value : bad(issues, path, said(message) ?? `expected ${type}, got ${kind(value)}`)), () => ({ ...json }), { type });
  const FORMATS = {
    email: [/^[^\s@]+@[^\s@.]+(\.[^\s@.]+)+$/, "email"], uuid: [/^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i, "uuid"],
    datetime: [/^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d)$/, "date-time"], date: [/^\d{4}-\d\d-\d\d$/, "date"], time: [/^\d\d:\d\d(:\d\d(\.\d+)?)?$/, "time"],
    ipv4: [/^(\d{1,3}\.){3}\d{1,3}$/, "ipv4"], cuid: [/^c[^\s-]{8,}$/i], nanoid: [/^[\w-]{21}$/], ulid: [/^[0-9A-HJKMNP-TV-Z]{26}$/i], base64: [/^[A-Za-z0-9+/]*={0,2}$/], hex: [/^[0-9a-f]*$/i],
  };
  class Text extends Schema {
    min(length, message) { return this.rule((text) => text.length >= length, said(message) ?? `must have at least ${length} characters`, { minLength: length }); }
    max(length, message) { return this.rule((text) => text.length <= length, said(message) ?? `must have at most ${length} characters`, { maxLength: length }); }
    length(length, message) { return this.min(length, message).max(length, message); }
    nonempty(message) { return this.min(1, message); }
    regex(pattern, message) { return this.rule((text) => new RegExp(pattern.source, pattern.flags.replace("g", "")).test(text), said(message) ?? `must match ${pattern}`, { pattern: pattern.source }); }
    startsWith(start, message) { return this.rule((text) => text.startsWith(start), said(message) ?? `must start with ${JSON.stringify(start)}`); }
    endsWith(end, message) { return this.rule((text) => text.endsWith(end), said(message) ?? `must end with ${JSON.stringify(end)}`); }
    includes(part, message) { return this.rule((text) => text.includes(part), said(message) ?? `must include ${JSON.stringify(part)}`); }
    url(message) { return this.rule((text) => { try { new URL(text); return true; } catch { return false; } }, said(message) ?? "must be a URL", { format: "uri" }); }
    trim() { return this.transform((text) => text.trim()); }
    toLowerCase() { return this.transform((text) => text.toLowerCase()); }
    toUpperCase() { return this.transform((text) => text.toUpperCase()); }
  }
  for (const [name, [pattern, format]] of Object.entries(FORMATS))
    Text.prototype[name] = function (message) { return this.rule((text) => pattern.test(text), said(message) ?? `must be a valid ${name}`, format ? { format } : undefined); };
  class Numeric extends Schema {
    min(least, message) { return this.rule((value) => value >= least, said(message) ?? `must be at least ${least}`, { minimum: Number(least) }); }
    max(most, message) { return this.rule((value) => value <= most, said(message) ?? `must be at most ${most}`, { maximum: Number(most) }); }
    gt(than, message) { return this.rule((value) => value > than, said(message) ?? `must be greater than ${than}`, { exclusiveMinimum: Number(than) }); }
    lt(than, message) { return this.rule((value) => value < than, said(message) ?? `must be less than ${than}`, { exclusiveMaximum: Number(than) }); }
    gte(least, message) { return this.min(least, message); }
    lte(most, message) { return this.max(most, message); }
    int(message) { return this.rule(Number.isInteger, said(message) ?? "must be an integer", { type: "integer" }); }
    safe(message) { return this.rule(Number.isSafeInteger, said(message) ?? "must be a safe integer"); }
    finite() { return this; }
    positive(message) { return this.gt(0, message); }
    negative(message) { return this.lt(0, message); }
    nonnegative(message) { return this.min(0, message); }
    nonpositive(message) { return this.max(0, message); }
    multipleOf(step, message) { return this.rule((value) => Math.abs(value / step - Math.round(value / step)) < 1e-9, said(message) ?? `must be a multiple of ${step}`, { multipleOf: step }); }
    step(step, message) { return this.multipleOf(step, message); }
  }
  class List extends Schema {
    min(count, message) { return this.rule((list) => list.length >= count, said(message) ?? `must have at least ${count} items`, { minItems: count }); }
    max(count, message) { return this.rule((list) => list.length <= count, said(message) ?? `must have at most ${count} items`, { maxItems: count }); }
    length(count, message) { return this.min(count, message).max(count, message); }
    nonempty(message) { return this.min(1, message); }
  }
  const isObject = (value) => value !== null && typeof value === "object" && !Array.isArray(value);
  class Thing extends Schema {
    extend(more) { return object({ ...this.shape, ...(more instanceof Thing ? more.shape : more) }, this.unknown); }
    safeExtend(more) { return this.extend(more); }
    augment(more) { return this.extend(more); }
    merge(other) { return this.extend(other); }
    pick(names) { return object(Object.fromEntries(Object.entries(this.shape).filter(([name]) => names[name])), this.unknown); }
    omit(names) { return object(Object.fromEntries(Object.entries(this.shape).filter(([name]) => !names[name])), this.unknown); }
    partial(names) { return object(Object.fromEntries(Object.entries(this.shape).map(([name, one]) => [name, !names || names[name] ? one.optional() : one])), this.unknown); }
    required() { return object(Object.fromEntries(Object.entries(this.shape).map(([name, one]) => [name, one.isOptional && one.inner ? one.inner : one])), this.unknown); }
    keyof() { return z.enum(Object.keys(this.shape)); }
    strict() { return object(this.shape, "refuse"); }
    strip() { return object(this.shape, "drop"); }
    passthrough() { return object(this.shape, "keep"); }
    loose() { return this.passthrough(); }
    catchall(other) { return object(this.shape, other); }
  }
  const object = (shape = {}, unknown = "drop") => new Thing((value, path, issues) => {
    if (!isObject(value)) return bad(issues, path, `expected object, got ${kind(value)}`);
    const taken = {};
    for (const name of Object.keys(shape)) {
      const one = shape[name];
      if (value[name] === undefined && !one.isOptional && one.type !== "any") {
        const count = issues.length;
        one.take(undefined, [...path, name], issues);
        if (issues.length > count) { issues.length = count; issues.push({ path: [...path, name], code: "invalid_type", message: "is missing" }); }
        continue;
      }
      const found = one.take(value[name], [...path, name], issues);
      if (found !== BAD && found !== undefined) Object.defineProperty(taken, name, { value: found, writable: true, enumerable: true, configurable: true });
    }
    for (const name of Object.keys(value)) {
      if (Object.hasOwn(shape, name) || unknown === "drop") continue;
      if (unknown === "refuse") issues.push({ path: [...path, name], code: "unrecognized_keys", message: "is not known" });
      else {
        const found = unknown === "keep" ? value[name] : unknown.take(value[name], [...path, name], issues);
        if (found !== BAD) Object.defineProperty(taken, name, { value: found, writable: true, enumerable: true, configurable: true });
      }
    }
    return taken;
  }, () => {
    const properties = Object.fromEntries(Object.entries(shape).map(([name, one]) => [name, one.toJSONSchema()]));
    const required = Object.keys(shape).filter((name) => !shape[name].isOptional);
    return { type: "object", properties, ...(required.length ? { required } : {}), ...(unknown === "refuse" ? { additionalProperties: false } : unknown instanceof Schema ? { additionalProperties: unknown.toJSONSchema() } : {}) };
  }, { shape, unknown, type: "object" });
  const oneOf = (values, message) => new Schema((value, path, issues) => (values.includes(value) ? value : bad(issues, path, said(message) ?? `must be ${values.length === 1 ? "" : "one of "}${values.map((one) => JSON.stringify(one)).join(", ")}, got ${JSON.stringify(value)}`, "invalid_value")), () => {
    const types = [...new Set(values.map((one) => (one === null ? "null" : typeof one)))];
    const type = types.length === 1 ? { type: types[0] } : {};
    return values.length === 1 ? { ...type, const: values[0] } : { ...type, enum: values };
  }, { type: "enum", options: values, enum: Object.fromEntries(values.map((one) => [one, one])), extract: (names) => oneOf(names), exclude: (names) => oneOf(values.filter((one) => !names.includes(one))) });
  const anything = (type) => () => new Schema((value) => value, () => ({}), { type: "any", isOptional: type !== "required" });
  const isPlain = (value) => isObject(value);
  const z = {
    string: typed("string", (value) => typeof value === "string", { type: "string" }, Text),
    number: typed("number", (value) => typeof value === "number" && Number.isFinite(value), { type: "number" }, Numeric),
    boolean: typed("boolean", (value) => typeof value === "boolean", { type: "boolean" }),
    bigint: typed("bigint", (value) => typeof value === "bigint", { type: "integer" }, Numeric),
    date: typed("date", (value) => value instanceof Date && !isNaN(value), { type: "string", format: "date-time" }),
    null: typed("null", (value) => value === null, { type: "null" }),
    undefined: () => new Schema((value, path, issues) => (value === undefined ? value : bad(issues, path, "must not be there")), () => ({ not: {} }), { isOptional: true }),
    int: (message) => z.number(message).int(message), any: anything(), unknown: anything(), never: () => new Schema((_, path, issues) => bad(issues, path, "must not be there"), () => ({ not: {} })),
    void: () => z.undefined(), custom: (test) => (test ? anything("required")().refine(test) : z.any()), instanceof: (Of) => z.any().refine((value) => value instanceof Of),
    literal: (value) => oneOf(Array.isArray(value) ? value : [value]), enum: (values, message) => oneOf(Array.isArray(values) ? [...values] : Object.values(values).filter((one) => typeof values[one] !== "number"), message), nativeEnum: (values) => z.enum(values),
    array: (item) => new List((value, path, issues) => {
      if (!Array.isArray(value)) return bad(issues, path, `expected array, got ${kind(value)}`);
      return value.map((one, at) => item.take(one, [...path, at], issues));
    }, () => ({ type: "array", items: item.toJSONSchema() }), { element: item, type: "array" }),
    tuple: (items, rest) => new Schema((value, path, issues) => {
      if (!Array.isArray(value)) return bad(issues, path, `expected array, got ${kind(value)}`);
      if (value.length < items.length || (!rest && value.length > items.length)) return bad(issues, path, `must have ${items.length} items`);
      return value.map((one, at) => (items[at] ?? rest).take(one, [...path, at], issues));
    }, () => ({ type: "array", prefixItems: items.map((one) => one.toJSONSchema()), minItems: items.length, ...(rest ? { items: rest.toJSONSchema() } : { items: false }) })),
    set: (item) => new Schema((value, path, issues) => (value instanceof Set ? value : bad(issues, path, "expected a set")), () => ({ type: "array", uniqueItems: true, items: item.toJSONSchema() })),
    object: (shape) => object(shape), strictObject: (shape) => object(shape, "refuse"), looseObject: (shape) => object(shape, "keep"),
    record: (key, value) => {
      if (value === undefined) [key, value] = [z.string(), key];
      return new Schema((given, path, issues) => {
        if (!isPlain(given)) return bad(issues, path, `expected object, got ${kind(given)}`);
        const taken = {};
        for (const name of Object.keys(given)) {
          key.take(name, [...path, name], issues);
          const found = value.take(given[name], [...path, name], issues);
          if (found !== BAD) Object.defineProperty(taken, name, { value: found, writable: true, enumerable: true, configurable: true });
        }
        return taken;
      }, () => ({ type: "object", additionalProperties: value.toJSONSchema(), ...(key.options ? { propertyNames: key.toJSONSchema() } : {}) }));
    },
    union: (options) => new Schema((value, path, issues) => {
      const tried = [];
      for (const option of options) {
        const own = [];
        const taken = option.take(value, path, own);
        if (!own.length && taken !== BAD) return taken;
        tried.push(own);
      }
      // The one that came nearest says why.
      const deepest = tried.reduce((best, own) => (Math.max(...own.map(({ path }) => path.length)) > Math.max(...best.map(({ path }) => path.length)) ? own : best));
      if (deepest.some((issue) => issue.path.length > path.length)) { issues.push(...deepest); return BAD; }
      return bad(issues, path, tried.map((own) => own[0]?.message).join(", or "), "invalid_union");
    }, () => ({ anyOf: options.map((one) => one.toJSONSchema()) }), { options, isOptional: options.some((one) => one.isOptional) }),
    discriminatedUnion: (_, options) => z.union(options),
    intersection: (one, other) => new Schema((value, path, issues) => {
      const [a, b] = [one.take(value, path, issues), other.take(value, path, issues)];
      return a === BAD || b === BAD ? BAD : isObject(a) && isObject(b) ? { ...a, ...b } : b;
    }, () => ({ allOf: [one.toJSONSchema(), other.toJSONSchema()] })),
    // What names itself is described to its second level.
    lazy: (make) => { let depth = 0; return new Schema((value, path, issues) => make().take(value, path, issues), () => { if (depth >= 2) return {}; depth++; try { return make().toJSONSchema(); } finally { depth--; } }); },
    optional: (one) => one.optional(), nullable: (one) => one.nullable(), nullish: (one) => one.nullish(),
    preprocess: (change, next) => new Schema((value, path, issues) => next.take(change(value), path, issues), () => next.toJSONSchema(), { isOptional: next.isOptional }),
    json: () => z.any(), toJSONSchema: (schema) => ({ $schema: "https://json-schema.org/draft/2020-12/schema", ...schema.toJSONSchema() }),
    ZodError, ZodType: Schema, Schema, ZodString: Text, ZodNumber: Numeric, ZodObject: Thing, ZodArray: List, BAD,
    coerce: {
      string: () => new Text((value) => String(value), () => ({ type: "string" })),
      number: () => new Numeric((value, path, issues) => (Number.isFinite(Number(value)) && value !== null && value !== "" ? Number(value) : bad(issues, path, `expected number, got ${kind(value)}`)), () => ({ type: "number" })),
      boolean: () => new Schema((value) => Boolean(value), () => ({ type: "boolean" })),
      date: () => new Schema((value, path, issues) => { const date = new Date(value); return isNaN(date) ? bad(issues, path, "expected a date") : date; }, () => ({ type: "string", format: "date-time" })),
      bigint: () => new Numeric((value, path, issues) => { try { return BigInt(value); } catch { return bad(issues, path, "expected an integer"); } }, () => ({ type: "integer" })),
    },
  };
  for (const name of [...Object.keys(FORMATS), "url"]) z[name] ??= (message) => z.string()[name](message);
  z.iso = { datetime: (message) => z.string().datetime(message), date: (message) => z.string().date(message), time: (message) => z.string().time(message) };
  z.z = z;
  z.default = z;
  return z;
});
