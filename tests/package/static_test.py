#!/usr/bin/python3
"""The program as one file: needs no library, runs where there is nothing else, and gives the bytes
of the ordinary program for every shipped scenario.

    static_test.py --static PROGRAM --program PROGRAM --root FOLDER

SPDX-License-Identifier: MIT
"""

import argparse
import filecmp
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

OPTIONS = None


def run(program, *arguments, **options):
    return subprocess.run([program, *arguments], check=False, capture_output=True, text=True,
                          **options)


class Static(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory(prefix="retrysim-static-")
        self.addCleanup(temporary.cleanup)
        self.folder = pathlib.Path(temporary.name)

    def test_needs_no_library(self):
        headers = run("readelf", "--dynamic", "--program-headers", OPTIONS.static).stdout
        self.assertIn("There is no dynamic section", headers)
        self.assertNotIn("INTERP", headers)

    def test_runs_in_an_empty_folder(self):
        """As the only file of a machine: no libraries, no locales, no /proc, no /tmp."""
        shutil.copy(OPTIONS.static, self.folder / "retrysim")
        shutil.copy(OPTIONS.root / "scenarios/capacity-dip.toml", self.folder)
        chroot = shutil.which("chroot", path="/usr/sbin:/sbin:/usr/bin")
        enter = [chroot] if os.geteuid() == 0 else ["/usr/bin/unshare", "--map-root-user", chroot]
        inside = lambda *arguments: run(*enter, self.folder, "/retrysim", *arguments,
                                        env={"PATH": "/"})
        if inside("--version").returncode != 0 and os.geteuid() != 0:
            self.skipTest("this machine lets nobody make a chroot")
        self.assertEqual(inside("--version").stdout, run(OPTIONS.program, "--version").stdout)
        done = inside("run", "/capacity-dip.toml", "--out", "/result", "--replications", "2")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(inside("verify", "/result").returncode, 0)
        self.assertEqual(inside("predict", "/capacity-dip.toml").returncode, 0)
        self.assertEqual(inside("report", "/result").returncode, 0)
        self.assertTrue((self.folder / "result/report.html").is_file())

    def test_results_are_those_of_the_ordinary_program(self):
        scenarios = sorted((OPTIONS.root / "scenarios").glob("*.toml"))
        self.assertGreater(len(scenarios), 30)
        for scenario in scenarios:
            with self.subTest(scenario.name):
                folders = []
                for program in (OPTIONS.program, OPTIONS.static):
                    folders.append(self.folder / f"{scenario.stem}-{len(folders)}")
                    done = run(program, "run", scenario, "--out", folders[-1], "--quiet",
                               "--replications", "2", "--no-reuse")
                    self.assertIn(done.returncode, (0, 1), done.stderr)
                names = sorted(path.name for path in folders[0].iterdir())
                self.assertEqual(names, sorted(path.name for path in folders[1].iterdir()))
                _, other, errors = filecmp.cmpfiles(*folders, names, shallow=False)
                self.assertEqual((other, errors), ([], []))

    def test_says_that_it_has_no_ranks(self):
        scenario = OPTIONS.root / "scenarios/capacity-dip.toml"
        done = run(OPTIONS.static, "run", scenario, "--mpi", "on")
        self.assertEqual(done.returncode, 2)
        self.assertIn("built without MPI", done.stderr)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--static", required=True)
    parser.add_argument("--program", required=True)
    parser.add_argument("--root", type=pathlib.Path, required=True)
    OPTIONS, rest = parser.parse_known_args()
    unittest.main(argv=[sys.argv[0], *rest])
