#!/usr/bin/python3
"""On a terminal the answer stands out, and is said again below a text that is longer than that.

Usage: terminal_test.py --program PATH

SPDX-License-Identifier: MIT
"""

import argparse
import fcntl
import os
import pty
import re
import struct
import subprocess
import sys
import tempfile
import termios
import unittest

SCENARIO = """
name = "shop"
duration = "20s"
replications = 2
[service.api]
servers = 10
service_time = { distribution = "exponential", mean = "100ms" }
[client.web]
calls = "api"
arrivals = { process = "poisson", rate = 50 }
attempt_timeout = "1s"
retry.mode = "none"
[expect.most]
metric = "success_rate"
at_least = 0.9
[expect.fast]
metric = "latency_mean"
at_most = 0.001
"""
COLOR = re.compile(r"\x1b\[\d+m")
ANSWER = re.compile(r"^web: all is well.*$", re.MULTILINE)


class Terminal(unittest.TestCase):
    program = ""

    def run_on_terminal(self, lines=24, command=("run", "shop.toml"), status=1, **environment):
        """What a terminal of so many lines and 100 columns gets; 1: an expectation of run fails."""
        main, terminal = pty.openpty()
        fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", lines, 100, 0, 0))
        variables = {**os.environ, "TERM": "xterm", **environment}
        for name in ("COLUMNS", "NO_COLOR"):
            if name not in environment:
                variables.pop(name, None)
        with tempfile.TemporaryDirectory() as folder:
            with open(os.path.join(folder, "shop.toml"), "w", encoding="utf-8") as file:
                file.write(SCENARIO)
            with subprocess.Popen([self.program, *command, "--out", "result"],
                                  cwd=folder, env=variables, stdin=subprocess.DEVNULL,
                                  stdout=terminal, stderr=subprocess.PIPE) as process:
                os.close(terminal)
                text = b""
                while True:
                    try:
                        block = os.read(main, 1 << 16)
                    except OSError:  # the last writer has closed it
                        break
                    if not block:
                        break
                    text += block
                errors = process.stderr.read()
        os.close(main)
        self.assertEqual((process.returncode, errors), (status, b""))
        return text.decode().replace("\r\n", "\n")

    def test_what_matters_stands_out(self):
        text = self.run_on_terminal()
        self.assertRegex(text, r"(?m)^\x1b\[1mweb: all is well[^\x1b]*\x1b\[0m$")
        self.assertRegex(text, r"(?m)^\x1b\[32m  pass  \x1b\[0mmost: ")
        self.assertRegex(text, r"(?m)^\x1b\[31m  FAIL  \x1b\[0mfast: ")

    def test_colors_change_no_word(self):
        plain = self.run_on_terminal(NO_COLOR="1")
        self.assertEqual(COLOR.findall(plain), [])
        self.assertEqual(COLOR.sub("", self.run_on_terminal()), plain)
        self.assertEqual(self.run_on_terminal(TERM="dumb"), plain)
        # An empty one does not count (https://no-color.org).
        self.assertNotEqual(COLOR.findall(self.run_on_terminal(NO_COLOR="")), [])

    def test_the_answer_is_the_last_line_of_a_long_output(self):
        text = COLOR.sub("", self.run_on_terminal(lines=24))
        self.assertEqual(len(ANSWER.findall(text)), 2, text)
        self.assertRegex(text, r"Result files: result\n\nweb: all is well[^\n]*\n$")

    def test_the_answer_is_said_once_where_it_stays_in_sight(self):
        text = COLOR.sub("", self.run_on_terminal(lines=500))
        self.assertEqual(len(ANSWER.findall(text)), 1, text)
        self.assertTrue(text.endswith("Result files: result\n"), text)

    def test_pipes_get_neither_colors_nor_the_answer_again(self):
        with tempfile.TemporaryDirectory() as folder:
            with open(os.path.join(folder, "shop.toml"), "w", encoding="utf-8") as file:
                file.write(SCENARIO)
            variables = {**os.environ, "TERM": "xterm", "LINES": "24"}
            variables.pop("NO_COLOR", None)
            done = subprocess.run([self.program, "run", "shop.toml", "--out", "result"], cwd=folder,
                                  env=variables, stdin=subprocess.DEVNULL, capture_output=True,
                                  text=True, check=False)
        self.assertNotIn("\x1b", done.stdout + done.stderr)
        self.assertEqual(len(ANSWER.findall(done.stdout)), 1, done.stdout)
        self.assertTrue(done.stdout.endswith("Result files: result\n"), done.stdout)

    def test_searches_and_comparisons_end_with_their_answer_too(self):
        for command, answer in (
                (("compare", "shop.toml", "--vary", "service.api.servers=10,11"), "servers=11"),
                (("advise", "shop.toml"), "(Best single change|None of the remedies)")):
            text = self.run_on_terminal(lines=8, command=command, status=0)
            self.assertRegex(text, rf"(?m)^\x1b\[1m{answer}")
            last = COLOR.sub("", text).rstrip("\n").rpartition("\n\n")[2]
            self.assertRegex(last, f"^{answer}", text)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", required=True)
    arguments, rest = parser.parse_known_args()
    Terminal.program = os.path.abspath(arguments.program)
    unittest.main(argv=[sys.argv[0], *rest])


if __name__ == "__main__":
    main()
