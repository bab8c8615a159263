#!/usr/bin/python3
"""What pictures and pages have in common (scripts/plotting/looks.json), and the words of keys.

Usage: looks_test.py --program RETRYSIM

SPDX-License-Identifier: MIT
"""

import json
import pathlib
import re
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
        text = (ROOT / "sim/report/pictures/pictures.cpp").read_text(encoding="utf-8")
        words = re.findall(r'\{"([a-z_.*]+)", "([^"]*)", "([^"]*)"\}', text)
        self.assertGreater(len(words), 20)
        names = {}
        for key, name, unit in words:
            whole = key.removesuffix(".mean")  # of a law
            self.assertIn(whole, units)
            self.assertEqual(unit == "s", units[whole] == "s", key)
            self.assertEqual(names.setdefault(name, whole), whole)

    def test_each_ground_has_its_colours(self):
        for name, colours in looks.LOOKS["colours"].items():
            self.assertEqual(set(colours), {"light", "dark"}, name)


if __name__ == "__main__":
    at = sys.argv.index("--program")
    PROGRAM = sys.argv[at + 1]
    del sys.argv[at:at + 2]
    unittest.main()
