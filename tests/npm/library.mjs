// `run` of the library in Node.js, over files in memory. Usage: node library.mjs PACKAGE, with the
// text of a scenario on standard input; prints the files of its result as JSON.
//
// SPDX-License-Identifier: MIT
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import path from "node:path";
import { pathToFileURL } from "node:url";

const { run } = await import(pathToFileURL(path.join(process.argv[2], "node.mjs")));
const scenario = readFileSync(0, "utf8");
const text = (bytes) => new TextDecoder().decode(bytes);

let heard = "";
const outcome = await run(["run", "in/x.toml", "--replications", "2", "--out", "out"],
  { "in/x.toml": scenario }, { stdout: (bytes) => { heard += text(bytes); } });
assert.equal(outcome.status, 0, outcome.stderr);
assert.equal(heard, outcome.stdout);
assert.ok("out/result.json" in outcome.files);
assert.ok(!("in/x.toml" in outcome.files));
assert.ok(Object.keys(outcome.files).every((name) => name.startsWith("out/")));

// What was written can be given to the next call.
const again = await run(["verify", "out"], outcome.files);
assert.equal(again.status, 0, again.stderr);

const asked = await run(["check", "-"], {}, { stdin: "name = 1" });
const missing = await run(["check", "y.toml"]);
assert.equal(missing.status, 3);
assert.match(missing.stderr, /y\.toml/);
assert.notEqual(asked.status, 0);

const wide = await run(["help"], {}, { columns: 120, env: { NO_COLOR: "1" } });
assert.equal(wide.status, 0);

const cut = new AbortController();
setTimeout(() => cut.abort(new Error("enough")), 1000);
const long = run(["run", "x.toml", "--replications", "1000"], { "x.toml": scenario },
  { signal: cut.signal });
await assert.rejects(long, /enough/);
await assert.rejects(run(["help"], {}, { signal: cut.signal }), /enough/);

console.log(JSON.stringify(Object.fromEntries(
  Object.entries(outcome.files).map(([name, bytes]) => [name, text(bytes)]))));
