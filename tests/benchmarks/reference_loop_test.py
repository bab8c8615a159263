#!/usr/bin/python3
"""Is the yardstick doing the work that it is a yardstick for? Usage: reference_loop_test.py PROGRAM

SPDX-License-Identifier: MIT
"""

import subprocess
import sys
import unittest

PROGRAM = sys.argv.pop() if len(sys.argv) > 1 else "reference_loop"


def run(*arguments):
    done = subprocess.run([PROGRAM, *arguments], capture_output=True, text=True)
    values = dict(pair.split("=") for pair in done.stdout.split())
    return done, {key: float(value) for key, value in values.items()}


class ReferenceLoop(unittest.TestCase):
    def test_healthy_system_follows_erlang_c(self):
        """M/M/10 with 1000 requests/s of 9 ms: theory says 15.02 ms.

        Runs of 1000 s scatter by about 0.25 ms around it, so 20,000 s by about 0.06 ms; the limit
        of 0.3 ms is five times that, and the seed is fixed.
        """
        _, values = run("secs=20000")
        self.assertAlmostEqual(values["mean_ms"], 15.02, delta=0.3)
        self.assertAlmostEqual(values["requests"] / 20000, 1000, delta=2)
        # Arrival, completion and cancelled timeout: three events a request.
        self.assertAlmostEqual(values["events"] / values["requests"], 3, delta=0.01)
        self.assertEqual(values["bins"], 20000)

    def test_overload_collapses(self):
        """With a queue of 2000, which takes 1.8 s to pass, nearly every answer comes too late."""
        _, values = run("rate=1200", "qcap=2000", "secs=500")
        self.assertLess(values["successes"] / values["requests"], 0.1)
        self.assertGreater(values["rejected"], 0)
        self.assertGreater(values["wasted"], 0.9 * 500 * 1111 * 0.9)
        # Every failed attempt but the last of a request is followed by a backoff.
        failed_attempts = values["timeouts"] + values["rejected"]
        self.assertAlmostEqual(
            values["backoffs"], failed_attempts - values["failures"], delta=2000)

    def test_seed_decides_everything(self):
        def without_time(values):
            return {k: v for k, v in values.items() if k not in ("cpu_s", "ns_per_event")}

        first, again, other = (run("secs=50", f"seed={seed}")[1] for seed in (1, 1, 2))
        self.assertEqual(without_time(first), without_time(again))
        self.assertNotEqual(first["events"], other["events"])

    def test_wrong_options_are_refused(self):
        for wrong in ("speed=1", "rate", "rate=0", "secs=1x", "qcap=-1"):
            done, _ = run(wrong)
            self.assertEqual(done.returncode, 2, wrong)
            self.assertIn(f"'{wrong}'", done.stderr)


if __name__ == "__main__":
    unittest.main()
