#!/usr/bin/python3
"""Says which tests were skipped, and fails if one of them had to run.

Usage: scripts/skips.py --allowed tests/skips.txt RESULTS.xml...
The results are those of `ctest --output-junit`. A line of the list is a regular expression for the
whole name of a test, blanks, and the reason why it may be skipped. Exit status 1: a test that is
not in the list was skipped, or there are no results.

SPDX-License-Identifier: MIT
"""

import argparse
import pathlib
import re
import sys
import xml.etree.ElementTree


def allowed_skips(text):
    """(regular expression, reason) of each line but comments."""
    found = []
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        words = line.split(None, 1)
        if len(words) < 2:
            raise ValueError(f"line {number}: \"{words[0]}\" has no reason")
        try:
            found.append((re.compile(words[0]), words[1].strip()))
        except re.error as error:
            raise ValueError(f"line {number}: {words[0]}: {error}") from error
    return found


def tests_of(path):
    """(names of all tests that ran or were skipped, of those skipped); disabled ones count."""
    names, skipped = set(), set()
    for case in xml.etree.ElementTree.parse(path).iter("testcase"):
        name = case.get("name")
        if case.get("status") in ("notrun", "disabled"):
            skipped.add(name)
        names.add(name)
    return names, skipped


def report(allowed, names, skipped):
    """The lines to print, and whether all is well."""
    lines, well = [], True
    for name in sorted(skipped):
        reasons = [reason for pattern, reason in allowed if pattern.fullmatch(name)]
        if reasons:
            lines.append(f"skipped: {name}: {reasons[0]}")
        else:
            lines.append(f"error: {name} was skipped, and tests/skips.txt does not allow it")
            well = False
    for pattern, _ in allowed:
        if not any(pattern.fullmatch(name) for name in skipped):
            lines.append(f"tests/skips.txt: {pattern.pattern} was not skipped; "
                         + ("it can go" if any(pattern.fullmatch(n) for n in names)
                            else "there is no such test"))
    return lines, well


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--allowed", required=True, type=pathlib.Path)
    parser.add_argument("results", nargs="+", type=pathlib.Path)
    arguments = parser.parse_args()
    names, skipped = set(), set()
    try:
        allowed = allowed_skips(arguments.allowed.read_text(encoding="utf-8"))
        for path in arguments.results:
            more, without = tests_of(path)
            names |= more
            skipped |= without
    except (OSError, ValueError, xml.etree.ElementTree.ParseError) as error:
        print(f"skips: error: {error}", file=sys.stderr)
        return 1
    lines, well = report(allowed, names, skipped)
    print("\n".join([*lines, f"{len(skipped)} of {len(names)} tests were skipped"]))
    return 0 if well and names else 1


if __name__ == "__main__":
    sys.exit(main())
