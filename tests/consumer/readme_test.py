#!/usr/bin/python3
"""The first two examples of include/retrysim/README.md are programs that the consumer test builds,
and every place that names the version names that of the project.

SPDX-License-Identifier: MIT
"""

import pathlib
import re
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.dont_write_bytecode = True
sys.path.insert(0, str(ROOT / "scripts"))

from packing import versions  # noqa: E402


class Readme(unittest.TestCase):
    def test_first_examples_are_the_tested_programs(self):
        readme = (ROOT / "include/retrysim/README.md").read_text(encoding="utf-8")
        examples = re.findall(r"```cpp\n(.*?)```", readme, re.DOTALL)
        for example, name in zip(examples, ("verdict.cpp", "tour.cpp")):
            program = (ROOT / "tests/consumer" / name).read_text(encoding="utf-8")
            self.assertEqual(example, program[program.index("#include"):])
        output = re.search(r"it prints[^`]*```\n(.*?)\n", readme, re.DOTALL).group(1)
        tests = (ROOT / "tests/consumer/tests.cmake").read_text(encoding="utf-8")
        self.assertIn(f'"^{output}"', tests)


class Version(unittest.TestCase):
    def test_every_place_has_the_same(self):
        """And CITATION.cff has the date of the newest release in the changelog."""
        self.assertEqual([], versions.mistakes(ROOT))
        cmake = (ROOT / "CMakeLists.txt").read_text(encoding="utf-8")
        self.assertIn(f"project(retrysim VERSION {versions.version_of(ROOT)} ", cmake)


if __name__ == "__main__":
    unittest.main()
