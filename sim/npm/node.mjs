// The package as a library for Node.js: `run`, as index.d.ts describes it.
//
// SPDX-License-Identifier: MIT
import { readFile } from "node:fs/promises";
import os from "node:os";
import { Worker } from "node:worker_threads";
import { collected } from "./collect.mjs";
import { askToStop, makeSignal } from "./thread.mjs";

/** How many workers are best: one for each processor. */
export function availableJobs() { return os.availableParallelism?.() ?? os.cpus().length; }

let compiled;
function compile() {
  return compiled ??= readFile(new URL("./retrysim.wasm", import.meta.url))
    .then((bytes) => WebAssembly.compile(bytes));
}

export async function run(args, files = {}, io = {}) {
  const signal = makeSignal();
  return collected(args, files, io, (work) => {
    const thread = new Worker(new URL("./thread.mjs", import.meta.url), {
      workerData: { role: "owner", jobs: availableJobs(), signal, ...work },
    });
    compile().then((module) => thread.postMessage({ module }),
      (error) => thread.emit("error", error));
    return {
      onMessage: (call) => thread.on("message", call),
      onError: (call) => thread.on("error", call),
      stop: () => askToStop(signal),
      end: () => thread.terminate(),
    };
  });
}
