#!/usr/bin/python3
"""Does scripts/validate_repeatedly.py notice a bias, and keep what it has seen?

SPDX-License-Identifier: MIT
"""

import pathlib
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "scripts" / "validate_repeatedly.py"
sys.path.insert(0, str(SCRIPT.parent))

import validate_repeatedly  # noqa: E402

ROW = "{case} mm1 latency 0.5 0.5 0.01 2.00 {z} 4e+05 {verdict}"


class Repetition(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = pathlib.Path(temporary.name)

    def repeat(self, *rows):
        """Ten validations that print these rows; $sign alternates with the seed."""
        program = self.folder / "test_validation"
        program.write_text('#!/bin/bash\n((RETRYSIM_VALIDATION_SEED % 2)) && sign=- || sign=\n'
                           'cat <<END\n' + "\n".join(rows) + "\nEND\n")
        program.chmod(0o755)
        return subprocess.run([sys.executable, SCRIPT, "--program", program, "--seed", "4",
                               "--table", self.folder / "z.csv"], capture_output=True, text=True)

    def test_chance(self):
        done = self.repeat(ROW.format(case="P001", z="${sign}2.10", verdict="agrees"))
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertIn("seeds 4 to 13", done.stdout)
        table = (self.folder / "z.csv").read_text().splitlines()
        self.assertEqual(table[:2], ["seed,case,quantity,z,verdict", "4,P001,latency,2.1,agrees"])
        self.assertEqual(len(table), 11)
        self.repeat(ROW.format(case="P001", z="0.10", verdict="agrees"))
        self.assertEqual(len((self.folder / "z.csv").read_text().splitlines()), 21)

    def test_a_bias_that_no_single_validation_sees(self):
        done = self.repeat(ROW.format(case="P001", z="1.60", verdict="agrees"))
        self.assertEqual(done.returncode, 1)
        self.assertIn("P001 latency: the mean of 10 z-scores is +4.79", done.stdout)

    def test_a_row_without_a_score_that_disagrees(self):
        done = self.repeat(ROW.format(case="P001", z="-", verdict="disagrees"))
        self.assertEqual(done.returncode, 1)

    def test_no_rows(self):
        self.assertEqual(self.repeat("All tests passed").returncode, 1)

    def test_the_bound(self):
        """Of one row nearly the normal quantile, 3.29 for one in a thousand."""
        self.assertAlmostEqual(validate_repeatedly.bound(1, 10**6), 3.2905, places=3)
        self.assertGreater(validate_repeatedly.bound(1, 10), validate_repeatedly.bound(1, 100))
        self.assertGreater(validate_repeatedly.bound(400, 10), 4.6)


if __name__ == "__main__":
    unittest.main()
