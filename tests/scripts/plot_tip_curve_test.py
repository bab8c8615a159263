#!/usr/bin/python3
"""Draws the picture of `retrysim tip --vary` from small result folders made here.

SPDX-License-Identifier: MIT
"""

import json
import sys
import tempfile
import unittest
from pathlib import Path

import matplotlib
import matplotlib.pyplot

ROOT = Path(__file__).resolve().parents[2]
sys.dont_write_bytecode = True
sys.path.insert(0, str(ROOT / "scripts"))
matplotlib.use("Agg")

from plot_call import plot  # noqa: E402
from plotting.tip_curve import tip_curve_figure  # noqa: E402

# line, x, outcome, d50, ci_low, ci_high
POINTS = [(0, 100, "recovers_at_last_value", "", "", ""), (0, 200, "found", 1.8, 1.7, ""),
          (0, 500, "found", 1.2, 1.1, 1.3), (1, 100, "found", 1.4, 1.3, 1.5),
          (1, 200, "found", 1.1, 1.05, 1.15), (1, 500, "tips_at_first_value", "", "", "")]


def curve_folder(folder, points=POINTS, axis="client.web.arrivals.total_rate",
                 lines=("mode=legacy", "mode=standard")):
    rows = ["scenario,variant,outcome,d50,ci_low,ci_high"]
    described = []
    for line, x, outcome, *figures in points:
        name = f"{line} at {x}"
        rows.append(",".join(map(str, ["dip", name, outcome, *figures])))
        described.append({"variant": name, "line": line, "x": x if axis else None})
    (folder / "curve.csv").write_text("\n".join(rows) + "\n", encoding="utf-8")
    (folder / "result.json").write_text(json.dumps({
        "program": "retrysim", "scenario": "dip", "description": "A dip", "replications": 20,
        "trigger": {"path": "fault.dip.duration", "unit": "s", "first": 1, "last": 2},
        "curve": {"axis": axis, "axis_unit": "1/s" if axis else "1", "lines": list(lines),
                  "points": described}}), encoding="utf-8")
    return folder


class PlotTipCurveTest(unittest.TestCase):
    def setUp(self):
        self._temporary = tempfile.TemporaryDirectory()
        self.addCleanup(self._temporary.cleanup)
        self.root = Path(self._temporary.name)

    def figure(self, **curve):
        figure = tip_curve_figure(curve_folder(self.root, **curve))
        self.addCleanup(matplotlib.pyplot.close, figure)
        return figure

    def test_each_line_is_at_its_values_with_true_distances(self):
        axis = self.figure().axes[0]
        lines = {line.get_label(): line for line in axis.lines}
        self.assertEqual(list(lines["mode=legacy"].get_xdata()), [100, 200, 500])
        self.assertEqual(list(lines["mode=legacy"].get_ydata())[1:], [1.8, 1.2])
        self.assertEqual(list(lines["mode=standard"].get_ydata())[:2], [1.4, 1.1])
        self.assertEqual(axis.get_xscale(), "linear")
        self.assertEqual(axis.get_xlabel(), "offered load, requests/s")
        self.assertEqual(axis.get_ylabel(), "D50: half do not recover, s")

    def test_bands_are_the_intervals(self):
        """One that goes beyond the sizes searched is drawn to their end."""
        axis = self.figure().axes[0]
        corners = {tuple(v) for v in axis.collections[0].get_paths()[0].vertices.tolist()}
        self.assertLessEqual({(200, 1.7), (200, 2.0), (500, 1.1), (500, 1.3)}, corners)
        whiskers = [path.vertices.tolist() for path in axis.collections[1].get_paths()]
        self.assertEqual(whiskers, [[[200, 1.7], [200, 2.0]], [[500, 1.1], [500, 1.3]]])

    def test_points_that_cannot_tip_are_marked_at_the_end_searched(self):
        figure = self.figure()
        axis = figure.axes[0]
        marks = {line.get_marker(): (list(line.get_xdata()), list(line.get_ydata()))
                 for line in axis.lines if line.get_marker() in "^v" and len(line.get_xdata()) == 1}
        self.assertEqual(marks, {"^": ([100], [2]), "v": ([500], [1])})
        texts = [text.get_text() for text in figure.legends[0].get_texts()]
        self.assertEqual(texts, ["mode=legacy", "mode=standard",
                                 "no tipping point: most recover even at 2 s",
                                 "half or more do not recover already at 1 s"])

    def test_no_answer_is_said(self):
        points = [*POINTS[1:4], (1, 200, "not_judged", "", "", "")]
        texts = [text.get_text() for text in self.figure(points=points).legends[0].get_texts()]
        self.assertIn("1 point without an answer is left out", texts)

    def test_without_numbers_the_points_have_their_names(self):
        points = [(0, i, "found", 1.5, 1.4, 1.6) for i in range(3)]
        axis = self.figure(points=points, axis=None, lines=[""]).axes[0]
        self.assertEqual([t.get_text() for t in axis.get_xticklabels()],
                         ["0 at 0", "0 at 1", "0 at 2"])

    def test_the_command_draws_the_curve(self):
        (self.root / "r").mkdir()
        folder = curve_folder(self.root / "r")
        self.assertEqual(plot(folder), (0, f"{folder / 'tip_curve.png'}\n", ""))
        for out in ("one", "two"):
            self.assertEqual(plot(folder, "--out", self.root / out, "--format", "svg")[0], 0)
        self.assertEqual((self.root / "one" / "tip_curve.svg").read_bytes(),
                         (self.root / "two" / "tip_curve.svg").read_bytes())
        (folder / "curve.csv").write_text("variant,d50\nx,1\n", encoding="utf-8")
        status, _, errors = plot(folder)
        self.assertEqual(status, 3)
        self.assertIn("lacks the column outcome", errors)


if __name__ == "__main__":
    unittest.main()
