// Real files as a file layer for Node.js, on Linux, macOS and Windows.
//
// The program knows paths as POSIX has them. On Windows a part that names a drive begins anew,
// wherever it stands: "C:/work/x.toml" and "/C:/home/C:/work/x.toml" are C:\work\x.toml, and
// "UNC:/server/share" is \\server\share. No file can have such a name, so nothing is ambiguous.
//
// SPDX-License-Identifier: MIT
import nodeFs from "node:fs";
import os from "node:os";
import { isatty } from "node:tty";
import { failure, normal } from "./system.mjs";

const DRIVE = /^(?:[A-Za-z]|UNC):$/;

/** A path of Windows as the program knows it. */
export function fromWindows(path) {
  const slashes = path.replaceAll("\\", "/");
  return slashes.startsWith("//") ? `UNC:/${slashes.slice(2)}` : slashes;
}

/** The other way round; `cwd` tells the drive of a path that names none. */
export function toWindows(path, cwd) {
  const parts = path.split(/[/\\]/).filter((part) => part !== "");
  const drive = parts.findLastIndex((part) => DRIVE.test(part));
  if (drive < 0) {
    if (path === "/dev/null") return "\\\\.\\NUL";
    return `${fromWindows(cwd).split("/")[0]}\\${parts.join("\\")}`;
  }
  const rest = normal(`/${parts.slice(drive + 1).join("/")}`).slice(1).replaceAll("/", "\\");
  return parts[drive] === "UNC:" ? `\\\\${rest}` : `${parts[drive]}\\${rest}`;
}

/**
 * The arguments of a command line of Windows as the program knows them: backslashes are slashes,
 * but in what changes a scenario.
 */
export function argumentsFromWindows(args) {
  const isChange = (text) => /^--(?:set|vary)(?:=|$)/.test(text);
  return args.map((arg, i) => (isChange(arg) || (i > 0 && /^--(?:set|vary)$/.test(args[i - 1]))
    ? arg : arg.startsWith("--") && arg.includes("=")
      ? arg.replace(/=(.*)$/s, (all, value) => `=${fromWindows(value)}`) : fromWindows(arg)));
}

function typeOf(status) {
  if (status.isFile()) return "file";
  if (status.isDirectory()) return "folder";
  if (status.isSymbolicLink()) return "link";
  return status.isFIFO() || status.isSocket() ? "pipe" : "character";
}

function statusOf(status) {
  return {
    type: typeOf(status), dev: status.dev, ino: status.ino, nlink: status.nlink, size: status.size,
    accessed: status.atimeNs, modified: status.mtimeNs, changed: status.ctimeNs,
  };
}

/** An open file; also a standard stream, which has no position of its own. */
class DiskFile {
  /** `awaited`: a named pipe into which perhaps nobody writes yet. */
  constructor(fs, fd, pause, awaited = false) {
    Object.assign(this, { fs, fd, pause, awaited });
    this.type = typeOf(fs.fstatSync(fd));
    this.isTerminal = this.type === "character" && isatty(fd);
  }
  status() { return statusOf(this.fs.fstatSync(this.fd, { bigint: true })); }
  read(bytes, at) {
    return this.patiently(() => {
      let got = 0;
      try {
        got = this.fs.readSync(this.fd, bytes, 0, bytes.length, at);
      } catch (error) {
        if (error.code === "EAGAIN") this.awaited = false;  // somebody writes, but nothing so far
        if (error.code === "EOF") return 0;  // a pipe or a console of Windows
        throw error;
      }
      // A pipe without a writer seems to be at its end, and no function says which of both it is:
      // only one from which something has come is at its end.
      if (got === 0 && this.awaited && bytes.length > 0) throw failure("EAGAIN");
      this.awaited = false;
      return got;
    });
  }
  write(bytes, at) {
    return this.patiently(() => this.fs.writeSync(this.fd, bytes, 0, bytes.length, at));
  }
  truncate(size) { this.fs.ftruncateSync(this.fd, size); }
  sync() {
    try {
      this.fs.fsyncSync(this.fd);
    } catch (error) {
      if (error.code !== "EINVAL" && error.code !== "EPERM") throw error;  // no file of a disk
    }
  }
  close() { this.fs.closeSync(this.fd); }

  /** What is not ready is tried again by the program, which looks meanwhile whether to stop. */
  patiently(call) {
    try {
      return call();
    } catch (error) {
      if (error.code !== "EAGAIN") throw error;
      this.pause(10);
      throw failure("EINTR");
    }
  }
}

export class Disk {
  /** `pause(milliseconds)` waits. The rest is for tests: another system's files and paths. */
  constructor({ pause, fs = nodeFs, windows = process.platform === "win32", cwd = process.cwd() }) {
    Object.assign(this, { fs, windows, pause });
    this.cwd = windows ? `/${fromWindows(cwd)}` : cwd;
    this.real = windows ? (path) => toWindows(path, cwd) : (path) => path;
  }

  stream(fd) { return new DiskFile(this.fs, fd, this.pause); }

  open(path, { reads, writes, follow, creates, exclusive, truncates, appends, waits }) {
    const c = this.fs.constants;
    let flags = writes ? (reads ? c.O_RDWR : c.O_WRONLY) : c.O_RDONLY;
    if (creates) flags |= c.O_CREAT;
    if (exclusive) flags |= c.O_EXCL;
    if (truncates) flags |= c.O_TRUNC;
    if (appends) flags |= c.O_APPEND;
    if (!follow) flags |= c.O_NOFOLLOW ?? 0;
    if (!waits) flags |= c.O_NONBLOCK ?? 0;
    const file = new DiskFile(this.fs, this.fs.openSync(this.real(path), flags, 0o666), this.pause,
      !waits && !writes);
    file.awaited &&= file.type === "pipe";
    return file;
  }

  status(path, follow) {
    if (this.windows && normal(path) === "/") {
      return { type: "folder", dev: 0n, ino: 1n, nlink: 1n, size: 0n, accessed: 0n, modified: 0n,
        changed: 0n };
    }
    // What stands there about "self" is about Node.js, and no measure for the program.
    if (/^\/proc\/self\/(?!fd\/)/.test(path)) throw failure("ENOENT", path);
    return statusOf(this.fs[follow ? "statSync" : "lstatSync"](this.real(path), { bigint: true }));
  }

  list(path) {
    return this.fs.readdirSync(this.real(path), { withFileTypes: true })
      .map((entry, i) => ({ name: entry.name, type: typeOf(entry), ino: BigInt(i + 1) }));
  }

  mkdir(path) { this.fs.mkdirSync(this.real(path)); }
  rmdir(path) { this.fs.rmdirSync(this.real(path)); }
  unlink(path) { this.fs.unlinkSync(this.real(path)); }
  readlink(path) {
    const target = this.fs.readlinkSync(this.real(path));
    return this.windows ? fromWindows(target) : target;
  }
  symlink(target, path) { this.fs.symlinkSync(target, this.real(path)); }
  setTimes(path, accessed, modified) {
    this.fs.utimesSync(this.real(path), Number(accessed) / 1e9, Number(modified) / 1e9);
  }
  syncFolder(path) {
    if (this.windows) return;  // which has no such thing
    const fd = this.fs.openSync(this.real(path), "r");
    try {
      this.fs.fsyncSync(fd);
    } finally {
      this.fs.closeSync(fd);
    }
  }

  rename(from, to) {
    // Other programs of Windows, such as those that look for viruses, hold new files for a moment.
    for (let tries = this.windows ? 20 : 1; ; --tries) {
      try {
        return this.fs.renameSync(this.real(from), this.real(to));
      } catch (error) {
        if (tries <= 1 || !["EPERM", "EACCES", "EBUSY"].includes(error.code)) throw error;
        this.pause(50);
      }
    }
  }

  // A lock is a file with the process's number, made so that only one can make it. It lies in the
  // folder for temporary files, named by what it locks, so that a result has no files of others;
  // one whose process has gone is void.

  lock(handle, path, { shared, now }) {
    const LONGEST_WAIT_MS = 10_000, PAUSE_MS = 20;
    const { dev, ino } = path === undefined ? handle.status() : this.status(path, true);
    const name = `${os.tmpdir()}/retrysim-lock-${os.userInfo().uid}-${dev}-${ino}`;
    for (let waited = 0; ; waited += PAUSE_MS) {
      const owner = this.lockOwner(name);
      if (owner === null) {
        if (shared) return;  // only asked whether somebody writes
        try {
          this.fs.writeFileSync(name, `${process.pid}\n`, { flag: "wx" });
          handle.lock = name;
          return;
        } catch (error) {
          if (error.code !== "EEXIST") throw failure("ENOTSUP", name);
        }
      } else if (now) {
        throw failure("EAGAIN", name);
      } else if (waited > LONGEST_WAIT_MS) {
        this.fs.rmSync(name, { force: true });  // the number belongs to another program by now
      }
      this.pause(PAUSE_MS);
    }
  }

  unlock(handle) {
    if (handle.lock === undefined) return;
    this.fs.rmSync(handle.lock, { force: true });
    delete handle.lock;
  }

  /** The process that holds a lock; null if none does. */
  lockOwner(name) {
    let owner;
    try {
      owner = Number(this.fs.readFileSync(name, "utf8"));
    } catch {
      return null;
    }
    try {
      if (owner > 0) process.kill(owner, 0);
      return owner;
    } catch (error) {
      if (error.code !== "ESRCH") return owner;
      this.fs.rmSync(name, { force: true });
      return null;
    }
  }
}
