#!/usr/bin/python3
"""Draws the pictures of `retrysim tip` from small result folders made here.

SPDX-License-Identifier: MIT
"""

import hashlib
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
from plotting.tip import tip_figures  # noqa: E402

TIP_HEADER = ("scenario,trigger,value,unit,replications,tipped,probability,ci_low,ci_high,"
              "metastable,twin_recovered,censored")
TIP_ROWS = ["1,s,20,0,0,0,0.16,0,0,0", "2,s,20,4,0.2,0.08,0.42,4,4,0",
            "2.5,s,20,11,0.55,0.34,0.74,10,10,0",
            "3,s,20,20,1,0.84,1,5,5,0", "60,s,20,20,1,0.84,1,0,0,0"]
LOOP_HEADER = ("scenario,load_key,step,branch,load,unit,offered_load,offered_work,goodput,ci_low,"
               "ci_high,attempt_rate,down,down_share,down_ci_low,down_ci_high,replications")
LOOP_ROWS = ["1,up,10,1/s,10,0.1,10,9,11,10,0,0,0,0.2,9",
             "2,up,20,1/s,20,0.2,20,18,22,20,0,0,0,0.2,9",
             "3,up,30,1/s,30,0.3,0,0,0,90,9,1,0.8,1,9",
             "4,down,20,1/s,20,0.2,0,0,0,60,9,1,0.8,1,9",
             "5,down,10,1/s,10,0.1,10,9,11,10,0,0,0,0.2,9"]


def tip_folder(folder, rows=None, **info):
    lines = [f"dip,fault.dip.duration,{row}" for row in (TIP_ROWS if rows is None else rows)]
    (folder / "tip.csv").write_text("\n".join([TIP_HEADER, *lines]) + "\n", encoding="utf-8")
    info = {"program": "retrysim", "scenario": "dip", "description": "A dip", "replications": 20,
            "trigger": {"path": "fault.dip.duration", "unit": "s"},
            "d50": {"value": 2.4, "ci_low": 2.1, "ci_high": 2.9}} | info
    (folder / "result.json").write_text(json.dumps(info), encoding="utf-8")


def loop_folder(folder, **info):
    lines = [f"dip,client.web.arrivals.rate,{row}" for row in LOOP_ROWS]
    (folder / "hysteresis.csv").write_text("\n".join([LOOP_HEADER, *lines]) + "\n",
                                           encoding="utf-8")
    info = {"program": "retrysim", "scenario": "dip", "description": "A dip", "replications": 9,
            "load": {"path": "client.web.arrivals.rate", "unit": "1/s"},
            "tip_load": {"mean": 30}, "recover_load": {"mean": 10}} | info
    (folder / "result.json").write_text(json.dumps(info), encoding="utf-8")


def axis_of(folder):
    (_, draw), = tip_figures(folder)
    return draw().axes[0]


def labels(axis):
    return [text.get_text() for text in axis.get_legend().get_texts()]


class TipPicture(unittest.TestCase):
    def setUp(self):
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))

    def tearDown(self):
        matplotlib.pyplot.close("all")

    def test_the_tipping_point_is_marked_with_its_interval_and_the_twins(self):
        tip_folder(self.folder)
        axis = axis_of(self.folder)
        self.assertIn("D50 = 2.4 s, 95 % interval 2.1 to 2.9 s", labels(axis))
        metastable = "of these metastable: would recover without retries"
        self.assertIn(metastable, labels(axis))
        circles = next(line for line in axis.get_lines() if line.get_label() == metastable)
        self.assertEqual(list(circles.get_xdata()), [2, 2.5, 3])
        self.assertEqual(list(circles.get_ydata()), [0.2, 0.5, 0.25])
        self.assertIn("share of 20 replications, 95 % interval (Wilson)", labels(axis))
        self.assertEqual(axis.get_xlabel(), "length of the fault, s")
        low, high = axis.get_xlim()
        self.assertLess(low, 1)
        self.assertGreater(high, 3)
        self.assertLess(high, 4)  # 60 s is far away, and says nothing

    def test_without_a_tipping_point_there_is_none_to_mark(self):
        tip_folder(self.folder, TIP_ROWS[:1] + ["5,s,20,0,0,0,0.16,0,0,0", "6,s,0,0,,,,0,0,20"],
                   d50=None)
        axis = axis_of(self.folder)
        self.assertEqual(len(labels(axis)), 1)

    def test_an_interval_without_an_end_is_not_shaded(self):
        tip_folder(self.folder, d50={"value": 2.4, "ci_low": None, "ci_high": 2.9})
        self.assertIn("D50 = 2.4 s", labels(axis_of(self.folder)))

    def test_the_loop_has_both_branches_and_both_loads(self):
        loop_folder(self.folder)
        axis = axis_of(self.folder)
        self.assertIn("tips at 30", labels(axis))
        self.assertIn("recovers at 10", labels(axis))
        lines = {line.get_label(): list(line.get_ydata()) for line in axis.get_lines()}
        self.assertEqual(lines["goodput, load going up"], [10, 20, 0])
        self.assertEqual(lines["goodput, load coming back"], [10, 0, 0])

    def test_a_loop_without_tipping_is_drawn_too(self):
        loop_folder(self.folder, tip_load=None, recover_load=None)
        self.assertEqual(len(labels(axis_of(self.folder))), 3)

    def test_the_script_writes_the_same_picture_twice(self):
        for make, name in ((tip_folder, "tip"), (loop_folder, "hysteresis")):
            folder = self.folder / name
            folder.mkdir()
            make(folder)
            digests = set()
            for _ in range(2):
                status, out, _ = plot(folder)
                self.assertEqual((status, out), (0, f"{folder / name}.png\n"))
                digests.add(hashlib.sha256((folder / f"{name}.png").read_bytes()).hexdigest())
            self.assertEqual(len(digests), 1)

    def test_a_file_that_is_wrong_is_named(self):
        tip_folder(self.folder)
        (self.folder / "tip.csv").write_text("value\n1\n", encoding="utf-8")
        status, _, err = plot(self.folder)
        self.assertEqual(status, 3)
        self.assertIn("tip.csv: lacks the column replications, tipped", err)
        (self.folder / "tip.csv").write_text(TIP_HEADER + "\n", encoding="utf-8")
        self.assertEqual(plot(self.folder)[0], 3)
        tip_folder(self.folder)
        (self.folder / "result.json").write_text("{", encoding="utf-8")
        self.assertEqual(plot(self.folder)[0], 3)


if __name__ == "__main__":
    unittest.main()
