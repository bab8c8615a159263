// Files in memory as a file layer: what `run` of the library gives to the program, and gets back.
//
// SPDX-License-Identifier: MIT
import { failure, normal } from "./system.mjs";

const encoder = new TextEncoder();

function now() { return BigInt(Date.now()) * 1000000n; }

/** An open file, or a place in memory that is written to or read from as a stream. */
class MemoryFile {
  constructor(node, appends) { Object.assign(this, { node, appends, type: "file" }); }
  status() { return statusOf(this.node); }
  read(bytes, at) {
    const part = this.node.bytes.subarray(at, Math.min(at + bytes.length, this.node.size));
    bytes.set(part);
    return part.length;
  }
  write(bytes, at) {
    const { node } = this, from = this.appends ? node.size : at;
    this.reserve(from + bytes.length);
    node.bytes.set(bytes, from);
    node.size = Math.max(node.size, from + bytes.length);
    node.modified = now();
    return bytes.length;
  }
  truncate(size) {
    this.reserve(size);
    if (size < this.node.size) this.node.bytes.fill(0, size, this.node.size);
    this.node.size = size;
    this.node.modified = now();
  }
  sync() {}
  reserve(size) {
    const { node } = this;
    if (size <= node.bytes.length) return;
    const larger = new Uint8Array(Math.max(size, 2 * node.bytes.length));
    larger.set(node.bytes.subarray(0, node.size));
    node.bytes = larger;
  }
}

/** A stream that reads bytes that are there, and hands on what is written. */
export class MemoryStream {
  constructor(bytes, take) { Object.assign(this, { bytes, take, at: 0, type: "pipe" }); }
  status() {
    return { type: "pipe", dev: 1n, ino: 0n, nlink: 1n, size: 0n, accessed: 0n, modified: 0n,
      changed: 0n };
  }
  read(bytes) {
    const part = this.bytes.subarray(this.at, this.at + bytes.length);
    bytes.set(part);
    this.at += part.length;
    return part.length;
  }
  write(bytes) {
    this.take(bytes.slice());
    return bytes.length;
  }
  truncate() { throw failure("EINVAL"); }
  sync() {}
}

function statusOf(node) {
  const { modified } = node;
  return { type: node.type, dev: 1n, ino: node.ino, nlink: 1n, size: BigInt(node.size ?? 0),
    accessed: modified, modified, changed: modified };
}

export class Memory {
  /** `files`: contents, texts or bytes, by their paths. */
  constructor(files) {
    this.made = 0n;
    this.root = this.node("folder");
    for (const [path, content] of Object.entries(files)) {
      let folder = this.root;
      const parts = normal(path).slice(1).split("/"), name = parts.pop();
      if (name === "") throw new TypeError(`"${path}" cannot name a file`);
      for (const part of parts) {
        if (!folder.children.has(part)) folder.children.set(part, this.node("folder"));
        folder = folder.children.get(part);
        if (folder.type !== "folder") throw new TypeError(`"${path}": "${part}" is a file, too`);
      }
      const bytes = typeof content === "string" ? encoder.encode(content) : Uint8Array.from(content);
      const node = this.node("file", bytes);
      folder.children.set(name, Object.assign(node, { isGiven: true }));
    }
  }

  /** The files that were written since the beginning, as bytes by their paths without the "/". */
  written() {
    const files = {};
    const visit = (folder, path) => {
      for (const [name, node] of folder.children) {
        if (node.type === "folder") visit(node, `${path}${name}/`);
        else if (!node.isGiven) files[`${path}${name}`] = node.bytes.slice(0, node.size);
      }
    };
    visit(this.root, "");
    return files;
  }

  node(type, bytes = new Uint8Array(0)) {
    const common = { type, ino: ++this.made, modified: now() };
    return type === "folder" ? { ...common, children: new Map() }
      : { ...common, bytes, size: bytes.length };
  }
  /** What a path leads to; undefined if there is nothing of that name. */
  find(path) {
    let node = this.root;
    for (const part of normal(path).split("/")) {
      if (part === "") continue;
      if (node === undefined) throw failure("ENOENT", path);
      if (node.type !== "folder") throw failure("ENOTDIR", path);
      node = node.children.get(part);
    }
    return node;
  }
  get(path) {
    const node = this.find(path);
    if (!node) throw failure("ENOENT", path);
    return node;
  }
  folder(path) {
    const node = this.get(path);
    if (node.type !== "folder") throw failure("ENOTDIR", path);
    return node;
  }
  /** The folder and the name of a path. */
  place(path) {
    const whole = normal(path), slash = whole.lastIndexOf("/");
    return { parent: this.folder(whole.slice(0, slash) || "/"), name: whole.slice(slash + 1) };
  }

  open(path, { writes, creates, exclusive, truncates, appends }) {
    let node = this.find(path);
    if (node && creates && exclusive) throw failure("EEXIST", path);
    if (!node) {
      if (!creates) throw failure("ENOENT", path);
      const { parent, name } = this.place(path);
      parent.children.set(name, node = this.node("file"));
    }
    if (node.type === "folder") throw failure("EISDIR", path);
    if (writes) node.isGiven = false;
    const file = new MemoryFile(node, appends);
    if (truncates) file.truncate(0);
    return file;
  }
  status(path) { return statusOf(this.get(path)); }
  list(path) {
    return [...this.folder(path).children].map(([name, { type, ino }]) => ({ name, type, ino }));
  }
  mkdir(path) {
    if (this.find(path)) throw failure("EEXIST", path);
    const { parent, name } = this.place(path);
    parent.children.set(name, this.node("folder"));
  }
  rmdir(path) {
    if (this.folder(path).children.size > 0) throw failure("ENOTEMPTY", path);
    const { parent, name } = this.place(path);
    if (name === "") throw failure("EBUSY", path);
    parent.children.delete(name);
  }
  unlink(path) {
    if (this.get(path).type === "folder") throw failure("EISDIR", path);
    const { parent, name } = this.place(path);
    parent.children.delete(name);
  }
  rename(from, to) {
    const node = this.get(from), before = this.find(to);
    if (node === before) return;
    if (normal(to).startsWith(`${normal(from)}/`)) throw failure("EINVAL", to);
    if (before) {
      if (node.type !== "folder" && before.type === "folder") throw failure("EISDIR", to);
      if (node.type === "folder" && before.type !== "folder") throw failure("ENOTDIR", to);
      if (before.type === "folder" && before.children.size > 0) throw failure("ENOTEMPTY", to);
    }
    const source = this.place(from), target = this.place(to);
    source.parent.children.delete(source.name);
    target.parent.children.set(target.name, node);
    node.isGiven = false;
  }
  readlink(path) {
    this.get(path);
    throw failure("EINVAL", path);
  }
  symlink(target, path) { throw failure("ENOTSUP", path); }
  setTimes(path, accessed, modified) { this.get(path).modified = modified; }
  syncFolder() {}
  // Nobody else is there.
  lock() {}
  unlock() {}
}
