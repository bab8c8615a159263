#!/usr/bin/python3
"""The page and Matplotlib draw the same pictures: in a headless Chromium, the words in the charts
of a page are those of `pictures` in result.json, which tests/scripts/shipped_pictures_test.py
compares with what Matplotlib draws.

Usage: pictures_test.py --program RETRYSIM [--all]: the runs of all shipped scenarios, not of a few.
Exit status 77 if there is no Chromium.

SPDX-License-Identifier: MIT
"""

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

from browser import Browser, find_chromium

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.dont_write_bytecode = True
sys.path.insert(0, str(ROOT / "tests" / "scripts"))
from picture_texts import along_axes, plain, words_of  # noqa: E402
from shipped_results import searches  # noqa: E402

BRIEF = ["layers-that-retry", "sick-instance", "thundering-herd", "deploy"]
OPTIONS = None  # set by main
# Of each chart its title and all texts in it; names beside lines are said in the legend as well.
CHARTS = """[...document.querySelectorAll('%s figure.chart')].map(figure => [
    figure.dataset.title, [...figure.querySelectorAll('figcaption b, .unit, .legend li, '
    + '.drawing svg text:not(.at-line, .span-name)')].map(e => e.querySelector('tspan')
    ? [...e.children].map(line => line.childNodes[0].textContent).join(' ') : e.matches('text')
    ? e.childNodes[0].textContent : e.textContent)])"""


class SamePictures(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        temporary = tempfile.TemporaryDirectory(prefix="retrysim-pictures-")
        cls.addClassCleanup(temporary.cleanup)
        cls.folder = pathlib.Path(temporary.name)
        cls.browser = cls.enterClassContext(Browser(find_chromium()))
        cls.browser.resize(1500, 900)

    def texts_of(self, name, arguments, where=""):
        """result.json, and [title, texts] of each chart on its page."""
        folder, page = self.folder / name, self.folder / f"{name}.html"
        for command in ([*arguments, "--out", folder],
                        ["report", folder, "--out", page, "--quiet"]):
            done = subprocess.run([OPTIONS.program, *command], cwd=ROOT, capture_output=True,
                                  text=True, check=False)
            self.assertIn(done.returncode, (0, 1), done.stderr)
        self.browser.open(page.as_uri())
        self.browser.run("document.querySelectorAll('details').forEach(one => one.open = true)")
        self.browser.settle()
        self.browser.settle()
        self.assertEqual(self.browser.problems, [])
        return (json.loads((folder / "result.json").read_text(encoding="utf-8")),
                self.browser.run(CHARTS % where))

    def check(self, name, arguments):
        is_sweep = arguments[0] == "sweep"  # the charts over time are those of its points
        result, charts = self.texts_of(name, arguments, "#range" if is_sweep else "")
        pictures = [picture for picture in result["pictures"] if "variant" not in picture]
        panels = [panel for picture in pictures for panel in picture["panels"]]
        self.assertGreater(len(panels), 0)
        self.assertEqual(sorted(panel["title"] for panel in panels),
                         sorted(title for title, _ in charts))
        said = set().union(*map(words_of, panels))
        along = set().union(*map(along_axes, panels))
        texts = {plain(text) for _, found in charts for text in found} - {""}
        self.assertEqual(said - texts, set(), "not on the page")
        rest = {text for text in texts - said - along
                if not any(text.endswith("…") and long.startswith(text[:-1].rstrip())
                           for long in along)}
        self.assertEqual(rest, set(), "on the page, but not in result.json")

    def test_runs(self):
        names = sorted(file.stem for file in (ROOT / "scenarios").glob("*.toml"))
        for name in names if OPTIONS.all else BRIEF:
            with self.subTest(name):
                self.check(name, ["run", f"scenarios/{name}.toml", "--quiet",
                                  "--replications", "2"])

    def test_searches(self):
        for name, arguments in searches(OPTIONS.program, self.folder).items():
            with self.subTest(name):
                self.check(name, arguments)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--program", required=True, type=pathlib.Path)
    parser.add_argument("--all", action="store_true")
    OPTIONS, rest = parser.parse_known_args()
    OPTIONS.program = OPTIONS.program.resolve()
    if not find_chromium():
        sys.exit(77)
    unittest.main(argv=[sys.argv[0], *rest])
