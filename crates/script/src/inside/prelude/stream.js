// stream: enough for what a command wrote to be read piece by piece.
export default (function (haft, global) {
  "use strict";
  const EventEmitter = haft.builtin("events");
  class Stream extends EventEmitter {}
  class Readable extends Stream {
    #pieces = []; #ended = false; #flows = false; #encoding = null;
    push(piece) {
      if (piece === null) this.#ended = true;
      else this.#pieces.push(this.#encoding && typeof piece !== "string" ? global.Buffer.from(piece).toString(this.#encoding) : piece);
      if (this.#flows) this.#pump();
      return true;
    }
    #pump() {
      while (this.#pieces.length) this.emit("data", this.#pieces.shift());
      if (this.#ended) queueMicrotask(() => { this.emit("end"); this.emit("close"); });
    }
    setEncoding(encoding) { this.#encoding = encoding; return this; }
    resume() { if (!this.#flows) { this.#flows = true; this.#pump(); } return this; }
    pause() { this.#flows = false; return this; }
    on(name, listener) { super.on(name, listener); if (name === "data") this.resume(); return this; }
    pipe(to) { this.on("data", (piece) => to.write(piece)); this.on("end", () => to.end?.()); return to; }
    read() { return this.#pieces.shift() ?? null; }
    destroy() { this.#pieces = []; this.#ended = true; return this; }
    async *[Symbol.asyncIterator]() {
      for (;;) {
        while (this.#pieces.length) yield this.#pieces.shift();
        if (this.#ended) return;
        await new Promise((done) => setTimeout(done, 1));
      }
    }
    static from(items) { const stream = new Readable(); (async () => { for await (const item of items) stream.push(item); stream.push(null); })(); return stream; }
  }
  class Writable extends Stream {
    constructor(options) { super(); if (options?.write) this._write = options.write; }
    write(piece, encoding, done) { this._write?.(piece, encoding, done ?? (() => {})); return true; }
    end(piece) { if (piece) this.write(piece); queueMicrotask(() => { this.emit("finish"); this.emit("close"); }); return this; }
  }
  class Transform extends Writable {}
  const finished = (stream) => new Promise((done, failed) => { stream.on("end", done); stream.on("finish", done); stream.on("error", failed); stream.resume?.(); });
  const pipeline = async (...streams) => { streams.reduce((from, to) => from.pipe(to)); await finished(streams.at(-1)); };
  return Object.assign(Stream, { Stream, Readable, Writable, Transform, Duplex: Transform, PassThrough: Transform, promises: { finished, pipeline } });
});
