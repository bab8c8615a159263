#!/usr/bin/python3
"""Runs stories: text files that show commands and what must come of them.

A story reads like a terminal:

    # A comment; also what the story is about.
    $ retrysim check scenarios/typo.toml
    ! scenarios/typo.toml:3:1: error: ...
    ? 3

`$ ` starts a command, `> ` continues it (a here-document, say). What follows is expected on
standard output, after `! ` on standard error; `? N` is the exit status, 0 if it is not given.
Everything must match: a line that is just `...` stands for any lines or none, `...` inside a line
for any text. A line of output that would be taken for one of these marks is written with a
backslash before it. Empty lines just before a command or a comment are for the reader.

Each story runs in an empty folder with a link `scenarios` to the shipped ones; `retrysim` is the
program under test, `retrysim-plot` is scripts/plot.py, and $STORY_FOLDER is the folder of the
story. Commands run in bash, one after the other, in the same folder; each simulates everything
itself (RETRYSIM_NO_REUSE) unless it names a --store.

A page of the documentation (.md) is a story, too: see pages.py.

SPDX-License-Identifier: MIT
"""

import argparse
import dataclasses
import difflib
import os
import pathlib
import re
import subprocess
import sys
import tempfile

import pages

SKIPPED = 77  # what CTest is told to take for a skipped test
MARKS = ("$ ", "> ", "! ", "? ", "# ", "\\")


@dataclasses.dataclass
class Step:
    line: int  # of the command, from 1
    command: str
    stdout: list = dataclasses.field(default_factory=list)
    stderr: list = dataclasses.field(default_factory=list)
    status: int = 0
    trimmed: bool = False  # blanks and form feeds at the end of a line do not count


class StoryError(Exception):
    """The story itself is not well formed."""


def steps_of_page(text, options):
    steps = [Step(b.line, b.command, b.output, status=b.status, trimmed=True)
             for b in pages.blocks(text, options.languages) if options.slow or not b.slow]
    if not steps:
        raise StoryError("1: no block of commands")
    return steps


def parse(text):
    """The steps of a story."""
    steps = []
    in_command = False
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith("$ "):
            steps.append(Step(number, line[2:]))
            in_command = True
            continue
        if line == "#" or line.startswith("# "):
            continue
        if not steps:
            if line.strip():
                raise StoryError(f"{number}: text before the first command")
            continue
        step = steps[-1]
        if in_command and (line == ">" or line.startswith("> ")):
            step.command += "\n" + line[2:]
            continue
        in_command = False
        if line == "!" or line.startswith("! "):
            step.stderr.append(line[2:])
        elif line.startswith("? "):
            step.status = int(line[2:])
        else:
            step.stdout.append(line[1:] if line.startswith("\\") else line)
    for step in steps:
        while step.stdout and not step.stdout[-1]:
            step.stdout.pop()
    if not steps:
        raise StoryError("1: no command")
    return steps


def pattern(expected):
    """A regular expression for the expected lines."""
    parts = []
    for line in expected:
        if line == "...":
            parts.append(r"(?:[^\n]*\n)*?")
        else:
            parts.append("[^\n]*?".join(re.escape(p) for p in line.split("...")) + "\n")
    return "".join(parts)


def matches(expected, actual):
    lines = actual.rstrip("\n").split("\n") if actual.strip("\n") else []
    text = "".join(line + "\n" for line in lines)
    return re.fullmatch(pattern(expected), text) is not None


def difference(name, expected, actual):
    lines = difflib.unified_diff(
        expected, actual.rstrip("\n").split("\n"), f"expected {name}", f"actual {name}",
        lineterm="")
    return "\n".join("    " + line for line in lines)


def run_step(step, folder, environment):
    """Runs one command; returns a list of what is wrong, and the finished process."""
    done = subprocess.run(["bash", "-c", step.command], cwd=folder, env=environment,
                          stdin=subprocess.DEVNULL, capture_output=True)
    stdout, stderr = (s.decode("utf-8", "backslashreplace") for s in (done.stdout, done.stderr))
    if step.trimmed:
        stdout = re.sub(r"[ \f]+$", "", stdout, flags=re.MULTILINE)
    wrong = []
    if done.returncode != step.status:
        wrong.append(f"exit status {done.returncode} instead of {step.status}")
    streams = (("output", step.stdout, stdout), ("errors", step.stderr, stderr))
    for name, expected, actual in streams:
        if not matches(expected, actual):
            wrong.append(f"standard {name}:\n{difference(name, expected, actual)}")
    return wrong, done.returncode, stdout, stderr


def transcript(step, status, stdout, stderr):
    """The step as it really went, in the form of a story."""
    def marked(line):
        return "\\" + line if line.startswith(MARKS) else line

    lines = step.command.split("\n")
    out = ["$ " + lines[0]] + ["> " + line for line in lines[1:]]
    out += [marked(line) for line in stdout.splitlines()]
    out += [("! " + line).rstrip() for line in stderr.splitlines()]
    out += [f"? {status}"] if status else []
    return "\n".join(out)


def run_story(path, program, root, options):
    """Runs the story in a folder of its own; prints what is wrong; returns the number of faults."""
    text = path.read_text(encoding="utf-8")
    is_page = path.suffix == ".md"
    steps = steps_of_page(text, options) if is_page else parse(text)
    faults = 0
    outputs = {}
    with tempfile.TemporaryDirectory(prefix="story-") as temporary:
        base = pathlib.Path(temporary)
        (base / "bin").mkdir()
        (base / "bin" / "retrysim").symlink_to(program.resolve())
        plot = root.resolve() / "scripts" / "plot.py"
        (base / "bin" / "retrysim-plot").symlink_to(plot)
        folder = base / "work"
        folder.mkdir()
        for name in ("scenarios", "scripts") if is_page else ("scenarios",):
            (folder / name).symlink_to(root.resolve() / name)
        environment = {"PATH": f"{base / 'bin'}:/usr/local/bin:/usr/bin:/bin", "HOME": str(base),
                       "LC_ALL": "C.UTF-8", "TERM": "dumb", "RETRYSIM_NO_REUSE": "1",
                       "STORY_FOLDER": str(path.parent.resolve())}
        for name in ("ASAN_OPTIONS", "UBSAN_OPTIONS", "TSAN_OPTIONS"):
            if name in os.environ:
                environment[name] = os.environ[name]
        for step in steps:
            wrong, *actual = run_step(step, folder, environment)
            if options.show:
                print(transcript(step, *actual), end="\n\n")
            if wrong and options.rewrite and is_page and actual[0] == step.status:
                outputs[step.line] = actual[1]
                continue
            for fault in [] if options.show else wrong:
                faults += 1
                print(f"{path}:{step.line}: error: {step.command.splitlines()[0]}: {fault}")
    if outputs:
        path.write_text(pages.with_outputs(text, outputs), encoding="utf-8")
    return faults


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("stories", nargs="+", type=pathlib.Path)
    parser.add_argument("--program", type=pathlib.Path, required=True, help="retrysim to test")
    parser.add_argument("--root", type=pathlib.Path, required=True,
                        help="folder that contains scenarios/")
    parser.add_argument("--show", action="store_true",
                        help="print the stories as they really go instead of checking them")
    parser.add_argument("--rewrite", action="store_true",
                        help="have pages show what their commands really print")
    parser.add_argument("--languages", nargs="*", default=sorted(pages.INTERPRETERS), metavar="L",
                        help="of pages: leave out blocks in other languages than sh and these")
    parser.add_argument("--slow", action="store_true",
                        help="of pages: also the blocks that are marked as slow")
    options = parser.parse_args()
    missing = pages.missing_programs(options.languages)
    if missing and any(path.suffix == ".md" for path in options.stories):
        print(f"skipped: there is no {' and no '.join(missing)} on this machine")
        return SKIPPED
    if not os.access(options.program, os.X_OK):
        parser.error(f"{options.program} is not a program; build it first")
    faults = 0
    for path in options.stories:
        try:
            faults += run_story(path, options.program, options.root, options)
        except StoryError as error:
            faults += 1
            print(f"{path}:{error}")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
