#!/usr/bin/python3
"""Is a limit looked at often enough, however dear a scenario is? Counted in instructions.

  work_test.py PROGRAM [NAME...]

Callgrind counts the instructions between two calls of `stop_point`, where a run finds out that it
is to end: by the timeout, or by a signal. The largest count must not be more than `MOST`, which no
machine takes long for. Nothing here depends on a clock, nor on what the program itself counts.

SPDX-License-Identifier: MIT
"""

import concurrent.futures
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

import small  # noqa: E402

MOST = 40_000_000  # some ten milliseconds
SKIPPED = 77  # for CTest


def largest_gap(program, case, folder):
    """The most instructions between two calls, and at the beginning and end."""
    (folder / "a.toml").write_text(case.text())
    done = subprocess.run(
        ["valgrind", "--tool=callgrind", "--callgrind-out-file=out",
         "--dump-before=retrysim::stop_point*", "--separate-threads=yes", program, "run", "a.toml",
         "--jobs", "1", "--out", "o", "--no-reuse"], cwd=folder, capture_output=True, text=True)
    if done.returncode not in (0, 5):
        raise RuntimeError(f"status {done.returncode}: {done.stderr[-2000:]}")
    return max(int(total) for path in folder.glob("out*")
               for total in re.findall(r"^totals: (\d+)", path.read_text(), re.MULTILINE))


def gap_of(kind):
    with tempfile.TemporaryDirectory() as folder:
        return largest_gap(PROGRAM, small.case(kind), pathlib.Path(folder))


class Work(unittest.TestCase):
    def test_each_kind_is_run_by_day_or_by_night(self):
        lists = (pathlib.Path(__file__).parent / "tests.cmake").read_text(encoding="utf-8")
        for kind in small.KINDS:
            self.assertRegex(lists, rf"\b{kind.__name__}\b")

    def test_limits_are_looked_at_in_time(self):
        kinds = [k for k in small.KINDS if not NAMES or k.__name__ in NAMES]
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            for kind, gap in zip(kinds, pool.map(gap_of, kinds)):
                print(f"{kind.__name__:24} {gap / 1e6:8.1f} million instructions", flush=True)
                with self.subTest(kind.__name__):
                    self.assertLess(gap, MOST)


if __name__ == "__main__":
    PROGRAM, NAMES = str(pathlib.Path(sys.argv[1]).resolve()), sys.argv[2:]
    if shutil.which("valgrind") is None:
        in_ci = bool(os.environ.get("CI"))
        print("valgrind is not installed, so instructions cannot be counted "
              f"({'an error' if in_ci else 'skipped'}); scripts/install_dependencies test")
        sys.exit(1 if in_ci else SKIPPED)
    unittest.main(argv=sys.argv[:1])
