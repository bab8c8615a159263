#!/usr/bin/python3
"""The commands that the documentation and --help show are commands that work.

    documented_examples.py --program PROGRAM --root FOLDER

Those that simulate get a limit of one event, since mistakes show before the first. The scenarios in
the documentation must be valid, too. Exit status: 0 if all of them work.

SPDX-License-Identifier: MIT
"""

import argparse
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile

SIMULATING = ("run", "compare", "choose", "advise", "sweep", "tip")
LIMIT_HIT = 5
# Pages that run_cli_tests.py runs from top to bottom.
RUN_ELSEWHERE = ("scenarios/tutorial.md", "sim/report/recipes.md")
PLACEHOLDERS = re.compile(r"KEY=|part-|\bs\.toml|SCENARIO|\[options\]|\.\.\.")


def pages(root):
    """All Markdown files of the project, which may contain build and result folders."""
    for folder, names, files in os.walk(root):
        names[:] = sorted(name for name in names
                          if name not in ("build", "results") and not name.startswith("."))
        yield from (pathlib.Path(folder) / file for file in sorted(files) if file.endswith(".md"))


def examples_in(text):
    """Commands of the program in code, joined over continued lines, without comments."""
    text = text.replace("\\\n", " ")
    for line in text.splitlines():
        found = re.match(r"\s*(?:\$ )?(retrysim (?:run|compare|choose|advise|sweep|tip|check|"
                         r"list|strategy)\b.*)",
                         line)
        if found and not PLACEHOLDERS.search(found.group(1)):
            words = shlex.split(found.group(1), comments=True)
            if len(words) > 2:
                yield words[1:]


def failure(program, words, folder):
    """What is wrong with a command; empty if nothing is."""
    expected = 0
    if words[0] in SIMULATING:
        words = [*words, "--max-events", "1"]
        expected = LIMIT_HIT
    done = subprocess.run([program, *words], cwd=folder, capture_output=True, text=True,
                          check=False)
    if done.returncode == expected:
        return ""
    return f"exit status {done.returncode}, expected {expected}: {done.stderr}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", required=True)
    parser.add_argument("--root", required=True, type=pathlib.Path)
    arguments = parser.parse_args()
    program, root = os.path.abspath(arguments.program), arguments.root.resolve()
    examples, scenarios = [], []
    for page in pages(root):
        if page.relative_to(root).as_posix() in RUN_ELSEWHERE:
            continue
        text = page.read_text(encoding="utf-8")
        examples += examples_in(text)
        scenarios += re.findall(r"^```toml\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    for command in (*SIMULATING, "check", "list", "strategy"):
        text = subprocess.run([program, command, "--help"], capture_output=True, text=True,
                              check=True).stdout
        examples += examples_in(text.split("Options:")[0])
    examples = [list(words) for words in dict.fromkeys(map(tuple, examples))]
    if len(examples) < 10 or not scenarios:
        print(f"only {len(examples)} commands and {len(scenarios)} scenarios found: has their form "
              "changed?")
        return 1
    wrong = 0
    for text in scenarios:
        with tempfile.NamedTemporaryFile("w", suffix=".toml", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            what = failure(program, ["check", file.name], None)
        wrong += bool(what)
        print(f"{'FAILED' if what else 'works'}: a scenario of {text.count(chr(10))} lines"
              f"{chr(10) + what if what else ''}")
    for words in examples:
        with tempfile.TemporaryDirectory(prefix="retrysim-examples-") as folder:
            os.symlink(root / "scenarios", pathlib.Path(folder) / "scenarios")
            what = failure(program, words, folder)
        wrong += bool(what)
        print(f"{'FAILED' if what else 'works'}: retrysim {shlex.join(words)}"
              f"{chr(10) + what if what else ''}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
