#!/usr/bin/python3
"""The first two examples of include/retrysim/README.md are programs that the consumer test builds,
and every place that names the version names that of the project.

SPDX-License-Identifier: MIT
"""

import pathlib
import re
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]


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
    def found(self, path, pattern):
        text = (ROOT / path).read_text(encoding="utf-8")
        versions = set(re.findall(pattern, text, re.MULTILINE))
        self.assertEqual(1, len(versions), f"{path}: {versions}")
        return versions.pop()

    def test_every_place_has_the_same(self):
        version = self.found("CMakeLists.txt", r"^project\(retrysim VERSION ([\d.]+)")
        minor = version.rpartition(".")[0]
        self.assertEqual(version, self.found("CITATION.cff", r"^version: (\S+)$"))
        self.assertEqual(version, self.found("tests/cli/run.txt", r"^retrysim (\d\S*)$"))
        for path in ("include/retrysim/README.md", "sim/cli/stability.md"):
            self.assertEqual(minor, self.found(path, r"find_package\(retrysim (\S+?)[ )]"))
        self.assertEqual(minor, self.found("tests/consumer/CMakeLists.txt",
                                           r"^set\(RETRYSIM_WANTED (\S+)"))

    def test_a_release_has_its_date(self):
        """The newest release in the changelog, if there is one, is this version, and CITATION.cff
        has its date."""
        changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
        releases = re.findall(r"^## (?!Unreleased$)(.*)$", changelog, re.MULTILINE)
        for release in releases:
            self.assertRegex(release, r"^\d+\.\d+\.\d+, \d{4}-\d\d-\d\d$")
        if releases:
            version, date = releases[0].split(", ")
            self.assertEqual(version, self.found("CMakeLists.txt",
                                                 r"^project\(retrysim VERSION ([\d.]+)"))
            self.assertEqual(date, self.found("CITATION.cff", r'^date-released: "?([\d-]+)"?$'))


if __name__ == "__main__":
    unittest.main()
