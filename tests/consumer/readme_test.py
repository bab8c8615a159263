#!/usr/bin/python3
"""The first example of include/retrysim/README.md is the program that the consumer test builds.

SPDX-License-Identifier: MIT
"""

import pathlib
import re
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]


class Readme(unittest.TestCase):
    def test_first_example_is_the_tested_program(self):
        readme = (ROOT / "include/retrysim/README.md").read_text(encoding="utf-8")
        program = (ROOT / "tests/consumer/verdict.cpp").read_text(encoding="utf-8")
        example = re.search(r"```cpp\n(.*?)```", readme, re.DOTALL).group(1)
        self.assertEqual(example, program[program.index("#include"):])


if __name__ == "__main__":
    unittest.main()
