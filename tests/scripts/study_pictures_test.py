#!/usr/bin/python3
"""The data of scripts/studies/study_pictures.py, on a few runs of the program and on files written
here.

SPDX-License-Identifier: MIT
"""

import argparse
import csv
import sys
import tempfile
import types
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.dont_write_bytecode = True
sys.path.insert(0, str(ROOT / "scripts" / "studies"))

import study_pictures as pictures  # noqa: E402

PROGRAM = None


def write(path, header, rows):
    with open(path, "w", newline="", encoding="utf-8") as file:
        csv.writer(file, lineterminator="\n").writerows([header, *rows])


class StudyPicturesTest(unittest.TestCase):
    def setUp(self):
        self.root = Path(self.enterContext(tempfile.TemporaryDirectory()))

    def test_arrivals_are_means_over_all_replications(self):
        rows = [[f"jitter={word}", r, client, t, 10 * (r + 1) + i]
                for i, word in enumerate(pictures.WORDS) for r in (0, 1)
                for client in ("writers", "all") for t in (0, 0.02, 0.04)
                if t < 0.04 or r == 1]  # the first replication is over sooner
        write(self.root / "timeseries.csv",
              ["variant", "replication", "client", "time_s", "attempts"], rows)
        table = pictures.arrivals(self.root)
        self.assertEqual(list(table.columns), ["none", "full", "equal", "decorrelated"])
        self.assertEqual(list(table["none"]), [15, 15, 10])
        self.assertEqual(list(table["equal"]), [17, 17, 11])

    def test_published_figures_have_the_names_of_the_lines(self):
        theirs = pictures.published()
        for *_, name, _ in pictures.KINDS:
            for metric, *_ in pictures.METRICS:
                self.assertEqual(set(theirs[name, metric]), set(pictures.CLIENTS))
        self.assertEqual(theirs["full jitter", "attempts"][10], 39.203)

    def test_what_the_program_finds(self):
        """20 replications. Seeds are fixed; what is compared differs by at least ten standard
        errors, so that another seed would fail less than once in a million."""
        options = types.SimpleNamespace(out=self.root, replications=20)
        table = pictures.arrivals(pictures.compare_jitter(PROGRAM, options))
        # Without jitter the clients call in waves: there are bins without a single call between
        # waves of a hundred. With full jitter calls thin out evenly.
        early = table[(table.index >= 0.1) & (table.index < 0.5)]
        self.assertGreater((early["none"] == 0).sum(), 3)
        self.assertEqual((early["full"] == 0).sum(), 0)
        self.assertGreater(early["none"].max(), 2 * early["full"].max())
        self.assertGreater(table["none"].sum(), 2 * table["full"].sum())

        pictures.CLIENTS, everything = (10, 50), pictures.CLIENTS
        self.addCleanup(setattr, pictures, "CLIENTS", everything)
        tables = pictures.work_and_time(pictures.sweep_clients(PROGRAM, options))
        theirs = pictures.published()
        for (name, metric), found in tables.items():
            self.assertEqual(list(found.index), [10, 50])
            for clients, row in found.iterrows():
                # Ten standard errors on either side, at least a tenth.
                room = max(5 * (row["ci_high"] - row["ci_low"]) / 2, 0.1 * row["mean"])
                self.assertLess(abs(row["mean"] - theirs[name, metric][clients]), room,
                                (name, metric, clients))


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--program", type=Path, required=True)
    options, rest = parser.parse_known_args()
    PROGRAM = options.program
    unittest.main(argv=[sys.argv[0], *rest])
