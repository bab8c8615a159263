#!/usr/bin/python3
"""Several programs that write results to one folder at once never mix them, and whoever reads
meanwhile sees one whole result; what is the user's own stays.

    result_replacement.py --program PROGRAM [--rounds N] [--every N]

With --every N each member of a damaged result.json gets only each Nth of the senseless values.
Exit status: 0 as it should be, 1 not.

SPDX-License-Identifier: MIT
"""

import json
import os
import shutil
import subprocess
import threading
import zlib

from harness import Checker, Failed, main

WRITERS = 4
SCENARIO = """
name = "small"
duration = "5s"
replications = 2
[service.api]
servers = 1
service_time = "10ms"
[client.web]
arrivals = { process = "poisson", total_rate = 20 }
retry = { mode = "none" }
"""


def read_at_once(folder):
    """The files of a folder by name; None without result.json, or if it has changed meanwhile."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)

    def content_of(name):
        with open(os.open(name, os.O_RDONLY, dir_fd=descriptor), "rb") as file:
            return file.read()

    try:
        result = content_of("result.json")
        files = {"result.json": result}
        for name in os.listdir(descriptor):
            if name not in files and name != "mine" and not name.startswith("."):
                files[name] = content_of(name)
        # No two of the results have the same result.json: their seeds differ.
        return files if (folder / "result.json").read_bytes() == result else None
    except FileNotFoundError:
        return None
    finally:
        os.close(descriptor)


def sealed(result):
    """The text of a result.json that says of itself what is true."""
    del result["crc32_of_this_file"]
    text = json.dumps({**result, "crc32_of_this_file": "0" * 8}, indent=2) + "\n"
    seal = f"{zlib.crc32(text.encode()):08x}"
    at = text.rindex("0" * 8)
    return text[:at] + seal + text[at + 8:]


def fault_of(files):
    """What is wrong with a result; empty if nothing is."""
    if "result.json" not in files:
        return "there is no result.json"
    result = json.loads(files["result.json"])
    for name, record in result["checksums"].items():
        if name not in files:
            return f"{name} is missing"
        found = (len(files[name]), f"{zlib.crc32(files[name]):08x}")
        if found != (record["bytes"], record["crc32"]):
            return f"{name} is not that of result.json"
    text = files["result.json"]
    seal = result["crc32_of_this_file"].encode()
    at = text.rindex(seal)
    if f"{zlib.crc32(text[:at] + b'00000000' + text[at + 8:]):08x}".encode() != seal:
        return "result.json is not what it says"
    return ""


class Replacement(Checker):
    def __init__(self, program, folder, rounds, every):
        super().__init__(program, folder, SCENARIO)
        self.rounds, self.every, self.out = rounds, every, folder / "out"
        self.faults, self.reads = [], 0

    def write(self, writer):
        for i in range(self.rounds):
            try:
                self.run("run", "small.toml", "--seed", str(writer * 1000 + i), "--out", "out",
                         "--force", "--quiet", "--no-progress", "--jobs", "1")
            except Failed as failure:
                self.faults.append(str(failure))

    def read(self, done):
        while not done.is_set():
            try:
                files = read_at_once(self.out)
            except FileNotFoundError:
                self.faults.append("there was no folder")
                continue
            if files is None:
                continue
            self.reads += 1
            fault = fault_of(files)
            if fault:
                self.faults.append(fault)

    def verify(self, done):
        while not done.is_set():
            try:
                self.run("verify", "out")
            except Failed as failure:
                self.faults.append(str(failure))

    def read_notes(self, done):
        while not done.is_set():
            if (self.out / "notes.txt").read_text() != "my notes":
                self.faults.append("the user's file has changed")

    def concurrent_writers(self):
        """Whoever looks sees one whole result."""
        self.run("run", "small.toml", "--out", "out", "--quiet")
        self.write_at_once(self.read, self.verify)

    def writers_beside_notes(self):
        """In a folder with things of the user's: one whole result or none, and they stay."""
        (self.out / "notes.txt").write_text("my notes")
        (self.out / "mine").mkdir()
        (self.out / "mine" / "thesis.tex").write_text("years of work")
        self.write_at_once(self.read, self.read_notes)
        self.check_notes()

    def check_notes(self):
        if (self.out / "notes.txt").read_text() != "my notes":
            raise Failed("the user's file is gone")
        if (self.out / "mine" / "thesis.tex").read_text() != "years of work":
            raise Failed("the user's folder is gone")

    def write_at_once(self, *tasks):
        """Several writers, while others do `tasks`."""
        (self.out / "overview.png").write_text("of an earlier result")
        done = threading.Event()
        readers = [threading.Thread(target=task, args=(done,)) for task in tasks]
        self.reads = 0
        writers = [threading.Thread(target=self.write, args=(w,)) for w in range(WRITERS)]
        for thread in readers + writers:
            thread.start()
        for thread in writers:
            thread.join()
        done.set()
        for thread in readers:
            thread.join()
        if self.faults:
            raise Failed(f"{len(self.faults)} faults, the first: {self.faults[0]}")
        self.run("verify", "out")
        if (self.out / "overview.png").exists():
            raise Failed("a picture of an earlier result is still there")
        self.check_nothing_left()
        print(f"{WRITERS} writers of {self.rounds} results each: {self.reads} times read, "
              "always one whole result")

    def check_nothing_left(self):
        left = {path.name for path in self.folder.iterdir()}
        left -= {"out", "small.toml", ".retrysim-runs"}
        left |= {path.name for path in self.out.iterdir() if path.name.startswith(".")}
        if left:
            raise Failed(f"left behind: {left}")

    def killed_writers(self):
        """Killed at any moment they leave the old result or the new one, and no litter for long. In
        a folder with things of the user's it is the next one that restores the result, be it
        refused itself."""
        for i in range(self.rounds):
            process = subprocess.Popen(
                [self.program, "run", "small.toml", "--seed", str(i), "--out", "out", "--force",
                 "--quiet"], cwd=self.folder)
            try:
                process.wait(timeout=0.004 * (i + 1))
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
            if (self.out / "notes.txt").exists():
                self.check_notes()
                self.run("run", "small.toml", "--seed", "777", "--out", "out", expected=4)
            self.run("verify", "out")
        self.run("run", "small.toml", "--out", "out", "--force", "--quiet")
        self.check_nothing_left()
        print(f"{self.rounds} writers killed: always one whole result")

    def damaged_shards(self):
        """A flipped bit anywhere in a shard is found, by merge and by verify."""
        for i in (1, 2):
            self.run("sweep", "small.toml", "--vary", "service.api.servers=1:4:1", "--shard",
                     f"{i}/2", "--out", f"shard-{i}", "--quiet")
        self.run("merge", "shard-1", "shard-2", "--out", "merged", "--quiet")
        self.run("verify", "merged", "shard-1", "shard-2")
        whole = self.folder / "whole-shard"
        shutil.copytree(self.folder / "shard-2", whole)
        for name in sorted(os.listdir(whole)):
            content = (whole / name).read_bytes()
            for at in (0, len(content) // 3, len(content) // 2, len(content) - 1):
                damaged = bytearray(content)
                damaged[at] ^= 4
                (self.folder / "shard-2" / name).write_bytes(damaged)
                for command in (["verify", "shard-1", "shard-2"],
                                ["merge", "shard-1", "shard-2", "--out", "never"]):
                    errors = self.run(*command, expected=3).stderr
                    if f"shard-2/{name}" not in errors:
                        raise Failed(f"{command} does not name {name}, but says: {errors}")
            (self.folder / "shard-2" / name).write_bytes(content)
        self.run("verify", "shard-2")
        print("flipped bits: found, each")

    def senseless_json(self):
        """Whatever JSON a result.json is made to hold: an error with its name, exit status 3."""
        folder = self.folder / "shard-2"
        good = json.loads((folder / "result.json").read_text())
        texts = ["", "[]", "null", "{", '"text"', "[" * 100000, '{"a":' * 100000, "{}", "\0"]
        values = ([], {}, None, -1, "x", 1e300, [[[]]], True, {"a": {"b": 1}})
        keys = (*good, "sweep/shard", "sweep/points", "sweep/shard/index", "sweep/shard/count",
                "sweep/points_that_fail", "checksums/summary.csv", "files")
        for i, key in enumerate(keys):
            for value in values[i % self.every::self.every]:
                changed = json.loads(json.dumps(good))
                *path, last = key.split("/")
                place = changed
                for name in path:
                    place = place[name]
                place[last] = value
                texts.append(json.dumps(changed) if key == "crc32_of_this_file" else
                             sealed(changed))
        content = (folder / "result.json").read_bytes()
        statuses = set()
        for text in texts:
            (folder / "result.json").write_text(text)
            for command in (["merge", "shard-1", "shard-2", "--out", "never", "--force"],
                            ["verify", "shard-2"],
                            ["sweep", "small.toml", "--vary", "service.api.servers=1:4:1",
                             "--shard", "2/2", "--out", "shard-2", "--max-events", "1"]):
                done = subprocess.run([self.program, *command], cwd=self.folder,
                                      capture_output=True, text=True, check=False)
                statuses.add((command[0], done.returncode))
                allowed = {"merge": (0, 1, 3), "verify": (0, 3), "sweep": (0, 1, 4, 5)}[command[0]]
                if done.returncode not in allowed or "json.exception" in done.stderr:
                    raise Failed(f"{command} with {text[:300]}: exit status {done.returncode}:\n"
                                 f"{done.stderr}")
        (folder / "result.json").write_bytes(content)
        if ("merge", 3) not in statuses or ("verify", 3) not in statuses:
            raise Failed(f"nothing was found to be wrong: {statuses}")
        print(f"{len(texts)} damaged result.json: no one was believed")


def checks(program, folder, arguments):
    checker = Replacement(program, folder, arguments.rounds, arguments.every)
    return [checker.concurrent_writers, checker.killed_writers, checker.writers_beside_notes,
            checker.killed_writers, checker.damaged_shards, checker.senseless_json]


if __name__ == "__main__":
    main(__doc__, checks, rounds=15, every=1)
