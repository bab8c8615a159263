#!/usr/bin/python3
"""Draws maps of phases and phase planes from small result folders made here.

SPDX-License-Identifier: MIT
"""

import contextlib
import io
import json
import pathlib
import sys
import tempfile
import unittest

import matplotlib

matplotlib.use("Agg")

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "scripts"))

from plotting.command import main  # noqa: E402
from plotting.map import map_figure  # noqa: E402
from plotting.phase_plane import phase_plane_figure  # noqa: E402

MAP = ["total_rate,duration,phase,load",
       "100,1s,safe,0.2", "100,2s,safe,0.2", "300,1s,vulnerable,0.6", "300,2s,tipped,0.6",
       "500,1s,overloaded,1.1", "500,2s,overloaded,1.1", "600,1s,dead,1.2", "600,2s,dead,1.2"]
CONFIRM = ["total_rate,duration,phase,verdict,down,replications",
           "300,1s,vulnerable,agree,0,4", "300,2s,tipped,disagree,1,4",
           "600,2s,dead,outside validity,4,4"]
TRAJECTORIES = ["service,trigger,trigger_s,outcome,separatrix,time_s,backlog_s,retrying,goodput",
                "api,outage,1,up,false,0,0.8,40,1", "api,outage,1,up,false,1,0.4,10,1",
                "api,outage,1,up,false,2,0,0,1", "api,outage,2,down,true,0,1.5,50,0",
                "api,outage,2,down,true,1,3,100,0", "api,outage,2,down,true,2,9,100,0"]
EQUILIBRIA = ["service,name,stable,backlog_s,retrying", "api,healthy,true,0,0",
              "api,tipping point,false,1,30", "api,dead,true,,100"]


def write(path, lines):
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def map_folder(folder, confirmed=True):
    write(folder / "map.csv", MAP)
    if confirmed:
        write(folder / "confirm.csv", CONFIRM)
    (folder / "result.json").write_text(json.dumps(
        {"scenario": "zombie", "map": {"columns": ["total_rate", "duration"], "service": "api",
                                       "keys": ["client.web.arrivals.total_rate",
                                                "fault.outage.duration"]}}), encoding="utf-8")


def plane_folder(folder):
    write(folder / "trajectories.csv", TRAJECTORIES)
    write(folder / "equilibria.csv", EQUILIBRIA)
    (folder / "result.json").write_text(json.dumps(
        {"scenario": "zombie", "planes": [{"service": "api", "trigger": "outage", "tipping_s": 1.5,
                                           "attempt_timeout_s": 1}]}), encoding="utf-8")


def labels(axis):
    return [text.get_text() for text in axis.get_legend().get_texts()]


def map_entries(figure):
    return [text.get_text() for text in figure.legends[0].get_texts()]


class Pictures(unittest.TestCase):
    def setUp(self):
        place = tempfile.TemporaryDirectory()
        self.addCleanup(place.cleanup)
        self.folder = pathlib.Path(place.name)

    def run_main(self):
        err = io.StringIO()
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(err):
            status = main([str(self.folder)])
        return status, err.getvalue()

    def test_each_phase_and_each_verdict_has_its_entry(self):
        map_folder(self.folder)
        figure = map_figure(self.folder)
        entries = " ".join(map_entries(figure))
        for word in ("safe:", "vulnerable:", "tipped:", "overloaded", "dead:", "simulated: agree",
                     "simulated: disagree", "simulated: outside validity"):
            self.assertIn(word, entries)
        self.assertIn("of 3 points simulated, 1 agree, 1 disagree", figure._suptitle.get_text())

    def test_a_map_without_confirmed_points_has_no_marks(self):
        map_folder(self.folder, confirmed=False)
        entries = " ".join(map_entries(map_figure(self.folder)))
        self.assertNotIn("simulated", entries)

    def test_the_axes_of_a_map_name_their_units(self):
        map_folder(self.folder)
        axis = map_figure(self.folder).axes[0]
        self.assertEqual(axis.get_xlabel(), "offered load, requests/s")
        self.assertEqual(axis.get_ylabel(), "length of the fault, s")
        self.assertEqual([t.get_text() for t in axis.get_yticklabels()], ["1", "2"])

    def test_values_in_other_units_keep_them(self):
        map_folder(self.folder, confirmed=False)
        write(self.folder / "map.csv", [row.replace("1s", "900ms") for row in MAP])
        axis = map_figure(self.folder).axes[0]
        self.assertEqual(axis.get_ylabel(), "length of the fault")
        self.assertEqual([t.get_text() for t in axis.get_yticklabels()], ["900ms", "2s"])

    def test_slanted_values_of_a_map_leave_the_legend_free(self):
        map_folder(self.folder, confirmed=False)
        times = [f"{0.123456 * 1.3 ** n:.6g}s" for n in range(20)]
        info = json.loads((self.folder / "result.json").read_text(encoding="utf-8"))
        info["map"]["columns"].reverse()
        info["map"]["keys"].reverse()
        (self.folder / "result.json").write_text(json.dumps(info), encoding="utf-8")
        write(self.folder / "map.csv", ["duration,total_rate,phase"] +
              [f"{time},{rate},safe" for time in times for rate in (100, 300)])
        figure = map_figure(self.folder)
        figure.canvas.draw()
        axis, legend = figure.axes[0], figure.legends[0].get_window_extent()
        label = axis.xaxis.label.get_window_extent()
        self.assertGreaterEqual(label.y0, legend.y1)
        self.assertLess(max(len(t.get_text()) for t in axis.get_xticklabels()), 7)

    def test_a_phase_plane_shows_states_and_both_outcomes(self):
        plane_folder(self.folder)
        entries = labels(phase_plane_figure(self.folder).axes[0])
        for word in ("recovers", "next to the separatrix", "attempt timeout", "healthy",
                     "tipping point (unstable)", "dead, backlog grows"):
            self.assertIn(word, entries)

    def test_the_program_finds_the_picture_of_each_folder(self):
        for make, name in ((map_folder, "map"), (plane_folder, "phase_plane")):
            with tempfile.TemporaryDirectory() as place:
                self.folder = pathlib.Path(place)
                make(self.folder)
                self.assertEqual(self.run_main(), (0, ""))
                self.assertTrue((self.folder / f"{name}.png").is_file())

    def test_files_that_lack_something_are_refused(self):
        map_folder(self.folder)
        write(self.folder / "map.csv", ["total_rate,duration", "1,2"])
        status, err = self.run_main()
        self.assertEqual(status, 3)
        self.assertIn("lacks the column phase", err)
        write(self.folder / "map.csv", ["total_rate,duration,phase", "1,2,asleep"])
        self.assertEqual(self.run_main()[0], 3)
        (self.folder / "map.csv").unlink()
        plane_folder(self.folder)
        (self.folder / "equilibria.csv").unlink()
        status, err = self.run_main()
        self.assertEqual(status, 3)
        self.assertIn("equilibria.csv: is missing", err)


if __name__ == "__main__":
    unittest.main()
