#!/usr/bin/python3
"""The manual pages say what the program says, and man shows them without a warning.

    manual_test.py --program PROGRAM

Exit status 77 without help2man.

SPDX-License-Identifier: MIT
"""

import argparse
import csv
import io
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

PROGRAM = None
SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "scripts" / "manual"
SKIPPED = 77


def printed_by(*arguments):
    return subprocess.run([PROGRAM, *arguments], check=True, capture_output=True, text=True).stdout


def commands():
    """The commands that the program's help names."""
    listed = re.search(r"^Commands:\n(.*?)\n\n", printed_by("--help"), re.DOTALL | re.MULTILINE)[1]
    return re.findall(r"^  (\w[\w-]*)", listed, re.MULTILINE)


def names_listed(what):
    rows = list(csv.reader(io.StringIO(printed_by("list", what, "--format", "csv"))))[1:]
    return [row[0] for row in rows]


def shown_by_man(page):
    """What man shows of a page, on one line, and what it has to say against it."""
    shown = subprocess.run(
        ["man", "--warnings", "--local-file", page], capture_output=True, text=True, check=True,
        env={**os.environ, "MANWIDTH": "100", "LC_ALL": "C.UTF-8", "MANROFFSEQ": "",
             "MAN_KEEP_FORMATTING": "", "PAGER": "cat", "MANPAGER": "cat"})
    return shown.stdout, shown.stderr


def without_layout(text):
    """Hyphens at the ends of lines are man's; so are blanks and lines."""
    return re.sub(r"\s+", "", text.replace("‐\n", ""))


class Manual(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(cls.enterClassContext(tempfile.TemporaryDirectory()))
        subprocess.run([SCRIPT, PROGRAM, cls.folder], check=True)

    def test_every_command_has_a_page(self):
        expected = {f"retrysim-{command}.1" for command in commands()}
        expected |= {"retrysim.1", "retrysim-scenario.5", "retrysim-metrics.7"}
        self.assertGreater(len(expected), 10)
        self.assertEqual({path.name for path in self.folder.iterdir()}, expected)

    def test_pages_of_commands_have_all_options(self):
        for command in commands():
            options = re.findall(r"^  (?:-\w \[ )?(--[\w-]+)", printed_by(command, "--help"),
                                 re.MULTILINE)
            page = (self.folder / f"retrysim-{command}.1").read_text().replace("\\-", "-")
            self.assertIn("--help", options)
            for option in options:
                self.assertRegex(page, rf"\n\.TP\n\\fB{option}\\fR")

    @unittest.skipUnless(shutil.which("man"), "man is not installed")
    def test_man_shows_all_of_the_text_without_warnings(self):
        for path in sorted(self.folder.iterdir()):
            text, warnings = shown_by_man(path)
            self.assertEqual(warnings, "", path.name)
            self.assertRegex(text, rf"NAME\n +{path.stem} +- +\w")
            if path.suffix == ".1" and path.stem != "retrysim":
                usage = printed_by(path.stem.removeprefix("retrysim-"), "--help")
                for line in usage.split("Options:")[0].split("\n\n", 1)[1].splitlines():
                    # Examples are typed behind a dollar, on one line; headings are in capitals.
                    words = re.sub(r"^  retrysim|\\$|^Exit status: \w|Examples?:", "", line)
                    self.assertIn(without_layout(words), without_layout(text), path.name)

    def test_reference_pages_have_all_keys_and_metrics(self):
        for page, what in (("retrysim-scenario.5", "keys"),
                           ("retrysim-scenario.5", "distributions"),
                           ("retrysim-metrics.7", "metrics")):
            text = (self.folder / page).read_text().replace("\\-", "-")
            names = names_listed(what)
            self.assertGreater(len(names), 5)
            for name in names:
                self.assertIn(f'\n.SS "{name}:"\n', text)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--program", required=True)
    options, rest = parser.parse_known_args()
    PROGRAM = os.path.abspath(options.program)
    if not shutil.which("help2man"):
        print("help2man is not installed")
        sys.exit(SKIPPED)
    unittest.main(argv=[sys.argv[0], *rest])
