#!/usr/bin/python3
"""Runs scripts/plot.py on small results of sweeps made here.

SPDX-License-Identifier: MIT
"""

import csv
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
from plotting.sweep import (DURATIONS, METRICS, RATES, Sweep, columns,  # noqa: E402
                            sweep_figure)


def make_sweep(folder, keys, points, replications=5):
    """`points`: the values of the keys; metrics follow from the number of the point."""
    folder.mkdir(parents=True)
    (folder / "result.json").write_text(json.dumps({
        "program": "retrysim", "scenario": "s", "replications": replications,
        "sweep": {"keys": keys, "points": len(points)}}), encoding="utf-8")
    with open(folder / "points.csv", "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["variant", *keys, "replications", *columns()])
        for i, values in enumerate(points):
            cells = []
            for metric, *_ in METRICS:
                exists = metric != "latency_p99" or i != 1
                low, high = (i + 0.5, i + 1.5) if replications > 1 else ("", "")
                cells += [i + 1, low, high] if exists else ["", "", ""]
            writer.writerow([f"point{i}", *values, replications, *cells])
    return folder


class PlotSweepTest(unittest.TestCase):
    def setUp(self):
        self._temporary = tempfile.TemporaryDirectory()
        self.addCleanup(self._temporary.cleanup)
        self.root = Path(self._temporary.name)

    def test_one_two_or_no_varied_keys_give_one_picture(self):
        cases = {
            "numbers": (["a.rate"], [["1"], ["2.5"], ["10"]], 5),
            "words": (["a.jitter"], [["full"], ["none"], ["equal"]], 1),
            "many": (["a.rate"], [[str(i)] for i in range(40)], 5),
            "two": (["a.rate", "b.rate"], [[x, y] for x in "123" for y in ("full", "none")], 5),
            "same": (["a.rate"], [["1"]], 1),
        }
        for name, (keys, points, replications) in cases.items():
            folder = make_sweep(self.root / name, keys, points, replications)
            done = plot(folder)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            self.assertEqual(done.stdout, f"{folder / 'sweep.png'}\n")
            self.assertGreater((folder / "sweep.png").stat().st_size, 10000)

    def test_ticks_are_at_the_values_swept(self):
        for name, values in (("few", ["1", "2", "3", "5"]), ("log", ["10", "100", "500", "1000"])):
            folder = make_sweep(self.root / name, ["a.count"], [[v] for v in values])
            figure = sweep_figure(folder, "blue")
            self.addCleanup(matplotlib.pyplot.close, figure)
            self.assertEqual([t.get_text() for t in figure.axes[0].get_xticklabels()], values)

    def test_the_same_files_give_the_same_picture(self):
        folder = make_sweep(self.root / "r", ["a", "b"], [[x, y] for x in "12" for y in "34"])
        for out in ("one", "two"):
            done = plot(folder, "--out", self.root / out, "--format", "svg")
            self.assertEqual(done.returncode, 0)
        self.assertEqual((self.root / "one" / "sweep.svg").read_bytes(),
                         (self.root / "two" / "sweep.svg").read_bytes())

    def test_the_two_keys_with_the_most_values_are_drawn(self):
        points = [[a, b, c] for a in ("1", "2") for b in "123" for c in "1234"]
        sweep = Sweep(make_sweep(self.root / "r", ["x.a", "x.b", "x.c"], points))
        self.assertEqual(sweep.keys, ["x.b", "x.c"])
        self.assertEqual(sweep.fixed, ["x.a = 1"])
        self.assertEqual(len(sweep.points), 12)

    def test_keys_that_move_together_are_one(self):
        points = [[a, str(int(a) * 2), c] for a in "123" for c in ("full", "none")]
        sweep = Sweep(make_sweep(self.root / "r", ["a", "b", "c"], points))
        self.assertEqual(sweep.keys, ["a", "c"])
        self.assertEqual(len(sweep.points), 6)

    def test_titles_and_colours_come_from_the_results(self):
        folder = make_sweep(self.root / "r", ["a"], [["1"], ["2"]])
        info = json.loads((folder / "result.json").read_text(encoding="utf-8"))
        info["sweep"]["metrics"] = {
            "goodput": {"label": "goodput", "unit": "1/s", "better": "higher"},
            "amplification": {"label": "attempts per request", "unit": "1", "better": "lower"}}
        (folder / "result.json").write_text(json.dumps(info), encoding="utf-8")
        sweep = Sweep(folder)
        self.assertEqual(sweep.title("goodput"), "Goodput, per second")
        self.assertEqual(sweep.title("amplification"), "Attempts per request")
        self.assertEqual(sweep.title("success_rate"), "Success_rate")  # not described
        self.assertEqual(sweep.colours("goodput"), "viridis")
        self.assertEqual(sweep.colours("amplification"), "viridis_r")

    def figure(self, folder):
        figure = sweep_figure(folder, "#0072B2")
        self.addCleanup(matplotlib.pyplot.close, figure)
        return figure

    def test_words_get_a_line_each_with_intervals(self):
        points = [[x, mode] for x in ("1", "2", "10") for mode in ("full", "none")]
        figure = self.figure(make_sweep(self.root / "r", ["c.rate", "c.jitter"], points))
        axis = figure.axes[0]
        self.assertEqual([c.get_label() for c in axis.containers], ["full", "none"])
        full = axis.containers[0]
        self.assertEqual(list(full.lines[0].get_xdata()), [1, 2, 10])
        self.assertEqual(list(full.lines[0].get_ydata()), [1, 3, 5])
        low, high = (list(cap.get_ydata()) for cap in full.lines[1])
        self.assertEqual((low, high), ([0.5, 2.5, 4.5], [1.5, 3.5, 5.5]))
        self.assertEqual(axis.get_xlabel(), "c.rate, 1/s")
        self.assertEqual(figure.legends[0].get_title().get_text(), "c.jitter")

    def test_distances_on_axes_of_numbers_are_true(self):
        points = [[x, y] for x in ("1", "2", "10") for y in ("3", "4")]
        figure = self.figure(make_sweep(self.root / "r", ["a.duration", "b.rate"], points))
        axis = figure.axes[0]
        self.assertEqual(axis.get_xlabel(), "a.duration, s")
        self.assertEqual(axis.get_ylabel(), "b.rate, 1/s")
        corners = axis.collections[0].get_coordinates()[0, :, 0]
        self.assertEqual(list(corners), [0.5, 1.5, 6, 14])

    def test_metrics_that_exist_nowhere_have_no_panel(self):
        folder = make_sweep(self.root / "r", ["a"], [["1"], ["2"]])
        with open(folder / "points.csv", encoding="utf-8") as file:
            header, *rows = csv.reader(file)
        for row in rows:
            for end in ("", "_ci_low", "_ci_high"):
                row[header.index("latency_p99" + end)] = ""
        with open(folder / "points.csv", "w", newline="", encoding="utf-8") as file:
            csv.writer(file, lineterminator="\n").writerows([header, *rows])
        titles = [a.get_title(loc="left") or a.get_title() for a in self.figure(folder).axes
                  if a.axison]
        self.assertEqual(titles, ["Goodput", "Success_rate", "Amplification"])

    def test_units_are_those_of_the_reference(self):
        for line in (ROOT / "scenarios" / "KEYS.md").read_text(encoding="utf-8").splitlines():
            cells = [cell.strip() for cell in line.strip("|").split(" | ")]
            last = cells[0].strip("`").rpartition(".")[2]
            if len(cells) > 3 and cells[0].startswith("`"):
                if last in DURATIONS and cells[1].startswith(("duration", "number")):
                    self.assertEqual(cells[2], "s", cells[0])
                if last in RATES and cells[1].startswith("number"):
                    self.assertEqual(cells[2], "1/s", cells[0])

    def test_levels_are_in_the_order_of_their_size(self):
        sweep = Sweep(make_sweep(self.root / "r", ["a"], [["10"], ["9"], ["1e-3"]]))
        self.assertEqual(sweep.levels("a"), ["1e-3", "9", "10"])

    def test_missing_files_and_wrong_ones_are_named(self):
        folder = make_sweep(self.root / "r", ["a"], [["1"], ["2"]])
        (folder / "points.csv").write_text("variant,a\np,1\n", encoding="utf-8")
        done = plot(folder)
        self.assertEqual(done.returncode, 3)
        self.assertIn("points.csv", done.stderr)
        (folder / "result.json").unlink()
        done = plot(folder)
        self.assertEqual(done.returncode, 3)
        self.assertIn("result.json: is missing", done.stderr)


if __name__ == "__main__":
    unittest.main()
