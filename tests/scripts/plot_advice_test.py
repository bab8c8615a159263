#!/usr/bin/python3
"""Draws the picture of `retrysim advise` from small result folders made here.

SPDX-License-Identifier: MIT
"""

import json
import sys
import tempfile
import unittest
import warnings
from pathlib import Path

from plot_call import plot  # noqa: F401  (it sets the paths and the backend)
import matplotlib.pyplot as plt

from plotting.advice import EFFECTS, advice_figure

sys.dont_write_bytecode = True

MEASURES = [{"name": "success_rate", "label": "success", "unit": "1", "percentage": True,
             "aim": True},
            {"name": "recovered", "label": "recovery", "unit": "1", "percentage": True,
             "aim": True},
            {"name": "latency_p99", "label": "p99 latency", "unit": "s", "percentage": False,
             "aim": False}]


def row(words, state, **measures):
    out = {"words": words, "state": state}
    for measure in MEASURES:
        name = measure["name"]
        values = measures.get(name, (None, None, None, None))
        out.update(zip((f"{name}_{end}" for end in ("difference", "ci_low", "ci_high", "effect")),
                       values))
    return out


REMEDIES = [row("the scenario as it stands", None),
            row("shedding: attempts that have waited are refused", "tried",
                success_rate=(0.4, 0.3, 0.5, "better"), recovered=(0, None, None, "none"),
                latency_p99=(-1, -2, -0.5, "better")),
            row(f"a remedy whose words are {'very ' * 30}long", "tried",
                success_rate=(0.01, -0.1, 0.1, "none"), recovered=(0, None, None, "none"),
                latency_p99=(2, 1, 3, "worse")),
            row("hedging less", "does_not_fit")]


class AdvicePicture(unittest.TestCase):
    def setUp(self):
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))

    def draw(self, rows, outcome="helps"):
        info = {"scenario": "dip", "advice": {"outcome": outcome, "measures": MEASURES,
                                              "rows": rows}}
        (self.folder / "advice.csv").write_text("scenario\n", encoding="utf-8")
        (self.folder / "result.json").write_text(json.dumps(info), encoding="utf-8")
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            figure = advice_figure(self.folder)
            figure.canvas.draw()
        self.addCleanup(plt.close, figure)
        return figure

    def test_remedies_that_were_tried_have_a_mark_in_each_measure_that_changes(self):
        figure = self.draw(REMEDIES)
        shown = [axis for axis in figure.axes if axis.axison]
        self.assertEqual([axis.get_title(loc="left") or axis.get_title() for axis in shown],
                         ["Success", "p99 latency"])  # nothing changes the recovery
        marks = [(line.get_xdata()[0], line.get_ydata()[0], line.get_color())
                 for line in shown[0].lines if line.get_marker() in "os"]
        self.assertEqual(marks, [(40, 0, EFFECTS["better"][0]), (1, 1, EFFECTS["none"][0])])
        self.assertEqual(shown[0].get_ylim(), (1.5, -0.5))  # the best one at the top
        self.assertEqual([shown[0].get_xlabel(), shown[1].get_xlabel()],
                         ["difference, points", "difference, seconds"])
        self.assertEqual(figure._suptitle.get_text(), "dip: shedding helps most")
        legend, = figure.legends
        self.assertEqual([text.get_text() for text in legend.get_texts()],
                         ["better", "worse", "no difference that is sure"])
        renderer = figure.canvas.get_renderer()
        boxes = [legend.get_window_extent(renderer)] + [
            label.get_window_extent(renderer) for label in shown[0].get_yticklabels()]
        for box in boxes:
            self.assertGreaterEqual(box.x0, -1)
            self.assertLessEqual(box.x1, figure.bbox.x1 + 1)

    def test_where_nothing_helps_or_was_tried(self):
        figure = self.draw(REMEDIES, "nothing_helps")
        self.assertIn("no remedy helps", figure._suptitle.get_text())
        figure = self.draw(REMEDIES[:1] + REMEDIES[3:])
        self.assertIn("no remedy was tried", figure._suptitle.get_text())
        self.assertFalse([axis for axis in figure.axes if axis.axison])

    def test_from_the_command_line(self):
        self.draw(REMEDIES)
        done = plot(self.folder)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(done.stdout.strip(), str(self.folder / "advise.png"))
        (self.folder / "result.json").write_text("{}", encoding="utf-8")
        done = plot(self.folder)
        self.assertEqual(done.returncode, 3)
        self.assertIn("result.json: cannot be used", done.stderr)


if __name__ == "__main__":
    unittest.main()
