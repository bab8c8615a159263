#!/usr/bin/python3
"""Races of policies that are killed, stopped and timed out, and then resumed, end with the same
bytes as one that nothing happened to.

    choose_interruptions.py --program PROGRAM

Processes are stopped when the journal has reached a length, not after a time. Exit status: 0 as it
should be, 1 not.

SPDX-License-Identifier: MIT
"""

import argparse
import os
import pathlib
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
duration = "100s"
replications = 10
[service.api]
servers = 2
service_time = { distribution = "exponential", mean = "20ms" }
queue = { capacity = 50 }
[fault.outage]
start = "1s"
duration = "300ms"
capacity = 0
[client.web]
count = 20
arrivals = { process = "poisson", total_rate = 60 }
attempt_timeout = "200ms"
retry = { mode = "custom", max_attempts = 3, backoff = { base = "50ms", cap = "1s" } }
"""
RACE = ("--vary", "client.web.retry.max_attempts=2,3,4,5", "--minimize", "amplification",
        "--indifference", "0.004")


class Failed(Exception):
    """The race did not do what it should."""


class Checker:
    def __init__(self, program, folder):
        self.program, self.folder = program, folder
        (folder / "small.toml").write_text(SCENARIO)
        self.expect("whole", 0, "--jobs", "2")

    def command(self, out, *more):
        return [self.program, "choose", "small.toml", *RACE, "--quiet", "--out", out, *more]

    def expect(self, out, status, *more):
        """The standard error of a race that ends with this status."""
        done = subprocess.run(self.command(out, *more), cwd=self.folder, capture_output=True,
                              text=True, check=False)
        if done.returncode != status:
            raise Failed(f"{' '.join(self.command(out, *more))}\nexit status {done.returncode}, "
                         f"expected {status}:\n{done.stderr}")
        return done.stderr

    def stop_at(self, size, number, *more):
        """Sends a signal when the journal is as long; gives the errors and the new length."""
        journal = self.folder / "stopped" / "choose.journal"
        process = subprocess.Popen(self.command("stopped", *more), cwd=self.folder,
                                   stderr=subprocess.PIPE, text=True)
        while process.poll() is None:
            if journal.exists() and journal.stat().st_size >= size:
                process.send_signal(number)
                break
            time.sleep(0.001)
        errors = process.communicate(timeout=600)[1]
        if process.returncode not in (-number, INTERRUPTED):
            raise Failed(f"the race ended before it was stopped:\n{errors}")
        return errors, journal.stat().st_size

    def interruptions(self):
        """Killed, asked to stop and out of time, one after the other, in one race."""
        size = 4000
        for number, jobs in ((signal.SIGKILL, "1"), (signal.SIGTERM, "3"), (signal.SIGKILL, "2")):
            errors, length = self.stop_at(size, number, "--resume", "--jobs", jobs)
            if number == signal.SIGTERM and "--resume continues the race" not in errors:
                raise Failed(f"nothing about --resume in:\n{errors}")
            size = length + 4000
        if "--timeout" not in self.expect("stopped", LIMIT_HIT, "--resume", "--timeout", "0.001"):
            raise Failed("nothing about --timeout")
        if "unfinished race" not in self.expect("stopped", OUTPUT_FAILED):
            raise Failed("an unfinished race was replaced")
        errors = self.expect("stopped", OUTPUT_FAILED, "--resume", "--confidence", "0.9")
        if "differ in --confidence" not in errors:
            raise Failed(f"another race went on from the journal:\n{errors}")
        journal = self.folder / "stopped" / "choose.journal"
        journal.write_bytes(journal.read_bytes()[:-5])
        errors = self.expect("stopped", 0, "--resume")
        if "cut off or damaged" not in errors or "note: resuming with " not in errors:
            raise Failed(f"nothing about what was kept in:\n{errors}")
        self.check_same("stopped")
        if "already complete" not in self.expect("stopped", 0, "--resume"):
            raise Failed("a finished race was not found to be so")

    def check_same(self, out):
        whole, files = files_of(self.folder / "whole"), files_of(self.folder / out)
        for name in sorted({*files, *whole}):
            if files.get(name) != whole.get(name):
                raise Failed(f"{out}/{name} differs from that of the undisturbed race")


def files_of(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", required=True)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="retrysim-choose-") as folder:
        try:
            Checker(os.path.abspath(arguments.program), pathlib.Path(folder)).interruptions()
        except Failed as failure:
            print(f"failed: {failure}")
            return 1
    print("stopped, cut off and resumed: same files")
    return 0


if __name__ == "__main__":
    sys.exit(main())
