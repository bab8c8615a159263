// The web worker of `run` in browsers.
//
// SPDX-License-Identifier: MIT
import { Memory, MemoryStream } from "./memory.mjs";
import { Exit, System } from "./system.mjs";

/** There is no terminal, no other worker and nobody who could ask the program to stop. */
const host = {
  stopAsked: () => false,
  processId: () => 1,
  processors: () => 1,
  memory: () => 2 ** 31,
  workers: () => -1,
  dismiss: () => {},
  next: () => null,
  columnsAndLines: () => [0, 0],
  pause(milliseconds) {
    for (const end = performance.now() + milliseconds; performance.now() < end;);
  },
};

onmessage = async ({ data: { module, work: { args, files, stdin, env, cwd } } }) => {
  const memory = new Memory(files);
  const hand = (fd) => new MemoryStream(new Uint8Array(0),
    (bytes) => postMessage({ fd, bytes }, [bytes.buffer]));
  const message = {};
  try {
    const system = new System({ files: memory, args: ["retrysim", ...args], env, cwd, host,
      streams: [new MemoryStream(stdin, () => {}), hand(1), hand(2)] });
    const { exports } = await WebAssembly.instantiate(module, system.imports());
    system.begin(exports);
    message.status = exports.retrysim_program();
  } catch (error) {
    if (error instanceof Exit) message.status = error.status;
    else message.broken = error.message;
  }
  message.files = memory.written();
  postMessage(message);
};
