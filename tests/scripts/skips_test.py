#!/usr/bin/python3
"""A skipped test fails continuous integration unless it is in the list, with CTest itself.

SPDX-License-Identifier: MIT
"""

import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
CTEST = """
add_test(kind/runs "true")
add_test(kind/skips "sh" "-c" "exit 77")
set_tests_properties(kind/skips PROPERTIES SKIP_RETURN_CODE 77)
add_test(kind/gone "/no/such/program")
add_test(kind/off "true")
set_tests_properties(kind/off PROPERTIES DISABLED TRUE)
"""


class Skips(unittest.TestCase):
    def check(self, allowed, tests="kind/(runs|skips)"):
        with tempfile.TemporaryDirectory(prefix="retrysim-skips-") as name:
            folder = pathlib.Path(name)
            (folder / "CTestTestfile.cmake").write_text(CTEST)
            (folder / "skips.txt").write_text(allowed)
            subprocess.run(["ctest", "--test-dir", name, "--output-junit", folder / "tests.xml",
                            "--tests-regex", f"^{tests}$"], capture_output=True, check=False)
            done = subprocess.run(
                [sys.executable, "-B", ROOT / "scripts/skips.py", "--allowed",
                 folder / "skips.txt", folder / "tests.xml"],
                capture_output=True, text=True, check=False)
            return done.returncode, done.stdout + done.stderr

    def test_what_is_not_in_the_list_fails(self):
        status, text = self.check("# none\n")
        self.assertEqual(status, 1)
        self.assertIn("error: kind/skips was skipped", text)

    def test_what_is_in_the_list_is_printed_with_its_reason(self):
        status, text = self.check("kind/sk.*  needs the moon\n")
        self.assertEqual((status, text), (0, "skipped: kind/skips: needs the moon\n"
                                             "1 of 2 tests were skipped\n"))

    def test_the_whole_name_counts(self):
        self.assertEqual(self.check("kind/s  a reason\n")[0], 1)

    def test_a_test_without_its_program_or_disabled_is_skipped(self):
        for name in ("kind/gone", "kind/off"):
            status, text = self.check("kind/skips  a reason\n", name)
            self.assertEqual(status, 1, text)
            self.assertIn(f"error: {name} was skipped", text)

    def test_lines_that_are_out_of_date_are_named(self):
        status, text = self.check("kind/skips  a reason\nkind/runs  why\nkind/x  why\n")
        self.assertEqual(status, 0)
        self.assertIn("tests/skips.txt: kind/runs was not skipped; it can go", text)
        self.assertIn("tests/skips.txt: kind/x was not skipped; there is no such test", text)

    def test_a_line_without_a_reason_fails(self):
        status, text = self.check("kind/skips\n")
        self.assertEqual(status, 1)
        self.assertIn('line 1: "kind/skips" has no reason', text)

    def test_the_list_in_use_can_be_read(self):
        with tempfile.NamedTemporaryFile(suffix=".xml") as results:
            results.write(b'<testsuite><testcase name="a" status="run"/></testsuite>')
            results.flush()
            self.assertEqual(subprocess.run(
                [sys.executable, "-B", ROOT / "scripts/skips.py", "--allowed",
                 ROOT / "tests/skips.txt", results.name], capture_output=True,
                check=False).returncode, 0)


if __name__ == "__main__":
    unittest.main()
