#!/usr/bin/python3
"""Draws the picture of `retrysim choose` from small result folders made here.

SPDX-License-Identifier: MIT
"""

import hashlib
import json
import sys
import tempfile
import unittest
from pathlib import Path

import matplotlib

ROOT = Path(__file__).resolve().parents[2]
sys.dont_write_bytecode = True
sys.path.insert(0, str(ROOT / "scripts"))
matplotlib.use("Agg")

from plot_call import plot  # noqa: E402
from plotting.choose import choose_figures  # noqa: E402

HEADER = "scenario,variant,stage,replications,mean,ci_low,ci_high,outcome,by"
FIRST_STAGE = ["a=1,1,20,5,4,6,racing,", "a=2,1,20,5.5,4,7,racing,", "a=3,1,20,1,0,2,beaten,a=2",
               "a=4,1,20,5,4,6,same,a=1", "a=5,1,20,9,8,10,breaks_limit,success_rate>=0.9",
               "a=6,1,20,,,,no_value,goodput"]
RACE = ["a=1,2,22,5,4.5,5.5,racing,", "a=2,2,22,5.6,5,6.2,racing,",
        "a=1,3,24,5,4.6,5.4,beaten,a=2", "a=2,3,24,5.6,5.1,6.1,chosen,"]


def folder_of(folder, rows, **choice):
    (folder / "race.csv").write_text("\n".join([HEADER, *(f"dip,{row}" for row in rows)]) + "\n",
                                     encoding="utf-8")
    choice = {"best": "a=2", "direction": "maximize", "label": "goodput", "unit": "1/s",
              "client": "all", "indifference": 0.5, "stages": [20, 22, 24]} | choice
    info = {"program": "retrysim", "scenario": "dip", "choice": choice}
    (folder / "result.json").write_text(json.dumps(info), encoding="utf-8")


def figure_of(folder):
    (name, draw), = choose_figures(folder)
    assert name == "choose"
    return draw()


def names_of(axis):
    return [label.get_text() for label in axis.get_yticklabels()]


def legend_of(axis):
    return [text.get_text() for text in axis.get_legend().get_texts()]


class ChoosePicture(unittest.TestCase):
    def setUp(self):
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))

    def test_all_policies_with_a_value_are_in_the_first_stage_and_two_race(self):
        folder_of(self.folder, FIRST_STAGE + RACE)
        first, race = figure_of(self.folder).axes
        self.assertEqual(names_of(first), ["a=3", "a=1", "a=4", "a=2", "a=5"])
        self.assertEqual(sorted(legend_of(first)),
                         ["beaten", "breaks a limit", "goes on", "indifference zone",
                          "the same as another one"])
        self.assertEqual(legend_of(race), ["a=2", "a=1", "indifference zone of the best"])
        lines = {line.get_label(): list(line.get_xdata()) for line in race.lines}
        self.assertEqual(lines["a=2"], [20, 22, 24])

    def test_the_lowest_is_at_the_top_if_it_is_the_best(self):
        folder_of(self.folder, FIRST_STAGE + RACE, direction="minimize")
        self.assertEqual(names_of(figure_of(self.folder).axes[0])[-1], "a=3")

    def test_without_a_race_there_is_the_first_stage_alone(self):
        folder_of(self.folder, ["a=1,1,20,5,4,6,chosen,", "a=2,1,20,1,0,2,beaten,a=1"],
                  best="a=1", stages=[20])
        self.assertEqual(len(figure_of(self.folder).axes), 1)

    def test_the_zone_begins_at_the_best_policy_and_not_at_one_that_breaks_a_limit(self):
        for direction, best, ends in (("maximize", "a=2", (5, 5.5)), ("minimize", "a=2", (5.5, 6)),
                                      ("maximize", None, (5, 5.5)), ("minimize", None, (1, 1.5))):
            folder_of(self.folder, FIRST_STAGE + RACE, direction=direction, best=best)
            first = figure_of(self.folder).axes[0]
            (zone,) = first.patches
            box = zone.get_extents().transformed(first.transData.inverted())
            self.assertAlmostEqual(box.x0, ends[0])
            self.assertAlmostEqual(box.x1, ends[1])

    def test_what_is_as_good_within_the_zone_is_not_beaten(self):
        folder_of(self.folder, ["a=1,1,20,5,4,6,chosen,", "a=2,1,20,4.8,4.5,5,as_good,a=1"],
                  best="a=1", stages=[20])
        self.assertEqual(legend_of(figure_of(self.folder).axes[0]),
                         ["indifference zone", "as good within the zone", "the best"])

    def test_shares_are_in_percent_with_their_zone(self):
        folder_of(self.folder, ["a=1,1,20,0.99,0.98,1,chosen,", "a=2,1,20,0.5,0.4,0.6,beaten,a=1"],
                  best="a=1", stages=[20], label="success rate", unit="1", percentage=True,
                  indifference=0.01)
        axis, = figure_of(self.folder).axes
        self.assertEqual(axis.get_xlabel(), "success rate (%), mean with 95 % interval")
        self.assertEqual(sorted(float(line.get_xdata()[0]) for line in axis.lines
                                if line.get_marker() == "o"), [50, 99])
        box = axis.patches[0].get_extents().transformed(axis.transData.inverted())
        self.assertAlmostEqual(box.x1 - box.x0, 1)

    def test_nobody_may_win(self):
        rows = [row.replace("chosen", "undecided") for row in FIRST_STAGE + RACE]
        folder_of(self.folder, rows, best=None)
        self.assertNotIn("indifference zone of the best", legend_of(figure_of(self.folder).axes[1]))

    def test_a_zone_far_away_does_not_flatten_the_race(self):
        folder_of(self.folder, FIRST_STAGE + RACE, indifference=100)
        self.assertEqual(legend_of(figure_of(self.folder).axes[1]), ["a=2", "a=1"])

    def test_a_long_list_is_cut_at_its_worse_end(self):
        rows = [f"a={i},1,20,{i},{i - 1},{i + 1},beaten,a=99" for i in range(99)]
        folder_of(self.folder, [*rows, "a=99,1,20,99,98,100,chosen,"], best="a=99", stages=[20])
        axis, = figure_of(self.folder).axes
        self.assertEqual((len(names_of(axis)), names_of(axis)[-1]), (60, "a=99"))
        self.assertIn("40 more", axis.texts[0].get_text())

    def test_the_script_writes_the_same_picture_twice(self):
        folder_of(self.folder, FIRST_STAGE + RACE)
        digests = set()
        for _ in range(2):
            self.assertEqual(plot(self.folder)[:2], (0, f"{self.folder / 'choose.png'}\n"))
            digests.add(hashlib.sha256((self.folder / "choose.png").read_bytes()).hexdigest())
        self.assertEqual(len(digests), 1)

    def test_a_file_that_is_wrong_is_named(self):
        folder_of(self.folder, FIRST_STAGE)
        (self.folder / "race.csv").write_text("mean\n1\n", encoding="utf-8")
        status, _, err = plot(self.folder)
        self.assertEqual(status, 3)
        self.assertIn("race.csv: lacks the column variant, stage", err)
        folder_of(self.folder, [])
        self.assertEqual(plot(self.folder)[0], 3)
        (self.folder / "result.json").write_text("{}", encoding="utf-8")
        self.assertEqual(plot(self.folder)[0], 3)


if __name__ == "__main__":
    unittest.main()
