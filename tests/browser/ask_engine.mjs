// Answers requests with the engine as WebAssembly, started as the page starts it: one JSON text a
// line in, one a line out. Usage: node ask_engine.mjs ENGINE.wasm ENGINE.js
//
// SPDX-License-Identifier: MIT
import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";

const [wasm, script] = process.argv.slice(2);
const startEngine = new Function(`${readFileSync(script, "utf8")}\nreturn startEngine;`)();
const ask = await startEngine(readFileSync(wasm));
for await (const line of createInterface({ input: process.stdin })) {
  process.stdout.write(`${JSON.stringify(ask(JSON.parse(line)))}\n`);
}
