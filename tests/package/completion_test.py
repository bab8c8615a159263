#!/usr/bin/python3
"""Completion in a real bash: keys are typed, and the words that it inserts are read back.

    completion_test.py --program PROGRAM --root FOLDER

SPDX-License-Identifier: MIT
"""

import argparse
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

import terminal

PROGRAM = ROOT = None

SCENARIO = """name = "two"
duration = "1s"
[service.api]
service_time = "1ms"
[client.web]
arrivals = { process = "poisson", rate = 1 }
attempt_timeout = "1s"
retry.mode = "none"
[client.batch]
like = "web"
"""


class Completion(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = pathlib.Path(cls.enterClassContext(tempfile.TemporaryDirectory()))
        (folder / "bin").mkdir()
        (folder / "bin" / "retrysim").symlink_to(PROGRAM)
        work = folder / "work"
        (work / "results").mkdir(parents=True)
        (work / "two.toml").write_text(SCENARIO)
        (work / "three.toml").write_text("name = ")
        (work / "notes.txt").write_text("")
        cls.bash = cls.enterClassContext(terminal.Bash(work, f"{folder / 'bin'}:/usr/bin:/bin"))
        cls.bash.run(f"source {ROOT / 'scripts' / 'completion.bash'}")

    def offered(self, line):
        """The completions of the last word, as bash has them in the line."""
        typed = re.sub(r"['\\]", "", line)
        words = self.bash.completions(line).removesuffix("|").split("|")
        before = typed.rsplit(" ", 1)[0].split(" ")
        self.assertEqual(words[:len(before)], before)
        return words[len(before):]

    def test_commands(self):
        self.assertEqual(self.offered("retrysim pre"), ["predict"])
        help_text = subprocess.run([PROGRAM, "--help"], capture_output=True, text=True).stdout
        for command in self.offered("retrysim "):
            self.assertIn(command, help_text)
        self.assertGreater(len(self.offered("retrysim ")), 10)

    def test_all_options_of_every_command(self):
        for command in self.offered("retrysim help "):
            text = subprocess.run([PROGRAM, command, "--help"], capture_output=True, text=True)
            options = set(re.findall(r"^  (?:-\w \[ )?(--[\w-]+)", text.stdout,
                                     re.MULTILINE))
            self.assertEqual(set(self.offered(f"retrysim {command} --")), options)

    def test_words_that_options_take(self):
        self.assertEqual(self.offered("retrysim run --format "), ["csv", "json", "table"])
        self.assertEqual(self.offered("retrysim run --mpi=o"), ["--mpi=off", "on"])
        self.assertEqual(self.offered("retrysim list m"), ["metrics", "modes"])
        self.assertIn("botocore", self.offered("retrysim strategy --sdk b"))
        self.assertEqual(self.offered("retrysim strategy --mode ad"), ["adaptive"])
        self.assertEqual(self.offered("retrysim run --seed "), [])

    def test_metrics(self):
        self.assertIn("success_rate", self.offered("retrysim compare --metrics success"))
        self.assertEqual(self.offered("retrysim compare --metrics goodput,wasted_sh"),
                         ["goodput,wasted_share"])

    def test_files(self):
        self.assertEqual(self.offered("retrysim run t"), ["three.toml", "two.toml"])
        self.assertEqual(self.offered("retrysim run "), ["results", "three.toml", "two.toml"])
        self.assertEqual(self.offered("retrysim verify "), ["results"])
        self.assertEqual(self.offered("retrysim run two.toml --out r"), ["results"])

    def test_keys_with_the_names_of_the_scenario(self):
        self.assertEqual(self.offered("retrysim run two.toml --set client."),
                         ["client.*.", "client.batch.", "client.web."])
        self.assertEqual(self.offered("retrysim run two.toml --set client.web.retry.backoff.j"),
                         ["client.web.retry.backoff.jitter=",
                          "client.web.retry.backoff.jitter_before_cap=",
                          "client.web.retry.backoff.jitter_share=",
                          "client.web.retry.backoff.jitter_width="])
        # A scenario that is not valid has no names to offer.
        self.assertEqual(self.offered("retrysim run three.toml --set client."), ["client.*."])
        self.assertEqual(self.offered("retrysim strategy --set backoff.ca"), ["backoff.cap="])

    def test_values_of_keys(self):
        key = "client.web.retry.mode"
        self.assertEqual(self.offered(f"retrysim run two.toml --set {key}="),
                         [f"{key}=adaptive", "custom", "legacy", "none", "standard"])
        self.assertEqual(self.offered(f"retrysim run two.toml --set '{key}=leg"), [f"{key}=legacy"])
        self.assertEqual(self.offered("retrysim sweep --vary client.\\*.retry.mode=none,leg"),
                         ["client.*.retry.mode=none,legacy"])
        self.assertEqual(self.offered("retrysim run --set drain="), ["drain=false", "true"])
        # An SDK by itself, and its releases. Bash takes what follows an @ as a word of its own.
        listed = subprocess.run([PROGRAM, "list", "releases"], capture_output=True, text=True)
        of = lambda sdk: [f"{sdk}@{version}" for version in  # noqa: E731
                          re.findall(rf"^{sdk}  ([\d.]+)$", listed.stdout, re.MULTILINE)]
        sdk = "client.web.retry.sdk="
        self.assertEqual([word.removeprefix(sdk) for word in
                          self.offered(f"retrysim run --set {sdk}boto")],
                         [*of("boto3"), "botocore", *of("botocore")])
        self.assertEqual([word.removeprefix(f"{sdk}boto3").rpartition("@")[2] for word in
                          self.offered(f"retrysim run --set {sdk}boto3@1.4")],
                         [r.rpartition("@")[2] for r in of("boto3") if "@1.4" in r])
        last = of("boto3")[-1]
        self.assertEqual(self.offered(f"retrysim run --set {sdk}{last[:-2]}"), [sdk + last])
        self.assertEqual(self.offered("retrysim run --set client.web.retry.max_retries="),
                         ["client.web.retry.max_retries=unlimited"])

    def test_only_keys_that_can_be_bisected(self):
        offered = self.offered("retrysim tip two.toml --trigger d")
        self.assertIn("duration=", offered)
        self.assertNotIn("drain=", offered)

    def test_pictures(self):
        plot = ROOT / "scripts" / "plot.py"
        usage = subprocess.run([plot, "--help"], capture_output=True, text=True, check=True).stdout
        self.assertEqual(set(self.offered("retrysim-plot --")),
                         set(re.findall(r"--[a-z-]+", usage)))
        formats = re.search(r"--format {([a-z,]+)}", usage)[1].split(",")
        self.assertEqual(self.offered("retrysim-plot results --format "), sorted(formats))
        self.assertEqual(self.offered("retrysim-plot results --format=p"), ["--format=pdf", "png"])
        sizes = re.search(r"--size {([a-z,]+)}", usage)[1].split(",")
        self.assertEqual(self.offered("retrysim-plot results --size "), sizes)
        self.assertEqual(self.offered("retrysim-plot "), ["results"])
        self.assertEqual(self.offered("retrysim-plot results --out r"), ["results"])
        self.assertEqual(self.offered("retrysim-plot results --out=r"), ["--out=results"])
        self.assertEqual(self.offered("retrysim-plot results --variant "), [])

    def test_a_blank_follows_what_is_complete(self):
        self.assertEqual(self.bash.run("retrysim list mod\t--form\tcsv | grep -c '^mode,'"),
                         "1\n")
        checked = self.bash.run("retrysim check tw\t --set dur\t5 2>/dev/null | grep -c '^dur'")
        self.assertEqual(checked, "1\n")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--program", required=True)
    parser.add_argument("--root", required=True, type=pathlib.Path)
    options, rest = parser.parse_known_args()
    PROGRAM, ROOT = os.path.abspath(options.program), options.root.resolve()
    unittest.main(argv=[sys.argv[0], *rest])
