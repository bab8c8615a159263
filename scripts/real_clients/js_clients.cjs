// Clients of the AWS SDK for JavaScript v3, all in this process.
//
// Reads its configuration as a line of JSON, warms up, prints "ready", and makes its requests from
// the start time on, which the second line names (ns of CLOCK_MONOTONIC): those of a list, or those
// of closed loops, in which each request is thought about first. Prints its report when the duration
// is over. Started by reality.py; the argument is the folder that node_modules is in.
//
// SPDX-License-Identifier: MIT
"use strict";

const { createRequire } = require("node:module");
const { monitorEventLoopDelay } = require("node:perf_hooks");
const readline = require("node:readline");

const load = createRequire(process.argv[2] + "/");
const { DynamoDBClient, ListTablesCommand } = load("@aws-sdk/client-dynamodb");
const { version } = load("@aws-sdk/client-dynamodb/package.json");

const MILLISECOND = 1e6;  // ns
const LOOP_RESOLUTION_MS = 10;
const WARM_UP_ROUNDS = 5;
const WARM_UP_CALLS = 4;  // of a client at once, so that as many of its connections are open
const WARM_UP_CLIENTS = 10;  // at once

const now = () => Number(process.hrtime.bigint());

function makeClient(configuration) {
  return new DynamoDBClient({
    endpoint: `http://127.0.0.1:${configuration.port}`,
    region: "us-east-1",
    credentials: { accessKeyId: "none", secretAccessKey: "none" },
    retryMode: configuration.mode,
    ...(configuration.max_attempts ? { maxAttempts: configuration.max_attempts } : {}),
    requestHandler: {
      requestTimeout: configuration.timeout_ns ? configuration.timeout_ns / MILLISECOND : 0,
      throwOnRequestTimeout: true,
      httpAgent: { keepAlive: true, maxSockets: Infinity },
    },
  });
}

// Opens connections and lets the compiler see the code, with a retry strategy that is thrown away:
// the client's own must not learn a rate from it, and makes its first appearance at the start.
const noRetries = {
  acquireInitialRetryToken: async () => ({ getRetryCount: () => 0, getRetryDelay: () => 0 }),
  refreshRetryTokenForRetry: async () => { throw new Error("the warm-up does not retry"); },
  recordSuccess: () => {},
};

async function warmUp(clients) {
  const times = [];
  const call = async (client) => {
    const began = now();
    await client.send(new ListTablesCommand({}));
    times.push(now() - began);
  };
  const own = clients.map((client) => client.config.retryStrategy);
  for (const client of clients) client.config.retryStrategy = async () => noRetries;
  for (let round = 0; round < WARM_UP_ROUNDS; ++round) {
    for (let i = 0; i < clients.length; i += WARM_UP_CLIENTS) {
      const few = clients.slice(i, i + WARM_UP_CLIENTS);
      await Promise.all(few.flatMap((client) =>
        Array.from({ length: WARM_UP_CALLS }, () => call(client))));
    }
  }
  times.length = 0;
  for (const client of clients) await call(client);
  clients.forEach((client, i) => { client.config.retryStrategy = own[i]; });
  times.sort((a, b) => a - b);
  return times[Math.floor(times.length / 2)];
}

// Those under way.
const open = new Set();

// One request; notes when it ended, whether well, and when it began.
async function request(client, startNs, done) {
  const began = now() - startNs;
  const own = [began];
  open.add(own);
  let ok = true;
  try {
    await client.send(new ListTablesCommand({}));
  } catch {
    ok = false;
  }
  open.delete(own);
  done.push([now() - startNs, ok, began]);
}

// Notes when each backoff begins, and how long it is meant to be. The strategy waits before it hands
// out the token for the retry; an older one leaves that to its caller, by the token's delay. What is
// still under way at the end lasts until then.
async function noteBackoffs(client, startNs, backoffs) {
  const strategy = await client.config.retryStrategy();
  const refresh = strategy.refreshRetryTokenForRetry.bind(strategy);
  strategy.refreshRetryTokenForRetry = async (...failure) => {
    const own = [now() - startNs, Infinity];
    backoffs.add(own);
    try {
      const token = await refresh(...failure);
      own[1] = ((token.$retryLog?.acquisitionDelay ?? 0) + token.getRetryDelay()) * MILLISECOND;
      return token;
    } catch (e) {
      backoffs.delete(own);  // there is no retry
      throw e;
    }
  };
}

// Numbers in [0, 1), the same for the same seed (mulberry32).
function generator(seed) {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let bits = Math.imul(state ^ (state >>> 15), state | 1);
    bits ^= bits + Math.imul(bits ^ (bits >>> 7), bits | 61);
    return ((bits ^ (bits >>> 14)) >>> 0) / 2 ** 32;
  };
}

// ns
function draw([distribution, parameters], random) {
  if (distribution === "exponential") return -Math.log(1 - random()) * parameters[0];
  if (distribution === "uniform") {
    return parameters[0] + random() * (parameters[1] - parameters[0]);
  }
  return parameters[0];
}

// A request, its end, a pause that counts from there, and so on.
async function loop(client, configuration, startNs, random, report) {
  const { duration_ns: duration, think_time: thinkTime } = configuration;
  for (let ended = 0; ;) {
    const due = ended + draw(thinkTime, random);
    if (due >= duration) return;
    for (let left; (left = startNs + due - now()) > 0;) {
      await new Promise((then) => setTimeout(then, Math.floor(left / MILLISECOND)));
    }
    report.submitted.push(now() - startNs);
    report.late.push(now() - startNs - due);
    await request(client, startNs, report.done);
    ended = now() - startNs;
  }
}

function run(configuration, clients, startNs) {
  const { arrivals, duration_ns: duration } = configuration;
  const submitted = [], late = [], done = [], backoffs = new Set();
  const delay = monitorEventLoopDelay({ resolution: LOOP_RESOLUTION_MS });
  let next = 0;
  return new Promise((resolve) => {
    const step = () => {
      for (; next < arrivals.length && now() - startNs >= arrivals[next][0]; ++next) {
        const [due, client] = arrivals[next];
        submitted.push(now() - startNs);
        late.push(now() - startNs - due);
        request(clients[client], startNs, done);
      }
      const due = next < arrivals.length ? arrivals[next][0] : duration;
      const left = startNs + due - now();
      if (next === arrivals.length && left <= 0) return finish();
      setTimeout(step, Math.max(0, Math.floor(left / MILLISECOND)));
    };
    const finish = () => {
      delay.disable();
      const beyond = (ns) => Math.max(0, ns - LOOP_RESOLUTION_MS * MILLISECOND);
      resolve({
        submitted, late_ns: late, done, open: [...open].flat(),
        backoffs: [...backoffs].map(([began, took]) => [began, Math.min(took, duration - began)]),
        loop_delay_ns: { p99: beyond(delay.percentile(99)), max: beyond(delay.max) },
        cpu_s: process.cpuUsage().user / 1e6 + process.cpuUsage().system / 1e6,
      });
    };
    setTimeout(() => {
      for (const client of clients) noteBackoffs(client, startNs, backoffs);
      delay.enable();
      const random = generator(configuration.seed);
      for (const client of clients) {
        for (let i = 0; i < configuration.concurrency; ++i) {
          loop(client, configuration, startNs, random, { submitted, late, done });
        }
      }
      step();
    }, Math.max(0, Math.ceil((startNs - now()) / MILLISECOND)));
  });
}

async function main() {
  const lines = readline.createInterface({ input: process.stdin })[Symbol.asyncIterator]();
  const configuration = JSON.parse((await lines.next()).value);
  const clients = Array.from({ length: configuration.clients }, () => makeClient(configuration));
  const round_trip_ns = await warmUp(clients);
  process.stdout.write(JSON.stringify({
    ready: `@aws-sdk/client-dynamodb ${version}, Node.js ${process.versions.node}`,
    round_trip_ns,
  }) + "\n");
  const { start_ns: startNs } = JSON.parse((await lines.next()).value);
  const report = await run(configuration, clients, startNs);
  process.stdout.write(JSON.stringify(report) + "\n", () => process.exit(0));
}

main().catch((e) => { console.error(`js_clients: error: ${e.stack}`); process.exit(1); });
