#!/usr/bin/python3
"""Searches for tipping points that are killed, stopped, timed out and resumed, also from journals
that are cut off or damaged, end with the same bytes as one that nothing happened to.

    tip_interruptions.py --program PROGRAM [--seed N]

Processes are stopped when the journal has reached a length, not after a time. Exit status: 0 as it
should be, 1 not.

SPDX-License-Identifier: MIT
"""

import random
import re
import shutil
import signal

from harness import LIMIT_HIT, OUTPUT_FAILED, Failed, JournaledCommand, main

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
TRIGGER = ("tip", "small.toml", "--trigger", "fault.outage.duration=0.05s:3s", "--tolerance", "0.3")
SEARCHES = {
    "one": TRIGGER,
    "curve": (*TRIGGER, "--vary", "client.web.retry.max_attempts=1,3"),
}


class Search(JournaledCommand):
    def __init__(self, program, folder, name, seed):
        folder = folder / name
        folder.mkdir()
        super().__init__(program, folder, SCENARIO, *SEARCHES[name])
        self.name, self.random = name, random.Random(seed)

    def checks(self):
        self.interruptions()
        self.damage()
        self.other_questions()
        print(f"{self.name}: stopped, damaged and resumed: same files")

    def interruptions(self):
        """Killed, asked to stop and out of time, one after the other, in one search."""
        kept = 0
        for number, records in ((signal.SIGKILL, 2), (signal.SIGTERM, 2), (signal.SIGKILL, 1)):
            self.stop_at("stopped", self.head() + 60 * records + kept, number, "--resume", "--jobs",
                         str(self.random.choice((1, 3))))
            kept = self.journal("stopped").stat().st_size - self.head()
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
            bytes_ = self.journal(out).read_bytes()
            start = bytes_.index(b"\n") + 1
            self.head_bytes = start + 8 + int.from_bytes(bytes_[start:start + 4], "little")
        return self.head_bytes

    def damage(self):
        """What is cut off or changed in a journal is computed again."""
        journal = self.journal("left").read_bytes()
        inside = self.random.randrange(self.head() + 1, len(journal))
        changed = bytearray(journal)
        changed[inside] ^= 0x40
        for name, content in {"cut": journal[:inside], "changed": bytes(changed),
                              "head": journal[:self.head() - 3], "empty": b"",
                              "more": journal + b"\0" * 11}.items():
            (self.folder / name).mkdir()
            self.journal(name).write_bytes(content)
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


if __name__ == "__main__":
    main(__doc__, lambda program, folder, arguments: (
        Search(program, folder, name, arguments.seed).checks for name in SEARCHES), seed=1)
