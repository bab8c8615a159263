// Plays calls through libraries for JavaScript and says after which answers they retried, and how
// long they wanted to wait. Replaced: the transport or the function that is retried, sleeping,
// Math.random.
//
// The first line of standard output has the versions. Then policies are read, one a line,
//   {"library": "p-retry", "options": {...}, "calls": [[{"response": "503", "suggested": null,
//    "draw": 0.5}, ...], ...]}
// and each is answered with a line: {"calls": [[250, null], ...]}, for each call the delay after
// each attempt in milliseconds, null after the last.
//
// SPDX-License-Identifier: MIT
"use strict";

const http = require("node:http");
const path = require("node:path");
const readline = require("node:readline");
const { pathToFileURL } = require("node:url");
const { readFileSync } = require("node:fs");

const LIBRARIES = ["@grpc/grpc-js", "axios-retry", "cockatiel", "got", "p-retry"];

function version(library) {
  const modules = process.env.NODE_PATH;
  return JSON.parse(readFileSync(path.join(modules, library, "package.json"))).version;
}

// Modules of the new kind do not look into NODE_PATH.
const load = (name) => import(pathToFileURL(require.resolve(name)));

// The call that is being played.
class Call {
  constructor(answers) {
    this.answers = answers;
    this.delays = [];
  }
  // The answer to the attempt that is sent now; its draw is the random number until the next one.
  answer() {
    const answer = this.answers[this.delays.length];
    if (answer === undefined) throw new Error("more attempts than answers");
    this.delays.push(null);
    this.planned = null;
    Math.random = () => answer.draw;
    return answer;
  }
  // A pause in milliseconds; it counts if an attempt follows.
  pause(delay) {
    this.planned = delay;
  }
  retried() {
    if (this.delays.length > 0) this.delays[this.delays.length - 1] = this.planned;
  }
  next() {
    this.retried();
    return this.answer();
  }
}

const realSetTimeout = globalThis.setTimeout;

// While the call is played, timers that `is_pause` accepts pass at once, and are its pauses.
async function withoutSleep(call, isPause, play) {
  globalThis.setTimeout = (then, delay = 0, ...rest) => {
    if (!isPause()) return realSetTimeout(then, delay, ...rest);
    call.pause(delay);
    return setImmediate(then, ...rest);
  };
  try {
    await play();
  } finally {
    globalThis.setTimeout = realSetTimeout;
  }
}
const always = () => true;

class Unavailable extends Error {}
class Refused extends Error {}

function attempt(call) {
  const { response } = call.next();
  if (response === "503") throw new Unavailable();
  if (response !== "200") throw new Refused();
}
function isExpected(error) {
  if (!(error instanceof Unavailable || error instanceof Refused)) throw error;
}

async function playCockatiel(options, calls) {
  const { ConstantBackoff, ExponentialBackoff, IterableBackoff, handleType, retry,
          ...generators } = await load("cockatiel");
  const { constant, iterable, generator, ...exponential } = options.backoff;
  const backoff = constant !== undefined ? new ConstantBackoff(constant)
    : iterable !== undefined ? new IterableBackoff(iterable)
    : new ExponentialBackoff(
      generator === undefined ? exponential
        : { ...exponential, generator: generators[generator] });
  const policy = retry(handleType(Unavailable), { maxAttempts: options.maxAttempts, backoff });
  for (const call of calls) {
    await withoutSleep(call, always, () => policy.execute(() => attempt(call)).catch(isExpected));
  }
}

async function playPRetry(options, calls) {
  const { default: pRetry } = await load("p-retry");
  const shouldRetry = ({ error }) => error instanceof Unavailable;
  for (const call of calls) {
    await withoutSleep(call, always,
      () => pRetry(() => attempt(call), { ...options, shouldRetry }).catch(isExpected));
    // A pause of zero is none.
    call.delays = call.delays.map(
      (delay, i) => (delay === null && i + 1 < call.delays.length ? 0 : delay));
  }
}

async function playAxiosRetry(options, calls) {
  const axios = require("axios");
  const axiosRetry = require("axios-retry").default;
  const { exponential, linear, retries } = options;
  const retryDelay = exponential !== undefined
    ? (number, error) => axiosRetry.exponentialDelay(number, error, exponential)
    : linear !== undefined ? axiosRetry.linearDelay(linear) : undefined;
  let call;
  const client = axios.create({
    adapter: async (config) => {
      const { response, suggested } = call.next();
      const { AxiosError } = axios;
      if (response === "connect") {
        throw new AxiosError("refused", "ECONNREFUSED", config, {});
      }
      const status = Number(response);
      const headers = suggested === null ? {} : { "retry-after": String(suggested) };
      const answer = { data: "", status, statusText: "", headers, config, request: {} };
      if (status === 200) return answer;
      throw new AxiosError("failed", AxiosError.ERR_BAD_RESPONSE, config, {}, answer);
    },
  });
  axiosRetry(client, { retries, ...(retryDelay && { retryDelay }) });
  for (call of calls) {
    await withoutSleep(call, always, () => client.get("http://api.invalid/").catch((error) => {
      if (!axios.isAxiosError(error)) throw error;
    }));
  }
}

// Got is told to wait no time by its own hook, which also sees the delay that it computed: 0 is no
// retry.
async function playGot(options, calls) {
  const { default: got, HTTPError } = await load("got");
  let call;
  const server = http.createServer((request, response) => {
    const answer = call.next();
    const headers = answer.suggested === null ? {} : { "retry-after": String(answer.suggested) };
    response.writeHead(Number(answer.response), headers).end();
  });
  await new Promise((then) => server.listen(0, "127.0.0.1", then));
  const calculateDelay = ({ computedValue }) => {
    call.pause(computedValue);
    return computedValue === 0 ? 0 : Number.MIN_VALUE;
  };
  for (call of calls) {
    await got(`http://127.0.0.1:${server.address().port}/`,
              { retry: { ...options, calculateDelay } }).catch((error) => {
      if (!(error instanceof HTTPError)) throw error;
    });
  }
  await new Promise((then) => server.close(then));
}

async function playGrpc(options, calls) {
  const grpc = require("@grpc/grpc-js");
  const STATUS = { 503: grpc.status.UNAVAILABLE, 400: grpc.status.INVALID_ARGUMENT };
  const bytes = (buffer) => buffer;
  const method = { path: "/echo.Echo/Get", requestStream: false, responseStream: false,
                   requestSerialize: bytes, requestDeserialize: bytes,
                   responseSerialize: bytes, responseDeserialize: bytes };
  let call;
  const server = new grpc.Server();
  server.addService({ get: method }, { get: (request, answer) => {
    const code = STATUS[call.next().response];
    if (code === undefined) answer(null, Buffer.alloc(0));
    else answer({ code, details: "" });
  } });
  const port = await new Promise((then, fail) => {
    server.bindAsync("127.0.0.1:0", grpc.ServerCredentials.createInsecure(),
                     (error, found) => (error ? fail(error) : then(found)));
  });
  const Client = grpc.makeClientConstructor({ get: method }, "Echo");
  const client = new Client(`127.0.0.1:${port}`, grpc.credentials.createInsecure(), {
    "grpc.service_config": JSON.stringify(options),
    "grpc.service_config_disable_resolution": 1 });
  // The channel has timers of its own.
  const isPause = () => new Error().stack.includes("retrying-call.js");
  for (call of calls) {
    await withoutSleep(call, isPause, () => new Promise((then, fail) => {
      client.get(Buffer.alloc(0), (error) => {
        if (!error || Object.values(STATUS).includes(error.code)) then();
        else fail(error);
      });
    }));
  }
  client.close();
  server.forceShutdown();
}

const PLAYS = { "@grpc/grpc-js": playGrpc, "axios-retry": playAxiosRetry,
                cockatiel: playCockatiel, got: playGot, "p-retry": playPRetry };

async function main() {
  const versions = Object.fromEntries(LIBRARIES.map((name) => [name, version(name)]));
  process.stdout.write(JSON.stringify(versions) + "\n");
  for await (const line of readline.createInterface({ input: process.stdin })) {
    const { library, options, calls } = JSON.parse(line);
    const played = calls.map((answers) => new Call(answers));
    await PLAYS[library](options, played);
    process.stdout.write(JSON.stringify({ calls: played.map((call) => call.delays) }) + "\n");
  }
}

main().catch((error) => {
  process.stderr.write(`${error.stack}\n`);
  process.exit(1);
});
