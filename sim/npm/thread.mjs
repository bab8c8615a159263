// A thread of Node.js with the module in it: the owner, which runs a command, or one of the workers
// that it starts. Messages go through ports; a thread that waits for them sleeps, and is woken by a
// number that both sides see. That number, and the wish to stop, are all that is shared.
//
// SPDX-License-Identifier: MIT
import os from "node:os";
import {
  MessageChannel, parentPort, receiveMessageOnPort, Worker, workerData,
} from "node:worker_threads";
import { Disk } from "./disk.mjs";
import { Memory, MemoryStream } from "./memory.mjs";
import { Exit, System } from "./system.mjs";

const STOP = 0, WAKE = 1;

/** What threads wait for each other with. */
export function makeSignal() { return new Int32Array(new SharedArrayBuffer(8)); }
export function wake(signal) {
  Atomics.add(signal, WAKE, 1);
  Atomics.notify(signal, WAKE);
}
/** Asks the owner to stop. */
export function askToStop(signal) {
  Atomics.store(signal, STOP, 1);
  wake(signal);
}

/** The host of a thread: see `System`. `peers` are `{port, signal}`, the others. */
class Host {
  constructor({ signal, module, jobs, sizes = {}, peers = [] }) {
    Object.assign(this, { signal, module, jobs, sizes, peers, first: 0 });
  }
  stopAsked() { return Atomics.load(this.signal, STOP) !== 0; }
  processId() { return process.pid; }
  processors() { return this.jobs; }
  memory() {
    const MOST = 2 ** 32, limit = process.constrainedMemory?.() || Infinity;
    return Math.min(MOST, Math.min(os.freemem(), limit) / this.jobs);
  }
  columnsAndLines(fd) { return this.sizes[fd] ?? [0, 0]; }
  pause(milliseconds) { Atomics.wait(makeSignal(), WAKE, 0, milliseconds); }

  workers(wanted) {
    while (this.peers.length < wanted) {
      const { port1, port2 } = new MessageChannel(), signal = makeSignal();
      const thread = new Worker(new URL(import.meta.url), {
        workerData: { role: "worker", module: this.module, port: port2, signal,
          owner: this.signal, jobs: this.jobs },
        transferList: [port2],
      });
      this.peers.push({ port: port1, signal, thread });
    }
    return wanted;
  }
  dismiss() {
    for (const { thread } of this.peers.splice(0)) thread.terminate();
  }
  send(to, bytes) {
    const { port, signal } = this.peers[to];
    port.postMessage(bytes, [bytes.buffer]);
    wake(signal);
  }
  next(milliseconds) {
    for (let tries = 0; tries < 2; ++tries) {
      const seen = Atomics.load(this.signal, WAKE);
      for (let i = 0; i < this.peers.length; ++i) {
        const from = (this.first + i) % this.peers.length;
        const got = receiveMessageOnPort(this.peers[from].port);
        if (!got) continue;
        this.first = from + 1;  // everybody has a turn
        return { from, bytes: got.message };
      }
      if (tries === 0) Atomics.wait(this.signal, WAKE, seen, milliseconds);
    }
    return null;
  }
}

function start(module, system) {
  const { exports } = new WebAssembly.Instance(module, system.imports());
  system.begin(exports);
  return exports;
}

/** Hands what is written to the main thread: consoles of Windows need its streams. */
class Handed {
  constructor(fd, stream) { Object.assign(this, { fd, stream, type: "character", isTerminal: true }); }
  status() { return this.stream.status(); }
  read(bytes, at) { return this.stream.read(bytes, at); }
  write(bytes) {
    parentPort.postMessage({ fd: this.fd, bytes: bytes.slice() });
    return bytes.length;
  }
  truncate(size) { this.stream.truncate(size); }
  sync() {}
}

/** The standard streams of the process that are open. */
function realStreams(disk) {
  const streams = [];
  for (const fd of [0, 1, 2]) {
    try {
      const stream = disk.stream(fd);
      streams[fd] = stream.isTerminal && fd > 0 && disk.windows ? new Handed(fd, stream) : stream;
    } catch (error) {
      if (error.code !== "EBADF") throw error;
    }
  }
  return streams;
}

/** Runs a command and tells its status to the thread that has started this one. */
function command({ args, env, cwd, files, stdin, jobs, sizes, signal }, module) {
  const host = new Host({ signal, module, jobs, sizes });
  const given = files && new Memory(files);
  const disk = given ?? new Disk({ pause: (ms) => host.pause(ms) });
  const hand = (fd) => new MemoryStream(new Uint8Array(0),
    (bytes) => parentPort.postMessage({ fd, bytes }, [bytes.buffer]));
  const streams = given ? [new MemoryStream(stdin, () => {}), hand(1), hand(2)] : realStreams(disk);
  const system = new System({ files: disk, args: ["retrysim", ...args], env, cwd: cwd ?? disk.cwd,
    streams, host });
  const message = {};
  try {
    message.status = start(module, system).retrysim_program();
  } catch (error) {
    if (error instanceof Exit) message.status = error.status;
    else message.broken = error.message;
  }
  if (given) message.files = given.written();
  parentPort.postMessage(message);
}

/** Computes what the owner hands out. */
function work({ module, port, signal, owner, jobs }) {
  const host = new Host({ signal, module, jobs, peers: [{ port, signal: owner }] });
  const system = new System({ files: new Memory({}), args: ["retrysim"], env: {}, cwd: "/",
    streams: [], host });
  try {
    start(module, system).retrysim_serve();
  } catch {
    host.send(0, new Uint8Array(0));
  }
}

if (workerData?.role === "worker") work(workerData);
if (workerData?.role === "owner") {
  parentPort.once("message", ({ module }) => command(workerData, module));
}
