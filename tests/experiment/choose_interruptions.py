#!/usr/bin/python3
"""Races of policies that are killed, stopped and timed out, and then resumed, end with the same
bytes as one that nothing happened to.

    choose_interruptions.py --program PROGRAM

Processes are stopped when the journal has reached a length, not after a time. Exit status: 0 as it
should be, 1 not.

SPDX-License-Identifier: MIT
"""

import signal

from harness import LIMIT_HIT, OUTPUT_FAILED, Failed, JournaledCommand, main

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
RACE = ("choose", "small.toml", "--vary", "client.web.retry.max_attempts=2,3,4,5", "--minimize",
        "amplification", "--indifference", "0.004")


class Race(JournaledCommand):
    def interruptions(self):
        """Killed, asked to stop and out of time, one after the other, in one race."""
        size = 4000
        for number, jobs in ((signal.SIGKILL, "1"), (signal.SIGTERM, "3"), (signal.SIGKILL, "2")):
            self.stop_at("stopped", size, number, "--resume", "--jobs", jobs)
            size = self.journal("stopped").stat().st_size + 4000
        if "--timeout" not in self.expect("stopped", LIMIT_HIT, "--resume", "--timeout", "0.001"):
            raise Failed("nothing about --timeout")
        if "unfinished race" not in self.expect("stopped", OUTPUT_FAILED):
            raise Failed("an unfinished race was replaced")
        errors = self.expect("stopped", OUTPUT_FAILED, "--resume", "--confidence", "0.9")
        if "differ in --confidence" not in errors:
            raise Failed(f"another race went on from the journal:\n{errors}")
        journal = self.journal("stopped")
        journal.write_bytes(journal.read_bytes()[:-5])
        errors = self.expect("stopped", 0, "--resume")
        if "cut off or damaged" not in errors or "note: resuming with " not in errors:
            raise Failed(f"nothing about what was kept in:\n{errors}")
        self.check_same("stopped")
        if "already complete" not in self.expect("stopped", 0, "--resume"):
            raise Failed("a finished race was not found to be so")
        print("stopped, cut off and resumed: same files")


if __name__ == "__main__":
    main(__doc__, lambda program, folder, _: [Race(program, folder, SCENARIO, *RACE).interruptions])
