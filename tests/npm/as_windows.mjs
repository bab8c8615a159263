// Runs a command of the package as it would run on Windows: with paths that have drives and
// backslashes. The files are those of a folder of this machine, in which C:\work is the folder C/work
// and \\server\share the folder UNC/server/share; a path that Windows would not take is an error.
// Usage: node as_windows.mjs PACKAGE FOLDER ARGUMENTS..., with the arguments of a Windows command
// line; the working directory is C:\work.
//
// SPDX-License-Identifier: MIT
import fs from "node:fs";
import { readFileSync } from "node:fs";
import path from "node:path";
import { pathToFileURL } from "node:url";

const [folder, root, ...given] = process.argv.slice(2);
const load = (name) => import(pathToFileURL(path.join(folder, name)));
const { Disk, argumentsFromWindows } = await load("disk.mjs");
const { Exit, System } = await load("system.mjs");

function here(name) {
  if (typeof name !== "string" || name.startsWith(root) || name.startsWith("/tmp/")) return name;
  const { win32 } = path, whole = win32.resolve("C:\\work", name);
  if (name.includes("/") || whole !== win32.normalize(name).replace(/(?<!:)\\$/, "")) {
    throw new Error(`no path of Windows: ${name}`);
  }
  const parts = whole.startsWith("\\\\") ? ["UNC", ...whole.slice(2).split("\\")]
    : [whole[0], ...whole.slice(3).split("\\")];
  return path.join(root, ...parts);
}

const mapped = { constants: fs.constants };
for (const [name, call] of Object.entries(fs)) {
  if (!name.endsWith("Sync")) continue;
  const paths = name === "renameSync" ? 2 : 1;
  mapped[name] = (...values) => call(...values.map((v, i) => (i < paths ? here(v) : v)));
}

const pause = (ms) => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
const disk = new Disk({ pause, fs: mapped, windows: true, cwd: "C:\\work" });
const host = {
  pause, stopAsked: () => false, processId: () => process.pid, processors: () => 1,
  memory: () => 2 ** 31, workers: () => -1, dismiss: () => {}, next: () => null,
  columnsAndLines: () => [0, 0],
};
const system = new System({ files: disk, args: ["retrysim", ...argumentsFromWindows(given)],
  env: { RETRYSIM_NO_REUSE: process.env.RETRYSIM_NO_REUSE ?? "1" }, cwd: disk.cwd, host,
  streams: [0, 1, 2].map((fd) => disk.stream(fd)) });
const module = new WebAssembly.Module(readFileSync(path.join(folder, "retrysim.wasm")));
const { exports } = new WebAssembly.Instance(module, system.imports());
system.begin(exports);
try {
  process.exitCode = exports.retrysim_program();
} catch (error) {
  if (!(error instanceof Exit)) throw error;
  process.exitCode = error.status;
}
