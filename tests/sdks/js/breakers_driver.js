// Plays calls through the circuit breakers of opossum and cockatiel, on a clock of its own, and says
// which calls were let through and what state the breaker was in.
//
// The first line of standard output has the versions. Then breakers are read, one a line,
//   {"library": "opossum", "options": {...}, "calls": [[1, 2, true], ...]}
// with the time in milliseconds at which a call is made, how long it takes, and whether it fails,
// and each is answered with a line: {"steps": [["go", "closed"], ["end", "open"], ...]}, in the
// order of time: a call that goes, is refused, or ends, and the state after that.
//
// SPDX-License-Identifier: MIT
"use strict";

const path = require("node:path");
const readline = require("node:readline");
const { readFileSync } = require("node:fs");

const realSetImmediate = globalThis.setImmediate;

// Time, in milliseconds. Timers of one moment expire in the order in which they were set.
const clock = { now: 0, timers: new Map(), next: 1 };
const set = (action, wait, every) => {
  clock.timers.set(clock.next, { action, at: clock.now + wait, every });
  return clock.next++;
};
globalThis.setTimeout = (action, wait) => set(action, wait, 0);
globalThis.setInterval = (action, wait) => set(action, wait, wait);
globalThis.clearTimeout = globalThis.clearInterval = (id) => clock.timers.delete(id);
Date.now = () => clock.now;

function advance(to) {
  for (;;) {
    let first = null;
    for (const [id, timer] of clock.timers) {
      if (timer.at <= to && (first === null || timer.at < first[1].at)) first = [id, timer];
    }
    if (first === null) break;
    const [id, timer] = first;
    clock.now = timer.at;
    if (timer.every > 0) timer.at += timer.every;
    else clock.timers.delete(id);
    timer.action();
  }
  clock.now = to;
}

const settled = () => new Promise((resolve) => realSetImmediate(resolve));

class Opossum {
  constructor(options) {
    const Breaker = require("opossum");
    this.breaker = new Breaker((answer) => answer, {
      ...options, timeout: false, rollingPercentilesEnabled: false, enableSnapshots: false,
    });
  }
  call(answer) {
    return this.breaker.fire(answer);
  }
  refused(error) {
    return error.code === "EOPENBREAKER";
  }
  state() {
    if (this.breaker.opened) return "open";
    return this.breaker.halfOpen ? "half-open" : "closed";
  }
  stop() {
    this.breaker.shutdown();
  }
}

class Cockatiel {
  constructor(options) {
    this.library = require("cockatiel");
    const { halfOpenAfter, consecutive, count, sampling, backoff } = options;
    const { ConsecutiveBreaker, CountBreaker, SamplingBreaker, IterableBackoff } = this.library;
    const breaker =
      consecutive !== undefined ? new ConsecutiveBreaker(consecutive)
        : count !== undefined ? new CountBreaker(count) : new SamplingBreaker(sampling);
    const policy = this.library.circuitBreaker(this.library.handleAll, {
      halfOpenAfter: backoff === undefined ? halfOpenAfter : new IterableBackoff(backoff), breaker,
    });
    this.policy = policy;
  }
  call(answer) {
    return this.policy.execute(() => answer);
  }
  refused(error) {
    return error instanceof this.library.BrokenCircuitError;
  }
  state() {
    return ["closed", "open", "half-open"][this.policy.state];
  }
  stop() {}
}

async function play({ library, options, calls }) {
  clock.now = 0;
  clock.timers.clear();
  const breaker = new { opossum: Opossum, cockatiel: Cockatiel }[library](options);
  const steps = [];
  const ends = [];
  const endBefore = async (time) => {
    ends.sort((a, b) => a.at - b.at);
    while (ends.length > 0 && ends[0].at < time) {
      const { at, finish } = ends.shift();
      advance(at);
      finish();
      await settled();
      steps.push(["end", breaker.state()]);
    }
  };
  for (const [at, length, fails] of calls) {
    await endBefore(at);
    advance(at);
    let refused = false, finish;
    const answer = new Promise((resolve, reject) => {
      finish = () => (fails ? reject(new Error("failed")) : resolve());
    });
    breaker.call(answer).catch((error) => {
      refused = refused || breaker.refused(error);
    });
    answer.catch(() => {});
    await settled();
    steps.push([refused ? "refused" : "go", breaker.state()]);
    if (!refused) ends.push({ at: at + length, finish });
  }
  await endBefore(Infinity);
  breaker.stop();
  return { steps };
}

function version(library) {
  const file = path.join(process.env.NODE_PATH, library, "package.json");
  return JSON.parse(readFileSync(file)).version;
}

async function main() {
  const versions = Object.fromEntries(["opossum", "cockatiel"].map((l) => [l, version(l)]));
  process.stdout.write(`${JSON.stringify(versions)}\n`);
  for await (const line of readline.createInterface({ input: process.stdin })) {
    process.stdout.write(`${JSON.stringify(await play(JSON.parse(line)))}\n`);
  }
}

main();
