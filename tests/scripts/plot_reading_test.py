#!/usr/bin/python3
"""Whether the pictures of a run can be read: words, colours, titles, panels.

SPDX-License-Identifier: MIT
"""

import csv
import json
import tempfile
import unittest
from pathlib import Path

import matplotlib.pyplot
from matplotlib.colors import to_rgb

from plot_test import (bands, draw_overview, edit, legend_texts, make_comparison, make_results,
                       make_several, panel, recover, write)
from plotting import drawing
from plotting.comparison import comparison_figure
from plotting.results import Results


class PlotReadingTest(unittest.TestCase):
    def setUp(self):
        self.root = Path(self.enterContext(tempfile.TemporaryDirectory()))

    def test_the_capacity_is_drawn_to_the_end_of_the_last_bin(self):
        folder = make_results(self.root / "r", groups=1)
        _, figure = draw_overview(self, folder)
        line = next(line for line in panel(figure, "Load against capacity").lines
                    if line.get_drawstyle() == "steps-post" and line.get_color() == "black")
        with open(folder / "service.csv", encoding="utf-8") as file:
            bins = sorted({float(row["time_s"]) for row in csv.DictReader(file)})
        self.assertEqual(line.get_xdata()[-1], bins[-1] + (bins[1] - bins[0]))
        self.assertEqual(line.get_ydata()[-1], line.get_ydata()[-2])

    def test_colours_that_overlap_do_not_mix_and_widths_mean_nothing(self):
        _, figure = draw_overview(self, make_results(self.root / "r", groups=3))
        for axis in figure.axes:
            for shape in [*bands(axis), *axis.patches]:
                self.assertIn(shape.get_alpha(), (None, 1), axis.get_title(loc="left"))
        lines = panel(figure, "Goodput").lines
        self.assertEqual(len({line.get_linewidth() for line in lines}), 1)
        # What lies on top of each other is told apart by its dashes.
        self.assertEqual(len({str(line._unscaled_dash_pattern) for line in lines}), 3)
        blue = to_rgb(drawing.BLUE)
        self.assertTrue(all(a > b for a, b in zip(drawing.pale(drawing.BLUE), blue)))

    def test_panels_with_nothing_in_them_are_left_out(self):
        folder = make_results(self.root / "r")
        titles = [a.get_title(loc="left") for a in draw_overview(self, folder)[1].axes]
        self.assertIn("In the queue", titles)
        for name, columns in (("service.csv", ["queue_mean"]),
                              ("timeseries.csv", ["in_backoff", "limiter_waiting"])):
            with open(folder / name, encoding="utf-8") as file:
                header, *rows = csv.reader(file)
            for row in rows:
                for column in columns:
                    row[header.index(column)] = 0
            write(folder / name, header, rows)
            left = [a.get_title(loc="left") for a in draw_overview(self, folder)[1].axes]
            self.assertEqual(len(left), len(titles) - 1)
            titles = left
        self.assertFalse([t for t in titles if "queue" in t or "backoff" in t])

    def test_what_never_happens_is_said_and_not_drawn(self):
        folder = make_results(self.root / "r")
        with open(folder / "timeseries.csv", encoding="utf-8") as file:
            header, *rows = csv.reader(file)
        for row in rows:
            row[header.index("failures")] = row[header.index("retries")] = 0
        write(folder / "timeseries.csv", header, rows)
        _, figure = draw_overview(self, folder)
        titles = " ".join(a.get_title(loc="left") for a in figure.axes)
        self.assertNotIn("Success rate", titles)
        self.assertNotIn("Amplification", titles)
        self.assertIn("no request fails, nothing is retried",
                      " ".join(t.get_text() for t in figure.texts))

    def test_bands_are_whole(self):
        folder = make_results(self.root / "r", groups=1)
        with open(folder / "timeseries.csv", encoding="utf-8") as file:
            header, *rows = csv.reader(file)
        for row in rows:  # one replication far above the mean, all the time
            if row[header.index("replication")] == "3":
                for name in ("attempts", "latency_p99_s"):
                    cell = row[header.index(name)]
                    row[header.index(name)] = 20 * float(cell) if cell else ""
        write(folder / "timeseries.csv", header, rows)
        _, figure = draw_overview(self, folder)
        for title in ("Load", "Amplification", "Latency"):
            axis = panel(figure, title)
            highest = max(path.vertices[:, 1].max() for band in bands(axis)
                          for path in band.get_paths())
            self.assertLessEqual(highest, axis.get_ylim()[1], title)

    def test_a_line_on_top_of_the_requests_has_no_gaps(self):
        _, figure = draw_overview(self, make_several(self.root / "r", 2))
        for line in panel(figure, "Load of s1").lines[:2]:  # requests, attempts
            self.assertEqual(line.get_linestyle(), "-")

    def test_many_variants_have_one_colour_and_all_are_named(self):
        folder = make_comparison(self.root / "r")
        info = json.loads((folder / "result.json").read_text(encoding="utf-8"))
        with open(folder / "compare.csv", encoding="utf-8") as file:
            header, *rows = csv.reader(file)
        means = {row["metric"]: row for row in info["summary"] if row["variant"] == "base=200ms"}
        mine = [row for row in rows if row[header.index("variant")] == "base=200ms"]
        for i in range(18):
            name = f"base={300 + 20 * i}ms"
            info["variants"].append({**info["variants"][0], "variant": name})
            info["summary"] += [{**row, "variant": name, "mean": row["mean"] + 0.001 * i}
                                for row in means.values()]
            rows += [[name if c == "base=200ms" else c for c in row] for row in mine]
        (folder / "result.json").write_text(json.dumps(info), encoding="utf-8")
        write(folder / "compare.csv", header, rows)
        with matplotlib.pyplot.rc_context(drawing.STYLE):
            figure = comparison_figure(folder, drawing.GROUP_COLOURS)
        self.addCleanup(matplotlib.pyplot.close, figure)
        bars = {bar.get_facecolor() for bar in figure.axes[0].patches}
        self.assertEqual(len(bars), 1)
        self.assertEqual(len(figure.axes[0].get_yticklabels()), 20)
        self.assertIn("20 others", [t.get_text() for a in figure.axes if a.get_legend()
                                    for t in a.get_legend().get_texts()])
        # Points too close together for a name each have one for all.
        names = [t.get_text() for t in panel(figure, "Success against work").texts]
        self.assertEqual(names, ["100ms", "200ms … 640ms", "50ms"])

    def test_every_group_has_a_look_of_its_own(self):
        results = Results(make_results(self.root / "r", groups=10), None)
        looks = {(str(s["colour"]), str(s["style"])) for _, s in drawing.group_styles(results)}
        self.assertEqual(len(looks), 10)
        self.assertEqual(len({colour for colour, _ in looks}), 10)

    def test_titles_and_ticks_are_whole(self):
        folder = make_several(self.root / "r", 3)
        for name in folder.glob("*.csv"):
            text = name.read_text(encoding="utf-8")
            name.write_text(text.replace(",s1,", ",payments-of-all-customers-in-europe,"),
                            encoding="utf-8")

        def rename(variant):
            variant["services"][1]["name"] = "payments-of-all-customers-in-europe"
            variant["keys"]["client.g1.calls"] = '"payments-of-all-customers-in-europe"'

        _, figure = draw_overview(self, edit(folder, rename))
        renderer = figure.canvas.get_renderer()
        for axis in figure.axes:
            self.assertLessEqual(axis._left_title.get_window_extent(renderer).width,
                                 axis.bbox.width + 2, axis.get_title(loc="left"))
            boxes = [label.get_window_extent(renderer) for label in axis.get_xticklabels()]
            self.assertFalse([1 for a, b in zip(boxes, boxes[1:]) if a.x1 > b.x0])


if __name__ == "__main__":
    unittest.main()
