#!/usr/bin/python3
"""Whether what pictures say stays inside them, and their panels wide, whatever the labels are.

SPDX-License-Identifier: MIT
"""

import sys
import tempfile
import unittest
from pathlib import Path

from plot_call import plot  # noqa: F401  (it sets the paths and the backend)
from plot_sweep_test import make_sweep
import matplotlib.pyplot as plt

from plotting.drawing import STYLE
from plotting.labels import LONGEST, short_labels
from plotting.legend import axis_legend_below
from plotting.sweep import sweep_figure

sys.dont_write_bytecode = True

TABLES = ['{ distribution = "constant", mean = "100ms" }',
          '{ distribution = "exponential", mean = "100ms" }',
          '{ distribution = "lognormal", mean = "100ms", cv = 2 }',
          '{ distribution = "lognormal", mean = "100ms", cv = 0.5 }']
LEAST_WIDTH = 0.25  # of a panel, as a share of the figure


class PlotLayoutTest(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.root = Path(temporary.name)
        context = plt.rc_context(STYLE)
        context.__enter__()
        self.addCleanup(context.__exit__, None, None, None)

    def check(self, figure):
        self.addCleanup(plt.close, figure)
        figure.canvas.draw()
        renderer, whole = figure.canvas.get_renderer(), figure.bbox.padded(1)
        drawn = [axis for axis in figure.axes if axis.axison]
        legends = figure.legends + [a.get_legend() for a in drawn if a.get_legend()]
        boxes = [legend.get_window_extent(renderer) for legend in legends]
        for axis in drawn:
            self.assertGreater(axis.get_window_extent(renderer).width,
                               LEAST_WIDTH * figure.bbox.width)
            boxes += [label.get_window_extent(renderer) for label in axis.get_xticklabels()
                      if label.get_text()]
        for box in boxes:
            self.assertGreaterEqual(box.x0, whole.x0)
            self.assertLessEqual(box.x1, whole.x1)
            self.assertGreaterEqual(box.y0, whole.y0)
            self.assertLessEqual(box.y1, whole.y1)

    def test_tables_are_called_by_what_differs(self):
        self.assertEqual(short_labels(TABLES), ["constant", "exponential", "lognormal, cv 2",
                                                "lognormal, cv 0.5"])
        self.assertEqual(short_labels(["full", "none"]), ["full", "none"])
        self.assertEqual(short_labels(["{ mean = 1, cv = 2 }", "{ mean = 1 }", "20ms"])[2], "20ms")
        for values in (["x" * 300 + str(i) for i in range(12)], TABLES * 3, ["{", "{ a ="]):
            labels = short_labels(values)
            self.assertEqual(len(set(labels)), len(values))
            self.assertLessEqual(max(map(len, labels)), LONGEST)

    def test_a_sweep_over_tables_has_wide_panels_and_a_whole_legend(self):
        long = [f"a-policy-with-a-name-that-nobody-would-have-wished-for-{i}" for i in range(9)]
        cases = {"tables": (["s.service_time"], [[t] for t in TABLES]),
                 "lines": (["s.service_time", "r"], [[t, x] for t in TABLES for x in "123"]),
                 "two": (["s.service_time", "mode"], [[t, x] for t in TABLES for x in long]),
                 "long": (["mode", "r"], [[t, x] for t in long for x in "123"])}
        for name, (keys, points) in cases.items():
            with self.subTest(name):
                self.check(sweep_figure(make_sweep(self.root / name, keys, points), "blue"))

    def test_the_legend_of_a_panel_is_no_wider_than_the_panel(self):
        figure, axes = plt.subplots(1, 2, figsize=(11, 6))
        for axis in axes:
            for i in range(4):
                axis.plot([0, 1], [i, i], label=f"successful requests of group number {i}")
            axis.set_xticks([0, 1])
            axis_legend_below(axis)
        figure.tight_layout()
        self.check(figure)


if __name__ == "__main__":
    unittest.main()
