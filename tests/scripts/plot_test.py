#!/usr/bin/python3
"""Tests of scripts/plot.py: it draws what `pictures` in a result.json says, from the files there.

Usage: plot_test.py

SPDX-License-Identifier: MIT
"""

import hashlib
import json
import tempfile
import unittest
from pathlib import Path

from plot_call import plot
from picture_texts import along_axes, crowded, drawn, words_of

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.colors import to_rgb

from plotting.layout import draw_picture
from plotting.results import Results
from plotting.sizes import AREAS, OKABE_ITO, SIZES, STYLE

TIME = {"label": "time, s", "unit": "s", "scale": "linear", "low": 0, "high": 30,
        "ticks": [[0, "0"], [10, "10"], [20, "20"], [30, "30"]]}
RATE = {"label": "per second", "unit": "1/s", "scale": "stretched", "knee": 10, "low": 0,
        "high": 1000, "ticks": [[0, "0"], [10, "10"], [100, "100"], [1000, "1000"]]}
NAMES = {"label": "retry mode", "names": [["a", "none"], ["b", "standard"]]}
SHARE = {"label": "difference, %", "unit": "1", "scale": "linear", "low": -1, "high": 3,
         "ticks": [[-1, "-1"], [0, "0"], [1, "1"], [2, "2"], [3, "3"]]}
SENT = {"name": "sent", "colour": "red", "dash": [6, 3], "line": True, "band": True,
        "from": {"file": "mean.csv", "where": {"client": "web"}, "x": "time_s", "y": "rate",
                 "low": "rate_low", "high": "rate_high"}}
OVER_TIME = {"id": "load", "title": "Load", "x": TIME, "y": RATE, "series": [
    SENT, {"name": "capacity", "colour": "ink", "dash": [5, 4], "line": True, "end": 30,
           "steps": [[0, 100], [10, 40]]}],
    "spans": [{"role": "fault", "name": "dip", "from": 10, "to": 20, "legend": "dip, 10 to 20 s"}]}
ROWS = {"id": "rows", "title": "Differences", "x": SHARE, "y": NAMES,
        "marks": [{"at": 0, "colour": "ink"}], "quiet": True, "series": [
            {"name": "standard", "colour": "blue", "bar": True, "text": "+200", "pale": True,
             "from": {"file": "rows.csv", "where": {"metric": ["x", "z"]}, "x": "share",
                      "y": "key", "low": "low", "high": "high", "factor": 100}}]}
CELLS = {"id": "cells", "title": "Where is it safe?", "x": NAMES, "y": NAMES, "series": [],
         "cells": {"from": {"file": "cells.csv", "where": {}, "x": "x", "y": "y",
                            "value": "phase"},
                   "classes": [["safe", "safe: recovers", "safe"], ["dead", "dead: down", "dead"]]}}
STACKS = {"id": "stacks", "title": "What became of them", "x": NAMES, "y": SHARE, "stacked": True,
          "tops": ["11", "22"], "series": [
              {"name": "successes", "colour": "green",
               "from": {"file": "parts.csv", "where": {}, "x": "key", "y": "good", "of": "sent"}},
              {"name": "the rest", "colour": "grey",
               "from": {"file": "parts.csv", "where": {}, "x": "key", "y": ["sent", "good"],
                        "of": "sent"}}]}
FILES = {
    "mean.csv": "client,time_s,rate,rate_low,rate_high\nweb,0,10,8,12\nweb,10,500,,\nother,10,7,,\n"
                "web,20,,,\n",
    "rows.csv": "metric,key,share,low,high\nx,b,0.02,0.01,0.03\ny,b,9,9,9\n",
    "cells.csv": "x,y,phase\na,a,safe\na,b,dead\nb,a,safe\nb,b,safe\n",
    "parts.csv": "key,sent,good\na,10,9\nb,20,5\n",
}


# What is left of red, green and blue without one kind of cone (Machado, Oliveira and Fernandes
# 2009, severity 1).
KINDS_OF_BLINDNESS = {
    "none": np.eye(3),
    "protanopia": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216],
                   [-0.003882, -0.048116, 1.051998]],
    "deuteranopia": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413],
                     [-0.011820, 0.042940, 0.968881]],
    "tritanopia": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602],
                   [0.004733, 0.691367, 0.303900]],
}
TO_XYZ = [[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]]


def lab(ink, kind="none"):
    """A colour in CIELAB as it is seen."""
    part = np.array(to_rgb(ink))
    linear = np.where(part <= 0.04045, part / 12.92, ((part + 0.055) / 1.055) ** 2.4)
    seen = np.clip(np.array(KINDS_OF_BLINDNESS[kind]) @ linear, 0, 1)
    xyz = np.array(TO_XYZ) @ seen / [0.9505, 1, 1.089]
    x, y, z = np.where(xyz > 0.008856, np.cbrt(xyz), 7.787 * xyz + 16 / 116)
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


def result(folder, *panels, **changes):
    picture = {"name": "overview", "title": "deploy, costs $5 or $6", "text": ["Why?"],
               "panels": list(panels)}
    info = {"version": "9.9.9", "variants": [{"variant": "base"}], "pictures": [picture]}
    for name, text in FILES.items():
        (folder / name).write_text(text, encoding="utf-8")
    (folder / "result.json").write_text(json.dumps({**info, **changes}), encoding="utf-8")
    return folder


class PlotTest(unittest.TestCase):
    def setUp(self):
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory(prefix="retrysim-plot-")))
        self.enterContext(plt.rc_context(STYLE))
        self.addCleanup(plt.close, "all")

    def axes(self, *panels):
        results = Results(result(self.folder, *panels))
        figure, = draw_picture(results.pictures()[0], results)
        return figure.axes

    def test_all_words_are_those_of_the_result(self):
        panels = (OVER_TIME, ROWS, CELLS, STACKS)
        results = Results(result(self.folder, *panels))
        texts = drawn(results.pictures()[0], results)
        said = {"deploy, costs $5 or $6", "Why?"}.union(*map(words_of, panels))
        self.assertEqual(texts - set().union(*map(along_axes, panels)), said)

    def test_lines_have_the_rows_that_fit(self):
        axis, = self.axes(OVER_TIME)
        line = axis.lines[0]
        self.assertEqual(list(line.get_xdata()), [5, 15, 25])  # bins are drawn at their middle
        self.assertEqual(list(line.get_ydata())[:2], [10, 500])
        self.assertEqual(list(axis.lines[1].get_xdata()), [0, 10, 30])
        self.assertEqual(axis.get_xlim(), (0, 30))

    def test_bars_have_the_factor_and_their_place(self):
        axis, = self.axes(ROWS)
        bar, = axis.patches
        self.assertEqual(bar.get_width(), 2)
        self.assertEqual(bar.get_y() + bar.get_height() / 2, 1)

    def test_long_names_and_titles_have_room(self):
        words = "refuse attempts that have waited for half of the timeout"
        names = {"label": "", "names": [[str(i), f"{words} {i}"] for i in range(8)]}
        panels = [{**ROWS, "id": f"{i}", "y": names, "title": title, "marks": []}
                  for i, title in enumerate(["Success", "Mean latency of those that succeed"])]
        short, long = self.axes(*panels)
        figure = short.figure
        figure.canvas.draw()
        self.assertEqual(short.get_yticklabels()[0].get_text(),
                         "refuse attempts that have\nwaited for half of the tim…")
        self.assertEqual(short.get_position().y1, long.get_position().y1)
        edge = figure.get_window_extent().x1
        for axis in figure.axes:
            self.assertLessEqual(axis._left_title.get_window_extent().x1, edge)
            heights = [label.get_window_extent() for label in axis.get_yticklabels()]
            for above, below in zip(heights, heights[1:]):
                self.assertGreaterEqual(above.y0, below.y1 - 1)

    def in_print(self, size, *panels, has_title=True):
        results = Results(result(self.folder, *panels))
        with plt.rc_context(SIZES[size].style()):
            return draw_picture(results.pictures()[0], results, SIZES[size], has_title)

    def test_in_print_nothing_is_cut_off(self):
        words = "refuse attempts that have waited for half of the timeout"
        many = {"label": "remedy", "names": [[str(i), f"{words} {i}"] for i in range(17)]}
        groups = {"label": "client group", "names": [["a", "gateway-first.backend"],
                                                     *([f"{i}", f"group {i}"] for i in range(8))]}
        long = {**SENT, "name": "sent", "said": words + ", and recovers 20 s after the fault"}
        panels = [{**OVER_TIME, "series": [long, *OVER_TIME["series"][1:]]}, CELLS,
                  {**STACKS, "x": groups, "tops": ["120 856"] * 9},
                  {**ROWS, "y": many, "title": f"{words}, and {words}"}]
        for size in SIZES:
            for has_title in (True, False):
                for shown in (panels, panels[:1], panels[3:]):
                    for figure in self.in_print(size, *shown, has_title=has_title):
                        self.assertEqual(crowded(figure), [], size)
                        plt.close(figure)

    def test_a_slide_has_its_size_and_a_column_its_width(self):
        figures = self.in_print("slide", *[{**OVER_TIME, "id": str(i)} for i in range(5)])
        self.assertEqual([len(figure.axes) for figure in figures], [2, 2, 1])
        for figure in figures:
            self.assertEqual([round(inches, 2) for inches in figure.get_size_inches()],
                             [13.33, 7.5])
        for figure in self.in_print("column", *[OVER_TIME] * 9):
            width, height = figure.get_size_inches()
            self.assertEqual(width, 3.5)
            self.assertLessEqual(height, 9)

    def test_letters_of_a_column_are_of_7_or_8_points(self):
        many = {"label": "", "names": [[str(i), str(i)] for i in range(9)]}
        crowd = {**STACKS, "x": many, "tops": ["120 856"] * 9}
        for figure in self.in_print("column", OVER_TIME, CELLS, STACKS, crowd, ROWS):
            for text in figure.findobj(plt.Text):
                self.assertTrue(7 <= text.get_fontsize() <= 8, text.get_text())

    def test_in_print_lines_differ_by_more_than_colour(self):
        other = {**SENT, "name": "failed", "colour": "blue"}
        panel = {**OVER_TIME, "series": [SENT, other, {**other, "dash": [2, 3]}]}
        figure, = self.in_print("column", panel)
        self.assertEqual([line.get_marker() for line in figure.axes[0].lines], ["s", "o", "None"])
        legend = figure.axes[0].get_legend()
        self.assertEqual([line.get_marker() for line in legend.get_lines()][:2], ["s", "o"])
        self.assertEqual([line.get_marker() for line in self.axes(panel)[0].lines], ["None"] * 3)

    def test_colours_differ_for_the_colour_blind_and_areas_in_grey(self):
        for kind in KINDS_OF_BLINDNESS:
            for palette in (OKABE_ITO, AREAS):
                seen = [lab(ink, kind) for ink in palette.values()]
                for i, one in enumerate(seen):
                    for other in seen[i + 1:]:
                        self.assertGreater(np.linalg.norm(one - other), 16, kind)
        greys = [lab(ink)[0] for ink in AREAS.values()]
        self.assertGreater(min(-np.diff(greys)), 8)

    def test_a_picture_alone(self):
        pictures = [{"name": name, "title": name, "text": [], "panels": [OVER_TIME]}
                    for name in ("glance", "overview")]
        result(self.folder, pictures=pictures)
        done = plot(self.folder, "--picture", "overview")
        self.assertEqual((done.stdout, done.stderr), (f"{self.folder / 'overview.png'}\n", ""))
        self.assertFalse((self.folder / "glance.png").exists())
        done = plot(self.folder, "--picture", "overveiw")
        self.assertEqual(done.returncode, 3)
        self.assertIn("no picture overveiw; there are glance, overview", done.stderr)
        self.assertEqual(plot(self.folder, "--size", "poster").returncode, 2)

    def test_further_figures_have_numbers(self):
        result(self.folder, *[{**OVER_TIME, "id": str(i)} for i in range(4)])
        done = plot(self.folder, "--size", "slide", "--format", "pdf")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(done.stdout.split(), [str(self.folder / "overview.pdf"),
                                               str(self.folder / "overview-2.pdf")])

    def test_text_stays_text(self):
        result(self.folder, OVER_TIME)
        plot(self.folder, "--size", "column", "--format", "svg", "--no-title")
        text = (self.folder / "overview.svg").read_text(encoding="utf-8")
        self.assertIn(">dip, 10 to 20 s</text>", text)
        self.assertNotIn("deploy, costs", text)
        self.assertNotIn(">Load</text>", text)  # the axis of the only panel says it
        plot(self.folder, "--size", "column", "--format", "pdf")
        self.assertIn(b"/CIDFontType2", (self.folder / "overview.pdf").read_bytes())

    def test_a_long_number_at_the_end_of_an_axis_is_not_cut(self):
        axis = {"label": "places", "unit": "1", "scale": "log", "low": 1, "high": 20000,
                "ticks": [[1, "1"], [100, "100"], [20000, "20,000,000"]]}
        for size in SIZES:
            for figure in self.in_print(size, {**OVER_TIME, "x": axis, "series": [], "spans": []}):
                figure.canvas.draw()
                last = figure.axes[0].get_xticklabels()[-1]
                self.assertEqual(last.get_text(), "20,000,000")
                self.assertLessEqual(last.get_window_extent().x1,
                                     figure.get_window_extent().x1, size)
                plt.close(figure)

    def test_hollow_marks_are_hollow_in_the_legend(self):
        marks = [{**SENT, "name": name, "line": False, "mark": "dot", "hollow": hollow}
                 for name, hollow in (("good so far", True), ("safe", False))]
        axis, = self.axes({**OVER_TIME, "series": marks})
        faces = {text.get_text(): line.get_markerfacecolor() for text, line in
                 zip(axis.get_legend().get_texts(), axis.get_legend().get_lines())}
        self.assertEqual(faces["good so far"], "none")
        self.assertNotEqual(faces["safe"], "none")

    def test_stacks_add_up(self):
        axis, = self.axes(STACKS)
        tops = {}
        for bar in axis.patches:
            tops[bar.get_x()] = max(tops.get(bar.get_x(), 0), bar.get_y() + bar.get_height())
        self.assertEqual([round(top, 9) for top in tops.values()], [1, 1])

    def test_the_same_result_gives_the_same_bytes_in_every_format(self):
        result(self.folder, OVER_TIME)
        for kind, *size in (("png",), ("svg",), ("pdf",), ("svg", "--size", "column"),
                            ("pdf", "--size", "slide")):
            digests = set()
            for _ in range(2):
                done = plot(self.folder, "--format", kind, *size, "--out", self.folder / "out")
                self.assertEqual((done.returncode, done.stderr), (0, ""))
                path = self.folder / "out" / f"overview.{kind}"
                self.assertEqual(done.stdout, f"{path}\n")
                digests.add(hashlib.sha256(path.read_bytes()).hexdigest())
            self.assertEqual(len(digests), 1, kind)

    def test_one_variant_alone(self):
        pictures = [{"name": name, "title": name, "text": [], "panels": [OVER_TIME], **more}
                    for name, more in (("overview", {}), ("latency", {"variant": "b"}))]
        result(self.folder, pictures=pictures, variants=[{"variant": "a"}, {"variant": "b"}])
        self.assertEqual(plot(self.folder).stdout, f"{self.folder / 'overview.png'}\n")
        self.assertEqual(plot(self.folder, "--variant", "b").stdout,
                         f"{self.folder / 'latency.png'}\n")
        self.assertIn("no variant c; there are a, b", plot(self.folder, "--variant", "c").stderr)

    def test_an_old_result_says_what_to_do(self):
        info = json.loads((result(self.folder, OVER_TIME) / "result.json").read_text())
        del info["pictures"]
        (self.folder / "result.json").write_text(json.dumps({**info, "version": "0.1.0"}))
        done = plot(self.folder)
        self.assertEqual(done.returncode, 3)
        self.assertIn("was written by retrysim 0.1.0, whose results do not say what their pictures "
                      "are; run its command again, or make a page of it with retrysim report",
                      done.stderr)

    def test_missing_files_and_wrong_ones_are_named(self):
        result(self.folder, OVER_TIME)
        mean = self.folder / "mean.csv"
        mean.write_text("client,time_s\nweb,0\n", encoding="utf-8")
        self.assertIn("mean.csv: lacks the column rate", plot(self.folder).stderr)
        mean.unlink()
        self.assertIn("mean.csv: is missing", plot(self.folder).stderr)
        (self.folder / "result.json").write_text("{", encoding="utf-8")
        self.assertEqual(plot(self.folder).returncode, 3)
        self.assertIn("no such folder", plot(self.folder / "nope").stderr)
        self.assertEqual(plot(self.folder, "--format", "gif").returncode, 2)

    def test_what_cannot_be_written_is_an_error(self):
        result(self.folder, OVER_TIME)
        (self.folder / "overview.png").mkdir()
        done = plot(self.folder)
        self.assertEqual(done.returncode, 4)
        self.assertIn("is not a regular file", done.stderr)

    def test_metrics_of_a_sweep(self):
        axis = {**TIME, "key": "k", "label": "k"}
        panel = {"id": "m", "title": "Success", "metric": "m", "x": axis, "y": RATE, "series": [
            {"name": "web", "colour": "blue", "mark": "dot", "whiskers": True, "line": True,
             "from": {"file": "summary.csv", "where": {"metric": "m", "client": "web"},
                      "by": {"file": "points.csv", "column": "variant", "where": {}},
                      "x": "k", "y": "mean", "low": "ci_low", "high": "ci_high"}}]}
        picture = {"name": "sweep_clients", "title": "s", "text": [], "panels": [panel]}
        result(self.folder, pictures=[picture])
        self.assertEqual(plot(self.folder, "--metrics", "queue_mean").returncode, 2)
        (self.folder / "points.csv").write_text("variant,k\nk=1,1\nk=2,2\n", encoding="utf-8")
        (self.folder / "summary.csv").write_text(
            "variant,client,metric,mean,ci_low,ci_high\nk=1,web,queue_mean,3,2,4\n"
            "k=2,web,queue_mean,5,4,6\n", encoding="utf-8")
        done = plot(self.folder, "--metrics", "queue_mean")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        done = plot(self.folder, "--metrics", "queue_mean", "--picture", "sweep")
        self.assertEqual(done.returncode, 2)
        self.assertIn("--metrics draws sweep_clients, not sweep", done.stderr)
        self.assertIn("has no metric queue_maen; did you mean queue_mean?",
                      plot(self.folder, "--metrics", "queue_maen").stderr)


if __name__ == "__main__":
    unittest.main()
