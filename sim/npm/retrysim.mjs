#!/usr/bin/env node
// The command `retrysim` of the npm package. A thread of its own runs the program; this one looks
// after signals, and ends the process.
//
// SPDX-License-Identifier: MIT
import { readFile } from "node:fs/promises";
import { isatty } from "node:tty";
import { Worker } from "node:worker_threads";
import { argumentsFromWindows } from "./disk.mjs";
import { availableJobs } from "./node.mjs";
import { askToStop, makeSignal } from "./thread.mjs";

const INTERNAL_ERROR = 70, INTERRUPTED = 130;
const LONGEST_END_MS = 2000;

const windows = process.platform === "win32";
const signal = makeSignal();
const sizes = {};
for (const [fd, stream] of [[1, "stdout"], [2, "stderr"]]) {
  if (isatty(fd)) sizes[fd] = process[stream].getWindowSize();
}
const env = { ...process.env };
// Terminals of Windows show colours, and do not say so.
if (windows) env.TERM ??= "xterm-256color";

const thread = new Worker(new URL("./thread.mjs", import.meta.url), {
  workerData: {
    role: "owner", env, sizes, signal, jobs: availableJobs(),
    args: windows ? argumentsFromWindows(process.argv.slice(2)) : process.argv.slice(2),
  },
});

function end(status, message) {
  if (message) process.stderr.write(`retrysim: error: ${message}\n`);
  process.exit(status);
}

// What is done is in the store at any time, so a program that does not end by itself is ended.
let asked = 0;
for (const name of ["SIGINT", "SIGTERM", "SIGHUP"]) {
  // An orderly end of the process waits for its threads, one of which may wait for a pipe.
  const die = () => {
    process.removeAllListeners(name);
    process.kill(process.pid, name);
  };
  process.on(name, () => {
    if (++asked > 1) die();
    askToStop(signal);
    setTimeout(die, LONGEST_END_MS);
  });
}

thread.on("message", ({ fd, bytes, status, broken }) => {
  if (fd !== undefined) process[fd === 1 ? "stdout" : "stderr"].write(bytes);
  else if (broken === undefined) end(status);
  else if (asked > 0) end(INTERRUPTED);
  else end(INTERNAL_ERROR, `the program has broken down: ${broken}`);
});
thread.on("error", (error) => end(INTERNAL_ERROR, error.stack));

const bytes = await readFile(new URL("./retrysim.wasm", import.meta.url));
thread.postMessage({ module: await WebAssembly.compile(bytes) });
