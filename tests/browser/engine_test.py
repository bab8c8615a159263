#!/usr/bin/python3
"""The engine as WebAssembly answers as the engine of this machine does: every shipped scenario has
the same events and the same figures, mistakes the same words.

Usage: engine_test.py --native ASK_ENGINE --engine RETRYSIM.wasm --source ROOT.
Exit status 77 if there is no Node.js, or scripts/page has not built the engine from these sources.

SPDX-License-Identifier: MIT
"""

import argparse
import json
import math
import pathlib
import re
import shutil
import subprocess
import sys
import unittest

from built import need, skip

HERE = pathlib.Path(__file__).resolve().parent
# Of intervals and tests, which use the C library's mathematical functions.
MOST_RELATIVE_DIFFERENCE = 1e-9
HOSTILE = ["", "= =", "<script>alert(1)</script>", "\x00", "[" * 100_000,
           "name = \"" + "x" * 1_000_000, "duration = \"1e400s\"",
           "name=\"a\"\nduration=\"10s\"\n[service.a]\nservers=1\nservice_time=\"1ms\"\n"
           "[client.c]\ncalls=\"b\"\narrivals={process=\"poisson\",total_rate=1}\n"]


class Engine:
    def __init__(self, command):
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        text=True)

    def ask(self, request):
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            raise AssertionError("the engine has ended")
        return json.loads(line)

    def end(self):
        self.process.stdin.close()
        self.process.stdout.close()
        self.process.wait()


def scenarios(root):
    for path in sorted((root / "scenarios").glob("*.toml")):
        text = path.read_text(encoding="utf-8")
        files = {name: (path.parent / name).read_text(encoding="utf-8")
                 for name in set(re.findall(r'"([\w.-]+\.csv)"', text))}
        yield path.stem, {"toml": text, "files": files}


def differences(one, other, place=""):
    """The places where two JSON values differ by more than last digits."""
    if isinstance(one, dict) and isinstance(other, dict) and list(one) == list(other):
        return [d for name in one for d in differences(one[name], other[name], f"{place}.{name}")]
    if isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        return [d for i, (a, b) in enumerate(zip(one, other))
                for d in differences(a, b, f"{place}[{i}]")]
    numbers = all(isinstance(x, (int, float)) and not isinstance(x, bool) for x in (one, other))
    if numbers and math.isclose(one, other, rel_tol=MOST_RELATIVE_DIFFERENCE):
        return []
    return [] if one == other else [f"{place}: {one} here, {other} in WebAssembly"]


class EngineTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.native = Engine([OPTIONS.native])
        cls.browser = Engine([NODE, "--no-warnings", HERE / "ask_engine.mjs", OPTIONS.engine,
                              OPTIONS.source / "sim/report/page/engine.js"])

    @classmethod
    def tearDownClass(cls):
        cls.native.end()
        cls.browser.end()

    def check(self, request):
        here, there = self.native.ask(request), self.browser.ask(request)
        self.assertEqual(list(here), list(there))
        self.assertEqual(differences(here, there), [])
        return here, there

    def test_every_shipped_scenario_has_the_same_events_and_figures(self):
        equal = 0
        for name, scenario in scenarios(OPTIONS.source):
            with self.subTest(name):
                here, there = self.check({"ask": "run", "edits": ["replications=1"], **scenario})
                self.assertIn("fingerprint", here, here.get("errors") or here.get("failure"))
                self.assertEqual(here["fingerprint"], there["fingerprint"])
                equal += here == there
        print(f"answers equal to the last digit: {equal}", file=sys.stderr)

    def test_several_replications_give_the_same_intervals(self):
        scenario = dict(scenarios(OPTIONS.source))["deploy"]
        here, _ = self.check({"ask": "run", "edits": ["replications=5"], **scenario})
        self.assertEqual(here["result"]["replications"], 5)

    def test_comparisons_are_the_same(self):
        scenario = dict(scenarios(OPTIONS.source))["deploy"]
        here, _ = self.check({"ask": "compare", "edits": ["replications=2"],
                              "vary": ["client.web.retry.mode=standard,legacy"], **scenario})
        names = [one["variant"] for one in here["result"]["variants"]]
        self.assertEqual(names, ["mode=standard", "mode=legacy"])

    def test_files_are_the_same(self):
        scenario = dict(scenarios(OPTIONS.source))["deploy"]
        request = {"ask": "files", "edits": ["replications=1"], **scenario}
        here, there = (engine.ask(request)["files"] for engine in (self.native, self.browser))
        self.assertEqual(list(here), list(there))
        self.assertIn("summary.csv", here)
        for name in here:
            split = [re.split("[,\n]", files[name]) for files in (here, there)]
            self.assertEqual(len(split[0]), len(split[1]), name)
            for one, other in zip(*split):
                if one != other:
                    self.assertTrue(math.isclose(float(one), float(other),
                                                 rel_tol=MOST_RELATIVE_DIFFERENCE), name)

    def test_descriptions_are_the_same(self):
        scenario = dict(scenarios(OPTIONS.source))["deploy"]
        here, _ = self.check({"ask": "describe", **scenario})
        self.assertGreater(len(here["keys"]), 50)

    def test_mistakes_and_hostile_texts_are_answered_in_the_same_words(self):
        for text in HOSTILE:
            with self.subTest(text[:40]):
                here, _ = self.check({"ask": "run", "toml": text})
                self.assertEqual(list(here), ["errors"])
                self.assertGreater(len(here["errors"]), 0)

    def test_there_are_no_files(self):
        scenario = dict(scenarios(OPTIONS.source))["traffic-trace"]
        here, _ = self.check({"ask": "run", "toml": scenario["toml"]})
        self.assertIn("is not among the files", here["errors"][0]["message"])

    def test_limits_end_a_run_and_the_engine_goes_on(self):
        scenario = dict(scenarios(OPTIONS.source))["deploy"]
        here, _ = self.check({"ask": "run", "max_events": 1000, **scenario})
        self.assertIn("events", here["failure"])
        here, _ = self.check({"ask": "run", "edits": ["client.*.count=1000000000"], **scenario})
        self.assertIn("failure", here)
        here, _ = self.check({"ask": "run", "edits": ["replications=1"], **scenario})
        self.assertIn("result", here)


parser = argparse.ArgumentParser()
parser.add_argument("--native", required=True)
parser.add_argument("--engine", required=True, type=pathlib.Path)
parser.add_argument("--source", required=True, type=pathlib.Path)
OPTIONS, rest = parser.parse_known_args()
NODE = shutil.which("node")
if NODE is None:
    skip("there is no Node.js")
need(OPTIONS.engine, OPTIONS.source)
unittest.main(argv=[sys.argv[0], *rest])
