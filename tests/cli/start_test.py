#!/usr/bin/python3
"""The program starts where it runs under an instrument, and computes nothing before main.

Usage: start_test.py --program PATH. Exit status 77 if there is no valgrind.

SPDX-License-Identifier: MIT
"""

import argparse
import re
import shutil
import subprocess
import sys
import unittest

SKIPPED = 77


def output(*command):
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)


class Start(unittest.TestCase):
    program = ""

    def test_it_starts_under_valgrind(self):
        """Whose long double is shorter than the compiler says."""
        done = output("valgrind", "--tool=none", "--quiet", self.program, "--version")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertRegex(done.stdout, r"^retrysim \d")

    def test_no_function_of_boost_is_tried_before_main(self):
        symbols = output("nm", "--demangle", self.program)
        self.assertEqual((symbols.returncode, symbols.stderr), (0, ""))
        self.assertIn("retrysim::", symbols.stdout)
        found = re.findall(r"boost::math::.*_initializer<.*::initializer$", symbols.stdout,
                           re.MULTILINE)
        self.assertEqual(found, [], 'Whoever includes Boost.Math includes "kernel/boost_math.hpp"')


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", required=True)
    arguments, rest = parser.parse_known_args()
    if shutil.which("valgrind") is None:
        print("SKIPPED: there is no valgrind")
        sys.exit(SKIPPED)
    Start.program = arguments.program
    unittest.main(argv=[sys.argv[0], *rest])


if __name__ == "__main__":
    main()
