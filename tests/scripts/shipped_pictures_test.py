#!/usr/bin/python3
"""The pictures of shipped scenarios are drawn without any warning, each with two replications.

Usage: shipped_pictures_test.py --program RETRYSIM [--brief]. With --brief only those of a few: the
largest graph, many groups, a herd.

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

BRIEF = ["layers-that-retry", "sick-instance", "thundering-herd"]
OPTIONS = None  # set by main


class ShippedPictures(unittest.TestCase):
    def test_none_of_them_warns(self):
        root = Path(self.enterContext(tempfile.TemporaryDirectory(prefix="retrysim-pictures-")))
        names = sorted(file.stem for file in (ROOT / "scenarios").glob("*.toml"))
        self.assertGreater(len(names), 30)
        for name in BRIEF if OPTIONS.brief else names:
            with self.subTest(name):
                folder = root / name
                done = subprocess.run(
                    [OPTIONS.program, "run", ROOT / "scenarios" / f"{name}.toml", "--quiet",
                     "--replications", "2", "--out", folder],
                    capture_output=True, text=True, check=False)
                self.assertIn(done.returncode, (0, 1), done.stderr)  # expectations may fail
                with warnings.catch_warnings():
                    warnings.simplefilter("error")
                    drawn = plot(folder)
                self.assertEqual((drawn.returncode, drawn.stderr), (0, ""))
                self.assertTrue((folder / "overview.png").is_file())


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--program", required=True, type=Path)
    parser.add_argument("--brief", action="store_true")
    OPTIONS, rest = parser.parse_known_args()
    OPTIONS.program = OPTIONS.program.resolve()
    unittest.main(argv=[sys.argv[0], *rest])
