#!/usr/bin/python3
"""What pictures and pages have in common (scripts/plotting/looks.json).

Usage: looks_test.py --program RETRYSIM

SPDX-License-Identifier: MIT
"""

import json
import pathlib
import subprocess
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.dont_write_bytecode = True
sys.path.insert(0, str(ROOT / "scripts"))
from plotting import looks  # noqa: E402

PROGRAM = None  # set by main


class LooksTest(unittest.TestCase):
    def test_words_are_of_keys_that_there_are(self):
        listed = subprocess.run([PROGRAM, "list", "keys", "--format", "json"], check=True,
                                capture_output=True, text=True).stdout
        units = {key["key"]: key["unit"] for key in json.loads(listed)}
        for key, (_, unit) in looks.LOOKS["keys"].items():
            self.assertIn(key, units)
            self.assertEqual(unit == "s", units[key] == "s", key)
        names = [name for name, _ in looks.LOOKS["keys"].values()]
        self.assertEqual(len(names), len(set(names)))

    def test_axes_in_words(self):
        self.assertEqual(looks.key_words("client.java.arrivals.total_rate", "1/s"),
                         "offered load, requests/s")
        self.assertEqual(looks.key_words("client.web.surge.peak.duration", "s"),
                         "length of the surge, s")
        self.assertEqual(looks.key_words("fault.*.duration"), "length of the fault")
        self.assertEqual(looks.key_words("no.such.key", "1/s"), "no.such.key, 1/s")
        self.assertEqual(looks.key_words("no.such.key", "1"), "no.such.key")


if __name__ == "__main__":
    at = sys.argv.index("--program")
    PROGRAM = sys.argv[at + 1]
    del sys.argv[at:at + 2]
    unittest.main()
