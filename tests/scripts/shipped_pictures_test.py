#!/usr/bin/python3
"""Pictures of shipped scenarios and of each search are drawn without any warning, and their words
are those of result.json. In print nothing is cut off, and no text meets another.

Usage: shipped_pictures_test.py --program RETRYSIM [--brief]. With --brief only those of a few
scenarios: the largest graph, many groups, a herd; and not in print.

SPDX-License-Identifier: MIT
"""

import argparse
import subprocess
import sys
import tempfile
import unittest
import warnings
from pathlib import Path

from plot_call import ROOT, plot
from picture_texts import along_axes, crowded, drawn, plain, words_of

import matplotlib.pyplot as plt

from plotting.layout import draw_picture
from plotting.results import Results
from plotting.sizes import SIZES, STYLE
from shipped_results import searches

BRIEF = ["layers-that-retry", "sick-instance", "thundering-herd"]
LONG_NUMBERS = "study-cached-database"  # along its axes: in print by day, too
OPTIONS = None  # set by main


class ShippedPictures(unittest.TestCase):
    def setUp(self):
        self.root = Path(self.enterContext(
            tempfile.TemporaryDirectory(prefix="retrysim-pictures-")))

    def result(self, name, *arguments):
        folder = self.root / name
        done = subprocess.run([OPTIONS.program, *arguments, "--out", folder], cwd=ROOT,
                              capture_output=True, text=True, check=False)
        self.assertIn(done.returncode, (0, 1), done.stderr)  # expectations may fail
        return folder

    def check(self, folder):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            done = plot(folder)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            results = Results(folder)
            with plt.rc_context(STYLE):
                for picture in results.pictures():
                    with self.subTest(picture["name"]):
                        self.assertTrue((folder / f"{picture['name']}.png").is_file())
                        self.check_words(picture, drawn(picture, results))
            in_print = not OPTIONS.brief or folder.name == LONG_NUMBERS
            for size in SIZES.values() if in_print else []:
                self.check_room(results, size)
        plt.close("all")

    def check_room(self, results, size):
        with plt.rc_context(size.style()):
            for picture in results.pictures():
                for has_title in (True, False):
                    for figure in draw_picture(picture, results, size, has_title):
                        with self.subTest(picture["name"], size=size):
                            self.assertEqual(crowded(figure), [])
                        plt.close(figure)

    def check_words(self, picture, texts):
        """All words but those along the axes, of which some may lack room."""
        said, along = {plain(picture["title"]), *map(plain, [" ".join(picture["text"])])}, set()
        for panel in picture["panels"]:
            said |= words_of(panel)
            along |= along_axes(panel)
        self.assertEqual(said - texts - {""}, set(), "not drawn")
        rest = {text for text in texts - said - along
                if not any(text.endswith("…") and long.startswith(text[:-1].rstrip())
                           for long in along)}
        self.assertEqual(rest, set(), "drawn, but not in result.json")

    def test_runs(self):
        names = sorted(file.stem for file in (ROOT / "scenarios").glob("*.toml"))
        self.assertGreater(len(names), 30)
        self.assertIn(LONG_NUMBERS, names)
        for name in [*BRIEF, LONG_NUMBERS] if OPTIONS.brief else names:
            with self.subTest(name):
                self.check(self.result(name, "run", f"scenarios/{name}.toml", "--quiet",
                                       "--replications", "2"))

    def test_searches(self):
        for name, arguments in searches(OPTIONS.program, self.root).items():
            with self.subTest(name):
                self.check(self.result(name, *arguments))


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--program", required=True, type=Path)
    parser.add_argument("--brief", action="store_true")
    OPTIONS, rest = parser.parse_known_args()
    OPTIONS.program = OPTIONS.program.resolve()
    unittest.main(argv=[sys.argv[0], *rest])
