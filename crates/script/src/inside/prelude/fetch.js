// fetch: haft asks for leave, looks where the name leads, and goes there.
export default (function (haft, global) {
  "use strict";
  const { request } = haft;
  const Buffer = global.Buffer;
  const lower = (name) => String(name).toLowerCase();
  class Headers {
    #list = new Map();
    constructor(given) {
      if (given instanceof Headers || given instanceof Map || Array.isArray(given)) for (const [name, value] of given) this.append(name, value);
      else if (given) for (const name of Object.keys(given)) this.append(name, given[name]);
    }
    append(name, value) { const key = lower(name); this.#list.set(key, this.#list.has(key) ? `${this.#list.get(key)}, ${value}` : String(value)); }
    set(name, value) { this.#list.set(lower(name), String(value)); }
    get(name) { return this.#list.get(lower(name)) ?? null; }
    has(name) { return this.#list.has(lower(name)); }
    delete(name) { this.#list.delete(lower(name)); }
    forEach(run, self) { for (const [name, value] of this) run.call(self, value, name, this); }
    getSetCookie() { return this.has("set-cookie") ? [this.get("set-cookie")] : []; }
    *entries() { yield* [...this.#list.entries()].sort(([a], [b]) => (a < b ? -1 : 1)); }
    *keys() { for (const [name] of this.entries()) yield name; }
    *values() { for (const [, value] of this.entries()) yield value; }
    [Symbol.iterator]() { return this.entries(); }
    toJSON() { return Object.fromEntries(this.entries()); }
  }
  class FormData {
    #list = [];
    append(name, value) { this.#list.push([String(name), value]); }
    set(name, value) { this.delete(name); this.append(name, value); }
    get(name) { return this.#list.find(([known]) => known === name)?.[1] ?? null; }
    getAll(name) { return this.#list.filter(([known]) => known === name).map(([, value]) => value); }
    has(name) { return this.#list.some(([known]) => known === name); }
    delete(name) { this.#list = this.#list.filter(([known]) => known !== name); }
    entries() { return this.#list[Symbol.iterator](); }
    [Symbol.iterator]() { return this.entries(); }
  }
  const packed = async (body) => {
    if (body === undefined || body === null) return [null];
    if (typeof body === "string") return [Buffer.from(body), "text/plain;charset=UTF-8"];
    if (body instanceof URLSearchParams) return [Buffer.from(body.toString()), "application/x-www-form-urlencoded;charset=UTF-8"];
    if (body instanceof FormData) {
      const edge = `----haft${crypto.randomUUID().replaceAll("-", "")}`;
      const parts = [];
      for (const [name, value] of body) {
        const isFile = typeof value?.arrayBuffer === "function";
        const head = `--${edge}\r\nContent-Disposition: form-data; name="${name.replaceAll('"', "%22")}"${isFile ? `; filename="${value.name ?? "blob"}"\r\nContent-Type: ${value.type || "application/octet-stream"}` : ""}\r\n\r\n`;
        parts.push(Buffer.from(head), isFile ? Buffer.from(await value.arrayBuffer()) : Buffer.from(String(value)), Buffer.from("\r\n"));
      }
      return [Buffer.concat([...parts, Buffer.from(`--${edge}--\r\n`)]), `multipart/form-data; boundary=${edge}`];
    }
    if (ArrayBuffer.isView(body)) return [Buffer.from(body.buffer, body.byteOffset, body.byteLength)];
    if (body instanceof ArrayBuffer) return [Buffer.from(body)];
    if (typeof body.arrayBuffer === "function") return [Buffer.from(await body.arrayBuffer()), body.type || undefined];
    return [Buffer.from(String(body)), "text/plain;charset=UTF-8"];
  };
  class Body {
    #bytes; bodyUsed = false;
    hold(bytes) { this.#bytes = bytes; }
    async #take() {
      if (this.bodyUsed) throw new TypeError("the body was read already");
      this.bodyUsed = true;
      return Buffer.from((await this.#bytes) ?? []);
    }
    peek() { return this.#bytes; }
    async text() { return (await this.#take()).toString(); }
    async json() { return JSON.parse(await this.text()); }
    async arrayBuffer() { return new Uint8Array(await this.#take()).buffer; }
    async bytes() { return new Uint8Array(await this.#take()); }
    async blob() { return new Blob([await this.#take()], { type: this.headers.get("content-type") ?? "" }); }
    async formData() { const form = new FormData(); for (const [name, value] of new URLSearchParams(await this.text())) form.append(name, value); return form; }
    get body() {
      const take = () => this.#take();
      let done = false;
      return {
        getReader: () => ({ read: async () => (done ? { done: true } : ((done = true), { done: false, value: await take() })), releaseLock() {}, cancel() {} }),
        async *[Symbol.asyncIterator]() { yield await take(); },
      };
    }
  }
  class Request extends Body {
    constructor(input, options = {}) {
      super();
      const from = input instanceof Request ? input : {};
      this.url = input instanceof Request ? input.url : new URL(String(input)).href;
      this.method = (options.method ?? from.method ?? "GET").toUpperCase();
      this.headers = new Headers(options.headers ?? from.headers);
      this.signal = options.signal ?? from.signal;
      this.redirect = options.redirect ?? from.redirect ?? "follow";
      const body = options.body ?? from.peek?.();
      this.hold(packed(body).then(([bytes, type]) => { if (type && !this.headers.has("content-type")) this.headers.set("content-type", type); return bytes; }));
    }
    clone() { return new Request(this); }
  }
  class Response extends Body {
    constructor(body, { status = 200, statusText = "", headers, url = "", redirected = false } = {}) {
      super();
      Object.assign(this, { status, statusText, url, redirected, type: "basic", ok: status >= 200 && status < 300, headers: new Headers(headers) });
      this.hold(packed(body).then(([bytes]) => bytes));
    }
    clone() { return new Response(this.peek(), this); }
    static json(value, options) { return new Response(JSON.stringify(value), { ...options, headers: { "content-type": "application/json", ...options?.headers } }); }
    static error() { return new Response(null, { status: 0 }); }
  }
  const fetch = async (input, options) => {
    const wanted = new Request(input, options);
    const bytes = await wanted.peek();
    wanted.signal?.throwIfAborted?.();
    if (wanted.url.startsWith("data:")) {
      const [, type, packed, data] = /^data:([^,]*?)(;base64)?,(.*)$/s.exec(wanted.url) ?? [];
      if (data === undefined) throw new TypeError("fetch failed: a data address without a comma");
      const plain = decodeURIComponent(data);
      return new Response(packed ? Buffer.from(plain, "base64") : plain, { headers: { "content-type": type || "text/plain;charset=US-ASCII" }, url: wanted.url });
    }
    const answering = request("fetch", {
      url: wanted.url, method: wanted.method, headers: [...wanted.headers], body: bytes ? bytes.toString("base64") : null, redirect: wanted.redirect,
    });
    const stopped = wanted.signal && new Promise((_, reject) => wanted.signal.addEventListener("abort", () => reject(wanted.signal.reason ?? new Error("aborted"))));
    const { status, headers, body, url, redirected } = await (stopped ? Promise.race([answering, stopped]) : answering);
    return new Response(Buffer.from(body, "base64"), { status, headers, url, redirected });
  };
  return { fetch, Headers, Request, Response, FormData, default: fetch };
});
