#!/usr/bin/python3
"""Runs scripts/plot.py on small result folders made here: two groups, a fault, a storm, a drain.
--brief leaves out what takes long.

SPDX-License-Identifier: MIT
"""

import contextlib
import csv
import hashlib
import json
import math
import os
import random
import struct
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

import matplotlib
import matplotlib.collections
import matplotlib.figure
import matplotlib.pyplot
from matplotlib.colors import to_hex, to_rgb

ROOT = Path(__file__).resolve().parents[2]
PLOT = ROOT / "scripts" / "plot.py"
BRIEF = "--brief" in sys.argv
sys.argv = [argument for argument in sys.argv if argument != "--brief"]
sys.dont_write_bytecode = True
sys.path.insert(0, str(ROOT / "scripts"))
matplotlib.use("Agg")

from plot_call import plot  # noqa: E402
from plotting import drawing  # noqa: E402
from plotting.comparison import comparison_figure  # noqa: E402
from plotting.latency import latency  # noqa: E402
from plotting.overview import limit_of, overview  # noqa: E402
from plotting.results import Results, disturbances  # noqa: E402

SERIES = ("scenario,variant,replication,client,time_s,requests,attempts,retries,successes,failures,"
          "throttled,errors,timeouts,quota_denied,limiter_waiting,in_backoff,in_flight,"
          "latency_p50_s,latency_p99_s").split(",")
SERVICE = ("scenario,variant,replication,service,time_s,arrivals,admitted,rejected,throttled,"
           "completions,wasted,queue_mean,queue_max,busy_mean,servers").split(",")


def write(path, header, rows):
    with open(path, "w", newline="", encoding="utf-8") as file:
        csv.writer(file, lineterminator="\n").writerows([header, *rows])


def series_rows(draw, groups, replication, length):
    rows = []
    for t in range(length + 5):
        storm = math.exp(-max(0, t - 90) / 40) if t >= 62 else 0.0
        total = [0.0] * 14
        for share in range(groups):
            new = 0 if t >= length else round(400 / groups + draw.gauss(0, 8))
            attempts = round(new * (1 + (1.2 + 0.4 * share) * storm)) if t < length else 3
            ok = round(new * (1 - 0.7 * storm))
            latency = (0.02 + 2 * storm, 0.08 + 6 * storm) if new else ("", "")
            counts = [new, attempts, attempts - new, ok, new - ok, 0, attempts - new, 0, 0, 0,
                      20 * storm, attempts * 0.02]
            rows.append(["dip", "base", replication, f"g{share}", t, *counts, *latency])
            total = [a + b for a, b in zip(total, counts)]
        rows.append(["dip", "base", replication, "all", t, *total, *latency])
    return rows


def service_rows(replication, length):
    rows = []
    for t in range(length + 5):
        servers = 3 if 60 <= t < 90 else 10
        queue = 0.3 + (900 * math.exp(-max(0, t - 90) / 40) if t >= 62 else 0)
        rows.append(["dip", "base", replication, "api", t, 400, 400, 0, 0, 400, 0, queue, queue * 2,
                     min(servers, 8), servers])
    return rows


def make_results(folder, groups=2, replications=4, length=150):
    draw = random.Random(1)
    folder.mkdir(parents=True)
    series, service, storms = [], [], []
    for r in range(replications):
        series += series_rows(draw, groups, r, length)
        service += service_rows(r, length)
        storms.append(["dip", "base", r, 1, 63 + r, "" if r == 3 else 140 + r, 900, 2.6, 4000, 90,
                       "" if r == 3 else 95.5, "sustained" if r == 3 else "transient"])
    write(folder / "timeseries.csv", SERIES, series)
    write(folder / "service.csv", SERVICE, service)
    write(folder / "storms.csv", "scenario,variant,replication,storm,onset_s,end_s,"
          "peak_attempt_rate,peak_amplification,extra_attempts,trigger_end_s,recovery_s,"
          "verdict".split(","), storms)
    write(folder / "replications.csv", "scenario,variant,replication,seed,client,metric,"
          "value".split(","), [["dip", "base", r, 1, "all", "requests", 5] for r in range(4)])
    quantiles = (0.01, 0.1, 0.5, 0.9, 0.99, 0.999)
    write(folder / "latency.csv", "scenario,variant,client,kind,quantile,latency_s,ci_low_s,"
          "ci_high_s".split(","),
          [["dip", "base", client, kind, q, size / (1.0005 - q), *(
              ("", "") if q == 0.999 else (0.9 * size / (1.0005 - q), 1.1 * size / (1.0005 - q)))]
           for kind, size in (("request", 0.02), ("request_ok", 0.018), ("attempt", 0.01),
                              ("service", 0.008)) for q in quantiles
           for client in [f"g{g}" for g in range(groups)] + ["all"]])
    write(folder / "attempts.csv", "scenario,variant,client,attempt,sent,successes,throttled,"
          "errors,timeouts,peak_sends_100ms,in_backoff_mean".split(","),
          [["dip", "base", client, n, 100000 / 3 ** n, 60000 / 3 ** n, 1e4 / 3 ** n, 1e4 / 3 ** n,
            15000 / 3 ** n, "", 3.5] for client in [f"g{g}" for g in range(groups)] + ["all"]
           for n in (1, 2, 3)])
    info = {"program": "retrysim", "scenario": "capacity-dip", "description":
            "A 30 s capacity dip at 80 % load", "summary": [], "variants": [{
                "variant": "base", "seed": 1, "window_start_s": 30, "window_end_s": length,
                "interval_s": 1, "services": [{"name": "api", "servers": 10,
                                               "mean_service_time_s": 0.02,
                                               "capacity_per_s": 500,
                                               "throttle_per_s": None, "capacity_steps": [
                                                   [0, 500], [60, 150], [90, 500]]}],
                "disturbances": [{"kind": "fault", "name": "dip", "start_s": 60, "end_s": 90,
                                  "service": "api", "speed": 1.0}],
                "keys": {f"client.g{g}.calls": '"api"' for g in range(groups)}}]}
    (folder / "result.json").write_text(json.dumps(info), encoding="utf-8")
    return folder


def every_night(test):
    """Takes long: left out with --brief."""
    return unittest.skipIf(BRIEF, "left to the night")(test)


def plot_in_new_process(*arguments):
    return subprocess.run([sys.executable, str(PLOT), *map(str, arguments)], capture_output=True,
                          text=True, check=False)


def make_several(folder, groups, **changes):
    """Results in which each group gN calls a service sN of its own; all lose capacity at once."""
    make_results(folder, groups=groups, **changes)
    with open(folder / "service.csv", encoding="utf-8") as file:
        header, *rows = csv.reader(file)
    write(folder / "service.csv", header,
          [[*row[:3], f"s{g}", *row[4:]] for g in range(groups) for row in rows])

    def change(variant):
        service, fault = variant["services"][0], variant["disturbances"][0]
        variant["services"] = [{**service, "name": f"s{g}"} for g in range(groups)]
        variant["disturbances"] = [{**fault, "name": f"f{g}", "service": f"s{g}"}
                                   for g in range(groups)]
        variant["keys"] = {f"client.g{g}.calls": f'"s{g}"' for g in range(groups)}

    return edit(folder, change)


def make_wide(folder):
    """A single service whose groups and faults have names that fill the width of the picture."""
    make_results(folder, groups=2, replications=2)
    for name in ("timeseries.csv", "attempts.csv", "latency.csv"):
        text = (folder / name).read_text(encoding="utf-8")
        (folder / name).write_text(text.replace(",g1,", f",{'g1' * 40},"), encoding="utf-8")
    return edit(folder, lambda variant: variant["disturbances"][0].update(name="dip" * 25))


def edit(folder, change, summary=()):
    info = json.loads((folder / "result.json").read_text(encoding="utf-8"))
    change(info["variants"][0])
    info["summary"] += summary
    (folder / "result.json").write_text(json.dumps(info), encoding="utf-8")
    return folder


def recover(folder, **times):
    """Adds the recovery times of the groups, one for each replication that recovered."""
    with open(folder / "replications.csv", "a", newline="", encoding="utf-8") as file:
        csv.writer(file, lineterminator="\n").writerows(
            ["dip", "base", r, 1, client, "recovery_s", value]
            for client, values in times.items() for r, value in enumerate(values))
    return folder


def judge(folder, **fates):
    """Adds the answer of each group, and a cause."""
    info = json.loads((folder / "result.json").read_text(encoding="utf-8"))
    info["verdicts"] = [{"variant": "base", "client": client, **row} for client, words in
                        fates.items() for row in ({"rule": "recovers", "fate": words},
                                                  {"rule": "overload"})]
    (folder / "result.json").write_text(json.dumps(info), encoding="utf-8")
    return folder


def draw_overview(test, folder, laid_out=False):
    """The results and the figure itself, for what cannot be seen from outside. Most of the time
    goes into the layout, which only some tests look at."""
    results = Results(folder, None)
    layout = contextlib.nullcontext() if laid_out else mock.patch.object(
        matplotlib.figure.Figure, "tight_layout")
    with matplotlib.pyplot.rc_context(drawing.STYLE), layout:
        figure = overview(results)
    test.addCleanup(matplotlib.pyplot.close, figure)
    return results, figure


def panel(figure, title):
    return next(a for a in figure.axes if a.get_title(loc="left").startswith(title))


def bands(axis):
    return [c for c in axis.collections if isinstance(c, matplotlib.collections.PolyCollection)]


def legend_texts(figure):
    return [text.get_text() for legend in figure.legends for text in legend.get_texts()]


def digest(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


def make_unequal_drains(folder, groups=2):
    """Of two replications the first is over at 155 s; in the second, requests wait for send tokens
    until 170 s, 40 of each group."""
    make_results(folder, groups=groups, replications=2)
    with open(folder / "timeseries.csv", encoding="utf-8") as file:
        header, *rows = csv.reader(file)
    waiting, time, column = 40.0, header.index("time_s"), header.index("limiter_waiting")
    for row in rows:
        if int(row[time]) >= 100 and row[3] != "all":
            row[column] = waiting
    for t in range(155, 170):
        for g in range(groups):
            rows.append(["dip", "base", 1, f"g{g}", t, *[0] * 9, waiting, 0, 0, "", ""])
        rows.append(["dip", "base", 1, "all", t, *[0] * 9, groups * waiting, 0, 0, "", ""])
    write(folder / "timeseries.csv", header, rows)
    with open(folder / "service.csv", encoding="utf-8") as file:
        header, *rows = csv.reader(file)
    rows += [["dip", "base", 1, "api", t, *[0] * 6, 8, 8, 10, 10] for t in range(155, 170)]
    write(folder / "service.csv", header, rows)
    return folder


def make_comparison(folder):
    """Results with a comparison of three variants: one far away, one not significant."""
    make_results(folder)

    def change(base):
        info["variants"] += [{**base, "variant": name} for name in ("base=200ms", "base=50ms")]
        base["variant"] = "base=100ms"

    for name in ("timeseries.csv", "service.csv", "storms.csv", "latency.csv", "attempts.csv",
                 "replications.csv"):
        text = (folder / name).read_text(encoding="utf-8")
        (folder / name).write_text(text.replace(",base,", ",base=100ms,"), encoding="utf-8")
    info = json.loads((folder / "result.json").read_text(encoding="utf-8"))
    change(info["variants"][0])
    info["comparison"] = {"metrics": {
        "recovered": {"label": "recovery", "unit": "1", "percentage": True, "better": "higher"},
        "latency_mean": {"label": "mean latency", "unit": "s", "percentage": False,
                         "better": "lower"}}}
    info.update(seed=1, replications=4, summary=[
        {"variant": variant, "client": "all", "metric": metric, "mean": mean, "ci_low": mean - 0.1,
         "ci_high": mean + 0.1, "replications": 4}
        for variant, time, work, success in (
            ("base=100ms", 2, 3, 0.5), ("base=200ms", 3, 2, 0.8), ("base=50ms", 1, 4, 0.75))
        for metric, mean in (("latency_mean", time), ("amplification", work),
                             ("success_rate", success))])
    (folder / "result.json").write_text(json.dumps(info), encoding="utf-8")
    header = ("scenario,variant,baseline,client,metric,unit,mean,baseline_mean,difference,ci_low,"
              "ci_high,relative_difference,relative_ci_low,relative_ci_high,p_value,p_holm,"
              "significant,correlation,variance_reduction,pairs").split(",")
    rows = [["dip", variant, "base=100ms", client, metric, unit, "", "", *numbers, "", "", star, "",
             "", 4]
            for client in ("g0", "g1", "all")
            for variant, metric, unit, *numbers, star in (
                ("base=200ms", "latency_mean", "s", 1, 0.9, 1.1, 0.5, 0.45, 0.55, "yes"),
                ("base=200ms", "success_rate", "1", 0, 0, 0, 0, 0, 0, "no"),
                ("base=200ms", "recovered", "1", -0.25, -0.5, 0.1, -0.25, "", "", "no"),
                ("base=200ms", "recovery_s", "s", "", "", "", "", "", "", ""),
                ("base=50ms", "latency_mean", "s", -1, -1.5, -0.5, -0.5, -0.7, -0.3, "yes"),
                ("base=50ms", "recovered", "1", 0, 0, 0, 0, "", "", "no"))]
    write(folder / "compare.csv", header, rows)
    return folder


class PlotTest(unittest.TestCase):
    def setUp(self):
        self._temporary = tempfile.TemporaryDirectory()
        self.addCleanup(self._temporary.cleanup)
        self.root = Path(self._temporary.name)

    def test_levels_of_replications_that_are_over_are_zero(self):
        folder = make_unequal_drains(self.root / "unequal")
        _, figure = draw_overview(self, folder, laid_out=True)
        clients = panel(figure, "In backoff; dashed: waiting for a send token")
        dashed = [line for line in clients.lines if line.get_linestyle() == "--"]
        self.assertEqual(len(dashed), 2)  # one a group
        for line in dashed:
            level = dict(zip(line.get_xdata(), line.get_ydata()))
            self.assertEqual(level[120.5], 40)  # in both replications
            self.assertEqual(level[160.5], 20)  # the first one is over
        self.assertEqual(dict(zip(*panel(figure, "In the queue").lines[0].get_data()))[160.5], 4)

    def test_the_waiting_line_of_a_single_group_is_drawn_too(self):
        folder = make_unequal_drains(self.root / "one_unequal", groups=1)
        _, figure = draw_overview(self, folder)
        lines = {line.get_label(): line for line in panel(figure, "Waiting").lines}
        level = dict(zip(*lines["for a send token"].get_data()))
        self.assertEqual(level[160.5], 20)

    @every_night
    def test_comparison_has_a_picture_of_the_differences(self):
        folder = make_comparison(self.root / "results")
        done = plot(folder, "--format", "svg")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertIn("compare.svg", done.stdout)
        first = digest(folder / "compare.svg")
        plot(folder, "--format", "svg")
        self.assertEqual(first, digest(folder / "compare.svg"))

    def test_comparison_panels(self):
        folder = make_comparison(self.root / "results")
        with matplotlib.pyplot.rc_context(drawing.STYLE):
            figure = comparison_figure(folder, drawing.GROUP_COLOURS)
        self.addCleanup(matplotlib.pyplot.close, figure)
        titles = [a.get_title(loc="left") for a in figure.axes]
        # What is equal everywhere, or exists on one side only, is no picture.
        self.assertEqual(titles[:2], ["Mean latency", "Recovery"])
        latency, recovered = figure.axes[:2]
        self.assertEqual([bar.get_width() for bar in latency.patches], [50, -50])  # percent
        self.assertEqual([bar.get_width() for bar in recovered.patches], [-25, 0])  # points
        shades = [axis.patches[0].get_facecolor()[:3] for axis in (latency, recovered)]
        red = to_rgb(drawing.GROUP_COLOURS[1])  # pale where it is not significant
        self.assertEqual(shades, [red, drawing.pale(red, 0.35)])
        work = panel(figure, "Success against work: better is higher and to the left")
        self.assertEqual((work.get_xlabel(), work.get_ylabel()),
                         ("attempts / request", "success rate, %"))
        # The line goes from one backoff to the next, whatever their places.
        self.assertEqual(list(work.lines[0].get_xdata()), [4, 3, 2])
        self.assertEqual(list(work.lines[0].get_ydata()), [75, 50, 80])

    def test_comparison_that_cannot_be_used_is_an_error(self):
        folder = make_comparison(self.root / "results")
        (folder / "compare.csv").write_text("scenario,variant\n", encoding="utf-8")
        done = plot(folder)
        self.assertEqual(done.returncode, 3)
        self.assertIn("compare.csv: lacks the column baseline", done.stderr)

    def test_pictures_have_a_readable_size(self):
        folder = make_results(self.root / "r")
        done = plot(folder)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(done.stdout.split(), [str(folder / "overview.png"),
                                               str(folder / "latency.png")])
        header = (folder / "overview.png").read_bytes()[:24]
        height = struct.unpack(">I", header[20:24])[0]
        self.assertTrue(1200 <= height <= 2200, height)
        self.assertEqual(struct.unpack(">II", header[16:24]), (1600, height))

    @every_night
    def test_same_results_same_bytes(self):
        folder = make_results(self.root / "r", groups=1, replications=2)
        for kind in ("png", "svg", "pdf"):
            for out, run in (("a", plot), ("b", plot_in_new_process)):
                done = run(folder, "--format", kind, "--out", self.root / out)
                self.assertEqual(done.returncode, 0, done.stderr)
            for name in ("overview", "latency"):
                self.assertEqual(digest(self.root / "a" / f"{name}.{kind}"),
                                 digest(self.root / "b" / f"{name}.{kind}"), (name, kind))

    def test_labels_name_units_faults_storms_and_groups(self):
        folder = make_results(self.root / "r")
        self.assertEqual(plot(folder, "--format", "svg").returncode, 0)
        # Matplotlib draws text as outlines and keeps the words in comments.
        svg = (folder / "overview.svg").read_text(encoding="utf-8")
        for words in ("time, s", "per second", "successes, %", "attempts / request",
                      "fault dip", "retry storm in 4 of 4 runs, end not seen in 1", "capacity",
                      "not in the summary: warm-up, drain (no new requests)", "g0", "g1",
                      "capacity-dip", "4 replications, seed 1"):
            self.assertIn(words, svg)

    def test_the_title_has_what_was_changed_as_it_is(self):
        folder = make_results(self.root / "r")
        info = json.loads((folder / "result.json").read_text(encoding="utf-8"))
        info["title"] = "dip, with a = $\\frac{1}$ and b = 2"  # no formula
        info["description"] = "Changed from the file: a = $x_1$. " + "Long words. " * 40
        (folder / "result.json").write_text(json.dumps(info), encoding="utf-8")
        _, figure = draw_overview(self, folder, laid_out=True)
        figure.canvas.draw()
        title, text = figure.texts[:2]
        self.assertEqual(title.get_text(), "dip, with a = \\$\\frac{1}\\$ and b = 2")
        self.assertIn("a = \\$x_1\\$.", text.get_text())
        renderer = figure.canvas.get_renderer()
        for part in (title, text):
            box = part.get_window_extent(renderer)
            self.assertLess(box.x1, figure.bbox.x1)
        panels = max(axis.get_window_extent(renderer).y1 for axis in figure.axes)
        self.assertLess(panels, text.get_window_extent(renderer).y0)

    def test_the_load_of_each_service_is_that_of_its_callers(self):
        results, figure = draw_overview(self, make_several(self.root / "r", 3))
        for g in range(3):
            axis = panel(figure, f"Load of s{g} by g{g}")
            drawn = next(line for line in axis.lines if line.get_label() == f"g{g}")
            expected = results.pivot(f"g{g}", "attempts").mean(axis=1)
            self.assertEqual(list(drawn.get_ydata()), list(expected))
            self.assertFalse({f"g{k}" for k in range(3) if k != g} &
                             {line.get_label() for line in axis.lines})
            self.assertEqual(axis.get_ylim(), figure.axes[0].get_ylim())
        # Of one service the sum over groups may be compared with the capacity.
        results, figure = draw_overview(self, make_results(self.root / "one", groups=3))
        total = next(line for line in panel(figure, "Load against capacity").lines
                     if line.get_label() == "all groups")
        self.assertEqual(list(total.get_ydata()),
                         list(results.pivot("all", "attempts").mean(axis=1)))

    def test_a_group_has_one_colour_everywhere(self):
        _, figure = draw_overview(self, make_several(self.root / "r", 5))
        colours = {}
        for axis in figure.axes:
            for line in axis.lines:
                if line.get_label()[0] == "g":
                    colours.setdefault(line.get_label(), []).append(line.get_color())
        self.assertEqual(sorted(colours), [f"g{g}" for g in range(5)])
        for seen in colours.values():
            # The load of the service and five panels; the queue is named after the service.
            self.assertEqual((len(set(seen)), len(seen)), (1, 6))
        self.assertEqual(len({seen[0] for seen in colours.values()}), 5)
        queue = {line.get_label(): line.get_color() for line in panel(figure, "In the queue").lines}
        self.assertEqual(queue, {f"s{g}": colours[f"g{g}"][0] for g in range(5)})

    def test_the_legend_names_everything_once(self):
        _, figure = draw_overview(self, make_several(self.root / "r", 5))
        texts = legend_texts(figure)
        self.assertEqual(len(texts), len(set(texts)), texts)
        self.assertIn("capacity of each service", texts)
        self.assertIn("fault (all services), 60 to 90 s", texts)

    def test_windows_at_the_same_time_are_shaded_once(self):
        folder = make_several(self.root / "r", 3)

        def windows(service=None):
            return list(disturbances(Results(folder, None), service))

        self.assertEqual(windows(), [(60, 90, "fault (all services), 60 to 90 s")])
        self.assertEqual(windows("s1"), [(60, 90, "fault f1, 60 to 90 s")])
        edit(folder, lambda variant: variant["disturbances"].pop())
        self.assertEqual(windows(), [(60, 90, "2 faults, 60 to 90 s")])
        self.assertEqual(windows("s2"), [])
        edit(folder, lambda variant: variant.update(disturbances=[
            {"kind": "surge", "name": "peak", "start_s": 10, "end_s": 20, "client": f"g{g}"}
            for g in range(3)]))
        self.assertEqual(windows(), [(10, 20, "surge peak (all groups), 10 to 20 s")])
        self.assertEqual(windows("s1"), [(10, 20, "surge peak, 10 to 20 s")])
        _, figure = draw_overview(self, folder)
        for axis in figure.axes:
            grey = [p for p in axis.patches
                    if to_hex(p.get_facecolor()).upper() == drawing.FAULT["color"]]
            self.assertEqual(len(grey), 1, axis.get_title(loc="left"))

    @every_night
    def test_legends_lie_outside_the_data(self):
        many = recover(make_several(self.root / "many", 12, replications=2, length=80),
                       **{f"g{g}": [1.5] for g in range(12)})
        for name, folder in (("several", make_several(self.root / "several", 5)),
                             ("many", many), ("wide", make_wide(self.root / "wide")),
                             ("one", make_results(self.root / "one", groups=1))):
            _, figure = draw_overview(self, folder, laid_out=True)
            figure.canvas.draw()
            boxes = [legend.get_window_extent() for legend in figure.legends]
            boxes += [a.get_legend().get_window_extent() for a in figure.axes if a.get_legend()]
            self.assertTrue(boxes)
            for i, box in enumerate(boxes):
                self.assertTrue(box.x0 >= 0 and box.x1 <= figure.bbox.x1 + 1, (name, i, box))
                for axis in figure.axes:
                    self.assertFalse(box.overlaps(axis.bbox.padded(-2)), (name, i, axis))
                self.assertFalse([b for b in boxes[:i] if box.overlaps(b)], (name, i))

    def test_bands_only_where_they_can_be_told_apart(self):
        _, figure = draw_overview(self, make_several(self.root / "three", 3))
        self.assertEqual(len(bands(panel(figure, "Goodput"))), 3)
        self.assertIn("bands", "".join(text.get_text() for text in figure.texts))
        _, figure = draw_overview(self, make_several(self.root / "four", 4))
        self.assertEqual([len(bands(axis)) for axis in figure.axes], [0] * len(figure.axes))
        self.assertNotIn("bands", "".join(text.get_text() for text in figure.texts))

    def test_of_several_groups_only_the_p99_is_drawn(self):
        results, figure = draw_overview(self, make_results(self.root / "two"))
        axis = panel(figure, "p99 latency")
        self.assertEqual([line.get_label() for line in axis.lines], ["g0", "g1"])
        self.assertAlmostEqual(max(axis.lines[0].get_ydata()),
                               results.pivot("g0", "latency_p99_s").mean(axis=1).max())
        _, figure = draw_overview(self, make_results(self.root / "one", groups=1))
        self.assertEqual([line.get_label() for line in panel(figure, "Latency").lines],
                         ["median", "p99"])

    def test_the_time_axis_ends_where_nothing_happens_any_more(self):
        folder = make_results(self.root / "r", groups=1, replications=2)
        flows = [(10 * (t == 1), 20 * (1 <= t <= 7)) for t in range(30)]
        write(folder / "timeseries.csv", SERIES, [
            ["dip", "base", r, c, t, new, sent, sent - new, *[0] * 9, "", ""]
            for r in (0, 1) for c in ("g0", "all") for t, (new, sent) in enumerate(flows)])
        _, figure = draw_overview(self, folder)
        for axis in figure.axes:
            self.assertAlmostEqual(axis.get_xlim()[1], 8 * 1.05)
        # All requests came at once: sums over a few bins would have nothing to divide by.
        whole = panel(figure, "Amplification (since the start)").lines[0]
        self.assertAlmostEqual(whole.get_ydata()[-1], 14)

    def test_the_legend_says_what_became_of_each_group(self):
        folder = judge(make_several(self.root / "r", 4), g0="34 % succeed, back at once",
                       g1="unaffected")
        _, figure = draw_overview(self, folder)
        for text in ("g0: 34 % succeed, back at once", "g1: unaffected", "g3"):
            self.assertIn(text, legend_texts(figure))
        edit(folder, lambda variant: variant.update(disturbances=[]))
        _, figure = draw_overview(self, folder)
        self.assertIn("g0", legend_texts(figure))

    def test_a_lone_group_shows_its_fate_its_goodput_and_the_storm(self):
        folder = judge(make_results(self.root / "r", groups=1), g0="back 12 s after it")
        _, figure = draw_overview(self, folder)
        axis = panel(figure, "Load against capacity: back 12 s after it")
        self.assertEqual([line.get_label() for line in axis.lines][:3],
                         ["requests", "attempts", "goodput"])
        storms = [p for p in axis.patches
                  if to_hex(p.get_facecolor()).upper() == drawing.STORM["color"]]
        self.assertEqual(len(storms), 1)
        left, right = storms[0].get_xy()[:, 0].min(), storms[0].get_xy()[:, 0].max()
        self.assertEqual((left, right), (64.5, 141.5))  # the one without end counts until 150
        self.assertIn("retry storm in 4 of 4 runs, end not seen in 1", legend_texts(figure))

    def test_the_limit_follows_faults_and_the_throttle(self):
        folder = make_results(self.root / "r", groups=1)

        def limit():
            results = Results(folder, None)
            return limit_of(results, results.details["services"][0])

        def change(**members):
            edit(folder, lambda variant: variant["services"][0].update(members))

        def drawn():
            _, figure = draw_overview(self, folder)
            lines = [line for line in panel(figure, "Load").lines if line.get_label() == "_limit"]
            return [list(map(float, data)) for line in lines for data in line.get_data()]

        whole = ("capacity", [0, 60, 90, 155], [500, 150, 500, 500])
        self.assertEqual(limit(), whole)
        # A fault within a bin steps at its own moment to its own level, and not by the bins.
        change(capacity_steps=[[0, 500], [60.3, 150], [60.55, 75], [90.8, 500]])
        self.assertEqual(drawn(), [[0, 60.3, 60.55, 90.8, 155], [500, 150, 75, 500, 500]])
        # One that lasts to the end, and beyond.
        change(capacity_steps=[[0, 500], [60.3, 150], [400, 500]])
        self.assertEqual(drawn(), [[0, 60.3, 155], [500, 150, 150]])
        change(throttle_per_s=300, capacity_steps=[[0, 300], [60, 75], [90, 300]])
        self.assertEqual(limit(), ("capacity, at most the throttle rate", [0, 60, 90, 155],
                                   [300, 75, 300, 300]))
        change(capacity_per_s=None, capacity_steps=[[0, 300]])
        self.assertEqual(limit(), ("throttle rate", [0, 155], [300, 300]))
        change(throttle_per_s=None, capacity_steps=None)
        self.assertIsNone(limit())
        self.assertEqual(drawn(), [])

    def test_the_limit_of_a_service_that_scales(self):
        folder = make_results(self.root / "r", groups=1)

        def limit(steps, means, width=10):
            write(folder / "mean_service.csv",
                  "scenario,variant,service,time_s,width_s,capacity".split(","),
                  [["dip", "base", "api", width * i, width, mean] for i, mean in enumerate(means)])
            edit(folder, lambda variant: variant["services"][0].update(
                autoscaled=True, capacity_steps=steps))
            results = Results(folder, None)
            _, times, rates = limit_of(results, results.details["services"][0])
            return list(zip(times, rates))[:-1]

        # It grows from bin to bin; the fault begins and ends within one.
        means = [500, 600, 700, 480, 210, 500, 700]
        self.assertEqual(limit([[0, 500], [33, 150], [56, 500]], means),
                         [(0, 500), (10, 600), (20, 700), (33, 210), (56, 700)])
        # A fault between two bins' ends, of which no bin has the level.
        self.assertEqual(limit([[0, 500], [33, 250], [38, 500]], [500, 600, 700, 500, 800]),
                         [(0, 500), (10, 600), (20, 700), (33, 350), (38, 800)])
        self.assertEqual(limit([[0, 500]], [500, 600]), [(0, 500), (10, 600)])
        # Results of an older program, or with very many steps, have the bins.
        def without(variant):
            del variant["services"][0]["capacity_steps"], variant["services"][0]["autoscaled"]
        edit(folder, without)
        results = Results(folder, None)
        self.assertEqual(limit_of(results, results.details["services"][0])[1:],
                         ([0, 10, 155], [500, 600, 600]))
        (folder / "mean_service.csv").unlink()
        results = Results(folder, None)
        self.assertIsNone(limit_of(results, results.details["services"][0]))

    def test_attempts_by_group_and_outcome(self):
        # A fifth of the requests never send an attempt; the groups differ in how many they make.
        folder = edit(make_results(self.root / "r"), lambda variant: None, [
            {"variant": "base", "client": client, "metric": "requests", "mean": mean}
            for client, mean in (("g0", 125e3 / 3), ("g1", 250e3 / 3), ("all", 125e3))])
        results = Results(folder, None)
        with matplotlib.pyplot.rc_context(drawing.STYLE):
            figure = latency(results)
            self.addCleanup(matplotlib.pyplot.close, figure)
        bars = panel(figure, "What became of the attempts").patches
        # Three attempts, each a third as often as the one before, of which 60 % succeed.
        whole = 1 + 1 / 3 + 1 / 9
        shares = (0.6, 0.1, 0.1, 0.15, 0.05)
        self.assertEqual(len(bars), 2 * len(shares))
        for i, share in enumerate(shares):
            for bar, per_request in zip(bars[2 * i:2 * i + 2], (0.8 * whole, 0.4 * whole)):
                self.assertAlmostEqual(bar.get_width(), share * per_request)
                self.assertAlmostEqual(bar.get_x(), sum(shares[:i]) * per_request)
        figure.canvas.draw()
        for axis in figure.axes:
            box = axis.get_legend().get_window_extent()
            self.assertFalse(box.overlaps(axis.bbox))
            self.assertFalse(box.overlaps(axis.xaxis.label.get_window_extent()))

    def test_attempts_of_a_group_are_stacked_on_an_axis_that_adds_up(self):
        def axis_of(rows):
            folder = make_results(self.root / f"attempts{len(rows)}", groups=1)
            write(folder / "attempts.csv",
                  "scenario,variant,client,attempt,sent,successes,throttled,errors,timeouts,"
                  "peak_sends_100ms,in_backoff_mean".split(","),
                  [["dip", "base", client, n, sent, 0.75 * sent, 0, 0.25 * sent, 0, "", 0]
                   for client in ("g0", "all") for n, sent in rows])
            with matplotlib.pyplot.rc_context(drawing.STYLE):
                figure = latency(Results(folder, None))
                self.addCleanup(matplotlib.pyplot.close, figure)
            axis = panel(figure, "What became of each attempt")
            self.assertEqual(axis.get_yscale(), "linear")
            return axis
        axis = axis_of([(1, 1000), (2, 100)])
        self.assertEqual([bar.get_height() for bar in axis.patches], [750, 75, 250, 25])
        self.assertEqual(axis.get_ylabel(), "attempts per replication")
        # A third attempt that is too rare to be seen beside the first: shares, and how many.
        axis = axis_of([(1, 10000), (2, 100), (3, 2)])
        self.assertEqual([bar.get_height() for bar in axis.patches], [75] * 3 + [25] * 3)
        self.assertEqual([text.get_text() for text in axis.texts], ["10,000", "100", "2"])
        self.assertTrue(axis.get_ylabel().startswith("share of its attempts, %"))

    @every_night
    def test_several_services_in_a_new_process(self):
        done = plot_in_new_process(make_several(self.root / "r", 5), "--format", "svg")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        svg = (self.root / "r" / "overview.svg").read_text(encoding="utf-8")
        for words in ("all services together: retry storm in 4 of 4 runs", "Load of s4 by g4"):
            self.assertIn(words, svg)

    def test_one_group_and_one_replication(self):
        folder = make_results(self.root / "r", groups=1, replications=1)
        done = plot(folder, "--format", "svg")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        svg = (folder / "overview.svg").read_text(encoding="utf-8")
        self.assertIn("1 replication, seed 1", svg)
        self.assertNotIn("bands", svg)

    def test_a_run_without_storm_or_requests(self):
        folder = make_results(self.root / "r", replications=2)
        for name in ("storms.csv", "latency.csv", "attempts.csv"):
            header = (folder / name).read_text(encoding="utf-8").splitlines()[0]
            (folder / name).write_text(header + "\n", encoding="utf-8")
        write(folder / "timeseries.csv", SERIES,
              [["dip", "base", r, c, t] + [0] * 12 + ["", ""]
               for r in (0, 1) for c in ("web", "all") for t in range(20)])
        done = plot(folder)
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_missing_files_and_wrong_ones_are_named(self):
        done = plot(self.root / "nowhere")
        self.assertEqual(done.returncode, 3)
        self.assertIn("nowhere: no such folder", done.stderr)
        for name in ("result.json", "timeseries.csv", "service.csv", "storms.csv"):
            folder = make_results(self.root / name)
            (folder / name).unlink()
            done = plot(folder)
            self.assertEqual(done.returncode, 3)
            self.assertIn(f"{folder / name}: is missing", done.stderr)
            self.assertEqual(list(folder.glob("*.png")), [])
        folder = make_results(self.root / "broken")
        (folder / "result.json").write_text("{", encoding="utf-8")
        self.assertEqual(plot(folder).returncode, 3)
        folder = make_results(self.root / "column")
        (folder / "service.csv").write_text("scenario,variant\n", encoding="utf-8")
        done = plot(folder)
        self.assertEqual(done.returncode, 3)
        self.assertIn("service.csv: lacks the column replication, service", done.stderr)
        folder = make_results(self.root / "number")
        with open(folder / "storms.csv", "a", encoding="utf-8") as file:
            file.write("dip,base,0,2,soon,,1,1,1,1,1,transient\n")
        done = plot(folder)
        self.assertEqual(done.returncode, 3)
        self.assertIn("storms.csv: cannot be read", done.stderr)
        done = plot(make_results(self.root / "variant"), "--variant", "none")
        self.assertEqual(done.returncode, 3)
        self.assertIn("no variant none; there are base", done.stderr)

    def test_what_cannot_be_written_is_an_error(self):
        folder = make_results(self.root / "r")
        (self.root / "file").write_text("", encoding="utf-8")
        done = plot(folder, "--out", self.root / "file" / "pictures")
        self.assertEqual(done.returncode, 4)
        self.assertIn("cannot write", done.stderr)
        self.assertEqual(plot(folder, "--format", "bmp").returncode, 2)

    def test_only_regular_files_are_replaced(self):
        folder = make_results(self.root / "r")
        mine = self.root / "mine"
        mine.write_text("years of work", encoding="utf-8")
        (folder / "overview.png").symlink_to(mine)
        done = plot(folder)
        self.assertEqual(done.returncode, 4)
        self.assertIn("overview.png is not a regular file", done.stderr)
        self.assertTrue((folder / "overview.png").is_symlink())
        self.assertEqual(mine.read_text(encoding="utf-8"), "years of work")
        (folder / "overview.png").unlink()
        os.mkfifo(folder / "overview.png")
        self.assertEqual(plot(folder).returncode, 4)
        self.assertTrue((folder / "overview.png").is_fifo())


if __name__ == "__main__":
    unittest.main()
