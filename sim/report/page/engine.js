// The engine: WebAssembly and the little that it asks of a system.

/**
 * The engine of a module or its bytes, in this thread. The promise is of a function from a request
 * to its answer, both objects as sim/browser/engine.hpp has them. It has a clock and nothing else:
 * no files, no environment, no random numbers. After an exception the engine is broken.
 */
async function startEngine(code) {
  let memory;
  const DONE = 0, BAD_FILE = 8, NO_SUCH_FILE = 44, NOT_HERE = 52;
  const view = () => new DataView(memory.buffer);
  const nothing = (first, second) => {  // a list of no texts: their number and their size
    view().setUint32(first, 0, true);
    view().setUint32(second, 0, true);
    return DONE;
  };
  const system = {
    clock_time_get(clock, precision, out) {
      view().setBigUint64(out, BigInt(Math.round(performance.now() * 1e6)), true);
      return DONE;
    },
    environ_sizes_get: nothing,
    environ_get: () => DONE,
    args_sizes_get: nothing,
    args_get: () => DONE,
    sched_yield: () => DONE,
    proc_exit(status) { throw new Error(`the engine has ended with status ${status}`); },
  };
  const refusal = (name) => (name.startsWith("path_") ? NO_SUCH_FILE
    : name.startsWith("fd_") ? BAD_FILE : NOT_HERE);
  const module = code instanceof WebAssembly.Module ? code : await WebAssembly.compile(code);
  for (const { name } of WebAssembly.Module.imports(module)) {
    if (!system[name]) system[name] = () => refusal(name);
  }
  const { exports } = await WebAssembly.instantiate(module, { wasi_snapshot_preview1: system });
  memory = exports.memory;
  exports._initialize();
  return (request) => {
    const bytes = new TextEncoder().encode(JSON.stringify(request));
    const place = exports.retrysim_request(bytes.length);
    new Uint8Array(memory.buffer, place, bytes.length).set(bytes);
    const size = exports.retrysim_answer();
    const text = new Uint8Array(memory.buffer, exports.retrysim_answer_text(), size);
    return JSON.parse(new TextDecoder().decode(text));
  };
}

/** The module of an engine in a file, or packed as text: compressed, in letters. */
async function unpackEngine({ url, text }) {
  const unpacked = () => {
    const letters = atob(text), bytes = new Uint8Array(letters.length);
    for (let i = 0; i < bytes.length; ++i) bytes[i] = letters.charCodeAt(i);
    return new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  };
  const got = url && await fetch(url);
  if (got && !got.ok) throw new Error(`${url}: ${got.status}`);
  return WebAssembly.compileStreaming(new Response(got ? got.body : unpacked(),
    { headers: { "Content-Type": "application/wasm" } }));
}

/**
 * What a worker does: its first message is the engine, packed or a module, which it answers with the
 * module; each further one is {id, request}.
 */
function serveEngine() {
  let engine = null;
  onmessage = async ({ data }) => {
    try {
      if (engine) {
        postMessage({ id: data.id, answer: (await engine)(data.request) });
        return;
      }
      const module = data instanceof WebAssembly.Module ? Promise.resolve(data) : unpackEngine(data);
      engine = module.then(startEngine);
      postMessage({ module: await module });
    } catch (error) {
      postMessage({ id: data.id, broken: String(error) });
    }
  };
}

/** A worker with the engine. Workers need no file of their own. */
function newWorker(code) {
  const source = `"use strict";\n${startEngine}\n${unpackEngine}\n(${serveEngine})();\n`;
  const url = URL.createObjectURL(new Blob([source], { type: "text/javascript" }));
  const worker = new Worker(url);
  URL.revokeObjectURL(url);
  worker.postMessage(code);
  return worker;
}

/** An engine in a worker, which answers one request at a time. */
class EngineWorker {
  constructor(module, worker = newWorker(module)) {
    Object.assign(this, { module, worker, spare: null, last: 0, settle: null });
  }

  /** Has a worker ready for when this one is stopped. */
  prepare() {
    this.spare = this.spare || newWorker(this.module);
  }

  get isBusy() { return this.settle !== null; }

  /** A promise of the answer; of null if `stop` comes first, of a failure if the engine breaks. */
  ask(request) {
    const id = ++this.last;
    return new Promise((resolve) => {
      this.settle = resolve;
      const end = (answer) => {
        this.settle = null;
        resolve(answer);
      };
      this.worker.onmessage = ({ data }) => {
        if (data.id !== id) return;
        if (data.broken) this.restart();
        end(data.broken ? { failure: `The engine broke off: ${data.broken}` } : data.answer);
      };
      this.worker.onerror = () => {
        this.restart();
        end({ failure: "The engine could not be started." });
      };
      this.worker.postMessage({ id, request });
    });
  }

  /** Ends what runs, whatever it is. */
  stop() {
    if (!this.isBusy) return;
    const settle = this.settle;
    this.restart();
    settle(null);
  }

  restart() {
    this.worker.terminate();
    this.worker = this.spare || newWorker(this.module);
    this.spare = this.settle = null;
  }
}

/** The engine of the page: a promise of its module, and of the worker that unpacked it. */
function pageEngine() {
  const { textContent: text, dataset: { file } } = document.getElementById("engine");
  const worker = newWorker(file ? { url: new URL(file, location.href).href } : { text });
  return new Promise((resolve, reject) => {
    worker.onmessage = ({ data }) => (data.module ? resolve({ worker, module: data.module })
      : reject(data.broken));
    worker.onerror = ({ message }) => reject(message);
  });
}
