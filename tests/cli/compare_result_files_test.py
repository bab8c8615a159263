#!/usr/bin/python3
"""Does the comparison of result files notice a difference?

SPDX-License-Identifier: MIT
"""

import contextlib
import io
import pathlib
import tempfile
import unittest

import compare_result_files

# A program that writes what it is told to, depending on the number of jobs.
FAKE_PROGRAM = """#!/bin/bash
for ((i = 1; i <= $#; ++i)); do
  next=$((i + 1))
  [[ ${!i} == --jobs ]] && jobs=${!next}
  [[ ${!i} == --replications ]] && replications=${!next}
  [[ ${!i} == --out ]] && out=${!next}
done
mkdir -p "$out"
echo a,b > "$out/summary.csv"
echo "results in $out"
SPECIAL
"""


class Comparison(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = pathlib.Path(temporary.name)

    def program(self, special="", name="fake"):
        path = self.folder / name
        path.write_text(FAKE_PROGRAM.replace("SPECIAL", special))
        path.chmod(0o755)
        return path

    def check(self, program, other=None, scenario="x.toml", fingerprints=None,
              with_other=True):
        """The number of differences, and what was printed."""
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed), tempfile.TemporaryDirectory() as out:
            count = compare_result_files.check(
                self.folder / scenario, program, other, with_other, pathlib.Path(out),
                fingerprints or {})
        return count, printed.getvalue()

    def test_equal_results(self):
        program = self.program()
        self.assertEqual(self.check(program)[0], 0)
        count, printed = self.check(program, program)
        self.assertEqual(count, 0)
        self.assertIn("4 runs, the same", printed)

    def test_a_fingerprint_that_has_changed(self):
        known = compare_result_files.known_fingerprints(
            "$ retrysim run scenarios/x.toml --replications 2 --quiet --fingerprint || [ $? = 1 ]\n"
            "fingerprint x 12\n")
        same = self.program('echo "fingerprint x 12" >&2')
        self.assertEqual(self.check(same, same, "x.toml", known)[0], 0)
        for changed in ('echo "fingerprint x 13" >&2', "", 'echo "fingerprint x 123" >&2'):
            count, printed = self.check(self.program(changed), None, "x.toml", known)
            self.assertEqual(count, 1)
            self.assertIn("has 'fingerprint x 12'", printed)
        self.assertEqual(self.check(self.program(), None, "y.toml", known)[0], 0)
        with self.assertRaises(compare_result_files.RunFailed):
            compare_result_files.known_fingerprints("$ retrysim run\nfingerprint x 12\n")

    def test_a_file_that_depends_on_jobs(self):
        program = self.program('echo "$((jobs > 1)),1" >> "$out/summary.csv"')
        count, printed = self.check(program)
        self.assertEqual(count, 1)
        self.assertIn("--jobs 2: summary.csv differs in line 2:\n    0,1\n    1,1", printed)

    def test_another_program(self):
        other = self.program('echo 1 > "$out/more.csv"', "other")
        count, printed = self.check(self.program(), other)
        self.assertEqual(count, 1)
        self.assertIn("more.csv is missing in one", printed)
        self.assertEqual(self.check(self.program(), other, with_other=False)[0], 0)

    def test_statistics_over_replications_in_another_program(self):
        other = self.program('((replications == 1)) || echo 1 > "$out/more.csv"', "other")
        self.assertEqual(self.check(self.program(), other)[0], 0)
        statistics = compare_result_files.STATISTICS
        self.assertEqual(self.check(self.program(), other, f"{statistics[0]}.toml")[0], 1)
        scenarios = pathlib.Path(__file__).resolve().parents[2] / "scenarios"
        for name in statistics:
            self.assertTrue((scenarios / f"{name}.toml").exists(), name)

    def test_standard_output_counts(self):
        program = self.program('echo "fingerprint $jobs"')
        self.assertEqual(self.check(program)[0], 1)

    def test_a_run_that_fails(self):
        with self.assertRaises(compare_result_files.RunFailed):
            self.check(self.program("exit 3"))
        self.assertEqual(self.check(self.program("exit 1"))[0], 0)

    def test_a_sanitizer_report(self):
        for line in ("==1==ERROR: AddressSanitizer: x", "a.cpp:1:2: runtime error: x"):
            with self.assertRaises(compare_result_files.RunFailed):
                self.check(self.program(f'echo "{line}" >&2; exit 1'))
        self.assertEqual(self.check(self.program('echo "note: rough" >&2; exit 1'))[0], 0)

    def test_a_run_that_writes_nothing(self):
        with self.assertRaises(compare_result_files.RunFailed):
            self.check(self.program('rm "$out/summary.csv"'))


if __name__ == "__main__":
    unittest.main()
