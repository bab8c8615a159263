#!/usr/bin/python3
"""Does the model of callbacks simulate the system of the yardstick?

  callback_model_test.py PROGRAM

SPDX-License-Identifier: MIT
"""

import subprocess
import sys
import unittest

PROGRAM = sys.argv.pop() if len(sys.argv) > 1 else "callback_model"


def run(*arguments):
    done = subprocess.run([PROGRAM, *arguments], capture_output=True, text=True)
    values = dict(pair.split("=") for pair in done.stdout.split())
    return done, {key: float(value) for key, value in values.items()}


class CallbackModel(unittest.TestCase):
    def test_healthy_system_follows_erlang_c(self):
        """M/M/10 with 1000 requests/s of 9 ms: theory says 15.02 ms. Runs of 1000 s scatter by
        about 0.25 ms around it, so 5000 s by about 0.12 ms; the limit is four times that, and the
        seed is fixed."""
        _, values = run("secs=5000")
        self.assertAlmostEqual(values["mean_ms"], 15.02, delta=0.5)
        self.assertAlmostEqual(values["requests"] / 5000, 1000, delta=4)
        self.assertAlmostEqual(values["events"] / values["requests"], 3, delta=0.01)

    def test_overload_collapses(self):
        """As that of the yardstick, with 5,773 events/s: nearly every answer comes too late."""
        _, values = run("rate=1200", "qcap=2000", "secs=500")
        self.assertLess(values["successes"] / values["requests"], 0.1)
        self.assertAlmostEqual(values["events"] / 500, 5773, delta=40)

    def test_wrong_options_are_refused(self):
        for wrong in ("speed=1", "rate", "rate=0", "secs=1x", "qcap=-1"):
            done, _ = run(wrong)
            self.assertEqual(done.returncode, 2, wrong)
            self.assertIn(f"'{wrong}'", done.stderr)


if __name__ == "__main__":
    unittest.main()
