#!/usr/bin/env python3
"""Whatever the program says in words, it says without an exponent: 32,400, never 3.24e+04. All
commands are tried on scenarios with figures of every size, and `check`, `predict`, `run` and
`report` on every N-th of the shipped ones.

Usage: plain_numbers_test.py --program PATH --root PATH [--every N]

SPDX-License-Identifier: MIT
"""

import argparse
import json
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

EXPONENT = re.compile(r"(?<![\w.])[0-9]+(\.[0-9]+)?[eE][+-]?[0-9]+(?!\w)")

# A busy service of a large company: a million requests a second.
BUSY = """
name = "busy"
duration = "0.12s"
replications = 2
interval = "5ms"
recovery = { hold = "20ms" }
[service.api]
servers = 3000
service_time = { distribution = "exponential", mean = "2ms" }
throttle = { rate = 900000, burst = 200000 }
errors = { internal = 0.000000001 }
[fault.outage]
start = "0.03s"
duration = "20ms"
capacity = 0.1
[client.web]
count = 20000
arrivals = { process = "poisson", total_rate = 1000000 }
attempt_timeout = "50ms"
retry = { mode = "custom", max_attempts = 3, backoff = { base = "20ms" } }
"""

# A request every three hours, for two years; one server, which is always idle.
IDLE = """
name = "idle"
duration = "730d"
replications = 3
interval = "10d"
recovery = { hold = "20d" }
[service.api]
servers = 1
service_time = { distribution = "exponential", mean = "1ms" }
errors = { internal = 0.000000001 }
[fault.outage]
start = "100d"
duration = "40d"
unreachable = true
[client.web]
arrivals = { process = "poisson", total_rate = 0.0001 }
attempt_timeout = "1s"
retry = { mode = "standard" }
"""

# Rare collapses.
RARE = """
name = "rare"
duration = "100s"
[service.s]
servers = 1
service_time = { distribution = "exponential", mean = "1s" }
[client.c]
arrivals = { process = "poisson", total_rate = 0.5 }
attempt_timeout = "none"
retry.mode = "none"
"""

MONTHS = """
name = "months"
duration = "120s"
recovery = { hold = "5s" }
[service.api]
servers = "unlimited"
service_time = "1ms"
[fault.outage]
mtbf = "6h"
length = { distribution = "exponential", mean = "90s" }
unreachable = true
[client.web]
arrivals = { process = "poisson", total_rate = 5 }
attempt_timeout = "100ms"
retry = { mode = "none" }
[slo.web]
share = 0.99
"""

ZOMBIE = """
name = "zombie"
duration = "1s"
interval = "20ms"
replications = 6
recovery = { hold = "0.2s" }
[service.api]
servers = 10
service_time = { distribution = "exponential", mean = "0.1ms" }
[fault.outage]
start = "0.2s"
duration = "10ms"
capacity = 0
[client.web]
arrivals = { process = "poisson", total_rate = 60000 }
attempt_timeout = "5ms"
retry = { mode = "custom", max_attempts = 3, delays = [0] }
"""

LOG = "time,duration_s,status\n" + "".join(
    f"{1.7e9 + i * 0.00002:.5f},0.0001,{503 if i % 5000 == 0 else 200}\n" for i in range(20000))

RATE = "client.web.arrivals.total_rate"
# Each with its scenario, and the folder of a result whose page is read, too.
COMMANDS = {
    "compare": ["busy", "--vary", "client.web.retry.max_attempts=1,3", "--metrics",
                "requests,attempts,success_rate,goodput"],
    "compare idle": ["idle", "--vary", "service.api.errors.internal=0.000001,0.0000001"],
    "choose": ["zombie", "--vary", "client.web.retry.max_attempts=1,3", "--minimize", "attempts",
               "--max-replications", "10"],
    "tip": ["zombie", "--trigger", "fault.outage.duration=1us:100ms"],
    "tip rate": ["busy", "--trigger", f"{RATE}=100000:2000000"],
    "tip curve": ["zombie", "--trigger", "fault.outage.duration=1us:100ms", "--vary",
                  f"{RATE}=50000,80000"],
    "tip loop": ["zombie", "--hysteresis", f"{RATE}=20000:120000:20000", "--dwell", "100ms"],
    "size": ["service.api.servers=1000:100000", "busy", "--set", f"{RATE}=1500000"],
    "size timeout": ["client.web.attempt_timeout=1us:1s", "zombie", "--set", "replications=20"],
    "advise": ["zombie"],
    "advise idle": ["idle"],
    "sweep": ["busy", "--vary", f"{RATE}=10000,1000000", "--replications", "1"],
    "sweep idle": ["idle", "--vary", f"{RATE}=0.00001:0.001:*3", "--replications", "1"],
    "risk": ["rare", "--event", "service.s.in_system>=30", "--precision", "1", "--effort", "2e7",
             "--vary", "service.s.service_time.mean=1s,0.2s"],
    "risk once": ["rare", "--event", "service.s.in_system>=24", "--precision", "1", "--set",
                  "client.c.arrivals.total_rate=0.3"],
    "risk months": ["months", "--event", "slo.web.budget>0.1", "--per", "5d", "--precision", "2"],
    "sdk-upgrade": ["botocore", "--rate", "20000", "--service-time", "1ms", "--servers", "40",
                    "--attempt-timeout", "1s", "--replications", "2"],
    "fit": ["log.csv"],
}
# What is wrong, and what is said without a result.
OTHERS = [
    ["risk", "months.toml", "--event", "slo.web.budget>1", "--per", "30d", "--effort", "1e6"],
    ["map", "busy.toml", "--vary", f"{RATE}=100000:2000000:500000", "--vary",
     "client.web.retry.max_attempts=1,3"],
    ["init", "--rate", "1000000", "--service-time", "1us", "--client", "botocore", "--out",
     "small.toml"],
    ["init", "--rate", "0.00001", "--service-time", "30h", "--client", "botocore", "--out",
     "large.toml"],
    ["check", "busy.toml", "--set", "client.web.count=5000000", "--set", f"{RATE}=100000000"],
    ["run", "busy.toml", "--set", f"{RATE}=-0.000000001"],
    ["run", "busy.toml", "--set", "service.api.errors.internal=1.0000001"],
    ["run", "busy.toml", "--set", "client.web.retry.rate_limit.min_rate=0"],
    ["run", "busy.toml", "--max-events", "100000"],
    ["run", "busy.toml", "--max-memory", "1M"],
    ["run", "idle.toml", "--set", "interval=1ms"],
    ["list", "keys"], ["list", "metrics"], ["list", "sdks"], ["list", "defects"],
]


def words_of(value):
    """The texts of a JSON value that are words: TOML, names and numbers are not."""
    if isinstance(value, dict):
        for name, inner in value.items():
            if name not in ("keys", "toml", "scenario", "files"):
                yield from words_of(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from words_of(inner)
    elif isinstance(value, str) and " " in value:
        yield value


class PlainNumbers(unittest.TestCase):
    program = root = ""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        for name, text in [("busy", BUSY), ("idle", IDLE), ("rare", RARE), ("months", MONTHS),
                           ("zombie", ZOMBIE)]:
            (self.folder / f"{name}.toml").write_text(text, encoding="utf-8")
        (self.folder / "log.csv").write_text(LOG, encoding="utf-8")

    def no_exponent(self, text, of):
        for line in text.splitlines():
            # A value that may be copied into a scenario or a command is as these take it.
            words = re.sub(r"[\w.\]]+ ?[=<>]+ ?[0-9.e+-]+", "", line)
            if EXPONENT.search(words):
                self.fail(f"{of}: {line}")

    def said(self, *arguments, statuses=(0, 1)):
        """What is printed has no number with an exponent."""
        done = subprocess.run([self.program, *arguments], capture_output=True, text=True,
                              check=False, timeout=300, cwd=self.folder)
        self.assertIn(done.returncode, statuses, f"{arguments}: {done.stderr}")
        self.assertNotEqual(done.stdout + done.stderr, "")
        self.no_exponent(done.stdout + done.stderr, arguments)

    def page(self, folder):
        """The words of a page have none, either."""
        self.said("report", folder, "--out", "page.html", "--force")
        html = (self.folder / "page.html").read_text(encoding="utf-8")
        texts = [text for data in re.findall(r'<script type="application/json" id="result-[0-9]+">'
                                             r"(.*?)</script>", html, re.DOTALL)
                 for text in words_of(json.loads(data))]
        self.assertNotEqual(texts, [])
        self.no_exponent("\n".join(texts), f"page of {folder}")

    def test_shipped_scenarios(self):
        for path in sorted((Path(self.root) / "scenarios").glob("*.toml"))[::self.every]:
            with self.subTest(scenario=path.stem):
                self.said("check", path)
                self.said("predict", path)
                self.said("run", path, "--replications", "1", "--out", path.stem)
                self.page(path.stem)

    def test_extreme_scenarios(self):
        for name in ("busy", "idle", "zombie", "rare"):
            with self.subTest(scenario=name):
                self.said("check", f"{name}.toml")
                self.said("predict", f"{name}.toml")
                self.said("run", f"{name}.toml", "--out", name)
                self.page(name)

    def test_experiments(self):
        for name, arguments in COMMANDS.items():
            with self.subTest(command=name):
                scenario = [f"{word}.toml" if (self.folder / f"{word}.toml").exists() else word
                            for word in arguments]
                folder = name.replace(" ", "-")
                self.said(name.split()[0], *scenario, "--out", folder)
                self.page(folder)

    def test_other_words(self):
        for arguments in OTHERS:
            with self.subTest(command=arguments):
                self.said(*arguments, statuses=range(6))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", required=True)
    parser.add_argument("--root", required=True)
    parser.add_argument("--every", type=int, default=1)
    options, rest = parser.parse_known_args()
    PlainNumbers.program, PlainNumbers.root = options.program, options.root
    PlainNumbers.every = options.every
    unittest.main(argv=[sys.argv[0], *rest])
