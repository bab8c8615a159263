#!/usr/bin/python3
"""Whether what pictures say stays inside them, and their panels wide, whatever the labels are.

SPDX-License-Identifier: MIT
"""

import csv
import json
import sys
import tempfile
import unittest
import warnings
from pathlib import Path

from plot_call import plot  # noqa: F401  (it sets the paths and the backend)
from plot_sweep_test import make_sweep
from plot_choose_test import FIRST_STAGE, RACE, folder_of
from plot_test import edit, make_comparison, make_results, make_several
import matplotlib.pyplot as plt

from plotting.choose import choose_figures
from plotting.comparison import comparison_figure
from plotting.drawing import GROUP_COLOURS, STYLE
from plotting.labels import LONGEST, short_labels, variant_labels
from plotting.latency import latency
from plotting.legend import axis_legend_below
from plotting.overview import overview
from plotting.results import Results
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

    def check(self, figure, least_width=LEAST_WIDTH):
        self.addCleanup(plt.close, figure)
        figure.canvas.draw()
        renderer, whole = figure.canvas.get_renderer(), figure.bbox.padded(1)
        drawn = [axis for axis in figure.axes if axis.axison]
        legends = figure.legends + [a.get_legend() for a in drawn if a.get_legend()]
        boxes = [legend.get_window_extent(renderer) for legend in legends]
        for axis in drawn:
            self.assertGreater(axis.get_window_extent(renderer).width,
                               least_width * figure.bbox.width)
            low, high = sorted(axis.get_xlim())
            boxes += [label.get_window_extent(renderer)
                      for place, label in zip(axis.get_xticks(), axis.get_xticklabels())
                      if label.get_text() and low <= place <= high]
        for box in boxes:
            self.assertGreaterEqual(box.x0, whole.x0)
            self.assertLessEqual(box.x1, whole.x1)
            self.assertGreaterEqual(box.y0, whole.y0)
            self.assertLessEqual(box.y1, whole.y1)

    def graph(self, count):
        """Services s0, s1 ... with long names; each group calls one by a call of another name, the
        first and the last of them nothing."""
        folder = make_several(self.root / f"graph{count}", count, replications=2, length=80)

        def change(variant):
            names = [s["name"] for s in variant["services"]]
            calls = [{"name": f"g{i}", "calls": names[i:i + 1]} for i in range(1, count - 1)]
            variant.update(keys={}, clients=calls[:2], calls=calls[2:] + [
                {"name": f"g{i}", "calls": []} for i in (0, count - 1)])
            for i in (0, count - 1):
                variant["services"][i].update(capacity_per_s=None, capacity_steps=None)

        path = folder / "service.csv"
        rows = [line.split(",") for line in path.read_text(encoding="utf-8").splitlines()]
        for row in rows[1:]:
            if row[3] in ("s0", f"s{count - 1}"):
                row[5] = "0"
        path.write_text("\n".join(map(",".join, rows)) + "\n", encoding="utf-8")
        return edit(folder, change)

    def test_the_services_of_a_graph_have_their_callers_and_panels_their_width(self):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            figure = overview(Results(self.graph(9), None))
        self.check(figure, 0.2)  # three abreast
        titles = [axis.get_title(loc="left").replace("\n", " ") for axis in figure.axes]
        for i in range(1, 8):
            self.assertEqual(titles[i], f"Load of s{i} by g{i}")
        for axis in (figure.axes[0], figure.axes[8]):
            self.assertEqual([text.get_text() for text in axis.texts], ["no calls"])
            self.assertEqual(list(axis.get_yticks()), [0])
        self.assertEqual(figure.axes[1].texts[:], [])

    def test_long_titles_do_not_squeeze_their_panels(self):
        folder = self.graph(5)
        edit(folder, lambda variant: [group.update(calls=[f"s{i}" for i in range(5)])
                                      for group in variant["calls"] + variant["clients"]])
        for name in ("timeseries.csv", "result.json"):
            text = (folder / name).read_text(encoding="utf-8")
            for i in range(5):
                for quote in ",\"":
                    text = text.replace(f"{quote}g{i}{quote}",
                                        f"{quote}a-group-of-the-edge-{i}.with-its-call{quote}")
            (folder / name).write_text(text, encoding="utf-8")
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            self.check(overview(Results(folder, None)), 0.2)

    def test_legends_stand_clear_of_what_is_along_the_axis(self):
        for groups in (1, 4):
            figure = latency(Results(make_results(self.root / str(groups), groups=groups), None))
            self.check(figure)
            for axis in figure.axes:
                words = axis.xaxis.get_tightbbox(figure.canvas.get_renderer())
                legend = axis.get_legend().get_window_extent()
                self.assertGreaterEqual(words.y0 - legend.y1, 2)
                self.assertLess(words.y0 - legend.y1, 20)

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

    def test_variants_are_called_by_what_differs(self):
        names = [f"service_time={table} mode={mode}" for table in TABLES[:2]
                 for mode in ("full", "none")]
        labels, keys = variant_labels(names)
        self.assertEqual(list(labels.values()), ["constant full", "constant none",
                                                 "exponential full", "exponential none"])
        self.assertEqual(keys, ("service_time", "mode"))
        self.assertEqual(variant_labels(["base", "other"]),
                         ({"base": "base", "other": "other"}, ()))
        self.assertEqual(variant_labels(["a=1", "b=2"])[1], ())

    def test_a_comparison_of_tables_has_short_labels_inside(self):
        folder = make_comparison(self.root / "compare")
        names = dict(zip(("base=100ms", "base=200ms", "base=50ms"),
                         [f"service_time={table}" for table in TABLES]))
        for path in folder.glob("*.csv"):
            with open(path, encoding="utf-8") as file:
                rows = [[names.get(cell, cell) for cell in row] for row in csv.reader(file)]
            # A difference that is nothing but rounding, and numbers on both sides.
            if path.name == "compare.csv":
                at = rows[0].index("difference")
                rows += [[*row[:5], "1", *row[6:at], *values, "", "", "", *row[at + 6:]]
                         for row in rows if row[4] == "success_rate" and row[3] == "all"
                         for values in (["-0.5", "-0.7", "-0.2"],)]
            with open(path, "w", newline="", encoding="utf-8") as file:
                csv.writer(file, lineterminator="\n").writerows(rows)
        info = json.loads((folder / "result.json").read_text(encoding="utf-8"))
        for row in info["variants"] + info["summary"]:
            row["variant"] = names[row["variant"]]
        (folder / "result.json").write_text(json.dumps(info), encoding="utf-8")
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            figure = comparison_figure(folder, GROUP_COLOURS)
        self.check(figure, 0.2)
        legend = figure.axes[-1].get_legend()
        self.assertEqual([text.get_text() for text in legend.get_texts()],
                         ["constant (baseline)", "exponential", "lognormal, cv 2",
                          "pale: not significant"])
        self.assertEqual(legend.get_title().get_text(), "service_time")
        self.assertEqual([label.get_text() for label in figure.axes[0].get_yticklabels()],
                         ["exponential", "lognormal, cv 2"])
        renderer = figure.canvas.get_renderer()
        self.assertIn("differences from service_time = constant", figure.texts[0].get_text())
        self.assertLessEqual(figure.texts[0].get_window_extent(renderer).x1, figure.bbox.x1)
        for axis in figure.axes:
            for text in axis.texts:
                box = text.get_window_extent(renderer)
                self.assertGreaterEqual(box.x0, axis.bbox.x0 - 2, text)
                self.assertLessEqual(box.x1, axis.bbox.x1 + 2, text)

    def test_a_choice_of_tables_has_short_labels_inside(self):
        folder = self.root / "choose"
        folder.mkdir()

        def long(name):
            table = f'{{ distribution = ""lognormal"", mean = ""20ms"", cv = {name[2:]} }}'
            return f'"service_time={table} retries=3"'

        def row(text):
            cells = text.split(",")
            return ",".join([long(cells[0]), *cells[1:]])

        folder_of(folder, [row(text) for text in FIRST_STAGE + RACE],
                  best=long("a=2").strip('"').replace('""', '"'))
        (_, draw), = choose_figures(folder)
        figure = draw()
        self.check(figure)
        names = [label.get_text() for label in figure.axes[0].get_yticklabels()]
        self.assertEqual(sorted(names), [f"cv {i} 3" for i in range(1, 6)])
        self.assertEqual(figure.axes[0].get_ylabel(), "service_time, retries")
        race = figure.axes[1].get_legend()
        self.assertIn("cv 2 3", [text.get_text() for text in race.get_texts()])
        self.assertIn("cv 2 3 wins", figure._suptitle.get_text())

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
