// What `run` of the library does in Node.js and in browsers alike: hands a command to a thread and
// collects what comes back.
//
// SPDX-License-Identifier: MIT

const encoder = new TextEncoder();

/** How long a command may take to end in order. */
const LONGEST_END_MS = 2000;

function joined(parts) {
  const whole = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

/**
 * `start` starts the thread with the work that it is given, and returns what to do with it:
 * `onMessage`, `onError`, `stop`, `end`.
 */
export function collected(args, files, io, start) {
  const { stdin = "", env = {}, signal, columns } = io;
  signal?.throwIfAborted();
  const work = {
    args: [...args],
    files,
    stdin: typeof stdin === "string" ? encoder.encode(stdin) : stdin,
    // Files live as long as the call, so nothing is kept for the next one unless it is asked for.
    env: { RETRYSIM_NO_REUSE: "1", ...(columns ? { COLUMNS: String(columns) } : {}), ...env },
    cwd: "/",
  };
  return new Promise((resolve, reject) => {
    const thread = start(work), parts = { 1: [], 2: [] };
    let timer;
    const finish = (call, value) => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", abort);
      thread.end();
      call(value);
    };
    const abort = () => {
      thread.stop();
      timer = setTimeout(() => finish(reject, signal.reason), LONGEST_END_MS);
    };
    signal?.addEventListener("abort", abort, { once: true });
    thread.onError((error) => finish(reject, error));
    thread.onMessage((message) => {
      if (message.fd !== undefined) {
        parts[message.fd].push(message.bytes);
        io[message.fd === 1 ? "stdout" : "stderr"]?.(message.bytes);
      } else if (signal?.aborted) {
        finish(reject, signal.reason);
      } else if (message.broken !== undefined) {
        finish(reject, new Error(`the program has broken down: ${message.broken}`));
      } else {
        const decoder = new TextDecoder();
        finish(resolve, {
          status: message.status, files: message.files,
          stdout: decoder.decode(joined(parts[1])), stderr: decoder.decode(joined(parts[2])),
        });
      }
    });
  });
}
