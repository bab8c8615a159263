#!/usr/bin/python3
"""Does fit keep a million lines in 64 MiB, also if their times are whole seconds?

  fit_memory_test.py PROGRAM

SPDX-License-Identifier: MIT
"""

import heapq
import pathlib
import random
import resource
import subprocess
import sys
import tempfile
import unittest

LINES = 1_000_000
MOST_MIB = 64


def write_log(file: pathlib.Path) -> None:
    """200 requests a second that take 35 ms on average, in the order of their ends. This process
    stays small: what it has counts as what its child had at most."""
    draws = random.Random(1)
    now, under_way = 1.7e9, []
    with file.open("w") as lines:
        lines.write("time,duration,status\n")

        def end_until(time: float) -> None:
            while under_way and under_way[0][0] <= time:
                end, took = heapq.heappop(under_way)
                lines.write(f"{int(end)},{took:.3f},200\n")

        for _ in range(LINES):
            now += draws.expovariate(200)
            end_until(now)
            took = draws.lognormvariate(-3.5, 0.6)
            heapq.heappush(under_way, (now + took, took))
        end_until(float("inf"))


class FitMemory(unittest.TestCase):
    def test_a_million_lines_with_whole_seconds(self):
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            write_log(folder / "access.csv")
            subprocess.run([PROGRAM, "fit", folder / "access.csv", "--out", folder / "out",
                            "--quiet"], check=True)
            mib = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
            print(f"{mib:.0f} of {MOST_MIB} MiB", flush=True)
            self.assertLessEqual(mib, MOST_MIB)


if __name__ == "__main__":
    PROGRAM = pathlib.Path(sys.argv[1]).resolve()
    unittest.main(argv=sys.argv[:1])
