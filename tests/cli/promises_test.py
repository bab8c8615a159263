#!/usr/bin/python3
"""Does every test exist that a page of promises names?

    promises_test.py --build FOLDER PAGE

Each row of the table under "What is promised" has a promise and, in its last cell, the tests that
hold it. A test of a program that has not been built is only known by its program, and is left out.
Exit status: 0 if all of them exist and every promise has one, 1 if not.

SPDX-License-Identifier: MIT
"""

import argparse
import json
import pathlib
import re
import subprocess
import sys

HEADING = "## What is promised\n"


def promises(page):
    """Pairs: a promise, and the names of the tests that hold it."""
    section = page.partition(HEADING)[2].partition("\n## ")[0]
    rows = [line.strip().strip("|").split("|") for line in section.splitlines()
            if line.startswith("| ")][1:]
    return [(row[0].strip(), re.findall("`([^`]+)`", row[-1])) for row in rows]


def faults_of(page, names):
    """What is wrong with the page, if these are all the tests that there are."""
    unbuilt = {match[1] for name in names if (match := re.match(r"test_(\w+?)_NOT_BUILT", name))}
    found = promises(page)
    faults = [] if found else [f"there is no promise under '{HEADING.strip()}'"]
    for promise, tests in found:
        if not tests:
            faults.append(f"no test holds '{promise}'")
        for test in tests:
            kind, _, part = test.partition("/")
            program = part.partition("/")[0] if kind == "unit" else kind
            if test not in names and program not in unbuilt:
                faults.append(f"there is no test '{test}', which is to hold '{promise}'")
    return faults


def check_that_faults_are_found(page, names):
    """A page that names a test that does not exist, or a promise that no test holds, is noticed."""
    promise, tests = promises(page)[0]
    for wrong in (page.replace(f"`{tests[0]}`", "`cli/no_such_test`"),
                  page.replace(HEADING, "## Another heading\n"),
                  re.sub(r"\| `[^\n]*\|\n", "| someone |\n", page, count=1)):
        if not faults_of(wrong, names):
            sys.exit(f"error: nothing is wrong with another page, whose first promise is "
                     f"'{promise}'")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("page", type=pathlib.Path)
    parser.add_argument("--build", required=True, help="folder of the build")
    arguments = parser.parse_args()
    listed = subprocess.run(["ctest", "--test-dir", arguments.build, "--show-only=json-v1"],
                            capture_output=True, text=True, check=True).stdout
    names = {test["name"] for test in json.loads(listed[listed.index("{"):])["tests"]}
    page = arguments.page.read_text(encoding="utf-8")
    faults = faults_of(page, names)
    for fault in faults:
        print(f"{arguments.page}: error: {fault}")
    if faults:
        sys.exit(1)
    check_that_faults_are_found(page, names)
    print(f"{len(promises(page))} promises, each with tests that exist")


if __name__ == "__main__":
    main()
