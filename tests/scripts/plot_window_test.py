#!/usr/bin/python3
"""Tests of how much of a run the pictures show.

Usage: plot_window_test.py

SPDX-License-Identifier: MIT
"""

import csv
import sys
import tempfile
import unittest
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent))

from plot_test import Results, draw_overview, edit, make_results, recover  # noqa: E402


class Window(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="plot-window-")
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name)

    def test_a_long_steady_state_after_the_last_recovery_is_cut(self):
        def long_run(name, **times):
            folder = make_results(self.root / name, groups=1, replications=2, length=150)
            with open(folder / "timeseries.csv", "a", newline="", encoding="utf-8") as file:
                csv.writer(file, lineterminator="\n").writerows(
                    ["dip", "base", r, c, t, 400, 400, 0, 400, *[0] * 7, 8, 0.02, 0.08]
                    for r in (0, 1) for c in ("g0", "all") for t in range(199, 3000, 50))
            return recover(folder, **times)

        def shown(folder):
            return Results(folder, None).last_shown()

        folder = long_run("r", g0=[20, 110])  # the fault ends at 90 s
        _, figure = draw_overview(self, folder)
        self.assertEqual({260}, {round(axis.get_xlim()[1], 6) for axis in figure.axes})
        self.assertTrue(any("the first 260 s of 3000 s" in t.get_text() for t in figure.texts))
        # Loads that change later, and phases that the user asks about, are shown.
        edit(folder, lambda variant: variant["keys"].update({"phase.late.end": '"2500s"'}))
        self.assertEqual(3000, shown(folder))
        edit(folder, lambda variant: variant.update(
            keys={"client.g0.arrivals.profile": '"day.csv"'}))
        self.assertEqual(3000, shown(folder))
        # So is what one replication never gets over.
        self.assertEqual(3000, shown(long_run("lost", g0=[20])))


if __name__ == "__main__":
    unittest.main()
