#!/usr/bin/python3
"""The commands that the documentation and --help show are commands that work.

    documented_examples.py --program PROGRAM --root FOLDER

Pages are run elsewhere: each with commands to type is a story of its own (pages.py). Here

* no page shows a command of the program that is not run, by forgetting to mark its block;
* scenarios in the documentation are valid;
* patterns of keys stand in quotes, so that no shell expands them; in scenarios, too;
* the examples of --help work. Those that simulate get a limit of one event, since mistakes show
  before the first.

Exit status: 0 if all of that holds.

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

import pages

SIMULATING = ("run", "compare", "choose", "advise", "sweep", "tip")
LIMIT_HIT = 5
PLACEHOLDERS = re.compile(r"KEY=|part-|\bs\.toml|SCENARIO|\[options\]|\.\.\.")
UNQUOTED = re.compile(r"--(?:set|vary)[ =][^'\"`\s]*\*\S*")  # which a shell may expand
COMMAND = re.compile(r"\s*(?:\$ |Example: )?(retrysim [a-z]+ .*)")


def pages_of(root):
    """All Markdown files of the project, which may contain build and result folders."""
    for folder, names, files in os.walk(root):
        names[:] = sorted(name for name in names
                          if name not in ("build", "results") and not name.startswith("."))
        yield from (pathlib.Path(folder) / file for file in sorted(files) if file.endswith(".md"))


def examples_in(text):
    """Commands of the program in code, joined over continued lines, without comments."""
    for line in text.replace("\\\n", " ").splitlines():
        found = COMMAND.match(line)
        if found and not PLACEHOLDERS.search(found.group(1)):
            yield shlex.split(found.group(1), comments=True)[1:]


def unmarked_commands(text):
    """Commands in blocks that no story runs."""
    for fence in pages.FENCED.finditer(text):
        if not fence[2]:
            yield from examples_in(fence[3])


def unquoted_patterns(where, text):
    """How many options have a pattern that a shell may expand."""
    found = UNQUOTED.findall(text)
    for option in found:
        print(f"FAILED: {where}: no quotes around the pattern in `{option}`")
    return len(found)


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
    examples, scenarios, wrong = [], [], 0
    for page in pages_of(root):
        text = page.read_text(encoding="utf-8")
        scenarios += re.findall(r"^```toml\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
        wrong += unquoted_patterns(page.relative_to(root), text)
        for words in unmarked_commands(text):
            wrong += 1
            print(f"FAILED: {page.relative_to(root)}: nothing runs `retrysim {shlex.join(words)}`: "
                  "mark its block sh or bash")
    for scenario in sorted((root / "scenarios").glob("*.toml")):
        wrong += unquoted_patterns(scenario.relative_to(root), scenario.read_text(encoding="utf-8"))
    for command in (*SIMULATING, "check", "map", "predict", "strategy"):
        text = subprocess.run([program, command, "--help"], capture_output=True, text=True,
                              check=True).stdout
        wrong += unquoted_patterns(f"{command} --help", text)
        examples += examples_in(text.split("Options:")[0])
    examples = [list(words) for words in dict.fromkeys(map(tuple, examples))]
    if len(examples) < 10 or not scenarios:
        print(f"only {len(examples)} commands and {len(scenarios)} scenarios found: has their form "
              "changed?")
        return 1
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
            os.symlink("scenarios/capacity-dip.toml", pathlib.Path(folder) / "dip.toml")
            what = failure(program, words, folder)
        wrong += bool(what)
        print(f"{'FAILED' if what else 'works'}: retrysim {shlex.join(words)}"
              f"{chr(10) + what if what else ''}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
