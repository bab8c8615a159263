#!/usr/bin/python3
"""Searches for tipping points that are killed, stopped, timed out and resumed, also from journals
that are cut off or damaged, end with the same bytes as one that nothing happened to.

    tip_interruptions.py --program PROGRAM [--seed N]

Processes are stopped when the journal has reached a length, not after a time. Exit status: 0 as it
should be, 1 not.

SPDX-License-Identifier: MIT
"""

import argparse
import os
import pathlib
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

INTERRUPTED = 130
LIMIT_HIT = 5
OUTPUT_FAILED = 4
SCENARIO = """
name = "small"
duration = "60s"
replications = 6
interval = "100ms"
drain = false
recovery = { share = 0.8, hold = "3s", window = "2s" }
[service.api]
service_time = { distribution = "exponential", mean = "20ms" }
[fault.outage]
start = "8s"
duration = "1s"
capacity = 0
[client.web]
count = 10
arrivals = { process = "poisson", total_rate = 20 }
attempt_timeout = "1s"
retry = { mode = "custom", max_attempts = 3, backoff.base = "0ms", backoff.cap = "0ms" }
"""
TRIGGER = ("--trigger", "fault.outage.duration=0.05s:3s", "--tolerance", "0.3")
SEARCHES = {
    "one": TRIGGER,
    "curve": (*TRIGGER, "--vary", "client.web.retry.max_attempts=1,3"),
}


class Failed(Exception):
    """The search did not do what it should."""


class Checker:
    def __init__(self, program, folder, name, seed):
        self.program, self.folder, self.arguments = program, folder, SEARCHES[name]
        self.random = random.Random(seed)
        (folder / "small.toml").write_text(SCENARIO)
        self.expect("whole", 0, "--jobs", "2")
        self.whole = files_of(folder / "whole")

    def command(self, out, *more):
        return [self.program, "tip", "small.toml", *self.arguments, "--quiet", "--out", out, *more]

    def expect(self, out, status, *more):
        """The standard error of a search that ends with this status."""
        done = subprocess.run(self.command(out, *more), cwd=self.folder, capture_output=True,
                              text=True, check=False)
        if done.returncode != status:
            raise Failed(f"{' '.join(self.command(out, *more))}\nexit status {done.returncode}, "
                         f"expected {status}:\n{done.stderr}")
        return done.stderr

    def stop_at(self, out, size, number, *more):
        """Sends a signal when the journal is as long; whether the search had not ended before."""
        journal = self.folder / out / "tip.journal"
        process = subprocess.Popen(self.command(out, *more), cwd=self.folder,
                                   stderr=subprocess.PIPE, text=True)
        while process.poll() is None:
            if journal.exists() and journal.stat().st_size >= size:
                process.send_signal(number)
                break
            time.sleep(0.002)
        self.errors = process.communicate(timeout=600)[1]
        return process.returncode in (-number, INTERRUPTED)

    def check_same(self, out):
        files = files_of(self.folder / out)
        for name in sorted({*files, *self.whole}):
            if files.get(name) != self.whole.get(name):
                raise Failed(f"{out}/{name} differs from that of the undisturbed search")

    def interruptions(self):
        """Killed, asked to stop and out of time, one after the other, in one search."""
        kept = 0
        for number, records in ((signal.SIGKILL, 2), (signal.SIGTERM, 2), (signal.SIGKILL, 1)):
            if not self.stop_at("stopped", self.head() + 60 * records + kept, number, "--resume",
                                "--jobs", str(self.random.choice((1, 3)))):
                raise Failed(f"the search ended before it was stopped:\n{self.errors}")
            if number == signal.SIGTERM and "--resume continues the search" not in self.errors:
                raise Failed(f"nothing about --resume in:\n{self.errors}")
            kept = (self.folder / "stopped" / "tip.journal").stat().st_size - self.head()
        errors = self.expect("stopped", LIMIT_HIT, "--resume", "--timeout", "0.001")
        if "--timeout" not in errors:
            raise Failed(f"nothing about --timeout in:\n{errors}")
        shutil.copytree(self.folder / "stopped", self.folder / "left")
        if "unfinished search" not in self.expect("stopped", OUTPUT_FAILED):
            raise Failed("an unfinished search was replaced")
        errors = self.expect("stopped", 0, "--resume")
        found = re.search(r"resuming with (\d+) replications", errors)
        if found is None or int(found.group(1)) < 4:
            raise Failed("what had been finished was not there any more")
        self.check_same("stopped")
        if "already complete" not in self.expect("stopped", 0, "--resume"):
            raise Failed("a finished search was not found to be so")

    def head(self):
        """The length of a journal without entries: up to the first record."""
        if not hasattr(self, "head_bytes"):
            out = "headed"
            self.stop_at(out, 1, signal.SIGKILL)
            bytes_ = (self.folder / out / "tip.journal").read_bytes()
            start = bytes_.index(b"\n") + 1
            self.head_bytes = start + 8 + int.from_bytes(bytes_[start:start + 4], "little")
        return self.head_bytes

    def damage(self):
        """What is cut off or changed in a journal is computed again."""
        journal = (self.folder / "left" / "tip.journal").read_bytes()
        inside = self.random.randrange(self.head() + 1, len(journal))
        changed = bytearray(journal)
        changed[inside] ^= 0x40
        for name, content in {"cut": journal[:inside], "changed": bytes(changed),
                              "head": journal[:self.head() - 3], "empty": b"",
                              "more": journal + b"\0" * 11}.items():
            (self.folder / name).mkdir()
            (self.folder / name / "tip.journal").write_bytes(content)
            errors = self.expect(name, 0, "--resume", "--jobs", "2")
            if name in ("changed", "more") and "cut off or damaged" not in errors:
                raise Failed(f"{name}: nothing about the damage in:\n{errors}")
            self.check_same(name)

    def other_questions(self):
        """A journal of another search is refused, and one of a sweep is no matter of a search."""
        for more, difference in ((("--seed", "2"), "the resolved scenario"),
                                 (("--vary", "service.api.servers=1,2"), "--vary"),
                                 (("--replications", "4"), "the resolved scenario")):
            errors = self.expect("left", OUTPUT_FAILED, "--resume", *more)
            if "different experiment" not in errors or difference not in errors:
                raise Failed(f"{more}: {difference} is not named in:\n{errors}")
        self.expect("left", 0, "--force", "--jobs", "2")
        self.check_same("left")


def files_of(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", required=True)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    for name in SEARCHES:
        with tempfile.TemporaryDirectory(prefix="retrysim-tip-") as folder:
            try:
                checker = Checker(os.path.abspath(arguments.program), pathlib.Path(folder), name,
                                  arguments.seed)
                for check in (checker.interruptions, checker.damage, checker.other_questions):
                    check()
            except Failed as failure:
                print(f"failed: {name}: {failure}")
                return 1
        print(f"{name}: stopped, damaged and resumed: same files")
    return 0


if __name__ == "__main__":
    sys.exit(main())
