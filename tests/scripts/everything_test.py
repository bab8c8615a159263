#!/usr/bin/python3
"""scripts/test --everything builds and tests the page, and what it ends with. Stubs stand in for
what installs, builds and tests.

SPDX-License-Identifier: MIT
"""

import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
CTEST = """#!/bin/bash
echo "ctest $*" >>"$FOLDER/calls"
while (($# > 0)); do [[ $1 == --output-junit ]] && file=$2; shift; done
echo "<testsuite><testcase name='a/b' status='run'/>$MORE</testsuite>" >"$file"
echo "100% tests passed, 0 tests failed out of 1"
exit "${CTEST_STATUS:-0}"
"""
STUB = """#!/bin/bash
echo "${0##*/} $*" >>"$FOLDER/calls"
[[ ${0##*/} == page ]] && exit "${PAGE_STATUS:-0}"
[[ ${0##*/} == npm ]] && exit "${NPM_STATUS:-0}"
exit 0
"""


class Everything(unittest.TestCase):
    def run_with(self, **environment):
        """The status, all output and the calls."""
        with tempfile.TemporaryDirectory(prefix="retrysim-everything-") as name:
            folder = pathlib.Path(name)
            for place in ("scripts", "tests", "build", "bin"):
                (folder / place).mkdir()
            for script in ("test", "skips.py"):
                shutil.copy(ROOT / "scripts" / script, folder / "scripts")
            (folder / "tests/skips.txt").write_text("sdks/x  needs npm\n")
            for stub in ("scripts/page", "scripts/npm", "scripts/build",
                         "scripts/install_dependencies"):
                (folder / stub).write_text(STUB)
                (folder / stub).chmod(0o755)
            (folder / "bin/ctest").write_text(CTEST)
            (folder / "bin/ctest").chmod(0o755)
            done = subprocess.run(
                [folder / "scripts/test", "--everything"], check=False, text=True, timeout=60,
                stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                env={**os.environ, "FOLDER": name, "MORE": "", **environment,
                     "PATH": f"{name}/bin:{os.environ['PATH']}"})
            return done.returncode, done.stdout, (folder / "calls").read_text().splitlines()

    def test_the_page_and_the_package_are_built_and_tested(self):
        status, text, calls = self.run_with()
        self.assertEqual(status, 0, text)
        self.assertIn("page ", calls)
        package = calls.index("npm ")
        self.assertTrue(any("--label-regex ^(browser|npm)$" in call for call in calls[package:]),
                        calls)
        self.assertIn("100% tests passed, 0 tests failed out of 1", text)
        budget = re.findall(r"(?m)^\| (build|sanitizers|tests|page)\b[^|]*\| (\d+) \|$",
                            (ROOT / "tests/README.md").read_text(encoding="utf-8"))
        self.assertEqual(len(budget), 4)
        for part, minutes in budget:
            self.assertRegex(text, rf"(?m)^{part} +\d+ +{60 * int(minutes)}$")

    def test_skips(self):
        skipped = "<testcase name='{}' status='notrun'><skipped/></testcase>"
        status, text, _ = self.run_with(MORE=skipped.format("sdks/x"))
        self.assertEqual(status, 0, text)
        self.assertIn("skipped: sdks/x: needs npm", text)
        status, text, _ = self.run_with(MORE=skipped.format("browser/page"))
        self.assertEqual(status, 1, text)

    def test_a_download_that_fails(self):
        status, text, calls = self.run_with(PAGE_STATUS="4")
        self.assertEqual(status, 1)
        self.assertEqual(text.count("could not be downloaded"), 1)
        self.assertIn("ctest --parallel", calls[-1])  # everything else was tested

    def test_a_page_that_does_not_build(self):
        self.assertEqual(self.run_with(PAGE_STATUS="1")[0], 1)
        self.assertEqual(self.run_with(NPM_STATUS="1")[0], 1)

    def test_tests_that_fail(self):
        status, text, _ = self.run_with(CTEST_STATUS="8")
        self.assertEqual(status, 1)
        self.assertRegex(text, r"(?m)^page +\d+ +\d+$")  # the end is printed all the same


if __name__ == "__main__":
    unittest.main()
