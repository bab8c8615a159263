#!/usr/bin/python3
"""Draws sweeps by client group, and how probable recovery is, from small results made here.

SPDX-License-Identifier: MIT
"""

import csv
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
from plot_sweep_test import make_sweep  # noqa: E402
from plotting.sweep import sweep_figure  # noqa: E402
from plotting.sweep_clients import sweep_clients_figure  # noqa: E402

METRICS = {"success_rate": "1", "recovered": "1", "queue_mean": "1", "latency_p50": "s"}


def make_clients(folder, keys, points, clients=("web", "batch", "all")):
    """A sweep whose metrics are 0.1 times the number of the point, and 0.01 for each client."""
    make_sweep(folder, keys, points)
    with open(folder / "summary.csv", "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow("scenario variant client metric unit mean ci_low ci_high stddev".split())
        for i in range(len(points)):
            for c, client in enumerate(clients):
                for metric, unit in METRICS.items():
                    if metric == "recovered" and (client, i) == ("batch", 0):
                        continue
                    mean = 0.1 * i + 0.01 * c
                    writer.writerow(["s", f"point{i}", client, metric, unit, mean, mean - 0.05,
                                     mean + 0.05, 0.1])
    return folder


def title(axis):
    return axis.get_title(loc="left") or axis.get_title()


class PlotSweepClientsTest(unittest.TestCase):
    def setUp(self):
        self._temporary = tempfile.TemporaryDirectory()
        self.addCleanup(self._temporary.cleanup)
        self.root = Path(self._temporary.name)

    def keep(self, figure):
        self.addCleanup(matplotlib.pyplot.close, figure)
        return figure

    def test_recovery_is_a_panel_of_the_sweep(self):
        folder = make_clients(self.root / "r", ["a.rate"], [["1"], ["2"], ["10"]])
        axes = [a for a in self.keep(sweep_figure(folder, "#0072B2")).axes if a.axison]
        panel = next(a for a in axes if title(a).startswith("P(recovered)"))
        line = panel.containers[0].lines[0]
        self.assertEqual(list(line.get_xdata()), [1, 2, 10])
        self.assertEqual([round(y, 3) for y in line.get_ydata()], [0.02, 0.12, 0.22])  # of all
        self.assertEqual(panel.get_ylim(), (-0.03, 1.03))

    def test_one_key_has_a_line_for_each_client_group(self):
        folder = make_clients(self.root / "r", ["a.rate"], [["1"], ["2"], ["10"]])
        figure = self.keep(sweep_clients_figure(folder, ["queue_mean", "recovered"]))
        self.assertEqual([c.get_label() for c in figure.axes[0].containers],
                         ["web", "batch", "all together"])
        batch = figure.axes[0].containers[1]
        self.assertEqual([round(y, 3) for y in batch.lines[0].get_ydata()], [0.01, 0.11, 0.21])
        low, high = ([round(y, 3) for y in cap.get_ydata()] for cap in batch.lines[1])
        self.assertEqual((low, high), ([-0.04, 0.06, 0.16], [0.06, 0.16, 0.26]))
        self.assertEqual(figure.axes[0].get_xlabel(), "a.rate, 1/s")
        texts = [t.get_text() for t in figure.legends[0].get_texts()]
        self.assertEqual(texts, ["web", "batch", "all together"])

    def test_a_key_of_words_has_points_with_intervals(self):
        folder = make_clients(self.root / "r", ["a.jitter"], [["full"], ["none"]])
        axis = self.keep(sweep_clients_figure(folder, ["latency_p50"])).axes[0]
        self.assertEqual([t.get_text() for t in axis.get_xticklabels()], ["full", "none"])
        self.assertEqual(axis.containers[0].lines[0].get_linestyle(), "None")
        self.assertEqual(title(axis), "Latency_p50, seconds")  # as the results do not describe it

    def test_two_keys_have_a_panel_for_each_group_on_one_scale(self):
        points = [[x, y] for x in ("1", "2", "10") for y in ("full", "none")]
        figure = self.keep(sweep_clients_figure(
            make_clients(self.root / "words", ["a.duration", "b.jitter"], points),
            ["success_rate"]))
        self.assertEqual(len(figure.axes), 3)
        self.assertEqual(len({axis.get_ylim() for axis in figure.axes}), 1)
        self.assertEqual([title(a).split("\n")[0] for a in figure.axes],
                         ["web", "batch", "all together"])
        points = [[x, y] for x in ("1", "2", "10") for y in ("3", "4")]
        figure = self.keep(sweep_clients_figure(
            make_clients(self.root / "numbers", ["a.duration", "b.rate"], points),
            ["success_rate"]))
        maps = [a.collections[0] for a in figure.axes[:3]]
        self.assertEqual({m.get_clim() for m in maps}, {(0.0, 0.52)})
        self.assertEqual(list(maps[0].get_coordinates()[0, :, 0]), [0.5, 1.5, 6, 14])

    def test_the_command_draws_groups_where_there_are_several(self):
        several = make_clients(self.root / "several", ["a.rate"], [["1"], ["2"]])
        self.assertEqual(plot(several), (0, f"{several / 'sweep.png'}\n"
                                        f"{several / 'sweep_clients.png'}\n", ""))
        one = make_clients(self.root / "one", ["a.rate"], [["1"], ["2"]], ["web", "all"])
        self.assertEqual(plot(one), (0, f"{one / 'sweep.png'}\n", ""))
        self.assertEqual(plot(one, "--metrics", "queue_mean"),
                         (0, f"{one / 'sweep_clients.png'}\n", ""))

    def test_a_metric_that_does_not_exist_is_named(self):
        folder = make_clients(self.root / "r", ["a.rate"], [["1"], ["2"]])
        status, _, errors = plot(folder, "--metrics", "queue_mena")
        self.assertEqual(status, 3)
        self.assertIn("has no metric queue_mena; did you mean queue_mean?", errors)
        (self.root / "x").mkdir()
        self.assertEqual(plot(self.root / "x", "--metrics", "queue_mean").returncode, 2)


if __name__ == "__main__":
    unittest.main()
