// The package as a library for browsers: `run`, as index.d.ts describes it. Each call has a web
// worker, and computes in it alone: without memory that pages may share only under special headers,
// a worker cannot wait for others.
//
// SPDX-License-Identifier: MIT
import { collected } from "./collect.mjs";

let compiled;
function compile() {
  const place = new URL("./retrysim.wasm", import.meta.url);
  return compiled ??= fetch(place).then((answer) => {
    if (!answer.ok) throw new Error(`${place}: ${answer.status}`);
    return answer.arrayBuffer();
  }).then((bytes) => WebAssembly.compile(bytes));
}

export async function run(args, files = {}, io = {}) {
  return collected(args, files, io, (work) => {
    const thread = new Worker(new URL("./browser_thread.mjs", import.meta.url), { type: "module" });
    let fail = () => {};
    compile().then((module) => thread.postMessage({ module, work }), (error) => fail(error));
    return {
      onMessage: (call) => { thread.onmessage = ({ data }) => call(data); },
      onError: (call) => {
        fail = call;
        thread.onerror = (event) => call(new Error(event.message));
      },
      stop: () => {},  // nothing reaches a worker that computes: it is ended
      end: () => thread.terminate(),
    };
  });
}
