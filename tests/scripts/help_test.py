#!/usr/bin/python3
"""Every script answers --help, and does nothing else then. What pages show of scripts exists.

The scripts run in a copy of their folders, with programs in front of the search path that would
install, build, test or load something and only say here that they have been called. Pages may name
scripts, with options, in code; stories run some of them, but not those that install or build.

SPDX-License-Identifier: MIT
"""

import functools
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDERS = (".ci", "scripts", "tests/sdks")
# What scripts start that installs, builds, tests or takes long.
WORKERS = ("apt-get", "chromium", "cmake", "ctest", "curl", "dpkg-query", "git", "go", "help2man",
           "mpirun", "ninja", "node", "npm", "sudo", "valgrind")


class Help(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory(prefix="retrysim-help-")
        self.addCleanup(temporary.cleanup)
        folder = pathlib.Path(temporary.name)
        self.tree, self.place = folder / "tree", folder / "place"
        self.calls, workers = folder / "calls", folder / "workers"
        for path in (self.tree, self.place, workers):
            path.mkdir()
        for name in FOLDERS:
            shutil.copytree(ROOT / name, self.tree / name,
                            ignore=shutil.ignore_patterns("__pycache__"))
        for name in WORKERS:
            (workers / name).write_text(f'#!/bin/sh\necho "{name} $*" >>"{self.calls}"\nexit 1\n')
            (workers / name).chmod(0o755)
        self.environment = {**os.environ, "PATH": f"{workers}:{os.environ['PATH']}",
                            "PYTHONDONTWRITEBYTECODE": "1"}

    def files(self):
        """All files of the tree and the working directory, with the time of their last change."""
        return {path: path.stat().st_mtime_ns
                for folder in (self.tree, self.place) for path in folder.rglob("*")}

    def scripts(self):
        """Programs that people start: others of these folders are parts of one of them."""
        return sorted(path for path in self.tree.rglob("*")
                      if path.is_file() and os.access(path, os.X_OK))

    def assert_only_answers(self, script):
        before = self.files()
        done = subprocess.run([script, "--help"], cwd=self.place, env=self.environment,
                              stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              check=False, timeout=60)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertGreater(len(done.stdout.split()), 5, done.stdout)
        self.assertEqual(self.files(), before)
        self.assertFalse(self.calls.exists(), "it starts one of the WORKERS")

    def test_every_script(self):
        scripts = self.scripts()
        self.assertGreater(len(scripts), 20)
        for script in scripts:
            with self.subTest(str(script.relative_to(self.tree))):
                self.assert_only_answers(script)

    def test_what_does_something_else_is_found(self):
        script = self.tree / "scripts" / "bad"
        for text in ("cmake --preset ci; echo one two three four five six",
                     "touch left; echo one two three four five six",
                     "echo usage",
                     "echo one two three four five six >&2",
                     "echo one two three four five six; exit 2"):
            script.write_text(f"#!/bin/bash\n{text}\n")
            script.chmod(0o755)
            with self.subTest(text), self.assertRaises(self.failureException):
                self.assert_only_answers(script)


def pages():
    for folder in (".", "include", "scenarios", "scripts", "sim", "tests"):
        yield from sorted((ROOT / folder).glob("*.md" if folder == "." else "**/*.md"))


@functools.cache
def help_of(script):
    return subprocess.run([ROOT / script, "--help"], stdin=subprocess.DEVNULL, capture_output=True,
                          text=True, check=False, timeout=60).stdout


def shown_scripts(text):
    """(script, its options) of each piece of code that names one."""
    code = re.sub(r"\\\n", " ", text)
    pieces = [line for fence in re.findall(r"^```\w*\n(.*?)^```$", code, re.DOTALL | re.MULTILINE)
              for line in fence.splitlines()]
    pieces += re.findall(r"`([^`]+)`", re.sub(r"^```.*?^```$", "", code, flags=re.DOTALL |
                                              re.MULTILINE))
    for piece in pieces:
        for command in re.split(r"&&|;|\||  #", piece.replace("\n", " ")):
            if found := re.match(r"\s*(scripts/[\w./-]*\w)\b(.*)", command):
                yield found[1], re.findall(r"(?<!\S)\[?(--[\w-]+)", found[2])


def wrong_scripts(text):
    """What is wrong with the scripts that a page shows."""
    for script, options in shown_scripts(text):
        if not (ROOT / script).exists():
            # A test may have such a name: scripts/NAME is tests/scripts/NAME_test.py.
            if options or not (ROOT / "tests" / f"{script}_test.py").exists():
                yield f"{script} does not exist"
            continue
        for option in options:
            if not re.search(rf"{option}(?![\w-])", help_of(script)):
                yield f"{script} --help does not know {option}"


class Shown(unittest.TestCase):
    def test_pages(self):
        shown = 0
        for page in pages():
            text = page.read_text(encoding="utf-8")
            shown += sum(len(options) for _, options in shown_scripts(text))
            with self.subTest(str(page.relative_to(ROOT))):
                self.assertEqual([], list(wrong_scripts(text)))
        self.assertGreater(shown, 10)

    def test_the_list_of_scripts(self):
        text = (ROOT / "scripts" / "README.md").read_text(encoding="utf-8")
        rows = re.findall(r"^\| (`[^`]+`)", text, re.MULTILINE)
        self.assertGreater(len(rows), 20)
        named = "\n".join(row.replace("`", "`scripts/", 1).replace("\\|", ",") for row in rows)
        self.assertEqual([], list(wrong_scripts(named)))

    def test_what_does_not_exist_is_found(self):
        for text in ("`scripts/nonsense`", "`scripts/nonsense --all`",
                     "`scripts/sources_of_results --all`",
                     "`scripts/build\nci` and `scripts/soak --minuets 3`",
                     "```\nls && scripts/plot.py x --metric a\n```\n"):
            with self.subTest(text):
                self.assertEqual(1, len(list(wrong_scripts(text))), list(wrong_scripts(text)))

    def test_names_of_tests_are_no_scripts(self):
        self.assertEqual([], list(wrong_scripts("`unit/x`, `scripts/sources_of_results`")))


if __name__ == "__main__":
    unittest.main()
