// Parts of the package by themselves: paths of Windows, and files in memory.
// Usage: node units.mjs PACKAGE
//
// SPDX-License-Identifier: MIT
import assert from "node:assert/strict";
import path from "node:path";
import { pathToFileURL } from "node:url";

const load = (name) => import(pathToFileURL(path.join(process.argv[2], name)));
const { argumentsFromWindows, fromWindows, toWindows } = await load("disk.mjs");
const { Memory } = await load("memory.mjs");
const { normal } = await load("system.mjs");

// --- Paths of Windows -----------------------------------------------------------------------------

const CWD = "C:\\Users\\me";
for (const [program, windows] of [
  ["/C:/Users/me/x.toml", "C:\\Users\\me\\x.toml"],
  ["/C:/Users/me/D:/data/x.toml", "D:\\data\\x.toml"],
  ["/C:/Users/me/D:/data/../x.toml", "D:\\x.toml"],
  ["/C:/Users/me/a\\b.csv", "C:\\Users\\me\\a\\b.csv"],
  ["/C:/Users/me/UNC:/server/share/x.toml", "\\\\server\\share\\x.toml"],
  ["/C:", "C:\\"],
  ["/tmp/x", "C:\\tmp\\x"],
  ["/dev/null", "\\\\.\\NUL"],
]) {
  assert.equal(toWindows(program, CWD), windows);
  if (windows.startsWith("\\\\.")) continue;
  // What the program is told of a real path leads back to it.
  assert.equal(toWindows(`/C:/elsewhere/${fromWindows(windows)}`, CWD), windows);
  assert.equal(path.win32.normalize(windows), windows);
}
assert.equal(fromWindows("..\\x\\y.toml"), "../x/y.toml");

assert.deepEqual(
  argumentsFromWindows(["run", "a\\x.toml", "--out=C:\\results\\r", "--out", "\\\\server\\r",
    "--set", "client.web.name=\"a\\\\b\"", "--set=client.web.name=\"c\\\\d\"", "--vary", "x=\"\\\\\""]),
  ["run", "a/x.toml", "--out=C:/results/r", "--out", "UNC:/server/r", "--set",
    "client.web.name=\"a\\\\b\"", "--set=client.web.name=\"c\\\\d\"", "--vary", "x=\"\\\\\""]);

assert.equal(normal("/a/./b//../c/"), "/a/c");
assert.equal(normal("/../.."), "/");

// --- Files in memory ------------------------------------------------------------------------------

const text = (bytes) => new TextDecoder().decode(bytes);
const bytes = (content) => new TextEncoder().encode(content);
const fails = (code, call) => assert.throws(call, (error) => error.code === code);
const NEW = { writes: true, creates: true, exclusive: true };

const memory = new Memory({ "x.toml": "name", "data/a.csv": bytes("1,2") });
assert.equal(memory.status("/x.toml").size, 4n);
assert.equal(memory.status("/data").type, "folder");
assert.deepEqual(memory.list("/").map(({ name }) => name), ["x.toml", "data"]);
assert.deepEqual(memory.written(), {});
assert.throws(() => new Memory({ "/": "" }), TypeError);
assert.throws(() => new Memory({ a: "", "a/b": "" }), TypeError);

fails("ENOENT", () => memory.status("/y"));
fails("ENOENT", () => memory.open("/no/y", NEW));
fails("ENOTDIR", () => memory.status("/x.toml/y"));
fails("EEXIST", () => memory.open("/x.toml", NEW));
fails("EEXIST", () => memory.mkdir("/data"));
fails("EISDIR", () => memory.open("/data", { writes: true }));
fails("ENOTEMPTY", () => memory.rmdir("/data"));

memory.mkdir("/out");
const file = memory.open("/out/r.txt", NEW);
assert.equal(file.write(bytes("hello world"), 0), 11);
file.write(bytes("W"), 6);
file.truncate(7);
const got = new Uint8Array(20);
assert.equal(file.read(got, 2), 5);
assert.equal(text(got.subarray(0, 5)), "llo W");
assert.equal(file.read(got, 7), 0);
const log = memory.open("/out/log", { ...NEW, appends: true });
log.write(bytes("a"), 0);
log.write(bytes("b"), 0);

fails("EINVAL", () => memory.rename("/out", "/out/inside"));
fails("ENOTDIR", () => memory.rename("/out", "/x.toml"));
fails("EISDIR", () => memory.rename("/x.toml", "/out"));
memory.rename("/out", "/result");
fails("ENOENT", () => memory.list("/out"));
const written = memory.written();
assert.deepEqual(Object.keys(written), ["result/r.txt", "result/log"]);
assert.equal(text(written["result/r.txt"]), "hello W");
assert.equal(text(written["result/log"]), "ab");
memory.unlink("/result/log");
memory.unlink("/result/r.txt");
memory.rmdir("/result");
assert.deepEqual(memory.written(), {});
// A file that was given, and is overwritten, is written.
memory.open("/x.toml", { writes: true, truncates: true }).write(bytes("other"), 0);
assert.equal(text(memory.written()["x.toml"]), "other");
console.log("units: all as expected");
