// What the SDKs for JavaScript are told about time and chance, and how a driver reads and writes.
// Loaded before the SDK, so that it finds these functions in place of its own.
//
// The clock has nanoseconds, where JavaScript's own has milliseconds: a Date keeps the fraction.
//
// SPDX-License-Identifier: MIT
"use strict";

const readline = require("node:readline");

const START_NS = 1_000e9;
const NS_PER_MS = 1e6;

const world = {
  now: 0, // nanoseconds
  draw: 0,
  slept: [], // the sleeps between attempts, in seconds
  waited: 0, // for send tokens, in nanoseconds
};

const RealDate = Date;
globalThis.Date = class extends RealDate {
  constructor(...parts) {
    super(...(parts.length === 0 ? [Date.now()] : parts));
    if (parts.length <= 1 && !Number.isNaN(super.getTime())) {
      this.fraction = (typeof parts[0] === "number" ? parts[0] : Date.now()) % 1;
    }
  }
  getTime() {
    return super.getTime() + (this.fraction ?? 0);
  }
  static now() {
    return (START_NS + world.now) / NS_PER_MS;
  }
};

Math.random = () => world.draw;

// Sleeping lets the virtual time pass at once; what follows it runs in its turn.
globalThis.setTimeout = (then, milliseconds = 0, ...rest) => {
  world.slept.push(milliseconds / 1000);
  world.now += Math.round(milliseconds * NS_PER_MS);
  setImmediate(then, ...rest);
};

// The same for a wait for send tokens, by at least a nanosecond.
function waitForTokens(then, milliseconds) {
  const step = Math.max(1, Math.ceil(milliseconds * NS_PER_MS));
  world.waited += step;
  world.now += step;
  setImmediate(then);
}

// The HTTP layer of one client: answers what the sequence says, and notes what the SDK did.
class Player {
  constructor(describe) {
    this.describe = describe; // adds the client's state to an attempt
  }

  begin(call) {
    world.now += call.pause;
    world.slept = [];
    world.waited = 0;
    this.answers = call.answers[Symbol.iterator]();
    this.attempts = [];
  }

  // The answer to the attempt that is sent now.
  answer() {
    this.describeLast();
    this.attempts.push({ sent: world.now, waited: world.waited / 1e9 });
    world.waited = 0;
    const answer = this.answers.next().value;
    world.now += answer.takes;
    world.draw = answer.draw;
    return answer;
  }

  describeLast() {
    if (this.attempts.length === 0) return;
    const last = this.attempts[this.attempts.length - 1];
    if (world.slept.length > 1) throw new Error("more than one sleep between two attempts");
    last.delay = world.slept.length === 0 ? null : world.slept.pop();
    this.describe(last);
  }

  end(succeeded) {
    this.describeLast();
    return { succeeded, ended: world.now, attempts: this.attempts };
  }
}

// Reads sequences from standard input, one a line, and writes what `play` makes of each.
async function main(identity, play) {
  for (const name of Object.keys(process.env)) {
    if (name.startsWith("AWS_")) delete process.env[name];
  }
  process.env.AWS_CONFIG_FILE = process.env.AWS_SHARED_CREDENTIALS_FILE = "/dev/null";
  process.stdout.write(JSON.stringify(identity) + "\n");
  for await (const line of readline.createInterface({ input: process.stdin })) {
    world.now = 0;
    const calls = await play(JSON.parse(line));
    process.stdout.write(JSON.stringify({ calls }) + "\n");
  }
}

module.exports = { world, waitForTokens, Player, main };
