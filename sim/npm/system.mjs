// The system that the program sees: WASI's functions, and a few of ours, over a file layer. A file
// layer is an object with the functions of `Memory` (memory.mjs); `Disk` (disk.mjs) is the one of
// real files. Its paths begin with "/", its errors have a `code` such as "ENOENT".
//
// SPDX-License-Identifier: MIT

const ERRORS = {
  EACCES: 2, EAGAIN: 6, EBADF: 8, EBUSY: 10, EEXIST: 20, EFBIG: 22, EINTR: 27, EINVAL: 28, EIO: 29,
  EISDIR: 31, ELOOP: 32, EMFILE: 33, ENAMETOOLONG: 37, ENFILE: 41, ENOENT: 44, ENOMEM: 48,
  ENOSPC: 51, ENOSYS: 52, ENOTDIR: 54, ENOTEMPTY: 55, ENOTSUP: 58, ENXIO: 60, EPERM: 63, EPIPE: 64,
  EROFS: 69, ESPIPE: 70, ETXTBSY: 74, EXDEV: 75,
};
const TYPES = { character: 2, folder: 3, file: 4, link: 7, pipe: 2 };
const RIGHTS = { read: 1n << 1n, seek: 1n << 2n, tell: 1n << 5n, write: 1n << 6n, list: 1n << 14n };
const ALL_RIGHTS = (1n << 30n) - 1n;
const ROOT = 3;

/** An error as file layers throw it. */
export function failure(code, path = "") {
  return Object.assign(new Error(`${code}: ${path}`), { code });
}

/** Thrown to leave the program. */
export class Exit {
  constructor(status) { this.status = status; }
}

const encoder = new TextEncoder(), decoder = new TextDecoder();

/** A path in a normal form: from the root, without "." and "..". */
export function normal(path) {
  const parts = [];
  for (const part of path.split("/")) {
    if (part === "..") parts.pop();
    else if (part !== "" && part !== ".") parts.push(part);
  }
  return `/${parts.join("/")}`;
}

export class System {
  /**
   * `files`: the file layer; `args`, `env`: texts; `cwd`: the working directory as the file layer
   * names it. `streams`: handles of the standard streams, from 0 on. `host`: what else there is to
   * ask: `stopAsked()`, `processors()`, `memory()`, `processId()`, `workers(n)`, `send(worker,
   * bytes)`, `next(milliseconds)` (a `{from, bytes}`, or null), `dismiss()`, `columnsAndLines(fd)`.
   */
  constructor({ files, args, env, cwd, streams, host }) {
    Object.assign(this, { files, host });
    this.args = args.map((arg) => encoder.encode(`${arg}\0`));
    this.env = Object.entries({ ...env, PWD: cwd })
      .map(([name, value]) => encoder.encode(`${name}=${value}\0`));
    this.open = new Map();
    streams.forEach((handle, fd) => this.open.set(fd, { handle, at: null }));  // some may be closed
    this.open.set(ROOT, { path: "/", handle: { type: "folder" } });
    this.message = null;
  }

  /** What a module is instantiated with. */
  imports() {
    const guarded = (functions) => Object.fromEntries(
      Object.entries(functions).map(([name, call]) => [name, (...values) => {
        try {
          return call.apply(this, values) ?? 0;
        } catch (error) {
          if (error?.code in ERRORS) return ERRORS[error.code];
          if (error instanceof Exit || !error?.code) throw error;
          return ERRORS.EIO;
        }
      }]));
    return { wasi_snapshot_preview1: guarded(WASI), retrysim: { ...guarded(OURS), ...this.plain() } };
  }

  /** To be called when the module has been instantiated. */
  begin(exports) {
    this.exports = exports;
    exports._initialize();
  }

  // Memory moves when it grows, so views of it are made anew.
  view() { return new DataView(this.exports.memory.buffer); }
  bytes(at, size) { return new Uint8Array(this.exports.memory.buffer, at, size); }
  text(at, size) { return decoder.decode(this.bytes(at, size)); }

  entry(fd) {
    const found = this.open.get(fd);
    if (!found) throw failure("EBADF");
    return found;
  }
  file(fd) {
    const found = this.entry(fd);
    if (found.handle.type === "folder") throw failure("EISDIR");
    return found;
  }
  /** The path that an open folder and a path from there lead to. */
  path(fd, at, size) {
    const folder = this.entry(fd);
    if (folder.path === undefined) throw failure("ENOTDIR");
    const path = this.text(at, size);
    if (path.includes("\0")) throw failure("EINVAL");
    return folder.path === "/" ? `/${path}` : `${folder.path}/${path}`;
  }
  add(entry) {
    let fd = 0;
    while (this.open.has(fd)) ++fd;
    this.open.set(fd, entry);
    return fd;
  }

  writeTexts(texts, list, buffer) {
    for (const text of texts) {
      this.view().setUint32(list, buffer, true);
      this.bytes(buffer, text.length).set(text);
      list += 4;
      buffer += text.length;
    }
  }
  writeSizes(texts, count, size) {
    this.view().setUint32(count, texts.length, true);
    this.view().setUint32(size, texts.reduce((sum, text) => sum + text.length, 0), true);
  }
  writeStatus(at, status) {
    const view = this.view();
    view.setBigUint64(at, BigInt.asUintN(64, status.dev), true);
    view.setBigUint64(at + 8, BigInt.asUintN(64, status.ino), true);
    view.setBigUint64(at + 16, BigInt(TYPES[status.type]), true);
    view.setBigUint64(at + 24, status.nlink, true);
    view.setBigUint64(at + 32, status.size, true);
    view.setBigUint64(at + 40, status.accessed, true);
    view.setBigUint64(at + 48, status.modified, true);
    view.setBigUint64(at + 56, status.changed, true);
  }
  /** Calls `work` with each of the buffers in memory until one is not filled. */
  transfer(list, count, out, work) {
    let all = 0;
    for (let i = 0; i < count; ++i) {
      const at = this.view().getUint32(list + 8 * i, true);
      const size = this.view().getUint32(list + 8 * i + 4, true);
      if (size === 0) continue;
      const done = work(this.bytes(at, size));
      all += done;
      if (done < size) break;
    }
    this.view().setUint32(out, all, true);
  }

  /** Functions of ours whose result is no error. */
  plain() {
    const { host } = this;
    return {
      stop_asked: () => (host.stopAsked() ? 1 : 0),
      process_id: () => host.processId(),
      processors: () => host.processors(),
      most_memory: () => BigInt(Math.floor(host.memory())),
      workers: (wanted) => host.workers(wanted),
      dismiss: () => host.dismiss(),
      send_message: (worker, at, size) => host.send(worker, this.bytes(at, size).slice()),
      await_message: (milliseconds, size) => {
        this.message = host.next(milliseconds);
        if (!this.message) return -1;
        this.view().setUint32(size, this.message.bytes.length, true);
        return this.message.from;
      },
      take_message: (at) => {
        this.bytes(at, this.message.bytes.length).set(this.message.bytes);
        this.message = null;
      },
      terminal_size: (fd) => {
        const [columns, lines] = host.columnsAndLines(fd);
        return columns * 65536 + lines;
      },
    };
  }
}

const OURS = {
  lock(fd, operation) {
    const { path, handle } = this.entry(fd);
    const SHARED = 1, NOW = 4, FREE = 8;
    if (operation & FREE) return this.files.unlock(handle);
    return this.files.lock(handle, path,
      { shared: Boolean(operation & SHARED), now: Boolean(operation & NOW) });
  },
};

const WASI = {
  args_sizes_get(count, size) { this.writeSizes(this.args, count, size); },
  args_get(list, buffer) { this.writeTexts(this.args, list, buffer); },
  environ_sizes_get(count, size) { this.writeSizes(this.env, count, size); },
  environ_get(list, buffer) { this.writeTexts(this.env, list, buffer); },
  clock_res_get(clock, out) { this.view().setBigUint64(out, 1000n, true); },
  clock_time_get(clock, precision, out) {
    const REALTIME = 0;
    const ms = performance.now() + (clock === REALTIME ? performance.timeOrigin : 0);
    this.view().setBigUint64(out, BigInt(Math.round(ms * 1000)) * 1000n, true);
  },
  random_get(at, size) {
    for (let i = 0; i < size; i += 65536) {
      globalThis.crypto.getRandomValues(this.bytes(at + i, Math.min(65536, size - i)));
    }
  },
  sched_yield() {},
  proc_exit(status) { throw new Exit(status); },
  poll_oneoff(list, out, count, events) {
    // Files are ready at once; a wait for nothing but time is a pause.
    const CLOCK = 0;
    let ready = 0, pause = Infinity;
    for (let i = 0; i < count; ++i) {
      const at = list + 48 * i, type = this.view().getUint8(at + 8);
      if (type === CLOCK) {
        pause = Math.min(pause, Number(this.view().getBigUint64(at + 24, true)) / 1e6);
        continue;
      }
      const fd = this.view().getUint32(at + 16, true), entry = out + 32 * ready++;
      this.bytes(entry, 32).fill(0);
      this.view().setBigUint64(entry, this.view().getBigUint64(at, true), true);
      this.view().setUint16(entry + 8, this.open.has(fd) ? 0 : ERRORS.EBADF, true);
      this.view().setUint8(entry + 10, type);
      this.view().setBigUint64(entry + 16, 1n << 20n, true);
    }
    if (ready === 0 && pause > 0) {
      this.host.pause(Math.min(pause, 1000));
      this.bytes(out, 32).fill(0);
      this.view().setBigUint64(out, this.view().getBigUint64(list, true), true);
      this.view().setUint8(out + 10, CLOCK);
      ready = 1;
    }
    this.view().setUint32(events, ready, true);
  },

  fd_prestat_get(fd, out) {
    if (fd !== ROOT) throw failure("EBADF");
    this.view().setUint32(out, 0, true);
    this.view().setUint32(out + 4, 1, true);
  },
  fd_prestat_dir_name(fd, at, size) { this.bytes(at, size).set(encoder.encode("/")); },
  fd_fdstat_get(fd, out) {
    const { handle, flags = 0 } = this.entry(fd);
    const view = this.view();
    this.bytes(out, 24).fill(0);
    // The C library takes what it cannot seek in for a terminal if it is a character device.
    view.setUint8(out, handle.type === "pipe" ? 0 : TYPES[handle.type]);
    view.setUint16(out + 2, flags, true);
    const rights = handle.isTerminal ? ALL_RIGHTS & ~(RIGHTS.seek | RIGHTS.tell) : ALL_RIGHTS;
    view.setBigUint64(out + 8, rights, true);
    view.setBigUint64(out + 16, ALL_RIGHTS, true);
  },
  fd_fdstat_set_flags(fd, flags) { this.entry(fd).flags = flags; },
  fd_filestat_get(fd, out) {
    const { path, handle } = this.entry(fd);
    this.writeStatus(out, path === undefined ? handle.status() : this.files.status(path, true));
  },
  fd_filestat_set_size(fd, size) { this.file(fd).handle.truncate(Number(size)); },
  fd_sync(fd) {
    const { path, handle } = this.entry(fd);
    if (path === undefined) handle.sync();
    else this.files.syncFolder(path);
  },
  fd_datasync(fd) { return WASI.fd_sync.call(this, fd); },
  fd_advise() {},
  fd_close(fd) {
    const { handle } = this.entry(fd);
    this.open.delete(fd);
    this.files.unlock(handle);
    handle.close?.();
  },
  fd_renumber(from, to) {
    if (this.open.has(to)) WASI.fd_close.call(this, to);
    this.open.set(to, this.entry(from));
    this.open.delete(from);
  },
  fd_read(fd, list, count, out) {
    const entry = this.file(fd);
    this.transfer(list, count, out, (bytes) => {
      const got = entry.handle.read(bytes, entry.at);
      if (entry.at !== null) entry.at += got;
      return got;
    });
  },
  fd_pread(fd, list, count, offset, out) {
    const { handle } = this.file(fd);
    let at = Number(offset);
    this.transfer(list, count, out, (bytes) => {
      const got = handle.read(bytes, at);
      at += got;
      return got;
    });
  },
  fd_write(fd, list, count, out) {
    const entry = this.file(fd);
    this.transfer(list, count, out, (bytes) => {
      const done = entry.handle.write(bytes, entry.appends ? null : entry.at);
      if (entry.at !== null) entry.at += done;
      return done;
    });
  },
  fd_pwrite(fd, list, count, offset, out) {
    const { handle } = this.file(fd);
    let at = Number(offset);
    this.transfer(list, count, out, (bytes) => {
      const done = handle.write(bytes, at);
      at += done;
      return done;
    });
  },
  fd_seek(fd, offset, whence, out) {
    const entry = this.file(fd);
    if (entry.at === null) throw failure("ESPIPE");
    const from = [0, entry.at, Number(entry.handle.status().size)][whence];
    const to = from + Number(offset);
    if (!(to >= 0)) throw failure("EINVAL");
    entry.at = to;
    this.view().setBigUint64(out, BigInt(to), true);
  },
  fd_tell(fd, out) {
    const { at } = this.file(fd);
    if (at === null) throw failure("ESPIPE");
    this.view().setBigUint64(out, BigInt(at), true);
  },
  fd_readdir(fd, at, size, cookie, out) {
    const entry = this.entry(fd);
    if (entry.path === undefined) throw failure("ENOTDIR");
    if (cookie === 0n || !entry.names) entry.names = this.files.list(entry.path);
    let used = 0;
    for (let i = Number(cookie); i < entry.names.length && used < size; ++i) {
      const { name, type, ino } = entry.names[i];
      const encoded = encoder.encode(name), whole = new Uint8Array(24 + encoded.length);
      const view = new DataView(whole.buffer);
      view.setBigUint64(0, BigInt(i + 1), true);
      view.setBigUint64(8, BigInt.asUintN(64, ino), true);
      view.setUint32(16, encoded.length, true);
      view.setUint8(20, TYPES[type]);
      whole.set(encoded, 24);
      const part = whole.subarray(0, size - used);  // cut off, it is asked for again
      this.bytes(at + used, part.length).set(part);
      used += part.length;
    }
    this.view().setUint32(out, used, true);
  },

  path_open(folder, lookup, at, size, opening, rights, inheriting, flags, out) {
    const path = this.path(folder, at, size);
    const CREATE = 1, FOLDER = 2, EXCLUSIVE = 4, TRUNCATE = 8, APPEND = 1, NONBLOCK = 4, FOLLOW = 1;
    const follow = Boolean(lookup & FOLLOW);
    const writes = Boolean(rights & RIGHTS.write), reads = Boolean(rights & RIGHTS.read);
    let type = null;
    if (!(opening & CREATE)) type = this.files.status(path, follow).type;
    if (type === "link") throw failure("ELOOP");
    let entry;
    if (type === "folder") {
      if (writes) throw failure("EISDIR");
      this.files.list(path);  // whether it may be read
      entry = { path, handle: { type } };
    } else {
      if (opening & FOLDER) throw failure("ENOTDIR");
      const handle = this.files.open(path, {
        reads, writes, follow,
        creates: Boolean(opening & CREATE), exclusive: Boolean(opening & EXCLUSIVE),
        truncates: Boolean(opening & TRUNCATE), appends: Boolean(flags & APPEND),
        waits: !(flags & NONBLOCK),
      });
      entry = { handle, appends: Boolean(flags & APPEND), at: handle.type === "file" ? 0 : null };
    }
    entry.flags = flags;
    this.view().setUint32(out, this.add(entry), true);
  },
  path_filestat_get(folder, lookup, at, size, out) {
    this.writeStatus(out, this.files.status(this.path(folder, at, size), Boolean(lookup & 1)));
  },
  path_filestat_set_times(folder, lookup, at, size, accessed, modified, which) {
    const ACCESSED_NOW = 2, MODIFIED_NOW = 8;
    const now = BigInt(Date.now()) * 1000000n;
    this.files.setTimes(this.path(folder, at, size), which & ACCESSED_NOW ? now : accessed,
      which & MODIFIED_NOW ? now : modified);
  },
  path_create_directory(folder, at, size) { this.files.mkdir(this.path(folder, at, size)); },
  path_remove_directory(folder, at, size) { this.files.rmdir(this.path(folder, at, size)); },
  path_unlink_file(folder, at, size) { this.files.unlink(this.path(folder, at, size)); },
  path_rename(folder, at, size, toFolder, toAt, toSize) {
    this.files.rename(this.path(folder, at, size), this.path(toFolder, toAt, toSize));
  },
  path_readlink(folder, at, size, buffer, most, out) {
    const target = encoder.encode(this.files.readlink(this.path(folder, at, size)));
    const part = target.subarray(0, most);
    this.bytes(buffer, part.length).set(part);
    this.view().setUint32(out, part.length, true);
  },
  path_symlink(target, targetSize, folder, at, size) {
    this.files.symlink(this.text(target, targetSize), this.path(folder, at, size));
  },
  path_link() { throw failure("ENOTSUP"); },
};
