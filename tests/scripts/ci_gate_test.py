#!/usr/bin/python3
"""scripts/ci_gate in another repository: passes, fails, compares with what was kept, and takes a
retry configuration. The program is given; that it is built is what scripts/run shows.

SPDX-License-Identifier: MIT
"""

import argparse
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree

GATE = pathlib.Path(__file__).resolve().parents[2] / "scripts/ci_gate"
SCENARIO = """name = "shop"
duration = "30s"
replications = 5
[service.api]
servers = 4
service_time = { distribution = "exponential", mean = "20ms" }
[client.web]
arrivals = { process = "poisson", total_rate = 100 }
retry = { mode = "standard" }
[expect.works]
metric = "success_rate"
at_least = 0.99
"""
RESILIENCE4J = """resilience4j.retry:
  instances:
    orders: {max-attempts: 3}
    stock: {max-attempts: 2}
"""
ENVOY = """retry_policy:
  retry_on: "5xx"
  num_retries: 1
"""
program = None


class Gate(unittest.TestCase):
    def setUp(self):
        self.temporary = tempfile.TemporaryDirectory(prefix="retrysim-gate-")
        self.addCleanup(self.temporary.cleanup)
        self.folder = pathlib.Path(self.temporary.name)
        (self.folder / "ops").mkdir()
        (self.folder / "ops/shop.toml").write_text(SCENARIO)
        (self.folder / "ops/envoy.yaml").write_text(ENVOY)

    def gate(self, *arguments, github=False):
        environment = {**os.environ, "RETRYSIM_PROGRAM": program,
                       "RETRYSIM_CACHE": str(self.folder / "cache"),
                       "GITHUB_ACTIONS": "true" if github else ""}
        return subprocess.run([GATE, *arguments], cwd=self.folder, env=environment, text=True,
                              capture_output=True, check=False)

    def cases(self):
        """The names of the tests of the JUnit file that pass, and of those that fail."""
        tree = xml.etree.ElementTree.parse(self.folder / "retrysim-results/retrysim.xml")
        passed, failed = [], []
        for case in tree.iter("testcase"):
            (failed if case.find("failure") is not None else passed).append(case.get("name"))
        return passed, failed

    def test_passes_and_leaves_a_page_and_a_junit_file(self):
        done = self.gate("ops/shop.toml")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("ci_gate: passed: retrysim-results/report.html", done.stderr)
        self.assertTrue((self.folder / "retrysim-results/report.html").is_file())
        self.assertEqual(self.cases(), (["works"], []))

    def test_fails_with_an_annotation_of_the_line(self):
        done = self.gate("ops/shop.toml", "--", "--set", "service.api.errors.invalid=0.1",
                         github=True)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("::error file=ops/shop.toml,line=10,title=shop", done.stderr)
        self.assertEqual(self.cases(), ([], ["works"]))

    def test_compares_with_what_was_kept(self):
        first = self.gate("ops/shop.toml", "--against", "ops/kept")
        self.assertEqual(first.returncode, 0, first.stderr)
        self.assertIn("there is no ops/kept yet", first.stderr)
        self.assertEqual(self.gate("ops/shop.toml", "--against", "ops/kept", "--keep").returncode,
                         0)
        same = self.gate("ops/shop.toml", "--against", "ops/kept")
        self.assertEqual(same.returncode, 0, same.stderr)
        self.assertIn("Nothing has changed against ops/kept", same.stdout)
        worse = self.gate("ops/shop.toml", "--against", "ops/kept", "--", "--set",
                          "service.api.errors.invalid=0.005")
        self.assertEqual(worse.returncode, 1, worse.stderr)
        self.assertIn("It is worse than ops/kept", worse.stdout)
        self.assertEqual(self.cases()[1], ["no worse: success_rate of web"])

    def test_takes_a_retry_configuration(self):
        done = self.gate("ops/shop.toml", "--retry", "envoy:ops/envoy.yaml", "--", "--set",
                         "service.api.errors.unavailable=0.3", github=True)
        self.assertEqual(done.returncode, 1, done.stderr)
        # Without retries 70 % succeed, with one 91 % at most.
        self.assertIn("::error file=ops/shop.toml,title=shop", done.stderr)
        self.assertRegex(done.stderr, "success_rate (89|90|91).* %25")
        junit = (self.folder / "retrysim-results/retrysim.xml").read_text()
        self.assertIn('file="ops/shop.toml"', junit)
        self.assertNotIn(".retrysim-gate-", junit + done.stderr + done.stdout)
        self.assertEqual(sorted(f.name for f in (self.folder / "ops").iterdir()),
                         ["envoy.yaml", "shop.toml"])
        self.assertEqual((self.folder / "ops/shop.toml").read_text(), SCENARIO)

    def test_chooses_one_of_several_policies(self):
        (self.folder / "ops/r4j.yaml").write_text(RESILIENCE4J)
        retry = ("ops/shop.toml", "--retry", "resilience4j:ops/r4j.yaml")
        several = self.gate(*retry)
        self.assertEqual(several.returncode, 2, several.stderr)
        self.assertIn("--policy", several.stderr)
        one = self.gate(*retry, "--policy", "orders")
        self.assertEqual(one.returncode, 0, one.stderr)
        self.assertIn("policy orders", one.stdout)

    def test_scenarios_may_come_and_go(self):
        for name in ("cart", "mail"):
            text = SCENARIO.replace('"shop"', f'"{name}"')
            (self.folder / f"ops/{name}.toml").write_text(text)
        shop, cart, mail = "ops/shop.toml", "ops/cart.toml", "ops/mail.toml"
        kept = ("--against", "ops/kept")
        self.assertEqual(self.gate(shop, cart, *kept, "--keep").returncode, 0)
        for scenarios, compared in (((shop, cart), 2), ((shop, cart, mail), 2), ((cart,), 1),
                                    ((mail,), 0)):
            done = self.gate(*scenarios, *kept)
            self.assertEqual(done.returncode, 0, (scenarios, done.stderr))
            self.assertEqual(done.stdout.count("Nothing has changed"), compared, scenarios)
            self.assertEqual("has no result of mail" in done.stderr, mail in scenarios)
        # One alone that is kept anew replaces its own result, and no other.
        self.assertEqual(self.gate(cart, *kept, "--keep", "--", "--set",
                                   "service.api.servers=5").returncode, 0)
        done = self.gate(shop, cart, *kept)
        self.assertIn("What differs from ops/kept/cart: service.api.servers = 4", done.stdout)
        self.assertIn("Nothing has changed against ops/kept/shop", done.stdout)

    def test_leaves_nothing_of_an_earlier_run(self):
        self.assertEqual(self.gate("ops/shop.toml").returncode, 0)
        results = self.folder / "retrysim-results"
        (self.folder / "ops/broken.toml").write_text("name = 1")
        self.assertEqual(self.gate("ops/broken.toml").returncode, 3)
        self.assertEqual([f.name for f in results.iterdir()], ["results"])
        # What is not ours stays.
        (results / "report.html").write_text("mine")
        self.assertEqual(self.gate("ops/broken.toml").returncode, 3)
        self.assertEqual((results / "report.html").read_text(), "mine")

    def test_takes_any_path(self):
        odd = "ops/a|b & c.[1]*.toml"
        (self.folder / odd).write_text(SCENARIO)
        done = self.gate(odd, "--retry", "envoy:ops/envoy.yaml")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn(f"{odd}: client web retries as", done.stdout)
        junit = (self.folder / "retrysim-results/retrysim.xml").read_text()
        self.assertNotIn(".retrysim-gate-", done.stdout + done.stderr + junit)

    def test_says_what_is_wrong(self):
        for arguments, status, message in (
                ((), 2, "Usage"),
                (("ops/shop.toml", "--retry", "envoy.yaml"), 2, "is not KIND:FILE"),
                (("ops/shop.toml", "--retry", "envoy:none.yaml"), 3, "there is no file none.yaml"),
                (("ops/shop.toml", "--keep"), 2, "--keep needs --against"),
                (("ops/shop.toml", "--policy", "web"), 2, "--policy needs --retry"),
                (("ops/shop.toml", "--fast"), 2, "unknown option '--fast'"),
                (("ops/none.toml",), 3, "none.toml")):
            done = self.gate(*arguments)
            self.assertEqual(done.returncode, status, (arguments, done.stderr))
            self.assertIn(message, done.stderr + done.stdout)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", required=True)
    own, rest = parser.parse_known_args()
    program = str(pathlib.Path(own.program).resolve())
    unittest.main(argv=[sys.argv[0], *rest])
